"""Categories: each way to turn them into numbers against a slow twin, however rows are cut."""

import io
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devfnn.streams import read
from devfnn.streams.files import categories
from devfnn.streams.files.categories import Codes, Frequency, Hashed, OneHot
from plain_files import cut_into, whole

VALUES = st.lists(st.one_of(st.sampled_from("abcdefgh"), st.none()), max_size=40)
CUTS = st.lists(st.integers(0, 40), max_size=5)


def encoded(encoder, values, cuts):
    """Numbers of values that come in pieces, each with a dictionary of its own."""
    blocks = []
    edges = sorted({0, len(values), *(cut for cut in cuts if cut < len(values))})
    for start, stop in zip(edges, [*edges[1:], len(values)], strict=True):
        piece = values[start:stop]
        known = sorted({value for value in piece if value is not None} | {"unused"}, reverse=True)
        codes = np.array([-1 if v is None else known.index(v) for v in piece], np.int64)
        out = np.full((len(piece), len(encoder.names)), 99.0)
        if len(piece):
            encoder.encode(codes, known, out)
        blocks.append(out)
    return np.concatenate(blocks)


@given(VALUES, CUTS, st.integers(1, 6), st.booleans())
def test_one_hot_slots_are_taken_in_the_order_of_appearance(values, cuts, n_slots, is_open):
    known = ["a", "b"][:n_slots]
    slots = {value: slot for slot, value in enumerate(known)}
    expected = np.zeros((len(values), n_slots + is_open))
    for row, value in enumerate(values):
        if value is None:
            continue
        if value not in slots and len(slots) < n_slots:
            slots[value] = len(slots)
        if value in slots:
            expected[row, slots[value]] = 1.0
        elif is_open:
            expected[row, n_slots] = 1.0
    found = encoded(OneHot("x", known, n_slots, is_open), values, cuts)
    np.testing.assert_array_equal(found, expected)


def test_columns_of_one_hot_have_telling_names():
    assert OneHot("x", ["a", "b"], 3, True).names == ("x=a", "x=b", "x#3", "x=other")
    assert OneHot("x", ["a", "b"], 2, False).names == ("x=a", "x=b")


@given(VALUES, CUTS)
def test_frequency_is_the_share_of_rows_so_far_with_the_value(values, cuts):
    expected = [
        np.nan if value is None else values[: row + 1].count(value) / (row + 1)
        for row, value in enumerate(values)
    ]
    np.testing.assert_array_equal(encoded(Frequency("x"), values, cuts)[:, 0], expected)


@given(VALUES, CUTS)
def test_codes_are_numbers_in_the_order_of_appearance(values, cuts):
    numbers = {"c": 0, "a": 1}
    expected = [
        np.nan if value is None else numbers.setdefault(value, len(numbers)) for value in values
    ]
    np.testing.assert_array_equal(encoded(Codes("x", ["c", "a"]), values, cuts)[:, 0], expected)


@given(VALUES, CUTS, st.integers(1, 9))
def test_a_hash_is_one_column_always_the_same_for_a_value(values, cuts, n_buckets):
    found = encoded(Hashed("x", n_buckets), values, cuts)
    columns = {}
    for value, row in zip(values, found, strict=True):
        assert row.sum() == (value is not None)
        if value is not None:
            column = int(row.argmax())
            assert columns.setdefault(value, column) == column


TEXT = b"x,label\n" + b"".join(b"v%d,1\n" % (n % 40) for n in range(80))


