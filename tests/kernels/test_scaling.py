"""Watching ranges: rows that keep leaving a range widen it, a single one does not."""

import numpy as np
import pytest

from devfnn.arrays import Flags, Floats
from devfnn.kernels.scaling import (
    CLOCK_ESCAPES,
    MARGIN,
    OUTSIDE_SHARE,
    WAKING_ROWS,
    WATCH_RATE,
    scale_rows,
    watch,
)


class Watch:
    """Features with a range, and what has been seen outside."""

    def __init__(self, low: list[float], width: list[float]) -> None:
        self.low, self.width = np.array(low), np.array(width)
        self.share, self.level = np.zeros((2, len(low))), np.zeros((2, len(low)))
        self.escapes = np.zeros((2, len(low)), np.int64)
        self.waking = np.ones(len(low), np.int64)

    def __call__(self, rows: Floats, start: int = 0) -> int:
        """The first row that widens a range, or their number."""
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        maps = (self.low, self.width, self.share, self.level, self.escapes, self.waking)
        return int(watch(rows, start, *maps))


def shares(is_out: Flags) -> Floats:
    """Share of recent rows outside, after every row, as an explicit weighted sum."""
    n_rows = is_out.size
    ages = np.arange(n_rows)[:, None] - np.arange(n_rows)
    weights = np.where(ages >= 0, WATCH_RATE * (1.0 - WATCH_RATE) ** np.abs(ages), 0.0)
    total: Floats = weights @ is_out
    return total


@pytest.mark.parametrize("side", [0, 1])
def test_the_range_is_due_when_the_share_outside_passes_its_limit(
    rng: np.random.Generator, side: int
) -> None:
    seen = Watch([10.0], [4.0])
    is_out = rng.random(2000) < 0.05
    inside = 10.0 - MARGIN * 4.0 + (1.0 + 2.0 * MARGIN) * 4.0 * rng.random(2000)
    rows = np.where(is_out, 15.0 if side else 9.0, inside)[:, None]
    expected = shares(is_out)
    due = int(np.argmax(expected > OUTSIDE_SHARE))
    assert seen(rows) == due > 0
    assert seen.share[side, 0] == pytest.approx(expected[due])
    assert seen.share[1 - side, 0] == 0.0


def test_a_single_outlier_widens_nothing(rng: np.random.Generator) -> None:
    seen = Watch([0.0, 0.0], [1.0, 1.0])
    rows = rng.random((500, 2))
    rows[100, 1] = 1e9
    assert seen(rows) == 500


def test_a_shifted_feature_is_due_within_ten_rows(rng: np.random.Generator) -> None:
    seen = Watch([0.0, 0.0], [1.0, 1.0])
    rows = rng.random((200, 2))
    rows[150:, 1] += 2.0
    assert 150 <= seen(rows) < 160


def test_the_level_follows_the_values_outside() -> None:
    seen = Watch([0.0], [1.0])
    seen(np.array([[2.0], [0.5], [4.0], [-3.0]]))
    assert seen.level[1, 0] == pytest.approx(2.0 + 0.25 * 2.0)
    assert seen.level[0, 0] == -3.0


def test_values_just_outside_do_not_count() -> None:
    seen = Watch([0.0], [1.0])
    rows = np.tile([[1.0 + 0.99 * MARGIN], [-0.99 * MARGIN]], (500, 1))
    assert seen(rows) == 1000
    assert (seen.share == 0.0).all()


def asleep(low: float, is_known: bool = True) -> Watch:
    """A feature without a range: constant so far, or never seen."""
    seen = Watch([low], [0.0])
    seen.level[:] = low
    seen.waking[:] = int(is_known)
    return seen


