"""CSV: any delimiter, with or without names, parsed by pyarrow in pieces."""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from devfnn.errors import DataError
from devfnn.streams.bad_rows import BadRow
from devfnn.streams.files.casting import cast_columns, without_rows
from devfnn.streams.files.content import Content
from devfnn.streams.files.notes import Note
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.pieces import QuotedRows, line_pieces
from devfnn.streams.files.sniffing import QUOTE, decimal_point_of, sniffed, warn_of_odd_numbers
from devfnn.streams.files.tables import Parsed, columns_of, empty_table

BROKEN = "\ufdd0"
"""Stands for bytes that are no text; Unicode keeps it free for such use."""

REPLACEMENT = "\ufffd"

SPACED = ("%s", " %s", "%s ", " %s ")
"""How a text that stands for a missing value may be written."""


class DelimitedReader:
    """A CSV file. Its header, delimiter and types are inferred from its first rows."""

    n_rows = None
    note = Note()

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        looks = sniffed(content.text_head(), options, content.name)
        self._names = _names(looks.rows[0], looks.has_header, options.names)
        self._rows = QuotedRows(QUOTE.encode(), looks.delimiter.encode())
        self._start = looks.start
        self.first_piece = looks.first_piece
        first = _marked(looks.first_piece)
        self._layout = DelimitedLayout(looks.delimiter, QUOTE, None, options.missing_marks)
        self.first = _parsed(first, self._names, self._layout, None, [])
        decimal_point = decimal_point_of(self.first, looks.delimiter)
        if decimal_point != self._layout.decimal_point:
            self._layout = dataclasses.replace(self._layout, decimal_point=decimal_point)
            self.first = _parsed(first, self._names, self._layout, None, [])
        self.columns = columns_of(self.first)
        warn_of_odd_numbers(self.first, decimal_point, options, content.name)

    def pieces(self) -> Iterator[bytes]:
        with self._content.open_text() as handle:
            lacking = self._start
            while lacking and (passed := handle.read(lacking)):
                lacking -= len(passed)
            yield from line_pieces(handle, self._content.name, self._rows.last_end)

    def parse(self, piece: bytes, types: dict[str, pa.DataType]) -> Parsed:
        return parse_delimited(piece, self._names, self._layout, types)


@dataclasses.dataclass(frozen=True)
class DelimitedLayout:
    """How the values of a row are written."""

    delimiter: str
    quote: str
    escape: str | None
    missing_values: tuple[str, ...]
    decimal_point: str = "."


def parse_delimited(
    piece: bytes, names: Sequence[str], layout: DelimitedLayout, types: dict[str, pa.DataType]
) -> Parsed:
    """The rows of a piece; fast if all is well, else value by value."""
    bad: list[BadRow] = []
    if not piece.strip(b"\r\n"):  # a delimiter may be a space
        return Parsed(empty_table(types))
    if not _is_text(piece):
        return _parse_slowly(piece, names, layout, types)
    try:
        table = _without_spaces(_parsed(piece, names, layout, types, bad), layout)
    except pa.ArrowInvalid:
        return _parse_slowly(piece, names, layout, types)
    if not bad:
        return Parsed(table)
    gone = {row.row - 1 for row in bad}
    places = [row for row in range(table.num_rows + len(bad)) if row not in gone]
    return Parsed(table, places, bad)


def _parse_slowly(
    piece: bytes, names: Sequence[str], layout: DelimitedLayout, types: dict[str, pa.DataType]
) -> Parsed:
    """The same, value by value, to find out which do not fit."""
    bad: list[BadRow] = []
    texts = {name: pa.string() for name in types}
    table = _parsed(_marked(piece), names, layout, texts, bad)
    parsed = without_rows(table, _broken_texts(table), bad)
    columns = {name: _plain(parsed.table.column(name), types[name], layout) for name in types}
    return cast_columns(pa.table(columns), types, parsed.bad)


