"""CSV and ARFF, parsed by pyarrow in pieces.

How a CSV file is written is inferred from its first rows: delimiter, header, decimal point. ARFF,
the format of Weka and MOA, has a header with types, then rows like CSV.
"""

import csv
import dataclasses
import functools
import io
import itertools
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from devfnn.errors import DataError
from devfnn.streams.files import tables
from devfnn.streams.files.content import BYTE_ORDER_MARK, Content
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.splitting import QUOTE, last_quoted_end, row_pieces
from devfnn.streams.files.tables import Column, Parsed, TableReader, Types

DELIMITERS = ";\t|, "
"""As they are preferred: commas and spaces are in numbers and texts, too."""

LINES_FOR_DELIMITER = 50
USUAL_SHARE = 0.9
"""Share of the rows that have the same width if the delimiter is right."""

COMMA_NUMBER = re.compile(r"[+-]?\d*,?\d+([eE][+-]?\d+)?")

MOSTLY = 0.9
"""Share of numbers in a column of texts from which on a warning is logged."""

SPACED = ("%s", " %s", "%s ", " %s ")
"""How a text that stands for a missing value may be written."""

_LINE_END = rb"[^\r\n]*(?:\r\n|\n|\r|\Z)"
_DATA = re.compile(rb"(?im)^[ \t]*@data\b" + _LINE_END)
_COMMENT = re.compile(rb"(?m)^[ \t]*%" + _LINE_END)
_UNLIKE_CSV = (b"\\", b"\t", b" ,", b", ", b"\n ", b" \n", b" \r")

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"(?i)@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.+)")
_VALUE = re.compile(rf"\s*({_QUOTED}|[^,]*?)\s*,")

