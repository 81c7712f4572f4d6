"""The LED generator: digits, wrong segments, and segments that change places."""

import itertools
import random

import numpy as np
import pytest
from river.datasets import synth

from devfnn.errors import InputError
from devfnn.streams import LED, led
from streams.generators.gathered import made, whole

TABLE = np.array(synth.LED._ORIGINAL_INSTANCES)


def test_the_segments_of_every_digit_are_those_of_river():
    X, digits = made(LED(attribute_noise=0.0, n_irrelevant=0))
    assert set(digits) == set(range(10))
    np.testing.assert_array_equal(X, TABLE[digits])


def columns_of_segments(X, digits):
    """The features that always show each of the segments."""
    shown = TABLE[digits]
    return [
        [column for column in range(X.shape[1]) if np.array_equal(X[:, column], shown[:, segment])]
        for segment in range(7)
    ]


@pytest.mark.parametrize("n_swapped", range(8))
def test_segments_change_places_as_in_river(n_swapped):
    """River starts swapping at a random segment; MOA and we start at the first."""
    seed = next(
        seed
        for seed in itertools.count()
        if (rng := random.Random(seed)).randint(0, 6) == 0 == rng.randint(0, 16)
    )
    river = synth.LEDDrift(
        seed=seed, noise_percentage=0.0, irrelevant_features=True, n_drift_features=n_swapped
    )
    rows = list(river.take(500))
    theirs = np.array([list(x.values()) for x, _ in rows])
    expected = columns_of_segments(theirs, np.array([y for _, y in rows]))
    assert expected == [[7 + n] if n < n_swapped else [n] for n in range(7)]
    assert columns_of_segments(*made(LED(n_swapped, attribute_noise=0.0), 500)) == expected


def test_attribute_noise_inverts_segments():
    X, digits = made(LED(attribute_noise=0.2), 20_000)
    wrong = X[:, :7] != TABLE[digits]
    np.testing.assert_allclose(wrong.mean(axis=0), 0.2, atol=0.01)
    assert np.abs(np.corrcoef(wrong.T) - np.eye(7)).max() < 0.03


def test_the_best_rule_gets_74_percent_right():
    X, digits = made(LED(n_irrelevant=0), 50_000)
    n_wrong = (X[:, None, :] != TABLE[None]).sum(axis=2)
    assert np.mean(n_wrong.argmin(axis=1) == digits) == pytest.approx(0.74, abs=0.01)


def test_other_features_say_nothing():
    X, digits = made(LED(n_swapped=2), 50_000)
    useless = X[:, [0, 1, *range(9, 24)]]
    by_digit = [useless[digits == digit].mean(axis=0) for digit in range(10)]
    np.testing.assert_allclose(by_digit, 0.5, atol=0.04)


def test_a_stream_swaps_more_and_more():
    X, y = whole(led(3000, swaps=[0, 7, 3], rows_per_concept=1000, attribute_noise=0.0))
    assert X.shape == (3000, 24)
    for number, n_swapped in enumerate([0, 7, 3]):
        part = np.s_[1000 * number : 1000 * (number + 1)]
        expected = [[7 + n] if n < n_swapped else [n] for n in range(7)]
        assert columns_of_segments(X[part], y[part]) == expected


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"swaps": [8]}, "n_swapped must be a whole number from 0 to 7"),
        ({"swaps": [3], "n_irrelevant": 2}, "n_swapped must be a whole number from 0 to 2"),
        ({"swaps": [-1]}, "n_swapped must be"),
        ({"n_irrelevant": -1}, "n_irrelevant must be"),
        ({"attribute_noise": 2}, "attribute_noise must be"),
        ({"kind": "incremental", "width": 10}, "incremental drift needs"),
    ],
)
def test_bad_values_are_refused_at_once(bad, message):
    with pytest.raises(InputError, match=message):
        led(100, **bad)
