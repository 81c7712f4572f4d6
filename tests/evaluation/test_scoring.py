"""Labels of any kind become numbers; predictions of any shape are compared with the truth."""

import numpy as np
import pytest
import sklearn.metrics as sk

from devfnn.errors import InputError
from devfnn.evaluation.learners import Predictions
from devfnn.evaluation.measures import measures
from devfnn.evaluation.scoring import SILENT, ChunkPredictions, Codes, Scorer
from devfnn.types import Chunk


def labels_of(*values):
    """Labels as an array of objects."""
    found = np.empty(len(values), object)
    found[:] = values
    return found


# ---- labels


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 1, 3, 0]),
        np.array([3, 1, 3, 0], np.int32),
        np.array([3, 1, 3, 0], np.uint8),
        np.array([-1, 1, -1, -7]),
        np.array([1023, 1024, 1023, 5000]),
        np.array([2**62, -(2**62), 2**62, 0]),
        np.array([2**63 - 1, -(2**63), 2**63 - 1, 1]),
        np.array([True, False, True, False]),
        np.array(["b", "a", "b", "long text"]),
        np.array([0.5, 1.5, 0.5, -0.5]),
        labels_of("b", 7, "b", (1, 2)),
        labels_of(np.int64(3), np.int64(1), np.int64(3), np.int64(0)),
        ["b", "a", "b", "c"],
        [np.str_("b"), np.str_("a"), np.str_("b"), np.str_("c")],
        [np.int64(3), 1, np.int32(3), True],
    ],
)
def test_equal_labels_have_equal_numbers_in_the_order_in_which_they_came(labels):
    codes = Codes()
    seen = []
    for label in labels:
        if label not in seen:
            seen.append(label)
    expected = [seen.index(label) for label in labels]
    assert codes.encode(labels).tolist() == expected
    assert codes.encode(labels).tolist() == expected
    assert codes.labels == seen


@pytest.mark.parametrize("other", [-1, -1024, -1025, -2048, -2049, 1024, 2047, 2048, 3071, 2**40])
@pytest.mark.parametrize("small", [0, 1, 1023])
def test_labels_that_are_looked_up_fast_are_not_taken_for_others(small, other):
    codes = Codes([small])
    assert codes.encode(np.array([small, other, small])).tolist() == [0, 1, 0]
    assert codes.encode(np.array([other])).tolist() == [1]
    assert codes.labels == [small, other]


def test_no_labels_have_no_numbers():
    codes = Codes([5])
    assert codes.encode(np.empty(0, np.int64)).tolist() == []
    assert codes.encode([]).tolist() == []
    assert codes.labels == [5]


def test_labels_that_are_equal_are_one_class_whatever_their_type():
    codes = Codes([0, 1])
    assert codes.encode(np.array([False, True])).tolist() == [0, 1]
    assert codes.encode(np.array([0.0, 1.0])).tolist() == [0, 1]
    assert codes.encode(labels_of(np.int64(1), True)).tolist() == [1, 1]
    assert codes.labels == [0, 1]


def test_given_classes_come_first_in_their_order():
    codes = Codes(["c", "a"])
    assert codes.encode(np.array(["a", "b", "c"])).tolist() == [1, 2, 0]
    assert codes.labels == ["c", "a", "b"]


# ---- predictions


def scored(y, said, classes=(), unpredicted="wrong", scorer=None):
    """A tally of one chunk, and the scorer."""
    scorer = scorer or Scorer(classes, window_chunks=3)
    y = y if isinstance(y, np.ndarray) else np.array(y)
    predictions = ChunkPredictions(scorer)
    predictions.add(said, len(y))
    tally, _ = predictions.scored(Chunk(np.zeros((len(y), 1)), y), unpredicted, True)
    return tally, scorer


def test_columns_of_probabilities_may_be_in_another_order_than_the_classes(rng):
    truth = rng.integers(0, 3, 200)
    probabilities = rng.dirichlet(np.ones(3), 200)
    order = [2, 0, 1]
    straight, _ = scored(truth, Predictions(None, probabilities, [0, 1, 2]), [0, 1, 2])
    turned, _ = scored(truth, Predictions(None, probabilities[:, order], order), [0, 1, 2])
    assert measures(turned) == pytest.approx(measures(straight))
    np.testing.assert_array_equal(
        straight.confusion, sk.confusion_matrix(truth, probabilities.argmax(axis=1))
    )


