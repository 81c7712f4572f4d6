"""Voting weights: they move towards the better layer, or stay where they are."""

from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.arrays import Floats
from devfnn.kernels import network as kernels
from devfnn.kernels import votes
from devfnn.kernels._jit import held
from devfnn.kernels.state import OFFERED, Batch
from devfnn.model.config import ByAccuracy, ByLikelihood, ByReward, Equal
from devfnn.model.network import Network, event_buffer
from scenes import CHUNK, config_of, run, sloped, stack_of, stacked

OUTPUTS = np.tile([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]], (10, 1, 1))
"""Outputs of three layers for ten rows."""
VOTING = {"reward": ByReward(step=0.1, decay=0.5), "likelihood": ByLikelihood(), "equal": Equal()}


def network_of(**changes: Any) -> Network:
    """Three layers without rules."""
    return Network.empty(2, 2, stacked(layers=stack_of(3), **changes))


def voted(network: Network, outputs: Floats) -> Floats:
    """Probabilities of the classes."""
    probabilities = np.empty((len(outputs), 2))
    votes.vote(*network.held()[:2], outputs, probabilities)
    return probabilities


def reweigh(network: Network, outputs: Floats, label: int) -> None:
    """Let the voting weights move by rows of one class."""
    labels, used = np.full(len(outputs), label), np.ones(len(outputs), np.bool_)
    votes.move_votes_by_rows(*network.held()[:2], outputs, labels, used)


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize("how", VOTING)
def test_the_better_layer_gains_weight(verb: str, how: str) -> None:
    config = stacked(training="leader", merging=None, growing=None, drift=None)
    model = DEVFNN(config.replace(layers=stack_of(2, plain_first=False), voting=VOTING[how]))
    model.learn(*sloped(1))
    state = model._known().state
    state.gaussians.consequents[1] *= -1.0  # the second layer is always wrong now
    state.layers.voting_weights[:] = 0.5
    getattr(model, verb)(*sloped(1, seed=5))
    weights = model._known().state.layers.voting_weights
    if how == "equal":
        assert weights.tolist() == [0.5, 0.5]
    else:
        assert weights[0] > 0.9 and weights[1] < 0.1
        assert weights[1] >= VOTING[how].floor


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize("voting", [ByAccuracy(), ByReward(), ByLikelihood()])
@pytest.mark.parametrize("network", ["swift", "stacked"])
def test_votes_of_any_form_move_in_any_network(verb: str, voting: Any, network: str) -> None:
    config = config_of(network, voting=voting, growing=None, drift=None, merging=None)
    model = DEVFNN(config)
    model.learn(*sloped(1))
    before = model.voting_weights.copy()
    X, y = sloped(1, seed=5)
    getattr(model, verb)(X[:20], 1 - y[:20])  # layers are wrong now
    assert not np.array_equal(model.voting_weights, before)


@pytest.mark.parametrize("vote", ["soft", "hard"])
def test_a_vote_is_a_mean_of_what_live_layers_say(vote: str) -> None:
    network = network_of(voting__ballots=vote)
    network.state.layers.voting_weights[:] = [0.5, 1.0, 1.0]
    network.state.layers.is_merged[2] = True
    outputs = OUTPUTS.copy()
    outputs[:, 2] = np.nan  # what a merged layer says
    first = (0.5 * 0.9 + 0.4) / 1.5 if vote == "soft" else 0.5 / 1.5
    np.testing.assert_allclose(voted(network, outputs), np.tile([first, 1.0 - first], (10, 1)))


def test_outputs_below_0_and_none_above_do_not_break_a_vote() -> None:
    outputs = np.tile([[-0.5, 1.7], [-1.0, -1.0], [0.0, 0.0]], (2, 1, 1))
    np.testing.assert_allclose(voted(network_of(), outputs), [[1 / 3, 2 / 3]] * 2)


def test_errors_are_those_of_the_whole_network() -> None:
    network, labels = network_of(), np.array([0, 1] * 5)
    ones = np.ones(10)
    batch = Batch(np.zeros((10, 2)), labels, ones, ones, np.full(10, OFFERED))
    for weights, wrong in (([1.0, 1e-6, 1e-6], labels), ([1e-6, 1.0, 1e-6], 1 - labels)):
        network.state.layers.voting_weights[:] = weights
        buffer = event_buffer(10, 0)
        kernels.assess_chunk(*network.held(), held(batch), held(buffer), OUTPUTS)
        np.testing.assert_array_equal(buffer.errors, wrong)


@pytest.mark.parametrize(
    "voting", [ByReward(step=0.1, decay=0.2, floor=1e-3), ByLikelihood(floor=1e-3)]
)
def test_weights_stay_between_the_floor_and_1_and_merged_layers_keep_theirs(voting: Any) -> None:
    network = network_of(voting=voting)
    layers = network.state.layers
    layers.is_merged[1] = True
    layers.voting_weights[1] = 0.123
    for label, expected in ((0, [1.0, 0.123, 1e-3]), (1, [1e-3, 0.123, 1.0])):
        for _ in range(200):
            reweigh(network, OUTPUTS, label)
        assert layers.voting_weights.tolist() == expected
        assert network.leader == 2 * label


def test_the_lowest_of_equal_live_layers_leads() -> None:
    network = network_of()
    assert network.leader == 0
    network.state.layers.is_merged[0] = True
    assert network.leader == 1


def test_without_decay_of_the_vote_an_old_mistake_is_never_forgotten() -> None:
    shares = {}
    for memory in (0.9, 1.0):
        network = network_of(voting=ByLikelihood(memory=memory, sharpness=0.5, floor=1e-300))
        reweigh(network, OUTPUTS, 0)
        for _ in range(20):
            reweigh(network, np.full_like(OUTPUTS, 0.5), 0)
        shares[memory] = network.state.layers.voting_weights[2]
    assert shares[1.0] < 0.01 and shares[0.9] > 0.99


def test_hard_and_soft_votes_agree_where_layers_do() -> None:
    X, y = sloped(4)
    for vote in ("hard", "soft"):
        model = DEVFNN(stacked(voting__ballots=vote))
        run(model, X, y)
        assert (model.predict(X[:CHUNK]) == y[:CHUNK]).mean() > 0.95
