"""A file as the rows of a data set: the same columns and labels from any format, or an error."""

import dataclasses
import functools
import pathlib
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, cast

import numpy as np

from devfnn.errors import DataError, InputError
from devfnn.streams.datasets.description import DataSet
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
    ReadOptions(**_feature_options(data_set, options))


def open_file(
    data_set: DataSet,
    path: pathlib.Path,
    origin: str,
    target: str | None,
    options: FileOptions,
) -> Stream:
    """The rows of a file; DataError if they are not those of the data set.

    Columns and classes are looked at now; labels and the number of rows while reading.

    origin: as in `Located`
    """
    is_published = origin == "published"
    own = data_set.options if is_published else NPZ_OPTIONS
    _check_file(data_set, path, own)
    wanted: FileOptions = {**own, **_feature_options(data_set, options)}
    stream = read(path, **wanted)
    labels = data_set.labels if is_published else range(len(data_set.class_names))
    class_names, groups = data_set.class_names, tuple(range(len(data_set.class_names)))
    if target is not None and target in data_set.targets:
        chosen = data_set.targets[target]
        class_names, groups = chosen.class_names, chosen.groups
    numbers = dict(zip(labels, groups, strict=True))
    # Rows that are left out as bad are not missing.
    is_whole = options.get("on_bad_row", "error") == "error"
    return dataclasses.replace(
        stream,
        classes=tuple(range(len(class_names))),
        class_names=class_names,
        blocks=functools.partial(_checked_rows, stream.blocks, numbers, data_set, path, is_whole),
        n_rows=data_set.n_rows if is_whole else None,
        drift_positions=data_set.drift_positions,
    )


def _feature_options(data_set: DataSet, options: FileOptions) -> FileOptions:
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


def _check_file(data_set: DataSet, path: pathlib.Path, own: FileOptions) -> None:
    """Refuse a file that can be seen at once to be another."""
    plain: FileOptions = {**own, "categories": "codes"}
    try:
        difference = _difference(read(path, **plain), data_set)
    except InputError as error:
        difference = str(error)
    if difference:
        raise DataError(f"{path} is not {data_set.name}: {difference}")


def _difference(stream: Stream, data_set: DataSet) -> str:
    """What a stream has that the data set has not; "" if nothing is seen."""
    # A file may call the classes as the data set does, number them, or say nothing of them.
    places = range(len(data_set.class_names))
    numbered = [tuple(str(first + place) for place in places) for first in (0, 1)]
    if stream.feature_names != data_set.feature_names:
        here, there = ", ".join(stream.feature_names), ", ".join(data_set.feature_names)
        return f"it has the columns {here}, not {there}"
    if stream.class_names not in ((), data_set.class_names, *numbered):
        here, there = ", ".join(stream.class_names), ", ".join(data_set.class_names)
        return f"it has the classes {here}, not {there}"
    if stream.n_rows not in (None, data_set.n_rows):
        return f"it has {stream.n_rows} rows, not {data_set.n_rows}"
    return ""


def _checked_rows(
    start: Blocks,
    numbers: Mapping[Hashable, int],
    data_set: DataSet,
    path: pathlib.Path,
    is_whole: bool,
) -> Iterator[Chunk]:
    """Rows with labels as the numbers of their classes; an error if there are more or fewer.

    is_whole: whether no row may be missing
    """
    n_rows = 0
    for block in start():
        n_rows += len(block.y)
        labels = block.y.tolist()
        y = np.array([numbers.get(label, -1) for label in labels], np.int64)
        if len(y) and y.min() < 0:
            stranger = labels[int(y.argmin())]
            known = ", ".join(str(label) for label in numbers)
            raise DataError(
                f"{path} has a row with the label {stranger!r}, which is none of {known}"
            )
        if n_rows > data_set.n_rows:
            raise DataError(f"{path} has more rows than the {data_set.n_rows} of {data_set.name}")
        yield block._replace(y=y)
    if is_whole and n_rows < data_set.n_rows:
        raise DataError(
            f"{path} ends after {n_rows} of the {data_set.n_rows} rows of {data_set.name}; remove "
            "it to download it again"
        )
