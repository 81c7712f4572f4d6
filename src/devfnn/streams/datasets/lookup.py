"""Where a data set is on this machine, or would be put."""

import dataclasses
import os
import pathlib
import sys

from devfnn.streams.datasets.description import DataSet

DATA = "DEVFNN_DATA"
"""Environment variable that names a folder of data sets."""

CACHE = "DEVFNN_CACHE"
"""Environment variable that names the folder for downloads."""

Folder = str | os.PathLike[str]


@dataclasses.dataclass(frozen=True)
class Located:
    """A data set that is here.

    Parameters
    ----------
    path
        The file.
    origin
        `npz`: arrays; `published`: the file as it is published; `drawn`: drawn here at random from
        a larger data set.
    """

    path: pathlib.Path
    origin: str


def locate(data_set: DataSet, data_dir: Folder | None = None) -> Located | None:
    """The file of a data set, in the first folder that has one; None if none has."""
    for folder in folders(data_dir):
        for name, origin in _file_names(data_set):
            path = folder / name
            if path.is_file():
                return Located(path, origin)
    return None


def folders(data_dir: Folder | None = None) -> tuple[pathlib.Path, ...]:
    """Where data sets are looked for: the folder given, that of DEVFNN_DATA, that of downloads."""
    named = os.environ.get(DATA, "")
    known = [None if data_dir is None else _path(data_dir), _path(named) if named else None]
    return tuple(dict.fromkeys(folder for folder in (*known, cache_folder()) if folder is not None))


def download_folder(data_dir: Folder | None = None) -> pathlib.Path:
    """Where a download is put: the folder given, else that of downloads."""
    return cache_folder() if data_dir is None else _path(data_dir)


def cache_folder() -> pathlib.Path:
    """The folder of downloads: DEVFNN_CACHE, else where the system keeps what can be had again."""
    named = os.environ.get(CACHE, "")
    if named:
        return _path(named)
    home = pathlib.Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "devfnn"
    if sys.platform == "win32":
        return _path(os.environ.get("LOCALAPPDATA", "") or home / "AppData" / "Local") / "devfnn"
    return _path(os.environ.get("XDG_CACHE_HOME", "") or home / ".cache") / "devfnn"


def npz_name(data_set: DataSet) -> str:
    """What the arrays of a data set are called."""
    return f"{data_set.name}.npz"


def drawn_name(data_set: DataSet) -> str:
    """What a data set is called that was drawn here."""
    return f"{data_set.name}-drawn.npz"


def _file_names(data_set: DataSet) -> list[tuple[str, str]]:
    """Names of files that may hold a data set, with what they are."""
    names = [(npz_name(data_set), "npz")]
    if data_set.file is not None:
        published = (data_set.file.name, *data_set.file.other_names)
        names += [(name, "published") for name in published]
    if data_set.drawn_from is not None:
        names.append((drawn_name(data_set), "drawn"))
    return names


def _path(folder: Folder) -> pathlib.Path:
    return pathlib.Path(folder).expanduser()
