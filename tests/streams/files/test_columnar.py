"""Parquet and Arrow: every type, every batch size, and what files say about themselves."""

import datetime
import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.errors import DataError
from devfnn.streams import read
from devfnn.streams.files import columnar
from plain_files import Table, arrow_bytes, assert_reads, cut_into, parquet_bytes, tables, whole


def as_parquet(columns) -> io.BytesIO:
    out = io.BytesIO()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), out)
    return io.BytesIO(out.getvalue())


def as_arrow(columns) -> io.BytesIO:
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return io.BytesIO(out.getvalue())


WRITERS = {
    "parquet": parquet_bytes,
    "arrow file": arrow_bytes,
    "arrow stream": lambda table: arrow_bytes(table, is_file=False),
}


@settings(max_examples=20)
@pytest.mark.parametrize("kind", WRITERS)
@given(table=tables(), n_rows=st.integers(1, 25), chunk_rows=st.integers(1, 25))
def test_any_table_is_read_as_it_was_written(kind, table, n_rows, chunk_rows):
    content = WRITERS[kind](table)
    with cut_into(100, n_rows):
        stream = read(io.BytesIO(content), categories="codes", chunk_rows=chunk_rows)
        assert_reads(stream, table)


def some_table():
    rows = [{"number0": n / 4, "text1": f"t{n % 3}", "label": "ab"[n % 2]} for n in range(50)]
    return Table({"number0": "number", "text1": "text"}, rows)


def test_a_file_that_says_so_tells_how_many_rows_it_has(tmp_path):
    assert read(io.BytesIO(parquet_bytes(some_table()))).n_rows == 50
    assert read(io.BytesIO(parquet_bytes(some_table())), on_bad_row="skip").n_rows is None
    assert read(io.BytesIO(arrow_bytes(some_table()))).n_rows is None


def test_a_stream_of_batches_larger_than_a_pipe_gives_at_a_time_is_whole():
    X = np.arange(200_000.0)

    class Short(io.RawIOBase):
        def __init__(self, file):
            self._file = file

        def readable(self):
            return True

        def readinto(self, buffer):
            some = self._file.read(min(len(buffer), 5000))
            buffer[: len(some)] = some
            return len(some)

    file = as_arrow({"a": X, "label": (X % 2).astype(int)})
    np.testing.assert_array_equal(whole(read(Short(file))).X[:, 0], X)


NUMBERS = [
    pa.int8(),
    pa.uint8(),
    pa.int32(),
    pa.uint64(),
    pa.float16(),
    pa.float32(),
    pa.decimal128(9, 2),
    pa.bool_(),
]


def as_values(values, data_type):
    """Values of which an array of the type can be made."""
    make = {"bool": bool, "halffloat": np.float16}.get(str(data_type), int)
    if pa.types.is_decimal(data_type):
        make = decimal.Decimal
    return [None if value is None else make(value) for value in values]


@pytest.mark.parametrize("data_type", NUMBERS, ids=str)
@pytest.mark.parametrize("write", [as_parquet, as_arrow])
def test_numbers_of_every_type_are_numbers(write, data_type):
    values = [1, 0, None, 1]
    column = pa.array(as_values(values, data_type), data_type)
    stream = read(write({"a": column, "b": column, "label": ["x", "y", "x", "y"]}))
    np.testing.assert_array_equal(whole(stream).X[:, 0], [1.0, 0.0, np.nan, 1.0])


@pytest.mark.parametrize("data_type", NUMBERS, ids=str)
def test_labels_of_every_type_are_labels(data_type):
    values = [1, 0, None, 1]
    labels = pa.array(as_values(values, data_type), data_type)
    stream = read(as_parquet({"a": [1.0, 2.0, 3.0, 4.0], "label": labels}))
    assert stream.classes == (1, 0)
    rows = whole(stream)
    assert rows.y.tolist() == [1, 0, None, 1]
    assert rows.labelled.tolist() == [True, True, False, True]


