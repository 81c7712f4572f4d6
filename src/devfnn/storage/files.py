"""A model as bytes and in files. A file is replaced at once or not at all."""

import hashlib
import io
import os
import stat
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from devfnn import files
from devfnn.errors import StorageError
from devfnn.model.devfnn import DEVFNN
from devfnn.storage import container
from devfnn.storage.container import CODES, DTYPES, Array, as_bytes, require
from devfnn.storage.header import (
    KINDS,
    check_same,
    decode_header,
    encode_header,
    read_checksummed,
    to_text,
)
from devfnn.storage.layout import arrays_of, check_network, check_shapes, network_of
from devfnn.storage.upgrades import upgrade

MAX_BYTES = 2**30
"""Files larger than this are refused unless the caller allows more."""

MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that data of other types and forms raise when they are read."""


def dump(model: DEVFNN) -> bytes:
    """A model as the bytes of a safetensors file; the same state gives the same bytes.

    Raises StorageError for labels of other types than int, float, bool, str, bytes and tuples of
    these, and for subclasses of DEVFNN and GClass.

    Examples
    --------
    >>> from devfnn import DEVFNN
    >>> parse(dump(DEVFNN(feature_names=["height", "weight"]))).feature_names
    ['height', 'weight']
    """
    kind, network = type(model).__name__, model._network
    require(
        KINDS.get(kind) is type(model),
        f"a {kind} cannot be saved, only {' and '.join(KINDS)} themselves",
    )
    tensors: dict[str, Array] = {}
    if network is not None:
        require(network.config == model.config, "the network has another configuration")
        check_network(network)
        for name, array in arrays_of(network).items():  # in the file: whole and little-endian
            plain = np.ascontiguousarray(array, DTYPES[CODES[array.dtype]])
            tensors[name] = plain.reshape(array.shape)
    data = encode_header(model)
    data["sha256"] = _checksum(data, tensors)
    return container.write_container(tensors, to_text(data))


def parse(data: bytes, *, max_bytes: int = MAX_BYTES) -> DEVFNN:
    """The model that `dump` turned into bytes; `load` says more."""
    return read_model(io.BytesIO(data), len(data), max_bytes)


def read_model(stream: BinaryIO, size: int, max_bytes: int) -> DEVFNN:
    """The model in a stream of `size` bytes; no array is made that is larger than the file."""
    require(
        size <= max_bytes,
        f"the file has {size} bytes, more than the limit of {max_bytes}; "
        "pass a larger max_bytes if it comes from a source you trust",
    )
    text, entries = container.read_header(stream, size)
    data, checksum = read_checksummed(text)
    try:
        return _model(stream, entries, data, checksum)
    except StorageError:
        raise
    except MALFORMED as error:
        problem = f"{type(error).__name__}: {error}"
        raise StorageError(f"the header is malformed ({problem})") from None


def _model(
    stream: BinaryIO, entries: Mapping[str, container.Entry], data: dict[str, Any], checksum: str
) -> DEVFNN:
    """The model of a header, with tensors from the stream."""
    tensors = container.read_tensors(stream, entries)
    is_whole = checksum == _checksum(data, tensors)
    require(is_whole, "the file is damaged: its content does not match its checksum")
    upgrade(data, tensors)
    model, sizes = decode_header(data)
    found = {name: (CODES[array.dtype], array.shape) for name, array in tensors.items()}
    check_shapes(found, sizes, model.config)
    if sizes is not None:
        model._network = network_of(tensors, data["counters"], sizes, model.config)
        check_network(model._network)
    check_same(model, data)
    return model


def _checksum(data: dict[str, Any], tensors: Mapping[str, Array]) -> str:
    """SHA-256 over the header and the names and bytes of all tensors."""
    digest = hashlib.sha256(to_text(data).encode())
    for name in sorted(tensors):
        digest.update(f"\n{name}\n".encode())
        digest.update(as_bytes(tensors[name]).data)
    return digest.hexdigest()


def save(model: DEVFNN, path: str | os.PathLike[str]) -> None:
    """Write a model to a file; a file that is already there stays whole if this fails.

    The folder must exist. Raises StorageError if the file cannot be written.
    """
    write_whole(path, dump(model))


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file at once or not at all; raises StorageError if it cannot be written."""
    try:
        files.write_whole(path, data)
    except OSError as error:
        raise StorageError(f"cannot write {os.fspath(path)}: {error.strerror or error}") from error


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> DEVFNN:
    """Read a model from a file. Nothing in the file is run or imported, whoever wrote it.

    Parameters
    ----------
    path
        A file written by `save`.
    max_bytes
        Refuse larger files.

    Returns
    -------
    DEVFNN
        A DEVFNN or GClass that goes on learning bit for bit as the saved one would have. Raises
        StorageError for a file that is not a sound model, and OSError (FileNotFoundError, ...) for
        one that cannot be read.
    """
    try:
        require(stat.S_ISREG(os.stat(path).st_mode), "not a regular file")
        with open(path, "rb") as stream:
            return read_model(stream, os.fstat(stream.fileno()).st_size, max_bytes)
    except StorageError as error:
        raise StorageError(f"{os.fspath(path)}: {error}") from None
