"""Units that are added to a network, useless ones deleted, and units that moved too far split."""

import copy

import pytest

torch = pytest.importorskip("torch")

from den_scenes import (  # noqa: E402
    ALONE,
    DEPTHS,
    change,
    check_shapes,
    chunk_of,
    grown,
    is_learning_all,
    learn_second,
    learned,
    logits,
    only,
    rows_of,
    values,
    widths,
)
from devfnn.baselines.networks.den import DEN, NEVER, shrunk_rows  # noqa: E402

# ---- units that are added


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
    check_shapes(model, 4)
    assert is_learning_all(model)
    learn_second(model, 2)


def test_only_zero_groups_are_deleted_and_the_scores_stay():
    model = learned(depth=2, split=False, loss_limit=0.0, group_lasso=0.0)
    learn_second(model)
    with torch.no_grad():
        model.layers[0].weights[9] = 0.0
        model.layers[1].weights[8] = 0.0
        model.layers[1].weights[3] = 0.0  # an old unit
    kept = model.layers[1].weights.detach()[[*range(8), 9]][:, :9]
    before = [logits(model, task) for task in (0, 1)]
    assert model._delete_useless([2, 2]) == 2
    assert widths(model) == [9, 9]
    assert torch.equal(model.layers[1].weights.detach(), kept)
    for task in (0, 1):
        assert torch.allclose(logits(model, task), before[task], atol=1e-12)


@DEPTHS
def test_an_expansion_changes_nothing_but_new_units_and_the_newest_outputs(depth):
    model = learned(depth=depth, **ALONE)
    learn_second(model)
    before, chosen = values(model), model.layers[-1].is_chosen.clone()
    chosen[0] = False
    model.layers[-1].is_chosen = chosen
    change(model, loss_limit=0.0, group_lasso=0.0)
    model._expand(chunk_of(100))
    after = values(model)
    for old, new in zip(before[: 2 * depth], after[: 2 * depth], strict=True):
        assert torch.equal(new[tuple(slice(size) for size in old.shape)], old)
    for layer in model.layers[1:]:
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
    assert expanded.heads[1].weights[:, 8:].all()
    for weight_l1, is_sparse in [(0.0, False), (1e-2, True)]:
        again = copy.deepcopy(model)
        change(again, weight_l1=weight_l1)
        learn_second(again)
        assert (again.layers[0].weights[8:] == 0.0).any() == is_sparse
        assert (again.heads[1].weights[:, 8:] == 0.0).any() == is_sparse
        assert again.layers[0].weights[:8].all()


def test_new_units_are_shrunk_as_groups():
    lengths = []
    for group_lasso in (0.0, 0.001, 0.003):
        model = learned(split=False, loss_limit=0.0, group_lasso=group_lasso)
        learn_second(model)
        lengths.append(model.layers[0].weights[8:].norm().item())
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


@pytest.mark.parametrize(("width", "max_units", "cap"), [(4, 7, 7), (2, 8, 8), (4, 3, 4)])
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


# ---- units that are split


def drifted(depth=1, **parameters):
    """A network whose units have moved in the second task, and were not split yet."""
    model = learned(depth=depth, anchor=0.0, **ALONE | parameters)
    first = logits(model, 0)
    learn_second(model, 3)
    return model, first


@DEPTHS
def test_units_that_moved_too_far_are_split(depth):
    model, _ = drifted(depth)
    drifts = [model._drifts(number) for number in range(depth)]
    anchors = [layer.anchor_weights for layer in model.layers]
    moved = [layer.weights.detach() for layer in model.layers]
    limit = torch.cat(drifts).median().item()
    before, scores = copy.deepcopy(model), logits(model, 1)
    change(model, drift_limit=limit)
    assert model._split()
    events = model._end_chunk()
    assert len(events) == 4 * depth
    for number, layer in enumerate(model.layers):
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
    head = model.heads[1].weights.detach()
    assert not head[:, units].any()
    assert torch.equal(head[:, 8:], before.heads[1].weights.detach()[:, units])
    assert (logits(model, 1) - scores).abs().max() < 1e-6
    check_shapes(model, 4)


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
    before = model._drifts(1)
    model._split_units(0, torch.arange(8))
    assert torch.allclose(model._drifts(1), before)


def test_units_that_a_copy_replaced_are_not_chosen_again():
    model = grown(2)
    model._start_task(4)
    first, top = model.layers
    model._choose(torch.ones(top.width, dtype=torch.bool))
    assert (first.left == 1).any()
    assert torch.equal(first.is_chosen, first.left == NEVER)


def test_the_farthest_are_split_if_there_is_not_room_for_all():
    model, _ = drifted()
    drifts = model._drifts(0)
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
        moves.append(model._drifts(0).max().item())
    assert moves[0] > moves[1] > 2.0 * moves[2]


def test_anchors_hold_only_what_finished_tasks_learned():
    model = learned(depth=2, split=False, loss_limit=0.0, group_lasso=0.0)
    assert model.penalty(0.0, 1.0) == 0.0
    learn_second(model)
    for layer in model.layers:
        layer.drop_anchor()
    with torch.no_grad():
        model.layers[0].weights[8:] += 1.0
        model.layers[1].weights[:, 8:] += 1.0
        model.layers[1].biases[8:] += 1.0
        assert model.penalty(0.0, 1.0) == 0.0
        model.layers[1].weights[2, 3] += 2.0
        model.layers[0].biases[1] += 4.0
        assert model.penalty(0.0, 0.5) == pytest.approx(0.25 * (4.0 + 16.0))
