"""Explanations: what they say adds up, and is what the model predicts."""

import copy
import functools
import json
import math
import re
import time

import numpy as np
import pytest

from devfnn import DEVFNN, GClass, presets
from devfnn.errors import InputError, NotLearnedError
from devfnn.model.config import Equal
from devfnn.model.explanation import (
    LOG_PROBABILITIES,
    LOGITS,
    MOST_TOLD,
    SCORES,
    within_reason,
)
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
    run,
    stack_of,
    stacked,
    swift,
)

EXACT = 1e-9


def outputs_of(model, X):
    """What the kernels say for the layers, (k, L, m)."""
    network = model._network
    return network.forward(network.inputs_of(X))[0]


def check(model, X):
    """Explanations of rows add up, say what the kernels say, and vote as the model does."""
    expected, outputs = model.predict_proba(X), outputs_of(model, X)
    for row, x in enumerate(X):
        why = model.explain(x)
        assert why.probabilities == pytest.approx(expected[row], abs=EXACT)
        assert why.label == model.classes[int(why.probabilities.argmax())]
        givers = [layer for layer in why.layers if layer.is_stacked] or why.layers
        voted = sum(layer.voting_weight * layer.votes for layer in givers)
        assert voted == pytest.approx(expected[row], abs=EXACT)
        assert sum(layer.voting_weight for layer in givers) == pytest.approx(1.0, abs=EXACT)
        for layer in why.layers:
            check_layer(layer, outputs[row, layer.layer], why)


def check_layer(layer, output, why):
    """One layer adds up to what its kernel says."""
    total = layer.bias + layer.contributions.sum(axis=0)
    assert total == pytest.approx(layer.output, abs=EXACT)
    assert layer.contributions.shape == (len(layer.inputs), len(why.labels))
    for place, state in enumerate(why.states):
        if state != "in use" and not layer.is_stacked:
            assert not layer.contributions[place].any()
    if layer.state in ("rests", "merged"):
        assert not layer.fired
        assert not layer.votes.any()
        assert layer.voting_weight == 0.0
        return
    if layer.output_is == SCORES:
        assert layer.output == pytest.approx(output, abs=EXACT)
    else:
        shares = np.exp(total - total.max())
        assert shares / shares.sum() == pytest.approx(output / output.sum(), abs=EXACT)
        assert layer.probabilities == pytest.approx(output / output.sum(), abs=EXACT)
    if layer.output_is == LOG_PROBABILITIES and layer.fired:
        assert np.exp(layer.output) == pytest.approx(output, abs=EXACT)


@functools.cache
def striped():
    """A default network of several layers, boxes and clouds, with kept layers; and its rows."""
    X, _ = flipped(40)
    stripes = (4.0 * X[:, 2]).astype(int) % 2
    y = np.where(np.arange(len(X)) < len(X) // 2, stripes, 1 - stripes)
    model = DEVFNN(swift(voting__power=0.01))
    run(model, X, y)
    assert model.n_live_layers > FIRST_KEPT
    return model, X


def striped_model():
    """A copy of that network."""
    model, X = striped()
    return copy.deepcopy(model), X


@functools.cache
def after_a_flip(config):
    """A network that has learned a flip, and the rows."""
    X, y = flipped(40)
    model = DEVFNN(config)
    run(model, X, y)
    return model, X


def grown_model(**changes):
    """A stacked network of several layers and rules."""
    model, X = after_a_flip(stacked(**(EAGER | {"merging": None} | changes)))
    return copy.deepcopy(model), X


# ---- what adds up


def test_rival_layers_with_boxes_clouds_and_kept_layers():
    model, X = striped_model()
    assert model._network.state.pool.n_members[BOX_LAYER] > 1
    assert model._network.state.clouds.count[0] > 1
    check(model, X[::40])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"gaussian__consequent": "least_squares"},
        {"voting__ballots": "hard"},
        {"layers": stack_of(2, inputs="all"), "growing__inputs": "all"},
        {"scaling": "none"},
        {"training": "all", "voting": Equal()},
    ],
    ids=str,
)
def test_stacked_layers(changes):
    model, X = grown_model(**changes)
    check(model, X[::160])


