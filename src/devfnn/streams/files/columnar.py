"""Parquet, Arrow IPC and NPZ: formats that carry their types and come in batches.

NPZ is loaded as a whole: a matrix X and labels y. Further arrays say more: `feature_names`,
`class_names`, and `categories_json`, the values of columns of X that are codes, by name.
"""

import abc
import dataclasses
import functools
import io
import itertools
import json
import zipfile
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from devfnn.errors import DataError
from devfnn.streams.arguments import MOST_FEATURES
from devfnn.streams.files.content import Content
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.tables import TEXT, Metadata, Parsed, TableReader, Types, columns_of

BATCH_ROWS = 16_384
"""Rows taken from a file at a time."""

BATCH_VALUES = 1 << 21
"""Values taken from a file at a time, at most."""

MOST_BYTES = 1 << 32
"""Bytes that the arrays of an NPZ file may have in memory."""


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
        return Parsed(table, {}).fitted(types)


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


class NpzReader(ColumnarReader):
    """An archive with X (n_rows, n_features) and, unless there are no labels, y (n_rows,)."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        X, y = self._arrays.get("X"), self._arrays.get("y")
        if X is None or X.ndim != 2 or X.dtype.kind not in "biuf" or X.shape[1] > MOST_FEATURES:
            raise DataError(
                f"{content.name} has no array 'X' with the features: a matrix of numbers, with "
                f"{MOST_FEATURES:,} columns at most"
            )
        self.n_rows = len(X)
        self._labels = ["y"] if y is not None and y.shape == (len(X),) else []
        if not self._labels and options.label == "auto":
            raise DataError(
                f"{content.name} has no array 'y' with a label for each row of 'X'; label=None if "
                "there are no labels"
            )
        self._names = [f"x{place}" for place in range(1, X.shape[1] + 1)]
        if "feature_names" in self._arrays:
            self._names = self._texts("feature_names")
        if len(self._names) != X.shape[1] or len({*self._names, "y"}) <= len(self._names):
            raise DataError(
                f"{content.name}: feature_names must be {X.shape[1]} different names, and not 'y'"
            )
        self._categories = self._read_categories()
        is_named = options.label in ("auto", "y") and y is not None and y.dtype.kind in "iuf"
        class_names = self._texts("class_names") if is_named else ()
        self.metadata = Metadata(tuple(self._labels), class_names=tuple(class_names))
        super().__init__(content, options)
        self.columns = [
            dataclasses.replace(each, data_type=TEXT, values=self._categories[each.name])
            if each.name in self._categories
            else each
            for each in self.columns
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Without the arrays, which another process loads by itself."""
        return {name: value for name, value in vars(self).items() if name != "_arrays"}

    @functools.cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays, in the byte order of the machine."""
        path, arrays = self._content.settle(), {}
        try:
            with zipfile.ZipFile(path) as archive:
                members = [each for each in archive.infolist() if each.filename.endswith(".npy")]
                n_bytes = sum(member.file_size for member in members)
                if not members:
                    raise DataError("a zip archive without .npy arrays is no NPZ; unpack it first")
                if n_bytes > MOST_BYTES:
                    raise DataError(
                        f"the arrays have {n_bytes:,} bytes, more than the {MOST_BYTES:,} that are "
                        "loaded; write them as Parquet, which is read in pieces"
                    )
                for member in members:
                    with archive.open(member) as file:
                        array = np.lib.format.read_array(file, allow_pickle=False)
                    native = array.astype(array.dtype.newbyteorder("="), copy=False)
                    arrays[member.filename.removesuffix(".npy")] = native
        except Exception as error:  # NumPy reads headers as Python, so anything may be wrong
            raise DataError(f"{self._content.name} cannot be read as NPZ: {error}") from None
        return arrays

    def _texts(self, name: str) -> list[str]:
        return [str(text) for text in self._arrays.get(name, np.array([])).ravel()]

    def _read_categories(self) -> dict[str, tuple[str, ...]]:
        """Values of categories, by the names of their columns."""
        try:
            declared = json.loads(str(self._arrays.get("categories_json", "{}")))
            values = {str(name): tuple(map(str, each)) for name, each in declared.items()}
        except (ValueError, AttributeError, TypeError, RecursionError):
            raise DataError(f"{self._content.name}: categories_json is not understood") from None
        return {name: values[name] for name in self._names if name in values}

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Rows of the matrix and the labels, side by side."""
        names = [*self._names, *self._labels]
        step = batch_rows(len(names))
        for start in range(0, self.n_rows or 0, step):
            rows = slice(start, start + step)
            features = np.asfortranarray(self._arrays["X"][rows]).T
            columns = [*features, *(self._arrays[name][rows] for name in self._labels)]
            yield pa.record_batch(list(map(pa.array, columns)), names)

    def all_of(self, name: str) -> pa.RecordBatch | None:
        """The labels, which were loaded with everything else."""
        if name not in self._labels:
            return None
        return pa.record_batch([pa.array(self._arrays[name])], [name])

    def parse(self, piece: pa.RecordBatch | pa.Table, types: Types) -> Parsed:
        """The rows of a piece; a code that stands for nothing makes a bad row."""
        texts, bad = {}, {}
        for name, values in self._categories.items():
            if name in types and types[name] == TEXT:
                column = piece.column(name).to_numpy(zero_copy_only=False)
                is_code = (column >= 0) & (column < len(values)) & (np.floor(column) == column)
                for row in np.flatnonzero(~is_code & ~np.isnan(column)).tolist():
                    bad[row] = f"{column[row]} in column {name!r} is no code of categories_json"
                codes = pa.array(np.where(is_code, column, 0.0).astype(np.int32), mask=~is_code)
                texts[name] = pa.DictionaryArray.from_arrays(codes, pa.array(values, pa.string()))
        table = piece if isinstance(piece, pa.Table) else pa.Table.from_batches([piece])
        return Parsed(table, {}).with_columns(texts).without(bad).fitted(types)
