"""JSON lines: one object a line, parsed by pyarrow in pieces."""

import itertools
import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from devfnn.errors import DataError
from devfnn.streams.bad_rows import BadRow
from devfnn.streams.files.casting import cast_columns, fitted
from devfnn.streams.files.content import Content
from devfnn.streams.files.notes import Note
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.pieces import line_pieces
from devfnn.streams.files.recoding import BYTE_ORDER_MARK, UTF8, not_in
from devfnn.streams.files.tables import Parsed, columns_of, empty_table

NESTED = (dict, list)

# A line that is null is a row to pyarrow, and a piece of nothing else makes it crash.
_NULL_AT_FIRST = re.compile(rb"\s*n")
_NULL_LATER = re.compile(rb"\n\s*n")


class JsonLinesReader:
    """A file of JSON objects. Fields that the first rows do not have are passed over."""

    n_rows = None
    note = Note()

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        self._missing = frozenset(options.missing_marks)
        head = content.text_head().removeprefix(BYTE_ORDER_MARK)
        lines = head.splitlines(keepends=True)[: options.inspect_rows]
        self.first_piece = b"".join(lines)
        rows = [row for row in map(_row, lines) if isinstance(row, dict)]
        names = list(dict.fromkeys(name for row in rows for name in row))
        if not names:
            _check_text(self.first_piece, content.name)
            raise DataError(f"{content.name} has no JSON objects in its first lines")
        columns = {
            name: _inferred([row.get(name) for row in rows], self._missing) for name in names
        }
        self.first = pa.table(columns)
        self.columns = columns_of(self.first)

    def pieces(self) -> Iterator[bytes]:
        with self._content.open_text() as handle:
            yield from line_pieces(handle, self._content.name)

    def parse(self, piece: bytes, types: dict[str, pa.DataType]) -> Parsed:
        piece = piece.removeprefix(BYTE_ORDER_MARK)
        if not piece.strip():
            return Parsed(empty_table(types))
        if _NULL_AT_FIRST.match(piece) or _NULL_LATER.search(piece):
            return self._parse_slowly(piece, types)
        texts = {name for name in types if pa.types.is_dictionary(types[name])}
        schema = pa.schema(
            [(name, pa.string() if name in texts else types[name]) for name in types]
        )
        try:
            table = pajson.read_json(
                pa.BufferReader(piece),
                pajson.ReadOptions(use_threads=False, block_size=len(piece) + 1),
                pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
            table.validate(full=True)
        except pa.ArrowInvalid:
            return self._parse_slowly(piece, types)
        if table.num_rows != _n_lines(piece):  # an object on two lines, or two on one
            return self._parse_slowly(piece, types)
        for name in texts:
            table = self._without_marks(table, name)
        return fitted(table, types)

    def _without_marks(self, table: pa.Table, name: str) -> pa.Table:
        """Texts that stand for a missing value replaced by nothing."""
        column = table.column(name)
        is_mark = pc.is_in(column, pa.array(sorted(self._missing), pa.string()))
        if not pc.any(is_mark).as_py():
            return table
        place = table.schema.get_field_index(name)
        texts = pc.if_else(is_mark, pa.scalar(None, pa.string()), column)
        return table.set_column(place, name, texts)

    def _parse_slowly(self, piece: bytes, types: dict[str, pa.DataType]) -> Parsed:
        """Line by line, to find out which are bad."""
        bad: list[BadRow] = []
        columns: dict[str, list[str | None]] = {name: [] for name in types}
        lines = [line for line in piece.splitlines() if line.strip()]
        for number, line in enumerate(lines, start=1):
            row = _row(line)
            reason = _fault(row, types)
            if reason is not None:
                bad.append(BadRow(number, reason))
                continue
            for name, values in columns.items():
                values.append(_text(row.get(name), self._missing))
        table = pa.table({name: pa.array(columns[name], pa.string()) for name in types})
        return cast_columns(table, types, bad)


def _row(line: bytes) -> Any:
    """What a line holds; None if it is no JSON, or none that can be text."""
    try:
        row = json.loads(line)
        json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return row


def _fault(row: Any, names: Collection[str]) -> str | None:
    """What is wrong with a row, if anything is."""
    if not isinstance(row, dict):
        return "the line is no JSON object"
    nested = next((name for name in names if isinstance(row.get(name), NESTED)), None)
    return None if nested is None else f"the value of {nested!r} is nested"


def _n_lines(piece: bytes) -> int:
    """Lines of a piece, if none of them is empty."""
    return piece.count(b"\n") + (not piece.endswith(b"\n"))


def _check_text(text: bytes, name: str) -> None:
    try:
        text.decode()
    except UnicodeDecodeError:
        raise not_in(UTF8, name) from None


def _text(value: Any, missing: Collection[str]) -> str | None:
    """A JSON value as text; None if it is missing."""
    if value is None or (isinstance(value, str) and value in missing):
        return None
    return value if isinstance(value, str) else json.dumps(value)


def _inferred(values: Sequence[Any], missing: Collection[str]) -> Any:
    """A column with the plainest type that fits all its values."""
    texts = [_text(value, missing) for value in values]
    kinds = {type(value) for value, text in zip(values, texts, strict=True) if text is not None}
    if not kinds:
        return pa.nulls(len(values))
    if kinds & set(NESTED):
        return pa.array([[]] * len(values), pa.list_(pa.null()))
    column = pa.array(texts, pa.string())
    for data_type in _candidates(kinds):
        try:
            return column.cast(data_type)
        except pa.ArrowInvalid:
            continue
    return column


def _candidates(kinds: set[type]) -> list[pa.DataType]:
    """Types that values of these kinds may have, the plainest first."""
    if kinds == {bool}:
        return [pa.bool_()]
    if kinds == {int}:
        return [pa.int64(), pa.float64()]
    if kinds <= {int, float}:
        return [pa.float64()]
    if kinds == {str}:
        return [
            pa.timestamp(unit, zone)
            for unit, zone in itertools.product(("us", "ns"), (None, "UTC"))
        ]
    return []
