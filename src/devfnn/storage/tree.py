"""The state of a model as a flat dictionary, and back.

Names are paths of fields, `layers/centers` or `gathered/rows/X`. Nothing is listed by hand: a field
added to a network or to one of its parts is stored from then on.
"""

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from devfnn.model.state import Shape
from devfnn.scaling import OnlineScaler

SCALARS = (bool, int, float)
"""Leaves of the state that go into the header."""


def leaves(value: Any, name: str = "") -> dict[str, Any]:
    """Arrays, scalars and absent parts (None) of a state by their paths; the shape is left out."""
    if value is None or isinstance(value, np.ndarray | bool | int | float):
        return {name: value}
    if isinstance(value, np.generic):
        return {name: value.item()}
    if isinstance(value, Shape):
        return {}
    flat: dict[str, Any] = {}
    for field, member in _members(value):
        flat |= leaves(member, f"{name}/{field}" if name else field)
    return flat


def rebuilt(template: Any, flat: Mapping[str, Any], name: str = "") -> Any:
    """A state like the template, with the leaves of `flat`."""
    if name in flat:
        return flat[name]
    fresh = {
        field: rebuilt(member, flat, f"{name}/{field}" if name else field)
        for field, member in _members(template)
    }
    if isinstance(template, OnlineScaler) and not dataclasses.is_dataclass(template):
        scaler = copy.copy(template)
        vars(scaler).update(fresh)
        return scaler
    return type(template)(**fresh)


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of one part of the state, in order."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from zip(value._fields, value, strict=True)
    elif dataclasses.is_dataclass(value):
        yield from ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    elif isinstance(value, OnlineScaler):
        yield from vars(value).items()
    else:
        raise TypeError(f"a model's state may not hold a {type(value).__name__}")


def state_bytes(network: Any) -> int:
    """Size of all learned arrays of a network in bytes; 0 for None."""
    arrays = leaves(network).values()
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
