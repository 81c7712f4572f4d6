"""What River's adapter explains, its files, and what a row may be."""

import numpy as np
import pytest

pytest.importorskip("river", minversion="0.26")

from river import preprocessing

from devfnn import DEVFNN, InputError, NotLearnedError
from devfnn.adapters.river import DEVFNNClassifier
from river_rows import NAMES, as_dicts, learned, rows, said

# ---- explanations


def test_debug_one_says_what_the_model_makes_of_a_row():
    model = learned(*rows())
    assert DEVFNNClassifier().debug_one({"a": 1.0}) == "The model has not learned anything yet."
    text = model.debug_one({"a": 0.25, "b": None, "d": 1})
    for part in ("a: 0.25", "b: missing", "'d': never seen", "Probabilities", "IF "):
        assert part in text
    label = model.predict_one({"a": 0.25})
    assert f"  For class {label}: usually " in text and ", a +" in text
    shown = text[text.index("Rules that fired") :].splitlines()[1:]
    assert 0 < len(shown) <= 5
    fired = {
        (layer.layer, rule.rule)
        for layer in model.explain_one({"a": 0.25}).layers
        for rule in layer.fired
    }
    rules_fired = [rule for rule in model.rules() if (rule.layer, rule.rule) in fired][:5]
    assert shown == [f"  {rule.text()}  {rule.remark()}" for rule in rules_fired]


def test_a_pipeline_shows_what_the_model_makes_of_a_row():
    X, y = rows(100)
    model = preprocessing.StandardScaler() | DEVFNNClassifier()
    for x, label in zip(as_dicts(X), y, strict=True):
        model.learn_one(x, label)
    assert "Rules that fired" in model.debug_one(as_dicts(X)[0])


def test_a_row_is_explained_by_the_keys_of_its_features():
    X, y = rows()
    model = DEVFNNClassifier()
    for row, label in zip(X.tolist(), y, strict=True):
        model.learn_one({2: row[2], 0: row[0], "one": row[1]}, label)
    x = {0: 0.9, "one": 0.2}
    why = model.explain_one(x)
    shares = dict(zip(why.labels, why.probabilities.tolist(), strict=True))
    assert shares == pytest.approx(model.predict_proba_one(x), abs=1e-12)
    assert why.features == ("0", "2", "one")
    assert dict(zip(why.features, why.states, strict=True))["2"] == "missing"
    assert "  0: 0.9\n  2: missing\n  one: 0.2" in model.debug_one(x)
    with pytest.raises(NotLearnedError):
        DEVFNNClassifier().explain_one(x)


def test_rules_description_and_history_are_those_of_the_model():
    model = learned(*rows())
    texts = [rule.text() for rule in model.rules()]
    assert texts == [rule.text() for rule in model.model.rules()] != []
    assert model.describe(terms=True) == model.model.describe(terms=True)
    assert model.history() == model.model.history()
    assert len(model.history()) > 0


# ---- files


def test_a_model_goes_on_after_it_was_a_file(tmp_path):
    X, y = rows()
    whole, part = learned(X, y, growing__max_kept=2), learned(X[:300], y[:300], growing__max_kept=2)
    part.save(tmp_path / "model")
    loaded = DEVFNNClassifier.load(tmp_path / "model")
    for x, label in zip(as_dicts(X[300:]), y[300:], strict=True):
        loaded.learn_one(x, label)
    assert np.array_equal(said(loaded, X), said(whole, X))
    assert loaded.clone().model.config == whole.model.config
    loaded.learn_one({"a": 1.0, "new": 1.0}, 1)
    assert loaded.model.feature_names == [*NAMES, "new"]


def test_what_no_file_can_hold_is_refused(tmp_path):
    model = DEVFNNClassifier()
    model.learn_one({1: 0.5, ("x", 2): 1.0}, "yes")
    with pytest.raises(InputError, match=r"feature 1 is no text.*pickle"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    DEVFNN().save(tmp_path / "other")
    with pytest.raises(InputError, match='needs missing="skip"'):
        DEVFNNClassifier.load(tmp_path / "other")


# ---- what a row may be


def test_a_series_is_a_row_too():
    pandas = pytest.importorskip("pandas")
    X, y = rows(100)
    frame = pandas.DataFrame(X, columns=NAMES)
    one, other = DEVFNNClassifier(), DEVFNNClassifier()
    for place, label in enumerate(y):
        one.learn_one(frame.iloc[place], label)
        other.learn_one(frame.iloc[place].to_dict(), label)
    assert one.predict_proba_one(frame.iloc[3]) == other.predict_proba_one(as_dicts(X)[3])
    assert one.model.feature_names == other.model.feature_names


@pytest.mark.parametrize("x", [None, [1.0, 2.0], np.zeros(3), 3, "abc"])
def test_what_is_no_row_is_refused(x):
    model = learned(*rows(50))
    before = model.model.__getstate__()
    for ask in (model.predict_one, model.predict_proba_one, model.explain_one, model.debug_one):
        with pytest.raises(InputError, match="a row is a dictionary of features, not"):
            ask(x)
    with pytest.raises(InputError, match="use learn_many"):
        model.learn_one(x, 1)
    assert model.model.__getstate__() == before
