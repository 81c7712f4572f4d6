"""The bytes of a file or a pipe, unpacked and as UTF-8, and what format they are in."""

import bz2
import codecs
import contextlib
import gzip
import importlib
import io
import lzma
import os
import pathlib
import re
import select
import shutil
import sys
import tempfile
import time
import weakref
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from devfnn.errors import DataError, InputError
from devfnn.files import replacing

STANDARD_INPUT = "-"

UTF8 = "utf-8"
BYTE_ORDER_MARK = codecs.BOM_UTF8

HEAD_BYTES = 1 << 20
"""Bytes from which everything about a file is inferred."""

HEAD_SECONDS = 1.0
"""How long to wait for them if they come through a pipe, once there are a few lines."""

_BINARY_FORMATS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",  # an empty archive
}
_EXTENSIONS = {".jsonl": "jsonlines", ".ndjson": "jsonlines", ".arff": "arff"}


_COMPRESSIONS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    # pyarrow is imported when it is needed
    b"\x28\xb5\x2f\xfd": lambda file: importlib.import_module("pyarrow").input_stream(file, "zstd"),
}
_LONGEST_MAGIC = max(map(len, _COMPRESSIONS))


class Content:
    """What a file or pipe holds, without its compression.

    The file is a path; "-" for standard input; or an open binary file, which is read from where it
    is. The encoding matters if it is text.
    """

    def __init__(self, file: str | os.PathLike[str] | BinaryIO, encoding: str = UTF8) -> None:
        self._path: pathlib.Path | None = None
        self._file: Any = None
        self._pipe: BinaryIO | None = None
        """The unpacked content; None if it is not a pipe, or was read."""
        self._head: bytes | None = None
        self._is_whole = False
        self._encoding = codecs.lookup(encoding).name
        self.name = str(getattr(file, "name", "a pipe"))
        if isinstance(file, str) and file == STANDARD_INPUT:
            self.name, file = "standard input", sys.stdin.buffer
        elif isinstance(file, str | os.PathLike):
            self.name = os.fspath(file)
            path = pathlib.Path(file).expanduser()
            if path.is_file():
                self._path = path
                return
            with reading(self.name):
                file = cast(BinaryIO, path.open("rb"))  # a named pipe
            weakref.finalize(self, file.close)
        if not hasattr(file, "read"):
            raise InputError(f"file must be a path or an open binary file, not {file!r}")
        self._file = file
        with reading(self.name):
            start = b""
            while len(start) < _LONGEST_MAGIC and (more := _read_some(file, _LONGEST_MAGIC)):
                start += more
            pipe, opener = _Replayed(start, file), _opener(start)
            self._pipe = cast(BinaryIO, pipe if opener is None else opener(pipe))

    @property
    def is_pipe(self) -> bool:
        """Whether the bytes come only once."""
        return self._path is None

    def head(self) -> bytes:
        """The first bytes; those of a pipe are kept for `open`."""
        if self._head is None:
            with reading(self.name):
                if self._pipe is not None:
                    self._head, self._is_whole = self._head_of_pipe(self._pipe)
                else:
                    with self.open() as handle:
                        self._head = handle.read(HEAD_BYTES)
                    self._is_whole = len(self._head) < HEAD_BYTES
        return self._head

    def _head_of_pipe(self, pipe: BinaryIO) -> tuple[bytes, bool]:
        """The first bytes that are available, and whether that is all.

        A few lines at least; as much as a file's head if it comes soon enough: what is inferred
        from it shall not depend on how the bytes are cut on their way.
        """
        head = b""
        give_up: float | None = None
        while len(head) < HEAD_BYTES:
            if give_up is None and head.count(b"\n") > 2:
                give_up = time.monotonic() + HEAD_SECONDS
            if give_up is not None and not self._has_more(give_up - time.monotonic()):
                return head, False
            more = _read_some(pipe, HEAD_BYTES - len(head))
            if not more:
                return head, True
            head += more
        return head, False

    def _has_more(self, seconds: float) -> bool:
        """Whether bytes, or the end, arrive within so many seconds."""
        try:
            return bool(select.select([self._file], [], [], max(0.0, seconds))[0])
        except (OSError, ValueError, TypeError):  # nothing that one can wait for
            return True

    def open(self) -> BinaryIO:
        """The bytes from the beginning."""
        if self._path is not None:
            opener = self._path_opener()
            return cast(BinaryIO, opener(self._path) if opener else self._path.open("rb"))
        if self._pipe is None:
            raise DataError(
                f"{self.name} can be read only once; save it to a file to read it again"
            )
        pipe, self._pipe = self._pipe, None
        return cast(BinaryIO, _Replayed(self._head or b"", pipe))

    def _path_opener(self) -> Any:
        assert self._path is not None
        with self._path.open("rb") as file:
            return _opener(file.read(_LONGEST_MAGIC))

    def text_head(self) -> bytes:
        """The first lines, as UTF-8, without an incomplete one."""
        text = _recoded(self.head(), self._encoding, self.name)
        end = len(text) if self._is_whole else last_line_end(text)
        if text and not end:
            raise DataError(f"{self.name} has no line end in its first {HEAD_BYTES:,} bytes")
        check_utf8(text[:end], self.name)
        return text[:end]

    def text(self, n_bytes: int) -> Iterator[bytes]:
        """The whole text as UTF-8, about so many bytes at a time."""
        decoder = codecs.getincrementaldecoder(self._encoding)()
        with self.open() as handle:
            while True:
                with reading(self.name):
                    some = handle.read(n_bytes)
                try:
                    is_utf8 = self._encoding == UTF8
                    yield some if is_utf8 else decoder.decode(some, final=not some).encode()
                except UnicodeError:
                    raise _not_in(self._encoding, self.name) from None
                if not some:
                    return

    def settle(self) -> pathlib.Path:
        """A seekable file: the file itself, or an unpacked copy on disk."""
        if self._path is not None and self._path_opener() is None:
            return self._path
        copy = tempfile.NamedTemporaryFile(prefix="devfnn-")
        weakref.finalize(self, copy.close)
        with reading(self.name), self.open() as handle:
            shutil.copyfileobj(handle, copy)
            copy.flush()
        self._path = pathlib.Path(copy.name)
        return self._path


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Name the file in errors about damaged bytes."""
    try:
        yield
    except OSError as error:
        what = "is damaged or cut off" if error.errno is None else "cannot be read"
        raise DataError(f"{name} {what}: {error.strerror or error}") from None
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise DataError(f"{name} is damaged or cut off: {error}") from None


@contextlib.contextmanager
def new_file(path: pathlib.Path, hint: str = "") -> Iterator[BinaryIO]:
    """A file that replaces another if all goes well, in a folder that is made if need be.

    DataError says why it cannot be written; errors of the network have no number and pass.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as draft:
            yield draft
    except OSError as error:
        if error.errno is None:
            raise
        why = f"({error.strerror or error}){hint}"
        raise DataError(f"{path.name} cannot be written into {path.parent} {why}") from error


