"""Networks that expand, for tests: tasks, chunks, and what can be asked of them. Needs PyTorch."""

import copy
import dataclasses
import functools

import numpy as np
import pytest
import torch

from devfnn.baselines.networks.den import DEN

torch.set_num_threads(1)  # such small networks gain nothing by more, which wait for each other

PROBE = torch.from_numpy(np.random.default_rng(9).random((60, 4)))
DEPTHS = pytest.mark.parametrize("depth", [1, 2, 3])
ALONE = {"loss_limit": float("inf"), "split": False}
"""No expansion and no splitting."""
LATER = {"loss_limit", "split", "group_lasso", "head_l1", "anchor", "drift_limit", "max_units"}
"""Parameters that the first task does not use."""


def rows_of(seed, is_second=False, n_rows=192):
    """Rows of one of two tasks; the second is the first with its labels flipped."""
    X = np.random.default_rng(seed).random((n_rows, 4))
    return X, ((X[:, 0] + X[:, 1] > 1.0) != is_second).astype(int)


@functools.cache
def _first_task(n_chunks, seed, parameters):
    model = DEN(seed, block_chunks=n_chunks, max_tasks=2, **dict(parameters))
    for number in range(n_chunks):
        model.learn(*rows_of(number))
    return model


def learned(n_chunks=4, seed=0, **parameters):
    """A network that knows the first task; the next chunk begins the second."""
    early = frozenset(item for item in parameters.items() if item[0] not in LATER)
    model = copy.deepcopy(_first_task(n_chunks, seed, early))
    change(model, **parameters)
    return model


def learn_second(model, n_chunks=1):
    """Events of some chunks of the second task, in one list."""
    chunks = [rows_of(100 + seed, is_second=True) for seed in range(n_chunks)]
    return [event for chunk in chunks for event in model.learn(*chunk)]


def chunk_of(seed):
    """The same rows as a network sees them inside."""
    return tuple(torch.from_numpy(part) for part in rows_of(seed, is_second=True))


def is_learning_all(model):
    """Whether the optimizer has the tensors that are there now, and no others."""
    (group,) = model._optimizer.param_groups
    return [id(tensor) for tensor in group["params"]] == [id(each) for each in model._trainable()]


def change(model, **parameters):
    model.settings = dataclasses.replace(model.settings, **parameters)


def only(events, kind):
    return [event for event in events if event.kind == kind]


def values(model):
    return [tensor.detach().clone() for tensor in model.tensors()]


def logits(model, task):
    return model.task_logits(PROBE, task).detach()


def widths(model):
    return [layer.width for layer in model.layers]


def check_shapes(model, n_inputs):
    """Everything that belongs to a unit is there, at every layer and in every head."""
    for layer in model.layers:
        assert layer.weights.shape == layer.anchor_weights.shape == (layer.width, n_inputs)
        for part in layer.parts():
            assert len(part) == layer.width
        assert layer.weights.requires_grad and layer.weights.is_leaf
        assert layer.biases.requires_grad and layer.biases.is_leaf
        n_inputs = layer.width
    for head in model.heads:
        assert head.weights.shape == (len(head.biases), n_inputs)
    assert model.heads[-1].weights.requires_grad and model.heads[-1].weights.is_leaf
    assert not any(head.weights.requires_grad for head in model.heads[:-1])


@functools.cache
def _grown(depth):
    growth = {"loss_limit": 0.0, "group_lasso": 0.0, "anchor": 0.0, "drift_limit": 0.2}
    model = learned(depth=depth, **growth)
    events = learn_second(model, 4)
    assert only(events, "UnitsAdded") and only(events, "UnitSplit")
    assert is_learning_all(model)
    return model


def grown(depth=2):
    """A network with new units and copies."""
    return copy.deepcopy(_grown(depth))
