"""The simplest rivals."""

import pickle

import numpy as np
import pytest

from devfnn.baselines import Majority, NoChange
from devfnn.errors import InputError, NotLearnedError
from devfnn.evaluation import iter_prequential
from devfnn.streams import from_arrays

ROWS = np.zeros((4, 2))


@pytest.mark.parametrize(("kind", "label"), [(Majority, "up"), (NoChange, "down")])
def test_what_is_predicted(kind, label):
    model = kind()
    assert model.learn(ROWS, ["up", "up", "flat", "down"]) == []
    assert model.predict(ROWS).tolist() == [label] * 4
    assert model.classes == ["up", "flat", "down"]


def test_the_majority_says_how_often_labels_came():
    model = Majority()
    model.learn(ROWS, [0, 0, 1, 0])
    assert model.predict_proba(ROWS[:2]).tolist() == [[0.75, 0.25]] * 2


def test_no_change_is_certain():
    model = NoChange()
    model.learn(ROWS, [0, 0, 1, 0])
    assert model.predict_proba(ROWS[:1]).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("kind", [Majority, NoChange])
def test_classes_may_come_later_and_be_anything_hashable(kind):
    model = kind()
    model.learn(ROWS[:1], [("a", 1)])
    model.learn(ROWS, [2, 2, 2.5, 2])
    assert model.classes == [("a", 1), 2, 2.5]
    assert model.predict(ROWS[:1]).tolist() == [2]
    assert model.predict_proba(ROWS).shape == (4, 3)


@pytest.mark.parametrize("kind", [Majority, NoChange])
def test_nothing_is_said_before_something_was_learned(kind):
    model = kind()
    model.learn(ROWS[:0], [])
    with pytest.raises(NotLearnedError):
        model.predict(ROWS)


@pytest.mark.parametrize("kind", [Majority, NoChange])
def test_a_refused_call_changes_nothing(kind):
    model = kind()
    model.learn(ROWS[:1], [1])
    with pytest.raises(InputError, match="2 labels for 4 rows"):
        model.learn(ROWS, [0, 0])
    with pytest.raises(InputError, match="missing"):
        model.learn(ROWS[:2], [0, None])
    assert model.classes == [1]


@pytest.mark.parametrize("kind", [Majority, NoChange])
def test_models_can_be_pickled(kind):
    model = kind()
    model.learn(ROWS, ["a", "b", "b", "a"])
    assert pickle.loads(pickle.dumps(model)).predict(ROWS).tolist() == model.predict(ROWS).tolist()


def test_row_by_row_no_change_is_right_as_often_as_labels_repeat():
    y = np.array([0, 0, 1, 1, 1, 0, 0, 0, 0, 1])
    results = list(iter_prequential(NoChange(), from_arrays(np.zeros((10, 1)), y).chunks(rows=1)))
    assert [result.accuracy for result in results][1:] == (y[1:] == y[:-1]).tolist()
