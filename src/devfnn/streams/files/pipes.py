"""Bytes that come once, when they come; and how packed bytes are unpacked on the way."""

import bz2
import gzip
import io
import lzma
import pathlib
import re
import select
import time
from typing import Any, BinaryIO, cast

from devfnn.errors import InputError

HEAD_BYTES = 1 << 20
"""Bytes from which everything about a file is inferred."""

HEAD_SECONDS = 1.0
"""How long to wait for them if they come through a pipe, once there are a few lines."""

_COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_LONGEST_MAGIC = max(map(len, _COMPRESSIONS))

_COMMENTS = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s*%[^\n]*\n)*\s*")
_ARFF_ROW = re.compile(rb"(?im)^[ \t]*@data\b[^\n]*\n[^\n]*\n")


class Pipe:
    """Bytes that come when they come, without their compression."""

    def __init__(self, file: BinaryIO) -> None:
        if not hasattr(file, "read"):
            raise InputError(f"file must be a path or an open binary file, not {file!r}")
        self._file = file
        start = b""
        while len(start) < _LONGEST_MAGIC and (more := _read_some(file, _LONGEST_MAGIC)):
            start += more
        self._unpacked = _unpacked(Replayed(start, file), compression_of(start))

    def head(self) -> tuple[bytes, bool]:
        """What there is to be had at first, and whether that is all.

        A few lines at least; as much as a file's head if it comes soon enough: what is inferred
        from it shall not depend on how the bytes are cut on their way.
        """
        head = b""
        give_up: float | None = None
        while len(head) < HEAD_BYTES:
            if give_up is None and _is_enough(head):
                give_up = time.monotonic() + HEAD_SECONDS
            if give_up is not None and not self._has_more(give_up - time.monotonic()):
                return head, False
            more = _read_some(self._unpacked, HEAD_BYTES - len(head))
            if not more:
                return head, True
            head += more
        return head, False

    def after(self, head: bytes) -> BinaryIO:
        """All bytes, of which the first were read before."""
        return cast(BinaryIO, Replayed(head, self._unpacked))

    def _has_more(self, seconds: float) -> bool:
        """Whether there will be bytes, or the end, within so many seconds."""
        try:
            return bool(select.select([self._file], [], [], max(0.0, seconds))[0])
        except (OSError, ValueError, TypeError):  # nothing that one can wait for
            return isinstance(self._file, io.BytesIO)


class Replayed(io.RawIOBase):
    """Bytes that were read before, then the rest of a pipe, as soon as it comes."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """At most as many bytes as fit in, as soon as there are any."""
        some = self._head.read(len(buffer)) or _read_some(self._rest, len(buffer))
        buffer[: len(some)] = some
        return len(some)


def opened(path: pathlib.Path) -> BinaryIO:
    """The bytes of a file, without its compression."""
    kind = compression_of_file(path)
    return cast(BinaryIO, path.open("rb")) if kind is None else _unpacked(path, kind)


def compression_of_file(path: pathlib.Path) -> str | None:
    """How a file is packed, None if it is not."""
    with path.open("rb") as file:
        return compression_of(file.read(_LONGEST_MAGIC))


def compression_of(start: bytes) -> str | None:
    """How bytes are packed, None if they are not.

    >>> compression_of(b"BZh91AY")
    'bzip2'
    """
    return next((kind for magic, kind in _COMPRESSIONS.items() if start.startswith(magic)), None)


def _unpacked(file: Any, kind: str | None) -> BinaryIO:
    """What a path or an open file holds, unpacked."""
    match kind:
        case "gzip":
            return cast(BinaryIO, gzip.open(file))
        case "bzip2":
            return cast(BinaryIO, bz2.open(file))
        case "xz":
            return cast(BinaryIO, lzma.open(file))
        case "zstd":
            import pyarrow as pa

            return cast(BinaryIO, pa.input_stream(file, compression="zstd"))
    return cast(BinaryIO, file)


def _is_enough(head: bytes) -> bool:
    """Whether columns can be understood from these bytes: a header and some rows."""
    comments = _COMMENTS.match(head)
    text = head[comments.end() :] if comments else head
    if text[:10].lower().startswith((b"@relation", b"@attribute", b"%")):
        return _ARFF_ROW.search(text) is not None
    return text.count(b"\n") > 2


def _read_some(file: BinaryIO, size: int) -> bytes:
    """At most so many bytes, as soon as there are any."""
    some = getattr(file, "read1", file.read)(size)
    if isinstance(some, str):
        raise InputError("the file is open as text; open it in binary mode")
    return bytes(some or b"")
