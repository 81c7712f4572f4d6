"""Every measure against scikit-learn, CapyMOA, or a plain computation on the same predictions."""

import json
import math
import warnings

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.evaluation import MEASURES
from devfnn.evaluation.learners import Predictions
from devfnn.evaluation.measures import (
    Tally,
    added,
    calibration,
    f1_scores,
    measures,
    precisions,
    recalls,
)
from devfnn.evaluation.scoring import Scorer


def tally_of(truth, predicted, probabilities=None, n_classes=None):
    """What a fresh scorer counts; labels are 0, 1, ..."""
    scorer = Scorer(range(n_classes or 0), window_chunks=3)
    said = Predictions(np.array(predicted), probabilities, list(range(n_classes or 0)))
    codes = scorer.codes.encode(np.array(truth))
    tally, _ = scorer.score(codes, *scorer.encoded(said))
    return tally


def drawn(rng, n_classes, n_rows=400, shares=None, skill=2.0):
    """Labels, and probabilities that know something about them."""
    truth = rng.choice(n_classes, n_rows, p=shares)
    votes = rng.gamma(1.0, size=(n_rows, n_classes))
    votes[np.arange(n_rows), truth] *= 1.0 + skill
    return truth, votes / votes.sum(axis=1, keepdims=True)


CASES = {
    "two classes": (2, None),
    "two unequal classes": (2, [0.95, 0.05]),
    "three classes": (3, None),
    "three unequal classes": (3, [0.9, 0.09, 0.01]),
    "seven classes": (7, None),
    "a class that never occurs": (3, [0.5, 0.0, 0.5]),
    "four of seven classes": (7, [0.0, 0.4, 0.0, 0.3, 0.2, 0.1, 0.0]),
}


def scikit_learn_says(truth, predicted, probabilities):
    """The same measures by scikit-learn."""
    n_classes = probabilities.shape[1]
    labels = list(range(n_classes))
    used = sorted(set(truth.tolist()) | set(predicted.tolist()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that are only predicted, or alone
        found = {
            "accuracy": sk.accuracy_score(truth, predicted),
            "kappa": sk.cohen_kappa_score(truth, predicted),
            "balanced_accuracy": sk.balanced_accuracy_score(truth, predicted),
            "log_loss": sk.log_loss(truth, probabilities, labels=labels),
            "brier": sk.brier_score_loss(truth, probabilities, labels=labels),
        }
    for suffix, average in (("", "macro"), ("_weighted", "weighted")):
        scores = sk.precision_recall_fscore_support(
            truth, predicted, labels=used, average=average, zero_division=0
        )
        found |= dict(
            zip((f"precision{suffix}", f"recall{suffix}", f"f1{suffix}"), scores[:3], strict=True)
        )
    return found


@pytest.mark.parametrize("case", CASES)
def test_measures_are_those_of_scikit_learn(rng, case):
    n_classes, shares = CASES[case]
    truth, probabilities = drawn(rng, n_classes, shares=shares)
    predicted = probabilities.argmax(axis=1)
    found = measures(tally_of(truth, predicted, probabilities, n_classes))
    for name, value in scikit_learn_says(truth, predicted, probabilities).items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_predictions_need_not_be_the_most_probable_classes(rng, n_classes):
    truth, probabilities = drawn(rng, n_classes)
    predicted = rng.integers(0, n_classes, len(truth))
    found = measures(tally_of(truth, predicted, probabilities, n_classes))
    for name, value in scikit_learn_says(truth, predicted, probabilities).items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4)),
        min_size=2,
        max_size=30,
    )
)
@settings(max_examples=30, deadline=None)
def test_labels_alone_give_the_measures_of_scikit_learn(pairs):
    truth, predicted = np.array(pairs).T
    found = measures(tally_of(truth, predicted, n_classes=5))
    named = scikit_learn_says(truth, predicted, np.full((len(pairs), 5), 0.2))
    del named["log_loss"], named["brier"]
    for name, value in named.items():
        if name == "kappa" and math.isnan(value):
            assert found[name] is None
        else:
            assert found[name] == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("case", CASES)
def test_scores_of_every_class_are_those_of_scikit_learn(rng, case):
    n_classes, shares = CASES[case]
    truth, probabilities = drawn(rng, n_classes, shares=shares)
    predicted = probabilities.argmax(axis=1)
    confusion = tally_of(truth, predicted, probabilities, n_classes).confusion
    labels = range(n_classes)
    np.testing.assert_array_equal(confusion, sk.confusion_matrix(truth, predicted, labels=labels))
    scores = sk.precision_recall_fscore_support(truth, predicted, labels=labels, zero_division=0)
    np.testing.assert_allclose(precisions(confusion), scores[0])
    np.testing.assert_allclose(recalls(confusion), scores[1])
    np.testing.assert_allclose(f1_scores(confusion), scores[2])


