"""Parameters as fields of dataclasses: each declared once with its range and meaning, and checked.

>>> @dataclasses.dataclass(frozen=True)
... class Settings:
...     depth: int | None = number(3, 1, 50, "layers; None for no limit")
...     kind: Literal["round", "square"] = choice("round", "shape of a layer")
...
...     def __post_init__(self) -> None:
...         check_parameters(self)
>>> Settings(depth=None).depth
>>> Settings(depth=99)
Traceback (most recent call last):
...
devfnn.errors.InputError: depth must be between 1 and 50, not 99
"""

import dataclasses
import types
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Union, get_args, get_origin

import numpy as np

from devfnn.errors import InputError, shown


def number(default: float | None, low: float, high: float, meaning: str, symbol: str = "") -> Any:
    """A numeric field with its closed range."""
    about = {"low": low, "high": high, "meaning": meaning, "symbol": symbol}
    return dataclasses.field(default=default, metadata=about)


def choice(default: Any, meaning: str, symbol: str = "") -> Any:
    """A switch, or a field with named choices."""
    return dataclasses.field(default=default, metadata={"meaning": meaning, "symbol": symbol})


def check_names(kind: Any, names: Iterable[str]) -> None:
    """Refuse names that are not fields of a dataclass."""
    known = [field.name for field in dataclasses.fields(kind)]
    for name in names:
        if name not in known:
            there_are = ", ".join(sorted(known))
            raise InputError(f"no parameter is called {name!r}; there are {there_are}")


def check_parameters(settings: Any) -> None:
    """Refuse values of the wrong kind or outside their range, in fields declared as above."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        is_union = get_origin(field.type) in (Union, types.UnionType)
        kinds = get_args(field.type) if is_union else (field.type,)
        is_listed = isinstance(value, tuple) and any(get_origin(kind) is tuple for kind in kinds)
        if field.metadata and not is_listed and not (value is None and types.NoneType in kinds):
            _check(field.name, value, kinds[0], field.metadata)


def _check(name: str, value: Any, kind: Any, about: Mapping[str, Any]) -> None:
    if get_origin(kind) is Literal:
        if not isinstance(value, str) or value not in get_args(kind):
            choices = ", ".join(map(repr, get_args(kind)))
            raise InputError(f"{name} must be one of {choices}, not {shown(value)}")
    elif kind is bool:
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"{name} must be True or False, not {shown(value)}")
    else:
        kinds = int | np.integer if kind is int else int | float | np.integer | np.floating
        if not isinstance(value, kinds) or isinstance(value, bool):
            what = "a whole number" if kind is int else "a number"
            raise InputError(f"{name} must be {what}, not {shown(value)}")
        if not about["low"] <= value <= about["high"]:
            raise InputError(
                f"{name} must be between {about['low']:g} and {about['high']:g}, not {shown(value)}"
            )


class Section:
    """Parameters that belong together; checked when they are made."""

    form: ClassVar[str] = ""
    """Which form of a mechanism this is, if there are several."""
    idle: ClassVar[Mapping[tuple[str, Any], str]] = {}
    """A parameter and a value of it, with which these others cannot act."""

    def __post_init__(self) -> None:
        check_parameters(self)
