"""The test-then-train loop: in the right order, and honest about what it measured."""

import json
import pickle
import time
import types

import numpy as np
import pytest

from devfnn import DEVFNN, presets
from devfnn.errors import InputError, NotLearnedError
from devfnn.evaluation import MEASURES, Prequential, Procedure, Summary, iter_prequential
from devfnn.events import DriftFound, FeatureAsleep, RuleBorn
from devfnn.streams import from_arrays, sea
from devfnn.types import Chunk


class Majority:
    """Predicts the label it has seen most often, and writes down all that is asked of it."""

    def __init__(self):
        self.calls = []
        self.labels_seen = []

    def predict_proba(self, X):
        raise AssertionError("labels are asked for, not probabilities")

    def predict(self, X):
        self.calls.append(("predict", X[0, 0], list(self.labels_seen)))
        values, counts = np.unique(self.labels_seen, return_counts=True)
        return np.full(len(X), values[counts.argmax()])

    def learn(self, X, y):
        self.calls.append(("learn", X[0, 0], list(self.labels_seen)))
        self.labels_seen.extend(y)
        return [DriftFound(len(self.labels_seen), 0.1, 0.2, 0.05, 1)]


class Counting(Majority):
    """Tells its size, and takes one label of every chunk."""

    n_rules, n_live_layers, n_labels_used = 7, 2, 0

    def learn(self, X, y):
        self.n_labels_used += 1
        return super().learn(X, y)


def chunks(*labels):
    """A chunk for every list of labels; the first feature is the number of the chunk."""
    return [Chunk(np.full((len(y), 2), float(i)), np.array(y)) for i, y in enumerate(labels)]


def test_the_first_chunk_trains_only_and_every_later_one_is_predicted_first():
    model = Majority()
    list(iter_prequential(model, chunks([0, 0], [1, 1], [0, 1])))
    assert [call[:2] for call in model.calls] == [
        ("learn", 0.0),
        ("predict", 1.0),
        ("learn", 1.0),
        ("predict", 2.0),
        ("learn", 2.0),
    ]


def test_labels_of_a_chunk_are_never_seen_before_it_is_predicted():
    stream = [Chunk(np.full((3, 1), float(i)), np.full(3, i)) for i in range(5)]
    model = Majority()
    list(iter_prequential(model, stream))
    for kind, chunk, labels_seen in model.calls:
        assert kind == "learn" or chunk not in labels_seen
        assert set(labels_seen) == set(range(int(chunk)))


def test_results_count_rows_and_right_predictions():
    results = list(iter_prequential(Majority(), chunks([0, 0, 0], [0, 1], [1, 1, 0, 0])))
    assert [result.index for result in results] == [0, 1, 2]
    assert [result.chunk_rows for result in results] == [3, 2, 4]
    assert [result.n_rows for result in results] == [3, 5, 9]
    assert [result.n_correct for result in results] == [None, 1, 2]
    assert [result.n_scored for result in results] == [0, 2, 4]
    assert [result.accuracy for result in results] == [None, 0.5, 0.5]


def test_events_and_times_are_passed_on():
    results = list(iter_prequential(Majority(), chunks([0], [0])))
    assert [result.events[0].row for result in results] == [1, 2]
    assert all(result.seconds_learn > 0.0 for result in results)
    assert results[1].seconds_predict > 0.0


def test_the_structure_is_reported_if_the_model_tells():
    (plain,) = iter_prequential(Majority(), chunks([0]))
    assert (plain.n_rules, plain.n_layers, plain.n_labels) == (None, None, 1)
    model = Counting()
    (result,) = iter_prequential(model, chunks([0, 0, 0]))
    assert (result.n_rules, result.n_layers, result.n_labels) == (7, 2, 1)


def test_labels_used_before_the_run_do_not_count():
    model = Counting()
    model.learn(np.zeros((4, 1)), [0] * 4)
    assert [each.n_labels for each in iter_prequential(model, chunks([0], [0, 1]))] == [1, 2]


def test_the_loop_does_no_more_than_it_is_asked_for():
    model = Majority()
    results = iter_prequential(model, chunks([0], [1], [1]))
    assert isinstance(results, types.GeneratorType)
    assert model.calls == []
    next(results)
    assert len(model.calls) == 1


