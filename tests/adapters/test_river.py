"""DEVFNN inside River: its own checks, and the same results as the model itself."""

import gc
import math
import pickle

import numpy as np
import pytest

pytest.importorskip("river", minversion="0.26")

from river import (
    bandit,
    checks,
    compose,
    datasets,
    dummy,
    ensemble,
    evaluate,
    metrics,
    model_selection,
    multiclass,
    preprocessing,
)

from devfnn import DEVFNN, Config, InputError, presets
from devfnn.adapters.river import ConflictSampler, DEVFNNClassifier, HoeffdingErrorDrift
from river_rows import NAMES, as_dicts, learned, rows, said

FIRST, LIMITED = ConflictSampler._unit_test_params()
CHECKED = [
    DEVFNNClassifier(),
    HoeffdingErrorDrift(),
    ConflictSampler(**FIRST),
    ConflictSampler(**LIMITED | {"classifier": dummy.PriorClassifier()}),  # a fast one
]


# ---- River's own checks


@pytest.fixture
def few_objects():
    """Let checks that collect garbage look at few objects: not at those that are there already."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("model", CHECKED, ids=lambda model: type(model).__name__)
def test_all_checks_of_river_pass(model, few_objects):
    assert getattr(model, "_unit_test_skips", set)() == set()
    names = []
    for check in checks.yield_checks(model):
        check(model.clone())
        names.append(check.__name__)
    assert len(names) == {DEVFNNClassifier: 68, HoeffdingErrorDrift: 14}.get(type(model), 57)


# ---- the same as the model itself


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"scaling": "none"},
        {"labels__choice": "all"},
        {"lags": 2},
        {"class_weights": "balanced"},
        {"class_weights": {True: 3.0}},
        {"feature_mask": {}},
        {"config": presets.stacked()},
    ],
    ids=str,
)
@pytest.mark.parametrize("gaps", [False, True])
def test_rows_one_by_one_are_the_same_as_in_the_core(parameters, gaps):
    X, y = rows()
    if gaps:
        X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
        X[0] = 0.5
    changes = {name: value for name, value in parameters.items() if name != "config"}
    config = parameters.get("config", Config())
    core = DEVFNN(config.replace(missing="skip", **changes), NAMES)
    core.learn_rows(X, y)
    model = learned(X, y, **parameters)
    assert model.model.classes == core.classes
    assert np.array_equal(said(model, X), core.predict_proba(X))
    assert model.model.__getstate__() == core.__getstate__()


def test_the_core_may_be_used_in_between():
    X, y = rows(900)
    X[500:] *= 3.0  # the scaling map changes meanwhile
    core = DEVFNN(Config(missing="skip"), NAMES)
    model = learned(X[:300], y[:300])
    model.model.learn(X[300:600], y[300:600])
    for x, label in zip(as_dicts(X[600:]), y[600:], strict=True):
        model.learn_one(x, label)
    core.learn_rows(X[:300], y[:300])
    core.learn(X[300:600], y[300:600])
    core.learn_rows(X[600:], y[600:])
    assert np.array_equal(said(model, X), core.predict_proba(X))


def test_a_model_goes_on_after_pickling():
    X, y = rows()
    whole = learned(X, y)
    part = pickle.loads(pickle.dumps(learned(X[:300], y[:300])))
    for x, label in zip(as_dicts(X[300:]), y[300:], strict=True):
        part.learn_one(x, label)
    assert np.array_equal(said(part, X), said(whole, X))


def test_weights_count_and_rows_of_weight_0_do_not():
    X, y = rows(200)
    core = DEVFNN(Config(missing="skip"), NAMES)
    weights = np.random.default_rng(2).choice([0.0, 0.5, 2.0], 200)
    core.learn_rows(X, y, weights)
    model = DEVFNNClassifier()
    model.learn_one({"z": 1.0}, "never", w=0.0)
    for x, label, weight in zip(as_dicts(X), y, weights.tolist(), strict=True):
        model.learn_one(x, label, w=weight)
    assert np.array_equal(said(model, X), core.predict_proba(X))


# ---- features that come and go


def test_new_features_are_learned_and_absent_ones_left_out():
    X, y = rows(400)
    late = X.copy()
    late[:200, 2] = np.nan
    model = learned(late, y)
    assert model.model.feature_names == NAMES
    before = model.predict_proba_one({"a": 0.9, "b": 0.9})
    assert before != model.predict_proba_one({"a": 0.9, "b": 0.9, "c": 0.99})
    assert before == model.predict_proba_one({"a": 0.9, "b": 0.9, "c": None, "unknown": 1.0})
    assert before == model.predict_proba_one({"a": 0.9, "b": 0.9, "c": math.nan})


def test_the_order_of_features_in_a_row_does_not_matter():
    X, y = rows(200)
    model, other = learned(X, y), DEVFNNClassifier()
    for x, label in zip(as_dicts(X), y, strict=True):
        other.learn_one(dict(reversed(x.items())), label)
    assert pickle.dumps(model) == pickle.dumps(other)


def test_features_may_have_any_key():
    model = DEVFNNClassifier()
    model.learn_one({1: 1.0, "1": 2.0, ("x", 2): 3.0}, "yes")
    model.learn_one({1: 2.0, "1": 1.0, ("x", 2): 0.0, "'1'": 5.0}, "no")
    assert len(set(model.model.feature_names)) == 4
    assert set(model.predict_proba_one({1: 1.0})) == {"yes", "no"}


def test_what_pandas_has_where_there_is_nothing_is_missing():
    pandas = pytest.importorskip("pandas")
    model, other = learned(*rows(100)), learned(*rows(100))
    for _ in range(2):
        assert model.predict_proba_one({"a": 0.5, "b": pandas.NA}) == model.predict_proba_one(
            {"a": 0.5}
        )
        model.learn_one({"a": 0.5, "b": pandas.NA, "c": 0.5, "d": pandas.NA}, 1)
        other.learn_one({"a": 0.5, "b": None, "c": 0.5, "d": None}, 1)
    assert pickle.dumps(model) == pickle.dumps(other)


@pytest.mark.parametrize(
    ("x", "y", "w", "message"),
    [
        ({"a": 1.0, "b": 1.0, "c": 10**400}, 1, 1.0, "'c' is infinite or beyond"),
        ({"a": 1.0, "new": 10**400}, 1, 1.0, "'new' is infinite or beyond"),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, None, 1.0, "label .* is missing"),
        *(
            (x, 1, w, "weights must")
            for x in ({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.0}, {"new": 1.0}, {})
            for w in ("2", None, math.nan, -1.0, math.inf, 10**400)
        ),
        ({"a": 1.0, "new": "red"}, 1, 1.0, "'new' is 'red', not a number"),
        ({"a": "1", "b": 1.0, "c": 1.0}, 1, 1.0, "'a' is '1', not a number"),
        ({"a": math.inf, "b": 1.0, "c": 1.0}, 1, 1.0, "'a' is infinite"),
        ({"a": 1.0, "new": 1.0}, None, 1.0, "label .* is missing"),
        ({"a": 1.0, "new": 1.0}, 1, -1.0, "weights must lie"),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, [1], 1.0, "cannot name a class"),
        ({"a": 1.0, "new": 1.0}, object(), 1.0, "cannot name a class"),
        ({"a": 1.0, "new": 1.0}, "x" * 2000, 1.0, "at most 1,000 characters"),
        ({"a": 1.0, "x" * 2000: 1.0}, 1, 1.0, "name of a feature must be valid text"),
        ({"a": 1.0, "\ud800": 1.0}, 1, 1.0, "name of a feature must be valid text"),
        ({"a": 1.0, 10**5000: 1.0}, 1, 1.0, "name of a feature is no text"),
    ],
    ids=range(38),
)
def test_a_refused_row_changes_nothing(x, y, w, message):
    model = learned(*rows(100))
    before = pickle.dumps(model)
    with pytest.raises(InputError, match=message):
        model.learn_one(x, y, w=w)
    assert pickle.dumps(model) == before


def test_a_row_with_any_key_can_be_debugged():
    shown = learned(*rows(100)).debug_one({"a": 1.0, 10**5000: 1.0})
    assert "a value of type int: never seen, ignored" in shown


def test_of_a_row_of_weight_0_the_label_is_not_looked_at():
    model = learned(*rows(100))
    before = pickle.dumps(model)
    for x in ({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.0}, {"new": 1.0}, {"new": "red"}, {}):
        for label in (None, [1], "never"):
            model.learn_one(x, label, w=0)
    assert pickle.dumps(model) == before


# ---- among River's own


def accuracy(model, data=None, **settings):
    """Accuracy of a model on Phishing, or what is given."""
    score = evaluate.progressive_val_score(
        data if data is not None else datasets.Phishing(), model, metrics.Accuracy(), **settings
    )
    return score.get()


def test_it_works_in_evaluation_pipelines_and_ensembles():
    assert accuracy(DEVFNNClassifier()) > 0.89
    assert accuracy(DEVFNNClassifier(), moment=None, delay=100) > 0.85
    assert accuracy(preprocessing.StandardScaler() | DEVFNNClassifier()) > 0.88
    short = datasets.Phishing().take(300)
    assert accuracy(ensemble.BaggingClassifier(DEVFNNClassifier(), 2, seed=1), short) > 0.75


@pytest.mark.parametrize(
    "model",
    [
        ensemble.ADWINBaggingClassifier(DEVFNNClassifier(), 2, seed=1),
        ensemble.AdaBoostClassifier(DEVFNNClassifier(), 2, seed=1),
        ensemble.SRPClassifier(DEVFNNClassifier(), 2, seed=1),
        ensemble.StackingClassifier([DEVFNNClassifier(), DEVFNNClassifier()], DEVFNNClassifier()),
        ensemble.VotingClassifier([DEVFNNClassifier(), DEVFNNClassifier(growing__max_kept=1)]),
        multiclass.OneVsRestClassifier(DEVFNNClassifier()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_it_works_inside_of_others(model):
    assert accuracy(model, datasets.Phishing().take(250)) > 0.75


def test_it_can_be_selected_among_others():
    models = [DEVFNNClassifier(clouds=None), DEVFNNClassifier(clouds__max_rules=20)]
    best = model_selection.SuccessiveHalvingClassifier(models, metrics.Accuracy(), budget=400)
    assert accuracy(best, datasets.Phishing().take(300)) > 0.7
    assert isinstance(best.best_model, DEVFNNClassifier)
    policy = bandit.EpsilonGreedy(epsilon=0.1, seed=1)
    chosen = model_selection.BanditClassifier(models, metrics.Accuracy(), policy)
    assert accuracy(chosen, datasets.Phishing().take(300)) > 0.7


def test_parameters_can_be_searched():
    model = DEVFNNClassifier(growing__max_kept=2)
    changed = model.clone({"growing__max_kept": 1, "clouds__max_rules": 7, "seed": 3})
    config = changed.model.config
    assert (config.growing.max_kept, config.clouds.max_rules, config.seed) == (1, 7, 3)
    with pytest.raises(InputError, match="clouds=Clouds has no parameter 'max_clouds'"):
        DEVFNNClassifier(clouds__max_clouds=7)


def test_a_whole_pipeline_takes_tables_and_weights():
    pandas = pytest.importorskip("pandas")
    X, y = rows(100)
    model = compose.Pipeline(preprocessing.StandardScaler(), DEVFNNClassifier())
    model.learn_many(pandas.DataFrame(X, columns=NAMES), pandas.Series(y))
    weighted = [(x, label, {"w": 2.0}) for x, label in zip(as_dicts(X), y, strict=True)]
    assert accuracy(model, weighted) > 0.5
