"""The classifiers for scikit-learn: its own checks, and the predictions of the core."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.validation import has_fit_parameter

from devfnn import DEVFNN, Config, GClass, InputError, presets
from devfnn.adapters.shared import flat_parameters
from devfnn.adapters.sklearn import DEVFNNClassifier, GClassClassifier

CLASSIFIERS = [
    DEVFNNClassifier(),
    DEVFNNClassifier(missing="skip"),
    DEVFNNClassifier(config=presets.stacked()),
    DEVFNNClassifier(config=presets.stacked(), missing="skip"),
    GClassClassifier(),
    GClassClassifier(missing="skip"),
]
IDS = ["default", "gaps", "stacked", "stacked with gaps", "gclass", "gclass with gaps"]
NAMES = ["low", "high", "middle"]


@pytest.fixture
def stream(rng):
    """Rows and labels; the classes do not come in the order of the alphabet."""
    X = rng.random((900, 3))
    labels = np.array(NAMES)[np.digitize(X[:, 0] + X[:, 1], [0.8, 1.2])]
    first = [np.flatnonzero(labels == name)[0] for name in NAMES]
    X, labels = np.vstack([X[first], X]), np.concatenate([NAMES, labels])
    return X, labels


def chunks(X, y, size=300):
    """The rows and labels in chunks."""
    return [(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=IDS)
def test_passes_all_checks_of_scikit_learn(classifier):
    results = estimator_checks.check_estimator(classifier, on_skip=None)
    assert len(results) > 50
    other = {each["check_name"] for each in results if each["status"] != "passed"}
    assert other <= {"check_array_api_input"}  # it asks for an environment variable


@pytest.mark.parametrize(
    ("kind", "config"), [(DEVFNNClassifier, Config()), (GClassClassifier, GClass().config)]
)
def test_the_signature_is_that_of_the_configuration(kind, config):
    found = inspect.signature(kind).parameters
    known = flat_parameters(config)
    assert list(found) == ["config", *known]
    values = {name: each.value for name, each in known.items()}
    assert {name: each.default for name, each in found.items()} == {"config": None} | values
    assert kind().get_params() == {"config": None} | values
    assert config.replace(**values) == config == kind()._new_model().config
    for name, each in known.items():
        assert f"{name} : default {each.value!r}\n        {each.meaning}" in kind.__doc__
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_boxs'"):
        kind(max_boxs=3)
    with pytest.raises(InputError, match=f"{kind.__name__} has no 'max_boxs'; there are config, "):
        kind().set_params(max_boxs=3)


def test_parameters_are_set_on_top_of_a_configuration():
    config = presets.paper("sea")
    classifier = DEVFNNClassifier(config=config, labels__budget=0.5)
    classifier = clone(classifier).set_params(drift__significance=0.3, missing="skip")
    expected = config.replace(labels__budget=0.5, drift__significance=0.3, missing="skip")
    assert classifier._new_model().config == expected
    assert get_tags(DEVFNNClassifier(config=expected)).input_tags.allow_nan
    with pytest.raises(InputError, match="the network has no clouds; add Layer"):
        classifier.set_params(clouds__max_rules=3)._new_model()
    with pytest.raises(InputError, match=r"config must be a devfnn\.Config, not 'paper'"):
        DEVFNNClassifier(config="paper")._new_model()


@pytest.mark.parametrize(
    ("classifier", "core"),
    [
        (DEVFNNClassifier(seed=3), DEVFNN(Config(seed=3))),
        (DEVFNNClassifier(config=presets.stacked()), DEVFNN(presets.stacked())),
        (DEVFNNClassifier(lags=2), DEVFNN(Config(lags=2))),
        (DEVFNNClassifier(class_weights="balanced"), DEVFNN(Config(class_weights="balanced"))),
        (
            clone(DEVFNNClassifier(class_weights={"low": 5})),
            DEVFNN(Config(class_weights={"low": 5.0})),
        ),
        (GClassClassifier(), GClass()),
    ],
    ids=["concepts", "stacked", "lags", "balanced", "weighted", "gclass"],
)
def test_every_chunk_is_predicted_as_by_the_core(classifier, core, stream):
    for number, (X, y) in enumerate(chunks(*stream)):
        if number:
            by_label = dict(zip(core.classes, core.predict_proba(X).T, strict=True))
            expected = np.transpose([by_label[name] for name in sorted(NAMES)])
            assert np.array_equal(classifier.predict_proba(X), expected)
            assert np.array_equal(classifier.predict(X), core.predict(X))
        classifier.partial_fit(X, y, classes=NAMES)
        core.learn(X, y)
    assert core.classes != sorted(NAMES) == classifier.classes_.tolist()


def test_fit_starts_anew_and_learns_in_chunks(stream):
    X, y = stream
    core = DEVFNN()
    for part in chunks(X, y, 200):
        core.learn(*part)
    classifier = DEVFNNClassifier(chunk_rows=200).fit(X[:, :2], y == "low").fit(X, y)
    assert np.array_equal(classifier.predict(X), core.predict(X))
    assert classifier.score(X, y) > 0.9


def test_weights_are_those_of_the_core(stream, rng):
    X, y = stream
    weights = rng.integers(0, 3, len(X))
    core = DEVFNN()
    core.learn(X, y, weights)
    classifier = DEVFNNClassifier().partial_fit(X, y, NAMES, sample_weight=pd.Series(weights))
    assert np.array_equal(classifier.predict(X), core.predict(X))
    assert classifier.model_.n_rows == np.count_nonzero(weights)


class Weighted(DEVFNNClassifier):
    """Lets scikit-learn's checks of weights, which call `fit`, reach `partial_fit`."""

    def fit(self, X, y, sample_weight=None):
        return self.partial_fit(X, y, np.unique(np.asarray(y)), sample_weight)


