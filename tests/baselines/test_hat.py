"""Hard attention to the task."""

import copy
import dataclasses
import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from devfnn.baselines.networks.base import Batch  # noqa: E402
from devfnn.baselines.networks.hat import HAT, LIMIT, compensation, slope  # noqa: E402

PROBE = torch.from_numpy(np.random.default_rng(9).random((60, 4)))


def rows_of(seed, is_second=False, n_rows=320):
    """Rows of one of two tasks."""
    X = np.random.default_rng(seed).random((n_rows, 4))
    first, second = X[:, 0] + X[:, 1] > 1.0, X[:, 2] > X[:, 3]
    return X, (second if is_second else first).astype(int)


@functools.cache
def _first_task(parameters):
    model = HAT(block_chunks=20, max_tasks=2, **{"width": 10} | dict(parameters))
    for seed in range(20):
        model.learn(*rows_of(seed))
    return model


def learned(**parameters):
    """A network that knows the first task; the next chunk begins the second."""
    return copy.deepcopy(_first_task(frozenset(parameters.items())))


def learn_second(model, n_chunks=10):
    for seed in range(n_chunks):
        model.learn(*rows_of(100 + seed, is_second=True))


def change_of_first_task(**parameters):
    """How far the scores of the first task move while the second is learned."""
    model = learned(**parameters)
    model._start_task(4)
    before = model.task_logits(PROBE, 0).detach()
    learn_second(model)
    assert model.n_tasks == 2
    return (model.task_logits(PROBE, 0) - before).abs().max().item()


@pytest.mark.parametrize("sharpness", [25.0, 50.0, 400.0])
def test_gates_harden_within_an_epoch(sharpness):
    slopes = [slope(number, 16, sharpness) for number in range(16)]
    assert slopes[0] == 1.0 / sharpness
    assert slopes[-1] == sharpness
    assert (np.diff(slopes) > 0.0).all()
    assert slope(0, 1, sharpness) == sharpness


def test_gates_are_almost_hard_after_a_task_and_quite_hard_when_it_is_finished():
    model = learned()
    soft = torch.cat(model.tasks[0].masks(50.0))
    assert ((soft <= 0.01) | (soft >= 0.99)).double().mean() >= 0.9
    model._start_task(4)
    masks, embeddings = torch.cat(model.tasks[0].masks(50.0)), model.tasks[0].embeddings
    assert ((masks == 0.0) | (masks == 1.0)).all()
    assert torch.equal(masks, (soft > 0.5).double())
    assert (torch.cat(embeddings).abs() == LIMIT).all()
    assert torch.equal(torch.cat(model.used), masks)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_finished_task_is_never_forgotten(optimizer):
    assert change_of_first_task(optimizer=optimizer) == 0.0


def test_soft_gates_do_not_protect_from_adam():
    assert change_of_first_task(optimizer="adam", hard=False) > 1e-3


def test_weights_between_used_units_stay_and_others_move():
    model = learned()
    model._start_task(4)
    before = [tensor.detach().clone() for tensor in model._parts()[0]]
    learn_second(model)
    after = [tensor.detach() for tensor in model._parts()[0]]
    first, second = (used.bool() for used in model.used)
    assert first.any() and second.any() and not (first.all() and second.all())
    kept = [first[:, None].expand(10, 4), second[:, None] & first[None, :], first, second]
    for old, new, is_kept in zip(before, after, kept, strict=True):
        assert torch.equal(old[is_kept], new[is_kept])
    is_free = ~torch.cat([mask.flatten() for mask in kept])
    moved = torch.cat([(old != new).flatten() for old, new in zip(before, after, strict=True)])
    assert moved[is_free].any()


def test_a_free_pair_of_units_moves():
    model = learned()
    model._start_task(4)
    model.used = [torch.zeros(10, dtype=torch.float64) for _ in range(2)]
    model.used[0][:5] = model.used[1][:5] = 1.0
    before = model.layers[1].weights.detach().clone()
    learn_second(model, 1)
    is_same = before == model.layers[1].weights.detach()
    assert is_same[:5, :5].all()
    assert not is_same[5:, 5:].any()


@pytest.mark.parametrize("steepness", [0.02, 1.0, 10.0])
def test_the_compensated_gradient_is_that_of_slope_one(steepness):
    sharpness, step = 50.0, 1e-6
    embedding = torch.linspace(-1.5, 1.5, 7, dtype=torch.float64).requires_grad_()
    torch.sigmoid(steepness * embedding).sum().backward()
    values = embedding.detach()
    compensated = embedding.grad * compensation(values, steepness, sharpness)
    rises = torch.sigmoid(values + step) - torch.sigmoid(values - step)
    assert torch.allclose(compensated, sharpness * rises / (2.0 * step), rtol=1e-5)


