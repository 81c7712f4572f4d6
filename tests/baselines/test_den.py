"""The network that expands."""

import copy
import dataclasses
import functools
import pickle

import numpy as np
import pytest

from devfnn.errors import InputError, NotLearnedError

torch = pytest.importorskip("torch")

from devfnn.baselines.networks.den import DEN  # noqa: E402
from devfnn.baselines.networks.den_units import (  # noqa: E402
    NEVER,
    Body,
    Head,
    Layer,
    Stage,
    shrunk_rows,
)

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
    return [layer.width for layer in model.body.layers]


def check_shapes(body, n_inputs):
    """Everything that belongs to a unit is there, at every layer and in every head."""
    for layer in body.layers:
        assert layer.weights.shape == layer.anchor_weights.shape == (layer.width, n_inputs)
        for part in layer.parts():
            assert len(part) == layer.width
        assert layer.weights.requires_grad and layer.weights.is_leaf
        assert layer.biases.requires_grad and layer.biases.is_leaf
        n_inputs = layer.width
    for head in body.heads:
        assert head.weights.shape == (len(head.biases), n_inputs)
    assert body.heads[-1].weights.requires_grad and body.heads[-1].weights.is_leaf
    assert not any(head.weights.requires_grad for head in body.heads[:-1])


# ---- expansion


@DEPTHS
def test_units_are_added_if_and_only_if_the_loss_is_above_its_limit(depth):
    start = learned(depth=depth, split=False, loss_limit=0.0, group_lasso=0.0)
    model = copy.deepcopy(start)
    (event,) = only(learn_second(model), "UnitsAdded")
    assert (event.task, event.limit, event.added, event.kept) == (1, 0.0, 2 * depth, 2 * depth)
    assert widths(model) == [10] * depth
    for limit, width in [(event.loss - 1e-9, 10), (event.loss, 8), (float("inf"), 8)]:
        model = copy.deepcopy(start)
        change(model, loss_limit=limit)
        events = learn_second(model)
        assert len(only(events, "UnitsAdded")) == (width == 10)
        assert widths(model) == [width] * depth
    assert model._loss_of(chunk_of(100)) == pytest.approx(event.loss)
    change(start, loss_limit=0.0, new_units=0)
    assert not only(learn_second(start), "UnitsAdded")


@DEPTHS
def test_useless_new_units_are_deleted(depth):
    model = learned(depth=depth, split=False, loss_limit=0.0, group_lasso=1e3)
    (event,) = only(learn_second(model), "UnitsAdded")
    assert (event.added, event.kept) == (2 * depth, 0)
    assert widths(model) == [8] * depth
    check_shapes(model.body, 4)
    assert is_learning_all(model)
    learn_second(model, 2)


def test_only_zero_groups_are_deleted_and_the_scores_stay():
    model = learned(depth=2, split=False, loss_limit=0.0, group_lasso=0.0)
    learn_second(model)
    with torch.no_grad():
        model.body.layers[0].weights[9] = 0.0
        model.body.layers[1].weights[8] = 0.0
        model.body.layers[1].weights[3] = 0.0  # an old unit
    kept = model.body.layers[1].weights.detach()[[*range(8), 9]][:, :9]
    before = [logits(model, task) for task in (0, 1)]
    assert model._delete_useless([2, 2]) == 2
    assert widths(model) == [9, 9]
    assert torch.equal(model.body.layers[1].weights.detach(), kept)
    for task in (0, 1):
        assert torch.allclose(logits(model, task), before[task], atol=1e-12)


def test_a_relative_limit_is_a_multiple_of_the_last_loss_of_the_task_before():
    start = learned(expand_if="relative", loss_limit=0.0)
    X, y = rows_of(3)
    last = start._loss_of((torch.from_numpy(X), torch.from_numpy(y)))
    for ratio, n_events in [(0.5, 1), (1000.0, 0)]:
        model = copy.deepcopy(start)
        change(model, loss_ratio=ratio)
        events = only(learn_second(model), "UnitsAdded")
        assert len(events) == n_events
        assert all(event.limit == pytest.approx(ratio * last) for event in events)


