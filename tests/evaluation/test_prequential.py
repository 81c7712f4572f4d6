"""The test-then-train loop: in the right order, and honest about what it measured."""

import types

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.errors import InputError, NotLearnedError
from devfnn.evaluation import Summary, iter_prequential
from devfnn.events import DriftFound
from devfnn.streams import sea
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
    assert (plain.n_rules, plain.n_layers, plain.n_labels) == (None, None, None)
    model = Majority()
    model.n_rules, model.n_live_layers, model.n_labels_used = 7, 2, 1
    (told,) = iter_prequential(model, chunks([0]))
    assert (told.n_rules, told.n_layers, told.n_labels) == (7, 2, 1)


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


class Diary:
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
    diary = Diary()
    stream = [rows(0, "ab", [True, False]), rows(2, "aab", [False, True, False])]
    first, second = iter_prequential(diary, stream)
    assert diary.calls == [("learn", [0]), ("predict", [2, 3, 4]), ("learn", [3])]
    assert (first.n_correct, first.n_scored, first.chunk_rows) == (None, 0, 2)
    assert (second.n_correct, second.n_scored, second.accuracy) == (2, 3, 2 / 3)


def test_late_labels_are_learned_after_the_prediction_and_before_the_rows_of_the_chunk():
    diary = Diary()
    stream = [rows(0, "ab", [True, False]), rows(2, "aa", [True, False], late=rows(1, "b"))]
    _, second = iter_prequential(diary, stream)
    assert diary.calls == [("learn", [0]), ("predict", [2, 3]), ("learn", [1]), ("learn", [2])]
    assert [event.row for event in second.events] == [1, 1]


def test_nothing_is_predicted_before_something_was_learned():
    diary = Diary()
    stream = [
        rows(0, "a", [False]),
        rows(1, "a", [False]),
        rows(2, "a", [False], late=rows(0, "a")),
        rows(3, "a", [False]),
    ]
    results = list(iter_prequential(diary, stream))
    assert diary.calls == [("learn", [0]), ("predict", [3])]
    assert [result.n_correct for result in results] == [None, None, None, 1]
    assert [result.n_scored for result in results] == [0, 0, 0, 1]
    assert [result.n_rows for result in results] == [1, 2, 3, 4]


def test_a_chunk_of_late_labels_only_is_learned_and_has_no_accuracy():
    diary = Diary()
    stream = [rows(0, "aa"), rows(2, "a", [False]), rows(3, "", late=rows(2, "a")), rows(3, "")]
    *_, last = results = list(iter_prequential(diary, stream))
    assert len(results) == 3
    assert diary.calls[-1] == ("learn", [2])
    assert (last.index, last.chunk_rows, last.n_rows) == (2, 0, 3)
    assert (last.n_correct, last.n_scored, last.accuracy) == (None, 0, None)
    assert len(last.events) == 1
    assert last.seconds_learn > 0.0


def test_labels_nobody_knows_are_neither_scored_nor_learned():
    diary = Diary()
    stream = [
        rows(0, ["a", None]),
        rows(2, ["a", None, "b"], late=rows(1, [None])),
        rows(5, [None, None], late=rows(7, [None, "a"])),
    ]
    results = list(iter_prequential(diary, stream))
    learned = [numbers for verb, numbers in diary.calls if verb == "learn"]
    assert learned == [[0], [2, 4], [8]]
    assert [(each.n_correct, each.n_scored) for each in results] == [(None, 0), (1, 2), (None, 0)]
    assert [each.accuracy for each in results] == [None, 0.5, None]
    assert results[2].seconds_predict > 0.0


def test_to_predict_nothing_is_never_right():
    diary = Diary()
    diary.predict = lambda X: np.full(len(X), None)
    _, second = iter_prequential(diary, [rows(0, "a"), rows(1, [None, "a"])])
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
