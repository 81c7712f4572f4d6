"""Streams and what can be done to them: against lists of rows, in any order."""

import datetime
import io
import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devfnn.errors import InputError
from devfnn.streams import Stream, concatenate, from_arrays, read, sea
from devfnn.streams.drift import EndlessPositions
from plain_streams import (
    CLOCKS,
    NAMES,
    Endless,
    all_rows,
    numbered,
    numbers_of,
    pieces,
    rows_of,
    table,
    tables,
)

COUNTS = st.integers(0, 40)
SIZES = st.integers(1, 35)
HOUR = datetime.timedelta(hours=1)


def stream_of(n_rows, sizes=(), **facts):
    """A stream of numbered rows with labels 0, 1, 2."""
    source = table(numbered(number % 3 for number in range(n_rows)), sizes, "int")
    return Stream(NAMES, (0, 1, 2), source.blocks, n_rows=n_rows, **facts)


# ---- chunks


@given(source=tables(), chunk_rows=SIZES)
def test_chunks_have_the_asked_size_and_the_last_holds_the_rest(source, chunk_rows):
    chunks = source.stream.chunks(rows=chunk_rows)
    assert [rows_of(chunk) for chunk in chunks] == pieces(source.rows, chunk_rows)


def test_a_stream_that_was_not_cut_comes_in_500_rows():
    assert [len(chunk.y) for chunk in stream_of(1200)] == [500, 500, 200]


SPANS = {"int": 7, "float": 1.75, "date": datetime.timedelta(minutes=70)}


