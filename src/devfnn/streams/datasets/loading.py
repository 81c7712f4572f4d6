"""A data set by its name: found on this machine, drawn or downloaded, then read."""

import difflib
import logging
import os
import pathlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from devfnn.errors import DataError, InputError
from devfnn.streams.datasets.catalogue import DATA_SETS, UNPUBLISHED
from devfnn.streams.datasets.checking import check_options, open_file
from devfnn.streams.datasets.description import DataSet
from devfnn.streams.datasets.download import Progress, fetch, replacing
from devfnn.streams.stream import Stream
from devfnn.types import Chunk

DRAWING_SEED = 30_000

Folder = str | os.PathLike[str]

logger = logging.getLogger(__name__)


def dataset(
    name: str,
    *,
    data_dir: Folder | None = None,
    download: bool = True,
    progress: Progress | None = None,
    target: str | None = None,
    **options: Any,
) -> Stream:
    """A public data set as a stream, downloaded at its first use.

    It is looked for in `data_dir`, in the folder that the environment variable DEVFNN_DATA names,
    and in the folder of downloads, as `<name>.npz` or by the name of the published file. The rows
    are the same from either: the same columns, and labels 0, 1, ... for `class_names`. A file with
    other columns, other labels, or more or fewer rows raises DataError, the last when the stream
    ends.

    Parameters
    ----------
    name
        One of electricity, weather, susy, susy-30k, kdd99, covtype, sea-paper, hyperplane-paper;
        `DATA_SETS` in `devfnn.streams.datasets.catalogue` says more of each.
    data_dir
        A folder to look into first, and to download to. By default downloads go to the user's
        cache, or to the folder that DEVFNN_CACHE names.
    download
        Whether to download what is not here. DEVFNN_OFFLINE=1 forbids it everywhere.
    progress
        Called with the bytes of a download that are here, and those of the whole file or None.
    target
        What to learn, where there is a choice: of kdd99 `attack`, `binary` or `family`.
    **options
        As in `ReadOptions`: how categories become numbers, which columns to ignore, chunk_rows.

    Examples
    --------
    >>> stream = dataset("kdd99", target="family", categories="codes")  # doctest: +SKIP
    >>> stream.class_names  # doctest: +SKIP
    ('normal', 'dos', 'probe', 'r2l', 'u2r')
    """
    data_set = described(name)
    check_options(data_set, target, options)
    located = locate(data_set, data_dir) or _drawn(data_set, data_dir)
    if located is None:
        folder = download_folder(data_dir)
        if data_set.file is None or not download:
            looked_in = ", ".join(map(str, folders(data_dir)))
            raise DataError(
                f"{name} is not in {looked_in}. To get it: {data_set.directions(folder)}"
            )
        located = Located(fetch(data_set, folder, progress), "published")
    return open_file(data_set, located.path, located.origin == "published", target, options)


def described(name: str) -> DataSet:
    """What is known of a data set; InputError if there is none of this name."""
    if name in DATA_SETS:
        return DATA_SETS[name]
    if name.lower() in UNPUBLISHED:
        raise InputError(UNPUBLISHED[name.lower()])
    close = difflib.get_close_matches(name.lower(), DATA_SETS, n=2)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise InputError(f"there is no data set {name!r}; {hint}Known: {', '.join(DATA_SETS)}")


class Located(NamedTuple):
    """A data set that is here."""

    path: pathlib.Path
    origin: str
    """`npz`: arrays; `published`: as it is published; `drawn`: drawn here from a larger one."""


def locate(data_set: DataSet, data_dir: Folder | None = None) -> Located | None:
    """The file of a data set, in the first folder that has one; None if none has."""
    names = {f"{data_set.name}.npz": "npz"}
    if data_set.file is not None:
        names |= dict.fromkeys((data_set.file.name, *data_set.file.other_names), "published")
    if data_set.drawn_from is not None:
        names[f"{data_set.name}-drawn.npz"] = "drawn"
    for folder in folders(data_dir):
        for name, origin in names.items():
            if (folder / name).is_file():
                return Located(folder / name, origin)
    return None


def folders(data_dir: Folder | None = None) -> tuple[pathlib.Path, ...]:
    """Where data sets are looked for: the folder given, that of DEVFNN_DATA, that of downloads."""
    given = [folder for folder in (data_dir, os.environ.get("DEVFNN_DATA")) if folder]
    return tuple(dict.fromkeys([*map(_path, given), cache_folder()]))


def download_folder(data_dir: Folder | None = None) -> pathlib.Path:
    """Where a download is put: the folder given, else that of downloads."""
    return cache_folder() if data_dir is None else _path(data_dir)


def cache_folder() -> pathlib.Path:
    """The folder of downloads: DEVFNN_CACHE, else where the system keeps what can be had again."""
    import platformdirs

    if os.environ.get("DEVFNN_CACHE"):
        return _path(os.environ["DEVFNN_CACHE"])
    return platformdirs.user_cache_path("devfnn", appauthor=False, opinion=False)


def _path(folder: Folder) -> pathlib.Path:
    return pathlib.Path(folder).expanduser()


def _drawn(data_set: DataSet, data_dir: Folder | None) -> Located | None:
    """Rows of a larger data set, in its order, as arrays in a file; None if that is not here.

    The larger one is read once, to its end, and only the rows drawn are kept.
    """
    whole = DATA_SETS.get(data_set.drawn_from or "")
    located = None if whole is None else locate(whole, data_dir)
    if whole is None or located is None:
        return None
    is_drawn = np.zeros(whole.n_rows, bool)
    is_drawn[drawn_rows(whole.n_rows, data_set.n_rows)] = True
    logger.info("drawing %d of %d rows", data_set.n_rows, whole.n_rows)
    parts: list[Chunk] = []
    n_before = 0
    stream = open_file(whole, located.path, located.origin == "published", None, {})
    for block in stream.blocks():
        parts.append(block.rows(is_drawn[n_before : n_before + len(block.y)]))
        n_before += len(block.y)
    path = download_folder(data_dir) / f"{data_set.name}-drawn.npz"
    with replacing(path) as draft:
        np.savez_compressed(
            draft,
            X=np.concatenate([part.X for part in parts]),
            y=np.concatenate([part.y for part in parts]),
            feature_names=np.array(data_set.feature_names),
            class_names=np.array(data_set.class_names),
            about=np.array(f"drawn from {whole.name} with seed {DRAWING_SEED}"),
        )
    logger.info("%s is in %s", path.name, path.parent)
    return Located(path, "drawn")


def drawn_rows(n_all: int, n_drawn: int) -> npt.NDArray[np.int64]:
    """Numbers of rows, from 0 on, in order; the same in every version of NumPy."""
    keys = np.random.PCG64(DRAWING_SEED).random_raw(n_all)
    return np.sort(np.argpartition(keys, n_drawn - 1)[:n_drawn])
