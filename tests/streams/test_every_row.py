"""Every row of every data set arrives exactly once and in order, whatever the chunk size."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devfnn.streams import dataset
from devfnn.streams.datasets.catalogue import DATA_SETS

MOST_CHUNKS = 2_000
"""Chunks of a single row would take minutes where there are half a million rows."""


@pytest.mark.parametrize("name", DATA_SETS)
@given(data=st.data())
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_row_arrives_once_and_in_order(data_dir, arrays_of, name, data):
    X, y = arrays_of(name)["X"], arrays_of(name)["y"]
    chunk_rows = data.draw(st.integers(1 + len(y) // MOST_CHUNKS, len(y) + 1), "chunk_rows")
    stream = dataset(
        name, data_dir=data_dir, download=False, categories="codes", chunk_rows=chunk_rows
    )
    said = DATA_SETS[name]
    assert stream.n_rows == said.n_rows == len(y)
    assert stream.feature_names == said.feature_names
    assert stream.class_names == said.class_names
    assert stream.drift_positions == said.drift_positions
    start = 0
    for chunk in stream:
        stop = min(start + chunk_rows, len(y))
        assert len(chunk.y) == stop - start
        assert np.array_equal(chunk.X, X[start:stop])
        assert np.array_equal(chunk.y, y[start:stop])
        start = stop
    assert start == len(y)
