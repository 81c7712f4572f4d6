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
from devfnn.baselines.networks.base import Linear, Settings, Size, TaskNetwork, widened
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stream == "susy":
            object.__setattr__(self, "reading", "B")
        if self.reading == "B":
            object.__setattr__(self, "max_tasks", 1)


@dataclasses.dataclass
class Adapter:
    """What a layer of a column reads from the columns before it: scaled, mixed and squashed."""

    mixing: Tensor  # V: units x units of all earlier columns
    scales: Tensor  # a: one for each earlier column
    bias: Tensor  # v: one for each unit
    outputs: Tensor  # U: outputs x units

    def tensors(self) -> list[Tensor]:
        return [self.mixing, self.scales, self.bias, self.outputs]


@dataclasses.dataclass
class Column:
    """The network of one task; layer `depth` gives the outputs."""

    layers: list[Linear]
    adapters: list[Adapter]  # for each layer but the first; none in the first column

    def tensors(self) -> list[Tensor]:
        weights, biases = zip(*(layer.tensors() for layer in self.layers), strict=True)
        return [*weights, *biases, *(part for each in self.adapters for part in each.tensors())]


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
        return hidden + sum(len(column.layers[-1].biases) for column in self.columns)

    def _parts(self) -> tuple[list[Tensor], list[list[Tensor]]]:
        return [], [column.tensors() for column in self.columns]

    def task_logits(self, rows: Tensor, task: int) -> Tensor:
        earlier: list[list[Tensor]] = []  # hidden values of the columns before, by layer
        with torch.no_grad():
            for column in self.columns[:task]:
                earlier.append(self._run(rows, column, earlier)[:-1])
        return self._run(rows, self.columns[task], earlier)[-1]

    def _run(self, rows: Tensor, column: Column, earlier: list[list[Tensor]]) -> list[Tensor]:
        """The hidden values of a column, then its scores."""
        known: list[Tensor] = []
        for at, layer in enumerate(column.layers):
            sums = layer(known[-1] if at else rows)
            if at and earlier:
                adapter = column.adapters[at - 1]
                scales = adapter.scales.repeat_interleave(self.size.width)
                joined = torch.cat([values[at - 1] for values in earlier], dim=1) * scales
                mixed = self._activation(torch.addmm(adapter.bias, joined, adapter.mixing.T))
                sums = sums + mixed @ adapter.outputs.T
            known.append(sums if at == self.size.depth else self._activation(sums))
        return known

    def _usual_size(self, n_features: int, n_classes: int) -> Size:
        return Size(3, n_features if self.settings.reading == "A" else 3 * n_features + 2)

    def _begin_task(self, n_classes: int) -> Sequence[Event]:
        depth, width = self.size
        column = Column([*self._hidden_layers(), self._linear(n_classes, width)], [])
        if self.columns:
            ends = [width] * (depth - 1) + [n_classes]
            column.adapters = [self._adapter(end) for end in ends]
        self.columns.append(column)
        return ()

    def _adapter(self, n_outputs: int) -> Adapter:
        """A new adapter that reads all columns so far."""
        width, n_columns = self.size.width, len(self.columns)
        mixing = self._linear(width, n_columns * width)
        scales = torch.from_numpy(self._rng.normal(0.0, SCALE_SPREAD, n_columns))
        outputs = self._linear(n_outputs, width).weights
        return Adapter(mixing.weights, scales.requires_grad_(), mixing.biases, outputs)

    def _widen(self, n_fresh: int) -> None:
        column = self.columns[-1]
        column.layers[-1].widen(self._linear(n_fresh, self.size.width))
        for adapter in column.adapters[-1:]:
            fresh = self._linear(n_fresh, self.size.width).weights
            adapter.outputs = widened(adapter.outputs, fresh)
