"""The network that expands: what belongs together, its first task, and how it is used."""

import copy
import pickle

import numpy as np
import pytest

from devfnn.errors import InputError, NotLearnedError

torch = pytest.importorskip("torch")

from den_scenes import (  # noqa: E402
    ALONE,
    DEPTHS,
    PROBE,
    check_shapes,
    grown,
    learn_second,
    learned,
    logits,
    only,
    rows_of,
    values,
)
from devfnn.baselines.networks.den import DEN  # noqa: E402
from devfnn.baselines.networks.den_units import NEVER, Body, Head, Layer  # noqa: E402


@DEPTHS
def test_a_task_uses_no_younger_units(depth):
    model = grown(depth)
    before, second = logits(model, 0), logits(model, 1)
    with torch.no_grad():
        model.body.heads[0].weights[:, model.body.layers[-1].born > 0] = 1.0
        for layer in model.body.layers:
            layer.weights[layer.born > 0] += 1.0
            layer.biases[layer.born > 0] -= 0.5
    assert torch.equal(logits(model, 0), before)
    assert not torch.allclose(logits(model, 1), second)


@DEPTHS
def test_older_outputs_do_not_read_younger_units(depth):
    model = grown(depth)
    born = model.body.layers[-1].born
    assert (born == 1).sum() > 2
    old, new = (head.weights.detach() for head in model.body.heads)
    assert not old[:, born == 1].any()
    assert new[:, born == 1].any()
    assert old[:, born == 0].any()


def tagged(depth, rng):
    """A body whose numbers say to which unit they belong."""
    body = Body()
    n_inputs = 3
    for _ in range(depth):
        weights = torch.from_numpy(rng.random((4, n_inputs)))
        layer = Layer.new(weights, weights.sum(dim=1), 0)
        layer.anchor_biases = layer.biases.detach() + 100.0
        layer.anchor_weights = layer.weights.detach() + 100.0
        body.layers.append(layer)
        n_inputs = 4
    old = Head(torch.zeros(2, 4).double(), torch.zeros(2).double())
    new = Head(torch.from_numpy(rng.random((2, 4))).requires_grad_(), old.biases.clone())
    body.heads = [old, new]
    return body


@DEPTHS
@pytest.mark.parametrize("seed", range(6))
def test_everything_stays_aligned_when_units_come_and_go(depth, seed):
    rng = np.random.default_rng(seed)
    body = tagged(depth, rng)
    for _ in range(10):
        number = int(rng.integers(depth))
        layer = body.layers[number]
        n_inputs = layer.weights.shape[1]
        choice = rng.integers(3)
        if choice == 0:
            fresh = torch.from_numpy(rng.random((rng.integers(1, 4), n_inputs)))
            body.append(number, Layer.new(fresh, fresh.sum(dim=1), 1))
        elif choice == 1:
            gone = (layer.born == 1) & torch.from_numpy(rng.random(layer.width) < 0.5)
            expected = layer.biases.detach()[~gone], layer.anchor_weights[~gone]
            body.delete(number, gone, torch.zeros_like)
            assert torch.equal(body.layers[number].biases, expected[0])
            assert torch.equal(body.layers[number].anchor_weights, expected[1])
        else:
            old = torch.nonzero(layer.is_chosen & (layer.born == 0)).flatten()
            units = old[torch.from_numpy(rng.random(len(old)) < 0.5)]
            scores = body.logits(PROBE[:, :3], 1, torch.tanh)
            anchors = layer.anchor_biases[units]
            body.split(number, units, 1)
            assert torch.equal(body.layers[number].biases[units], anchors)
            assert torch.allclose(body.logits(PROBE[:, :3], 1, torch.tanh), scores)
        check_shapes(body, 3)
        assert not body.heads[0].weights.any()
        assert (body.layers[-1].left == NEVER).all()


# ---- the first task


def test_the_first_task_is_sparse():
    plain, sparse = learned(weight_l1=0.0), learned(weight_l1=5e-3)
    for index in (0, 2):
        assert not (values(plain)[index] == 0.0).any()
        assert (values(sparse)[index] == 0.0).any()
    assert values(sparse)[1].all()  # biases are not shrunk


def test_large_weights_cost():
    norms = [values(learned(l2=l2))[0].norm().item() for l2 in (0.0, 0.01, 0.1)]
    assert norms[0] > norms[1] > norms[2]
    model = learned(depth=2)
    squares = sum(tensor.detach().square().sum() for tensor in model._trainable()[::2])
    assert torch.isclose(model.body.penalty(2.0, 0.0), squares)


