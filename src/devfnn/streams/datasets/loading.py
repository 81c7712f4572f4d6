"""A data set by its name: found on this machine, drawn or downloaded, then read and checked."""

import dataclasses
import difflib
import functools
import logging
import os
import pathlib
import textwrap
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from devfnn.errors import DataError, InputError
from devfnn.streams.datasets.catalogue import DATA_SETS, UNPUBLISHED, DataSet
from devfnn.streams.files.content import new_file
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.reading import read
from devfnn.streams.stream import Blocks, Stream
from devfnn.types import Chunk

Progress = Callable[[int, int | None], object]
"""Called with the bytes that are here and those of the whole file, None if unknown."""

RETRIES = 1
"""How often a download that fails is tried again at the same address."""

TIMEOUT_SECONDS = 30.0
"""Timeout of a server in seconds."""

OTHER_FOLDER = "; choose another folder with data_dir or DEVFNN_CACHE"

DRAWING_SEED = 30_000

OWN_OPTIONS = (
    *("format", "label", "names", "header", "delimiter", "encoding"),
    *("missing_values", "category_values"),
)
"""Options of `read` that a data set sets itself."""

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

    There are electricity, weather, susy, susy-30k, kdd99, covtype, sea-paper and hyperplane-paper.
    A data set is looked for in `data_dir`, in the folder that the environment variable DEVFNN_DATA
    names, and in the folder of downloads, as `<name>.npz` or by the name of the published file. The
    rows are the same from either: the same columns, and labels 0, 1, ... for `class_names`. A file
    with other columns, other labels, or more or fewer rows raises DataError, the last when the
    stream ends.

    What is not found is downloaded to `data_dir`, else to the folder that DEVFNN_CACHE names or the
    user's cache, unless `download` is False or DEVFNN_OFFLINE=1; `progress` is called with the
    bytes that are here, and those of the whole file or None. `target` says what to learn, where
    there is a choice: of kdd99 `attack`, `binary` or `family`. Other options are in `ReadOptions`.

    Examples
    --------
    >>> stream = dataset("kdd99", target="family", categories="codes")  # doctest: +SKIP
    >>> stream.class_names  # doctest: +SKIP
    ('normal', 'dos', 'probe', 'r2l', 'u2r')
    """
    data_set = described(name)
    check_options(data_set, target, **options)
    located = locate(data_set, data_dir) or _drawn(data_set, data_dir)
    if located is None:
        folder = download_folder(data_dir)
        if data_set.file is None or not download:
            places = ", ".join(map(str, folders(data_dir)))
            raise DataError(f"{name} is not in {places}. To get it: {data_set.directions(folder)}")
        located = Located(fetch(data_set, folder, progress), "published")
    return _opened(data_set, located, target, options)


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
    """A data set on this machine."""

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
    """The folder of downloads: DEVFNN_CACHE, else the user's cache."""
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
    for block in _opened(whole, located, None, {}).blocks():
        parts.append(block.rows(is_drawn[n_before : n_before + len(block.y)]))
        n_before += len(block.y)
    path = download_folder(data_dir) / f"{data_set.name}-drawn.npz"
    with new_file(path, OTHER_FOLDER) as draft:
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


def check_options(data_set: DataSet, target: str | None = None, **options: Any) -> None:
    """Refuse invalid options, before anything is downloaded."""
    if target is not None and target not in data_set.target_names:
        known = ", ".join(data_set.target_names)
        raise InputError(f"target of {data_set.name} must be one of {known}, not {target!r}")
    for option in options:
        if option in OWN_OPTIONS:
            raise InputError(f"{option} is not an option of a data set, which sets it itself")
    asked = ReadOptions(**options)
    # Columns by name: their places are not the same in every file.
    for column in (*asked.ignore, *asked.categorical, *asked.numeric, *asked.cyclic, asked.time):
        if column not in (None, *data_set.feature_names):
            known = ", ".join(data_set.feature_names)
            raise InputError(f"{data_set.name} has no feature {column!r}, only {known}")
    for name in asked.numeric:
        if name in data_set.category_values and name not in data_set.options.get("numeric", ()):
            raise InputError(f"{name} holds texts; with categories='codes' they are numbers")


def _opened(
    data_set: DataSet, located: Located, target: str | None, options: Mapping[str, Any]
) -> Stream:
    """The rows of a file; DataError if they are not those of the data set.

    Columns and classes are looked at now; labels and the number of rows while reading.
    """
    path, is_published = located.path, located.origin == "published"
    own = data_set.options if is_published else {"format": "npz", "label": "y"}
    _check_file(data_set, path, own)
    numeric = set(data_set.options.get("numeric", ())) - set(options.get("categorical", ()))
    numeric |= set(options.get("numeric", ()))
    values = {name: each for name, each in data_set.category_values.items() if name not in numeric}
    stream = read(path, **{**own, **options, "numeric": [*numeric], "category_values": values})
    labels = data_set.labels if is_published else range(len(data_set.class_names))
    class_names, groups = data_set.class_names, tuple(range(len(data_set.class_names)))
    chosen = data_set.targets.get(target or "")
    if chosen is not None:
        class_names, groups = chosen.class_names, chosen.groups
    numbers = dict(zip(labels, groups, strict=True))
    # Rows that are left out as bad are not missing.
    is_whole = options.get("on_bad_row", "error") == "error"
    return dataclasses.replace(
        stream,
        classes=tuple(range(len(class_names))),
        class_names=class_names,
        is_open_to_classes=False,
        blocks=functools.partial(_checked_rows, stream.blocks, numbers, data_set, path, is_whole),
        n_rows=data_set.n_rows if is_whole else None,
        drift_positions=data_set.drift_positions,
    )


