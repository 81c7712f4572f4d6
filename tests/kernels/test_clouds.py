"""Clouds: the mixture they say, births, movement, fading."""

import copy
from typing import Any

import numpy as np
import pytest

from build import count
from devfnn.arrays import Floats
from devfnn.kernels.clouds import (
    REFRESH_ROWS,
    emptiest_cloud,
    fade_clouds,
    learn_clouds,
    say_clouds,
    set_height,
)
from devfnn.kernels.state import CloudState
from rival_build import copied, dirty_work, fill_clouds, fresh
from rival_parts import SlowCloud
from rival_same import assert_same_clouds, slow_clouds, slow_copy
from rival_twin import SlowRivals


class Scene:
    """Clouds of a network, none at first, with what kernels need to run on them."""

    def __init__(self, n: int, m: int, **changes: Any) -> None:
        own = {f"clouds__{name}": value for name, value in changes.items()}
        self.m, (self.state, self.params) = m, fresh(n, m, **own)

    @property
    def clouds(self) -> CloudState:
        """The arrays."""
        return self.state.clouds

    def slow(self) -> SlowRivals:
        """The twin."""
        return slow_copy(self.state, self.params)

    def set_heights(self) -> None:
        """Bring all heights up to date."""
        for cloud in range(self.clouds.count[0]):
            set_height(self.clouds, cloud)

    def say(self, row: Floats) -> Floats:
        """What the clouds say of a row."""
        output = np.full(self.m, np.nan)
        say_clouds(self.clouds, row, self.params.clouds, dirty_work(self.state), output)
        return output

    def learn(self, row: Floats, label: int, weight: float = 1.0) -> Floats:
        """Say, then learn a row, as layers do; returns what was said."""
        work, said, own = dirty_work(self.state), np.full(self.m, np.nan), self.params.clouds
        say_clouds(self.clouds, row, own, work, said)
        learn_clouds(self.clouds, row, said, (label, weight), own, work)
        return said


def filled(rng: np.random.Generator, n: int, m: int, n_clouds: int, **changes: Any) -> Scene:
    """Random clouds."""
    scene = Scene(n, m, **({"max_rules": 12} | changes))
    fill_clouds(scene.clouds, n_clouds, m, rng)
    return scene


# ---- what they say


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 3), (6, 2)])
def test_the_shares_are_those_of_a_gaussian_mixture(
    rng: np.random.Generator, n: int, m: int
) -> None:
    scene = filled(rng, n, m, 6)
    clouds = scene.clouds
    clouds.spreads[:6] = rng.uniform(0.1, 0.5, 6)
    scene.set_heights()
    for row in rng.random((20, n)):
        away = ((row[:, None] - clouds.centers[:, :6]) ** 2).sum(axis=0)
        spreads = clouds.spreads[:6]
        densities = clouds.masses[:6] * np.exp(-0.5 * away / spreads)
        densities /= (2.0 * np.pi * spreads) ** (n / 2)
        sums = np.bincount(clouds.labels[:6], densities, m)
        expected = 0.98 * sums / sums.sum() + 0.02 / m
        np.testing.assert_allclose(scene.say(row), expected, atol=1e-4)


def test_the_shares_equal_the_twin_with_far_clouds_and_absent_features(
    rng: np.random.Generator,
) -> None:
    scene = filled(rng, 3, 3, 12)
    scene.clouds.spreads[:] = 10.0 ** rng.uniform(-5, -1, 12)
    scene.set_heights()
    slow = scene.slow()
    for row in rng.uniform(-0.1, 1.1, (50, 3)):
        row[rng.random(3) < 0.3] = np.nan
        own = scene.say(row)
        np.testing.assert_allclose(own, slow.cloud_shares(row), rtol=1e-11)
        assert own.sum() == pytest.approx(1.0)


