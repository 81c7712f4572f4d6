"""The STAGGER generator: three concepts, as in River."""

import itertools

import numpy as np
import pytest
from river.datasets import synth

from devfnn.errors import InputError
from devfnn.streams import Stagger, stagger
from streams.generators.gathered import made, whole

RIVER = [
    synth.STAGGER._classification_function_zero,
    synth.STAGGER._classification_function_one,
    synth.STAGGER._classification_function_two,
]
"""Functions 1 to 3; River counts from 0."""


@pytest.mark.parametrize("function", [1, 2, 3])
def test_all_27_objects_have_the_labels_of_river(function):
    objects = np.array(list(itertools.product(range(3), repeat=3)))
    X, classes = Stagger(function).start()((objects + 0.5) / 3)
    np.testing.assert_array_equal(X, objects)
    np.testing.assert_array_equal(classes, [RIVER[function - 1](*row) for row in objects])


def test_all_objects_are_equally_frequent():
    X, _ = made(Stagger(1), 27_000)
    counts = np.unique(X @ [9, 3, 1], return_counts=True)[1]
    assert len(counts) == 27
    np.testing.assert_allclose(counts, 1000, atol=150)


def test_a_stream_goes_from_concept_to_concept():
    stream = stagger(120, rows_per_concept=40)
    assert stream.feature_names == ("size", "colour", "shape")
    X, y = whole(stream)
    for number in range(3):
        part = np.s_[40 * number : 40 * (number + 1)]
        np.testing.assert_array_equal(y[part], [RIVER[number](*row) for row in X[part]])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"functions": [4]}, "function must be a whole number from 1 to 3"),
        ({"functions": []}, "functions must be a list"),
        ({"kind": "incremental", "width": 10}, "incremental drift needs"),
    ],
)
def test_bad_values_are_refused_at_once(bad, message):
    with pytest.raises(InputError, match=message):
        stagger(100, **bad)
