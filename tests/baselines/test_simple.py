"""The two models that look at labels only."""

import numpy as np
import pytest

from devfnn.baselines import Majority, NoChange
from devfnn.evaluation import iter_prequential
from devfnn.streams import from_arrays

ROWS = np.zeros((4, 2))


@pytest.mark.parametrize(("kind", "label"), [(Majority, "up"), (NoChange, "down")])
def test_what_is_predicted(kind, label):
    model = kind()
    assert model.learn(ROWS, ["up", "up", "flat", "down"]) == []
    assert model.predict(ROWS).tolist() == [label] * 4
    assert model.classes == ["up", "flat", "down"]


@pytest.mark.parametrize(("kind", "chances"), [(Majority, [0.75, 0.25]), (NoChange, [1.0, 0.0])])
def test_how_sure_they_are(kind, chances):
    model = kind()
    model.learn(ROWS, [0, 0, 1, 0])
    assert model.predict_proba(ROWS[:2]).tolist() == [chances] * 2


def test_row_by_row_no_change_is_right_as_often_as_labels_repeat():
    y = np.array([0, 0, 1, 1, 1, 0, 0, 0, 0, 1])
    results = list(iter_prequential(NoChange(), from_arrays(np.zeros((10, 1)), y).chunks(rows=1)))
    assert [result.accuracy for result in results][1:] == (y[1:] == y[:-1]).tolist()
