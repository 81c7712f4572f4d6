"""Bad rows in every format and place: refused with their number, left out, or counted."""

import io
import json
import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.errors import DataError
from devfnn.streams import read
from devfnn.streams.stream import BAD_ROW_EXAMPLES, BadRow, BadRows
from plain_files import cut_into, npz_bytes, whole

N_ROWS = 12


def good(number: int) -> list[str]:
    return [str(number), str(number / 2), "xy"[number % 2]]


def text_of(faults: dict[int, list[str]]) -> str:
    rows = [faults.get(number, good(number)) for number in range(1, N_ROWS + 1)]
    return "\n".join(",".join(row) for row in rows)


def as_csv(numbers, fault):
    return f"a,b,label\n{text_of({n: fault(n) for n in numbers})}".encode()


def as_arff(numbers, fault):
    header = "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute label {x,y}\n"
    return f"{header}@data\n{text_of({n: fault(n) for n in numbers})}".encode()


def as_jsonlines(numbers, fault):
    lines = []
    for number in range(1, N_ROWS + 1):
        a, b, label = good(number)
        row = {"a": float(a), "b": float(b), "label": label}
        lines.append(fault(row) if number in numbers else json.dumps(row))
    return "\n".join(lines).encode()


def with_infinity(numbers):
    values = np.arange(1.0, N_ROWS + 1)
    halves = values / 2
    halves[[number - 1 for number in numbers]] = np.inf
    return values, halves, np.array(["xy"[n % 2] for n in range(1, N_ROWS + 1)])


def as_parquet(numbers):
    a, b, label = with_infinity(numbers)
    out = io.BytesIO()
    pq.write_table(pa.table({"a": a, "b": b, "label": label}), out, row_group_size=5)
    return out.getvalue()


def as_arrow(numbers):
    a, b, label = with_infinity(numbers)
    out = io.BytesIO()
    texts = ["odd" if np.isinf(value) else str(value) for value in b]
    table = pa.table({"a": a, "b": texts, "label": label})
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    return out.getvalue()


def as_npz(numbers):
    a, b, label = with_infinity(numbers)
    return npz_bytes(X=np.stack([a, b], axis=1), y=label, feature_names=["a", "b"])


FAULTS = {
    "csv, too few values": lambda numbers: as_csv(numbers, lambda n: [str(n), "1"]),
    "csv, too many values": lambda numbers: as_csv(numbers, lambda n: [str(n), "1", "x", "y"]),
    "csv, one value": lambda numbers: as_csv(numbers, lambda n: ["odd"]),
    "csv, text for a number": lambda numbers: as_csv(numbers, lambda n: [str(n), "odd", "x"]),
    "csv, infinite": lambda numbers: as_csv(numbers, lambda n: [str(n), "-inf", "x"]),
    "csv, of all kinds": lambda numbers: as_csv(
        numbers, lambda n: [["odd"], [str(n), "odd", "x"], [str(n), "inf", "x"]][n % 3]
    ),
    "arff, too few values": lambda numbers: as_arff(numbers, lambda n: [str(n), "1"]),
    "arff, text for a number": lambda numbers: as_arff(numbers, lambda n: [str(n), "'odd'", "x"]),
    "jsonlines, no object": lambda numbers: as_jsonlines(numbers, lambda row: "{odd"),
    "jsonlines, text for a number": lambda numbers: as_jsonlines(
        numbers, lambda row: json.dumps(row | {"b": "odd"})
    ),
    "jsonlines, infinite": lambda numbers: as_jsonlines(
        numbers, lambda row: json.dumps(row | {"b": float("inf")})
    ),
    "parquet, infinite": as_parquet,
    "arrow, text for a number": as_arrow,
    "npz, infinite": as_npz,
}
PLACES = st.sets(st.integers(1, N_ROWS), min_size=1, max_size=N_ROWS - 1)


def options_for(kind: str, **more):
    label = "y" if kind.startswith("npz") else "label"
    return {"numeric": ["a", "b"], "label": label, "chunk_rows": 1, **more}


@pytest.mark.parametrize("kind", FAULTS)
@settings(max_examples=7)
@given(numbers=PLACES, n_bytes=st.integers(1, 120), n_rows=st.integers(1, 13))
def test_bad_rows_are_left_out_and_counted_wherever_they_are(kind, numbers, n_bytes, n_rows):
    content = FAULTS[kind](numbers)
    kept = [float(number) for number in range(1, N_ROWS + 1) if number not in numbers]
    with cut_into(n_bytes, n_rows):
        for policy in ("skip", "count"):
            stream = read(io.BytesIO(content), **options_for(kind, on_bad_row=policy))
            assert [chunk.X[0, 0] for chunk in stream] == kept
        assert stream.bad_rows.n_rows == len(numbers)
        assert [bad.row for bad in stream.bad_rows.examples] == sorted(numbers)[:BAD_ROW_EXAMPLES]


@pytest.mark.parametrize("kind", FAULTS)
@settings(max_examples=7)
@given(numbers=PLACES, n_bytes=st.integers(1, 120), n_rows=st.integers(1, 13))
def test_the_first_bad_row_is_refused_after_all_rows_before_it(kind, numbers, n_bytes, n_rows):
    seen = []
    with cut_into(n_bytes, n_rows), pytest.raises(DataError, match=rf"row {min(numbers)}: "):
        for chunk in read(io.BytesIO(FAULTS[kind](numbers)), **options_for(kind)):
            seen.append(int(chunk.X[0, 0]))
    assert seen == list(range(1, min(numbers)))


