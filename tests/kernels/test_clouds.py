"""Clouds: the mixture they say, births, movement, fading."""

import numpy as np
import pytest

from build import count
from concept_build import copied, dirty_work, fill_clouds, fresh
from concept_parts import SlowCloud
from concept_same import assert_same_clouds, slow_copy
from devfnn.kernels.clouds import (
    REFRESH_ROWS,
    cloud_shares,
    emptiest_cloud,
    fade_clouds,
    learn_clouds,
    set_height,
)
from devfnn.kernels.concept_state import Concepts, Habits
from devfnn.arrays import Floats

CLOUD_FIELDS = ("cloud_centers", "cloud_labels", "cloud_spreads", "cloud_masses", "cloud_heights")


def shares_of(state: Concepts, row: Floats) -> Floats:
    """What the clouds say of a row."""
    output = np.full(state.weights.shape[1], np.nan)
    cloud_shares(state, row, dirty_work(state), output)
    return output


def learn(state: Concepts, habits: Habits, row: Floats, label: int, weight: float = 1.0) -> Floats:
    """Say, then learn a row, as layers do; returns what was said."""
    work, said = dirty_work(state), np.full(state.weights.shape[1], np.nan)
    cloud_shares(state, row, work, said)
    learn_clouds(state, row, said, (label, weight), habits, work)
    return said


def clouded(
    rng: np.random.Generator, n: int, m: int, n_clouds: int, **changes: object
) -> tuple[Concepts, Habits]:
    """A network with random clouds."""
    state, habits = fresh(n, m, **({"max_clouds": 12} | changes))
    fill_clouds(state, n_clouds, rng)
    return state, habits


# ---- what they say


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 3), (6, 2)])
def test_the_shares_are_those_of_a_gaussian_mixture(
    rng: np.random.Generator, n: int, m: int
) -> None:
    state, _ = clouded(rng, n, m, 6)
    state.cloud_spreads[:6] = rng.uniform(0.1, 0.5, 6)
    for cloud in range(6):
        set_height(state, cloud)
    for row in rng.random((20, n)):
        away = ((row[:, None] - state.cloud_centers[:, :6]) ** 2).sum(axis=0)
        spreads = state.cloud_spreads[:6]
        densities = state.cloud_masses[:6] * np.exp(-0.5 * away / spreads)
        densities /= (2.0 * np.pi * spreads) ** (n / 2)
        sums = np.bincount(state.cloud_labels[:6], densities, m)
        expected = 0.98 * sums / sums.sum() + 0.02 / m
        np.testing.assert_allclose(shares_of(state, row), expected, atol=1e-4)


def test_the_shares_equal_the_twin_with_far_clouds_and_absent_features(
    rng: np.random.Generator,
) -> None:
    state, habits = clouded(rng, 3, 3, 12)
    state.cloud_spreads[:] = 10.0 ** rng.uniform(-5, -1, 12)
    for cloud in range(12):
        set_height(state, cloud)
    slow = slow_copy(state, habits)
    for row in rng.uniform(-0.1, 1.1, (50, 3)):
        row[rng.random(3) < 0.3] = np.nan
        own = shares_of(state, row)
        np.testing.assert_allclose(own, slow.cloud_shares(row), rtol=1e-11)
        assert own.sum() == pytest.approx(1.0)


def test_an_absent_feature_lies_on_every_centre(rng: np.random.Generator) -> None:
    state, _ = clouded(rng, 2, 2, 4)
    level = copied(state)
    level.cloud_centers[1] = 0.3
    own = shares_of(state, np.array([0.6, np.nan]))
    np.testing.assert_allclose(own, shares_of(level, np.array([0.6, 0.3])), rtol=1e-12)
    masses = np.exp(state.cloud_heights[:4])
    alone = 0.98 * np.bincount(state.cloud_labels[:4], masses, 2) / masses.sum() + 0.01
    np.testing.assert_allclose(shares_of(state, np.full(2, np.nan)), alone, rtol=1e-10)


