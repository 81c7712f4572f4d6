"""Stacked layers and resting: kernels against slow, obvious NumPy."""

import numpy as np
import pytest

from build import only_plain
from devfnn import DEVFNN, presets
from devfnn.kernels import stacked
from devfnn.kernels import votes as resting
from devfnn.kernels.state import BOOSTED, CLOUDS, NEIGHBOURS, STACKED
from devfnn.model.network import Network
from devfnn.streams import open_stream


def learned(n_rows: int = 1500, **changes: object) -> Network:
    """The default after some rows of a stream with a curved border."""
    model = DEVFNN(presets.deep().replace(window__rows=600, **changes))
    rng = np.random.default_rng(3)
    X = rng.random((n_rows, 3))
    y = ((X[:, 0] - 0.5) ** 2 + (X[:, 1] - 0.5) ** 2 > 0.08).astype(int)
    for start in range(0, n_rows, 250):
        model.learn(X[start : start + 250], y[start : start + 250])
    network = model._network
    assert network is not None
    return network


def test_stacked_layers_say_what_their_weights_make_of_the_layers_below(rng) -> None:
    network = learned()
    outputs, _ = network.forward(network.inputs_of(rng.random((20, 3))))
    shares, kinds = network.shares, network.state.layers.kinds
    first = network.params.stacked.first
    for said in outputs:
        voters = [k for k in np.flatnonzero(shares > 0.0) if kinds[k] != STACKED]
        vote = sum(shares[k] * said[k] for k in voters)
        rows = [vote if np.isnan(said[k]).any() else said[k] for k in range(first)] + [vote]
        logs = np.log(np.maximum(rows, 1e-4))
        heard = np.clip(logs - logs.mean(axis=1, keepdims=True), -5.0, 5.0)
        for place, weights in enumerate(network.state.stacked.weights):
            logits = weights @ heard
            wanted = np.exp(logits) / np.exp(logits).sum()
            np.testing.assert_allclose(said[first + place], wanted, atol=1e-9)


def test_the_answer_is_the_vote_of_the_stacked_layers(rng) -> None:
    network = learned()
    X = rng.random((10, 3))
    said, shares = network.probabilities(X), network.shares
    outputs, _ = network.forward(network.inputs_of(X))
    top = network.state.layers.kinds == STACKED
    np.testing.assert_allclose(shares[top].sum(), 1.0)
    np.testing.assert_allclose(
        said, np.einsum("l,klm->km", shares[top], outputs[:, top]), atol=1e-12
    )


@only_plain
def test_a_step_is_that_of_newton_with_weights_bounded_below(rng) -> None:
    matrix = rng.normal(size=(6, 6))
    matrix = matrix @ matrix.T + 6.0 * np.eye(6)
    vector, lows = 5.0 * rng.normal(size=6), np.array([0.0] * 5 + [0.1])
    found = np.zeros(6)
    stacked.solve_above(np.tril(matrix), vector, lows, found)
    slope = matrix @ found - vector
    assert (found >= lows).all() and (np.abs(slope[found > lows]) < 1e-3).all()
    assert (slope[found == lows] > -1e-3).all()


@only_plain
def test_what_a_row_says_of_the_weights_is_gradient_and_curvature_of_its_loss(rng) -> None:
    network = learned(500)
    own, params = network.state.stacked, network.params.stacked
    place, n_inputs = 1, own.weights.shape[1]
    heard, weights, label = rng.normal(size=(n_inputs, 2)), own.weights[place], 1
    heard[-1] = 0.0

    def loss(w: np.ndarray) -> float:
        logits = w @ heard
        return float(np.log(np.exp(logits).sum()) - logits[label])

    own.slopes[:], own.curvatures[:] = 0.0, 0.0
    logits = weights @ heard
    said = np.exp(logits) / np.exp(logits).sum()
    stacked.note_heard(own, place, heard, said, (label, 2.0), params)
    step = 1e-5
    for j in range(n_inputs - 1):
        up, down = weights + step * np.eye(n_inputs)[j], weights - step * np.eye(n_inputs)[j]
        slope = (loss(down) - loss(up)) / (2.0 * step)
        curvature = (loss(up) + loss(down) - 2.0 * loss(weights)) / step**2
        np.testing.assert_allclose(own.slopes[place, j], 2.0 * slope, atol=1e-6)
        np.testing.assert_allclose(own.curvatures[place, j, j], 2.0 * curvature, atol=1e-3)


@only_plain
def test_the_worth_of_a_layer_is_what_the_answers_lose_without_it(rng) -> None:
    heard, weights, label = rng.normal(size=(4, 3)), rng.random(4), 2
    logits = np.empty(3)
    resting.add_logits(heard, weights, logits)
    np.testing.assert_allclose(logits, weights @ heard)
    without = heard.copy()
    without[1] = heard[3]
    wanted = weights @ without
    wanted = wanted[label] - np.log(np.exp(wanted).sum())
    found = resting.log_share_without(heard, weights, 1, label, logits)
    np.testing.assert_allclose(found, wanted)


def test_dear_layers_rest_where_a_line_is_right_and_wake_at_a_drift() -> None:
    stream = open_stream("hyperplane", options={"n_rows": 9000, "seed": 1})
    model = DEVFNN(presets.deep())
    kinds, rested, woken = [], 0, False
    for chunk in stream:
        events = model.learn(chunk.X, chunk.y)
        layers = model._network.state.layers
        kinds += [int(layers.kinds[e.layer]) for e in events if e.kind == "LayerRested"]
        dear = np.isin(layers.kinds, [BOOSTED, NEIGHBOURS, CLOUDS])
        rested = max(rested, int(np.count_nonzero(layers.rests[dear])))
        if any(e.kind == "DriftFound" for e in events):
            woken = True
    assert rested >= 3 and set(kinds) <= {BOOSTED, NEIGHBOURS, CLOUDS}
    assert not woken or rested


@pytest.mark.parametrize("steps", [1, 3])
@only_plain
def test_rests_grow_longer_and_end_with_a_trial(steps) -> None:
    network = learned(500, resting__steps=steps, resting__max_steps=3 * steps)
    state, params = network.state, network.params
    layer = int(np.flatnonzero(state.layers.kinds == NEIGHBOURS)[0])
    lengths, length = [], 0
    from rival_build import events_for

    for _ in range(20 * steps):
        state.layers.watched[:], state.layers.worths[:] = params.trial_rows, 1.0
        state.layers.worths[layer] = -1.0
        resting.rest_layers(state, 0, params, network.work.shares, events_for(1))
        if state.layers.rests[layer]:
            length += 1
        elif length:
            lengths.append(length)
            length = 0
    assert lengths[:3] == [steps, 2 * steps, 3 * steps]
