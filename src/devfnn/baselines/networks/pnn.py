"""PNN, the progressive neural network (Rusu and others, 2016), on a stream.

Every task has a column of its own, a small network. A column also reads the hidden layers of those
before it, through adapters; these are frozen, so nothing that was learned is ever lost. The first
layer has no adapter: it would read the inputs a second time.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from devfnn.baselines.chunks import settings_from
from devfnn.baselines.networks.base import Settings, Size, TaskNetwork, widened
from devfnn.events import Event
from devfnn.parameters import choice

SCALE_SPREAD = 0.1
"""Spread of the first scales of adapters: a new column starts almost alone."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PNNSettings(Settings):
    """Parameters of a progressive network.

    `reading` is how the table is read: `A`, three columns of width n; `B`, one network of width
    3n + 2, so that there is one task whatever `max_tasks` says. The sizes of `stream="susy"` fit B
    only.
    """

    reading: Literal["A", "B"] = choice("A", "three columns, or one wide network")
    adapter: Literal["mlp", "linear"] = choice(
        "mlp", "earlier columns are scaled, mixed and squashed before they are added, or only added"
    )
    warm_start: bool = choice(False, "copy the weights of the column before; not in the original")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stream == "susy":
            object.__setattr__(self, "reading", "B")
        if self.reading == "B":
            object.__setattr__(self, "max_tasks", 1)


@dataclasses.dataclass
class Adapter:
    """What a layer of a column reads from the columns before it."""

    mixing: Tensor
    """V: units x units of all earlier columns; outputs x ... if it is linear."""
    scales: Tensor | None = None
    """a: one for each earlier column."""
    bias: Tensor | None = None
    """v: one for each unit."""
    outputs: Tensor | None = None
    """U: outputs x units."""

    def tensors(self) -> list[Tensor]:
        """All that is learned."""
        parts = (self.mixing, self.scales, self.bias, self.outputs)
        return [part for part in parts if part is not None]


@dataclasses.dataclass
class Column:
    """The network of one task; layer `depth` gives the outputs."""

    weights: list[Tensor]
    biases: list[Tensor]
    adapters: list[Adapter]
    """One for each layer but the first; none in the first column."""

    def tensors(self) -> list[Tensor]:
        """All that is or was learned."""
        own = [part for adapter in self.adapters for part in adapter.tensors()]
        return [*self.weights, *self.biases, *own]