def test_without_clouds_all_classes_are_alike() -> None:
    state, _ = fresh(2, 4)
    np.testing.assert_allclose(shares_of(state, np.array([0.1, 0.2])), 0.25)


# ---- births


def test_the_first_row_founds_a_cloud() -> None:
    state, habits = fresh(2, 3)
    learn(state, habits, np.array([0.2, np.nan]), 2)
    assert_same_clouds(state, [SlowCloud(np.array([0.2, 0.5]), 2, 0.02, 0.02)], 1e-12)


def test_a_new_class_founds_a_cloud_of_the_first_width(rng: np.random.Generator) -> None:
    state, habits = clouded(rng, 2, 3, 2)
    slow = slow_copy(state, habits)
    said = learn(state, habits, np.array([0.4, 0.6]), 2)
    assert said[2] == pytest.approx(0.02 / 3.0)
    born = SlowCloud(np.array([0.4, 0.6]), 2, 0.02, 0.02)
    assert_same_clouds(state, [*slow.clouds, born], 1e-12)
    assert shares_of(state, np.array([0.4, 0.6]))[2] > said[2]


def test_a_row_that_its_class_hardly_explains_founds_a_narrower_cloud() -> None:
    state, habits = fresh(1, 2)
    state.n_clouds[0] = 3
    state.cloud_centers[0, :3] = [0.1, 0.55, 0.5]
    state.cloud_labels[:3] = [1, 1, 0]
    state.cloud_spreads[:3] = [0.0004, 0.0002, 0.01]
    state.cloud_masses[:3] = [1.0, 0.01, 1.0]
    for cloud in range(3):
        set_height(state, cloud)
    said = learn(state, habits, np.array([0.6]), 1)
    assert said[1] < habits.cloud_birth
    assert state.n_clouds[0] == 4
    own = state.cloud_centers[0, 3], state.cloud_labels[3], state.cloud_spreads[3]
    assert own == (0.6, 1, 0.0001)  # half as wide as the densest there, not as the heaviest


def test_no_cloud_is_narrower_than_the_least_width() -> None:
    state, habits = fresh(1, 2)
    learn(state, habits, np.array([0.2]), 0)
    state.cloud_spreads[0] = 1.2e-5
    set_height(state, 0)
    for place in (0.8, 0.81):
        learn(state, habits, np.array([place]), 1)
    learn(state, habits, np.array([0.8]), 0)
    assert state.cloud_spreads[: state.n_clouds[0]].min() == 1e-5


def test_a_cloud_that_is_born_without_room_replaces_the_emptiest(rng: np.random.Generator) -> None:
    state, habits = clouded(rng, 2, 3, 12, cloud_birth=1.0)
    state.cloud_masses[7] = 0.01
    set_height(state, 7)
    assert emptiest_cloud(state) == 7
    before, row = copied(state), np.array([0.3, 0.9])
    learn(state, habits, row, 1)
    assert state.n_clouds[0] == 12
    np.testing.assert_array_equal(state.cloud_centers[:, 7], row)
    assert (state.cloud_labels[7], state.cloud_masses[7]) == (1, 0.02)
    others = np.arange(12) != 7
    for name in CLOUD_FIELDS:
        own = getattr(state, name)[..., others]
        np.testing.assert_array_equal(own, getattr(before, name)[..., others])


# ---- movement


def test_only_clouds_of_its_class_follow_a_row(rng: np.random.Generator) -> None:
    state, habits = clouded(rng, 2, 2, 6, cloud_birth=0.0)
    before = copied(state)
    learn(state, habits, np.array([0.5, 0.5]), 1)
    others, own = state.cloud_labels[:6] == 0, state.cloud_labels[:6] == 1
    for name in CLOUD_FIELDS:
        now, old = getattr(state, name)[..., :6], getattr(before, name)[..., :6]
        np.testing.assert_array_equal(now[..., others], old[..., others])
    assert (state.cloud_masses[:6] >= before.cloud_masses[:6]).all()
    gained = (state.cloud_masses[:6] - before.cloud_masses[:6])[own].sum()
    assert gained == pytest.approx(0.025, rel=0.05)  # of all that share the row


