"""The progressive network: its columns."""

import copy
import dataclasses
import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from devfnn.baselines.networks.base import one_thread  # noqa: E402
from devfnn.baselines.networks.pnn import PNN  # noqa: E402


def rows_of(seed, n_rows=320, n_features=3):
    """Rows with a linear boundary."""
    X = np.random.default_rng(seed).random((n_rows, n_features))
    return X, (X.sum(axis=1) > n_features / 2).astype(int)


def two_columns(seed=0, **parameters):
    """A network that has just begun its second column."""
    model = PNN(seed, block_chunks=1, max_tasks=2, **parameters)
    model.learn(*rows_of(0))
    X, y = rows_of(1)
    model.learn(X, 1 - y)
    return model


def bits(tensors):
    return [tensor.detach().numpy().tobytes() for tensor in tensors]


PROBE = torch.from_numpy(np.random.default_rng(9).random((40, 3)))


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_an_old_column_never_changes(optimizer):
    model = PNN(0, block_chunks=1, max_tasks=2, optimizer=optimizer)
    model.learn(*rows_of(0))
    tensors, scores = bits(model.columns[0].tensors()), bits([model.task_logits(PROBE, 0)])
    for seed in range(1, 6):  # 10 steps each
        X, y = rows_of(seed)
        model.learn(X, 1 - y)
    assert len(model.columns) == 2
    assert bits(model.columns[0].tensors()) == tensors
    assert bits([model.task_logits(PROBE, 0)]) == scores


def test_only_the_newest_column_has_gradients():
    model = two_columns()
    model.task_logits(PROBE, 1).square().sum().backward()
    assert all(tensor.grad is None for tensor in model.columns[0].tensors())
    assert all(tensor.grad.abs().sum() > 0 for tensor in model.columns[1].tensors())


def test_a_column_reads_those_before_it():
    model = two_columns()
    before = model.task_logits(PROBE, 1)
    cut, moved = copy.deepcopy(model), copy.deepcopy(model)
    with torch.no_grad():
        for adapter in cut.columns[1].adapters:
            adapter.outputs.zero_()
        moved.columns[0].layers[1].weights += 0.5
    assert (cut.task_logits(PROBE, 1) - before).abs().max() > 1e-6
    assert (moved.task_logits(PROBE, 1) - before).abs().max() > 1e-6
    with torch.no_grad():
        for each in (model, moved):
            for adapter in each.columns[1].adapters:
                adapter.scales.zero_()
                adapter.bias.zero_()
    assert torch.equal(model.task_logits(PROBE, 1), moved.task_logits(PROBE, 1))
    with torch.no_grad():
        for adapter in model.columns[1].adapters:
            adapter.outputs.zero_()
    assert torch.equal(model.task_logits(PROBE, 1), moved.task_logits(PROBE, 1))


@functools.cache
def one_column(seed):
    """A network that knows a task well."""
    model = PNN(seed, max_tasks=2, batch_rows=320, epochs=600)
    model.learn(*rows_of(seed))
    return model


@one_thread()
def steps_to_flip(seed, is_cut):
    """Steps that a new column takes until it knows that the labels are flipped."""
    X, y = rows_of(seed)
    model = copy.deepcopy(one_column(seed))
    model.settings = dataclasses.replace(model.settings, epochs=1)
    model._start_task(3)
    if is_cut:
        cut_laterals(model)
    inputs, targets = torch.from_numpy(X), torch.from_numpy(1 - y)
    for step in range(1, 1000):
        model._train(inputs, targets)
        scores = model.task_logits(inputs, 1)
        if torch.nn.functional.cross_entropy(scores, targets) < 0.3:
            return step
    return 1000


def cut_laterals(model):
    """Let the newest column stand alone."""
    for adapter in model.columns[1].adapters:
        adapter.outputs.requires_grad_(False)
        adapter.outputs.zero_()


def test_a_flipped_task_is_learned_faster_with_the_columns_before():
    joined = [steps_to_flip(seed, is_cut=False) for seed in range(2)]
    alone = [steps_to_flip(seed, is_cut=True) for seed in range(2)]
    assert np.mean(joined) < np.mean(alone) < 1000


@pytest.mark.parametrize(
    ("n_features", "nodes", "parameters"),
    [(3, 11, 288), (4, 14, 467), (8, 26, 1623), (41, 125, 38022)],
)
def test_nodes_are_those_of_the_table(n_features, nodes, parameters):
    model = PNN(block_chunks=1)
    for number in range(1, 5):
        model.learn(*rows_of(number, 40, n_features))
        assert model.n_rules == nodes * min(number, 3)
    assert model.n_layers == 3
    assert model.n_parameters == parameters


@pytest.mark.parametrize(("stream", "n_features", "n_classes"), [("susy", 18, 2), ("rfid", 3, 4)])
def test_streams_that_break_the_formula_have_30_nodes(stream, n_features, n_classes):
    model = PNN(stream=stream, block_chunks=1, classes=range(n_classes))
    for seed in range(3):
        model.learn(*rows_of(seed, 40, n_features))
    assert (model.n_rules, model.n_layers) == (30, 3)


def test_the_second_reading_is_one_network_of_as_many_nodes():
    model = PNN(reading="B", block_chunks=1)
    for seed in range(3):
        model.learn(*rows_of(seed))
    assert (model.n_rules, model.n_tasks, model.size.width) == (33, 1, 11)
