"""The network that expands: what belongs together, its first task, selection, and its use."""

import copy
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from den_scenes import (  # noqa: E402
    ALONE,
    DEPTHS,
    PROBE,
    check_shapes,
    chunk_of,
    grown,
    learn_second,
    learned,
    logits,
    only,
    rows_of,
    values,
)
from devfnn.baselines.networks.base import Linear  # noqa: E402
from devfnn.baselines.networks.den import DEN, NEVER, Layer  # noqa: E402


@DEPTHS
def test_a_task_uses_no_younger_units(depth):
    model = grown(depth)
    before, second = logits(model, 0), logits(model, 1)
    with torch.no_grad():
        model.heads[0].weights[:, model.layers[-1].born > 0] = 1.0
        for layer in model.layers:
            layer.weights[layer.born > 0] += 1.0
            layer.biases[layer.born > 0] -= 0.5
    assert torch.equal(logits(model, 0), before)
    assert not torch.allclose(logits(model, 1), second)


@DEPTHS
def test_older_outputs_do_not_read_younger_units(depth):
    model = grown(depth)
    born = model.layers[-1].born
    assert (born == 1).sum() > 2
    old, new = (head.weights.detach() for head in model.heads)
    assert not old[:, born == 1].any()
    assert new[:, born == 1].any()
    assert old[:, born == 0].any()


def tagged(depth, rng):
    """A network whose numbers say to which unit they belong."""
    model = DEN()
    model.n_tasks, n_inputs = 2, 3
    for _ in range(depth):
        weights = torch.from_numpy(rng.random((4, n_inputs)))
        layer = Layer.new(Linear(weights, weights.sum(dim=1)), 0)
        layer.anchor_biases = layer.biases.detach() + 100.0
        layer.anchor_weights = layer.weights.detach() + 100.0
        model.layers.append(layer)
        n_inputs = 4
    old = Linear(torch.zeros(2, 4).double(), torch.zeros(2).double())
    new = Linear(torch.from_numpy(rng.random((2, 4))).requires_grad_(), old.biases.clone())
    model.heads = [old, new]
    return model


@DEPTHS
@pytest.mark.parametrize("seed", range(6))
def test_everything_stays_aligned_when_units_come_and_go(depth, seed):
    rng = np.random.default_rng(seed)
    model = tagged(depth, rng)
    for _ in range(10):
        number = int(rng.integers(depth))
        layer = model.layers[number]
        n_inputs = layer.weights.shape[1]
        choice = rng.integers(3)
        if choice == 0:
            fresh = torch.from_numpy(rng.random((rng.integers(1, 4), n_inputs)))
            model._append(number, Layer.new(Linear(fresh, fresh.sum(dim=1)), 1))
        elif choice == 1:
            gone = (layer.born == 1) & torch.from_numpy(rng.random(layer.width) < 0.5)
            expected = layer.biases.detach()[~gone], layer.anchor_weights[~gone]
            model._delete(number, gone)
            assert torch.equal(model.layers[number].biases, expected[0])
            assert torch.equal(model.layers[number].anchor_weights, expected[1])
        else:
            old = torch.nonzero(layer.is_chosen & (layer.born == 0)).flatten()
            units = old[torch.from_numpy(rng.random(len(old)) < 0.5)]
            scores = model.task_logits(PROBE[:, :3], 1)
            anchors = layer.anchor_biases[units]
            model._split_units(number, units)
            assert torch.equal(model.layers[number].biases[units], anchors)
            assert torch.allclose(model.task_logits(PROBE[:, :3], 1), scores)
        check_shapes(model, 3)
        assert not model.heads[0].weights.any()
        assert (model.layers[-1].left == NEVER).all()


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
    assert torch.isclose(model.penalty(2.0, 0.0), squares)


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
    assert model.n_parameters == 9 * nodes + 4  # inputs and bias of each unit, two heads


@DEPTHS
def test_tasks_are_learned(depth):
    model = learned(20, depth=depth)
    X, y = rows_of(99)
    assert (model.predict(X) == y).mean() > 0.9
    learn_second(model, 20)
    assert (model.predict(X) == y).mean() < 0.1


