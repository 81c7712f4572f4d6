"""Events in words: as they say themselves, or from their numbers."""

import dataclasses

import pytest

from devfnn import events
from devfnn.reports.reasons import KINDS, kind_in_words, reason_of

ALL_KINDS = [kind for kind in vars(events).values() if isinstance(kind, type)]
ALL_KINDS = [kind for kind in ALL_KINDS if issubclass(kind, events.Event) and kind != events.Event]


def made(kind):
    """An event with a number or a text in every field."""
    values = {}
    for field in dataclasses.fields(kind):
        values[field.name] = {int: 3, float: 0.25, str: "potential"}[field.type]
    return kind(**values)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_kind_of_event_has_a_name_and_a_sentence(kind):
    event = made(kind).to_dict()
    assert kind_in_words(event["kind"]) == KINDS[kind.__name__]
    words = reason_of(event)
    assert words.endswith(".")
    assert "{" not in words
    assert len(words.split()) > 4


def test_what_an_event_says_itself_comes_first():
    event = {"kind": "DriftFound", "row": 3, "reason": "the errors doubled"}
    assert reason_of(event) == "The errors doubled."


def test_the_cause_of_pruning_becomes_a_sentence():
    event = made(events.RulePruned).to_dict() | {"reason": "significance"}
    assert "lost its significance and was deleted" in reason_of(event)
    assert "lost its potential and was archived" in reason_of(event | {"reason": "potential"})


def test_error_rates_are_in_percent():
    words = reason_of(made(events.DriftFound).to_dict() | {"error_after": 0.5})
    assert "from 25.0 % to 50.0 %" in words


def test_an_event_that_lacks_fields_or_is_not_known_shows_what_it_has():
    assert reason_of({"kind": "DriftFound", "row": 1, "bound": 0.5}) == "Bound 50.0 %."
    unknown = {"kind": "Eclipse", "row": 1, "chunk": 0, "how_dark": 0.123456, "n": 12345}
    assert reason_of(unknown) == "How dark 0.1235, n 12,345."
    assert reason_of({"kind": "Eclipse", "row": 1}) == ""
