"""Events are plain data that report what happened and why."""

import dataclasses
import inspect
import itertools
import json
from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, events
from devfnn.events import Event
from scenes import CHUNK, config_of, each_network, flipped, run, stacked, swift

KINDS = [
    kind
    for _, kind in inspect.getmembers(events, inspect.isclass)
    if issubclass(kind, Event) and kind is not Event
]
EXAMPLES: dict[Any, Any] = {int: 3, float: 0.5, str: "text"}


def example(kind: type[Event]) -> Event:
    """An event with made-up numbers."""
    return kind(**{field.name: EXAMPLES[field.type] for field in dataclasses.fields(kind)})


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_is_plain_data_with_a_kind(kind: type[Event]) -> None:
    event = example(kind)
    data = event.to_dict()
    assert data["kind"] == event.kind == kind.__name__
    assert json.loads(json.dumps(data)) == data
    assert list(data)[:2] == ["kind", "row"]
    del data["kind"]
    assert kind(**data) == event
    assert hash(event) == hash(example(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_cannot_be_changed(kind: type[Event]) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        example(kind).row = 4  # type: ignore[misc]


@pytest.mark.parametrize("kind", KINDS)
def test_every_event_says_what_it_is(kind: type[Event]) -> None:
    assert kind.__doc__ and not kind.__doc__.startswith(kind.__name__)


def test_events_of_a_run_hold_numbers_of_python_only() -> None:
    X, y = flipped(20)
    X[3000:, 2] *= 40.0
    masked = {"chunk_rows": CHUNK, "feature_mask": {}, "feature_mask__threshold": 0.9}
    stack = stacked(merging__threshold=0.2, **masked)
    rivals = swift(boxes__evidence=5.0, **masked)
    for config, verb in itertools.product((stack, rivals), ("learn", "learn_rows")):
        seen = run(DEVFNN(config), X, np.where(y == 1, "yes", "no"), verb)
        assert len({event.kind for event in seen}) >= 5
        for event in seen:
            assert 0 <= event.row <= len(y)
            for value in event.to_dict().values():
                assert type(value) in (int, float, str)
            json.dumps(event.to_dict(), allow_nan=False)


# ---- explanations

UNTOLD = {"log_volume", "utility", "dropped_rows", "cut", "row"}
"""Numbers that an explanation may leave out: they did not cause the event."""


def numbered(kind: type[Event]) -> tuple[Event, dict[str, str]]:
    """An event whose fields all differ, and how each of them is written."""
    values: dict[str, Any] = {}
    written: dict[str, str] = {}
    for place, field in enumerate(dataclasses.fields(kind), start=1):
        if field.type is str:
            values[field.name] = written[field.name] = f"name{place}"
        elif field.type is int:
            values[field.name], written[field.name] = 700 + place, str(700 + place)
        else:
            values[field.name], written[field.name] = 0.17 + place / 1000, f"0.17{place}"
    return kind(**values), written


@pytest.mark.parametrize("kind", KINDS)
def test_an_explanation_tells_the_numbers_that_caused_the_event(kind: type[Event]) -> None:
    event, written = numbered(kind)
    text = event.explanation
    assert text and text == text.strip() and "{" not in text
    for name, number in written.items():
        as_share = f"{100 * float(number):.1f}" if number.startswith("0.") else number
        is_untold = name in UNTOLD or (name == "reason" and "merged_into" in written)
        is_untold = is_untold or (kind, name) == (events.RuleRecalled, "winner_distance")
        assert is_untold or number in text or as_share in text, name


def test_braces_in_a_name_stay_as_they_are() -> None:
    assert "{row} {0} {x!r}" in events.FeatureOff(1, "{row} {0} {x!r}", 0.1, 0.2).explanation


@each_network
def test_every_event_of_a_run_can_be_explained(network: str) -> None:
    X, y = flipped(20)
    for event in run(DEVFNN(config_of(network, chunk_rows=CHUNK)), X, y):
        assert len(event.explanation) > 10


# ---- back from plain data


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_comes_back_from_plain_data(kind: type[Event]) -> None:
    event = example(kind)
    again = Event.from_dict(json.loads(json.dumps(event.to_dict())))
    assert type(again) is kind
    assert again == event


def test_a_number_without_decimals_is_a_number_all_the_same() -> None:
    again = Event.from_dict({"kind": "RangeChanged", "row": 3, "feature": "x", "low": 0, "high": 1})
    assert again == events.RangeChanged(3, "x", 0.0, 1.0)


GOOD = {"kind": "LayerAdded", "row": 1, "layer": 2, "n_inputs": 3, "trained_rows": 4}


@pytest.mark.parametrize(
    "hostile",
    [
        None,
        [],
        "LayerAdded",
        {},
        {"kind": None},
        {"kind": []},
        {"kind": 5},
        {"kind": {"a": 1}},
        {"kind": "Nothing", "row": 1},
        {"kind": "Event", "row": 1},
        {"kind": "dataclasses"},
        {"kind": "Any"},
        {"kind": "__builtins__"},
        {"kind": "_ACCEPTED"},
        {"kind": "LayerAdded"},
        {"kind": "LayerAdded", "row": 1},
        GOOD | {"more": 1},
        GOOD | {5: 1},
        GOOD | {"_why": "{row.__class__}"},
        GOOD | {"row": "1"},
        GOOD | {"row": None},
        GOOD | {"row": 1.5},
        GOOD | {"row": True},
        GOOD | {"layer": [1]},
        {"kind": "FeatureOff", "row": 1, "feature": 3, "score": 0.1, "threshold": 0.2},
        {"kind": "FeatureOff", "row": 1, "feature": "x", "score": "0.1", "threshold": 0.2},
        {"kind": "FeatureOff", "row": 1, "feature": "x", "score": None, "threshold": 0.2},
        {"kind": "FeatureOff", "row": 1, "feature": "x", "score": 10**400, "threshold": 0.2},
        {"kind": "FeatureOff", "row": 1, "feature": "\ud800", "score": 0.1, "threshold": 0.2},
        {"kind": "FeatureOff", "row": 10**4000, "feature": "x", "score": 0.1, "threshold": 0.2},
        GOOD | {"row": -(2**63)},
    ],
    ids=range(31),
)
def test_what_is_no_event_is_refused(hostile: Any) -> None:
    with pytest.raises(ValueError, match=r"no event|fields|cannot be"):
        Event.from_dict(hostile)


def test_a_good_event_is_not_refused() -> None:
    assert Event.from_dict(GOOD) == events.LayerAdded(1, 2, 3, 4)
