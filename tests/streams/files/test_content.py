"""The bytes of files and content: unpacked, looked at, and read once or again."""

import bz2
import gzip
import io
import lzma
import os
import pathlib
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

from devfnn.errors import DataError, InputError
from devfnn.streams import read
from devfnn.streams.files import content
from devfnn.streams.files.content import Content, format_of
from plain_files import npz_bytes, whole

PACKED = {
    "plain": bytes,
    "gzip": gzip.compress,
    "two gzips": lambda raw: gzip.compress(raw[:100]) + gzip.compress(raw[100:]),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda raw: pa.compress(raw, "zstd", asbytes=True),
}
TEXT = b"a,b,label\n" + b"".join(b"%d,%d,%d\n" % (n, n * n, n % 3) for n in range(2000))
ROWS = [[float(n), float(n * n)] for n in range(2000)]


@pytest.mark.parametrize("packing", PACKED)
def test_packed_files_are_unpacked(tmp_path, packing):
    path = tmp_path / "data.bin"
    path.write_bytes(PACKED[packing](TEXT))
    stream = read(path)
    assert whole(stream).X.tolist() == ROWS
    assert whole(stream).X.tolist() == ROWS


@pytest.mark.parametrize("packing", PACKED)
def test_packed_bytes_of_a_pipe_are_unpacked(packing):
    assert whole(read(io.BytesIO(PACKED[packing](TEXT)))).X.tolist() == ROWS


@pytest.mark.parametrize("packing", PACKED)
def test_packed_formats_that_need_jumps_are_unpacked(tmp_path, packing):
    X = np.arange(600.0).reshape(200, 3)
    raw = PACKED[packing](npz_bytes(X=X, y=np.arange(200) % 2))
    (tmp_path / "data.npz.packed").write_bytes(raw)
    stream = read(tmp_path / "data.npz.packed")
    for _ in range(2):
        np.testing.assert_array_equal(whole(stream).X, X)
    np.testing.assert_array_equal(whole(read(io.BytesIO(raw))).X, X)


def test_a_copy_on_disk_goes_with_the_stream(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stream = read(io.BytesIO(npz_bytes(X=np.eye(3), y=np.arange(3))))
    assert len(list(tmp_path.iterdir())) == 1
    assert len(whole(stream).y) == 3
    del stream
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("packing", ["gzip", "bzip2", "xz", "zstd"])
@pytest.mark.parametrize("is_path", [True, False])
def test_a_packed_file_that_is_cut_off_is_refused(tmp_path, packing, is_path):
    raw = PACKED[packing](TEXT)[:-20]
    path = tmp_path / "data.csv.packed"
    path.write_bytes(raw)
    with pytest.raises(DataError, match="damaged or cut off"):
        whole(read(path if is_path else io.BytesIO(raw)))


def test_rows_before_the_end_of_a_file_that_is_cut_off_are_read(tmp_path):
    text = b"a,b,label\n" + b"".join(b"%d,%d,1\n" % (n, n * 7919 % 10**9) for n in range(150_000))
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(text, 1)[:-20])
    seen = []
    with pytest.raises(DataError, match=r"data\.csv\.gz is damaged or cut off"):
        for chunk in read(path):
            seen.extend(chunk.X[:, 0].tolist())
    assert len(seen) > 50_000
    assert seen == list(range(len(seen)))


@pytest.mark.parametrize("packing", ["gzip", "bzip2", "xz", "zstd"])
def test_damaged_packed_bytes_are_refused(packing):
    raw = bytearray(PACKED[packing](TEXT))
    raw[4 : len(raw) // 2] = b"\xaa" * (len(raw) // 2 - 4)
    with pytest.raises(DataError):
        whole(read(io.BytesIO(bytes(raw))))


def test_a_file_is_closed_after_each_pass(tmp_path):
    """Warnings are errors, and so is a file that is left open."""
    for packing, pack in PACKED.items():
        path = tmp_path / f"{packing}.csv"
        path.write_bytes(pack(TEXT))
        before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
        rows = iter(read(path))
        next(rows)
        del rows
        if before:
            assert len(os.listdir("/proc/self/fd")) <= len(before)


# ---- what a file is


@pytest.mark.parametrize(
    ("head", "name", "kind"),
    [
        (b"PAR1\0\0", "x.csv", "parquet"),
        (b"ARROW1\0\0", "x", "arrow"),
        (b"\xff\xff\xff\xff\x10\0\0\0", "x", "arrow"),
        (b"PK\x03\x04", "x.zip", "npz"),
        (b"  {", "x", "jsonlines"),
        (b"\xef\xbb\xbf{}", "x", "jsonlines"),
        (b"% about\n\n  % more\n@RELATION x", "x.txt", "arff"),
        (b"@attribute a numeric", "x.txt", "arff"),
        (b"a,b", "x.arff", "arff"),
        (b"a,b", "x.JSONL", "jsonlines"),
        (b"@time,b", "x.txt", "csv"),
        (b"a,b", "x", "csv"),
    ],
)
def test_a_format_is_known_by_the_bytes_then_by_the_name(head, name, kind):
    assert format_of(head, name) == kind


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf \r\n\t", "is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "in no format that is known"),
        ("a,b".encode("utf-16"), "encoding='utf-16'"),
        (b'[{"a": 1}]', "one JSON array"),
    ],
)
def test_what_is_no_data_is_refused(head, reason):
    with pytest.raises(DataError, match=reason):
        format_of(head, "x")


