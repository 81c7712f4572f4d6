"""Votes by accuracy: shares from scores, head starts, and how rows move the scores."""

import numpy as np
import pytest

from build import only_plain
from devfnn.arrays import Floats
from devfnn.kernels._jit import held
from devfnn.kernels.state import BOXES, INDEPENDENCE, LINE, NO_LAYER, PRIOR, SCORED, Params, State
from devfnn.kernels.votes import head_start, score_layers, voting_shares
from rival_build import (
    CALM_CURVE,
    CLOUD_LAYER,
    FIRST_KEPT,
    LIVELY_CURVE,
    QUICK_LINE,
    STEADY_LINE,
    random_network,
)


def shares_of(state: State, params: Params) -> Floats:
    """Voting weights of all layers."""
    shares = np.full(state.layers.kinds.size, np.nan)
    voting_shares(held(state), held(params), shares)
    return shares


@pytest.mark.parametrize("independence", [1.0, 0.25])
def test_voting_weights_follow_the_scores_as_far_as_rows_are_worth(
    rng: np.random.Generator, independence: float
) -> None:
    state, params = random_network(rng, 2, 2, voting__rows=100.0, voting__power=0.5)
    layers = state.layers
    state.progress.signals[INDEPENDENCE] = independence
    layers.rests[CLOUD_LAYER] = 1
    layers.scores[:] = 0.7
    layers.scores[STEADY_LINE], layers.scores[CLOUD_LAYER] = 0.76, 1.0
    shares = shares_of(state, params)
    awake = (layers.kinds != NO_LAYER) & (layers.rests == 0)
    np.testing.assert_array_equal(shares > 0.0, awake)
    assert shares.sum() == pytest.approx(1.0)
    awake[[STEADY_LINE, LIVELY_CURVE, CALM_CURVE]] = False
    lead = 6.0 * np.sqrt(independence)
    np.testing.assert_allclose(shares[STEADY_LINE] / shares[awake], np.exp(0.5 * lead))


@pytest.mark.parametrize("independence", [1.0, 0.25])
def test_single_curves_have_a_head_start_where_rows_repeat_each_other(
    rng: np.random.Generator, independence: float
) -> None:
    state, params = random_network(rng, 2, 2, memories=(300.0, 200.0, 800.0))
    state.progress.signals[INDEPENDENCE] = independence
    state.layers.scores[:] = 0.7
    shares = shares_of(state, params)
    others = state.layers.kinds != NO_LAYER
    others[[LIVELY_CURVE, CALM_CURVE]] = False
    # 5 weights want 50 rows: a fourth of the memories holds 50 and 200 independent ones
    expected = {LIVELY_CURVE: 2.0, CALM_CURVE: 3.2} if independence < 1.0 else {}
    for layer in (LIVELY_CURVE, CALM_CURVE):
        np.testing.assert_allclose(shares[layer] / shares[others], expected.get(layer, 1.0))
    assert shares.sum() == pytest.approx(1.0)


@only_plain
def test_a_curve_with_more_weights_than_rows_has_no_head_start(rng: np.random.Generator) -> None:
    state, params = random_network(rng, 30, 2, memories=(300.0, 200.0, 1e6))
    state.progress.signals[INDEPENDENCE] = 0.1
    lively, calm, steady = (
        head_start(state, state.pool, layer, params)
        for layer in (LIVELY_CURVE, CALM_CURVE, STEADY_LINE)
    )
    assert lively == steady == 1.0
    assert calm == pytest.approx(10.0, rel=0.01)


@only_plain
@pytest.mark.parametrize("independence", [1.0, 0.2])
def test_class_frequencies_have_a_head_start_where_rows_repeat_each_other(
    rng: np.random.Generator, independence: float
) -> None:
    state, params = random_network(rng, 2, 2)
    state.layers.kinds[QUICK_LINE] = PRIOR
    state.progress.signals[INDEPENDENCE] = independence
    factor = head_start(state, state.pool, QUICK_LINE, params)
    assert factor == pytest.approx(1.0 / independence)
    assert head_start(state, state.pool, STEADY_LINE, params) == 1.0


def said(state: State, layer: int, is_right: bool) -> Floats:
    """Outputs of layers that are all right, but for one."""
    outputs = np.tile([0.1, 0.9], (state.layers.kinds.size, 1))
    outputs[layer] = [0.4, 0.6] if is_right else [0.9, 0.1]
    return outputs


@only_plain
@pytest.mark.parametrize(("independence", "n_rows"), [(1.0, 10), (0.5, 20)])
def test_scores_are_means_since_the_drift_until_there_are_enough_rows(
    rng: np.random.Generator, independence: float, n_rows: int
) -> None:
    state, params = random_network(rng, 2, 2, voting__rows=10.0)
    layers, counts = state.layers, state.progress.counts
    layers.rests[CLOUD_LAYER], counts[SCORED] = 1, 0
    state.progress.signals[INDEPENDENCE] = independence
    before, rights = layers.scores.copy(), rng.random(50) < 0.7
    expected = 0.0
    for index, right in enumerate(rights, start=1):
        score_layers(state, said(state, STEADY_LINE, right), 1, params)
        expected += (right - expected) / min(index, n_rows)
        assert layers.scores[STEADY_LINE] == pytest.approx(expected)
        if index <= n_rows:
            assert expected == pytest.approx(rights[:index].mean())
    assert counts[SCORED] == 50
    assert layers.scores[QUICK_LINE] == 1.0
    silent = (layers.kinds == NO_LAYER) | (layers.rests > 0)
    np.testing.assert_array_equal(layers.scores[silent], before[silent])


@only_plain
def test_how_often_kept_layers_differ_fades_by_the_rows_of_the_vote(
    rng: np.random.Generator,
) -> None:
    state, params = random_network(rng, 2, 2, kept=(LINE, BOXES), voting__rows=10.0)
    pair, expected = (FIRST_KEPT, FIRST_KEPT + 1), 0.0
    state.progress.signals[INDEPENDENCE] = 0.5
    for index, differs in enumerate((rng.random(30) < 0.4).tolist(), start=1):
        score_layers(state, said(state, FIRST_KEPT, not differs), 1, params)
        expected = 0.9 * expected + 0.1 * differs
        assert state.layers.disagreements[pair] == pytest.approx(expected)
        assert state.layers.compared[pair] == index
