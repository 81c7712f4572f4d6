"""Any file as a stream: which format it has, what its columns are, then chunk by chunk."""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from devfnn.errors import DataError
from devfnn.streams.files.content import Content, format_of, reading
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.splitting import N_THREADS, worked_on
from devfnn.streams.stream import BadRow, BadRows, Stream
from devfnn.types import Chunk

if TYPE_CHECKING:
    from devfnn.streams.files.conversion import ConvertedRows
    from devfnn.streams.files.tables import TableReader


def read(file: str | os.PathLike[str] | BinaryIO, **options: Any) -> Stream:
    """A file or a pipe as a stream, lazily and in bounded memory; only NPZ is loaded as a whole.

    The first rows are looked at when this is called; the rest is read when it is asked for.

    The file is a path; "-" for standard input; or an open binary file. It is CSV (any delimiter,
    header or not), ARFF, JSON lines, Parquet, Arrow IPC or NPZ; gzip, bzip2, xz or zstd around it.
    `ReadOptions` has the options: the label's column, categories, timestamps, missing values, bad
    rows.

    >>> import io
    >>> rows = io.BytesIO(b"temperature,sky,rain\\n12.5,grey,yes\\n21.0,blue,no\\n")
    >>> stream = read(rows, label="rain", categories="codes")
    >>> stream.feature_names, stream.classes
    (('temperature', 'sky'), ('yes', 'no'))
    >>> next(iter(stream)).X.tolist()
    [[12.5, 0.0], [21.0, 1.0]]
    """
    checked = ReadOptions(**options)
    return _FileSource(Content(file, checked.encoding), checked).stream(checked.chunk_rows)


class _FileSource:
    """A file whose columns are understood."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        from devfnn.streams.files.conversion import Converter
        from devfnn.streams.files.tables import LabelColumn, Layout

        self.content = content
        with _arrow_errors(content.name):
            self.reader = _reader(content, options)
        self.metadata = self.reader.metadata
        if options.time is None and self.metadata.time is not None:
            options = dataclasses.replace(options, time=self.metadata.time)
        self.layout = Layout.of(self.reader.columns, options, self.metadata.labels)
        self.label = LabelColumn.of(self.layout, self.reader.first, options, self.metadata)
        self.types = self.layout.types(self.label)
        # Read as the rest will be: texts of numbers, for instance, are only known from the file.
        with _arrow_errors(content.name):
            self.first = self.reader.parse(self.reader.first_piece, self.types).table
        self.converter = Converter(self.layout, self.label, self.first, options)
        self.bad_rows = BadRows(options.on_bad_row)

    def stream(self, chunk_rows: int) -> Stream:
        """The file as a stream."""
        classes, is_open = self._classes()
        return Stream(
            feature_names=self.converter.feature_names,
            classes=classes,
            is_open_to_classes=is_open,
            blocks=self.blocks,
            n_rows=self.reader.n_rows if self.bad_rows.policy == "error" else None,
            class_names=self.metadata.class_names,
            drift_positions=self.metadata.drift_positions,
            bad_rows=self.bad_rows,
            chunk_rows=chunk_rows,
        )

    def _classes(self) -> tuple[tuple[Any, ...], bool]:
        """Labels that the file declares, else those that are looked at now, as they appear.

        Also whether there may be others.
        """
        declared = self.metadata.classes or tuple(range(len(self.metadata.class_names)))
        if declared or self.label is None or self.layout.label is None:
            return declared, False
        if self.layout.label.values is not None:
            return self.layout.label.values, False
        name, rows, is_open = self.label.name, self.first, not self.content.is_pipe
        if (everything := self.reader.all_of(name)) is not None:
            rows = self.reader.parse(everything, {name: self.types[name]}).table
            is_open = False
        labels, _, misfits = self.label.array(rows.column(name).combine_chunks().unique())
        labels = np.delete(labels, misfits)
        found = tuple(label for label in dict.fromkeys(labels.tolist()) if label is not None)
        return found, is_open

    def blocks(self) -> Iterator[Chunk]:
        """One pass over the file."""
        name = self.content.name
        encode = self.converter.encoding()

        def pieces() -> Iterator[Any]:
            with _arrow_errors(name):
                yield from self.reader.pieces()

        def work(piece: Any) -> "ConvertedRows":
            with _arrow_errors(name):
                return self.converter.converted(self.reader.parse(piece, self.types))

        self.bad_rows.start()
        n_before = 0
        # Of a pipe nothing is asked for ahead: its rows shall come out as they come in.
        for rows in worked_on(pieces(), work, 0 if self.content.is_pipe else N_THREADS):
            bad = [BadRow(n_before + row, reason) for row, reason in rows.bad]
            n_before += rows.n_rows
            if bad and self.bad_rows.policy == "error":
                # Rows before the bad one come first, however the file is cut.
                rows = rows.first_rows(rows.bad[0].row - 1)
            encode(rows)
            if len(rows.chunk.y):
                yield rows.chunk
            self.bad_rows.add(bad, name)
        self.bad_rows.finish(name)


@contextlib.contextmanager
def _arrow_errors(name: str) -> Iterator[None]:
    """Name the file in errors of Arrow."""
    import pyarrow as pa

    with reading(name):
        try:
            yield
        except MemoryError:
            raise DataError(f"{name} is damaged, or has a part too large for the memory") from None
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise DataError(f"{name} is damaged or not as it should be: {error}") from None


def _reader(content: Content, options: ReadOptions) -> "TableReader":
    """The reader of a file's format."""
    from devfnn.streams.files.columnar import ArrowReader, NpzReader, ParquetReader
    from devfnn.streams.files.delimited import ArffReader, DelimitedReader
    from devfnn.streams.files.jsonlines import JsonLinesReader

    readers: dict[str, Callable[[Content, ReadOptions], TableReader]] = {
        "csv": DelimitedReader,
        "arff": ArffReader,
        "jsonlines": JsonLinesReader,
        "parquet": ParquetReader,
        "arrow": ArrowReader,
        "npz": NpzReader,
    }
    found = options.format or format_of(content.head(), content.name, options.encoding)
    return readers[found](content, options)