@pytest.mark.parametrize(
    "what", ["pandas_series", "not_an_array", "list", "shape", "not_overwritten"]
)
def test_weights_may_come_as_scikit_learn_has_them(what):
    getattr(estimator_checks, f"check_sample_weights_{what}")("Weighted", Weighted())


def test_only_zero_weights_teach_nothing(stream):
    X, y = stream
    classifier = DEVFNNClassifier().partial_fit(X, y, NAMES, np.zeros(len(X)))
    with pytest.raises(NotFittedError):
        classifier.predict(X)
    assert classifier.partial_fit(X, y).score(X, y) > 0.9


def test_a_class_to_come_has_no_probability_yet(stream):
    X, y = stream
    classifier = DEVFNNClassifier().partial_fit(X, y, [*NAMES, "huge"])
    assert classifier.classes_.tolist() == ["high", "huge", "low", "middle"]
    probabilities = classifier.predict_proba(X)
    assert not probabilities[:, 1].any()
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    scores = classifier.decision_function(X)
    assert np.isfinite(scores).all()
    assert np.array_equal(classifier.classes_[scores.argmax(axis=1)], classifier.predict(X))


def test_of_two_classes_the_decision_is_one_number(stream):
    X, y = stream
    classifier = DEVFNNClassifier().fit(X, y == "low")
    odds = classifier.predict_proba(X)[:, 1] / classifier.predict_proba(X)[:, 0]
    assert np.allclose(classifier.decision_function(X), np.log(odds))


def test_missing_values(stream):
    X, y = stream
    X[700, 2] = np.nan
    assert not get_tags(DEVFNNClassifier()).input_tags.allow_nan
    with pytest.raises(InputError, match='row 700, feature 2 is NaN; use missing="skip"'):
        DEVFNNClassifier().fit(X, y)
    classifier = DEVFNNClassifier(missing="skip")
    assert get_tags(classifier).input_tags.allow_nan
    assert classifier.fit(X, y).score(X, y) > 0.9


