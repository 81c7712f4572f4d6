"""One process at a time works on a file; the others wait."""

import contextlib
import logging
import os
import pathlib
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO

POLL_SECONDS = 0.2

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def locked(path: pathlib.Path) -> Iterator[None]:
    """Hold the lock of a file, which need not exist; the folder must.

    The system gives the lock back when a process dies, so nobody waits for a dead one.
    """
    lock = path.with_name(f".{path.name}.lock")
    file = _held(lock, path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows does not remove an open file
            lock.unlink()
        file.close()


def _held(lock: pathlib.Path, path: pathlib.Path) -> BinaryIO:
    """The lock file, locked by this process."""
    has_said = False
    while True:
        file = lock.open("a+b")
        has_lock = False
        try:
            has_lock = _try_lock(file) and _is_still(file, lock)
        finally:
            if not has_lock:
                file.close()
        if has_lock:
            return file
        if not has_said and lock.exists():
            logger.info("another process works on %s; waiting for it", path)
            has_said = True
        time.sleep(POLL_SECONDS)


def _is_still(file: BinaryIO, lock: pathlib.Path) -> bool:
    """Whether the file that was locked is the one by that name: its last holder removes it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), lock.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: BinaryIO) -> bool:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