def test_chunks_without_rows_are_passed_over():
    results = list(iter_prequential(Majority(), chunks([], [0, 0], [], [0])))
    assert [result.n_rows for result in results] == [2, 3]
    assert [result.accuracy for result in results] == [None, 1.0]


def test_a_stream_without_chunks_gives_no_results():
    assert list(iter_prequential(Majority(), [])) == []


def test_labels_may_be_text():
    results = list(iter_prequential(Majority(), chunks(["up", "up"], ["up", "down"])))
    assert results[1].accuracy == 0.5


def test_predictions_of_the_wrong_shape_are_refused():
    model = Majority()
    model.predict = lambda X: np.zeros((len(X), 1))
    with pytest.raises(InputError, match=r"predictions have shape \(2, 1\), labels \(2,\)"):
        list(iter_prequential(model, chunks([0], [0, 0])))


# ---- hidden and delayed labels


class CallRecorder:
    """Predicts "a", but only after it learned; writes down the numbers of the rows it meets."""

    def __init__(self):
        self.calls = []

    def predict_proba(self, X):
        raise AssertionError("labels are asked for, not probabilities")

    def predict(self, X):
        if not any(verb == "learn" for verb, _ in self.calls):
            raise NotLearnedError("nothing yet")
        self.calls.append(("predict", X[:, 0].astype(int).tolist()))
        return np.full(len(X), "a", object)

    def learn(self, X, y):
        assert len(X) == len(y) > 0
        assert all(label is not None for label in y)
        self.calls.append(("learn", X[:, 0].astype(int).tolist()))
        return [DriftFound(len(y), 0.1, 0.2, 0.05, 1)]


def rows(first, labels, labelled=None, late=None):
    """A chunk of numbered rows."""
    numbers = np.arange(first, first + len(labels), dtype=float)
    y = np.empty(len(labels), object)
    y[:] = list(labels)
    mask = None if labelled is None else np.array(labelled, bool)
    return Chunk(numbers[:, None], y, labelled=mask, late=late)


def test_rows_with_hidden_labels_are_scored_but_not_learned():
    recorder = CallRecorder()
    stream = [rows(0, "ab", [True, False]), rows(2, "aab", [False, True, False])]
    first, second = iter_prequential(recorder, stream)
    assert recorder.calls == [("learn", [0]), ("predict", [2, 3, 4]), ("learn", [3])]
    assert (first.n_correct, first.n_scored, first.chunk_rows) == (None, 0, 2)
    assert (second.n_correct, second.n_scored, second.accuracy) == (2, 3, 2 / 3)


def test_late_labels_are_learned_after_the_prediction_and_before_the_rows_of_the_chunk():
    recorder = CallRecorder()
    stream = [rows(0, "ab", [True, False]), rows(2, "aa", [True, False], late=rows(1, "b"))]
    _, second = iter_prequential(recorder, stream)
    assert recorder.calls == [("learn", [0]), ("predict", [2, 3]), ("learn", [1]), ("learn", [2])]
    assert [event.row for event in second.events] == [4, 4]  # by rows of the stream


def test_nothing_is_predicted_before_something_was_learned():
    recorder = CallRecorder()
    stream = [
        rows(0, "a", [False]),
        rows(1, "a", [False]),
        rows(2, "a", [False], late=rows(0, "a")),
        rows(3, "a", [False]),
    ]
    results = list(iter_prequential(recorder, stream))
    assert recorder.calls == [("learn", [0]), ("predict", [3])]
    assert [result.n_correct for result in results] == [None, None, None, 1]
    assert [result.n_scored for result in results] == [0, 0, 0, 1]
    assert [result.n_rows for result in results] == [1, 2, 3, 4]


def test_a_chunk_of_late_labels_only_is_learned_and_has_no_accuracy():
    recorder = CallRecorder()
    stream = [rows(0, "aa"), rows(2, "a", [False]), rows(3, "", late=rows(2, "a")), rows(3, "")]
    *_, last = results = list(iter_prequential(recorder, stream))
    assert len(results) == 3
    assert recorder.calls[-1] == ("learn", [2])
    assert (last.index, last.chunk_rows, last.n_rows) == (2, 0, 3)
    assert (last.n_correct, last.n_scored, last.accuracy) == (None, 0, None)
    assert len(last.events) == 1
    assert last.seconds_learn > 0.0


