"""Stacked layers and resting: kernels against slow, obvious NumPy."""

import numpy as np
import pytest

from build import IS_COMPILED, only_plain
from devfnn import DEVFNN, presets
from devfnn.kernels import network as drivers
from devfnn.kernels import stacked
from devfnn.kernels import votes as resting
from devfnn.kernels.state import BOOSTED, CLOUDS, INDEPENDENCE, NEIGHBOURS, STACKED, SURFACE
from devfnn.model.config import DEAR_KINDS
from devfnn.model.network import Network
from devfnn.streams import open_stream


def learned(n_rows: int = 1500, **changes: object) -> Network:
    """The default after some rows of a stream with a curved border."""
    model = DEVFNN(presets.default().replace(window__rows=200, layers__trees=2, **changes))
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
        choice = 2.0 * (np.arange(vote.size) == vote.argmax()) - 2.0 / vote.size
        heard = np.vstack([heard[:-1], choice, heard[-1]])
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
    vote, unforeseen = np.einsum("l,klm->km", shares[top], outputs[:, top]), unforeseen_of(network)
    assert unforeseen > 0.0
    np.testing.assert_allclose(said, (1.0 - unforeseen) * vote + 0.5 * unforeseen, atol=1e-12)


def unforeseen_of(network: Network) -> float:
    """The share of labels that no layer foresees."""
    return float(network.state.stacked.unforeseen[0])


@only_plain
def test_labels_that_no_layer_foresees_are_counted(rng) -> None:
    network = learned(500)
    own, params = network.state.stacked, network.params.stacked
    own.unforeseen[0] = 0.01
    stacked.note_unforeseen(own, 0.4, 4, 1.0, params)  # of the 0.4 are 0.0025 for the unforeseen
    np.testing.assert_allclose(own.unforeseen[0], 0.01 + (0.00625 - 0.01) / params.unforeseen_rows)
    for _ in range(400):  # labels without any chance
        stacked.note_unforeseen(own, 0.0025, 4, 20.0, params)
    assert own.unforeseen[0] > 0.3
    own.unforeseen[0] = 0.0
    stacked.note_unforeseen(own, 1e-9, 4, 1.0, params)
    assert own.unforeseen[0] == 0.0


def test_wrong_labels_among_certain_ones_are_beyond_all_layers(rng) -> None:
    found = {}
    for share in (0.0, 0.02):
        model = DEVFNN(presets.default().replace(window__rows=200, resting=None))
        for number in range(16):
            X = rng.random((250, 2))
            y = (X[:, 0] > 0.5).astype(int)
            is_wrong = (rng.random(250) < share) & (number > 8)
            model.learn(X, np.where(is_wrong, 1 - y, y))
        found[share] = unforeseen_of(model._network)
    assert found[0.0] < 0.0019 and found[0.02] > 0.0021


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


def answer_of(network: Network, outputs: np.ndarray, layer: int | None = None) -> np.ndarray:
    """The answer to a row, or what it would be if a layer had not been there. outputs: (L, m)"""
    state, first, shares = network.state, network.params.stacked.first, network.shares
    n_below, said = len(network.config.layers) - len(state.stacked.weights), outputs.copy()
    below = np.where(state.layers.kinds == STACKED, 0.0, shares)
    if layer is not None:
        below[layer] = 0.0
    vote = np.nansum(below[:, None] * said, axis=0) / below.sum()
    heard = np.vstack([said[:n_below], np.zeros_like(vote), vote])
    resting = np.flatnonzero(state.layers.rests[:n_below])
    heard[[*resting, *([] if layer is None else [layer])]] = vote
    logs = np.log(np.maximum(heard, stacked.LEAST_SHARE))
    logs = np.clip(logs - logs.mean(axis=1, keepdims=True), -5.0, 5.0)
    is_best = np.arange(vote.size) == vote.argmax()
    logs[n_below] = stacked.CHOICE_ODDS * (is_best - 1.0 / vote.size)
    odds = np.exp(state.stacked.weights @ logs)
    said = shares[first : first + len(odds)] @ (odds / odds.sum(axis=1, keepdims=True))
    return (1.0 - unforeseen_of(network)) * said + unforeseen_of(network) / vote.size


@only_plain
def test_the_worth_of_a_layer_is_what_the_answers_lose_without_it(rng) -> None:
    network = learned(750)
    state, params, work = network.state, network.params, network.work
    row, label = rng.random(3), 1
    outputs = network.forward(network.inputs_of(row[None]))[0][0]
    drivers.hear_again(state, state.stacked, outputs, params, work)
    resting.answer(state, outputs, work.shares, 1.0, True, work.stacked.answer)
    np.testing.assert_allclose(work.stacked.answer, answer_of(network, outputs))
    awake = np.flatnonzero(params.is_dear & (state.layers.rests[: params.n_configured] == 0))
    state.layers.watched[:] = state.layers.worths[:] = state.layers.squares[:] = 0.0
    state.progress.signals[INDEPENDENCE] = 1.0
    stacked.weigh_worth(state, outputs, (label, 1.0), params, work.shares, work.stacked)
    own = answer_of(network, outputs)
    for layer in awake.tolist():
        other = answer_of(network, outputs, layer)
        wanted = np.log(own[label] / other[label])
        wanted += float(own.argmax() == label) - float(other.argmax() == label)
        assert state.layers.watched[layer] == 1.0
        np.testing.assert_allclose(state.layers.worths[layer], wanted, atol=1e-12)
        np.testing.assert_allclose(state.layers.squares[layer], wanted**2, atol=1e-12)


