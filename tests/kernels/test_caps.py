"""Caps: features that use little of their range may have larger weights."""

import numpy as np
import pytest

from concept_build import fresh
from devfnn.kernels.caps import widen_caps
from devfnn.kernels.concept_state import CALM_CURVE, Concepts, Habits


def seen(variances: list[float], age: int = 100, **changes: float) -> tuple[Concepts, Habits]:
    """A network whose calm curve has seen features vary so much."""
    state, habits = fresh(len(variances), 2, **({"prior": 2.0, "prior_reach": 10.0} | changes))
    state.variances[CALM_CURVE] = variances
    state.ages[CALM_CURVE] = age
    return state, habits


def test_a_feature_that_varies_less_than_evenly_has_a_wider_prior() -> None:
    state, habits = seen([1.0 / 12.0, 1.0 / 36.0, 1e-4, 0.2])
    for _ in range(4):
        widen_caps(state, habits)
    factors = [1.0, 3.0, 10.0, 1.0]
    np.testing.assert_allclose(state.caps, 2.0 * np.array([1.0, *factors, *factors]))


def test_a_constant_feature_keeps_its_prior() -> None:
    state, habits = seen([0.0, 1e-7, 1e-2])
    widen_caps(state, habits)
    np.testing.assert_array_equal(state.caps[[1, 2]], 2.0)
    assert state.caps[3] > 2.0


def test_a_reach_of_one_widens_nothing() -> None:
    state, habits = seen([1e-4, 1e-3], prior_reach=1.0)
    widen_caps(state, habits)
    np.testing.assert_array_equal(state.caps, 2.0)


@pytest.mark.parametrize("age", [0, 99, 100])
def test_a_few_rows_say_nothing_about_a_variance(age: int) -> None:
    state, habits = seen([1e-3], age)
    widen_caps(state, habits)
    assert (state.caps[1] > 2.0) == (age == 100)


def test_caps_never_fall() -> None:
    state, habits = seen([1.0 / 18.0])
    state.caps[1] = 50.0
    widen_caps(state, habits)
    np.testing.assert_allclose(state.caps, [2.0, 50.0, 3.0])
    state.variances[CALM_CURVE] = 0.08
    widen_caps(state, habits)
    np.testing.assert_allclose(state.caps, [2.0, 50.0, 3.0])


def test_caps_rise_step_by_step() -> None:
    """A feature that holds still for a step, or has just begun to vary, looks narrow."""
    state, habits = seen([1e-4])
    caps = []
    for _ in range(5):
        widen_caps(state, habits)
        caps.append(float(state.caps[1]))
    assert caps == [4.0, 8.0, 16.0, 20.0, 20.0]
