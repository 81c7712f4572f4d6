"""What the formats have in common: tables without bad rows, and what their columns are for."""

import abc
import collections
import dataclasses
import json
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as arrow_types

from devfnn.arrays import Flags, Floats
from devfnn.errors import DataError, InputError
from devfnn.streams.files.options import ColumnName, ReadOptions
from devfnn.types import Labels

LABEL_NAMES = ("class", "label", "target", "y")
"""Names of label columns; case is ignored."""

MOST_LABELS = 100
"""Most distinct labels in the first rows that numbers may have as classes."""

TOO_LARGE = 2.0**53
"""Beyond this, float64 does not represent every whole number."""

METADATA_KEY = b"devfnn"
"""Key of `Metadata` in an exported Parquet file."""

NUMBER, TEXT, TIME = pa.float64(), pa.dictionary(pa.int32(), pa.string()), pa.timestamp("us")
"""How columns of numbers, texts and timestamps are read."""

Types = Mapping[str, pa.DataType]
"""Columns that are wanted, with the types they are to have."""


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a file."""

    name: str
    data_type: pa.DataType | None
    """Type it is read as; None if it can be neither feature nor label, as lists and images."""
    values: tuple[str, ...] | None = None
    """All possible texts, if the file declares them."""


def columns_of(table: pa.Table) -> list[Column]:
    """The columns of a table; one without a value in the first rows is numbers."""
    for name, count in collections.Counter(table.schema.names).items():
        if count > 1:
            raise DataError(f"two columns are called {name!r}; rename one")
    return [Column(field.name, _read_as(field.type)) for field in table.schema]


def _read_as(data_type: pa.DataType) -> pa.DataType | None:
    """How a column of this type is read; timestamps with a zone, or finer than usual, stay so."""
    if arrow_types.is_dictionary(data_type):
        data_type = data_type.value_type
    if arrow_types.is_boolean(data_type):
        return data_type
    if _is_number(data_type) or arrow_types.is_null(data_type):
        return NUMBER
    if arrow_types.is_timestamp(data_type):
        zone = None if data_type.tz is None else "UTC"
        return pa.timestamp("ns" if data_type.unit == "ns" else "us", zone)
    if arrow_types.is_date(data_type):
        return TIME
    texts = (pa.string(), pa.large_string(), pa.string_view())
    return TEXT if data_type in texts or arrow_types.is_time(data_type) else None


@dataclasses.dataclass(frozen=True)
class Metadata:
    """What a file declares about its rows; empty where it says nothing."""

    labels: tuple[str, ...] = ()
    """Columns that are labels and no features; the first is meant by default."""
    time: str | None = None
    classes: tuple[Hashable, ...] = ()
    class_names: tuple[str, ...] = ()
    drift_positions: tuple[int, ...] = ()

    def to_bytes(self) -> bytes:
        """As JSON; classes that JSON cannot hold are left out."""
        fields = dataclasses.asdict(self)
        if not all(isinstance(label, str | int | float) for label in self.classes):
            fields["classes"] = ()
        return json.dumps(fields).encode()

    @classmethod
    def of(cls, metadata: Mapping[bytes, bytes] | None) -> "Metadata":
        """That of a Parquet file; empty if there is none or it is not understood."""
        try:
            fields = json.loads((metadata or {})[METADATA_KEY])
            found = cls(
                tuple(map(str, fields["labels"])),
                None if fields["time"] is None else str(fields["time"]),
                tuple(fields["classes"]),
                tuple(map(str, fields["class_names"])),
                tuple(sorted(map(int, fields["drift_positions"]))),
            )
            hash(found)  # lists among the classes would fail later
        except (KeyError, ValueError, TypeError, RecursionError):
            return cls()
        return found


class Parsed(NamedTuple):
    """The rows of a piece of a file as a table, without those that are bad."""

    table: pa.Table
    bad: Mapping[int, str]
    """Numbers of the other rows within the piece, from 1, and what is wrong with them."""

    @property
    def n_rows(self) -> int:
        """Rows of the piece, bad ones too."""
        return int(self.table.num_rows) + len(self.bad)

    def without(self, reasons: Mapping[int, str]) -> "Parsed":
        """Without some rows of the table, which are bad: their places from 0, and why."""
        if not reasons:
            return self
        numbers = np.delete(np.arange(1, self.n_rows + 1), [number - 1 for number in self.bad])
        keep = np.ones(len(numbers), bool)
        keep[list(reasons)] = False
        bad = {int(numbers[place]): reason for place, reason in reasons.items()}
        return Parsed(self.table.filter(pa.array(keep)), {**self.bad, **bad})

    def with_columns(self, columns: Mapping[str, Any]) -> "Parsed":
        """The same rows with some columns replaced."""
        table = self.table
        for name, column in columns.items():
            table = table.set_column(table.schema.get_field_index(name), name, column)
        return self._replace(table=table)

    def fitted(self, types: Types) -> "Parsed":
        """The columns that are wanted, of types that can be read; other values make bad rows."""
        table = self.table.select(list(types))
        parsed = self._replace(table=table)
        others = {
            name: table.column(name)
            for name, data_type in types.items()
            if not _is_alike(table.schema.field(name).type, data_type)
        }
        try:
            return parsed.with_columns(
                {name: _as_type(others[name], types[name]) for name in others}
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            texts = {name: _as_type(column, pa.string()) for name, column in others.items()}
            return parsed.with_columns(texts).cast_texts({name: types[name] for name in others})

    def cast_texts(self, types: Types) -> "Parsed":
        """Columns of texts in the given types; rows with a value that does not fit are bad."""
        found: dict[int, str] = {}
        for name, data_type in types.items():
            column = self.table.column(name).combine_chunks()
            for row in _misfits(column, data_type, 0):
                reason = f"{column[row].as_py()!r} in column {name!r} is no {_word(data_type)}"
                found.setdefault(row, reason)
        left = self.without(found)
        fitting = {name: _as_type(left.table.column(name), types[name]) for name in types}
        return left.with_columns(fitting)


class TableReader(abc.ABC):
    """A format: what columns there are, and how to get at the rows."""

    columns: Sequence[Column]
    """In the order of the file."""
    first: pa.Table
    """The first rows, with types as they are in the file or were inferred."""
    first_piece: Any
    """The same rows as a piece."""
    n_rows: int | None = None
    """Rows of the file, if it says so."""
    metadata: Metadata = Metadata()

    @abc.abstractmethod
    def pieces(self) -> Iterator[Any]:
        """The file in pieces of some rows, in order."""

    def all_of(self, name: str) -> Any:
        """A column alone, from the first row to the last, as a piece, if it is there anyway."""
        return None

    @abc.abstractmethod
    def parse(self, piece: Any, types: Types) -> Parsed:
        """The rows of a piece, with columns of these types; called by several threads."""


def without_marks(texts: Any, missing_values: Sequence[str]) -> Any:
    """Texts that stand for a missing value replaced by nothing."""
    is_mark = pc.is_in(texts, pa.array(missing_values, pa.string()))
    return pc.if_else(is_mark, pa.scalar(None, pa.string()), texts)


def _misfits(column: Any, data_type: pa.DataType, first: int) -> list[int]:
    """Rows whose values cannot be cast, found by halving: bad rows are few."""
    try:
        _as_type(column, data_type)
    except ValueError:
        if len(column) == 1:
            return [first]
        half = len(column) // 2
        left = _misfits(column[:half], data_type, first)
        return left + _misfits(column[half:], data_type, first + half)
    return []


def _as_type(column: Any, data_type: pa.DataType) -> Any:
    if arrow_types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if arrow_types.is_dictionary(data_type):
        return whole(column.cast(pa.string())).dictionary_encode()
    return column.cast(data_type)


def whole(column: Any) -> Any:
    """A column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _word(data_type: pa.DataType) -> str:
    if arrow_types.is_boolean(data_type):
        return "truth value"
    if arrow_types.is_timestamp(data_type):
        return "date" if data_type.tz is None else "date with a time zone"
    return "whole number" if arrow_types.is_integer(data_type) else "number"


