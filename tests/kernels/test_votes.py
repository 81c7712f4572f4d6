"""The votes of the layers: one prediction from many, and how rows move the weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from build import stack
from devfnn.arrays import Floats
from devfnn.kernels.state import Layers
from devfnn.kernels.votes import (
    clip_unit,
    update_votes,
    vote_rows,
    winning_layer,
)


def voters(weights: list[float], merged: list[bool]) -> Layers:
    """Layers that have nothing but votes."""
    layers = stack(1, 2, n_layers=len(weights)).layers
    layers.voting_weights[:] = weights
    layers.is_merged[:] = merged
    return layers


def updated(
    layers: Layers, outputs: Floats, labels: Sequence[int], step: float = 0.1, **changes: Any
) -> Layers:
    """The layers after the rows of a chunk."""
    made = stack(1, 2, vote_step=step, vote_floor=1e-6, **changes)
    update_votes(layers, outputs, np.array(labels, np.int64), made.settings)
    return layers


@pytest.mark.parametrize("is_soft", [True, False])
def test_the_vote_equals_the_reference(rng: np.random.Generator, is_soft: bool) -> None:
    outputs = rng.normal(size=(50, 4, 3))
    outputs[0] = -1.0  # no layer finds anything positive
    weights, merged = rng.random(4), np.array([False, True, False, False])
    outputs[:, 1] = np.nan
    probabilities = np.full((50, 3), np.nan)
    vote_rows(outputs, weights, merged, is_soft, probabilities)
    expected = [reference.vote(row, weights, merged, is_soft) for row in outputs]
    np.testing.assert_allclose(probabilities, expected, rtol=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)


def test_a_hard_vote_counts_weights() -> None:
    outputs = np.array([[[0.9, 0.1], [0.4, 0.6], [0.45, 0.55]]])
    probabilities = np.empty((1, 2))
    vote_rows(outputs, np.array([0.5, 0.3, 0.1]), np.zeros(3, np.bool_), False, probabilities)
    np.testing.assert_allclose(probabilities, [[5 / 9, 4 / 9]])


def test_the_voting_weights_equal_the_reference(rng: np.random.Generator) -> None:
    outputs, labels = rng.random((300, 3, 2)), rng.integers(0, 2, 300)
    layers = voters([1.0, 0.5, 0.2], [False, False, False])
    layers.decays[:] = [1.0, 0.4, 0.9]
    votes = list(zip(layers.voting_weights.tolist(), layers.decays.tolist(), strict=True))
    updated(layers, outputs, labels, 0.05)
    for row, label in zip(outputs, labels, strict=True):
        votes = [
            reference.updated_vote(*vote, output.argmax() == label, 0.05, 1e-6)
            for vote, output in zip(votes, row, strict=True)
        ]
    np.testing.assert_allclose(layers.voting_weights, [vote[0] for vote in votes], rtol=1e-12)
    np.testing.assert_allclose(layers.decays, [vote[1] for vote in votes], rtol=1e-12)


def test_one_right_and_one_wrong_row_by_hand() -> None:
    outputs = np.array([[[0.2, 0.8]], [[0.2, 0.8]]])
    layers = voters([0.5], [False])
    layers.decays[0] = 0.4
    updated(layers, outputs[:1], [0], 0.1)
    assert layers.decays[0] == pytest.approx(0.3)
    assert layers.voting_weights[0] == pytest.approx(0.15)
    updated(layers, outputs[1:], [1], 0.1)
    assert layers.decays[0] == pytest.approx(0.4)
    assert layers.voting_weights[0] == pytest.approx(0.21)


@given(st.lists(st.booleans(), max_size=60), st.floats(0.001, 1.0))
@settings(deadline=None, derandomize=True, max_examples=50)
def test_weights_and_decays_keep_to_their_bounds(hits: list[bool], step: float) -> None:
    outputs = np.tile([0.3, 0.7], (len(hits), 1, 1))
    layers = updated(voters([1.0], [False]), outputs, [int(hit) for hit in hits], step)
    assert 1e-6 <= layers.voting_weights[0] <= 1.0
    assert step - 1e-15 <= layers.decays[0] <= 1.0


def test_thousands_of_errors_never_make_a_weight_zero() -> None:
    layers = updated(voters([1.0], [False]), np.tile([1.0, 0.0], (5000, 1, 1)), [1] * 5000, 0.1)
    assert layers.voting_weights[0] == 1e-6
    updated(layers, np.tile([1.0, 0.0], (100, 1, 1)), [0] * 100, 0.1)
    assert layers.voting_weights[0] == 1.0


def test_likelihood_weights_equal_the_reference(rng: np.random.Generator) -> None:
    outputs, labels = rng.random((200, 3, 2)), rng.integers(0, 2, 200)
    outputs[:20, :, 0] = -0.1
    layers = voters([1.0, 1.0, 1.0], [False, False, False])
    changes = {"voting_weights": "likelihood", "vote_memory": 0.95, "vote_sharpness": 0.1}
    updated(layers, outputs, labels, **changes)
    expected = reference.likelihood_weights(outputs, labels, 0.95, 0.1)
    np.testing.assert_allclose(layers.voting_weights, expected, rtol=1e-9)
    assert layers.voting_weights.max() == 1.0


def test_likelihood_weights_never_fall_below_the_floor() -> None:
    layers = voters([1.0, 1.0, 0.3], [False, False, True])
    outputs = np.tile([[1.0, 0.0], [0.0, 1.0], [np.nan, np.nan]], (5000, 1, 1))
    changes = {"voting_weights": "likelihood", "vote_memory": 1.0, "vote_sharpness": 1.0}
    updated(layers, outputs, [0] * 5000, **changes)
    np.testing.assert_array_equal(layers.voting_weights, [1.0, 1e-6, 0.3])


def test_equal_votes_stay_equal(rng: np.random.Generator) -> None:
    layers = voters([1.0, 1.0], [False, False])
    updated(layers, rng.random((50, 2, 2)), rng.integers(0, 2, 50), voting_weights="equal")
    np.testing.assert_array_equal(layers.voting_weights, 1.0)


def test_a_merged_layer_has_no_vote_and_keeps_its_weight() -> None:
    layers = voters([1.0, 0.7], [False, True])
    updated(layers, np.tile([1.0, 0.0], (10, 2, 1)), [1] * 10, 0.1)
    assert layers.voting_weights[0] < 1.0
    assert layers.voting_weights[1] == 0.7


@pytest.mark.parametrize(
    ("weights", "merged", "expected"),
    [
        ([0.2, 0.9, 0.9], [False, False, False], 1),
        ([0.2, 0.9, 0.5], [False, True, False], 2),
        ([0.9], [True], -1),
    ],
)
def test_the_winning_layer_is_the_first_live_one_of_largest_weight(
    weights: list[float], merged: list[bool], expected: int
) -> None:
    assert winning_layer(np.array(weights), np.array(merged)) == expected


@pytest.mark.parametrize(
    ("value", "clipped"), [(0.3, 0.3), (-2.0, 0.0), (1.5, 1.0), (np.inf, 1.0), (np.nan, 0.0)]
)
def test_outputs_are_clipped_before_the_next_layer_sees_them(value: float, clipped: float) -> None:
    assert clip_unit(value) == clipped