def test_labels_nobody_knows_are_neither_scored_nor_learned():
    recorder = CallRecorder()
    stream = [
        rows(0, ["a", None]),
        rows(2, ["a", None, "b"], late=rows(1, [None])),
        rows(5, [None, None], late=rows(7, [None, "a"])),
    ]
    results = list(iter_prequential(recorder, stream))
    learned = [numbers for verb, numbers in recorder.calls if verb == "learn"]
    assert learned == [[0], [2, 4], [8]]
    assert [(each.n_correct, each.n_scored) for each in results] == [(None, 0), (1, 2), (None, 0)]
    assert [each.accuracy for each in results] == [None, 0.5, None]
    assert results[2].seconds_predict > 0.0


def test_to_predict_nothing_is_never_right():
    recorder = CallRecorder()
    recorder.predict = lambda X: np.full(len(X), None)
    _, second = iter_prequential(recorder, [rows(0, "a"), rows(1, [None, "a"])])
    assert (second.n_correct, second.n_scored) == (0, 1)


def test_a_stream_of_which_nothing_may_be_learned_is_never_predicted():
    results = list(iter_prequential(DEVFNN(), sea(300, chunk_rows=100).hide_labels(1.0)))
    assert [result.n_rows for result in results] == [100, 200, 300]
    assert all(result.accuracy is None and result.events == () for result in results)
    assert Summary.of(results).accuracy is None


# ---- DEVFNN itself

STREAM = sea(2400, rows_per_concept=1300, chunk_rows=200)


def facts(results):
    """What two equal runs have in common: all but the time they took."""
    return [(r.n_rows, r.n_correct, r.n_scored, r.events, r.n_rules, r.n_labels) for r in results]


def plain_loop(stream):
    """The loop as it is without hidden and late labels."""
    model, n_correct = DEVFNN(), []
    for index, chunk in enumerate(stream):
        n_correct.append(int((model.predict(chunk.X) == chunk.y).sum()) if index else None)
        model.learn(chunk.X, chunk.y)
    return n_correct, model.predict_proba(next(iter(stream)).X)


def test_an_ordinary_stream_is_learned_chunk_by_chunk():
    model = DEVFNN()
    results = list(iter_prequential(model, STREAM))
    n_correct, probabilities = plain_loop(STREAM)
    assert [result.n_correct for result in results] == n_correct
    assert [result.n_scored for result in results] == [0] + [200] * 11
    np.testing.assert_array_equal(model.predict_proba(next(iter(STREAM)).X), probabilities)


@pytest.mark.parametrize(
    "same",
    [
        STREAM.delay_labels(rows=0),
        STREAM.hide_labels(0.0),
        STREAM.hide_labels(0.0).delay_labels(rows=0),
    ],
)
def test_a_delay_of_nothing_and_hiding_nothing_change_no_result(same):
    expected = facts(iter_prequential(DEVFNN(), STREAM))
    assert facts(iter_prequential(DEVFNN(), same)) == expected


