"""Arguments of streams and transforms, checked when they are given."""

import math
import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex

from devfnn.errors import InputError

LARGEST = 2**62
"""Rows are counted in 64 bits; beyond this, sums of such numbers would not fit."""

MOST_FEATURES = 100_000
"""Features of a generated stream; a block of them takes a few gigabytes."""


def whole_number(name: str, value: SupportsIndex, low: int, high: int = LARGEST) -> int:
    """The value as an int, if it is a whole number within the limits; else an InputError."""
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        has_end = high < LARGEST or number > high
        limits = f"from {low} to {high:,}" if has_end else f"from {low} on"
        raise InputError(f"{name} must be a whole number {limits}, not {value!r}")
    return number


def finite_number(name: str, value: float, low: float = -math.inf, high: float = math.inf) -> float:
    """The value as a float, if it is finite and within the limits; else an InputError."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or not low <= number <= high:
        limits = f"between {low} and {high}"
        if high == math.inf:
            limits = "a finite number" + ("" if low == -math.inf else f" from {low} on")
        raise InputError(f"{name} must be {limits}, not {value!r}")
    return number


def listed(name: str, value: Iterable[Any]) -> tuple[Any, ...]:
    """The values as a tuple, if they are a list of one or more; else an InputError."""
    try:
        values = () if isinstance(value, str) else tuple(value)
    except TypeError:
        values = ()
    if not values:
        raise InputError(f"{name} must be a list of one or more, not {value!r}")
    return values
