"""A file on its way: what has come so far, and from which version of which source."""

import contextlib
import errno
import hashlib
import json
import os
import pathlib
from collections.abc import Iterator

from devfnn.errors import DataError

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))

_PIECE_BYTES = 1 << 20


class Part:
    """The bytes that have come of a file; they stay when a transfer breaks or a process dies.

    Parameters
    ----------
    target
        The file to be. The bytes are kept beside it, with a note of where they came from.
    """

    def __init__(self, target: pathlib.Path) -> None:
        self.path = target.with_name(f"{target.name}.part")
        self._note = target.with_name(f"{target.name}.part.json")
        self.was_continued = False
        """Whether bytes were added to those of an earlier transfer."""

    @property
    def n_bytes(self) -> int:
        """Bytes that are here."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def validator(self, url: str) -> str | None:
        """What the source said of its version, if the bytes are from there; "" if nothing."""
        try:
            note = json.loads(self._note.read_text(encoding="utf8"))
            return str(note["validator"]) if note["url"] == url else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def begin(self, url: str, validator: str) -> None:
        """Start anew, from a source in a version."""
        self.remove()
        note = json.dumps({"url": url, "validator": validator})
        self._note.write_text(note, encoding="utf8")
        self.was_continued = False

    def remove(self) -> None:
        """Forget what has come."""
        for path in (self._note, self.path):
            path.unlink(missing_ok=True)

    def finish(self, target: pathlib.Path) -> None:
        """All has come: the file gets its name, at once."""
        self._note.unlink(missing_ok=True)
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(self.path, target)


def sha256_of(path: pathlib.Path) -> str:
    """The checksum of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


@contextlib.contextmanager
def writing(path: pathlib.Path) -> Iterator[None]:
    """Say clearly why a file cannot be written."""
    elsewhere = "choose another folder with data_dir or DEVFNN_CACHE"
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DataError(
                f"the disk is full: {path.name} does not fit into {path.parent}; make room there "
                f"and call again, or {elsewhere}"
            ) from error
        raise DataError(
            f"{path.name} cannot be written into {path.parent} ({error.strerror or error}); "
            f"{elsewhere}"
        ) from error
