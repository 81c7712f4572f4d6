"""Online feature mask: features irrelevant to the classes are left out, and can come back.

Paper: section "Online Feature Weighting Mechanism". The score of a feature is the mean over classes
of the compression index between feature and class. The index has the unit of a variance, so on
inputs in [0, 1] it can never reach the paper's threshold (`variance`). `standardised` takes it for
unit variances, where it is 1 - |correlation|, and also looks at the squared deviation of the
feature, since rules can use what a correlation does not see. Statistics fade from chunk to chunk.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from devfnn.arrays import Flags, Floats, Ints
from devfnn.events import Event, FeatureOff, FeatureOn
from devfnn.model.layout import Field, carry_over, make
from devfnn.model.rows import Rows
from devfnn.model.scaling import Change

if TYPE_CHECKING:
    from devfnn.model.network import Network


NO_VARIANCE = 1e-12
"""Variances up to this, of a millionth of a range, are rounding: such a signal has not varied."""


class FeatureStats(NamedTuple):
    """Weighted moments of signals and class indicators.

    The 2n signals are the features, then the squares of their deviations from the mean so far.
    """

    weight: Floats  # (1,)
    signal_means: Floats  # (2n,)
    signal_variances: Floats  # (2n,)
    class_means: Floats  # (m,)
    covariances: Floats  # (2n, m)


LAYOUT = {
    "weight": Field("1", 0.0, 0.0),
    "signal_means": Field("2n", 0.0),
    "signal_variances": Field("2n", 0.0),
    "class_means": Field("m", 0.0),
    "covariances": Field("2n m", 0.0),
}


def empty_stats(n_features: int, n_classes: int) -> FeatureStats:
    """Statistics of nothing."""
    stats = FeatureStats(**make(LAYOUT, {"2n": 2 * n_features, "m": n_classes}))
    stats.signal_means[:n_features] = 0.5
    return stats


def resized_stats(stats: FeatureStats, n_features: int, n_classes: int) -> FeatureStats:
    """A larger copy, with room for features and classes that appear later."""
    fresh, known = empty_stats(n_features, n_classes), np.arange(stats.signal_means.size // 2)
    places = {"2n": np.concatenate([known, n_features + known])}
    carry_over(LAYOUT, stats._asdict(), fresh._asdict(), places)
    return fresh


def rebased_stats(stats: FeatureStats, change: Change) -> FeatureStats:
    """The statistics in the units of a new scaling map."""
    n_features = stats.signal_means.size // 2
    means, variances = stats.signal_means.copy(), stats.signal_variances.copy()
    covariances = stats.covariances.copy()
    wild = change.features[change.is_wild]
    both = np.concatenate([wild, n_features + wild])
    means[wild], means[n_features + wild] = 0.5, 0.0
    variances[both], covariances[both] = 0.0, 0.0
    change = change.without_wild()
    means[change.features] -= change.shifts
    for power, signals in ((1, change.features), (2, n_features + change.features)):
        means[signals] /= change.factors**power
        variances[signals] /= change.factors ** (2 * power)
        covariances[signals] /= change.factors[:, None] ** power
    return stats._replace(signal_means=means, signal_variances=variances, covariances=covariances)


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
    """The statistics with a chunk added, the past faded; missing values count as the mean."""
    means = stats.signal_means[: rows.shape[1]]
    rows = np.where(np.isnan(rows), means, rows)
    rows = np.concatenate([rows, (rows - means) ** 2], axis=1)
    targets = (labels[:, None] == np.arange(stats.class_means.size)).astype(np.float64)
    weight = stats.weight * memory + rows.shape[0]
    share = rows.shape[0] / weight
    keep = 1.0 - share
    row_means, target_means = rows.mean(axis=0), targets.mean(axis=0)
    moved, turned = row_means - stats.signal_means, target_means - stats.class_means
    variances = rows.var(axis=0)
    covariances = (rows - row_means).T @ (targets - target_means) / rows.shape[0]
    return FeatureStats(
        weight,
        stats.signal_means + share * moved,
        keep * stats.signal_variances + share * variances + keep * share * moved**2,
        stats.class_means + share * turned,
        keep * stats.covariances + share * covariances + keep * share * np.outer(moved, turned),
    )


def feature_scores(stats: FeatureStats, score: str) -> Floats:
    """Score of every feature, high = irrelevant; NaN for a feature or classes that did not vary."""
    n_features = stats.signal_means.size // 2
    class_variances = stats.class_means * (1.0 - stats.class_means)
    varied = class_variances > NO_VARIANCE
    if not varied.any():
        return np.full(n_features, np.nan)
    v_x, v_y = stats.signal_variances[:, None], class_variances[None, varied]
    cov = stats.covariances[:, varied]
    if score == "variance":
        index = compression_index(v_x[:n_features], v_y, cov[:n_features])
    else:
        relevance = np.abs(cov) / np.sqrt(np.maximum(v_x * v_y, 1e-300))
        index = 1.0 - np.maximum(relevance[:n_features], relevance[n_features:])
    index[stats.signal_variances[:n_features] <= NO_VARIANCE] = np.nan
    scores: Floats = index.mean(axis=1)
    return scores


def updated_mask(mask: Flags, scores: Floats, threshold: float) -> Flags:
    """Features in use: off where the score reaches the threshold, on again where it falls below.

    Features without a score stay as they are, and the best feature always stays on.
    """
    known = ~np.isnan(scores)
    fresh: Flags = np.where(known, scores < threshold, mask)
    if known.any() and not fresh[known].any():
        fresh[np.nanargmin(scores)] = True
    return fresh


def mask_features(network: "Network", rows: Rows, names: list[str]) -> list[Event]:
    """Switch features off and on by their relevance to the classes."""
    mask, stats, before = network.config.feature_mask, network.feature_stats, network.feature_mask
    if mask is None or stats is None or not len(rows):
        return []
    inputs = network.all_inputs_of(rows.X)
    network.feature_stats = updated_stats(stats, inputs, rows.labels, mask.memory)
    scores = feature_scores(network.feature_stats, mask.score)
    network.feature_mask = updated_mask(before, scores, mask.threshold)
    changed = np.flatnonzero(network.feature_mask != before)
    if changed.size:
        network.switch_inputs()
    events: list[Event] = []
    for j in changed:
        event = FeatureOn if network.feature_mask[j] else FeatureOff
        events.append(event(network.n_rows, names[j], float(scores[j]), mask.threshold))
    return events