def test_a_format_can_be_declared_and_may_be_wrong(tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(b"1,2,x\n3,4,y\n")
    assert len(whole(read(path, format="csv")).y) == 2
    for other in ("arff", "jsonlines", "parquet", "arrow", "npz"):
        with pytest.raises(DataError, match=r"data\.txt"):
            read(path, format=other)
    with pytest.raises(InputError, match="format must be one of"):
        read(path, format="xml")


# ---- paths and content


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        read(tmp_path / "none.csv")
    with pytest.raises(DataError, match="Is a directory"):
        read(str(tmp_path))
    with pytest.raises(InputError, match="a path or an open binary file"):
        read(5)
    with pytest.raises(InputError, match="open it in binary mode"):
        read(io.StringIO("a,b\n1,2\n"))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path):
    path = tmp_path / "secret.csv"
    path.write_bytes(TEXT)
    path.chmod(0)
    with pytest.raises(DataError, match="Permission denied"):
        read(path)


def test_a_file_that_is_gone_at_the_second_pass_is_told_of(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(TEXT)
    stream = read(path)
    assert len(whole(stream).y) == 2000
    path.unlink()
    with pytest.raises(DataError, match="No such file"):
        whole(stream)


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "data.csv").write_bytes(TEXT)
    assert whole(read("~/data.csv")).X.tolist() == ROWS


def test_an_open_file_is_read_from_where_it_is(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"some words before\n" + TEXT)
    with path.open("rb") as file:
        file.readline()
        assert whole(read(file)).X.tolist() == ROWS
        assert not file.closed


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named content")
def test_a_named_pipe_is_read_once_from_its_first_row_on(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(TEXT,))
    writer.start()
    stream = read(path)
    assert whole(stream).X.tolist() == ROWS
    writer.join()
    with pytest.raises(DataError, match="only once"):
        whole(stream)


class Dripping(io.RawIOBase):
    """Bytes that come a few at a time."""

    def __init__(self, raw: bytes, n_bytes: int) -> None:
        self._file, self._n_bytes = io.BytesIO(raw), n_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        some = self._file.read(min(len(buffer), self._n_bytes))
        buffer[: len(some)] = some
        return len(some)


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("n_bytes", [1, 5, 1000])
def test_bytes_that_come_a_few_at_a_time_are_the_same(packing, n_bytes):
    text = TEXT[:2000]
    text = text[: text.rindex(b"\n") + 1]
    n_rows = text.count(b"\n") - 1
    rows = whole(read(Dripping(PACKED[packing](text), n_bytes)))
    assert rows.X.tolist() == ROWS[:n_rows]


def test_what_is_inferred_does_not_depend_on_how_a_pipe_is_cut(tmp_path, monkeypatch):
    """A pipe that is written at once is like a file, though it gives a few bytes at a time."""
    monkeypatch.setattr(content, "HEAD_SECONDS", 30.0)
    values = [f"v{n // 100}" for n in range(900)]
    text = b"text,label\n" + b"".join(
        b"%s,%d\n" % (v.encode(), n % 2) for n, v in enumerate(values)
    )
    path = tmp_path / "data.csv"
    path.write_bytes(text)
    reading_end, writing_end = os.pipe()

    def write() -> None:
        with os.fdopen(writing_end, "wb", buffering=0) as out:
            for start in range(0, len(text), 200):
                out.write(text[start : start + 200])
                time.sleep(0.005)

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(reading_end, "rb") as pipe:
        stream = read(pipe)
        assert stream.feature_names == read(path).feature_names
        np.testing.assert_array_equal(whole(stream).X, whole(read(path)).X)
    writer.join()


def test_a_pipe_that_goes_silent_is_not_waited_for_long(monkeypatch):
    monkeypatch.setattr(content, "HEAD_SECONDS", 0.05)
    reading_end, writing_end = os.pipe()
    with os.fdopen(reading_end, "rb") as pipe, os.fdopen(writing_end, "wb", buffering=0) as out:
        out.write(b"a,label\n1,x\n2,y\n3,")
        rows = iter(read(pipe, chunk_rows=1))
        assert [next(rows).X.tolist() for _ in range(2)] == [[[1.0]], [[2.0]]]
        out.write(b"z\n")
        assert next(rows).y.tolist() == ["z"]


def test_the_head_of_a_pipe_holds_the_header_of_an_arff_file(monkeypatch):
    monkeypatch.setattr(content, "HEAD_SECONDS", 0.05)
    header = (
        "% one\n" * 5 + "@relation r\n" + "@attribute a numeric\n@attribute class {x,y}\n@data\n"
    )
    text = (header + "1,x\n2,y\n").encode()
    rows = whole(read(Dripping(text, 9)))
    assert rows.y.tolist() == ["x", "y"]


def test_a_head_is_kept_for_the_rows():
    content = Content(io.BytesIO(TEXT))
    assert TEXT.startswith(content.head())
    assert content.head() is content.head()
    with content.open() as handle:
        assert handle.read() == TEXT


def test_the_first_lines_of_a_long_file_are_whole(tmp_path):
    path = pathlib.Path(tmp_path / "long.csv")
    path.write_bytes(b"a,label\n" + b"12345,x\n" * 200_000)
    opened = Content(path)
    assert len(opened.head()) == content.HEAD_BYTES
    assert opened.text_head().endswith(b"12345,x\n")
    path.write_bytes(b"x" * 2_000_000)
    with pytest.raises(DataError, match="no line end in its first"):
        Content(path).text_head()
