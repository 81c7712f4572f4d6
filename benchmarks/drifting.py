"""Generated streams with known drift, on which candidates for the default are compared."""

import numpy as np

from devfnn.types import Chunk
from streams import cut

N_ROWS = 60000


def _noisy(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> list[Chunk]:
    """5 % of the labels drawn at random."""
    flipped = rng.random(len(y)) < 0.05
    return cut(X, np.where(flipped, rng.integers(0, y.max() + 1, len(y)), y))


def sea_recurring(rng: np.random.Generator) -> list[Chunk]:
    """Thresholds 8, 9, 7, 9.5, twice, with 10 % flipped labels."""
    X = 10.0 * rng.random((100000, 3))
    threshold = np.array([8.0, 9.0, 7.0, 9.5])[np.arange(100000) // 12500 % 4]
    y = (X[:, 0] + X[:, 1] <= threshold) ^ (rng.random(100000) < 0.1)
    return cut(X, y.astype(np.int64))


def hyperplane_abrupt(rng: np.random.Generator) -> list[Chunk]:
    """Six features; new weights every 10000 rows."""
    X, weights = rng.random((N_ROWS, 6)), rng.random((6, 6))[np.arange(N_ROWS) // 10000]
    return _noisy(X, ((X * weights).sum(1) > weights.sum(1) / 2).astype(np.int64), rng)


def hyperplane_gradual(rng: np.random.Generator) -> list[Chunk]:
    """Weights that move from one set to another over the whole stream."""
    t = np.linspace(0.0, 1.0, N_ROWS)[:, None]
    weights = (1.0 - t) * rng.random(6) + t * rng.random(6)
    X = rng.random((N_ROWS, 6))
    return _noisy(X, ((X * weights).sum(1) > weights.sum(1) / 2).astype(np.int64), rng)


def sine(rng: np.random.Generator) -> list[Chunk]:
    """A wave as boundary; the classes change sides every 15000 rows."""
    X, side = rng.random((N_ROWS, 2)), np.arange(N_ROWS) // 15000 % 2
    below = X[:, 1] < 0.5 + 0.3 * np.sin(3.0 * np.pi * X[:, 0])
    return _noisy(X, below.astype(np.int64) ^ side, rng)


def circles(rng: np.random.Generator) -> list[Chunk]:
    """Inside or outside a circle that jumps every 15000 rows."""
    X, center = rng.random((N_ROWS, 2)), np.arange(N_ROWS) // 15000 % 4 * 0.2 + 0.2
    inside = (X[:, 0] - center) ** 2 + (X[:, 1] - 0.5) ** 2 < 0.06
    return _noisy(X, inside.astype(np.int64), rng)


def moving_clusters(rng: np.random.Generator) -> list[Chunk]:
    """Twelve clusters of three classes that drift through five features."""
    centers, labels = rng.random((12, 5)), rng.integers(0, 3, 12)
    speed = 4e-6 * rng.normal(size=(12, 5))
    cluster = rng.integers(0, 12, N_ROWS)
    spread = 0.08 * rng.normal(size=(N_ROWS, 5))
    X = centers[cluster] + speed[cluster] * np.arange(N_ROWS)[:, None] + spread
    return _noisy(X, labels[cluster], rng)


def stationary(rng: np.random.Generator) -> list[Chunk]:
    """A linear boundary that stays."""
    X = rng.random((N_ROWS, 5))
    return _noisy(X, (X @ np.array([1.0, -1.0, 0.5, 0.2, 0.0]) > 0.35).astype(np.int64), rng)


GENERATED = {
    "sea recurring": sea_recurring,
    "hyperplane abrupt": hyperplane_abrupt,
    "hyperplane gradual": hyperplane_gradual,
    "sine": sine,
    "circles": circles,
    "moving clusters": moving_clusters,
    "stationary": stationary,
}