def test_of_equal_probabilities_the_first_column_of_the_model_is_predicted():
    said = Predictions(None, np.array([[0.5, 0.5]]), ["b", "a"])
    tally, scorer = scored(["b"], said, ["a", "b", "c"])
    assert tally.confusion[scorer.codes.code("b"), scorer.codes.code("b")] == 1


def test_columns_may_change_between_chunks():
    scorer = Scorer(["a", "b"], window_chunks=3)
    one, _ = scored(["a"], Predictions(None, np.array([[1.0]]), ["a"]), scorer=scorer)
    two, _ = scored(["b"], Predictions(None, np.array([[0.9, 0.1]]), ["b", "a"]), scorer=scorer)
    assert (one.n_correct, two.n_correct) == (1, 1)


def test_a_class_that_the_model_does_not_know_has_no_probability(rng):
    truth = rng.integers(0, 3, 300)
    known = rng.dirichlet([1.0, 1.0], 300)
    tally, _ = scored(truth, Predictions(None, known, [0, 1]), [0, 1, 2])
    whole = np.column_stack([known, np.zeros(300)])
    found = measures(tally)
    assert found["brier"] == pytest.approx(sk.brier_score_loss(truth, whole))
    assert found["log_loss"] == pytest.approx(sk.log_loss(truth, whole))
    assert found["auc"] == pytest.approx(
        sk.roc_auc_score(truth, whole, multi_class="ovr"), abs=1e-3
    )


@pytest.mark.parametrize("classes", [[0, 1, 2], []])
def test_areas_of_all_rows_and_of_the_window_count_rows_from_before_a_class_was_known(rng, classes):
    """A row that came before a class was known has the probability 0 of it."""
    scorer = Scorer(classes, window_chunks=2)
    truths, wholes = [], []
    for n_known in (2, 2, 3):
        truth = np.r_[np.arange(3)[:n_known], rng.integers(0, n_known, 300)]
        said = rng.dirichlet(np.ones(n_known), len(truth))
        predictions = ChunkPredictions(scorer)
        predictions.add(Predictions(None, said, list(range(n_known))), len(truth))
        _, windowed = predictions.scored(Chunk(np.zeros((len(truth), 1)), truth), "wrong", True)
        truths.append(truth)
        wholes.append(np.pad(said, ((0, 0), (0, 3 - n_known))))
    for found, part in ((scorer.auc, slice(None)), (windowed, slice(1, None))):
        truth, whole = np.concatenate(truths[part]), np.concatenate(wholes[part])
        expected = sk.roc_auc_score(truth, whole, multi_class="ovr")
        assert found == pytest.approx(expected, abs=1e-3)


def test_a_chunk_without_probabilities_moves_the_window_on(rng):
    scorer = Scorer([0, 1], window_chunks=2)
    parts, areas = [], []
    for has_probabilities in (True, True, False, True, False, False):
        truth, p = rng.integers(0, 2, 200), rng.random(200)
        said = np.column_stack([1 - p, p]) if has_probabilities else None
        predictions = ChunkPredictions(scorer)
        predictions.add(Predictions(np.zeros(200, int), said, [0, 1]), 200)
        areas.append(predictions.scored(Chunk(np.zeros((200, 1)), truth), "wrong", True)[1])
        parts.append((truth, p) if has_probabilities else None)
    for end, area in enumerate(areas, start=1):
        window = [part for part in parts[max(0, end - 2) : end] if part is not None]
        if not window:
            assert area is None
            continue
        truth, p = (np.concatenate(each) for each in zip(*window, strict=True))
        assert area == pytest.approx(sk.roc_auc_score(truth, p), abs=2e-3)


def test_to_say_nothing_is_wrong_or_skipped_or_the_first_class():
    said = Predictions(labels_of("a", None, None, "b"))
    y = labels_of("a", "a", "b", "b")
    wrong, scorer = scored(y, said, ["a", "b"], "wrong")
    assert (wrong.n_correct, wrong.n_scored) == (2, 4)
    assert scorer.codes.labels == ["a", "b", None]
    skipped, scorer = scored(y, said, ["a", "b"], "skip")
    assert (skipped.n_correct, skipped.n_scored) == (2, 2)
    assert scorer.codes.labels == ["a", "b"]
    first, scorer = scored(y, said, ["a", "b"], "first")
    assert (first.n_correct, first.n_scored) == (3, 4)
    assert scorer.codes.labels == ["a", "b"]


def test_silence_about_rows_that_are_not_scored_makes_no_class():
    tally, scorer = scored(labels_of("a", None), Predictions(labels_of("a", None)))
    assert (tally.n_correct, tally.n_scored) == (1, 1)
    assert scorer.codes.labels == ["a"]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("has_labels", [False, True])
