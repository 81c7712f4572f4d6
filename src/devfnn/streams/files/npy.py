"""The arrays of an NPZ archive, read row by row and checked before anything is allocated."""

import contextlib
import dataclasses
import io
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from devfnn.errors import DataError

LONGEST_HEADER = 1 << 16
"""Bytes that a header may have; one of a few columns has 128."""

LONGEST_ROW = 1 << 24
"""Bytes that a row may have."""

_SUFFIX = ".npy"


@dataclasses.dataclass(frozen=True)
class Header:
    """What an array is, before it is read."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """Bytes of all values."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize

    @property
    def row_bytes(self) -> int:
        """Bytes of the values of a row."""
        return int(np.prod(self.shape[1:], dtype=object)) * self.dtype.itemsize


@contextlib.contextmanager
def archive_errors(name: str) -> Iterator[None]:
    """Say which file it was that is no sound archive."""
    try:
        yield
    except (RuntimeError, KeyError, struct.error, OverflowError) as error:
        raise DataError(f"{name} is an archive that cannot be read: {error}") from None


def headers(archive: zipfile.ZipFile) -> dict[str, Header]:
    """All arrays of an archive by their names."""
    names = [name.removesuffix(_SUFFIX) for name in archive.namelist() if name.endswith(_SUFFIX)]
    if not names:
        raise DataError("a zip archive without .npy arrays is no NPZ; unpack it first")
    found = {}
    for name in names:
        with open_array(archive, name) as member:
            header = read_header(member, name)
            n_left = archive.getinfo(name + _SUFFIX).file_size - member.tell()
        if n_left != header.n_bytes:
            raise DataError(f"array {name!r} is cut off, or not of the shape {header.shape}")
        found[name] = header
    return found


def open_array(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """An array of an archive, from its header on."""
    return archive.open(name + _SUFFIX)


def read_header(member: IO[bytes], name: str) -> Header:
    """The header of an array; objects, which could run code, are refused."""
    try:
        header = _parsed_header(member)
    except Exception as error:  # NumPy reads it as Python, so anything may be wrong with it
        raise DataError(f"array {name!r} is damaged: {error}") from None
    if header.dtype.hasobject:
        raise DataError(f"array {name!r} holds Python objects, which are not read from files")
    if min(header.shape, default=0) < 0 or header.row_bytes > LONGEST_ROW:
        raise DataError(f"array {name!r} has rows that are too long, or the shape {header.shape}")
    return header


def _parsed_header(member: IO[bytes]) -> Header:
    """As NumPy does it, but without reading headers of any length."""
    version = np.lib.format.read_magic(member)
    size = member.read(2 if version == (1, 0) else 4)
    length = int.from_bytes(size, "little")
    if length > LONGEST_HEADER:
        raise ValueError("its header is too long")
    rest = io.BytesIO(size + member.read(length))
    if version == (1, 0):
        return Header(*np.lib.format.read_array_header_1_0(rest))
    return Header(*np.lib.format.read_array_header_2_0(rest))


class Rows:
    """An array of an archive, from which rows are read in order."""

    def __init__(self, member: IO[bytes], name: str) -> None:
        self._member = member
        self._name = name
        self._header = read_header(member, name)
        self._whole: npt.NDArray[Any] | None = None
        self._start = 0

    def read(self, n_rows: int) -> npt.NDArray[Any]:
        """The next rows, in the byte order of the machine."""
        dtype = self._header.dtype
        rows = self._read_by_columns(n_rows) if self._is_by_columns else self._read(n_rows)
        return rows.astype(dtype.newbyteorder("="), copy=False)

    @property
    def _is_by_columns(self) -> bool:
        return self._header.is_fortran and len(self._header.shape) > 1

    def _read(self, n_rows: int) -> npt.NDArray[Any]:
        shape = (n_rows, *self._header.shape[1:])
        n_bytes = n_rows * self._header.row_bytes
        data = self._member.read(n_bytes)
        if len(data) < n_bytes:
            raise DataError(f"array {self._name!r} is cut off")
        return np.frombuffer(data, self._header.dtype).reshape(shape)

    def _read_by_columns(self, n_rows: int) -> npt.NDArray[Any]:
        """Rows of a matrix that is stored column after column, by way of a file on disk."""
        header = self._header
        if self._whole is None:
            with tempfile.TemporaryFile(prefix="devfnn-") as copy:
                shutil.copyfileobj(self._member, copy)
                if copy.tell() < header.n_bytes:
                    raise DataError(f"array {self._name!r} is cut off")
                self._whole = np.memmap(copy, header.dtype, "r", 0, header.shape, "F")
        rows = np.array(self._whole[self._start : self._start + n_rows], order="C")
        self._start += n_rows
        return rows
