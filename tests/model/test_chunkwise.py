"""The order of the steps on a chunk, which layers learn it, and what later layers take in."""

import json
from typing import Any

import numpy as np
import pytest

from contract import ROWS, rows
from devfnn import DEVFNN, Config
from devfnn.errors import InputError
from devfnn.events import LayerAdded, RangeChanged
from devfnn.kernels.state import SEEN
from devfnn.model.config import ByReward, Equal, Layer
from scenes import (
    CHUNK,
    EAGER,
    change,
    eventful,
    flipped,
    of_kind,
    run,
    sloped,
    stack_of,
    stacked,
)

X, Y = rows()
VERBS = ["learn", "learn_rows"]


def test_the_first_chunk_founds_all_layers_and_is_not_judged() -> None:
    model = DEVFNN(stacked(layers=stack_of(3)))
    model.learn(X, Y)
    network = model._known()
    assert (network.state.gaussians.counters[:, SEEN] == ROWS).all()
    assert not network.state.progress.errors.any() and (network.n_rows, network.n_chunks) == (
        ROWS,
        1,
    )


def test_every_later_chunk_is_judged_before_it_is_learned() -> None:
    model = DEVFNN(stacked(scaling="none"))
    model.learn(X, Y)
    wrong = int((model.predict(X) == Y).sum())
    model.learn(X, 1 - Y)
    assert model._known().state.progress.errors[:2].tolist() == [ROWS, wrong]


def test_features_are_known_before_labels() -> None:
    model = DEVFNN(stacked())
    model.learn(X, Y)
    changed = of_kind(model.learn(100.0 * X, Y), RangeChanged)
    assert {event.row for event in changed} == {ROWS}  # before the first row of the chunk
    assert {event.feature for event in changed} == {"x0", "x1", "x2"}


def test_events_come_in_the_order_of_the_steps() -> None:
    config = stacked(feature_mask={}, feature_mask__threshold=0.9, **EAGER)
    model, (X, y) = DEVFNN(config, ["a", "b", "c", "d"]), eventful(8 * ROWS)
    order = ["ClassAdded", "RangeChanged", "FeatureOff", "DriftFound", "LayerAdded", "RuleBorn"]
    seen = set()
    for start in range(0, len(y), ROWS):
        events = model.learn(X[start : start + ROWS], y[start : start + ROWS])
        places = [order.index(event.kind) for event in events if event.kind in order]
        assert places == sorted(places)
        assert [event.row for event in events] == sorted(event.row for event in events)
        seen |= {event.kind for event in events}
    assert {"ClassAdded", "RangeChanged", "FeatureOff", "DriftFound", "LayerAdded"} <= seen


# ---- which layers learn


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("training", ["leader", "configured", "all"])
def test_the_layers_that_learn_are_those_of_the_configuration(verb: str, training: str) -> None:
    config = stacked(layers=stack_of(2), merging=None, voting=Equal())
    model = DEVFNN(config.replace(training=training, chunk_rows=CHUNK))
    assert of_kind(run(model, *flipped(20), verb), LayerAdded)
    change(model, growing=None, drift=None)  # no drift in between
    state = model._known().state
    state.layers.voting_weights[:] = 0.1
    state.layers.voting_weights[2] = 1.0
    before = state.gaussians.counters[:, SEEN].copy()
    getattr(model, verb)(*sloped(1, seed=7))
    grown = np.flatnonzero(model._known().state.gaussians.counters[: len(before), SEEN] > before)
    expected = {"leader": [2], "configured": [0, 1, 2], "all": [*range(len(before))]}
    assert grown.tolist() == expected[training]


def test_a_layer_born_on_a_chunk_does_not_learn_it_twice() -> None:
    model, (X, y) = DEVFNN(stacked(training="all", labels__choice="all")), flipped(20)
    run(model, X[: 10 * CHUNK], y[: 10 * CHUNK])
    added = of_kind(model.learn(X[10 * CHUNK : 11 * CHUNK], y[10 * CHUNK : 11 * CHUNK]), LayerAdded)
    assert added and model._known().state.gaussians.counters[2, SEEN] == added[0].trained_rows


def test_the_winner_may_be_reset_with_every_chunk() -> None:
    voting = ByReward(newborn_weight=0.25, decay=0.5, reset_winner=True)
    model = DEVFNN(stacked(training="leader", voting=voting))
    run(model, *sloped(5))
    layers = model._known().state.layers
    assert (layers.voting_weights == 0.25).sum() == 1 and 0.5 in layers.decays
    assert model._known().leader == int(np.argmax(layers.voting_weights))


# ---- what later layers take in


@pytest.mark.parametrize(
    ("inputs", "training", "outputs"),
    [
        ("all", "leader", [True, True]),
        ("all", "configured", [True, True]),
        ("settled", "leader", [True, True]),
        ("settled", "configured", [False, True]),
        ("features", "leader", [False, False]),
        ("features", "all", [False, False]),
    ],
)
def test_later_layers_take_in_the_outputs_of_the_configuration(
    inputs: Any, training: str, outputs: list[bool]
) -> None:
    config = stacked(layers=stack_of(1, inputs=inputs), merging=None, labels__choice="all")
    config = config.replace(drift__significance=1e-4, drift__horizon=1.0)
    model = DEVFNN(config.replace(growing__inputs=inputs, training=training))
    for seed in (1, 2):
        run(model, *flipped(20, seed=seed))
    layers = model._known().state.gaussians
    assert model.n_layers >= 3 and layers.n_inputs[:3, 0].tolist() == [3, 5, 7]
    assert layers.input_mask[2, :7].tolist() == [True] * 3 + np.repeat(outputs, 2).tolist()


def test_a_layer_names_the_layers_whose_outputs_it_takes_in() -> None:
    layers = (*stack_of(2), Layer("gaussian", inputs=(1,)), Layer("gaussian", inputs=(0, 2)))
    config = stacked(layers=layers, training="all", merging=None)
    model = DEVFNN(Config.from_dict(json.loads(json.dumps(config.to_dict()))))
    run(model, *sloped(5))
    mask = model._known().state.gaussians.input_mask[:, 3:]
    assert mask[2].tolist() == [False, False, True, True, False, False]
    assert mask[3].tolist() == [True, True, False, False, True, True]
    for inputs in ((1,), (-1,), (True,), ("all",)):
        first = Layer("gaussian"), Layer("gaussian", inputs=inputs)
        with pytest.raises(InputError, match="inputs of layer 1 must be numbers of layers before"):
            stacked(layers=first)


def test_a_later_layer_sees_the_outputs_of_those_before_or_not() -> None:
    for inputs in ("all", "features"):
        layers = stack_of(2, plain_first=False, inputs=inputs)
        config = stacked(training="leader", layers=layers, scaling="none", voting=Equal())
        model = DEVFNN(config)
        run(model, *sloped(5))
        state = model._known().state
        state.layers.voting_weights[:] = [1e-12, 1.0]  # hear the second layer alone
        before = model.predict_proba(X)
        model._known().said = None
        state.gaussians.consequents[0] *= -1.0
        moved = np.abs(model.predict_proba(X) - before).max()
        assert (moved > 1e-3) == (inputs == "all")
