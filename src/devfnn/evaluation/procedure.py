"""How a run goes: what is predicted when, and when its labels come."""

import dataclasses
import datetime
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from devfnn.errors import InputError
from devfnn.streams.transforms import check_span
from devfnn.types import Chunk

PerRow = str | Callable[[Chunk], npt.NDArray[Any]]
"""A number or a time for every row: a feature by name, or a function of the chunk."""

Span = int | float | datetime.timedelta | np.timedelta64
"""A stretch of rows or of time."""

UNPREDICTED = ("wrong", "skip", "first")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Procedure:
    """How a run goes. The default: predict every chunk, score it, then learn it.

    Rows that come before anything was learned train only; so does the first chunk.

    >>> Procedure(by_row=True, delay=100).delay
    100
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
    unpredicted: Literal["wrong", "skip", "first"] = "wrong"
    """Rows for which a model that has learned says nothing: wrong; not scored, as in River; or
    taken as the first class from the first row on, as in MOA."""
    window_chunks: int = 10
    """Chunks over which windowed measures are taken."""

    def __post_init__(self) -> None:
        _check_count("warm_up_chunks", self.warm_up_chunks, least=0)
        _check_count("window_chunks", self.window_chunks, least=1)
        if self.holdout_every is not None:
            _check_count("holdout_every", self.holdout_every, least=2)
        if not isinstance(self.by_row, bool):
            raise InputError(f"by_row is True or False, not {self.by_row!r}")
        budget = self.label_budget
        is_number = isinstance(budget, int | float) and not isinstance(budget, bool)
        if budget is not None and not (is_number and 0.0 < budget <= 1.0):
            raise InputError(f"label_budget is a share above 0, at most 1, not {self.label_budget}")
        if self.unpredicted not in UNPREDICTED:
            known = ", ".join(UNPREDICTED)
            raise InputError(f"unpredicted is one of {known}, not {self.unpredicted!r}")
        if self.moment is not None and self.delay is None:
            raise InputError("moment says when rows come, which matters only with a delay")
        if self.holdout_every is not None and self.delay is not None:
            raise InputError("holdout_every and delay do not go together")
        if not (self.delay is None or isinstance(self.delay, str) or callable(self.delay)):
            check_span("delay", self.delay, or_zero=True)

    def is_tested(self, index: int) -> bool:
        """Whether a chunk is predicted and scored."""
        if index < self.warm_up_chunks:
            return False
        return self.holdout_every is None or self._is_held_out(index)

    def is_learned(self, index: int) -> bool:
        """Whether a chunk is learned."""
        if self.holdout_every is None or index < self.warm_up_chunks:
            return True
        return not self._is_held_out(index)

    def _is_held_out(self, index: int) -> bool:
        every = self.holdout_every or 1
        return (index - self.warm_up_chunks) % every == every - 1

    def to_dict(self) -> dict[str, Any]:
        """The procedure as plain data; functions by their names."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.timedelta | np.timedelta64):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    return getattr(value, "__name__", "a function") if callable(value) else value


def _check_count(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} is a whole number of {least} or more, not {value!r}")
