"""Rules as objects and text: exact units, the rule's own word, what a reader sees."""

import dataclasses
import itertools
import json

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.formatting import about, alike, share
from devfnn.kernels.state import ACTIVE, ARCHIVED
from devfnn.model.description import NO_SAY
from devfnn.model.gclass import GClass
from devfnn.model.rules import MOST_CLASSES, MOST_INPUTS, Rule
from scenes import (
    BOX_LAYER,
    BRISK_LINE,
    CALM_CURVE,
    CLOUD_LAYER,
    EAGER,
    FIRST_KEPT,
    QUICK_LINE,
    STEADY_LINE,
    change,
    config_of,
    each_network,
    flipped,
    run,
    sloped,
    stacked,
    swift,
)


def units_of(X):
    """The same rows in other units, of very different sizes."""
    return X * np.array([1000.0, 0.02, 7.0]) + np.array([-5000.0, 1.0, 0.0])


def single_rule_model(**changes):
    """A network of one layer with one rule, on rows in odd units."""
    X, y = sloped(5)
    X = X if changes.get("scaling") == "none" else units_of(X)
    model = GClass(stacked(gaussian__growing=False, **changes), feature_names=["a", "b", "c"])
    run(model, X, np.where(y, "high", "low"))
    return model


def grown_model(**changes):
    """A stacked network of several layers and rules."""
    X, y = flipped(40)
    model = DEVFNN(stacked(**(EAGER | {"merging": None} | changes)))
    run(model, units_of(X), y)
    assert model.n_live_layers > 2
    return model


def rival_model(**changes):
    """A default network of several layers, boxes and clouds, one of them kept for later."""
    X, y = flipped(40)
    stripes = (4.0 * X[:, 2]).astype(int) % 2
    model = DEVFNN(swift(voting__power=0.01, **changes))
    run(model, units_of(X), np.where(np.arange(len(y)) < len(y) // 2, stripes, 1 - stripes))
    assert model.n_live_layers > FIRST_KEPT
    return model


GROWN = {"stacked": grown_model, "swift": rival_model}
each_grown = pytest.mark.parametrize("grown", GROWN)


def plain_rule(**changes):
    """A rule of two features."""
    rule = Rule(
        layer=0,
        rule=2,
        inputs=("voltage", "current"),
        n_features=2,
        center=np.array([230.02, 5.21]),
        covariance=np.diag([3.08**2, 1.01**2]),
        probabilities={"high": 0.83, "low": 0.17},
        n_rows=1234.0,
        is_archived=False,
        voting_weight=1.0,
    )
    return dataclasses.replace(rule, **changes)


# ---- what a rule is


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"scaling": "none"},
        {"gaussian__consequent": "least_squares"},
    ],
    ids=str,
)
def test_a_rule_alone_says_at_its_centre_what_the_model_predicts_there(changes):
    model = single_rule_model(**changes)
    (rule,) = model.rules()
    expected = model.predict_proba_one(rule.center)
    assert rule.probabilities == pytest.approx(expected, abs=1e-9)
    assert 0.05 < rule.probabilities["high"] < 0.95


def test_a_centre_outside_its_range_is_clipped_as_rows_are():
    model = single_rule_model()
    model._network.state.gaussians.centers[0, 0, :3] = [1.4, 0.5, -0.7]
    (rule,) = model.rules()
    assert rule.probabilities == pytest.approx(model.predict_proba_one(rule.center), abs=1e-9)
    assert rule.center[0] > -5000.0 + 1.2 * 1000.0


def test_least_squares_without_any_positive_output_is_undecided():
    model = single_rule_model(gaussian__consequent="least_squares")
    model._network.state.gaussians.consequents[:] = 0.0
    assert model.rules()[0].probabilities == {"high": 0.5, "low": 0.5}


def test_centre_and_covariance_are_in_the_units_of_the_user():
    model = grown_model()
    layers, scaler = model._network.state.gaussians, model._network.scaler
    for rule in model.rules():
        n = rule.n_features
        scaled = layers.covs[rule.layer, rule.rule, :n, :n]
        expected = scaler.low + scaler.width * layers.centers[rule.layer, rule.rule, :n]
        np.testing.assert_allclose(rule.center[:n], expected, rtol=1e-12)
        ratio = rule.covariance[:n, :n] / np.outer(scaler.width, scaler.width)
        np.testing.assert_allclose(ratio, scaled, rtol=1e-12)


