"""The votes of gaussian layers: one prediction from many, and how rows move the weights."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from build import only_plain, stack
from devfnn.arrays import Floats
from devfnn.kernels.network import clip_unit
from devfnn.kernels.state import Layers
from devfnn.kernels.votes import leading_layer, move_votes_by_rows, vote
from devfnn.model.config import ByLikelihood, ByReward, Equal, Weighted
from devfnn.model.network import Network


def voters(
    weights: Sequence[float],
    merged: Sequence[bool] = (),
    voting: Weighted | None = None,
    m: int = 2,
) -> Network:
    """Layers that have nothing but votes."""
    network = stack(1, m, len(weights), voting=voting or ByReward(step=0.1)).network
    network.state.layers.voting_weights[:] = weights
    network.state.layers.is_merged[:] = merged or False
    return network


def updated(network: Network, outputs: Floats, labels: Sequence[int]) -> Layers:
    """The layers after the rows of a chunk."""
    labels, is_used = np.array(labels, np.int64), np.ones(len(labels), np.bool_)
    move_votes_by_rows(*network.held()[:2], outputs, labels, is_used)
    return network.state.layers


@pytest.mark.parametrize("ballots", ["soft", "hard"])
def test_the_vote_equals_the_reference(rng: np.random.Generator, ballots: str) -> None:
    outputs = rng.normal(size=(50, 4, 3))
    outputs[0] = -1.0  # no layer finds anything positive
    weights, merged = rng.random(4), np.array([False, True, False, False])
    outputs[:, 1] = np.nan
    network = voters(weights, merged.tolist(), ByReward(ballots=ballots), m=3)
    probabilities = np.full((50, 3), np.nan)
    vote(*network.held()[:2], outputs, probabilities)
    expected = [reference.vote(row, weights, merged, ballots == "soft") for row in outputs]
    np.testing.assert_allclose(probabilities, expected, rtol=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)


def test_a_hard_vote_counts_weights() -> None:
    network = voters([0.5, 0.3, 0.1], voting=ByReward(ballots="hard"))
    probabilities = np.empty((1, 2))
    outputs = np.array([[[0.9, 0.1], [0.4, 0.6], [0.45, 0.55]]])
    vote(*network.held()[:2], outputs, probabilities)
    np.testing.assert_allclose(probabilities, [[5 / 9, 4 / 9]])


def test_the_voting_weights_equal_the_reference(rng: np.random.Generator) -> None:
    outputs, labels = rng.random((300, 3, 2)), rng.integers(0, 2, 300)
    network = voters([1.0, 0.5, 0.2], voting=ByReward(step=0.05))
    layers = network.state.layers
    layers.decays[:] = [1.0, 0.4, 0.9]
    votes = list(zip(layers.voting_weights.tolist(), layers.decays.tolist(), strict=True))
    updated(network, outputs, labels)
    for row, label in zip(outputs, labels, strict=True):
        votes = [
            reference.updated_vote(*vote, output.argmax() == label, 0.05, 1e-6)
            for vote, output in zip(votes, row, strict=True)
        ]
    np.testing.assert_allclose(layers.voting_weights, [vote[0] for vote in votes], rtol=1e-12)
    np.testing.assert_allclose(layers.decays, [vote[1] for vote in votes], rtol=1e-12)


def test_one_wrong_and_one_right_row_by_hand() -> None:
    network, outputs = voters([0.5]), np.array([[[0.2, 0.8]]])
    network.state.layers.decays[0] = 0.4
    for label, decay, weight in ((0, 0.3, 0.15), (1, 0.4, 0.21)):
        layers = updated(network, outputs, [label])
        assert layers.decays[0] == pytest.approx(decay)
        assert layers.voting_weights[0] == pytest.approx(weight)


@given(st.lists(st.booleans(), max_size=60), st.floats(0.001, 1.0))
@settings(deadline=None, derandomize=True, max_examples=50)
def test_weights_and_decays_keep_to_their_bounds(hits: list[bool], step: float) -> None:
    outputs = np.tile([0.3, 0.7], (len(hits), 1, 1))
    layers = updated(voters([1.0], voting=ByReward(step=step)), outputs, [int(hit) for hit in hits])
    assert 1e-6 <= layers.voting_weights[0] <= 1.0
    assert step - 1e-15 <= layers.decays[0] <= 1.0


def test_thousands_of_errors_never_make_a_weight_zero() -> None:
    network = voters([1.0, 0.7], [False, True])
    layers = updated(network, np.tile([1.0, 0.0], (5000, 2, 1)), [1] * 5000)
    np.testing.assert_array_equal(layers.voting_weights, [1e-6, 0.7])  # a merged layer keeps its
    updated(network, np.tile([1.0, 0.0], (100, 2, 1)), [0] * 100)
    np.testing.assert_array_equal(layers.voting_weights, [1.0, 0.7])


def test_likelihood_weights_equal_the_reference(rng: np.random.Generator) -> None:
    outputs, labels = rng.random((200, 3, 2)), rng.integers(0, 2, 200)
    outputs[:20, :, 0] = -0.1
    network = voters([1.0, 1.0, 1.0], voting=ByLikelihood(memory=0.95, sharpness=0.1))
    layers = updated(network, outputs, labels)
    expected = reference.likelihood_weights(outputs, labels, 0.95, 0.1)
    np.testing.assert_allclose(layers.voting_weights, expected, rtol=1e-9)
    assert layers.voting_weights.max() == 1.0


def test_likelihood_weights_never_fall_below_the_floor() -> None:
    voting = ByLikelihood(memory=1.0, sharpness=1.0)
    network = voters([1.0, 1.0, 0.3], [False, False, True], voting)
    outputs = np.tile([[1.0, 0.0], [0.0, 1.0], [np.nan, np.nan]], (5000, 1, 1))
    layers = updated(network, outputs, [0] * 5000)
    np.testing.assert_array_equal(layers.voting_weights, [1.0, 1e-6, 0.3])


def test_equal_votes_stay_equal(rng: np.random.Generator) -> None:
    network = voters([1.0, 1.0], voting=Equal())
    layers = updated(network, rng.random((50, 2, 2)), rng.integers(0, 2, 50))
    np.testing.assert_array_equal(layers.voting_weights, 1.0)


@only_plain
@pytest.mark.parametrize(
    ("weights", "merged", "expected"),
    [
        ([0.2, 0.9, 0.9], [False, False, False], 1),
        ([0.9, 0.9, 0.5], [True, False, False], 1),
        ([0.2, 0.9, 0.5], [False, True, False], 2),
        ([0.9], [True], -1),
    ],
)
def test_the_leading_layer_is_the_first_live_one_of_largest_weight(
    weights: list[float], merged: list[bool], expected: int
) -> None:
    network = voters(weights, merged)
    assert leading_layer(network.state.layers, network.params) == expected


@pytest.mark.parametrize(
    ("value", "clipped"), [(0.3, 0.3), (-2.0, 0.0), (1.5, 1.0), (np.inf, 1.0), (np.nan, 0.0)]
)
def test_outputs_are_clipped_before_the_next_layer_sees_them(value: float, clipped: float) -> None:
    assert clip_unit(value) == clipped
