"""What DSSCN finds in a chunk: inputs that drift, layers that are alike, repeated features.

Inputs drift if the feature means moved inside the chunk. The cut is the first row where the means
so far, with their margin, reach those of the whole chunk with theirs. So a fall of the means is
seen, a rise inside a chunk is not; this is how the method is defined. A chunk without a cut is
stable.
"""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.baselines.dsscn.layers import Settings
from devfnn.model.mechanisms.drift import Level, dynamic_significance, hoeffding_bound
from devfnn.model.mechanisms.feature_mask import compression_index

LEAST_AFTER = 2
"""Rows after a cut: the range of a single one is 0, so any gap would be a drift."""


class Verdict(NamedTuple):
    """Outcome of the drift test with the numbers behind it."""

    level: Level
    gap: float = 0.0
    """Between the means before and after the cut, averaged over features."""
    bound: float = 0.0
    """Of the level that was reached; else that of a warning."""
    cut: int = 0
    """Rows before the cut."""


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


def judge_means(rows: Floats, n_chunks: int, settings: Settings) -> Verdict:
    """Whether the feature means moved inside a chunk; `n_chunks` counts the chunks before it."""
    cut = cut_of(rows, settings.cut_confidence, first=1 if settings.compat else 2)
    if cut is None or len(rows) - cut < LEAST_AFTER or not np.ptp(rows, axis=0).any():
        return Verdict(Level.STABLE)
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
            return Verdict(level, gap, bound, cut)
    return Verdict(Level.STABLE, gap, bound, cut)


def find_merger(
    outputs: list[Floats], labels: Ints, threshold: float
) -> tuple[int, int, float] | None:
    """The most alike pair of layers, if it is alike enough, and its unlikeness.

    The one with fewer errors on the rows of these class indices is first. outputs: of every layer,
    (n_rows, n_outputs) each.
    """
    pairs = np.tril_indices(len(outputs), -1)
    if not pairs[0].size:
        return None
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
    indices: Floats = compression_index(variances[:, None], variances[None], covariances)
    return np.asarray(indices.max(axis=2))


@dataclasses.dataclass
class FeatureWeights:
    """Soft weights of features, from all rows so far: one that repeats others counts less.

    The weight of a feature is the mean compression index it has with the others, all scaled to
    variance 1: one minus the mean of its absolute correlations. So one that stands alone has 1.
    """

    n_rows: int
    means: Floats
    products: Floats
    """Centred cross products, (n_features, n_features)."""

    @classmethod
    def empty(cls, n_features: int) -> "FeatureWeights":
        """Nothing seen yet: all weights are 1."""
        return cls(0, np.zeros(n_features), np.zeros((n_features, n_features)))

    def update(self, rows: Floats) -> None:
        """Take in a chunk."""
        means = rows.mean(axis=0)
        centered = rows - means
        move = means - self.means
        total = self.n_rows + len(rows)
        share = len(rows) / total
        self.products += centered.T @ centered + self.n_rows * share * np.outer(move, move)
        self.means += share * move
        self.n_rows = total

    def values(self) -> Floats:
        """A weight between 0 and 1 for every feature."""
        n_features = len(self.means)
        if self.n_rows < 2 or n_features < 2:
            return np.ones(n_features)
        scales = np.sqrt(np.diag(self.products))
        scales[scales == 0.0] = 1.0
        correlations = np.abs(self.products / np.outer(scales, scales))
        np.fill_diagonal(correlations, 0.0)
        weights: Floats = 1.0 - np.minimum(correlations.sum(axis=1) / (n_features - 1), 1.0)
        return weights
