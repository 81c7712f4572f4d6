"""DEVFNN inside CapyMOA: next to MOA's learners, and the same results as the model itself."""

import math
import pickle
import types

import numpy as np
import pytest
from matplotlib import pyplot

from devfnn import DEVFNN as Core
from devfnn import Config, InputError, NotLearnedError

pytest.importorskip("devfnn.adapters.capymoa", exc_type=ImportError)

from capymoa.classifier import NaiveBayes
from capymoa.core import LabeledInstance
from capymoa.evaluation import (
    prequential_evaluation,
    prequential_evaluation_multiple_learners,
)
from capymoa.evaluation.visualization import plot_windowed_results
from capymoa.stream import NumpyStream, Schema
from capymoa.stream.drift import AbruptDrift, DriftStream
from capymoa.stream.generator import SEA

from devfnn.adapters.capymoa import DEVFNN

ROWS = 1200


@pytest.fixture
def stream():
    """A stream with a drift."""
    return DriftStream(stream=[SEA(function=1), AbruptDrift(ROWS // 2), SEA(function=3)])


def instances(stream, n_rows=ROWS):
    """The first instances of a stream."""
    stream.restart()
    return [stream.next_instance() for _ in range(n_rows)]


def test_predictions_are_those_of_the_core(stream):
    model = DEVFNN(stream.get_schema(), random_seed=7, growing__max_kept=2)
    result = prequential_evaluation(stream, model, max_instances=ROWS, window_size=200)
    assert result.accuracy() > 80.0
    rows = instances(stream)
    X = np.array([each.x for each in rows])
    core = Core(Config().replace(missing="skip", seed=7, growing__max_kept=2))
    core.learn_rows(X, [each.y_index for each in rows])
    by_class = core.predict_proba(X)[:, np.argsort(core.classes)]
    assert np.array_equal([model.predict_proba(each) for each in rows], by_class)


def test_it_runs_next_to_learners_of_moa(stream, tmp_path):
    schema = stream.get_schema()
    learners = {"ours": DEVFNN(schema), "theirs": NaiveBayes(schema)}
    results = prequential_evaluation_multiple_learners(
        stream, learners, max_instances=ROWS, window_size=200
    )
    assert results["ours"].accuracy() > 80.0
    assert results["theirs"].accuracy() > 60.0
    for result in results.values():
        assert result.windowed.accuracy()[-1] > 50.0
        assert len(result.metrics_per_window()) == ROWS // 200
    assert results["ours"].learner == "DEVFNN"
    plot_windowed_results(
        *results.values(), metric="accuracy", figure_path=f"{tmp_path}/", figure_name="windows"
    )
    pyplot.close("all")  # it leaves its figure open
    (figure,) = tmp_path.iterdir()
    assert figure.stat().st_size > 10_000


def test_nothing_is_said_before_learning_and_absent_classes_have_no_chance():
    schema = Schema.from_custom(["a", "b", "class"], "class", {"class": ["x", "y", "z"]}, "three")
    X = np.array([[0.0, 1.0], [1.0, np.nan]] * 20)
    rows = instances(NumpyStream(X, np.array([2, 0] * 20), target_type="categorical"), 40)
    model = DEVFNN(schema)
    assert model.predict(rows[0]) is None
    model.train(rows[0])
    assert len(model.predict_proba(rows[0])) == 3
    assert model.predict_proba(rows[0])[1] == 0.0


def test_a_model_goes_on_after_pickling(stream):
    rows = instances(stream, 300)
    model = DEVFNN(stream.get_schema(), clouds__max_rules=10, memory=None)
    for each in rows[:150]:
        model.train(each)
    other = pickle.loads(pickle.dumps(model))
    assert other.schema.is_compatible_with(model.schema)
    for each in rows[150:]:
        model.train(each)
        other.train(each)
    assert np.array_equal(model.predict_proba(rows[0]), other.predict_proba(rows[0]))
    again = DEVFNN.from_params(stream.get_schema(), other.get_params(), random_seed=3)
    assert again.model.config == model.model.config.replace(seed=3)


def test_what_it_cannot_learn_is_said():
    numeric = Schema.from_custom(["a", "b"], "b", None, "numbers")
    with pytest.raises(InputError, match="is a classifier"):
        DEVFNN(numeric)
    named = {"class": ["x", "y"], "colour": ["red", "blue"]}
    schema = Schema.from_custom(["colour", "a", "class"], "class", named, "colours")
    with pytest.warns(UserWarning, match="'colour' is nominal"):
        DEVFNN(schema)


def test_an_instance_without_a_label_is_not_learned():
    schema = Schema.from_custom(
        features=["a", "class"], target="class", categories={"class": ["x", "z"]}, name="s"
    )
    learner = DEVFNN(schema=schema)
    labelled = LabeledInstance.from_array(schema, np.array([0.2]), 1)
    for _ in range(3):
        learner.train(labelled)
    learner.train(types.SimpleNamespace(x=np.array([0.2]), y_index=-1))
    assert list(learner.model.classes) == [1]


@pytest.fixture
def learned():
    """A learner of named attributes and classes, and its instances."""
    schema = Schema.from_custom(
        ["heat", "class", "wind"], "class", {"class": ["dry", "rain", "snow"]}, "weather"
    )
    X = np.random.default_rng(0).random((600, 2))
    labels = np.where(X[:, 0] > 0.5, 0, 2)
    rows = [
        LabeledInstance.from_array(schema, x, label)
        for x, label in zip(X, labels.tolist(), strict=True)
    ]
    learner = DEVFNN(schema)
    for each in rows:
        learner.train(each)
    return learner, rows


def test_explanations_have_the_names_of_the_schema(learned):
    learner, rows = learned
    why = learner.explain(rows[0])
    assert why.features == ("heat", "wind")
    assert set(why.labels) == {"dry", "snow"}
    shares = dict(zip(why.labels, why.probabilities.tolist(), strict=True))
    expected = learner.predict_proba(rows[0]).tolist()
    assert [shares["dry"], 0.0, shares["snow"]] == pytest.approx(expected, abs=1e-12)
    assert next(iter(why.contributions())) == "heat"
    rules = learner.rules()
    assert set(rules[0].probabilities) == {"dry", "snow"}
    assert {"heat", "wind"} == {name for rule in rules if rule.n_features for name in rule.inputs}
    assert "snow" in learner.describe() and "heat" in learner.describe(terms=True)
    added = learner.history().of_kind("ClassAdded")
    assert {event.label for event in added} == {"dry", "snow"}
    assert len(learner.history()) == len(learner.model.history())


def test_before_learning_there_is_nothing_to_explain():
    learner = DEVFNN(SEA().get_schema())
    assert learner.rules() == [] and len(learner.history()) == 0
    assert learner.describe() == "The model has not learned anything yet."
    with pytest.raises(NotLearnedError):
        learner.explain(SEA().next_instance())


@pytest.mark.parametrize(
    ("x", "index", "message"),
    [
        ([0.5, math.inf], 0, "row 0, feature 1 is infinite"),
        ([0.5], 0, "rows have 1 features, the model knows 2"),
        ([0.5, 0.5], 3, r"class 3 is not in the schema, which has \['dry', 'rain', 'snow'\]"),
    ],
)
def test_what_is_refused_changes_nothing(learned, x, index, message):
    learner, _ = learned
    before = learner.model.__getstate__()
    with pytest.raises(InputError, match=message):
        learner.train(types.SimpleNamespace(x=np.array(x), y_index=index))
    assert learner.model.__getstate__() == before


@pytest.mark.parametrize("instance", [None, np.zeros(3), [1.0]])
def test_what_is_no_instance_is_refused(stream, instance):
    model = DEVFNN(stream.get_schema())
    model.train(stream.next_instance())
    for call in (model.train, model.predict, model.predict_proba, model.explain):
        with pytest.raises(InputError, match="an instance of a stream of CapyMOA is needed, not"):
            call(instance)
    assert model.model.n_rows == 1