@DEPTHS
def test_an_expansion_changes_nothing_but_new_units_and_the_newest_outputs(depth):
    model = learned(depth=depth, **ALONE)
    learn_second(model)
    before, chosen = values(model), model.body.layers[-1].is_chosen.clone()
    chosen[0] = False
    model.body.layers[-1].is_chosen = chosen
    change(model, loss_limit=0.0, group_lasso=0.0)
    model._expand(chunk_of(100))
    after = values(model)
    for old, new in zip(before[: 2 * depth], after[: 2 * depth], strict=True):
        assert torch.equal(new[tuple(slice(size) for size in old.shape)], old)
    for layer in model.body.layers[1:]:
        assert not layer.weights[:8, 8:].any()  # old units do not read new ones
        assert layer.weights[8:, 8:].all()
    assert torch.equal(after[2 * depth][:, :8], before[2 * depth])
    assert torch.equal(after[-2][:, 0], before[-2][:, 0])
    assert not torch.equal(after[-2][:, 1:8], before[-2][:, 1:])


def test_new_units_are_sparse_and_are_read_at_once():
    model = learned(split=False, new_units=3, group_lasso=0.0, loss_limit=0.0)
    expanded = copy.deepcopy(model)
    expanded._start_task(4)
    expanded._add_units([3])
    assert expanded.body.heads[1].weights[:, 8:].all()
    for weight_l1, is_sparse in [(0.0, False), (1e-2, True)]:
        again = copy.deepcopy(model)
        change(again, weight_l1=weight_l1)
        learn_second(again)
        assert (again.body.layers[0].weights[8:] == 0.0).any() == is_sparse
        assert (again.body.heads[1].weights[:, 8:] == 0.0).any() == is_sparse
        assert again.body.layers[0].weights[:8].all()


def test_new_units_are_shrunk_as_groups():
    lengths = []
    for group_lasso in (0.0, 0.001, 0.003):
        model = learned(split=False, loss_limit=0.0, group_lasso=group_lasso)
        learn_second(model)
        lengths.append(model.body.layers[0].weights[8:].norm().item())
    assert lengths[0] > lengths[1] > lengths[2]
    rows = torch.tensor([[3.0, 4.0], [0.0, 0.0], [0.3, 0.4]], dtype=torch.float64)
    expected = torch.tensor([[2.7, 3.6], [0.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    assert torch.allclose(shrunk_rows(rows, 0.5), expected)
    assert not shrunk_rows(rows, 0.5)[1:].any()


def test_units_are_added_at_every_chunk_if_asked():
    parameters = {"split": False, "loss_limit": 0.0, "group_lasso": 0.0}
    for every, n_events in [(False, 1), (True, 4)]:
        model = learned(expand_every_chunk=every, **parameters)
        assert model.n_rules == 8
        assert len(only(learn_second(model, 4), "UnitsAdded")) == n_events
        assert model.n_rules == 8 + 2 * n_events


@pytest.mark.parametrize(("width", "max_units", "cap"), [(4, 7, 7), (2, None, 8), (4, 3, 4)])
def test_no_layer_grows_beyond_its_cap(width, max_units, cap):
    growth = {"new_units": 3, "loss_limit": 0.0, "group_lasso": 0.0, "expand_every_chunk": True}
    drift = {"anchor": 0.0, "drift_limit": 0.05}
    model = learned(width=width, depth=2, max_units=max_units, **growth, **drift)
    for _ in range(4):
        learn_second(model)
        assert max(widths(model)) <= cap
    assert widths(model) == [cap, cap]
    model = learned(width=width, depth=2, max_units=max_units, loss_limit=float("inf"), **drift)
    learn_second(model, 6)
    assert max(widths(model)) <= cap
    assert max_units == 3 or max(widths(model)) > width


# ---- selection


def test_sparse_outputs_choose_fewer_units():
    counts = []
    for head_l1 in (0.0, 1e-3, 5e-3, 1.2e-2, 1.0):
        model = learned(head_l1=head_l1, width=12, **ALONE)
        (event,) = only(learn_second(model), "UnitsSelected")
        assert (event.task, event.units, event.shrinkage) == (1, 12, head_l1)
        chosen = model.body.layers[0].is_chosen
        assert event.selected == chosen.sum()
        weights = model.body.heads[1].weights.detach()
        assert weights[:, chosen].any(dim=0).all()
        assert (weights[:, ~chosen] == 0.0).all()
        counts.append(event.selected)
    assert counts[0] == 12 > counts[-2] > 1 == counts[-1]
    assert counts == sorted(counts, reverse=True)


def test_units_that_were_not_chosen_stay_as_they_are():
    model = learned(head_l1=1.2e-2, width=12, **ALONE)
    before = model.body.layers[0]
    weights, biases = before.weights.detach().clone(), before.biases.detach().clone()
    learn_second(model, 3)
    layer = model.body.layers[0]
    assert 0 < layer.is_chosen.sum() < 12
    same = (layer.weights == weights).all(dim=1)
    assert torch.equal(same, ~layer.is_chosen)
    assert torch.equal(layer.biases == biases, ~layer.is_chosen)


def test_units_below_are_chosen_if_they_feed_those_above():
    model = learned(depth=3, width=3, **ALONE)
    model._start_task(4)
    first, second, third = model.body.layers
    with torch.no_grad():
        third.weights.copy_(torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]))
        second.weights.copy_(torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, -1.0], [1.0, 1.0, 1.0]]))
    model.body.choose(torch.tensor([True, True, False]))
    assert [layer.is_chosen.tolist() for layer in (third, second, first)] == [
        [True, True, False],
        [True, True, False],
        [False, True, True],
    ]
    before = values(model)
    model._fit(chunk_of(0), model.body.chosen_entries(), 1)
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
    weights = model.body.heads[1].weights.detach()
    (unit,) = torch.nonzero(weights.any(dim=0)).flatten().tolist()
    assert model.body.layers[0].is_chosen.tolist() == [number == unit for number in range(8)]
    assert weights.abs().max() < 0.05  # not the first weights: those were shrunk away


