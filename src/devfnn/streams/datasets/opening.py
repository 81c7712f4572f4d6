"""A data set by its name: found, drawn or downloaded, then read."""

import difflib
import os
from collections.abc import Callable
from typing import Unpack

from devfnn.errors import DataError, InputError
from devfnn.streams.datasets.catalogue import DATA_SETS, UNPUBLISHED
from devfnn.streams.datasets.description import DataSet
from devfnn.streams.datasets.directions import how_to_get
from devfnn.streams.datasets.drawing import draw
from devfnn.streams.datasets.lookup import Located, download_folder, folders, locate
from devfnn.streams.datasets.matching import check_options, open_file
from devfnn.streams.files.options import FileOptions
from devfnn.streams.stream import Stream

Progress = Callable[[int, int | None], object]


def dataset(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    download: bool = True,
    progress: Progress | None = None,
    target: str | None = None,
    **options: Unpack[FileOptions],
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
    located = locate(data_set, data_dir)
    if located is None:
        located = _obtained(data_set, data_dir, download, progress)
    return open_file(data_set, located, options, target)


def described(name: str) -> DataSet:
    """What is known of a data set; InputError if there is none of this name."""
    if name in DATA_SETS:
        return DATA_SETS[name]
    if name.lower() in UNPUBLISHED:
        raise InputError(UNPUBLISHED[name.lower()])
    close = difflib.get_close_matches(name.lower(), DATA_SETS, n=2)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise InputError(f"there is no data set {name!r}; {hint}Known: {', '.join(DATA_SETS)}")


def _obtained(
    data_set: DataSet,
    data_dir: str | os.PathLike[str] | None,
    download: bool,
    progress: Progress | None,
) -> Located:
    """The file of a data set that was not here: drawn, or downloaded."""
    folder = download_folder(data_dir)
    large = None if data_set.drawn_from is None else DATA_SETS[data_set.drawn_from]
    located = None if large is None else locate(large, data_dir)
    if large is not None and located is not None:
        rows = open_file(large, located, FileOptions(), None)
        return Located(draw(data_set, rows, folder), "drawn")
    if data_set.file is not None and download:
        from devfnn.streams.datasets.download import fetch  # slow to import, seldom used

        return Located(fetch(data_set.file, folder, progress), "published")
    looked_in = ", ".join(str(each) for each in folders(data_dir))
    raise DataError(
        f"{data_set.name} is not in {looked_in}. To get it: {how_to_get(data_set, folder)}"
    )
