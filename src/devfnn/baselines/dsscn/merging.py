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
    best: Merger | None = None
    for upper in range(1, len(outputs)):
        for lower in range(upper):
            distance = unlikeness(outputs[lower], outputs[upper])
            if distance < (threshold if best is None else best.distance):
                kept, dropped = _by_errors(outputs, labels, lower, upper)
                best = Merger(kept, dropped, distance)
    return best


def unlikeness(first: Floats, second: Floats) -> float:
    """Largest compression index over classes: 0 if one layer is a linear function of the other."""
    covariance = ((first - first.mean(axis=0)) * (second - second.mean(axis=0))).mean(axis=0)
    return float(compression_index(first.var(axis=0), second.var(axis=0), covariance).max())


def _by_errors(outputs: list[Floats], labels: Ints, lower: int, upper: int) -> tuple[int, int]:
    """The layer with fewer errors, then the other; of equals the lower one is first."""
    errors = [int(np.count_nonzero(outputs[at].argmax(axis=1) != labels)) for at in (lower, upper)]
    return (lower, upper) if errors[0] <= errors[1] else (upper, lower)
