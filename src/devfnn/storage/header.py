"""The JSON header of a model: all of it but the arrays."""

import itertools
import json
import math
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from devfnn.arrays import Ints
from devfnn.errors import InputError, StorageError
from devfnn.events import Event
from devfnn.model.config import Config
from devfnn.model.history import MOST_EVENTS, Logbook
from devfnn.model.label_budget import budget_size
from devfnn.model.queries import MOST_QUERIES, REASONS, Query, QueryLog
from devfnn.storage.container import is_count, read_json, require
from devfnn.storage.layout import COUNTERS, StoredSizes, check_budget, check_sizes

FORMAT = 4
"""Rises with every change of what a file holds. Files of format 3 are converted when they are read,
those of other formats are refused."""

READABLE = (3, FORMAT)

MAX_LABEL_DEPTH = 8
"""How deep tuples in labels may be nested."""


class Header(NamedTuple):
    """Everything about a model but its arrays. `sizes` is None before anything was learned."""

    kind: str
    config: Config
    feature_names: list[str] | None
    classes: list[Hashable]
    sizes: StoredSizes | None
    late: tuple[int, ...]  # columns of features that were added later, if there are lags
    counters: dict[str, int]
    notes: "Notes"


def encode_header(header: Header) -> dict[str, Any]:
    """The header as JSON data, the same for the same model."""
    from devfnn import __version__

    return {
        "format": FORMAT,
        "library": __version__,
        "class": header.kind,
        "config": header.config.to_dict(),
        "feature_names": header.feature_names,
        "classes": [_encode_label(label) for label in header.classes],
        "shape": header.sizes._asdict() if header.sizes is not None else None,
        "late": list(header.late),
        "counters": header.counters,
        "notes": encode_notes(header.notes),
    }


def to_text(data: dict[str, Any]) -> str:
    """JSON in one canonical form."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_checksummed(text: str) -> tuple[dict[str, Any], str]:
    """The header's data without its checksum, and the checksum; refuses other formats."""
    data = read_json(text)
    require(isinstance(data, dict), "the devfnn header is not a JSON object")
    number = data.get("format")
    require(is_count(number) and number > 0, "the devfnn header has no format number")
    _check_format(number, data.get("library"))
    checksum = data.pop("sha256", None)
    require(isinstance(checksum, str), "the devfnn header has no checksum")
    return data, checksum


def _check_format(number: int, library: Any) -> None:
    """Refuse files of older and later versions, and say which."""
    require(
        number <= FORMAT,
        f"the file has format {number}, this version reads formats 3 and {FORMAT}; upgrade devfnn",
    )
    is_text = isinstance(library, str) and library.isprintable()
    writer = f"devfnn {library}" if is_text else "an older version"
    require(
        number in READABLE,
        f"the file has format {number}, written by {writer:.40}; this version reads formats 3 and "
        f"{FORMAT}: open it with the version that wrote it, or train anew",
    )


def decode_header(data: dict[str, Any]) -> Header:
    """The header from JSON data; refuses anything that a model cannot be."""
    keys = {"format", "library", "class", "config", "feature_names", "classes"}
    _check_keys("the header", data, keys | {"shape", "late", "counters", "notes"})
    require(isinstance(data["library"], str), "the library version in the header is no text")
    require(isinstance(data["class"], str), "the class name in the header is no text")
    names = _decode_names(data["feature_names"])
    classes = _decode_classes(data["classes"])
    config = _decode_config(data["config"])
    sizes = _decode_sizes(data["shape"])
    late = _decode_late(data["late"])
    if sizes is None:
        require(not classes, "the header names classes, but nothing was learned")
        require(not late, "the header has late features, but nothing was learned")
    else:
        require(len(classes) == sizes.classes, "the number of classes does not fit the shape")
        _check_columns(sizes, names, late, config.lags)
        check_sizes(sizes, config)
    known = {*COUNTERS, "scaler/n_first"} if sizes is not None else set[str]()
    counters = _decode_counters(data["counters"], known)
    notes = decode_notes(data["notes"], config)
    return Header(data["class"], config, names, classes, sizes, late, counters, notes)


def _check_keys(what: str, data: Any, known: set[str]) -> None:
    """A JSON object with exactly these keys."""
    require(isinstance(data, dict), f"{what} is not a JSON object")
    for name in sorted(data.keys() - known):
        raise StorageError(f"{what} has an unknown field {name!r}")
    for name in sorted(known - data.keys()):
        raise StorageError(f"{what} lacks the field {name!r}")


