"""Columns that the caller names, and categories whose values the caller declares."""

import io

import pytest

from devfnn.errors import DataError, InputError
from devfnn.streams import read

ROWS = b"1,red,0\n2,blue,1\n3,red,0\n4,green,1\n"


def opened(text=ROWS, **options):
    return read(io.BytesIO(text), **options)


def test_names_are_given_to_a_file_without_a_header():
    stream = opened(header=False, names=["size", "colour", "kind"], categories="codes")
    assert stream.feature_names == ("size", "colour")
    assert next(iter(stream)).X[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_names_take_the_place_of_a_header():
    stream = opened(b"a,b,c\n" + ROWS, names=["size", "colour", "kind"], label="kind")
    assert stream.feature_names[0] == "size"
    assert len(next(iter(stream)).y) == 4


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "c", "d"]])
def test_there_must_be_a_name_for_every_column(names):
    with pytest.raises(DataError, match=f"{len(names)} names for 3 columns"):
        opened(names=names)


@pytest.mark.parametrize("names", ["abc", ["a", "a", "b"]])
def test_names_must_be_a_list_of_different_texts(names):
    with pytest.raises(InputError, match="names"):
        opened(names=names)


def test_declared_values_have_columns_in_their_order_and_no_other():
    stream = opened(header=False, category_values={1: ["green", "red"]})
    assert stream.feature_names == ("x1", "x2=green", "x2=red")
    assert next(iter(stream)).X[:, 1:].tolist() == [[0, 1], [0, 0], [0, 1], [1, 0]]


def test_declared_values_have_codes_in_their_order():
    stream = opened(
        header=False, categories="codes", category_values={"x2": ["green", "red", "blue"]}
    )
    assert next(iter(stream)).X[:, 1].tolist() == [1.0, 2.0, 1.0, 0.0]


def test_numbers_may_be_declared_as_categories():
    stream = opened(header=False, category_values={"x1": ["4", "3", "2", "1"]}, ignore=["x2"])
    assert stream.feature_names == ("x1=4", "x1=3", "x1=2", "x1=1")
    assert next(iter(stream)).X[0].tolist() == [0, 0, 0, 1]


def test_a_column_with_declared_values_is_not_numeric():
    with pytest.raises(InputError, match="cannot be both categorical and numeric"):
        opened(header=False, category_values={"x1": ["1"]}, numeric=["x1"])


@pytest.mark.parametrize("values", ["red", ["red", "red"]])
def test_declared_values_must_be_a_list_of_different_texts(values):
    with pytest.raises(InputError, match="category_values of 'x2' must be a list of different"):
        opened(header=False, category_values={"x2": values})