# ---- which units a new task learns further


def test_sparse_outputs_choose_fewer_units():
    counts = []
    for head_l1 in (0.0, 1e-3, 5e-3, 1.2e-2, 1.0):
        model = learned(head_l1=head_l1, width=12, **ALONE)
        (event,) = only(learn_second(model), "UnitsSelected")
        assert (event.task, event.units, event.shrinkage) == (1, 12, head_l1)
        chosen = model.layers[0].is_chosen
        assert event.selected == chosen.sum()
        weights = model.heads[1].weights.detach()
        assert weights[:, chosen].any(dim=0).all()
        assert (weights[:, ~chosen] == 0.0).all()
        counts.append(event.selected)
    assert counts[0] == 12 > counts[-2] > 1 == counts[-1]
    assert counts == sorted(counts, reverse=True)


def test_units_that_were_not_chosen_stay_as_they_are():
    model = learned(head_l1=1.2e-2, width=12, **ALONE)
    before = model.layers[0]
    weights, biases = before.weights.detach().clone(), before.biases.detach().clone()
    learn_second(model, 3)
    layer = model.layers[0]
    assert 0 < layer.is_chosen.sum() < 12
    same = (layer.weights == weights).all(dim=1)
    assert torch.equal(same, ~layer.is_chosen)
    assert torch.equal(layer.biases == biases, ~layer.is_chosen)


def test_units_below_are_chosen_if_they_feed_those_above():
    model = learned(depth=3, width=3, **ALONE)
    model._start_task(4)
    first, second, third = model.layers
    with torch.no_grad():
        third.weights.copy_(torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]))
        second.weights.copy_(torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, -1.0], [1.0, 1.0, 1.0]]))
    model._choose(torch.tensor([True, True, False]))
    assert [layer.is_chosen.tolist() for layer in (third, second, first)] == [
        [True, True, False],
        [True, True, False],
        [False, True, True],
    ]
    before = values(model)
    model._fit(chunk_of(0), 1)
    moved = [old != new for old, new in zip(before, values(model), strict=True)]
    assert moved[0].tolist() == [[False] * 4, [True] * 4, [True] * 4]
    assert moved[2].tolist() == [[False, True, True], [False, True, True], [False] * 3]
    assert moved[3].tolist() == [True, True, False]
    assert moved[-2].tolist() == [[True, True, False]] * 2


def test_selection_learns_outputs_alone():
    model = learned(**ALONE)
    model._start_task(4)
    before = values(model)
    model._select(chunk_of(100))
    is_same = [torch.equal(*pair) for pair in zip(before, values(model), strict=True)]
    assert is_same == [True] * 4 + [False] * 2
    assert not model._optimizer.state  # momentum of the selection is gone


def test_if_no_unit_is_chosen_the_best_one_keeps_what_it_learned():
    model = learned(head_l1=1.0, **ALONE)
    model._start_task(4)
    model._select(chunk_of(100))
    weights = model.heads[1].weights.detach()
    (unit,) = torch.nonzero(weights.any(dim=0)).flatten().tolist()
    assert model.layers[0].is_chosen.tolist() == [number == unit for number in range(8)]
    assert weights.abs().max() < 0.05  # not the first weights: those were shrunk away


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
    unread = ~model.layers[0].is_chosen
    assert not model.heads[-1].weights[:, unread].any()
    for _ in range(10):
        model.learn(X, labels)
    assert set(model.classes) == {0, 1, "late"}
    chances = model.predict_proba(X)
    assert chances.shape == (len(X), 3)
    assert np.allclose(chances.sum(axis=1), 1.0)
    assert "late" in model.predict(X)
    assert logits(model, 0).shape[1] == (3 if n_before == 1 else 2)


def test_tasks_that_expand_and_split_predict():
    model = DEN(block_chunks=1, loss_limit=0.0, drift_limit=0.1, anchor=0.0)
    for seed in range(5):
        X, y = rows_of(seed, is_second=seed % 2 == 1)
        model.learn(X, y)
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.n_tasks == 3
