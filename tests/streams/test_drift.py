"""When concepts take over from each other, and at which rows a stream drifts."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devfnn.errors import InputError
from devfnn.streams.drift import (
    EndlessPositions,
    Schedule,
    moved_positions,
    positions_before,
    repeated_positions,
)

KINDS = st.sampled_from(["gradual", "incremental"])


@st.composite
def schedules(draw):
    """Schedules of every sort, and one width and kind for each of the first drifts."""
    if draw(st.booleans()):
        n_rows, kind = draw(st.integers(1, 20)), draw(KINDS)
        width = draw(st.integers(0, n_rows))
        starts = range(n_rows, 400, n_rows)
        schedule = Schedule(rows_per_concept=n_rows, width=width, kind=kind)
        return schedule, [(start, width, kind) for start in starts]
    gaps = draw(st.lists(st.integers(1, 20), max_size=6))
    positions = tuple(itertools.accumulate(gaps))
    if draw(st.booleans()):
        width, kind = draw(st.integers(0, min([*gaps[1:], 20]))), draw(KINDS)
        drifts = [(position, width, kind) for position in positions]
        return Schedule(positions, width=width, kind=kind), drifts
    widths = [draw(st.integers(0, gap)) for gap in [*gaps[1:], 20][: len(gaps)]]
    kinds = [draw(KINDS) for _ in gaps]
    schedule = Schedule(positions, width=widths, kind=kinds)
    return schedule, list(zip(positions, widths, kinds, strict=True))


def twin_row(drifts, row):
    """Concept, share and whether it moves, of one row."""
    begun = [drift for drift in drifts if drift[0] <= row]
    if not begun or row >= begun[-1][0] + begun[-1][1]:
        return len(begun), 1.0, False
    start, width, kind = begun[-1]
    return len(begun), (row - start + 0.5) / width, kind == "incremental"


@given(both=schedules(), first=st.integers(0, 150), n_rows=st.integers(0, 100))
def test_every_row_has_its_concept_its_share_and_its_kind(both, first, n_rows):
    schedule, drifts = both
    turnover = schedule.turnover(first, n_rows)
    found = zip(turnover.concepts, turnover.shares, turnover.is_incremental, strict=True)
    assert list(found) == [twin_row(drifts, row) for row in range(first, first + n_rows)]


@given(both=schedules(), n_concepts=st.integers(1, 4), data=st.data())
def test_drift_is_where_the_concept_really_changes(both, n_concepts, data):
    schedule, drifts = both
    concepts = data.draw(st.lists(st.sampled_from("AB"), min_size=n_concepts, max_size=n_concepts))
    names = [concepts[twin_row(drifts, row)[0] % n_concepts] for row in range(200)]
    changes = [row for row in range(1, 200) if names[row] != names[row - 1]]
    assert list(positions_before(schedule.drift_positions(concepts), 200)) == changes


def test_drifts_at_regular_distances_have_no_end():
    positions = Schedule(rows_per_concept=10).drift_positions("AB")
    assert isinstance(positions, EndlessPositions)
    assert next(itertools.islice(positions, 1000, None)) == 10_010
    assert Schedule(rows_per_concept=10).drift_positions("A") == ()
    assert Schedule(rows_per_concept=10).drift_positions("AAA") == ()


@given(both=schedules(), seed=st.integers(0, 9))
def test_a_mixed_row_is_of_the_new_concept_or_the_one_before(both, seed):
    schedule, drifts = both
    draws = np.random.default_rng(seed).random(150)
    mixed = schedule.turnover(0, 150).mixed(draws)
    for row in range(150):
        concept, share, _ = twin_row(drifts, row)
        assert mixed[row] == (concept if draws[row] < share else concept - 1)
    assert mixed.min() >= 0


@given(both=schedules())
def test_a_schedule_is_incremental_if_a_concept_ever_moves(both):
    schedule, drifts = both
    assert schedule.is_incremental == any(
        width > 0 and kind == "incremental" for _, width, kind in drifts
    )


def test_the_shares_of_a_drift_rise_evenly_and_their_mean_is_a_half():
    shares = Schedule((10,), width=4).turnover(9, 6).shares
    assert shares.tolist() == [1.0, 0.125, 0.375, 0.625, 0.875, 1.0]


def test_whole_numbers_of_any_type_are_taken_as_plain_ones():
    schedule = Schedule(tuple(np.array([5, 9])), width=np.int64(2))
    assert schedule.positions == (5, 9)
    assert {type(position) for position in schedule.drift_positions("AB")} == {int}
    regular = Schedule(rows_per_concept=np.int64(5), width=np.int64(2))
    assert type(next(iter(regular.drift_positions("AB")))) is int
    assert regular.turnover(5, 3).shares.tolist() == [0.25, 0.75, 1.0]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"positions": (5, 5)}, "positions must rise, 5 does not come after 5"),
        ({"positions": (5, 3)}, "positions must rise, 3 does not come after 5"),
        ({"positions": (0,)}, "positions must be a whole number from 1 on, not 0"),
        ({"positions": (1.5,)}, "positions must be a whole number from 1 on, not 1.5"),
        ({"rows_per_concept": 0}, "rows_per_concept must be a whole number from 1 on, not 0"),
        ({"rows_per_concept": 2.0}, "rows_per_concept must be a whole number"),
        ({"positions": (5,), "rows_per_concept": 5}, "positions or rows_per_concept, not both"),
        ({"rows_per_concept": 5, "width": [1]}, "width and kind are one for all drifts"),
        ({"rows_per_concept": 5, "kind": ["gradual"]}, "width and kind are one for all drifts"),
        ({"rows_per_concept": 5, "width": 6}, "the drift at row 5 takes 6 rows, .* at row 10"),
        ({"rows_per_concept": 5, "width": 2.5}, "width must be a whole number from 0 on, not 2.5"),
        ({"positions": (5,), "width": -1}, "width must be a whole number from 0 on, not -1"),
        ({"positions": (5, 9), "width": 5}, "the drift at row 5 takes 5 rows, .* at row 9"),
        ({"positions": (5, 9), "width": [5, 0]}, "the drift at row 5 takes 5 rows"),
        ({"positions": (5, 9), "width": [1]}, "width needs one value for each of 2 positions"),
        ({"positions": (5,), "kind": ["gradual"] * 2}, "kind needs one value for each of 1"),
        ({"positions": (5,), "kind": "sudden"}, "kind must be one of gradual, incremental, not"),
    ],
)
def test_schedules_that_cannot_be_kept_are_refused(bad, message):
    with pytest.raises(InputError, match=message):
        Schedule(**bad)


SHOWN = 40
"""Positions of an endless sequence that are compared."""


def shown(positions):
    return list(itertools.islice(positions, SHOWN))


@st.composite
def endless(draw):
    """Positions without end, and many of them as a list."""
    period = draw(st.integers(1, 30))
    cycle = sorted(set(draw(st.lists(st.integers(1, period), min_size=1, max_size=4))))
    rounds = range(1000 // period + SHOWN)  # further than any test looks
    plain = [position + turn * period for turn in rounds for position in cycle]
    return repeated_positions(tuple(cycle), period), plain


finite = st.lists(st.integers(1, 100), max_size=6).map(
    lambda found: (tuple(sorted(set(found))), sorted(set(found)))
)
any_positions = st.one_of(finite, endless())


@given(both=endless())
def test_endless_positions_repeat_with_their_period(both):
    positions, plain = both
    assert shown(positions) == shown(positions) == plain[:SHOWN]
    assert positions


@given(both=any_positions, n_rows=st.integers(0, 200))
def test_positions_before_a_row_are_those_below_it(both, n_rows):
    positions, plain = both
    assert positions_before(positions, n_rows) == tuple(p for p in plain if p < n_rows)


@given(both=any_positions, n_rows=st.integers(100, 150), n_skipped=st.integers(0, 300))
def test_positions_are_counted_anew_when_rows_are_put_in_front_or_left_out(both, n_rows, n_skipped):
    positions, plain = both
    moved = [20, 30, *(position + n_rows for position in plain)]
    behind = moved_positions(positions, n_rows, before=(20, 30))
    assert shown(behind) == moved[:SHOWN]
    left = [position - n_skipped for position in moved if position > n_skipped]
    assert shown(moved_positions(behind, -n_skipped)) == left[:SHOWN]


def test_what_never_drifts_does_not_when_repeated():
    assert repeated_positions((), 10) == ()
