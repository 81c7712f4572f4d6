"""ARFF, the format of Weka and MOA: a header with types, then rows like CSV, dense or sparse."""

import csv
import dataclasses
import io
import re
from collections.abc import Iterator

from devfnn.errors import DataError
from devfnn.streams.files.content import BYTE_ORDER_MARK, Content, check_utf8
from devfnn.streams.files.delimited import DelimitedRows
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.splitting import row_pieces
from devfnn.streams.files.tables import NUMBER, TEXT, TIME, Column, Parsed, TableReader, Types

_LINE_END = rb"[^\r\n]*(?:\r\n|\n|\r|\Z)"
_DATA = re.compile(rb"(?im)^[ \t]*@data\b" + _LINE_END)
_COMMENT = re.compile(rb"(?m)^[ \t]*%" + _LINE_END)
_UNLIKE_CSV = (b"{", b"\\", b"\t", b" ,", b", ", b"\n ", b" \n", b" \r")

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"(?i)@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.+)")
_VALUE = re.compile(rf"\s*({_QUOTED}|[^,]*?)\s*(?:,|$)")
_PAIR = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^,]*?)\s*(?:,|$)")
_ISO_DATE = re.compile(r"yyyy-MM-dd('T'|T| )?(HH:mm(:ss(\.S+)?)?)?")

_NUMERIC = ("numeric", "real", "integer")


class ArffReader(TableReader):
    """An ARFF file. Its last column is the label unless another is called so."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        head = content.text_head()
        data = _DATA.search(head)
        if data is None:
            raise DataError(f"{content.name} has no @data line in its first lines")
        self.columns = _columns(head[: data.start()], content.name)
        names = [column.name for column in self.columns]
        missing = tuple(dict.fromkeys((*options.missing_values, "?")))
        self._rows = DelimitedRows(names, missing)
        self._usual = [column.values[0] if column.values else "0" for column in self.columns]
        self._start = data.end()
        lines = _COMMENT.sub(b"", head[data.end() :]).splitlines(keepends=True)
        self.first_piece = b"".join(lines[: options.inspect_rows])
        if not self.first_piece.strip():
            raise DataError(f"{content.name} has no rows")
        types = {each.name: each.data_type for each in self.columns if each.data_type is not None}
        self.first = self.parse(self.first_piece, types).table

    def pieces(self) -> Iterator[bytes]:
        return row_pieces(self._content, n_skipped=self._start)

    def parse(self, piece: bytes, types: Types) -> Parsed:
        """The rows of a piece: fast if they are like CSV with one kind of quotes."""
        if b"%" in piece:
            piece = _COMMENT.sub(b"", piece)
        quotes = [quote for quote in "'\"" if quote.encode() in piece]
        if not quotes and b"{" not in piece:
            return self._rows.parse(piece, types)
        if len(quotes) == 1 and not any(mark in piece for mark in _UNLIKE_CSV):
            parsed = dataclasses.replace(self._rows, quote=quotes[0]).parse(piece, types)
            n_lines = piece.count(b"\n") + (not piece.endswith(b"\n"))
            if not parsed.bad and parsed.table.num_rows == n_lines:
                return parsed
        return self._rows.parse(self._rewritten(piece), types)

    def _rewritten(self, piece: bytes) -> bytes:
        """Rows with quoted values, and sparse ones, `{2 5.1, 4 yes}`, as plain CSV."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        for line in piece.splitlines():
            row = line.decode(errors="surrogateescape").strip()
            if row.startswith("{") and row.endswith("}"):
                writer.writerow(self._dense(row[1:-1].strip()))
            elif row:
                writer.writerow(_values(row))
        return out.getvalue().encode(errors="surrogateescape")

    def _dense(self, pairs: str) -> list[str]:
        """The values of a sparse row; too many of them if it is not understood."""
        row = list(self._usual)
        for match in _matches(_PAIR, pairs) if pairs else ():
            if match is None or int(match[1]) >= len(row):
                return [*row, pairs]
            row[int(match[1])] = _unquoted(match[2])
        return row


def _matches(pattern: re.Pattern[str], line: str) -> Iterator[re.Match[str] | None]:
    """What a line consists of, up to its end or None for what does not match."""
    place = 0
    while True:
        match = pattern.match(line, place)
        yield match
        if match is None or not match[0].endswith(","):
            return
        place = match.end()


def _values(line: str) -> list[str]:
    """The values of a line that has commas between them."""
    return [_unquoted(match[1]) for match in _matches(_VALUE, line) if match is not None]


def _columns(header: bytes, name: str) -> list[Column]:
    check_utf8(header, name)
    columns = []
    for line in map(str.strip, header.removeprefix(BYTE_ORDER_MARK).decode().splitlines()):
        if line.lower().startswith("@attribute"):
            match = _ATTRIBUTE.fullmatch(line)
            if match is None:
                raise DataError(f"{name}: this line of the header is not understood: {line[:80]}")
            columns.append(_column(_unquoted(match[1]), match[2], name))
    if not columns:
        raise DataError(f"{name} has no @attribute lines")
    if len({column.name for column in columns}) < len(columns):
        raise DataError(f"{name} has two attributes of the same name")
    return columns


def _column(name: str, text: str, file: str) -> Column:
    lower = text.lower()
    if text.startswith("{") and text.endswith("}"):
        values = tuple(dict.fromkeys(_values(text[1:-1].strip())))
        return Column(name, TEXT, values=values)
    if lower.startswith(_NUMERIC):
        return Column(name, NUMBER)
    if lower.startswith("string"):
        return Column(name, TEXT)
    if lower.startswith("date"):
        pattern = _unquoted(text[len("date") :].strip())
        is_known = not pattern or _ISO_DATE.fullmatch(pattern) is not None
        return Column(name, TIME if is_known else None)
    raise DataError(f"{file}: attribute {name!r} is of type {text}, which is not read here")


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
