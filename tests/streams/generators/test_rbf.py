"""The RBF generator: clouds around centres that stand still, move or travel."""

import numpy as np
import pytest
from river.datasets import synth
from river.datasets.synth.random_rbf import Centroid

from devfnn.errors import InputError
from devfnn.streams import RandomRBF, drifting, rbf
from devfnn.streams.generators.concept import normal_draws
from streams.generators.gathered import made, whole


class Replayed:
    """A random number generator that gives the random numbers of one of our rows to River."""

    def __init__(self, row: np.ndarray) -> None:
        self.uniform = iter(row[:-2].tolist())
        self.normal = float(normal_draws(row[None, -2:])[0, 0])

    def random(self) -> float:
        return next(self.uniform)

    def gauss(self, mean: float, deviation: float) -> float:
        return mean + deviation * self.normal


def centroids(concept: RandomRBF) -> list[Centroid]:
    """The centres as River has them."""
    found = []
    clouds = concept.clouds()
    for number in range(concept.n_centroids):
        centroid = Centroid()
        centroid.centre = clouds.centres[number].tolist()
        centroid.std_dev = float(clouds.spreads[number])
        centroid.class_label = number % concept.n_classes
        found.append(centroid)
    return found


def test_rows_are_those_that_river_makes_from_the_same_centres_and_random_numbers(rng):
    concept = RandomRBF(n_features=5, n_classes=3, n_centroids=20, seed=4)
    draws = rng.random((2000, concept.n_draws))
    river = synth.RandomRBF(n_classes=3, n_features=5, n_centroids=20)
    river.centroids = centroids(concept)
    river.centroid_weights = concept.clouds().weights.tolist()
    rows = [river._generate_sample(Replayed(row)) for row in draws]
    X, classes = concept.start()(draws)
    np.testing.assert_allclose(X, [list(x.values()) for x, _ in rows], atol=1e-9)
    np.testing.assert_array_equal(classes, [y for _, y in rows])


def centres_after(concept: RandomRBF, n_rows: int) -> np.ndarray:
    """Where the centres are after some rows, found from rows without an offset."""
    weights = concept.clouds().weights
    draws = np.full((concept.n_centroids, concept.n_draws), 0.5)  # no direction, so no offset
    draws[:, 0] = (np.cumsum(weights) - weights / 2) / weights.sum()  # each centre once
    maker = concept.start()
    maker(np.full((n_rows + 1, concept.n_draws), 0.5))
    return maker.again(draws, np.full(len(draws), n_rows))[0]


def test_centres_move_as_those_of_river_until_they_meet_a_wall():
    """River moves before it makes a row; we move after it."""
    concept = RandomRBF(n_features=3, n_classes=2, n_centroids=8, seed=1, speed=0.001)
    clouds = concept.clouds()

    class Ours(synth.RandomRBFDrift):
        def _generate_centroids(self):
            self.centroids = centroids(concept)
            self.centroid_weights = clouds.weights.tolist()
            self.centroid_speed = (clouds.speeds / 0.001).tolist()

    river = Ours(n_classes=2, n_features=3, n_centroids=8, change_speed=0.001, n_drift_centroids=8)
    n_rows = 30
    list(river.take(n_rows))
    theirs = np.array([centroid.centre for centroid in river.centroids])
    ours = centres_after(concept, n_rows)
    is_inside = ((theirs > 0.03) & (theirs < 0.97)).all(axis=1)
    assert is_inside.sum() >= 4
    np.testing.assert_allclose(ours[is_inside], theirs[is_inside], atol=1e-9)
    assert np.abs(ours - clouds.centres).max() > 0.01


def test_centres_move_at_their_speed_and_turn_back_at_the_walls():
    concept = RandomRBF(n_features=2, n_centroids=6, seed=3, speed=0.01)
    path = np.array([centres_after(concept, n_rows) for n_rows in range(1, 400)])
    assert path.min() >= 0.0
    assert path.max() <= 1.0
    steps = np.diff(path, axis=0)
    lengths = np.linalg.norm(steps, axis=2)
    assert np.mean(np.abs(lengths - 0.01) < 1e-9) > 0.95  # all but where they turn
    assert lengths.max() < 0.01 + 1e-9
    assert ((steps > 0).any(axis=0) & (steps < 0).any(axis=0)).sum() >= 8


