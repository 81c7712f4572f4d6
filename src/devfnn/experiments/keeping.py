"""A state that is written to a file now and then, while the work on it goes on."""

import logging
import pathlib
import time
from collections.abc import Callable

from devfnn.files import write_whole

LARGEST_SHARE = 0.05
"""Largest share of the time for writing; it becomes rarer above it."""

logger = logging.getLogger(__name__)


class Keeper:
    """Writes a file every few seconds. What cannot be written is told, and tried again later.

    every_seconds: time between two writes; 0 for one after every chunk
    tell: called with a text when a write fails, for another reason than the one before, and when
    one succeeds after that; by default it is logged as a warning
    """

    def __init__(
        self,
        path: pathlib.Path,
        every_seconds: float = 5.0,
        tell: Callable[[str], object] = logger.warning,
    ) -> None:
        self.path = path
        self.problem: str | None = None
        """Why the newest state could not be written; None if it was."""
        self._tell = tell
        self._every = every_seconds
        self._last = time.monotonic()
        self._cost = 0.0

    @property
    def is_due(self) -> bool:
        """Whether enough time has passed since the last write, also for what it took."""
        pause = self._every and max(self._every, self._cost / LARGEST_SHARE)
        return time.monotonic() - self._last >= pause

    def keep(self, content: Callable[[], bytes]) -> None:
        """Write the content now, if the disk takes it."""
        start, before = time.monotonic(), self.problem
        data = content()
        try:
            write_whole(self.path, data)
            self.problem = None
        except OSError as error:
            self.problem = f"cannot write {self.path}: {error.strerror or error}"
        self._last = time.monotonic()
        self._cost = self._last - start
        if self.problem is not None and self.problem != before:
            self._tell(f"{self.problem}; the newest state is not stored")
        elif before is not None and self.problem is None:
            self._tell(f"{self.path} is written again")
