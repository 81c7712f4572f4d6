"""DEN, the dynamically expandable network (Yoon and others, 2018), on a stream.

One network for all tasks, with outputs for each task. A new task finds the units it needs by sparse
outputs and learns only these further, tied to what they were. If its loss stays too high, it gets
new units, of which the useless ones are deleted at once. A unit that moved too far gets its old
weights back, and a copy goes on with the new ones. A task uses no units that are younger than it.

Unlike in the published code, splitting does not wait for an expansion, the loss is that of a whole
chunk, all outputs decide which units are chosen, and any number of layers will do. Below the top
layer, a unit that was split is left to the tasks before; its copy takes its place for all others.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from devfnn.baselines.chunks import settings_from
from devfnn.baselines.networks.base import Batch, Linear, Settings, Size, TaskNetwork
from devfnn.events import Event, UnitsAdded, UnitSplit, UnitsSelected
from devfnn.parameters import choice, number

NEVER = torch.iinfo(torch.int64).max
"""A task that never comes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DENSettings(Settings):
    """Parameters of a network that expands; a strength of 0 switches its part off.

    Shrinkage is that of one step.
    """

    weight_l1: float = number(1e-4, 0.0, 1e6, "shrinkage of weights: first task, and new units")
    head_l1: float = number(5e-3, 0.0, 1e6, "shrinkage of outputs while units are selected")
    l2: float = number(1e-4, 0.0, 1e6, "cost of large weights")
    group_lasso: float = number(1e-2, 0.0, 1e6, "shrinkage of a new unit, all its inputs", "γ")
    anchor: float = number(0.005, 0.0, 1e6, "cost of leaving the weights of the task before", "reg")
    new_units: int = number(2, 0, 10**6, "units that an expansion adds to each layer", "k")
    loss_limit: float = number(0.3, 0.0, math.inf, "expand above it, in nats; inf: never", "τ")
    expand_every_chunk: bool = choice(False, "expand at every chunk of later tasks, not the first")
    split: bool = choice(True, "split units that moved too far")
    drift_limit: float = number(0.5, 0.0, math.inf, "how far is too far", "σ")
    max_units: int = number(60, 1, 10**6, "units of a layer, at most")
    inner_epochs: int = number(5, 1, 10**6, "passes over the first chunk of a task, in each stage")


@dataclasses.dataclass
class Layer(Linear):
    """Hidden units; every part has one entry or row for each of them."""

    anchor_weights: Tensor  # when the newest task began
    anchor_biases: Tensor
    born: Tensor  # the task that made a unit (its stamp); tasks before it do not use the unit
    left: Tensor  # the task from which on a copy takes the place of a unit
    is_chosen: Tensor  # whether the newest task may change a unit

    def __post_init__(self) -> None:
        self.weights = self.weights.detach().requires_grad_()
        self.biases = self.biases.detach().requires_grad_()

    @classmethod
    def new(cls, start: Linear, task: int) -> "Layer":
        """Units that begin with a task."""
        weights, biases = start.weights.detach(), start.biases.detach()
        born, left = (torch.full((len(biases),), number) for number in (task, NEVER))
        return cls(weights, biases, weights.clone(), biases.clone(), born, left, left > task)

    @property
    def width(self) -> int:
        return len(self.biases)

    def parts(self) -> list[Tensor]:
        """All its tensors, without their gradients."""
        return [getattr(self, field.name).detach() for field in dataclasses.fields(self)]

    def used_by(self, task: int) -> Tensor:
        """Which units a task uses."""
        return (self.born <= task) & (task < self.left)

    def drop_anchor(self) -> None:
        """Remember the weights as they are now."""
        self.anchor_weights = self.weights.detach().clone()
        self.anchor_biases = self.biases.detach().clone()


