"""The four files of the accuracy benchmark, cut into chunks as the paper cuts them."""

import os
import pathlib

import numpy as np

from devfnn.types import Chunk

FOLDS = {"sea-paper": 200, "hyperplane-paper": 240, "weather": 36, "electricity": 91}


def data_folder() -> pathlib.Path | None:
    """Where the files are, if they are."""
    folder = os.environ.get("DEVFNN_DATA")
    if folder and all((pathlib.Path(folder) / f"{name}.npz").is_file() for name in FOLDS):
        return pathlib.Path(folder)
    return None


def file_chunks(folder: pathlib.Path, name: str, scaling: str) -> list[Chunk]:
    """All chunks of a file; `dataset` scales by the range of the whole file, which looks ahead.

    A last chunk shorter than half of the others is dropped.
    """
    with np.load(folder / f"{name}.npz", allow_pickle=False) as archive:
        X, y = archive["X"], archive["y"]
    if scaling == "dataset":
        low, high = X.min(axis=0), X.max(axis=0)
        X = (X - low) / np.where(high > low, high - low, 1.0)
    rows = len(y) // FOLDS[name]
    starts = [start for start in range(0, len(y), rows) if len(y) - start >= rows / 2]
    return [Chunk(X[start : start + rows], y[start : start + rows]) for start in starts]


def cut(X: np.ndarray, y: np.ndarray, rows: int = 500) -> list[Chunk]:
    """Chunks of equal size."""
    starts = range(0, len(y), rows)
    return [Chunk(X[start : start + rows], y[start : start + rows]) for start in starts]


def separable_chunks(n_rows: int, n_features: int, n_classes: int, seed: int = 0) -> list[Chunk]:
    """Rows with a linear boundary and 5 % noise, in chunks of 500."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features))
    y = (X @ rng.normal(size=(n_features, n_classes))).argmax(axis=1)
    flipped = rng.random(n_rows) < 0.05
    y[flipped] = rng.integers(0, n_classes, np.count_nonzero(flipped))
    return cut(X, y)


def patchwork_chunks(n_rows: int, n_features: int, seed: int = 0) -> list[Chunk]:
    """Well separated clusters, each with a class of its own: a stream that wants many rules."""
    rng = np.random.default_rng(seed)
    centers = rng.random((12, n_features))
    cluster = rng.integers(0, 12, n_rows)
    X = centers[cluster] + 0.03 * rng.normal(size=(n_rows, n_features))
    y = cluster % 2
    return cut(X, y)
