"""Soft feature weights: a feature that repeats others counts less. Off by default.

The weight of a feature is the mean compression index it has with the others, all scaled to
variance 1: one minus the mean of its absolute correlations. So one that stands alone has 1. The
same weights apply to training and prediction.
"""

import dataclasses

import numpy as np

from devfnn.kernels.state import Floats


@dataclasses.dataclass
class FeatureWeights:
    """Sums over all rows so far, and the weights that follow from them."""

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
