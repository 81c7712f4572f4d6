"""The JSON header of a model: format, class, configuration, names, labels, sizes, counters."""

import dataclasses
import json
import math
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from devfnn.errors import InputError, StorageError
from devfnn.model.config import Config
from devfnn.storage.container import is_count, read_json, require
from devfnn.storage.tree import SCALARS, Sizes, optional_parts, schema

FORMAT = 1
"""Rises whenever older versions could not read the files any more."""

MAX_LABEL_DEPTH = 8
"""How deep tuples in labels may be nested."""


class Header(NamedTuple):
    """Everything about a model but its arrays. `sizes` is None before anything was learned."""

    kind: str
    config: Config
    feature_names: list[str] | None
    classes: list[Hashable]
    sizes: Sizes | None
    absent: set[str]
    counters: dict[str, Any]


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
        "absent": sorted(header.absent),
        "counters": header.counters,
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
    require(
        number <= FORMAT,
        f"the file has format {number}, this version reads up to {FORMAT}; upgrade devfnn",
    )
    checksum = data.pop("sha256", None)
    require(isinstance(checksum, str), "the devfnn header has no checksum")
    return data, checksum


def decode_header(data: dict[str, Any]) -> Header:
    """The header from JSON data; refuses anything that a model cannot be."""
    keys = {"format", "library", "class", "config", "feature_names", "classes"}
    _check_keys("the header", data, keys | {"shape", "absent", "counters"})
    require(isinstance(data["library"], str), "the library version in the header is no text")
    require(isinstance(data["class"], str), "the class name in the header is no text")
    require(isinstance(data["classes"], list), "the classes in the header are no list")
    names = data["feature_names"]
    require(names is None or _is_texts(names), "the feature names in the header are no texts")
    classes = [_decode_label(label) for label in data["classes"]]
    require(len(set(classes)) == len(classes), "a class occurs twice in the header")
    sizes = _decode_sizes(data["shape"])
    absent = _decode_absent(data["absent"], sizes)
    if sizes is None:
        require(not classes, "the header names classes, but nothing was learned")
    else:
        require(len(classes) == sizes.classes, "the number of classes does not fit the shape")
        fits = names is None or len(names) == sizes.features
        require(fits, "the number of feature names does not fit the shape")
    counters = _decode_counters(data["counters"], sizes, absent)
    config = _decode_config(data["config"])
    return Header(data["class"], config, names, classes, sizes, absent, counters)


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


def _decode_sizes(data: Any) -> Sizes | None:
    """The sizes; None before anything was learned."""
    if data is None:
        return None
    _check_keys("the shape in the header", data, set(Sizes._fields))
    require(all(is_count(size) for size in data.values()), "the shape in the header is impossible")
    sizes = Sizes(**data)
    require(min(sizes[:4]) > 0, "the shape in the header has a size of 0")
    return sizes


def _decode_absent(data: Any, sizes: Sizes | None) -> set[str]:
    """The parts of the state that are not there."""
    require(_is_texts(data), "the absent parts in the header are no texts")
    absent = set(data)
    known = optional_parts() if sizes is not None else set()
    require(absent <= known, "the header leaves out parts that every model has")
    is_empty = sizes is not None and "gathered" in absent and sizes.gathered_rows > 0
    require(not is_empty, "the header has a size for gathered rows that are absent")
    return absent


def _decode_counters(data: Any, sizes: Sizes | None, absent: set[str]) -> dict[str, Any]:
    """The scalars of the state."""
    kinds = schema().expected_scalars(absent) if sizes is not None else {}
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