@each_network
def test_other_units_give_the_same_rules_in_those_units(network):
    X, y = sloped(10)
    plain, other = DEVFNN(config_of(network)), DEVFNN(config_of(network))
    run(plain, X, y)
    run(other, units_of(X), y)
    factors = units_of(np.ones(3)) - units_of(np.zeros(3))
    pairs = list(zip(plain.rules(), other.rules(), strict=True))
    assert len(pairs) >= 2
    for mine, yours in pairs:
        np.testing.assert_allclose(units_of(mine.center), yours.center, rtol=1e-6)
        np.testing.assert_allclose(
            mine.covariance * np.outer(factors, factors), yours.covariance, rtol=1e-6
        )
        assert mine.probabilities == pytest.approx(yours.probabilities, abs=1e-6)


def test_without_scaling_the_units_stay():
    model = single_rule_model(scaling="none")
    (rule,) = model.rules()
    np.testing.assert_array_equal(rule.center, model._network.state.gaussians.centers[0, 0, :3])
    np.testing.assert_array_equal(rule.ranges, [[0.0, 1.0]] * 3)


@each_network
def test_a_sleeping_feature_is_left_out(network):
    X, y = sloped(5)
    X[:, 1] = 7.0
    model = DEVFNN(config_of(network), feature_names=["a", "constant", "c"])
    run(model, X, y)
    for rule in model.rules():
        assert rule.inputs == ("a", "c")
        assert rule.n_features == 2
        assert rule.covariance.shape == (2, 2)
    row = np.array([rule.center[0], 123.0, rule.center[1]])
    assert np.isfinite(model.predict_proba_one(row)[0])


@each_network
def test_a_masked_feature_is_left_out(network):
    X, y = sloped(20)
    model = DEVFNN(config_of(network, feature_mask={}, feature_mask__threshold=0.8))
    run(model, X, y)
    used = tuple(f"x{place}" for place in np.flatnonzero(model.feature_mask))
    assert len(used) < 3
    assert {rule.inputs for rule in model.rules()} == {used}


@each_network
def test_before_the_first_map_a_rule_has_no_inputs(network):
    model = DEVFNN(config_of(network))
    model.learn([[1.0, 2.0]], ["only"])
    rule = model.rules()[0]
    assert (rule.inputs, rule.n_features, rule.covariance.shape) == ((), 0, (0, 0))
    assert rule.text().startswith("IF anything THEN only 1.00")


def test_inputs_from_earlier_layers_are_probabilities():
    model = grown_model(layers__inputs="all", growing__inputs="all")
    deepest = max(model.rules(), key=lambda rule: rule.layer)
    assert deepest.n_features == 3
    says = tuple(f"layer 0 says {label}" for label in model.classes)
    assert deepest.inputs[:5] == ("x0", "x1", "x2", *says)
    assert len(deepest.inputs) == 3 + 2 * deepest.layer
    np.testing.assert_array_equal(deepest.ranges[3:], [[0.0, 1.0]] * (len(deepest.inputs) - 3))
    text = deepest.text(most=None)
    assert " and layer 0 says 0 is about " in text
    assert "x2 is about " in text


# ---- which rules, in which order


def test_there_are_no_rules_before_learning():
    assert DEVFNN().rules() == []


@each_grown
def test_rules_are_ordered_by_the_vote_of_their_layer_and_then_by_support(grown):
    rules = GROWN[grown]().rules()
    keys = [(-rule.voting_weight, rule.layer, -rule.n_rows) for rule in rules]
    assert keys == sorted(keys)
    weights = {rule.layer: rule.voting_weight for rule in rules}
    assert len(weights) > 2
    assert sum(weights.values()) == pytest.approx(1.0, abs=NO_SAY)  # a layer that waits has less


