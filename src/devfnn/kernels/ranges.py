"""Watching the range of features: when does the scaling map have to change?"""

import numpy as np

from devfnn.kernels._jit import kernel

MARGIN = 0.1
"""How far outside its range, in widths, a value must lie to count as outside."""

WATCH_RATE = 1.0 / 256.0
"""Weight of one row in the share of rows outside."""

OUTSIDE_SHARE = 0.02
"""Share of recent rows outside that widens the range: a few rows, never a single outlier."""


TURNED_BACK = 0.25
"""A value in the quarter of the range opposite to where it was left: the feature is no clock."""

CLOCK_ESCAPES = 3
"""How often a feature may leave its range on one side without turning back."""


@kernel()
def watch(rows, start, low, width, outside_share, outside_level, escapes):
    """Take in rows; returns the first whose arrival changes the map, or the number of rows.

    rows: (k, n) · low, width: (n,) · outside_share, outside_level, escapes: (2, n), below and
    above. A feature of width 0 has been constant: any other value wakes it. A clock that turns back
    wakes too.
    """
    for row in range(start, rows.shape[0]):
        is_due = False
        for j in range(low.shape[0]):
            value = rows[row, j]
            if np.isnan(value):
                continue
            if width[j] == 0.0:
                if value != low[j]:
                    outside_level[1 if value > low[j] else 0, j] = value
                    outside_share[1 if value > low[j] else 0, j] = 1.0
                    is_due = True
                continue
            unit = (value - low[j]) / width[j]
            for side in range(2):
                has_turned = unit < TURNED_BACK if side == 1 else unit > 1.0 - TURNED_BACK
                if has_turned:
                    is_due = is_due or escapes[side, j] >= CLOCK_ESCAPES
                    escapes[side, j] = 0
                is_out = unit > 1.0 + MARGIN if side == 1 else unit < -MARGIN
                share = outside_share[side, j]
                outside_share[side, j] = share + WATCH_RATE * ((1.0 if is_out else 0.0) - share)
                if is_out:
                    if share < 1e-6:
                        outside_level[side, j] = value
                    else:
                        outside_level[side, j] += 0.25 * (value - outside_level[side, j])
                    is_due = is_due or outside_share[side, j] > OUTSIDE_SHARE
        if is_due:
            return row
    return rows.shape[0]
