"""The outer shell of a file: the safetensors layout, checked before anything large is allocated.

A file is 8 bytes with the length of a JSON header, the header, and the bytes of all tensors without
gaps. It is read here, because every length has to be checked against the size of the file anyway,
and tensors can be read straight into their arrays; and written here, so that the same state gives
the same bytes whatever the version of the library `safetensors`, and without a second copy.
"""

import json
import math
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from devfnn.errors import StorageError

METADATA_KEY = "devfnn"
"""The one metadata key: with more than one, safetensors would write them in any order."""

MAX_HEADER_BYTES = 32 * 2**20
"""Longest header. All that a model takes fits: `model/names.py` bounds names and classes, and a
thousand events with the longest of them take half of it."""

DTYPES: dict[str, "np.dtype[Any]"] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("bool"),
}
"""The tensor types that a model has, by their safetensors names."""

CODES = {dtype: code for code, dtype in DTYPES.items()}

ORDER = ("I64", "F64", "F32", "I32", "U8", "BOOL")
"""Types in the order in which a file holds them; those of a type follow by name."""

Array = np.ndarray[Any, np.dtype[Any]]


class Entry(NamedTuple):
    """What a header says about one tensor; offsets count from the end of the header."""

    code: str
    shape: tuple[int, ...]
    begin: int
    end: int


def require(condition: bool, message: str) -> None:
    """Refuse the file unless a condition holds."""
    if not condition:
        raise StorageError(message)


def as_bytes(array: Array) -> Array:
    """The bytes of a contiguous array, as a view."""
    return array.reshape(-1).view(np.uint8)


def write_container(arrays: Mapping[str, Array], metadata: str) -> bytes:
    """A safetensors file with one metadata entry; the only copy of the arrays is the file.

    Byte for byte what the library `safetensors` writes.
    """
    in_order = sorted(arrays.items(), key=lambda item: (ORDER.index(CODES[item[1].dtype]), item[0]))
    header: dict[str, Any] = {"__metadata__": {METADATA_KEY: metadata}}
    end = 0
    for name, array in in_order:
        begin, end = end, end + array.nbytes
        about = {"dtype": CODES[array.dtype], "shape": array.shape, "data_offsets": (begin, end)}
        header[name] = about
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    require(len(text) <= MAX_HEADER_BYTES, "the names in the model are too long to be saved")
    parts = (as_bytes(array).data for _, array in in_order)
    return b"".join([struct.pack("<Q", len(text)), text, *parts])


def read_header(stream: BinaryIO, size: int) -> tuple[str, dict[str, Entry]]:
    """The metadata and the tensor entries of a file of `size` bytes; reads the header only."""
    require(size > 0, "the file is empty")
    require(size >= 8, f"not a devfnn model: the file has only {size} bytes")
    (length,) = struct.unpack("<Q", stream.read(8))
    require(
        2 <= length <= MAX_HEADER_BYTES, f"not a devfnn model: a header of {length} bytes cannot be"
    )
    require(
        length <= size - 8,
        f"truncated, or not a devfnn model: a header of {length} bytes in a file of {size} bytes",
    )
    header = read_json(stream.read(length))
    require(isinstance(header, dict), "not a devfnn model: the header is not a JSON object")
    metadata = header.pop("__metadata__", None)
    require(
        isinstance(metadata, dict) and isinstance(metadata.get(METADATA_KEY), str),
        "a safetensors file, but not a devfnn model: it has no devfnn header",
    )
    require(len(metadata) == 1, "the metadata holds more than the devfnn header")
    entries = {name: _entry(name, about) for name, about in header.items()}
    entries = dict(sorted(entries.items(), key=lambda item: item[1][2:]))  # as they lie in the file
    _check_extent(entries, size - 8 - length)
    return metadata[METADATA_KEY], entries


def read_json(text: str | bytes) -> Any:
    """JSON data; refuses keys that occur twice, NaN, and whatever is no JSON."""
    hooks: dict[str, Any] = {"parse_constant": _finite, "parse_float": _finite}
    try:
        plain = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(plain, object_pairs_hook=unique_keys, **hooks)
    except StorageError:
        raise
    except RecursionError:
        raise StorageError("not a devfnn model: the header is nested too deeply") from None
    except ValueError as error:
        raise StorageError(f"not a devfnn model: the header is not JSON ({error})") from None


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys differ."""
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise StorageError(f"a key occurs twice: {twice!r:.80}")
    return result


def _finite(text: str) -> float:
    """A number; refuses NaN and infinity, which are no JSON."""
    require(math.isfinite(float(text)), f"the header holds {text:.20}")
    return float(text)


def is_count(value: Any) -> bool:
    """Whether a JSON value is a whole number that could count something."""
    return type(value) is int and 0 <= value < 2**62


def _entry(name: str, about: Any) -> Entry:
    """One tensor entry; its size in bytes must be what type and shape say."""
    if not isinstance(about, dict) or about.keys() != {"dtype", "shape", "data_offsets"}:
        raise StorageError(f"the header describes tensor {name!r} in an unknown way")
    code, shape, offsets = about["dtype"], about["shape"], about["data_offsets"]
    if not isinstance(code, str) or code not in DTYPES:
        known = ", ".join(DTYPES)
        raise StorageError(f"tensor {name!r} has type {code!r}; a model has {known}")
    if not isinstance(shape, list) or len(shape) > 8 or not all(map(is_count, shape)):
        raise StorageError(f"tensor {name!r} has an impossible shape")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(is_count, offsets)):
        raise StorageError(f"tensor {name!r} has impossible offsets")
    begin, end = offsets
    n_bytes = math.prod(shape) * DTYPES[code].itemsize  # whole numbers of Python: no overflow
    if end - begin != n_bytes:
        problem = f"has {end - begin} bytes, but its shape asks for {n_bytes}"
        raise StorageError(f"tensor {name!r} {problem}")
    return Entry(code, tuple(shape), begin, end)


def _check_extent(entries: dict[str, Entry], n_bytes: int) -> None:
    """The tensors must fill the rest of the file without gap or overlap."""
    position = 0
    for name, entry in entries.items():
        require(entry.begin == position, f"gap or overlap in the file before tensor {name!r}")
        position = entry.end
    require(n_bytes >= position, f"truncated: {position - n_bytes} bytes are missing at the end")
    require(n_bytes == position, f"{n_bytes - position} surplus bytes at the end of the file")


def read_tensors(stream: BinaryIO, entries: Mapping[str, Entry]) -> dict[str, Array]:
    """Read the tensors; what is allocated is what the file holds."""
    arrays: dict[str, Array] = {}
    for name, entry in entries.items():
        array: Array = np.empty(entry.shape, DTYPES[entry.code])
        n_read = stream.readinto(as_bytes(array)) if array.size else 0  # type: ignore[attr-defined]
        require(n_read == array.nbytes, f"truncated: tensor {name!r} is incomplete")
        arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    return arrays