def _is_number(data_type: pa.DataType) -> bool:
    kinds = (arrow_types.is_integer, arrow_types.is_floating, arrow_types.is_decimal)
    return any(is_kind(data_type) for is_kind in kinds)


def _is_alike(have: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a column can be read as it is."""
    if wanted == TEXT:
        return bool(arrow_types.is_dictionary(have) and arrow_types.is_string(have.value_type))
    if wanted == NUMBER:
        return _is_number(have) or bool(arrow_types.is_boolean(have))
    return bool(have == wanted)


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
        """Decide by the options; raises InputError for unknown columns.

        declared: columns that the file itself says are labels; none of them is a feature
        """
        names = [column.name for column in columns]
        time = None if options.time is None else _name(names, options.time, "time")
        ignored = {_name(names, each, "ignore") for each in options.ignore}
        usual = declared[0] if declared and options.label == "auto" else options.label
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
    if label != "auto" or "auto" in names:
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
        _check_classes(name, column, is_sure=options.label != "auto" or is_called_so)
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

    def array(self, column: Any) -> tuple[Labels, Flags | None, list[int]]:
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


def _as_floats(column: Any) -> Floats:
    """Numbers of any type as float64, NaN where missing."""
    return np.asarray(column.cast(NUMBER).to_numpy(zero_copy_only=False))


def _is_whole(numbers: Floats) -> Flags:
    """Which are missing, or whole numbers that float64 represents exactly."""
    is_whole = (np.abs(numbers) < TOO_LARGE) & (np.floor(numbers) == numbers)
    return np.asarray(is_whole | np.isnan(numbers))


def _check_classes(name: str, first: Any, is_sure: bool) -> None:
    """Refuse measurements, and labels of which nearly every row has another: these are no classes.

    is_sure: whether the user named this column
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
