"""The Agrawal generator: ten functions, as in the paper and in River."""

import numpy as np
import pytest
from river.datasets import synth

from devfnn.errors import InputError
from devfnn.streams import Agrawal, agrawal
from streams.generators.gathered import made, whole

N_ROWS = 5000
SALARY, COMMISSION, AGE, LEVEL, CAR, ZIPCODE, HOUSE, YEARS, LOAN = range(9)


def river_labels(X, function):
    """Labels of River's function, which counts from 0."""
    classify = getattr(synth.Agrawal, f"_classification_function_{function - 1}")
    return np.array([classify(*row) for row in X.tolist()])


def grid_draws(rng):
    """Random numbers of which many are on edges, so that ages and salaries are at bounds."""
    return rng.integers(0, 14, (N_ROWS, 15)) / 13 * (1 - 1e-12)


@pytest.mark.parametrize("function", [1, 2, 3, 4, 6])
def test_functions_of_ranges_are_those_of_river(function, rng):
    for X, classes in (made(Agrawal(function), N_ROWS), Agrawal(function).start()(grid_draws(rng))):
        np.testing.assert_array_equal(classes, river_labels(X, function))
        assert 0 < classes.mean() < 1


def poor_draws(rng):
    """Random numbers of people with a low income and a high education, for whom little is left."""
    return rng.random((N_ROWS, 15)) * [0.02, 0.02, 1, 0.2, *[1] * 11] + [0, 0, 0, 0.8, *[0] * 11]


def what_is_left(X, function):
    """Two thirds of the income, less what the paper's functions 7 to 10 take off."""
    left = 2 * (X[:, SALARY] + X[:, COMMISSION]) / 3 - (20e3 if function <= 8 else 10e3)
    if function >= 8:
        left -= 5000 * X[:, LEVEL]
    if function in (7, 9):
        left -= X[:, LOAN] / 5
    if function == 10:
        left += np.where(X[:, YEARS] >= 20, X[:, HOUSE] * (X[:, YEARS] - 20) / 10, 0.0) / 5
    return left


@pytest.mark.parametrize("function", [7, 8, 9, 10])
def test_functions_of_what_is_left_are_those_of_river(function, rng):
    """The paper and MOA ask whether anything is left, River whether more than 1 is."""
    for draws in (rng.random((N_ROWS, 15)), grid_draws(rng), poor_draws(rng)):
        X, classes = Agrawal(function).start()(draws)
        left = what_is_left(X, function)
        is_clear = (left <= 0) | (left > 1)
        assert is_clear.mean() > 0.99
        np.testing.assert_array_equal(classes[is_clear], river_labels(X, function)[is_clear])
        np.testing.assert_array_equal(classes, left <= 0)
    assert 0 < classes.mean()


def test_function_5_is_that_of_the_paper_and_of_river_where_river_follows_it():
    """In four of its six cases River compares the salary, or another bound, with loans' ranges."""
    X, classes = made(Agrawal(5), 20_000)
    age, salary, loan = X[:, AGE], X[:, SALARY], X[:, LOAN]
    is_young, is_old = age < 40, age >= 60
    cases = [
        (is_young & (50e3 <= salary) & (salary <= 100e3), 100e3, 300e3, True),
        (is_young & ~((50e3 <= salary) & (salary <= 100e3)), 200e3, 400e3, False),
        (~is_young & ~is_old & (75e3 <= salary) & (salary <= 125e3), 200e3, 400e3, False),
        (~is_young & ~is_old & ~((75e3 <= salary) & (salary <= 125e3)), 300e3, 500e3, False),
        (is_old & (25e3 <= salary) & (salary <= 75e3), 300e3, 500e3, True),
        (is_old & ~((25e3 <= salary) & (salary <= 75e3)), 100e3, 300e3, False),
    ]
    assert sum(case.sum() for case, *_ in cases) == len(X)
    river = river_labels(X, 5)
    for case, low, high, river_agrees in cases:
        np.testing.assert_array_equal(classes[case], ((low <= loan) & (loan <= high))[case])
        assert np.array_equal(classes[case], river[case]) == river_agrees


