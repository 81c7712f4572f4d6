"""Layer merging: of two layers that say the same, the weaker is left out.

Paper: section "Hidden Layer Merging Mechanism". Variances and covariances of the outputs are kept
over chunks for every pair of layers, from the birth of the younger one on.
"""

from typing import NamedTuple

import numpy as np

from devfnn.kernels.state import Flags, Floats
from devfnn.model.features import compression_index

LEAST_VARIANCE = 1e-9
"""A layer whose output does not vary says nothing; it matches no other."""


class OutputStats(NamedTuple):
    """Moments of the outputs of layer i while layer j lived too: arrays (L, L, ...)."""

    chunks: Floats  # (L, L) chunks behind a pair
    weights: Floats  # (L, L)
    means: Floats  # (L, L, m)
    variances: Floats  # (L, L, m)
    covs: Floats  # (L, L, m) symmetric in the first two axes


def empty_output_stats(n_layers: int, n_classes: int) -> OutputStats:
    """Statistics of nothing."""
    pairs = (n_layers, n_layers)
    cube = (*pairs, n_classes)
    return OutputStats(
        np.zeros(pairs), np.zeros(pairs), np.zeros(cube), np.zeros(cube), np.zeros(cube)
    )


def resized_output_stats(stats: OutputStats, n_layers: int, n_classes: int) -> OutputStats:
    """A larger copy."""
    fresh = empty_output_stats(n_layers, n_classes)
    for source, target in zip(stats, fresh, strict=True):
        target[tuple(slice(size) for size in source.shape)] = source
    return fresh


def update_output_stats(
    stats: OutputStats, outputs: Floats, is_merged: Flags, memory: float
) -> None:
    """Take the outputs of a chunk (k, L, m) into the statistics of all live pairs."""
    live = np.flatnonzero(~is_merged)
    n_rows = outputs.shape[0]
    means = outputs.mean(axis=0)
    centred = outputs - means
    for i in live:
        for j in live:
            past = memory * stats.weights[i, j]
            share = n_rows / (past + n_rows)
            keep = 1.0 - share
            moved = means[i] - stats.means[i, j]
            moved_other = means[j] - stats.means[j, i] if i < j else None
            variance = (centred[:, i] ** 2).mean(axis=0)
            stats.variances[i, j] = (
                keep * stats.variances[i, j] + share * variance + keep * share * moved**2
            )
            if moved_other is not None:
                cov = (centred[:, i] * centred[:, j]).mean(axis=0)
                stats.covs[i, j] = (
                    keep * stats.covs[i, j] + share * cov + keep * share * moved * moved_other
                )
                stats.covs[j, i] = stats.covs[i, j]
            stats.weights[i, j] = past + n_rows
            stats.chunks[i, j] += 1
    for i in live:
        for j in live:
            share = n_rows / stats.weights[i, j]
            stats.means[i, j] += share * (means[i] - stats.means[i, j])


def redundant_pair(
    stats: OutputStats, is_merged: Flags, threshold: float, n_rivals: int = 0
) -> tuple[int, int, float] | None:
    """The two live layers most alike, if they are alike enough; a pair needs two chunks.

    The first `n_rivals` layers are not compared with each other.
    """
    live = np.flatnonzero(~is_merged)
    best: tuple[int, int, float] | None = None
    for i in live:
        for j in live[(live > i) & (live >= n_rivals)]:
            first, second = stats.variances[i, j], stats.variances[j, i]
            if stats.chunks[i, j] < 2 or min(first.max(), second.max()) < LEAST_VARIANCE:
                continue
            index = float(compression_index(first, second, stats.covs[i, j]).max())
            if index < threshold and (best is None or index < best[2]):
                best = (int(i), int(j), index)
    return best
