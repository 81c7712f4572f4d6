"""The bytes of a file or a pipe, decompressed, and what they look like."""

import codecs
import contextlib
import lzma
import os
import pathlib
import re
import shutil
import sys
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from devfnn.errors import DataError
from devfnn.streams.files.pipes import HEAD_BYTES, Pipe, compression_of_file, opened
from devfnn.streams.files.recoding import BYTE_ORDER_MARK, UTF8, Recoded, recoded

STANDARD_INPUT = "-"

_BINARY_FORMATS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",  # an empty archive
}

_EXTENSIONS = {".jsonl": "jsonlines", ".ndjson": "jsonlines", ".arff": "arff"}


class Content:
    """What a file or pipe holds, without its compression.

    Parameters
    ----------
    file
        A path; "-" for standard input; or an open binary file, which is read from where it is.
    encoding
        Of the file, if it is text.
    """

    def __init__(self, file: str | os.PathLike[str] | BinaryIO, encoding: str = UTF8) -> None:
        self._pipe: Pipe | None = None
        self._path: pathlib.Path | None = None
        self._head: bytes | None = None
        self._is_whole = False
        self._encoding = codecs.lookup(encoding).name
        if isinstance(file, str) and file == STANDARD_INPUT:
            self.name = "standard input"
            file = sys.stdin.buffer
        elif isinstance(file, str | os.PathLike):
            self.name = os.fspath(file)
            path = pathlib.Path(file).expanduser()
            with reading(self.name):
                if _is_regular(path):
                    self._path = path
                    return
                file = cast(BinaryIO, path.open("rb"))  # a named pipe
            weakref.finalize(self, file.close)
        else:
            self.name = str(getattr(file, "name", "a pipe"))
        with reading(self.name):
            self._pipe = Pipe(file)

    @property
    def is_pipe(self) -> bool:
        """Whether the bytes come only once."""
        return self._path is None

    def head(self) -> bytes:
        """The first bytes; those of a pipe are kept for `open`."""
        if self._head is None:
            with reading(self.name):
                if self._pipe is not None:
                    self._head, self._is_whole = self._pipe.head()
                else:
                    with self.open() as handle:
                        self._head = handle.read(HEAD_BYTES)
                    self._is_whole = len(self._head) < HEAD_BYTES
        return self._head

    def open(self) -> BinaryIO:
        """The bytes from the beginning."""
        if self._path is not None:
            return opened(self._path)
        if self._pipe is None:
            raise DataError(
                f"{self.name} can be read only once; save it to a file to read it again"
            )
        pipe, self._pipe = self._pipe, None
        return pipe.after(self._head or b"")

    def text_head(self) -> bytes:
        """The first lines, as UTF-8; without one that is not there as a whole."""
        text = recoded(self.head(), self._encoding, self.name)
        if self._is_whole:
            return text
        end = last_line_end(text)
        if not end:
            raise DataError(f"{self.name} has no line end in its first {HEAD_BYTES:,} bytes")
        return text[:end]

    def open_text(self) -> BinaryIO:
        """The bytes from the beginning, as UTF-8."""
        if self._encoding == UTF8:
            return self.open()
        return cast(BinaryIO, Recoded(self.open(), self._encoding, self.name))

    def settle(self) -> pathlib.Path:
        """A file in which one can jump: the file itself, or a copy on disk of what is packed."""
        if self._path is not None and compression_of_file(self._path) is None:
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
    """Say which file it was when its bytes are damaged."""
    try:
        yield
    except OSError as error:
        what = "is damaged or cut off" if error.errno is None else "cannot be read"
        raise DataError(f"{name} {what}: {error.strerror or error}") from None
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise DataError(f"{name} is damaged or cut off: {error}") from None


def format_of(head: bytes, name: str, encoding: str = UTF8) -> str:
    """What a file is: by its first bytes, by its name where they say nothing.

    >>> format_of(b'{"a": 1}', "data.txt"), format_of(b"a,b", "data.csv")
    ('jsonlines', 'csv')
    """
    for magic, kind in _BINARY_FORMATS.items():
        if head.startswith(magic):
            return kind
    text = recoded(head, encoding, name).removeprefix(BYTE_ORDER_MARK).lstrip()
    if not text:
        raise DataError(f"{name} is empty")
    if b"\x00" in text[:4096]:
        is_wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        hint = "; is it text, to be read with encoding='utf-16'?" if is_wide else ""
        raise DataError(f"{name} is in no format that is known here{hint}")
    if re.match(rb"\[\s*\{", text):
        raise DataError(f"{name} is one JSON array; write its objects one a line")
    if text.startswith(b"{"):
        return "jsonlines"
    if _is_arff(text):
        return "arff"
    return _EXTENSIONS.get(pathlib.PurePath(name).suffix.lower(), "csv")


def last_line_end(text: bytes) -> int:
    """Where the last whole line ends; 0 if there is none. Old files end lines with CR alone."""
    return text.rfind(b"\n") + 1 or text.rfind(b"\r") + 1


def _is_arff(text: bytes) -> bool:
    lines = (line.strip().lower() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith(b"%")), b"")
    return first.startswith((b"@relation", b"@attribute"))


def _is_regular(path: pathlib.Path) -> bool:
    """Whether a path is a file that can be opened again, unlike a named pipe."""
    if path.is_dir():
        raise DataError(f"{path} is a folder, not a file")
    if not path.exists():
        raise DataError(f"there is no file {path}")
    return path.is_file()
