"""Which units of a network a new task learns further."""

import pytest

torch = pytest.importorskip("torch")

from den_scenes import (  # noqa: E402
    ALONE,
    chunk_of,
    learn_second,
    learned,
    only,
    values,
)
from devfnn.baselines.networks.den_units import Stage  # noqa: E402


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