def _is_texts(value: Any) -> bool:
    """Whether a JSON value is a list of texts."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _decode_names(data: Any) -> list[str] | None:
    """Names of the features, if they have some."""
    if data is None:
        return None
    require(_is_texts(data), "the feature names in the header are no texts")
    require(len(set(data)) == len(data), "a feature name occurs twice in the header")
    names: list[str] = data
    return names


def _decode_sizes(data: Any) -> StoredSizes | None:
    """The sizes; None before anything was learned."""
    if data is None:
        return None
    _check_keys("the shape in the header", data, set(StoredSizes._fields))
    require(all(is_count(size) for size in data.values()), "the shape in the header is impossible")
    positive = all(data[name] for name in ("layers", "features", "classes"))
    require(positive, "the shape in the header has a size of 0")
    return StoredSizes(**data)


def _decode_late(data: Any) -> tuple[int, ...]:
    """Columns of features that were added later."""
    is_list = isinstance(data, list) and all(is_count(column) for column in data)
    require(is_list, "the late features in the header are no columns")
    return tuple(data)


def _check_columns(
    sizes: StoredSizes, names: list[str] | None, late: tuple[int, ...], lags: int
) -> None:
    """The columns of a network: features of the first rows, lags of classes, what came later."""
    n_features = sizes.features - lags * sizes.classes
    n_first = n_features - len(late)
    require(n_first > 0, "the shape in the header has no room for a feature")
    fits = names is None or len(names) == n_features
    require(fits, "the number of feature names does not fit the shape")
    bounds = (n_first + lags - 1, *late, sizes.features)
    is_sound = not late or (lags > 0 and all(a < b for a, b in itertools.pairwise(bounds)))
    require(is_sound, "the late features in the header are no columns of the shape")


def _decode_counters(data: Any, known: set[str]) -> dict[str, int]:
    """The counters of the network."""
    _check_keys("the counters in the header", data, known)
    for name, value in data.items():
        require(is_count(value), f"the counter {name} is impossible: {value!r}")
    counters: dict[str, int] = data
    return counters


# ---- configuration


def _decode_config(data: Any) -> Config:
    """The parameters; refuses unknown ones, absent ones, and values out of range."""
    try:
        config = Config.from_dict(data)
    except (InputError, ArithmeticError, TypeError, ValueError) as error:
        raise StorageError(f"the configuration in the header is not valid: {error}") from None
    require(config.to_dict() == data, "the configuration in the header is not complete")
    return config


# ---- labels


def _decode_classes(data: Any) -> list[Hashable]:
    """All labels, in order."""
    require(isinstance(data, list), "the classes in the header are no list")
    classes = [_decode_label(label) for label in data]
    require(len(set(classes)) == len(classes), "a class occurs twice in the header")
    return classes


def _encode_label(label: Hashable, depth: int = 0) -> list[Any]:
    """A label with its type, so that it comes back as it was."""
    match label:
        case bool() | str():
            value: Any = label
        case int():
            require(label.bit_length() <= 4096, "a label is too large a number to be saved")
            value = label
        case float():
            require(not math.isnan(label), "a label that holds NaN cannot be saved")
            value = label.hex()
        case bytes():
            value = label.hex()
        case tuple():
            require(depth < MAX_LABEL_DEPTH, "a label is nested too deeply to be saved")
            value = [_encode_label(item, depth + 1) for item in label]
        case _:
            value = None
    kind = type(label)
    require(
        kind in (bool, str, int, float, bytes, tuple),
        f"a label is a {kind.__name__}; only models whose labels are int, float, bool, str, bytes "
        "or tuples of these can be saved",
    )
    return [kind.__name__, value]


def _decode_label(data: Any, depth: int = 0) -> Hashable:
    """A label from its tagged form."""
    require(isinstance(data, list) and len(data) == 2, "a label in the header is malformed")
    kind, value = data
    require(isinstance(kind, str), "a label in the header is malformed")
    plain = {"bool": bool, "str": str, "int": int}.get(kind)
    if plain is not None and type(value) is plain:
        label: Hashable = value
        return label
    if kind == "tuple" and isinstance(value, list) and depth < MAX_LABEL_DEPTH:
        return tuple(_decode_label(item, depth + 1) for item in value)
    require(kind in ("float", "bytes"), "a label in the header is malformed")
    try:
        read = float.fromhex(value) if kind == "float" else bytes.fromhex(value)
    except (OverflowError, TypeError, ValueError):
        raise StorageError("a label in the header is malformed") from None
    require(read == read, "a label in the header is NaN")
    return read


# ---- what a model noted about itself

NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""Numbers that JSON does not know, by the texts that stand for them."""


class Notes(NamedTuple):
    """The history of a model, and the labels it asked for; the budget if it has not learned yet."""

    logbook: Logbook
    query_log: QueryLog
    early_budget: Ints | None


def encode_notes(notes: Notes) -> dict[str, Any]:
    """Notes as JSON data."""
    logbook, log, budget = notes
    return {
        "since": logbook.since,
        "n_events": logbook.n_noted,
        "events": [_encode_event(event) for event in logbook.newest],
        "n_queries": log.n_asked,
        "queries": [list(query) for query in log.newest],
        "budget": None if budget is None else budget.tolist(),
    }


def decode_notes(data: Any, config: Config) -> Notes:
    """Notes from JSON data; refuses what no model can have noted."""
    keys = {"since", "n_events", "events", "n_queries", "queries", "budget"}
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
    budget = _decode_budget(data["budget"], config)
    return Notes(logbook, QueryLog(queries, data["n_queries"]), budget)


def _decode_budget(data: Any, config: Config) -> Ints | None:
    """What was asked for before there was a network."""
    if data is None:
        return None
    is_sound = isinstance(data, list) and len(data) == budget_size(config)
    require(is_sound and all(map(is_count, data)), "the budget in the header is malformed")
    budget = np.array(data, np.int64)
    check_budget(budget)
    return budget


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
