"""ARFF: headers and rows as Weka and MOA write them, dense and sparse."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.errors import DataError
from devfnn.streams import read
from plain_files import WORDS, arff_bytes, assert_reads, cut_into, tables, whole

TEXTS = WORDS.filter(lambda text: not set(text) & {"\n", "\r"}).map(lambda inner: f"t{inner}.")
HEADER = """% A file as they are found.
@RELATION 'weather data'

@attribute outlook {sunny, 'partly cloudy', "it's raining"}
@attribute 'how hot' REAL
  @Attribute windy{yes,no}
@attribute class {play, stay}

@DATA
"""


def rows_of(text: str, **options):
    """Rows and labels of a text."""
    chunk = whole(read(io.BytesIO(text.encode()), **{"categories": "codes", **options}))
    return chunk.X.tolist(), chunk.y.tolist()


@settings(max_examples=30)
@given(
    table=tables(("number", "text", "time"), TEXTS),
    n_bytes=st.integers(1, 60),
    chunk_rows=st.integers(1, 25),
)
def test_any_table_is_read_as_it_was_written(table, n_bytes, chunk_rows):
    with cut_into(n_bytes, 3):
        stream = read(io.BytesIO(arff_bytes(table)), categories="codes", chunk_rows=chunk_rows)
        assert_reads(stream, table)


ROWS = [
    "sunny,20,yes,play",
    "  'partly cloudy' , 15.5 , no , stay  ",
    "% a comment, with a comma",
    '"it\'s raining",?,yes,stay',
    "",
    "\tsunny,\t1e1,?,play",
    "'it\\'s raining',-3,no,?",
]
EXPECTED = [[0, 20, 0], [1, 15.5, 1], [2, np.nan, 0], [0, 10, np.nan], [2, -3, 1]]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("n_bytes", [1, 7, 50, 10_000])
def test_rows_are_read_as_weka_reads_them(line_end, n_bytes):
    with cut_into(n_bytes, 3):
        X, y = rows_of(HEADER.replace("\n", line_end) + line_end.join(ROWS))
    np.testing.assert_array_equal(X, EXPECTED)
    assert y == ["play", "stay", "stay", "play", None]


def test_declared_values_are_the_columns_and_the_classes():
    stream = read(io.BytesIO((HEADER + ROWS[0]).encode()))
    assert stream.classes == ("play", "stay")
    assert stream.feature_names == (
        "outlook=sunny",
        "outlook=partly cloudy",
        "outlook=it's raining",
        "how hot",
        "windy=yes",
        "windy=no",
    )


def test_a_value_that_was_not_declared_is_zero_everywhere():
    text = HEADER + "sunny,20,yes,play\nfoggy,10,no,stay\n"
    X, _ = rows_of(text, categories="onehot")
    assert X == [[1, 0, 0, 20, 1, 0], [0, 0, 0, 10, 0, 1]]


def test_sparse_rows_are_refused():
    text = "@relation r\n@attribute a numeric\n@attribute class {no, yes}\n@data\n{0 1.5, 1 yes}\n"
    with pytest.raises(DataError, match="sparse rows, which are not read"):
        rows_of(text)


def test_a_quote_that_is_never_closed_is_part_of_a_value():
    text = "@relation r\n@attribute a string\n@attribute class {x,y}\n@data\n'tis,x\nb,y\nc,x\n"
    for n_bytes in (1, 9, 10_000):
        with cut_into(n_bytes, 3):
            assert rows_of(text) == ([[0.0], [1.0], [2.0]], ["x", "y", "x"])


def test_dates_in_iso_format_are_seconds():
    text = (
        "@relation r\n@attribute when date \"yyyy-MM-dd'T'HH:mm:ss\"\n@attribute day date\n"
        "@attribute class {x,y}\n@data\n1970-01-02T00:00:01,1970-01-03,x\n"
    )
    assert rows_of(text)[0] == [[86401.0, 2 * 86400.0]]


def test_dates_in_other_formats_are_bad():
    text = (
        "@relation r\n@attribute a numeric\n@attribute when date 'dd.MM.yyyy'\n"
        "@attribute class {x,y}\n@data\n1,'03.01.1970',x\n"
    )
    with pytest.raises(DataError, match=r"'03\.01\.1970' in column 'when' is no date"):
        rows_of(text)
    assert rows_of(text, ignore=["when"]) == ([[1.0]], ["x"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("@relation r\n@attribute a numeric\n1,2\n", "no @data line"),
        ("@relation r\n@data\n1,2\n", "no @attribute lines"),
        ("@relation r\n@attribute a numeric\n@attribute a numeric\n@data\n1,2\n", "same name"),
        ("@relation r\n@attribute a numeric\n@attribute b cubes\n@data\n1,2\n", "of type cubes"),
        ("@relation r\n@attribute a numeric\n@attribute b\n@data\n1,2\n", "not understood"),
        ("@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n", "has no rows"),
        ("@relation r\n@attribute a numeric\n@attribute b real\n@data\n% x\n\n", "has no rows"),
    ],
)
def test_a_header_that_is_not_understood_is_refused(text, reason):
    with pytest.raises(DataError, match=reason):
        read(io.BytesIO(text.encode()))


def test_text_in_other_encodings_is_read():
    text = HEADER.replace("sunny", "süß") + "süß,20,yes,play\n"
    stream = read(io.BytesIO(text.encode("latin-1")), encoding="latin-1")
    assert stream.feature_names[0] == "outlook=süß"
    assert whole(stream).X[0, 0] == 1.0
    with pytest.raises(DataError, match="is not utf-8"):
        read(io.BytesIO(text.encode("latin-1")))


def test_a_class_of_numbers_is_whole_numbers():
    text = "@relation r\n@attribute a numeric\n@attribute class numeric\n@data\n1,0\n2,1\n"
    assert rows_of(text) == ([[1.0], [2.0]], [0, 1])
