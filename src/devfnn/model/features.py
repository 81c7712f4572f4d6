"""Online feature mask: features that say nothing about the classes are left out, and come back.

Paper: section "Online Feature Weighting Mechanism". The score of a feature is the mean over classes of
the compression index between feature and class. The index has the unit of a variance, so on inputs in
[0, 1] it can never reach the paper's threshold; `standardised` takes it for unit variances, where it is
1 - |correlation|. Statistics fade from chunk to chunk.
"""

from typing import NamedTuple

import numpy as np

from devfnn.kernels.state import Flags, Floats, Ints
from devfnn.model.config import Config


class FeatureStats(NamedTuple):
    """Weighted moments of features and class indicators."""

    weight: Floats  # (1,)
    feature_means: Floats  # (n,)
    feature_variances: Floats  # (n,)
    class_means: Floats  # (m,)
    covariances: Floats  # (n, m)


def empty_stats(n_features: int, n_classes: int) -> FeatureStats:
    """Statistics of nothing."""
    return FeatureStats(
        np.zeros(1),
        np.full(n_features, 0.5),
        np.zeros(n_features),
        np.zeros(n_classes),
        np.zeros((n_features, n_classes)),
    )


def compression_index(
    first_variance: Floats, second_variance: Floats, covariance: Floats
) -> Floats:
    """Smaller eigenvalue of the 2 x 2 covariance: what is lost when one variable stands for both.

    >>> float(compression_index(np.array(1.0), np.array(1.0), np.array(1.0)))
    0.0
    >>> float(compression_index(np.array(1.0), np.array(2.0), np.array(0.0)))
    1.0
    """
    total = first_variance + second_variance
    determinant = first_variance * second_variance - covariance**2
    root = np.sqrt(np.maximum(total**2 - 4.0 * determinant, 0.0))
    index: Floats = np.maximum(0.5 * (total - root), 0.0)
    return index


def updated_stats(stats: FeatureStats, rows: Floats, labels: Ints, memory: float) -> FeatureStats:
    """The statistics with a chunk added, the past faded by `memory`. Missing values count as the mean."""
    n_classes = stats.class_means.size
    rows = np.where(np.isnan(rows), stats.feature_means, rows)
    targets = (labels[:, None] == np.arange(n_classes)).astype(np.float64)
    past = stats.weight * memory
    weight = past + rows.shape[0]
    share = rows.shape[0] / weight
    row_means, target_means = rows.mean(axis=0), targets.mean(axis=0)
    moved, turned = row_means - stats.feature_means, target_means - stats.class_means
    variances = rows.var(axis=0)
    covariances = (rows - row_means).T @ (targets - target_means) / rows.shape[0]
    keep = 1.0 - share
    return FeatureStats(
        weight,
        stats.feature_means + share * moved,
        keep * stats.feature_variances + share * variances + keep * share * moved**2,
        stats.class_means + share * turned,
        keep * stats.covariances + share * covariances + keep * share * np.outer(moved, turned),
    )


def feature_scores(stats: FeatureStats, config: Config) -> Floats:
    """Score of every feature, high = irrelevant; NaN for a feature or classes that did not vary."""
    class_variances = stats.class_means * (1.0 - stats.class_means)
    varied = class_variances > 1e-12
    if not varied.any():
        return np.full(stats.feature_means.size, np.nan)
    v_x, v_y = stats.feature_variances[:, None], class_variances[None, varied]
    cov = stats.covariances[:, varied]
    with np.errstate(divide="ignore", invalid="ignore"):
        if config.feature_score == "standardised":
            index = 1.0 - np.abs(cov) / np.sqrt(v_x * v_y)
        else:
            index = compression_index(v_x, v_y, cov)
    index[stats.feature_variances <= 1e-12] = np.nan
    scores: Floats = index.mean(axis=1)
    return scores


def updated_mask(mask: Flags, scores: Floats, threshold: float) -> Flags:
    """Features in use: off where the score reaches the threshold, on again where it falls below.

    Features without a score stay as they are, and the best feature always stays on.
    """
    known = ~np.isnan(scores)
    fresh: Flags = np.where(known, scores < threshold, mask)
    if not fresh.any():
        fresh[np.nanargmin(scores)] = True
    return fresh
