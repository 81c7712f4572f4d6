"""Sums over predictions: against scikit-learn, and against counting by hand."""

import numpy as np
import pytest
from sklearn import metrics

from devfnn.kernels import scoring


def scene(rng, n_rows, n_classes, *, sharp=1.0):
    """Truth, predictions and probabilities that have something to do with each other."""
    truth = rng.integers(0, n_classes, n_rows)
    odds = sharp * rng.normal(size=(n_rows, n_classes))
    odds[np.arange(n_rows), truth] += 1.0
    probabilities = np.exp(odds)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return truth, probabilities.argmax(axis=1), probabilities


def empty_past(n_classes, last=-1):
    levels = [scoring.empty_levels(n_classes) for _ in range(3)]
    return scoring.Past(np.zeros(n_classes, np.int64), np.array([last]), *levels)


def summed(truth, predicted, probabilities, columns=None, n_classes=None, past=None):
    """The sums of these rows."""
    n_classes = n_classes or probabilities.shape[1]
    sums = scoring.empty_sums(n_classes)
    sums.confusion[:] = 99  # whatever was there before does not count
    columns = np.arange(probabilities.shape[1]) if columns is None else np.array(columns)
    rows = scoring.Scored(truth, predicted, probabilities, columns)
    past = empty_past(n_classes) if past is None else past
    scoring.score_rows(rows, sums, past, np.empty(2))
    return sums


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_sums_are_those_of_scikit_learn(n_classes):
    truth, predicted, probabilities = scene(np.random.default_rng(n_classes), 400, n_classes)
    sums = summed(truth, predicted, probabilities)
    np.testing.assert_array_equal(sums.confusion, metrics.confusion_matrix(truth, predicted))
    n_rows = sums.totals[scoring.WITH_PROBABILITIES]
    assert n_rows == 400
    log_loss = metrics.log_loss(truth, probabilities)
    assert sums.totals[scoring.LOG_LOSS] / n_rows == pytest.approx(log_loss, rel=1e-12)
    one_hot = np.eye(n_classes)[truth]
    squares = ((probabilities - one_hot) ** 2).sum()
    assert sums.totals[scoring.SQUARES] == pytest.approx(squares, rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("sharp", [0.3, 6.0])
def test_areas_are_those_of_scikit_learn_up_to_the_levels(n_classes, sharp):
    rng = np.random.default_rng(5)
    truth, predicted, probabilities = scene(rng, 600, n_classes, sharp=sharp)
    found = scoring.overall_area(summed(truth, predicted, probabilities).levels)
    scores = probabilities[:, 1] if n_classes == 2 else probabilities
    expected = metrics.roc_auc_score(truth, scores, multi_class="ovr")
    assert found == pytest.approx(expected, abs=1e-3)


def test_the_area_is_not_defined_with_one_class_only():
    ones = np.ones(3, np.int64)
    assert np.isnan(scoring.overall_area(summed(ones, ones, np.eye(3, 2)).levels))


def test_columns_may_be_in_another_order_and_fewer():
    truth = np.array([0, 2, 1])
    probabilities = np.array([[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]])  # of classes 2 and 0
    sums = summed(truth, truth, probabilities, columns=[2, 0], n_classes=3)
    expected = -np.log(0.8) - np.log(0.6) - np.log(scoring.EPSILON)
    assert sums.totals[scoring.LOG_LOSS] == pytest.approx(expected)
    squares = 2 * 0.2**2 + 2 * 0.4**2 + (1 + 0.5**2 + 0.5**2)
    assert sums.totals[scoring.SQUARES] == pytest.approx(squares)


def test_rows_without_truth_prediction_or_probabilities_are_left_out():
    truth, predicted = np.array([0, -1, 1, 1]), np.array([0, 1, -1, 0])
    probabilities = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [np.nan, np.nan]])
    sums = summed(truth, predicted, probabilities)
    np.testing.assert_array_equal(sums.confusion, [[1, 0], [1, 0]])
    assert sums.totals[scoring.WITH_PROBABILITIES] == 1
    assert summed(truth, predicted, np.empty((0, 2))).totals[scoring.WITH_PROBABILITIES] == 0


def test_rivals_are_counted_only_where_the_model_was_scored():
    truth = np.array([1, 1, 0, 1, 1])
    predicted = np.array([0, -1, 0, 0, 0])
    sums = summed(truth, predicted, np.empty((0, 2)))
    assert sums.totals[scoring.NO_CHANGE] == 1  # only the last row follows its like
    assert sums.totals[scoring.MAJORITY] == 3
    assert (
        summed(truth, predicted, np.empty((0, 2)), past=empty_past(2, 1)).totals[scoring.NO_CHANGE]
        == 2
    )