@each_network
@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
def test_a_stream_with_new_classes_wider_ranges_and_sleeping_features(network, verb):
    X, y = eventful(3000)
    model = DEVFNN(config_of(network))
    for start in range(0, 3000, 500):
        getattr(model, verb)(X[start : start + 500], y[start : start + 500])
        check(model, X[start : start + 500 : 50])
    assert len(model.classes) == 4


@each_network
def test_missing_features_contribute_nothing(network):
    rng = np.random.default_rng(5)
    X, y = flipped(20)
    X[rng.random(X.shape) < 0.3] = np.nan
    model = DEVFNN(config_of(network, missing="skip"))
    run(model, X, y)
    check(model, X[::40])
    why = model.explain([0.5, np.nan, 0.5])
    assert why.states == ("in use", "missing", "in use")
    assert why.to_dict()["values"] == [0.5, None, 0.5]
    assert "missing: x1" in why.text()
    check(model, np.full((1, 3), np.nan))


@each_network
def test_masked_features_are_said_to_be_so(network):
    X, y = flipped(20)
    model = DEVFNN(config_of(network, feature_mask={}))
    run(model, X, y)
    model._network.feature_mask[2] = False
    if network == "stacked":
        model._network.state.gaussians.input_mask[:, 2] = False
    check(model, X[::80])
    assert model.explain(X[0]).states[2] == "masked"
    assert "masked: x2" in model.explain(X[0]).text()
    assert "Features left out (masked): x2" in model.describe()


def test_merged_layers_say_nothing():
    model, X = grown_model()
    model._network.state.layers.is_merged[0] = True
    model._network.state.layers.is_merged[2] = True
    check(model, X[::200])
    assert [layer.state for layer in model.explain(X[0]).layers][:3] == [
        "merged",
        "votes",
        "merged",
    ]
    assert "layer 0 (rules) merged: it says nothing" in model.explain(X[0]).text()
    assert "Layer 0, rules: merged into another, says nothing" in model.describe()


def test_resting_clouds_say_nothing():
    model, X = striped_model()
    model._network.state.layers.rests[CLOUD_LAYER] = 3
    check(model, X[::200])
    assert model.explain(X[0]).layers[CLOUD_LAYER].state == "rests"
    assert "clouds: rests, says nothing for now" in model.describe()


@each_network
def test_lags_and_features_that_come_later(network):
    X, y = flipped(10)
    model = DEVFNN(config_of(network, lags=2, missing="skip"), feature_names=["a", "b", "c"])
    run(model, X, np.where(y, "up", "down"))
    model.add_features(["late"])
    wide = np.column_stack([X, X[:, 0]])
    run(model, wide, np.where(y, "up", "down"))
    why = model.explain(wide[0])
    assert why.probabilities == pytest.approx(model.predict_proba(wide[:1])[0], abs=EXACT)
    assert "label 1 back is up" in why.features
    assert why.features[-1] == "late"


def test_a_single_class():
    X, _ = flipped(2)
    model = DEVFNN(swift())
    model.learn(X, ["only"] * len(X))
    check(model, X[:5])
    assert model.explain(X[0]).probabilities.tolist() == pytest.approx([1.0])
    assert model.explain(X[0]).text()


def test_a_single_layer_of_rules():
    X, y = flipped(10)
    model = GClass()
    run(model, X, y)
    check(model, X[::100])


def rare_codes(n_rows):
    """Codes of which some are rare and far out, and columns that are nearly constant; 3 classes."""
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 6, n_rows).astype(float)
    colour[rng.random(n_rows) < 0.001] = 99.0
    flag = (rng.random(n_rows) < 0.0005).astype(float)
    amount = np.where(rng.random(n_rows) < 0.98, 0, rng.integers(1, 1000, n_rows))
    X = np.column_stack([colour, flag, amount, rng.integers(0, 20, n_rows)])
    y = ((colour > 2) ^ (X[:, 3] % 2 == 1)).astype(int)
    y[(flag == 1.0) | (colour == 99.0)] = 2
    return X, y


