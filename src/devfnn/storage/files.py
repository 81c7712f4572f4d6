"""A model as bytes and in files. A file is replaced at once or not at all."""

import contextlib
import hashlib
import io
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple, TypeVar

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
from devfnn.storage.layout import (
    arrays_of,
    check_network,
    check_shapes,
    memory_of,
    network_of,
)
from devfnn.storage.upgrades import upgrade

MAX_BYTES = 2**30
"""Files larger than this are refused unless the caller allows more."""

MAX_MEMORY = 2**31
"""So are models that take more memory than this, or than two files of the size allowed."""

UNLIMITED = {"max_bytes": 2**62, "max_memory": 2**62}
"""For pickles: whoever reads one trusts it."""

MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that data of other types and forms raise when they are read."""

Model = TypeVar("Model")


class Limits(NamedTuple):
    """How large a file may be, and what is made of it; checked before anything large is made."""

    max_bytes: int = MAX_BYTES
    max_memory: int | None = None

    def check_file(self, n_bytes: int) -> None:
        """Refuse a file that is too large."""
        require(
            n_bytes <= self.max_bytes,
            f"the file has {n_bytes} bytes, more than the limit of {self.max_bytes}; "
            "pass a larger max_bytes if it comes from a source you trust",
        )

    def check_memory(self, n_bytes: int) -> None:
        """Refuse a model whose arrays would be too large."""
        most = max(MAX_MEMORY, 2 * self.max_bytes) if self.max_memory is None else self.max_memory
        require(
            n_bytes <= most,
            f"the model would take {n_bytes} bytes of memory, more than the limit of {most}; "
            "pass a larger max_memory if it comes from a source you trust",
        )


class Content(NamedTuple):
    """What is in a file, whole by its checksum, in the form of this format."""

    data: dict[str, Any]
    tensors: dict[str, Array]
    limits: Limits


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
    with model._access.reading():
        kind, network = type(model).__name__, model._network
        require(
            KINDS.get(kind) is type(model),
            f"a {kind} cannot be saved, only {' and '.join(KINDS)} themselves",
        )
        tensors: dict[str, Array] = {}
        if network is not None:
            require(network.config == model.config, "the network has another configuration")
            check_network(network)
            tensors = arrays_of(network)
        return signed(encode_header(model), tensors)


def signed(data: dict[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """A header and arrays as a file, with their checksum."""
    tensors = {}
    for name, array in arrays.items():  # in the file: whole and little-endian
        plain = np.ascontiguousarray(array, DTYPES[CODES[array.dtype]])
        tensors[name] = plain.reshape(array.shape)
    data["sha256"] = checksum_of(data, tensors)
    return container.write_container(tensors, to_text(data))


def parse(data: bytes, *, max_bytes: int = MAX_BYTES, max_memory: int | None = None) -> DEVFNN:
    """The model that `dump` turned into bytes; `load` says more."""
    return read_as(model_in, io.BytesIO(data), len(data), Limits(max_bytes, max_memory))


def read_model(stream: BinaryIO, size: int, max_bytes: int) -> DEVFNN:
    """The model in a stream of `size` bytes."""
    return read_as(model_in, stream, size, Limits(max_bytes))


def read_as(make: Callable[[Content], Model], stream: BinaryIO, size: int, limits: Limits) -> Model:
    """What is made of the content of a stream; no array of it is larger than the file."""
    limits.check_file(size)
    text, entries = container.read_header(stream, size)
    data, checksum = read_checksummed(text)
    with malformed_refused():
        tensors = container.read_tensors(stream, entries)
        is_whole = checksum == checksum_of(data, tensors)
        require(is_whole, "the file is damaged: its content does not match its checksum")
        upgrade(data, tensors, limits.check_memory)
        return make(Content(data, tensors, limits))


@contextlib.contextmanager
def malformed_refused() -> Iterator[None]:
    """Turn errors that come from data of other types and forms into a StorageError."""
    try:
        yield
    except StorageError:
        raise
    except MemoryError:
        raise StorageError("there is not enough memory for what is in the file") from None
    except MALFORMED as error:
        problem = f"{type(error).__name__}: {error}"
        raise StorageError(f"the header is malformed ({problem})") from None


def model_in(content: Content) -> DEVFNN:
    """The model of a header and tensors."""
    data, tensors, limits = content
    require(data["class"] != "Fleet", "the file holds a Fleet; read it with Fleet.load")
    model, sizes = decode_header(data)
    limits.check_memory(memory_of(model, sizes))
    found = {name: (CODES[array.dtype], array.shape) for name, array in tensors.items()}
    check_shapes(found, sizes, model.config)
    if sizes is not None:
        model._network = network_of(tensors, data["counters"], sizes, model.config)
        check_network(model._network)
    check_same(model, data)
    return model


def checksum_of(data: dict[str, Any], tensors: Mapping[str, Array]) -> str:
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


def load(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, max_memory: int | None = None
) -> DEVFNN:
    """Read a model from a file. Nothing in the file is run or imported, whoever wrote it.

    Parameters
    ----------
    path
        A file written by `save`.
    max_bytes
        Refuse larger files.
    max_memory
        Refuse a model whose arrays would take more bytes, before they are made; of one that has
        learned nothing, those that a row of its features would make. Twice `max_bytes` if not
        given, and at least 2 GiB.

    Returns
    -------
    DEVFNN
        A DEVFNN or GClass that goes on learning bit for bit as the saved one would have. Raises
        StorageError for a file that is not a sound model, and OSError (FileNotFoundError, ...) for
        one that cannot be read. For a file of a fleet there is `Fleet.load`.
    """
    return load_as(model_in, path, Limits(max_bytes, max_memory))


def load_as(
    make: Callable[[Content], Model], path: str | os.PathLike[str], limits: Limits
) -> Model:
    """What is made of the content of a file; a StorageError names it."""
    try:
        require(stat.S_ISREG(os.stat(path).st_mode), "not a regular file")
        with open(path, "rb") as stream:
            return read_as(make, stream, os.fstat(stream.fileno()).st_size, limits)
    except ValueError as error:  # also of the system, for a path that none can be
        raise StorageError(f"{os.fspath(path)}: {error}") from None
