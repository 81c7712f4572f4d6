"""DSSCN: layers of random nodes, one more whenever the inputs drift.

Deep stacked stochastic configuration network (Pratama and Wang 2019), written anew from a
description; where the published programs contradict themselves, `compat` and the comments say what
was chosen. Only the top layer answers and learns.

Inputs drift if the feature means moved inside a chunk. The cut is the first row where the means so
far, with their margin, reach those of the whole chunk with theirs. So a fall of the means is seen,
a rise inside a chunk is not; this is how the method is defined. A chunk without a cut is stable.
"""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.baselines.chunks import ChunkClassifier, random_generator, settings_from
from devfnn.baselines.dsscn.layers import Layer, Settings
from devfnn.events import Event, LayerAdded, LayersMerged, MeansMoved, NodeAdded
from devfnn.model.mechanisms.drift import Level, dynamic_significance, hoeffding_bound
from devfnn.model.mechanisms.feature_mask import compression_index

LEAST_AFTER = 2
"""Rows after a cut: the range of a single one is 0, so any gap would be a drift."""


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
                self._feature_weights = FeatureWeights(rows.shape[1])
            self._feature_weights.update(rows)
        if not self.layers:
            events += self._add_layer(rows, codes)
            self._keep(rows, codes)
        else:
            events += self._merge(rows, codes)
            events += self._follow(rows, codes)
        self._n_chunks += 1
        return events

    def _pass_through(self, rows: Floats) -> tuple[list[Floats], list[Floats]]:
        """What each layer sees of rows and what it answers, from the bottom to the top."""
        if self._feature_weights is not None:
            rows = rows * self._feature_weights.values()
        inputs: list[Floats] = []
        outputs: list[Floats] = []
        for layer in self.layers:
            inputs.append(self._shifted(rows, outputs, layer.shifts))
            outputs.append(layer.outputs(inputs[-1], self.settings))
        return inputs, outputs

    def _shifted(self, rows: Floats, outputs: list[Floats], shifts: Floats) -> Floats:
        """Rows moved by the answer of the layer below, if there is one: x + α y Z."""
        return rows + self.settings.shift * (outputs[-1] @ shifts) if outputs else rows

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
        given = self.settings
        if len(rows) < given.min_rows:  # the means of so few rows always move
            return self._train_top(rows, codes, room=0)
        level, *numbers = judge_means(rows, self._n_chunks, given)
        moved = MeansMoved(self._n_rows, level.value, *numbers)
        if level is Level.DRIFT and self.n_layers < given.max_layers:
            rows, codes = self._with_buffer(rows, codes)
            self._buffer = None
            return [moved, *self._add_layer(rows, codes)]
        if level is Level.WARNING:
            self._keep(rows, codes)
            return [moved]
        self._buffer = None
        return self._train_top(
            rows, codes, room=min(given.growth, given.max_nodes - self.layers[-1].n_nodes)
        )

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
        self.layers.append(Layer(self._rng.random((len(self._labels), rows.shape[1]))))
        added = LayerAdded(self._n_rows, self.n_layers - 1, rows.shape[1], len(rows))
        return [*([added] if self.n_layers > 1 else []), *self._train_top(rows, codes, room=1)]

    def _train_top(self, rows: Floats, codes: Ints, room: int) -> list[Event]:
        """Let the top layer grow by at most `room` nodes, then learn."""
        given, top, targets = self.settings, self.layers[-1], np.eye(len(self._labels))[codes]
        seen = self._pass_through(rows)[0][-1]
        events: list[Event] = []
        for _ in range(room):
            found = top.grow(seen, targets, given, self._rng)
            if found is None:
                break
            place = self.n_layers - 1, top.n_nodes - 1
            events.append(NodeAdded(self._n_rows, *place, found.scope, found.score))
        top.learn(seen, targets, given)
        return events


