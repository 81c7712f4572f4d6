"""Stacked gaussian layers: forward with merged layers and missing inputs, learning row by row."""

from typing import Any

import numpy as np
import pytest

from build import Stack, batch_of, blobs, changed, filled_stack, only_compiled, stack
from devfnn.arrays import Floats, Ints
from devfnn.kernels.gaussian import decouple_input
from devfnn.kernels.network import learn_rows
from devfnn.kernels.state import ACTIVE, ARCHIVED, OFFERED, UNLABELLED, USED, EventBuffer
from devfnn.model.config import ByLikelihood, ByReward, Equal, Layer
from devfnn.model.network import event_buffer
from twin import SlowStack, assert_same, slow_copy

EVENTFUL = {"first_precision": 30.0, "vigilance": 0.3, "voting": ByReward(step=0.05)}


def fresh_pair(features: int, m: int, n_layers: int, **changes: Any) -> tuple[Stack, SlowStack]:
    """A stack without rules and its twin."""
    made = stack(features, m, n_layers, **(EVENTFUL | changes))
    return made, SlowStack(made)


def compare(
    made: Stack, slow: SlowStack, rows: Floats, labels: Ints, labelled: int = OFFERED
) -> EventBuffer:
    """Learn the same rows on both sides and compare everything.

    Of the outputs before the very first row there is a test of its own.
    """
    is_new = slow.layers[0].seen == 0
    expected, errors = [], []
    for row, label in zip(rows, labels, strict=True):
        expected.append(slow.forward(row)[0])
        errors.append(slow.learn(row, int(label), labelled))
    events, outputs = made.learn_rows(batch_of(rows, labels, labelled=labelled))
    np.testing.assert_allclose(outputs[is_new:], expected[is_new:], rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(events.errors, errors)
    np.testing.assert_allclose(made.votes.voting_weights, slow.weights, rtol=1e-10)
    np.testing.assert_allclose(made.votes.decays, slow.decays, rtol=1e-10)
    for index, layer in enumerate(slow.layers):
        assert_same(made.layer(index), layer)
    return events


# ---- forward


def assert_forward_is_that_of_the_twin(made: Stack, rows: Floats) -> tuple[Floats, Floats]:
    """Compare outputs and stacked inputs with those of the slow stack; returns them."""
    outputs, stacked = made.forward(rows)
    slow = SlowStack(made)
    for row, output, inputs in zip(rows, outputs, stacked, strict=True):
        expected, expected_inputs = slow.forward(row)
        np.testing.assert_allclose(output, expected, rtol=1e-9, atol=1e-12)
        n_inputs = stacked.shape[1]
        np.testing.assert_allclose(inputs, expected_inputs[:n_inputs], rtol=1e-9, atol=1e-12)
    return outputs, stacked


@pytest.mark.parametrize("consequent", ["logistic", "least_squares"])
def test_the_forward_pass_equals_the_slow_stack(rng: np.random.Generator, consequent: str) -> None:
    made = filled_stack(rng, 3, 2, (3, 1, 4), consequent=consequent)
    before, rows = made.copy().gaussians, rng.uniform(-0.5, 1.5, (20, 3))
    outputs, _ = assert_forward_is_that_of_the_twin(made, rows)
    for index, output in enumerate(outputs):  # the same alone and among others
        np.testing.assert_array_equal(made.forward(rows[index : index + 1])[0][0], output)
    assert not changed(before, made.gaussians)


def test_the_forward_pass_with_missing_inputs_equals_the_slow_stack(
    rng: np.random.Generator,
) -> None:
    made = filled_stack(rng, 4, 3, (2, 3, 2))
    made.layer(0).input_mask[1] = False
    made.layer(2).input_mask[5] = False
    made.layer(1).status[1] = ARCHIVED
    rows = rng.random((30, 4))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    rows[0] = np.nan
    outputs, _ = assert_forward_is_that_of_the_twin(made, rows)
    assert np.isfinite(outputs).all()


@pytest.mark.parametrize("merged", [0, 1, 2])
def test_a_merged_layer_is_absent_for_the_layers_above(
    rng: np.random.Generator, merged: int
) -> None:
    made = filled_stack(rng, 2, 2, (2, 2, 2))
    made.votes.is_merged[merged] = True
    outputs, stacked = assert_forward_is_that_of_the_twin(made, rng.random((10, 2)))
    assert np.isnan(outputs[:, merged]).all()
    assert np.isfinite(np.delete(outputs, merged, axis=1)).all()
    assert np.isnan(stacked[:, 2 + 2 * merged : 4 + 2 * merged]).all()


def test_outputs_reach_the_next_layer_clipped(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1, 1), consequent="least_squares")
    made.layer(0).consequents[0] *= 100.0
    outputs, stacked = made.forward(rng.random((20, 2)))
    assert outputs[:, 0].max() > 1.0 and outputs[:, 0].min() < 0.0
    np.testing.assert_array_equal(stacked[:, 2:], np.clip(outputs[:, 0], 0.0, 1.0))


