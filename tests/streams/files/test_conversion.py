"""Categories, timestamps and gaps as numbers."""

import datetime
import io
import math
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from devfnn.errors import InputError
from devfnn.streams import read
from devfnn.streams.files import conversion
from devfnn.streams.files.conversion import (
    Frequency,
    Hashed,
    MeanFiller,
    Numbered,
    cyclic_features,
    one_hot,
)
from plain_files import EPOCH, cut_into, whole

VALUES = st.lists(st.one_of(st.sampled_from("abcdefgh"), st.none()), max_size=40)
CUTS = st.lists(st.integers(0, 40), max_size=5)
CYCLES = tuple(f"when_{each}_{part}" for each in ("day", "week", "year") for part in ("sin", "cos"))


def hashed(n_buckets):
    return Hashed(tuple(f"x%{bucket}" for bucket in range(n_buckets)))


def numbered(known):
    return Numbered(("x",), known, conversion.MOST_CODES, conversion.MOST_CODES - 1)


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
    found = encoded(one_hot("x", known, n_slots, is_open), values, cuts)
    np.testing.assert_array_equal(found, expected)


def test_columns_of_one_hot_have_telling_names():
    assert one_hot("x", ["a", "b"], 3, True).names == ("x=a", "x=b", "x#3", "x=other")
    assert one_hot("x", ["a", "b"], 2, False).names == ("x=a", "x=b")


@given(VALUES, CUTS)
def test_frequency_is_the_share_of_rows_so_far_with_the_value(values, cuts):
    expected = [
        np.nan if value is None else values[: row + 1].count(value) / (row + 1)
        for row, value in enumerate(values)
    ]
    np.testing.assert_array_equal(encoded(Frequency(("x",)), values, cuts)[:, 0], expected)


@given(VALUES, CUTS)
def test_codes_are_numbers_in_the_order_of_appearance(values, cuts):
    numbers = {"c": 0, "a": 1}
    expected = [
        np.nan if value is None else numbers.setdefault(value, len(numbers)) for value in values
    ]
    found = encoded(numbered({"c": 0, "a": 1}), values, cuts)
    np.testing.assert_array_equal(found[:, 0], expected)


