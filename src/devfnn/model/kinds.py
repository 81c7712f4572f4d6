"""The kinds of layers: each module of `model/layers` is one, or several that share arrays."""

import importlib
import pathlib
from typing import Any

STORES: tuple[Any, ...] = tuple(
    sorted(
        (
            importlib.import_module(f"devfnn.model.layers.{path.stem}")
            for path in (pathlib.Path(__file__).parent / "layers").glob("[a-z]*.py")
        ),
        key=lambda store: min(store.KINDS.values()),
    )
)
"""The modules, in the order of the numbers of their kinds."""

KINDS: dict[str, int] = {name: kind for store in STORES for name, kind in store.KINDS.items()}
"""Numbers of all kinds by name."""


def store_of(kind: int) -> Any:
    """The module of a kind."""
    return next(store for store in STORES if kind in store.KINDS.values())
