"""What each column of a file is for: feature, label, time, or nothing; and what its labels are."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as arrow_types

from devfnn.errors import DataError, InputError
from devfnn.streams.files.options import ColumnName, ReadOptions
from devfnn.streams.files.tables import NUMBER, TEXT, Column, Metadata
from devfnn.types import Labels

AUTO = "auto"
LABEL_NAMES = ("class", "label", "target", "y")
"""Names that say that a column is the label, in any case."""

MOST_LABELS = 100
"""Different labels in the first rows that may be classes even if they are measured."""

TOO_LARGE = 2.0**53
"""From here on a float64 does not hold every whole number."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """The columns of a file by what they are for."""

    features: tuple[Column, ...]
    label: Column | None
    time: Column | None
    cyclic: frozenset[str]

    @classmethod
    def of(
        cls, columns: Sequence[Column], options: ReadOptions, declared: Sequence[str] = ()
    ) -> "Layout":
        """Decide by the options; raises InputError if they name what is not there.

        declared: columns that the file itself says are labels; none of them is a feature
        """
        names = [column.name for column in columns]
        time = None if options.time is None else _name(names, options.time, "time")
        ignored = {_name(names, each, "ignore") for each in options.ignore}
        usual = declared[0] if declared and options.label == AUTO else options.label
        label = _label_name(names, usual, ignored | {time})
        cyclic = frozenset(_name(names, each, "cyclic") for each in options.cyclic)
        if label is not None and label in (time, *ignored, *cyclic):
            raise InputError(f"the label {label!r} cannot be left out, or be a feature or the time")
        left_out = {*ignored, *declared, label, time}
        features = [name for name in names if name not in left_out]
        features += [name for name in names if name in cyclic - set(features)]
        if not features:
            raise DataError("no column is left for the features; has the file another delimiter?")
        by_name = {column.name: column for column in _with_options(columns, options)}
        for column in (by_name[name] for name in (*features, label) if name is not None):
            if column.data_type is None:
                raise DataError(
                    f"column {column.name!r} holds no numbers, texts or dates; leave it out with "
                    "ignore"
                )
        for name in cyclic:
            if not _is_time(by_name[name]):
                raise InputError(f"column {name!r} holds no timestamps, so it cannot be cyclic")
        if time and not _is_time(by_name[time]) and by_name[time].data_type != NUMBER:
            raise InputError(f"column {time!r} holds neither timestamps nor numbers")
        return cls(
            tuple(by_name[name] for name in features),
            by_name[label] if label is not None else None,
            by_name[time] if time is not None else None,
            cyclic,
        )

    def types(self, label: "LabelColumn | None") -> dict[str, pa.DataType]:
        """The types in which columns are to be read."""
        wanted = {each.name: each.data_type for each in (*self.features, self.time) if each}
        return wanted if label is None else wanted | {label.name: label.data_type}


def _is_time(column: Column) -> bool:
    return column.data_type is not None and bool(arrow_types.is_timestamp(column.data_type))


def _with_options(columns: Sequence[Column], options: ReadOptions) -> list[Column]:
    """Columns with the types and values that the options set."""
    names = [column.name for column in columns]
    values = {
        _name(names, each, "category_values"): tuple(texts)
        for each, texts in options.category_values.items()
    }
    texts = {_name(names, each, "categorical") for each in options.categorical} | values.keys()
    numbers = {_name(names, each, "numeric") for each in options.numeric}
    if texts & numbers:
        raise InputError(f"column {min(texts & numbers)!r} cannot be both categorical and numeric")
    changed = []
    for column in columns:
        data_type = TEXT if column.name in texts else column.data_type
        if column.name in numbers and not _is_time(column):  # timestamps are numbers already
            data_type = NUMBER
        known = values.get(column.name, column.values) if data_type == TEXT else None
        changed.append(dataclasses.replace(column, data_type=data_type, values=known))
    return changed


def _label_name(
    names: Sequence[str], label: ColumnName | None, taken: Collection[str | None]
) -> str | None:
    """The label's column; "auto" looks for a name that says so, else takes the last.

    taken: columns that "auto" does not mean
    """
    if label is None:
        return None
    if label != AUTO or AUTO in names:
        return _name(names, label, "label")
    free = [name for name in names if name not in taken]
    if not free:
        return None
    lower = {name.lower(): name for name in reversed(free)}
    return next((lower[known] for known in LABEL_NAMES if known in lower), free[-1])


def _name(names: Sequence[str], wanted: ColumnName, option: str) -> str:
    """A column by name or place."""
    if isinstance(wanted, str):
        if wanted not in names:
            raise InputError(f"{option}: there is no column {wanted!r}, only {', '.join(names)}")
        return wanted
    if not -len(names) <= wanted < len(names):
        raise InputError(f"{option}: there is no column {wanted}, only {len(names)} columns")
    return names[wanted]


@dataclasses.dataclass(frozen=True)
class LabelColumn:
    """A column of labels: texts, truth values, whole numbers or other numbers."""

    name: str
    data_type: pa.DataType
    """As what it is read."""
    is_whole: bool = False
    """Whether they are whole numbers written with a fraction, as 1.0."""

    @classmethod
    def of(
        cls, layout: Layout, first: pa.Table, options: ReadOptions, metadata: Metadata
    ) -> "LabelColumn | None":
        """What labels a file has, by its first rows; None if it has none."""
        if layout.label is None:
            return None
        name = layout.label.name
        column = first.column(name).combine_chunks()
        is_called_so = name.lower() in LABEL_NAMES or name in metadata.labels
        _check_classes(name, column, is_sure=options.label != AUTO or is_called_so)
        if arrow_types.is_boolean(column.type):
            return cls(name, column.type)
        if arrow_types.is_integer(column.type):
            return cls(name, pa.int64())
        if not arrow_types.is_floating(column.type) and not arrow_types.is_decimal(column.type):
            return cls(name, TEXT)
        numbers = _as_floats(column)
        if (np.isfinite(numbers) & (np.abs(numbers) >= TOO_LARGE)).any():
            return cls(name, TEXT)
        return cls(name, NUMBER, is_whole=bool(_is_whole(numbers[~np.isinf(numbers)]).all()))

    def array(self, column: Any) -> tuple[Labels, npt.NDArray[np.bool_] | None, list[int]]:
        """Labels, which of them are there (None for all), and rows whose label does not fit.

        column: an arrow array of `data_type`
        """
        misfits: list[int] = []
        if self.data_type == NUMBER:
            column = pa.array(_as_floats(column), from_pandas=True)
        missing = np.asarray(pc.is_null(column))
        if self.data_type == TEXT:
            values = np.array([*column.dictionary.to_pylist(), None], object)
            codes = column.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
            labels: Labels = values[codes]
        else:
            filled = column.fill_null(pa.scalar(0, pa.int8()).cast(column.type))
            labels = filled.to_numpy(zero_copy_only=False)
        if self.data_type == NUMBER:
            fits = _is_whole(labels) if self.is_whole else np.isfinite(labels)
            misfits = np.flatnonzero(~fits).tolist()
            labels = np.where(fits, labels, 0.0).astype(np.int64) if self.is_whole else labels
        if not missing.any():
            return labels, None, misfits
        labels = labels.astype(object)
        labels[missing] = None
        return labels, ~missing, misfits


def _as_floats(column: Any) -> npt.NDArray[np.float64]:
    """Numbers of any type as float64, NaN where missing."""
    floats: npt.NDArray[np.float64] = column.cast(NUMBER).to_numpy(zero_copy_only=False)
    return floats


def _is_whole(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which are missing, or whole numbers that a float64 holds exactly."""
    is_whole = (np.abs(numbers) < TOO_LARGE) & (np.floor(numbers) == numbers)
    return np.asarray(is_whole | np.isnan(numbers))


def _check_classes(name: str, first: Any, is_sure: bool) -> None:
    """Refuse measurements, and labels of which nearly every row has another: these are no classes.

    is_sure: whether somebody said that this is the label
    """
    first = first.dictionary_decode() if arrow_types.is_dictionary(first.type) else first
    n_different, n_rows = len(first.unique()), len(first) - first.null_count
    is_measured = arrow_types.is_floating(first.type) and not _is_whole(_as_floats(first)).all()
    is_doubtful = not is_sure and 2 * n_different > n_rows
    if n_different > MOST_LABELS and (is_measured or is_doubtful):
        raise DataError(
            f"column {name!r} was taken for the label, but has more than {MOST_LABELS} different "
            "values in its first rows; name the label's column with label, or say label=None"
        )
