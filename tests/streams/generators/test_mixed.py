"""The mixed generator: both functions, as in River."""

import numpy as np
import pytest
from river.datasets import synth

from devfnn.errors import InputError
from devfnn.streams import Mixed, mixed
from streams.generators.gathered import made, whole

RIVER = {
    1: synth.Mixed._classification_function_one,
    2: synth.Mixed._classification_function_zero,
}
"""The paper's first function calls the majority positive; in River that is the second one."""


def river_labels(X, function):
    return np.array([RIVER[function](v == 1, w == 1, x, y) for v, w, x, y in X.tolist()])


@pytest.mark.parametrize("function", [1, 2])
def test_the_boundary_is_that_of_river(function):
    X, classes = made(Mixed(function))
    np.testing.assert_array_equal(classes, river_labels(X, function))
    assert 0.3 < classes.mean() < 0.7


def test_two_features_are_true_or_false_and_two_are_numbers():
    X, _ = made(Mixed(1), 20_000)
    assert set(X[:, :2].ravel()) == {0.0, 1.0}
    assert len(np.unique(X[:, 2:])) == 40_000
    np.testing.assert_allclose(X.mean(axis=0), 0.5, atol=0.02)


def test_a_drift_exchanges_the_classes():
    stream = mixed(2000, rows_per_concept=1000)
    assert stream.feature_names == ("v", "w", "x", "y")
    X, y = whole(stream)
    np.testing.assert_array_equal(y[:1000], river_labels(X[:1000], 1))
    np.testing.assert_array_equal(y[1000:], river_labels(X[1000:], 2))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"functions": [3]}, "function must be a whole number from 1 to 2"),
        ({"functions": []}, "functions must be a list"),
        ({"kind": "incremental", "width": 10}, "incremental drift needs"),
    ],
)
def test_bad_values_are_refused_at_once(bad, message):
    with pytest.raises(InputError, match=message):
        mixed(100, **bad)
