"""Kinds of layers, one file each: parameters, layout, how it widens, its rules and its reasons.

A module names its arrays in `State` (NAME) and its numbers in `Params` (PARAMS), its kinds with
their numbers (KINDS), parameters of `Layer` that they have (TAKES), and sections of the
configuration: class, kinds that they belong to, and whether these cannot do without (SECTIONS).
"""

from typing import Any

from devfnn.model.layers import clouds, gaussian, pool

STORES: tuple[Any, ...] = (pool, clouds, gaussian)
"""The modules, in the order of the numbers of their kinds; each has one, or several that share
arrays."""

KINDS: dict[str, int] = {name: kind for store in STORES for name, kind in store.KINDS.items()}
"""Numbers of all kinds by name."""
