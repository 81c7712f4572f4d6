"""The order of a run: what is learned before rows are predicted, and what after.

It depends on the stream and the procedure alone, not on the model; so a run that goes on after a
break takes the same steps.
"""

import datetime
import heapq
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from devfnn.errors import InputError
from devfnn.evaluation.procedure import Procedure
from devfnn.streams.transforms import joined, numpy_span
from devfnn.types import Chunk


class Lesson(NamedTuple):
    """Rows to learn together, and where they stand in the stream."""

    rows: Chunk
    places: npt.NDArray[np.int64]
    """Rows of the stream before each of them, and all that have come when they are learned,
    (n_rows + 1,)."""


class Step(NamedTuple):
    """Learn what has come, predict the rows, learn what may be learned at once."""

    before: list[Lesson]
    rows: Chunk
    after: list[Lesson]


class Turn(NamedTuple):
    """A chunk and its steps: one, or one for each row."""

    chunk: Chunk
    steps: Iterator[Step]


def turns(
    source: Iterable[Chunk], procedure: Procedure, feature_names: Sequence[str]
) -> Iterator[Turn]:
    """The turns of a run. Take all steps of a turn before the next one.

    Chunks with neither rows nor late labels are passed over. Labels that are still on their way at
    the end come with a last turn without rows.
    """
    waiting = _Waiting(procedure, feature_names) if procedure.delay is not None else None
    n_before, empty = 0, None
    is_delayed = getattr(source, "label_delay", None) is not None
    for chunk in source:
        if not len(chunk.y) and chunk.late is None:
            continue
        is_delayed = is_delayed or chunk.late is not None
        if is_delayed:
            _check_can_be_late(procedure)
        if waiting is not None:
            steps = waiting.steps(chunk, n_before)
        else:
            steps = _steps(chunk, n_before, procedure.by_row, is_delayed)
        yield Turn(chunk, steps)
        n_before += len(chunk.y)
        empty = chunk.rows(slice(0))
    if waiting is not None and empty is not None:
        rest = waiting.rest(n_before)
        if rest:
            yield Turn(empty, iter([Step(rest, empty, [])]))


def skipped(planned: Iterator[Turn], n_turns: int) -> Iterator[Turn]:
    """The turns after the first ones, which are taken without a model."""
    for turn in itertools.islice(planned, n_turns):
        for _ in turn.steps:
            pass
    return planned


def _check_can_be_late(procedure: Procedure) -> None:
    if procedure.delay is not None:
        raise InputError("the stream delays its labels itself; leave one of the delays out")
    if procedure.holdout_every is not None:
        raise InputError("holdout_every and a stream that delays its labels do not go together")


def _single_rows(chunk: Chunk) -> Iterator[Chunk]:
    """A chunk as chunks of one row."""
    return (chunk.rows(slice(place, place + 1)) for place in range(len(chunk.y)))


def _steps(chunk: Chunk, n_before: int, by_row: bool, is_delayed: bool) -> Iterator[Step]:
    """Steps of a stream whose labels come when it says.

    Of labels that are delayed it is only known that they have come at the end of a chunk.
    """
    if by_row and not is_delayed:
        for place, row in enumerate(_single_rows(chunk), start=n_before):
            yield Step([], row, _own_lesson(row, place))
        return
    late = [] if chunk.late is None else _lessons_at(chunk.late, n_before + len(chunk.y))
    if by_row and len(chunk.y) > 1:
        *first, chunk_end = _single_rows(chunk)
        yield from (Step([], row, []) for row in first)
        yield Step([], chunk_end, late + _own_lesson(chunk, n_before))
    else:
        yield Step([], chunk, late + _own_lesson(chunk, n_before))


def _lessons_at(late: Chunk, place: int) -> list[Lesson]:
    """Lessons whose rows came long before."""
    return [_lesson_at(rows, place) for rows in late.lessons()]


def _lesson_at(rows: Chunk, place: int) -> Lesson:
    return Lesson(rows, np.full(len(rows.y) + 1, place))


def _own_lesson(part: Chunk, n_before: int) -> list[Lesson]:
    """The rows of a chunk that may be learned at once."""
    places = np.arange(n_before, n_before + len(part.y) + 1)
    if part.labelled is not None or part.y.dtype == object:
        may_learn = _may_learn(part)
        part, places = part.rows(may_learn), places[np.append(may_learn, True)]
    return [Lesson(part, places)] if len(part.y) else []


def _may_learn(part: Chunk) -> npt.NDArray[np.bool_]:
    return part.is_known() if part.labelled is None else part.labelled & part.is_known()


