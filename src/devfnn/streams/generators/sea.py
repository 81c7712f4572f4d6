"""SEA: the sum of two features against a threshold that jumps; a third is irrelevant.

Street and Kim, "A streaming ensemble algorithm (SEA) for large-scale classification", KDD 2001.
With imbalance: Ditzler and Polikar, "Incremental learning of concept drift from streaming
imbalanced data", IEEE TKDE 25, 2013; the thresholds 4, 7, 4, 7 are those the paper names.
"""

import dataclasses
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.streams.arguments import finite_number, listed
from devfnn.streams.generators.concept import Maker
from devfnn.streams.generators.drifting import StreamOptions, drifting, with_defaults
from devfnn.streams.stream import Stream

HIGHEST = 10.0
"""Features are uniform from 0 to this."""


@dataclasses.dataclass(frozen=True)
class SEA:
    """Label 1 if f1 + f2 <= threshold, else 0."""

    threshold: float

    feature_names = ("f1", "f2", "f3")
    classes = (0, 1)
    n_draws = 3

    def __post_init__(self) -> None:
        finite_number("threshold", self.threshold)

    def start(self) -> Maker:
        return lambda draws: _made(draws, self.threshold)

    def between(self, other: "SEA", shares: Floats) -> Maker:
        moving = self.threshold + shares * (other.threshold - self.threshold)
        return lambda draws: _made(draws, moving)


def _made(draws: Floats, threshold: float | Floats) -> tuple[Floats, Ints]:
    X = HIGHEST * draws[:, :3]
    return X, (X[:, 0] + X[:, 1] <= threshold).astype(np.int64)


def sea(
    n_rows: int | None = None,
    *,
    thresholds: Sequence[float] = (8.0, 9.0, 7.0, 9.5),
    **options: Unpack[StreamOptions],
) -> Stream:
    """2 of 3 features decide by a threshold that jumps and comes back.

    Each threshold is a concept, which lasts 12,500 rows by default; `noise` is 0.1. All other
    options are in `StreamOptions`.

    >>> stream = sea(2000, rows_per_concept=800)
    >>> stream.drift_positions
    (800, 1600)
    """
    concepts = [SEA(threshold) for threshold in listed("thresholds", thresholds)]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=12_500, noise=0.1))


def imbalanced_sea(n_rows: int | None = None, **options: Unpack[StreamOptions]) -> Stream:
    """SEA with 5 to 25 % of the rows below the threshold.

    As in the paper, the threshold is 4, 7, 4, 7, and the share of the minority swings. By default a
    concept lasts 25,000 rows and no label is wrong; all other options are in `StreamOptions`.
    """
    options = with_defaults(
        options, rows_per_concept=25_000, noise=0.0, class_shares={1: (0.05, 0.25)}
    )
    return sea(n_rows, thresholds=(4.0, 7.0), **options)
