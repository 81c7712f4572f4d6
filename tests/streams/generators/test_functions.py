"""Sine, Mixed and STAGGER: what decides the class, against River."""

import itertools

import numpy as np
import pytest
from river.datasets import synth

from devfnn.errors import InputError
from devfnn.streams import Mixed, Sine, Stagger, mixed, sine, stagger
from streams.generators.gathered import made, whole

# River counts functions from 0. The paper's first function of Mixed calls the majority positive; in
# River that is the second one.
SINE = [
    synth.Sine._classification_function_zero,
    synth.Sine._classification_function_one,
    synth.Sine._classification_function_two,
    synth.Sine._classification_function_three,
]
MIXED = [synth.Mixed._classification_function_one, synth.Mixed._classification_function_zero]
STAGGER = [
    synth.STAGGER._classification_function_zero,
    synth.STAGGER._classification_function_one,
    synth.STAGGER._classification_function_two,
]


def river_labels(functions, number, X):
    """Labels of rows by a function of River, counted from 1."""
    rows = X[:, :2] if functions is SINE else X
    values = [(v == 1, w == 1, x, y) for v, w, x, y in X.tolist()] if functions is MIXED else rows
    return np.array([functions[number - 1](*row) for row in values])


@pytest.mark.parametrize(
    ("concept", "functions", "bounds"),
    [
        *((Sine(number, more), SINE, (0.2, 0.8)) for number in range(1, 5) for more in (0, 1)),
        *((Mixed(number), MIXED, (0.3, 0.7)) for number in (1, 2)),
        *((Stagger(number), STAGGER, (0.1, 0.7)) for number in (1, 2, 3)),
    ],
    ids=lambda each: repr(each) if hasattr(each, "start") else "",
)
def test_the_boundary_is_that_of_river(concept, functions, bounds):
    X, classes = made(concept)
    assert X.shape[1] == len(concept.feature_names)
    np.testing.assert_array_equal(classes, river_labels(functions, concept.function, X))
    assert bounds[0] < classes.mean() < bounds[1]


@pytest.mark.parametrize(
    ("stream", "functions", "names"),
    [
        (sine(4000, rows_per_concept=1000), SINE, ("f1", "f2")),
        (mixed(2000, rows_per_concept=1000), MIXED, ("v", "w", "x", "y")),
        (stagger(3000, rows_per_concept=1000), STAGGER, ("size", "colour", "shape")),
    ],
    ids=["sine", "mixed", "stagger"],
)
def test_a_stream_goes_from_function_to_function(stream, functions, names):
    assert stream.feature_names == names
    X, y = whole(stream)
    for number in range(len(functions)):
        part = np.s_[1000 * number : 1000 * (number + 1)]
        np.testing.assert_array_equal(y[part], river_labels(functions, number + 1, X[part]))


def test_every_second_function_of_sine_is_the_reverse_of_the_one_before():
    for function in (1, 3):
        np.testing.assert_array_equal(made(Sine(function))[1], 1 - made(Sine(function + 1))[1])


def test_features_of_sine_fill_the_unit_square():
    X, _ = made(Sine(1, has_irrelevant=True), 20_000)
    assert X.min() >= 0.0
    assert X.max() <= 1.0
    np.testing.assert_allclose(X.mean(axis=0), 0.5, atol=0.01)


def test_two_features_of_mixed_are_true_or_false_and_two_are_numbers():
    X, _ = made(Mixed(1), 20_000)
    assert set(X[:, :2].ravel()) == {0.0, 1.0}
    assert len(np.unique(X[:, 2:])) == 40_000
    np.testing.assert_allclose(X.mean(axis=0), 0.5, atol=0.02)


@pytest.mark.parametrize("function", [1, 2, 3])
def test_all_27_objects_have_the_labels_of_river(function):
    objects = np.array(list(itertools.product(range(3), repeat=3)))
    X, classes = Stagger(function).start()((objects + 0.5) / 3)
    np.testing.assert_array_equal(X, objects)
    np.testing.assert_array_equal(classes, river_labels(STAGGER, function, objects))


def test_all_objects_are_equally_frequent():
    X, _ = made(Stagger(1), 27_000)
    counts = np.unique(X @ [9, 3, 1], return_counts=True)[1]
    assert len(counts) == 27
    np.testing.assert_allclose(counts, 1000, atol=150)


@pytest.mark.parametrize(("make", "most"), [(sine, 4), (mixed, 2), (stagger, 3)])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"functions": [0]}, "function must be a whole number from 1 to {most}"),
        ({"functions": [1, 5]}, "function must be a whole number from 1 to {most}, not 5"),
        ({"functions": []}, "functions must be a list"),
        ({"kind": "incremental", "width": 10}, "incremental drift needs"),
    ],
)
def test_bad_values_are_refused_at_once(make, most, bad, message):
    with pytest.raises(InputError, match=message.format(most=most)):
        make(100, **bad)