@pytest.mark.parametrize(
    "data_type",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.uint8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
    ],
    ids=str,
)
def test_texts_of_every_type_are_texts(data_type):
    values = pa.array(["u", "v", None, "u"])
    column = (
        values.dictionary_encode().cast(data_type)
        if pa.types.is_dictionary(data_type)
        else values.cast(data_type)
    )
    stream = read(as_arrow({"a": column, "label": column}), categories="codes")
    rows = whole(stream)
    np.testing.assert_array_equal(rows.X, [[0.0], [1.0], [np.nan], [0.0]])
    assert rows.y.tolist() == ["u", "v", None, "u"]
    assert stream.classes == ("u", "v")


def test_a_dictionary_may_hold_what_is_missing_and_what_is_not_used():
    column = pa.DictionaryArray.from_arrays(
        pa.array([3, 0, 1, None, 3], pa.uint16()), pa.array([None, "b", "unused", "a"])
    )
    stream = read(as_arrow({"x": column, "label": column}), categories="codes")
    rows = whole(stream)
    np.testing.assert_array_equal(rows.X[:, 0], [0.0, np.nan, 1.0, np.nan, 0.0])
    assert rows.y.tolist() == ["a", None, "b", None, "a"]


def test_dictionaries_may_differ_between_batches():
    batches = [
        pa.record_batch({"x": pa.array(values).dictionary_encode(), "label": pa.array([0] * 3)})
        for values in (["a", "b", "a"], ["b", "c", "a"])
    ]
    out = io.BytesIO()
    with pa.ipc.new_stream(out, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    for n_inspected in (2, 1000):
        rows = whole(read(io.BytesIO(out.getvalue()), categories="codes", inspect_rows=n_inspected))
        assert rows.X[:, 0].tolist() == [0, 1, 0, 1, 2, 0]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
def test_timestamps_of_every_unit_are_seconds(unit, zone):
    column = pa.array([0, None, 90_000 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]])
    stream = read(as_arrow({"t": column.cast(pa.timestamp(unit, zone)), "label": [0, 1, 0]}))
    np.testing.assert_array_equal(whole(stream).X[:, 0], [0.0, np.nan, 90_000.0])


def test_dates_are_seconds():
    days = [datetime.date(1970, 1, 2), None, datetime.date(1969, 12, 31)]
    columns = {"a": pa.array(days, pa.date32()), "b": pa.array(days, pa.date64())}
    stream = read(as_arrow({**columns, "label": [0, 1, 0]}))
    np.testing.assert_array_equal(
        whole(stream).X, [[86400.0, 86400.0], [np.nan, np.nan], [-86400.0, -86400.0]]
    )


def test_nanoseconds_are_no_obstacle():
    column = pa.array([1, 10**18 + 1], pa.timestamp("ns"))
    stream = read(as_arrow({"t": column, "x": [1, 2], "label": [0, 1]}), time="t", cyclic=["t"])
    assert whole(stream).times.tolist() == [1, 10**18 + 1]
    plain = read(as_arrow({"t": column, "label": [0, 1]}))
    assert whole(plain).X[:, 0].tolist() == [0.0, 1e9]


def test_dates_far_out_are_seconds():
    column = pa.array([2**40, -(2**40)], pa.timestamp("s"))
    assert whole(read(as_arrow({"t": column, "label": [0, 1]}))).X.ravel().tolist() == [
        2.0**40,
        -(2.0**40),
    ]
    for far in (pa.array([0, 2**62], pa.timestamp("s")), pa.array([0, 2**31 - 1], pa.date32())):
        with pytest.raises(DataError, match=r"row 2: .* in column 't' is no date"):
            whole(read(as_arrow({"t": far, "label": [0, 1]}), inspect_rows=1))