@pytest.mark.parametrize("clock", sorted(SPANS))
@given(data=st.data())
def test_chunks_by_time_are_the_rows_between_whole_multiples(clock, data):
    source = data.draw(tables(clocks=[clock]))
    begin = CLOCKS[clock](0) if clock != "date" else np.datetime64(0, "s")
    span = np.timedelta64(SPANS[clock]) if clock == "date" else SPANS[clock]
    groups = itertools.groupby(source.rows, key=lambda row: (row.time - begin) // span)
    chunks = source.stream.chunks(every=SPANS[clock])
    assert [rows_of(chunk) for chunk in chunks] == [list(group) for _, group in groups]


def test_an_hour_begins_when_it_is_full():
    times = np.array(["2024-05-01T09:59:59", "2024-05-01T10:00", "2024-05-01T10:59"], "M8[s]")
    stream = table(numbered("abc", times)).stream.chunks(every=HOUR)
    assert [chunk.y.tolist() for chunk in stream] == [["a"], ["b", "c"]]
    by_numpy = stream.chunks(every=np.timedelta64(1, "h"))
    assert [chunk.y.tolist() for chunk in by_numpy] == [["a"], ["b", "c"]]


def test_the_last_cut_counts():
    stream = table(numbered("abcd", map(np.int64, [0, 1, 5, 6]))).stream
    assert len(list(stream.chunks(every=5).chunks(rows=1))) == 4
    assert len(list(stream.chunks(rows=1).chunks(every=5))) == 2


# ---- which rows


@given(source=tables(), n_rows=COUNTS, chunk_rows=SIZES)
def test_take_is_the_first_rows_and_skip_the_others(source, n_rows, chunk_rows):
    stream = source.stream.chunks(rows=chunk_rows)
    for changed, rows in [
        (stream.take(n_rows), source.rows[:n_rows]),
        (stream.skip(n_rows), source.rows[n_rows:]),
    ]:
        assert [rows_of(chunk) for chunk in changed] == pieces(rows, chunk_rows)
        assert changed.n_rows == len(rows)
        assert not changed.is_endless


@given(source=tables(max_rows=15), times=st.integers(1, 4), chunk_rows=SIZES)
def test_repeat_is_the_same_rows_again(source, times, chunk_rows):
    repeated = source.stream.repeat(times).chunks(rows=chunk_rows)
    rows = source.rows * times
    assert [rows_of(chunk) for chunk in repeated] == pieces(rows, chunk_rows)
    assert (repeated.n_rows, repeated.is_endless) == (len(rows), False)


def test_a_stream_repeated_for_ever_has_no_end():
    endless = stream_of(4).repeat()
    assert (endless.n_rows, endless.is_endless) == (None, True)
    assert numbers_of(endless.take(10)) == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert endless.take(10).n_rows == 10
    assert endless.repeat(3) is endless
    assert endless.skip(3).is_endless
    assert numbers_of(endless.skip(3).take(3)) == [3, 0, 1]


def test_no_rows_are_no_rows_even_when_repeated_for_ever():
    for nothing in (stream_of(0), stream_of(9).take(0), stream_of(9).skip(9)):
        for stream in (nothing, nothing.repeat(), nothing.repeat(3), nothing.shuffle(5)):
            assert list(stream) == []
            assert (stream.n_rows, stream.is_endless) == (0, False)
        assert list(nothing.delay_labels(rows=3).hide_labels(0.5)) == []
        assert list(nothing.chunks(every=3)) == []


def test_a_stream_whose_size_nobody_knows_stays_one():
    stream = Stream(NAMES, (0, 1, 2), stream_of(10).blocks)
    for changed in (stream.take(5), stream.skip(5), stream.repeat(2), stream.shuffle(3)):
        assert (changed.n_rows, changed.is_endless) == (None, False)
    assert stream.repeat().is_endless
    assert numbers_of(stream.repeat(2)) == [*range(10), *range(10)]


@given(source=tables(), buffer_rows=SIZES, seed=st.integers(0, 3), chunk_rows=SIZES)
def test_shuffling_moves_no_row_out_of_its_buffer(source, buffer_rows, seed, chunk_rows):
    shuffled = source.stream.shuffle(buffer_rows, seed=seed)
    rows = all_rows(shuffled.chunks(rows=chunk_rows))
    assert rows == all_rows(shuffled)
    assert sorted(row.features for row in rows) == [row.features for row in source.rows]
    for place, row in enumerate(rows):
        assert place // buffer_rows == int(row.features[0]) // buffer_rows
        assert row == source.rows[int(row.features[0])]


# ---- features


@given(source=tables(), names=st.permutations(NAMES), n_names=st.integers(1, 3))
def test_selected_features_are_there_in_their_order(source, names, n_names):
    names = names[:n_names]
    selected = source.stream.select(names)
    places = [NAMES.index(name) for name in names]
    expected = [
        row._replace(features=tuple(row.features[p] for p in places)) for row in source.rows
    ]
    assert all_rows(selected) == expected
    assert selected.feature_names == tuple(names)


def test_names_may_come_from_a_generator():
    assert stream_of(3).select(name for name in "ca").feature_names == ("c", "a")


@given(source=tables(), dropped=st.sets(st.sampled_from(NAMES), max_size=2))
def test_dropped_features_are_gone_and_the_others_stay_in_order(source, dropped):
    kept = [name for name in NAMES if name not in dropped]
    stream = source.stream.drop(sorted(dropped))
    assert stream.feature_names == tuple(kept)
    assert all_rows(stream) == all_rows(source.stream.select(kept))


def test_renamed_features_keep_their_places():
    stream = stream_of(3).rename({"a": "b", "b": "a"})
    assert stream.feature_names == ("b", "a", "c")
    assert all_rows(stream) == all_rows(stream_of(3))
    assert all_rows(stream.select(["a"])) == all_rows(stream_of(3).select(["b"]))


# ---- labels


def test_labels_have_new_names_by_a_mapping_or_by_their_order():
    stream = stream_of(4, class_names=("zero", "one", "two"))
    by_order, by_mapping = stream.relabel(["x", "y", 5]), stream.relabel({0: "x", 1: "y", 2: 5})
    for renamed in (by_order, by_mapping):
        assert all_rows(renamed) == [
            row._replace(label=["x", "y", 5][row.label]) for row in all_rows(stream)
        ]
        assert renamed.classes == ("x", "y", 5)
        assert renamed.class_names == ()


def test_classes_can_be_put_together_and_labels_be_made_unknown():
    stream = stream_of(6).relabel({0: 1, 2: None})
    assert stream.classes == (1,)
    assert [row.label for row in all_rows(stream)] == [1, 1, None, 1, 1, None]


LATE = b"a,label\n1,x\n2,y\n3,\n4,x\n5,z\n"


def test_a_file_is_read_once_for_all_its_classes(tmp_path):
    (tmp_path / "late.csv").write_bytes(LATE)
    stream = read(tmp_path / "late.csv", inspect_rows=2)
    assert stream.classes == ("x", "y") and stream.is_open_to_classes
    known = stream.with_all_classes()
    assert known.classes == ("x", "y", "z") and not known.is_open_to_classes
    assert known.with_all_classes() is known
    assert [chunk.y.tolist() for chunk in known] == [chunk.y.tolist() for chunk in stream]


def test_classes_are_those_of_the_stream_that_was_made_of_the_file(tmp_path):
    (tmp_path / "late.csv").write_bytes(LATE)
    stream = read(tmp_path / "late.csv", inspect_rows=2)
    assert stream.take(4).with_all_classes().classes == ("x", "y")
    renamed = stream.relabel({"z": "last", "x": None})
    assert renamed.with_all_classes().classes == ("y", "last")
    other = from_arrays([[1.0]], ["w"], feature_names=["a"])
    assert concatenate([other, stream]).with_all_classes().classes == ("w", "x", "y", "z")


def test_no_classes_are_looked_for_in_a_pipe_or_without_end(tmp_path):
    pipe = read(io.BytesIO(LATE), inspect_rows=2)
    assert pipe.with_all_classes() is pipe
    assert sum(len(chunk.y) for chunk in pipe) == 5
    (tmp_path / "late.csv").write_bytes(LATE)
    endless = read(tmp_path / "late.csv", inspect_rows=2).repeat()
    assert endless.with_all_classes() is endless
    assert endless.take(6).with_all_classes().classes == ("x", "y", "z")


@given(source=tables(), rate=st.floats(0, 1), sizes=st.tuples(SIZES, SIZES))
def test_hidden_labels_are_the_same_whatever_the_chunks(source, rate, sizes):
    hidden = source.stream.hide_labels(rate, seed=5)
    one, other = (all_rows(hidden.chunks(rows=size)) for size in sizes)
    assert one == other
    assert [row[:3] for row in one] == [row[:3] for row in source.rows]


def test_hidden_labels_can_still_be_scored():
    (chunk,) = stream_of(400).hide_labels(0.25, seed=1)
    assert chunk.y.tolist() == [number % 3 for number in range(400)]
    assert 0.2 < np.mean(~chunk.labelled) < 0.3
    (part,) = chunk.labelled_parts()
    assert len(part.y) == chunk.labelled.sum()


def learned(stream):
    """Numbers of the rows that can be learned, by chunk."""
    return [numbers_of(chunk.labelled_parts()) for chunk in stream]


def test_delayed_labels_come_with_later_chunks_and_the_rest_at_the_end():
    stream = stream_of(10).chunks(rows=4)
    assert learned(stream.delay_labels(rows=3)) == [[0], [1, 2, 3, 4], [5, 6], [7, 8, 9]]
    assert learned(stream.delay_labels(rows=100)) == [[], [], [], [*range(10)]]
    assert learned(stream.delay_labels(rows=0)) == learned(stream)


@pytest.mark.parametrize(
    ("clock", "delay", "nothing"),
    [("int", 6, 0), ("float", 1.5, 0.0), ("date", HOUR, datetime.timedelta(0))],
)
def test_labels_can_be_delayed_by_the_clock(clock, delay, nothing):
    times = [CLOCKS[clock](tick) for tick in (0, 3, 6, 20, 21, 26)]
    stream = table(numbered("abcdef", times), [4]).stream.chunks(rows=3)
    assert learned(stream.delay_labels(time=delay)) == [[0], [1, 2, 3], [4, 5]]
    assert learned(stream.delay_labels(time=nothing)) == learned(stream)


def test_the_last_delay_counts():
    stream = table(numbered("abcd", map(np.int64, [0, 5, 10, 15]))).stream.chunks(rows=1)
    twice = stream.delay_labels(time=10).delay_labels(rows=1)
    assert learned(twice) == [[], [0], [1], [2], [3]]
    twice = stream.delay_labels(rows=1).delay_labels(time=10)
    assert learned(twice) == [[], [], [0], [1], [2, 3]]


CHANGES = {
    "hide": lambda stream: stream.hide_labels(0.4, seed=2),
    "take": lambda stream: stream.take(17),
    "cut": lambda stream: stream.chunks(rows=4),
    "delay": lambda stream: stream.delay_labels(rows=6),
    "rename": lambda stream: stream.relabel(["zero", "one", "two"]),
    "select": lambda stream: stream.select(["c", "a"]),
}


@pytest.mark.parametrize("order", list(itertools.permutations(CHANGES, 6))[::29])
def test_changes_can_be_put_in_any_order(order):
    def outcome_of(names):
        stream = stream_of(40, [3, 0, 9, 20])
        for name in names:
            stream = CHANGES[name](stream)
        chunks = [(rows_of(chunk), all_rows(chunk.labelled_parts())) for chunk in stream]
        return chunks, stream.n_rows, stream.classes, stream.feature_names

    assert outcome_of(order) == outcome_of(CHANGES)


def test_the_label_of_a_row_that_was_not_taken_never_comes():
    stream = stream_of(20).chunks(rows=4).delay_labels(rows=3).take(6)
    assert sorted(itertools.chain(*learned(stream))) == [*range(6)]
    assert [len(chunk.y) for chunk in stream] == [4, 2, 0]


# ---- drift positions


def test_drift_positions_follow_the_rows():
    stream = stream_of(100, drift_positions=(30, 60))
    assert stream.take(60).drift_positions == (30,)
    assert stream.take(61).drift_positions == (30, 60)
    assert stream.skip(30).drift_positions == (30,)
    assert stream.skip(29).drift_positions == (1, 31)
    assert stream.repeat(2).drift_positions == (30, 60, 100, 130, 160)
    assert stream.repeat().take(201).drift_positions == (30, 60, 100, 130, 160, 200)
    assert stream.repeat().skip(130).take(131).drift_positions == (30, 70, 100, 130)
    assert stream.skip(60).repeat(2).drift_positions == ()
    for same in (stream.shuffle(5), stream.hide_labels(0.5), stream.select(["a"])):
        assert same.drift_positions == (30, 60)


def test_an_endless_stream_has_drifts_without_end():
    stream = sea(rows_per_concept=100)
    assert isinstance(stream.skip(150).drift_positions, EndlessPositions)
    assert list(itertools.islice(stream.skip(150).drift_positions, 3)) == [50, 150, 250]
    assert stream.skip(150).take(151).drift_positions == (50, 150)
    assert stream.take(250).repeat(2).drift_positions == (100, 200, 250, 350, 450)


# ---- laziness

BLOCK = 10


@pytest.mark.parametrize(
    ("change", "n_read"),
    [
        (lambda stream: stream, 1),
        (lambda stream: stream.chunks(rows=21), 3),
        (lambda stream: stream.chunks(every=5), 1),
        (lambda stream: stream.chunks(every=10), 2),
        (lambda stream: stream.take(3), 1),
        (lambda stream: stream.take(1000), 1),
        (lambda stream: stream.skip(20), 3),
        (lambda stream: stream.repeat(2), 1),
        (lambda stream: stream.shuffle(20), 2),
        (lambda stream: stream.select(["a"]), 1),
        (lambda stream: stream.drop(["a"]), 1),
        (lambda stream: stream.rename({"a": "x"}), 1),
        (lambda stream: stream.relabel([5, 6]), 1),
        (lambda stream: stream.hide_labels(0.5), 1),
        (lambda stream: stream.delay_labels(rows=30), 1),
        (lambda stream: stream.delay_labels(time=30), 1),
    ],
)
def test_nothing_is_read_before_it_is_needed_or_held_after_it(change, n_read):
    source = Endless(BLOCK)
    stream = change(source.stream(chunk_rows=BLOCK))
    chunks = iter(stream)
    assert source.n_read == 0
    next(chunks)
    assert source.n_read == n_read
    for _ in itertools.islice(chunks, 40):
        assert source.n_alive() <= 5


def test_a_stream_starts_anew_when_iterated_again_and_two_at_once_do_not_meet():
    stream = stream_of(60).shuffle(9).hide_labels(0.5).delay_labels(rows=4).chunks(rows=7)
    passes = [[(rows_of(c), all_rows(c.labelled_parts())) for c in stream] for _ in range(2)]
    assert passes[0] == passes[1]
    for one, other in zip(stream, stream, strict=True):
        assert rows_of(one) == rows_of(other)


# ---- refusals

WITH_TIMES = table(numbered("ab", map(np.int64, [0, 1]))).stream
WITH_DATES = table(numbered("ab", map(CLOCKS["date"], [0, 1]))).stream


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda s: s.chunks(), "chunks takes rows or every, one of them"),
        (lambda s: s.chunks(5, every=5), "chunks takes rows or every, one of them"),
        (lambda s: s.chunks(rows=0), "rows must be a whole number from 1 on, not 0"),
        (lambda s: s.chunks(rows=2.5), "rows must be a whole number from 1 on, not 2.5"),
        (lambda s: s.chunks(every=0), "every must be a duration above zero, not 0"),
        (lambda s: s.chunks(every="1h"), "every must be a duration above zero, not '1h'"),
        (lambda s: s.chunks(every=-HOUR), "every must be a duration above zero"),
        (lambda s: s.take(-1), "n_rows must be a whole number from 0 on, not -1"),
        (lambda s: s.take("5"), "n_rows must be a whole number from 0 on"),
        (lambda s: s.skip(-1), "n_rows must be a whole number from 0 on, not -1"),
        (lambda s: s.repeat(0), "times must be a whole number from 1 on, not 0"),
        (lambda s: s.shuffle(0), "buffer_rows must be a whole number from 1 on, not 0"),
        (lambda s: s.shuffle(5, seed=-1), "seed must be a whole number from 0 on, not -1"),
        (lambda s: s.select(["x"]), "there is no feature 'x'; the stream has a, b, c"),
        (lambda s: s.select([]), "select takes one or more names, each of them once"),
        (lambda s: s.select(["a", "a"]), "select takes one or more names, each of them once"),
        (lambda s: s.drop(["x"]), "there is no feature 'x'"),
        (lambda s: s.drop(["a", "b", "c"]), "drop would leave no feature"),
        (lambda s: s.rename({"x": "y"}), "there is no feature 'x'"),
        (lambda s: s.rename({"a": "b"}), "rename would give two features the same name"),
        (lambda s: s.relabel(["one", "two"]), "relabel needs 3 names, not 2"),
        (lambda s: s.hide_labels(1.5), "rate must be between 0 and 1, not 1.5"),
        (
            lambda s: s.hide_labels(float("nan")),
            "rate must be between 0 and 1",
        ),
        (lambda s: s.hide_labels(0.5, seed=0.5), "seed must be a whole number from 0 on"),
        (lambda s: s.delay_labels(), "delay_labels takes rows or time, one of them"),
        (lambda s: s.delay_labels(5, time=5), "delay_labels takes rows or time, one of them"),
        (lambda s: s.delay_labels(rows=-1), "rows must be a whole number from 0 on, not -1"),
        (lambda s: s.delay_labels(time=-1), "time must be a duration from zero on, not -1"),
        (lambda s: s.delay_labels(time=float("inf")), "time must be a duration"),
        (lambda s: Stream(NAMES, (), s.blocks, chunk_rows=0), "chunk_rows must be a whole number"),
    ],
)
def test_bad_values_are_refused_at_once(bad, message):
    with pytest.raises(InputError, match=message):
        bad(stream_of(5))


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (stream_of(5).chunks(every=5), "every needs a stream with times"),
        (WITH_TIMES.chunks(every=HOUR), "every must be a number, as the stream's times are int64"),
        (WITH_DATES.chunks(every=5), "every must be a timedelta, as the stream's times are date"),
        (stream_of(5).delay_labels(time=5), "time needs a stream with times"),
        (WITH_TIMES.delay_labels(time=HOUR), "time must be a number, as the stream's times are"),
        (WITH_DATES.delay_labels(time=5), "time must be a timedelta, as the stream's times are"),
    ],
)
def test_what_does_not_fit_the_clock_is_refused_with_the_first_row(stream, message):
    with pytest.raises(InputError, match=message):
        list(stream)