def _check_file(data_set: DataSet, path: pathlib.Path, own: Mapping[str, Any]) -> None:
    """Refuse a file whose columns or classes are not those of the data set."""
    try:
        stream = read(path, **{**own, "categories": "codes"})
    except InputError as error:
        raise DataError(f"{path} is not {data_set.name}: {error}") from None
    # A file may call the classes as the data set does, number them, or say nothing of them.
    numbered = [
        tuple(str(first + place) for place in range(len(data_set.class_names))) for first in (0, 1)
    ]
    for what, found, allowed in (
        ("columns", stream.feature_names, [data_set.feature_names]),
        ("classes", stream.class_names, [data_set.class_names, (), *numbered]),
        ("rows", stream.n_rows, [data_set.n_rows, None]),
    ):
        if found not in allowed:
            both: tuple[Any, Any] = (found, allowed[0])
            here, there = (", ".join(each) if isinstance(each, tuple) else each for each in both)
            raise DataError(f"{path} is not {data_set.name}: it has the {what} {here}, not {there}")


def _checked_rows(
    start: Blocks, numbers: Mapping[Any, int], data_set: DataSet, path: pathlib.Path, is_whole: bool
) -> Iterator[Chunk]:
    """Rows with labels as class indices; an error if there are more or fewer rows.

    is_whole: whether no row may be missing
    """
    n_rows = 0
    for block in start():
        n_rows += len(block.y)
        labels = block.y.tolist()
        y = np.array([numbers.get(label, -1) for label in labels], np.int64)
        if len(y) and y.min() < 0:
            odd, known = labels[int(y.argmin())], ", ".join(map(str, numbers))
            raise DataError(f"{path} has a row with the label {odd!r}, which is none of {known}")
        if n_rows > data_set.n_rows:
            raise DataError(f"{path} has more rows than the {data_set.n_rows} of {data_set.name}")
        yield block._replace(y=y)
    if is_whole and n_rows < data_set.n_rows:
        raise DataError(
            f"{path} ends after {n_rows} of the {data_set.n_rows} rows of {data_set.name}; remove "
            "it to download it again"
        )


# ---- the network


def is_offline() -> bool:
    """Whether the user has forbidden network access."""
    return os.environ.get("DEVFNN_OFFLINE", "").strip().lower() not in ("", "0", "no", "false")


def fetch(
    data_set: DataSet, folder: pathlib.Path, progress: Progress | None = None
) -> pathlib.Path:
    """Download the file of a data set into a folder, from the first address that has it.

    The folder is made if need be. DataError says why no address could give the file, and how to
    get it by hand.
    """
    file, reasons = data_set.file, []
    assert file is not None
    if is_offline():
        raise DataError(f"DEVFNN_OFFLINE is set; {data_set.directions(folder)}")
    for url in file.mirrors:
        logger.info("downloading %s from %s", file.name, url)
        try:
            with new_file(folder / file.name, OTHER_FOLDER) as draft:
                _retrieve(url, draft, file.sha256, progress)
        except DataError:
            raise  # trouble with the disk, not with the network
        except (OSError, ValueError) as error:
            reasons.append(f"{url}: {_reason(error)}")
            logger.info("%s", reasons[-1])
            continue
        logger.info("%s is in %s", file.name, folder)
        return folder / file.name
    raise DataError(
        f"{file.name} could not be downloaded ({'; '.join(reasons)}). To get it by hand: "
        f"{data_set.directions(folder)}"
    )


def _retrieve(url: str, file: BinaryIO, sha256: str | None, progress: Progress | None) -> None:
    import pooch
    from pooch.hashes import hash_matches

    downloader = pooch.HTTPDownloader(
        progressbar=False if progress is None else _ProgressBar(progress),
        chunk_size=1 << 16,
        timeout=TIMEOUT_SECONDS,
        headers={"Accept-Encoding": "identity"},
        hooks={"response": refuse_insecure_redirect},
    )
    for n_left in reversed(range(1 + RETRIES)):
        file.seek(0)
        file.truncate()
        try:
            downloader(url, file, None)
            hash_matches(file.name, sha256 and f"sha256:{sha256}", strict=True, source=url)
            return
        except (OSError, ValueError) as error:
            is_of_disk = isinstance(error, OSError) and error.errno is not None
            if is_of_disk or not n_left:
                raise
            logger.info("%s: %s; once more", url, _reason(error))
            time.sleep(1.0)


def refuse_insecure_redirect(response: Any, **_: Any) -> None:
    """Follow redirects, but not from https to something else."""
    target = urllib.parse.urljoin(response.url, response.headers.get("Location", ""))
    if response.url.startswith("https:") and not target.startswith("https:"):
        raise ValueError(f"{target} is no https address")


class _ProgressBar:
    """A progress bar as pooch wants it."""

    def __init__(self, progress: Progress) -> None:
        self.total = 0
        self._progress = progress
        self._done = 0

    def update(self, n_bytes: int) -> None:
        self._done = min(self._done + n_bytes, self.total or self._done + n_bytes)
        self._progress(self._done, self.total or None)

    def reset(self) -> None:
        """Pooch fills the bar at the end; nothing to reset."""

    def close(self) -> None:
        """There is nothing to close."""


def _reason(error: Exception) -> str:
    """Why a download failed, in a few words."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server says {response.status_code} {response.reason}"
    text = textwrap.shorten(str(error), 300, placeholder=" ...")
    return f"no connection, or it broke: {text}" if isinstance(error, OSError) else text