def test_names_reach_the_rules_through_a_pipeline(stream):
    X, y = pd.DataFrame(stream[0], columns=["a", "b", "c"]), stream[1]
    pipeline = make_pipeline(StandardScaler(), DEVFNNClassifier()).set_output(transform="pandas")
    classifier = pipeline.fit(X, y)[-1]
    assert classifier.feature_names_in_.tolist() == ["a", "b", "c"]
    assert classifier.model_.feature_names == ["a", "b", "c"]
    assert pipeline.score(X, y) > 0.9
    with pytest.raises(ValueError, match="same order"):
        classifier.predict(X[["b", "a", "c"]])


def test_the_best_of_a_grid_is_stored_with_its_numpy_numbers(stream, tmp_path):
    X, y = stream
    grid = {"boxes__max_rules": np.arange(1, 3), "drift__significance": [1e-4]}
    search = GridSearchCV(DEVFNNClassifier(), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.8
    search.best_estimator_.save(tmp_path / "model")
    loaded = DEVFNNClassifier.load(tmp_path / "model")
    assert loaded.boxes__max_rules == search.best_params_["boxes__max_rules"]
    assert loaded.config is None
    assert np.array_equal(loaded.predict(X), search.predict(X))


@pytest.mark.parametrize(
    "classifier",
    [
        DEVFNNClassifier(boxes__max_rules=7),
        DEVFNNClassifier(config=presets.stacked().replace(gaussian__max_rules=7)),
        GClassClassifier(gaussian__max_rules=7),
    ],
    ids=["default", "stacked", "gclass"],
)
def test_a_stored_classifier_goes_on(classifier, stream, tmp_path):
    (X, y), *rest = chunks(pd.DataFrame(stream[0], columns=["a", "b", "c"]), stream[1])
    kind, config = type(classifier), classifier._new_model().config
    original = classifier.partial_fit(X, y, [*NAMES, "huge"])
    original.save(tmp_path / "model")
    loaded = kind.load(tmp_path / "model", classes=[*NAMES, "huge"])
    for copy in (loaded, pickle.loads(pickle.dumps(original))):
        assert clone(copy)._new_model().config == config
        same = clone(copy).partial_fit(X, y, [*NAMES, "huge"])
        for part in rest:
            copy.partial_fit(*part)
            same.partial_fit(*part)
        assert np.array_equal(copy.predict_proba(X), same.predict_proba(X))
        assert copy.n_features_in_ == 3
        assert copy.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_model_without_names_is_loaded_without(stream, tmp_path):
    X, y = stream
    DEVFNNClassifier().fit(X, y).save(tmp_path / "model")
    assert not hasattr(DEVFNNClassifier.load(tmp_path / "model"), "feature_names_in_")
    with pytest.raises(InputError, match="'middle' is not among the classes"):
        DEVFNNClassifier.load(tmp_path / "model", classes=["high", "low"])
    DEVFNN().save(tmp_path / "model")
    with pytest.raises(NotFittedError):
        DEVFNNClassifier.load(tmp_path / "model").save(tmp_path / "copy")


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda model, X, y: clone(model).partial_fit(X, y), "classes must be passed"),
        (lambda model, X, y: clone(model).partial_fit(X, y, NAMES[:2]), "name all classes"),
        (lambda model, X, y: model.partial_fit(X, y, NAMES[:2]), "leave them out"),
        (lambda model, X, y: model.set_params(seed=5).partial_fit(X, y), "seed changed after"),
        (lambda model, X, y: clone(model).set_params(seed=-1).fit(X, y), "seed must be between"),
        (lambda model, X, y: model.fit(X[:, :2], X[:, 2]), "Unknown label type"),
        (lambda model, X, y: GClassClassifier(config=Config()).fit(X, y), "needs a gaussian layer"),
    ],
)
def test_what_is_refused_changes_nothing(act, message, stream):
    X, y = stream
    model = DEVFNNClassifier().fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=message):
        act(model, X, y)
    assert np.array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample_weight": [1.0]}, "1 weights for 903 rows"),
        ({"sample_weight": -1.0}, "weights must lie between"),
        ({"sample_weight": np.full(903, np.nan)}, "weights must lie between"),
        ({"sample_weight": "2"}, "weights must be numbers"),
        ({"classes": NAMES[:2]}, "name all classes"),
        ({"classes": None}, "classes must be passed"),
        ({"X": np.full((903, 3), np.nan)}, "is NaN"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_refused_first_chunk_leaves_nothing_behind(change, message, stream):
    X, y = stream
    classifier = DEVFNNClassifier()
    before = dict(vars(classifier))
    with pytest.raises(InputError, match=message):
        classifier.partial_fit(**({"X": X, "y": y, "classes": NAMES} | change))
    assert vars(classifier) == before
    classifier.partial_fit(X[:, :2], y == "low", classes=[False, True])  # other features and labels
    assert classifier.n_features_in_ == 2


def test_a_refused_chunk_changes_nothing(stream):
    X, y = stream
    classifier = DEVFNNClassifier().partial_fit(X, y, NAMES)
    before = pickle.dumps(classifier)
    for change in ({"sample_weight": -1.0}, {"X": X[:, :2]}, {"y": ["strange"] * len(y)}):
        with pytest.raises(ValueError, match=r"weights must|features|not among the classes"):
            classifier.partial_fit(**({"X": X, "y": y} | change))
    assert pickle.dumps(classifier) == before


def test_one_weight_may_be_for_all_rows(stream):
    X, y = stream
    same = DEVFNNClassifier().partial_fit(X, y, NAMES, np.full(len(X), 3.0))
    for weight in (3, 3.0, np.float32(3)):
        classifier = DEVFNNClassifier().partial_fit(X, y, NAMES, sample_weight=weight)
        assert np.array_equal(classifier.predict_proba(X), same.predict_proba(X))


def test_fit_takes_no_weights(stream):
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_weight'"):
        DEVFNNClassifier().fit(*stream, sample_weight=np.ones(len(stream[0])))
    assert not has_fit_parameter(DEVFNNClassifier(), "sample_weight")


def test_weights_and_repeated_rows_differ_for_a_learner_that_minds_the_order():
    # Why fit takes none: it would be a failure that is to be expected.
    with pytest.raises(AssertionError, match="sample_weight"):
        estimator_checks.check_sample_weight_equivalence_on_dense_data("Weighted", Weighted())


def test_explanations_have_the_names_of_its_user(stream):
    X, y = pd.DataFrame(stream[0], columns=["a", "b", "c"]), stream[1]
    classifier = DEVFNNClassifier().fit(X, y)
    why = classifier.explain(X[:1])
    assert why.features == ("a", "b", "c")
    assert why.label == classifier.predict(X[:1])[0]
    shares = dict(zip(why.labels, why.probabilities.tolist(), strict=True))
    expected = classifier.predict_proba(X[:1])[0]
    assert [shares[label] for label in classifier.classes_] == pytest.approx(expected, abs=1e-12)
    assert set(classifier.rules_[0].probabilities) == set(NAMES)
    assert set(classifier.rules_[0].inputs) <= {"a", "b", "c"}
    assert "middle" in classifier.describe()
    assert classifier.describe(terms=True) == classifier.model_.describe(terms=True)
    added = classifier.history().of_kind("ClassAdded")
    assert {event.label for event in added} == set(NAMES)
    with pytest.raises(InputError, match="one row is explained at a time, not 2"):
        classifier.explain(X[:2])
    unnamed = DEVFNNClassifier().fit(*stream)
    assert unnamed.explain(stream[0][0]).text() == unnamed.explain(stream[0][:1]).text()


def test_before_learning_there_is_nothing_to_explain(stream):
    classifier = DEVFNNClassifier()
    for explain in (
        lambda: classifier.rules_,
        lambda: classifier.explain(stream[0][0]),
        classifier.describe,
        classifier.history,
    ):
        with pytest.raises(NotFittedError):
            explain()
