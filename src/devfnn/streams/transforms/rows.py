"""Which rows come, and cut into which chunks."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from devfnn.errors import InputError
from devfnn.types import Chunk

SHUFFLING = 102
"""Keeps these random numbers apart from others with the same seed."""


def joined(parts: Sequence[Chunk]) -> Chunk:
    """Parts as one chunk; what is late is not carried over.

    >>> joined([Chunk(np.eye(1), np.array([1])), Chunk(np.eye(1), np.array(["a"], object))]).y
    array([1, 'a'], dtype=object)
    """
    if len(parts) == 1:
        return parts[0]
    labels = [part.y for part in parts]
    if len({label.dtype.kind for label in labels}) > 1:  # NumPy would turn numbers into text
        labels = [label.astype(object) for label in labels]
    times = [part.times for part in parts if part.times is not None]
    if len({time.dtype.kind == "M" for time in times}) > 1:
        raise InputError("rows with dates and rows with numbers as times cannot be joined")
    labelled = None
    if any(part.labelled is not None for part in parts):
        masks = [
            np.ones(len(part.y), bool) if part.labelled is None else part.labelled for part in parts
        ]
        labelled = np.concatenate(masks)
    return Chunk(
        np.concatenate([part.X for part in parts]),
        np.concatenate(labels),
        np.concatenate(times) if len(times) == len(parts) else None,
        labelled,
    )


def cut_by_rows(blocks: Iterator[Chunk], chunk_rows: int) -> Iterator[Chunk]:
    """Chunks of equal size; the last may be shorter."""
    parts: list[Chunk] = []
    lacking = chunk_rows
    for block in blocks:
        start = 0
        while len(block.y) - start >= lacking:
            parts.append(block.rows(slice(start, start + lacking)))
            yield joined(parts)
            parts = []
            start, lacking = start + lacking, chunk_rows
        if start < len(block.y):
            parts.append(block.rows(slice(start, None)))
            lacking -= len(block.y) - start
    if parts:
        yield joined(parts)


def cut_by_time(
    blocks: Iterator[Chunk], windows_of: Callable[[Any], np.ndarray[Any, Any]]
) -> Iterator[Chunk]:
    """Chunks of all rows in one window of time; windows without rows are passed over.

    A late row of the window before stays with the rows it came with. A clock that jumps back
    further starts a new chunk.

    windows_of: times (n,) to whole numbers (n,)
    """
    parts: list[Chunk] = []
    current = 0
    for block in blocks:
        if not len(block.y):
            continue
        windows = windows_of(block.times)
        edges = np.flatnonzero(np.diff(windows)) + 1
        for start, end in itertools.pairwise([0, *edges.tolist(), len(windows)]):
            window = int(windows[start])
            if parts and window not in (current, current - 1):
                yield joined(parts)
                parts = []
            current = max(current, window) if parts else window
            parts.append(block.rows(slice(start, end)))
    if parts:
        yield joined(parts)


def taken(blocks: Iterator[Chunk], n_rows: int) -> Iterator[Chunk]:
    """The first rows; not one block more than needed is asked for."""
    lacking = n_rows
    while lacking:
        block = next(blocks, None)
        if block is None:
            return
        yield block.rows(slice(lacking)) if len(block.y) > lacking else block
        lacking -= min(lacking, len(block.y))


def skipped(blocks: Iterator[Chunk], n_rows: int) -> Iterator[Chunk]:
    """All but the first rows."""
    left = n_rows
    for block in blocks:
        if left < len(block.y):
            yield block.rows(slice(left, None)) if left else block
        left -= min(left, len(block.y))


def repeated(start: Callable[[], Iterator[Chunk]], times: int | None) -> Iterator[Chunk]:
    """The same rows again and again; None for ever. A source without rows ends at once."""
    for _ in itertools.count() if times is None else range(times):
        has_rows = False
        for block in start():
            has_rows = has_rows or len(block.y) > 0
            yield block
        if not has_rows:
            return


def shuffled(blocks: Iterator[Chunk], buffer_rows: int, seed: int) -> Iterator[Chunk]:
    """Rows in random order within each buffer of rows, so none moves further than that."""
    rng = np.random.default_rng([seed, SHUFFLING])
    for buffer in cut_by_rows(blocks, buffer_rows):
        yield buffer.rows(rng.permutation(len(buffer.y)))


def selected(blocks: Iterator[Chunk], places: Sequence[int]) -> Iterator[Chunk]:
    """Some of the features, by their places, in this order."""
    for block in blocks:
        yield block._replace(X=np.ascontiguousarray(block.X[:, places]))
