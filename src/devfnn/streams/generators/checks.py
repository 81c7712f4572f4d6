"""Numbers of concepts, checked when they are given."""

import math

from devfnn.errors import InputError
from devfnn.streams.arguments import whole_number


def function_number(value: int, n_functions: int) -> int:
    """The value, if there is a function of this number; functions count from 1.

    >>> function_number(11, 10)
    Traceback (most recent call last):
    ...
    devfnn.errors.InputError: function must be a whole number from 1 to 10, not 11
    """
    try:
        number = whole_number("function", value, low=1)
    except InputError:
        number = 0
    if not 1 <= number <= n_functions:
        raise InputError(f"function must be a whole number from 1 to {n_functions}, not {value!r}")
    return number


def number_up_to(name: str, value: int, high: int) -> int:
    """The value, if it is a whole number from 0 to `high`; else an InputError."""
    if whole_number(name, value, low=0) > high:
        raise InputError(f"{name} must be at most {high}, not {value!r}")
    return value


def finite_number(name: str, value: float, low: float = -math.inf) -> float:
    """The value as a float, if it is finite and not below `low`; else an InputError.

    >>> finite_number("speed", -1, low=0)
    Traceback (most recent call last):
    ...
    devfnn.errors.InputError: speed must be a finite number from 0 on, not -1
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < low:
        least = "" if low == -math.inf else f" from {low} on"
        raise InputError(f"{name} must be a finite number{least}, not {value!r}")
    return number
