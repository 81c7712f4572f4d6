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
from devfnn.streams.files.content import BYTE_ORDER_MARK, Content, check_utf8
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.splitting import row_pieces
from devfnn.streams.files.tables import Parsed, TableReader, Types, cast_texts, columns_of, fitted

NESTED = (dict, list)

# A line that is null is a row to pyarrow, and a piece of nothing else makes it crash.
_NULL_AT_FIRST = re.compile(rb"\s*n")
_NULL_LATER = re.compile(rb"\n\s*n")


class JsonLinesReader(TableReader):
    """A file of JSON objects. Fields that the first rows do not have are passed over."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        self._missing = frozenset(options.missing_values)
        head = content.text_head().removeprefix(BYTE_ORDER_MARK)
        lines = head.splitlines(keepends=True)[: options.inspect_rows]
        self.first_piece = b"".join(lines)
        rows = [row for row in map(_row, lines) if isinstance(row, dict)]
        names = list(dict.fromkeys(name for row in rows for name in row))
        if not names:
            check_utf8(self.first_piece, content.name)
            raise DataError(f"{content.name} has no JSON objects in its first lines")
        columns = {
            name: _inferred([row.get(name) for row in rows], self._missing) for name in names
        }
        self.first = pa.table(columns)
        self.columns = columns_of(self.first)

    def pieces(self) -> Iterator[bytes]:
        return row_pieces(self._content)

    def parse(self, piece: bytes, types: Types) -> Parsed:
        piece = piece.removeprefix(BYTE_ORDER_MARK)
        if not piece.strip() or _NULL_AT_FIRST.match(piece) or _NULL_LATER.search(piece):
            return self._parse_slowly(piece, types)
        texts = {name for name in types if pa.types.is_dictionary(types[name])}
        schema = [(name, pa.string() if name in texts else types[name]) for name in types]
        try:
            table = pajson.read_json(
                pa.BufferReader(piece),
                pajson.ReadOptions(use_threads=False, block_size=len(piece) + 1),
                pajson.ParseOptions(
                    explicit_schema=pa.schema(schema), unexpected_field_behavior="ignore"
                ),
            )
            table.validate(full=True)
        except pa.ArrowInvalid:
            return self._parse_slowly(piece, types)
        n_lines = piece.count(b"\n") + (not piece.endswith(b"\n"))
        if table.num_rows != n_lines:  # an object on two lines, two on one, or an empty line
            return self._parse_slowly(piece, types)
        columns = {name: self._without_marks(table.column(name)) for name in texts}
        return fitted(Parsed.of(table).with_columns(columns), types)

    def _without_marks(self, texts: Any) -> Any:
        """Texts that stand for a missing value replaced by nothing."""
        is_mark = pc.is_in(texts, pa.array(sorted(self._missing), pa.string()))
        return pc.if_else(is_mark, pa.scalar(None, pa.string()), texts)

    def _parse_slowly(self, piece: bytes, types: Types) -> Parsed:
        """Line by line, to find out which are bad."""
        bad: dict[int, str] = {}
        columns: dict[str, list[str | None]] = {name: [] for name in types}
        lines = [line for line in piece.splitlines() if line.strip()]
        for number, line in enumerate(lines, start=1):
            row = _row(line)
            reason = _fault(row, types)
            if reason is not None:
                bad[number] = reason
                continue
            for name, values in columns.items():
                values.append(_text(row.get(name), self._missing))
        table = pa.table({name: pa.array(columns[name], pa.string()) for name in types})
        return cast_texts(Parsed.of(table, bad), types)


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
