"""Stretches of time, and the clock that rows carry."""

import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.errors import InputError

Span = float | datetime.timedelta | np.timedelta64
"""A stretch of time: a timedelta for dates, a number for clocks that are numbers."""

UNCERTAIN_UNITS = ("generic", "M", "Y")
"""Units of a timedelta64 that are no fixed stretch of time."""


def check_span(name: str, span: Span | None, *, or_zero: bool = False) -> None:
    """Refuse what is no stretch of time above zero, or from zero on."""
    try:
        length = numpy_span(span)
        zero = length - length  # of its own kind; infinity has none
        is_long_enough = bool(length > zero or (or_zero and length == zero))
    except (TypeError, ValueError, OverflowError):
        is_long_enough = False
    if not is_long_enough:
        wanted = "from zero on" if or_zero else "above zero"
        raise InputError(f"{name} must be a stretch of time {wanted}, not {span!r}")
    if isinstance(span, np.timedelta64) and np.datetime_data(span.dtype)[0] in UNCERTAIN_UNITS:
        raise InputError(f"{name} must be in weeks, days, hours or shorter units, not {span!r}")


def numpy_span(span: Any) -> Any:
    """A stretch of time as NumPy has it."""
    return np.timedelta64(span) if isinstance(span, datetime.timedelta) else span


def checked_times(name: str, times: npt.NDArray[Any] | None, span: Any) -> npt.NDArray[Any]:
    """The rows' times, if they are all known and the span is of their kind."""
    if times is None:
        raise InputError(f"{name} needs a stream with times, and this one has none")
    is_date = times.dtype.kind == "M"
    if not is_date and times.dtype.kind not in "iuf":
        raise InputError(f"{name} needs times that are dates or numbers, not {times.dtype}")
    if is_date != isinstance(span, np.timedelta64):
        wanted = "a timedelta" if is_date else "a number"
        raise InputError(f"{name} must be {wanted}, as the stream's times are {times.dtype}")
    if not np.isfinite(times).all():
        raise InputError(f"{name} needs rows whose times are all known and finite")
    if is_date:
        return times
    return times.astype(np.float64 if times.dtype.kind == "f" else np.int64, copy=False)


def windows(times: npt.NDArray[Any], span: Any) -> npt.NDArray[np.int64]:
    """Numbers of the windows that times fall in; windows begin at whole multiples of the span."""
    if times.dtype.kind == "M":
        return np.asarray((times - np.datetime64(0, "us")) // span, np.int64)
    if times.dtype.kind == "i" and isinstance(span, int | np.integer):
        return np.asarray(times // span, np.int64)  # exact for nanoseconds, where floats are not
    return np.asarray(np.floor(times / span), np.int64)