def test_spreads_are_the_distances_to_the_centre():
    concept = RandomRBF(n_features=6, n_centroids=5, n_classes=5, seed=2)
    X, classes = made(concept, 50_000)
    clouds = concept.clouds()
    for number in range(5):
        distances = np.linalg.norm(X[classes == number] - clouds.centres[number], axis=1)
        assert np.sqrt(np.mean(distances**2)) == pytest.approx(clouds.spreads[number], rel=0.1)
    shares = np.bincount(classes, minlength=5) / len(classes)
    np.testing.assert_allclose(shares, clouds.weights / clouds.weights.sum(), atol=0.01)


def test_incremental_drift_takes_centres_along_straight_lines():
    parts = [RandomRBF(2, 2, 2, seed=seed) for seed in (5, 6)]
    stream = drifting(parts, 60_000, positions=[20_000], width=20_000, kind="incremental")
    X, y = whole(stream)
    old, new = (part.clouds() for part in parts)
    for number in range(2):
        for part, share in ((np.s_[:20_000], 0), (np.s_[29_000:31_000], 0.5), (np.s_[40_000:], 1)):
            middle = (1 - share) * old.centres[number] + share * new.centres[number]
            found = np.median(X[part][y[part] == number], axis=0)
            np.testing.assert_allclose(found, middle, atol=0.05)


def test_the_ends_of_an_incremental_drift_are_the_concepts_themselves(rng):
    old, new = RandomRBF(3, 2, 7, seed=1), RandomRBF(3, 2, 7, seed=2)
    draws = rng.random((500, old.n_draws))
    for concept, share in ((old, 0.0), (new, 1.0)):
        X, classes = old.between(new, np.full(500, share))(draws)
        expected, expected_classes = concept.start()(draws)
        np.testing.assert_allclose(X, expected, atol=1e-9)
        np.testing.assert_array_equal(classes, expected_classes)


def test_the_default_moves_slowly():
    stream = rbf(1000)
    assert len(stream.feature_names) == 10
    assert stream.drift_positions == ()
    still, _ = whole(rbf(10_000, speed=0.0))
    moved, _ = whole(rbf(10_000))
    distances = np.linalg.norm(still - moved, axis=1)
    is_straight = np.abs(distances[:500] - 0.0001 * np.arange(500)) < 1e-9
    assert is_straight.mean() > 0.8  # the others met a wall
    assert distances[9000:].mean() > 0.3


def test_imbalance_does_not_make_centres_move_faster():
    options = {"n_features": 2, "n_centroids": 2, "speed": 0.0001}
    X, y = whole(rbf(50_000, **options, class_shares={1: 0.1}))
    plain_X, plain_y = whole(rbf(50_000, **options))
    assert np.mean(y == 1) == pytest.approx(0.1, abs=0.01)
    for start in range(0, 50_000, 10_000):
        part = np.s_[start : start + 500]
        found = np.median(X[part][y[part] == 0], axis=0)
        expected = np.median(plain_X[part][plain_y[part] == 0], axis=0)
        np.testing.assert_allclose(found, expected, atol=0.12)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_features": 0}, "n_features must be"),
        ({"n_classes": 0}, "n_classes must be"),
        ({"n_classes": 5, "n_centroids": 4}, "n_centroids must be a whole number from 5 on"),
        ({"n_concepts": 0}, "n_concepts must be"),
        ({"speed": -1}, "speed must be"),
        ({"n_concepts": 2, "kind": "incremental", "width": 10}, "set speed to 0"),
    ],
)
def test_bad_values_are_refused_at_once(bad, message):
    with pytest.raises(InputError, match=message):
        rbf(100, **bad)


def test_travelling_between_different_numbers_of_centres_is_refused():
    concepts = [RandomRBF(2, 2, 5), RandomRBF(2, 2, 6)]
    with pytest.raises(InputError, match="equally many centres"):
        drifting(concepts, 100, positions=[50], width=10, kind="incremental")
