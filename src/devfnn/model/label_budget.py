"""The label budget: how many labels a window may hold, and the purse that counts them.

What is inside a purse, and how it is spent, is in `kernels/purse.py`.
"""

import math

import numpy as np

from devfnn.kernels.state import BOUGHT, FIRST_PLACE, OFFERED, Flags, Ints
from devfnn.model.config import Config


def is_bounded(config: Config) -> bool:
    """Whether a model may take only a share of the labels."""
    return bool(config.label_budget < 1.0)


def most_labels(config: Config) -> int:
    """Labels that any `budget_window` rows in a row may hold."""
    return math.floor(config.label_budget * config.budget_window + 1e-9)


def purse_size(config: Config) -> int:
    """Numbers in the purse of a model."""
    return FIRST_PLACE + (most_labels(config) if is_bounded(config) else 0)


def empty_purse(config: Config) -> Ints:
    """A purse before the first row."""
    return np.zeros(purse_size(config), np.int64)


def in_budget(wanted: Flags, purse: Ints, config: Config) -> Flags:
    """As much of what is wanted as the budget allows; the purse is spent."""
    from devfnn.kernels.purse import keep_to_budget, note_rows

    if is_bounded(config):
        keep_to_budget(purse, config.budget_window, wanted)
    else:
        note_rows(purse, np.full(wanted.size, OFFERED), wanted)
    return wanted


def labels_left(purse: Ints, rows: Ints, config: Config) -> list[int | None]:
    """Labels left in the window that ends with each of these rows, when all of them are bought."""
    if not is_bounded(config):
        return [None] * rows.size
    n_known = min(int(purse[BOUGHT]), purse.size - FIRST_PLACE)
    bought = np.sort(np.concatenate([purse[FIRST_PLACE : FIRST_PLACE + n_known], rows]))
    inside = np.searchsorted(bought, rows, "right")
    inside -= np.searchsorted(bought, rows - config.budget_window, "right")
    return [max(most_labels(config) - count, 0) for count in inside.tolist()]
