"""A stream as a Parquet file: the features, the label and the time as columns, by name."""

import contextlib
import os
import pathlib
import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.errors import DataError, InputError
from devfnn.streams.files.notes import KEY, Note
from devfnn.streams.positions import positions_before
from devfnn.streams.stream import Stream
from devfnn.streams.transforms.rows import cut_by_rows
from devfnn.types import Chunk, Labels

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_ROWS = 65_536
"""Rows that are written at a time."""

TIME_COLUMN = "time"


def export_parquet(
    stream: Stream,
    file: str | os.PathLike[str],
    *,
    label: str = "class",
    progress: Callable[[int], object] | None = None,
) -> int:
    """Write a stream to a Parquet file, in bounded memory, at once or not at all.

    Labels that may not be learned are left empty, delays are left out.

    Parameters
    ----------
    stream
        One that ends.
    file
        Replaced if it is there.
    label
        Name of the label's column.
    progress
        Called now and then with the rows written so far.

    Returns
    -------
    Rows written.
    """
    if stream.is_endless:
        raise InputError("the stream has no end: take(n_rows) of it first")
    if label in stream.feature_names:
        raise InputError(f"a feature is called {label!r}: give the label another name")
    path = pathlib.Path(file)
    if not path.parent.is_dir():
        raise InputError(f"the folder of {str(path)!r} does not exist")
    with _replacing(path) as part:
        return _write(stream, part, label, progress)


def _write(
    stream: Stream, part: pathlib.Path, label: str, progress: Callable[[int], object] | None
) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_rows = 0
    writer: pq.ParquetWriter | None = None
    try:
        for chunk in cut_by_rows(stream.blocks(), GROUP_ROWS):
            schema = None if writer is None else writer.schema
            table = _table(stream, chunk, label, schema)
            if writer is None:
                writer = pq.ParquetWriter(part, table.schema)
            writer.write_table(table)
            n_rows += len(chunk.y)
            if progress is not None:
                progress(n_rows)
        if writer is None:
            columns = {name: pa.array([], pa.float64()) for name in stream.feature_names}
            empty = pa.table({**columns, label: pa.array([], pa.int64())})
            writer = pq.ParquetWriter(part, empty.schema)
        has_times = TIME_COLUMN in writer.schema.names and TIME_COLUMN not in stream.feature_names
        note = _note(stream, label, n_rows, has_times)
        writer.add_key_value_metadata({KEY: note.to_bytes()})
    finally:
        if writer is not None:
            writer.close()
    return n_rows


def _note(stream: Stream, label: str, n_rows: int, has_times: bool) -> Note:
    return Note(
        labels=(label,),
        time=TIME_COLUMN if has_times else None,
        classes=stream.classes,
        class_names=stream.class_names,
        drift_positions=positions_before(stream.drift_positions, n_rows),
    )


def _table(stream: Stream, chunk: Chunk, label: str, schema: "pa.Schema | None") -> "pa.Table":
    import pyarrow as pa

    columns: dict[str, Any] = {
        name: pa.array(np.ascontiguousarray(chunk.X[:, place]))
        for place, name in enumerate(stream.feature_names)
    }
    if chunk.times is not None:
        if TIME_COLUMN in columns or label == TIME_COLUMN:
            raise InputError(f"a column is called {TIME_COLUMN!r}: rename it first")
        columns[TIME_COLUMN] = pa.array(chunk.times)
    hidden = None if chunk.labelled is None else ~chunk.labelled
    label_type = None if schema is None else schema.field(label).type
    columns[label] = _label_column(chunk.y, hidden, label_type)
    return pa.table(columns)


def _label_column(y: Labels, hidden: Any, label_type: "pa.DataType | None") -> Any:
    import pyarrow as pa

    try:
        values = y.tolist() if y.dtype == object else y
        return pa.array(values, label_type, mask=hidden)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(f"labels of these types cannot be one column: {error}") from None


@contextlib.contextmanager
def _replacing(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A file beside the path that takes its place if all goes well, and else is removed."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)
