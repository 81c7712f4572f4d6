"""Rows of several sources as one: against lists of rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devfnn.streams.drift import Schedule
from devfnn.streams.transforms import joining, rows
from devfnn.streams.transforms.joining import MIXING, chained, switched
from devfnn.streams.transforms.labels import hidden, relabelled
from plain_streams import Endless, all_rows, numbered, numbers_of, table, tables


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


@given(sources=several())
def test_chained_rows_are_those_of_all_sources_in_order(sources):
    assert all_rows(chained(starts(sources))) == [row for each in sources for row in each.rows]


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
            widths = [0] + [schedule.width] * len(starts)
        else:
            starts = [0] + [position for position in schedule.positions if position <= number]
            widths = [0, *schedule.width]
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
    monkeypatch.setattr(joining, "PLANNED_ROWS", planned)
    assert numbers_of(switched(starts(sources), schedule, 1)) == expected


def named(name):
    """Starts an endless source whose labels are all the same."""
    return lambda: relabelled(Endless(1000)(), {0: name, 1: name})


def test_the_share_of_the_new_source_rises_during_a_gradual_drift():
    mixed = switched([named("old"), named("new")], Schedule((1000,), width=20_000), 3)
    is_new = np.array([row.label == "new" for row in all_rows(rows.taken(mixed, 22_000))])
    parts = is_new[1000:21_000].reshape(4, -1).mean(axis=1)
    np.testing.assert_allclose(parts, [0.125, 0.375, 0.625, 0.875], atol=0.03)
    assert not is_new[:1000].any()
    assert is_new[21_000:].all()


def test_hidden_labels_have_nothing_to_do_with_the_source_that_a_seed_chose():
    """With the same random numbers for both, all labels of the new source would be hidden."""
    mixed = switched([named("old"), named("new")], Schedule((1,), width=20_000), 3)
    found = all_rows(rows.taken(hidden(mixed, 0.5, 3), 10_000))
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


def test_a_source_that_comes_back_goes_on_where_it_was_left():
    sources = [table(numbered(range(10), first=100 * k), [4]) for k in range(2)]
    found = numbers_of(switched(starts(sources), Schedule(rows_per_concept=3), 0))
    assert found[:12] == [0, 1, 2, 100, 101, 102, 3, 4, 5, 103, 104, 105]
    assert len(found) == 19  # row 20 would be the eleventh of the first source


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
