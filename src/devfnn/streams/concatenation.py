"""Streams one after the other, with drift where they meet."""

import dataclasses
import functools
import itertools
from collections.abc import Hashable, Sequence

from devfnn.errors import InputError
from devfnn.streams.arguments import whole_number
from devfnn.streams.courses import course_of
from devfnn.streams.drift import Schedule
from devfnn.streams.positions import positions_behind
from devfnn.streams.stream import Stream
from devfnn.streams.transforms.joining import chained, switched


def concatenate(
    streams: Sequence[Stream],
    *,
    positions: Sequence[int] | None = None,
    rows_per_concept: int | None = None,
    width: int | Sequence[int] = 0,
    seed: int = 0,
) -> Stream:
    """Several streams as one.

    Without positions each stream is read to its end and the next begins. With positions, or with
    `rows_per_concept`, the streams take turns: each goes on where it was left, and after the last
    comes the first again. The whole ends when the next row should come from a stream that has
    none left. Drifts within the streams are known where streams take turns abruptly, at positions.

    Parameters
    ----------
    streams
        With the same features.
    positions
        Rows at which the next stream begins to come in.
    rows_per_concept
        Instead of positions: rows after which the next stream takes over, again and again.
    width
        Rows during which both come, the new one more and more: gradual drift. Needs positions or
        `rows_per_concept`.
    seed
        Decides which stream each row of a gradual drift comes from.

    Examples
    --------
    >>> from devfnn.streams import sea
    >>> parts = [sea(thresholds=[8], seed=1), sea(thresholds=[9], seed=2)]
    >>> stream = concatenate(parts, positions=[1000], width=200)
    >>> stream.drift_positions
    (1000,)
    """
    seed = whole_number("seed", seed, low=0)
    _check_alike(streams)
    starts = [stream.blocks for stream in streams]
    classes = tuple(dict.fromkeys(itertools.chain(*(stream.classes for stream in streams))))
    whole = dataclasses.replace(
        streams[0], classes=classes, class_names=_class_names(streams, classes)
    )
    if positions is None and rows_per_concept is None:
        if width != 0:
            raise InputError("a gradual drift needs positions or rows_per_concept")
        return dataclasses.replace(
            whole,
            blocks=functools.partial(chained, starts),
            n_rows=_total([stream.n_rows for stream in streams]),
            is_endless=any(stream.is_endless for stream in streams),
            drift_positions=_joints(streams),
        )
    schedule = Schedule(tuple(() if positions is None else positions), rows_per_concept, width)
    course = course_of(streams, schedule)
    return dataclasses.replace(
        whole,
        blocks=functools.partial(switched, starts, schedule, seed),
        n_rows=course.n_rows,
        is_endless=course.is_endless,
        drift_positions=course.drift_positions,
    )


def _check_alike(streams: Sequence[Stream]) -> None:
    if not streams:
        raise InputError("concatenate needs one or more streams")
    for stream in streams[1:]:
        if stream.feature_names != streams[0].feature_names:
            raise InputError("streams can be concatenated only if their features are the same")
    if any(stream.label_delay is not None for stream in streams):
        raise InputError("delay labels after concatenating, not before")


def _total(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _joints(streams: Sequence[Stream]) -> Sequence[int]:
    """Drifts within the streams and where they meet, as far as sizes are known."""
    found: Sequence[int] = ()
    before = 0
    for stream in streams:
        if stream.n_rows == 0:
            continue
        if before:
            found = (*found, before)
        found = positions_behind(found, stream.drift_positions, before)
        if stream.n_rows is None:
            break
        before += stream.n_rows
    return found


def _class_names(streams: Sequence[Stream], classes: Sequence[Hashable]) -> tuple[str, ...]:
    """What the classes of all streams are called, if they agree on it."""
    names: dict[Hashable, str] = {}
    for stream in streams:
        for label, name in zip(stream.classes, stream.class_names, strict=False):
            if names.setdefault(label, name) != name:
                raise InputError(
                    f"label {label!r} is {names[label]!r} in one stream and {name!r} in another; "
                    "use stream.relabel(stream.class_names) on both first"
                )
    return tuple(names.get(label, str(label)) for label in classes) if names else ()
