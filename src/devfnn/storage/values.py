"""Checks of single arrays, and of what both kinds of networks have: rows, a scaler, an error track.

Compiled code trusts the state: indices are not checked again there. So nothing that serves as an
index, a count or a weight may come from a file unseen.
"""

from typing import Any

import numpy as np

from devfnn.errors import StorageError
from devfnn.kernels.state import BOUGHT, FIRST_PLACE, GONE_BY, OWED, Floats, Ints
from devfnn.model.config import Config
from devfnn.model.intake import LARGEST
from devfnn.model.network import Rows
from devfnn.scaling import OnlineScaler
from devfnn.storage.container import Array, require

RAW_ROWS = {"buffer/X", "gathered/X", "gathered/rows/X", "scaler/first_rows"}
"""Rows as they came: NaN in them is a missing value."""

LEAST = 5e-324
"""The smallest positive number, as the lower end of ranges that exclude 0."""

LARGEST_COUNT = 2**62
"""Whole numbers beyond this have counted nothing; and one more row must not overflow."""

RANGES: dict[str, tuple[float, float]] = {
    "scaler/width": (0.0, np.inf),
    "scaler/outside_share": (0.0, 1.0),
    "feature_stats/weight": (0.0, np.inf),
    "recent": (-1, LARGEST_COUNT),
}
"""Closed ranges of values in all networks; other whole numbers are never negative."""

ASYMMETRY = 1e-6
"""Largest relative difference between the two halves of a symmetric matrix."""


def check_values(name: str, array: Array, limits: tuple[float, float] | None) -> None:
    """The values of one array, each on its own."""
    if array.dtype.kind == "b":
        is_flag = array.size == 0 or int(array.reshape(-1).view(np.uint8).max()) <= 1
        require(is_flag, f"{name} holds flags that are neither true nor false")
        return
    whole = (0, LARGEST_COUNT)
    low, high = limits or (whole if array.dtype.kind == "i" else (-np.inf, np.inf))
    outside = (array < low) | (array > high)  # NaN, where it is legal, is in no range
    if outside.any():
        raise StorageError(f"{name} holds {array[outside][0]}, which cannot be")


def check_finite(name: str, array: Floats, config: Config) -> None:
    """Nothing infinite, and NaN only where it means something."""
    if name in RAW_ROWS:
        within = np.abs(array) <= LARGEST
        legal = within | np.isnan(array) if config.missing == "skip" else within
    else:
        legal = np.isfinite(array)
    require(bool(legal.all()), f"{name} holds NaN or infinity")


def check_symmetric(name: str, matrices: Floats) -> None:
    """Matrices on the last two axes."""
    if matrices.size:
        limit = ASYMMETRY * np.abs(matrices).max(axis=(-2, -1), keepdims=True)
        gaps = np.abs(matrices - matrices.swapaxes(-2, -1))
        require(bool((gaps <= limit).all()), f"{name} holds a matrix that is not symmetric")


def check_labels(name: str, rows: Rows, n_classes: int) -> None:
    """Class indices of stored rows."""
    is_known = bool((rows.labels < n_classes).all())
    require(is_known, f"{name} holds rows of a class that is not there")


def check_recent(recent: Ints, n_classes: int) -> None:
    """The last labels."""
    require(bool((recent < n_classes).all()), "recent holds a class that is not there")


def check_purse(purse: Ints) -> None:
    """The label budget: what was bought, and when."""
    is_sound = purse[OWED] <= purse[BOUGHT] <= purse[GONE_BY]
    is_sound = is_sound and (purse[FIRST_PLACE:] <= purse[GONE_BY]).all()
    require(bool(is_sound), "the counters of the label budget contradict each other")


def check_scaler(scaler: OnlineScaler) -> None:
    """Counters of the scaler."""
    require(
        scaler.first_rows.shape[0] <= scaler.n_first,
        "the scaler keeps more rows than it has seen",
    )


def check_track(rows: Any, errors: Any, cut_rows: Any, cut_errors: Any) -> None:
    """Errors since the last drift, and up to where they were rarest."""
    is_sound = (
        errors <= rows
        and cut_rows <= rows
        and cut_errors <= min(errors, cut_rows)
        and errors - cut_errors <= rows - cut_rows
    )
    require(bool(is_sound), "the counters of the error track contradict each other")
