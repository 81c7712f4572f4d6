"""Online scaling: the map follows shifts, not outliers, and says exactly how it changed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.arrays import Floats
from devfnn.kernels.scaling import (
    FAR,
    MARGIN,
    SAMPLE_EVERY,
    SAMPLE_ROWS,
    SMALL,
    WAKING_ROWS,
)
from devfnn.model.scaling import (
    CLIP,
    EDGE,
    FIRST_MAP,
    SETTLING_ROWS,
    Change,
    OnlineScaler,
)


def absorb_all(scaler: OnlineScaler, X: Floats) -> list[tuple[int, Change]]:
    """Take in all rows, remaking the map whenever it may be due; returns the changes."""
    changes, start = [], 0
    while (due := scaler.absorb(X, start)) < len(X):
        was_settled, change = scaler.is_settled, scaler.remake()
        if not (was_settled and change.is_empty) or change.codes.size:
            changes.append((due, change))
        start = due + 1
    return changes


def settled(rng: np.random.Generator, n: int = 2) -> OnlineScaler:
    """A scaler that has seen its first rows, uniform in [0, 1]."""
    scaler = OnlineScaler(n)
    absorb_all(scaler, rng.random((200, n)))
    return scaler


def assert_same_state(first: OnlineScaler, second: OnlineScaler) -> None:
    """Compare everything a scaler knows."""
    for name, value in vars(first).items():
        np.testing.assert_array_equal(value, getattr(second, name), err_msg=name)


def unclipped(scaler: OnlineScaler, X: Floats) -> Floats:
    """Scaled rows without the clipping of `transform`."""
    return (X - scaler.low) / np.where(scaler.width > 0.0, scaler.width, 1.0)


streams = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(1, 400),
    st.floats(-1e6, 1e6),
    st.floats(1e-6, 1e6),
    st.floats(-10.0, 10.0),
)


def stream(seed: int, n_rows: int, low: float, width: float, shift: float) -> Floats:
    """Two features; halfway one of them moves by some of its widths, with a few outliers."""
    rng = np.random.default_rng(seed)
    X = low + width * rng.random((n_rows, 2))
    X[n_rows // 2 :, 0] += shift * width
    X[rng.random(X.shape) < 0.01] *= 100.0
    return X


@given(streams)
@settings(deadline=None, derandomize=True, max_examples=60)
def test_past_rows_under_the_new_map_relate_to_the_old_by_the_change(
    parameters: tuple[int, int, float, float, float],
) -> None:
    X = stream(*parameters)
    scaler, start = OnlineScaler(2), 0
    while (due := scaler.absorb(X, start)) < len(X):
        past, was_wide = X[: due + 1], scaler.width > 0.0
        old = unclipped(scaler, past)
        change = scaler.remake()
        new = unclipped(scaler, past)
        assert (change.factors > 0.0).all()
        calm = change.without_wild()
        related = new[:, calm.features] * calm.factors + calm.shifts
        np.testing.assert_allclose(related, old[:, calm.features], rtol=1e-6, atol=1e-6)
        same = np.setdiff1d(np.flatnonzero(was_wide), change.features)
        np.testing.assert_array_equal(new[:, same], old[:, same])
        start = due + 1


@given(streams)
@settings(deadline=None, derandomize=True, max_examples=40)
def test_absorbing_row_by_row_equals_absorbing_at_once(
    parameters: tuple[int, int, float, float, float],
) -> None:
    X = stream(*parameters)
    at_once, row_by_row = OnlineScaler(2), OnlineScaler(2)
    changes = absorb_all(at_once, X)
    single = [row for row in range(len(X)) if absorb_all(row_by_row, X[row : row + 1])]
    assert single == [row for row, _ in changes]
    assert_same_state(at_once, row_by_row)


@given(streams)
@settings(deadline=None, derandomize=True, max_examples=40)
def test_scaled_values_are_finite_and_clipped(
    parameters: tuple[int, int, float, float, float],
) -> None:
    X = stream(*parameters)
    scaler = OnlineScaler(2)
    absorb_all(scaler, X)
    for rows in (X, np.array([[1e100, -1e100]])):
        scaled = scaler.transform(rows)
        assert ((scaled >= -CLIP) & (scaled <= 1.0 + CLIP)).all()


def test_limits_that_stand_in_two_files_are_the_same() -> None:
    assert MARGIN == CLIP
    assert 6 <= EDGE * SETTLING_ROWS < 7  # bad rows that a first map forgets


def test_transforming_changes_neither_rows_nor_scaler(rng: np.random.Generator) -> None:
    scaler, X = settled(rng), rng.random((10, 2))
    low, copy = scaler.low.copy(), X.copy()
    scaler.transform(X)
    np.testing.assert_array_equal(X, copy)
    np.testing.assert_array_equal(scaler.low, low)


def test_the_bulk_of_the_first_rows_fills_the_unit_range(rng: np.random.Generator) -> None:
    scaler = OnlineScaler(2)
    X = rng.random((SETTLING_ROWS, 2)) * [3.0, 1e6] + [-1.0, 5e6]
    absorb_all(scaler, X)
    scaled = scaler.transform(X)
    np.testing.assert_allclose(scaled.min(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled.max(axis=0), 1.0, atol=1e-12)


def test_the_map_is_remade_after_powers_of_two_and_then_stays(
    rng: np.random.Generator,
) -> None:
    changes = absorb_all(OnlineScaler(1), rng.random((5000, 1)))
    expected = [FIRST_MAP]
    while expected[-1] < SETTLING_ROWS:
        expected.append(2 * expected[-1])
    assert [row + 1 for row, _ in changes] == expected


def test_an_outlier_among_the_first_rows_does_not_set_the_range(
    rng: np.random.Generator,
) -> None:
    scaler, X = OnlineScaler(1), rng.random((SETTLING_ROWS, 1))
    X[60] = 1e6
    absorb_all(scaler, X)
    assert scaler.width[0] < 3.0


@given(st.floats(-1e12, 1e12), st.integers(0, 299))
@settings(deadline=None, derandomize=True, max_examples=50)
def test_a_single_outlier_does_not_change_the_map(value: float, row: int) -> None:
    rng = np.random.default_rng(4)
    scaler = settled(rng)
    X = rng.uniform(0.05, 0.95, (300, 2))
    X[row, 1] = value
    assert absorb_all(scaler, X) == []


@pytest.mark.parametrize("shift", [0.5, 3.0, -2.0, 40.0, -500.0])
def test_a_shifted_feature_changes_the_map(rng: np.random.Generator, shift: float) -> None:
    scaler = settled(rng)
    X = rng.random((400, 2))
    X[:, 0] += shift
    changes = absorb_all(scaler, X)
    assert changes
    for _, change in changes:
        is_near = abs(shift) <= FAR
        assert (change.features if is_near else change.moved).tolist() == [0]
    scaled = scaler.transform(X)
    assert (scaled[:, 0] > -CLIP).all() and (scaled[:, 0] < 1.0 + CLIP).all()


@pytest.mark.parametrize("size", [1.0, -9999.0, 1e12])
def test_a_glitch_of_fifty_rows_is_over_at_once(rng: np.random.Generator, size: float) -> None:
    scaler, X = settled(rng), rng.random((2000, 2))
    X[500:550, 0] = size * (2.0 + rng.random(50))
    absorb_all(scaler, X)
    assert scaler.width[0] < 4.0
    assert scaler.width[1] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 0.5 * SMALL, 1e3, 1e6])
def test_a_feature_in_another_unit_gets_a_range_of_that_unit(
    rng: np.random.Generator, factor: float
) -> None:
    scaler, X = settled(rng), rng.random((3500, 2))
    X[:, 0] *= factor
    changes = absorb_all(scaler, X)
    assert scaler.width[0] == pytest.approx(factor, rel=0.15)
    assert [change.moved.tolist() for _, change in changes] == [[0]]
    assert not any(change.features.size for _, change in changes)


def test_a_range_halfway_empty_stays(rng: np.random.Generator) -> None:
    scaler, X = settled(rng), rng.random((20_000, 2))
    X[:, 0] *= 1.5 * SMALL
    assert absorb_all(scaler, X) == []


def test_a_feature_that_moves_slowly_through_its_range_keeps_it(rng: np.random.Generator) -> None:
    scaler, n_rows = settled(rng), 20_000
    X = rng.random((n_rows, 2))
    X[:, 0] = 0.5 + 0.4 * np.sin(np.arange(n_rows) / 3000.0) + 0.02 * X[:, 0]
    assert np.ptp(X[: SAMPLE_ROWS * SAMPLE_EVERY, 0]) < 2.0 * SMALL
    assert absorb_all(scaler, X) == []


def test_values_far_away_now_and_then_are_reached_for_in_the_end(rng: np.random.Generator) -> None:
    scaler, X = settled(rng), rng.random((4000, 2))
    is_far = rng.random(4000) < 0.3
    X[is_far, 0] += 6.0
    absorb_all(scaler, X)
    assert scaler.low[0] < 0.1 and scaler.low[0] + scaler.width[0] > 6.8


def test_a_code_for_what_is_missing_is_told_once_and_never_in_a_range(
    rng: np.random.Generator,
) -> None:
    scaler, X = OnlineScaler(2), rng.random((6000, 2))
    X[rng.random(6000) < 0.3, 0] = -9999.0
    changes = absorb_all(scaler, X)
    assert [change.codes.tolist() for _, change in changes if change.codes.size] == [[0]]
    assert scaler.told[0] == -9999.0
    assert np.isnan(scaler.told[1])
    assert scaler.low[0] > -1.0


def test_the_old_range_stays_inside_the_new_one(rng: np.random.Generator) -> None:
    scaler = settled(rng, 1)
    low, high = scaler.low[0], scaler.low[0] + scaler.width[0]
    for shift in (3.0, -3.0, 10.0):
        absorb_all(scaler, rng.random((50, 1)) + shift)
        assert scaler.width[0] > high - low
        assert scaler.low[0] <= low and scaler.low[0] + scaler.width[0] >= high - 1e-9
        low, high = scaler.low[0], scaler.low[0] + scaler.width[0]


def test_a_constant_feature_sleeps_in_the_middle_until_it_varies(
    rng: np.random.Generator,
) -> None:
    scaler, X = OnlineScaler(2), rng.random((300, 2))
    X[:, 1] = 7.0
    absorb_all(scaler, X)
    assert scaler.awake.tolist() == [True, False]
    assert (scaler.transform(X)[:, 1] == 0.5).all()
    later = np.stack([rng.random(100), 7.0 + 2.0 * rng.random(100)], axis=1)
    changes = absorb_all(scaler, later)
    assert [row for row, _ in changes] == [WAKING_ROWS - 1]
    assert scaler.awake.all()
    assert scaler.low[1] == 7.0  # the value it had for so long is part of its range
    assert scaler.width[1] == pytest.approx(later[:WAKING_ROWS, 1].max() - 7.0)


def test_one_other_value_does_not_give_a_constant_feature_its_range() -> None:
    scaler, X = OnlineScaler(1), np.full((240, 1), 7.0)
    X[200] = 9.0
    absorb_all(scaler, X)
    assert not scaler.awake[0]


def test_waking_up_is_no_change_of_the_past(rng: np.random.Generator) -> None:
    scaler, X = OnlineScaler(1), np.full((200, 1), 7.0)
    absorb_all(scaler, X)
    ((_, change),) = absorb_all(scaler, 8.0 + rng.random((100, 1)))
    assert scaler.awake[0]
    assert change.features.size == 0


def test_a_clock_falls_asleep_and_wakes_when_it_turns_back() -> None:
    scaler = OnlineScaler(1)
    absorb_all(scaler, np.arange(4000.0)[:, None])
    assert not scaler.awake[0]
    assert (scaler.transform(np.array([[3999.0]])) == 0.5).all()
    absorb_all(scaler, np.arange(10.0)[:, None])
    assert scaler.awake[0]


def test_missing_values_stay_missing_and_move_nothing(rng: np.random.Generator) -> None:
    scaler = settled(rng)
    X = rng.random((100, 2))
    X[:, 0] = np.nan
    assert absorb_all(scaler, X) == []
    scaled = scaler.transform(X)
    assert np.isnan(scaled[:, 0]).all() and np.isfinite(scaled[:, 1]).all()


def test_first_rows_with_gaps_make_a_map_of_what_is_there(rng: np.random.Generator) -> None:
    X = 10.0 + rng.random((SETTLING_ROWS, 2))
    X[rng.random(X.shape) < 0.5] = np.nan
    scaler = OnlineScaler(2)
    absorb_all(scaler, X)
    np.testing.assert_allclose(scaler.low, np.nanmin(X, axis=0))
    np.testing.assert_allclose(scaler.low + scaler.width, np.nanmax(X, axis=0))


@pytest.mark.parametrize("way", ["missing so far", "new"])
def test_a_feature_that_appears_late_gets_a_range_of_its_own_values(
    rng: np.random.Generator, way: str
) -> None:
    # Its first value is all that is known of it; 0 is no value it ever had.
    early = rng.random((300, 2))
    if way == "missing so far":
        early[:, 1] = np.nan
        scaler = OnlineScaler(2)
        absorb_all(scaler, early)
    else:
        scaler = OnlineScaler(1)
        absorb_all(scaler, np.ascontiguousarray(early[:, :1]))
        scaler.widen_to(2)
    late = rng.random((300, 2)) + np.array([0.0, 1000.0])
    absorb_all(scaler, late)
    scaled = scaler.transform(late)[:, 1]
    assert np.ptp(scaled) > 0.1


def test_room_for_new_features_leaves_the_old_map(rng: np.random.Generator) -> None:
    scaler, X = settled(rng), rng.random((10, 2))
    before = scaler.transform(X)
    scaler.widen_to(4)
    wider = np.hstack([X, np.full((10, 2), 3.0)])
    np.testing.assert_array_equal(scaler.transform(wider)[:, :2], before)
    assert scaler.awake.tolist() == [True, True, False, False]


def test_room_for_new_features_while_the_map_is_being_made(rng: np.random.Generator) -> None:
    scaler = OnlineScaler(1)
    absorb_all(scaler, rng.random((10, 1)))
    scaler.widen_to(2)
    absorb_all(scaler, rng.random((200, 2)) + np.array([0.0, 50.0]))
    assert scaler.awake.all()
    assert scaler.low[1] > 49.0 and scaler.width[1] < 2.0


@pytest.mark.parametrize("bad", ["a code", "garbage", "much garbage"])
def test_a_glitch_among_the_first_rows_is_forgotten(rng: np.random.Generator, bad: str) -> None:
    scaler, X = OnlineScaler(2), rng.random((6000, 2))
    n_rows = 50 if bad == "much garbage" else 6
    X[50 : 50 + n_rows, 0] = -9999.0 if bad == "a code" else 1e7 * rng.random(n_rows)
    absorb_all(scaler, X)
    assert scaler.width == pytest.approx(1.0, rel=0.1 if bad != "garbage" else 1.0)


@pytest.mark.parametrize("bad", [-9999.0, 1e7])
def test_a_glitch_of_a_constant_feature_is_forgotten_when_it_varies(
    rng: np.random.Generator, bad: float
) -> None:
    scaler, X = OnlineScaler(2), rng.random((8000, 2))
    X[:, 0] += 5.0
    X[:3000, 0] = 5.0
    X[1000:1020, 0] = bad * rng.random(20)
    absorb_all(scaler, X)
    assert scaler.width[0] == pytest.approx(1.0, abs=0.1)


def test_a_sensor_at_night_keeps_its_range(rng: np.random.Generator) -> None:
    """It was filled by day, and what it says at night is no day in a smaller unit."""
    scaler, X = settled(rng), rng.random((9000, 2))
    X[3000:, 0] = 0.5 + 0.01 * X[3000:, 0]
    assert absorb_all(scaler, X) == []


def test_a_feature_that_is_missing_for_long_keeps_its_range(rng: np.random.Generator) -> None:
    """Also when another one stands almost empty, so that all are looked at."""
    scaler, X = settled(rng), rng.random((6000, 2))
    low, width = scaler.low[0], scaler.width[0]
    X[1000:, 0] = np.nan
    X[1500:, 1] *= 1e-4
    absorb_all(scaler, X)
    assert (scaler.low[0], scaler.width[0]) == (low, width)
    assert scaler.width[1] == pytest.approx(1e-4, rel=0.15)
