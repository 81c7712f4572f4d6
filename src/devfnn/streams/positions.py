"""Where a stream drifts: a tuple of rows, or for a stream without end a rule that repeats."""

import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import overload

from devfnn.errors import InputError


class EndlessPositions(Sequence[int]):
    """Rows that repeat with a period, for ever; so there is no length, and no last one.

    Parameters
    ----------
    cycle
        The positions of one period, rising, at most one period apart.
    period
        Rows after which they come again.
    shift
        Rows that were left out at the front: positions count from there.
    head
        Positions that come once, before the first of the cycle, rising.

    Examples
    --------
    >>> positions = EndlessPositions((100, 150), period=100)
    >>> [positions[index] for index in range(5)]
    [100, 150, 200, 250, 300]
    """

    def __init__(
        self, cycle: Sequence[int], period: int, shift: int = 0, head: Sequence[int] = ()
    ) -> None:
        self.cycle = tuple(cycle)
        self.period = period
        self.shift = shift
        self.head = tuple(head)
        rounds = max(0, (shift - self.cycle[-1]) // period)
        n_head = len(self.head)
        later = itertools.chain(range(n_head), itertools.count(n_head + rounds * len(self.cycle)))
        self._first = next(index for index in later if self._unshifted(index) > shift)

    def _unshifted(self, index: int) -> int:
        if index < len(self.head):
            return self.head[index]
        rounds, place = divmod(index - len(self.head), len(self.cycle))
        return self.cycle[place] + rounds * self.period

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        if isinstance(index, slice):
            if index.stop is None or min(index.start or 0, index.stop, index.step or 1) < 0:
                raise IndexError("a stream without end has no last drift")
            return tuple(self[place] for place in range(*index.indices(sys.maxsize)))
        if index < 0:
            raise IndexError("a stream without end has no last drift")
        return self._unshifted(index + self._first) - self.shift

    def __len__(self) -> int:
        raise InputError("a stream without end drifts without end: take(n_rows) of it first")

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[int]:
        return (self[index] for index in itertools.count())

    def __contains__(self, position: object) -> bool:
        return isinstance(position, int) and position in positions_before(self, position + 1)

    def __repr__(self) -> str:
        first = ", ".join(map(str, itertools.islice(self, 3)))
        return f"({first}, ... without end)"


def positions_before(positions: Sequence[int], n_rows: int) -> tuple[int, ...]:
    """Positions among the first rows."""
    return tuple(itertools.takewhile(lambda position: position < n_rows, positions))


def positions_after(positions: Sequence[int], n_rows: int) -> Sequence[int]:
    """Positions as counted after the first rows were left out.

    >>> positions_after((100, 200, 300), 150)
    (50, 150)
    """
    if isinstance(positions, EndlessPositions):
        shift = positions.shift + n_rows
        return EndlessPositions(positions.cycle, positions.period, shift, positions.head)
    return tuple(position - n_rows for position in positions if position > n_rows)


def positions_behind(head: Sequence[int], positions: Sequence[int], n_rows: int) -> Sequence[int]:
    """Positions as counted after rows were put in front, which have positions of their own.

    >>> positions_behind((100,), (50, 70), 200)
    (100, 250, 270)
    """
    if not isinstance(positions, EndlessPositions):
        return (*head, *(position + n_rows for position in positions))
    n_cycle = len(positions.cycle)
    n_first = len(positions.head)
    moved = [position + n_rows for position in positions[: n_first + n_cycle]]
    return EndlessPositions(moved[n_first:], positions.period, head=(*head, *moved[:n_first]))


def repeated_positions(positions: Sequence[int], n_rows: int, times: int | None) -> Sequence[int]:
    """Positions of a stream that is repeated; where it drifts, its new start is a drift too."""
    if not positions:
        return ()
    cycle = (*positions, n_rows)
    if times is None:
        return EndlessPositions(cycle, period=n_rows)
    every = [position + turn * n_rows for turn in range(times) for position in cycle]
    return tuple(every[:-1])
