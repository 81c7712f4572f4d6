"""The JSON header of a file: all of a model but its arrays.

Numbers that arrays and counters are made from are checked one by one. For the rest the model is
made, and it must write the header that was read: what has another name, type or form is refused.
"""

import json
import math
from typing import Any

import numpy as np

from devfnn.events import Event
from devfnn.model.config import Config, idle_parameters
from devfnn.model.devfnn import DEVFNN
from devfnn.model.gclass import GClass
from devfnn.model.history import Logbook
from devfnn.model.label_budget import budget_size
from devfnn.model.names import decode_label, encode_label
from devfnn.model.queries import REASONS, Query
from devfnn.storage.container import is_count, read_json, require
from devfnn.storage.layout import (
    COUNTERS,
    StoredSizes,
    check_budget,
    check_sizes,
    counters_of,
    sizes_of,
)
from devfnn.types import Position

FORMAT = 7
"""Rises with every change of what a file holds."""

OLDEST_FORMAT = 6
"""The oldest format that is still read; see `upgrades.py`."""

READERS = {3: "devfnn 0.1.0"}
"""Versions that read older formats."""

KINDS: dict[str, type[DEVFNN]] = {"DEVFNN": DEVFNN, "GClass": GClass}
"""The classes that can be stored; a file can name no other."""


def encode_header(model: DEVFNN) -> dict[str, Any]:
    """The header of a model as JSON data, the same for the same model."""
    network, budget = model._network, model._early_budget
    logbook, log = model._logbook, model._query_log
    return first_fields(type(model).__name__, model.config) | {
        "feature_names": model._names,
        "classes": [encode_label(label) for label in model._labels.classes],
        "shape": sizes_of(network)._asdict() if network is not None else None,
        "late": list(model._late),
        "counters": counters_of(network) if network is not None else {},
        "notes": {
            "since": logbook.since,
            "n_events": logbook.n_noted,
            "events": [_encode_event(event) for event in logbook.newest],
            "n_queries": log.n_noted,
            "queries": [list(query) for query in log.newest],
            "budget": None if budget is None else budget.tolist(),
        },
        "positions": {name: list(each) for name, each in model.positions.items()},
    }


def first_fields(kind: str, config: Config) -> dict[str, Any]:
    """What every header has: which format it is of, what it is of, and its parameters."""
    from devfnn import __version__

    return {
        "format": FORMAT,
        "library": __version__,
        "class": kind,
        "config": encode_config(config),
    }


def encode_config(config: Config) -> dict[str, Any]:
    """All parameters; class weights only if there are some, as before there were any."""
    data = config.to_dict()
    if data["class_weights"] is None:
        del data["class_weights"]
    return data


def to_text(data: Any) -> str:
    """JSON in one canonical form."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_checksummed(text: str) -> tuple[dict[str, Any], str]:
    """The header's data without its checksum, and the checksum; refuses other formats."""
    data = read_json(text)
    require(isinstance(data, dict), "the devfnn header is not a JSON object")
    number = data.get("format")
    require(is_count(number) and number > 0, "the devfnn header has no format number")
    advice = "upgrade devfnn" if number > FORMAT else "train anew"
    if number in READERS:
        advice = f"{READERS[number]} can read it"
    reads = f"this version reads formats {OLDEST_FORMAT} to {FORMAT}"
    is_read = OLDEST_FORMAT <= number <= FORMAT
    require(is_read, f"the file has format {number}, {reads}; {advice}")
    checksum = data.pop("sha256", None)
    require(isinstance(checksum, str), "the devfnn header has no checksum")
    return data, checksum


def decode_header(data: dict[str, Any]) -> tuple[DEVFNN, StoredSizes | None]:
    """The model without its network, and the sizes of that; None before anything was learned.

    Data of other types and forms than a header has may raise other errors than StorageError.
    """
    kind, config = data["class"], Config.from_dict(data["config"])
    require(kind in KINDS, f"the file holds a {kind!r}, which is not known here")
    model = KINDS[kind](config, data["feature_names"], map(decode_label, data["classes"]))
    require(model.config == config, f"the configuration is not one of a {kind}")
    _decode_notes(data["notes"], model)
    model.positions = {name: Position(*each) for name, each in data["positions"].items()}
    if data["shape"] is None:
        return model, None
    model._late = tuple(data["late"])
    sizes = StoredSizes(**data["shape"])
    check_sizes(sizes, model)
    for name in (*COUNTERS, "scaler/n_first"):
        value = data["counters"][name]
        require(is_count(value), f"the counter {name} is impossible: {value!r}")
    return model, sizes


def check_same(model: DEVFNN, data: dict[str, Any]) -> None:
    """Refuse a header that is not the one this model has, but for parameters that cannot act."""
    check_fields(encode_header(model), data, model.config)


def check_fields(own: dict[str, Any], data: dict[str, Any], config: Config) -> None:
    """Refuse a header that is not this one, but for parameters that cannot act, and the library."""
    for path in idle_parameters(config):
        section, _, name = path.partition("__")
        if name in data["config"][section]:
            own["config"][section][name] = data["config"][section][name]
    require(data.keys() == own.keys(), "the header has other fields than a model")
    require(isinstance(data["library"], str), "the library version in the header is no text")
    for name in sorted(own.keys() - {"library"}):
        is_same = to_text(own[name]) == to_text(data[name])
        require(is_same, f"{name!r} in the header is not what a model has")


# ---- what a model noted about itself

NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""Numbers that JSON does not know, by the texts that stand for them."""


def _decode_notes(notes: Any, model: DEVFNN) -> None:
    """The history of a model, and the labels it asked for."""
    events = [_decode_event(event) for event in notes["events"]]
    queries = [_decode_query(*query) for query in notes["queries"]]
    since, n_events, n_queries, budget = (
        notes[name] for name in ("since", "n_events", "n_queries", "budget")
    )
    is_sound = is_count(n_events) and n_events >= len(events)
    is_sound = is_sound and is_count(n_queries) and n_queries >= len(queries)
    is_sound = is_sound and (is_count(since) or (since is None and not events))
    require(is_sound, "the notes in the header count what cannot be")
    model._logbook = Logbook(events, n_events, since)
    model._query_log = Logbook(queries, n_queries)
    if budget is not None:
        is_sound = len(budget) == budget_size(model.config) and all(map(is_count, budget))
        require(is_sound, "the budget in the header is malformed")
        model._early_budget = np.array(budget, np.int64)
        check_budget(model._early_budget)


def _encode_event(event: Event) -> dict[str, Any]:
    """An event as JSON data; numbers that are not finite as texts in a list."""
    data = event.to_dict()
    for name, value in data.items():
        if isinstance(value, float) and not math.isfinite(value):
            data[name] = [str(value)]
    return data


def _decode_event(data: Any) -> Event:
    values = {
        name: NOT_FINITE[value[0]] if isinstance(value, list) else value
        for name, value in dict(data).items()
    }
    event = Event.from_dict(values)
    require(is_count(event.row), "an event in the header has no row")
    return event


def _decode_query(row: Any, reason: Any, certainty: Any, left: Any) -> Query:
    is_sound = is_count(row) and reason in REASONS and (left is None or is_count(left))
    is_sound = is_sound and type(certainty) is float and 0.0 <= certainty <= 1.0
    require(is_sound, "a query in the header is malformed")
    return Query(row, reason, certainty, left)
