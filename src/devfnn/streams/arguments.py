"""Arguments of streams and transforms, checked when they are given."""

import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex

from devfnn.errors import InputError

LARGEST = 2**62
"""Rows are counted in 64 bits; beyond this, sums of such numbers would not fit."""

MOST_FEATURES = 100_000
"""Features of a generated stream; a block of them takes a few gigabytes."""


def whole_number(name: str, value: SupportsIndex, low: int, high: int = LARGEST) -> int:
    """The value as an int, if it is a whole number from `low` on; else an InputError.

    >>> whole_number("chunk_rows", 500, low=1)
    500
    >>> whole_number("chunk_rows", 0, low=1)
    Traceback (most recent call last):
    ...
    devfnn.errors.InputError: chunk_rows must be a whole number from 1 on, not 0
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if number < low:
        raise InputError(f"{name} must be a whole number from {low} on, not {value!r}")
    if number > high:
        raise InputError(f"{name} must be at most {high:,}, not {number:,}")
    return number


def share(name: str, value: float) -> float:
    """The value as a float, if it is between 0 and 1; else an InputError.

    >>> share("noise", 1.5)
    Traceback (most recent call last):
    ...
    devfnn.errors.InputError: noise must be between 0 and 1, not 1.5
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise InputError(f"{name} must be between 0 and 1, not {value!r}")
    return number


def listed(name: str, value: Iterable[Any]) -> tuple[Any, ...]:
    """The values as a tuple, if they are a list of one or more; else an InputError.

    >>> listed("thresholds", 8)
    Traceback (most recent call last):
    ...
    devfnn.errors.InputError: thresholds must be a list of one or more, not 8
    """
    try:
        values = () if isinstance(value, str) else tuple(value)
    except TypeError:
        values = ()
    if not values:
        raise InputError(f"{name} must be a list of one or more, not {value!r}")
    return values
