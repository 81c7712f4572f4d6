"""Labels that are hidden, renamed, or come late."""

import heapq
import operator
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.streams.transforms.rows import joined
from devfnn.types import Chunk, Labels

HIDING = 101
"""Keeps these random numbers apart from others with the same seed."""


def hidden(blocks: Iterator[Chunk], rate: float, seed: int) -> Iterator[Chunk]:
    """Some labels may not be learned; they stay in `y`, for scoring."""
    rng = np.random.default_rng([seed, HIDING])
    for block in blocks:
        seen = rng.random(len(block.y)) >= rate
        yield block._replace(labelled=seen if block.labelled is None else seen & block.labelled)


def relabelled(blocks: Iterator[Chunk], names: Mapping[Hashable, Hashable]) -> Iterator[Chunk]:
    """Labels by other names; a label without one keeps its own, and one named None is unknown."""
    for block in blocks:
        new = np.empty(len(block.y), object)
        new[:] = [names.get(label, label) for label in block.y.tolist()]
        yield block._replace(y=_plain(new))


def _plain(labels: Labels) -> Labels:
    """Labels as integers, if all of them are and none is too large."""
    if set(map(type, labels)) != {int}:
        return labels
    try:
        return labels.astype(np.int64)
    except OverflowError:
        return labels


Clock = Callable[[Chunk, int], npt.NDArray[Any]]
"""When the rows of a chunk came, given the rows before it: (n_rows,)."""


def row_clock(chunk: Chunk, n_before: int) -> npt.NDArray[Any]:
    """Rows themselves tell the time."""
    return np.arange(n_before, n_before + len(chunk.y))


def delayed(chunks: Iterator[Chunk], delay: Any, clock: Clock) -> Iterator[Chunk]:
    """Labels come when the clock shows their row's time plus the delay, at the end of a chunk.

    Labels that come in time are `labelled`, later ones are `late` in a chunk that follows. What is
    still on its way when the stream ends comes with a last chunk that has no rows.
    """
    pending = _Pending()
    n_before, now, empty = 0, None, None
    for chunk in chunks:
        if not len(chunk.y):
            continue
        came = clock(chunk, n_before)
        due = came + delay
        now = came.max() if now is None else max(now, came.max())
        late = pending.come_by(now)
        may_learn = np.ones(len(chunk.y), bool) if chunk.labelled is None else chunk.labelled
        is_due = due <= now
        pending.add(due, chunk, may_learn & ~is_due)
        yield chunk._replace(labelled=may_learn & is_due, late=late)
        n_before += len(chunk.y)
        empty = chunk.rows(slice(0))
    rest = pending.rest()
    if rest is not None and empty is not None:
        yield empty._replace(late=rest)


class _Pending:
    """Rows whose labels are on their way: a heap of parts of chunks, by their earliest label."""

    def __init__(self) -> None:
        self._parts: list[tuple[Any, int, npt.NDArray[Any], Chunk]] = []
        self._n_added = 0

    def add(self, due: npt.NDArray[Any], chunk: Chunk, waiting: npt.NDArray[np.bool_]) -> None:
        """Let some rows of a chunk wait."""
        if waiting.any():
            rows = chunk.rows(waiting)._replace(labelled=None)
            self._put(self._n_added, due[waiting], rows)
            self._n_added += 1

    def come_by(self, now: Any) -> Chunk | None:
        """Take out the rows whose labels have come, in the order of the rows."""
        come: list[tuple[int, Chunk]] = []
        while self._parts and self._parts[0][0] <= now:
            _, number, due, rows = heapq.heappop(self._parts)
            is_due = due <= now
            come.append((number, rows.rows(is_due)))
            if not is_due.all():
                self._put(number, due[~is_due], rows.rows(~is_due))
        return _in_order(come)

    def rest(self) -> Chunk | None:
        """All that is left, in the order of the rows."""
        return _in_order([(number, rows) for _, number, _, rows in self._parts])

    def _put(self, number: int, due: npt.NDArray[Any], rows: Chunk) -> None:
        heapq.heappush(self._parts, (due.min(), number, due, rows))


def _in_order(parts: list[tuple[int, Chunk]]) -> Chunk | None:
    """Numbered parts as one chunk; None if there are none."""
    parts.sort(key=operator.itemgetter(0))
    return joined([rows for _, rows in parts]) if parts else None