class _Waiting:
    """Rows whose labels are on their way, as River has it: a label that is due when rows come is
    learned before they are predicted, in the order in which labels are due.
    """

    def __init__(self, procedure: Procedure, feature_names: Sequence[str]) -> None:
        delay, moment = procedure.delay, procedure.moment
        self._delay = numpy_span(delay)
        self._delay_of = _per_row("delay", delay, feature_names)
        self._time_of = _per_row("moment", moment, feature_names)
        self._by_row = procedure.by_row
        self._parts: list[tuple[Any, int, npt.NDArray[Any], Chunk]] = []
        self._n_added = 0

    def steps(self, chunk: Chunk, n_before: int) -> Iterator[Step]:
        """Steps of a chunk whose labels come late."""
        for part in _single_rows(chunk) if self._by_row else [chunk]:
            delay = self._delay if self._delay_of is None else self._delay_of(part)
            times = self._times(part, delay, n_before)
            yield Step(self._come_by(times[0], n_before), part, [])
            self._add(part, _later(times, delay))
            n_before += len(part.y)

    def _times(self, part: Chunk, delay: Any, n_before: int) -> npt.NDArray[Any]:
        """When rows come: as is said, or by their numbers, or their times if the delay is one."""
        if self._time_of is not None:
            return self._time_of(part)
        kind = np.asarray(delay).dtype.kind
        if kind in "iu" or (kind == "f" and self._delay_of is not None):
            return np.arange(n_before, n_before + len(part.y))
        return _times_of(part)

    def rest(self, place: int) -> list[Lesson]:
        """All that is left."""
        return _in_order([(due, number, rows) for _, number, due, rows in self._parts], place)

    def _add(self, part: Chunk, due: npt.NDArray[Any]) -> None:
        may_learn = _may_learn(part)
        if may_learn.any():
            rows = Chunk(part.X, part.y, part.times).rows(may_learn)
            self._put(self._n_added, due[may_learn], rows)
            self._n_added += 1

    def _come_by(self, now: Any, place: int) -> list[Lesson]:
        """What is due now, taken out."""
        come = []
        while self._parts and self._parts[0][0] <= now:
            _, number, due, rows = heapq.heappop(self._parts)
            is_due = due <= now
            come.append((due[is_due], number, rows.rows(is_due)))
            if not is_due.all():
                self._put(number, due[~is_due], rows.rows(~is_due))
        return _in_order(come, place)

    def _put(self, number: int, due: npt.NDArray[Any], rows: Chunk) -> None:
        heapq.heappush(self._parts, (due.min(), number, due, rows))


def _in_order(parts: list[tuple[npt.NDArray[Any], int, Chunk]], place: int) -> list[Lesson]:
    """One lesson of all parts, by the time their labels are due; rows of equal times in order."""
    if not parts:
        return []
    parts.sort(key=operator.itemgetter(1))
    order = np.argsort(np.concatenate([due for due, _, _ in parts]), kind="stable")
    return [_lesson_at(joined([rows for _, _, rows in parts]).rows(order), place)]


def _later(times: npt.NDArray[Any], delay: Any) -> npt.NDArray[Any]:
    """When labels are due, which must be known for every row."""
    try:
        due: npt.NDArray[Any] = times + delay
    except TypeError:
        kind = np.asarray(delay).dtype
        raise InputError(
            f"a delay that is {kind} does not fit rows that come at {times.dtype}"
        ) from None
    if np.isnan(due).any():
        raise InputError("for every row it must be known when it comes, and when its label does")
    return due


def _times_of(chunk: Chunk) -> npt.NDArray[Any]:
    if chunk.times is None:
        raise InputError(
            "a delay in time needs a stream with times, or moment to say when rows come"
        )
    return chunk.times


def _per_row(
    name: str, value: Any, feature_names: Sequence[str]
) -> Callable[[Chunk], npt.NDArray[Any]] | None:
    """A function from a chunk to a value for each row; None if the value is the same for all."""
    if isinstance(value, str):
        if value not in feature_names:
            raise InputError(f"{name} names a feature, but there is no {value!r}")
        place = list(feature_names).index(value)
        return lambda chunk: chunk.X[:, place]
    if not callable(value):
        return None
    function = value

    def checked(chunk: Chunk) -> npt.NDArray[Any]:
        found = np.asarray(function(chunk))
        if found.shape != chunk.y.shape:
            raise InputError(f"{name} must give one value for each row")
        return found if found.dtype != object else _in_numpy(name, found)

    return checked


def _in_numpy(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Dates or stretches of time of Python, as NumPy has them."""
    is_span = all(isinstance(value, datetime.timedelta) for value in values)
    try:
        return values.astype("m8[us]" if is_span else "M8[us]")
    except (TypeError, ValueError):
        raise InputError(f"{name} must give numbers or times") from None