def probabilities(outputs: Floats) -> Floats:
    """Outputs as probabilities: their positive parts, or a soft maximum where none is positive.

    >>> probabilities(np.array([[3.0, 1.0], [-5.0, -5.0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    positive = np.maximum(outputs, 0.0)
    soft = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    chosen = np.where(positive.max(axis=1, keepdims=True) > 1e-12, positive, soft)
    return np.asarray(chosen / chosen.sum(axis=1, keepdims=True))


def cut_of(rows: Floats, confidence: float, first: int) -> int | None:
    """Rows before the cut, at least `first`; None if there is no cut.

    With `first` = 1 the program of the authors is followed: mean and range of a single row are
    taken over its features.
    """
    n_rows = len(rows)
    counts = np.arange(1, n_rows)
    slack = np.sqrt((n_rows - counts) / (2.0 * counts * n_rows) * math.log(1.0 / confidence))
    means = (np.cumsum(rows[:-1], axis=0) / counts[:, None]).mean(axis=1)
    highest = np.maximum.accumulate(rows[:-1], axis=0)
    spans = (highest - np.minimum.accumulate(rows[:-1], axis=0)).mean(axis=1)
    if n_rows > 1:
        spans[0] = np.ptp(rows[0])
    whole = rows.mean() + np.ptp(rows, axis=0).mean() * slack
    cuts = np.flatnonzero((means + spans * slack >= whole)[first - 1 :])
    return int(cuts[0]) + first if cuts.size else None


def judge_means(rows: Floats, n_chunks: int, settings: Settings) -> tuple[Level, float, float, int]:
    """Whether the feature means moved inside a chunk; `n_chunks` counts the chunks before it.

    With the level come the gap between the means before and after the cut, averaged over features,
    the bound of that level, or of a warning if it is stable, and the rows before the cut.
    """
    cut = cut_of(rows, settings.cut_confidence, first=1 if settings.compat else 2)
    if cut is None or len(rows) - cut < LEAST_AFTER or not np.ptp(rows, axis=0).any():
        return Level.STABLE, 0.0, 0.0, 0
    before, after = rows[:cut], rows[cut:]
    gap = float(np.abs(before.mean(axis=0) - after.mean(axis=0)).mean())
    span, horizon, bound = float(np.ptp(after, axis=0).mean()), settings.horizon, 0.0
    levels = {
        Level.DRIFT: dynamic_significance(n_chunks, horizon, settings.drift_cap),
        Level.WARNING: dynamic_significance(n_chunks, horizon - 1.0, settings.warning_cap),
    }
    for level, significance in levels.items():
        bound = hoeffding_bound(span, cut, significance)
        if gap >= bound:
            return level, gap, bound, cut
    return Level.STABLE, gap, bound, cut


def find_merger(
    outputs: list[Floats], labels: Ints, threshold: float
) -> tuple[int, int, float] | None:
    """The most alike pair of layers, if it is alike enough, and its unlikeness.

    The one with fewer errors on the rows of these class indices is first. outputs: of every layer,
    (n_rows, n_outputs) each.
    """
    pairs = np.tril_indices(len(outputs), -1)
    distances = unlikeness(np.stack(outputs))[pairs]
    nearest = int(distances.argmin())
    if not distances[nearest] < threshold:
        return None
    lower, upper = int(pairs[1][nearest]), int(pairs[0][nearest])
    errors = [int(np.count_nonzero(outputs[at].argmax(axis=1) != labels)) for at in (lower, upper)]
    kept, dropped = (lower, upper) if errors[0] <= errors[1] else (upper, lower)
    return kept, dropped, float(distances[nearest])


def unlikeness(outputs: Floats) -> Floats:
    """Largest compression index over classes, for every pair of layers.

    0 if one layer is a linear function of the other. outputs: (n_layers, n_rows, n_outputs).
    """
    away = outputs - outputs.mean(axis=1, keepdims=True)
    covariances = np.einsum("akc,bkc->abc", away, away) / outputs.shape[1]
    variances = np.einsum("aac->ac", covariances)
    return np.asarray(compression_index(variances[:, None], variances[None], covariances).max(2))


class FeatureWeights:
    """Soft weights of features, from all rows so far: one that repeats others counts less.

    The weight of a feature is the mean compression index it has with the others, all scaled to
    variance 1: one minus the mean of its absolute correlations. So one that stands alone has 1.
    """

    def __init__(self, n_features: int) -> None:
        self._n_rows = 0
        self._means = np.zeros(n_features)
        self._products = np.zeros((n_features, n_features))  # centred

    def update(self, rows: Floats) -> None:
        """Take in a chunk."""
        means = rows.mean(axis=0)
        centered, move = rows - means, means - self._means
        total = self._n_rows + len(rows)
        share = len(rows) / total
        self._products += centered.T @ centered + self._n_rows * share * np.outer(move, move)
        self._means += share * move
        self._n_rows = total

    def values(self) -> Floats:
        """A weight between 0 and 1 for every feature."""
        n_features = len(self._means)
        if self._n_rows < 2 or n_features < 2:
            return np.ones(n_features)
        scales = np.sqrt(np.diag(self._products))
        scales[scales == 0.0] = 1.0
        correlations = np.abs(self._products / np.outer(scales, scales))
        np.fill_diagonal(correlations, 0.0)
        return np.asarray(1.0 - np.minimum(correlations.sum(axis=1) / (n_features - 1), 1.0))
