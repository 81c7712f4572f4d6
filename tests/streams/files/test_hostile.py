"""Files that are broken, cut off or made to do harm: an error that helps, at once, or the truth."""

import gzip
import io
import pickle
import random
import struct
import zipfile
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.errors import DataError, InputError
from devfnn.streams import read
from devfnn.streams.files import content as content_module
from devfnn.streams.files import splitting
from plain_files import (
    Table,
    arff_bytes,
    arrow_bytes,
    csv_bytes,
    cut_into,
    jsonlines_bytes,
    npz_bytes,
    parquet_bytes,
    whole,
)

TABLE = Table(
    {"number0": "number", "text1": "text"},
    [{"number0": n / 4, "text1": f"t{n % 7}", "label": "ab"[n % 2]} for n in range(300)],
)
FILES = {
    "csv": csv_bytes(TABLE),
    "csv.gz": gzip.compress(csv_bytes(TABLE)),
    "jsonlines": jsonlines_bytes(TABLE),
    "arff": arff_bytes(TABLE),
    "parquet": parquet_bytes(TABLE),
    "arrow": arrow_bytes(TABLE),
    "arrow stream": arrow_bytes(TABLE, is_file=False),
    "npz": npz_bytes(X=np.arange(600.0).reshape(300, 2), y=np.arange(300) % 2),
}


def try_to_read(content: bytes, **options) -> int | None:
    """How many rows a file has; None if it was refused as it should be."""
    try:
        return sum(len(chunk.y) for chunk in read(io.BytesIO(content), **options))
    except (DataError, InputError) as error:
        assert len(str(error)) > 10
        return None


# ---- damaged files


@pytest.mark.parametrize("kind", ["csv.gz", "parquet", "arrow", "npz"])
def test_a_file_that_is_cut_off_is_refused(kind):
    content = FILES[kind]
    for share in (0.1, 0.5, 0.9):
        assert try_to_read(content[: int(len(content) * share)]) is None
    assert try_to_read(content[:-5]) is None
    assert try_to_read(content) == 300


def test_an_arrow_stream_that_is_cut_off_gives_whole_batches_or_is_refused():
    content = FILES["arrow stream"]
    for end in range(0, len(content), 97):
        n_rows = try_to_read(content[:end])
        assert n_rows is None or n_rows % 7 == 0 or n_rows == 300


@pytest.mark.parametrize("kind", FILES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**9), n_changes=st.integers(1, 20))
def test_damaged_bytes_are_refused_or_read_but_nothing_worse(kind, seed, n_changes):
    rng = random.Random(seed)
    content = bytearray(FILES[kind])
    for _ in range(n_changes):
        content[rng.randrange(len(content))] = rng.randrange(256)
    for policy in ("error", "skip"):
        try_to_read(bytes(content), on_bad_row=policy)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=300))
def test_bytes_of_any_kind_are_refused_or_read_but_nothing_worse(content):
    for kind in (None, "csv", "arff", "jsonlines", "parquet", "arrow", "npz"):
        try_to_read(content, format=kind)


def test_zeros_and_noise_are_refused():
    assert try_to_read(bytes(5000)) is None
    assert try_to_read(np.random.default_rng(3).bytes(100_000)) is None


def test_an_arrow_file_that_lies_about_its_texts_is_refused():
    table = pa.table({"t": ["abc", "def"], "label": [0, 1]})
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    offsets = struct.pack("<3i", 0, 3, 6)
    assert out.getvalue().count(offsets) == 1
    for lie in ((0, 3, 2**30), (0, -5, 6), (6, 3, 0)):
        content = out.getvalue().replace(offsets, struct.pack("<3i", *lie))
        assert try_to_read(content) is None


# ---- archives


def archive_of(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return out.getvalue()


def npy(array) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), allow_pickle=True)
    return out.getvalue()


def npy_that_says(shape, descr="<f8", data=b"", order=False) -> bytes:
    out = io.BytesIO()
    header = {"descr": descr, "fortran_order": order, "shape": shape}
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue() + data


class Harm:
    """Something that would be noticed if it were unpickled."""

    done: ClassVar[list[str]] = []

    def __reduce__(self):
        return Harm.done.append, ("harm",)


GOOD = {"X": npy(np.zeros((3, 2))), "y": npy([0, 1, 0])}


def refused_archive(**members: bytes) -> None:
    with pytest.raises(DataError, match=r"cannot be read as NPZ|no array 'X'"):
        whole(read(io.BytesIO(archive_of(**members))))


def test_objects_are_never_unpickled():
    objects = npy(np.array([Harm(), Harm(), Harm()], object))
    for name in ("X", "y", "feature_names"):
        refused_archive(**GOOD | {name: objects})
    refused_archive(**GOOD | {"y": pickle.dumps(Harm())})
    assert Harm.done == []


