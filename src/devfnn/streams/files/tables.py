"""What the formats have in common: columns of a few types, and tables without their bad rows."""

import abc
import collections
import dataclasses
import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as arrow_types

from devfnn.errors import DataError

METADATA_KEY = b"devfnn"
"""Where `Metadata` stands in a Parquet file that was exported here."""

NUMBER, TEXT, TIME = pa.float64(), pa.dictionary(pa.int32(), pa.string()), pa.timestamp("us")
"""How columns of numbers, texts and timestamps are read."""

Types = Mapping[str, pa.DataType]
"""Columns that are wanted, with the types they are to have."""


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a file."""

    name: str
    data_type: pa.DataType | None
    """As what it is read; None if it can be no feature and no label, as lists and pictures."""
    values: tuple[str, ...] | None = None
    """All texts that may occur, if the file says so."""


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

    @abc.abstractmethod
    def parse(self, piece: Any, types: Types) -> Parsed:
        """The rows of a piece, with columns of these types; called by several threads."""


def without_marks(texts: Any, missing_values: Sequence[str]) -> Any:
    """Texts that stand for a missing value replaced by nothing."""
    is_mark = pc.is_in(texts, pa.array(missing_values, pa.string()))
    return pc.if_else(is_mark, pa.scalar(None, pa.string()), texts)


def fitted(parsed: Parsed, types: Types) -> Parsed:
    """The columns that are wanted, of types that can be read; other values make bad rows."""
    table = parsed.table.select(list(types))
    parsed = parsed._replace(table=table)
    others = {
        name: table.column(name)
        for name, data_type in types.items()
        if not _is_alike(table.schema.field(name).type, data_type)
    }
    try:
        return parsed.with_columns({name: _as_type(others[name], types[name]) for name in others})
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        texts = {name: _as_type(column, pa.string()) for name, column in others.items()}
        return cast_texts(parsed.with_columns(texts), {name: types[name] for name in others})


def cast_texts(parsed: Parsed, types: Types) -> Parsed:
    """Columns of texts in the given types; rows with a value that does not fit are bad."""
    found: dict[int, str] = {}
    for name, data_type in types.items():
        column = parsed.table.column(name).combine_chunks()
        for row in _misfits(column, data_type, 0):
            reason = f"{column[row].as_py()!r} in column {name!r} is no {_word(data_type)}"
            found.setdefault(row, reason)
    left = parsed.without(found)
    return left.with_columns(
        {name: _as_type(left.table.column(name), types[name]) for name in types}
    )


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