logger = logging.getLogger(__name__)


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
            return Parsed(pa.schema(list(types.items())).empty_table(), {})
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
        return parsed.with_columns(columns).cast_texts(types)

    def read(self, piece: bytes, types: Types | None) -> Parsed:
        """A piece as pyarrow reads it; rows of another width are bad."""
        bad: dict[int, str] = {}
        size = max(len(piece) + 1, 1024)

        def on_other_width(row: pacsv.InvalidRow) -> str:
            reason = f"{row.actual_columns} values where {row.expected_columns} are expected"
            bad[row.number or 0] = reason
            return "skip"

        table = pacsv.read_csv(
            pa.BufferReader(piece),
            pacsv.ReadOptions(use_threads=False, column_names=list(self.names), block_size=size),
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
        return Parsed(table, bad)

    def _without_spaces(self, parsed: Parsed) -> Parsed:
        """Texts without surrounding spaces."""
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
        is_same = trimmed.equals(texts)
        return texts if is_same else tables.without_marks(trimmed, self.missing_values)


class DelimitedReader(TableReader):
    """A CSV file. Its header, delimiter and types are inferred from its first rows."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        head, name = content.text_head(), content.name
        mark = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0
        try:
            delimiter = options.delimiter or _delimiter(_lines(head[mark:], LINES_FOR_DELIMITER))
            lines = _lines(_whole_rows(head[mark:], delimiter))
            rows, ends = _first_rows(lines, delimiter, options.inspect_rows + 1)
        except csv.Error as error:
            raise DataError(
                f"the first rows of {name} are no CSV: {error}; is there a quote that is never "
                "closed?"
            ) from None
        if not rows:
            raise DataError(f"{name} has no rows")
        has_header = _has_header(rows, options) if options.header is None else options.header
        if has_header and len(rows) == 1:
            raise DataError(f"{name} has names but no rows; header=False if its row holds values")
        n_lines, last = ends[0] if has_header else 0, ends[has_header:][: options.inspect_rows][-1]
        names = _names(rows[0], has_header, options.names)
        columns = _columns(rows[has_header:], len(names), options)
        point = "." if delimiter == "," else _decimal_point(columns)
        _warn_of_odd_numbers(dict(zip(names, columns, strict=True)), point, options, name)
        self._last_end = functools.partial(last_quoted_end, delimiter=delimiter.encode())
        self._rows = DelimitedRows(names, options.missing_values, delimiter, point)
        self._start = mark + len("".join(lines[:n_lines]).encode())
        self.first_piece = "".join(lines[n_lines:last]).encode()
        self.first = self._rows.read(self.first_piece, None).table
        self.columns = tables.columns_of(self.first)

    def pieces(self) -> Iterator[bytes]:
        return row_pieces(self._content, self._last_end, self._start)

    def parse(self, piece: bytes, types: Types) -> Parsed:
        return self._rows.parse(piece, types)


def _lines(text: bytes, most: int | None = None) -> list[str]:
    return list(itertools.islice(io.StringIO(text.decode(), newline=""), most))


def _whole_rows(text: bytes, delimiter: str) -> bytes:
    """Lines without an incomplete last row."""
    if not text.endswith((b"\n", b"\r")):
        return text
    whole = text[: last_quoted_end(text, delimiter.encode())]
    return whole if whole.count(b"\n") > 1 else text


def _first_rows(lines: list[str], delimiter: str, most: int) -> tuple[list[list[str]], list[int]]:
    """Rows that are not empty, and the number of lines up to the end of each."""
    reader = csv.reader(lines, delimiter=delimiter)
    found = [(row, reader.line_num) for row in itertools.islice(filter(None, reader), most)]
    return [row for row, _ in found], [end for _, end in found]


def _delimiter(lines: list[str]) -> str:
    """The character that splits the first lines into equally many values, as many as possible."""
    best, most, last_row = ",", 1, [""]
    for delimiter in DELIMITERS:
        has_comma_numbers = all(_is_comma_number(value.strip()) for value in last_row)
        if most > 1 and (delimiter == " " or (delimiter == "," and has_comma_numbers)):
            break
        rows, _ = _first_rows(lines, delimiter, LINES_FOR_DELIMITER)
        widths = [len(row) for row in rows]
        usual = max(set(widths), key=widths.count) if widths else 1
        enough = min(USUAL_SHARE * len(widths), len(widths) - 1)  # one bad row among a few
        if widths[:1] != [usual] or widths.count(usual) < max(enough, 2 if len(widths) > 1 else 1):
            continue
        if usual > most:
            best, most, last_row = delimiter, usual, rows[-1]
    return best


def _has_header(rows: Sequence[Sequence[str]], options: ReadOptions) -> bool:
    """Whether the first row is a header, judged by the rows below it.

    Names stand above numbers, and numbers do not, unless they count the columns. In a file of texts
    alone, names do not come again.
    """
    first = [value.strip() for value in rows[0]]
    columns = list(zip(first, _columns(rows[1:], len(first), options), strict=True))
    above = [name for name, values in columns if values and all(map(_is_number, values))]
    numbers = [float(name) for name in above if _is_number(name)]
    n_names = sum(not _is_number(name) and name not in options.missing_values for name in above)
    if n_names and numbers:
        return len(numbers) > 1 and all(b == a + 1.0 for a, b in itertools.pairwise(numbers))
    if n_names or numbers:
        return n_names > 0
    return not any(map(_is_number, first)) and not any(name in values for name, values in columns)


def _columns(rows: Sequence[Sequence[str]], width: int, options: ReadOptions) -> list[list[str]]:
    """The values of each column that are not missing, in rows of the usual width."""
    fitting = [[value.strip() for value in row] for row in rows if len(row) == width]
    columns = zip(*fitting, strict=True) if fitting else [()] * width
    missing = set(options.missing_values)
    return [[value for value in column if value not in missing] for column in columns]


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _is_comma_number(value: str) -> bool:
    return COMMA_NUMBER.fullmatch(value) is not None


def _names(first: Sequence[str], has_header: bool, given: Sequence[str] | None) -> Sequence[str]:
    """Names of the columns: as given, from the file, or numbered."""
    if given is not None:
        if len(given) != len(first):
            raise DataError(f"there are {len(given)} names for {len(first)} columns")
        return given
    texts = first if has_header else [""] * len(first)
    return [value.strip() or f"x{place}" for place, value in enumerate(texts, start=1)]


def _decimal_point(columns: Iterable[Sequence[str]]) -> str:
    """A comma, if some columns are numbers only with it."""
    for values in columns:
        n_numbers = sum(map(_is_comma_number, values))
        if any("," in value for value in values) and n_numbers >= MOSTLY * len(values):
            return ","
    return "."


def _warn_of_odd_numbers(
    columns: Mapping[str, Sequence[str]], point: str, options: ReadOptions, file: str
) -> None:
    """Log columns of texts that are numbers except for a few values."""
    is_number = _is_number if point == "." else _is_comma_number
    named = {*options.categorical, *options.category_values, *options.numeric, *options.ignore}
    for name, values in columns.items():
        odd = [value for value in values if not is_number(value)]
        if 0 < len(odd) <= (1.0 - MOSTLY) * len(values) and name not in named:
            logger.warning(
                "%s: column %r is read as categories, for not all its values are numbers, as %r; "
                "see the options numeric and missing_values",
                *(file, name, odd[0]),
            )


# ---- ARFF


class ArffReader(TableReader):
    """An ARFF file. Its last column is the label unless another is called so."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        head = content.text_head()
        data = _DATA.search(head)
        if data is None:
            raise DataError(f"{content.name} has no @data line in its first lines")
        self.columns = _arff_columns(head[: data.start()], content.name)
        self._start = data.end()
        lines = _COMMENT.sub(b"", head[data.end() :]).splitlines(keepends=True)
        self.first_piece = b"".join(lines[: options.inspect_rows])
        if not self.first_piece.strip():
            raise DataError(f"{content.name} has no rows")
        if self.first_piece.lstrip().startswith(b"{"):
            raise DataError(f"{content.name} has sparse rows, which are not read; write all values")
        self._rows = DelimitedRows(
            [column.name for column in self.columns],
            tuple(dict.fromkeys((*options.missing_values, "?"))),
        )
        types = {each.name: each.data_type for each in self.columns if each.data_type is not None}
        self.first = self.parse(self.first_piece, types).table

    def pieces(self) -> Iterator[bytes]:
        return row_pieces(self._content, n_skipped=self._start)

    def parse(self, piece: bytes, types: Types) -> Parsed:
        """The rows of a piece: fast if they are like CSV with one kind of quotes."""
        if b"%" in piece:
            piece = _COMMENT.sub(b"", piece)
        quotes = [quote for quote in "'\"" if quote.encode() in piece]
        if len(quotes) == 1 and not any(mark in piece for mark in _UNLIKE_CSV):
            parsed = dataclasses.replace(self._rows, quote=quotes[0]).parse(piece, types)
            n_lines = piece.count(b"\n") + (not piece.endswith(b"\n"))
            if not parsed.bad and parsed.table.num_rows == n_lines:
                return parsed
        if quotes:
            out = io.StringIO()
            lines = filter(str.strip, piece.decode().splitlines())
            csv.writer(out, lineterminator="\n").writerows(map(_arff_values, lines))
            piece = out.getvalue().encode()
        return self._rows.parse(piece, types)


def _arff_values(line: str) -> list[str]:
    """The values of a line that has commas between them."""
    return [_unquoted(match[1]) for match in _VALUE.finditer(f"{line},")]


def _arff_columns(header: bytes, name: str) -> list[Column]:
    columns = []
    for line in map(str.strip, header.removeprefix(BYTE_ORDER_MARK).decode().splitlines()):
        if line.lower().startswith("@attribute"):
            match = _ATTRIBUTE.fullmatch(line)
            if match is None:
                raise DataError(f"{name}: this line of the header is not understood: {line[:80]}")
            columns.append(_arff_column(_unquoted(match[1]), match[2], name))
    if not columns:
        raise DataError(f"{name} has no @attribute lines")
    if len({column.name for column in columns}) < len(columns):
        raise DataError(f"{name} has two attributes of the same name")
    return columns


def _arff_column(name: str, text: str, file: str) -> Column:
    if text.startswith("{") and text.endswith("}"):
        return Column(name, tables.TEXT, values=tuple(dict.fromkeys(_arff_values(text[1:-1]))))
    types = dict.fromkeys(("numeric", "real", "integer"), tables.NUMBER)
    types |= {"string": tables.TEXT, "date": tables.TIME}
    for word, data_type in types.items():
        if text.lower().startswith(word):
            return Column(name, data_type)
    raise DataError(f"{file}: attribute {name!r} is of type {text}, which is not read here")


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
