"""The formulas of the model as slow, obvious NumPy. `twin.py` puts them together to a learner.

Written from the mathematics, not from the kernels: whole matrices instead of loops, batch values
instead of recursions where there are any. n inputs, m classes, p = 2n + 1 expanded inputs. NaN in a
row means that the input is absent.
"""

from collections.abc import Sequence

import numpy as np

from devfnn.arrays import Flags, Floats, Ints

# ---- the THEN part


def expanded(row: Floats) -> Floats:
    """[1, T1, T2, ...] of inputs moved from [0, 1] to [-1, 1]; absent inputs give 0, 0. (p,)"""
    t = 2.0 * row - 1.0
    pairs = np.stack([t, 2.0 * t**2 - 1.0], axis=-1)
    return np.concatenate([[1.0], np.nan_to_num(pairs, nan=0.0).ravel()])


def authors_expanded(row: Floats) -> Floats:
    """The released scripts' expansion: the recursion runs on across features."""
    terms, previous = [1.0], 1.0
    for value in row:
        previous = 2.0 * value**2 - previous
        terms += [value, previous]
    return np.array(terms)


def softmax(logits: Floats) -> Floats:
    """Probabilities from logits."""
    powers: Floats = np.exp(logits - logits.max())
    return powers / powers.sum()


def mixture(shares: Floats, consequents: Floats, phi: Floats, kind: str) -> Floats:
    """A layer's output. shares: (R,) · consequents: (R, m, p) · phi: (p,)"""
    mixed: Floats = shares @ (consequents @ phi)
    return softmax(mixed) if kind == "logits" else mixed


def ridge(phis: Floats, targets: Floats, weights: Floats, penalty: float) -> Floats:
    """Weighted ridge regression in one go. phis: (k, p) · targets: (k, m) -> (m, p)"""
    normal = phis.T @ (weights[:, None] * phis) + penalty * np.eye(phis.shape[1])
    solution: Floats = np.linalg.solve(normal, phis.T @ (weights[:, None] * targets))
    return solution.T


def one_hot(labels: Ints, m: int) -> Floats:
    """Targets (k, m)."""
    return (np.asarray(labels)[:, None] == np.arange(m)).astype(np.float64)


def least_squares_step(
    W: Floats, gain: Floats, phi: Floats, target: Floats, strength: float, memory: float
) -> tuple[Floats, Floats]:
    """FWGRLS without decay: new weights (m, p) and gain matrix (p, p)."""
    pull = gain @ phi
    step = pull / (memory / strength + phi @ pull)
    error = target - W @ phi
    return W + np.outer(error, step), (gain - np.outer(step, pull)) / memory


def logistic_curvature(probabilities: Floats, floor: float) -> float:
    """The one curvature that all classes of a rule share."""
    return float(max((probabilities * (1.0 - probabilities)).max(), floor))


def logistic_step(
    W: Floats, gain: Floats, phi: Floats, target: Floats, strength: float, rates: Sequence[float]
) -> tuple[Floats, Floats]:
    """The recursive logistic update; `rates` are memory and least curvature."""
    memory, floor = rates
    probabilities = softmax(W @ phi)
    curvature = logistic_curvature(probabilities, floor)
    pull = gain @ phi
    step = pull / (memory / (strength * curvature) + phi @ pull)
    moved = W + np.outer((target - probabilities) / curvature, step)
    return moved, (gain - np.outer(step, pull)) / memory


def bounded(W: Floats, gain: Floats, caps: Floats) -> tuple[Floats, Floats]:
    """Weights (m, p) and gain matrix with no variance over its cap.

    One weight after the other is observed to be 0, as often as brings its variance down to its cap.
    """
    for axis, cap in enumerate(caps):
        variance = gain[axis, axis]
        if variance > cap:
            share, lean = 1.0 - cap / variance, gain[axis] / variance
            W = W - share * np.outer(W[:, axis], lean)
            gain = gain - share * variance * np.outer(lean, lean)
    return W, gain


def decayed(W: Floats, gain: Floats, strength: float) -> Floats:
    """Weights (m, p) pulled towards 0 along the gain matrix, with the bounded step."""
    return W - strength / (1.0 + strength * np.trace(gain)) * W @ gain


# ---- the IF part


def squared_distance(row: Floats, center: Floats, inverse: Floats) -> float:
    """Squared Mahalanobis distance; absent inputs lie on the centre."""
    offset = np.nan_to_num(row - center, nan=0.0)
    return float(offset @ inverse @ offset)


