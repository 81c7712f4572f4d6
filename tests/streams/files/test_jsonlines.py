"""JSON lines: objects of values, whatever their order and however the file is cut."""

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.errors import DataError
from devfnn.streams import read
from plain_files import assert_reads, cut_into, jsonlines_bytes, tables, whole


def rows_of(text: str | bytes, **options):
    """Rows and labels of a text."""
    raw = text if isinstance(text, bytes) else text.encode()
    chunk = whole(read(io.BytesIO(raw), **{"categories": "codes", **options}))
    return chunk.X.tolist(), chunk.y.tolist()


@settings(max_examples=30)
@given(table=tables(), n_bytes=st.integers(1, 80), chunk_rows=st.integers(1, 25))
def test_any_table_is_read_as_it_was_written(table, n_bytes, chunk_rows):
    with cut_into(n_bytes, 3):
        stream = read(io.BytesIO(jsonlines_bytes(table)), categories="codes", chunk_rows=chunk_rows)
        assert_reads(stream, table)


def test_fields_may_come_in_any_order_or_not_at_all():
    text = '{"a": 1, "label": "x", "b": 2}\n{"b": 3, "label": "y"}\n{"label": "x", "a": 4.5}\n'
    X, y = rows_of(text)
    np.testing.assert_array_equal(X, [[1, 2], [np.nan, 3], [4.5, np.nan]])
    assert y == ["x", "y", "x"]


def test_fields_that_the_first_rows_lack_are_passed_over():
    text = '{"a": 1, "label": "x"}\n{"a": 2, "new": [1], "label": "y"}\n'
    assert rows_of(text, inspect_rows=1) == ([[1.0], [2.0]], ["x", "y"])


def test_blank_lines_and_a_byte_order_mark_mean_nothing():
    text = b'\xef\xbb\xbf\n{"a": 1, "label": 0}\r\n\r\n{"a": 2, "label": 1}'
    for n_bytes in (1, 5, 1000):
        with cut_into(n_bytes, 3):
            assert rows_of(text) == ([[1.0], [2.0]], [0, 1])


def test_texts_that_stand_for_missing_values_are_missing():
    text = (
        '{"a": 1, "b": "x", "label": "u"}\n{"a": "NA", "b": "", "label": "?"}\n'
        '{"a": null, "b": "None", "label": "v"}\n'
    )
    X, y = rows_of(text)
    np.testing.assert_array_equal(X, [[1, 0], [np.nan, np.nan], [np.nan, np.nan]])
    assert y == ["u", None, "v"]


def test_texts_that_are_missing_are_missing_in_any_piece():
    text = '{"b": "x", "label": "u"}\n{"b": "", "label": "?"}\n{"b": "y", "label": "u"}\n' * 3
    for n_bytes in (1, 60, 1000):
        with cut_into(n_bytes, 3):
            X, y = rows_of(text)
        np.testing.assert_array_equal(X, [[0], [np.nan], [1]] * 3)
        assert y == ["u", None, "u"] * 3


def test_numbers_that_are_no_json_but_written_all_the_same_are_read():
    text = '{"a": NaN, "label": 1}\n{"a": 2, "label": 0}\n'
    np.testing.assert_array_equal(rows_of(text)[0], [[np.nan], [2.0]])
    with pytest.raises(DataError, match="row 1: a value is infinite"):
        rows_of('{"a": -Infinity, "label": 1}\n{"a": 2, "label": 0}\n')


def test_dates_are_seconds_with_a_zone_or_without():
    text = '{"a": "1970-01-02 00:00:00", "b": "1970-01-01T01:00:00+01:00", "label": 1}\n'
    assert rows_of(text)[0] == [[86400.0, 0.0]]
    text = '{"a": "1970-01-01T00:00:00.123456789Z", "label": 1}\n'
    assert rows_of(text)[0] == [[0.123456]]


def test_numbers_can_be_categories():
    text = '{"a": 1.50, "label": 1}\n{"a": 2, "label": 0}\n{"a": 1.5, "label": 0}\n'
    stream = read(io.BytesIO(text.encode()), categorical=["a"])
    assert stream.feature_names[:2] == ("a=1.5", "a=2")
    assert whole(stream).X[:, :2].tolist() == [[1, 0], [0, 1], [1, 0]]


