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
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from devfnn.baselines.chunks import settings_from
from devfnn.baselines.networks.base import Batch, Settings, Size, TaskNetwork, widened
from devfnn.baselines.networks.den_units import (
    Body,
    Head,
    Layer,
    Stage,
    at_least_one,
    shrink_in_place,
    shrunk_rows,
)
from devfnn.events import Event, UnitsAdded, UnitSplit, UnitsSelected
from devfnn.parameters import choice, number

WIDEST = 4
"""Layers grow to this multiple of their first width if no cap is given."""


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
    expand_if: Literal["loss", "relative"] = choice(
        "loss", "expand if the loss exceeds a limit, or the last one of the task before"
    )
    loss_limit: float = number(0.3, 0.0, math.inf, "the limit in nats; inf: no expansion", "τ")
    loss_ratio: float = number(1.1, 0.0, math.inf, "multiple of that last loss that is the limit")
    expand_every_chunk: bool = choice(False, "expand at every chunk of later tasks, not the first")
    split: bool = choice(True, "split units that moved too far")
    drift_limit: float = number(0.5, 0.0, math.inf, "how far is too far", "σ")
    max_units: int | None = number(60, 1, 10**6, "of a layer; None: four times its first width")
    inner_epochs: int = number(5, 1, 10**6, "passes over the first chunk of a task, in each stage")


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
        self.body = Body()
        self._events: list[Event] = []
        self._loss_now = self._loss_before = float("inf")

    @property
    def n_rules(self) -> int:
        """Hidden units."""
        return sum(layer.width for layer in self.body.layers)

    def tensors(self) -> list[Tensor]:
        """All that is or was learned."""
        return self.body.tensors(*self.body.layers, *self.body.heads)

    def task_logits(self, rows: Tensor, task: int) -> Tensor:
        """Scores of the classes that a task knows, by units that are not younger."""
        return self.body.logits(rows, task, self._activation)

    def _usual_size(self, n_features: int, n_classes: int) -> Size:
        return Size(1, 2 * n_features)

    def _count(self, size: Size, n_features: int, n_classes: int) -> int:
        heads = (self.settings.max_tasks or 1) * (size.width * n_classes + n_classes)
        return self._hidden_count(size, n_features) + heads

    def _begin_task(self, n_classes: int) -> Sequence[Event]:
        if not self.body.layers:
            self.body.layers = [Layer.new(*pair, task=0) for pair in self._hidden_layers()]
        for layer in self.body.layers:
            layer.drop_anchor()
        self._freeze(self.body.tensors(*self.body.heads))
        self.body.heads.append(Head(*self._linear(n_classes, self.body.layers[-1].width)))
        self._loss_before = self._loss_now
        return ()

    def _widen(self, n_fresh: int) -> None:
        head, top = self.body.heads[-1], self.body.layers[-1]
        weights, biases = self._linear(n_fresh, top.width)
        weights = weights.detach() * top.is_chosen
        self.body.heads[-1] = Head(widened(head.weights, weights), widened(head.biases, biases))

    def _trainable(self) -> list[Tensor]:
        return self.body.tensors(*self.body.layers, self.body.heads[-1])

    def _loss(self, batch: Batch) -> Tensor:
        return super()._loss(batch) + self.body.penalty(self.settings.l2, self.settings.anchor)

    # The stages of a chunk.

    def _train(self, rows: Tensor, codes: Tensor) -> None:
        given, chunk = self.settings, (rows, codes)
        is_first = self._n_chunks == self._task_start
        epochs = given.inner_epochs if is_first else given.epochs
        if self.n_tasks == 1:
            weights = self._trainable()[::2]  # and not the biases
            shrink = functools.partial(shrink_in_place, weights, given.weight_l1)
            self._fit(chunk, self.body.chosen_entries(), epochs, shrink)
        else:
            if is_first:
                self._select(chunk)
            self._fit(chunk, self.body.chosen_entries(), epochs)
            if is_first or given.expand_every_chunk:
                self._expand(chunk)
            if given.split and self._split():
                self._fit(chunk, self.body.chosen_entries(), epochs)
        if given.expand_if == "relative":
            self._loss_now = self._loss_of(chunk)

    def _end_chunk(self) -> Sequence[Event]:
        events, self._events = self._events, []
        return events

    def _fit(
        self,
        chunk: tuple[Tensor, Tensor],
        is_free: list[Tensor],
        epochs: int,
        shrink: Callable[[], None] = lambda: None,
    ) -> None:
        """Learn a chunk where it is allowed, and shrink after each step."""
        stage = Stage(self._trainable(), is_free)
        for _ in range(epochs):
            for batch in self._batches(*chunk):
                self._step(batch)
                stage.settle()
                shrink()

    def _loss_of(self, chunk: tuple[Tensor, Tensor]) -> float:
        """Loss of the newest task on a whole chunk, without penalties."""
        with torch.no_grad():
            return float(super()._loss(Batch(*chunk, number=0, total=1)))

    def _select(self, chunk: tuple[Tensor, Tensor]) -> None:
        """Learn sparse outputs alone; the units that they read are those to learn further."""
        head = self.body.heads[-1]
        is_free = [torch.zeros_like(tensor, dtype=torch.bool) for tensor in self._trainable()]
        for mask in is_free[-2:]:
            mask.fill_(True)
        before = head.weights.detach().clone()

        def shrink() -> None:
            before.copy_(head.weights.detach())
            shrink_in_place([head.weights], self.settings.head_l1)

        self._fit(chunk, is_free, self.settings.inner_epochs, shrink)
        with torch.no_grad():
            if not head.weights.any():  # else nothing could be learned
                best = before.abs().amax(dim=0).argmax()
                head.weights[:, best] = before[:, best]
        self.body.choose(at_least_one(head.weights.detach().abs().amax(dim=0)))
        self._renew_optimizer()
        selected = sum(int(layer.is_chosen.sum()) for layer in self.body.layers)
        numbers = (self.n_tasks - 1, selected, self.n_rules, float(self.settings.head_l1))
        self._events.append(UnitsSelected(self._n_rows, *numbers))

    # Expansion.

    def _expand(self, chunk: tuple[Tensor, Tensor]) -> None:
        """Add units if the loss is too high; keep those that shrinking did not make zero."""
        given, loss = self.settings, self._loss_of(chunk)
        limit = given.loss_limit
        if given.expand_if == "relative":
            limit = given.loss_ratio * self._loss_before
        counts = [min(given.new_units, self._room(layer)) for layer in self.body.layers]
        if not limit < loss < float("inf") or not any(counts):
            return
        self._add_units(counts)
        self._renew_optimizer()
        shrink = functools.partial(self._shrink_new, counts)
        self._fit(chunk, self.body.new_entries(counts), given.inner_epochs, shrink)
        kept = sum(counts) - self._delete_useless(counts)
        self._renew_optimizer()
        numbers = (self.n_tasks - 1, loss, float(limit), sum(counts), kept)
        self._events.append(UnitsAdded(self._n_rows, *numbers))

    def _room(self, layer: Layer) -> int:
        """Units that a layer may still get."""
        cap = self.settings.max_units
        return max(0, (WIDEST * self.size.width if cap is None else cap) - layer.width)

    def _add_units(self, counts: list[int]) -> None:
        """Append units to the layers; only new units and the newest task read them."""
        for at, count in enumerate(counts):
            if count:
                n_inputs = self.body.layers[at].weights.shape[1]
                fresh = Layer.new(*self._linear(count, n_inputs), task=self.n_tasks - 1)
                self.body.append(at, fresh)
        weights = self.body.heads[-1].weights
        n_outputs, width = weights.shape
        if counts[-1]:
            bound = float(width) ** -0.5
            with torch.no_grad():
                weights[:, -counts[-1] :] = self._uniform(n_outputs, counts[-1], bound=bound)

    def _delete_useless(self, counts: list[int]) -> int:
        """Delete new units whose inputs all became zero."""
        n_gone = 0
        for at, count in enumerate(counts):
            layer = self.body.layers[at]
            gone = ~layer.weights.detach().any(dim=1)
            gone[: layer.width - count] = False
            if gone.any():
                self.body.delete(at, gone, self._activation)
                n_gone += int(gone.sum())
        return n_gone

    # Splitting and shrinking.

    def _split(self) -> bool:
        """Split the units that moved too far, the farthest first if there is not room for all."""
        task, limit, n_before = self.n_tasks - 1, self.settings.drift_limit, self.n_rules
        for at, layer in enumerate(self.body.layers):
            drifts = self.body.drifts(at, task)
            order = drifts.argsort(descending=True, stable=True)
            units = order[: int((drifts > limit).sum())][: self._room(layer)].sort().values
            if not len(units):
                continue
            for place, unit in enumerate(units.tolist()):
                numbers = (unit, layer.width + place, float(drifts[unit]), float(limit))
                self._events.append(UnitSplit(self._n_rows, task, at, *numbers))
            self.body.split(at, units, task)
        if self.n_rules == n_before:
            return False
        self._renew_optimizer()
        return True

    def _shrink_new(self, counts: list[int]) -> None:
        """Make new units sparse, and useless ones zero."""
        for layer, count in zip(self.body.layers, counts, strict=True):
            rows = layer.weights.detach()[layer.width - count :]
            shrink_in_place([rows], self.settings.weight_l1)
            rows.copy_(shrunk_rows(rows, self.settings.group_lasso))
        head = self.body.heads[-1].weights.detach()
        shrink_in_place([head[:, head.shape[1] - counts[-1] :]], self.settings.weight_l1)