def test_features_have_the_ranges_of_the_paper():
    X, _ = made(Agrawal(1), 50_000)
    lows = [20e3, 0, 20, 0, 1, 0, 50e3, 1, 0]
    highs = [150e3, 75e3, 80, 4, 20, 8, 1350e3, 30, 500e3]
    assert (X.min(axis=0) >= lows).all()
    assert (X.max(axis=0) <= highs).all()
    reached = (X.max(axis=0) - X.min(axis=0)) / (np.array(highs) - lows)
    assert (reached > 0.98).all()
    for feature in (AGE, LEVEL, CAR, ZIPCODE, YEARS):
        n_values = highs[feature] - lows[feature] + 1
        counts = np.unique(X[:, feature], return_counts=True)[1]
        assert len(counts) == n_values
        np.testing.assert_allclose(counts / len(X), 1 / n_values, rtol=0.2)


def test_only_those_with_a_low_salary_have_a_commission():
    X, _ = made(Agrawal(1))
    has_commission = X[:, COMMISSION] > 0
    np.testing.assert_array_equal(has_commission, X[:, SALARY] < 75e3)
    assert X[has_commission, COMMISSION].min() >= 10e3


def test_a_house_is_worth_what_its_zipcode_says():
    X, _ = made(Agrawal(1))
    relative = X[:, HOUSE] / ((9 - X[:, ZIPCODE]) * 100e3)
    assert relative.min() >= 0.5
    assert relative.max() <= 1.5


def test_perturbation_moves_numbers_and_leaves_labels_and_codes():
    plain, classes = made(Agrawal(4))
    X, same_classes = made(Agrawal(4, perturbation=0.1))
    np.testing.assert_array_equal(classes, same_classes)
    for feature in (LEVEL, CAR, ZIPCODE):
        np.testing.assert_array_equal(X[:, feature], plain[:, feature])
    np.testing.assert_array_equal(X[:, COMMISSION] > 0, plain[:, COMMISSION] > 0)
    house = (9 - plain[:, ZIPCODE]) * 100e3
    spans = {SALARY: 130e3, AGE: 60, HOUSE: house, YEARS: 29, LOAN: 500e3}
    lows = {SALARY: 20e3, AGE: 20, HOUSE: 0.5 * house, YEARS: 1, LOAN: 0}
    for feature, span in spans.items():
        moves = np.abs(X[:, feature] - plain[:, feature])
        allowed = 0.1 * span + (0.5 if feature in (AGE, YEARS) else 1e-6)
        assert (moves <= allowed).all()
        assert np.mean(moves > 0) > 0.75
        assert (X[:, feature] >= lows[feature] - 1e-6).all()
        assert (X[:, feature] <= lows[feature] + span + 1e-6).all()
    assert (X[:, [AGE, YEARS]] % 1 == 0).all()


def test_a_stream_goes_from_function_to_function():
    X, y = whole(agrawal(3000, functions=[1, 3, 9], rows_per_concept=1000, perturbation=0.0))
    for number, function in enumerate([1, 3, 9]):
        part = np.s_[1000 * number : 1000 * (number + 1)]
        np.testing.assert_array_equal(y[part], river_labels(X[part], function))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"functions": [0]}, "function must be a whole number from 1 to 10, not 0"),
        ({"functions": [11]}, "function must be"),
        ({"functions": [1.5]}, "function must be"),
        ({"functions": []}, "functions must be a list"),
        ({"perturbation": -0.1}, "perturbation must be"),
        ({"kind": "incremental", "width": 10}, "incremental drift needs"),
    ],
)
def test_bad_values_are_refused_at_once(bad, message):
    with pytest.raises(InputError, match=message):
        agrawal(100, **bad)