@only_plain
def test_a_layer_rests_only_if_its_worth_is_clearly_too_small() -> None:
    from rival_build import events_for

    network = learned(500)
    state, params = network.state, network.params
    layer = int(np.flatnonzero(state.layers.kinds == NEIGHBOURS)[0])
    state.layers.rests[:] = 0
    state.layers.watched[:], state.layers.worths[:] = 4 * params.trial_rows, 1.0
    needed, rows = params.least_worths[layer], 4 * params.trial_rows
    state.layers.worths[layer] = -0.01
    for spread, rests in ((1.01, False), (0.99, True)):  # times what hides the difference
        error = spread * (needed + 0.01) / params.worth_doubt
        state.layers.squares[layer] = rows * error**2 + 0.01**2
        resting.rest_layers(state, 0, params, network.work.shares, events_for(1))
        assert (state.layers.rests[layer] > 0) == rests


@only_plain
def test_a_trial_counts_from_when_the_stack_has_judged_the_layer(rng) -> None:
    network = learned(750)
    state, params, work = network.state, network.params, network.work
    layer = int(np.flatnonzero(state.layers.kinds == NEIGHBOURS)[0])
    resting.start_trial(state, layer, state.stacked, params)
    outputs = network.forward(network.inputs_of(rng.random((1, 3))))[0][0]
    drivers.hear_again(state, state.stacked, outputs, params, work)
    resting.answer(state, outputs, work.shares, 1.0, True, work.stacked.answer)
    sample = (0, 1.0)
    stacked.weigh_worth(state, outputs, sample, params, work.shares, work.stacked)
    assert state.layers.watched[layer] == 0.0
    for place in range(len(state.stacked.weights)):
        said = outputs[params.stacked.first + place]
        heard = work.stacked.heard
        stacked.note_heard(state.stacked, place, heard, said, sample, params.stacked)
        stacked.step_stacked(state.stacked, place, 1, params.stacked, work.stacked)
    stacked.weigh_worth(state, outputs, sample, params, work.shares, work.stacked)
    assert state.layers.watched[layer] > 0.0


@only_plain
def test_after_a_drift_layers_show_themselves_when_its_rows_are_there() -> None:
    network = learned(500)
    state, params = network.state, network.params
    for kind, rests in ((NEIGHBOURS, 40), (CLOUDS, 2)):
        state.layers.rests[state.layers.kinds == kind] = rests
    resting.wake_layers(state, params)
    assert (state.layers.rests[state.layers.kinds == NEIGHBOURS] == params.rest_steps).all()
    assert (state.layers.rests[state.layers.kinds == CLOUDS] == 2).all()


@only_plain
def test_trees_begin_anew_at_a_trial() -> None:
    network = learned(750)
    state, params = network.state, network.params
    long_trees, _ = np.flatnonzero(state.layers.kinds == BOOSTED).tolist()
    before = state.boosted.grown.copy()
    resting.start_trial(state, long_trees, state.stacked, params)
    assert state.boosted.grown.tolist() == [0, before[1]]
    network._refit(500)
    assert 0 < state.boosted.grown[0] < before[0] and state.boosted.grown[1] > before[1]
    for _ in range(3):
        network._refit(500)
    assert network.forward(network.inputs_of(np.full((1, 3), 0.5)))[0][0, long_trees].max() > 0.6


def test_a_layer_must_be_worth_what_it_costs() -> None:
    config = presets.default().replace(resting__worth=0.01)
    dear = [layer.kind in DEAR_KINDS for layer in config.layers]
    narrow, wide = (Network.empty(n, 2, config).params.least_worths for n in (3, 100))
    assert (narrow[dear] > 0.0).all() and not narrow[~np.array(dear)].any()
    assert (wide[dear] < narrow[dear]).all()  # beside curves of 100 features they cost little
    kinds = [layer.name for layer in config.layers]
    assert narrow[kinds.index("long trees")] > 2.0 * narrow[kinds.index("short trees")]
    more = config.replace(resting__worth=0.02)
    np.testing.assert_allclose(Network.empty(3, 2, more).params.least_worths, 2.0 * narrow)


@pytest.mark.skipif(not IS_COMPILED, reason="thousands of rows; parts are tested as plain Python")
def test_dear_layers_rest_where_a_line_is_right() -> None:
    stream = open_stream("hyperplane", options={"n_rows": 9000, "seed": 1})
    model = DEVFNN(presets.default())
    kinds, rested = [], 0
    for chunk in stream:
        events = model.learn(chunk.X, chunk.y)
        layers = model._network.state.layers
        kinds += [int(layers.kinds[e.layer]) for e in events if e.kind == "LayerRested"]
        dear = np.isin(layers.kinds, [BOOSTED, NEIGHBOURS, CLOUDS, SURFACE])
        rested = max(rested, int(np.count_nonzero(layers.rests[dear])))
    assert rested >= 3 and set(kinds) <= {BOOSTED, NEIGHBOURS, CLOUDS, SURFACE}


@pytest.mark.parametrize("steps", [1, 3])
@only_plain
def test_rests_grow_longer_and_end_with_a_trial(steps) -> None:
    network = learned(500, resting__steps=steps, resting__max_steps=10 * steps)
    state, params = network.state, network.params
    layer = int(np.flatnonzero(state.layers.kinds == NEIGHBOURS)[0])
    lengths, length = [], 0
    from rival_build import events_for

    for _ in range(40 * steps):
        state.layers.watched[:], state.layers.worths[:] = 4 * params.trial_rows, 1.0
        state.layers.worths[layer], state.layers.squares[layer] = -1.0, 1.0
        resting.rest_layers(state, 0, params, network.work.shares, events_for(1))
        if state.layers.rests[layer]:
            length += 1
        elif length:
            lengths.append(length)
            length = 0
    assert lengths[:3] == [4 * steps, 8 * steps, 10 * steps]