def test_a_constant_feature_is_due_once_it_has_varied_for_a_while() -> None:
    seen = asleep(5.0)
    assert seen(np.full((1000, 1), 5.0)) == 1000
    rows = np.full((200, 1), 5.0)
    rows[10], rows[20], rows[30], rows[40] = 7.5, 2.0, np.nan, 1e3
    assert seen(rows) == 10 + WAKING_ROWS  # counted from the first other value, without the gap
    np.testing.assert_array_equal(seen.level[:, 0], [2.0, 1e3])


def test_a_feature_never_seen_starts_with_its_first_value() -> None:
    seen = asleep(0.0, is_known=False)
    assert seen(np.array([[np.nan], [1000.0], [1000.0]])) == 3
    assert seen.low[0] == 1000.0
    rows = 1000.0 + np.arange(100.0)[:, None]
    assert seen(rows) == WAKING_ROWS
    np.testing.assert_array_equal(seen.level[:, 0], [1000.0, 1000.0 + WAKING_ROWS])


def test_missing_values_are_not_seen() -> None:
    seen = Watch([0.0, 3.0], [1.0, 0.0])
    assert seen(np.full((300, 2), np.nan)) == 300
    assert (seen.share == 0.0).all()


def test_rows_in_parts_are_watched_like_rows_at_once(rng: np.random.Generator) -> None:
    whole, parts = Watch([0.0, 0.0], [1.0, 1.0]), Watch([0.0, 0.0], [1.0, 1.0])
    rows = rng.uniform(-0.11, 1.11, (150, 2))
    assert whole(rows) == 150
    for start in range(0, 150, 7):
        assert parts(rows[start : start + 7]) == len(rows[start : start + 7])
    np.testing.assert_array_equal(whole.share, parts.share)
    np.testing.assert_array_equal(whole.level, parts.level)


def test_watching_goes_on_where_it_stopped(rng: np.random.Generator) -> None:
    seen, rows = Watch([0.0], [1.0]), np.full((20, 1), 2.0)
    due = seen(rows)
    seen.share[:] = 0.0
    assert seen(rows, due + 1) == 2 * due + 1


@pytest.mark.parametrize(("side", "back"), [(1, 0.2), (0, 0.8)])
def test_a_clock_that_turns_back_is_due(side: int, back: float) -> None:
    seen = Watch([0.0], [1.0])
    seen.escapes[side] = CLOCK_ESCAPES
    assert seen(np.array([[0.5], [1.0 - back], [back], [back]])) == 2
    assert seen.escapes[side, 0] == 0
    assert seen(np.full((5, 1), back)) == 5


def test_a_feature_that_turns_back_in_time_is_no_clock() -> None:
    seen = Watch([0.0], [1.0])
    seen.escapes[:] = CLOCK_ESCAPES - 1
    assert seen(np.array([[0.1], [0.9], [0.5]])) == 3
    assert (seen.escapes == 0).all()


def test_no_rows_are_no_change() -> None:
    assert Watch([0.0], [1.0])(np.empty((0, 1))) == 0


def test_rows_are_scaled_as_numpy_would(rng: np.random.Generator) -> None:
    rows = rng.normal(scale=3.0, size=(40, 5))
    rows[::7, 1], rows[3, 4], rows[5] = np.nan, 1e100, -1e100
    low, width = rng.normal(size=5), rng.random(5) + 0.5
    width[2] = 1e-300  # overflows, and is clipped
    scaled = np.empty_like(rows)
    with np.errstate(over="ignore"):
        scale_rows(rows, low, width, 0.1, scaled)
        expected = np.clip((rows - low) / width, -0.1, 1.1)
    np.testing.assert_array_equal(scaled, expected)


def test_a_feature_without_a_width_lies_in_the_middle_and_one_left_out_is_absent() -> None:
    rows, scaled = np.array([[7.0, 1.0, np.nan], [8.0, 2.0, 3.0]]), np.empty((2, 3))
    scale_rows(rows, np.zeros(3), np.array([0.0, np.nan, 0.0]), 0.1, scaled)
    np.testing.assert_array_equal(scaled, [[0.5, np.nan, np.nan], [0.5, np.nan, 0.5]])
