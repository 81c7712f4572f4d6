"""JSON lines: one object a line, parsed by pyarrow in pieces."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.json as pajson

from devfnn.errors import DataError
from devfnn.streams.files.content import BYTE_ORDER_MARK, Content
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.splitting import row_pieces
from devfnn.streams.files.tables import Parsed, TableReader, Types, columns_of, without_marks

NESTED = (dict, list)

# A line that is null is a row to pyarrow, and a piece of nothing else makes it crash.
_NULL = re.compile(rb"\n\s*n")

_TYPES: list[tuple[set[type], list[pa.DataType]]] = [
    ({bool}, [pa.bool_()]),
    ({int}, [pa.int64(), pa.float64()]),
    ({int, float}, [pa.float64()]),
    ({str}, [pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")]),
]
"""Kinds of values, and the types they may have, the plainest first."""


class JsonLinesReader(TableReader):
    """A file of JSON objects. Fields that the first rows do not have are passed over."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        self._missing = options.missing_values
        head = content.text_head().removeprefix(BYTE_ORDER_MARK)
        lines = head.splitlines(keepends=True)[: options.inspect_rows]
        self.first_piece = b"".join(lines)
        rows = [row for row in map(_row, lines) if isinstance(row, dict)]
        names = list(dict.fromkeys(name for row in rows for name in row))
        if not names:
            raise DataError(f"{content.name} has no JSON objects in its first lines")
        self.first = pa.table(
            {name: _inferred([row.get(name) for row in rows], self._missing) for name in names}
        )
        self.columns = columns_of(self.first)

    def pieces(self) -> Iterator[bytes]:
        return row_pieces(self._content)

    def parse(self, piece: bytes, types: Types) -> Parsed:
        piece = piece.removeprefix(BYTE_ORDER_MARK)
        if not piece.strip() or _NULL.search(b"\n" + piece):
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
        columns = {name: without_marks(table.column(name), self._missing) for name in texts}
        return Parsed(table, {}).with_columns(columns).fitted(types)

    def _parse_slowly(self, piece: bytes, types: Types) -> Parsed:
        """Line by line, to find out which are bad."""
        bad: dict[int, str] = {}
        rows = []
        for number, line in enumerate(filter(bytes.strip, piece.splitlines()), start=1):
            row = _row(line)
            if not isinstance(row, dict):
                bad[number] = "the line is no JSON object"
            elif nested := [name for name in types if isinstance(row.get(name), NESTED)]:
                bad[number] = f"the value of {nested[0]!r} is nested"
            else:
                rows.append(row)
        columns = {
            name: pa.array([_text(row.get(name), self._missing) for row in rows], pa.string())
            for name in types
        }
        return Parsed(pa.table(columns), bad).cast_texts(types)


def _row(line: bytes) -> Any:
    """What a line holds; None if it is no JSON, or none that can be text."""
    try:
        row = json.loads(line)
        json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return row


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
    for data_type in next((types for allowed, types in _TYPES if kinds <= allowed), ()):
        try:
            return column.cast(data_type)
        except pa.ArrowInvalid:
            continue
    return column
