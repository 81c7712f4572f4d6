"""Files that are whole at every moment, and in the hands of one process at a time.

A file is written as a draft beside it, `NAME.<16 hex digits>.draft`, that takes its place at once.
The writer holds a lock on its draft; a draft that nobody holds was left by a process that was
killed, and the next one that writes the same file removes it. Where the system has no `fcntl`
(Windows), nothing is locked: drafts of killed processes stay, and `locked` keeps nobody out.
"""

import contextlib
import errno
import logging
import os
import re
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO

from devfnn.errors import DataError

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]

WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What systems say of disks, mostly far away, that have no locks."""

Path = str | os.PathLike[str]

logger = logging.getLogger(__name__)

_CODE = re.compile(r"\.[0-9a-f]{16}\.draft")
"""What the name of a draft has after that of its file."""

_HOLDER = re.compile(rb"process (\d{1,20})\n")
"""What a lock file holds; a file with anything else in it is not ours."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """The next content of a file: it takes the place of the old one if the work succeeds.

    Until then, and if anything is raised, the old file stays as it was. The new one has its
    permissions; a link stays a link. OSError if the file cannot be written.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "file")
    >>> with replacing(path) as file:
    ...     count = file.write(b"new")
    >>> path.read_bytes(), len(os.listdir(folder.name))
    (b'new', 1)
    >>> folder.cleanup()
    """
    draft = Draft(path)
    try:
        yield draft.file
        draft.take_place()
    finally:
        draft.discard()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file at once or not at all; OSError if it cannot be written."""
    with replacing(path) as file:
        file.write(data)


class Draft:
    """The next content of a file, in `file`, until it takes its place or is discarded."""

    def __init__(self, path: Path) -> None:
        self.target = os.path.realpath(path)
        mode = None
        with contextlib.suppress(FileNotFoundError):
            mode = os.stat(self.target).st_mode
        if mode is not None and not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is there, and no regular file")
        self.file = self._opened(0o666 if mode is None else 0o600)  # nobody reads ahead
        self.path = self.file.name
        try:
            if mode is not None:  # before there is anything to read in it
                os.chmod(self.path, stat.S_IMODE(mode))
            _remove_abandoned(self.target)
        except BaseException:
            self.discard()
            raise

    def _opened(self, mode: int) -> BinaryIO:
        """A new file, held by a lock where there are locks."""
        while True:
            # A name that nobody knows, and only if it is not there: no link is followed.
            name = f"{self.target}.{secrets.token_hex(8)}.draft"
            file = open(name, "x+b", opener=lambda path, flags: os.open(path, flags, mode))
            if _is_held(file):
                return file
            file.close()  # another writer took it for abandoned, before it was locked
            with contextlib.suppress(OSError):
                os.unlink(file.name)

    def take_place(self) -> None:
        """Put the draft in place of the file, and both content and name on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())
        if fcntl is None:
            self.file.close()  # Windows renames no open file
        os.replace(self.path, self.target)
        with contextlib.suppress(OSError):  # where the system can do that
            folder = os.open(os.path.dirname(self.target), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def discard(self) -> None:
        """Remove the draft, unless it has taken its place."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        with contextlib.suppress(OSError):  # a full disk
            self.file.close()


def _is_held(file: BinaryIO) -> bool:
    """Lock a new draft; whether it is still there, or cannot be locked on this disk."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return _is_at(file.fileno(), file.name)


def _is_at(descriptor: int, path: str) -> bool:
    """Whether an open file is the one that has this name."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    return False


def _remove_abandoned(target: str) -> None:
    """Remove drafts of a file whose writers have ended."""
    folder, name = os.path.split(target)
    names: list[str] = []
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a folder that may be written, but not read
            names = os.listdir(folder)
    for each in names:
        if each.startswith(name) and _CODE.fullmatch(each, len(name)):
            with contextlib.suppress(OSError):  # somebody else's, or removed by now
                _remove_if_free(os.path.join(folder, each))


def _remove_if_free(draft: str) -> None:
    descriptor = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_file and _is_at(descriptor, draft):
            os.unlink(draft)
    finally:
        os.close(descriptor)


# ---- one process at a time


class InUseError(DataError):
    """A file that another process works on."""


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Keep other processes that ask the same from working on a file, as long as this one does.

    The lock is a file `NAME.lock` beside it, which need not exist itself. It ends with the process
    that holds it, however that ends. InUseError, a DataError, if another one holds it, unless
    `wait`; DataError if nothing can be locked there. On a disk that has no locks it only warns.
    """
    if fcntl is None:
        yield
        return
    lock = f"{os.path.realpath(path)}.lock"
    try:
        descriptor = _locked(lock, os.fspath(path), wait)
    except OSError as error:
        raise DataError(f"cannot lock {path}: {error.strerror or error}") from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(lock)  # while it is held: who has opened it will see that it is gone
        os.close(descriptor)


def _locked(lock: str, path: str, wait: bool) -> int:
    """The lock file, open and held by this process."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    while True:
        descriptor = os.open(lock, flags, 0o666)
        try:
            _check_own(descriptor, lock)
            _hold(descriptor, path, wait)
            if _is_at(descriptor, lock):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"process {os.getpid()}\n".encode(), 0)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the one who held it has removed it meanwhile


def _check_own(descriptor: int, lock: str) -> None:
    """Refuse a file that is no lock of ours: it would be removed in the end."""
    is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
    content = os.pread(descriptor, 100, 0) if is_file else b"?"
    if content and not _HOLDER.fullmatch(content):
        raise DataError(f"{lock} is there, and no lock of devfnn: remove it, or work elsewhere")


def _hold(descriptor: int, path: str, wait: bool) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if error.errno in WITHOUT_LOCKS:
            logger.warning("%s is on a disk without locks: let one process work on it", path)
            return
        if not isinstance(error, BlockingIOError):
            raise
        known = _HOLDER.fullmatch(os.pread(descriptor, 100, 0))
        who = f"process {int(known[1])}" if known else "another process"
        raise InUseError(f"{path} is in use by {who}: wait until it has ended") from None
