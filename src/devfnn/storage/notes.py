"""What a model noted about itself, for the header of its file: its history and its queries."""

import math
from typing import Any, NamedTuple

import numpy as np

from devfnn.errors import StorageError
from devfnn.events import Event
from devfnn.kernels.state import Ints
from devfnn.model.asking import MOST_QUERIES, REASONS, Query, QueryLog
from devfnn.model.config import Config
from devfnn.model.history import MOST_EVENTS, Logbook
from devfnn.model.label_budget import purse_size
from devfnn.storage.container import is_count, require
from devfnn.storage.values import check_purse

NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""Numbers that JSON does not know, by the texts that stand for them."""


class Notes(NamedTuple):
    """The history of a model, and the labels it asked for; the purse if it has not learned yet."""

    logbook: Logbook
    query_log: QueryLog
    early_purse: Ints | None


def encode_notes(notes: Notes) -> dict[str, Any]:
    """Notes as JSON data."""
    logbook, log, purse = notes
    return {
        "since": logbook.since,
        "n_events": logbook.n_noted,
        "events": [_encode_event(event) for event in logbook.newest],
        "n_queries": log.n_asked,
        "queries": [list(query) for query in log.newest],
        "purse": None if purse is None else purse.tolist(),
    }


def decode_notes(data: Any, config: Config) -> Notes:
    """Notes from JSON data; refuses what no model can have noted."""
    keys = {"since", "n_events", "events", "n_queries", "queries", "purse"}
    require(isinstance(data, dict) and set(data) == keys, "the notes in the header are malformed")
    events = [_decode_event(event) for event in _list(data["events"], MOST_EVENTS)]
    queries = [_decode_query(query) for query in _list(data["queries"], MOST_QUERIES)]
    since = data["since"]
    is_sound = since is None or is_count(since)
    is_sound = is_sound and is_count(data["n_events"]) and data["n_events"] >= len(events)
    is_sound = is_sound and is_count(data["n_queries"]) and data["n_queries"] >= len(queries)
    require(is_sound, "the notes in the header count what cannot be")
    require(not (events and since is None), "the header has events from before the first row")
    logbook = Logbook(events, data["n_events"], since)
    purse = _decode_purse(data["purse"], config)
    return Notes(logbook, QueryLog(queries, data["n_queries"]), purse)


def _decode_purse(data: Any, config: Config) -> Ints | None:
    """What was asked for before there was a network."""
    if data is None:
        return None
    is_sound = isinstance(data, list) and len(data) == purse_size(config)
    require(is_sound and all(map(is_count, data)), "the purse in the header is malformed")
    purse = np.array(data, np.int64)
    check_purse(purse)
    return purse


def _list(data: Any, most: int) -> list[Any]:
    """A list that is not too long."""
    require(isinstance(data, list) and len(data) <= most, "the notes in the header are no lists")
    entries: list[Any] = data
    return entries


def _encode_event(event: Event) -> dict[str, Any]:
    """An event as JSON data; numbers that are none as texts in a list."""
    data = event.to_dict()
    for name, value in data.items():
        if isinstance(value, float) and not math.isfinite(value):
            data[name] = [str(value)]
    return data


def _decode_event(data: Any) -> Event:
    """An event from JSON data."""
    require(isinstance(data, dict), "an event in the header is malformed")
    try:
        event = Event.from_dict({name: _number(value) for name, value in data.items()})
    except ValueError as error:
        raise StorageError(f"an event in the header is none: {error}") from None
    require(is_count(event.row), "an event in the header has no row")
    return event


def _number(value: Any) -> Any:
    """A value of an event: the number that a text in a list stands for, or the value itself."""
    is_text = isinstance(value, list) and len(value) == 1 and isinstance(value[0], str)
    return NOT_FINITE.get(value[0], value) if is_text else value


def _decode_query(data: Any) -> Query:
    """A query from its list."""
    require(isinstance(data, list) and len(data) == 4, "a query in the header is malformed")
    row, reason, certainty, left = data
    is_sound = is_count(row) and reason in REASONS and (left is None or is_count(left))
    is_sound = is_sound and type(certainty) is float and 0.0 <= certainty <= 1.0
    require(is_sound, "a query in the header is malformed")
    return Query(row, reason, certainty, left)
