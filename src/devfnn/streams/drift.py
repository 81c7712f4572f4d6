"""When one concept takes over from another, and at which rows a stream drifts."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.errors import InputError
from devfnn.streams.arguments import whole_number

KINDS = ("gradual", "incremental")


@dataclasses.dataclass(frozen=True)
class EndlessPositions:
    """Drift positions of a stream without end: iterating over them never ends."""

    start: Callable[[], Iterator[int]]

    def __iter__(self) -> Iterator[int]:
        return self.start()


Positions = tuple[int, ...] | EndlessPositions
"""Rows with which a new concept begins."""


def positions_before(positions: Iterable[int], n_rows: int) -> tuple[int, ...]:
    """Positions among the first rows."""
    return tuple(itertools.takewhile(lambda position: position < n_rows, positions))


def moved_positions(positions: Positions, n_rows: int, before: Sequence[int] = ()) -> Positions:
    """Positions after rows were put in front, with positions of their own, or removed if negative.

    >>> moved_positions((100, 200), 50, before=(20,)), moved_positions((100, 200), -150)
    ((20, 150, 250), (50,))
    """
    moved = functools.partial(_moved, positions, n_rows, before)
    return tuple(moved()) if isinstance(positions, tuple) else EndlessPositions(moved)


def _moved(positions: Iterable[int], n_rows: int, before: Sequence[int]) -> Iterator[int]:
    yield from before
    yield from (position + n_rows for position in positions if position + n_rows > 0)


def repeated_positions(positions: Sequence[int], period: int) -> Positions:
    """Positions that come again and again, after so many rows.

    >>> list(itertools.islice(repeated_positions((30, 100), 100), 5))
    [30, 100, 130, 200, 230]
    """
    return EndlessPositions(functools.partial(_repeated, positions, period)) if positions else ()


def _repeated(positions: Sequence[int], period: int) -> Iterator[int]:
    for start in itertools.count(step=period):
        yield from (start + position for position in positions)


@dataclasses.dataclass(frozen=True)
class Turnover:
    """For every row: the newest concept, and its share."""

    concepts: npt.NDArray[np.int64]
    """Number of the newest concept, counted over the whole stream, (n_rows,)."""
    shares: npt.NDArray[np.float64]
    """Share to which it has replaced the previous one, (n_rows,): 1 outside of gradual drifts."""
    is_incremental: npt.NDArray[np.bool_]
    """Rows at which the concept itself is between the old one and the new one, (n_rows,)."""

    def mixed(self, draws: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """A concept for every row: the newer one as often as its share says."""
        return np.where(draws < self.shares, self.concepts, self.concepts - 1)


class Schedule:
    """When one concept takes over from another; `StreamOptions` says what the arguments mean."""

    def __init__(
        self,
        positions: Sequence[int] = (),
        rows_per_concept: int | None = None,
        width: int | Sequence[int] = 0,
        kind: str | Sequence[str] = "gradual",
    ) -> None:
        self.positions = tuple(whole_number("positions", each, low=1) for each in positions)
        self.rows_per_concept = rows_per_concept
        starts, n_drifts = (0, *self.positions), len(self.positions)
        if rows_per_concept is not None:
            if self.positions:
                raise InputError("give positions or rows_per_concept, not both")
            if isinstance(width, Sequence) or not isinstance(kind, str):
                raise InputError("with rows_per_concept, width and kind are one for all drifts")
            every = whole_number("rows_per_concept", rows_per_concept, low=1)
            self.rows_per_concept, starts, n_drifts = every, (0, every, 2 * every), 1
        widths = _for_each("width", width, n_drifts)
        self.widths = tuple(whole_number("width", each, low=0) for each in widths)
        self.kinds = _for_each("kind", kind, n_drifts)
        """One width and one kind for each position, or one for all if they never end."""
        self._check(starts)
        drifts = zip(starts[1:], self.widths, self.kinds, strict=False)
        self.is_incremental = any(width and kind == "incremental" for _, width, kind in drifts)
        """Whether a concept ever moves."""

    def _check(self, starts: Sequence[int]) -> None:
        """Refuse drifts of unknown kind, and drifts that do not end before the next one starts."""
        for kind in self.kinds:
            if kind not in KINDS:
                raise InputError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
        for (start, end), width in zip(itertools.pairwise(starts), (0, *self.widths), strict=False):
            if end <= start:
                raise InputError(f"positions must rise, {end} does not come after {start}")
            if end - start < width:
                raise InputError(
                    f"the drift at row {start} takes {width} rows, but the next begins at row {end}"
                )

    def turnover(self, first: int, n_rows: int) -> Turnover:
        """Concepts and shares of some rows, from row `first` on."""
        rows = np.arange(first, first + n_rows)
        if self.rows_per_concept is not None:
            concepts = rows // self.rows_per_concept
            starts = concepts * self.rows_per_concept
            which = np.zeros(n_rows, np.int64)
        else:
            concepts = np.searchsorted(np.array(self.positions, np.int64), rows, side="right")
            starts = np.array((0, *self.positions), np.int64)[concepts]
            which = np.maximum(concepts - 1, 0)
        widths = np.array(self.widths or (0,), np.int64)[which]
        widths[concepts == 0] = 0
        into = rows - starts
        is_moving = into < widths
        shares = np.where(is_moving, (into + 0.5) / np.maximum(widths, 1), 1.0)
        is_incremental = np.array([kind == "incremental" for kind in self.kinds] or [False])
        return Turnover(concepts, shares, is_moving & is_incremental[which])

    def drift_positions(self, concepts: Sequence[Any]) -> Positions:
        """Rows at which the concept really changes: equal neighbours are one concept."""
        n_concepts = len(concepts)
        every = self.rows_per_concept
        planned = range(every, n_concepts * every + 1, every) if every else self.positions
        changes = tuple(
            position
            for number, position in enumerate(planned, start=1)
            if concepts[number % n_concepts] != concepts[(number - 1) % n_concepts]
        )
        return changes if every is None else repeated_positions(changes, n_concepts * every)


def _for_each(name: str, value: Any, n_drifts: int) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return (value,) * max(n_drifts, 1)  # checked even if nothing drifts
    if len(value) != n_drifts:
        raise InputError(f"{name} needs one value for each of {n_drifts} positions")
    return tuple(value)
