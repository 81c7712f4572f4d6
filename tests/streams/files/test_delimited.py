"""CSV: whatever is written by Python's csv module is read back, however it is cut."""

import csv
import io
import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.errors import DataError, InputError
from devfnn.streams import read
from devfnn.streams.files import content
from plain_files import assert_reads, csv_bytes, cut_into, tables, whole


def rows_of(text: str | bytes, **options):
    """Rows and labels of a text."""
    raw = text if isinstance(text, bytes) else text.encode()
    chunk = whole(read(io.BytesIO(raw), **options))
    return chunk.X.tolist(), chunk.y.tolist()


@given(
    table=tables(),
    delimiter=st.sampled_from(",;\t|"),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    n_bytes=st.integers(1, 60),
    chunk_rows=st.integers(1, 25),
)
def test_any_table_is_read_as_it_was_written(
    table, delimiter, line_end, quoting, n_bytes, chunk_rows
):
    text = csv_bytes(table, delimiter, line_end, quoting=quoting)
    with cut_into(n_bytes, 3):
        stream = read(io.BytesIO(text), categories="codes", chunk_rows=chunk_rows)
        assert_reads(stream, table)


@settings(max_examples=25)
@given(table=tables(), n_bytes=st.integers(1, 60), n_cut=st.integers(0, 2))
def test_a_last_row_without_a_line_end_is_a_row(table, n_bytes, n_cut):
    text = csv_bytes(table)
    with cut_into(n_bytes, 3):
        assert_reads(read(io.BytesIO(text[:-1] + b"\n" * n_cut), categories="codes"), table)


def test_blank_lines_and_a_byte_order_mark_mean_nothing():
    text = b"\xef\xbb\xbf\n\r\na,label\n\n1,x\n\n\n2,y\n\n"
    for n_bytes in range(1, len(text)):
        with cut_into(n_bytes, 3):
            assert rows_of(text) == ([[1.0], [2.0]], ["x", "y"])


def test_names_may_be_quoted_and_hold_line_ends():
    stream = read(io.BytesIO(b'"a\nb","c ""d""",label\n1,2,x\n'))
    assert stream.feature_names == ("a\nb", 'c "d"')
    assert whole(stream).X.tolist() == [[1.0, 2.0]]


def test_a_column_without_a_name_is_numbered():
    assert read(io.BytesIO(b",a,label\n0,1,x\n1,2,y\n")).feature_names == ("x1", "a")


def test_line_ends_of_old_files_are_understood():
    text = b"a,b,label\r1,2,x\r3,4,y\r"
    for n_bytes in range(1, len(text)):
        with cut_into(n_bytes, 3):
            assert rows_of(text) == ([[1.0, 2.0], [3.0, 4.0]], ["x", "y"])


def test_a_quote_inside_of_a_value_means_nothing():
    text = '1,5" pipe,x\n2,"a\nb",y\n3,6" pipe,x\n4,"c\n\nd",y\n'
    for n_bytes in range(1, len(text)):
        with cut_into(n_bytes, 3):
            X, y = rows_of("n,text,label\n" + text, categories="codes")
            assert X == [[1.0, 0.0], [2.0, 1.0], [3.0, 2.0], [4.0, 3.0]]
            assert y == ["x", "y", "x", "y"]


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a;b;label\n1,5;2,5;x\n3,5;4,5;y\n", ";"),
        ("1,5;2,5;3,5\n3,5;4,5;1,5\n", ";"),
        ("a\tb\tlabel\n1\t2\tx y\n3\t4\ty z\n", "\t"),
        ("a|b|label\n1|2|x,y\n3|4|y,z\n", "|"),
        ("a b label\n1 2 x\n3 4 y\n", " "),
        ("text,label\none two three,x\nfour five six,y\n", ","),
        ("when,n,label\n2020-01-01 10:00:00,1,x\n2020-01-02 10:00:00,2,y\n", ","),
    ],
)
def test_the_delimiter_is_found(text, delimiter):
    found = read(io.BytesIO(text.encode()), label=-1)
    given = read(io.BytesIO(text.encode()), label=-1, delimiter=delimiter)
    assert found.feature_names == given.feature_names
    np.testing.assert_array_equal(whole(found).X, whole(given).X)


def test_numbers_with_a_decimal_comma_are_numbers():
    text = "a;b;label\n1,5;2;x\n-3,25;4;y\n"
    assert rows_of(text) == ([[1.5, 2.0], [-3.25, 4.0]], ["x", "y"])


def test_numbers_with_a_decimal_comma_are_numbers_beside_a_bad_row():
    text = "a;b;label\n1,5;2;x\nodd;2;x\n-3,25;4;y\n"
    X, y = rows_of(text, numeric=["a"], on_bad_row="skip", inspect_rows=1)
    assert (X, y) == ([[1.5, 2.0], [-3.25, 4.0]], ["x", "y"])


@pytest.mark.parametrize(
    ("text", "has_header"),
    [
        ("a,b,label\n1,2,x\n3,4,y\n", True),
        ("1,2,x\n3,4,y\n", False),
        ("0,1,2,label\n.5,.6,.7,1\n.1,.2,.3,0\n", True),  # names that count the columns
        ("5.1,3.5,odd,1\n4.9,3.0,1.4,0\n", False),
        ("?,a,x\n1,b,y\n2,a,x\n", False),  # a missing value is no name
        ("x,s,n,t\ne,s,y,t\nx,b,n,t\n", False),  # texts that come again
        ("class,odour\ne,a\np,f\ne,a\n", True),
        (",a,label\n0,1,x\n1,2,y\n", True),
        ("year,label\n,x\n2020,y\n", True),
    ],
)
def test_a_header_is_recognised(text, has_header):
    n_rows = len(text.splitlines()) - has_header
    assert len(rows_of(text, label=-1)[1]) == n_rows


