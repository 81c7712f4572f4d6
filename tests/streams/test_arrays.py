"""Arrays and tables as streams."""

import numpy as np
import pyarrow as pa
import pytest

from devfnn.errors import InputError
from devfnn.streams import from_arrays


class Frame:
    """A table as pandas and polars have them: named columns, and an array inside."""

    columns = ("a", "b")

    def __array__(self, dtype=None, copy=None):
        return np.array([[1, 2], [3, 4]], dtype)


def test_rows_and_labels_come_in_order():
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 3
    chunks = list(from_arrays(X, y, chunk_rows=4))
    assert [len(chunk.y) for chunk in chunks] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), X)
    np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), y)


def test_names_come_from_the_table_or_are_given():
    assert from_arrays(Frame(), [0, 1]).feature_names == ("a", "b")
    assert from_arrays(Frame(), [0, 1], feature_names=["c", "d"]).feature_names == ("c", "d")


@pytest.mark.parametrize("labels", [[1, 2, 1], ["b", "a", "b"], [True, False, True], [0.5, 1, 0.5]])
def test_labels_of_any_type_stay_what_they_are(labels):
    stream = from_arrays(np.zeros((3, 1)), labels)
    assert next(iter(stream)).y.tolist() == labels
    assert stream.classes == tuple(dict.fromkeys(labels))


def test_columns_of_other_libraries_are_labels_too():
    assert from_arrays(np.zeros((2, 1)), pa.array([3, 4])).classes == (3, 4)


def test_unknown_labels_are_not_learned():
    stream = from_arrays(np.zeros((3, 1)), ["a", None, "b"])
    assert stream.classes == ("a", "b")
    assert [lesson.y.tolist() for lesson in next(iter(stream)).lessons()] == [["a", "b"]]


def test_times_allow_chunks_by_time():
    stream = from_arrays(np.zeros((4, 1)), [0, 1, 0, 1], times=[0.0, 1.0, 10.0, 11.0])
    assert [len(chunk.y) for chunk in stream.chunks(every=5.0)] == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [1.0, 2.0]}, "X must be a matrix"),
        ({"X": [["a"], ["b"]]}, "X must hold numbers"),
        ({"y": [1]}, "y must have one value for each of 2 rows"),
        ({"times": [1.0]}, "times must have one value for each of 2 rows"),
        ({"feature_names": ["a", "b"]}, "feature_names must be 1 different names"),
        ({"chunk_rows": 0}, "chunk_rows must be"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        from_arrays(**({"X": [[1.0], [2.0]], "y": [0, 1]} | arguments))
