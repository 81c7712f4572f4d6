"""The course of a run: a result for each chunk, and for so many of a long run that they stay few.

A run may have no end. Of more chunks than `MOST_POINTS`, neighbours become one point, again and
again: counts and sums add up, sizes are those at the end. So whatever is computed from sums over
the run stays what it was, and so do means over chunks, whose sums are kept beside.
"""

import collections
import dataclasses
import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from devfnn.evaluation.measures import MEASURES, Tally, added, measures
from devfnn.events import Event
from devfnn.kernels.state import WITH_PROBABILITIES
from devfnn.types import Standing

MOST_POINTS = 4000
"""Points of a run: chunks of an ordinary one, 2 million rows in chunks of 500. An even number."""

MOST_EVENTS = 5000
"""Events that are kept of a run with more chunks than points, and drifts found: the newest."""

OF_TALLIES = ("paper_precision", "paper_recall")
"""Measures of which means over chunks are taken too."""

Sums = Mapping[str, tuple[int, float, float]]
"""Number, sum, and sum of squares of what was known of a value in some chunks, by its name."""


@dataclasses.dataclass(frozen=True, slots=True)
class ChunkResult:
    """One chunk, predicted and then learned. None stands for what was not measured.

    Of a long run it may be several chunks in a row: `n_chunks`.
    """

    index: int
    chunk_rows: int
    n_rows: int
    """Rows so far, this chunk included."""
    n_correct: int | None
    """Rows predicted right; None if none was scored, as in the first chunk, which only trains."""
    n_scored: int
    """Rows that were predicted and whose labels are known."""
    events: tuple[Event, ...]
    """What learning the chunk changed in the structure of the model, by rows of the stream."""
    seconds_predict: float
    seconds_learn: float
    n_rules: int | None = None
    n_layers: int | None = None
    """Layers that vote after learning."""
    n_labels: int | None = None
    """Labels the model has used so far in this run, or was given if it does not count them."""
    n_layers_total: int | None = None
    """Layers, those that were merged included."""
    n_parameters: int | None = None
    """Numbers that define the live rules."""
    n_bytes: int | None = None
    voting_weights: tuple[float, ...] | None = None
    feature_mask: tuple[bool, ...] | None = None
    """Which features are in use."""
    standings: tuple[Standing, ...] | None = None
    """What every layer does, counts, is worth and costs; read now and then while all vote."""
    tally: Tally | None = dataclasses.field(default=None, compare=False)
    """Sums from which all measures are computed; None if no row was scored."""
    auc_windowed: float | None = None
    """Area under the curve over the last chunks."""
    n_chunks: int = 1
    """Chunks that this stands for; `index` is that of the first, sizes are those at the end."""
    sums: Sums | None = None
    """Of several chunks: sums of what is averaged over chunks."""
    windowed: Mapping[str, float | None] | None = None
    """Of several chunks: all measures over the last chunks of the window."""

    @property
    def accuracy(self) -> float | None:
        """Share of the scored rows predicted right."""
        return None if self.n_correct is None else self.n_correct / self.n_scored


