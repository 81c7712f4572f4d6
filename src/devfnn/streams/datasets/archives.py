"""One file out of an archive, and nothing else of it."""

import contextlib
import gzip
import lzma
import pathlib
import tarfile
import zlib
from collections.abc import Iterator
from typing import IO

from devfnn.streams.datasets.transfer import TransferError

_PIECE_BYTES = 1 << 20


def extract(archive: pathlib.Path, member: str, target: pathlib.Path, most_bytes: int) -> None:
    """Write the member of exactly this name to a file; names in the archive lead nowhere else.

    Raises TransferError if it is not there, no plain file, larger than it may be, or damaged.
    """
    with _unpacking(), tarfile.open(archive) as tar:
        info = next((each for each in tar if each.name == member), None)
        if info is None or not info.isreg():
            raise TransferError(f"the archive has no file {member}")
        if info.size > most_bytes:
            raise TransferError(f"{member} has {info.size} bytes, more than {most_bytes}")
        content = tar.extractfile(info)
        assert content is not None  # it is a plain file
        with target.open("wb") as file:
            for piece in _pieces(content):
                file.write(piece)


def _pieces(content: IO[bytes]) -> Iterator[bytes]:
    """What a member holds; damage in it is not taken for trouble with the disk."""
    with _unpacking():
        while piece := content.read(_PIECE_BYTES):
            yield piece


@contextlib.contextmanager
def _unpacking() -> Iterator[None]:
    try:
        yield
    except (
        *(tarfile.TarError, EOFError, zlib.error),
        *(gzip.BadGzipFile, lzma.LZMAError),
    ) as error:
        raise TransferError(f"the archive is damaged: {error}") from None
