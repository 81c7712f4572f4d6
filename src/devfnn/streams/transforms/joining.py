"""Rows of several sources as one stream, with drift from one to the next."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from devfnn.streams.drift import Schedule
from devfnn.streams.transforms.rows import joined
from devfnn.types import Chunk

PLANNED_ROWS = 4096
"""Rows whose sources are drawn at a time; any number gives the same rows."""

MIXING = 103
"""Keeps these random numbers apart from others with the same seed."""


def chained(starts: Sequence[Callable[[], Iterator[Chunk]]]) -> Iterator[Chunk]:
    """Every source to its end, one after the other."""
    for start in starts:
        yield from start()


def switched(
    starts: Sequence[Callable[[], Iterator[Chunk]]], schedule: Schedule, seed: int
) -> Iterator[Chunk]:
    """Rows from the sources in turn; each goes on where it was left. Ends when one is used up.

    A source is started and read only when the next row is to come from it.
    """
    rng = np.random.default_rng([seed, MIXING])
    taps = [_Tap(chained([start])) for start in starts]
    first = 0
    while True:
        turnover = schedule.turnover(first, PLANNED_ROWS)
        sources = turnover.mixed(rng.random(PLANNED_ROWS)) % len(taps)
        while len(sources):
            n_ready = _n_ready(taps, sources)
            if n_ready:
                yield _woven(taps, sources[:n_ready])
                sources = sources[n_ready:]
            elif not taps[sources[0]].refill():
                return
        first += PLANNED_ROWS


def _n_ready(taps: Sequence["_Tap"], sources: npt.NDArray[np.int64]) -> int:
    """How many rows, of those planned, are there before a source has to be read."""
    n_ready = len(sources)
    for number, tap in enumerate(taps):
        places = np.flatnonzero(sources == number)
        if len(places) > tap.n_rows:
            n_ready = min(n_ready, int(places[tap.n_rows]))
    return n_ready


def _woven(taps: Sequence["_Tap"], sources: npt.NDArray[np.int64]) -> Chunk:
    """A row from each of these sources, in their order."""
    parts: list[Chunk] = []
    order: list[npt.NDArray[np.int64]] = []
    for number in np.unique(sources).tolist():
        places = np.flatnonzero(sources == number)
        parts.append(taps[number].draw(len(places)))
        order.append(places)
    if len(parts) == 1:
        return parts[0]
    return joined(parts).rows(np.argsort(np.concatenate(order)))


class _Tap:
    """A source from which any number of rows can be drawn."""

    def __init__(self, blocks: Iterator[Chunk]) -> None:
        self._blocks = blocks
        self._block: Chunk | None = None

    @property
    def n_rows(self) -> int:
        """Rows that are there."""
        return 0 if self._block is None else len(self._block.y)

    def refill(self) -> bool:
        """Read the next rows, in place of what is left; False if there are no more."""
        self._block = next(self._blocks, None)
        return self._block is not None

    def draw(self, n_rows: int) -> Chunk:
        """The next rows, no more than are there."""
        assert self._block is not None
        drawn = self._block.rows(slice(n_rows))
        self._block = self._block.rows(slice(n_rows, None)) if n_rows < self.n_rows else None
        return drawn
