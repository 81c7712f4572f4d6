"""What the formats have in common: named columns of a few kinds, and tables of rows."""

import collections
import dataclasses
import enum
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import types

from devfnn.errors import DataError
from devfnn.streams.bad_rows import BadRow
from devfnn.streams.files.notes import Note


class Kind(enum.StrEnum):
    """What the values of a column are."""

    number = "number"
    boolean = "boolean"
    text = "text"
    time = "time"
    other = "other"
    """What is no feature, as lists or pictures."""


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a file."""

    name: str
    kind: Kind
    values: tuple[str, ...] | None = None
    """All texts that may occur, if the file says so."""
    data_type: pa.DataType | None = None
    """As what the file holds it, or as what it was inferred; None if the kind says all."""


@dataclasses.dataclass(frozen=True)
class Parsed:
    """Rows as a table, and those that could not be parsed."""

    table: pa.Table
    places: Sequence[int] | None = None
    """Where the rows of the table were among all rows of the piece; None if all are there."""
    bad: Sequence[BadRow] = ()
    """Rows that are not in the table, counted from 1 within the piece."""

    @property
    def n_rows(self) -> int:
        """Rows of the piece, bad ones too."""
        return int(self.table.num_rows) + len(self.bad)

    def place(self, row: int) -> int:
        """The number of a row of the table within the piece, from 1."""
        return 1 + (row if self.places is None else int(self.places[row]))

    def among(self, places: Sequence[int], bad: Sequence[BadRow]) -> "Parsed":
        """The same rows as part of a piece that had bad rows before.

        places: where the rows that were parsed were in the piece
        """
        numbers = [places[self.place(row) - 1] for row in range(self.table.num_rows)]
        own = [BadRow(places[row - 1] + 1, reason) for row, reason in self.bad]
        return Parsed(self.table, numbers, sorted([*bad, *own]))


class TableReader(Protocol):
    """A format: what columns there are, and how to get at the rows."""

    @property
    def columns(self) -> Sequence[Column]:
        """Columns in the order of the file."""

    @property
    def first(self) -> pa.Table:
        """The first rows, with types as they are in the file or were inferred."""

    @property
    def first_piece(self) -> Any:
        """The same rows as a piece."""

    @property
    def n_rows(self) -> int | None:
        """Rows of the file, if it says so."""

    @property
    def note(self) -> Note:
        """What the file declares about its rows."""

    def pieces(self) -> Iterator[Any]:
        """The file in pieces of some rows, in order."""

    def parse(self, piece: Any, types: dict[str, pa.DataType]) -> Parsed:
        """The rows of a piece, with columns of these types; called by several threads."""


def kind_of(data_type: pa.DataType) -> Kind:
    """The kind of a column with this type."""
    if types.is_dictionary(data_type):
        data_type = data_type.value_type
    if types.is_boolean(data_type):
        return Kind.boolean
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    if any(is_type(data_type) for is_type in numeric):
        return Kind.number
    if types.is_timestamp(data_type) or types.is_date(data_type):
        return Kind.time
    strings = (types.is_string, types.is_large_string, types.is_string_view, types.is_time)
    if any(is_type(data_type) for is_type in strings):
        return Kind.text
    return Kind.other


def columns_of(table: pa.Table) -> list[Column]:
    """The columns of a table; one without a value in the first rows is numbers."""
    names = table.schema.names
    if len(set(names)) < len(names):
        counts = collections.Counter(names)
        raise DataError(
            f"two columns are called {max(names, key=counts.__getitem__)!r}; rename one"
        )
    return [Column(field.name, kind_of(field.type), data_type=field.type) for field in table.schema]


def empty_table(types: dict[str, pa.DataType]) -> pa.Table:
    """A table without rows."""
    return pa.schema(list(types.items())).empty_table()