@pytest.mark.parametrize(
    "shape",
    [(10**12, 2), (3, 10**12), (0, 10**12), (2**62, 2**62), (-3, 2), (3, -2), (3, 3)],
)
@pytest.mark.parametrize("order", [False, True])
def test_a_shape_that_is_not_that_of_the_data_is_refused(shape, order):
    refused_archive(**GOOD | {"X": npy_that_says(shape, data=bytes(48), order=order)})


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': False}",
        b"{'descr': 'nonsense', 'fortran_order': False, 'shape': (3, 2)}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': 'x'}",
        b"__import__('os').getcwd()",
        b"(" * 5000,
        b" " * 50_000,
        b"\xff\xfe",
        b"",
    ],
)
def test_a_header_that_is_not_one_is_refused(header):
    for version, size in ((b"\x01\x00", "<H"), (b"\x02\x00", "<I"), (b"\x03\x00", "<I")):
        member = b"\x93NUMPY" + version + struct.pack(size, len(header)) + header + bytes(48)
        refused_archive(**GOOD | {"X": member})


def test_an_archive_that_is_something_else_is_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("data.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match=r"a zip archive without \.npy arrays is no NPZ"):
        read(io.BytesIO(out.getvalue()))
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    with pytest.raises(DataError, match=r"without \.npy arrays"):
        read(io.BytesIO(empty.getvalue()))


def test_an_archive_with_a_password_is_refused():
    content = bytearray(archive_of(**GOOD))
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.find(magic)
        while start >= 0:
            content[start + place] |= 1
            start = content.find(magic, start + 1)
    with pytest.raises(DataError, match="password"):
        read(io.BytesIO(bytes(content)))


# ---- texts


def test_a_line_of_a_hundred_megabytes_is_refused_early(monkeypatch, tmp_path):
    monkeypatch.setattr(splitting, "LONGEST_LINE", 3_000_000)
    path = tmp_path / "long.csv"
    path.write_bytes(b"a,b,label\n1,2,x\n" + b"x" * 10_000_000)
    with pytest.raises(DataError, match="a line of more than 3,000,000 bytes"):
        whole(read(path))
    rows = b"a,b,label\n" + b"1,2,x\n" * 2000
    path.write_bytes(rows + b'3,4,"' + b"x\n" * 5_000_000)
    with pytest.raises(DataError, match=r"a quote that is never closed\? It begins with '3,4"):
        whole(read(path))
    path.write_bytes(b'a,b,label\n1,2,"' + b"x\n" * 5_000_000)
    with pytest.raises(DataError, match="is there a quote that is never closed"):
        whole(read(path))


def test_a_quote_that_is_never_closed_swallows_nothing():
    """In the last column it would be one long value, and all rows after it lost."""
    text = b"a,b,label\n" + b"1,2,x\n" * 50 + b'3,4,"y\n' + b"5,6,x\n" * 50
    for policy in ("error", "skip", "count"):
        for n_bytes in (10, 100, 10_000):
            with cut_into(n_bytes, 3), pytest.raises(DataError, match="a quote is never closed"):
                whole(read(io.BytesIO(text), on_bad_row=policy, chunk_rows=1))


def test_a_quote_that_is_never_closed_in_the_only_row_is_refused():
    with pytest.raises(DataError, match="a quote is never closed"):
        whole(read(io.BytesIO(b'a,b,label\n1,2,"x\n3,4,y\n')))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "is empty"),
        (b"\n\n\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"a,b,label\n", "has names but no rows"),
        (b"a,b,label", "has names but no rows"),
        (b"a" * 200_000 + b",b\n1,2\n", "no CSV: field larger"),
    ],
)
def test_a_file_without_rows_is_refused(text, reason):
    with pytest.raises(DataError, match=reason):
        read(io.BytesIO(text))


def test_one_row_is_enough():
    for text in (b"a,b,label\n1,2,x", b"a,b,label\r\n1,2,x\r\n", b"\xef\xbb\xbfa,b,label\n1,2,x"):
        rows = whole(read(io.BytesIO(text)))
        assert (rows.X.tolist(), rows.y.tolist()) == ([[1.0, 2.0]], ["x"])


def test_three_thousand_columns_are_read():
    n_columns = 3_000
    header = ",".join(f"c{n}" for n in range(n_columns)) + ",label\n"
    rows = [",".join(str(n + row) for n in range(n_columns)) + ",x\n" for row in range(3)]
    found = whole(read(io.BytesIO((header + "".join(rows)).encode())))
    expected = np.arange(n_columns) + np.arange(3)[:, None]
    np.testing.assert_array_equal(found.X, expected)


LATIN = "a,t,label\n" + "1,u,x\n" * 20 + "2,süß,y\n" + "3,v,x\n" * 5