def test_rules_of_merged_layers_are_left_out():
    model = grown_model()
    model._network.state.layers.is_merged[1] = True
    rules = model.rules()
    assert {rule.layer for rule in rules} == set(range(model.n_layers)) - {1}
    assert len(rules) == model.n_rules
    weights = {rule.layer: rule.voting_weight for rule in rules}
    assert sum(weights.values()) == pytest.approx(1.0)


def test_archived_rules_come_on_wish_and_last():
    model = grown_model()
    status = model._network.state.gaussians.status
    layer, slot = (int(place[0]) for place in np.nonzero(status == ACTIVE))
    n_before = len(model.rules())
    status[layer, slot] = ARCHIVED
    assert len(model.rules()) == n_before - 1
    rules = model.rules(archived=True)
    assert [rule.is_archived for rule in rules] == sorted(rule.is_archived for rule in rules)
    (own,) = (rule for rule in rules if (rule.layer, rule.rule) == (layer, slot))
    assert own.is_archived
    assert own.remark().endswith("rows, archived]")


def test_support_is_what_the_rule_has_won():
    model = single_rule_model(labels__choice="all")
    assert model.rules()[0].n_rows == 1000.0


@each_grown
def test_looking_at_rules_changes_nothing(grown):
    model = GROWN[grown]()
    before = model.__getstate__()
    for rule in model.rules(archived=True):
        rule.center[:] = 0.0
        rule.covariance[:] = 0.0
    assert model.__getstate__() == before


# ---- rules of the default


def test_lines_hold_everywhere_boxes_side_by_side_and_clouds_around_a_place():
    rules = rival_model().rules()
    by_layer = {
        layer: [rule for rule in rules if rule.layer == layer] for layer in range(FIRST_KEPT)
    }
    for layer in (QUICK_LINE, BRISK_LINE, STEADY_LINE, CALM_CURVE):
        (line,) = by_layer[layer]
        assert line.text().startswith("IF anything THEN ")
    boxes = by_layer[BOX_LAYER]
    assert len(boxes) > 1
    for rule in boxes:
        low, high = rule.bounds[:, 0], rule.bounds[:, 1]
        assert (low < high).all()
        assert " ≤ " in rule.text() or " > " in rule.text()
    for first, second in itertools.combinations(boxes, 2):
        apart = (first.bounds[:, 1] <= second.bounds[:, 0]) | (
            second.bounds[:, 1] <= first.bounds[:, 0]
        )
        assert apart.any()
    for rule in by_layer[CLOUD_LAYER]:
        assert rule.bounds is None and " is about " in rule.text()
        assert sorted(rule.probabilities.values()) == [0.0, 1.0]


def ringed_model(**changes):
    """A default network on a ring, which only curves can tell."""
    X, _ = sloped(20)
    y = np.abs(X[:, 0] - 0.5) < 0.25
    model = DEVFNN(swift(**changes), ["a", "b", "c"])
    run(model, units_of(X), np.where(y, "inside", "outside"))
    return model


def test_the_calm_curve_is_one_rule_for_all_rows_that_says_what_its_layer_says_there():
    model = ringed_model()
    (rule,) = (rule for rule in model.rules() if rule.layer == CALM_CURVE)
    network = model._network
    said = network.forward(network.inputs_of(rule.center[None]))[0][0, CALM_CURVE]
    assert [rule.probabilities[label] for label in model.classes] == pytest.approx(said.tolist())
    assert rule.label == "inside"
    assert np.isinf(rule.bounds).all() and not rule.is_archived
    assert rule.voting_weight == model.voting_weights[CALM_CURVE] > 0.0
    assert rule.n_rows == pytest.approx(model.n_labels_used)
    lows, highs = units_of(np.zeros((1, 3))), units_of(np.ones((1, 3)))
    assert (lows < rule.center).all() and (rule.center < highs).all()
    text = rule.text()
    assert text.startswith("IF anything THEN inside ")
    where = f"[layer {CALM_CURVE}, rule {rule.rule}, {rule.n_rows:,.0f} rows]"
    assert rule.remark() == where
    assert through_json(rule).text() == text


