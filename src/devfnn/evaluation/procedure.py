"""How a run goes: which rows are predicted and learned when, and when their labels come.

The order depends on the stream and the procedure alone, not on the model; so a run that goes on
after a break takes the same steps.
"""

import collections
import dataclasses
import datetime
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from devfnn.errors import InputError
from devfnn.evaluation.results import plain
from devfnn.streams.arguments import finite_number, whole_number
from devfnn.streams.transforms import Span, Waiting, check_span, numpy_span
from devfnn.types import Chunk

PerRow = str | Callable[[Chunk], npt.NDArray[Any]]
"""A number or a time for every row: a feature by name, or a function of the chunk."""

Unpredicted = Literal["wrong", "skip", "first"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Procedure:
    """How a run goes. The default: predict every chunk, score it, then learn it.

    Rows that come before anything was learned train only; so does the first chunk.
    """

    by_row: bool = False
    """Predict and learn row by row instead of chunk by chunk; results still come by chunks."""
    warm_up_chunks: int = 0
    """Chunks at the start that train only."""
    holdout_every: int | None = None
    """Every so many chunks, one is only predicted, and all others are only learned."""
    delay: Span | PerRow | None = None
    """Labels come so much after their rows: rows, or time, or a delay for every row."""
    moment: PerRow | None = None
    """When rows come; by default their number, or their time if the delay is one."""
    label_budget: float | None = None
    """Share of labels that may be learned: the model asks, and gets labels while they last."""
    unpredicted: Unpredicted = "wrong"
    """Rows for which a model that has learned predicts nothing: wrong; not scored, as in River; or
    taken as the first class from the first row on, as in MOA."""
    window_chunks: int = 10
    """Chunks over which windowed measures are taken."""

    def __post_init__(self) -> None:
        whole_number("warm_up_chunks", self.warm_up_chunks, low=0)
        whole_number("window_chunks", self.window_chunks, low=1)
        if self.holdout_every is not None:
            whole_number("holdout_every", self.holdout_every, low=2)
        budget = self.label_budget
        if budget is not None and not finite_number("label_budget", budget, low=0, high=1):
            raise InputError("label_budget is a share above 0, at most 1, not 0")
        if self.unpredicted not in get_args(Unpredicted):
            known = ", ".join(get_args(Unpredicted))
            raise InputError(f"unpredicted is one of {known}, not {self.unpredicted!r}")
        if self.moment is not None and self.delay is None:
            raise InputError("moment says when rows come, which matters only with a delay")
        if self.holdout_every is not None and self.delay is not None:
            raise InputError("holdout_every and delay do not go together")
        if not (self.delay is None or isinstance(self.delay, str) or callable(self.delay)):
            check_span("delay", self.delay, or_zero=True)

    def is_tested(self, index: int) -> bool:
        """Whether a chunk is predicted and scored."""
        return index >= self.warm_up_chunks and self._is_held_out(index) is not False

    def is_learned(self, index: int) -> bool:
        """Whether a chunk is learned."""
        return index < self.warm_up_chunks or self._is_held_out(index) is not True

    def _is_held_out(self, index: int) -> bool | None:
        """None if no chunk is held out."""
        every = self.holdout_every
        return None if every is None else (index - self.warm_up_chunks) % every == every - 1

    def to_dict(self) -> dict[str, Any]:
        """The procedure as plain data; functions by their names."""
        return {name: plain(value) for name, value in vars(self).items()}


class Batch(NamedTuple):
    """Rows to learn together, and where they stand in the stream."""

    rows: Chunk
    places: npt.NDArray[np.int64]
    """Rows of the stream before each of them, and all that have come when they are learned,
    (n_rows + 1,)."""


class Step(NamedTuple):
    """Learn what has come, predict the rows, learn what may be learned at once."""

    before: list[Batch]
    rows: Chunk
    after: list[Batch]


Turn = tuple[Chunk, Iterator[Step]]
"""A chunk and its steps: one, or one for each row."""


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
        if is_delayed and procedure.delay is not None:
            raise InputError("the stream delays its labels itself; leave one of the delays out")
        if is_delayed and procedure.holdout_every is not None:
            raise InputError("holdout_every and a stream that delays its labels do not go together")
        if waiting is not None:
            yield chunk, waiting.steps(chunk, n_before)
        else:
            yield chunk, _steps(chunk, n_before, procedure.by_row, is_delayed)
        n_before += len(chunk.y)
        empty = chunk.rows(slice(0))
    if waiting is not None and empty is not None and (rest := waiting.come(n_before)):
        yield empty, iter([Step(rest, empty, [])])


def skipped(planned: Iterator[Turn], n_turns: int) -> Iterator[Turn]:
    """The turns after the first ones, which are skipped."""
    for _, steps in itertools.islice(planned, n_turns):
        collections.deque(steps, maxlen=0)
    return planned


def _single_rows(chunk: Chunk) -> Iterator[Chunk]:
    """A chunk as chunks of one row."""
    return (chunk.rows(slice(place, place + 1)) for place in range(len(chunk.y)))


def _steps(chunk: Chunk, n_before: int, by_row: bool, is_delayed: bool) -> Iterator[Step]:
    """Steps of a stream whose labels come when it says.

    Of labels that are delayed it is only known that they have come at the end of a chunk.
    """
    if by_row and not is_delayed:
        for place, row in enumerate(_single_rows(chunk), start=n_before):
            yield Step([], row, _own_batch(row, place))
        return
    after = _own_batch(chunk, n_before)
    if chunk.late is not None:
        n_come = n_before + len(chunk.y)
        after = [*(_late_batch(rows, n_come) for rows in chunk.late.labelled_parts()), *after]
    *first, last = _single_rows(chunk) if by_row and len(chunk.y) else [chunk]
    yield from (Step([], row, []) for row in first)
    yield Step([], last, after)


def _late_batch(rows: Chunk, n_come: int) -> Batch:
    """Rows that came before; all of them are learned at once when so many rows have come."""
    return Batch(rows, np.full(len(rows.y) + 1, n_come))


def _own_batch(part: Chunk, n_before: int) -> list[Batch]:
    """The rows of a chunk that may be learned at once."""
    places = np.arange(n_before, n_before + len(part.y) + 1)
    if part.labelled is not None or part.y.dtype == object:
        may_learn = part.may_learn()
        part, places = part.rows(may_learn), places[np.append(may_learn, True)]
    return [Batch(part, places)] if len(part.y) else []


class _Waiting:
    """Rows whose labels are on their way, as River has it: a label that is due when rows come is
    learned before they are predicted, in the order in which labels are due.
    """

    def __init__(self, procedure: Procedure, feature_names: Sequence[str]) -> None:
        self._delay = numpy_span(procedure.delay)
        self._delay_of = _per_row("delay", procedure.delay, feature_names)
        self._time_of = _per_row("moment", procedure.moment, feature_names)
        self._by_row = procedure.by_row
        self._rows = Waiting()

    def steps(self, chunk: Chunk, n_before: int) -> Iterator[Step]:
        """Steps of a chunk whose labels come late."""
        for part in _single_rows(chunk) if self._by_row else [chunk]:
            delay = self._delay if self._delay_of is None else self._delay_of(part)
            times = self._times(part, delay, n_before)
            yield Step(self.come(n_before, times[0]), part, [])
            rows = Chunk(part.X, part.y, part.times)
            self._rows.put(n_before, _due(times, delay), rows, part.may_learn())
            n_before += len(part.y)

    def _times(self, part: Chunk, delay: Any, n_before: int) -> npt.NDArray[Any]:
        """When rows come: as is said, or by their numbers, or their times if the delay is one."""
        if self._time_of is not None:
            return self._time_of(part)
        kind = np.asarray(delay).dtype.kind
        if kind in "iu" or (kind == "f" and self._delay_of is not None):
            return np.arange(n_before, n_before + len(part.y))
        if part.times is not None:
            return part.times
        raise InputError(
            "a delay in time needs a stream with times, or moment to say when rows come"
        )

    def come(self, n_come: int, now: Any = None) -> list[Batch]:
        """Rows whose labels are due, or all: one batch, ordered by due time, then by row."""
        found = self._rows.come(now)
        if found is None:
            return []
        due, rows = found
        return [_late_batch(rows.rows(np.argsort(due, kind="stable")), n_come)]


def _due(times: npt.NDArray[Any], delay: Any) -> npt.NDArray[Any]:
    """When labels are due, which must be known for every row."""
    try:
        due: npt.NDArray[Any] = times + delay
    except TypeError:
        kinds = f"a delay that is {np.asarray(delay).dtype} does not fit rows that come at"
        raise InputError(f"{kinds} {times.dtype}") from None
    if np.isnan(due).any():
        raise InputError("for every row it must be known when it comes, and when its label does")
    return due


def _per_row(
    name: str, value: Any, feature_names: Sequence[str]
) -> Callable[[Chunk], npt.NDArray[Any]] | None:
    """A function from a chunk to a value for each row; None if the value is the same for all."""
    if isinstance(value, str):
        if value not in feature_names:
            raise InputError(f"{name} names a feature, but there is no {value!r}")
        return lambda chunk: chunk.X[:, list(feature_names).index(value)]
    return (lambda chunk: _checked(name, value(chunk), chunk)) if callable(value) else None


def _checked(name: str, values: Any, chunk: Chunk) -> npt.NDArray[Any]:
    """Values of a function for a chunk as an array: numbers, dates or durations."""
    found = np.asarray(values)
    if found.shape != chunk.y.shape:
        raise InputError(f"{name} must give one value for each row")
    if found.dtype != object:
        return found
    is_span = all(isinstance(value, datetime.timedelta) for value in found)
    try:
        return found.astype("m8[us]" if is_span else "M8[us]")
    except (TypeError, ValueError):
        raise InputError(f"{name} must give numbers or times") from None