def test_an_absent_feature_lies_on_every_centre(rng: np.random.Generator) -> None:
    scene = filled(rng, 2, 2, 4)
    level, clouds = copy.deepcopy(scene), scene.clouds
    level.clouds.centers[1] = 0.3
    own = scene.say(np.array([0.6, np.nan]))
    np.testing.assert_allclose(own, level.say(np.array([0.6, 0.3])), rtol=1e-12)
    masses = np.exp(clouds.heights[:4])
    alone = 0.98 * np.bincount(clouds.labels[:4], masses, 2) / masses.sum() + 0.01
    np.testing.assert_allclose(scene.say(np.full(2, np.nan)), alone, rtol=1e-10)


def test_without_clouds_all_classes_are_alike() -> None:
    np.testing.assert_allclose(Scene(2, 4).say(np.array([0.1, 0.2])), 0.25)


# ---- births


def test_the_first_row_founds_a_cloud() -> None:
    scene = Scene(2, 3)
    scene.learn(np.array([0.2, np.nan]), 2)
    assert_same_clouds(scene.clouds, [SlowCloud(np.array([0.2, 0.5]), 2, 0.02, 0.02)], 1e-12)


def test_a_new_class_founds_a_cloud_of_the_first_width(rng: np.random.Generator) -> None:
    scene, row = filled(rng, 2, 3, 2), np.array([0.4, 0.6])
    before = slow_clouds(scene.clouds)
    said = scene.learn(row, 2)
    assert said[2] == pytest.approx(0.02 / 3.0)
    assert_same_clouds(scene.clouds, [*before, SlowCloud(row, 2, 0.02, 0.02)], 1e-12)
    assert scene.say(row)[2] > said[2]


def test_a_row_that_its_class_hardly_explains_founds_a_narrower_cloud() -> None:
    scene = Scene(1, 2)
    clouds = scene.clouds
    clouds.count[0] = 3
    clouds.centers[0, :3] = [0.1, 0.55, 0.5]
    clouds.labels[:3] = [1, 1, 0]
    clouds.spreads[:3] = [0.0004, 0.0002, 0.01]
    clouds.masses[:3] = [1.0, 0.01, 1.0]
    scene.set_heights()
    said = scene.learn(np.array([0.6]), 1)
    assert said[1] < scene.params.clouds.birth
    assert clouds.count[0] == 4
    own = clouds.centers[0, 3], clouds.labels[3], clouds.spreads[3]
    assert own == (0.6, 1, 0.0001)  # half as wide as the densest there, not as the heaviest


def test_no_cloud_is_narrower_than_the_least_width() -> None:
    scene = Scene(1, 2)
    scene.learn(np.array([0.2]), 0)
    scene.clouds.spreads[0] = 1.2e-5
    scene.set_heights()
    for place, label in ((0.8, 1), (0.81, 1), (0.8, 0)):
        scene.learn(np.array([place]), label)
    assert scene.clouds.spreads[: scene.clouds.count[0]].min() == 1e-5


def test_a_cloud_that_is_born_without_room_replaces_the_emptiest(rng: np.random.Generator) -> None:
    scene = filled(rng, 2, 3, 12, birth=1.0)
    clouds, row = scene.clouds, np.array([0.3, 0.9])
    clouds.masses[7] = 0.01
    scene.set_heights()
    assert emptiest_cloud(clouds) == 7
    expected = slow_clouds(clouds)
    expected[7] = SlowCloud(row, 1, scene_spread(scene, row, 1), 0.02)
    scene.learn(row, 1)
    assert_same_clouds(clouds, expected, 1e-12)


def scene_spread(scene: Scene, row: Floats, label: int) -> float:
    """Half the width of the densest cloud of a class at a row."""
    slow = scene.slow()
    own = [cloud.label == label for cloud in slow.clouds]
    return 0.5 * slow.clouds[int(np.where(own, slow.densities(row), -1.0).argmax())].spread


# ---- movement


def test_only_clouds_of_its_class_follow_a_row(rng: np.random.Generator) -> None:
    scene = filled(rng, 2, 2, 6, birth=0.0)
    clouds, before = scene.clouds, copied(scene.clouds)
    scene.learn(np.array([0.5, 0.5]), 1)
    others, own = clouds.labels[:6] == 0, clouds.labels[:6] == 1
    for now, old in zip(clouds[:-1], before[:-1], strict=True):
        np.testing.assert_array_equal(now[..., :6][..., others], old[..., :6][..., others])
    gained = clouds.masses[:6] - before.masses[:6]
    assert (gained >= 0.0).all()
    assert gained[own].sum() == pytest.approx(0.025, rel=0.05)  # of all that share the row


