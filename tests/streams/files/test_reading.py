"""Any file as a stream: every row once and in order, in bounded memory, from files and pipes."""

import gzip
import io
import json
import pathlib
import select
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.errors import DataError
from devfnn.streams import read
from plain_files import (
    Table,
    arff_bytes,
    arrow_bytes,
    assert_reads,
    csv_bytes,
    cut_into,
    jsonlines_bytes,
    npz_bytes,
    parquet_bytes,
    tables,
    whole,
)

TABLE = Table(
    {"number0": "number", "text1": "text"},
    [
        {"number0": None if n % 11 == 0 else n / 4, "text1": f"t{n * n % 13}", "label": "ab"[n % 2]}
        for n in range(500)
    ],
)
WRITERS = {
    "csv": csv_bytes,
    "csv.gz": lambda table: gzip.compress(csv_bytes(table)),
    "jsonlines": jsonlines_bytes,
    "arff": arff_bytes,
    "parquet": parquet_bytes,
    "arrow": arrow_bytes,
    "arrow stream": lambda table: arrow_bytes(table, is_file=False),
}
OPTIONS = st.fixed_dictionaries(
    {
        "categories": st.sampled_from(["auto", "onehot", "hash", "frequency", "codes"]),
        "missing": st.sampled_from(["keep", "mean", "bad"]),
        "onehot_slots": st.integers(1, 4),
        "on_bad_row": st.just("skip"),
    }
)


@settings(max_examples=40, deadline=None)
@given(table=tables(), options=OPTIONS, n_bytes=st.integers(1, 99), n_rows=st.integers(1, 25))
def test_rows_do_not_depend_on_pieces_and_chunks_whatever_is_asked(table, options, n_bytes, n_rows):
    for write in (csv_bytes, jsonlines_bytes, parquet_bytes):
        stream = read(io.BytesIO(write(table)), chunk_rows=10_000, **options)
        expected = list(stream)
        with cut_into(n_bytes, n_rows):
            other = read(io.BytesIO(write(table)), chunk_rows=n_rows, **options)
            found = list(other)
        assert other.feature_names == stream.feature_names
        assert len(expected) <= 1
        assert [len(chunk.y) for chunk in found[:-1]] == [n_rows] * (len(found) - 1)
        for rows in expected:
            np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in found]), rows.X)
            assert [label for chunk in found for label in chunk.y.tolist()] == rows.y.tolist()
        assert bool(found) == bool(expected)


@settings(max_examples=20, deadline=None)
@given(table=tables(("number", "text", "flag")))
def test_all_formats_say_the_same(table):
    texts = [name for name, kind in table.kinds.items() if kind == "text"]
    streams = {
        kind: read(io.BytesIO(write(table)), categories="onehot", categorical=texts)
        for kind, write in WRITERS.items()
        if kind != "arff"
    }
    first = streams.pop("csv")
    rows = whole(first)
    for kind, stream in streams.items():
        assert stream.feature_names == first.feature_names, kind
        assert stream.classes == first.classes, kind
        others = whole(stream)
        np.testing.assert_array_equal(others.X, rows.X, kind)
        assert others.y.tolist() == rows.y.tolist(), kind


