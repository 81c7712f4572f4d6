"""DSSCN: layers of random nodes, one more whenever the inputs drift.

Deep stacked stochastic configuration network (Pratama and Wang 2019), written anew from a
description; where the published programs contradict themselves, `compat` and the comments say what
was chosen. Only the top layer answers and learns.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.baselines.chunks import ChunkClassifier, random_generator, settings_from
from devfnn.baselines.dsscn.layers import (
    Found,
    Layer,
    Settings,
    new_layer,
    pass_through,
    shifted,
)
from devfnn.baselines.dsscn.monitoring import FeatureWeights, find_merger, judge_means
from devfnn.events import Event, LayerAdded, LayersMerged, MeansMoved, NodeAdded
from devfnn.model.mechanisms.drift import Level


class DSSCN(ChunkClassifier):
    """Deep stacked stochastic configuration network, learned chunk by chunk.

    `seed` decides everything that is drawn; parameters are those of `Settings`.

    >>> model = DSSCN(seed=1)
    >>> rows = np.linspace(0.0, 1.0, 40)[:, None]
    >>> events = model.learn(rows, ["low"] * 20 + ["high"] * 20)
    >>> model.predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    _largest = 1e30  # squares of larger values would overflow in the least squares

    def __init__(self, seed: int = 0, **parameters: Any) -> None:
        super().__init__()
        self.settings = settings_from(Settings, parameters)
        self.layers: list[Layer] = []
        """The layers, the bottom one first."""
        self.n_refusals = 0
        """Searches in which no random node was good enough."""
        self._rng = random_generator(seed)
        self._feature_weights: FeatureWeights | None = None
        self._buffer: tuple[Floats, Ints] | None = None
        self._n_chunks = 0

    @property
    def n_layers(self) -> int:
        """Layers so far."""
        return len(self.layers)

    @property
    def n_rules(self) -> int:
        """Nodes of all layers."""
        return sum(layer.n_nodes for layer in self.layers)

    @property
    def n_parameters(self) -> int:
        """Numbers that describe the network."""
        return sum(layer.n_parameters for layer in self.layers)

    @property
    def n_buffered(self) -> int:
        """Rows kept for the next layer."""
        return 0 if self._buffer is None else len(self._buffer[1])

    def _probabilities(self, rows: Floats) -> Floats:
        return probabilities(self._pass_through(rows)[1][-1])

    def _learn(self, rows: Floats, codes: Ints, fresh: list[Hashable]) -> list[Event]:
        events = self._add_classes(fresh)
        for layer in self.layers:
            layer.widen(len(self._labels), self._rng)
        if self.settings.feature_weighting:
            if self._feature_weights is None:
                self._feature_weights = FeatureWeights.empty(rows.shape[1])
            self._feature_weights.update(rows)
        if not self.layers:
            events += self._add_layer(rows, codes)
            self._keep(rows, codes)
        else:
            events += self._merge(rows, codes)
            events += self._follow(rows, codes)
        self._n_chunks += 1
        return events

    def _weighted(self, rows: Floats) -> Floats:
        """Rows as the bottom layer sees them."""
        return rows if self._feature_weights is None else rows * self._feature_weights.values()

    def _pass_through(self, rows: Floats) -> tuple[list[Floats], list[Floats]]:
        """What each layer sees of rows, and what it answers."""
        return pass_through(self.layers, self._weighted(rows), self.settings)

    def _targets(self, codes: Ints) -> Floats:
        return np.eye(len(self._labels))[codes]

    def _merge(self, rows: Floats, codes: Ints) -> list[Event]:
        """Remove a layer that is like another one; at most one each chunk.

        The layer above then sees what is below; a new bottom layer sees the rows as they are.
        """
        threshold = self.settings.merge_threshold
        if not self.settings.merging or self.n_layers < 2:
            return []
        merger = find_merger(self._pass_through(rows)[1], codes, threshold)
        if merger is None:
            return []
        del self.layers[merger[1]]
        return [LayersMerged(self._n_rows, *merger, threshold)]

    def _follow(self, rows: Floats, codes: Ints) -> list[Event]:
        """A new layer after a drift, rows kept after a warning, else the top layer learns."""
        if len(rows) < self.settings.min_rows:  # the means of so few rows always move
            return self._update_top(rows, codes)
        verdict = judge_means(rows, self._n_chunks, self.settings)
        moved = MeansMoved(self._n_rows, verdict.level.value, *verdict[1:])
        if verdict.level is Level.DRIFT and self.n_layers < self.settings.max_layers:
            rows, codes = self._with_buffer(rows, codes)
            self._buffer = None
            return [moved, *self._add_layer(rows, codes)]
        if verdict.level is Level.WARNING:
            self._keep(rows, codes)
            return [moved]
        self._buffer = None
        return self._update_top(rows, codes)

    def _with_buffer(self, rows: Floats, codes: Ints) -> tuple[Floats, Ints]:
        """Rows with those that were kept before them."""
        if self._buffer is None:
            return rows, codes
        return np.concatenate([self._buffer[0], rows]), np.concatenate([self._buffer[1], codes])

    def _keep(self, rows: Floats, codes: Ints) -> None:
        """Put rows into the buffer of the next layer."""
        rows, codes = self._with_buffer(rows, codes)
        newest = slice(-self.settings.max_buffer, None)
        self._buffer = rows[newest].copy(), codes[newest].copy()

    def _add_layer(self, rows: Floats, codes: Ints) -> list[Event]:
        """Put a layer on top and train it on what it will see: all rows through the stack."""
        seen, targets = self._weighted(rows), self._targets(codes)
        shifts = self._rng.random((targets.shape[1], rows.shape[1]))
        if self.layers:
            seen = shifted(seen, self._pass_through(rows)[1][-1], shifts, self.settings.shift)
        layer, found = new_layer(seen, targets, shifts, self.settings, self._rng)
        self.layers.append(layer)
        layer.learn(seen, targets, self.settings)
        added = LayerAdded(self._n_rows, self.n_layers - 1, rows.shape[1], len(rows))
        return [*([added] if self.n_layers > 1 else []), *self._node_events(found)]

    def _update_top(self, rows: Floats, codes: Ints) -> list[Event]:
        """Let the top layer grow and learn; any node would explain a chunk of few rows."""
        given, top, targets = self.settings, self.layers[-1], self._targets(codes)
        seen = self._pass_through(rows)[0][-1]
        events: list[Event] = []
        room = min(given.growth, given.max_nodes - top.n_nodes)
        for _ in range(room if len(rows) >= given.min_rows else 0):
            found = top.grow(seen, targets, given, self._rng)
            events += self._node_events(found)
            if found is None:
                break
        top.learn(seen, targets, given)
        return events

    def _node_events(self, found: Found | None) -> list[Event]:
        """The event of a node that was found; a search in vain is counted."""
        if found is None:
            self.n_refusals += 1
            return []
        node = self.layers[-1].n_nodes - 1
        return [NodeAdded(self._n_rows, self.n_layers - 1, node, found.scope, found.score)]


def probabilities(outputs: Floats) -> Floats:
    """Outputs as probabilities: their positive parts, or a soft maximum where none is positive.

    >>> probabilities(np.array([[3.0, 1.0], [-5.0, -5.0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    positive = np.maximum(outputs, 0.0)
    soft = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    chosen = np.where(positive.max(axis=1, keepdims=True) > 1e-12, positive, soft)
    shares: Floats = chosen / chosen.sum(axis=1, keepdims=True)
    return shares