def test_a_hash_is_the_same_in_every_process():
    script = (
        "import io, sys; from devfnn.streams import read\n"
        f"stream = read(io.BytesIO({TEXT!r}), categories='hash')\n"
        "print([int(row.argmax()) for chunk in stream for row in chunk.X])"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    here = [int(row.argmax()) for row in whole(read(io.BytesIO(TEXT), categories="hash")).X]
    assert found == [f"{here}\n"] * 2
    assert len(set(here)) > 8


@pytest.mark.parametrize("way", ["onehot", "hash", "frequency", "codes", "auto"])
@pytest.mark.parametrize("n_values", [3, 30])
@pytest.mark.parametrize("inspect_rows", [1, 7, 1000])
def test_rows_do_not_depend_on_how_they_are_cut(way, n_values, inspect_rows):
    numbers = [n * n % n_values for n in range(1, 201)]
    text = b"x,label\n" + b"".join(b"%s,1\n" % (b"v%d" % n if n else b"") for n in numbers)
    options = {"categories": way, "inspect_rows": inspect_rows}
    expected = whole(read(io.BytesIO(text), **options)).X
    assert len(expected) == 200
    for n_bytes in (1, 13, 100):
        with cut_into(n_bytes, 3):
            found = whole(read(io.BytesIO(text), chunk_rows=n_bytes, **options)).X
        np.testing.assert_array_equal(found, expected)


def test_few_values_are_one_hot_and_many_are_frequencies():
    def text(n_values):
        rows = "".join(f"v{n},1\n" for n in range(n_values))
        return io.BytesIO(f"x,label\n{rows}".encode())

    assert read(text(12)).feature_names[-1] == "x=other"
    assert read(text(13)).feature_names == ("x",)
    assert read(text(13), onehot_slots=13).feature_names[0] == "x=v0"


def test_values_that_come_later_find_spare_columns_then_share_one():
    text = b"x,label\n" + b"".join(b"%s,1\n" % value for value in b"a b a c d e f a b c".split())
    stream = read(io.BytesIO(text), inspect_rows=3)
    assert stream.feature_names == ("x=a", "x=b", "x#3", "x#4", "x=other")
    assert [int(row.argmax()) for row in whole(stream).X] == [0, 1, 0, 2, 3, 4, 4, 0, 1, 2]


def test_each_pass_begins_anew(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"x,label\n" + b"".join(b"%s,1\n" % value for value in b"a b c a b".split()))
    for way in ("onehot", "hash", "frequency", "codes"):
        stream = read(path, categories=way, inspect_rows=1)
        np.testing.assert_array_equal(whole(stream).X, whole(stream).X)


def test_a_value_called_other_keeps_its_column():
    stream = read(io.BytesIO(b"x,label\nother,1\nred,0\n"))
    assert stream.feature_names == ("x=other", "x=red", "x#3", "x#4", "x=other*")
    assert len(set(stream.select(stream.feature_names).feature_names)) == 5


def test_declared_values_have_their_columns_in_order():
    stream = read(io.BytesIO(b"x,label\nb,1\na,0\nz,0\n"), category_values={"x": ["a", "b", "c"]})
    assert stream.feature_names == ("x=a", "x=b", "x=c")
    assert whole(stream).X.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_a_missing_category_is_zero_everywhere_or_missing():
    text = b"x,label\na,1\n,0\nb,0\n"
    assert whole(read(io.BytesIO(text))).X[1].tolist() == [0.0] * 5
    assert whole(read(io.BytesIO(text), categories="hash")).X[1].sum() == 0.0
    for way in ("frequency", "codes"):
        assert np.isnan(whole(read(io.BytesIO(text), categories=way)).X[1, 0])


def test_a_million_values_take_bounded_memory():
    encoders = [Codes("x", []), Frequency("x"), OneHot("x", [], 12, True), Hashed("x", 16)]

    def feed(start):
        values = [f"value {n}" for n in range(start, start + 20_000)]
        for encoder in encoders:
            encoder.encode(np.arange(20_000), values, np.empty((20_000, len(encoder.names))))

    for block in range(5):  # all counters and codes are taken
        feed(block * 20_000)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for block in range(5, 10):
        feed(block * 20_000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 100_000


def test_codes_beyond_the_last_one_share_it(monkeypatch):
    monkeypatch.setattr(categories, "MOST_CODES", 3)
    found = encoded(Codes("x", []), list("abcdea"), [2])
    assert found[:, 0].tolist() == [0, 1, 2, 2, 2, 0]
