"""Units that are added to a network, and those that prove useless."""

import copy

import pytest

torch = pytest.importorskip("torch")

from den_scenes import (  # noqa: E402
    ALONE,
    DEPTHS,
    change,
    check_shapes,
    chunk_of,
    is_learning_all,
    learn_second,
    learned,
    logits,
    only,
    rows_of,
    values,
    widths,
)
from devfnn.baselines.networks.den_units import shrunk_rows  # noqa: E402


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
