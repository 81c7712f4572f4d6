"""Transforms of blocks of rows: which rows come, in which chunks, and when their labels come."""

import datetime
import heapq
import itertools
import operator
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.arrays import Flags
from devfnn.errors import DataError, InputError
from devfnn.types import Chunk, Labels, Position

HIDING, SHUFFLING = 101, 102
"""Separates these random numbers from others with the same seed."""

Span = float | datetime.timedelta | np.timedelta64
"""A duration: a timedelta for dates, a number for times that are numbers."""

UNCERTAIN_UNITS = ("generic", "M", "Y")
"""Units of a timedelta64 that have no fixed length."""


def joined(parts: Sequence[Chunk]) -> Chunk:
    """Parts as one chunk; late labels are not carried over.

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
    has_mask = any(part.labelled is not None for part in parts)
    return Chunk(
        np.concatenate([part.X for part in parts]),
        np.concatenate(labels),
        np.concatenate(times) if len(times) == len(parts) else None,
        np.concatenate([_mask(part) for part in parts]) if has_mask else None,
    )


def _mask(chunk: Chunk) -> Flags:
    """Which labels of a chunk may be learned."""
    return np.ones(len(chunk.y), bool) if chunk.labelled is None else chunk.labelled


# ---- rows


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


def cut_by_time(blocks: Iterator[Chunk], span: Span) -> Iterator[Chunk]:
    """Chunks of all rows in one time window; windows without rows are passed over.

    Windows begin at whole multiples of the span. A late row of the previous window stays with the
    rows it came with. A clock that jumps back further starts a new chunk.
    """
    span = numpy_span(span)
    parts: list[Chunk] = []
    current = 0
    for block in blocks:
        if not len(block.y):
            continue
        windows = time_windows(checked_times("every", block.times, span), span)
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
    while lacking and (block := next(blocks, None)) is not None:
        yield block.rows(slice(lacking)) if len(block.y) > lacking else block
        lacking -= min(lacking, len(block.y))


def skipped(blocks: Iterator[Chunk], n_rows: int) -> Iterator[Chunk]:
    """All but the first rows."""
    left = n_rows
    for block in blocks:
        if left < len(block.y):
            yield block.rows(slice(left, None)) if left else block
        left -= min(left, len(block.y))


def after(blocks: Iterator[Chunk], position: Position) -> Iterator[Chunk]:
    """All but the rows before a position, which must be those that it was reached with."""
    seen = Position()
    for block in blocks:
        passed = block.rows(slice(position.rows - seen.rows))
        if len(passed.y):
            seen = seen.after(passed.X, passed.y)
            if seen.rows == position.rows and seen != position:
                raise DataError(
                    f"the first {seen.rows:,} rows are not those that were learned before: other "
                    "rows, features or labels"
                )
        if len(passed.y) < len(block.y):
            yield block.rows(slice(len(passed.y), None)) if len(passed.y) else block
    if seen.rows < position.rows:
        raise DataError(
            f"there are {seen.rows:,} rows, fewer than the {position.rows:,} that were learned "
            "before: these are others"
        )


def repeated(start: Callable[[], Iterator[Chunk]], times: int | None) -> Iterator[Chunk]:
    """The same rows several times, or for ever with None. A source without rows ends at once."""
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


# ---- labels


def hidden(blocks: Iterator[Chunk], rate: float, seed: int) -> Iterator[Chunk]:
    """Some labels may not be learned; they stay in `y`, for scoring."""
    rng = np.random.default_rng([seed, HIDING])
    for block in blocks:
        yield block._replace(labelled=(rng.random(len(block.y)) >= rate) & _mask(block))


def relabelled(blocks: Iterator[Chunk], names: Mapping[Hashable, Hashable]) -> Iterator[Chunk]:
    """Labels by other names; a label without one keeps its own, and one named None is unknown."""
    for block in blocks:
        yield block._replace(y=label_array([names.get(each, each) for each in block.y.tolist()]))


def label_array(labels: Sequence[Hashable]) -> Labels:
    """Labels as integers if all of them are and fit; else as objects."""
    array = np.empty(len(labels), object)
    array[:] = labels
    try:
        return array.astype(np.int64) if set(map(type, labels)) == {int} else array
    except OverflowError:
        return array


class Waiting:
    """Rows whose labels are pending, in numbered parts."""

    def __init__(self) -> None:
        self._parts: list[tuple[Any, int, npt.NDArray[Any], Chunk]] = []
        """A heap: when the first label of a part is due, its number, when each is due, its rows."""

    def put(self, number: int, due: npt.NDArray[Any], rows: Chunk, waits: Flags) -> None:
        """Let some of the rows of a part wait until their labels are due."""
        if waits.any():
            part = (due[waits].min(), number, due[waits], rows.rows(waits))
            heapq.heappush(self._parts, part)

    def come(self, now: Any = None) -> tuple[npt.NDArray[Any], Chunk] | None:
        """Take out, by parts, rows whose labels are due by now, or all; and when each was due."""
        found = []
        while self._parts and (now is None or self._parts[0][0] <= now):
            _, number, due, rows = heapq.heappop(self._parts)
            is_due = np.ones(len(due), np.bool_) if now is None else due <= now
            found.append((number, due[is_due], rows.rows(is_due)))
            self.put(number, due, rows, ~is_due)
        found.sort(key=operator.itemgetter(0))
        if not found:
            return None
        return np.concatenate([due for _, due, _ in found]), joined([rows for *_, rows in found])


def delayed(chunks: Iterator[Chunk], delay: Any, *, in_rows: bool) -> Iterator[Chunk]:
    """Labels come when their row's time plus the delay is reached, at the end of a chunk.

    The clock counts rows, or shows their times. Labels that come in time are `labelled`, later
    ones are `late` in a chunk that follows. What is still on its way when the stream ends comes
    with a last chunk that has no rows.
    """
    delay = numpy_span(delay)
    waiting = Waiting()
    n_before, now, empty = 0, None, None
    for chunk in chunks:
        if not len(chunk.y):
            continue
        in_order = np.arange(n_before, n_before + len(chunk.y))
        came = in_order if in_rows else checked_times("time", chunk.times, delay)
        due = came + delay
        now = came.max() if now is None else max(now, came.max())
        come = waiting.come(now)
        may_learn, is_due = _mask(chunk), due <= now
        waiting.put(n_before, due, chunk._replace(labelled=None), may_learn & ~is_due)
        yield chunk._replace(labelled=may_learn & is_due, late=None if come is None else come[1])
        n_before += len(chunk.y)
        empty = chunk.rows(slice(0))
    if empty is not None and (come := waiting.come()) is not None:
        yield empty._replace(late=come[1])


# ---- time


def check_span(name: str, span: Span | None, *, or_zero: bool = False) -> None:
    """Refuse what is not a duration above zero, or from zero on."""
    try:
        length = numpy_span(span)
        zero = length - length  # of its own kind; infinity has none
        is_long_enough = bool(length > zero or (or_zero and length == zero))
    except (TypeError, ValueError, OverflowError):
        is_long_enough = False
    if not is_long_enough:
        wanted = "from zero on" if or_zero else "above zero"
        raise InputError(f"{name} must be a duration {wanted}, not {span!r}")
    if isinstance(span, np.timedelta64) and np.datetime_data(span.dtype)[0] in UNCERTAIN_UNITS:
        raise InputError(f"{name} must be in weeks, days, hours or shorter units, not {span!r}")


def numpy_span(span: Any) -> Any:
    """A duration as a NumPy value."""
    return np.timedelta64(span) if isinstance(span, datetime.timedelta) else span


def checked_times(name: str, times: npt.NDArray[Any] | None, span: Any) -> npt.NDArray[Any]:
    """The rows' times, if they are all known and the span is of their kind."""
    if times is None:
        raise InputError(f"{name} needs a stream with times, and this one has none")
    is_date = times.dtype.kind == "M"
    if not is_date and times.dtype.kind not in "iuf":
        raise InputError(f"{name} needs times that are dates or numbers, not {times.dtype}")
    if is_date != isinstance(span, np.timedelta64):
        wanted = "a timedelta" if is_date else "a number"
        raise InputError(f"{name} must be {wanted}, as the stream's times are {times.dtype}")
    if not np.isfinite(times).all():
        raise InputError(f"{name} needs rows whose times are all known and finite")
    if is_date:
        return times
    return times.astype(np.float64 if times.dtype.kind == "f" else np.int64, copy=False)


def time_windows(times: npt.NDArray[Any], span: Any) -> npt.NDArray[np.int64]:
    """Numbers of the windows that times fall in; windows begin at whole multiples of the span."""
    if times.dtype.kind == "M":
        return np.asarray((times - np.datetime64(0, "us")) // span, np.int64)
    if times.dtype.kind == "i" and isinstance(span, int | np.integer):
        return np.asarray(times // span, np.int64)  # exact for nanoseconds, where floats are not
    return np.asarray(np.floor(times / span), np.int64)