@pytest.mark.parametrize("preset", [presets.default(), presets.swift(), presets.stacked()])
def test_numbers_are_sane_where_codes_are_rare(preset):
    X, y = rare_codes(12_000)
    model, largest = DEVFNN(preset), 0.0
    rare = np.flatnonzero((X[:, 0] > 6) | (X[:, 1] > 0) | (X[:, 2] > 900))
    for start in range(0, len(X), 500):
        model.learn(X[start : start + 500], y[start : start + 500])
        if start % 4000 == 500:
            check(model, X[rare[::5]])
            for x in X[rare]:
                for layer in model.explain(x).layers:
                    said = np.vstack([layer.bias, layer.contributions])
                    largest = max(largest, float(np.ptp(said, axis=1).max()))
    assert 5.0 < largest <= 4.0 * MOST_TOLD


def test_log_odds_that_mean_something_are_told_as_they_are():
    bias, parts = np.array([1.0, -1.0]), np.array([[20.0, 2.0], [-3.0, 1.0]])
    assert within_reason(bias, parts) == (bias, parts)
    for wild in (parts * 100.0, np.array([[900.0, 0.0], [-899.0, 0.0]])):
        told, reasons = within_reason(bias, wild)
        output, shown = bias + wild.sum(axis=0), told + reasons.sum(axis=0)
        assert np.ptp(shown) == pytest.approx(min(np.ptp(output), MOST_TOLD))
        assert np.abs(reasons).sum(axis=0).max() <= MOST_TOLD + EXACT
        assert np.sign(reasons[:, 0] - reasons[:, 1]).tolist() == [1.0, -1.0]
        assert np.abs(told).max() <= 2.0 * MOST_TOLD


def small_deep(**changes):
    """The default, with a small window, so that trees and neighbours soon have something to say."""
    sizes = {"window__rows": 300, "chunk_rows": 100, "boosted__step_rows": 100.0}
    return presets.default().replace(**sizes, **changes)


NAMES = [layer.name for layer in presets.default().layers]
DEAR = [NAMES.index(name) for name in ("clouds", "long trees", "neighbours")]


