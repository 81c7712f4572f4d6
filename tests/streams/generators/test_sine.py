"""The sine generator: four functions, as in River."""

import numpy as np
import pytest
from river.datasets import synth

from devfnn.errors import InputError
from devfnn.streams import Sine, sine
from streams.generators.gathered import made, whole

RIVER = [
    synth.Sine._classification_function_zero,
    synth.Sine._classification_function_one,
    synth.Sine._classification_function_two,
    synth.Sine._classification_function_three,
]
"""Functions 1 to 4; River counts from 0."""


def river_labels(X, function):
    return np.array([RIVER[function - 1](*row) for row in X[:, :2].tolist()])


@pytest.mark.parametrize("has_irrelevant", [False, True])
@pytest.mark.parametrize("function", [1, 2, 3, 4])
def test_the_boundary_is_that_of_river(function, has_irrelevant):
    X, classes = made(Sine(function, has_irrelevant))
    assert X.shape[1] == (4 if has_irrelevant else 2)
    np.testing.assert_array_equal(classes, river_labels(X, function))
    assert 0.2 < classes.mean() < 0.8


def test_every_second_function_is_the_reverse_of_the_one_before():
    for function in (1, 3):
        np.testing.assert_array_equal(made(Sine(function))[1], 1 - made(Sine(function + 1))[1])


def test_features_fill_the_unit_square():
    X, _ = made(Sine(1, has_irrelevant=True), 20_000)
    assert X.min() >= 0.0
    assert X.max() <= 1.0
    np.testing.assert_allclose(X.mean(axis=0), 0.5, atol=0.01)


def test_a_stream_goes_from_function_to_function():
    X, y = whole(sine(4000, rows_per_concept=1000))
    for number in range(4):
        part = np.s_[1000 * number : 1000 * (number + 1)]
        np.testing.assert_array_equal(y[part], river_labels(X[part], number + 1))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"functions": [0]}, "function must be a whole number from 1 to 4"),
        ({"functions": [1, 5]}, "function must be"),
        ({"functions": []}, "functions must be a list"),
        ({"kind": "incremental", "width": 10}, "incremental drift needs"),
    ],
)
def test_bad_values_are_refused_at_once(bad, message):
    with pytest.raises(InputError, match=message):
        sine(100, **bad)