class PNN(TaskNetwork):
    """Progressive neural network; tasks begin by themselves.

    `seed` decides the first weights and the order of rows; parameters are those of `PNNSettings`.

    >>> model = PNN(width=2)
    >>> events = model.learn([[0.0], [1.0]], ["low", "high"])
    >>> model.n_rules, model.n_layers
    (8, 3)
    """

    settings: PNNSettings

    def __init__(self, seed: int = 0, **parameters: Any) -> None:
        super().__init__(seed, settings_from(PNNSettings, parameters))
        self.columns: list[Column] = []

    @property
    def n_rules(self) -> int:
        """Hidden units and outputs of all columns; the second reading counts hidden units only."""
        hidden = self.size.depth * self.size.width * len(self.columns)
        if self.settings.reading == "B":
            return hidden
        return hidden + sum(len(column.biases[-1]) for column in self.columns)

    def tensors(self) -> list[Tensor]:
        """All that is or was learned."""
        return [tensor for column in self.columns for tensor in column.tensors()]

    def task_logits(self, rows: Tensor, task: int) -> Tensor:
        """Scores of the classes that a column knows."""
        hidden: list[list[Tensor]] = []  # values by column and layer, as far as they are known
        for number in range(task):
            with torch.no_grad():
                self._run(rows, number, hidden)
        return self._run(rows, task, hidden)

    def _run(self, rows: Tensor, number: int, hidden: list[list[Tensor]]) -> Tensor:
        """Scores of a column; its hidden values are appended to those of the columns before."""
        column, values = self.columns[number], rows
        for layer, (weights, bias) in enumerate(zip(column.weights, column.biases, strict=True)):
            sums = torch.addmm(bias, values, weights.T)
            if layer and number:
                lateral = [earlier[layer - 1] for earlier in hidden[:number]]
                sums = sums + self._adapted(column.adapters[layer - 1], lateral)
            if layer == self.size.depth:
                break
            values = self._activation(sums)
            if not layer:
                hidden.append([])
            hidden[number].append(values)
        return sums

    def _adapted(self, adapter: Adapter, lateral: list[Tensor]) -> Tensor:
        """What a layer reads from the hidden values of earlier columns."""
        if adapter.scales is None or adapter.bias is None or adapter.outputs is None:
            return torch.cat(lateral, dim=1) @ adapter.mixing.T
        scales = adapter.scales.repeat_interleave(self.size.width)
        joined = torch.cat(lateral, dim=1) * scales
        mixed = self._activation(torch.addmm(adapter.bias, joined, adapter.mixing.T))
        return mixed @ adapter.outputs.T

    def _usual_size(self, n_features: int, n_classes: int) -> Size:
        return Size(3, n_features if self.settings.reading == "A" else 3 * n_features + 2)

    def _count(self, size: Size, n_features: int, n_classes: int) -> int:
        width, ends = size.width, [size.width] * (size.depth - 1) + [n_classes]
        own = n_features * width + width + sum(width * end + end for end in ends)
        total = 0
        for number in range(self.settings.max_tasks or 1):
            total += own
            if number and self.settings.adapter == "linear":
                total += sum(number * width * end for end in ends)
            elif number:
                total += sum(number + number * width**2 + width + width * end for end in ends)
        return total

    def _begin_task(self, n_classes: int) -> Sequence[Event]:
        self._freeze(self.tensors())
        assert self._n_features is not None
        depth, width = self.size
        ends = [width] * depth + [n_classes]
        starts = [self._n_features] + [width] * depth
        layers = [self._linear(*shape) for shape in zip(ends, starts, strict=True)]
        column = Column([weights for weights, _ in layers], [bias for _, bias in layers], [])
        if self.columns:
            column.adapters = [self._adapter(end) for end in ends[1:]]
            if self.settings.warm_start:
                self._copy_weights(self.columns[-1], column)
        self.columns.append(column)
        return ()

    def _adapter(self, n_outputs: int) -> Adapter:
        """A new adapter that reads all columns so far."""
        width, n_columns = self.size.width, len(self.columns)
        if self.settings.adapter == "linear":
            return Adapter(self._linear(n_outputs, n_columns * width)[0])
        mixing, bias = self._linear(width, n_columns * width)
        scales = torch.from_numpy(self._rng.normal(0.0, SCALE_SPREAD, n_columns))
        outputs = self._linear(n_outputs, width)[0]
        return Adapter(mixing, scales.requires_grad_(), bias, outputs)

    @staticmethod
    def _copy_weights(source: Column, target: Column) -> None:
        """Start a column from another; outputs that the other lacks stay as they are."""
        sources, targets = source.weights + source.biases, target.weights + target.biases
        with torch.no_grad():
            for old, new in zip(sources, targets, strict=True):
                new[: len(old)] = old

    def _widen(self, n_fresh: int) -> None:
        column, width = self.columns[-1], self.size.width
        weights, bias = self._linear(n_fresh, width)
        column.weights[-1] = widened(column.weights[-1], weights)
        column.biases[-1] = widened(column.biases[-1], bias)
        if not column.adapters:
            return
        last = column.adapters[-1]
        if last.outputs is None:
            more = self._linear(n_fresh, last.mixing.shape[1])[0]
            last.mixing = widened(last.mixing, more)
        else:
            last.outputs = widened(last.outputs, self._linear(n_fresh, width)[0])

    def _trainable(self) -> list[Tensor]:
        return self.columns[-1].tensors()