def test_a_single_name_is_not_a_list_of_names():
    with pytest.raises(InputError, match="select takes a list of names, not 'f1'"):
        sea(10).select("f1")


class Frame:
    """A table as pandas and polars have them: named columns, and an array inside."""

    columns = ("a", "b")

    def __array__(self, dtype=None, copy=None):
        return np.array([[1, 2], [3, 4]], dtype)


def test_rows_and_labels_come_in_order():
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 3
    chunks = list(from_arrays(X, y, chunk_rows=4))
    assert [len(chunk.y) for chunk in chunks] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), X)
    np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), y)


def test_names_come_from_the_table_or_are_given():
    assert from_arrays(Frame(), [0, 1]).feature_names == ("a", "b")
    assert from_arrays(Frame(), [0, 1], feature_names=["c", "d"]).feature_names == ("c", "d")


@pytest.mark.parametrize("labels", [[1, 2, 1], ["b", "a", "b"], [True, False, True], [0.5, 1, 0.5]])
def test_labels_of_any_type_stay_what_they_are(labels):
    stream = from_arrays(np.zeros((3, 1)), labels)
    assert next(iter(stream)).y.tolist() == labels
    assert stream.classes == tuple(dict.fromkeys(labels))


def test_columns_of_other_libraries_are_labels_too():
    assert from_arrays(np.zeros((2, 1)), pa.array([3, 4])).classes == (3, 4)


def test_unknown_labels_are_not_learned():
    stream = from_arrays(np.zeros((3, 1)), ["a", None, "b"])
    assert stream.classes == ("a", "b")
    assert [part.y.tolist() for part in next(iter(stream)).labelled_parts()] == [["a", "b"]]


def test_times_allow_chunks_by_time():
    stream = from_arrays(np.zeros((4, 1)), [0, 1, 0, 1], times=[0.0, 1.0, 10.0, 11.0])
    assert [len(chunk.y) for chunk in stream.chunks(every=5.0)] == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [1.0, 2.0]}, "X must be a matrix"),
        ({"X": [["a"], ["b"]]}, "X must hold numbers"),
        ({"y": [1]}, "y must have one value for each of 2 rows"),
        ({"times": [1.0]}, "times must have one value for each of 2 rows"),
        ({"feature_names": ["a", "b"]}, "feature_names must be 1 different names"),
        ({"chunk_rows": 0}, "chunk_rows must be"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        from_arrays(**({"X": [[1.0], [2.0]], "y": [0, 1]} | arguments))
