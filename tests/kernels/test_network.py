"""The stack of layers: forward with merged layers and missing inputs, and learning row by row."""

from typing import Any

import numpy as np
import pytest

from build import Stack, batch_of, blobs, count, filled_stack, journal_of, stack
from devfnn.kernels.layers import decouple_input
from devfnn.kernels.network import learn_rows
from devfnn.arrays import Floats
from devfnn.kernels.state import ACTIVE, ARCHIVED, OFFERED, UNLABELLED, USED, Journal
from twin import SlowLayer, SlowStack, assert_same, slow_copy

EVENTFUL = {"first_precision": 30.0, "vigilance": 0.3, "vote_step": 0.05}


def slow_stack(made: Stack) -> SlowStack:
    """The twin of a stack as it stands."""
    layers = [slow_copy(made.layer(index), made.settings) for index in range(made.shape.layers)]
    slow = SlowStack(layers, 1.0, 1.0)
    slow.weights, slow.decays = made.layers.voting_weights.copy(), made.layers.decays.copy()
    slow.is_merged = made.layers.is_merged.copy()
    return slow


def fresh_pair(features: int, m: int, n_layers: int, **changes: Any) -> tuple[Stack, SlowStack]:
    """A stack without rules and its twin."""
    made = stack(features, m, n_layers, **(EVENTFUL | changes))
    sizes = [features + index * m for index in range(n_layers)]
    layers = [SlowLayer(made.settings, n, m) for n in sizes]
    config = made.config
    return made, SlowStack(layers, config.newborn_weight, config.initial_decay)


