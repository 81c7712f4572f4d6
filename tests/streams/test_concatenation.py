"""Several streams as one: their rows, and what the whole says of itself."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from devfnn.errors import InputError
from devfnn.streams import Stream, concatenate, concatenation, sea
from devfnn.streams.concatenation import MIXING, chained, switched
from devfnn.streams.drift import EndlessPositions, Schedule
from devfnn.streams.transforms import hidden, relabelled, taken
from devfnn.types import Chunk
from plain_streams import NAMES, Endless, all_rows, numbered, numbers_of, rows_of, table, tables


def stream_of(n_rows, first=0, **facts):
    """A stream of numbered rows, in blocks of three."""
    rows = numbered([0, 1] * n_rows, first=first)[:n_rows]
    source = table(rows, [3] * (n_rows // 3), "int")
    return dataclasses.replace(source.stream, classes=(0, 1), **facts)


# ---- rows


@given(data=st.data(), n_streams=st.integers(1, 3), chunk_rows=st.integers(1, 20))
def test_without_positions_streams_follow_each_other_to_their_ends(data, n_streams, chunk_rows):
    sources = [data.draw(tables(12, [None], first=100 * k)) for k in range(n_streams)]
    whole = concatenate([source.stream for source in sources]).chunks(rows=chunk_rows)
    rows = [row for source in sources for row in source.rows]
    assert all_rows(whole) == rows
    assert whole.n_rows == len(rows)


def test_with_positions_streams_take_turns_and_go_on_where_they_were_left():
    whole = concatenate([stream_of(20), stream_of(20, 100)], positions=[4, 7])
    assert numbers_of(whole.take(12)) == [0, 1, 2, 3, 100, 101, 102, 4, 5, 6, 7, 8]


def test_streams_can_come_back_again_and_again():
    parts = [stream_of(20), stream_of(20, 100), stream_of(20, 200)]
    whole = concatenate(parts, rows_per_concept=2)
    assert numbers_of(whole.take(10)) == [0, 1, 100, 101, 200, 201, 2, 3, 102, 103]


def test_positions_may_be_an_array():
    parts = [stream_of(20), stream_of(20, 100)]
    whole = concatenate(parts, positions=np.array([4, 7]))
    assert numbers_of(whole) == numbers_of(concatenate(parts, positions=[4, 7]))
    assert whole.drift_positions == (4, 7)


def test_during_a_gradual_drift_rows_of_both_come_each_in_its_order():
    parts = [stream_of(100), stream_of(100, 1000)]
    found = numbers_of(concatenate(parts, positions=[20], width=60, seed=1).take(120))
    old = [number for number in found if number < 1000]
    new = [number for number in found if number >= 1000]
    assert old == [*range(len(old))]
    assert new == [*range(1000, 1000 + len(new))]
    assert found[:20] == old[:20]
    assert all(number >= 1000 for number in found[80:])
    assert {number < 1000 for number in found[20:50]} == {True, False}
    assert found != numbers_of(concatenate(parts, positions=[20], width=60, seed=2).take(120))


def test_the_whole_ends_when_a_row_is_asked_of_a_stream_that_is_used_up():
    whole = concatenate([stream_of(5), stream_of(50, 100)], rows_per_concept=3)
    assert numbers_of(whole) == [0, 1, 2, 100, 101, 102, 3, 4]
    assert (whole.n_rows, whole.is_endless) == (None, False)
    unused = concatenate([stream_of(50), stream_of(0)], positions=[10])
    assert numbers_of(unused) == [*range(10)]


@given(data=st.data(), chunk_rows=st.tuples(st.integers(1, 20), st.integers(1, 20)))
def test_rows_do_not_depend_on_the_chunks(data, chunk_rows):
    sources = [data.draw(tables(20, [None], first=100 * k)) for k in range(2)]
    whole = concatenate([s.stream for s in sources], positions=[5, 14], width=[9, 3], seed=3)
    one, other = (all_rows(whole.chunks(rows=size)) for size in chunk_rows)
    assert one == other


def test_labels_of_several_kinds_stay_what_they_are():
    whole = concatenate([stream_of(3), stream_of(3).relabel(["0", "1"])])
    (chunk,) = whole
    assert chunk.y.tolist() == [0, 1, 0, "0", "1", "0"]
    assert whole.classes == (0, 1, "0", "1")


def test_labels_are_hidden_and_delayed_after_or_hidden_before():
    parts = [stream_of(6).hide_labels(1.0), stream_of(6, 100)]
    whole = concatenate(parts).delay_labels(rows=2).chunks(rows=6)
    assert [numbers_of(c.labelled_parts()) for c in whole] == [[], [100, 101, 102, 103], [104, 105]]


# ---- what it says of itself


def test_classes_are_those_of_all_streams_and_keep_their_names():
    first, other = stream_of(3), dataclasses.replace(stream_of(3), classes=(1, 2, 5))
    assert concatenate([first, other]).classes == (0, 1, 2, 5)
    assert concatenate([first, other]).class_names == ()
    named = stream_of(3, class_names=("no", "yes"))
    assert concatenate([named, named]).class_names == ("no", "yes")


@pytest.mark.parametrize("names", [("yes", "no"), ()])
def test_classes_with_different_names_are_refused(names):
    first, second = stream_of(3, class_names=("no", "yes")), stream_of(3, class_names=names)
    with pytest.raises(InputError, match=r"must all have the same classes and names; use stream"):
        concatenate([first, second])
    both = [each.relabel(each.class_names or ["no", "yes"]) for each in (first, second)]
    assert concatenate(both).classes == ("no", "yes")


def test_streams_that_follow_each_other_never_end_if_one_does_not_and_those_in_turn_if_none_does():
    endless = Endless(10).stream()
    assert concatenate([stream_of(3), endless, stream_of(3)]).is_endless
    assert concatenate([stream_of(3), endless]).n_rows is None
    assert not concatenate([stream_of(3), stream_of(3)]).is_endless
    assert concatenate([endless, endless], rows_per_concept=5).is_endless
    assert not concatenate([endless, stream_of(3)], rows_per_concept=5).is_endless
    unknown = dataclasses.replace(stream_of(3), n_rows=None)
    assert concatenate([stream_of(3), unknown]).n_rows is None


def test_drifts_are_those_inside_and_where_streams_meet():
    parts = [stream_of(10, drift_positions=(4,)), stream_of(6, drift_positions=(3,)), stream_of(5)]
    assert concatenate(parts).drift_positions == (4, 10, 13, 16)
    assert concatenate(parts[:1]).drift_positions == (4,)


def test_streams_without_rows_are_no_concepts():
    nothing = stream_of(0)
    parts = [nothing, stream_of(5), nothing, nothing, stream_of(5), nothing]
    assert concatenate(parts).drift_positions == (5,)
    assert concatenate([nothing, nothing]).drift_positions == ()


def test_drifts_of_a_stream_without_end_follow_those_before_it():
    endless = sea(rows_per_concept=10).select(["f1"])
    before = stream_of(25, drift_positions=(7,)).select(["a"]).rename({"a": "f1"})
    whole = concatenate([before, endless, before])
    assert isinstance(whole.drift_positions, EndlessPositions)
    assert whole.take(56).drift_positions == (7, 25, 35, 45, 55)
    assert whole.skip(40).take(26).drift_positions == (5, 15, 25)
    assert concatenate([endless, before]).take(21).drift_positions == (10, 20)


def test_what_comes_behind_a_stream_of_unknown_size_is_not_known():
    unknown = dataclasses.replace(stream_of(9, drift_positions=(2,)), n_rows=None)
    parts = [stream_of(5), unknown, stream_of(5)]
    assert concatenate(parts).drift_positions == (5, 7)


def test_drifts_of_streams_that_take_turns_are_those_of_the_schedule():
    parts = [stream_of(99), stream_of(99)]
    assert concatenate(parts, positions=[5, 50], width=20).drift_positions == (5, 50)
    every = concatenate(parts, rows_per_concept=30).drift_positions
    assert list(itertools.islice(every, 3)) == [30, 60, 90]
    assert concatenate(parts[:1], rows_per_concept=30).drift_positions == ()


# Every base stream carries the numbers of its concepts as a feature; a drift is where they change.


class Concepts:
    """Makes streams of a few concepts, each with a number of its own."""

    def __init__(self):
        self.fresh = itertools.count()

    def stream(self, lengths):
        numbers = [next(self.fresh) for _ in lengths]
        column = np.repeat(numbers, lengths).astype(float)
        block = Chunk(column[:, None], np.zeros(len(column), int))
        drifts = tuple(itertools.accumulate(lengths))[:-1]
        return Stream(
            ("concept",), (0,), lambda: iter([block]), n_rows=len(column), drift_positions=drifts
        )


LEAF = st.lists(st.integers(1, 6), min_size=0, max_size=3).map(lambda sizes: ("make", sizes))
COUNT = st.integers(0, 15)
POSITIONS = st.lists(st.integers(1, 20), max_size=4, unique=True).map(sorted)


def grown(inner):
    """Everything that moves drifts, done to smaller recipes."""
    return st.one_of(
        st.tuples(st.just("take"), COUNT, inner),
        st.tuples(st.just("skip"), COUNT, inner),
        st.tuples(st.just("repeat"), st.sampled_from([None, 1, 2, 3]), inner),
        st.tuples(st.just("chain"), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(st.just("turns"), st.integers(1, 9), st.integers(2, 3)),
        st.tuples(st.just("switch"), POSITIONS, st.integers(2, 3)),
    )


def built(recipe, concepts):
    """The stream of a recipe."""
    verb, *more = recipe
    if verb == "make":
        return concepts.stream(more[0])
    if verb == "chain":
        return concatenate([built(each, concepts) for each in more[0]])
    if verb in ("turns", "switch"):  # what takes turns must not drift by itself
        parts = [concepts.stream([3]).repeat() for _ in range(more[1])]
        when = "rows_per_concept" if verb == "turns" else "positions"
        return concatenate(parts, **{when: more[0]})
    stream = built(more[1], concepts)
    if verb == "repeat":  # a new start is told as a drift, also where the last concept is the first
        seen = concepts_in(stream.take(60))
        assume(not stream.drift_positions or not seen or seen[0] != seen[-1])
    return getattr(stream, verb)(more[0])


def concepts_in(stream):
    """The concept of every row."""
    return [row[0][0] for chunk in stream for row in rows_of(chunk)]


@given(recipe=st.recursive(LEAF, grown, max_leaves=5))
def test_drifts_are_where_the_concept_changes_whatever_was_done_to_the_streams(recipe):
    stream = built(recipe, Concepts()).take(60)
    seen = concepts_in(stream)
    changes = [row for row in range(1, len(seen)) if seen[row] != seen[row - 1]]
    assert [position for position in stream.drift_positions if position < len(seen)] == changes
    assert stream.n_rows == len(seen)


def test_each_new_start_of_a_stream_that_drifts_is_a_drift():
    """Also of one that ends as it began: a stream knows where concepts end, not what they are."""
    concepts = Concepts()
    parts = [concepts.stream([1]).repeat() for _ in range(2)]
    whole = concatenate(parts, positions=[1, 2]).take(3)
    assert concepts_in(whole) == [0.0, 1.0, 0.0]
    assert whole.repeat(2).drift_positions == (1, 2, 3, 4, 5)


# ---- laziness


@pytest.mark.parametrize("positions", [None, [1000]])
def test_a_stream_whose_turn_has_not_come_is_not_read(positions):
    sources = [Endless(10), Endless(10)]
    whole = concatenate([source.stream() for source in sources], positions=positions)
    assert len(all_rows(whole.take(25))) == 25
    assert [source.n_read for source in sources] == [3, 0]


# ---- refusals


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"streams": []}, "concatenate needs one or more streams"),
        ({"streams": [stream_of(3), stream_of(3).select(["b", "a"])]}, "features are the same"),
        (
            {"streams": [stream_of(3), stream_of(3).delay_labels(rows=3)]},
            "delay labels after concatenating, not before",
        ),
        ({"width": 5}, "a gradual drift needs positions or rows_per_concept"),
        ({"seed": -1}, "seed must be a whole number from 0 on, not -1"),
        ({"positions": [5], "rows_per_concept": 5}, "positions or rows_per_concept, not both"),
        ({"positions": [5, 5]}, "positions must rise"),
        ({"positions": [5, 9], "width": 5}, "the drift at row 5 takes 5 rows"),
        ({"rows_per_concept": 0}, "rows_per_concept must be a whole number from 1 on"),
    ],
)
def test_bad_values_are_refused_at_once(more, message):
    with pytest.raises(InputError, match=message):
        concatenate(**({"streams": [stream_of(3), stream_of(3)]} | more))


def test_names_of_features_are_those_of_the_first():
    assert concatenate([stream_of(3), stream_of(3)]).feature_names == NAMES


@st.composite
def several(draw, max_tables=3, max_rows=15):
    """A few sources whose rows can be told apart."""
    n_tables = draw(st.integers(1, max_tables))
    clocks = [draw(st.sampled_from([None, "int"]))]
    return [draw(tables(max_rows, clocks, first=1000 * k)) for k in range(n_tables)]


def starts(sources):
    """What starts them."""
    return [source.blocks for source in sources]


# ---- one after the other


def test_a_source_is_started_when_the_one_before_it_is_used_up():
    first, second = table(numbered(range(4)), [2, 2]), table(numbered(range(4)), [2, 2])
    passing = chained(starts([first, second]))
    next(passing), next(passing)
    assert (first.blocks.n_read, second.blocks.n_started) == (2, 0)
    next(passing)
    assert (second.blocks.n_started, second.blocks.n_read) == (1, 1)


# ---- taking turns


@st.composite
def schedules(draw):
    """Drifts of any number, distance and width."""
    if draw(st.booleans()):
        n_rows = draw(st.integers(1, 12))
        return Schedule(rows_per_concept=n_rows, width=draw(st.integers(0, n_rows)))
    gaps = draw(st.lists(st.integers(1, 12), max_size=5))
    widths = [draw(st.integers(0, gap)) for gap in [*gaps[1:], 12][: len(gaps)]]
    return Schedule(tuple(itertools.accumulate(gaps)), width=widths)


def twin_switched(sources, schedule, seed):
    """Row by row: which concept, which source, its next row; until one has no more."""
    rng = np.random.default_rng([seed, MIXING])
    taps = [iter(source.rows) for source in sources]
    found = []
    for number in itertools.count():
        if schedule.rows_per_concept is not None:
            starts = range(0, number + 1, schedule.rows_per_concept)
            widths = [0, *schedule.widths * len(starts)]
        else:
            starts = [0] + [position for position in schedule.positions if position <= number]
            widths = [0, *schedule.widths]
        concept = len(starts) - 1
        into, width = number - starts[-1], widths[concept]
        share = (into + 0.5) / width if into < width else 1.0
        if rng.random() >= share:
            concept -= 1
        row = next(taps[concept % len(taps)], None)
        if row is None:
            return found
        found.append(row)


@given(sources=several(), schedule=schedules(), seed=st.integers(0, 5))
def test_sources_take_turns_as_the_schedule_says_until_one_is_used_up(sources, schedule, seed):
    expected = twin_switched(sources, schedule, seed)
    assert all_rows(switched(starts(sources), schedule, seed)) == expected


@pytest.mark.parametrize("planned", [1, 7, 64])
def test_rows_do_not_depend_on_how_many_are_planned_at_a_time(monkeypatch, planned):
    sources = [table(numbered(range(90), first=100 * k), [20, 0, 30]) for k in range(3)]
    schedule = Schedule((20, 50), width=(15, 20))
    expected = numbers_of(switched(starts(sources), schedule, 1))
    monkeypatch.setattr(concatenation, "PLANNED_ROWS", planned)
    assert numbers_of(switched(starts(sources), schedule, 1)) == expected


def named(name):
    """Starts an endless source whose labels are all the same."""
    return lambda: relabelled(Endless(1000)(), {0: name, 1: name})


def test_the_share_of_the_new_source_rises_during_a_gradual_drift():
    mixed = switched([named("old"), named("new")], Schedule((1000,), width=20_000), 3)
    is_new = np.array([row.label == "new" for row in all_rows(taken(mixed, 22_000))])
    parts = is_new[1000:21_000].reshape(4, -1).mean(axis=1)
    np.testing.assert_allclose(parts, [0.125, 0.375, 0.625, 0.875], atol=0.03)
    assert not is_new[:1000].any()
    assert is_new[21_000:].all()


def test_hidden_labels_have_nothing_to_do_with_the_source_that_a_seed_chose():
    """With the same random numbers for both, all labels of the new source would be hidden."""
    mixed = switched([named("old"), named("new")], Schedule((1,), width=20_000), 3)
    found = all_rows(taken(hidden(mixed, 0.5, 3), 10_000))
    for name in ("old", "new"):
        seen = [row.is_labelled for row in found if row.label == name]
        assert np.mean(seen) == pytest.approx(0.5, abs=0.05)


def test_another_seed_mixes_otherwise():
    sources = [table(numbered(range(50), first=100 * k)) for k in range(2)]
    schedule = Schedule((10,), width=60)
    mixes = [numbers_of(switched(starts(sources), schedule, seed)) for seed in (0, 0, 1)]
    assert mixes[0] == mixes[1] != mixes[2]


def test_empty_blocks_do_not_change_the_kind_of_labels():
    sources = [table(numbered([0] * 9), [3, 0, 0, 3, 0], "int") for _ in range(2)]
    for chunk in switched(starts(sources), Schedule((3,), width=12), 0):
        assert chunk.y.dtype == np.int64


def test_masks_and_times_come_along():
    secret = [row._replace(is_labelled=False) for row in numbered("abcd", map(np.int64, range(4)))]
    sources = [
        table(secret, masked=True),
        table(numbered("efgh", map(np.int64, range(10, 14)), first=10)),
    ]
    mixed = all_rows(switched(starts(sources), Schedule((1,), width=4), 0))
    assert {row.features[0] < 10 for row in mixed} == {True, False}
    for row in mixed:
        assert row.is_labelled == (row.features[0] >= 10)
        assert row.time == row.features[0]


# ---- laziness


def test_a_source_is_read_only_when_the_next_row_comes_from_it():
    sources = [table(numbered(range(100)), [10] * 10) for _ in range(3)]
    first, second, third = (source.blocks for source in sources)
    passing = switched(starts(sources), Schedule((25, 32)), 0)
    assert first.n_started == 0
    for n_read in (1, 2, 3):
        next(passing)
        assert (first.n_read, second.n_started) == (n_read, 0)
    next(passing)
    assert (first.n_read, second.n_read, third.n_started) == (3, 1, 0)
    next(passing)
    assert (first.n_read, second.n_read, third.n_read) == (3, 1, 1)


@pytest.mark.parametrize("width", [0, 50])
def test_blocks_are_let_go_of_when_their_rows_have_passed(width):
    sources = [Endless(10), Endless(10)]
    passing = switched(sources, Schedule(rows_per_concept=50, width=width), 0)
    for _ in range(100):
        next(passing)
        assert sum(source.n_alive() for source in sources) <= 4
    assert all(source.n_read > 20 for source in sources)


def test_a_source_without_rows_ends_the_stream_when_its_turn_comes():
    sources = [table(numbered(range(9))), table([], [0])]
    assert numbers_of(switched(starts(sources), Schedule((4,)), 0)) == [0, 1, 2, 3]
    assert numbers_of(switched(starts(sources[::-1]), Schedule((4,)), 0)) == []
