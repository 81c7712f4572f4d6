"""ARFF, the format of Weka and MOA: a header with types, then rows like CSV."""

import csv
import dataclasses
import io
import re
from collections.abc import Iterator

from devfnn.errors import DataError
from devfnn.streams.files.content import BYTE_ORDER_MARK, Content
from devfnn.streams.files.delimited import DelimitedRows
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.splitting import row_pieces
from devfnn.streams.files.tables import NUMBER, TEXT, TIME, Column, Parsed, TableReader, Types

_LINE_END = rb"[^\r\n]*(?:\r\n|\n|\r|\Z)"
_DATA = re.compile(rb"(?im)^[ \t]*@data\b" + _LINE_END)
_COMMENT = re.compile(rb"(?m)^[ \t]*%" + _LINE_END)
_UNLIKE_CSV = (b"\\", b"\t", b" ,", b", ", b"\n ", b" \n", b" \r")

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"(?i)@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.+)")
_VALUE = re.compile(rf"\s*({_QUOTED}|[^,]*?)\s*,")


class ArffReader(TableReader):
    """An ARFF file. Its last column is the label unless another is called so."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        head = content.text_head()
        data = _DATA.search(head)
        if data is None:
            raise DataError(f"{content.name} has no @data line in its first lines")
        self.columns = _columns(head[: data.start()], content.name)
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
            csv.writer(out, lineterminator="\n").writerows(map(_values, lines))
            piece = out.getvalue().encode()
        return self._rows.parse(piece, types)


def _values(line: str) -> list[str]:
    """The values of a line that has commas between them."""
    return [_unquoted(match[1]) for match in _VALUE.finditer(f"{line},")]


def _columns(header: bytes, name: str) -> list[Column]:
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
    if text.startswith("{") and text.endswith("}"):
        return Column(name, TEXT, values=tuple(dict.fromkeys(_values(text[1:-1]))))
    types = {"numeric": NUMBER, "real": NUMBER, "integer": NUMBER, "string": TEXT, "date": TIME}
    for word, data_type in types.items():
        if text.lower().startswith(word):
            return Column(name, data_type)
    raise DataError(f"{file}: attribute {name!r} is of type {text}, which is not read here")


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
