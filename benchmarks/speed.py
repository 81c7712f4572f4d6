"""Rows per second of predict + learn on one thread, and what the cost grows with."""

import time
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from devfnn import DEVFNN, Config, presets
from devfnn.types import Chunk
from streams import patchwork_chunks, separable_chunks


def seconds_per_row(model: DEVFNN, chunks: list[Chunk]) -> float:
    """Median over chunks, so that a busy moment of the machine does not count."""
    model.learn(chunks[0].X, chunks[0].y)
    times = []
    for chunk in chunks[1:]:
        start = time.perf_counter()
        model.predict(chunk.X)
        model.learn(chunk.X, chunk.y)
        times.append((time.perf_counter() - start) / len(chunk.y))
    return float(np.median(times))


@numba.njit(cache=True)
def _bare_updates(matrix: Any, vector: Any, n_rows: int) -> None:
    """The arithmetic of one recursive least squares step, and nothing else."""
    size = vector.shape[0]
    gain = np.empty(size)
    for _ in range(n_rows):
        gain[:] = 0.0
        for i in range(size):
            for j in range(size):
                gain[j] += vector[i] * matrix[i, j]
        scale = 1e-9
        for i in range(size):
            for j in range(size):
                matrix[i, j] -= scale * (gain[i] * gain[j])


def bare_seconds(n_features: int, n_rows: int = 20000) -> float:
    """Time of the bare arithmetic of one rule's update, in the same run."""
    size = 2 * n_features + 1
    matrix, vector = np.eye(size), np.full(size, 0.5)
    _bare_updates(matrix, vector, 1)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        _bare_updates(matrix, vector, n_rows)
        times.append((time.perf_counter() - start) / n_rows)
    return min(times)


def _row(varied: str, value: int, seconds: float, model: DEVFNN, n_features: int) -> dict[str, Any]:
    return {
        "varied": varied,
        "value": value,
        "rows_per_second": 1.0 / seconds,
        "times_bare_update": seconds / bare_seconds(n_features),
        "rules": model.n_rules,
        "layers": model.n_live_layers,
    }


def measure(n_rows: int = 40000) -> Iterator[dict[str, Any]]:
    """The default configuration, with one thing varied at a time."""
    for n_features in (4, 18):
        model = DEVFNN()
        seconds = seconds_per_row(model, separable_chunks(n_rows, n_features, 2))
        yield _row("default, features", n_features, seconds, model, n_features)
    for rows in (20000, 40000, 80000, 160000):
        model = DEVFNN()
        seconds = seconds_per_row(model, separable_chunks(rows, 4, 2))
        yield _row("rows", rows, seconds, model, 4)
    for n_features in (2, 4, 8, 16, 32, 64):
        model = DEVFNN()
        seconds = seconds_per_row(model, separable_chunks(10000, n_features, 2))
        yield _row("features", n_features, seconds, model, n_features)
    for n_classes in (2, 4, 8, 16):
        model = DEVFNN()
        seconds = seconds_per_row(model, separable_chunks(10000, 4, n_classes))
        yield _row("classes", n_classes, seconds, model, 4)
    for max_boxes in (1, 5, 20):
        model = DEVFNN(Config().replace(boxes__max_rules=max_boxes, boxes__joining=False))
        seconds = seconds_per_row(model, patchwork_chunks(20000, 4))
        yield _row("boxes allowed", max_boxes, seconds, model, 4)
    stacked = presets.stacked().replace(drift=None, growing=None, merging=None)
    first, others = stacked.layers
    for n_layers in (1, 2, 4, 8):
        layers = (first, *(others,) * (n_layers - 1)) if n_layers > 1 else (others,)
        model = DEVFNN(stacked.replace(layers=layers))
        seconds = seconds_per_row(model, separable_chunks(10000, 4, 2))
        yield _row("stacked layers", n_layers, seconds, model, 4)
