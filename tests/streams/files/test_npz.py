"""NPZ: what NumPy saved is loaded, with all that the archive says about it."""

import io
import json
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from devfnn.errors import DataError, InputError
from devfnn.streams import read
from devfnn.streams.files import columnar
from plain_files import cut_into, npz_bytes, whole

X = np.arange(60.0).reshape(20, 3)
Y = np.arange(20) % 3


def read_arrays(_options=None, **arrays):
    return read(io.BytesIO(npz_bytes(**arrays)), **(_options or {}))


@settings(max_examples=40)
@given(
    matrix=hnp.arrays(
        st.sampled_from(["<f8", ">f8", "<f4", "<i4", ">i8", "|u1", "|b1", "<u2"]),
        st.tuples(st.integers(1, 20), st.integers(1, 4)),
    ).filter(lambda each: not np.isinf(each.astype(float)).any()),
    is_fortran=st.booleans(),
    n_rows=st.integers(1, 25),
    chunk_rows=st.integers(1, 25),
)
def test_any_matrix_is_read_as_it_was_saved(matrix, is_fortran, n_rows, chunk_rows):
    labels = np.arange(len(matrix)) % 2
    saved = np.asfortranarray(matrix) if is_fortran else matrix
    with cut_into(100, n_rows):
        rows = whole(read_arrays({"chunk_rows": chunk_rows}, X=saved, y=labels))
    np.testing.assert_array_equal(rows.X, matrix.astype(float))
    np.testing.assert_array_equal(rows.y, labels)


def test_an_archive_that_is_not_compressed_is_read(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    stream = read(tmp_path / "data.npz")
    assert stream.n_rows == 20
    assert stream.feature_names == ("x1", "x2", "x3")
    for _ in range(2):
        np.testing.assert_array_equal(whole(stream).X, X)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array(["a", "b"] * 10), ["a", "b"] * 10),
        (np.array([True, False] * 10), [True, False] * 10),
        (np.array([1.0, 2.0] * 10), [1, 2] * 10),
        (np.array([0.5, np.nan] * 10), [0.5, None] * 10),
        (np.array([1, 2] * 10, ">i2"), [1, 2] * 10),
    ],
)
def test_labels_may_be_of_any_type(labels, expected):
    stream = read_arrays(X=X, y=labels)
    assert whole(stream).y.tolist() == expected
    assert stream.classes == tuple(dict.fromkeys(label for label in expected if label is not None))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array(["a", "b", "late"]), ("a", "b", "late")),
        (np.array([2, 1, 7]), (2, 1, 7)),
        (np.array([0.5, np.nan, 0.25]), (0.5, 0.25)),
        (np.array([1.0, 2.0, 0.5]), (1, 2)),  # the last makes a bad row
    ],
)
def test_classes_are_those_of_all_rows(labels, expected):
    arrays = {"X": X, "y": np.repeat(labels, [10, 6, 4])}
    stream = read_arrays({"inspect_rows": 12}, **arrays)
    assert stream.classes == expected
    assert not stream.is_open_to_classes


def test_names_are_those_of_the_archive():
    stream = read_arrays(X=X, y=Y, feature_names=["a", "b", "c"], class_names=["u", "v", "w"])
    assert stream.feature_names == ("a", "b", "c")
    assert stream.classes == (0, 1, 2)
    assert stream.class_names == ("u", "v", "w")


def test_names_of_classes_mean_nothing_to_labels_that_are_texts():
    stream = read_arrays(X=X, y=np.array(["u", "v"] * 10), class_names=["u", "v"])
    assert stream.classes == ("u", "v")
    assert stream.class_names == ()


def test_further_arrays_are_neither_features_nor_labels():
    stream = read_arrays(X=X, y=Y, y_even=Y % 2, about="a note")
    assert stream.feature_names == ("x1", "x2", "x3")
    np.testing.assert_array_equal(whole(stream).y, Y)
    none = read_arrays({"label": None}, X=X, y=Y)
    assert none.feature_names == ("x1", "x2", "x3")
    assert whole(none).y.tolist() == [None] * 20
    with pytest.raises(InputError, match="no column 'y_even'"):
        read_arrays({"label": "y_even"}, X=X, y=Y, y_even=Y % 2)


def test_names_as_many_as_rows_are_no_labels():
    square = np.eye(3)
    stream = read_arrays(
        X=square, y=np.arange(3), feature_names=list("abc"), class_names=list("uvw")
    )
    assert stream.feature_names == ("a", "b", "c")
    assert whole(stream).y.tolist() == [0, 1, 2]


@pytest.mark.parametrize("labels", [None, np.arange(19), np.arange(20).reshape(20, 1), np.array(3)])
def test_a_file_without_a_label_for_each_row_is_refused(labels):
    arrays = {"X": X} if labels is None else {"X": X, "y": labels}
    with pytest.raises(DataError, match="no array 'y' with a label for each row"):
        read_arrays(**arrays)
    rows = whole(read_arrays({"label": None}, **arrays))
    np.testing.assert_array_equal(rows.X, X)
    assert whole(read_arrays({"label": "x3"}, **arrays)).X.shape == (20, 2)


