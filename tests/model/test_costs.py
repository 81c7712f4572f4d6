"""What layers do, are worth and cost: the same on every machine, and more where there is more."""

import functools

import numpy as np
import pytest

from devfnn import DEVFNN, Config, presets
from devfnn.model.config import Layer
from devfnn.model.layers import KIND_MODULES

SMALL = presets.default().replace(window__rows=300, chunk_rows=100, boosted__step_rows=100.0)
PLACES = {layer.name: place for place, layer in enumerate(SMALL.layers)}
CLOUDS, LONG_TREES = PLACES["clouds"], PLACES["long trees"]
SHORT_TREES, NEIGHBOURS = PLACES["short trees"], PLACES["neighbours"]
SURFACE = PLACES["surface"]


@functools.cache
def learned(n: int = 4, m: int = 2, config: Config = SMALL) -> DEVFNN:
    """A model of rows with so many features and classes."""
    X = np.random.default_rng(0).random((500, n))
    y = (X[:, 0] * m).astype(int)
    model = DEVFNN(config)
    for start in range(0, 500, 100):
        model.learn(X[start : start + 100], y[start : start + 100])
    return model


def costs(model: DEVFNN) -> dict[str, float]:
    """Nanoseconds of layers that do not rest, by name."""
    found = zip(model.config.layers, model._network.costs, strict=False)
    return {layer.name: cost for layer, cost in found}


def test_every_kind_of_layer_says_what_it_costs() -> None:
    assert all(hasattr(module, "cost_of") for module in KIND_MODULES if module.KINDS)
    assert all(cost > 0.0 for cost in costs(learned()).values())
    stacked = learned(config=presets.stacked())
    assert all(cost > 0.0 for cost in costs(stacked).values())


def test_costs_are_shares_of_all_layers_and_the_same_every_time() -> None:
    shares = [each.cost for each in learned().standings()]
    assert sum(shares) == pytest.approx(1.0) and min(shares) > 0.0
    again = learned.__wrapped__()
    assert [each.cost for each in again.standings()] == shares


def test_more_features_and_classes_cost_more() -> None:
    few, wide, many = costs(learned()), costs(learned(n=40)), costs(learned(m=8))
    below = [layer.name for layer in SMALL.layers if layer.kind not in ("prior", "stacked")]
    assert all(wide[name] > few[name] for name in below)
    indifferent = ("clouds", "neighbours", "prior")  # distances know no classes
    assert all(many[name] > few[name] for name in few if name not in indifferent)


def test_more_trees_and_a_longer_window_cost_more() -> None:
    few = costs(learned())
    trees = costs(learned(config=SMALL.with_layer("long trees", trees=40)))
    window = costs(learned(config=SMALL.replace(window__rows=150)))
    assert trees["long trees"] > 1.5 * few["long trees"]
    assert trees["short trees"] == pytest.approx(few["short trees"], rel=0.05)
    assert window["neighbours"] < 0.7 * few["neighbours"]


def test_a_curve_costs_more_than_a_line_and_labels_that_are_not_learned_nothing() -> None:
    layers = (Layer("line"), Layer("curve", memory=2000.0))
    lines = costs(learned(n=20, config=Config(layers=layers)))
    assert lines["curve"] > 1.5 * lines["line"]
    sparing = learned.__wrapped__(n=20, config=Config(layers=layers))
    sparing._network.n_labels //= 10
    assert costs(sparing)["line"] < 0.7 * lines["line"]


def test_a_layer_at_rest_costs_nothing_and_tells_how_long_it_rests() -> None:
    model = learned.__wrapped__()
    model._network.state.layers.rests[NEIGHBOURS] = 7
    rests = model.standings()[NEIGHBOURS]
    assert (rests.state, rests.steps, rests.share, rests.cost) == ("rests", 7, 0.0, 0.0)
    assert sum(each.cost for each in model.standings()) == pytest.approx(1.0)


def test_a_layer_is_on_trial_after_a_rest_until_it_is_weighed() -> None:
    model = learned.__wrapped__()
    layers = model._network.state.layers
    assert model.standings()[SHORT_TREES].state == "votes"  # its first trial is no trial
    layers.naps[SHORT_TREES], layers.watched[SHORT_TREES] = 2, 10.0
    layers.worths[SHORT_TREES] = 0.25
    assert model.standings()[SHORT_TREES].state == "on trial"
    assert model.standings()[SHORT_TREES].worth == 0.25
    assert not any(rule.is_archived for rule in model.rules(True) if rule.layer == SHORT_TREES)
    layers.watched[SHORT_TREES] = SMALL.resting.trial_rows
    assert model.standings()[SHORT_TREES].state == "votes"


def test_only_dear_layers_below_a_stack_are_worth_a_number() -> None:
    worths = [each.worth is not None for each in learned().standings()]
    dear = (CLOUDS, LONG_TREES, SHORT_TREES, NEIGHBOURS, SURFACE)
    assert [place for place, is_known in enumerate(worths) if is_known] == [*dear]
    swift = learned(config=presets.swift())
    assert all(each.worth is None for each in swift.standings())


def test_nothing_is_told_before_learning() -> None:
    assert DEVFNN().standings() == []