def test_a_header_can_be_declared():
    text = "a,b,label\nc,d,e\n"
    assert len(rows_of(text, header=False)[1]) == 2
    assert len(rows_of(text, header=True)[1]) == 1


def test_spaces_around_values_mean_nothing():
    text = "39, State-gov, 77516, <=50K\n50, ?, 83311 , >50K\n 38,State-gov, NA , <=50K \n"
    X, y = rows_of(text, categories="codes")
    assert y == ["<=50K", ">50K", "<=50K"]
    np.testing.assert_array_equal(X, [[39, 0, 77516], [50, np.nan, 83311], [38, 0, np.nan]])


def test_spaces_around_values_mean_nothing_beside_a_bad_row():
    text = "a,b,label\n 1, 2, x\n 1.5 , 3.5, y\n  , 7, x\nodd,8,y\n"
    X, y = rows_of(text, inspect_rows=2, on_bad_row="skip", numeric=["a"])
    np.testing.assert_array_equal(X, [[1.0, 2.0], [1.5, 3.5], [np.nan, 7.0]])
    assert y == ["x", "y", "x"]


def test_texts_that_stand_for_missing_values_can_be_given():
    text = "a,b,label\n-,2,x\n3,none,-\n"
    X, y = rows_of(text, missing_values=["-", "none"])
    np.testing.assert_array_equal(X, [[np.nan, 2.0], [3.0, np.nan]])
    assert y == ["x", None]


def test_a_column_that_is_nearly_numbers_is_told_of(caplog):
    text = "a,b,label\n" + "1,2,x\n" * 50 + "n.a.,2,y\n"
    with caplog.at_level(logging.WARNING):
        read(io.BytesIO(text.encode()))
    assert "column 'a' is read as categories" in caplog.text
    assert "'n.a.'" in caplog.text
    caplog.clear()
    read(io.BytesIO(text.encode()), numeric=["a"])
    read(io.BytesIO(text.encode()), missing_values=["n.a."])
    assert caplog.text == ""


def test_a_name_that_comes_twice_is_refused():
    with pytest.raises(DataError, match="two columns are called 'a'"):
        read(io.BytesIO(b"a,a,label\n1,2,x\n3,4,y\n"))


def test_a_column_without_values_at_first_is_numbers():
    text = "a,b,label\n1,,x\n2,,y\n3,4.5,x\n"
    X, _ = rows_of(text, inspect_rows=2)
    np.testing.assert_array_equal(X, [[1, np.nan], [2, np.nan], [3, 4.5]])


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n", "\r", "\0", "ü", 5])
def test_what_cannot_delimit_is_refused(delimiter):
    with pytest.raises(InputError, match="delimiter must be one character"):
        read(io.BytesIO(b"a,b\n1,2\n"), delimiter=delimiter)


def test_a_row_that_the_first_bytes_cut_off_is_not_looked_at(monkeypatch):
    text = b"n,label\n" + b'1,"one\ntwo"\n2,"three\n\n\nfour"\n' * 20
    for n_bytes in range(30, 140):
        monkeypatch.setattr(content, "HEAD_BYTES", n_bytes)
        monkeypatch.setattr(content, "HEAD_BYTES", n_bytes)
        stream = read(io.BytesIO(text))
        assert set(stream.classes) <= {"one\ntwo", "three\n\n\nfour"}
        assert whole(stream).X[:, 0].tolist() == [1.0, 2.0] * 20


@settings(max_examples=25)
@given(table=tables(), n_bytes=st.integers(1, 40), encoding=st.sampled_from(["utf-16", "cp1252"]))
def test_text_in_other_encodings_is_the_same(table, n_bytes, encoding):
    text = csv_bytes(table).decode().replace("日", "ä")
    same = read(io.BytesIO(text.encode()), categories="onehot")
    with cut_into(n_bytes, 3):
        other = read(io.BytesIO(text.encode(encoding)), categories="onehot", encoding=encoding)
        assert other.feature_names == same.feature_names
        np.testing.assert_array_equal(whole(other).X, whole(same).X)


def test_a_column_that_is_nearly_numbers_with_a_decimal_comma_is_told_of(caplog):
    rows = "".join(f"{k},5;{k % 2}\n" for k in range(50)) + "-;1\n"
    with caplog.at_level(logging.WARNING):
        read(io.BytesIO(b"a;b\n" + rows.encode()))
    assert "column 'a' is read as categories" in caplog.text
    stream = read(io.BytesIO(b"a;b\n" + rows.encode()), numeric=["a"], on_bad_row="count")
    assert whole(stream).X[:3, 0].tolist() == [0.5, 1.5, 2.5]


def test_one_bad_row_among_a_few_does_not_hide_the_delimiter():
    stream = read(io.BytesIO(b"a;b;y\n1;2;x\n3;4;z;9\n5;6;x\n"), on_bad_row="count")
    assert whole(stream).X.tolist() == [[1.0, 2.0], [5.0, 6.0]]


def test_other_marks_replace_the_usual_ones_but_nothing_is_always_missing():
    text = b"a,b,label\n1,x,no\n-,y,\n3,NA,yes\n"
    stream = read(io.BytesIO(text), missing_values=["-"], categories="codes")
    rows = whole(stream)
    assert rows.y.tolist() == ["no", None, "yes"]
    assert np.isnan(rows.X[1, 0])
    assert rows.X[:, 1].tolist() == [0.0, 1.0, 2.0]
