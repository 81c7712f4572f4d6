"""Several streams as one: one after the other, or alternating with drift between them."""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from devfnn.arrays import Ints
from devfnn.errors import InputError
from devfnn.streams.arguments import whole_number
from devfnn.streams.drift import Positions, Schedule, moved_positions, positions_before
from devfnn.streams.stream import Blocks, Stream
from devfnn.streams.transforms import joined
from devfnn.types import Chunk

PLANNED_ROWS = 4096
"""Rows whose sources are drawn at a time; any number gives the same rows."""

MIXING = 103
"""Separates these random numbers from others with the same seed."""


def concatenate(
    streams: Sequence[Stream],
    *,
    positions: Sequence[int] | None = None,
    rows_per_concept: int | None = None,
    width: int | Sequence[int] = 0,
    seed: int = 0,
) -> Stream:
    """Several streams as one.

    Without positions each stream is read to its end and the next begins. With positions, at which
    the next stream begins to come in, or with `rows_per_concept`, after which it takes over again
    and again, the streams take turns: each goes on where it was left, and after the last
    comes the first again. The whole ends when the next row should come from a stream that has
    none left. Streams that take turns have no known number of rows, unless all are endless,
    and drift positions are where they take turns, not those within them.

    During `width` rows both come, the new one more and more, as the seed decides: gradual drift.
    All streams must have the same features.

    >>> from devfnn.streams import sea
    >>> parts = [sea(thresholds=[8], seed=1), sea(thresholds=[9], seed=2)]
    >>> stream = concatenate(parts, positions=[1000], width=200)
    >>> stream.drift_positions
    (1000,)
    """
    seed = whole_number("seed", seed, low=0)
    _check_alike(streams)
    starts = [stream.blocks for stream in streams]
    if positions is None and rows_per_concept is None:
        if width != 0:
            raise InputError("a gradual drift needs positions or rows_per_concept")
        blocks: Blocks = functools.partial(chained, starts)
        is_endless = any(stream.is_endless for stream in streams)
        n_rows, drifts = _one_after_the_other(streams)
    else:
        schedule = Schedule(() if positions is None else positions, rows_per_concept, width)
        blocks = functools.partial(switched, starts, schedule, seed)
        is_endless = all(stream.is_endless for stream in streams)
        n_rows, drifts = None, schedule.drift_positions(range(len(streams)))
    classes = dict.fromkeys(itertools.chain(*(stream.classes for stream in streams)))
    return dataclasses.replace(
        streams[0],
        blocks=blocks,
        classes=tuple(classes),
        is_open_to_classes=any(stream.is_open_to_classes for stream in streams),
        n_rows=n_rows,
        is_endless=is_endless,
        drift_positions=drifts,
    )


def _check_alike(streams: Sequence[Stream]) -> None:
    if not streams:
        raise InputError("concatenate needs one or more streams")
    if any(stream.feature_names != streams[0].feature_names for stream in streams):
        raise InputError("streams can be concatenated only if their features are the same")
    kinds = {(stream.classes, stream.class_names) for stream in streams}
    if len(kinds) > 1 and any(names for _, names in kinds):
        raise InputError(
            "streams whose classes have names must all have the same classes and names; "
            "use stream.relabel(stream.class_names) on each first"
        )
    if any(stream.label_delay is not None for stream in streams):
        raise InputError("delay labels after concatenating, not before")


def _one_after_the_other(streams: Sequence[Stream]) -> tuple[int | None, Positions]:
    """Rows in all, and drifts within streams and where they meet, as far as sizes are known."""
    n_rows, drifts = 0, ()
    for stream in streams:
        meeting = (n_rows,) if n_rows and stream.n_rows != 0 else ()
        before = (*drifts, *meeting)
        if stream.n_rows is None:
            return None, moved_positions(stream.drift_positions, n_rows, before)
        inside = positions_before(stream.drift_positions, stream.n_rows)
        drifts = (*before, *(n_rows + position for position in inside))
        n_rows += stream.n_rows
    return n_rows, drifts


def chained(starts: Sequence[Blocks]) -> Iterator[Chunk]:
    """Every source to its end, one after the other."""
    for start in starts:
        yield from start()


def switched(starts: Sequence[Blocks], schedule: Schedule, seed: int) -> Iterator[Chunk]:
    """Rows from the sources in turn; each goes on where it was left. Ends when one is used up.

    A source is started and read only when the next row is to come from it.
    """
    rng = np.random.default_rng([seed, MIXING])
    sources = [chained([start]) for start in starts]
    ready: dict[int, Chunk] = {}
    for first in itertools.count(step=PLANNED_ROWS):
        turnover = schedule.turnover(first, PLANNED_ROWS)
        planned = turnover.mixed(rng.random(PLANNED_ROWS)) % len(sources)
        while len(planned):
            n_ready = _n_ready(ready, planned)
            if n_ready:
                yield _drawn(ready, planned[:n_ready])
                planned = planned[n_ready:]
                continue
            number = int(planned[0])
            ready.pop(number, None)
            ready.update(zip([number], sources[number], strict=False))  # its next block, if any
            if number not in ready:
                return


def _n_ready(ready: Mapping[int, Chunk], planned: Ints) -> int:
    """Number of planned rows that are available before a source has to be read."""
    n_ready = len(planned)
    for number in np.unique(planned).tolist():
        places = np.flatnonzero(planned == number)
        n_rows = len(ready[number].y) if number in ready else 0
        if len(places) > n_rows:
            n_ready = min(n_ready, int(places[n_rows]))
    return n_ready


def _drawn(ready: dict[int, Chunk], planned: Ints) -> Chunk:
    """The next row of each planned source, in this order, taken from the available rows."""
    parts, places = [], []
    for number in np.unique(planned).tolist():
        rows, block = np.flatnonzero(planned == number), ready.pop(number)
        places.append(rows)
        parts.append(block.rows(slice(len(rows))))
        if len(rows) < len(block.y):
            ready[number] = block.rows(slice(len(rows), None))
    return parts[0] if len(parts) == 1 else joined(parts).rows(np.argsort(np.concatenate(places)))
