"""Drift detection: bounds, the printed test and its blind side, and the test over a stream."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.arrays import Ints
from devfnn.kernels.drift import compare_errors, note_errors
from devfnn.kernels.state import CUT_ERRORS, CUT_ROWS
from devfnn.model import presets
from devfnn.model.config import Drift
from devfnn.model.mechanisms.drift import (
    Level,
    drift_in_chunk,
    drift_in_stream,
    dynamic_significance,
    hoeffding_bound,
)

STREAM = Drift(significance=1e-4, warning=1e-2)
zeros_and_ones = st.lists(st.integers(0, 1), max_size=120)


def drawn(rng: np.random.Generator, n_rows: int, rate: float) -> Ints:
    """Errors at a rate."""
    return (rng.random(n_rows) < rate).astype(np.int64)


def printed_cut(errors: Ints, significance: float) -> int | None:
    """The printed cut, row by row: G + bound(G) >= F + bound(F), spans over their own parts."""
    n_rows = len(errors)
    for cut in range(2, n_rows):
        slack = math.sqrt(math.log(1.0 / significance) / (2.0 * cut))
        head = errors[:cut]
        left = head.mean() + np.ptp(head) * slack
        if left >= errors.mean() + np.ptp(errors) * slack:
            return cut
    return None


def test_hoeffding_bound_by_hand() -> None:
    assert hoeffding_bound(1.0, 50, 0.1) == pytest.approx(math.sqrt(math.log(10.0) / 100.0))
    assert hoeffding_bound(0.0, 50, 0.1) == 0.0
    assert hoeffding_bound(2.0, 50, 0.1) == pytest.approx(2.0 * hoeffding_bound(1.0, 50, 0.1))


def bernstein_bound(rate: float, before: int, after: int, significance: float) -> float:
    """The bound of the test over a stream, at this error rate over all rows."""
    errors = round(rate * before)
    track = np.array([before + after, errors + round(rate * after), before, errors])
    return float(compare_errors(track, math.log(1.0 / significance))[2])


def test_bernstein_bound_is_tighter_where_errors_are_rare() -> None:
    rare, even = (bernstein_bound(rate, 5000, 500, 1e-4) for rate in (0.05, 0.5))
    assert rare < even
    assert rare < hoeffding_bound(1.0, 500, 1e-4)
    assert bernstein_bound(0.1, 5000, 500, 1e-8) > bernstein_bound(0.1, 5000, 500, 1e-4)
    assert bernstein_bound(0.0, 10, 10, 0.01) == pytest.approx(math.log(100.0) / 30.0)


def test_bernstein_bound_holds_as_often_as_it_says(rng: np.random.Generator) -> None:
    gaps = rng.binomial(200, 0.1, 20_000) / 200 - rng.binomial(1000, 0.1, 20_000) / 1000
    assert (gaps > bernstein_bound(0.1, 1000, 200, 0.01)).mean() <= 0.01


def test_the_level_rises_with_the_chunks_up_to_its_cap() -> None:
    levels = [dynamic_significance(chunks, 200.0, 0.1) for chunks in range(400)]
    assert levels[0] == levels[1] == pytest.approx(1.0 - math.exp(-1.0 / 200.0))
    assert all(first <= second for first, second in itertools.pairwise(levels))
    assert levels[-1] == 0.1
    assert dynamic_significance(0, 1e12, 0.1) > 0.0  # its logarithm must exist
    assert math.isfinite(math.log(1.0 / dynamic_significance(0, 1e300, 1e-300)))


@given(zeros_and_ones, st.sampled_from([1e-8, 1e-3, 0.08, 0.5]))
@settings(deadline=None, derandomize=True, max_examples=150)
def test_the_printed_test_equals_its_definition(values: list[int], significance: float) -> None:
    errors = np.array(values, np.int64)
    verdict = drift_in_chunk(errors, significance, 0.5, False)
    cut = printed_cut(errors, significance)
    if cut is None or np.ptp(errors) == 0:
        assert verdict.level is Level.STABLE and verdict.cut == 0
        return
    before, after = errors[:cut].mean(), errors[cut:].mean()
    assert (verdict.cut, verdict.error_before, verdict.error_after) == (cut, before, after)
    is_drift = abs(after - before) > hoeffding_bound(1.0, cut, significance)
    assert (verdict.level is Level.DRIFT) == is_drift


@given(zeros_and_ones, st.floats(1e-12, 0.5), st.floats(1e-12, 0.5))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_the_printed_cut_never_lets_the_one_sided_test_fire(
    values: list[int], drift: float, warning: float
) -> None:
    # At the cut the errors so far are at least as frequent as in the whole chunk, so the rest of
    # the chunk can only be better.
    errors = np.array(values, np.int64)
    verdict = drift_in_chunk(errors, drift, warning, True)
    assert verdict.level is Level.STABLE
    assert verdict.error_after <= verdict.error_before


@pytest.mark.parametrize("rate", [(0.1, 0.5), (0.0, 1.0)])
def test_the_printed_test_does_not_see_errors_rise(
    rng: np.random.Generator, rate: tuple[float, float]
) -> None:
    errors = np.concatenate([drawn(rng, 250, rate[0]), drawn(rng, 250, rate[1])])
    assert drift_in_chunk(errors, 0.08, 0.1, True).level is Level.STABLE


def test_the_two_sided_printed_test_fires_when_errors_fall() -> None:
    verdict = drift_in_chunk(np.array([1] * 40 + [0] * 460), 0.08, 0.1, False)
    assert verdict.level is Level.DRIFT
    assert verdict.error_after < verdict.error_before


@pytest.mark.parametrize("values", [[], [0], [1], [0, 1], [0] * 100, [1] * 100])
def test_chunks_without_a_cut_are_stable(values: list[int]) -> None:
    assert drift_in_chunk(np.array(values, np.int64), 0.1, 0.2, False).level is Level.STABLE


def test_a_warning_lies_between_the_two_bounds() -> None:
    errors = np.array([1] * 4 + [0] * 60 + [1] * 20 + [0] * 16)
    levels = {
        drift_in_chunk(errors, drift, 0.5, False).level for drift in (1e-12, 1e-6, 1e-3, 0.1, 0.4)
    }
    assert Level.WARNING in levels


def new_track() -> Ints:
    """No errors so far."""
    return np.zeros(4, np.int64)


def level_of(errors: Ints, track: Ints, drift: Drift = STREAM) -> Level:
    """What the errors of a chunk say, after those on the track."""
    assert drift.warning is not None
    return drift_in_stream(track, errors, drift.significance, drift.warning, True).level


def chunks_until_drift(errors: Ints, drift: Drift = STREAM, rows: int = 500) -> int | None:
    """Number of the chunk in which drift is found."""
    track = new_track()
    for index, chunk in enumerate(np.split(errors, range(rows, len(errors), rows))):
        if level_of(chunk, track, drift) is Level.DRIFT:
            return index
    return None


@pytest.mark.parametrize("seed", range(20))
def test_a_step_in_the_error_rate_is_found_within_two_chunks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    errors = np.concatenate([drawn(rng, 10_000, 0.1), drawn(rng, 2000, 0.2)])
    found = chunks_until_drift(errors)
    assert found is not None and 20 <= found <= 21


def test_stationary_errors_are_hardly_ever_called_drift() -> None:
    alarms = 0
    for seed in range(100):
        errors = drawn(np.random.default_rng(seed), 20_000, 0.1)
        alarms += chunks_until_drift(errors) is not None
    assert alarms <= 3  # of 4000 chunks


def test_the_default_levels_still_see_a_step() -> None:
    rng = np.random.default_rng(3)
    errors = np.concatenate([drawn(rng, 10_000, 0.1), drawn(rng, 2500, 0.25)])
    levels = presets.stacked().drift
    assert levels is not None
    found = chunks_until_drift(errors, levels)
    assert found is not None and 20 <= found <= 22


def test_falling_errors_are_no_drift_unless_both_sides_count(rng: np.random.Generator) -> None:
    errors = np.concatenate([drawn(rng, 5000, 0.3), drawn(rng, 5000, 0.05)])
    assert chunks_until_drift(errors) is None


def test_a_warning_comes_before_the_drift() -> None:
    rng, levels = np.random.default_rng(1), []
    errors = np.concatenate([drawn(rng, 10_000, 0.1), drawn(rng, 5000, 0.14)])
    track = new_track()
    for chunk in np.split(errors, 30):
        levels.append(level_of(chunk, track))
    assert Level.WARNING in levels and Level.DRIFT in levels
    assert levels.index(Level.WARNING) < levels.index(Level.DRIFT)


def test_the_track_starts_anew_after_a_drift(rng: np.random.Generator) -> None:
    track = new_track()
    for _ in range(10):
        level_of(drawn(rng, 500, 0.1), track)
    assert level_of(drawn(rng, 500, 0.6), track) is Level.DRIFT
    assert not track.any()
    assert level_of(drawn(rng, 500, 0.6), track) is Level.STABLE


@given(st.lists(st.integers(0, 1), min_size=1, max_size=200), st.integers(1, 50))
@settings(deadline=None, derandomize=True)
def test_the_track_does_not_depend_on_the_chunks(values: list[int], rows: int) -> None:
    errors = np.array(values, np.int64)
    whole, parts = new_track(), new_track()
    note_errors(whole, errors, 1e-3)
    for start in range(0, len(errors), rows):
        note_errors(parts, errors[start : start + rows], 1e-3)
    assert whole.tolist() == parts.tolist()
    assert whole[:2].tolist() == [len(values), sum(values)]
    assert whole[CUT_ERRORS] == sum(values[: whole[CUT_ROWS]])


def test_the_cut_is_where_the_bounded_rate_is_lowest() -> None:
    errors, track = np.array([1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]), new_track()
    note_errors(track, errors, 0.1)
    assert (track[CUT_ROWS], track[CUT_ERRORS]) == (6, 1)


def test_one_error_alone_is_no_drift() -> None:
    assert level_of(np.ones(1, np.int64), new_track()) is Level.STABLE