def compare(
    made: Stack, slow: SlowStack, rows: Floats, labels: Any, labelled: int = OFFERED
) -> Journal:
    """Learn the same rows on both sides and compare everything.

    Of the outputs before the very first row there is a test of its own.
    """
    is_new = slow.layers[0].seen == 0
    outputs, errors = [], []
    for row, label in zip(rows, labels, strict=True):
        outputs.append(slow.forward(row)[0])
        errors.append(slow.learn(row, int(label), labelled))
    journal = made.learn_rows(batch_of(rows, labels, labelled=labelled))
    np.testing.assert_allclose(journal.outputs[is_new:], outputs[is_new:], rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(journal.errors, errors)
    np.testing.assert_allclose(made.layers.voting_weights, slow.weights, rtol=1e-10)
    np.testing.assert_allclose(made.layers.decays, slow.decays, rtol=1e-10)
    for index, layer in enumerate(slow.layers):
        assert_same(made.layer(index), layer)
    return journal


@pytest.mark.parametrize("consequent", ["logistic", "least_squares"])
def test_the_forward_pass_equals_the_slow_stack(rng: np.random.Generator, consequent: str) -> None:
    made = filled_stack(rng, 3, 2, (3, 1, 4), consequent=consequent)
    rows = rng.uniform(-0.5, 1.5, (20, 3))
    outputs, stacked = made.forward(rows)
    slow = slow_stack(made)
    for row, output, inputs in zip(rows, outputs, stacked, strict=True):
        expected, expected_inputs = slow.forward(row)
        np.testing.assert_allclose(output, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(inputs, expected_inputs[:7], rtol=1e-9, atol=1e-12)


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
    outputs, _ = made.forward(rows)
    expected = [slow_stack(made).forward(row)[0] for row in rows]
    np.testing.assert_allclose(outputs, expected, rtol=1e-9, atol=1e-12)
    assert np.isfinite(outputs).all()


@pytest.mark.parametrize("merged", [0, 1, 2])
def test_a_merged_layer_is_absent_for_the_layers_above(
    rng: np.random.Generator, merged: int
) -> None:
    made = filled_stack(rng, 2, 2, (2, 2, 2))
    made.layers.is_merged[merged] = True
    rows = rng.random((10, 2))
    outputs, stacked = made.forward(rows)
    expected = [slow_stack(made).forward(row)[0] for row in rows]
    np.testing.assert_allclose(outputs, expected, rtol=1e-9)
    assert np.isnan(outputs[:, merged]).all()
    assert np.isfinite(np.delete(outputs, merged, axis=1)).all()
    if merged < 2:
        assert np.isnan(stacked[:, 2 + 2 * merged : 4 + 2 * merged]).all()


def test_outputs_reach_the_next_layer_clipped(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1, 1), consequent="least_squares")
    made.layer(0).consequents[0] *= 100.0
    outputs, stacked = made.forward(rng.random((20, 2)))
    assert outputs[:, 0].max() > 1.0 and outputs[:, 0].min() < 0.0
    np.testing.assert_array_equal(stacked[:, 2:], np.clip(outputs[:, 0], 0.0, 1.0))


def test_the_forward_pass_changes_nothing(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (2, 2))
    before, rows = made.copy().layers, rng.random((5, 2))
    first = made.forward(rows)[0]
    np.testing.assert_array_equal(made.forward(rows)[0], first)
    for name in before._fields:
        np.testing.assert_array_equal(getattr(made.layers, name), getattr(before, name))


def test_a_row_gives_the_same_outputs_alone_and_among_others(rng: np.random.Generator) -> None:
    made, rows = filled_stack(rng, 3, 2, (3, 2)), rng.random((10, 3))
    together, _ = made.forward(rows)
    for index in range(10):
        alone, _ = made.forward(rows[index : index + 1])
        np.testing.assert_array_equal(alone[0], together[index])


@pytest.mark.parametrize(
    "changes",
    [
        {"training": "winner"},
        {"training": "all"},
        {"training": "all", "vote": "hard", "consequent": "least_squares"},
        {"training": "winner", "voting_weights": "equal"},
        {"training": "winner_and_initial", "initial_layers": 2, "voting_weights": "likelihood"},
        {"training": "all", "active_learning": True, "exploration": 0.0},
    ],
    ids=str,
)
def test_learning_row_by_row_equals_the_slow_stack(
    rng: np.random.Generator, changes: dict[str, Any]
) -> None:
    made, slow = fresh_pair(2, 2, 3, **changes)
    journal = compare(made, slow, *blobs(rng, count(300, 150), 2, 2))
    assert journal.errors.any() and not journal.errors.all()
    if changes["training"] == "all":
        assert (made.layers.status == 1).any(axis=1).all()


def test_a_plain_first_layer_keeps_its_single_rule(rng: np.random.Generator) -> None:
    made, slow = fresh_pair(2, 2, 2, training="all", plain_first=True)
    slow.layers[0].may_grow = False
    compare(made, slow, *blobs(rng, 150, 2, 2))
    assert (made.layers.status == ACTIVE).sum(axis=1)[0] == 1
    assert (made.layers.status == ACTIVE).sum(axis=1)[1] > 1


def test_learning_goes_on_past_a_merged_layer(rng: np.random.Generator) -> None:
    made, slow = fresh_pair(2, 2, 3, training="all")
    rows, labels = blobs(rng, 200, 2, 2)
    compare(made, slow, rows[:80], labels[:80])
    made.layers.is_merged[1] = slow.is_merged[1] = True
    before = made.copy().layer(1)
    compare(made, slow, rows[80:140], labels[80:140])
    for axis in (4, 5):  # what the model does with the inputs of layer 2 that came from layer 1
        decouple_input(made.layers, 2, axis, made.settings.width_floor)
        made.layer(2).input_mask[axis] = False
    slow.layers[2] = slow_copy(made.layer(2), made.settings)
    compare(made, slow, rows[140:], labels[140:])
    for name in before._fields:
        np.testing.assert_array_equal(getattr(made.layer(1), name), getattr(before, name))


def test_unlabelled_rows_move_no_votes_and_teach_nothing(rng: np.random.Generator) -> None:
    made, slow = fresh_pair(2, 2, 2, training="all")
    rows, labels = blobs(rng, 150, 2, 2)
    compare(made, slow, rows[:80], labels[:80])
    before = made.copy().layers
    journal = compare(made, slow, rows[80:110], labels[80:110], UNLABELLED)
    assert not journal.errors.any()
    np.testing.assert_array_equal(made.layers.voting_weights, before.voting_weights)
    np.testing.assert_array_equal(made.layers.consequents, before.consequents)
    compare(made, slow, rows[110:], labels[110:])


def test_the_journal_marks_the_rows_whose_label_was_taken(rng: np.random.Generator) -> None:
    made = stack(2, 2, active_learning=True, exploration=0.0, **EVENTFUL)
    rows, labels = blobs(rng, 100, 2, 2)
    journal = made.learn_rows(batch_of(rows, labels))
    assert journal.taken.sum() == made.layer().counters[USED]
    assert set(journal.taken.tolist()) == {0, 1}
    unlabelled = made.learn_rows(batch_of(rows, labels, labelled=UNLABELLED))
    assert not unlabelled.taken.any()


def test_learning_with_missing_values_equals_the_slow_stack(rng: np.random.Generator) -> None:
    made, slow = fresh_pair(3, 2, 2, training="all")
    rows, labels = blobs(rng, 150, 3, 2)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    compare(made, slow, rows, labels)


def test_a_stack_of_one_learns_like_a_layer(rng: np.random.Generator) -> None:
    rows, labels = blobs(rng, 200, 2, 2)
    as_stack, as_layer = stack(2, 2, **EVENTFUL), stack(2, 2, **EVENTFUL)
    as_stack.learn_rows(batch_of(rows, labels))
    as_layer.learn(batch_of(rows, labels))
    for name in set(as_stack.layers._fields) - {"voting_weights", "decays"}:
        np.testing.assert_array_equal(
            getattr(as_stack.layers, name), getattr(as_layer.layers, name)
        )


def test_outputs_and_errors_are_those_before_the_row_was_learned(
    rng: np.random.Generator,
) -> None:
    made = stack(2, 2, 2, **EVENTFUL)
    rows, labels = blobs(rng, 60, 2, 2)
    made.learn_rows(batch_of(rows[:50], labels[:50]))
    for row in range(50, 60):
        outputs, _ = made.forward(rows[row : row + 1])
        journal = made.learn_rows(batch_of(rows[row : row + 1], labels[row : row + 1]))
        np.testing.assert_array_equal(journal.outputs, outputs)


@pytest.mark.parametrize("consequent", ["logistic", "least_squares"])
def test_before_the_first_row_every_layer_is_undecided(consequent: str) -> None:
    made = stack(2, 4, 2, consequent=consequent, training="all")
    journal = made.learn_rows(batch_of(np.full((1, 2), 0.4), np.ones(1)))
    np.testing.assert_allclose(journal.outputs, 0.25)


def test_rows_in_one_batch_or_in_many_give_the_same_stack(rng: np.random.Generator) -> None:
    rows, labels = blobs(rng, 120, 2, 3)
    whole, parts = (stack(2, 3, 2, training="all", **EVENTFUL) for _ in range(2))
    whole.learn_rows(batch_of(rows, labels))
    for row in range(120):
        parts.learn_rows(batch_of(rows[row : row + 1], labels[row : row + 1]))
    for name in whole.layers._fields:
        np.testing.assert_array_equal(getattr(whole.layers, name), getattr(parts.layers, name))


def test_a_stack_without_room_says_so_and_stays_as_it_was(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1, 2))
    before, batch = made.copy().layers, batch_of(rng.random((3, 2)), np.zeros(3))
    journal = journal_of(3, made.shape)
    assert learn_rows(made.layers, made.settings, batch, journal, made.scratch, 0) == 0
    for name in before._fields:
        np.testing.assert_array_equal(getattr(made.layers, name), getattr(before, name))