def test_the_compensation_stays_finite():
    ends = torch.tensor([-LIMIT, 0.0, LIMIT], dtype=torch.float64)
    for steepness in (1.0 / 400.0, 400.0):
        assert torch.isfinite(compensation(ends, steepness, 400.0)).all()


def test_a_full_network_learns_only_gates_and_outputs():
    model = learned()
    for embedding in model.tasks[0].embeddings:
        embedding.detach().fill_(1.0)
    X, y = rows_of(100, is_second=True)
    shared = model._parts()[0]
    before = [tensor.detach().clone() for tensor in shared]
    assert [event.kind for event in model.learn(X, y)] == ["TaskStarted", "MaskSaturated"]
    assert model.n_free == 0.0
    own = [tensor.detach().clone() for tensor in model.tasks[1].tensors()]
    batch = Batch(torch.from_numpy(X), torch.from_numpy(y), 3, 10)
    assert torch.isfinite(model._loss(batch))
    learn_second(model, 3)
    assert all(torch.equal(old, new) for old, new in zip(before, shared, strict=True))
    pairs = zip(own, model.tasks[1].tensors(), strict=True)
    assert not any(torch.equal(old, new) for old, new in pairs)


@pytest.mark.parametrize("hard", [True, False])
def test_what_is_used_only_grows(hard):
    model = HAT(block_chunks=1, max_tasks=6, hard=hard)
    before = None
    for seed in range(8):
        model.learn(*rows_of(seed, is_second=seed % 2 == 1))
        after = torch.cat(model.used)
        assert before is None or (after >= before).all()
        before = after
    assert before.sum() > 0.0


def test_punished_use_is_less():
    shares = []
    for sparsity in (0.0, 0.1, 1.0):
        model = learned(sparsity=sparsity)
        shares.append(torch.cat(model.tasks[0].masks(50.0)).mean().item())
    assert shares[0] > shares[1] > shares[2]


def test_use_is_punished_by_the_share_of_free_units():
    model = learned()
    model._start_task(4)
    X, y = rows_of(0)
    batch = Batch(torch.from_numpy(X), torch.from_numpy(y), 2, 10)
    full = model._loss(batch)
    model.settings = dataclasses.replace(model.settings, sparsity=0.0)
    masks = torch.cat(model.tasks[1].masks(slope(2, 10, 50.0)))
    free = 1.0 - torch.cat(model.used)
    expected = 0.1 * (masks * free).sum() / free.sum()
    assert torch.isclose(full - model._loss(batch), expected)


def test_a_layer_that_has_shut_is_opened_again():
    parameters = {"sparsity": 1000.0, "learning_rate": 0.1, "classes": (0, 1)}
    shut, model = HAT(redraw=False, **parameters), HAT(**parameters)
    X, y = rows_of(0, n_rows=3200)
    assert shut.learn(X, y) == []
    assert all((embedding <= 0.0).all() for embedding in shut.tasks[0].embeddings)
    assert [event.kind for event in model.learn(X, y)] == ["GatesRedrawn"] * 2
    assert all((embedding >= 0.0).all() for embedding in model.tasks[0].embeddings)
    assert model.learn(X[:32], y[:32]) == []  # the momentum that shut them is gone


def test_the_published_numbers_can_be_asked_for():
    model = HAT(official=True, sharpness=100.0)
    for seed in range(5):
        model.learn(*rows_of(seed))
    given = model.settings
    assert (given.sharpness, given.sparsity, given.step) == (100.0, 0.75, 0.05)
    assert np.isfinite(model.predict_proba(PROBE.numpy())).all()


@pytest.mark.parametrize(
    ("n_features", "nodes", "parameters"), [(3, 10, 116), (4, 12, 150), (8, 20, 326)]
)
def test_nodes_are_those_of_the_table(n_features, nodes, parameters):
    model = HAT(block_chunks=1)
    for seed in range(3):
        X = np.random.default_rng(seed).random((40, n_features))
        model.learn(X, X[:, 0] > 0.5)
        assert (model.n_rules, model.n_layers) == (nodes, 2)
    assert model.n_parameters == parameters


@pytest.mark.parametrize(("stream", "nodes"), [("susy", 20), ("rfid", 20), ("kdd", 60)])
def test_nodes_of_listed_streams(stream, nodes):
    model = HAT(stream=stream)
    model.learn(*rows_of(0))
    assert model.n_rules == nodes


def test_a_task_is_learned():
    model = learned(width=6)
    X, y = rows_of(99)
    assert (model.predict(X) == y).mean() > 0.9
