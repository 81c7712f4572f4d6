"""How long streams that take turns last, and where they drift."""

import dataclasses
import itertools
from collections.abc import Sequence

from devfnn.streams.drift import Schedule
from devfnn.streams.positions import positions_after, positions_before, positions_behind
from devfnn.streams.stream import Stream


@dataclasses.dataclass(frozen=True)
class Course:
    """What is known of streams that take turns, before a row is read."""

    n_rows: int | None
    is_endless: bool
    drift_positions: Sequence[int]


def course_of(streams: Sequence[Stream], schedule: Schedule) -> Course:
    """What will happen, as far as the sizes of the streams say."""
    every = schedule.rows_per_concept
    if not any(schedule.widths):
        if every is None:
            return _abrupt(streams, schedule.positions)
        sizes = [stream.n_rows for stream in streams if stream.n_rows is not None]
        if len(sizes) == len(streams):
            return _abrupt(streams, range(every, sum(sizes) + every + 1, every))
    joints = schedule.drift_positions(range(len(streams)), None)
    if every is not None:
        return Course(None, all(stream.is_endless for stream in streams), joints)
    last = streams[len(schedule.positions) % len(streams)]
    return Course(None, last.is_endless and _suffices(streams, schedule), joints)


def _abrupt(streams: Sequence[Stream], positions: Sequence[int]) -> Course:
    """Turn by turn: each stream goes on where it was left, until one has no rows left."""
    n_used = [0] * len(streams)
    found: list[int] = []
    for number, start in enumerate(itertools.chain([0], positions)):
        place = number % len(streams)
        stream = streams[place]
        inside = positions_after(stream.drift_positions, n_used[place])
        wanted = positions[number] - start if number < len(positions) else None
        left = None if stream.n_rows is None else stream.n_rows - n_used[place]
        if number and len(streams) > 1 and left != 0:
            found.append(start)
        if left is not None and (wanted is None or left < wanted):
            found += (start + position for position in positions_before(inside, left))
            return Course(start + left, False, tuple(found))
        if wanted is None:
            break
        found += (start + position for position in positions_before(inside, wanted))
        n_used[place] += wanted
    return Course(None, stream.is_endless, positions_behind(found, inside, start))


def _suffices(streams: Sequence[Stream], schedule: Schedule) -> bool:
    """Whether every stream has rows for all its turns, even if chance wants most from it."""
    n_wanted = [0] * len(streams)
    starts = (0, *schedule.positions)
    for number, end in enumerate(schedule.positions):
        n_wanted[number % len(streams)] += end + schedule.widths[number] - starts[number]
    return all(
        stream.is_endless or (stream.n_rows is not None and stream.n_rows >= n_needed)
        for stream, n_needed in zip(streams, n_wanted, strict=True)
    )
