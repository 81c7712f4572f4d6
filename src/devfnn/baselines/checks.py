"""Whether parameters of models can be what they are; InputError says what is wrong."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from devfnn.errors import InputError


def check_choice(name: str, value: object, known: Sequence[str]) -> None:
    """Refuse a value that is not one of those known."""
    if value not in known:
        raise InputError(f"{name} must be one of {', '.join(known)}, not {value!r}")


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse what is not a whole number, or too small."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} must be a whole number from {least} on, not {value!r}")


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Refuse what is not a number within bounds."""
    if isinstance(value, bool) or not isinstance(value, float | int) or not low <= value <= high:
        raise InputError(f"{name} must be a number from {low:g} to {high:g}, not {value!r}")


def check_flags(settings: Any) -> None:
    """Refuse switches of a dataclass that are neither True nor False."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if field.type is bool and not isinstance(value, bool):
            raise InputError(f"{field.name} must be True or False, not {value!r}")


def check_labels(name: str, value: object) -> None:
    """Refuse what is not a sequence of labels."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InputError(f"{name} must be a sequence of labels, not {value!r}")
