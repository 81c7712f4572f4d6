"""Columns to columns of another type, with the rows that do not fit."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as arrow_types

from devfnn.streams.bad_rows import BadRow
from devfnn.streams.files.tables import Parsed


def fitted(table: pa.Table, types: Mapping[str, pa.DataType]) -> Parsed:
    """The columns named, of types that can be digested; values that do not fit make bad rows."""
    table = table.select(list(types))
    wanted = {
        name: data_type
        for name, data_type in types.items()
        if not _is_alike(table.schema.field(name).type, data_type)
    }
    if not wanted:
        return Parsed(table)
    try:
        new = {name: _as_type(table.column(name), wanted[name]) for name in wanted}
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        texts = {name: _as_type(table.column(name), pa.string()) for name in wanted}
        checked = cast_columns(pa.table(texts), wanted)
        kept = table.take(pa.array(checked.places, pa.int64()))
        new = {name: checked.table.column(name) for name in wanted}
        return Parsed(_replaced(kept, new), checked.places, checked.bad)
    return Parsed(_replaced(table, new))


def _replaced(table: pa.Table, columns: Mapping[str, Any]) -> pa.Table:
    for name, column in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def cast_columns(
    table: pa.Table, types: Mapping[str, pa.DataType], bad: Sequence[BadRow] = ()
) -> Parsed:
    """A table of texts in the given types; rows with a value that does not fit are left out.

    bad: rows that are not in the table already, counted from 1 within the piece
    """
    found: dict[int, str] = {}
    for name, data_type in types.items():
        column = table.column(name).combine_chunks()
        for row in _misfits(column, data_type, 0):
            found.setdefault(
                row, f"{column[row].as_py()!r} in column {name!r} is no {_word(data_type)}"
            )
    left = without_rows(table, found, bad)
    columns = {name: _cast(left.table.column(name).combine_chunks(), types[name]) for name in types}
    return Parsed(pa.table(columns), left.places, left.bad)


def without_rows(table: pa.Table, reasons: Mapping[int, str], bad: Sequence[BadRow]) -> Parsed:
    """A table without some rows, which are bad for a reason, and without those before.

    bad: rows that are not in the table already, counted from 1 within the piece
    """
    gone = {row.row - 1 for row in bad}
    places = [row for row in range(table.num_rows + len(bad)) if row not in gone]
    keep = np.ones(table.num_rows, bool)
    keep[list(reasons)] = False
    more = [BadRow(places[row] + 1, reason) for row, reason in reasons.items()]
    left = [place for row, place in enumerate(places) if keep[row]]
    return Parsed(table.filter(pa.array(keep)), left, sorted([*bad, *more]))


def _misfits(column: Any, data_type: pa.DataType, first: int) -> list[int]:
    """Rows whose values cannot be cast, found by halving: bad rows are few."""
    try:
        _cast(column, data_type)
    except ValueError:
        if len(column) == 1:
            return [first]
        half = len(column) // 2
        left = _misfits(column[:half], data_type, first)
        return left + _misfits(column[half:], data_type, first + half)
    return []


def _cast(column: Any, data_type: pa.DataType) -> Any:
    """Texts as another type."""
    if arrow_types.is_dictionary(data_type):
        return column.dictionary_encode()
    return column.cast(data_type)


def _word(data_type: pa.DataType) -> str:
    if arrow_types.is_boolean(data_type):
        return "truth value"
    if arrow_types.is_timestamp(data_type):
        return "date" if data_type.tz is None else "date with a time zone"
    return "whole number" if arrow_types.is_integer(data_type) else "number"


def _is_alike(have: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a column can be digested as it is."""
    numbers = (
        arrow_types.is_integer,
        arrow_types.is_floating,
        arrow_types.is_boolean,
        arrow_types.is_decimal,
    )
    if arrow_types.is_dictionary(wanted):
        return bool(arrow_types.is_dictionary(have) and arrow_types.is_string(have.value_type))
    if arrow_types.is_timestamp(wanted):
        return bool(arrow_types.is_timestamp(have) or arrow_types.is_date(have))
    if arrow_types.is_float64(wanted):
        return any(is_type(have) for is_type in numbers)
    return bool(have == wanted)


def _as_type(column: Any, data_type: pa.DataType) -> Any:
    if arrow_types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if arrow_types.is_dictionary(data_type):
        return column.cast(pa.string()).combine_chunks().dictionary_encode()
    return column.cast(data_type)
