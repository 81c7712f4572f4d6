"""Scaling rows, and detecting when ranges must change.

The constants follow from each other and from the number of rows that a range takes, so they are no
parameters; callers who know their ranges scale themselves (`scaling="none"`).
"""

import numpy as np

from devfnn.kernels._jit import kernel, part

MARGIN = 0.1
"""How far outside its range, in widths, a value must lie to count as outside: where clipping begins
(`CLIP` in `model/scaling.py`), since nothing is lost of values before that."""

WATCH_RATE, OUTSIDE_SHARE = 1.0 / 256.0, 0.02
"""Weight of one row in the share of rows outside, and the share that widens the range: six rows
running reach it, or one in fifty for long; a single outlier has 0.4 %."""

LEVEL_RATE, FORGOTTEN_SHARE = 0.25, 1e-6
"""Weight of one row in the mean level of rows outside, which so holds most of those six, and the
share at which the level starts anew: an outlier is forgotten after 2100 rows."""

TURNED_BACK = 0.25
"""A value in the quarter of the range opposite to where it was left: the feature is no clock, which
stays near the end that it left."""

CLOCK_ESCAPES = 3
"""How often a feature leaves its range on one side without turning back before it is a clock: by
then the range is twice as wide, a quarter (`WIDEN_BY`) more each time."""

WAKING_ROWS = 64
"""Rows that a feature is watched for, from its first change of value on, before it is used: the
extremes of so many leave out some 3 % of a range, less than `MARGIN`."""


@part()
def watch_sleeper(value, j, low, waking, outside_level):
    """Watch a feature without a range; True when it has varied long enough to get one.

    waking: (n,) 0 no value yet, 1 constant, then rows since it began to vary.
    """
    if waking[j] == 0:
        waking[j] = 1
        low[j] = value
        outside_level[0, j] = value
        outside_level[1, j] = value
    outside_level[0, j] = min(outside_level[0, j], value)
    outside_level[1, j] = max(outside_level[1, j], value)
    if waking[j] > 1 or value != low[j]:
        waking[j] += 1
    return waking[j] > WAKING_ROWS


@kernel()
def watch(rows, start, low, width, outside_share, outside_level, escapes, waking):
    """Take in rows; returns the first whose arrival changes the map, or the number of rows.

    rows: (k, n) · low, width, waking: (n,) · outside_share, outside_level, escapes: (2, n), below
    and above. A feature of width 0 sleeps until it has varied for a while; a clock that turns back
    wakes too.
    """
    for row in range(start, rows.shape[0]):
        is_due = False
        for j in range(low.shape[0]):
            value = rows[row, j]
            if np.isnan(value):
                continue
            if width[j] == 0.0:
                is_due = watch_sleeper(value, j, low, waking, outside_level) or is_due
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
                    if share < FORGOTTEN_SHARE:
                        outside_level[side, j] = value
                    else:
                        outside_level[side, j] += LEVEL_RATE * (value - outside_level[side, j])
                    is_due = is_due or outside_share[side, j] > OUTSIDE_SHARE
        if is_due:
            return row
    return rows.shape[0]


@kernel()
def scale_rows(rows, low, width, clip, scaled):
    """Rows under a scaling map, clipped; 0.5 for features without a width. NaN stays NaN.

    rows, scaled: (k, n) · low, width: (n,) · clip: how far outside [0, 1] a value may lie
    """
    for row in range(rows.shape[0]):
        for j in range(low.shape[0]):
            value = rows[row, j] - low[j]
            if width[j] == 0.0:
                scaled[row, j] = 0.5 if value == value else np.nan
            elif value != value:
                scaled[row, j] = np.nan
            else:
                scaled[row, j] = min(max(value / width[j], -clip), 1.0 + clip)