def test_probabilities_that_are_not_finite_say_nothing(bad, has_labels):
    probabilities = np.array([[0.3, 0.7], [0.5, bad], [bad, 0.5], [bad, bad], [0.9, 0.1]])
    labels = np.array([1, 1, 1, 1, 0]) if has_labels else None
    y = [1, 1, 1, 1, 0]
    tally, _ = scored(y, Predictions(labels, probabilities, [0, 1]), [0, 1])
    found = measures(tally)
    assert (tally.n_correct, tally.n_scored) == ((5, 5) if has_labels else (2, 5))
    assert found["log_loss"] == pytest.approx(-np.log([0.7, 0.9]).mean())
    assert found["brier"] == pytest.approx((0.3**2 + 0.1**2) / 2)
    assert tally.calibration[0].sum() == 2


def test_probabilities_of_no_class_say_nothing():
    tally, scorer = scored([0, 1], Predictions(None, np.empty((2, 0)), []), [0, 1])
    assert (tally.n_correct, tally.n_scored) == (0, 2)
    assert scorer.codes.labels == [0, 1, None]


def test_arrays_of_any_memory_layout_are_scored_alike(rng):
    """Also without another compilation, which would take seconds."""
    from devfnn.kernels.scoring import score_rows

    truth, p = rng.integers(0, 2, 50), rng.dirichlet([1, 1], 50)
    expected = measures(scored(truth, Predictions(None, p, [0, 1]), [0, 1])[0])
    n_compiled = len(score_rows.signatures)
    frozen = p.copy()
    frozen.flags.writeable = False
    for same in (np.asfortranarray(p), frozen, np.repeat(p, 2, axis=1)[:, ::2]):
        found = measures(scored(truth, Predictions(None, same, [0, 1]), [0, 1])[0])
        assert found == expected
    single = measures(scored(truth, Predictions(None, p.astype("f4"), [0, 1]), [0, 1])[0])
    assert single == pytest.approx(expected, abs=1e-6)
    assert len(score_rows.signatures) == n_compiled


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (Predictions(np.zeros(2)), r"predictions have shape \(2,\), labels \(3,\)"),
        (Predictions(np.zeros((3, 1))), r"predictions have shape \(3, 1\), labels \(3,\)"),
        (Predictions(None, np.zeros((2, 2)), [0, 1]), r"shape \(2, 2\), rows and classes \(3, 2\)"),
        (Predictions(None, np.zeros((3, 3)), [0, 1]), r"shape \(3, 3\), rows and classes \(3, 2\)"),
        (Predictions(None, np.zeros(3), [0, 1]), r"shape \(3,\), rows and classes \(3, 2\)"),
    ],
)
def test_predictions_that_do_not_belong_to_the_rows_are_refused(said, message):
    with pytest.raises(InputError, match=message):
        ChunkPredictions(Scorer([0, 1], 3)).add(said, 3)


# ---- row by row


def by_rows(y, said, classes=(), unpredicted="wrong"):
    """The same, with one prediction for each row; None to skip it."""
    scorer = Scorer(classes, window_chunks=3)
    predictions = ChunkPredictions(scorer)
    for each in said:
        if each is None:
            predictions.skip(1)
        else:
            predictions.add(each, 1)
    tally, _ = predictions.scored(Chunk(np.zeros((len(y), 1)), y), unpredicted, True)
    return tally, scorer


def test_predictions_row_by_row_come_to_the_same(rng):
    y, p = np.array(["a", "b", "c"])[rng.integers(0, 3, 60)], rng.dirichlet(np.ones(3), 60)
    at_once, one = scored(y, Predictions(None, p, ["c", "a", "b"]), ["a", "b", "c"])
    singly, other = by_rows(
        y, [Predictions(None, p[i : i + 1], ["c", "a", "b"]) for i in range(60)], ["a", "b", "c"]
    )
    assert measures(singly) == pytest.approx(measures(at_once))
    assert other.auc == one.auc
    np.testing.assert_array_equal(singly.confusion, at_once.confusion)