class Course(Sequence[ChunkResult]):
    """Results of a run in their order, never more than `MOST_POINTS`.

    >>> course = Course.of(ChunkResult(k, 10, 10 * k + 10, k, 10, (), 0.1, 0.1) for k in range(9))
    >>> len(course), course.n_chunks, course.mean("accuracy")
    (9, 9, 0.4)
    """

    def __init__(self, window_chunks: int = 10) -> None:
        self.points: list[ChunkResult] = []
        self.n_chunks = 0
        self.chunks_per_point = 1
        self.log: collections.deque[tuple[int, Event]] = collections.deque()
        """Events with the numbers of their chunks."""
        self.event_counts: collections.Counter[str] = collections.Counter()
        """All events by kind, whether they are still kept or not."""
        self.alarms: collections.deque[int] = collections.deque()
        """Rows at which drift was found."""
        self.window: collections.deque[Tally] = collections.deque(maxlen=window_chunks)
        """The last tallies."""

    @classmethod
    def of(cls, results: Iterable[ChunkResult], window_chunks: int = 10) -> "Course":
        """The course of a run whose results come one by one."""
        if isinstance(results, Course):
            return results
        course = cls(window_chunks)
        for result in results:
            course.append(result)
        return course

    def __len__(self) -> int:
        return len(self.points)

    @overload
    def __getitem__(self, place: int) -> ChunkResult: ...

    @overload
    def __getitem__(self, place: slice) -> list[ChunkResult]: ...

    def __getitem__(self, place: int | slice) -> ChunkResult | list[ChunkResult]:
        return self.points[place]

    def append(self, result: ChunkResult) -> None:
        """Take in the next chunk."""
        if len(self.points) >= MOST_POINTS and not self._has_room:
            self._join_pairs()
        self.n_chunks += 1
        self._note(result)
        if result.tally is not None:
            self.window.append(result.tally)
        if self.chunks_per_point == 1:
            self.points.append(result)
            return
        point = dataclasses.replace(result, events=())
        if self._has_room:
            point = joined(self.points.pop(), point)
        self.points.append(point)
        if not self._has_room:
            self.points[-1] = _with_window(point, self.window)

    def mean(self, name: str) -> float | None:
        """Mean over chunks of what is known of a value; None if nothing is."""
        number, total, _ = self._total(name)
        return total / number if number else None

    def deviation(self, name: str) -> float | None:
        """Standard deviation over chunks, with n - 1; None for fewer than two values."""
        number, total, squares = self._total(name)
        if number < 2:
            return None
        if self.chunks_per_point == 1:
            known = (sums_of(each)[name] for each in self)
            return statistics.stdev(value for is_known, value, _ in known if is_known)
        return math.sqrt(max(squares - total * total / number, 0.0) / (number - 1))

    def windowed(self) -> list[Mapping[str, float | None]]:
        """For every point, all measures over the last scored chunks; empty if none was scored."""
        points = self.points
        if self.chunks_per_point == 1:
            points = list(_with_windows(points, self.window.maxlen))
        elif self._has_room:  # the last point is not complete yet
            points = [*points[:-1], _with_window(points[-1], self.window)]
        return [each.windowed or {} for each in points]

    @property
    def n_events_dropped(self) -> int:
        """Events that were counted, but are not kept."""
        return self.event_counts.total() - len(self.log)

    @property
    def _has_room(self) -> bool:
        """Whether the last point stands for fewer chunks than the others."""
        return bool(self.points) and self.points[-1].n_chunks < self.chunks_per_point

    def _note(self, result: ChunkResult) -> None:
        """Keep the events of a chunk; of a long run, the newest."""
        self.log.extend((result.index, event) for event in result.events)
        self.event_counts.update(event.kind for event in result.events)
        self.alarms.extend(event.row for event in result.events if event.kind == "DriftFound")
        for kept in (self.log, self.alarms) if self.chunks_per_point > 1 else ():
            while len(kept) > MOST_EVENTS:
                kept.popleft()

    def _join_pairs(self) -> None:
        """Let every point stand for twice as many chunks."""
        if self.chunks_per_point == 1:
            self.points = list(_with_windows(self.points, self.window.maxlen))
        self.chunks_per_point *= 2
        pairs = zip(self.points[::2], self.points[1::2], strict=True)
        self.points = list(itertools.starmap(joined, pairs))

    def _total(self, name: str) -> tuple[int, float, float]:
        every = [sums_of(each)[name] for each in self]
        number, total, squares = (math.fsum(each[place] for each in every) for place in range(3))
        return int(number), total, squares


def joined(first: ChunkResult, second: ChunkResult) -> ChunkResult:
    """Two neighbours as one, without their events."""
    of_both = (first.n_correct, second.n_correct)
    return dataclasses.replace(
        second,
        index=first.index,
        chunk_rows=first.chunk_rows + second.chunk_rows,
        n_correct=None if of_both == (None, None) else sum(each or 0 for each in of_both),
        n_scored=first.n_scored + second.n_scored,
        events=(),
        seconds_predict=first.seconds_predict + second.seconds_predict,
        seconds_learn=first.seconds_learn + second.seconds_learn,
        tally=_joined_tally(first.tally, second.tally),
        auc_windowed=first.auc_windowed if second.tally is None else second.auc_windowed,
        n_chunks=first.n_chunks + second.n_chunks,
        sums=_joined_sums(sums_of(first), sums_of(second)),
        windowed=second.windowed or first.windowed,
    )


def _joined_sums(first: Sums, second: Sums) -> Sums:
    return {
        name: (number + second[name][0], total + second[name][1], squares + second[name][2])
        for name, (number, total, squares) in first.items()
    }


def _joined_tally(first: Tally | None, second: Tally | None) -> Tally | None:
    """The sum of two; the area, which cannot be added, is the mean by rows."""
    if first is None or second is None:
        return first or second
    areas = [(each.auc, each.totals[WITH_PROBABILITIES]) for each in (first, second)]
    known = [(auc, n_rows) for auc, n_rows in areas if auc is not None]
    n_rows = sum(n_rows for _, n_rows in known)
    area = sum(auc * n_rows for auc, n_rows in known) / n_rows if n_rows else None
    return added((first, second), area)


def sums_of(result: ChunkResult) -> Sums:
    """What is averaged over chunks, as sums over those that a result stands for."""
    if result.sums is not None:
        return result.sums
    tally = result.tally
    values = {
        "accuracy": result.accuracy,
        "rules": result.n_rules,
        "layers": result.n_layers,
        "layers_total": result.n_layers_total,
        "parameters": result.n_parameters,
        **{name: None if tally is None else MEASURES[name](tally) for name in OF_TALLIES},
    }
    return {
        name: (0, 0.0, 0.0) if value is None else (1, value, value * value)
        for name, value in values.items()
    }


def _with_windows(results: Iterable[ChunkResult], window_chunks: Any) -> Iterator[ChunkResult]:
    """Results of single chunks with their measures over the window."""
    window: collections.deque[Tally] = collections.deque(maxlen=window_chunks)
    for each in results:
        if each.tally is not None:
            window.append(each.tally)
        yield _with_window(each, window)


def _with_window(result: ChunkResult, window: Iterable[Tally]) -> ChunkResult:
    """A result with the measures over a window that ends with it; None if it was not scored."""
    if result.tally is None:
        return result
    return dataclasses.replace(result, windowed=measures(added(window, result.auc_windowed)))