def test_text_that_is_not_utf8_is_refused_with_advice():
    with pytest.raises(DataError, match=r"is not utf-8; .* encoding='latin-1'"):
        read(io.BytesIO(LATIN.encode("latin-1")))
    stream = read(io.BytesIO(LATIN.encode("latin-1")), encoding="latin-1")
    assert "t=süß" in stream.feature_names


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8"])
@pytest.mark.parametrize("n_bytes", [1, 3, 1000])
def test_rows_begin_after_names_of_other_letters_in_any_encoding(encoding, n_bytes):
    text = "größe,läbel\n1,x\n2,y\n3,x\n".encode(encoding)
    with cut_into(n_bytes, 3):
        rows = whole(read(io.BytesIO(text), encoding=encoding))
    assert (rows.X[:, 0].tolist(), rows.y.tolist()) == ([1.0, 2.0, 3.0], ["x", "y", "x"])


def test_names_that_are_not_utf8_are_refused_whatever_becomes_of_bad_rows():
    with pytest.raises(DataError, match="is not utf-8"):
        read(io.BytesIO("größe,label\n1,x\n".encode("latin-1")), on_bad_row="skip")


def test_text_that_is_not_in_the_encoding_is_refused():
    with pytest.raises(DataError, match="is not ascii"):
        whole(read(io.BytesIO(LATIN.encode()), encoding="ascii"))
    with pytest.raises(DataError, match="is not utf-16"):
        whole(read(io.BytesIO(LATIN.encode("utf-16")[:-1]), encoding="utf-16"))
    late = ("a,label\n" + "1,x\n" * 300_000).encode() + b"\xff,y\n"
    with pytest.raises(DataError, match="is not ascii"):
        whole(read(io.BytesIO(late), encoding="ascii"))


@pytest.mark.parametrize("policy", ["error", "skip", "count"])
def test_bytes_that_are_no_text_later_are_refused_whatever_becomes_of_bad_rows(policy, monkeypatch):
    monkeypatch.setattr(content_module, "HEAD_BYTES", 50)
    with cut_into(20, 3):
        stream = read(io.BytesIO(LATIN.encode("latin-1")), on_bad_row=policy, chunk_rows=1)
        seen = 0
        with pytest.raises(DataError, match=r"is not utf-8; .* encoding='latin-1'"):
            for _ in stream:
                seen += 1
    assert 10 < seen < 21


def test_nul_characters_are_values_that_do_not_fit():
    text = b"a,b,label\n" + b"1,2,x\n" * 1000 + b"1\x00,2,x\n3,4,y\n"
    with pytest.raises(DataError, match=r"row 1001: '1.x00' in column 'a' is no number"):
        whole(read(io.BytesIO(text)))
    assert len(whole(read(io.BytesIO(text), on_bad_row="skip")).y) == 1001


def test_numbers_too_large_for_a_float_are_infinite_and_bad():
    for value in ("1e999", "-1e999", "inf", "-Infinity"):
        text = f"a,b,label\n1,2,x\n{value},4,y\n".encode()
        with pytest.raises(DataError, match="row 2: a value is infinite"):
            whole(read(io.BytesIO(text)))


def test_large_whole_numbers_are_rounded_to_the_nearest_float():
    for number in (2**53 + 1, 2**63, 2**64 + 1, 10**30, -(10**300)):
        rows = whole(read(io.BytesIO(f"a,label\n{number},x\n1,y\n".encode())))
        assert rows.X[0, 0] == float(number)


def test_numbers_of_other_languages_are_texts_or_bad_but_not_other_numbers():
    for value in ("1_000", "1.2.3", "1 000", "١٢", "0b1"):
        text = f"a,label\n1,x\n2,y\n{value},x\n".encode()
        with pytest.raises(DataError, match="row 3: "):
            whole(read(io.BytesIO(text), inspect_rows=2))


@pytest.mark.parametrize("date", ["0001-01-01", "9999-12-31", "1600-02-29"])
def test_dates_far_out_are_seconds(date):
    text = f"when,label\n{date},x\n1970-01-02,y\n".encode()
    days = (np.datetime64(date) - np.datetime64("1970-01-01")).astype(int)
    assert whole(read(io.BytesIO(text))).X[:, 0].tolist() == [days * 86400.0, 86400.0]


@pytest.mark.parametrize("date", ["2021-02-29", "2021-13-01", "10000-01-01", "yesterday"])
def test_dates_that_there_are_not_are_bad(date):
    text = f"when,label\n2020-01-01,x\n{date},y\n".encode()
    with pytest.raises(DataError, match=f"row 2: '{date}' in column 'when' is no date"):
        whole(read(io.BytesIO(text), inspect_rows=1))


def test_a_parquet_file_with_a_wrong_footer_is_refused():
    out = io.BytesIO()
    pq.write_table(pa.table({"a": [1.0], "label": [0]}), out)
    content = out.getvalue()
    for footer in (0, 3, 10**6, 2**31 - 1):
        assert try_to_read(content[:-8] + struct.pack("<I", footer) + b"PAR1") is None
