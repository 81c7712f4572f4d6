"""When one concept takes over from another, and at which rows a stream drifts."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.errors import InputError
from devfnn.streams.arguments import whole_number

KINDS = ("gradual", "incremental")


@dataclasses.dataclass(frozen=True)
class EndlessPositions:
    """Drift positions of a stream without end: iterating over them never ends.

    >>> list(itertools.islice(EndlessPositions((100, 150), period=100), 5))
    [100, 150, 200, 250, 300]
    """

    cycle: tuple[int, ...]
    """The positions of one period, rising, at most one period apart."""
    period: int
    """Rows after which they come again."""
    once: tuple[int, ...] = ()
    """Positions before the first of the cycle."""

    def __iter__(self) -> Iterator[int]:
        yield from self.once
        for start in itertools.count(step=self.period):
            yield from (start + position for position in self.cycle)

    def moved(self, n_rows: int) -> "EndlessPositions":
        """Counted from this many rows earlier, or later if negative; none is left before row 1."""
        once = tuple(position + n_rows for position in self.once if position + n_rows > 0)
        start = max(0, -n_rows - self.cycle[-1]) // self.period * self.period + n_rows
        cycle = itertools.count(start, self.period)
        later = (first + position for first in cycle for position in self.cycle)
        visible = itertools.dropwhile(lambda position: position <= 0, later)
        return EndlessPositions(
            tuple(itertools.islice(visible, len(self.cycle))), self.period, once
        )


Positions = tuple[int, ...] | EndlessPositions
"""Rows with which a new concept begins."""


def positions_before(positions: Iterable[int], n_rows: int) -> tuple[int, ...]:
    """Positions among the first rows."""
    return tuple(itertools.takewhile(lambda position: position < n_rows, positions))


def positions_after(positions: Positions, n_rows: int) -> Positions:
    """Positions as counted after the first rows were left out.

    >>> positions_after((100, 200, 300), 150)
    (50, 150)
    """
    if isinstance(positions, EndlessPositions):
        return positions.moved(-n_rows)
    return tuple(position - n_rows for position in positions if position > n_rows)


def positions_behind(first: Sequence[int], positions: Positions, n_rows: int) -> Positions:
    """Positions as counted after rows were put in front, which have positions of their own.

    >>> positions_behind((100,), (50, 70), 200)
    (100, 250, 270)
    """
    if isinstance(positions, EndlessPositions):
        moved = positions.moved(n_rows)
        return dataclasses.replace(moved, once=(*first, *moved.once))
    return (*first, *(position + n_rows for position in positions))


def repeated_positions(positions: tuple[int, ...], n_rows: int, times: int | None) -> Positions:
    """Positions of a stream that is repeated; where it drifts, its new start is a drift too."""
    if not positions:
        return ()
    endless = EndlessPositions((*positions, n_rows), period=n_rows)
    return endless if times is None else positions_before(endless, n_rows * times)


@dataclasses.dataclass(frozen=True)
class Turnover:
    """For every row: the newest concept, and how much of it is there."""

    concepts: npt.NDArray[np.int64]
    """Number of the newest concept, counted over the whole stream, (n_rows,)."""
    shares: npt.NDArray[np.float64]
    """How far it has replaced the one before, (n_rows,): 1 outside of drifts that take a while."""
    is_incremental: npt.NDArray[np.bool_]
    """Rows at which the concept itself is between the old one and the new one, (n_rows,)."""

    def mixed(self, draws: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """A concept for every row: the newer one as often as its share says."""
        return np.where(draws < self.shares, self.concepts, self.concepts - 1)


@dataclasses.dataclass(frozen=True)
class Schedule:
    """When one concept takes over from another; `StreamOptions` says what the fields mean."""

    positions: tuple[int, ...] = ()
    rows_per_concept: int | None = None
    width: int | Sequence[int] = 0
    kind: str | Sequence[str] = "gradual"

    def __post_init__(self) -> None:
        positions = tuple(whole_number("positions", each, low=1) for each in self.positions)
        object.__setattr__(self, "positions", positions)
        if self.rows_per_concept is None:
            self._check_drifts((0, *positions))
            return
        n_rows = whole_number("rows_per_concept", self.rows_per_concept, low=1)
        object.__setattr__(self, "rows_per_concept", n_rows)
        if positions:
            raise InputError("give positions or rows_per_concept, not both")
        if isinstance(self.width, Sequence) or not isinstance(self.kind, str):
            raise InputError("with rows_per_concept, width and kind are one for all drifts")
        self._check_drifts((0, n_rows, 2 * n_rows))

    def _check_drifts(self, starts: Sequence[int]) -> None:
        """Refuse drifts of no kind, and drifts that do not end before the next one starts."""
        for kind in self.kinds:
            if kind not in KINDS:
                raise InputError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
        widths = [0, *(whole_number("width", width, low=0) for width in self.widths)]
        for (start, end), width in zip(itertools.pairwise(starts), widths, strict=False):
            if end <= start:
                raise InputError(f"positions must rise, {end} does not come after {start}")
            if end - start < width:
                raise InputError(
                    f"the drift at row {start} takes {width} rows, but the next begins at row {end}"
                )

    @property
    def widths(self) -> tuple[int, ...]:
        """One width for each position, or one for all if they never end."""
        return self._for_each("width", self.width)

    @property
    def kinds(self) -> tuple[str, ...]:
        """One kind for each position, or one for all if they never end."""
        return self._for_each("kind", self.kind)

    def _for_each(self, name: str, value: Any) -> tuple[Any, ...]:
        n_needed = 1 if self.rows_per_concept is not None else len(self.positions)
        if isinstance(value, str) or not isinstance(value, Sequence):
            return (value,) * max(n_needed, 1)  # checked even if nothing drifts
        if len(value) != n_needed:
            raise InputError(f"{name} needs one value for each of {n_needed} positions")
        return tuple(value)

    @property
    def is_incremental(self) -> bool:
        """Whether a concept ever moves."""
        if self.rows_per_concept is None and not self.positions:
            return False
        drifts = zip(self.widths, self.kinds, strict=True)
        return any(width and kind == "incremental" for width, kind in drifts)

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
        if every is None or not changes:
            return changes
        return EndlessPositions(changes, period=n_concepts * every)
