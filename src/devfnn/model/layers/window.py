"""The window of the newest learned rows, which boosted layers and neighbours share.

It holds rows of the user's, and a model file holds it; `window=None` does without, and without the
layers that need it.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.arrays import Flags
from devfnn.kernels.state import State, WindowState
from devfnn.model.layout import Field, present
from devfnn.model.scaling import Change
from devfnn.parameters import Section, number

if TYPE_CHECKING:
    from devfnn.model.config import Config
    from devfnn.model.state import Sizes

NAME = "window"
ARRAYS = WindowState
PARAMS = ""
KINDS: dict[str, int] = {}
SERVES = ("boosted", "neighbours")
TAKES: set[str] = set()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Window(Section):
    """The newest learned rows, for layers that are fitted to them anew."""

    rows: int = number(5000, 2, 10**7, "rows that are kept")


SECTIONS: dict[str, tuple[type[Section], tuple[str, ...], bool]] = {
    "window": (Window, SERVES, True),
}

LAYOUT = {
    "rows": Field("n V", math.nan, stored="f4", unbounded=True),
    "gaps": Field("V", False),
    "labels": Field("V", 0),
    "weights": Field("V", 0.0, 0.0),
    "count": Field("1", 0),
    "waiting": Field("1", 0),
}


def lengths(sizes: "Sizes", config: "Config") -> dict[str, int]:
    """How many rows there is room for."""
    return {"V": config.window.rows if config.window is not None else 0}


def start(state: State, config: "Config") -> None:
    """No row yet."""


def start_widened(fresh: State, old: State, config: "Config") -> None:
    """Rows lack features that come later."""
    window = present(fresh.window)
    if len(window.rows) > len(present(old.window).rows):
        window.gaps[:] = True


def rebase(state: State, change: Change, used: Flags, is_settled: bool, config: "Config") -> None:
    """Rows in the units of the new map; they lack features of which nothing can be kept."""
    rows = present(state.window).rows
    if change.is_wild.any():
        rows[change.features[change.is_wild]] = np.nan
        present(state.window).gaps[:] = True
    change = change.without_wild()
    moved = rows[change.features] - change.shifts[:, None].astype(np.float32)
    rows[change.features] = moved / change.factors[:, None].astype(np.float32)


def problems_of(state: State, config: "Config") -> Iterator[tuple[Any, str]]:
    """What must hold, and what is wrong otherwise: labels are of classes."""
    window, n_classes = present(state.window), state.progress.label_shares.size
    yield (window.labels < n_classes).all(), "window/labels holds a class that is not there"
