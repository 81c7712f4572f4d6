"""The JSON header of a model: all of it but the arrays."""

import dataclasses
import itertools
import json
import math
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from devfnn.errors import InputError, StorageError
from devfnn.model.config import Config
from devfnn.storage.container import is_count, read_json, require
from devfnn.storage.notes import Notes, decode_notes, encode_notes
from devfnn.storage.schema import Schema, Sizes, schema
from devfnn.storage.tree import SCALARS

FORMAT = 3
"""Rises with every change of what a file holds; files of other formats are refused."""

MAX_LABEL_DEPTH = 8
"""How deep tuples in labels may be nested."""


class Header(NamedTuple):
    """Everything about a model but its arrays. `sizes` is None before anything was learned."""

    kind: str
    config: Config
    feature_names: list[str] | None
    classes: list[Hashable]
    sizes: Sizes | None
    late: tuple[int, ...]  # columns of features that were added later, if there are lags
    absent: set[str]
    counters: dict[str, Any]
    notes: Notes


def encode_header(header: Header) -> dict[str, Any]:
    """The header as JSON data, the same for the same model."""
    from devfnn import __version__

    return {
        "format": FORMAT,
        "library": __version__,
        "class": header.kind,
        "config": _encode_config(header.config),
        "feature_names": header.feature_names,
        "classes": [_encode_label(label) for label in header.classes],
        "shape": header.sizes._asdict() if header.sizes is not None else None,
        "late": list(header.late),
        "absent": sorted(header.absent),
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
        f"the file has format {number}, this version reads format {FORMAT}; upgrade devfnn",
    )
    is_text = isinstance(library, str) and library.isprintable()
    writer = f"devfnn {library}" if is_text else "an older version"
    require(
        number == FORMAT,
        f"the file has format {number}, written by {writer:.40}; this version reads format "
        f"{FORMAT}: open it with the version that wrote it, or train anew",
    )


def decode_header(data: dict[str, Any]) -> Header:
    """The header from JSON data; refuses anything that a model cannot be."""
    keys = {"format", "library", "class", "config", "feature_names", "classes"}
    _check_keys("the header", data, keys | {"shape", "late", "absent", "counters", "notes"})
    require(isinstance(data["library"], str), "the library version in the header is no text")
    require(isinstance(data["class"], str), "the class name in the header is no text")
    names = _decode_names(data["feature_names"])
    classes = _decode_classes(data["classes"])
    config = _decode_config(data["config"])
    kind = schema(config.network)
    sizes = _decode_sizes(data["shape"], kind)
    absent = _decode_absent(data["absent"], sizes, kind)
    late = _decode_late(data["late"])
    if sizes is None:
        require(not classes, "the header names classes, but nothing was learned")
        require(not late, "the header has late features, but nothing was learned")
    else:
        require(len(classes) == sizes.classes, "the number of classes does not fit the shape")
        _check_columns(sizes, names, late, config.lags)
    scalars = kind.expected_scalars(absent) if sizes is not None else {}
    counters = _decode_counters(data["counters"], scalars)
    notes = decode_notes(data["notes"], config)
    return Header(data["class"], config, names, classes, sizes, late, absent, counters, notes)


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


def _decode_sizes(data: Any, kind: Schema) -> Sizes | None:
    """The sizes; None before anything was learned."""
    if data is None:
        return None
    _check_keys("the shape in the header", data, set(kind.sizes._fields))
    require(all(is_count(size) for size in data.values()), "the shape in the header is impossible")
    positive = all(size for name, size in data.items() if not name.endswith("_rows"))
    require(positive, "the shape in the header has a size of 0")
    return kind.sizes(**data)


def _decode_late(data: Any) -> tuple[int, ...]:
    """Columns of features that were added later."""
    is_list = isinstance(data, list) and all(is_count(column) for column in data)
    require(is_list, "the late features in the header are no columns")
    return tuple(data)


def _check_columns(sizes: Sizes, names: list[str] | None, late: tuple[int, ...], lags: int) -> None:
    """The columns of a network: features of the first rows, lags of classes, what came later."""
    n_features = sizes.features - lags * sizes.classes
    n_first = n_features - len(late)
    require(n_first > 0, "the shape in the header has no room for a feature")
    fits = names is None or len(names) == n_features
    require(fits, "the number of feature names does not fit the shape")
    bounds = (n_first + lags - 1, *late, sizes.features)
    is_sound = not late or (lags > 0 and all(a < b for a, b in itertools.pairwise(bounds)))
    require(is_sound, "the late features in the header are no columns of the shape")


def _decode_absent(data: Any, sizes: Sizes | None, kind: Schema) -> set[str]:
    """The parts of the state that are not there."""
    require(_is_texts(data), "the absent parts in the header are no texts")
    absent = set(data)
    known = kind.optional_parts() if sizes is not None else set()
    require(absent <= known, "the header leaves out parts that every model has")
    is_empty = sizes is not None and "gathered" in absent and sizes.gathered_rows > 0
    require(not is_empty, "the header has a size for gathered rows that are absent")
    return absent


def _decode_counters(data: Any, kinds: dict[str, type]) -> dict[str, Any]:
    """The scalars of the state."""
    _check_keys("the counters in the header", data, set(kinds))
    for name, kind in kinds.items():
        value = data[name]
        is_sound = type(value) is kind and (kind is not int or is_count(value))
        require(is_sound and value != math.inf, f"the counter {name} is impossible: {value!r}")
    counters: dict[str, Any] = data
    return counters


# ---- configuration


def _encode_config(config: Config) -> dict[str, Any]:
    """The parameters as JSON data; numbers as the type that their field has."""
    data = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        plain = value.item() if isinstance(value, np.generic) else value
        data[field.name] = field.type(plain) if field.type in SCALARS else plain
    return data


def _decode_config(data: Any) -> Config:
    """The parameters; refuses unknown ones and values out of range."""
    fields = dataclasses.fields(Config)
    _check_keys("the configuration", data, {field.name for field in fields})
    for field in fields:
        is_sound = field.type not in SCALARS or type(data[field.name]) is field.type
        require(is_sound, f"the parameter {field.name} is of the wrong type")
    try:
        return Config(**data)
    except (InputError, ArithmeticError, TypeError, ValueError) as error:
        raise StorageError(f"the configuration in the header is not valid: {error}") from None


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