CATEGORIES = {"x2": ["red", "green", "blue"]}


def coded(codes):
    matrix = np.zeros((len(codes), 3))
    matrix[:, 1] = codes
    return {"X": matrix, "y": np.zeros(len(codes), int), "categories_json": json.dumps(CATEGORIES)}


def test_codes_have_the_values_that_the_file_names():
    arrays = coded([2, 0, np.nan, 1])
    stream = read_arrays(**arrays)
    assert stream.feature_names == ("x1", "x2=red", "x2=green", "x2=blue", "x3")
    assert whole(stream).X[:, 1:4].tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 1, 0]]
    again = whole(read_arrays({"categories": "codes"}, **arrays))
    np.testing.assert_array_equal(again.X, arrays["X"])
    as_numbers = read_arrays({"numeric": ["x2"]}, **arrays)
    np.testing.assert_array_equal(whole(as_numbers).X, arrays["X"])


@pytest.mark.parametrize("code", [3, -1, 0.5, 1e300, np.inf])
@pytest.mark.parametrize("n_rows", [1, 2, 100])
def test_a_code_without_a_value_is_a_bad_row(code, n_rows):
    arrays = coded([0, 1, code, 2, 2])
    with cut_into(100, n_rows):
        with pytest.raises(DataError, match=r"row 3: .* no code of categories_json"):
            whole(read_arrays(**arrays))
        stream = read_arrays({"on_bad_row": "count", "categories": "codes"}, **arrays)
        assert whole(stream).X[:, 1].tolist() == [0, 1, 2, 2]
        assert [bad.row for bad in stream.bad_rows.examples] == [3]


def test_bad_rows_of_all_kinds_have_their_numbers():
    arrays = coded([0, 9, 1, 1, 9, 2])
    arrays["X"][2, 0] = np.inf
    arrays["X"][5, 2] = -np.inf
    with cut_into(100, 4):
        stream = read_arrays({"on_bad_row": "count", "categories": "codes"}, **arrays)
        assert whole(stream).X[:, 1].tolist() == [0, 1]
    assert [bad.row for bad in stream.bad_rows.examples] == [2, 3, 5, 6]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"X": None}, "no array 'X'"),
        ({"X": np.zeros((20, 100_001))}, "100,000 columns at most"),
        ({"X": np.arange(20)}, "no array 'X' .* a matrix of numbers"),
        ({"X": np.zeros((20, 2, 2))}, "no array 'X' .* a matrix of numbers"),
        ({"X": np.zeros((0, 3)), "y": np.zeros(0)}, "has no rows"),
        ({"X": np.zeros((20, 3), complex)}, "a matrix of numbers"),
        ({"feature_names": ["a", "b"]}, "must be 3 different names"),
        ({"feature_names": ["a", "b", "b"]}, "must be 3 different names"),
        ({"feature_names": ["a", "b", "y"]}, "and not 'y'"),
        ({"categories_json": "[1, 2]"}, "categories_json is not understood"),
        ({"categories_json": "{"}, "categories_json is not understood"),
        ({"categories_json": "[" * 100_000}, "categories_json is not understood"),
        ({"X": np.full((20, 3), "b")}, "a matrix of numbers"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, reason):
    arrays = {"X": X, "y": Y} | change
    with pytest.raises(DataError, match=reason):
        read_arrays(**{name: array for name, array in arrays.items() if array is not None})


def test_a_matrix_is_loaded_once_and_its_rows_are_views(tmp_path):
    matrix = np.zeros((400_000, 10))
    matrix[:, 0] = np.arange(400_000)
    for saved in (matrix, np.asfortranarray(matrix)):
        np.savez(tmp_path / "data.npz", X=saved, y=np.zeros(400_000, np.int8))
        stream = read(tmp_path / "data.npz", chunk_rows=5000)
        tracemalloc.start()
        numbers = [chunk.X[:, 0].copy() for chunk in stream]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        np.testing.assert_array_equal(np.concatenate(numbers), matrix[:, 0])
        assert peak < matrix.nbytes / 2


def test_arrays_larger_than_what_is_loaded_are_refused(monkeypatch):
    monkeypatch.setattr(columnar, "MOST_BYTES", X.nbytes + Y.nbytes + 256)  # and two headers
    assert len(whole(read_arrays(X=X, y=Y)).y) == 20
    with pytest.raises(DataError, match="write them as Parquet, which is read in pieces"):
        read_arrays(X=X, y=Y, more=np.zeros(1))


def test_what_is_no_array_is_not_read(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=X, y=Y)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("X", "something else")
        archive.writestr("notes.txt", "something else")
    np.testing.assert_array_equal(whole(read(path)).X, X)


def test_a_stream_that_is_sent_to_another_process_does_not_carry_its_arrays(tmp_path):
    np.savez(tmp_path / "data.npz", X=np.ones((300_000, 10)), y=np.zeros(300_000, int))
    stream = read(tmp_path / "data.npz", inspect_rows=10)
    sent = pickle.dumps(stream)
    assert len(sent) < 6_000_000  # the first rows are among it
    assert whole(pickle.loads(sent)).X.sum() == 3_000_000