def format_of(head: bytes, name: str, encoding: str = UTF8) -> str:
    """The format of a file: by its first bytes, or by its name if these are ambiguous."""
    for magic, kind in _BINARY_FORMATS.items():
        if head.startswith(magic):
            return kind
    text = _recoded(head, encoding, name).removeprefix(BYTE_ORDER_MARK).lstrip()
    if not text:
        raise DataError(f"{name} is empty")
    if b"\x00" in text[:4096]:
        raise DataError(
            f"{name} is in no format that is known here; if it is text, say how it is encoded, for "
            "instance encoding='utf-16'"
        )
    if re.match(rb"\[\s*\{", text):
        raise DataError(f"{name} is one JSON array; write its objects one a line")
    if text.startswith(b"{"):
        return "jsonlines"
    if re.match(rb"(?i)(%[^\n]*\n\s*)*@(relation|attribute)", text):
        return "arff"
    return _EXTENSIONS.get(pathlib.PurePath(name).suffix.lower(), "csv")


def last_line_end(text: bytes) -> int:
    """Where the last whole line ends; 0 if there is none. Old files end lines with CR alone."""
    return text.rfind(b"\n") + 1 or text.rfind(b"\r") + 1


def check_utf8(text: bytes, name: str) -> None:
    """Refuse bytes that are not UTF-8."""
    try:
        text.isascii() or text.decode()
    except UnicodeDecodeError:
        raise _not_in(UTF8, name) from None


def _not_in(encoding: str, name: str) -> DataError:
    return DataError(
        f"{name} is not {encoding}; say how its text is encoded, for instance encoding='latin-1'"
    )


def _recoded(text: bytes, encoding: str, name: str) -> bytes:
    """Text as UTF-8, but for a character at its end that is cut off; UTF-8 is left as it is."""
    if codecs.lookup(encoding).name == UTF8:
        return text
    try:
        return codecs.getincrementaldecoder(encoding)().decode(text).encode()
    except UnicodeError:
        raise _not_in(encoding, name) from None


class _Replayed(io.RawIOBase):
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


def _opener(start: bytes) -> Any:
    """What unpacks a file that begins with these bytes; None if it is not packed."""
    return next((how for magic, how in _COMPRESSIONS.items() if start.startswith(magic)), None)


def _read_some(file: BinaryIO, size: int) -> bytes:
    """At most so many bytes, as soon as there are any."""
    some = getattr(file, "read1", file.read)(size)
    if isinstance(some, str):
        raise InputError("the file is open as text; open it in binary mode")
    return bytes(some or b"")