def firing_shares(distances: Floats) -> Floats:
    """Normalised firing."""
    return softmax(-0.5 * distances)


def winner(distances: Floats, log_volumes: Floats, populations: Floats) -> int:
    """The rule with the largest posterior."""
    prior = np.log(populations + 1.0) / np.log(populations + 1.0).sum()
    return int(np.argmax(-0.5 * distances - log_volumes + np.log(prior)))


def weighted_moments(rows: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Mean (n,) and covariance (n, n) of weighted rows in one go."""
    mean = weights @ rows / weights.sum()
    away = rows - mean
    return mean, away.T @ (weights[:, None] * away) / weights.sum()


def tuned_cov(cov: Floats, offset: Floats, rate: float) -> Floats:
    """Covariance after a row; `offset` is NaN where an input is absent and keeps its variance."""
    present = ~np.isnan(offset)
    both, one = np.outer(present, present), np.logical_xor.outer(present, present)
    away = np.nan_to_num(offset, nan=0.0)
    moved = (1.0 - rate) * cov + rate * (1.0 - rate) * np.outer(away, away)
    return np.where(both, moved, np.where(one, (1.0 - rate) * cov, cov))


# ---- densities


def data_quality(point: Floats, inverse: Floats, rows: Floats, weights: Floats) -> float:
    """Density around a point as the direct weighted sum over all rows (paper: DQ)."""
    total = sum(
        weight * (point - row) @ inverse @ (point - row)
        for row, weight in zip(rows, weights, strict=True)
    )
    return float((1.0 + total / weights.sum() / point.size) ** -0.5)


def published_potential(distances: Floats) -> float:
    """P+ by the printed recursion, started at 1 with the founding row. Distances are squared."""
    value = 1.0
    for count, distance in enumerate(distances, start=3):
        square = value**2
        rest = (count - 1) * square + (count - 2) * (1.0 - square) + square * distance
        value = np.sqrt((count - 1) * square / rest)
    return float(value)


def class_quality(row: Floats, rows: Floats) -> float:
    """Density of the rows of one class around a row, without metric."""
    mean, cov = weighted_moments(rows, np.ones(len(rows)))
    return float((1.0 + ((row - mean) ** 2).sum() + np.trace(cov)) ** -0.5)


# ---- what to learn, votes, structure


def certainty(output: Floats) -> float:
    """Share of the first among the two largest outputs, negative ones read as 0."""
    second, first = np.sort(np.maximum(output, 0.0))[-2:] if output.size > 1 else (0.0, output[0])
    return float(first / (first + second)) if first + second >= 1e-9 else 0.5


def updated_vote(
    weight: float, decay: float, is_right: bool, step: float, floor: float
) -> tuple[float, float]:
    """Voting weight and decay factor of a layer after one row."""
    if is_right:
        decay = min(decay + step, 1.0)
        return min(weight * (1.0 + decay), 1.0), decay
    decay = max(decay - step, step)
    return max(weight * decay, floor), decay


def likelihood_weights(outputs: Floats, labels: Ints, memory: float, sharpness: float) -> Floats:
    """Voting weights after rows: the fading likelihood, relative to the best. outputs: (k, L, m)"""
    positive = np.maximum(outputs, 0.0)
    own = positive[np.arange(len(labels)), :, labels] / positive.sum(axis=2)
    fading = memory ** np.arange(len(labels))[::-1]
    logs = sharpness * fading @ np.log(np.maximum(own, 0.01))
    weights: Floats = np.exp(logs - logs.max())
    return weights


def vote(outputs: Floats, weights: Floats, is_merged: Flags, is_soft: bool) -> Floats:
    """Probabilities of the network for one row. outputs: (L, m)"""
    total = np.zeros(outputs.shape[1])
    for output, weight in zip(outputs[~is_merged], weights[~is_merged], strict=True):
        share = np.eye(output.size)[output.argmax()]
        if is_soft:
            positive = np.maximum(output, 0.0)
            flat = np.full(output.size, 1.0 / output.size)
            share = positive / positive.sum() if positive.sum() > 0.0 else flat
        total += weight * share
    return total / total.sum()


def compression_index(first: float, second: float, cov: float) -> float:
    """Smaller eigenvalue of the covariance of two variables (paper: MICI)."""
    return float(np.linalg.eigvalsh(np.array([[first, cov], [cov, second]]))[0])
