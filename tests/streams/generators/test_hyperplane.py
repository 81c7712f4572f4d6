"""The hyperplane: the sides of a plane that stands still, walks or turns."""

import random

import numpy as np
import pytest
from river.datasets import synth

from devfnn.errors import InputError
from devfnn.streams import Hyperplane, drifting, hyperplane
from streams.generators.gathered import made, whole


def river_rows(*, n_drift_features: int, magnitude: float, n_rows: int = 3000):
    """Weights, random numbers and labels of River, whose random numbers can be drawn again."""
    seed, n_features, sigma = 7, 10, 0.1
    stream = synth.Hyperplane(seed, n_features, n_drift_features, magnitude, 0.0, sigma)
    rows = list(stream.take(n_rows))
    rng = random.Random(seed)
    weights = [rng.random() for _ in range(n_features)]
    draws = np.empty((n_rows, n_features + n_drift_features))
    for row in draws:
        row[:n_features] = [rng.random() for _ in range(n_features)]
        rng.random()  # for noise, of which there is none
        row[n_features:] = [rng.random() for _ in range(n_drift_features)]
    np.testing.assert_array_equal(draws[:, :n_features], [list(x.values()) for x, _ in rows])
    return weights, draws, np.array([y for _, y in rows])


def test_the_boundary_is_that_of_river():
    weights, draws, labels = river_rows(n_drift_features=0, magnitude=0.0)
    X, classes = Hyperplane(weights).start()(draws)
    np.testing.assert_array_equal(X, draws)
    np.testing.assert_array_equal(classes, labels)


@pytest.mark.parametrize("n_drift_features", [1, 2, 10])
def test_weights_walk_as_those_of_river(n_drift_features):
    """River adds 0.01 to the random number, so its chance to turn round is 0.01 lower."""
    weights, draws, labels = river_rows(n_drift_features=n_drift_features, magnitude=0.02)
    concept = Hyperplane(weights, n_drift_features, magnitude=0.02, flip_chance=0.1 - 0.01)
    X, classes = concept.start()(draws)
    np.testing.assert_array_equal(X, draws[:, :10])
    np.testing.assert_array_equal(classes, labels)
    still = Hyperplane(weights).start()(draws)[1]
    assert np.mean(still == labels) < 0.95  # they went a long way


def test_the_sides_are_those_of_the_weights():
    weights = np.array([0.2, 0.9, -0.4])
    X, classes = made(Hyperplane(weights))
    np.testing.assert_array_equal(classes, X @ weights >= 0.5 * weights.sum())
    assert classes.mean() == pytest.approx(0.5, abs=0.03)


def test_the_first_weights_move_by_one_step_a_row_and_the_others_stay():
    maker = Hyperplane((0.5, 0.5, 0.5), 2, magnitude=0.25, flip_chance=0.0).start()
    draws = np.tile([1.0, 0.0, 0.5, 0.9, 0.9], (9, 1))
    draws[:, 1] = 0.4  # label 1 as long as w1 / 2 >= w2 / 10: always, for both rise alike
    assert maker(draws)[1].tolist() == [1] * 9
    down = Hyperplane((-1.0, 0.0, 0.5), 1, magnitude=0.25, flip_chance=0.0).start()
    # w1 is -1, -0.75, ..., and the third feature is in the middle: the sign of w1 decides
    assert down(draws)[1].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]


def test_a_weight_that_always_turns_round_stays_where_it_is():
    concept = Hyperplane((-1.0, 0.5), 1, magnitude=1.5, flip_chance=1.0)
    draws = np.tile([1.0, 0.5, 0.0], (6, 1))
    assert concept.start()(draws)[1].tolist() == [0, 1, 0, 1, 0, 1]


