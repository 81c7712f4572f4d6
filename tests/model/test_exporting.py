"""A whole model as plain data."""

import json

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.events import Event, RulePruned
from devfnn.model.description import finite
from devfnn.formatting import label_from_json
from devfnn.model.rules import Rule
from scenes import EAGER, config_of, each_network, eventful, flipped, run, stacked

LABELS = (1, "1", 2.5, float("inf"), b"\x00", (True, "x"))


def through_json(model, **options):
    """What JSON makes of a model."""
    return json.loads(json.dumps(model.to_dict(**options), allow_nan=False))


@each_network
def test_it_has_everything_that_there_is_to_tell(network):
    X, y = eventful(2000)
    model = DEVFNN(config_of(network))
    events = run(model, X, np.array(y))
    data = through_json(model)
    assert data["class"] == "DEVFNN"
    assert data["config"] == model.config.to_dict()
    assert data["classes"] == model.classes
    assert [feature["name"] for feature in data["features"]] == model.feature_names
    used = [feature["state"] == "in use" for feature in data["features"]]
    assert used == model.feature_mask.tolist()
    assert (data["rows"], data["labels_used"]) == (2000, model.n_labels_used)
    assert (data["parameters"], data["bytes"]) == (model.n_parameters, model.nbytes)
    assert [Rule.from_dict(rule) for rule in data["rules"]] == model.rules(archived=True)
    told = [
        {name: e[name] for name in e if name != "explanation"} for e in data["history"]["events"]
    ]
    assert [Event.from_dict(event) for event in told] == events
    assert data["history"]["events"][0]["explanation"] == events[0].explanation


@each_network
def test_layers_are_told_as_explanations_tell_them(network):
    X, y = flipped(20)
    model = DEVFNN(config_of(network))
    run(model, X, y)
    layers, reasons = through_json(model)["layers"], model.explain(X[0]).layers
    assert [layer["layer"] for layer in layers] == [each.layer for each in reasons]
    assert [layer["kind"] for layer in layers] == [each.kind for each in reasons]
    assert [layer["state"] for layer in layers] == [each.state for each in reasons]
    votes = [each.voting_weight for each in reasons]
    assert [layer["vote"] for layer in layers] == pytest.approx(votes)


@each_network
def test_ranges_are_those_of_the_scaler(network):
    X, y = flipped(5)
    model = DEVFNN(config_of(network))
    run(model, 10.0 * X, y)
    scaler = model._network.scaler
    ends = [(feature["low"], feature["high"]) for feature in through_json(model)["features"]]
    assert ends == list(zip(scaler.low, scaler.low + scaler.width, strict=True))


@each_network
def test_missing_values_and_labels_of_all_types_are_no_hindrance(network):
    rng = np.random.default_rng(0)
    X = rng.random((3000, 3))
    y = [LABELS[int(place)] for place in 6.0 * X[:, 0]]
    X[rng.random(X.shape) < 0.2] = np.nan
    model = DEVFNN(config_of(network, missing="skip"))
    for start in range(0, 3000, 200):
        model.learn(X[start : start + 200], y[start : start + 200])
    data = through_json(model)
    classes = [label_from_json(label) for label in data["classes"]]
    assert classes == model.classes
    assert [type(label) for label in classes] == [type(label) for label in model.classes]
    assert [Rule.from_dict(rule) for rule in data["rules"]] == model.rules(archived=True)
    if network == "default":
        assert any(None in pair for rule in data["rules"] for pair in rule["bounds"] or ())


def test_numbers_that_json_does_not_know_are_none():
    model = DEVFNN()
    model.learn([[0.0], [1.0]], [0, 1])
    model._logbook.note([RulePruned(1, 0, 0, "x", float("nan"), float("inf"), 0.5)], 1)
    event = through_json(model)["history"]["events"][-1]
    assert (event["value"], event["limit"], event["utility"]) == (None, None, 0.5)
    assert finite((1, "inf", -float("inf"), None, True)) == [1, "inf", None, None, True]


def test_archived_rules_and_merged_layers_are_said_to_be_so():
    X, y = flipped(40)
    model = DEVFNN(stacked(**EAGER, merging__threshold=0.9))
    run(model, X, y)
    model._network.state.gaussians.status[-1, 0] = 2
    data = through_json(model)
    states = [layer["state"] for layer in data["layers"]]
    assert [layer["is_merged"] for layer in data["layers"]] == [each == "merged" for each in states]
    assert "merged" in states
    assert sum(rule["is_archived"] for rule in data["rules"]) >= 1
    assert not any(rule["is_archived"] for rule in through_json(model, archived=False)["rules"])


def test_classes_are_called_by_their_names():
    X, y = flipped(5)
    model = DEVFNN()
    run(model, X, y)
    data = through_json(model, class_names={0: "dry", 1: "rain"})
    assert set(data["classes"]) == {"dry", "rain"}
    assert {label for rule in data["rules"] for label, _ in rule["probabilities"]} == {
        "dry",
        "rain",
    }


def test_before_learning_there_are_names_and_parameters():
    data = through_json(DEVFNN(feature_names=["a"]))
    assert data["features"] == [{"name": "a", "low": None, "high": None, "state": "in use"}]
    assert (data["classes"], data["layers"], data["rules"], data["rows"]) == ([], [], [], 0)
