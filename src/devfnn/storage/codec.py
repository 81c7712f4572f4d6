"""A model as bytes, and back."""

import hashlib
import io
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from devfnn.errors import StorageError
from devfnn.model.devfnn import DEVFNN
from devfnn.model.gclass import GClass
from devfnn.model.validation import Labels
from devfnn.storage import container, format3
from devfnn.storage.container import CODES, DTYPES, Array, as_bytes, require
from devfnn.storage.header import (
    FORMAT,
    Header,
    Notes,
    decode_header,
    encode_header,
    read_checksummed,
    to_text,
)
from devfnn.storage.layout import (
    arrays_of,
    check_network,
    counters_of,
    expected_fields,
    network_of,
    sizes_of,
)

MAX_BYTES = 2**30
"""Files larger than this are refused unless the caller allows more."""

KINDS: dict[str, type[DEVFNN]] = {"DEVFNN": DEVFNN, "GClass": GClass}
"""The classes that can be stored; a file can name no other."""


def dump(model: DEVFNN) -> bytes:
    """A model as the bytes of a safetensors file; the same state gives the same bytes.

    Parameters
    ----------
    model
        A DEVFNN or GClass, also one that has learned nothing.

    Returns
    -------
    bytes
        What `parse` reads. Raises StorageError for labels of other types than int, float, bool,
        str, bytes and tuples of these, and for subclasses.

    Examples
    --------
    >>> from devfnn import DEVFNN
    >>> parse(dump(DEVFNN(feature_names=["height", "weight"]))).feature_names
    ['height', 'weight']
    """
    kind = type(model).__name__
    require(
        KINDS.get(kind) is type(model),
        f"a {kind} cannot be saved, only {' and '.join(KINDS)} themselves",
    )
    network = model._network
    if network is not None:
        require(network.config == model.config, "the network has another configuration")
        check_network(network)
    tensors = {name: _plain(array) for name, array in arrays_of(network).items()} if network else {}
    header = Header(
        kind,
        model.config,
        model._names,
        model._labels.classes,
        sizes_of(network) if network is not None else None,
        model._late,
        counters_of(network) if network is not None else {},
        Notes(model._logbook, model._query_log, model._early_budget),
    )
    _check_shapes(header, {name: (CODES[a.dtype], a.shape) for name, a in tensors.items()})
    data = encode_header(header)
    data["sha256"] = _checksum(data, tensors)
    return container.write_container(tensors, to_text(data))


def parse(data: bytes, *, max_bytes: int = MAX_BYTES) -> DEVFNN:
    """The model that `dump` turned into bytes.

    Parameters
    ----------
    data
        The bytes. They may come from anywhere: nothing in them is run or imported.
    max_bytes
        Refuse more bytes than this.

    Returns
    -------
    DEVFNN
        A DEVFNN or GClass that goes on learning bit for bit as the saved one would have. Raises
        StorageError for bytes that are not a sound model.
    """
    return read_model(io.BytesIO(data), len(data), max_bytes)


def read_model(stream: BinaryIO, size: int, max_bytes: int) -> DEVFNN:
    """The model in a stream of `size` bytes; everything is checked before arrays are made."""
    require(
        size <= max_bytes,
        f"the file has {size} bytes, more than the limit of {max_bytes}; "
        "pass a larger max_bytes if it comes from a source you trust",
    )
    text, entries = container.read_header(stream, size)
    data, checksum = read_checksummed(text)
    is_old = data["format"] == format3.FORMAT
    if not is_old:
        header = decode_header(data)
        found = {name: (entry.code, entry.shape) for name, entry in entries.items()}
        _check_shapes(header, found)
    tensors = container.read_tensors(stream, entries)
    require(
        checksum == _checksum(data, tensors),
        "the file is damaged: its content does not match its checksum",
    )
    if is_old:
        data, tensors = format3.converted(data, tensors, FORMAT)
        header = decode_header(data)
        _check_shapes(header, {name: (CODES[a.dtype], a.shape) for name, a in tensors.items()})
    require(header.kind in KINDS, f"the file holds a {header.kind!r}, which is not known here")
    return _model(header, tensors)


def _check_shapes(header: Header, found: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
    """The tensors must be exactly those that a state of the header's sizes has."""
    expected = dict[str, tuple[str, tuple[int, ...]]]()
    if header.sizes is not None:
        fields = expected_fields(header.sizes, header.config)
        expected = {name: (CODES[field.dtype], shape) for name, (field, shape) in fields.items()}
    for name in sorted(expected.keys() - found.keys()):
        raise StorageError(f"tensor {name!r} is missing")
    for name in sorted(found.keys() - expected.keys()):
        raise StorageError(f"tensor {name!r} does not belong to a model")
    for name, wanted in expected.items():
        (code, shape), (wanted_code, wanted_shape) = found[name], wanted
        require(
            (code, shape) == wanted,
            f"tensor {name!r} is {code} {list(shape)}, not {wanted_code} {list(wanted_shape)}",
        )


def _model(header: Header, tensors: Mapping[str, Array]) -> DEVFNN:
    """Put a model together."""
    model = KINDS[header.kind](header.config, header.feature_names)
    require(model.config == header.config, f"the configuration is not one of a {header.kind}")
    model._logbook, model._query_log, model._early_budget = header.notes
    if header.sizes is not None:
        network = network_of(tensors, header.counters, header.sizes, header.config)
        check_network(network)
        model._network = network
        model._labels = Labels(header.classes)
        model._late = header.late
    return model


def _plain(array: Array) -> Array:
    """An array as it lies in the file: contiguous and little-endian."""
    return np.ascontiguousarray(array, DTYPES[CODES[array.dtype]]).reshape(array.shape)


def _checksum(data: dict[str, Any], tensors: Mapping[str, Array]) -> str:
    """SHA-256 over the header and the names and bytes of all tensors."""
    digest = hashlib.sha256(to_text(data).encode())
    for name in sorted(tensors):
        digest.update(f"\n{name}\n".encode())
        digest.update(as_bytes(tensors[name]).data)
    return digest.hexdigest()
