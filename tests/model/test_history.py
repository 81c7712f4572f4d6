"""What a model remembers of its own structure."""

import json
import math
import pickle

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.events import ClassAdded, Event, RuleSplit
from devfnn.model import history
from devfnn.model.history import Logbook
from devfnn.model.single_rows import SingleRows
from scenes import config_of, each_network, eventful, run


@each_network
@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
def test_every_event_is_kept_with_its_numbers(network, verb):
    X, y = eventful(2000)
    model = DEVFNN(config_of(network))
    events = run(model, X, np.array(y), verb)
    known = model.history()
    assert list(known) == events
    assert len(known) > 4
    assert (known.since_row, known.n_dropped) == (0, 0)
    data = json.loads(json.dumps(known.to_dict()))
    assert [Event.from_dict(_bare(event)) for event in data["events"]] == events
    assert data["events"][0]["explanation"] == events[0].explanation
    assert known.of_kind("ClassAdded") == [e for e in events if isinstance(e, ClassAdded)]


def _bare(data):
    return {name: value for name, value in data.items() if name != "explanation"}


@each_network
def test_single_rows_are_remembered_too(network):
    X, y = eventful(1500)
    model = DEVFNN(config_of(network))
    rows = SingleRows(model)
    events = [event for x, label in zip(X, y, strict=True) for event in rows.learn(x, label)]
    assert list(model.history()) == events
    assert events


def test_only_the_newest_are_kept(monkeypatch):
    monkeypatch.setattr(history, "MOST_EVENTS", 3)
    book = Logbook()
    book.note([ClassAdded(row, str(row), row) for row in range(5)], 5)
    known = book.history(5)
    assert [event.row for event in known] == [2, 3, 4]
    assert known.n_dropped == 2
    assert "5 events" in known.text()
    assert "... and 2 before" in known.text()
    assert "... and 4 before" in known.text(1)
    assert known.text(1).endswith(known.events[-1].explanation)


@each_network
def test_a_loaded_model_knows_its_history(network, tmp_path):
    X, y = eventful(2000)
    model = DEVFNN(config_of(network))
    run(model, X[:1000], np.array(y[:1000]))
    model.save(tmp_path / "model")
    again = DEVFNN.load(tmp_path / "model")
    assert again.history() == model.history()
    assert len(again.history()) > 2
    run(again, X[1000:], np.array(y[1000:]))
    run(model, X[1000:], np.array(y[1000:]))
    assert again.history() == model.history()
    assert again.__getstate__() == model.__getstate__()


def test_numbers_that_are_none_are_saved_too():
    model = DEVFNN(feature_names=["nan"])
    model.learn([[0.0], [1.0]], [0, 1])
    odd = [
        RuleSplit(1, 5, 0, 1, "nan", math.inf, -math.inf, 1.0),
        RuleSplit(1, 5, 0, 1, "inf", math.nan, 0.0, 1.0),
    ]
    model._logbook.note(odd, 2)
    first, second = list(pickle.loads(pickle.dumps(model)).history())[-2:]
    assert first == odd[0]
    assert second.feature == "inf" and math.isnan(second.value)


def test_before_learning_nothing_has_happened():
    assert DEVFNN().history() == history.History((), 0, 0)
