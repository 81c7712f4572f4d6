"""The test-then-train loop: in the right order, and honest about what it measured."""

import types

import numpy as np
import pytest

from devfnn.errors import InputError
from devfnn.evaluation import iter_prequential
from devfnn.events import DriftFound
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
