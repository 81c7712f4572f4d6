"""Units that moved too far: restored, and copied."""

import copy

import pytest

torch = pytest.importorskip("torch")

from den_scenes import (  # noqa: E402
    ALONE,
    DEPTHS,
    change,
    check_shapes,
    grown,
    learn_second,
    learned,
    logits,
    only,
    rows_of,
    widths,
)
from devfnn.baselines.networks.den import DEN  # noqa: E402
from devfnn.baselines.networks.den_units import NEVER  # noqa: E402


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
