"""Rules in words: sentences, terms, tables, and the grammar of simpful."""

import dataclasses
import json
import re

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.kernels.concept_state import BOX_LAYER, CLOUD_LAYER
from devfnn.model.describing import TERMS, in_simpful, leaning, sentence, terms_of, word
from devfnn.model.rules import Rule
from scenes import EAGER, config_of, each_network, flipped, run, stacked


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
    if network == "stacked":
        config = stacked(**EAGER, merging=False, augmentation="all", training="all")
    else:
        config = config_of(network, vote_power=0.01)
    model = DEVFNN(config, feature_names=names)
    stripes = (4.0 * X[:, 2]).astype(int) % 2
    run(model, X, y if network == "stacked" else stripes)
    return model


# ---- one rule


def test_a_rule_is_a_sentence_with_the_narrowest_input_first():
    assert sentence(plain_rule()) == (
        "IF temperature is about 54 (48-60) and layer 0 says rain is about 0.90 (0.70-1) "
        "THEN rain 0.81, dry 0.19"
    )


def test_terms_are_thirds_of_the_known_range():
    said = sentence(plain_rule(), terms=True)
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
    assert terms_of(box(low, high, center), 0) == expected


def test_a_box_that_bounds_nothing_has_no_condition():
    assert sentence(box(-np.inf, np.inf)).startswith("IF anything THEN")
    assert sentence(box(-np.inf, np.inf), terms=True).startswith("IF anything THEN")
    assert sentence(box(10.0, 30.0)).startswith("IF 10 < x ≤ 30 THEN")
    assert in_simpful(box(-np.inf, np.inf)) == ""


def test_negative_ranges_are_not_written_with_a_dash():
    rule = plain_rule(center=np.array([-3.0, 0.5]))
    assert "temperature is about -3 (-9.0 to 3)" in sentence(rule).replace("-9 ", "-9.0 ")


def test_of_many_inputs_some_are_counted():
    n = 12
    rule = plain_rule(
        inputs=tuple(f"x{j}" for j in range(n)),
        n_features=n,
        center=np.full(n, 0.5),
        covariance=np.eye(n),
        ranges=np.tile([0.0, 1.0], (n, 1)),
    )
    assert " and 4 more THEN" in sentence(rule)


def test_simpful_takes_single_words():
    text = in_simpful(plain_rule())
    assert text == "IF (temperature IS low) AND (layer_0_says_rain IS high) THEN (class IS rain)"
    assert word("dust in µg") == "dust_in_g"
    assert in_simpful(box(-np.inf, 50.0)) == "IF ((x IS low) OR (x IS medium)) THEN (class IS rain)"


def test_what_speaks_for_a_class_as_it_grows():
    rule = plain_rule(slopes=np.array([[1.5, -0.5], [0.0, 0.0]]))
    assert leaning(rule) == "; as they grow: temperature +2.0"
    assert leaning(plain_rule()) == ""


@each_network
def test_slopes_are_what_moving_a_feature_over_its_range_adds(network):
    X, _ = flipped(5)
    config = config_of(network, initial_layers=1, rule_growing=False, max_clouds=0)
    model = DEVFNN(config.replace(scaling="none"))
    model.learn(X, (X[:, 0] > 0.5).astype(int))
    low, high = (model.explain([value, 0.5, 0.5]).layers[0] for value in (0.0, 1.0))
    (rule,) = [rule for rule in model.rules(archived=True) if rule.layer == 0]
    assert rule.slopes[0] == pytest.approx(high.output - low.output)


# ---- a whole model


@each_network
def test_every_rule_has_what_a_reader_asks_for(network):
    for rule in learned(network).rules(archived=True):
        is_cloud = network == "concepts" and rule.layer == CLOUD_LAYER
        assert (rule.age is None) == is_cloud
        assert rule.firing_share is None or 0.0 <= rule.firing_share <= 1.0
        assert Rule.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule


def test_firing_shares_of_rival_layers_are_shares_of_their_rows():
    rules = learned("concepts").rules(archived=True)
    for layer in (0, BOX_LAYER, CLOUD_LAYER):
        assert sum(r.firing_share for r in rules if r.layer == layer) == pytest.approx(1.0)


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
    text = model.describe(class_names={0: "dry", 1: "rain"})
    lines = text.splitlines()
    assert sum(line.startswith("  IF ") for line in lines) == len(model.rules(archived=True))
    assert sum(line.startswith("Layer ") for line in lines) == model.n_layers
    assert re.search(r"THEN rain \d\.\d\d, dry \d\.\d\d", text)
    assert "class 0" not in text
    if network == "stacked":
        assert "layer 0 says rain is about" in text


@each_network
def test_a_description_in_terms_has_no_numbers_in_its_conditions(network):
    text = learned(network).describe(terms=True)
    conditions = re.findall(r"IF (.*) THEN", text)
    assert any("temperature is " in condition for condition in conditions)
    named = {name for each in conditions for name in re.findall(r" is ([a-z ]+?)(?: and|$)", each)}
    assert {term for name in named for term in name.split(" or ")} <= set(TERMS)


@each_network
def test_rules_for_simpful_have_balanced_brackets_and_single_words(network):
    rules = learned(network).simpful_rules(class_names={0: "dry", 1: "heavy rain"})
    assert rules
    for rule in rules:
        assert rule.count("(") == rule.count(")")
        assert re.fullmatch(r"IF .+ THEN \(class IS (dry|heavy_rain)\)", rule)
        assert all(
            re.fullmatch(r"\w+ IS \w+", clause) for clause in re.findall(r"\(([^()]+)\)", rule)
        )


def test_before_learning_there_is_nothing_to_describe():
    model = DEVFNN()
    assert model.describe() == "The model has not learned anything yet."
    assert model.rules_table()["layer"] == []
    assert model.simpful_rules() == []


def test_sleeping_features_are_said_to_be_so():
    X, y = flipped(5)
    X[:, 2] = 7.0
    model = DEVFNN()
    run(model, X, y)
    assert "Features left out (asleep: constant): x2" in model.describe()