def test_numbers_in_quotes_can_be_numbers():
    text = '{"a": "1.5", "label": 1}\n{"a": "2", "label": 0}\n'
    assert rows_of(text, numeric=["a"])[0] == [[1.5], [2.0]]


def test_values_of_several_types_are_texts():
    text = '{"a": 1, "label": 1}\n{"a": "one", "label": 0}\n{"a": true, "label": 0}\n'
    stream = read(io.BytesIO(text.encode()))
    assert stream.feature_names[:3] == ("a=1", "a=one", "a=true")


def test_large_whole_numbers_are_numbers():
    text = '{"a": 100000000000000000000000, "label": 18446744073709551616}\n'
    assert rows_of(text + text) == ([[1e23]] * 2, ["18446744073709551616"] * 2)


NESTED = '{"a": 1, "b": {"c": 2}, "label": 1}\n{"a": 2, "b": {"c": 3}, "label": 0}\n'


def test_nested_values_have_to_be_left_out():
    with pytest.raises(DataError, match=r"column 'b' holds .* leave it out with ignore"):
        rows_of(NESTED)
    assert rows_of(NESTED, ignore=["b"]) == ([[1.0], [2.0]], [1, 0])


@pytest.mark.parametrize("value", ['{"c": 2}', "[1, 2]", "[]"])
@pytest.mark.parametrize("name", ["a", "b", "label"])
def test_a_nested_value_that_comes_later_is_bad(name, value):
    rows = [{"a": n, "b": f"t{n % 2}", "label": n % 2} for n in range(5)]
    lines = [json.dumps(row) for row in rows]
    lines[3] = json.dumps(rows[3] | {name: None}).replace("null", value)
    text = "\n".join(lines)
    with pytest.raises(DataError, match=f"row 4: the value of '{name}' is nested"):
        rows_of(text, inspect_rows=2)
    assert len(rows_of(text, inspect_rows=2, on_bad_row="skip")[1]) == 4


@pytest.mark.parametrize(
    "line",
    [
        "5",
        "[1, 2]",
        "null",
        '{"a": 1',
        '{"a": 1, "label": 0} {"a": 2, "label": 1}',
        '{"a": 1, "label": 0}{"a": 2, "label": 1}',
        '{"a": 1, "label": "\\ud800"}',
        '{"a": "\\ud800", "label": 0}',
        "words",
        '{"a": ' + "[" * 100_000 + "}",
    ],
)
@pytest.mark.parametrize("n_bytes", [1, 1 << 20])
def test_a_line_that_is_no_object_is_bad(line, n_bytes):
    text = '{"a": 1, "label": 0}\n{"a": 2, "label": 1}\n' + line + '\n{"a": 3, "label": 1}\n'
    if n_bytes == 1 and len(line) > 1000:
        n_bytes = 1000
    with cut_into(n_bytes, 3):
        with pytest.raises(DataError, match="row 3: "):
            rows_of(text)
        assert rows_of(text, on_bad_row="skip") == ([[1.0], [2.0], [3.0]], [0, 1, 1])


def test_an_object_on_two_lines_is_two_bad_rows():
    text = '{"a": 1, "label": 0}\n{"a":\n 2, "label": 1}\n{"a": 3, "label": 1}\n'
    for n_bytes in (1, 1000):
        with cut_into(n_bytes, 3):
            stream = read(io.BytesIO(text.encode()), on_bad_row="count")
            assert whole(stream).X.tolist() == [[1.0], [3.0]]
            assert [bad.row for bad in stream.bad_rows.examples] == [2, 3]


def test_a_name_that_comes_twice_has_its_last_value():
    text = '{"a": 1, "a": 5, "label": 0}\n{"a": 2, "label": 1}\n'
    assert rows_of(text) == ([[5.0], [2.0]], [0, 1])


def test_a_file_without_objects_is_refused():
    with pytest.raises(DataError, match="no JSON objects in its first lines"):
        read(io.BytesIO(b"{}\n{}\n"))
    with pytest.raises(DataError, match="no JSON objects in its first lines"):
        read(io.BytesIO(b"{broken\n{}\n"))


def test_text_in_other_encodings_is_read():
    text = '{"a": "süß", "label": 0}\n{"a": "sauer", "label": 1}\n'
    stream = read(io.BytesIO(text.encode("latin-1")), encoding="latin-1")
    assert stream.feature_names[0] == "a=süß"
    with pytest.raises(DataError, match="is not utf-8"):
        rows_of(text.encode("latin-1"))
