"""A file as the rows of a data set: the same columns and labels from any format, or an error."""

import dataclasses
import functools
import pathlib
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, cast

import numpy as np

from devfnn.errors import DataError, InputError
from devfnn.streams.datasets.description import DataSet
from devfnn.streams.datasets.lookup import Located
from devfnn.streams.files.options import ColumnName, FileOptions, ReadOptions
from devfnn.streams.files.reading import read
from devfnn.streams.stream import Blocks, Stream
from devfnn.types import Chunk

OWN_OPTIONS = (
    *("format", "label", "names", "header", "delimiter", "encoding"),
    *("missing_values", "category_values"),
)
"""Options of `read` that a data set answers by itself."""

NPZ_OPTIONS: FileOptions = {"format": "npz", "label": "y"}


def check_options(data_set: DataSet, target: str | None, options: FileOptions) -> None:
    """Refuse what cannot be asked of a data set, before anything is downloaded."""
    if target is not None and target not in data_set.target_names:
        known = ", ".join(data_set.target_names)
        raise InputError(f"target of {data_set.name} must be one of {known}, not {target!r}")
    for option in options:
        if option in OWN_OPTIONS:
            raise InputError(f"{option} is no option of a data set, which knows it by itself")
    ReadOptions(**_features(data_set, options))


def open_file(
    data_set: DataSet, located: Located, options: FileOptions, target: str | None
) -> Stream:
    """The rows of a file; DataError if they are not those of the data set.

    Columns and classes are looked at now; labels and the number of rows while reading.
    """
    own = data_set.options if located.origin == "published" else NPZ_OPTIONS
    _check_file(data_set, located.path, own)
    stream = read(located.path, **_joined(own, _features(data_set, options)))
    class_names, numbers = _labels(data_set, located.origin, target)
    # Rows that are left out as bad are not missing.
    is_whole = options.get("on_bad_row", "error") == "error"

    return dataclasses.replace(
        stream,
        classes=tuple(range(len(class_names))),
        class_names=class_names,
        blocks=functools.partial(
            _matched, stream.blocks, numbers, data_set, located.path, is_whole
        ),
        n_rows=data_set.n_rows if is_whole else None,
        drift_positions=data_set.drift_positions,
    )


def _matched(
    start: Blocks,
    numbers: Mapping[Hashable, int],
    data_set: DataSet,
    path: pathlib.Path,
    is_whole: bool,
) -> Iterator[Chunk]:
    """Rows with labels as numbers, counted."""
    return _counted(_numbered(start(), numbers, path), data_set, path, is_whole)


def _features(data_set: DataSet, options: FileOptions) -> FileOptions:
    """What is asked of the features: columns by name, and which of them are categories.

    Places of columns are those of the data set, which are not those of every file.
    """
    wanted: dict[str, Any] = dict(options)
    for option in ("ignore", "categorical", "numeric", "cyclic"):
        if isinstance(wanted.get(option), str):
            raise InputError(f"{option} takes a list, not {wanted[option]!r}")
        wanted[option] = [_name(data_set, each, option) for each in wanted.get(option, ())]
    if wanted.get("time") is not None:
        wanted["time"] = _name(data_set, wanted["time"], "time")
    by_default = set(data_set.options.get("numeric", ()))
    for name in wanted["numeric"]:
        if name in data_set.category_values and name not in by_default:
            raise InputError(f"{name} holds texts; with categories='codes' they are numbers")
    wanted["numeric"] += by_default - set(wanted["categorical"])
    wanted["category_values"] = {
        name: values
        for name, values in data_set.category_values.items()
        if name not in wanted["numeric"]
    }
    return cast(FileOptions, wanted)


def _name(data_set: DataSet, column: ColumnName, option: str) -> str:
    """A feature by name or place."""
    names = data_set.feature_names
    if isinstance(column, str):
        if column in names:
            return column
    elif -len(names) <= column < len(names):
        return names[column]
    known = ", ".join(names)
    raise InputError(f"{option}: {data_set.name} has no feature {column!r}, only {known}")


def _joined(*options: FileOptions) -> FileOptions:
    """Options together; the later ones count."""
    joined: dict[str, Any] = {}
    for each in options:
        joined |= cast(dict[str, Any], each)
    return cast(FileOptions, joined)


def _check_file(data_set: DataSet, path: pathlib.Path, own: FileOptions) -> None:
    """Refuse a file that can be seen at once to be another."""
    try:
        plain = read(path, **_joined(own, {"categories": "codes"}))
    except InputError as error:
        raise DataError(f"{path} is not {data_set.name}: {error}") from None
    if plain.feature_names != data_set.feature_names:
        here, there = ", ".join(plain.feature_names), ", ".join(data_set.feature_names)
        raise DataError(f"{path} is not {data_set.name}: it has the columns {here}, not {there}")
    if not _are_classes(plain.class_names, data_set):
        here, there = ", ".join(plain.class_names), ", ".join(data_set.class_names)
        raise DataError(f"{path} is not {data_set.name}: it has the classes {here}, not {there}")
    if plain.n_rows not in (None, data_set.n_rows):
        raise DataError(
            f"{path} is not {data_set.name}: it has {plain.n_rows} rows, not {data_set.n_rows}"
        )


def _are_classes(names: tuple[str, ...], data_set: DataSet) -> bool:
    """Whether a file calls the classes as the data set does, numbers them, or does not say."""
    places = range(len(data_set.class_names))
    numbers = [tuple(str(place + first) for place in places) for first in (0, 1)]
    return names in ((), data_set.class_names, *numbers)


def _labels(
    data_set: DataSet, origin: str, target: str | None
) -> tuple[tuple[str, ...], dict[Hashable, int]]:
    """Names of the classes to be learned, and the class of each label in the file."""
    of_file = data_set.labels if origin == "published" else range(len(data_set.class_names))
    if target is not None and target in data_set.targets:
        chosen = data_set.targets[target]
        return chosen.class_names, dict(zip(of_file, chosen.groups, strict=True))
    return data_set.class_names, {label: number for number, label in enumerate(of_file)}


def _numbered(
    blocks: Iterator[Chunk], numbers: Mapping[Hashable, int], path: pathlib.Path
) -> Iterator[Chunk]:
    """Labels as the numbers of their classes."""
    for block in blocks:
        labels = block.y.tolist()
        y = np.array([numbers.get(label, -1) for label in labels], np.int64)
        if len(y) and y.min() < 0:
            stranger = labels[int(y.argmin())]
            known = ", ".join(str(label) for label in numbers)
            raise DataError(
                f"{path} has a row with the label {stranger!r}, which is none of {known}"
            )
        yield block._replace(y=y)


def _counted(
    blocks: Iterator[Chunk], data_set: DataSet, path: pathlib.Path, is_whole: bool
) -> Iterator[Chunk]:
    """The same rows; an error if there are more, or fewer, than the data set has.

    is_whole: whether none may be missing
    """
    n_rows = 0
    for block in blocks:
        n_rows += len(block.y)
        if n_rows > data_set.n_rows:
            raise DataError(f"{path} has more rows than the {data_set.n_rows} of {data_set.name}")
        yield block
    if is_whole and n_rows < data_set.n_rows:
        raise DataError(
            f"{path} ends after {n_rows} of the {data_set.n_rows} rows of {data_set.name}; remove "
            "it to download it again"
        )
