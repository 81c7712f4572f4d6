"""DSSCN: layers of random nodes, one more whenever the inputs drift.

Deep stacked stochastic configuration network (Pratama and Wang 2019), written anew from a
description; where the published programs contradict themselves, `compat` and the comments say what
was chosen. Only the top layer answers and learns.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

from devfnn.baselines.checks import check_count
from devfnn.baselines.chunks import ChunkClassifier
from devfnn.baselines.dsscn.drift import Verdict, judge_means
from devfnn.baselines.dsscn.features import FeatureWeights
from devfnn.baselines.dsscn.layers import Layer, new_layer
from devfnn.baselines.dsscn.merging import find_merger
from devfnn.baselines.dsscn.nodes import Found
from devfnn.baselines.dsscn.settings import Settings
from devfnn.baselines.dsscn.stack import Stack, shifted
from devfnn.errors import InputError
from devfnn.events import Event, LayerAdded, LayersMerged, MeansMoved, NodeAdded
from devfnn.kernels.state import Floats, Ints
from devfnn.model.drift import Level

LARGEST = 1e30
"""Squares of larger values would overflow in the least squares."""


class DSSCN(ChunkClassifier):
    """Deep stacked stochastic configuration network, learned chunk by chunk.

    Parameters
    ----------
    seed
        Of everything that is drawn; the same seed gives the same result.
    **parameters
        Those of `Settings`.

    Examples
    --------
    >>> model = DSSCN(seed=1)
    >>> rows = np.linspace(0.0, 1.0, 40)[:, None]
    >>> events = model.learn(rows, ["low"] * 20 + ["high"] * 20)
    >>> model.predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    _largest = LARGEST

    def __init__(self, seed: int = 0, **parameters: Any) -> None:
        try:
            self.settings = Settings(**parameters)
        except TypeError as error:
            raise InputError(f"DSSCN: {error}") from None
        check_count("seed", seed, least=0)
        super().__init__()
        self._rng = np.random.default_rng(seed)
        self._stack = Stack([])
        self._feature_weights: FeatureWeights | None = None
        self._buffer: tuple[Floats, Ints] | None = None
        self._n_chunks = 0
        self._n_refusals = 0

    @property
    def layers(self) -> list[Layer]:
        """The layers, the bottom one first."""
        return list(self._stack.layers)

    @property
    def n_layers(self) -> int:
        """Layers so far."""
        return len(self._stack.layers)

    @property
    def n_rules(self) -> int:
        """Nodes of all layers."""
        return sum(layer.n_nodes for layer in self._stack.layers)

    @property
    def n_parameters(self) -> int:
        """Numbers that describe the network."""
        return sum(layer.n_parameters for layer in self._stack.layers)

    @property
    def n_refusals(self) -> int:
        """Searches in which no random node was good enough."""
        return self._n_refusals

    @property
    def n_buffered(self) -> int:
        """Rows kept for the next layer."""
        return 0 if self._buffer is None else len(self._buffer[1])

    def _probabilities(self, rows: Floats) -> Floats:
        _, outputs = self._stack.pass_through(self._weighted(rows), self.settings)
        return probabilities(outputs[-1])

    def _learn(self, rows: Floats, codes: Ints, fresh: list[Hashable]) -> list[Event]:
        events = self._add_classes(fresh)
        if self._stack.layers:
            self._stack.widen(len(self._labels), self._rng)
        if self._feature_weights is None:
            self._feature_weights = FeatureWeights.empty(rows.shape[1])
        if self.settings.feature_weighting:
            self._feature_weights.update(rows)
        if not self._stack.layers:
            events += self._add_layer(rows, codes)
            self._keep(rows, codes)
        else:
            events += self._merge(rows, codes)
            events += self._follow(rows, codes)
        self._n_chunks += 1
        return events

    def _weighted(self, rows: Floats) -> Floats:
        """Rows as the bottom layer sees them."""
        if not self.settings.feature_weighting or self._feature_weights is None:
            return rows
        return rows * self._feature_weights.values()

    def _targets(self, codes: Ints) -> Floats:
        return np.eye(len(self._labels))[codes]

    def _merge(self, rows: Floats, codes: Ints) -> list[Event]:
        """Remove a layer that says what another one says; at most one each chunk.

        The layer above then sees what is below; a new bottom layer sees the rows as they are.
        """
        threshold = self.settings.merge_threshold
        if not self.settings.merging or self.n_layers < 2:
            return []
        _, outputs = self._stack.pass_through(self._weighted(rows), self.settings)
        merger = find_merger(outputs, codes, threshold)
        if merger is None:
            return []
        del self._stack.layers[merger.dropped]
        return [LayersMerged(self._n_rows, merger.kept, merger.dropped, merger.distance, threshold)]

    def _follow(self, rows: Floats, codes: Ints) -> list[Event]:
        """A new layer after a drift, rows kept after a warning, else the top layer learns."""
        if len(rows) < self.settings.min_rows:
            return self._update_top(rows, codes)
        verdict = judge_means(rows, self._n_chunks, self.settings)
        is_full = self.n_layers >= self.settings.max_layers
        if verdict.level is Level.DRIFT and not is_full:
            if self._buffer is not None:
                rows = np.concatenate([self._buffer[0], rows])
                codes = np.concatenate([self._buffer[1], codes])
            self._buffer = None
            return [self._told(verdict), *self._add_layer(rows, codes)]
        if verdict.level is Level.WARNING:
            self._keep(rows, codes)
            return [self._told(verdict)]
        self._buffer = None
        return self._update_top(rows, codes)

    def _told(self, verdict: Verdict) -> Event:
        level = verdict.level.value
        return MeansMoved(self._n_rows, level, verdict.gap, verdict.bound, verdict.cut)

    def _keep(self, rows: Floats, codes: Ints) -> None:
        """Put rows into the buffer of the next layer."""
        if self._buffer is not None:
            rows = np.concatenate([self._buffer[0], rows])
            codes = np.concatenate([self._buffer[1], codes])
        newest = slice(-self.settings.max_buffer, None)
        self._buffer = rows[newest].copy(), codes[newest].copy()

    def _add_layer(self, rows: Floats, codes: Ints) -> list[Event]:
        """Put a layer on top and train it on what it will see: all rows through the stack."""
        seen, targets = self._weighted(rows), self._targets(codes)
        shifts = self._rng.random((targets.shape[1], rows.shape[1]))
        if self._stack.layers:
            _, outputs = self._stack.pass_through(seen, self.settings)
            seen = shifted(seen, outputs[-1], shifts, self.settings.shift)
        layer, found = new_layer(seen, targets, shifts, self.settings, self._rng)
        self._stack.layers.append(layer)
        layer.learn(seen, targets, self.settings)
        added = LayerAdded(self._n_rows, self.n_layers - 1, rows.shape[1], len(rows))
        return [*([added] if self.n_layers > 1 else []), *self._noted(found)]

    def _update_top(self, rows: Floats, codes: Ints) -> list[Event]:
        """Let the top layer grow and learn."""
        inputs, _ = self._stack.pass_through(self._weighted(rows), self.settings)
        top, targets = self._stack.layers[-1], self._targets(codes)
        events: list[Event] = []
        is_enough = len(rows) >= self.settings.min_rows
        for _ in range(
            is_enough * min(self.settings.growth, self.settings.max_nodes - top.n_nodes)
        ):
            found = top.grow(inputs[-1], targets, self.settings, self._rng)
            events += self._noted(found)
            if found is None:
                break
        top.learn(inputs[-1], targets, self.settings)
        return events

    def _noted(self, found: Found | None) -> list[Event]:
        """The event of a node that was found; a search in vain is counted."""
        if found is None:
            self._n_refusals += 1
            return []
        node = self._stack.layers[-1].n_nodes - 1
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
