"""Rows of a file that cannot be used: refused, left out, or left out and counted."""

import dataclasses
import logging
from collections.abc import Sequence
from typing import NamedTuple

from devfnn.errors import DataError

POLICIES = ("error", "skip", "count")

EXAMPLES = 10
"""Bad rows that are remembered with their reasons."""

logger = logging.getLogger(__name__)


class BadRow(NamedTuple):
    """Where a row is, counted from 1 without the header, and what is wrong with it."""

    row: int
    reason: str


@dataclasses.dataclass
class BadRows:
    """What became of bad rows in the latest pass over a file.

    Parameters
    ----------
    policy
        `error` refuses the first one; `skip` leaves them out; `count` leaves them out, counts them
        here and logs how many there were.
    """

    policy: str
    n_rows: int = 0
    examples: list[BadRow] = dataclasses.field(default_factory=list)

    def start(self) -> None:
        """A new pass begins."""
        self.n_rows = 0
        self.examples.clear()

    def add(self, rows: Sequence[BadRow], file: str) -> None:
        """Treat bad rows as the policy says."""
        if not rows:
            return
        if self.policy == "error":
            raise DataError(
                f"{file}, row {rows[0].row}: {rows[0].reason} "
                "(on_bad_row='skip' or 'count' leaves such rows out)"
            )
        if self.policy == "count":
            self.n_rows += len(rows)
            self.examples.extend(rows[: EXAMPLES - len(self.examples)])

    def finish(self, file: str) -> None:
        """The pass is over."""
        if self.n_rows:
            first = self.examples[0]
            logger.warning(
                "%s: %d bad rows were left out, the first is row %d: %s",
                file,
                self.n_rows,
                first.row,
                first.reason,
            )