@given(VALUES, CUTS, st.integers(1, 9))
def test_a_hash_is_one_column_always_the_same_for_a_value(values, cuts, n_buckets):
    found = encoded(hashed(n_buckets), values, cuts)
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
    own = os.environ.get("PYTHONHASHSEED", "random")
    other = {"PYTHONHASHSEED": "2" if own == "1" else "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | other,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    here = [int(row.argmax()) for row in whole(read(io.BytesIO(TEXT), categories="hash")).X]
    assert found == f"{here}\n"
    assert len(set(here)) > 8


@pytest.mark.parametrize("way", ["onehot", "hash", "frequency", "codes", "auto"])
@pytest.mark.parametrize("n_values", [3, 30])
@pytest.mark.parametrize("inspect_rows", [1, 7, 1000])
def test_rows_do_not_depend_on_how_they_are_cut(way, n_values, inspect_rows):
    numbers = [n * n % n_values for n in range(1, 81)]
    text = b"x,label\n" + b"".join(b"%s,1\n" % (b"v%d" % n if n else b"") for n in numbers)
    options = {"categories": way, "inspect_rows": inspect_rows}
    expected = whole(read(io.BytesIO(text), **options)).X
    assert len(expected) == 80
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


def test_a_missing_category_is_zero_everywhere_or_missing():
    text = b"x,label\na,1\n,0\nb,0\n"
    assert whole(read(io.BytesIO(text))).X[1].tolist() == [0.0] * 5
    assert whole(read(io.BytesIO(text), categories="hash")).X[1].sum() == 0.0
    for way in ("frequency", "codes"):
        assert np.isnan(whole(read(io.BytesIO(text), categories=way)).X[1, 0])


def test_a_million_values_take_bounded_memory():
    encoders = [numbered({}), Frequency(("x",)), one_hot("x", [], 12, True), hashed(16)]

    def feed(start):
        values = [f"value {n}" for n in range(start, start + 10_000)]
        for encoder in encoders:
            encoder.encode(np.arange(10_000), values, np.empty((10_000, len(encoder.names))))

    for block in range(7):  # all counters and codes are taken
        feed(block * 10_000)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for block in range(7, 12):
        feed(block * 10_000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 100_000


def test_codes_beyond_the_last_one_share_it(monkeypatch):
    monkeypatch.setattr(conversion, "MOST_CODES", 3)
    found = encoded(numbered({}), list("abcdea"), [2])
    assert found[:, 0].tolist() == [0, 1, 2, 2, 2, 0]


MOMENTS = st.datetimes(datetime.datetime(1600, 1, 1), datetime.datetime(2400, 1, 1))


@given(MOMENTS)
def test_a_moment_is_where_it_is_in_its_day_and_week(moment):
    features = cyclic_features(np.array([(moment - EPOCH).total_seconds()]))[0]
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    of_day = (moment - midnight).total_seconds() / 86_400.0
    of_week = (moment.weekday() + of_day) / 7.0
    expected = [
        turn(2 * math.pi * share) for share in (of_day, of_week) for turn in (math.sin, math.cos)
    ]
    np.testing.assert_allclose(features[:4], expected, atol=1e-6)


@given(MOMENTS)
def test_a_moment_is_about_where_it_is_in_its_year(moment):
    features = cyclic_features(np.array([(moment - EPOCH).total_seconds()]))[0]
    start = datetime.datetime(moment.year, 1, 1)
    length = datetime.datetime(moment.year + 1, 1, 1) - start
    angle = 2 * math.pi * ((moment - start) / length)
    # The calendar is up to three days off the mean year, within these centuries.
    np.testing.assert_allclose(features[4:], [math.sin(angle), math.cos(angle)], atol=0.06)


@given(st.floats(-1e10, 1e10))
def test_every_moment_is_on_three_circles(seconds):
    features = cyclic_features(np.array([seconds]))[0]
    np.testing.assert_allclose(features[0::2] ** 2 + features[1::2] ** 2, 1.0)


def test_a_missing_moment_is_nowhere():
    assert np.isnan(cyclic_features(np.array([np.nan]))).all()


def test_monday_is_where_weeks_begin():
    monday = (datetime.datetime(2024, 1, 1) - EPOCH).total_seconds()
    np.testing.assert_allclose(cyclic_features(np.array([monday]))[0, 2:4], [0.0, 1.0], atol=1e-9)


DATES = b"when,n,label\n2024-01-01 06:00:00,1,x\n2024-01-01 18:00:00,2,y\n,3,x\n"


def test_a_column_of_timestamps_becomes_six_features():
    stream = read(io.BytesIO(DATES), cyclic=["when"])
    assert stream.feature_names == (*CYCLES, "n")
    rows = whole(stream).X
    np.testing.assert_allclose(rows[:2, 0], [1.0, -1.0])
    assert np.isnan(rows[2, :6]).all()
    assert rows[:, 6].tolist() == [1.0, 2.0, 3.0]


def test_the_time_can_be_cyclic_too():
    stream = read(io.BytesIO(DATES[:-6]), cyclic=[0], time="when")
    assert stream.feature_names == ("n", *CYCLES)
    rows = whole(stream)
    np.testing.assert_allclose(rows.X[:, 1], [1.0, -1.0])
    assert rows.times.astype("M8[h]").astype(str).tolist() == ["2024-01-01T06", "2024-01-01T18"]


def test_other_timestamps_are_seconds():
    rows = whole(read(io.BytesIO(DATES))).X
    start = (datetime.datetime(2024, 1, 1, 6) - EPOCH).total_seconds()
    np.testing.assert_array_equal(rows[:, 0], [start, start + 12 * 3600.0, np.nan])


def test_what_is_no_timestamp_cannot_be_cyclic():
    with pytest.raises(InputError, match="'n' holds no timestamps, so it cannot be cyclic"):
        read(io.BytesIO(DATES), cyclic=["n"])
    with pytest.raises(InputError, match="the label 'when' cannot be left out, or be a feature"):
        read(io.BytesIO(DATES), label="when", cyclic=["when"])


@pytest.mark.parametrize("zone", ["Z", "+00:00", "-0500", "+05:30"])
def test_moments_with_a_zone_are_the_moments_they_name(zone):
    text = f"when,label\n2024-06-01T12:00:00{zone},x\n2024-06-01T12:00:00.5{zone},y\n"
    hours = {"Z": 0.0, "+00:00": 0.0, "-0500": 5.0, "+05:30": -5.5}[zone]
    noon = (datetime.datetime(2024, 6, 1, 12) - EPOCH).total_seconds()
    rows = whole(read(io.BytesIO(text.encode())))
    assert rows.X[:, 0].tolist() == [noon + 3600 * hours, noon + 3600 * hours + 0.5]


MATRICES = hnp.arrays(
    float,
    st.tuples(st.integers(0, 25), st.integers(1, 3)),
    elements=st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)),
)


def filled_slowly(X):
    """Row by row, value by value."""
    out = X.copy()
    for column in range(X.shape[1]):
        total, count = 0.0, 0
        for row in range(len(X)):
            if np.isnan(X[row, column]):
                out[row, column] = total / count if count else 0.0
            else:
                total, count = total + X[row, column], count + 1
    return out


@given(MATRICES, st.lists(st.integers(0, 25), max_size=4))
def test_gaps_are_the_mean_of_what_came_before_however_rows_are_cut(X, cuts):
    filler = MeanFiller()
    blocks = [block.copy() for block in np.split(X, sorted(cut for cut in cuts if cut <= len(X)))]
    for block in blocks:
        filler.fill(block)
    np.testing.assert_array_equal(np.concatenate(blocks), filled_slowly(X))


def test_gaps_of_a_file_are_filled(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b,label\n,1,x\n4,,y\n,2.5,x\n8,,y\n,,x\n")
    expected = [[0.0, 1.0], [4.0, 1.0], [4.0, 2.5], [8.0, 1.75], [6.0, 1.75]]
    for n_bytes in (1, 9, 1000):
        with cut_into(n_bytes, 3):
            stream = read(path, missing="mean")
            assert whole(stream).X.tolist() == expected
            assert whole(stream).X.tolist() == expected


def test_bad_rows_do_not_move_the_mean():
    text = b"a,b,label\n1,1,x\n100,inf,y\n,1,x\n"
    rows = whole(read(io.BytesIO(text), missing="mean", on_bad_row="skip"))
    assert rows.X.tolist() == [[1.0, 1.0], [1.0, 1.0]]
