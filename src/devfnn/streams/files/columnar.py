"""Parquet and Arrow IPC: formats that carry their types and come in batches."""

import abc
import dataclasses
import io
import itertools
from collections.abc import Iterator
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq

from devfnn.errors import DataError
from devfnn.streams.files.content import Content
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.tables import Metadata, Parsed, TableReader, Types, columns_of, fitted

BATCH_ROWS = 16_384
"""Rows taken from a file at a time."""

BATCH_VALUES = 1 << 21
"""Values taken from a file at a time, at most."""


class ColumnarReader(TableReader):
    """What these formats have in common: types are known, so only what options change is cast."""

    _schema: pa.Schema | None = None

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        batches = self._batches()
        kept: list[pa.RecordBatch] = []
        for batch in batches:
            kept.append(batch)
            if sum(map(len, kept)) >= options.inspect_rows:
                break
        if not kept and self._schema is None:
            raise DataError(f"{content.name} has no rows")
        self.first = pa.Table.from_batches(kept, self._schema).slice(0, options.inspect_rows)
        self.first.validate(full=True)
        self.first_piece = self.first
        self.columns = columns_of(self.first)
        # What was looked at of a pipe cannot be read again.
        self._once = itertools.chain(kept, batches) if content.is_pipe else None

    @abc.abstractmethod
    def _batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the file, from the first, some at a time."""

    def pieces(self) -> Iterator[pa.RecordBatch]:
        if self._once is None:
            return self._batches()
        once, self._once = self._once, None
        return once

    def parse(self, piece: pa.RecordBatch | pa.Table, types: Types) -> Parsed:
        table = piece if isinstance(piece, pa.Table) else pa.Table.from_batches([piece])
        table = table.select(list(types))
        table.validate(full=True)  # what a file says about its own bytes may be wrong
        return fitted(Parsed(table, {}), types)


class ParquetReader(ColumnarReader):
    """A Parquet file."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        with pq.ParquetFile(content.settle()) as file:
            self.n_rows = file.metadata.num_rows
            self._schema = file.schema_arrow
            found = Metadata.of(file.metadata.metadata)
        if {*found.labels, found.time} - {None} <= set(self._schema.names):
            if options.label not in ("auto", *found.labels):
                found = dataclasses.replace(found, classes=(), class_names=())
            self.metadata = found
        super().__init__(content, options)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(self._content.settle()) as file:
            yield from file.iter_batches(batch_size=batch_rows(len(file.schema_arrow)))


class ArrowReader(ColumnarReader):
    """An Arrow IPC file or stream, Feather 2 too."""

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self._stored_batches():
            n_rows = batch_rows(batch.num_columns)
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)

    def _stored_batches(self) -> Iterator[pa.RecordBatch]:
        if self._content.head().startswith(b"ARROW1"):
            with pa.ipc.open_file(self._content.settle()) as file:
                yield from map(file.get_batch, range(file.num_record_batches))
        else:
            # A pipe may give fewer bytes than it is asked for, which Arrow takes for the end.
            with (
                io.BufferedReader(cast(io.RawIOBase, self._content.open())) as handle,
                pa.ipc.open_stream(handle) as batches,
            ):
                yield from batches


def batch_rows(n_columns: int) -> int:
    """Rows of a batch: fewer if there are many columns."""
    return max(1, min(BATCH_ROWS, BATCH_VALUES // max(1, n_columns)))