def test_bins_of_confidence_hold_their_right_end():
    probabilities = np.array([[0.5, 0.5], [0.6, 0.4], [0.61, 0.39], [1.0, 0.0], [0.0, 1.0]])
    truth = np.array([0, 1, 0, 0, 0])
    sums = summed(truth, probabilities.argmax(axis=1), probabilities)
    np.testing.assert_array_equal(sums.calibration[0], [0, 0, 0, 0, 1, 1, 1, 0, 0, 2])
    np.testing.assert_array_equal(sums.calibration[2], [0, 0, 0, 0, 1, 0, 1, 0, 0, 1])
    assert sums.calibration[1].sum() == pytest.approx(0.5 + 0.6 + 0.61 + 2.0)


def test_no_rows_are_no_sums():
    none = np.empty(0, np.int64)
    sums = summed(none, none, np.empty((0, 2)))
    assert sums.confusion.sum() == 0 and not sums.totals.any() and not sums.levels.any()


def test_the_most_probable_class_is_predicted_where_nothing_else_is_said():
    truth, predicted, probabilities = scene(np.random.default_rng(1), 100, 3)
    none = np.empty(0, np.int64)
    order = [2, 0, 1]
    sums = summed(truth, none, np.ascontiguousarray(probabilities[:, order]), columns=order)
    np.testing.assert_array_equal(sums.confusion, metrics.confusion_matrix(truth, predicted))


def test_levels_are_kept_for_all_rows_and_for_the_window():
    rng = np.random.default_rng(2)
    past, ring = empty_past(2), [scoring.empty_levels(2) for _ in range(3)]
    seen = []
    for chunk in range(7):
        truth, predicted, probabilities = scene(rng, 50, 2)
        past = past._replace(oldest=ring[chunk % 3])
        levels = summed(truth, predicted, probabilities, past=past).levels
        np.testing.assert_array_equal(ring[chunk % 3], levels)
        seen.append(levels)
        np.testing.assert_array_equal(past.total, sum(seen))
        np.testing.assert_array_equal(past.window, sum(seen[-3:]))


def test_areas_of_the_chunk_and_of_the_window_are_given():
    rng = np.random.default_rng(3)
    past, found = empty_past(2), np.empty(2)
    for _ in range(2):
        truth, predicted, probabilities = scene(rng, 80, 2)
        past = past._replace(oldest=scoring.empty_levels(2))
        sums = scoring.empty_sums(2)
        rows = scoring.Scored(truth, predicted, probabilities, np.arange(2))
        scoring.score_rows(rows, sums, past, found)
    assert found[0] == scoring.overall_area(sums.levels)
    assert found[1] == scoring.overall_area(past.window)
    assert found[0] != found[1]


def level(probability):
    return scoring.level_of(scoring.doublings_of(probability))


def test_the_order_of_levels_is_that_of_probabilities():
    small = 10.0 ** -np.arange(320.0)
    values = np.sort(np.concatenate([np.linspace(0.0, 1.0, 999), small, 1.0 - small[1:17]]))
    levels = [level(value) for value in values]
    assert levels == sorted(levels)
    assert levels[0] == 0 and levels[-1] == scoring.N_LEVELS - 1
    assert len(set(levels)) > 200
    assert level(1e-30) < level(1e-20) < level(1e-10) < level(0.0008) < level(0.001)


def test_the_probability_of_one_of_two_classes_says_that_of_the_other():
    truth, predicted, probabilities = scene(np.random.default_rng(4), 300, 2, sharp=9.0)
    paired = summed(truth, predicted, probabilities).levels
    alone = [
        summed(truth, predicted, np.c_[probabilities, np.zeros(300)], n_classes=3).levels[k]
        for k in range(2)
    ]
    for k in range(2):
        assert scoring.overall_area(paired[k : k + 1]) == pytest.approx(
            scoring.overall_area(alone[k][None]), abs=1e-3
        )


@pytest.mark.parametrize("n_classes", [2, 5])
def test_areas_do_not_suffer_from_tiny_probabilities(n_classes):
    rng = np.random.default_rng(6)
    truth, predicted, probabilities = scene(rng, 900, n_classes, sharp=25.0)
    assert np.median(probabilities) < 2.0**-24 or n_classes == 2
    found = scoring.overall_area(summed(truth, predicted, probabilities).levels)
    scores = probabilities[:, 1] if n_classes == 2 else probabilities
    expected = metrics.roc_auc_score(truth, scores, multi_class="ovr")
    assert found == pytest.approx(expected, abs=2e-3)


def test_many_small_probabilities_do_not_vanish():
    truth = np.zeros(1000, np.int64)
    probabilities = np.tile([1e-9, 1.0 - 1e-9], (1000, 1))
    sums = summed(truth, truth, probabilities)
    assert sums.totals[scoring.LOG_LOSS] == pytest.approx(1000 * 9 * np.log(10.0), rel=1e-12)
