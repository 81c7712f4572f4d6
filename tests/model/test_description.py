"""A whole model in words, as a table, and as plain data."""

import collections
import dataclasses
import json
import re

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.events import Event, LayerDropped, RulePruned
from devfnn.formatting import label_from_json
from devfnn.model.description import MOST_MERGERS, leaning, mergers_in, table_of
from devfnn.model.explanation import plain
from devfnn.model.history import Logbook
from devfnn.model.mechanisms.merging import merge_layers
from devfnn.model.rules import TERMS, Rule
from scenes import (
    BOX_LAYER,
    CLOUD_LAYER,
    EAGER,
    FIRST_KEPT,
    STEADY_LINE,
    config_of,
    each_network,
    eventful,
    flipped,
    keep_copy,
    run,
    stack_of,
    stacked,
    swift,
)

LABELS = (1, "1", 2.5, float("inf"), b"\x00", (True, "x"))


def plain_rule(**changes):
    """A rule of two features."""
    rule = Rule(
        layer=1,
        rule=2,
        inputs=("temperature", "layer 0 says rain"),
        n_features=1,
        center=np.array([54.0, 0.9]),
        covariance=np.diag([36.0, 0.04]),
        probabilities={"rain": 0.81, "dry": 0.19},
        n_rows=1234.0,
        is_archived=False,
        voting_weight=1.0,
        ranges=np.array([[40.0, 100.0], [0.0, 1.0]]),
    )
    return dataclasses.replace(rule, **changes)


def box(low, high, center=50.0):
    """A box on a single feature that goes from 0 to 90."""
    return plain_rule(
        inputs=("x",),
        n_features=1,
        center=np.array([center]),
        covariance=np.eye(1),
        ranges=np.array([[0.0, 90.0]]),
        bounds=np.array([[low, high]]),
    )


def learned(network):
    """A network with several rules, on features with names."""
    X, y = flipped(40)
    names = ["temperature", "wind", "dust in µg"]
    config = swift(voting__power=0.01)
    if network == "stacked":
        changes = {"layers": stack_of(2, inputs="all"), "growing__inputs": "all"}
        config = stacked(**EAGER, **changes, merging=None, training="all")
    model = DEVFNN(config, feature_names=names)
    stripes = (4.0 * X[:, 2]).astype(int) % 2
    run(model, X, y if network == "stacked" else stripes)
    return model


# ---- one rule


def test_a_rule_is_a_sentence_and_what_other_layers_say_a_probability():
    assert plain_rule().text() == (
        "IF temperature is about 54 (48-60) and layer 0 says rain is about 0.90 (0.70-1.00) "
        "THEN rain 0.81, dry 0.19"
    )


def test_terms_are_thirds_of_the_known_range():
    said = plain_rule().text(terms=True)
    assert said == "IF temperature is low and layer 0 says rain is high THEN rain 0.81, dry 0.19"


@pytest.mark.parametrize(
    ("low", "high", "center", "expected"),
    [
        (-np.inf, 30.0, 10.0, ("low",)),
        (-np.inf, 50.0, 10.0, ("low", "medium")),
        (30.0, np.inf, 60.0, ("medium", "high")),
        (-np.inf, np.inf, 60.0, ()),
        (50.0, 55.0, 52.0, ("medium",)),
        (200.0, 300.0, 250.0, ("high",)),
        (-300.0, -200.0, -250.0, ("low",)),
    ],
)
def test_a_box_has_the_terms_that_it_holds(low, high, center, expected):
    assert box(low, high, center).terms_of(0) == expected


def test_a_box_that_bounds_nothing_has_no_condition():
    assert box(-np.inf, np.inf).text().startswith("IF anything THEN")
    assert box(-np.inf, np.inf).text(terms=True).startswith("IF anything THEN")
    assert box(10.0, 30.0).text().startswith("IF 10 < x ≤ 30 THEN")


def test_negative_ranges_are_not_written_with_a_dash():
    rule = plain_rule(center=np.array([-3.0, 0.5]))
    assert "temperature is about -3 (-9 to 3)" in rule.text()


def test_of_many_inputs_some_are_counted():
    n = 12
    rule = plain_rule(
        inputs=tuple(f"x{j}" for j in range(n)),
        n_features=n,
        center=np.full(n, 0.5),
        covariance=np.eye(n),
        ranges=np.tile([0.0, 1.0], (n, 1)),
    )
    assert " and 4 more THEN" in rule.text()


def alike_rule(**changes):
    """A rule whose inputs and classes differ only by what single words leave out."""
    names = ("a b", "a-b", "class", "a_b_2")
    return plain_rule(
        inputs=names,
        n_features=4,
        center=np.zeros(4),
        covariance=0.01 * np.eye(4),
        ranges=np.tile([0.0, 1.0], (4, 1)),
        probabilities={1: 0.9, "1": 0.1},
        **changes,
    )


