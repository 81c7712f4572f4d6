"""Models in files. A file is replaced at once or not at all."""

import contextlib
import os
import secrets
import stat

from devfnn.errors import StorageError
from devfnn.model.devfnn import DEVFNN
from devfnn.storage.codec import MAX_BYTES, dump, read_model
from devfnn.storage.container import require


def save(model: DEVFNN, path: str | os.PathLike[str]) -> None:
    """Write a model to a file; a file that is already there stays whole if this fails.

    Parameters
    ----------
    model
        A DEVFNN or GClass.
    path
        Where to. The folder must exist. Raises StorageError if the file cannot be written.
    """
    write_whole(path, dump(model))


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file at once or not at all; raises StorageError if it cannot be written."""
    target = os.path.realpath(path)
    draft = f"{target}.{secrets.token_hex(8)}.tmp"
    try:
        try:
            _write(draft, data)
            with contextlib.suppress(FileNotFoundError):
                os.chmod(draft, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(draft, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        raise StorageError(f"cannot write {os.fspath(path)}: {error.strerror or error}") from error


def _write(path: str, data: bytes) -> None:
    """Write a new file and wait until it is on the disk."""
    with open(path, "xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_folder(folder: str) -> None:
    """Wait until the new name is on the disk too, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> DEVFNN:
    """Read a model from a file. Nothing in the file is run or imported, whoever wrote it.

    Parameters
    ----------
    path
        A file written by `save`.
    max_bytes
        Refuse larger files.

    Returns
    -------
    DEVFNN
        A DEVFNN or GClass that goes on learning bit for bit as the saved one would have. Raises
        StorageError for a file that is not a sound model, and OSError (FileNotFoundError, ...) for
        one that cannot be read.
    """
    try:
        require(stat.S_ISREG(os.stat(path).st_mode), "not a regular file")
        with open(path, "rb") as stream:
            return read_model(stream, os.fstat(stream.fileno()).st_size, max_bytes)
    except StorageError as error:
        raise StorageError(f"{os.fspath(path)}: {error}") from None


def load_as(kind: type[DEVFNN], path: str | os.PathLike[str]) -> DEVFNN:
    """Read a model that must be of the given class or of one derived from it."""
    model = load(path)
    require(
        isinstance(model, kind),
        f"{os.fspath(path)}: holds a {type(model).__name__}, not a {kind.__name__}",
    )
    return model
