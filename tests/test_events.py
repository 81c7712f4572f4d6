"""Events are plain data that report what happened and why."""

import dataclasses
import inspect
import json
from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, Config, events
from devfnn.events import Event
from scenes import CHUNK, flipped, run

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
    config = Config(chunk_rows=CHUNK, feature_mask=True, feature_threshold=0.9, merge_threshold=0.2)
    for verb in ("learn", "learn_rows"):
        seen = run(DEVFNN(config), X, np.where(y == 1, "yes", "no"), verb)
        assert len({event.kind for event in seen}) >= 5
        for event in seen:
            assert 0 <= event.row <= len(y)
            for value in event.to_dict().values():
                assert type(value) in (int, float, str)
            json.dumps(event.to_dict(), allow_nan=False)
