"""Rows of a long and unkind life: drift that returns, glitches, new classes, hidden labels.

SEA with four concepts in turn, beside features that try to break the arithmetic: constant,
collinear, huge, tiny, away for a while. A chunk is a function of its number, so any part of a run
can be made again.
"""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.arrays import Flags, Floats, Ints

ROWS, NOISE = 500, 0.1
"""Rows of a chunk, and the share of labels that are wrong."""

THRESHOLDS = (8.0, 9.0, 7.0, 9.5)
"""Of the concepts."""

LONGEST_CONCEPT, NEW_CLASSES, BAND = 50, 4, 0.4
"""Chunks of a concept; classes that appear in time, each in so wide a band of the third feature."""

GARBAGE, KINDS = 97, 4
"""Chunks from one glitch to the next, and kinds of glitches."""

ROUND = GARBAGE * KINDS
"""Chunks after which glitches begin again."""

Labels = npt.NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Rows to predict and to learn."""

    X: Floats
    y: Labels
    chosen: Flags | None
    """Which labels may be learned; None for all."""
    concept: int
    is_clean: bool
    """Whether nothing is wrong with the rows."""


@dataclasses.dataclass(frozen=True)
class Life:
    """A stream of so many chunks, the same for the same seed."""

    n_chunks: int
    seed: int = 0

    @property
    def concept_chunks(self) -> int:
        """Chunks of a concept; each returns at least once in every tenth of the life."""
        return max(1, min(LONGEST_CONCEPT, self.n_chunks // 40))

    def n_new_classes(self, index: int) -> int:
        """Classes that have appeared, all of them in the first tenth."""
        return min(NEW_CLASSES, index * 10 * (NEW_CLASSES + 1) // self.n_chunks)

    def chunk(self, index: int) -> Chunk:
        """The chunk of a number."""
        rng = np.random.default_rng((self.seed, index))
        concept = index // self.concept_chunks % len(THRESHOLDS)
        X = _rows(rng, is_away=index // 40 % 2 == 1)
        y = self._labels(X, concept, index, rng)
        is_clean = not _spoil(X, index, rng)
        chosen = rng.random(ROWS) < 0.3 if index // 30 % 3 == 1 else None
        return Chunk(X, y, chosen, concept, is_clean)

    def _labels(self, X: Floats, concept: int, index: int, rng: np.random.Generator) -> Ints:
        y = (X[:, 0] + X[:, 1] <= THRESHOLDS[concept]).astype(np.int64)
        is_wrong = rng.random(ROWS) < NOISE
        y[is_wrong] = 1 - y[is_wrong]
        band = ((10.0 - X[:, 2]) / BAND).astype(np.int64)
        is_new = band < self.n_new_classes(index)
        y[is_new] = 2 + band[is_new]
        return y


def _rows(rng: np.random.Generator, is_away: bool) -> Floats:
    """Three features that matter, and six that are no help."""
    useful = 10.0 * rng.random((ROWS, 3))
    others = (
        2.0 * useful[:, 0] + 3.0,
        np.full(ROWS, 7.0),
        1e9 * rng.random(ROWS),
        1e-9 * rng.random(ROWS),
        np.zeros(ROWS) if is_away else rng.random(ROWS),
        np.where(rng.random(ROWS) < 0.01, np.nan, useful[:, 1]),
    )
    return np.column_stack([useful, *others])


def _spoil(X: Floats, index: int, rng: np.random.Generator) -> bool:
    """Let rows be as sensors send them; returns whether something is wrong with them."""
    kind, place = divmod(index, GARBAGE)
    if place == 0 and index:
        code = (-9999.0, 1e12, 1e30, np.inf)[kind % KINDS]
        X[:3, kind % 3] = code if np.isfinite(code) else 1e6 * rng.normal(size=3)
    has_other_unit = kind % KINDS == 3 and 20 <= place < 40
    if has_other_unit:
        X[:, kind % 2] = 1.8 * X[:, kind % 2] + 32.0
    return place == 0 or has_other_unit
