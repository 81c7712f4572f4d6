"""Kinds of layers, one file each: parameters, layout, how it widens, its rules and its reasons.

A module names its arrays in `State` (NAME) and its numbers in `Params` (PARAMS), its kinds with
their numbers (KINDS), parameters of `Layer` that they have (TAKES), and sections of the
configuration: class, kinds that they belong to, and whether these cannot do without (SECTIONS).
"""

import importlib
import pkgutil
from typing import Any

_FOUND = [
    importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)
]

KIND_MODULES: tuple[Any, ...] = tuple(
    sorted(_FOUND, key=lambda module: min(module.KINDS.values(), default=-1))
)
"""The modules, in the order of the numbers of their kinds; each has one, or several that share
arrays, or none if other kinds share its arrays (SERVES)."""

KINDS: dict[str, int] = {
    name: kind for module in KIND_MODULES for name, kind in module.KINDS.items()
}
"""Numbers of all kinds by name."""


def kinds_served(module: Any) -> tuple[str, ...]:
    """The kinds of layers that need the arrays of a module."""
    kinds: tuple[str, ...] = getattr(module, "SERVES", tuple(module.KINDS))
    return kinds
