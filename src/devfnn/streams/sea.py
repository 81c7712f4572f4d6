"""SEA: two features whose sum decides, a third that says nothing, and a threshold that jumps.

Street and Kim, "A streaming ensemble algorithm (SEA) for large-scale classification", KDD 2001.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np

from devfnn.errors import InputError
from devfnn.streams.generated import GeneratedStream, whole_number
from devfnn.types import Chunk

HIGHEST = 10.0
"""Features are uniform from 0 to this."""


def sea(
    n_rows: int,
    *,
    rows_per_concept: int,
    thresholds: Sequence[float] = (8.0, 9.0, 7.0, 9.5),
    noise: float = 0.1,
    chunk_rows: int = 500,
    seed: int = 0,
) -> GeneratedStream:
    """A SEA stream: abrupt drift between concepts that come back.

    A row has label 1 if f1 + f2 <= threshold, else 0; a share of the labels is then flipped. The
    rows are the same whatever `chunk_rows`, and the features depend on `seed` alone.

    Parameters
    ----------
    n_rows
        Rows of the whole stream; the last chunk may be shorter than the others.
    rows_per_concept
        Rows after which the next threshold takes over.
    thresholds
        One for each concept; after the last comes the first again.
    noise
        Share of labels that are flipped.
    chunk_rows
        Rows in a chunk.
    seed
        Seed of features and noise.

    Examples
    --------
    >>> stream = sea(2000, rows_per_concept=800)
    >>> stream.drift_positions
    (800, 1600)
    >>> [chunk.X.shape for chunk in stream]
    [(500, 3), (500, 3), (500, 3), (500, 3)]
    """
    if not 0.0 <= noise <= 1.0:
        raise InputError(f"noise must be between 0 and 1, not {noise!r}")
    if not len(thresholds) or not all(map(math.isfinite, thresholds)):
        raise InputError(f"thresholds must be one or more finite numbers, not {thresholds!r}")
    recipe = _Recipe(
        whole_number("n_rows", n_rows, low=1),
        whole_number("rows_per_concept", rows_per_concept, low=1),
        tuple(map(float, thresholds)),
        noise,
        whole_number("chunk_rows", chunk_rows, low=1),
        whole_number("seed", seed, low=0),
    )
    return GeneratedStream(
        n_rows=recipe.n_rows,
        feature_names=("f1", "f2", "f3"),
        classes=(0, 1),
        drift_positions=recipe.drift_positions(),
        make_chunks=recipe.chunks,
    )


@dataclasses.dataclass(frozen=True)
class _Recipe:
    """The parameters of `sea`, checked."""

    n_rows: int
    rows_per_concept: int
    thresholds: tuple[float, ...]
    noise: float
    chunk_rows: int
    seed: int

    def drift_positions(self) -> tuple[int, ...]:
        """Rows at which the threshold really changes: equal neighbours are one concept."""
        starts = range(self.rows_per_concept, self.n_rows, self.rows_per_concept)
        return tuple(
            start
            for concept, start in enumerate(starts, start=1)
            if self._threshold(concept) != self._threshold(concept - 1)
        )

    def _threshold(self, concept: int) -> float:
        """Threshold of the concept with this number, counted over the whole stream."""
        return self.thresholds[concept % len(self.thresholds)]

    def chunks(self) -> Iterator[Chunk]:
        """All chunks, from one sequence of random numbers: four a row, however they are cut."""
        rng = np.random.default_rng(self.seed)
        thresholds = np.array(self.thresholds)
        for first in range(0, self.n_rows, self.chunk_rows):
            rows = np.arange(first, min(first + self.chunk_rows, self.n_rows))
            draws = rng.random((rows.size, 4))
            X = HIGHEST * draws[:, :3]
            threshold = thresholds[rows // self.rows_per_concept % thresholds.size]
            is_flipped = draws[:, 3] < self.noise
            y = (X[:, 0] + X[:, 1] <= threshold) ^ is_flipped
            yield Chunk(X, y.astype(np.int64))