def test_classes_may_become_known_within_a_chunk():
    said = [
        None,
        Predictions(["a"], np.array([[1.0]]), ["a"]),
        Predictions([None]),
        Predictions(None, np.array([[0.2, 0.8]]), ["a", "b"]),
        Predictions(["b"]),
    ]
    y = np.array(["a", "b", "b", "b", "c"])
    tally, scorer = by_rows(y, said)
    assert (tally.n_correct, tally.n_scored) == (1, 4)
    assert set(scorer.codes.labels) == {"a", "b", "c", None}
    assert measures(tally)["log_loss"] == pytest.approx(
        -(np.log(np.finfo(float).eps) + np.log(0.8)) / 2
    )
    skipped, _ = by_rows(y, said, unpredicted="skip")
    assert (skipped.n_correct, skipped.n_scored) == (1, 3)
    first, _ = by_rows(y, said, ["c"], unpredicted="first")
    assert (first.n_correct, first.n_scored) == (1, 5)


def test_a_row_without_finite_probabilities_says_nothing_row_by_row():
    said = [
        Predictions(None, np.array([[np.nan, np.nan]]), [0, 1]),
        Predictions(None, np.array([[0.1, 0.9]]), [0, 1]),
    ]
    tally, scorer = by_rows(np.array([0, 1]), said, [0, 1])
    assert (tally.n_correct, tally.n_scored) == (1, 2)
    assert scorer.codes.silence == 2
    assert tally.calibration[0].sum() == 1


def test_silence_has_a_number_of_its_own_and_is_a_class_only_where_it_counts_as_wrong():
    scorer = Scorer(["a"], 3)
    codes, _, _ = scorer.encoded(Predictions(["a", None]))
    assert codes.tolist() == [0, SILENT]
    assert scorer.codes.silence is None
    assert scorer.codes.code(None) == scorer.codes.silence == 1


def test_silence_that_is_allowed_is_not_scored_whatever_the_procedure_says():
    for unpredicted, expected in (("wrong", (1, 2)), ("skip", (1, 2)), ("first", (2, 3))):
        scorer = Scorer(["a", "b"], 3)
        predictions = ChunkPredictions(scorer)
        for label, may_be_silent in ((None, True), ("a", False), ("a", True)):
            predictions.add(Predictions([label]), 1, may_be_silent=may_be_silent)
        y = np.array(["a", "b", "a"])
        tally, _ = predictions.scored(Chunk(np.zeros((3, 1)), y), unpredicted, True)
        assert (tally.n_correct, tally.n_scored) == expected
        assert scorer.codes.silence is None


# ---- storing


def chunk_scores(scorer, rng):
    """A chunk of rows of two classes and the measures it came to."""
    truth, p = rng.integers(0, 2, 40), rng.dirichlet([1, 1], 40)
    tally, windowed = scorer.score(truth, *scorer.encoded(Predictions(None, p, [0, 1])))
    return measures(tally), windowed, scorer.auc


def test_a_restored_scorer_goes_on_identically(rng):
    scorer, other = Scorer([0, 1], 3), Scorer([0, 1], 3)
    for _ in range(4):
        chunk_scores(scorer, rng)
    state = scorer.state()
    expected = [chunk_scores(scorer, np.random.default_rng(seed)) for seed in range(5)]
    other.restore([0, 1], state)
    assert [chunk_scores(other, np.random.default_rng(seed)) for seed in range(5)] == expected


def test_a_state_does_not_change_when_the_scorer_goes_on(rng):
    scorer = Scorer([0, 1], 3)
    chunk_scores(scorer, rng)
    state = scorer.state()
    before = {name: array.copy() for name, array in state.items()}
    chunk_scores(scorer, rng)
    for name, array in before.items():
        np.testing.assert_array_equal(state[name], array)


def test_a_scorer_that_was_used_can_be_restored(rng):
    scorer, other = Scorer([0, 1], 3), Scorer([], 3)
    chunk_scores(scorer, rng)
    other.score(*[np.zeros(1, np.int64)] * 2, np.empty((0, 1)), other.codes.encode(["x", "y", "z"]))
    other.restore([0, 1], scorer.state())
    assert other.codes.labels == [0, 1]
    assert chunk_scores(other, np.random.default_rng(1)) == chunk_scores(
        scorer, np.random.default_rng(1)
    )


def test_a_state_that_does_not_fit_is_refused(rng):
    scorer = Scorer([0, 1], 3)
    chunk_scores(scorer, rng)
    state = scorer.state()
    with pytest.raises(InputError, match="stored scores do not fit"):
        Scorer([0, 1], 3).restore([0, 1, 2], state)
    with pytest.raises(InputError, match="stored scores do not fit"):
        Scorer([0, 1], 4).restore([0, 1], state)
    del state["ring"]
    with pytest.raises(InputError, match="stored scores do not fit"):
        Scorer([0, 1], 3).restore([0, 1], state)
