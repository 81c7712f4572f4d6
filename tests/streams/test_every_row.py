"""Every row of every data set arrives exactly once and in order, whatever the chunk size."""

import functools
import pathlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devfnn.streams import dataset
from devfnn.streams.datasets.catalogue import DATA_SETS

MOST_CHUNKS = 2_000
"""Chunks of a single row would take minutes where there are half a million rows."""


@functools.cache
def arrays_of(file: pathlib.Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(file, allow_pickle=False) as arrays:
        return arrays["X"], arrays["y"]


@pytest.mark.parametrize("name", DATA_SETS)
@given(data=st.data())
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_row_arrives_once_and_in_order(data_dir, name, data):
    file = data_dir / f"{name}.npz"
    if not file.is_file():
        pytest.skip(f"needs {file.name} in the folder that DEVFNN_DATA names")
    X, y = arrays_of(file)
    chunk_rows = data.draw(st.integers(1 + len(y) // MOST_CHUNKS, len(y) + 1), "chunk_rows")
    stream = dataset(name, data_dir=data_dir, categories="codes", chunk_rows=chunk_rows)
    assert stream.n_rows == len(y)
    start = 0
    for chunk in stream:
        stop = min(start + chunk_rows, len(y))
        assert len(chunk.y) == stop - start
        np.testing.assert_array_equal(chunk.X, X[start:stop])
        np.testing.assert_array_equal(chunk.y, y[start:stop])
        start = stop
    assert start == len(y)