def test_columns_of_labels_that_look_alike_are_two():
    table = table_of([alike_rule()])
    assert (table["probability of 1"], table["probability of '1'"]) == ([0.9], [0.1])


@each_network
def test_labels_that_look_alike_are_told_apart_as_inputs(network):
    X, y = flipped(5)
    changes = {"layers": stack_of(2, inputs="all")} if network == "stacked" else {}
    model = DEVFNN(config_of(network, lags=1, **changes))
    model.learn(X, [1 if each else "1" for each in y])
    why = model.explain(X[0])
    for layer in why.layers:
        assert len(set(layer.inputs)) == len(layer.inputs)
    assert {"label 1 back is 1", "label 1 back is '1'"} <= set(why.features)
    if network == "stacked":
        assert {"layer 0 says 1", "layer 0 says '1'"} <= set(why.layers[1].inputs)


def test_what_speaks_for_a_class_as_it_grows():
    rule = plain_rule(slopes=np.array([[1.5, -0.5], [0.0, 0.0]]))
    assert leaning(rule) == "; as they grow: temperature +2.0"
    assert leaning(plain_rule()) == ""


@each_network
def test_slopes_are_what_moving_a_feature_over_its_range_adds(network):
    X, _ = flipped(5)
    config = swift(boxes__splitting=False)
    if network == "stacked":
        config = config_of(network, layers=stack_of(1), gaussian__growing=False)
    model = DEVFNN(config.replace(scaling="none"))
    model.learn(X, (X[:, 0] > 0.5).astype(int))
    low, high = (model.explain([value, 0.5, 0.5]).layers[0] for value in (0.0, 1.0))
    (rule,) = [rule for rule in model.rules(archived=True) if rule.layer == 0]
    assert rule.slopes[0] == pytest.approx(high.output - low.output)


# ---- a whole model


@each_network
def test_every_rule_has_what_a_reader_asks_for(network):
    for rule in learned(network).rules(archived=True):
        is_cloud = network == "swift" and rule.layer == CLOUD_LAYER
        assert (rule.age is None) == is_cloud
        assert rule.firing_share is None or 0.0 <= rule.firing_share <= 1.0
        assert Rule.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule


def test_firing_shares_of_rival_layers_are_shares_of_their_rows():
    rules = learned("swift").rules(archived=True)
    for layer in (0, BOX_LAYER, CLOUD_LAYER):
        assert sum(r.firing_share for r in rules if r.layer == layer) == pytest.approx(1.0)


def test_clouds_fire_of_late_and_boxes_since_their_layer_began():
    X = np.random.default_rng(0).random((12000, 2))
    X[:, 0] = 0.5 * X[:, 0] + 0.5 * (np.arange(12000) >= 6000)
    model = DEVFNN(swift(growing=None, drift=None, merging=None, labels__choice="all"))
    run(model, X, (4.0 * X[:, 0]).astype(int) % 2)
    past = {BOX_LAYER: 0.0, CLOUD_LAYER: 0.0}
    for rule in model.rules(archived=True):
        if rule.layer in past and rule.center[0] < 0.5:
            past[rule.layer] += rule.firing_share
    assert past[BOX_LAYER] > 0.2
    assert past[CLOUD_LAYER] < 0.02


@each_network
def test_the_table_has_a_line_for_each_rule(network):
    model = learned(network)
    table, rules = model.rules_table(), model.rules()
    assert {len(column) for column in table.values()} == {len(rules)}
    assert table["support"] == [rule.n_rows for rule in rules]
    assert table["center of wind"][0] == pytest.approx(
        rules[0].center[rules[0].inputs.index("wind")]
    )
    assert json.loads(json.dumps(table, allow_nan=False)) == table
    if network == "stacked":
        shallow = [rule.layer for rule in rules].index(0)
        assert table["center of layer 0 says 1"][shallow] is None


@each_network
def test_a_description_names_layers_and_all_their_rules(network):
    model = learned(network)
    text = model.describe(class_names={0: "dry", 1: "rain"}, most=None)
    lines = text.splitlines()
    assert sum(line.startswith("  IF ") for line in lines) == len(model.rules(archived=True))
    assert sum(line.startswith("Layer ") for line in lines) == model.n_layers
    assert re.search(r"THEN rain \d\.\d\d, dry \d\.\d\d", text)
    assert "class 0" not in text
    if network == "stacked":
        assert "layer 0 says rain is about" in text


def test_a_description_counts_rules_that_it_does_not_name():
    model = learned("swift")
    every, few = (model.describe(most=most).splitlines() for most in (None, 2))
    sizes = collections.Counter(rule.layer for rule in model.rules(archived=True))
    larger = {layer: size for layer, size in sizes.items() if size > 2}
    assert larger and sorted(line for line in few if "more" in line) == sorted(
        f"  ... and {size - 2} more" for size in larger.values()
    )
    assert [line for line in few if "more" not in line] == [line for line in every if line in few]


