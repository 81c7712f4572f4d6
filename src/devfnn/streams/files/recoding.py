"""Text in any encoding as UTF-8."""

import codecs
import io
from typing import BinaryIO

from devfnn.errors import DataError

UTF8 = "utf-8"
BYTE_ORDER_MARK = codecs.BOM_UTF8


def recoded(text: bytes, encoding: str, name: str) -> bytes:
    """Text as UTF-8, but for a character at its end that is cut off; UTF-8 is left as it is."""
    if codecs.lookup(encoding).name == UTF8:
        return text
    try:
        return codecs.getincrementaldecoder(encoding)().decode(text).encode()
    except UnicodeError:
        raise not_in(encoding, name) from None


def not_in(encoding: str, name: str) -> DataError:
    """An error that says that text is in another encoding."""
    return DataError(
        f"{name} is not {encoding}; say how its text is encoded, for instance encoding='latin-1'"
    )


class Recoded(io.RawIOBase):
    """A file of text in some encoding, as UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str, name: str) -> None:
        self._file = file
        self._encoding = encoding
        self._name = name
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """About so many bytes; none at the end."""
        try:
            while some := self._file.read(size):
                if text := self._decoder.decode(some):
                    return text.encode()
            return self._decoder.decode(b"", final=True).encode()
        except UnicodeError:
            raise not_in(self._encoding, self._name) from None

    def close(self) -> None:
        self._file.close()
        super().close()