def test_a_box_says_between_which_values_it_holds():
    bounds, ranges = np.array([[230.02, np.inf], [1.0, 5.5]]), np.array([[200, 260], [0, 10]])
    text = plain_rule(bounds=bounds, ranges=ranges).text()
    assert text.startswith("IF voltage > 230 and 1 < current ≤ 5.5 THEN high 0.83")
    data = plain_rule(bounds=bounds).to_dict()
    assert data["bounds"] == [[230.02, None], [1.0, 5.5]]
    assert through_json(plain_rule(bounds=bounds)).bounds.tolist() == bounds.tolist()


def test_rules_of_a_kept_layer_come_only_if_it_has_a_say_or_on_wish():
    model = rival_model()
    state = model._network.state
    (kept,) = (
        layer
        for layer in range(FIRST_KEPT, state.layers.kinds.size)
        if state.layers.kinds[layer] >= 0
    )
    own = int(state.pool.n_members[kept])
    state.layers.scores[kept] = 0.9  # the best there is
    assert sum(rule.layer == kept and not rule.is_archived for rule in model.rules()) == own
    state.layers.scores[kept] = 0.0
    change(model, voting__power=100.0)
    assert not any(rule.layer == kept for rule in model.rules())
    waiting = [rule for rule in model.rules(archived=True) if rule.layer == kept]
    assert len(waiting) == own and all(rule.is_archived for rule in waiting)


# ---- text


def test_a_rule_reads_as_a_sentence():
    assert plain_rule().text() == (
        "IF voltage is about 230.0 (226.9-233.1) and current is about 5.2 (4.2-6.2) "
        "THEN high 0.83, low 0.17"
    )
    assert plain_rule().remark() == "[layer 0, rule 2, 1,234 rows]"
    assert plain_rule().label == "high"


def test_labels_that_are_no_texts_are_called_classes():
    rule = plain_rule(probabilities={0: 0.25, 1: 0.75}, n_rows=1.0)
    assert rule.text().endswith("THEN class 1 0.75, class 0 0.25")
    assert rule.remark() == "[layer 0, rule 2, 1 row]"


def wide_rule(n_inputs):
    """A rule whose last input is the most specific, by its range."""
    places = np.arange(n_inputs)
    ranges = np.stack([np.zeros(n_inputs), 1.0 + 10.0 * places], axis=1)
    return plain_rule(
        inputs=tuple(f"f{place}" for place in places),
        n_features=n_inputs,
        center=np.zeros(n_inputs),
        covariance=np.eye(n_inputs),
        ranges=ranges,
    )


def test_of_many_inputs_the_most_specific_are_named_and_the_rest_counted():
    text = wide_rule(MOST_INPUTS + 5).text()
    names = [part.removeprefix("IF ").split()[0] for part in text.split(" and ")]
    assert names[:-1] == [f"f{place}" for place in range(12, 12 - MOST_INPUTS, -1)]
    assert " and 5 more THEN " in text


def test_all_inputs_can_be_named_in_their_order():
    for rule, most in ((wide_rule(MOST_INPUTS), MOST_INPUTS), (wide_rule(30), None)):
        text = rule.text(most)
        places = [text.index(f"{name} is ") for name in rule.inputs]
        assert places == sorted(places)
        assert "more" not in text


def test_no_input_needs_to_be_named():
    assert wide_rule(3).text(most=0).startswith("IF 3 conditions hold THEN")


def test_of_many_classes_the_most_likely_are_named_and_the_rest_counted():
    shares = {f"c{place}": share for place, share in enumerate([0.05, 0.3, 0.1, 0.2, 0.31, 0.04])}
    text = plain_rule(probabilities=shares).text()
    assert text.endswith("THEN c4 0.31, c1 0.30, c3 0.20, c2 0.10, 2 others 0.09")
    assert len(shares) == MOST_CLASSES + 2
    one_more = dict.fromkeys("abcde", 0.2)
    assert "d 0.20, 1 other 0.20" in plain_rule(probabilities=one_more).text()


def test_names_are_given_as_they_are():
    assert "\x1b[2J [red] is about" in plain_rule(inputs=("\x1b[2J [red]", "b")).text()


