"""Files of data sets from the network: from the first place that has them, whole and checked."""

import logging
import os
import pathlib
import time

from devfnn.errors import DataError
from devfnn.streams.datasets.archives import extract
from devfnn.streams.datasets.description import Mirror, RemoteFile
from devfnn.streams.datasets.directions import by_hand
from devfnn.streams.datasets.locking import locked
from devfnn.streams.datasets.partial import Part, sha256_of, writing
from devfnn.streams.datasets.transfer import (
    BrokenTransferError,
    Progress,
    Source,
    TransferError,
    UnreachableError,
    transfer,
)

OFFLINE = "DEVFNN_OFFLINE"
"""Environment variable: with 1, nothing is ever downloaded."""

TRIES = 4
"""Transfers from one place that may break, one after the other, without much having come."""

PAUSE_SECONDS = 1.0
"""Before the second try; twice as long before each further one."""

MUCH_BYTES = 1 << 20
"""A transfer that brought so much before it broke does not count as failed."""

MOST_MEMBER_BYTES = 1 << 32
"""A file of unknown size may be so large when it is unpacked."""

logger = logging.getLogger(__name__)


def is_offline() -> bool:
    """Whether the user has forbidden to use the network."""
    return os.environ.get(OFFLINE, "").strip().lower() not in ("", "0", "no", "false")


def fetch(file: RemoteFile, folder: pathlib.Path, progress: Progress | None = None) -> pathlib.Path:
    """Download a file into a folder, unless it is there; all of it or nothing.

    Parameters
    ----------
    file
        What to get, from where, and how to know that it is right.
    folder
        Where to; it is made if need be. A transfer that was interrupted goes on from there.
    progress
        Called with the bytes that are here and those of the whole file (None if nobody knows).
        The bytes become fewer when a transfer has to start anew.

    Raises
    ------
    DataError
        Says why no place could give the file, and how to get it by hand.
    """
    target = folder / file.name
    if is_offline():
        raise DataError(f"{OFFLINE} is set; {by_hand(file, folder)}")
    with writing(target):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(target):
            if not target.is_file():
                _fetch_from_any(file, target, progress)
    return target


def _fetch_from_any(file: RemoteFile, target: pathlib.Path, progress: Progress | None) -> None:
    """The file from the first place that gives it."""
    reasons = []
    for mirror in file.mirrors:
        logger.info("downloading %s from %s", file.name, mirror.url)
        try:
            if mirror.member is None:
                source = Source(mirror.url, file.n_bytes, file.sha256)
                part = _obtained(source, target, progress)
            else:
                part = _unpacked(file, mirror, target, progress)
        except TransferError as error:
            logger.info("%s", error)
            reasons.append(f"{mirror.url}: {error}")
            continue
        part.finish(target)
        logger.info("%s is in %s", file.name, target.parent)
        return
    raise DataError(
        f"{file.name} could not be downloaded ({'; '.join(reasons)}). To get it by hand: "
        f"{by_hand(file, target.parent)}"
    )


def _unpacked(
    file: RemoteFile, mirror: Mirror, target: pathlib.Path, progress: Progress | None
) -> Part:
    """The file out of an archive, checked; the archive is not kept."""
    source = Source(mirror.url, mirror.n_bytes, mirror.sha256)
    archive = _obtained(source, target.with_name(f"{target.name}.archive"), progress)
    part = Part(target)
    try:
        part.begin(mirror.url, "")
        assert mirror.member is not None
        extract(archive.path, mirror.member, part.path, file.n_bytes or MOST_MEMBER_BYTES)
        _check(part, file.n_bytes, file.sha256)
    except TransferError:
        part.remove()
        raise
    finally:
        archive.remove()
    return part


def _obtained(source: Source, target: pathlib.Path, progress: Progress | None) -> Part:
    """All bytes of a file from one place, checked."""
    part = Part(target)
    _transfer_all(source, part, progress)
    try:
        _check(part, source.n_bytes, source.sha256)
    except TransferError as error:
        if not part.was_continued:
            raise
        # What was here before may have been of another file.
        logger.info("%s; starting anew", error)
        _transfer_all(source, part, progress)
        _check(part, source.n_bytes, source.sha256)
    return part


def _transfer_all(source: Source, part: Part, progress: Progress | None) -> None:
    """Try until all bytes are here, or until it is no use."""
    n_broken = 0
    while True:
        n_before = part.n_bytes
        try:
            transfer(source, part, progress)
            return
        except (BrokenTransferError, UnreachableError) as error:
            if part.n_bytes - n_before >= MUCH_BYTES:
                n_broken = 0
            elif n_broken == 0 and isinstance(error, UnreachableError):
                raise
            n_broken += 1
            if n_broken >= TRIES:
                raise
            logger.info("%s; trying again", error)
            time.sleep(PAUSE_SECONDS * 2 ** (n_broken - 1))


def _check(part: Part, n_bytes: int | None, sha256: str | None) -> None:
    """Remove what has come if it is not the file it should be."""
    reason = ""
    if n_bytes not in (None, part.n_bytes):
        reason = f"{part.n_bytes} bytes came, not {n_bytes}"
    elif sha256 is not None:
        actual = sha256_of(part.path)
        if actual != sha256:
            reason = f"the file has the sha256 {actual}, not {sha256}, and was removed"
    if reason:
        part.remove()
        raise TransferError(reason)
