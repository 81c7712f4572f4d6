"""Hidden units and outputs of a network that grows: to add, delete, split and shrink them."""

import dataclasses
from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch.nn.functional import pad

NEVER = torch.iinfo(torch.int64).max
"""A task that never comes."""


@dataclasses.dataclass
class Layer:
    """A hidden layer; every part has one entry or row for each unit."""

    weights: Tensor
    biases: Tensor
    anchor_weights: Tensor
    """Weights when the newest task began."""
    anchor_biases: Tensor
    born: Tensor
    """The task that made a unit (its stamp); tasks before it do not use the unit."""
    left: Tensor
    """The task from which on a copy takes the place of a unit."""
    is_chosen: Tensor
    """Whether the newest task may change a unit."""

    def __post_init__(self) -> None:
        self.weights = self.weights.detach().requires_grad_()
        self.biases = self.biases.detach().requires_grad_()

    @classmethod
    def new(cls, weights: Tensor, biases: Tensor, task: int) -> "Layer":
        """Units that begin with a task."""
        width = len(biases)
        born, left = torch.full((width,), task), torch.full((width,), NEVER)
        is_chosen = torch.ones(width, dtype=torch.bool)
        weights, biases = weights.detach(), biases.detach()
        return cls(weights, biases, weights.clone(), biases.clone(), born, left, is_chosen)

    @property
    def width(self) -> int:
        """Units."""
        return len(self.biases)

    def parts(self) -> list[Tensor]:
        """All its tensors, without their gradients."""
        return [getattr(self, field.name).detach() for field in dataclasses.fields(self)]

    def used_by(self, task: int) -> Tensor:
        """Which units a task uses."""
        return (self.born <= task) & (task < self.left)

    def joined(self, more: "Layer") -> "Layer":
        """The layer with more units at its end."""
        return Layer(*(torch.cat(pair) for pair in zip(self.parts(), more.parts(), strict=True)))

    def picked(self, units: Tensor) -> "Layer":
        """Some of its units, by number or by a mask; nothing is shared with the layer."""
        return Layer(*(part[units] for part in self.parts()))

    def with_inputs(self, change: Callable[[Tensor], Tensor]) -> "Layer":
        """The layer after a change of its columns."""
        weights, anchors = change(self.weights.detach()), change(self.anchor_weights)
        return dataclasses.replace(self, weights=weights, anchor_weights=anchors)

    def drop_anchor(self) -> None:
        """Remember the weights as they are now."""
        self.anchor_weights = self.weights.detach().clone()
        self.anchor_biases = self.biases.detach().clone()


@dataclasses.dataclass
class Head:
    """The outputs of a task: a row for each class, a column for each unit of the top layer."""

    weights: Tensor
    biases: Tensor

    def with_inputs(self, change: Callable[[Tensor], Tensor]) -> "Head":
        """The outputs after a change of their columns."""
        changed = change(self.weights.detach()).requires_grad_(self.weights.requires_grad)
        return Head(changed, self.biases)