@pytest.mark.parametrize(
    ("center", "spread", "shown"),
    [
        (230.04, 3.14, ("230", "3.1")),
        (0.001234, 0.000045, ("0.001234", "0.000045")),
        (-0.001, 0.5, ("0", "0.50")),
        (1e-12, 3e-13, ("1e-12", "3e-13")),
        (1.7e9, 12.0, ("1700000000", "12")),
        (12345678.9, 1234.0, ("1.23457e+07", "1.2e+03")),
        (1e90, 3e99, ("1e+90", "3e+99")),
        (5.0, 0.0, ("5", "0")),
        (float("inf"), 1.0, ("inf", "1")),
        (99999.0, 4567.0, ("100,000", "4,600")),
        (0.0, 1e-9, ("0", "1e-09")),
    ],
)
def test_numbers_have_the_digits_that_their_spread_allows(center, spread, shown):
    assert about(center, spread) == shown


@pytest.mark.parametrize(
    ("values", "spread", "shown"),
    [
        ((54.0, 48.0, 60.0), 6.0, ["54", "48", "60"]),
        ((54.0, 47.5, 60.5), 6.5, ["54.0", "47.5", "60.5"]),
        ((1.5e9, 1.4e9, 1.6e9), 1e8, ["1.5e+09", "1.4e+09", "1.6e+09"]),
        ((0.5, float("-inf"), 1.0), 0.5, ["0.50", "-inf", "1"]),
    ],
)
def test_the_ends_of_a_range_have_as_many_decimals(values, spread, shown):
    assert alike(values, spread) == shown


def test_shares_are_never_shown_as_none_or_all_unless_they_are():
    assert [share(value) for value in (0.0, 1e-9, 0.5, 1 - 1e-9, 1.0)] == [
        "0.00",
        "< 0.01",
        "0.50",
        "> 0.99",
        "1.00",
    ]


# ---- plain data


def through_json(rule):
    """The rule after it was written and read."""
    return Rule.from_dict(json.loads(json.dumps(rule.to_dict(), allow_nan=False)))


@each_grown
def test_rules_come_back_from_json_exactly(grown):
    rules = GROWN[grown]().rules(archived=True)
    for rule in rules:
        again = through_json(rule)
        assert again == rule
        np.testing.assert_array_equal(again.covariance, rule.covariance)
        np.testing.assert_array_equal(again.ranges, rule.ranges)
        assert again.text() == rule.text()
    assert rules[0] != rules[1]


def test_a_rule_without_inputs_or_ranges_comes_back():
    empty = plain_rule(inputs=(), n_features=0, center=np.zeros(0), covariance=np.zeros((0, 0)))
    assert through_json(empty).covariance.shape == (0, 0)
    assert through_json(plain_rule()).ranges is None
    data = plain_rule().to_dict()
    del data["ranges"]
    assert Rule.from_dict(data) == plain_rule()


@pytest.mark.parametrize(
    "labels",
    [
        ("a", "b"),
        (1, 2),
        (True, False),
        (0.5, float("inf")),
        (b"\x00", b"\xff"),
        ((1, ("x", b"y")), (2, ())),
        (1, "1"),
    ],
    ids=str,
)
def test_labels_keep_their_types(labels):
    rule = plain_rule(probabilities=dict(zip(labels, (0.25, 0.75), strict=True)))
    again = through_json(rule).probabilities
    assert again == rule.probabilities
    assert [type(label) for label in again] == [type(label) for label in labels]


def test_labels_of_numpy_become_plain():
    rule = plain_rule(probabilities={np.int64(3): 0.25, np.str_("x"): 0.75})
    assert [type(label) for label in through_json(rule).probabilities] == [int, str]


def test_other_labels_become_their_text():
    rule = plain_rule(probabilities={np.datetime64("2024-01-02"): 1.0})
    assert through_json(rule).probabilities == {"2024-01-02": 1.0}


def test_a_rule_is_no_key():
    with pytest.raises(TypeError):
        hash(plain_rule())
    assert plain_rule() != "rule"


@each_network
def test_classes_are_called_by_their_names(network, rng):
    X = rng.random((400, 2))
    model = DEVFNN(config_of(network))
    model.learn(X, (X[:, 0] > 0.5).astype(int))
    rules = model.rules(class_names={0: "low", 1: "high"})
    assert all(set(rule.probabilities) == {"low", "high"} for rule in rules)
    assert all("low" in rule.text() and "class" not in rule.text() for rule in rules)