@pytest.mark.parametrize("kind", WRITERS)
def test_a_file_can_be_read_again_and_by_two_at_a_time(kind, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(WRITERS[kind](TABLE))
    with cut_into(200, 20):
        stream = read(path, categories="codes", chunk_rows=7)
        assert_reads(stream, TABLE)
        one, other = iter(stream), iter(stream)
        for first, second in zip(one, other, strict=True):
            np.testing.assert_array_equal(first.X, second.X)
        assert_reads(stream, TABLE)


@pytest.mark.parametrize("kind", WRITERS)
def test_a_pipe_is_read_only_once(kind):
    stream = read(io.BytesIO(WRITERS[kind](TABLE)), categories="codes")
    assert_reads(stream, TABLE)
    if kind in ("parquet", "arrow"):  # which had to be copied to disk
        assert_reads(stream, TABLE)
        return
    with pytest.raises(DataError, match="can be read only once"):
        next(iter(stream))


def test_nothing_is_read_before_it_is_asked_for(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,label\n1,x\n" * 1 + b"2,y\n" * 3)
    stream = read(path)
    path.write_bytes(b"a,label\n7,x\n8,y\n")
    assert whole(stream).X.tolist() == [[7.0], [8.0]]


# ---- threads


def reader_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("devfnn-reader")]


@pytest.fixture
def long_file(tmp_path) -> pathlib.Path:
    path = tmp_path / "long.csv"
    path.write_bytes(b"a,b,label\n" + b"1,2,x\n" * 20_000)
    return path


def test_an_iterator_that_is_closed_early_leaves_no_thread(long_file):
    with cut_into(1000, 100):
        rows = iter(read(long_file, chunk_rows=10))
        next(rows)
        assert reader_threads() != []
        rows.close()
        assert reader_threads() == []


def test_an_iterator_that_is_dropped_leaves_no_thread(long_file):
    with cut_into(1000, 100):
        for _ in read(long_file, chunk_rows=10):
            assert reader_threads() != []
            break
        assert reader_threads() == []
        assert len(whole(read(long_file).take(25)).y) == 25
        assert reader_threads() == []


def test_an_error_leaves_no_thread(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_bytes(b"a,b,label\n" + b"1,2,x\n" * 5000 + b"1,odd,x\n" + b"1,2,x\n" * 5000)
    with cut_into(1000, 100):
        with pytest.raises(DataError, match="row 5001: "):
            whole(read(path))
        assert reader_threads() == []


# ---- memory


def peak_memory(path: pathlib.Path) -> float:
    """Megabytes that a process needs to read a file."""
    script = f"""
        import resource
        from devfnn.streams import read
        n_rows = sum(len(chunk.y) for chunk in read({str(path)!r}, label="label"))
        print(n_rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    n_rows, kilobytes = map(int, done.stdout.split())
    with path.open("rb") as lines:
        assert n_rows == sum(1 for _ in lines) - 1
    return kilobytes / 1024


@pytest.mark.skipif(sys.platform != "linux", reason="measures in kilobytes, as Linux does")
def test_memory_does_not_grow_with_the_file(tmp_path):
    rows = "".join(f"{n},{n * 0.37:.4f},colour {n % 90},{n % 2}\n" for n in range(20_000)).encode()
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    header = b"a,b,colour,label\n"
    small.write_bytes(header + rows * (5_000_000 // len(rows)))
    large.write_bytes(header + rows * (60_000_000 // len(rows)))
    assert peak_memory(large) < peak_memory(small) + 25


# ---- standard input

PRINTING = """
    import json, sys
    from devfnn.streams import read
    try:
        stream = read("-", categories="codes", chunk_rows={chunk_rows})
        for chunk in stream:
            print(json.dumps([chunk.X.tolist(), chunk.y.tolist()]), flush=True)
        next(iter(stream))
        print("read again", flush=True)
    except ValueError as error:
        print(json.dumps(f"{{type(error).__name__}}: {{error}}"), flush=True)
"""


def start_reading(chunk_rows: int) -> subprocess.Popen:
    script = textwrap.dedent(PRINTING.format(chunk_rows=chunk_rows))
    return subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )


def read_from_pipe(content: bytes) -> tuple[list, list, str]:
    """Rows and labels that another process reads from its standard input, and its last words."""
    process = start_reading(100)
    out, _ = process.communicate(content, timeout=60)
    *chunks, last = [
        line if line.startswith(b"read") else json.loads(line) for line in out.splitlines()
    ]
    X = [row for rows, _ in chunks for row in rows]
    return X, [label for _, labels in chunks for label in labels], last


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow stream"])
def test_standard_input_is_read_in_every_format(kind):
    X, y, last = read_from_pipe(WRITERS[kind](TABLE))
    expected, labels = TABLE.expected()
    np.testing.assert_array_equal(X, expected)
    assert y == labels
    if kind == "parquet":
        assert last == b"read again"
    else:
        assert last.startswith("DataError: standard input can be read only once; save it")


def test_standard_input_that_is_empty_or_damaged_is_refused():
    assert read_from_pipe(b"")[2] == "DataError: standard input is empty"
    cut_off = gzip.compress(csv_bytes(TABLE))[:-9]
    assert "standard input is damaged or cut off" in read_from_pipe(cut_off)[2]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (b"a,label\n1,x\n2,y\n", b"3,x\n"),
        (b'{"a": 1, "label": "x"}\n{"a": 2, "label": "y"}\n\n', b'{"a": 3, "label": "x"}\n'),
        (
            b"@relation r\n@attribute a numeric\n@attribute label {x,y}\n@data\n1,x\n2,y\n",
            b"3,x\n",
        ),
    ],
)
def test_rows_come_out_before_the_writer_has_finished(first, second):
    process = start_reading(1)

    def next_row():
        assert select.select([process.stdout], [], [], 30)[0], "the rows do not come out"
        return json.loads(process.stdout.readline())

    with process:
        process.stdin.write(first)
        assert [next_row() for _ in range(2)] == [[[[1.0]], ["x"]], [[[2.0]], ["y"]]]
        process.stdin.write(second[:2])
        process.stdin.write(second[2:])
        assert next_row() == [[[3.0]], ["x"]]
        process.stdin.close()
        assert next_row().startswith("DataError: standard input can be read only once")


def test_packed_rows_come_out_before_the_writer_has_finished():
    process = start_reading(1)
    with process, gzip.open(process.stdin, "wb") as out:
        for number in range(3):
            out.write(b"a,label\n1,x\n2,y\n" if number == 0 else b"%d,x\n" % (number + 2))
            out.flush()
        found = []
        while len(found) < 4:
            assert select.select([process.stdout], [], [], 30)[0], "the rows do not come out"
            found.append(json.loads(process.stdout.readline())[0][0][0])
        assert found == [1.0, 2.0, 3.0, 4.0]
        out.close()
        process.stdin.close()
        process.stdout.read()


# ---- the data sets


def files_of(data_dir: pathlib.Path) -> list[pathlib.Path]:
    found = sorted(data_dir.glob("*.npz"))
    if not found:
        pytest.skip("needs .npz files in the folder that DEVFNN_DATA names")
    return found


def test_rows_of_every_data_set_survive_every_format(data_dir, tmp_path):
    for path in files_of(data_dir):
        with np.load(path) as arrays:
            names = [f"f{place}" for place in range(arrays["X"].shape[1])]
            start = len(arrays["y"]) // 3
            X, y = arrays["X"][start : start + 1500], arrays["y"][start : start + 1500]
        lines = [
            ",".join(map(repr, [*row, label]))
            for row, label in zip(X.tolist(), y.tolist(), strict=True)
        ]
        header = ",".join([*names, "label"])
        attributes = "".join(f"@attribute {name} numeric\n" for name in [*names, "label"])
        objects = [
            dict(zip([*names, "label"], [*row, label], strict=True))
            for row, label in zip(X.tolist(), y.tolist(), strict=True)
        ]
        columns = pa.table({name: X[:, place] for place, name in enumerate(names)} | {"label": y})
        pq.write_table(columns, tmp_path / "parquet", row_group_size=400)
        with (
            pa.OSFile(str(tmp_path / "arrow"), "wb") as out,
            pa.ipc.new_file(out, columns.schema) as writer,
        ):
            writer.write_table(columns, max_chunksize=400)
        (tmp_path / "csv").write_text("\n".join([header, *lines]))
        (tmp_path / "arff").write_text(f"@relation r\n{attributes}@data\n" + "\n".join(lines))
        (tmp_path / "jsonlines").write_text("\n".join(map(json.dumps, objects)))
        (tmp_path / "npz").write_bytes(npz_bytes(X=X, y=y))
        for kind in ("csv", "arff", "jsonlines", "parquet", "arrow", "npz"):
            with cut_into(20_000, 300):
                rows = whole(read(tmp_path / kind, chunk_rows=333))
            np.testing.assert_array_equal(rows.X, X, f"{path.name} as {kind}")
            np.testing.assert_array_equal(rows.y, y, f"{path.name} as {kind}")