@pytest.mark.parametrize("resting", [False, True])
def test_the_default_adds_up_whatever_comes(resting):
    """Rare codes, missing values, a class and a feature that come late, and layers at rest."""
    X, y = rare_codes(2500)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    y[(np.arange(2500) > 1200) & (X[:, 3] == 7.0)] = 3
    model = DEVFNN(small_deep(missing="skip"), ["colour", "flag", "amount"])
    for start in range(0, 2500, 100):
        if start == 1000:
            model.add_features(["shop"])
        rows = X[start : start + 100, : 3 + (start >= 1000)]
        model.learn(rows, y[start : start + 100])
        if resting:
            model._network.state.layers.rests[DEAR] = (start // 100 + 1) % 3
        if start % 300 == 0:
            check(model, rows[::20])
    assert len(model.classes) == 4
    assert model.explain(X[0]).layers[DEAR[-1]].state == ("rests" if resting else "votes")


# ---- layers that rest on a window, and the stack


@functools.cache
def deep_model():
    """A default network whose layers never rest, and its rows."""
    X, y = flipped(20)
    model = DEVFNN(small_deep(resting=None))
    run(model, X, np.where(y, "up", "down"))
    return model, X


def test_stacked_layers_hear_kept_layers_that_vote():
    X, y = flipped(40)
    model = DEVFNN(small_deep(voting__power=0.0))
    run(model, X, y)
    kept = model._network.shares[len(model.config.layers) :]
    assert kept.max() > 0.01
    check(model, X[::100])


def reasons_of(model, x, name):
    """What the layer of a name says of a row."""
    return next(layer for layer in model.explain(x).layers if layer.kind == name)


def test_rules_of_trees_that_fire_have_the_numbers_and_conditions_of_the_listed_ones():
    model, X = deep_model()
    listed = {}
    for rule in model.rules():
        if rule.layer == DEAR[1]:
            listed[rule.rule] = rule
    assert len(listed) == 30
    n_seen = 0
    for x in X[::50]:
        fired = [each.rule for each in reasons_of(model, x, "long trees").fired]
        assert len(set(fired)) == len(fired)
        for number, rule in listed.items():
            inside = (rule.bounds[:, 0] < x) & (x <= rule.bounds[:, 1])
            assert (number in fired) == inside.all(), rule.text()
            n_seen += number in fired
    assert n_seen > 10


def test_no_rule_of_trees_holds_for_all_rows():
    model, _ = deep_model()
    layers = model.config.layers
    trees = [rule for rule in model.rules() if layers[rule.layer].kind == "boosted"]
    assert trees
    assert not any(rule.text().startswith("IF anything") for rule in trees)


def test_neighbours_are_told_with_their_classes():
    model, X = deep_model()
    window, x = model._network.state.window, X[-1]
    why = reasons_of(model, x, "neighbours")
    assert [each.label for each in why.fired] == [
        model.classes[window.labels[each.rule]] for each in why.fired
    ]
    assert re.search(r"\(neighbours\).* rule \d+ of (up|down) \d+ %", model.explain(x).text())
    assert json.loads(json.dumps(why.to_dict()))["fired"][0]["label"] in ("up", "down")


def test_the_stack_comes_first_and_tells_how_much_each_layer_counted():
    model, X = deep_model()
    lines = model.explain(X[0]).text().splitlines()[2:]
    assert all("of the answer, says" in line for line in lines[:3])
    assert all("in the answer, says" in line for line in lines[3:])
    stack = reasons_of(model, X[0], "stack")
    assert stack.inputs[:2] == ("quick line", "brisk line")
    assert re.search(r", long trees: counts .*% in the answer, 30 rules", model.describe())
    assert re.search(r", stack: \d+ % of the answer, 1 rule", model.describe())


# ---- what features are measured from


def one_rule_each(network, **changes):
    """A network whose layers keep a single rule."""
    changes |= {"boxes__splitting": False} if network == "swift" else {"gaussian__growing": False}
    return config_of(network, **changes)


def at_the_usual(model, layer):
    """A row at the mean of the rows of the only rule of a layer, or at its centre."""
    (rule,) = [rule for rule in model.rules(archived=True) if rule.layer == layer]
    return rule.center


@each_network
def test_in_a_usual_row_no_feature_speaks(network):
    X, y = flipped(10)
    X = X**3  # usual values are far from the middle of the range
    model = DEVFNN(one_rule_each(network))
    run(model, X, y)
    layer = STEADY_LINE if network == "swift" else 0
    why = model.explain(at_the_usual(model, layer)).layers[layer]
    assert why.contributions == pytest.approx(0.0, abs=EXACT)
    assert why.bias == pytest.approx(why.output, abs=EXACT)
    assert np.ptp(why.bias) > 0.01
    moved = at_the_usual(model, layer) + np.array([0.1, 0.0, 0.0])
    other = model.explain(moved).layers[layer]
    assert other.bias == pytest.approx(why.bias, abs=EXACT)
    assert np.abs(other.contributions[0]).max() > 0.001
    assert other.contributions[1:] == pytest.approx(0.0, abs=EXACT)


def test_at_the_mean_of_all_clouds_no_feature_speaks():
    model, _ = striped_model()
    state, scaler = model._network.state, model._network.scaler
    count = int(state.clouds.count[0])
    masses = state.clouds.masses[:count]
    usual = state.clouds.centers[:, :count] @ (masses / masses.sum())
    why = model.explain(scaler.low + scaler.width * usual).layers[CLOUD_LAYER]
    assert why.contributions == pytest.approx(0.0, abs=EXACT)


@each_network
def test_without_a_feature_neither_it_nor_its_usual_value_counts(network):
    X, y = flipped(10)
    model = DEVFNN(one_rule_each(network, missing="skip"))
    run(model, X**3, y)
    layer = STEADY_LINE if network == "swift" else 0
    x = at_the_usual(model, layer)
    full = model.explain(x).layers[layer]
    x[0] = np.nan
    part = model.explain(x).layers[layer]
    assert not part.contributions[0].any()
    assert np.abs(part.bias - full.bias).max() > 0.001
    check(model, x[None])


def test_what_is_listed_sums_to_what_the_layers_say():
    model, X = striped_model()
    why = model.explain(X[0])
    for label in why.labels:
        place, total = why.labels.index(label), 0.0
        for layer in why.layers:
            others = np.delete(layer.output, place).mean()
            total += layer.voting_weight * (layer.output[place] - others)
        listed = why.usually(label) + math.fsum(why.contributions(label).values())
        assert listed == pytest.approx(total, abs=EXACT)
        said = why.text(label, most=1).splitlines()[1]
        values = [float(value) for value in re.findall(r"[+-]\d+\.\d\d", said)]
        assert values[-1] == pytest.approx(total, abs=0.006)
        assert sum(values[:-1]) == pytest.approx(total, abs=0.03)
        assert re.search(r"2 others [+-]\d+\.\d\d, together [+-]", said)


# ---- Weather, row by row


@pytest.fixture(scope="module")
def weather(load_stream):
    """A model that has learned Weather, and all its rows."""
    X, y = load_stream("weather")
    model = DEVFNN()
    for start in range(0, len(X), 1000):
        model.learn(X[start : start + 1000], y[start : start + 1000])
    return model, np.asarray(X, np.float64)


def test_rows_of_weather_add_up_to_what_is_decided(weather):
    model, X = weather
    X = X[::20]  # all of them would take a minute
    whys = [model.explain(x) for x in X]
    places = [layer.layer for layer in whys[0].layers if layer.state != "rests"]
    layers = [[why.layers[place] for place in places] for why in whys]
    sums, outputs, probabilities = (
        np.array([[part(layer) for layer in row] for row in layers])
        for part in (
            lambda layer: layer.bias + layer.contributions.sum(axis=0),
            lambda layer: layer.output,
            lambda layer: layer.probabilities,
        )
    )
    assert np.abs(sums - outputs).max() < EXACT
    assert np.abs(probabilities - outputs_of(model, X)[:, places]).max() < EXACT
    expected = model.predict_proba(X)
    assert np.abs(np.array([why.probabilities for why in whys]) - expected).max() < EXACT
    for row in layers[::5]:
        for layer in row:
            best = int(layer.probabilities.argmax())
            listed = layer.usually(best) + layer.against_the_others(best).sum()
            assert listed > 0.0 or np.ptp(layer.output) < EXACT
    listed = np.array([why.usually() + math.fsum(why.contributions().values()) for why in whys])
    is_against = listed < 0.0  # probabilities are averaged, not log odds, and the stack hears more
    # than these: a close answer may differ
    assert np.count_nonzero(is_against) < 0.02 * len(X)
    assert not (is_against & (expected.max(axis=1) > 0.55)).any()


def test_a_row_of_weather_takes_less_than_a_millisecond(weather):
    """Where `predict_proba` of one row takes a fifteenth of that; slower machines take longer."""
    _, X = weather
    model = DEVFNN(presets.swift())
    model.learn(X[:1000], X[:1000, 0] > np.median(X[:1000, 0]))
    ratios = []
    for start in range(0, 500, 50):
        times = [time.process_time()]
        for use in (model.predict_proba, model.explain):
            for row in range(start, start + 50):
                use(X[row : row + 1] if use == model.predict_proba else X[row])
            times.append(time.process_time())
        ratios.append((times[2] - times[1]) / (times[1] - times[0]))
    assert min(ratios) < 15.0


# ---- what a user sees


@each_network
def test_explaining_changes_nothing(network):
    model, X = striped_model() if network == "swift" else grown_model()
    before = model.__getstate__()
    model.explain(X[0])
    model.describe()
    model.history()
    model.rules_table()
    assert model.__getstate__() == before


def test_the_feature_that_decides_speaks_most():
    X, _ = flipped(10)
    model = DEVFNN(feature_names=["heat", "wind", "dust"])
    model.learn(X, np.where(X[:, 1] > 0.5, "rain", "dry"))
    why = model.explain([0.5, 0.95, 0.5])
    assert why.label == "rain"
    ranked = why.contributions()
    assert next(iter(ranked)) == "wind"
    assert ranked["wind"] > 1.0
    assert why.contributions("dry")["wind"] == pytest.approx(-ranked["wind"])
    assert why.text().splitlines()[0].startswith("rain ")
    assert re.search(r"For rain: usually [+-]\d+\.\d\d, wind \+", why.text())
    assert re.search(r"For dry: usually [+-]\d+\.\d\d, wind -", why.text("dry"))


def test_what_layers_say_is_named():
    model, X = grown_model(layers__inputs="all", growing__inputs="all", training="all")
    deepest = model.explain(X[0], class_names={0: "dry", 1: "rain"}).layers[-1]
    assert "layer 0 says rain" in deepest.inputs
    assert deepest.output_is == LOGITS


@each_network
def test_it_is_plain_data(network):
    model, X = striped_model() if network == "swift" else grown_model()
    data = json.loads(json.dumps(model.explain(X[0]).to_dict(), allow_nan=False))
    assert data["probabilities"] == pytest.approx(model.predict_proba(X[:1])[0].tolist())
    why = model.explain(X[0])
    assert (data["usually"], data["contributions"]) == (why.usually(), why.contributions())
    layer = data["layers"][1]
    total = np.array(layer["bias"]) + np.array(layer["contributions"]).sum(axis=0)
    assert total == pytest.approx(layer["output"], abs=EXACT)
    assert layer["fired"][0]["strength"] <= 1.0


def test_fired_rules_are_rules_of_the_model():
    model, X = striped_model()
    known = {(rule.layer, rule.rule): rule for rule in model.rules(archived=True)}
    for layer in model.explain(X[0]).layers:
        assert layer.fired
        assert sum(rule.strength for rule in layer.fired) == pytest.approx(1.0)
        assert all((layer.layer, rule.rule) in known for rule in layer.fired)


def test_what_cannot_be_explained_is_refused():
    with pytest.raises(NotLearnedError):
        DEVFNN().explain([1.0])
    model = DEVFNN()
    model.learn([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match="features"):
        model.explain([1.0, 2.0])


def test_a_class_that_is_not_known_is_refused():
    model = DEVFNN()
    model.learn([[0.0], [1.0]], ["low", "high"])
    why = model.explain([1.0])
    for ask in (why.text, why.contributions, why.usually):
        with pytest.raises(InputError, match="no class 'nope'; there are 'low', 'high'"):
            ask("nope")


def test_it_takes_no_more_than_some_predictions_do():
    model, X = striped_model()
    spans = {model.predict_proba: [], model.explain: []}
    for ask in [*spans, *list(spans) * 10]:
        start = time.process_time()
        for x in X[:20]:
            ask(x if ask == model.explain else x[None])
        spans[ask].append(time.process_time() - start)
    assert min(spans[model.explain]) < 20.0 * min(spans[model.predict_proba])


def test_two_classes_cannot_have_one_name():
    model, X = striped_model()
    first, second = model.classes[:2]
    same = {first: "both", second: "both"}
    for tell in (
        model.rules,
        model.describe,
        model.to_dict,
        lambda **names: model.explain(X[0], **names),
    ):
        with pytest.raises(InputError, match="calls two classes 'both'"):
            tell(class_names=same)
