"""Stream: what every source of rows is, whether made, read or downloaded."""

import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

from devfnn.errors import InputError
from devfnn.streams.arguments import share, whole_number
from devfnn.streams.bad_rows import BadRows
from devfnn.streams.positions import positions_after, positions_before, repeated_positions
from devfnn.streams.transforms import labels, rows, times
from devfnn.streams.transforms.times import Span
from devfnn.types import Chunk

Blocks = Callable[[], Iterator[Chunk]]
"""Starts a stream. Mostly a partial function, so that streams can be sent to other processes."""


@dataclasses.dataclass(frozen=True)
class Stream:
    """Rows with labels, in order, in chunks. Iterating starts it from its first row.

    Nothing is read or made before it is asked for, and nothing is kept. The methods that change a
    stream return a new one and can be put one after the other, in any order:
    `sea().take(10_000).hide_labels(0.5).delay_labels(rows=200).chunks(rows=100)`. Chunks are cut
    last, and labels delayed after that. Streams can be pickled, but for pipes
    and packed files that are read through a copy on disk.

    Parameters
    ----------
    feature_names
        Names of the columns of every chunk.
    classes
        Labels that may occur, as far as they are known.
    blocks
        Starts the stream: rows in order, in pieces of any size.
    n_rows
        Rows of the whole stream; None if it never ends or nobody knows.
    is_endless
        Whether it never ends.
    drift_positions
        Rows with which a new concept begins, where that is known.
    class_names
        What the classes are called, in their order, if not by their labels.
    bad_rows
        For a file: which rows could not be used.
    """

    feature_names: tuple[str, ...]
    classes: tuple[Hashable, ...]
    blocks: Blocks = dataclasses.field(repr=False)
    n_rows: int | None = None
    is_endless: bool = False
    drift_positions: Sequence[int] = ()
    class_names: tuple[str, ...] = ()
    bad_rows: BadRows | None = None
    chunk_rows: int = 500
    chunk_span: Span | None = None
    label_delay: int | Span | None = None
    delay_in_rows: bool = True

    def __post_init__(self) -> None:
        whole_number("chunk_rows", self.chunk_rows, low=1)

    def __iter__(self) -> Iterator[Chunk]:
        if self.chunk_span is None:
            chunks = rows.cut_by_rows(self.blocks(), self.chunk_rows)
        else:
            chunks = rows.cut_by_time(self.blocks(), self._windows)
        if self.label_delay is None:
            return chunks
        if self.delay_in_rows:
            return labels.delayed(chunks, self.label_delay, labels.row_clock)
        return labels.delayed(chunks, times.numpy_span(self.label_delay), self._time_clock)

    def chunks(self, rows: int | None = None, *, every: Span | None = None) -> "Stream":
        """Cut into chunks of so many rows, or of all rows within a stretch of time.

        Stretches of time begin at whole multiples: with one hour, at the full hour.
        """
        if (rows is None) == (every is None):
            raise InputError("chunks takes rows or every, one of them")
        if rows is not None:
            return self._with(chunk_rows=whole_number("rows", rows, low=1), chunk_span=None)
        times.check_span("every", every)
        return self._with(chunk_span=every)

    def take(self, n_rows: int) -> "Stream":
        """Only the first rows."""
        n_rows = whole_number("n_rows", n_rows, low=0)
        n_left = self.n_rows
        if n_left is not None or self.is_endless:
            n_left = n_rows if n_left is None else min(n_left, n_rows)
        return self._with(
            blocks=self._through(rows.taken, n_rows),
            n_rows=n_left,
            is_endless=False,
            drift_positions=positions_before(self.drift_positions, n_rows),
        )

    def skip(self, n_rows: int) -> "Stream":
        """All but the first rows."""
        n_rows = whole_number("n_rows", n_rows, low=0)
        return self._with(
            blocks=self._through(rows.skipped, n_rows),
            n_rows=None if self.n_rows is None else max(0, self.n_rows - n_rows),
            drift_positions=positions_after(self.drift_positions, n_rows),
        )

    def repeat(self, times: int | None = None) -> "Stream":
        """The same rows several times over, or for ever.

        If the stream drifts, each new start is a drift too.
        """
        if times is not None:
            times = whole_number("times", times, low=1)
        if self.is_endless or self.n_rows == 0:
            return self
        n_rows = self.n_rows
        positions: Sequence[int] = self.drift_positions
        if n_rows is not None:
            positions = repeated_positions(positions, n_rows, times)
            n_rows = None if times is None else n_rows * times
        return self._with(
            blocks=functools.partial(rows.repeated, self.blocks, times),
            n_rows=n_rows,
            is_endless=times is None,
            drift_positions=positions,
        )

    def shuffle(self, buffer_rows: int, *, seed: int = 0) -> "Stream":
        """Rows in random order within each buffer of so many rows.

        Drift positions stay those before: a drift is spread over the buffer it falls in.
        """
        buffer_rows = whole_number("buffer_rows", buffer_rows, low=1)
        seed = whole_number("seed", seed, low=0)
        return self._with(blocks=self._through(rows.shuffled, buffer_rows, seed))

    def select(self, names: Sequence[str]) -> "Stream":
        """Only these features, in this order."""
        if isinstance(names, str):
            raise InputError(f"select takes a list of names, not {names!r}")
        names = tuple(names)
        places = [self._place(name) for name in names]
        if not places or len(set(places)) < len(places):
            raise InputError("select takes one or more names, each of them once")
        return self._with(blocks=self._through(rows.selected, places), feature_names=names)

    def drop(self, names: Sequence[str]) -> "Stream":
        """All features but these."""
        dropped = {self._place(name) for name in names}
        kept = [name for place, name in enumerate(self.feature_names) if place not in dropped]
        if not kept:
            raise InputError("drop would leave no feature")
        return self.select(kept)

    def rename(self, names: Mapping[str, str]) -> "Stream":
        """Features by new names."""
        for name in names:
            self._place(name)
        renamed = tuple(names.get(name, name) for name in self.feature_names)
        if len(set(renamed)) < len(renamed):
            raise InputError("rename would give two features the same name")
        return self._with(feature_names=renamed)

    def relabel(self, names: Mapping[Any, Hashable] | Sequence[Hashable]) -> "Stream":
        """Labels by new names: a mapping, or one name for each class in order.

        None as a name makes labels unknown.
        """
        if not isinstance(names, Mapping):
            if len(names) != len(self.classes):
                raise InputError(f"relabel needs {len(self.classes)} names, not {len(names)}")
            names = dict(zip(self.classes, names, strict=True))
        renamed = dict(names)
        classes = dict.fromkeys(renamed.get(each, each) for each in self.classes)
        return self._with(
            blocks=self._through(labels.relabelled, renamed),
            classes=tuple(each for each in classes if each is not None),
            class_names=(),
        )

    def hide_labels(self, rate: float, *, seed: int = 0) -> "Stream":
        """A share of the labels, drawn at random, may not be learned; all may be scored."""
        rate = share("rate", rate)
        seed = whole_number("seed", seed, low=0)
        return self._with(blocks=self._through(labels.hidden, rate, seed))

    def delay_labels(self, rows: int | None = None, *, time: Span | None = None) -> "Stream":
        """Labels come after so many more rows, or so much later.

        A chunk then says in `labelled` which of its labels have come by its end, and brings those
        of earlier rows in `late`; `lessons()` gives both. A row's label comes with the row itself
        if the delay is 0, and with the next row if it is 1. Labels that are delayed again have the
        last delay. A delay in time counts from the times of the rows; a clock that is set back,
        as when a stream with times is repeated, lets labels come at once.
        """
        if (rows is None) == (time is None):
            raise InputError("delay_labels takes rows or time, one of them")
        if rows is not None:
            return self._with(label_delay=whole_number("rows", rows, low=0), delay_in_rows=True)
        times.check_span("time", time, or_zero=True)
        return self._with(label_delay=time, delay_in_rows=False)

    def _windows(self, row_times: Any) -> Any:
        """Numbers of the windows of time that rows fall in."""
        span = times.numpy_span(self.chunk_span)
        return times.windows(times.checked_times("every", row_times, span), span)

    def _time_clock(self, chunk: Chunk, n_before: int) -> Any:
        """Times of rows, for labels that are delayed."""
        return times.checked_times("time", chunk.times, times.numpy_span(self.label_delay))

    def _through(self, transform: Callable[..., Iterator[Chunk]], *arguments: Any) -> Blocks:
        """Starts the stream and sends its blocks through a transform."""
        return functools.partial(_started_through, self.blocks, transform, arguments)

    def _with(self, **changes: Any) -> "Stream":
        return dataclasses.replace(self, **changes)

    def _place(self, name: str) -> int:
        """Where a feature is."""
        if name not in self.feature_names:
            known = ", ".join(self.feature_names)
            raise InputError(f"there is no feature {name!r}; the stream has {known}")
        return self.feature_names.index(name)


def _started_through(
    start: Blocks, transform: Callable[..., Iterator[Chunk]], arguments: tuple[Any, ...]
) -> Iterator[Chunk]:
    return transform(start(), *arguments)
