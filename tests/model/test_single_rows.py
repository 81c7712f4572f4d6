"""Rows one at a time give what rows together give, bit for bit."""

import math
import pickle
import threading

import numpy as np
import pytest

from devfnn import DEVFNN, Config, InputError
from devfnn.model.single_rows import SingleRows
from scenes import swift


def rows(n_features, n_rows=500):
    """Rows that leave their range, one constant feature, gaps, and a class that comes late."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 1] = 3.0
    X[300:, 0] += 20.0
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X).sum(axis=1) > 3.0).astype(int)
    y[200:250:5] = 2
    return X, y.tolist()


def said_by(single, row):
    """Class probabilities of a row."""
    return list(single.by_label(row).values())


@pytest.mark.parametrize("n_features", [2, 41])
@pytest.mark.parametrize("scaling", ["online", "none"])
@pytest.mark.parametrize("kind", [list, tuple])
def test_one_by_one_is_the_same_as_together(n_features, scaling, kind):
    X, y = rows(n_features)
    config = swift(
        missing="skip", scaling=scaling, rules__max_rules=12, clouds__max_rules=20, chunk_rows=100
    )
    together, alone = DEVFNN(config), DEVFNN(config)
    single, events = SingleRows(alone), []
    for row, label in zip(map(kind, X.tolist()), y, strict=True):
        said = said_by(single, row)
        assert said == (alone.predict_proba([row])[0].tolist() if alone.classes else [])
        events += single.learn(row, label)
    assert events == together.learn_rows(X, y)
    assert alone.__getstate__() == together.__getstate__()


def test_what_was_asked_for_is_learned():
    X, y = rows(2)
    config = swift(missing="skip", labels__exploration=0.0, labels__certainty=0.0)
    model = DEVFNN(config)
    single = SingleRows(model)
    for row, label in zip(X.tolist(), y, strict=True):
        single.learn(row, label, asked=True)
    assert model.n_labels_used == len(y)
    single.learn(X[0].tolist(), y[0])
    assert model.n_labels_used == len(y)


def test_the_quick_way_is_taken_and_follows_the_model(monkeypatch):
    X, y = rows(3)
    model = DEVFNN(Config(missing="skip"))
    single = SingleRows(model)
    model.learn_rows(X[:250], y[:250])
    slow = model.predict_proba
    monkeypatch.setattr(model, "predict_proba", None)  # the slow way
    for chunk in (slice(250, 350), slice(350, 500)):
        single.learn(X[0].tolist(), y[0])
        model.learn(X[chunk], y[chunk])  # behind its back, and past a change of the scaling map
        assert said_by(single, X[5].tolist()) == slow(X[5:6])[0].tolist()
    copy = pickle.loads(pickle.dumps(single))
    assert said_by(copy, X[5].tolist()) == said_by(single, X[5].tolist())


def test_every_thread_has_working_memory_of_its_own():
    X, y = rows(3)
    model = DEVFNN(Config(missing="skip"))
    model.learn_rows(X, y)
    expected, single, wrong = model.predict_proba(X).tolist(), SingleRows(model), []
    fast = []

    def ask():
        said = [said_by(single, row) for row in X.tolist()]
        wrong.extend(row for row in range(len(X)) if said[row] != expected[row])
        fast.append(single._own.fast)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len({id(each) for each in fast}) == len(fast) == 3


@pytest.mark.parametrize(
    ("values", "label", "weight"),
    [([1.0, "x"], 1, 1.0), ([1.0, 2.0], None, 1.0), ([1.0, 2.0], 1, -1.0), ([1.0, 2.0], [1], 1.0)],
)
def test_what_cannot_be_learned_is_refused(values, label, weight):
    with pytest.raises(InputError):
        SingleRows(DEVFNN()).learn(values, label, weight)


@pytest.mark.parametrize("missing", ["skip", "error"])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5], "rows have 1 features, the model knows 3"),
        ([0.5] * 4, "rows have 4 features"),
        ([0.5, 0.5, "1"], "must be numbers"),
        (["a", "b", "c"], "must be numbers"),
        ("abc", "one row is a vector"),
        ([0.5, math.inf, 0.5], "row 0, feature 1 is infinite"),
        ([0.5, 0.5, -2e100], "row 0, feature 2 is infinite"),
        ([math.nan, 0.5, 2e100], "row 0, feature 2 is infinite"),
        ([0.5, 0.5, 10**400], "too large"),
        ([[0.5, 0.5, 0.5]] * 3, "one row is a vector"),
        ([0.5, 0.5, 1j], "must be numbers"),
    ],
)
def test_the_quick_way_refuses_what_the_slow_way_refuses(values, message, missing):
    X, y = rows(3)
    model = DEVFNN(Config(missing=missing))
    single = SingleRows(model)
    model.learn_rows(np.nan_to_num(X), y)
    before, said = model.__getstate__(), said_by(single, (0.5, 0.5, 0.5))
    for act in (single.by_label, lambda row: single.learn(row, 1)):
        with pytest.raises(InputError, match=message):
            act(values)
    assert model.__getstate__() == before
    assert said_by(single, (0.5, 0.5, 0.5)) == said


def test_a_gap_is_refused_where_it_must_not_be():
    X, y = rows(3)
    single = SingleRows(DEVFNN())
    single.model.learn_rows(np.nan_to_num(X), y)
    before = single.model.__getstate__()
    for act in (single.by_label, lambda row: single.learn(row, 1)):
        with pytest.raises(InputError, match='row 0, feature 1 is NaN; use missing="skip"'):
            act([0.5, math.nan, 0.5])
    assert single.model.__getstate__() == before


@pytest.mark.parametrize("weight", ["2", None, math.nan, -1.0, math.inf, 10**400, 1j])
def test_a_weight_that_is_none_is_refused(weight):
    X, y = rows(3)
    single = SingleRows(DEVFNN(Config(missing="skip")))
    single.model.learn_rows(X, y)
    before = single.model.__getstate__()
    with pytest.raises(InputError, match="weights must"):
        single.learn([0.5, 0.5, 0.5], 1, weight)
    assert single.model.__getstate__() == before


def test_a_row_that_changed_since_it_was_asked_is_learned_as_it_is():
    X, y = rows(3)
    models = [DEVFNN(Config(missing="skip")) for _ in range(2)]
    for model in models:
        model.learn_rows(X[:200], y[:200])
    single, row = SingleRows(models[0]), [0.1, 0.2, 0.3]
    said_by(single, row)
    row[0] = 0.9
    single.learn(row, 1)
    models[1].learn_one([0.9, 0.2, 0.3], 1)
    assert models[0].__getstate__() == models[1].__getstate__()


def test_very_narrow_ranges_do_no_harm():
    X, y = rows(3, 300)
    X = np.nan_to_num(X) * 1e-250
    model = DEVFNN()
    model.learn_rows(X, y)
    row = [1e90, -1e90, 0.0]
    assert said_by(SingleRows(model), row) == model.predict_proba([row])[0].tolist()


def test_what_was_said_before_a_row_is_not_used_after_it():
    X, y = rows(3)
    models = [DEVFNN(Config(missing="skip")) for _ in range(2)]
    for model, learn in zip(
        models, (SingleRows(models[0]).learn, models[1].learn_one), strict=True
    ):
        model.learn_rows(X[:200], y[:200])
        model.predict_proba(X[200:290])
        for row in X[:50].tolist():
            learn(row, 1)
        model.learn(X[200:290], [0] * 90)
    assert models[0].__getstate__() == models[1].__getstate__()


def test_events_are_in_the_history_also_after_loading():
    X, y = rows(3)
    model = DEVFNN(Config(missing="skip"))
    model.learn_rows(X[:250], y[:250])
    single = SingleRows(pickle.loads(pickle.dumps(model)))
    events = []
    for row, label in zip(X[250:].tolist(), y[250:], strict=True):
        events += single.learn(row, label)
    history = single.model.history()
    assert list(history) == [*model.history(), *events]
    assert events and history.since_row == 0


def test_the_values_of_a_series_are_matched_by_name():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.random((300, 2)), columns=["heat", "wind"])
    labels = np.where(table["heat"] > 0.5, "up", "down")
    model = DEVFNN()
    model.learn(table, labels)
    row = table.iloc[7]
    turned = row[::-1]
    assert model.predict_proba_one(turned) == model.predict_proba_one(row)
    assert model.predict_proba_one(row) == model.predict_proba_one(row.tolist())
    for x in (turned, table.iloc[[7]], table.iloc[[7]][["wind", "heat"]]):
        assert model.explain(x).values.tolist() == row.tolist()
    with pytest.raises(InputError, match="rain"):
        model.learn_one(turned.rename({"heat": "rain"}), "up")
    model.learn_one(turned, "up")
    assert model.n_rows == 301


def test_a_weight_that_is_no_number_is_refused_and_nothing_changes():
    X, y = rows(2)
    model = DEVFNN(Config(missing="skip"))
    model.learn_rows(X, y)
    before = model.__getstate__()
    for weight in (np.array([1.0, 2.0]), "1", None, math.nan, -1.0):
        with pytest.raises(InputError):
            model.learn_one([1.0, 2.0], 1, weight)
        assert model.__getstate__() == before
