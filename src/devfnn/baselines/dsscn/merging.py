"""Two layers that say the same become one: the one that is wrong more often goes for good."""

from typing import NamedTuple

import numpy as np

from devfnn.kernels.state import Floats, Ints
from devfnn.model.features import compression_index


class Merger(NamedTuple):
    """A pair of layers that say the same."""

    kept: int
    dropped: int
    distance: float
    """Largest compression index over classes."""


def find_merger(outputs: list[Floats], labels: Ints, threshold: float) -> Merger | None:
    """The most alike pair of layers, if it is alike enough; the better one is kept.

    Parameters
    ----------
    outputs
        Of every layer for the same chunk, (n_rows, n_outputs) each.
    labels
        Class indices of the rows.
    threshold
        The index of every class must be below it.
    """
    distances = unlikeness(np.stack(outputs))
    pairs = np.tril_indices(len(outputs), -1)
    if not pairs[0].size:
        return None
    nearest = int(distances[pairs].argmin())
    upper, lower = int(pairs[0][nearest]), int(pairs[1][nearest])
    distance = float(distances[upper, lower])
    return (
        Merger(*_by_errors(outputs, labels, lower, upper), distance)
        if distance < threshold
        else None
    )


def unlikeness(outputs: Floats) -> Floats:
    """Largest compression index over classes, for every pair of layers.

    0 if one layer is a linear function of the other. outputs: (n_layers, n_rows, n_outputs).
    """
    away = outputs - outputs.mean(axis=1, keepdims=True)
    covariances = np.einsum("akc,bkc->abc", away, away) / outputs.shape[1]
    variances = np.einsum("aac->ac", covariances)
    indices: Floats = compression_index(variances[:, None], variances[None], covariances)
    return np.asarray(indices.max(axis=2))


def _by_errors(outputs: list[Floats], labels: Ints, lower: int, upper: int) -> tuple[int, int]:
    """The layer with fewer errors, then the other; of equals the lower one is first."""
    errors = [int(np.count_nonzero(outputs[at].argmax(axis=1) != labels)) for at in (lower, upper)]
    return (lower, upper) if errors[0] <= errors[1] else (upper, lower)
