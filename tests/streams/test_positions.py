"""Where streams drift: positions that end and positions that do not."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devfnn.errors import InputError
from devfnn.streams.positions import (
    EndlessPositions,
    positions_after,
    positions_before,
    positions_behind,
    repeated_positions,
)

SHOWN = 40
"""Positions of an endless sequence that are compared."""


@st.composite
def endless(draw):
    """Positions without end, and many of them as a list."""
    period = draw(st.integers(1, 30))
    first = draw(st.integers(1, 50))
    inside = st.lists(st.integers(first, first + period - 1), min_size=1, max_size=4)
    cycle = sorted(set(draw(inside)))
    head = sorted(set(draw(st.lists(st.integers(1, max(1, cycle[0] - 1)), max_size=4))))
    if head and head[-1] >= cycle[0]:
        head = []
    shift = draw(st.integers(0, 200))
    rounds = range(1000 // period + SHOWN)  # further than any test looks
    plain = head + [position + turn * period for turn in rounds for position in cycle]
    visible = [position - shift for position in plain if position > shift]
    return EndlessPositions(cycle, period, shift, head), visible


finite = st.lists(st.integers(1, 100), max_size=6).map(lambda found: tuple(sorted(set(found))))


@given(both=endless())
def test_endless_positions_repeat_with_their_period_and_count_from_the_shift(both):
    positions, plain = both
    assert list(positions[:SHOWN]) == plain[:SHOWN]
    assert list(itertools.islice(positions, SHOWN)) == plain[:SHOWN]
    assert [positions[index] for index in range(SHOWN)] == plain[:SHOWN]


@given(both=endless(), start=st.integers(0, 9), stop=st.integers(0, 20), step=st.integers(1, 3))
def test_a_slice_is_a_tuple(both, start, stop, step):
    positions, plain = both
    assert positions[start:stop:step] == tuple(plain[start:stop:step])


@pytest.mark.parametrize(
    "index", [-1, slice(None), slice(3, None), slice(-3, 5), slice(2, -1), slice(5, 2, -1)]
)
def test_what_would_need_an_end_is_refused(index):
    with pytest.raises(IndexError, match="a stream without end has no last drift"):
        EndlessPositions((10,), period=10)[index]


@given(both=endless(), position=st.integers(-5, 300))
def test_a_search_ends(both, position):
    positions, plain = both
    assert (position in positions) == (position in plain)
    assert "10" not in positions


def test_endless_positions_have_no_length_and_show_the_first():
    positions = EndlessPositions((10, 25), period=20)
    with pytest.raises(InputError, match="without end"):
        len(positions)
    with pytest.raises(InputError, match="without end"):
        list(positions)
    assert positions
    assert repr(positions) == "(10, 25, 30, ... without end)"


def test_a_large_shift_takes_no_time():
    positions = EndlessPositions((10, 15), period=20, shift=10**15 + 11)
    assert positions[:3] == (4, 19, 24)


@given(positions=finite, n_rows=st.integers(0, 120))
def test_positions_before_a_row_are_those_below_it(positions, n_rows):
    assert positions_before(positions, n_rows) == tuple(p for p in positions if p < n_rows)


@given(both=endless(), n_rows=st.integers(0, 200))
def test_endless_positions_before_a_row_have_an_end(both, n_rows):
    positions, plain = both
    assert positions_before(positions, n_rows) == tuple(p for p in plain if p < n_rows)


@given(positions=finite, n_rows=st.integers(0, 120))
def test_positions_are_counted_anew_when_rows_are_left_out(positions, n_rows):
    assert positions_after(positions, n_rows) == tuple(p - n_rows for p in positions if p > n_rows)


@given(both=endless(), n_rows=st.integers(0, 300))
def test_endless_positions_are_counted_anew_when_rows_are_left_out(both, n_rows):
    positions, plain = both
    left = [position - n_rows for position in plain if position > n_rows]
    assert list(positions_after(positions, n_rows)[:20]) == left[:20]


@given(positions=finite, n_rows=st.integers(100, 150))
def test_positions_are_counted_on_when_rows_are_put_in_front(positions, n_rows):
    moved = tuple(position + n_rows for position in positions)
    assert positions_behind((20, 30), positions, n_rows) == (20, 30, *moved)


@given(both=endless(), n_rows=st.integers(100, 150), n_skipped=st.integers(0, 300))
def test_endless_positions_are_counted_on_when_rows_are_put_in_front(both, n_rows, n_skipped):
    positions, plain = both
    moved = [20, 30, *(position + n_rows for position in plain)]
    behind = positions_behind((20, 30), positions, n_rows)
    assert list(behind[:SHOWN]) == moved[:SHOWN]
    left = [position - n_skipped for position in moved if position > n_skipped]
    assert list(positions_after(behind, n_skipped)[:20]) == left[:20]


@given(positions=finite, n_rows=st.integers(101, 150), times=st.integers(1, 5))
def test_where_a_repeated_stream_drifts_its_new_start_is_a_drift_too(positions, n_rows, times):
    expected = []
    for turn in range(times if positions else 0):
        expected += [turn * n_rows] if turn else []
        expected += [turn * n_rows + position for position in positions]
    assert repeated_positions(positions, n_rows, times) == tuple(expected)
    endless = repeated_positions(positions, n_rows, None)
    assert positions_before(endless, n_rows * times) == tuple(expected)


def test_a_stream_without_drift_has_none_when_repeated():
    assert repeated_positions((), 10, 3) == ()
    assert repeated_positions((), 10, None) == ()