@pytest.mark.parametrize("skill", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_area_under_the_curve_is_that_of_scikit_learn_to_a_thousandth(rng, n_classes, skill):
    """Probabilities are counted by levels of their odds: rows of one level share their rank."""
    truth, probabilities = drawn(rng, n_classes, n_rows=3000, skill=skill)
    found = tally_of(truth, probabilities.argmax(axis=1), probabilities, n_classes).auc
    scores = probabilities[:, 1] if n_classes == 2 else probabilities
    expected = sk.roc_auc_score(truth, scores, multi_class="ovr", average="macro")
    assert found == pytest.approx(expected, abs=1e-3)


def test_with_one_class_only_the_rest_is_none(rng):
    probabilities = np.tile([0.7, 0.3], (5, 1))
    found = measures(tally_of([0] * 5, [0] * 5, probabilities, 2))
    assert (found["accuracy"], found["f1"], found["g_mean"]) == (1.0, 1.0, 1.0)
    assert found["log_loss"] == pytest.approx(-math.log(0.7))
    assert (found["kappa"], found["auc"]) == (None, None)


def test_without_probabilities_nothing_is_said_about_them():
    tally = tally_of([0, 1, 1], [0, 1, 0])
    found = measures(tally)
    unknown = ("log_loss", "brier", "calibration_error", "auc")
    assert all(found[name] is None for name in unknown)
    assert calibration(tally) is None
    assert found["accuracy"] == pytest.approx(2 / 3)


def test_of_no_rows_every_measure_is_none():
    assert set(measures(added([], n_classes=3)).values()) == {None}
    assert set(measures(added([])).values()) == {None}


def test_measures_are_numbers_of_python_or_none(rng):
    truth, probabilities = drawn(rng, 3)
    found = measures(tally_of(truth, probabilities.argmax(axis=1), probabilities, 3))
    assert list(found) == list(MEASURES)
    assert {type(value) for value in found.values()} == {float, type(None)}
    json.dumps(found, allow_nan=False)


def test_g_mean_is_the_geometric_mean_of_the_recalls():
    tally = tally_of([0, 0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 0, 2], n_classes=4)
    assert MEASURES["g_mean"](tally) == pytest.approx((3 / 4 * 1 / 2 * 1) ** (1 / 3))
    assert MEASURES["g_mean"](tally_of([0, 1], [0, 0])) == 0.0


def plain_calibration_error(truth, predicted, probabilities):
    """Ten bins, each with its right end."""
    confidence = probabilities.max(axis=1)
    bins = np.clip(np.ceil(confidence * 10) - 1, 0, 9)
    gaps = [
        abs(confidence[bins == b].sum() - (truth == predicted)[bins == b].sum()) for b in range(10)
    ]
    return sum(gaps) / len(truth)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_calibration_error_is_the_mean_gap_over_ten_bins(rng, n_classes):
    truth, probabilities = drawn(rng, n_classes)
    predicted = probabilities.argmax(axis=1)
    tally = tally_of(truth, predicted, probabilities, n_classes)
    expected = plain_calibration_error(truth, predicted, probabilities)
    assert MEASURES["calibration_error"](tally) == pytest.approx(expected)
    table = calibration(tally)
    assert sum(table["rows"]) == len(truth)
    assert table["edges"] == [place / 10 for place in range(11)]
    for rows, confidence, accuracy, low in zip(
        table["rows"], table["confidence"], table["accuracy"], table["edges"], strict=False
    ):
        if rows:
            assert low <= confidence <= low + 0.1 + 1e-12
            assert 0.0 <= accuracy <= 1.0
        else:
            assert (confidence, accuracy) == (None, None)


def test_the_papers_precision_is_the_recall_of_the_first_class_and_its_recall_the_precision(rng):
    truth, probabilities = drawn(rng, 2, shares=[0.3, 0.7])
    predicted = probabilities.argmax(axis=1)
    found = measures(tally_of(truth, predicted, n_classes=2))
    assert found["paper_precision"] == pytest.approx(sk.recall_score(truth, predicted, pos_label=0))
    assert found["paper_recall"] == pytest.approx(sk.precision_score(truth, predicted, pos_label=0))
    assert found["paper_precision"] != pytest.approx(found["paper_recall"])


@pytest.mark.parametrize("n_classes", [1, 3])
def test_the_papers_pair_is_for_two_classes_only(n_classes):
    found = measures(tally_of([0, 0], [0, 0], n_classes=n_classes))
    assert (found["paper_precision"], found["paper_recall"]) == (None, None)


def test_the_papers_pair_is_none_where_the_first_class_is_missing():
    found = measures(tally_of([1, 1], [1, 1], n_classes=2))
    assert (found["paper_precision"], found["paper_recall"]) == (None, None)


def test_rows_of_which_nothing_is_said_do_not_make_a_third_class():
    """Neither of the measures that are made for two classes is lost or doubled by them."""
    truth, probabilities = np.array([0, 1, 0, 1]), np.array([[0.8, 0.2], [0.3, 0.7]] * 2)
    scorer = Scorer([0, 1], window_chunks=3)
    silent = scorer.codes.code(None)
    predicted = np.array([0, 1, 0, silent])
    tally, _ = scorer.score(truth, predicted, probabilities, np.arange(2))
    found = measures(tally)
    assert len(tally.confusion) == 3
    assert found["accuracy"] == 0.75
    assert found["brier"] == pytest.approx(sk.brier_score_loss(truth, probabilities[:, 1]))
    assert (found["paper_precision"], found["paper_recall"]) == (1.0, 1.0)
    assert measures(added([tally, tally]))["brier"] == found["brier"]
    scores = sk.precision_recall_fscore_support(truth, predicted, labels=[0, 1], average="macro")
    assert (found["precision"], found["recall"]) == pytest.approx(scores[:2])
    assert found["f1"] == measures(added([tally, tally]))["f1"] == pytest.approx(scores[2])


def test_sums_of_tallies_are_tallies_of_all_rows(rng):
    truth, probabilities = drawn(rng, 3, shares=[0.6, 0.3, 0.1])
    predicted = probabilities.argmax(axis=1)
    scorer = Scorer(range(3), window_chunks=10)
    parts = [
        scorer.score(truth[part], predicted[part], probabilities[part], np.arange(3))[0]
        for part in np.array_split(np.arange(400), 7)
    ]
    found = measures(added(parts, scorer.auc))
    expected = measures(tally_of(truth, predicted, probabilities, 3))
    assert found == pytest.approx(expected)


def test_tallies_before_a_class_was_known_are_added_to_those_after():
    before, after = tally_of([0, 1], [0, 0]), tally_of([2, 0], [2, 2], n_classes=3)
    total = added([before, after])
    assert total.confusion.tolist() == [[1, 0, 1], [1, 0, 0], [0, 0, 1]]
    assert (before.n_scored, total.n_scored, total.n_correct) == (2, 4, 2)


# ---- rivals


def test_kappa_temporal_asks_for_more_than_repeating_the_last_label():
    truth = [0, 0, 0, 1, 1, 1, 0, 0]
    assert MEASURES["kappa_temporal"](tally_of(truth, [0, *truth[:-1]])) == 0.0
    assert MEASURES["kappa_temporal"](tally_of(truth, truth)) == 1.0


def test_kappa_m_asks_for_more_than_the_majority_so_far():
    truth = [0, 0, 0, 1, 1, 0]
    assert MEASURES["kappa_m"](tally_of(truth, [0] * 6)) == 0.0
    assert MEASURES["kappa_m"](tally_of(truth, [0, 0, 0, 1, 0, 0])) == pytest.approx(0.5)


@pytest.fixture(scope="module")
def evaluator():
    """CapyMOA's evaluator for labels 0, 1, ..., so many classes."""
    pytest.importorskip("capymoa", exc_type=(ImportError, RuntimeError))
    from capymoa.evaluation import ClassificationEvaluator
    from capymoa.stream import Schema

    def make(n_classes):
        labels = [str(each) for each in range(n_classes)]
        return ClassificationEvaluator(
            Schema.from_custom(
                features=["a", "class"], target="class", categories={"class": labels}
            )
        )

    return make


@pytest.mark.parametrize("skill", [0.0, 8.0])
@pytest.mark.parametrize("case", ["two classes", "two unequal classes", "three unequal classes"])
def test_kappas_are_those_of_capymoa(rng, evaluator, case, skill):
    n_classes, shares = CASES[case]
    truth, probabilities = drawn(rng, n_classes, n_rows=1000, shares=shares, skill=skill)
    truth[300:600] = np.repeat(truth[300:330], 10)  # labels that stay for a while
    predicted = probabilities.argmax(axis=1)
    theirs = evaluator(n_classes)
    for label, answer in zip(truth.tolist(), predicted.tolist(), strict=True):
        theirs.update(label, answer)
    found = measures(tally_of(truth, predicted, n_classes=n_classes))
    assert 100 * found["accuracy"] == pytest.approx(theirs.accuracy())
    assert 100 * found["kappa"] == pytest.approx(theirs.kappa())
    assert 100 * found["kappa_temporal"] == pytest.approx(theirs.kappa_t())
    assert 100 * found["kappa_m"] == pytest.approx(theirs.kappa_m())


def test_rows_of_which_nothing_is_said_are_errors_of_their_classes_and_no_class():
    confusion = np.array([[48, 0, 2], [0, 50, 0], [0, 0, 0]])
    tally = Tally(confusion, np.zeros(5), np.zeros((3, 10)), silence=2)
    found = measures(tally)
    assert found["accuracy"] == pytest.approx(0.98)
    assert found["recall"] == pytest.approx(0.98) == found["balanced_accuracy"]
    assert found["precision"] == 1.0
    assert found["f1"] == pytest.approx((96 / 98 + 1.0) / 2)