def test_what_is_not_free_is_given_back_after_steps_with_momentum():
    tensor = torch.ones(4, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([tensor], lr=0.1)
    is_free = torch.tensor([True, False, True, False])
    tensor.sum().backward()
    optimizer.step()
    stage, before = Stage([tensor], [is_free]), tensor.detach().clone()
    for _ in range(3):
        tensor.grad.zero_()
        optimizer.step()
        assert not (tensor == before).any()
        stage.settle()
        assert torch.equal(tensor == before, ~is_free)


# ---- splitting


def drifted(depth=1, **parameters):
    """A network whose units have moved in the second task, and were not split yet."""
    model = learned(depth=depth, anchor=0.0, **ALONE | parameters)
    first = logits(model, 0)
    learn_second(model, 3)
    return model, first


@DEPTHS
def test_units_that_moved_too_far_are_split(depth):
    model, _ = drifted(depth)
    drifts = [model.body.drifts(number, 1) for number in range(depth)]
    anchors = [layer.anchor_weights for layer in model.body.layers]
    moved = [layer.weights.detach() for layer in model.body.layers]
    limit = torch.cat(drifts).median().item()
    before, scores = copy.deepcopy(model.body), logits(model, 1)
    change(model, drift_limit=limit)
    assert model._split()
    events = model._end_chunk()
    assert len(events) == 4 * depth
    for number, layer in enumerate(model.body.layers):
        mine = [event for event in events if event.layer == number]
        units = torch.tensor([event.unit for event in mine], dtype=torch.int64)
        copies = torch.tensor([event.copy for event in mine], dtype=torch.int64)
        assert units.tolist() == torch.nonzero(drifts[number] > limit).flatten().tolist()
        assert copies.tolist() == list(range(8, layer.width))
        assert all(event.drift > event.limit == limit for event in mine)
        weights, biases, n_old = (
            layer.weights.detach(),
            layer.biases.detach(),
            len(anchors[number].T),
        )
        assert torch.equal(weights[units][:, :n_old], anchors[number][units])
        assert torch.equal(weights[copies][:, :n_old], moved[number][units])
        assert torch.equal(biases[units], before.layers[number].anchor_biases[units])
        assert torch.equal(biases[copies], before.layers[number].biases.detach()[units])
        assert (layer.born[:8] == 0).all() and (layer.born[8:] == 1).all()
        others = [unit for unit in range(8) if unit not in units]
        assert torch.equal(weights[others][:, :n_old], moved[number][others])
    units = torch.tensor([event.unit for event in mine], dtype=torch.int64)
    head = model.body.heads[1].weights.detach()
    assert not head[:, units].any()
    assert torch.equal(head[:, 8:], before.heads[1].weights.detach()[:, units])
    assert (logits(model, 1) - scores).abs().max() < 1e-6
    check_shapes(model.body, 4)


@DEPTHS
def test_old_tasks_get_their_scores_back_if_every_unit_is_split(depth):
    model, first = drifted(depth)
    assert (logits(model, 0) - first).abs().max() > 0.01
    second = logits(model, 1)
    change(model, drift_limit=0.0)
    assert model._split()
    assert widths(model) == [16] * depth
    assert torch.allclose(logits(model, 0), first, atol=1e-12)
    assert torch.allclose(logits(model, 1), second, atol=1e-6)
    change(model, split=True)
    learn_second(model, 3)
    assert torch.allclose(logits(model, 0), first, atol=1e-12)
    assert widths(model) == [16] * depth  # a unit is split once in a task


def test_a_split_below_does_not_change_what_moved_above():
    model, _ = drifted(2)
    before = model.body.drifts(1, 1)
    model.body.split(0, torch.arange(8), 1)
    assert torch.allclose(model.body.drifts(1, 1), before)


def test_units_that_a_copy_replaced_are_not_chosen_again():
    model = grown(2)
    model._start_task(4)
    first, top = model.body.layers
    model.body.choose(torch.ones(top.width, dtype=torch.bool))
    assert (first.left == 1).any()
    assert torch.equal(first.is_chosen, first.left == NEVER)


def test_the_farthest_are_split_if_there_is_not_room_for_all():
    model, _ = drifted()
    drifts = model.body.drifts(0, 1)
    change(model, drift_limit=0.0, max_units=11)
    model._split()
    split = {event.unit for event in model._end_chunk()}
    assert split == set(drifts.argsort(descending=True)[:3].tolist())


def test_units_are_split_while_a_stream_is_learned():
    parameters = {"anchor": 0.0, "drift_limit": 0.3, "loss_limit": float("inf")}
    model = learned(**parameters)
    steps = []
    model._step = lambda *given: (steps.append(1), DEN._step(model, *given))
    counts = []
    for seed in range(6):
        steps.clear()
        events = model.learn(*rows_of(200 + seed, is_second=True))
        n_split = len(only(events, "UnitSplit"))
        counts.append(n_split)
        if seed:  # 6 steps for a chunk; those after a split learn it again
            assert len(steps) == (12 if n_split else 6)
    assert sum(counts) == model.n_rules - 8 > 0
    assert sum(counts[1:]) > 0
    assert not only(learn_second(learned(**parameters, split=False), 6), "UnitSplit")


def test_anchors_hold_units_back():
    moves = []
    for anchor in (0.0, 0.005, 0.5):
        model = learned(anchor=anchor, **ALONE)
        learn_second(model, 3)
        moves.append(model.body.drifts(0, 1).max().item())
    assert moves[0] > moves[1] > 2.0 * moves[2]


def test_anchors_hold_only_what_finished_tasks_learned():
    model = learned(depth=2, split=False, loss_limit=0.0, group_lasso=0.0)
    assert model.body.penalty(0.0, 1.0) == 0.0
    learn_second(model)
    for layer in model.body.layers:
        layer.drop_anchor()
    with torch.no_grad():
        model.body.layers[0].weights[8:] += 1.0
        model.body.layers[1].weights[:, 8:] += 1.0
        model.body.layers[1].biases[8:] += 1.0
        assert model.body.penalty(0.0, 1.0) == 0.0
        model.body.layers[1].weights[2, 3] += 2.0
        model.body.layers[0].biases[1] += 4.0
        assert model.body.penalty(0.0, 0.5) == pytest.approx(0.25 * (4.0 + 16.0))


# ---- stamps, heads and the alignment of everything


def grown(depth=2):
    """A network with new units and copies."""
    growth = {"loss_limit": 0.0, "group_lasso": 0.0, "anchor": 0.0, "drift_limit": 0.2}
    model = learned(depth=depth, **growth)
    events = learn_second(model, 4)
    assert only(events, "UnitsAdded") and only(events, "UnitSplit")
    assert is_learning_all(model)
    return model


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
