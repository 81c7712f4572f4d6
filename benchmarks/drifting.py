"""Generated streams with known drift, on which candidates for the default are compared."""

import functools
from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter

from devfnn import streams as library
from devfnn.streams import Stream
from devfnn.types import Chunk
from streams import cut

N_ROWS = 60000

SEED = 2
"""Of the streams that the library makes; the benchmark of record uses another."""


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


def _wandering(rng: np.random.Generator, memory: float, columns: int) -> np.ndarray:
    """Columns of unit variance, each value `memory` times the one before plus something new."""
    news = rng.normal(size=(N_ROWS, columns)) * np.sqrt(1.0 - memory**2)
    return np.asarray(lfilter([1.0], [1.0, -memory], news, axis=0))


def repeating_rows(rng: np.random.Generator) -> list[Chunk]:
    """Rows and noise that hardly change from one to the next; a curved boundary that wanders."""
    X = _wandering(rng, 0.95, 6)
    weights = rng.normal(size=6) + np.cumsum(0.004 * rng.normal(size=(N_ROWS, 6)), axis=0)
    curves = 0.5 * rng.normal(size=6)
    height = (X * weights).sum(1) / 2 + (X**2 - 1.0) @ curves / 2
    return cut(X, (height + _wandering(rng, 0.98, 1)[:, 0] > 0.0).astype(np.int64))


def market(rng: np.random.Generator) -> list[Chunk]:
    """Half hours of demand and price, in regimes: is the price above its mean of the last week?"""
    t = np.arange(N_ROWS)
    day = np.sin(2 * np.pi * (t % 48 - 14) / 48) + 0.4 * np.sin(4 * np.pi * (t % 48 - 5) / 48)
    noise = _wandering(rng, 0.995, 2)
    demand = day - 0.4 * (t // 48 % 7 >= 5) + 0.6 * noise[:, 0]
    elsewhere = 1.1 * day + 0.6 * noise[:, 1]
    regime = np.cumsum(rng.random(N_ROWS) < 1 / 9000)
    slope, bend, pull = rng.uniform([[0.3, 0.0, -0.4]], [[1.2, 0.5, 0.6]], (regime[-1] + 1, 3)).T
    height = slope[regime] * demand + bend[regime] * demand**2 * np.sign(demand)
    height += pull[regime] * elsewhere + 0.6 * _wandering(rng, 0.97, 1)[:, 0]
    price = np.exp(0.5 * height)
    week = np.convolve(price, np.ones(336) / 336)[:N_ROWS]
    X = np.stack([t // 48 % 7, t % 48, price, demand, elsewhere], axis=1)
    return cut(X[336:], (price > week).astype(np.int64)[336:])


def of_library(make: Callable[..., Stream], **options: object) -> list[Chunk]:
    """A stream of the library with an abrupt drift every 15000 rows."""
    return list(make(N_ROWS, rows_per_concept=15000, seed=SEED, **options))


def _from_library(name: str, **options: object) -> Callable[[np.random.Generator], list[Chunk]]:
    make = functools.partial(of_library, getattr(library, name), **options)
    return lambda _: make()


GENERATED = {
    "sea recurring": sea_recurring,
    "hyperplane abrupt": hyperplane_abrupt,
    "hyperplane gradual": hyperplane_gradual,
    "sine": sine,
    "circles": circles,
    "moving clusters": moving_clusters,
    "stationary": stationary,
    "repeating rows": repeating_rows,
    "market": market,
    "agrawal": _from_library("agrawal"),
    "led": _from_library("led"),
    "mixed": _from_library("mixed"),
    "moving rbf": _from_library("rbf", n_classes=5, speed=1e-4),
    "fast rbf": _from_library("rbf", n_classes=5, speed=1e-3),
}