@pytest.mark.parametrize("delay", [1, 150, 400, 650, 10_000])
def test_a_delayed_stream_is_learned_to_its_last_label(delay):
    model = DEVFNN()
    results = list(iter_prequential(model, STREAM.delay_labels(rows=delay)))
    assert model.n_rows == 2400
    assert [result.chunk_rows for result in results] == [200] * 12 + [0]
    assert [result.n_rows for result in results] == [*range(200, 2401, 200), 2400]
    n_unlearned = min(12, 1 + delay // 200)  # chunks that come before the first label
    expected = [0] * n_unlearned + [200] * (12 - n_unlearned) + [0]
    assert [result.n_scored for result in results] == expected
    if delay < 1000:
        assert Summary.of(results).accuracy > 0.75


def test_a_delay_costs_accuracy_when_a_concept_has_just_changed():
    """In the chunk after a drift a model without delay knows better."""
    stream = sea(4000, thresholds=[4, 12], rows_per_concept=2000, noise=0.0, chunk_rows=100)
    prompt = list(iter_prequential(DEVFNN(), stream))
    delayed = list(iter_prequential(DEVFNN(), stream.delay_labels(rows=500)))
    after = slice(21, 25)
    assert sum(each.n_correct for each in prompt[after]) > 1.2 * sum(
        each.n_correct for each in delayed[after]
    )


def test_hidden_and_delayed_labels_are_each_learned_once():
    stream = STREAM.hide_labels(0.7, seed=3)
    n_shown = sum(int(chunk.labelled.sum()) for chunk in stream)
    model = DEVFNN()
    results = list(iter_prequential(model, stream.delay_labels(rows=300)))
    assert model.n_rows == n_shown
    assert sum(result.n_scored for result in results) == 2400 - 400
    assert Summary.of(results).accuracy > 0.7


def test_a_stream_with_unknown_labels_is_learned_by_the_model():
    stream = sea(1200, rows_per_concept=600, chunk_rows=200).relabel({0: "no", 1: "yes"})
    spotty = [chunk._replace(y=np.where(chunk.X[:, 2] < 5.0, chunk.y, None)) for chunk in stream]
    n_known = [sum(label is not None for label in chunk.y) for chunk in spotty]
    model = DEVFNN()
    results = list(iter_prequential(model, spotty))
    assert model.n_rows == sum(n_known)
    assert [result.n_scored for result in results] == [0, *n_known[1:]]
    assert model.classes == ["yes", "no"] or model.classes == ["no", "yes"]


# ---- row by row, warm-up, holdout


@pytest.mark.parametrize("delay", [None, 17])
@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_row_by_row_is_the_same_as_chunks_of_one_row(delay, hidden):
    """Only the results come in larger pieces."""
    stream = STREAM.take(600).hide_labels(hidden, seed=1)
    models = NearestMean(), NearestMean()
    whole = list(iter_prequential(models[0], stream, Procedure(by_row=True, delay=delay)))
    singly = list(iter_prequential(models[1], stream.chunks(rows=1), Procedure(delay=delay)))
    assert models[0].learned == models[1].learned
    assert sum(each.n_scored for each in whole) == sum(each.n_scored for each in singly)
    n_correct = [0] * (len(whole))
    for each in singly:
        n_correct[min(max(0, each.n_rows - 1) // 200, len(whole) - 1)] += each.n_correct or 0
    assert [each.n_correct or 0 for each in whole] == n_correct
    assert [each.n_rows for each in whole][:3] == [200, 400, 600]


class NearestMean:
    """Predicts by the nearest mean; writes down what it learned."""

    def __init__(self):
        self.sums, self.learned = {}, []

    def predict(self, X):
        labels = list(self.sums)
        means = np.array([total / n for total, n in self.sums.values()])
        distances = ((X[:, None, :] - means[None]) ** 2).sum(axis=2)
        return np.array(labels)[distances.argmin(axis=1)]

    def learn(self, X, y):
        for row, label in zip(X, y.tolist(), strict=True):
            total, n = self.sums.get(label, (0.0, 0))
            self.sums[label] = total + row, n + 1
            self.learned.append((row.tolist(), label))


def test_devfnn_row_by_row_is_devfnn_with_learn_one():
    stream = STREAM.take(700)
    results = list(iter_prequential(DEVFNN(), stream, Procedure(by_row=True)))
    model, n_correct = DEVFNN(), [0, 0, 0, 0]
    X = np.concatenate([chunk.X for chunk in stream])
    y = np.concatenate([chunk.y for chunk in stream])
    for place, (row, label) in enumerate(zip(X, y.tolist(), strict=True)):
        if place:
            n_correct[place // 200] += model.predict_one(row) == label
        model.learn_one(row, label)
    assert [each.n_correct for each in results] == n_correct
    assert [each.n_scored for each in results] == [199, 200, 200, 100]


def test_warm_up_chunks_are_learned_and_not_predicted():
    recorder = CallRecorder()
    stream = [rows(2 * index, "aa") for index in range(4)]
    results = list(iter_prequential(recorder, stream, Procedure(warm_up_chunks=2)))
    assert [verb for verb, _ in recorder.calls] == ["learn", "learn", *["predict", "learn"] * 2]
    assert [each.n_scored for each in results] == [0, 0, 2, 2]


def test_chunks_that_are_held_out_are_never_learned_and_others_never_predicted():
    recorder = CallRecorder()
    stream = [rows(2 * index, "aa") for index in range(7)]
    results = list(iter_prequential(recorder, stream, Procedure(holdout_every=3)))
    learned = [number for verb, each in recorder.calls if verb == "learn" for number in each]
    predicted = [number for verb, each in recorder.calls if verb == "predict" for number in each]
    assert predicted == [4, 5, 10, 11]
    assert learned == [0, 1, 2, 3, 6, 7, 8, 9, 12, 13]
    assert [each.n_scored for each in results] == [0, 0, 2, 0, 0, 2, 0]
    assert [each.n_labels for each in results] == [2, 4, 4, 6, 8, 8, 10]


def test_a_model_that_has_learned_before_is_predicted_from_the_first_chunk():
    model = DEVFNN()
    for chunk in STREAM.take(400):
        model.learn(chunk.X, chunk.y)
    results = list(iter_prequential(model, STREAM.skip(400).take(600)))
    assert [each.n_scored for each in results] == [200, 200, 200]
    assert Summary.of(results).accuracy > 0.8
    (first, *_) = iter_prequential(DEVFNN(), STREAM.take(400))
    assert first.n_scored == 0


# ---- labels and classes


@pytest.mark.parametrize(
    "names",
    [
        ("up", "down", "new"),
        (0, 1, 2),
        (-3, -1, -2),
        (7, 1023, 1024),
        (100_000, 5, 2**40),
        (False, True, 2),
        (np.int64(4), np.int64(2), np.int64(9)),
        (np.str_("b"), np.str_("a"), "c"),
        (("a", 1), ("a", 2), "c"),
    ],
)
def test_a_class_may_appear_in_mid_stream_whatever_labels_are(names):
    stream = [rows(0, [names[k] for k in codes]) for codes in ((0, 1, 0), (1, 0, 2), (2, 1, 2))]
    loop = Prequential(MajorityOfAny(), stream)
    results = list(loop)
    assert [each.n_correct for each in results] == [None, 1, 0]
    assert loop.scorer.codes.labels == list(names)
    assert results[2].tally.confusion.tolist() == [[0, 0, 0], [1, 0, 0], [2, 0, 0]]
    assert len(results[1].tally.confusion) == 3


class MajorityOfAny:
    """Predicts the most frequent label, of any kind; the first of equals."""

    def __init__(self):
        self.counts = {}

    def predict(self, X):
        found = np.empty(len(X), object)
        found[:] = [max(self.counts, key=self.counts.get)] * len(X)
        return found

    def learn(self, X, y):
        for label in y:
            self.counts[label] = self.counts.get(label, 0) + 1


def test_classes_are_counted_in_the_order_that_the_stream_gives():
    stream = from_arrays(np.zeros((4, 1)), ["b", "a", "a", "c"], chunk_rows=2)
    ordered = Listed(stream, classes=["c", "a", "b"])
    loop = Prequential(MajorityOfAny(), ordered)
    *_, last = loop
    assert loop.scorer.codes.labels == ["c", "a", "b"]
    assert last.tally.confusion.tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 0]]


class Listed(list):
    """Chunks with what a stream tells about itself."""

    def __init__(self, stream, classes=None):
        super().__init__(stream)
        self.classes = stream.classes if classes is None else classes
        self.feature_names = stream.feature_names


def test_the_order_of_classes_does_not_change_what_is_measured():
    forward = list(iter_prequential(DEVFNN(), Listed(STREAM, [0, 1])))
    backward = list(iter_prequential(DEVFNN(), Listed(STREAM, [1, 0])))
    unknown = list(iter_prequential(DEVFNN(), list(STREAM)))
    names = ("accuracy", "f1", "kappa", "log_loss", "brier", "auc", "kappa_temporal")
    for one, other, third in zip(forward[1:], backward[1:], unknown[1:], strict=True):
        for name in names:
            value = MEASURES[name](one.tally)
            assert MEASURES[name](other.tally) == pytest.approx(value, abs=2e-3), name
            assert MEASURES[name](third.tally) == pytest.approx(value, abs=2e-3), name


def test_devfnn_meets_a_class_that_the_stream_did_not_tell_of():
    X = np.random.default_rng(0).random((900, 2))
    y = np.where(X[:, 0] > 0.5, "right", "left").astype(object)
    y[600:][X[600:, 1] > 0.7] = "top"
    chunks_ = [Chunk(X[k : k + 100], y[k : k + 100]) for k in range(0, 900, 100)]
    loop = Prequential(DEVFNN(), chunks_)
    results = list(loop)
    assert set(loop.scorer.codes.labels) == {"right", "left", "top"}
    added_at = [e.row for each in results for e in each.events if e.kind == "ClassAdded"]
    assert added_at[-1] == 600
    assert MEASURES["recall"](results[-1].tally) > 0.6


def test_a_model_that_predicts_a_class_nobody_has_is_wrong():
    recorder = CallRecorder()
    recorder.predict = lambda X: np.full(len(X), "never")
    loop = Prequential(recorder, [rows(0, "a"), rows(1, "ab")])
    _, second = loop
    assert (second.n_correct, second.n_scored) == (0, 2)
    assert loop.scorer.codes.labels == ["a", "never", "b"]


@pytest.mark.parametrize(
    ("unpredicted", "expected"),
    [("wrong", [(None, 0), (1, 3)]), ("skip", [(None, 0), (1, 1)]), ("first", [(1, 2), (2, 3)])],
)
def test_what_a_model_says_nothing_about_is_scored_as_the_procedure_says(unpredicted, expected):
    class Shy(CallRecorder):
        def predict(self, X):
            super().predict(X)
            return np.array(["a", None, None][: len(X)], object)

    results = iter_prequential(
        Shy(), [rows(0, "ab"), rows(2, "aab")], Procedure(unpredicted=unpredicted)
    )
    assert [(each.n_correct, each.n_scored) for each in results] == expected


# ---- label budgets


@pytest.mark.parametrize("budget", [0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("by_row", [False, True])
def test_a_label_budget_is_never_exceeded_and_the_labels_of_the_others_are_not_read(budget, by_row):
    class Greedy(NearestMean):
        def wants_label(self, X):
            return np.ones(len(X), bool)

        def learn(self, X, y, chosen):
            super().learn(X[chosen], y[chosen])

    model = Greedy()
    procedure = Procedure(label_budget=budget, by_row=by_row)
    for each in iter_prequential(model, STREAM, procedure):
        assert each.n_labels == len(model.learned) <= max(1, budget * each.n_rows)
    assert len(model.learned) >= int(budget * 2400)


def test_labels_go_to_the_rows_that_the_model_asks_for():
    class Picky(NearestMean):
        def wants_label(self, X):
            return X[:, 0] > 5.0

        def learn(self, X, y, chosen):
            super().learn(X[chosen], y[chosen])

    model = Picky()
    list(iter_prequential(model, STREAM, Procedure(label_budget=0.9)))
    first = {tuple(row) for row in next(iter(STREAM)).X.tolist()}
    later = [row for row, _ in model.learned if tuple(row) not in first]
    wanted = [row for chunk in list(STREAM)[1:] for row in chunk.X.tolist() if row[0] > 5.0]
    assert later == wanted


def test_a_model_that_asks_for_nothing_gets_the_first_labels_only():
    class Content(NearestMean):
        def wants_label(self, X):
            return np.zeros(len(X), bool)

        def learn(self, X, y, chosen):
            super().learn(X[chosen], y[chosen])

    model = Content()
    list(iter_prequential(model, STREAM, Procedure(label_budget=0.2)))
    assert len(model.learned) == 40  # a fifth of the first chunk, before it could ask


def test_a_model_that_cannot_ask_has_no_use_for_a_budget():
    model = Majority()
    with pytest.raises(InputError, match="Majority cannot say which labels it wants"):
        list(iter_prequential(model, chunks([0], [1]), Procedure(label_budget=0.5)))
    assert model.calls == []
    naive_bayes = pytest.importorskip("sklearn.naive_bayes")
    with pytest.raises(InputError, match="GaussianNB cannot say which labels it wants"):
        Prequential(naive_bayes.GaussianNB(), STREAM, Procedure(label_budget=0.5))


def test_devfnn_keeps_to_a_label_budget():
    model = DEVFNN()
    results = list(iter_prequential(model, STREAM, Procedure(label_budget=0.25)))
    assert all(each.n_labels <= 0.25 * each.n_rows for each in results)
    assert Summary.of(results).accuracy > 0.7
    assert model.n_rows == 2400


# ---- one clock


class Eventful(NearestMean):
    """An event for every row it learns, by its own count, and one for the whole batch."""

    def __init__(self, n_rows=None):
        super().__init__()
        self._count = n_rows or 0
        if n_rows is not None:
            self.n_rows = n_rows

    def learn(self, X, y):
        numbers = range(self._count, self._count + len(y))
        events = [RuleBorn(number, 0, 0, 0.1, 0.2, 0.3, 0.4) for number in numbers]
        super().learn(X, y)
        self._count += len(y)
        if hasattr(self, "n_rows"):
            self.n_rows = self._count
        return [*events, FeatureAsleep(numbers[0], "x", 2)]


def clock(model, stream, procedure=None):
    """Rows of the events of every chunk."""
    return [
        [event.row for event in each.events] for each in iter_prequential(model, stream, procedure)
    ]


@pytest.mark.parametrize("n_rows", [None, 0, 10_000])
def test_events_tell_rows_of_the_stream_whatever_the_model_has_learned_before(n_rows):
    stream = [rows(0, "ab"), rows(2, "aba")]
    model = Eventful(n_rows)
    if n_rows:
        model.sums = {"a": (np.zeros(1), 1)}
    assert clock(model, stream) == [[0, 1, 2], [2, 3, 4, 5]]


@pytest.mark.parametrize("n_rows", [None, 10_000])
def test_events_tell_rows_of_the_stream_whatever_was_hidden(n_rows):
    model = Eventful(n_rows)
    model.sums = {"a": (np.zeros(1), 1)}
    stream = [rows(0, "abab", [False, True, False, False]), rows(4, ["a", None, "b", "b"])]
    assert clock(model, stream) == [[1, 4], [4, 6, 7, 8]]


def test_events_of_late_labels_tell_when_the_labels_came():
    stream = [rows(0, "ab", [True, False]), rows(2, "a", late=rows(1, "b")), rows(3, "ab")]
    assert clock(Eventful(), stream) == [[0, 2], [3, 3, 2, 3], [3, 4, 5]]
    delayed = [rows(0, "abab"), rows(4, "ab")]
    found = clock(Eventful(), delayed, Procedure(by_row=True, delay=2))
    assert found == [[2, 2, 3, 3], [4, 4, 5, 5], [6, 6, 6]]


def test_no_event_lies_behind_the_last_row_of_its_chunk():
    for stream in (STREAM, STREAM.hide_labels(0.5), STREAM.delay_labels(rows=330)):
        for each in iter_prequential(DEVFNN(), stream):
            assert all(each.n_rows - 600 <= event.row <= each.n_rows for event in each.events)


def test_events_of_a_model_from_a_file_tell_rows_of_the_new_stream(tmp_path):
    stream = sea(4000, thresholds=[4, 12], rows_per_concept=2000, noise=0.0, chunk_rows=200)
    model = DEVFNN()
    for chunk in sea(10_000, rows_per_concept=10_000, noise=0.0):
        model.learn(chunk.X, chunk.y)
    model.save(tmp_path / "model.safetensors")
    loaded = DEVFNN.load(tmp_path / "model.safetensors")
    results = list(iter_prequential(loaded, stream))
    drifts = [event.row for each in results for event in each.events if event.kind == "DriftFound"]
    assert any(2000 <= row <= 2600 for row in drifts)
    for each in results:
        assert all(each.n_rows - 200 <= event.row <= each.n_rows for event in each.events)
    assert results[-1].n_labels <= 4000


# ---- storing


def comparable(results):
    """All that is the same in equal runs."""
    return [
        (
            *(r.index, r.chunk_rows, r.n_rows, r.n_correct, r.n_scored, r.events, r.n_rules),
            *(r.n_layers, r.n_labels, r.n_layers_total, r.n_parameters, r.n_bytes),
            *(r.voting_weights, r.feature_mask, r.auc_windowed),
            None if r.tally is None else MEASURES["log_loss"](r.tally),
            None if r.tally is None else MEASURES["kappa_m"](r.tally),
            None if r.tally is None else r.tally.confusion.tolist(),
        )
        for r in results
    ]


def eventful_stream():
    """Text labels, of which one comes late in the stream, and a drift."""
    stream = sea(1600, thresholds=[4, 12], rows_per_concept=800, noise=0.1, chunk_rows=200)
    found = []
    for index, chunk in enumerate(stream):
        y = np.where(chunk.y == 1, "yes", "no").astype(object)
        if index >= 5:
            y[chunk.X[:, 2] > 8.0] = "perhaps"
        found.append(chunk._replace(y=y))
    return found


@pytest.mark.parametrize(
    "procedure",
    [
        Procedure(),
        Procedure(by_row=True, delay=130, window_chunks=3),
        Procedure(label_budget=0.3, window_chunks=2),
        Procedure(holdout_every=3, warm_up_chunks=1),
        Procedure(delay="x2", window_chunks=4),
    ],
)
def test_a_loop_that_is_restored_goes_on_identically(procedure):
    stream = Listed(sea(10), classes=())
    stream[:] = eventful_stream()
    stream.feature_names = ("x0", "x1", "x2")
    loop = Prequential(DEVFNN(), stream, procedure)
    states, whole = [], []
    for result in loop:
        whole.append(result)
        plain, arrays = loop.state()
        states.append((json.dumps(plain), arrays, pickle.dumps(loop.model)))
    for n_done in (1, 4, 7):  # at the start, at the drift, with a class that came late
        plain, arrays, model = states[n_done - 1]
        other = Prequential(pickle.loads(model), stream, procedure)
        other.restore(json.loads(plain), arrays)
        assert other.n_chunks == n_done
        assert comparable(other) == comparable(whole[n_done:]), n_done
        assert other.scorer.auc == loop.scorer.auc
        assert other.scorer.codes.labels == loop.scorer.codes.labels


def test_a_loop_is_restored_also_for_a_model_that_does_not_count_its_rows():
    loop, other = Prequential(NearestMean(), STREAM), Prequential(NearestMean(), STREAM)
    whole = []
    for result in loop:
        whole.append(result)
        if result.index == 4:
            state, model = loop.state(), pickle.dumps(vars(loop.model))
    vars(other.model).update(pickle.loads(model))
    other.restore(*state)
    assert comparable(other) == comparable(whole[5:])


def test_a_loop_goes_on_where_its_iteration_was_left():
    loop, whole = Prequential(DEVFNN(), STREAM), Prequential(DEVFNN(), STREAM)
    first = []
    for result in loop:
        first.append(result)
        if len(first) == 5:
            break
    assert loop.is_between_chunks
    assert comparable(first + list(loop)) == comparable(whole)
    assert list(loop) == []


def test_a_loop_that_is_broken_within_a_chunk_says_so():
    class Broken(CallRecorder):
        def learn(self, X, y):
            if len(self.calls) > 2:
                raise KeyboardInterrupt
            return super().learn(X, y)

    loop = Prequential(Broken(), [rows(0, "ab"), rows(2, "ab"), rows(4, "ab")])
    with pytest.raises(KeyboardInterrupt):
        list(loop)
    assert not loop.is_between_chunks


# ---- time


def test_the_loop_costs_a_twentieth_of_the_time_of_a_stacked_model_at_most():
    stream = Listed(sea(100_000))
    list(iter_prequential(DEVFNN(presets.stacked()), stream[:3]))
    shares = []
    for _ in range(5):
        start = time.perf_counter()
        results = list(iter_prequential(DEVFNN(presets.stacked()), stream))
        whole = time.perf_counter() - start
        model = sum(each.seconds_predict + each.seconds_learn for each in results)
        shares.append(whole / model - 1.0)
        if shares[-1] < 0.05:
            break
    assert min(shares) < 0.05, shares