def test_turning_from_one_plane_to_another_passes_those_between():
    old, new = (1.0, 0.0), (-1.0, 1.0)
    stream = drifting(
        [Hyperplane(old), Hyperplane(new)], 3000, positions=[1000], width=1000, kind="incremental"
    )
    X, y = whole(stream)
    shares = np.clip((np.arange(3000) - 1000 + 0.5) / 1000, 0.0, 1.0)[:, None]
    weights = (1 - shares) * old + shares * new
    np.testing.assert_array_equal(y, ((X - 0.5) * weights).sum(axis=1) >= 0.0)


def test_the_default_moves_slowly_and_has_five_percent_noise():
    stream = hyperplane(100_000)
    assert stream.feature_names == ("f1", "f2", "f3", "f4")
    assert stream.drift_positions == ()
    X, y = whole(stream)
    weights = Hyperplane.from_seed(4, 0).weights
    is_right = ((X - 0.5) @ weights >= 0.0) == y
    assert is_right[:500].mean() == pytest.approx(0.95, abs=0.03)
    by_tenth = is_right.reshape(10, -1).mean(axis=1)
    assert by_tenth.min() < 0.85  # the first plane is no longer right
    clean = whole(hyperplane(100_000, noise=0.0))[1]
    assert np.mean(clean != y) == pytest.approx(0.05, abs=0.005)


def test_imbalance_does_not_make_weights_move_faster():
    options = {"n_features": 3, "n_drift_features": 3, "magnitude": 0.01, "noise": 0.0}
    plain = whole(hyperplane(20_000, **options))
    X, y = whole(hyperplane(20_000, **options, class_shares={1: 0.1}))
    assert y.mean() == pytest.approx(0.1, abs=0.01)
    concept = Hyperplane(Hyperplane.from_seed(3, 0).weights, 3, magnitude=0.01)
    steps = np.random.default_rng([0, 0]).random((4096 * 5, 6))[:20_000]
    np.testing.assert_array_equal(concept.start()(steps)[1], plain[1])
    is_kept = (X == plain[0]).all(axis=1)
    np.testing.assert_array_equal(y[is_kept], plain[1][is_kept])
    steps[:, :3] = X  # the rows that came instead, on the way that the weights go by themselves
    np.testing.assert_array_equal(concept.start()(steps)[1], y)


def test_several_concepts_have_weights_of_their_own():
    stream = hyperplane(3000, n_concepts=3, magnitude=0.0, noise=0.0, rows_per_concept=1000)
    assert stream.drift_positions == (1000, 2000)
    X, y = whole(stream)
    for number in range(3):
        part = np.s_[1000 * number : 1000 * (number + 1)]
        weights = np.array(Hyperplane.from_seed(4, number).weights)
        np.testing.assert_array_equal(y[part], (X[part] - 0.5) @ weights >= 0.0)


def test_equal_weights_are_one_concept_however_they_are_given():
    assert Hyperplane([1, 2]) == Hyperplane((1.0, 2.0))
    assert Hyperplane.from_seed(4, 1) == Hyperplane.from_seed(4, 1) != Hyperplane.from_seed(4, 2)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_features": 0}, "n_features must be"),
        ({"n_concepts": 0}, "n_concepts must be"),
        ({"n_drift_features": 5}, "n_drift_features must be a whole number from 0 to 4"),
        ({"n_drift_features": -1}, "n_drift_features must be"),
        ({"magnitude": -0.1}, "magnitude must be"),
        ({"magnitude": float("nan")}, "magnitude must be"),
        ({"flip_chance": 1.1}, "flip_chance must be"),
        ({"n_concepts": 2, "kind": "incremental", "width": 10}, "set magnitude to 0"),
    ],
)
def test_bad_values_are_refused_at_once(bad, message):
    with pytest.raises(InputError, match=message):
        hyperplane(100, **bad)


def test_weights_must_be_finite_numbers():
    for weights in [(), (1.0, float("inf")), ("a",)]:
        with pytest.raises(InputError, match="weights must be"):
            Hyperplane(weights)
