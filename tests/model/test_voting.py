"""Voting weights: they move towards the better layer, or stay where they are."""

import numpy as np
import pytest

from devfnn import DEVFNN, Config
from devfnn.kernels.state import Layers
from devfnn.model import voting
from devfnn.model.state import Shape, empty_layers
from scenes import CHUNK, run, sloped, stacked

SHAPE = Shape(layers=3, slots=1, features=2, classes=2)
OUTPUTS = np.tile([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]], (10, 1, 1))
"""Outputs of three layers for ten rows."""


def layers_of(config: Config) -> Layers:
    """Three layers without rules."""
    return empty_layers(SHAPE, config)


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize("how", ["reward", "likelihood", "equal"])
def test_the_better_layer_gains_weight(verb: str, how: str) -> None:
    config = stacked(training="winner", merging=False, growing=False, plain_first=False)
    model = DEVFNN(config.replace(voting_weights=how, vote_step=0.1, initial_decay=0.5))
    model.learn(*sloped(1))
    layers = model._known().layers
    layers.consequents[1] *= -1.0  # the second layer is always wrong now
    layers.voting_weights[:] = 0.5
    getattr(model, verb)(*sloped(1, seed=5))
    weights = model._known().layers.voting_weights
    if how == "equal":
        assert weights.tolist() == [0.5, 0.5]
    else:
        assert weights[0] > 0.9 and weights[1] < 0.1
        assert weights[1] >= config.vote_floor


@pytest.mark.parametrize("vote", ["soft", "hard"])
def test_a_vote_is_a_mean_of_what_live_layers_say(vote: str) -> None:
    config = stacked().replace(vote=vote)
    layers = layers_of(config)
    layers.voting_weights[:] = [0.5, 1.0, 1.0]
    layers.is_merged[2] = True
    outputs = OUTPUTS.copy()
    outputs[:, 2] = np.nan  # what a merged layer says
    probabilities = voting.vote(layers, outputs, config)
    first = (0.5 * 0.9 + 0.4) / 1.5 if vote == "soft" else 0.5 / 1.5
    np.testing.assert_allclose(probabilities, np.tile([first, 1.0 - first], (10, 1)))


def test_outputs_below_0_and_none_above_do_not_break_a_vote() -> None:
    config = stacked()
    outputs = np.tile([[-0.5, 1.7], [-1.0, -1.0], [0.0, 0.0]], (2, 1, 1))
    probabilities = voting.vote(layers_of(config), outputs, config)
    np.testing.assert_allclose(probabilities, [[1 / 3, 2 / 3]] * 2)


def test_errors_are_those_of_the_whole_network() -> None:
    config = stacked()
    layers, labels = layers_of(config), np.array([0, 1] * 5)
    layers.voting_weights[:] = [1.0, 1e-6, 1e-6]
    np.testing.assert_array_equal(voting.errors(layers, OUTPUTS, labels, config), labels)
    layers.voting_weights[:] = [1e-6, 1.0, 1e-6]
    np.testing.assert_array_equal(voting.errors(layers, OUTPUTS, labels, config), 1 - labels)


@pytest.mark.parametrize("how", ["reward", "likelihood"])
def test_weights_stay_between_the_floor_and_1_and_merged_layers_keep_theirs(how: str) -> None:
    config = stacked(vote_floor=1e-3, vote_step=0.1).replace(voting_weights=how, initial_decay=0.2)
    layers = layers_of(config)
    layers.is_merged[1] = True
    layers.voting_weights[1] = 0.123
    for _ in range(200):
        voting.reweigh(layers, OUTPUTS, np.zeros(10, np.int64), config)
    assert layers.voting_weights.tolist() == [1.0, 0.123, 1e-3]
    assert voting.winner(layers) == 0
    for _ in range(200):
        voting.reweigh(layers, OUTPUTS, np.ones(10, np.int64), config)
    assert layers.voting_weights.tolist() == [1e-3, 0.123, 1.0]


def test_the_lowest_of_equal_live_layers_wins() -> None:
    layers = layers_of(stacked())
    assert voting.winner(layers) == 0
    layers.is_merged[0] = True
    assert voting.winner(layers) == 1


def test_a_reset_layer_is_like_new() -> None:
    config = stacked(newborn_weight=0.7, initial_decay=0.3)
    layers = layers_of(config)
    layers.voting_weights[:], layers.decays[:] = 0.1, 0.9
    voting.reset(layers, 1, config)
    assert layers.voting_weights.tolist() == [0.1, 0.7, 0.1]
    assert layers.decays.tolist() == [0.9, 0.3, 0.9]


def test_without_decay_of_the_vote_an_old_mistake_is_never_forgotten() -> None:
    shares = {}
    for memory in (0.9, 1.0):
        config = stacked(vote_memory=memory, vote_sharpness=0.5, vote_floor=1e-300)
        layers = layers_of(config)
        voting.reweigh(layers, OUTPUTS, np.zeros(10, np.int64), config)
        equal = np.full_like(OUTPUTS, 0.5)
        for _ in range(20):
            voting.reweigh(layers, equal, np.zeros(10, np.int64), config)
        shares[memory] = layers.voting_weights[2]
    assert shares[1.0] < 0.01 and shares[0.9] > 0.99


def test_hard_and_soft_votes_agree_where_layers_do() -> None:
    X, y = sloped(4)
    for vote in ("hard", "soft"):
        model = DEVFNN(stacked().replace(vote=vote))
        run(model, X, y)
        assert (model.predict(X[:CHUNK]) == y[:CHUNK]).mean() > 0.95
