"""How well drift was found, on streams that know where they drift."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Detection:
    """True drifts against alarms."""

    n_drifts: int
    """True drifts within the run."""
    n_false_alarms: int
    """Alarms that were not the first after a drift."""
    delays: tuple[int | None, ...]
    """For every true drift, rows from its beginning to the first alarm; None if it was missed."""

    @property
    def n_found(self) -> int:
        """Drifts with an alarm before the next drift began."""
        return sum(delay is not None for delay in self.delays)

    @property
    def n_missed(self) -> int:
        """Drifts without one."""
        return self.n_drifts - self.n_found

    @property
    def delay_mean(self) -> float | None:
        """Mean delay of the drifts that were found."""
        found = [delay for delay in self.delays if delay is not None]
        return sum(found) / len(found) if found else None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "drifts": self.n_drifts,
            "found": self.n_found,
            "missed": self.n_missed,
            "false_alarms": self.n_false_alarms,
            "delay_mean": self.delay_mean,
            "delays": list(self.delays),
        }


def detection(
    alarms: Sequence[int], positions: Iterable[int], n_rows: int, *, within: int | None = None
) -> Detection:
    """Compare alarms with true drifts.

    A drift is found by the first alarm after its beginning and not after the beginning of the next.
    All other alarms are false: those before the first drift, and later ones for the same drift.

    Parameters
    ----------
    alarms
        Rows that had come when drift was said to have happened, in order.
    positions
        Rows with which a new concept begins, rising; they may go on for ever.
    n_rows
        Rows of the run; later drifts do not count.
    within
        An alarm that comes more rows after a drift does not find it.

    Examples
    --------
    >>> detection([300, 1200, 1700], [1000, 2000], 3000).to_dict()["delays"]
    [200, None]
    """
    within_run = itertools.takewhile(lambda position: position < n_rows, positions)
    starts = [position for position in within_run if position > 0]
    delays: list[int | None] = []
    for start, end in itertools.pairwise([*starts, n_rows + 1]):
        last = end if within is None else min(end, start + within)
        first = next((alarm for alarm in alarms if start < alarm <= last), None)
        delays.append(None if first is None else first - start)
    n_found = sum(delay is not None for delay in delays)
    return Detection(len(starts), len(alarms) - n_found, tuple(delays))
