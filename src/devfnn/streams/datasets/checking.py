"""A file as the rows of a data set: the same columns and labels from any format, or an error."""

import dataclasses
import functools
import pathlib
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from devfnn.errors import DataError, InputError
from devfnn.streams.datasets.description import DataSet
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.reading import read
from devfnn.streams.stream import Blocks, Stream
from devfnn.types import Chunk

OWN_OPTIONS = (
    *("format", "label", "names", "header", "delimiter", "encoding"),
    *("missing_values", "category_values"),
)
"""Options of `read` that a data set answers by itself."""


def check_options(data_set: DataSet, target: str | None, options: Mapping[str, Any]) -> None:
    """Refuse what cannot be asked of a data set, before anything is downloaded."""
    if target is not None and target not in data_set.target_names:
        known = ", ".join(data_set.target_names)
        raise InputError(f"target of {data_set.name} must be one of {known}, not {target!r}")
    for option in options:
        if option in OWN_OPTIONS:
            raise InputError(f"{option} is no option of a data set, which knows it by itself")
    asked = ReadOptions(**options)
    # Columns by name: their places are not the same in every file.
    for column in (*asked.ignore, *asked.categorical, *asked.numeric, *asked.cyclic, asked.time):
        if column not in (None, *data_set.feature_names):
            known = ", ".join(data_set.feature_names)
            raise InputError(f"{data_set.name} has no feature {column!r}, only {known}")
    for name in asked.numeric:
        if name in data_set.category_values and name not in data_set.options.get("numeric", ()):
            raise InputError(f"{name} holds texts; with categories='codes' they are numbers")


def open_file(
    data_set: DataSet,
    path: pathlib.Path,
    is_published: bool,
    target: str | None,
    options: Mapping[str, Any],
) -> Stream:
    """The rows of a file; DataError if they are not those of the data set.

    Columns and classes are looked at now; labels and the number of rows while reading.

    is_published: whether the file is the published one, and not arrays
    """
    own = data_set.options if is_published else {"format": "npz", "label": "y"}
    _check_file(data_set, path, own)
    numeric = set(data_set.options.get("numeric", ())) - set(options.get("categorical", ()))
    numeric |= set(options.get("numeric", ()))
    values = {
        name: texts for name, texts in data_set.category_values.items() if name not in numeric
    }
    stream = read(path, **{**own, **options, "numeric": [*numeric], "category_values": values})
    labels = data_set.labels if is_published else range(len(data_set.class_names))
    class_names, groups = data_set.class_names, tuple(range(len(data_set.class_names)))
    if target in data_set.targets:
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


def _check_file(data_set: DataSet, path: pathlib.Path, own: Mapping[str, Any]) -> None:
    """Refuse a file that can be seen at once to be another."""
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
            here, there = _listed(found), _listed(allowed[0])
            raise DataError(f"{path} is not {data_set.name}: it has the {what} {here}, not {there}")


def _listed(found: Any) -> str:
    return ", ".join(found) if isinstance(found, tuple) else str(found)


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
            known = ", ".join(map(str, numbers))
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
