"""Any file as a stream: every row once and in order, in bounded memory, from files and pipes."""

import gzip
import io
import json
import os
import pathlib
import queue
import select
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.errors import DataError
from devfnn.streams import read
from devfnn.streams.files import content as content_module
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
        for n in range(200)
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


@settings(max_examples=25, deadline=None)
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


@settings(max_examples=15, deadline=None)
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
    with cut_into(100, 20):
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


READING_TWO = """
    import resource, sys
    from devfnn.streams import read
    for path in sys.argv[1:]:
        n_rows = sum(len(chunk.y) for chunk in read(path, label="label"))
        print(n_rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measures in kilobytes, as Linux does")
def test_memory_does_not_grow_with_the_file(tmp_path):
    rows = "".join(f"{n},{n * 0.37:.4f},colour {n % 90},{n % 2}\n" for n in range(20_000)).encode()
    files = {tmp_path / "small.csv": 8, tmp_path / "large.csv": 90}  # 4 and 45 megabytes
    for path, times in files.items():
        path.write_bytes(b"a,b,colour,label\n" + rows * times)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(READING_TWO), *files],
        capture_output=True,
        text=True,
        check=True,
    )
    n_rows, peaks = zip(*(map(int, line.split()) for line in done.stdout.splitlines()), strict=True)
    assert n_rows == (160_000, 1_800_000)
    assert peaks[1] < peaks[0] + 25 * 1024


# ---- standard input


@pytest.fixture
def standard_input(monkeypatch) -> Iterator[io.RawIOBase]:
    """Where to write what standard input, a pipe, is to hold."""
    read_end, write_end = os.pipe()
    with open(read_end) as pipe, open(write_end, "wb", buffering=0) as writer:
        monkeypatch.setattr(sys, "stdin", pipe)
        yield writer


@pytest.mark.parametrize("kind", WRITERS)
def test_standard_input_is_read_in_every_format(kind, standard_input):
    standard_input.write(WRITERS[kind](TABLE))
    standard_input.close()
    stream = read("-", categories="codes", chunk_rows=100)
    assert_reads(stream, TABLE)
    if kind in ("parquet", "arrow"):  # which had to be copied to disk
        assert_reads(stream, TABLE)
        return
    with pytest.raises(DataError, match=r"^standard input can be read only once; save it"):
        next(iter(stream))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "^standard input is empty$"),
        (gzip.compress(csv_bytes(TABLE))[:-9], "standard input is damaged or cut off"),
    ],
    ids=["empty", "damaged"],
)
def test_standard_input_that_is_empty_or_damaged_is_refused(content, reason, standard_input):
    standard_input.write(content)
    standard_input.close()
    with pytest.raises(DataError, match=reason):
        whole(read("-"))


ROW_BY_ROW = """
    import json
    from devfnn.streams import read
    for chunk in read("-", chunk_rows=1):
        print(json.dumps([*chunk.X[0], *chunk.y]), flush=True)
"""


def test_rows_come_out_of_a_process_before_the_writer_has_finished():
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ROW_BY_ROW)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )

    def next_row():
        assert select.select([process.stdout], [], [], 30)[0], "the rows do not come out"
        return json.loads(process.stdout.readline())

    with process:
        process.stdin.write(b"a,label\n1,x\n2,y\n")
        assert [next_row(), next_row()] == [[1.0, "x"], [2.0, "y"]]
        process.stdin.write(b"3,x\n")
        assert next_row() == [3.0, "x"]
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


@pytest.fixture
def next_row(standard_input, monkeypatch) -> Iterator[Callable[[], list[Any]]]:
    """The next row of standard input, that a thread reads; None when the thread has ended."""
    monkeypatch.setattr(content_module, "HEAD_SECONDS", 0.1)
    found: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def give_rows():
        for chunk in read("-", chunk_rows=1):
            found.put([*chunk.X[0], *chunk.y])
        found.put(None)

    thread = threading.Thread(target=give_rows)
    thread.start()
    yield lambda: found.get(timeout=30)
    standard_input.close()
    thread.join()


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
    ids=["csv", "jsonlines", "arff"],
)
def test_rows_come_out_before_the_writer_has_finished(first, second, standard_input, next_row):
    standard_input.write(first)
    assert [next_row(), next_row()] == [[1.0, "x"], [2.0, "y"]]
    standard_input.write(second[:2])
    standard_input.write(second[2:])
    assert next_row() == [3.0, "x"]
    standard_input.close()
    assert next_row() is None


def test_packed_rows_come_out_before_the_writer_has_finished(standard_input, next_row):
    with gzip.open(standard_input, "wb") as out:
        for text in (b"a,label\n1,x\n2,y\n", b"3,x\n", b"4,x\n"):
            out.write(text)
            out.flush()
        assert [next_row()[0] for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]


# ---- the data sets


def files_of(data_dir: pathlib.Path) -> list[pathlib.Path]:
    found = sorted(data_dir.glob("*.npz"))
    if not found:
        pytest.skip("needs .npz files in the folder that DEVFNN_DATA names")
    return found


def test_rows_of_every_data_set_survive_every_format(data_dir, arrays_of, tmp_path):
    for path in files_of(data_dir):
        arrays = arrays_of(path.stem)
        names = [f"f{place}" for place in range(arrays["X"].shape[1])]
        start = len(arrays["y"]) // 3
        X, y = arrays["X"][start : start + 500], arrays["y"][start : start + 500]
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
        pq.write_table(columns, tmp_path / "parquet", row_group_size=150)
        with (
            pa.OSFile(str(tmp_path / "arrow"), "wb") as out,
            pa.ipc.new_file(out, columns.schema) as writer,
        ):
            writer.write_table(columns, max_chunksize=150)
        (tmp_path / "csv").write_text("\n".join([header, *lines]))
        (tmp_path / "arff").write_text(f"@relation r\n{attributes}@data\n" + "\n".join(lines))
        (tmp_path / "jsonlines").write_text("\n".join(map(json.dumps, objects)))
        (tmp_path / "npz").write_bytes(npz_bytes(X=X, y=y))
        for kind in ("csv", "arff", "jsonlines", "parquet", "arrow", "npz"):
            with cut_into(7_000, 100):
                rows = whole(read(tmp_path / kind, chunk_rows=111))
            np.testing.assert_array_equal(rows.X, X, f"{path.name} as {kind}")
            np.testing.assert_array_equal(rows.y, y, f"{path.name} as {kind}")
