"""Events in words: as they say themselves, or from their numbers."""

import dataclasses

import pytest

from devfnn import events
from devfnn.reports.run import event_name, event_reason

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
    assert " " in event_name(event["kind"]) and event_name(event["kind"]).islower()
    words = event_reason(event | {"chunk": 0})
    assert words.endswith(".")
    assert "{" not in words
    assert words[1:-1] == made(kind).explanation[1:]


def test_what_the_log_says_comes_first():
    event = {"kind": "DriftFound", "row": 3, "reason": "the errors doubled"}
    assert event_reason(event) == "The errors doubled."


def test_an_event_that_lacks_fields_or_is_not_known_shows_what_it_has():
    assert event_reason({"kind": "DriftFound", "row": 1, "bound": 0.5}) == "Bound 0.5."
    unknown = {"kind": "Eclipse", "row": 1, "chunk": 0, "how_dark": 0.123456789, "n": 12345}
    assert event_reason(unknown) == "How dark 0.123457, n 12345."
    assert event_reason({"kind": "Eclipse", "row": 1}) == ""