def test_blank_lines_and_names_are_no_rows():
    text = b"\na,b,label\n\n1,2,x\n\n\n3,odd,y\n\n4,5,x\n6\n"
    for n_bytes in (1, 8, 1000):
        with cut_into(n_bytes, 3):
            stream = read(io.BytesIO(text), on_bad_row="count", numeric=["b"])
            assert whole(stream).X[:, 0].tolist() == [1.0, 4.0]
        assert [bad.row for bad in stream.bad_rows.examples] == [2, 4]


def test_values_with_line_ends_are_one_row():
    text = b'a,t,label\n1,"x\n\ny",u\n2,"z\n",v\nodd,w,u\n3,"a\nb",v\n'
    for n_bytes in (1, 8, 1000):
        with cut_into(n_bytes, 3):
            stream = read(io.BytesIO(text), on_bad_row="count", numeric=["a"], categories="codes")
            assert whole(stream).X[:, 0].tolist() == [1.0, 2.0, 3.0]
        assert stream.bad_rows.examples == [BadRow(3, "'odd' in column 'a' is no number")]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,2", "2 values where 3 are expected"),
        ("1,2,x,4", "4 values where 3 are expected"),
        ("1,odd,x", "'odd' in column 'b' is no number"),
        ("odd,odd,x", "'odd' in column 'a' is no number"),
        ("1,inf,x", "a value is infinite"),
        ("1,1e999,x", "a value is infinite"),
    ],
)
def test_the_reason_is_told(row, reason):
    text = f"a,b,label\n1,2,x\n{row}\n".encode()
    with pytest.raises(DataError) as caught:
        whole(read(io.BytesIO(text), inspect_rows=1))
    assert str(caught.value) == (
        f"a pipe, row 2: {reason} (on_bad_row='skip' or 'count' leaves such rows out)"
    )


@pytest.mark.parametrize(
    "text", ["a,b,label\n1,2,x\n,4,y\n5,6,x\n", "a,b,label\n1,u,x\n3,,y\n5,u,x\n"]
)
def test_a_missing_value_can_make_a_row_bad(text):
    with pytest.raises(DataError, match="row 2: a value is missing"):
        whole(read(io.BytesIO(text.encode()), missing="bad"))
    rows = whole(read(io.BytesIO(text.encode()), missing="bad", on_bad_row="skip"))
    assert rows.X[:, 0].tolist() == [1.0, 5.0]


def test_a_missing_label_makes_no_row_bad():
    rows = whole(read(io.BytesIO(b"a,label\n1,x\n2,\n"), missing="bad"))
    assert rows.y.tolist() == ["x", None]


def test_bad_rows_leave_no_trace_in_categories():
    text = b"a,t,label\n1,u,x\n2,v,y\ninf,w,x\n3,z,y\n4,u,x\n"
    rows = whole(read(io.BytesIO(text), categories="codes", on_bad_row="skip", inspect_rows=2))
    assert rows.X.tolist() == [[1, 0], [2, 1], [3, 2], [4, 0]]
    rows = whole(read(io.BytesIO(text), categories="frequency", on_bad_row="skip"))
    assert rows.X[:, 1].tolist() == [1.0, 1 / 2, 1 / 3, 2 / 4]


def test_counting_begins_anew_with_each_pass(tmp_path, caplog):
    path = tmp_path / "data.csv"
    path.write_bytes(as_csv({2, 5}, lambda n: ["odd"]))
    stream = read(path, on_bad_row="count")
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert len(whole(stream).y) == N_ROWS - 2
        assert stream.bad_rows.n_rows == 2
        assert [record.getMessage() for record in caplog.records] == [
            f"{path}: 2 bad rows were left out, the first is row 2: 1 values where 3 are expected"
        ]


def test_rows_that_are_skipped_are_not_told_of(caplog):
    stream = read(io.BytesIO(as_csv({2, 5}, lambda n: ["odd"])), on_bad_row="skip")
    with caplog.at_level(logging.WARNING):
        whole(stream)
    assert stream.bad_rows.n_rows == 0
    assert caplog.records == []


def test_only_some_bad_rows_are_remembered():
    bad_rows = BadRows("count")
    for start in (1, 8, 100):
        bad_rows.add([BadRow(start + n, "odd") for n in range(7)], "it")
    assert bad_rows.n_rows == 21
    assert [bad.row for bad in bad_rows.examples] == [*range(1, 8), 8, 9, 10]


def test_a_file_of_bad_rows_alone_is_an_empty_stream():
    text = b"a,b,label\n" + b"1,2\n" * 5
    stream = read(io.BytesIO(text), on_bad_row="count")
    assert list(stream) == []
    assert stream.bad_rows.n_rows == 5


def test_many_bad_rows_are_found_in_time():
    text = b"a,label\n" + b"1,x\n" * 10 + b"odd,x\n" * 20_000 + b"2,x\n"
    stream = read(io.BytesIO(text), on_bad_row="count", inspect_rows=5)
    assert whole(stream).X[-1, 0] == 2.0
    assert stream.bad_rows.n_rows == 20_000