@dataclasses.dataclass
class Body:
    """All hidden layers, from below, and the outputs of all tasks."""

    layers: list[Layer] = dataclasses.field(default_factory=list)
    heads: list[Head] = dataclasses.field(default_factory=list)

    def logits(self, rows: Tensor, task: int, activation: Callable[[Tensor], Tensor]) -> Tensor:
        """Scores of a task, by the units that it uses."""
        values = rows
        for layer in self.layers:
            values = activation(torch.addmm(layer.biases, values, layer.weights.T))
            values = values * layer.used_by(task)
        head = self.heads[task]
        return torch.addmm(head.biases, values, head.weights.T)

    def append(self, number: int, fresh: Layer) -> None:
        """Put units at the end of a layer; whatever is above does not read them yet."""
        self.layers[number] = self.layers[number].joined(fresh)
        self._change_above(number, lambda columns: pad(columns, (0, fresh.width)))

    def delete(self, number: int, gone: Tensor, activation: Callable[[Tensor], Tensor]) -> None:
        """Delete units without inputs; the constants that they gave go to the biases above."""
        constants = activation(self.layers[number].biases.detach()[gone])
        readers = self.heads if number == len(self.layers) - 1 else [self.layers[number + 1]]
        with torch.no_grad():
            for above in readers:
                above.biases += above.weights[:, gone] @ constants
        self.layers[number] = self.layers[number].picked(~gone)
        self._change_above(number, lambda columns: columns[:, ~gone])

    def split(self, number: int, units: Tensor, task: int) -> None:
        """Give a task copies of units as they are now; the units get their old weights back."""
        layer = self.layers[number]
        fresh = torch.arange(layer.width, layer.width + len(units))
        copies = layer.picked(units)
        self.append(number, Layer.new(copies.weights, copies.biases, task))
        layer = self.layers[number]
        with torch.no_grad():
            layer.weights[units] = layer.anchor_weights[units]
            layer.biases[units] = layer.anchor_biases[units]
            layer.is_chosen[units] = False
            if number == len(self.layers) - 1:
                weights = self.heads[task].weights
                weights[:, fresh] = weights[:, units]
                weights[:, units] = 0.0
            else:  # units above serve old tasks too, so both columns stay
                layer.left[units] = task
                above = self.layers[number + 1]
                above.weights[:, fresh] = above.weights[:, units]
                above.anchor_weights[:, fresh] = above.anchor_weights[:, units]

    def drifts(self, number: int, task: int) -> Tensor:
        """How far the inputs of each older unit moved in this task, as the task uses them (ρ)."""
        layer = self.layers[number]
        moved = (layer.weights - layer.anchor_weights).detach()
        if number:
            moved = moved * self.layers[number - 1].used_by(task)
        return torch.where((layer.born < task) & layer.is_chosen, moved.norm(dim=1), 0.0)

    def penalty(self, l2: float, anchor: float) -> Tensor:
        """Cost of large weights, and of units that leave the anchors of finished tasks."""
        task, below = len(self.heads) - 1, None
        total = 0.5 * l2 * self.heads[-1].weights.square().sum()
        for layer in self.layers:
            total = total + 0.5 * l2 * layer.weights.square().sum()
            is_old = (layer.born < task).to(layer.weights.dtype)
            if anchor and task:
                both = is_old[:, None] if below is None else is_old[:, None] * below
                moved = (layer.weights - layer.anchor_weights).square() * both
                shifted = (layer.biases - layer.anchor_biases).square() * is_old
                total = total + 0.5 * anchor * (moved.sum() + shifted.sum())
            below = is_old
        return total

    def choose(self, is_chosen: Tensor) -> None:
        """Choose units of the top layer, and those below that feed them."""
        self.layers[-1].is_chosen = is_chosen
        for number in range(len(self.layers) - 1, 0, -1):
            above, below = self.layers[number], self.layers[number - 1]
            strengths = above.weights.detach()[above.is_chosen].abs().amax(dim=0)
            below.is_chosen = at_least_one(strengths * below.used_by(len(self.heads) - 1))

    def chosen_entries(self) -> list[Tensor]:
        """What the newest task may change: weights between chosen units, and their outputs.

        There is a mask for each tensor of the layers and of the newest head.
        """
        masks: list[Tensor] = []
        below = torch.ones(self.layers[0].weights.shape[1], dtype=torch.bool)
        for layer in self.layers:
            masks += [layer.is_chosen[:, None] & below, layer.is_chosen]
            below = layer.is_chosen
        head = self.heads[-1]
        return [*masks, below.expand_as(head.weights), torch.ones_like(head.biases).bool()]

    def new_entries(self, counts: list[int]) -> list[Tensor]:
        """What an expansion may change: inputs of the last units of each layer, and outputs."""
        masks = self.chosen_entries()
        for number, (layer, count) in enumerate(zip(self.layers, counts, strict=True)):
            is_new = torch.arange(layer.width) >= layer.width - count
            masks[2 * number : 2 * number + 2] = [is_new[:, None].expand_as(layer.weights), is_new]
        return masks

    @staticmethod
    def tensors(*parts: Layer | Head) -> list[Tensor]:
        """What is learned of some parts: weights and biases in turn."""
        return [tensor for part in parts for tensor in (part.weights, part.biases)]

    def _change_above(self, number: int, change: Callable[[Tensor], Tensor]) -> None:
        """Change the columns of what reads a layer."""
        if number == len(self.layers) - 1:
            self.heads = [head.with_inputs(change) for head in self.heads]
        else:
            self.layers[number + 1] = self.layers[number + 1].with_inputs(change)


class Stage:
    """Keeps what a stage of learning must not change."""

    def __init__(self, tensors: list[Tensor], is_free: list[Tensor]) -> None:
        self._parts = [
            (tensor, mask, tensor.detach().clone())
            for tensor, mask in zip(tensors, is_free, strict=True)
            if not mask.all()
        ]

    def settle(self) -> None:
        """Give what is not free its values back: Adam moves whatever it ever moved."""
        with torch.no_grad():
            for tensor, is_free, before in self._parts:
                tensor.copy_(torch.where(is_free, tensor, before))


def at_least_one(strengths: Tensor) -> Tensor:
    """Which strengths are not zero; the largest in any case.

    >>> at_least_one(torch.tensor([0.0, 0.2, 0.0])).tolist()
    [False, True, False]
    >>> at_least_one(torch.zeros(2)).tolist()
    [True, False]
    """
    is_chosen = strengths > 0.0
    is_chosen[strengths.argmax()] = True
    return is_chosen


def shrink_in_place(tensors: Iterable[Tensor], threshold: float) -> None:
    """Move values towards zero by a threshold; those within it become exactly zero.

    >>> values = torch.tensor([-0.5, 0.1, 2.0])
    >>> shrink_in_place([values], 0.25)
    >>> values.tolist()
    [-0.25, 0.0, 1.75]
    """
    with torch.no_grad():
        for tensor in tensors if threshold else ():
            tensor.copy_(tensor.sign() * (tensor.abs() - threshold).clamp(min=0.0))


def shrunk_rows(rows: Tensor, threshold: float) -> Tensor:
    """Rows whose lengths are less by a threshold; those within it are exactly zero.

    >>> shrunk_rows(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0).tolist()
    [[2.4000000953674316, 3.200000047683716], [0.0, 0.0]]
    """
    lengths = rows.norm(dim=1, keepdim=True)
    kept = (lengths - threshold).clamp(min=0.0) / lengths.clamp(min=1e-300)
    return torch.where(lengths > threshold, rows * kept, 0.0)
