"""Rows that are in memory already, as a stream."""

import functools
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from devfnn.errors import InputError
from devfnn.streams.stream import Stream
from devfnn.types import Chunk


def from_arrays(
    X: Any,
    y: Any,
    *,
    feature_names: Sequence[str] | None = None,
    times: Any = None,
    chunk_rows: int = 500,
) -> Stream:
    """Arrays, or a table with named columns, as a stream.

    Parameters
    ----------
    X
        Numbers, (n_rows, n_features): an array, or a data frame, whose column names are used.
    y
        Labels, (n_rows,); None for a label nobody knows.
    feature_names
        Names of the columns; x1, x2, ... if there are none.
    times
        When each row came, (n_rows,): dates or numbers.
    chunk_rows
        Rows in a chunk.

    Examples
    --------
    >>> stream = from_arrays([[1.0, 2.0], [3.0, 4.0]], ["low", "high"])
    >>> stream.feature_names, stream.classes, stream.n_rows
    (('x1', 'x2'), ('low', 'high'), 2)
    """
    rows = _numbers(X)
    labels = _labels(y)
    known_times = None if times is None else np.asarray(times)
    for name, array in (("y", labels), ("times", known_times)):
        if array is not None and array.shape != (len(rows),):
            raise InputError(f"{name} must have one value for each of {len(rows)} rows of X")
    chunk = Chunk(rows, labels, known_times)
    chunk = chunk if chunk.is_known().all() else chunk._replace(labelled=chunk.is_known())
    return Stream(
        feature_names=_names(X, rows.shape[1], feature_names),
        classes=_classes(chunk),
        blocks=functools.partial(iter, (chunk,)),
        n_rows=len(rows),
        chunk_rows=chunk_rows,
    )


def _numbers(X: Any) -> Any:
    try:
        rows = np.ascontiguousarray(X, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X must hold numbers: {error}") from None
    if rows.ndim != 2:
        raise InputError(f"X must be a matrix (rows x features), not of shape {rows.shape}")
    return rows


def _labels(y: Any) -> Any:
    """Labels as an array; numbers and truth values as such, all else as objects."""
    array = np.asarray(y)
    if array.dtype.kind in "iub":
        return array
    labels = np.empty(len(y), object)
    labels[:] = list(y)
    return labels


def _names(X: Any, n_features: int, given: Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        columns = getattr(X, "columns", None)
        given = [f"x{place}" for place in range(1, n_features + 1)] if columns is None else columns
    names = tuple(map(str, given))
    if len(names) != n_features or len(set(names)) < n_features:
        raise InputError(f"feature_names must be {n_features} different names, not {names!r}")
    return names


def _classes(chunk: Chunk) -> tuple[Hashable, ...]:
    """Labels that occur, as they appear."""
    return tuple(label for label in dict.fromkeys(chunk.y.tolist()) if label is not None)