# ---- learning row by row


@pytest.mark.parametrize(
    "changes",
    [
        {"training": "leader"},
        pytest.param({"training": "all"}, marks=only_compiled),
        {"training": "all", "voting__ballots": "hard", "consequent": "least_squares"},
        pytest.param({"training": "leader", "voting": Equal()}, marks=only_compiled),
        pytest.param({"training": "all", "voting": ByLikelihood()}, marks=only_compiled),
        pytest.param(
            {"training": "all", "labels__choice": "layer", "labels__exploration": 0.0},
            marks=only_compiled,
        ),
    ],
    ids=str,
)
def test_learning_row_by_row_equals_the_slow_stack(
    rng: np.random.Generator, changes: dict[str, Any]
) -> None:
    made, slow = fresh_pair(2, 2, 3, **changes)
    events = compare(made, slow, *blobs(rng, 110, 2, 2))
    assert events.errors.any() and not events.errors.all()
    if changes["training"] == "all":
        assert (made.gaussians.status == ACTIVE).any(axis=1).all()


def test_of_grown_layers_only_the_leading_one_learns(rng: np.random.Generator) -> None:
    made = stack(2, 2, 2, training="configured", **(EVENTFUL | {"voting": ByLikelihood()}))
    made.network.resize(layers=3)  # as a layer is added
    made.votes.kinds[2] = made.votes.kinds[1]
    slow = SlowStack(made)
    compare(made, slow, *blobs(rng, 150, 2, 2))
    seen = [layer.seen for layer in slow.layers]
    assert seen[0] == seen[1] > seen[2]


def test_a_layer_of_a_single_rule_keeps_it(rng: np.random.Generator) -> None:
    single = Layer("gaussian", inputs="all", single_rule=True)
    layers = (single, Layer("gaussian", inputs="all"))
    made, slow = fresh_pair(2, 2, 2, training="all", layers=layers)
    slow.layers[0].may_grow = False
    compare(made, slow, *blobs(rng, 150, 2, 2))
    n_rules = (made.gaussians.status == ACTIVE).sum(axis=1)
    assert n_rules[0] == 1 < n_rules[1]


@only_compiled
def test_learning_goes_on_past_a_merged_layer(rng: np.random.Generator) -> None:
    made, slow = fresh_pair(2, 2, 3, training="all")
    rows, labels = blobs(rng, 160, 2, 2)
    compare(made, slow, rows[:80], labels[:80])
    made.votes.is_merged[1] = slow.is_merged[1] = True
    before = made.copy().layer(1)
    compare(made, slow, rows[80:120], labels[80:120])
    for axis in (4, 5):  # what the model does with the inputs of layer 2 that came from layer 1
        decouple_input(made.gaussians, 2, axis, made.params.width_floor)
        made.layer(2).input_mask[axis] = False
    slow.layers[2] = slow_copy(made.layer(2), made.params)
    compare(made, slow, rows[120:], labels[120:])
    assert not changed(before, made.layer(1))