def _is_text(piece: bytes) -> bool:
    if piece.isascii():
        return True
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True


def _marked(piece: bytes) -> bytes:
    """Text with a mark in place of bytes that are not UTF-8, over which pyarrow stumbles."""
    text = piece.decode(errors="surrogateescape")
    return re.sub("[\udc80-\udcff]+", BROKEN, text).encode()


def _broken_texts(table: pa.Table) -> dict[int, str]:
    """Rows with marks, and what to say about them."""
    found: dict[int, str] = {}
    for name in table.column_names:
        column = table.column(name)
        has_mark = pc.match_substring(column, BROKEN).fill_null(False)
        for row in np.flatnonzero(has_mark.to_numpy()).tolist():
            value = column[row].as_py().replace(BROKEN, REPLACEMENT)
            found.setdefault(row, f"{value!r} in column {name!r} is no text in UTF-8")
    return found


def _parsed(
    piece: bytes,
    names: Sequence[str],
    layout: DelimitedLayout,
    types: dict[str, pa.DataType] | None,
    bad: list[BadRow],
) -> pa.Table:
    """A piece as pyarrow reads it; rows of another width are put into `bad`."""

    def on_other_width(row: pacsv.InvalidRow) -> str:
        reason = f"{row.actual_columns} values where {row.expected_columns} are expected"
        bad.append(BadRow(row.number or 0, reason))
        return "skip"

    quote = layout.quote.encode()
    return pacsv.read_csv(
        pa.BufferReader(piece),
        pacsv.ReadOptions(
            use_threads=False, column_names=list(names), block_size=max(len(piece) + 1, 1024)
        ),
        pacsv.ParseOptions(
            delimiter=layout.delimiter,
            quote_char=layout.quote,
            escape_char=layout.escape or False,
            newlines_in_values=quote in piece,
            invalid_row_handler=on_other_width,
        ),
        pacsv.ConvertOptions(
            column_types=types,
            include_columns=None if types is None else list(types),
            null_values=[form % mark for mark in layout.missing_values for form in SPACED],
            strings_can_be_null=True,
            decimal_point=layout.decimal_point,
        ),
    )


def _without_spaces(table: pa.Table, layout: DelimitedLayout) -> pa.Table:
    """Texts without the spaces around them, which are there to look good."""
    for place, field in enumerate(table.schema):
        if not pa.types.is_dictionary(field.type) or not table.num_rows:
            continue
        column = table.column(place).combine_chunks()
        trimmed = _trimmed(column.dictionary, layout)
        if trimmed is not column.dictionary:
            texts = pa.DictionaryArray.from_arrays(column.indices, trimmed)
            table = table.set_column(place, field, texts)
    return table


def _plain(texts: Any, data_type: pa.DataType, layout: DelimitedLayout) -> Any:
    """Texts as they can be cast."""
    texts = _trimmed(texts, layout)
    if pa.types.is_floating(data_type) and layout.decimal_point != ".":
        texts = pc.replace_substring(texts, layout.decimal_point, ".")
    return texts


def _trimmed(texts: Any, layout: DelimitedLayout) -> Any:
    trimmed = pc.utf8_trim_whitespace(texts)
    if trimmed.equals(texts):
        return texts
    is_missing = pc.is_in(trimmed, pa.array(layout.missing_values, pa.string()))
    return pc.if_else(is_missing, pa.scalar(None, pa.string()), trimmed)


def _names(first: Sequence[str], has_header: bool, given: Sequence[str] | None) -> list[str]:
    """Names of the columns: as given, from the file, or numbered."""
    if given is not None:
        if len(given) != len(first):
            raise DataError(f"there are {len(given)} names for {len(first)} columns")
        return list(given)
    if not has_header:
        return [f"x{place}" for place in range(1, len(first) + 1)]
    names = [value.strip() or f"x{place}" for place, value in enumerate(first, start=1)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"two columns are called {twice!r}; rename one in the file")
    return names
