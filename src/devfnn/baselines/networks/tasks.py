"""When a task ends and the next begins, on a stream that does not say."""

import numpy as np
import numpy.typing as npt

from devfnn.baselines.networks.settings import Settings
from devfnn.model.drift import Level, Verdict, drift_in_chunk, dynamic_significance


class TaskClock:
    """Counts chunks and tasks, and says before each chunk is learned whether a task begins."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.n_chunks = 0
        """Chunks learned so far."""
        self.n_tasks = 0
        """Tasks begun so far."""
        self.task_start = 0
        """Chunk with which the newest task began."""

    def is_due(self, errors: npt.NDArray[np.int64]) -> tuple[bool, Verdict | None]:
        """Whether a task begins with this chunk, and the verdict on its errors if that is why.

        `errors` are the 0/1 errors of the chunk as it was predicted before.
        """
        if self.n_tasks == 0:
            return True, None
        if self.settings.max_tasks is not None and self.n_tasks >= self.settings.max_tasks:
            return False, None
        if self.settings.policy == "chunk":
            return True, None
        if self.settings.policy == "blocks":
            return self._block() >= self.n_tasks, None
        return self._has_drifted(errors)

    def begin(self) -> None:
        """A task begins with this chunk."""
        self.n_tasks += 1
        self.task_start = self.n_chunks

    def tick(self) -> None:
        """A chunk was learned."""
        self.n_chunks += 1

    def _block(self) -> int:
        """Block of this chunk, counted from 0."""
        known, tasks = self.settings.n_chunks, self.settings.max_tasks
        if known is None or tasks is None:
            return self.n_chunks // self.settings.block_chunks
        return self.n_chunks * tasks // known

    def _has_drifted(self, errors: npt.NDArray[np.int64]) -> tuple[bool, Verdict | None]:
        """The printed test of the paper on the errors of one chunk."""
        if self.n_chunks - self.task_start < self.settings.min_gap:
            return False, None
        cap, horizon = self.settings.drift_significance, self.settings.horizon
        significance = dynamic_significance(self.n_chunks, horizon, cap)
        verdict = drift_in_chunk(errors, significance, significance, one_sided=False)
        return verdict.level is Level.DRIFT, verdict
