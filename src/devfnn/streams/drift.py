"""Which of several concepts each row comes from: abrupt, gradual, incremental, recurring."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.errors import InputError
from devfnn.streams.arguments import whole_number
from devfnn.streams.positions import EndlessPositions, positions_before

KINDS = ("gradual", "incremental")


@dataclasses.dataclass(frozen=True)
class Turnover:
    """For every row: the concept that is there or on its way, and how much of it is there."""

    concepts: npt.NDArray[np.int64]
    """Number of the newer concept, counted over the whole stream, (n_rows,)."""
    shares: npt.NDArray[np.float64]
    """How far it has replaced the one before, (n_rows,): 1 outside of drifts that take a while."""
    is_incremental: npt.NDArray[np.bool_]
    """Rows on the way from one concept to the next through what lies between, (n_rows,)."""

    def mixed(self, draws: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """A concept for every row: the newer one as often as its share says."""
        return np.where(draws < self.shares, self.concepts, self.concepts - 1)


@dataclasses.dataclass(frozen=True)
class Schedule:
    """When one concept takes over from another.

    Parameters
    ----------
    positions
        Rows with which a new concept begins to appear, rising.
    rows_per_concept
        Instead of positions: every concept lasts this many rows, for ever.
    width
        Rows a drift takes: 0 is abrupt. One for all, or one for each position.
    kind
        What happens meanwhile. `gradual`: rows come from the old or the new concept, more and more
        from the new one. `incremental`: the concept itself moves from the old to the new one.
        One for all, or one for each position.
    """

    positions: tuple[int, ...] = ()
    rows_per_concept: int | None = None
    width: int | Sequence[int] = 0
    kind: str | Sequence[str] = "gradual"

    def __post_init__(self) -> None:
        if self.rows_per_concept is not None:
            n_rows = whole_number("rows_per_concept", self.rows_per_concept, low=1)
            object.__setattr__(self, "rows_per_concept", n_rows)
            if self.positions:
                raise InputError("give positions or rows_per_concept, not both")
            if isinstance(self.width, Sequence) or not isinstance(self.kind, str):
                raise InputError("with rows_per_concept, width and kind are one for all drifts")
        positions = [whole_number("positions", position, low=1) for position in self.positions]
        object.__setattr__(self, "positions", tuple(positions))
        for width in self.widths:
            whole_number("width", width, low=0)
        for kind in self._kinds():
            if kind not in KINDS:
                raise InputError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
        self._check_gaps()

    def _check_gaps(self) -> None:
        if self.rows_per_concept is not None:
            starts, widths = [0, self.rows_per_concept], [0, *self.widths]
            starts.append(2 * self.rows_per_concept)
        else:
            starts, widths = [0, *self.positions], [0, *self.widths]
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
        return self._for_each(self.width, int, "width")

    def _kinds(self) -> tuple[str, ...]:
        return self._for_each(self.kind, str, "kind")

    def _for_each(self, value: Any, single: type, name: str) -> tuple[Any, ...]:
        n_needed = 1 if self.rows_per_concept is not None else len(self.positions)
        if isinstance(value, single) or not isinstance(value, Sequence):
            return (value,) * max(n_needed, 1)  # checked even if nothing drifts
        if len(value) != n_needed:
            raise InputError(f"{name} needs one value for each of {n_needed} positions")
        return tuple(value)

    @property
    def is_incremental(self) -> bool:
        """Whether a concept ever moves."""
        if self.rows_per_concept is None and not self.positions:
            return False
        return any(
            width and kind == "incremental"
            for width, kind in zip(self.widths, self._kinds(), strict=True)
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
        is_incremental = np.array([kind == "incremental" for kind in self._kinds()] or [False])
        return Turnover(concepts, shares, is_moving & is_incremental[which])

    def drift_positions(self, concepts: Sequence[Any], n_rows: int | None) -> Sequence[int]:
        """Rows at which the concept really changes: equal neighbours are one concept."""
        n_concepts = len(concepts)
        if self.rows_per_concept is None:
            changes = [
                position
                for number, position in enumerate(self.positions, start=1)
                if concepts[number % n_concepts] != concepts[(number - 1) % n_concepts]
            ]
            return tuple(changes) if n_rows is None else positions_before(changes, n_rows)
        cycle = [
            number * self.rows_per_concept
            for number in range(1, n_concepts + 1)
            if concepts[number % n_concepts] != concepts[number - 1]
        ]
        if not cycle:
            return ()
        endless = EndlessPositions(cycle, period=n_concepts * self.rows_per_concept)
        return endless if n_rows is None else positions_before(endless, n_rows)