class DEN(TaskNetwork):
    """Dynamically expandable network; tasks begin by themselves.

    `seed` decides the first weights and the order of rows; parameters are those of `DENSettings`.

    >>> model = DEN()
    >>> events = model.learn([[0.0, 0.3], [1.0, 0.4]], ["low", "high"])
    >>> model.n_rules, model.n_layers
    (4, 1)
    """

    settings: DENSettings

    def __init__(self, seed: int = 0, **parameters: Any) -> None:
        super().__init__(seed, settings_from(DENSettings, parameters))
        self.layers: list[Layer] = []  # from below
        self.heads: list[Linear] = []  # the outputs of each task, on top of them
        self._events: list[Event] = []

    @property
    def n_rules(self) -> int:
        return sum(layer.width for layer in self.layers)

    def _parts(self) -> tuple[list[Tensor], list[list[Tensor]]]:
        shared = [tensor for layer in self.layers for tensor in layer.tensors()]
        return shared, [head.tensors() for head in self.heads]

    def task_logits(self, rows: Tensor, task: int) -> Tensor:
        values = rows
        for layer in self.layers:
            values = self._activation(layer(values)) * layer.used_by(task)
        return self.heads[task](values)

    def _usual_size(self, n_features: int, n_classes: int) -> Size:
        return Size(1, 2 * n_features)

    def _begin_task(self, n_classes: int) -> Sequence[Event]:
        if not self.layers:
            self.layers = [Layer.new(start, task=0) for start in self._hidden_layers()]
        for layer in self.layers:
            layer.drop_anchor()
        self.heads.append(self._linear(n_classes, self.layers[-1].width))
        return ()

    def _widen(self, n_fresh: int) -> None:
        fresh = self._linear(n_fresh, self.layers[-1].width)
        fresh.weights = fresh.weights.detach() * self.layers[-1].is_chosen
        self.heads[-1].widen(fresh)

    def _loss(self, batch: Batch) -> Tensor:
        return super()._loss(batch) + self.penalty(self.settings.l2, self.settings.anchor)

    def penalty(self, l2: float, anchor: float) -> Tensor:
        """Cost of large weights, and of units that leave the anchors of finished tasks."""
        task, below = self.n_tasks - 1, None
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

    # ---- the stages of a chunk

    def _train(self, rows: Tensor, codes: Tensor) -> None:
        given, chunk = self.settings, (rows, codes)
        is_first = self._n_chunks == self._task_start
        epochs = given.inner_epochs if is_first else given.epochs
        if self.n_tasks == 1:
            weights = self._trainable()[::2]  # and not the biases
            shrink = functools.partial(shrink_in_place, weights, given.weight_l1)
            self._fit(chunk, epochs, shrink=shrink)
        else:
            if is_first:
                self._select(chunk)
            self._fit(chunk, epochs)
            if is_first or given.expand_every_chunk:
                self._expand(chunk)
            if given.split and self._split():
                self._fit(chunk, epochs)

    def _end_chunk(self) -> Sequence[Event]:
        events, self._events = self._events, []
        return events

    def _fit(
        self,
        chunk: tuple[Tensor, Tensor],
        epochs: int,
        is_free: list[Tensor] | None = None,
        shrink: Callable[[], None] = lambda: None,
    ) -> None:
        """Learn a chunk where it is allowed, by default what was chosen; shrink after each step.

        What is not free gets its values back: Adam moves whatever it ever moved.
        """
        pairs = zip(self._trainable(), is_free or self._chosen_entries(), strict=True)
        held = [(each, mask, each.detach().clone()) for each, mask in pairs if not mask.all()]
        for _ in range(epochs):
            for batch in self._batches(*chunk):
                self._step(batch)
                with torch.no_grad():
                    for tensor, mask, before in held:
                        tensor.copy_(torch.where(mask, tensor, before))
                shrink()

    def _loss_of(self, chunk: tuple[Tensor, Tensor]) -> float:
        """Loss of the newest task on a whole chunk, without penalties."""
        with torch.no_grad():
            return float(super()._loss(Batch(*chunk)))

    # ---- which units a task learns further

    def _select(self, chunk: tuple[Tensor, Tensor]) -> None:
        """Learn sparse outputs alone; the units that they read are those to learn further."""
        head = self.heads[-1]
        is_free = [torch.zeros_like(tensor, dtype=torch.bool) for tensor in self._trainable()]
        for mask in is_free[-2:]:
            mask.fill_(True)
        before = head.weights.detach().clone()

        def shrink() -> None:
            before.copy_(head.weights.detach())
            shrink_in_place([head.weights], self.settings.head_l1)

        self._fit(chunk, self.settings.inner_epochs, is_free, shrink)
        with torch.no_grad():
            if not head.weights.any():  # else nothing could be learned
                best = before.abs().amax(dim=0).argmax()
                head.weights[:, best] = before[:, best]
        self._choose(at_least_one(head.weights.detach().abs().amax(dim=0)))
        self._renew_optimizer()
        selected = sum(int(layer.is_chosen.sum()) for layer in self.layers)
        numbers = (self.n_tasks - 1, selected, self.n_rules, float(self.settings.head_l1))
        self._events.append(UnitsSelected(self._n_rows, *numbers))

    def _choose(self, is_chosen: Tensor) -> None:
        """Choose units of the top layer, and those below that feed them."""
        self.layers[-1].is_chosen = is_chosen
        for at in range(len(self.layers) - 1, 0, -1):
            above, below = self.layers[at], self.layers[at - 1]
            strengths = above.weights.detach()[above.is_chosen].abs().amax(dim=0)
            below.is_chosen = at_least_one(strengths * below.used_by(self.n_tasks - 1))

    def _chosen_entries(self) -> list[Tensor]:
        """What the newest task may change: weights between chosen units, and their outputs.

        There is a mask for each trainable tensor.
        """
        masks: list[Tensor] = []
        below = torch.ones(self.layers[0].weights.shape[1], dtype=torch.bool)
        for layer in self.layers:
            masks += [layer.is_chosen[:, None] & below, layer.is_chosen]
            below = layer.is_chosen
        head = self.heads[-1]
        return [*masks, below.expand_as(head.weights), torch.ones_like(head.biases).bool()]

    # ---- expansion

    def _expand(self, chunk: tuple[Tensor, Tensor]) -> None:
        """Add units if the loss is too high; keep those that shrinking did not make zero."""
        given, limit, loss = self.settings, self.settings.loss_limit, self._loss_of(chunk)
        counts = [min(given.new_units, self._room(layer)) for layer in self.layers]
        if not limit < loss < float("inf") or not any(counts):
            return
        self._add_units(counts)
        self._renew_optimizer()
        is_free = self._chosen_entries()  # but of hidden layers the new units only
        for at, (layer, count) in enumerate(zip(self.layers, counts, strict=True)):
            is_new = torch.arange(layer.width) >= layer.width - count
            is_free[2 * at : 2 * at + 2] = [is_new[:, None].expand_as(layer.weights), is_new]
        shrink = functools.partial(self._shrink_new, counts)
        self._fit(chunk, given.inner_epochs, is_free, shrink)
        kept = sum(counts) - self._delete_useless(counts)
        self._renew_optimizer()
        numbers = (self.n_tasks - 1, loss, float(limit), sum(counts), kept)
        self._events.append(UnitsAdded(self._n_rows, *numbers))

    def _room(self, layer: Layer) -> int:
        """Units that a layer may still get."""
        return max(0, self.settings.max_units - layer.width)

    def _add_units(self, counts: list[int]) -> None:
        """Append units to the layers; only new units and the newest task read them."""
        for at, count in enumerate(counts):
            if count:
                n_inputs = self.layers[at].weights.shape[1]
                self._append(at, Layer.new(self._linear(count, n_inputs), self.n_tasks - 1))
        weights = self.heads[-1].weights
        n_outputs, width = weights.shape
        if counts[-1]:
            bound = float(width) ** -0.5
            with torch.no_grad():
                weights[:, -counts[-1] :] = self._uniform(n_outputs, counts[-1], bound=bound)

    def _shrink_new(self, counts: list[int]) -> None:
        """Make new units sparse, and useless ones zero."""
        for layer, count in zip(self.layers, counts, strict=True):
            rows = layer.weights.detach()[layer.width - count :]
            shrink_in_place([rows], self.settings.weight_l1)
            rows.copy_(shrunk_rows(rows, self.settings.group_lasso))
        head = self.heads[-1].weights.detach()
        shrink_in_place([head[:, head.shape[1] - counts[-1] :]], self.settings.weight_l1)

    def _delete_useless(self, counts: list[int]) -> int:
        """Delete new units whose inputs all became zero; returns how many."""
        n_before = self.n_rules
        for at, count in enumerate(counts):
            layer = self.layers[at]
            gone = ~layer.weights.detach().any(dim=1)
            gone[: layer.width - count] = False
            if gone.any():
                self._delete(at, gone)
        return n_before - self.n_rules

    # ---- splitting

    def _split(self) -> bool:
        """Split the units that moved too far, the farthest first if there is not room for all."""
        task, limit, n_before = self.n_tasks - 1, self.settings.drift_limit, self.n_rules
        for at, layer in enumerate(self.layers):
            drifts = self._drifts(at)
            order = drifts.argsort(descending=True, stable=True)
            units = order[: int((drifts > limit).sum())][: self._room(layer)].sort().values
            for place, unit in enumerate(units.tolist()):
                numbers = (unit, layer.width + place, float(drifts[unit]), float(limit))
                self._events.append(UnitSplit(self._n_rows, task, at, *numbers))
            if len(units):
                self._split_units(at, units)
        if self.n_rules == n_before:
            return False
        self._renew_optimizer()
        return True

    def _drifts(self, at: int) -> Tensor:
        """How far the inputs of each older unit moved in this task, as the task uses them (ρ)."""
        layer, task = self.layers[at], self.n_tasks - 1
        moved = (layer.weights - layer.anchor_weights).detach()
        if at:
            moved = moved * self.layers[at - 1].used_by(task)
        return torch.where((layer.born < task) & layer.is_chosen, moved.norm(dim=1), 0.0)

    def _split_units(self, at: int, units: Tensor) -> None:
        """Give the newest task copies of units as they are; these get their old weights back."""
        layer, task = self.layers[at], self.n_tasks - 1
        fresh = torch.arange(layer.width, layer.width + len(units))
        self._append(at, Layer.new(Linear(layer.weights[units], layer.biases[units]), task))
        layer = self.layers[at]
        with torch.no_grad():
            layer.weights[units] = layer.anchor_weights[units]
            layer.biases[units] = layer.anchor_biases[units]
            layer.is_chosen[units] = False
            if at == len(self.layers) - 1:
                weights = self.heads[task].weights
                weights[:, fresh] = weights[:, units]
                weights[:, units] = 0.0
            else:  # units above serve old tasks too, so both columns stay
                layer.left[units] = task
                above = self.layers[at + 1]
                above.weights[:, fresh] = above.weights[:, units]
                above.anchor_weights[:, fresh] = above.anchor_weights[:, units]

    # ---- units that come and go

    def _append(self, at: int, fresh: Layer) -> None:
        """Put units at the end of a layer; whatever is above does not read them yet."""
        pairs = zip(self.layers[at].parts(), fresh.parts(), strict=True)
        self.layers[at] = Layer(*(torch.cat(pair) for pair in pairs))
        self._change_above(at, lambda columns: pad(columns, (0, fresh.width)))

    def _delete(self, at: int, gone: Tensor) -> None:
        """Delete units without inputs; the constants that they gave go to the biases above."""
        constants = self._activation(self.layers[at].biases.detach()[gone])
        with torch.no_grad():
            for above in self._above(at):
                above.biases += above.weights[:, gone] @ constants
        self.layers[at] = Layer(*(part[~gone] for part in self.layers[at].parts()))
        self._change_above(at, lambda columns: columns[:, ~gone])

    def _above(self, at: int) -> Sequence[Linear]:
        """What reads a layer: the next one, or the outputs of all tasks."""
        return self.layers[at + 1 : at + 2] or self.heads

    def _change_above(self, at: int, change: Callable[[Tensor], Tensor]) -> None:
        """Change the columns of what reads a layer."""
        for above in self._above(at):
            is_learned = above.weights.requires_grad
            above.weights = change(above.weights.detach()).requires_grad_(is_learned)
            if isinstance(above, Layer):
                above.anchor_weights = change(above.anchor_weights)


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
    """Rows whose lengths are less by a threshold; those within it are exactly zero."""
    lengths = rows.norm(dim=1, keepdim=True)
    kept = (lengths - threshold).clamp(min=0.0) / lengths.clamp(min=1e-300)
    return torch.where(lengths > threshold, rows * kept, 0.0)
