"""Streams can be sent to other processes, and give the same rows there."""

import itertools
import pickle

import numpy as np
import pytest

from devfnn.streams import concatenate, dataset, from_arrays, read, sea
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.transforms import joined


def assert_survives(stream):
    back = pickle.loads(pickle.dumps(stream))
    here, there = joined(list(stream)), joined(list(back))
    np.testing.assert_array_equal(here.X, there.X)
    np.testing.assert_array_equal(here.y, there.y)
    drifts, expected = (itertools.islice(each.drift_positions, 9) for each in (back, stream))
    assert list(drifts) == list(expected)


@pytest.mark.parametrize("name", GENERATORS)
def test_generated_streams_can_be_pickled(name):
    assert_survives(GENERATORS[name].make(600, rows_per_concept=200, chunk_rows=70))


def test_transformed_streams_can_be_pickled():
    stream = sea(900).skip(10).shuffle(50).select(["f2", "f1"]).relabel({0: "no", 1: "yes"})
    stream = stream.hide_labels(0.5).repeat(2).delay_labels(rows=30).rename({"f1": "g"}).take(999)
    assert_survives(stream.drop(["f2"]))


def test_concatenated_streams_can_be_pickled():
    assert_survives(concatenate([sea(90), sea(80, seed=1)]))
    assert_survives(concatenate([sea(), sea(seed=1)], positions=[50], width=20).take(200))


def test_arrays_and_files_can_be_pickled(tmp_path):
    assert_survives(from_arrays(np.eye(3), ["a", "b", "a"]))
    file = tmp_path / "rows.csv"
    file.write_text("a,b,c\n1,x,0\n2,y,1\n3,x,0\n")
    assert_survives(read(file))


def test_data_sets_can_be_pickled(data_dir):
    if not (data_dir / "weather.npz").is_file():
        pytest.skip("needs weather.npz in the folder that DEVFNN_DATA names")
    assert_survives(dataset("weather", data_dir=data_dir))
