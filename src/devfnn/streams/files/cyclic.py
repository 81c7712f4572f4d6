"""Timestamps as points on circles: midnight is near 23:59, December near January."""

import numpy as np
import numpy.typing as npt

PERIODS = {"day": 86_400.0, "week": 604_800.0, "year": 31_556_952.0}
"""Seconds; the year is the mean one of the calendar."""

MONDAY = 4 * 86_400.0
"""Seconds from the first Thursday of 1970 to a Monday, so that weeks begin there."""


def cyclic_names(name: str) -> tuple[str, ...]:
    """Names of the features of a timestamp."""
    return tuple(f"{name}_{period}_{part}" for period in PERIODS for part in ("sin", "cos"))


def cyclic_features(seconds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sine and cosine of the time of day, week and year, (n_rows, 6); NaN stays NaN.

    seconds: since 1970, (n_rows,)
    """
    angles = [
        2.0 * np.pi * (seconds - MONDAY) / period
        if name == "week"
        else 2.0 * np.pi * seconds / period
        for name, period in PERIODS.items()
    ]
    return np.stack([turn(angle) for angle in angles for turn in (np.sin, np.cos)], axis=1)
