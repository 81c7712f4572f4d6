"""DEVFNN inside River: its own checks, and the same results as the model itself."""

import math
import pickle
import time

import numpy as np
import pytest

pytest.importorskip("river", minversion="0.26")

from river import (
    active,
    bandit,
    checks,
    compose,
    datasets,
    ensemble,
    evaluate,
    metrics,
    model_selection,
    naive_bayes,
    preprocessing,
)

from devfnn import DEVFNN, Config, InputError
from devfnn.river import ConflictSampler, DEVFNNClassifier, HoeffdingErrorDrift

NAMES = ["a", "b", "c"]
CHECKED = [
    DEVFNNClassifier(),
    HoeffdingErrorDrift(),
    *(ConflictSampler(**parameters) for parameters in ConflictSampler._unit_test_params()),
]


def rows(n_rows=600, seed=0):
    """Rows and labels with a drift in the middle, and a third class that comes later."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 3))
    y = (X[:, 0] + X[:, 1] > 1.0).astype(int)
    y[n_rows // 2 :] = 1 - y[n_rows // 2 :]
    y[(X[:, 2] > 0.9) & (np.arange(n_rows) > 50)] = 2
    return X, y.tolist()


def as_dicts(X):
    """Rows as River has them; NaN is a feature that is not there."""
    return [
        {name: value for name, value in zip(NAMES, row, strict=True) if not math.isnan(value)}
        for row in X.tolist()
    ]


def learned(X, y, **parameters):
    """A classifier that has learned rows."""
    model = DEVFNNClassifier(**parameters)
    for x, label in zip(as_dicts(X), y, strict=True):
        model.learn_one(x, label)
    return model


def said(model, X):
    """Probabilities of rows as a matrix, the columns in the order of the classes."""
    answers = [model.predict_proba_one(x) for x in as_dicts(X)]
    return np.array([[answer[label] for label in model.model.classes] for answer in answers])


# ---- River's own checks


@pytest.mark.parametrize("model", CHECKED, ids=lambda model: type(model).__name__)
def test_all_checks_of_river_pass(model):
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
        {"active_learning": False},
        {"lags": 2},
        {"feature_mask": True},
        {"network": "stacked"},
    ],
    ids=str,
)
@pytest.mark.parametrize("gaps", [False, True])
def test_rows_one_by_one_are_the_same_as_in_the_core(parameters, gaps):
    X, y = rows()
    if gaps:
        X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
        X[0] = 0.5
    core = DEVFNN(Config(missing="skip", **parameters), NAMES)
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


@pytest.mark.parametrize(
    ("x", "y", "w", "message"),
    [
        ({"a": 1.0, "new": "red"}, 1, 1.0, "'new' is 'red', not a number"),
        ({"a": "1", "b": 1.0, "c": 1.0}, 1, 1.0, "'a' is '1', not a number"),
        ({"a": math.inf, "b": 1.0, "c": 1.0}, 1, 1.0, "'a' is infinite"),
        ({"a": 1.0, "new": 1.0}, None, 1.0, "label .* is missing"),
        ({"a": 1.0, "new": 1.0}, 1, -1.0, "weights must lie"),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, [1], 1.0, "cannot name a class"),
    ],
)
def test_a_refused_row_changes_nothing(x, y, w, message):
    model = learned(*rows(100))
    before = pickle.dumps(model)
    with pytest.raises(InputError, match=message):
        model.learn_one(x, y, w=w)
    assert pickle.dumps(model) == before


# ---- tables


def tables():
    """Makers of tables and columns of every kind."""
    import pandas
    import pyarrow

    yield "pandas", pandas.DataFrame, pandas.Series
    yield "pyarrow", pyarrow.table, lambda values: pyarrow.chunked_array([values])
    import polars

    yield "polars", polars.DataFrame, polars.Series


@pytest.mark.parametrize(
    ("kind", "table", "column"), list(tables()), ids=["pandas", "pyarrow", "polars"]
)
def test_tables_of_any_kind_are_the_same_as_rows(kind, table, column):
    X, y = rows(300)
    labels = [["up", "down", "flat"][label] for label in y]
    one = learned(X, labels)
    many = DEVFNNClassifier()
    X_table = table(dict(zip(NAMES, X.T.copy(), strict=True)))
    many.predict_many(X_table)  # before it has learned anything
    assert len(many.predict_proba_many(X_table)) in (0, 300)
    many.learn_many(X_table, column(labels))
    predicted, shares = many.predict_many(X_table), many.predict_proba_many(X_table)
    assert type(shares) is type(X_table)
    assert type(predicted) is type(column(labels))
    listed = predicted.to_pylist() if kind == "pyarrow" else predicted.to_list()
    assert listed == [one.predict_one(x) for x in as_dicts(X)]
    for label, expected in zip(one.model.classes, said(one, X).T, strict=True):
        assert np.array_equal(np.asarray(shares[label]), expected)


def test_tables_keep_their_index_and_labels():
    pandas = pytest.importorskip("pandas")
    X, y = rows(50)
    frame = pandas.DataFrame(X, columns=NAMES, index=range(100, 150))
    model = DEVFNNClassifier()
    model.learn_many(frame, pandas.Series(y, name="class", index=frame.index), w=2.0)
    assert model.predict_many(frame).index.tolist() == list(range(100, 150))
    assert model.predict_many(frame).name == "class"
    assert model.predict_proba_many(frame).columns.tolist() == model.model.classes
    with pytest.raises(InputError, match="'colour' is 'red'"):
        model.learn_many(frame.assign(colour="red"), y)


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


def test_it_can_be_selected_among_others():
    models = [DEVFNNClassifier(max_clouds=size) for size in (0, 20)]
    best = model_selection.SuccessiveHalvingClassifier(models, metrics.Accuracy(), budget=400)
    assert accuracy(best, datasets.Phishing().take(300)) > 0.7
    assert isinstance(best.best_model, DEVFNNClassifier)
    policy = bandit.EpsilonGreedy(epsilon=0.1, seed=1)
    chosen = model_selection.BanditClassifier(models, metrics.Accuracy(), policy)
    assert accuracy(chosen, datasets.Phishing().take(300)) > 0.7


def test_parameters_can_be_searched():
    model = DEVFNNClassifier(max_kept=2)
    changed = model.clone({"max_kept": 1, "max_clouds": 7, "seed": 3})
    config = changed.model.config
    assert (config.max_kept, config.max_clouds, config.seed) == (1, 7, 3)
    with pytest.raises(InputError, match="no parameter is called 'max_cloud'"):
        DEVFNNClassifier(max_cloud=7)


def test_a_whole_pipeline_takes_tables_and_weights():
    pandas = pytest.importorskip("pandas")
    X, y = rows(100)
    model = compose.Pipeline(preprocessing.StandardScaler(), DEVFNNClassifier())
    model.learn_many(pandas.DataFrame(X, columns=NAMES), pandas.Series(y))
    weighted = [(x, label, {"w": 2.0}) for x, label in zip(as_dicts(X), y, strict=True)]
    assert accuracy(model, weighted) > 0.5


def test_debug_one_says_what_the_model_makes_of_a_row():
    model = learned(*rows())
    text = model.debug_one({"a": 0.25, "b": None, "d": 1})
    for part in ("a: 0.25", "b: missing", "'d': never seen", "Probabilities", "IF "):
        assert part in text


# ---- drift


def drifts(detector, rates, rows_each=2000, seed=0):
    """At which rows a detector finds drift, and where it warns."""
    rng = np.random.default_rng(seed)
    found, warned = [], []
    for row in range(rows_each * len(rates)):
        detector.update(bool(rng.random() < rates[row // rows_each]))
        found += [row] * detector.drift_detected
        warned += [row] * detector.warning_detected
    return found, warned


def test_drift_is_found_once_and_soon():
    detector = HoeffdingErrorDrift()
    found, warned = drifts(detector, [0.1, 0.3])
    assert len(found) == detector.n_detections == 1
    assert 2000 < found[0] < 2250
    assert warned[0] < found[0]


def test_errors_that_stay_or_become_rarer_are_no_drift():
    assert drifts(HoeffdingErrorDrift(), [0.4, 0.1])[0] == []
    assert sum(len(drifts(HoeffdingErrorDrift(), [0.2], 20000, seed)[0]) for seed in range(3)) == 0


def test_the_detector_is_the_test_of_the_model():
    from devfnn.model.drift import ErrorTrack

    errors = (np.random.default_rng(4).random(640) < 0.3).astype(np.int64)
    detector, track = HoeffdingErrorDrift(clock=64), ErrorTrack()
    for start in range(0, 640, 64):
        for error in errors[start : start + 64].tolist():
            detector.update(error)
        track.extend(errors[start : start + 64], 1e-4)
        assert detector.verdict == track.verdict(1e-4, 1e-3, True)


def test_the_detector_works_inside_river():
    from river import drift

    model = drift.DriftRetrainingClassifier(naive_bayes.GaussianNB(), HoeffdingErrorDrift())
    assert accuracy(model) > 0.8


# ---- labels that are asked for


def test_the_sampler_asks_and_keeps_its_budget_in_every_window():
    model = ConflictSampler(DEVFNNClassifier(), label_budget=0.2, budget_window=50, seed=0)
    asked = []
    for x, y in datasets.Phishing():
        _, wants_label = model.predict_one(x)
        asked.append(wants_label)
        if wants_label:
            model.learn_one(x, y)
    in_window = np.convolve(asked, np.ones(50), "valid")
    assert in_window.max() <= 10
    assert sum(asked) > 0.1 * len(asked)
    assert model.classifier.model.n_labels_used == sum(asked)


def test_the_sampler_works_in_evaluation_also_with_late_labels():
    for settings in ({}, {"delay": 50}):
        model = ConflictSampler(DEVFNNClassifier(), label_budget=0.3, seed=0)
        assert isinstance(model, active.base.ActiveLearningClassifier)
        assert accuracy(model, **settings) > 0.8
        assert 0 < model.classifier.model.n_rows < 400


def test_the_sampler_takes_other_models_and_pipelines():
    scaled = preprocessing.StandardScaler() | DEVFNNClassifier()
    for classifier in (naive_bayes.GaussianNB(), scaled):
        assert accuracy(ConflictSampler(classifier, conflict_threshold=0.8, seed=0)) > 0.7
    core = scaled["DEVFNNClassifier"].model
    assert 0 < core.n_labels_used == core.n_rows < 1000  # what was asked for is learned


# ---- speed


def test_rows_one_by_one_are_fast():
    data = list(datasets.Phishing())
    rates = {}
    for name, model in {"ours": DEVFNNClassifier(), "theirs": naive_bayes.GaussianNB()}.items():
        model.learn_one(*data[0])
        best = 0.0
        for _ in range(3):
            start = time.process_time()
            for x, y in data:
                model.predict_one(x)
                model.learn_one(x, y)
            best = max(best, len(data) / (time.process_time() - start))
        rates[name] = best
    assert rates["ours"] > 3.0 * rates["theirs"]  # which has about 7,000 pairs/s: 20,000