def test_the_step_of_a_lone_cloud() -> None:
    scene = Scene(2, 2, rate=0.2)
    clouds = scene.clouds
    scene.learn(np.array([0.5, 0.5]), 0)
    scene.learn(np.array([0.6, 0.9]), 0, weight=0.5)
    np.testing.assert_allclose(clouds.centers[:, 0], [0.51, 0.54])
    assert clouds.spreads[0] == pytest.approx(0.9 * 0.02 + 0.1 * (0.1**2 + 0.4**2) / 2.0)
    assert clouds.masses[0] == pytest.approx(0.02 + 0.5 * 0.025)
    scene.learn(np.array([0.51, 1.54]), 0, weight=1e6)
    assert clouds.centers[1, 0] == pytest.approx(1.04)  # never more than half-way


def test_absent_features_leave_the_centre_where_it_is() -> None:
    scene = Scene(2, 2, rate=0.2)
    scene.learn(np.array([0.5, 0.5]), 0)
    scene.learn(np.array([np.nan, 0.9]), 0)
    np.testing.assert_allclose(scene.clouds.centers[:, 0], [0.5, 0.58])
    assert scene.clouds.spreads[0] == pytest.approx(0.8 * 0.02 + 0.2 * 0.4**2 / 2.0)


def test_centres_follow_rows_that_move(rng: np.random.Generator) -> None:
    scene = Scene(2, 2, rate=0.1)
    clouds = scene.clouds
    for place in np.linspace(0.1, 0.9, count(400, 150)):
        for label, side in ((0, 0.2), (1, 0.8)):
            scene.learn(np.array([place, side]) + 0.02 * rng.normal(size=2), label)
    heaviest = [
        max(
            np.flatnonzero(clouds.labels[: clouds.count[0]] == label),
            key=clouds.masses.__getitem__,
        )
        for label in (0, 1)
    ]
    np.testing.assert_allclose(clouds.centers[:, heaviest], [[0.9, 0.9], [0.2, 0.8]], atol=0.1)


def test_masses_fade_now_and_then_by_the_rows_since_the_last_time(
    rng: np.random.Generator,
) -> None:
    scene = filled(rng, 2, 2, 5, memory=0.99)
    clouds = scene.clouds
    clouds.masses[4] = 1.0001e-3
    before = clouds.masses.copy()
    fade_clouds(clouds, 3 * REFRESH_ROWS - 1, scene.params.clouds)
    np.testing.assert_array_equal(clouds.masses, before)
    fade_clouds(clouds, 3 * REFRESH_ROWS, scene.params.clouds)
    expected = before[:5] * 0.99**REFRESH_ROWS
    expected[4] = 1e-3
    np.testing.assert_allclose(clouds.masses[:5], expected)
    np.testing.assert_array_equal(clouds.masses[5:], before[5:])


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 3), (4, 2)])
def test_learning_equals_the_twin_and_heights_always_match(
    rng: np.random.Generator, n: int, m: int
) -> None:
    scene = Scene(n, m, max_rules=5, birth=0.3, rate=0.1)
    slow, births, params = scene.slow(), 0, scene.params.clouds
    for index in range(1, count(600, 300) + 1):
        label = int(rng.integers(m))
        row = rng.normal((label + rng.integers(2)) / m, 0.25, n)
        row[rng.random(n) < 0.05] = np.nan
        weight = rng.uniform(0.2, 2.0)
        births += scene.learn(row, label, weight)[label] < params.birth
        slow._train_clouds(row, label, weight)
        fade_clouds(scene.clouds, index, params)
        if index % 64 == 0:
            for cloud in slow.clouds:
                cloud.mass = max(cloud.mass * params.memory**64, 1e-3)
        assert_same_clouds(scene.clouds, slow.clouds, 1e-8)
    assert births > 12 and scene.clouds.count[0] == 5
