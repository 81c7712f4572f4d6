"""CSV: any delimiter, with or without names, parsed by pyarrow in pieces."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from devfnn.streams.files.content import Content
from devfnn.streams.files.csv_dialect import Dialect
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.splitting import QUOTE, last_quoted_end, row_pieces
from devfnn.streams.files.tables import (
    Parsed,
    TableReader,
    Types,
    cast_texts,
    columns_of,
    without_marks,
)

SPACED = ("%s", " %s", "%s ", " %s ")
"""How a text that stands for a missing value may be written."""


@dataclasses.dataclass(frozen=True)
class DelimitedRows:
    """How rows are written, and how they are parsed."""

    names: Sequence[str]
    missing_values: Sequence[str]
    delimiter: str = ","
    decimal_point: str = "."
    quote: str = QUOTE

    def parse(self, piece: bytes, types: Types) -> Parsed:
        """The rows of a piece; fast if all is well, else value by value."""
        if not piece.strip(b"\r\n"):  # a delimiter may be a space
            return Parsed.of(pa.schema(list(types.items())).empty_table())
        try:
            return self._without_spaces(self.read(piece, types))
        except pa.ArrowInvalid:
            return self._parse_slowly(piece, types)

    def _parse_slowly(self, piece: bytes, types: Types) -> Parsed:
        """The same, value by value, to find out which do not fit."""
        parsed = self.read(piece, {name: pa.string() for name in types})
        columns = {name: self._trimmed(parsed.table.column(name)) for name in types}
        for name in types:
            if self.decimal_point != "." and pa.types.is_floating(types[name]):
                columns[name] = pc.replace_substring(columns[name], self.decimal_point, ".")
        return cast_texts(parsed.with_columns(columns), types)

    def read(self, piece: bytes, types: Types | None) -> Parsed:
        """A piece as pyarrow reads it; rows of another width are bad."""
        bad: dict[int, str] = {}

        def on_other_width(row: pacsv.InvalidRow) -> str:
            reason = f"{row.actual_columns} values where {row.expected_columns} are expected"
            bad[row.number or 0] = reason
            return "skip"

        table = pacsv.read_csv(
            pa.BufferReader(piece),
            pacsv.ReadOptions(
                use_threads=False,
                column_names=list(self.names),
                block_size=max(len(piece) + 1, 1024),
            ),
            pacsv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.quote,
                escape_char=False,
                newlines_in_values=self.quote.encode() in piece,
                invalid_row_handler=on_other_width,
            ),
            pacsv.ConvertOptions(
                column_types=types,
                include_columns=None if types is None else list(types),
                null_values=[form % mark for mark in self.missing_values for form in SPACED],
                strings_can_be_null=True,
                decimal_point=self.decimal_point,
            ),
        )
        return Parsed.of(table, bad)

    def _without_spaces(self, parsed: Parsed) -> Parsed:
        """Texts without the spaces around them, which are there to look good."""
        columns = {}
        for field in parsed.table.schema:
            if pa.types.is_dictionary(field.type) and parsed.table.num_rows:
                column = parsed.table.column(field.name).combine_chunks()
                trimmed = self._trimmed(column.dictionary)
                if trimmed is not column.dictionary:
                    columns[field.name] = pa.DictionaryArray.from_arrays(column.indices, trimmed)
        return parsed.with_columns(columns)

    def _trimmed(self, texts: Any) -> Any:
        trimmed = pc.utf8_trim_whitespace(texts)
        return texts if trimmed.equals(texts) else without_marks(trimmed, self.missing_values)


class DelimitedReader(TableReader):
    """A CSV file. Its header, delimiter and types are inferred from its first rows."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        delimiter, point, names, self._start, self.first_piece = Dialect.of(
            content.text_head(), options, content.name
        )
        self._last_end = functools.partial(last_quoted_end, delimiter=delimiter.encode())
        self._rows = DelimitedRows(names, options.missing_values, delimiter, point)
        self.first = self._rows.read(self.first_piece, None).table
        self.columns = columns_of(self.first)

    def pieces(self) -> Iterator[bytes]:
        return row_pieces(self._content, self._last_end, self._start)

    def parse(self, piece: bytes, types: Types) -> Parsed:
        return self._rows.parse(piece, types)
