"""Watching ranges: rows that keep leaving a range widen it, a single one does not."""

import numpy as np
import pytest

from devfnn.arrays import Flags, Floats
from devfnn.kernels.scaling import (
    CLOCK_ESCAPES,
    CODE_ROWS,
    FAR,
    FAR_RATE,
    FAR_SHARE,
    LOOK_EVERY,
    MARGIN,
    OUTSIDE_SHARE,
    PATIENCE_ROWS,
    SAMPLE_EVERY,
    SAMPLE_ROWS,
    SMALL,
    WAKING_ROWS,
    WATCH_RATE,
    scale_rows,
    watch,
)
from devfnn.model.scaling import OnlineScaler


class Watch:
    """Features with a range that they have had for long, and what has been seen outside."""

    def __init__(self, low: list[float], width: list[float]) -> None:
        self.scaler = OnlineScaler(len(low))
        self.scaler.low[:], self.scaler.width[:] = low, width
        self.scaler.waking[:] = 1
        self.seen = self.scaler.ranges

    def __call__(self, rows: Floats, start: int = 0) -> int:
        """The first row after which a range may have to change, or their number.

        Rows after which nothing but the newest are looked at are passed over.
        """
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        while (start := int(watch(rows, start, self.seen))) < len(rows):
            if self.seen.n_watched[0] % LOOK_EVERY != 1:
                break
            start += 1
        return start


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
    assert seen.seen.outside_share[side, 0] == pytest.approx(expected[due])
    assert seen.seen.outside_share[1 - side, 0] == 0.0


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
    assert seen.seen.outside_level[1, 0] == pytest.approx(2.0 + 0.25 * 2.0)
    assert seen.seen.outside_level[0, 0] == -3.0


def test_values_just_outside_do_not_count() -> None:
    seen = Watch([0.0], [1.0])
    rows = np.tile([[1.0 + 0.99 * MARGIN], [-0.99 * MARGIN]], (500, 1))
    assert seen(rows) == 1000
    assert (seen.seen.outside_share == 0.0).all()


def asleep(low: float, is_known: bool = True) -> Watch:
    """A feature without a range: constant so far, or never seen."""
    seen = Watch([low], [0.0])
    seen.seen.outside_level[:] = low
    seen.seen.waking[:] = int(is_known)
    return seen


def test_a_constant_feature_is_due_once_it_has_varied_for_a_while() -> None:
    seen = asleep(5.0)
    assert seen(np.full((1000, 1), 5.0)) == 1000
    rows = np.full((200, 1), 5.0)
    rows[10], rows[20], rows[30], rows[40] = 7.5, 2.0, np.nan, 1e3
    assert seen(rows) == 10 + WAKING_ROWS  # counted from the first other value, without the gap
    np.testing.assert_array_equal(seen.seen.outside_level[:, 0], [2.0, 1e3])


def test_a_feature_never_seen_starts_with_its_first_value() -> None:
    seen = asleep(0.0, is_known=False)
    assert seen(np.array([[np.nan], [1000.0], [1000.0]])) == 3
    assert seen.seen.low[0] == 1000.0
    rows = 1000.0 + np.arange(100.0)[:, None]
    assert seen(rows) == WAKING_ROWS
    np.testing.assert_array_equal(seen.seen.outside_level[:, 0], [1000.0, 1000.0 + WAKING_ROWS])


def test_missing_values_are_not_seen() -> None:
    seen = Watch([0.0, 3.0], [1.0, 0.0])
    assert seen(np.full((300, 2), np.nan)) == 300
    assert (seen.seen.outside_share == 0.0).all()


def test_rows_in_parts_are_watched_like_rows_at_once(rng: np.random.Generator) -> None:
    whole, parts = Watch([0.0, 0.0], [1.0, 1.0]), Watch([0.0, 0.0], [1.0, 1.0])
    rows = rng.uniform(-0.11, 1.11, (150, 2))
    assert whole(rows) == 150
    for start in range(0, 150, 7):
        assert parts(rows[start : start + 7]) == len(rows[start : start + 7])
    np.testing.assert_array_equal(whole.seen.outside_share, parts.seen.outside_share)
    np.testing.assert_array_equal(whole.seen.outside_level, parts.seen.outside_level)


def test_watching_goes_on_where_it_stopped(rng: np.random.Generator) -> None:
    seen, rows = Watch([0.0], [1.0]), np.full((20, 1), 2.0)
    due = seen(rows)
    seen.seen.outside_share[:] = 0.0
    assert seen(rows, due + 1) == 2 * due + 1


