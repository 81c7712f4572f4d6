"""Streams as lists of rows: sources that count what is read of them, and slow twins."""

import dataclasses
import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from devfnn.streams import Stream
from devfnn.types import Chunk

NAMES = ("a", "b", "c")


class Row(NamedTuple):
    """One row; `features` begin with its number, so that every row is one of its kind."""

    features: tuple[float, ...]
    label: Any
    time: Any = None
    is_labelled: bool = True


def features_of(number: int) -> tuple[float, ...]:
    """Three features that tell the row and the column."""
    return (float(number), number + 0.25, -float(number))


def numbered(
    labels: Iterable[Any], times: Iterable[Any] | None = None, first: int = 0
) -> list[Row]:
    """Rows with these labels, numbered."""
    clock = itertools.repeat(None) if times is None else times
    pairs = zip(labels, clock, strict=False)
    return [Row(features_of(first + i), label, when) for i, (label, when) in enumerate(pairs)]


def rows_of(chunk: Chunk) -> list[Row]:
    """A chunk as rows."""
    n_rows = len(chunk.y)
    times = [None] * n_rows if chunk.times is None else list(chunk.times)
    mask = [True] * n_rows if chunk.labelled is None else chunk.labelled.tolist()
    features = map(tuple, chunk.X.tolist())
    return list(itertools.starmap(Row, zip(features, chunk.y.tolist(), times, mask, strict=True)))


def all_rows(chunks: Iterable[Chunk]) -> list[Row]:
    """Rows of all chunks."""
    return [row for chunk in chunks for row in rows_of(chunk)]


def numbers_of(chunks: Iterable[Chunk]) -> list[int]:
    """Numbers of all rows."""
    return [int(row.features[0]) for row in all_rows(chunks)]


def block_of(rows: Sequence[Row], kind: str = "object", *, masked: bool = False) -> Chunk:
    """Rows as a block, with labels as int64, text or objects."""
    if not rows:  # as a reader may leave it: the labels of no rows have no kind
        return Chunk(np.empty((0, len(NAMES))), np.array([]))
    labels = np.empty(len(rows), object)
    for place, row in enumerate(rows):
        labels[place] = row.label
    if kind != "object":
        labels = labels.astype({"int": np.int64, "text": np.str_}[kind])
    times = None if rows[0].time is None else np.array([row.time for row in rows])
    mask = np.array([row.is_labelled for row in rows]) if masked else None
    return Chunk(np.array([row.features for row in rows]), labels, times, mask)


class Blocks:
    """Starts a source again and again, and knows how often and how far it was read."""

    def __init__(self, blocks: Sequence[Chunk]) -> None:
        self.blocks = list(blocks)
        self.n_started = 0
        self.n_read = 0

    def __call__(self) -> Iterator[Chunk]:
        self.n_started += 1
        return self._pass()

    def _pass(self) -> Iterator[Chunk]:
        for block in self.blocks:
            self.n_read += 1
            yield block


class Endless:
    """A source without end, that knows how many of its blocks are still held by somebody."""

    def __init__(self, block_rows: int, n_blocks: int | None = None) -> None:
        self.block_rows = block_rows
        self.n_blocks = n_blocks
        self.n_read = 0
        self._made: list[weakref.ref[np.ndarray]] = []

    def __call__(self) -> Iterator[Chunk]:
        for number in itertools.count() if self.n_blocks is None else range(self.n_blocks):
            first = number * self.block_rows
            rows = np.arange(first, first + self.block_rows)
            X = np.column_stack([rows, rows + 0.25, -rows])
            self.n_read += 1
            self._made.append(weakref.ref(X))
            yield Chunk(X, rows % 2, rows.copy())
            del X

    def n_alive(self) -> int:
        """Blocks that are still in memory."""
        return sum(made() is not None for made in self._made)

    def stream(self, **facts: Any) -> Stream:
        """The source as a stream."""
        is_endless = self.n_blocks is None
        n_rows = None if is_endless else self.n_blocks * self.block_rows
        return Stream(NAMES, (0, 1), self, n_rows=n_rows, is_endless=is_endless, **facts)


@dataclasses.dataclass
class Table:
    """A finite source, as rows and as a stream."""

    rows: list[Row]
    blocks: Blocks
    stream: Stream


def table(
    rows: Sequence[Row], sizes: Sequence[int] = (), kind: str = "object", *, masked: bool = False
) -> Table:
    """Rows in blocks of these sizes; what is left comes in a last block."""
    blocks, first = [], 0
    for size in sizes:
        blocks.append(block_of(rows[first : first + size], kind, masked=masked))
        first += size
    if first < len(rows):
        blocks.append(block_of(rows[first:], kind, masked=masked))
    starts = Blocks(blocks)
    classes = tuple(dict.fromkeys(row.label for row in rows if row.label is not None))
    if not masked:
        rows = [row._replace(is_labelled=True) for row in rows]
    return Table(list(rows), starts, Stream(NAMES, classes, starts, n_rows=len(rows)))


LABELS: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-2, 3),
    "text": st.sampled_from(["", "no", "yes", "perhaps"]),
    "object": st.sampled_from([None, 0, 1, "one", ("a", 1), 2**70, True, 0.5]),
}

CLOCKS: dict[str, Callable[[int], Any]] = {
    "int": lambda tick: np.int64(tick),
    "float": lambda tick: np.float64(tick) / 4,
    "date": lambda tick: np.datetime64("2020-02-28T22:00:00", "s") + 600 * tick,
}


@st.composite
def ticks(draw: Any, n_rows: int, is_rising: bool) -> list[int]:
    """When rows come, in steps of a clock."""
    if not is_rising:
        return draw(st.lists(st.integers(-20, 20), min_size=n_rows, max_size=n_rows))
    steps = draw(st.lists(st.integers(0, 6), min_size=n_rows, max_size=n_rows))
    return [tick - 15 for tick in itertools.accumulate(steps)]


@st.composite
def tables(
    draw: Any,
    max_rows: int = 30,
    clocks: Sequence[str | None] = (None, "int", "float", "date"),
    is_rising: bool = True,
    kinds: Sequence[str] = tuple(LABELS),
    first: int = 0,
) -> Table:
    """Sources with any labels and clocks, in blocks of any size, some of them empty."""
    n_rows = draw(st.integers(0, max_rows))
    kind, clock = draw(st.sampled_from(kinds)), draw(st.sampled_from(clocks))
    labels = draw(st.lists(LABELS[kind], min_size=n_rows, max_size=n_rows))
    times = None
    if clock is not None:
        times = [CLOCKS[clock](tick) for tick in draw(ticks(n_rows, is_rising))]
    rows = numbered(labels, times, first)
    masked = draw(st.booleans())
    if masked:
        mask = draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows))
        rows = [row._replace(is_labelled=seen) for row, seen in zip(rows, mask, strict=True)]
    sizes = draw(st.lists(st.integers(0, 9), max_size=10))
    return table(rows, sizes, kind, masked=masked)


def pieces(rows: Sequence[Row], size: int) -> list[list[Row]]:
    """Rows in lists of equal size; the last may be shorter."""
    return [list(rows[first : first + size]) for first in range(0, len(rows), size)]
