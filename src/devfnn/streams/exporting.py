"""A stream as a Parquet file: the features, the label and the time as columns, by name."""

import itertools
import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from devfnn.errors import InputError
from devfnn.streams.drift import positions_before
from devfnn.streams.files.content import new_file
from devfnn.streams.stream import Stream
from devfnn.streams.transforms import cut_by_rows
from devfnn.types import Chunk

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
    """Write a stream that ends to a Parquet file, which is replaced at once or not at all.

    Labels that may not be learned are left empty, delays are left out. Memory is bounded.
    `progress` is called now and then with the rows written so far. Returns the rows written.
    """
    import pyarrow.parquet as pq

    from devfnn.streams.files.tables import METADATA_KEY, Metadata

    if stream.is_endless:
        raise InputError("the stream has no end: take(n_rows) of it first")
    if label in stream.feature_names:
        raise InputError(f"a feature is called {label!r}: give the label another name")
    path = pathlib.Path(file)
    if not path.parent.is_dir():
        raise InputError(f"the folder of {str(path)!r} does not exist")
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe would be lost
        raise InputError(f"{str(path)!r} is no file, so it cannot be replaced by one")
    n_rows = 0
    chunks = cut_by_rows(stream.blocks(), GROUP_ROWS)
    first = next(chunks, Chunk(np.empty((0, len(stream.feature_names))), np.empty(0, np.int64)))
    schema = _table(stream, first, label, None).schema
    with new_file(path) as draft, pq.ParquetWriter(draft, schema) as writer:
        for chunk in itertools.chain([first], chunks):
            writer.write_table(_table(stream, chunk, label, schema))
            n_rows += len(chunk.y)
            if progress is not None:
                progress(n_rows)
        metadata = Metadata(
            labels=(label,),
            time=None if first.times is None else TIME_COLUMN,
            classes=stream.classes,
            class_names=stream.class_names,
            drift_positions=positions_before(stream.drift_positions, n_rows),
        )
        writer.add_key_value_metadata({METADATA_KEY: metadata.to_bytes()})
    return n_rows


def _table(stream: Stream, chunk: Chunk, label: str, schema: Any) -> Any:
    """Rows as an arrow table; labels of the type that those before them had."""
    import pyarrow as pa

    columns: dict[str, Any] = dict(zip(stream.feature_names, chunk.X.T.copy(), strict=True))
    if chunk.times is not None:
        if TIME_COLUMN in columns or label == TIME_COLUMN:
            raise InputError(f"a column is called {TIME_COLUMN!r}: rename it first")
        columns[TIME_COLUMN] = chunk.times
    hidden = None if chunk.labelled is None else ~chunk.labelled
    values = chunk.y.tolist() if chunk.y.dtype == object else chunk.y
    try:
        label_type = None if schema is None else schema.field(label).type
        columns[label] = pa.array(values, label_type, mask=hidden)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(f"labels of these types cannot be one column: {error}") from None
    return pa.table(columns)