@pytest.mark.parametrize(("side", "back"), [(1, 0.2), (0, 0.8)])
def test_a_clock_that_turns_back_is_due(side: int, back: float) -> None:
    seen = Watch([0.0], [1.0])
    seen.seen.escapes[side] = CLOCK_ESCAPES
    assert seen(np.array([[0.5], [1.0 - back], [back], [back]])) == 2
    assert seen.seen.escapes[side, 0] == 0
    assert seen(np.full((5, 1), back)) == 5


def test_a_feature_that_turns_back_in_time_is_no_clock() -> None:
    seen = Watch([0.0], [1.0])
    seen.seen.escapes[:] = CLOCK_ESCAPES - 1
    assert seen(np.array([[0.1], [0.9], [0.5]])) == 3
    assert (seen.seen.escapes == 0).all()


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_values_far_away_are_due_when_they_stay(rng: np.random.Generator, side: float) -> None:
    seen = Watch([0.0], [1.0])
    far = side * (FAR + 2.0 + rng.random((400, 1)))
    due = seen(far)
    assert 1.0 - (1.0 - FAR_RATE) ** (due + 1) > FAR_SHARE > 1.0 - (1.0 - FAR_RATE) ** due
    assert (seen.seen.outside_share == 0.0).all()


def test_fifty_rows_far_away_are_not_due_and_soon_forgotten(rng: np.random.Generator) -> None:
    seen = Watch([0.0], [1.0])
    for _ in range(5):
        assert seen(1e6 * rng.normal(size=(50, 1))) == 50
        assert seen(rng.random((2000, 1))) == 2000
    assert seen.seen.far_share[0] < 0.01


def test_the_same_value_far_away_is_a_code_and_due_only_to_be_told() -> None:
    seen, rows = Watch([0.0], [1.0]), np.full((500, 1), 0.5)
    rows[10 : 10 + 2 * CODE_ROWS : 2] = -9999.0
    last = 10 + 2 * (CODE_ROWS - 1)
    assert seen(rows) == last + 1  # the first value after it that is none
    seen.seen.told[0] = -9999.0
    assert seen(rows, last + 2) == 500
    assert seen(np.full((500, 1), -9999.0)) == 500


def test_for_some_rows_after_a_change_values_outside_do_not_count() -> None:
    seen = Watch([0.0], [1.0])
    seen.seen.changed_at[0] = 1
    assert PATIENCE_ROWS <= seen(np.full((500, 1), 2.0)) < PATIENCE_ROWS + 20


def test_the_sample_holds_the_newest_rows_and_all_are_looked_at_now_and_then() -> None:
    seen = Watch([0.0], [1e9])
    rows = np.arange(SAMPLE_ROWS * SAMPLE_EVERY + 10.0)[:, None]
    looks, start = [], 0
    while (start := int(watch(rows, start, seen.seen))) < len(rows):
        looks.append(start)
        start += 1
    assert looks == list(range(LOOK_EVERY, len(rows), LOOK_EVERY))  # the first has but one row
    kept = [SAMPLE_ROWS * SAMPLE_EVERY + SAMPLE_EVERY * place for place in range(3)]
    np.testing.assert_array_equal(seen.seen.sample[:3, 0], kept)
    np.testing.assert_array_equal(
        seen.seen.sample[3:, 0], rows[3 * SAMPLE_EVERY :: SAMPLE_EVERY, 0][: SAMPLE_ROWS - 3]
    )


def test_ranges_are_looked_at_only_where_one_stands_almost_empty(rng: np.random.Generator) -> None:
    seen, rows = Watch([0.0, 0.0], [1.0, 1.0]), rng.random((4 * LOOK_EVERY, 2))
    seen.seen.small_for[:] = 3
    assert int(watch(rows, 0, seen.seen)) == len(rows)
    assert seen.seen.small_for.tolist() == [0, 0]
    rows[:, 1] *= 0.5 * SMALL
    rows[::9, 1] = -9999.0  # codes do not count
    seen.seen.sample[:], seen.seen.n_watched[0], seen.seen.told[1] = np.nan, 1, -9999.0
    seen.seen.small_for[:] = 3
    assert int(watch(rows, 0, seen.seen)) == LOOK_EVERY - 1
    assert seen.seen.small_for.tolist() == [0, 3]


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
