"""The label budget: how many labels a window of rows may hold.

How it is counted and spent is in `kernels/labels.py`.
"""

import math

import numpy as np

from devfnn.arrays import Flags, Ints
from devfnn.kernels.state import BOUGHT, FIRST_PLACE, OFFERED
from devfnn.model.config import Config


def most_labels(config: Config) -> int:
    """Labels that any window of rows may hold."""
    return math.floor(config.labels.budget * config.labels.window + 1e-9)  # 0.29 * 100 is 29


def budget_size(config: Config) -> int:
    """Numbers in the array that counts the budget of a model."""
    return FIRST_PLACE + (most_labels(config) if config.is_budgeted else 0)


def in_budget(wanted: Flags, budget: Ints, config: Config) -> Flags:
    """As much of what is wanted as the budget allows; the budget is spent."""
    from devfnn.kernels.labels import count_rows, keep_to_budget

    if config.is_budgeted:
        keep_to_budget(budget, config.labels.window, wanted)
    else:
        count_rows(budget, np.full(wanted.size, OFFERED), wanted)
    return wanted


def labels_left(budget: Ints, rows: Ints, config: Config) -> list[int | None]:
    """Labels left in the window that ends with each of these rows, when all of them are bought."""
    if not config.is_budgeted:
        return [None] * rows.size
    n_known = min(int(budget[BOUGHT]), budget.size - FIRST_PLACE)
    bought = np.sort(np.concatenate([budget[FIRST_PLACE : FIRST_PLACE + n_known], rows]))
    inside = np.searchsorted(bought, rows, "right")
    inside -= np.searchsorted(bought, rows - config.labels.window, "right")
    return [max(most_labels(config) - count, 0) for count in inside.tolist()]