def test_the_step_of_a_lone_cloud(rng: np.random.Generator) -> None:
    state, habits = fresh(2, 2, cloud_rate=0.2)
    learn(state, habits, np.array([0.5, 0.5]), 0)
    learn(state, habits, np.array([0.6, 0.9]), 0, weight=0.5)
    np.testing.assert_allclose(state.cloud_centers[:, 0], [0.51, 0.54])
    assert state.cloud_spreads[0] == pytest.approx(0.9 * 0.02 + 0.1 * (0.1**2 + 0.4**2) / 2.0)
    assert state.cloud_masses[0] == pytest.approx(0.02 + 0.5 * 0.025)
    learn(state, habits, np.array([0.51, 1.54]), 0, weight=1e6)
    assert state.cloud_centers[1, 0] == pytest.approx(1.04)  # never more than half-way


def test_absent_features_leave_the_centre_where_it_is() -> None:
    state, habits = fresh(2, 2, cloud_rate=0.2)
    learn(state, habits, np.array([0.5, 0.5]), 0)
    learn(state, habits, np.array([np.nan, 0.9]), 0)
    np.testing.assert_allclose(state.cloud_centers[:, 0], [0.5, 0.58])
    assert state.cloud_spreads[0] == pytest.approx(0.8 * 0.02 + 0.2 * 0.4**2 / 2.0)


def test_centres_follow_rows_that_move(rng: np.random.Generator) -> None:
    state, habits = fresh(2, 2, cloud_rate=0.1)
    for place in np.linspace(0.1, 0.9, count(400, 150)):
        for label, side in ((0, 0.2), (1, 0.8)):
            row = np.array([place, side]) + 0.02 * rng.normal(size=2)
            learn(state, habits, row, label)
    heaviest = [
        max(
            np.flatnonzero(state.cloud_labels[: state.n_clouds[0]] == label),
            key=state.cloud_masses.__getitem__,
        )
        for label in (0, 1)
    ]
    np.testing.assert_allclose(state.cloud_centers[:, heaviest], [[0.9, 0.9], [0.2, 0.8]], atol=0.1)


def test_masses_fade_by_the_rows_since_the_last_time(rng: np.random.Generator) -> None:
    state, _ = clouded(rng, 2, 2, 5)
    state.cloud_masses[4] = 1.0001e-3
    before = state.cloud_masses.copy()
    fade_clouds(state, 0.99)
    expected = before[:5] * 0.99**REFRESH_ROWS
    expected[4] = 1e-3
    np.testing.assert_allclose(state.cloud_masses[:5], expected)
    np.testing.assert_array_equal(state.cloud_masses[5:], before[5:])


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 3), (4, 2)])
def test_learning_equals_the_twin_and_heights_always_match(
    rng: np.random.Generator, n: int, m: int
) -> None:
    state, habits = fresh(n, m, max_clouds=5, cloud_birth=0.3, cloud_rate=0.1)
    slow, births = slow_copy(state, habits), 0
    for index in range(count(600, 300)):
        label = int(rng.integers(m))
        row = rng.normal((label + rng.integers(2)) / m, 0.25, n)
        row[rng.random(n) < 0.05] = np.nan
        weight = rng.uniform(0.2, 2.0)
        births += shares_of(state, row)[label] < habits.cloud_birth
        learn(state, habits, row, label, weight)
        slow._train_clouds(row, label, weight)
        if index % 64 == 63:
            fade_clouds(state, habits.cloud_memory)
            for cloud in slow.clouds:
                cloud.mass = max(cloud.mass * habits.cloud_memory**64, 1e-3)
        assert_same_clouds(state, slow.clouds, 1e-8)
    assert births > 12 and state.n_clouds[0] == 5