def test_unlabelled_rows_move_no_votes_and_teach_nothing(rng: np.random.Generator) -> None:
    made, slow = fresh_pair(2, 2, 2, training="all")
    rows, labels = blobs(rng, 150, 2, 2)
    compare(made, slow, rows[:80], labels[:80])
    before = made.copy()
    events = compare(made, slow, rows[80:110], labels[80:110], UNLABELLED)
    assert not events.errors.any() and not events.taken.any()
    np.testing.assert_array_equal(made.votes.voting_weights, before.votes.voting_weights)
    np.testing.assert_array_equal(made.gaussians.consequents, before.gaussians.consequents)
    compare(made, slow, rows[110:], labels[110:])


def test_the_rows_whose_label_was_taken_are_marked(rng: np.random.Generator) -> None:
    made = stack(2, 2, labels__choice="layer", labels__exploration=0.0, **EVENTFUL)
    events, _ = made.learn_rows(batch_of(*blobs(rng, 100, 2, 2)))
    assert events.taken.sum() == made.layer().counters[USED]
    assert set(events.taken.tolist()) == {0, 1}


def test_learning_with_missing_values_equals_the_slow_stack(rng: np.random.Generator) -> None:
    made, slow = fresh_pair(3, 2, 2, training="all")
    rows, labels = blobs(rng, 150, 3, 2)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    compare(made, slow, rows, labels)


def test_a_stack_of_one_learns_like_a_layer(rng: np.random.Generator) -> None:
    batch = batch_of(*blobs(rng, 200, 2, 2))
    as_stack, as_layer = stack(2, 2, **EVENTFUL), stack(2, 2, **EVENTFUL)
    as_stack.learn_rows(batch)
    as_layer.learn(batch)
    assert not changed(as_stack.gaussians, as_layer.gaussians)


def test_outputs_are_those_before_the_row_was_learned(rng: np.random.Generator) -> None:
    made = stack(2, 2, 2, **EVENTFUL)
    rows, labels = blobs(rng, 60, 2, 2)
    made.learn_rows(batch_of(rows[:50], labels[:50]))
    for row in range(50, 60):
        expected, _ = made.forward(rows[row : row + 1])
        _, outputs = made.learn_rows(batch_of(rows[row : row + 1], labels[row : row + 1]))
        np.testing.assert_array_equal(outputs, expected)


@pytest.mark.parametrize("consequent", ["logistic", "least_squares"])
def test_before_the_first_row_every_layer_is_undecided(consequent: str) -> None:
    made = stack(2, 4, 2, consequent=consequent, training="all")
    _, outputs = made.learn_rows(batch_of(np.full((1, 2), 0.4), np.ones(1)))
    np.testing.assert_allclose(outputs, 0.25)


def test_rows_in_one_batch_or_in_many_give_the_same_stack(rng: np.random.Generator) -> None:
    rows, labels = blobs(rng, 120, 2, 3)
    whole, parts = (stack(2, 3, 2, training="all", **EVENTFUL) for _ in range(2))
    whole.learn_rows(batch_of(rows, labels))
    for row in range(120):
        parts.learn_rows(batch_of(rows[row : row + 1], labels[row : row + 1]))
    assert not changed(whole.gaussians, parts.gaussians)
    assert not changed(whole.votes, parts.votes)


def test_a_stack_without_room_says_so_and_stays_as_it_was(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1, 2))
    network, before = made.network, made.copy()
    batch, outputs = batch_of(rng.random((3, 2)), np.zeros(3)), np.empty((3, 2, 2))
    own = network.held(batch, event_buffer(3, 6))
    assert learn_rows(*own, outputs, 0) == 0
    assert not changed(before.gaussians, made.gaussians)
    assert not changed(before.votes, made.votes)