def test_large_whole_numbers_are_rounded_not_refused():
    column = pa.array([2**53 + 1, -(2**63)], pa.int64())
    larger = pa.array([2**64 - 1, 0], pa.uint64())
    rows = whole(read(as_arrow({"a": column, "b": larger, "label": [0, 1]})))
    assert rows.X.tolist() == [[2.0**53, 2.0**64], [-(2.0**63), 0.0]]


def test_large_labels_are_exact():
    labels = [2**53, 2**53 + 1]
    assert whole(read(as_arrow({"a": [1, 2], "label": labels}))).y.tolist() == labels
    larger = pa.array([1, 2**64 - 1], pa.uint64())
    with pytest.raises(DataError, match="row 2: '18446744073709551615' in column 'label'"):
        whole(read(as_arrow({"a": [1, 2], "label": larger})))


def test_dates_and_times_can_be_labels():
    times = pa.array([0, 86_400_000_000], pa.timestamp("us"))
    stream = read(as_arrow({"a": [1, 2], "label": times}))
    assert whole(stream).y.tolist() == list(stream.classes)
    assert len(set(stream.classes)) == 2


def test_a_column_can_be_read_as_something_else():
    columns = {
        "a": ["1.5", "2"],
        "b": [7, 8],
        "t": pa.array([0, 1], pa.timestamp("s")),
        "label": [0, 1],
    }
    stream = read(as_arrow(columns), numeric=["a", "t"], categorical=["b"], categories="codes")
    assert whole(stream).X.tolist() == [[1.5, 0, 0], [2.0, 1, 1]]
    stream = read(as_arrow(columns), categorical=["t", "a"])
    assert stream.feature_names[:2] == ("a=1.5", "a=2")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]),
        pa.array([{"x": 1}, {"x": 2}]),
        pa.array([b"a", b"\xff"]),
        pa.array([1, 2], pa.duration("s")),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_other_types_have_to_be_left_out(column):
    columns = {"odd": column, "a": [1.0, 2.0], "label": [0, 1]}
    with pytest.raises(DataError, match=r"'odd' holds .* leave it out with ignore"):
        read(as_arrow(columns))
    assert whole(read(as_arrow(columns), ignore=["odd"])).X.tolist() == [[1.0], [2.0]]
    with pytest.raises(DataError, match="'odd' holds"):
        read(as_arrow(columns), label="odd")


@pytest.mark.parametrize("write", [as_parquet, as_arrow])
def test_a_name_that_comes_twice_is_refused(write):
    table = pa.table([pa.array([1]), pa.array([2]), pa.array([0])], names=["a", "a", "label"])
    with pytest.raises(DataError, match="two columns are called 'a'"):
        read(write(table))


def test_a_file_without_rows_is_a_stream_without_rows_if_it_says_its_columns_first():
    columns = {"a": pa.array([], pa.float64()), "label": pa.array([], pa.int64())}
    stream = read(as_parquet(columns))
    assert (stream.feature_names, stream.n_rows, list(stream)) == (("a",), 0, [])
    with pytest.raises(DataError, match="has no rows"):
        read(as_arrow(columns))


def test_text_that_is_no_text_is_refused():
    raw = pa.array([b"ok", b"\xff\xfe"]).view(pa.string())
    for write in (as_parquet, as_arrow):
        for inspect_rows in (1, 1000):
            with pytest.raises(DataError, match="UTF8"):
                whole(read(write({"a": raw, "label": [0, 1]}), inspect_rows=inspect_rows))


def test_many_columns_are_read_few_rows_at_a_time():
    names = [f"c{n}" for n in range(3000)]
    table = pa.table({name: np.arange(3.0) for name in names} | {"label": [0, 1, 0]})
    assert whole(read(as_parquet(table))).X.shape == (3, 3000)
    assert columnar.batch_rows(3001) * 3001 <= columnar.BATCH_VALUES
    assert columnar.batch_rows(1) > 1000