def test_the_first_chunk_of_a_task_is_learned_longer():
    model, steps = DEN(block_chunks=2, max_tasks=2, inner_epochs=3, **ALONE), []
    model._step = lambda *given: (steps.append(1), DEN._step(model, *given))
    counts = []
    for seed in range(4):
        steps.clear()
        model.learn(*rows_of(seed))
        counts.append(len(steps))
    assert counts == [18, 6, 36, 6]  # the third: outputs, then units


@pytest.mark.parametrize(("stream", "nodes"), [(None, 8), ("weather", 10), ("rfid", 8)])
def test_nodes_are_those_of_the_table(stream, nodes):
    model = learned(1, stream=stream, **ALONE)
    assert (model.n_rules, model.n_layers) == (nodes, 1)
    learn_second(model)
    assert (model.n_rules, model.n_tasks) == (nodes, 2)
    assert model.n_parameters == model._count(model.size, 4, 2)


@DEPTHS
def test_tasks_are_learned(depth):
    model = learned(20, depth=depth)
    X, y = rows_of(99)
    assert (model.predict(X) == y).mean() > 0.9
    learn_second(model, 20)
    assert (model.predict(X) == y).mean() < 0.1


# ---- use


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_the_seed_decides_and_a_copy_goes_on_alone(optimizer):
    parameters = {"optimizer": optimizer, "loss_limit": 0.0, "drift_limit": 0.1, "anchor": 0.0}
    first, second, other = (learned(seed=seed, **parameters) for seed in (1, 1, 2))
    state = torch.random.get_rng_state()
    for model in (first, second, other):
        learn_second(model, 2)
    before = first.predict_proba(PROBE.numpy())
    assert np.array_equal(before, second.predict_proba(PROBE.numpy()))
    assert not np.array_equal(before, other.predict_proba(PROBE.numpy()))
    again = pickle.loads(pickle.dumps(first))
    learn_second(copy.deepcopy(first))
    assert np.array_equal(first.predict_proba(PROBE.numpy()), before)
    assert learn_second(first, 3) == learn_second(again, 3)
    assert np.array_equal(first.predict_proba(PROBE.numpy()), again.predict_proba(PROBE.numpy()))
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("n_before", [1, 2, 3])
def test_a_class_may_come_later(n_before):
    model = DEN(block_chunks=2, max_tasks=2, head_l1=1.2e-2, width=12)
    for seed in range(n_before):
        model.learn(*rows_of(seed))
    X, y = rows_of(50)
    labels = ["late" if row[2] > 0.8 else int(label) for row, label in zip(X, y, strict=True)]
    assert only(model.learn(X, labels), "ClassAdded")
    unread = ~model.body.layers[0].is_chosen
    assert not model.body.heads[-1].weights[:, unread].any()
    for _ in range(10):
        model.learn(X, labels)
    assert set(model.classes) == {0, 1, "late"}
    chances = model.predict_proba(X)
    assert chances.shape == (len(X), 3)
    assert np.allclose(chances.sum(axis=1), 1.0)
    assert "late" in model.predict(X)
    assert logits(model, 0).shape[1] == (3 if n_before == 1 else 2)


def test_a_refused_call_changes_nothing():
    with pytest.raises(NotLearnedError):
        DEN().predict([[1.0]])
    model = grown()
    X, y = rows_of(0)
    state = pickle.dumps(model)
    bad = X.copy()
    bad[3, 1] = np.nan
    for rows, labels in [(bad, y), (X, y[:-1]), (X[:, :2], y), (X, [None, *y[1:]])]:
        with pytest.raises(InputError):
            model.learn(rows, labels)
    assert model.learn(X[:0], []) == []
    assert pickle.dumps(model) == state


@pytest.mark.parametrize(
    "parameters",
    [
        {"head_l1": -0.1},
        {"expand_if": "never"},
        {"new_units": -1},
        {"loss_limit": float("nan")},
        {"drift_limit": -1.0},
        {"max_units": 0},
        {"inner_epochs": 0},
        {"gamma": 1.0},
    ],
)
def test_parameters_are_checked(parameters):
    with pytest.raises(InputError):
        DEN(**parameters)


@pytest.mark.parametrize("choice", ["latest", "best_prev", "entropy"])
def test_any_task_may_predict(choice):
    model = DEN(policy="chunk", choice=choice, loss_limit=0.0, drift_limit=0.1, anchor=0.0)
    for seed in range(5):
        X, y = rows_of(seed, is_second=seed % 2 == 1)
        model.learn(X, y)
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.n_tasks == 3