@each_network
def test_a_description_in_terms_has_no_numbers_in_its_conditions(network):
    text = learned(network).describe(terms=True)
    conditions = re.findall(r"IF (.*) THEN", text)
    assert any("temperature is " in condition for condition in conditions)
    named = {name for each in conditions for name in re.findall(r" is ([a-z ]+?)(?: and|$)", each)}
    assert {term for name in named for term in name.split(" or ")} <= set(TERMS)


def test_before_learning_there_is_nothing_to_describe():
    model = DEVFNN()
    assert model.describe() == "The model has not learned anything yet."
    assert model.rules_table()["layer"] == []


def test_sleeping_features_are_said_to_be_so():
    X, y = flipped(5)
    X[:, 2] = 7.0
    model = DEVFNN()
    run(model, X, y)
    assert "Features left out (asleep: constant): x2" in model.describe()


# ---- what was merged


def test_a_stacked_layer_is_said_to_be_merged_into_which_and_when():
    X, y = flipped(40)
    model = DEVFNN(stacked(**EAGER, merging__threshold=0.9))
    run(model, X, y)
    merged = model.history().of_kind("LayersMerged")
    assert merged
    text = model.describe()
    for event in merged:
        said = f"rules: merged into layer {event.kept} at row {event.row:,}, says nothing"
        assert f"Layer {event.dropped}, {said}" in text
    assert "was merged into" not in text  # once is enough
    model._logbook = Logbook()  # as of a model that has forgotten it
    assert (
        f"Layer {merged[0].dropped}, rules: merged into another, says nothing" in model.describe()
    )


def test_a_kept_layer_that_says_the_same_is_said_to_be_merged():
    model = learned("swift")
    network, first, second = model._network, FIRST_KEPT, FIRST_KEPT + 1
    assert [keep_copy(model, STEADY_LINE) for _ in range(2)] == [first, second]
    network.state.layers.scores[[first, second]] = 0.9, 0.8
    network.state.layers.compared[first, second] = 1e6
    (event,) = merge_layers(network, np.empty((0, 0, 0)))
    model._logbook.note([event], event.row)
    said = f"Layer {second} was merged into layer {first} at row {event.row:,}"
    assert said in model.describe().splitlines()


def test_boxes_that_were_joined_are_said_to_be_merged():
    X = np.random.default_rng(0).random((20000, 1))
    y = (X[:, 0] * 4.0).astype(int) % 2
    model = DEVFNN(swift(boxes__join_evidence=1e9))
    events = run(model, X, y)
    joined = [event for event in events if event.kind == "RulePruned"]
    assert joined
    lines = [line for line in model.describe().splitlines() if " was merged into rule " in line]
    assert len(lines) == min(len(joined), MOST_MERGERS)
    last = joined[-1]
    start = f"Rule {last.rule} of layer {last.layer} was merged into rule "
    assert lines[-1].startswith(start)
    assert lines[-1].endswith(f" at row {last.row:,}")


def test_of_many_mergers_the_first_are_counted():
    model = learned("swift")
    events = [RulePruned(row, BOX_LAYER, 4, "difference", 0.1, 0.2, 9.0, 3) for row in range(13)]
    model._logbook = Logbook()
    model._logbook.note(events, 13)
    text = model.describe()
    assert "3 rules were merged before" in text
    assert text.count("Rule 4 of layer 5 was merged into rule 3 at row ") == MOST_MERGERS


def test_what_goes_for_other_reasons_was_not_merged():
    events = [
        RulePruned(5, 0, 4, "potential", 0.1, 0.2, 0.5, -1),
        LayerDropped(6, 9, "was not the best for too long", 100.0, 50.0, -1),
    ]
    assert list(mergers_in(events)) == []


# ---- plain data


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
    if network == "swift":
        assert any(None in pair for rule in data["rules"] for pair in rule["bounds"] or ())


def test_numbers_that_json_does_not_know_are_none():
    model = DEVFNN()
    model.learn([[0.0], [1.0]], [0, 1])
    model._logbook.note([RulePruned(1, 0, 0, "x", float("nan"), float("inf"), 0.5, -1)], 1)
    event = through_json(model)["history"]["events"][-1]
    assert (event["value"], event["limit"], event["utility"]) == (None, None, 0.5)
    assert plain((1, "inf", -float("inf"), None, True)) == [1, "inf", None, None, True]


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


def test_before_learning_plain_data_has_names_and_parameters():
    data = through_json(DEVFNN(feature_names=["a"]))
    assert data["features"] == [{"name": "a", "low": None, "high": None, "state": "in use"}]
    assert (data["classes"], data["layers"], data["rules"], data["rows"]) == ([], [], [], 0)
