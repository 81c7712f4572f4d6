"""Scaling rows, and detecting when ranges must change.

The constants follow from each other and from the number of rows that a range takes, so they are no
parameters; callers who know their ranges scale themselves (`scaling="none"`).
"""

from typing import NamedTuple

import numpy as np

from devfnn.arrays import Floats, Ints
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

FAR = 3.0
"""How far outside its range, in widths, a value is far away: an outlier, a code for what is
missing, or another unit. Such values never widen a range at once."""

FAR_RATE, FAR_SHARE = 1.0 / 1024.0, 1.0 / 6.0
"""Weight of one row in the share of values far away, and the share that is looked at: 187 rows
running, which no glitch of fifty has, or one in five for long."""

CODE_ROWS = 6
"""How often the same value far away comes before it is taken for a code, which no range follows."""

PATIENCE_ROWS = 64
"""Rows after a change of a range before values outside count again, so that a glitch of fifty
widens it but once."""

SAMPLE_ROWS, SAMPLE_EVERY, LOOK_EVERY = 128, 4, 128
"""Rows kept of the newest, every fourth of half a thousand; how often ranges are compared to
them."""

SMALL = 1.0 / 16.0
"""Share of a range that the newest rows fill where they may be in another unit."""

WAKING_ROWS = 64
"""Rows that a feature is watched for, from its first change of value on, before it is used: the
extremes of so many leave out some 3 % of a range, less than `MARGIN`."""


class Ranges(NamedTuple):
    """Ranges of n features, and what was seen in them and outside; first axis 2: below, above."""

    low: Floats  # (n,)
    width: Floats  # (n,) 0: asleep
    outside_share: Floats  # (2, n)
    outside_level: Floats  # (2, n)
    escapes: Ints  # (2, n)
    waking: Ints  # (n,) 0 no value yet, 1 constant, then rows since it began to vary
    far_share: Floats  # (n,)
    far_run: Ints  # (n,) how many of the last values running were far away
    code: Floats  # (n,) the last value far away
    repeats: Ints  # (n,) how often it came, without another one far away
    told: Floats  # (n,) the last code that was told; NaN if none
    changed_at: Ints  # (n,) the row, as n_watched counts, when the range changed last; 0: never
    sample: Floats  # (SAMPLE_ROWS, n) of the newest rows
    small_for: Ints  # (n,) looks at which they filled the same small part of the range
    filled_for: Ints  # (n,) looks at which they filled more of it
    n_watched: Ints  # (1,)


@part()
def watch_sleeper(value, j, ranges):
    """Watch a feature without a range; True when it has varied long enough to get one."""
    waking, outside_level = ranges.waking, ranges.outside_level
    if waking[j] == 0:
        waking[j] = 1
        ranges.low[j] = value
        outside_level[0, j] = value
        outside_level[1, j] = value
    outside_level[0, j] = min(outside_level[0, j], value)
    outside_level[1, j] = max(outside_level[1, j], value)
    if waking[j] > 1 or value != ranges.low[j]:
        waking[j] += 1
    return waking[j] > WAKING_ROWS


@part()
def may_be_code(value):
    """Whether a value can stand for a missing one: whole numbers do, but 0 is mostly none."""
    return value == np.floor(value) and value != 0.0


@part()
def watch_far(value, j, ranges):
    """Take in a value far from its range; True when it may be time to follow it."""
    ranges.far_share[j] += FAR_RATE * (1.0 - ranges.far_share[j])
    ranges.far_run[j] += 1
    if value != ranges.code[j]:
        ranges.code[j] = value
        ranges.repeats[j] = 1 if may_be_code(value) else 0
    elif ranges.repeats[j] > 0:
        ranges.repeats[j] += 1
    is_code = ranges.repeats[j] >= CODE_ROWS or value == ranges.told[j]
    return not is_code and ranges.far_share[j] > FAR_SHARE


@part()
def watch_near(unit, value, j, ranges):
    """Take in a value in its range, or not far from it; True when something is to be done."""
    is_due = False
    if ranges.far_run[j] > 0 or ranges.far_share[j] > 0.0:
        is_back = ranges.far_run[j] > 0 and ranges.repeats[j] >= CODE_ROWS
        is_due = is_back and ranges.code[j] != ranges.told[j]
        ranges.far_share[j] -= FAR_RATE * ranges.far_share[j]
        ranges.far_run[j] = 0
    for side in range(2):
        if unit < TURNED_BACK if side == 1 else unit > 1.0 - TURNED_BACK:
            is_due = is_due or ranges.escapes[side, j] >= CLOCK_ESCAPES
            ranges.escapes[side, j] = 0
        is_out = unit > 1.0 + MARGIN if side == 1 else unit < -MARGIN
        if is_out and ranges.changed_at[j] > 0:
            is_out = ranges.n_watched[0] - ranges.changed_at[j] > PATIENCE_ROWS
        share = ranges.outside_share[side, j]
        if not is_out:
            if share > 0.0:
                ranges.outside_share[side, j] = share - WATCH_RATE * share
            continue
        ranges.outside_share[side, j] = share + WATCH_RATE * (1.0 - share)
        level = ranges.outside_level[side, j]
        if share < FORGOTTEN_SHARE:
            ranges.outside_level[side, j] = value
        else:
            ranges.outside_level[side, j] = level + LEVEL_RATE * (value - level)
        is_due = is_due or ranges.outside_share[side, j] > OUTSIDE_SHARE
    return is_due


@part()
def is_one_small(ranges):
    """Whether the newest rows fill but a small part of a range; for others, looks count anew."""
    found = False
    for j in range(ranges.low.shape[0]):
        reach = FAR * ranges.width[j]
        first, last = ranges.low[j] - reach, ranges.low[j] + ranges.width[j] + reach
        low, high = last, first
        for place in range(SAMPLE_ROWS):
            value = ranges.sample[place, j]
            if first <= value <= last:  # neither NaN nor far away
                low, high = min(low, value), max(high, value)
        if low < high < low + SMALL * ranges.width[j]:
            found = True
        else:
            ranges.small_for[j] = 0
            ranges.filled_for[j] += low < high
    return found


@kernel()
def watch(rows, start, ranges):
    """Take in rows; returns the first after which the map may have to change, or their number.

    rows: (k, n). A feature of width 0 sleeps until it has varied for a while; a clock that turns
    back wakes too.
    """
    low, width = ranges.low, ranges.width
    for row in range(start, rows.shape[0]):
        is_due = False
        number = ranges.n_watched[0]
        ranges.n_watched[0] = number + 1
        if number % SAMPLE_EVERY == 0:
            ranges.sample[(number // SAMPLE_EVERY) % SAMPLE_ROWS] = rows[row]
            is_due = number % LOOK_EVERY == 0 and is_one_small(ranges)
        for j in range(low.shape[0]):
            value = rows[row, j]
            if np.isnan(value):
                continue
            if width[j] == 0.0:
                is_due = watch_sleeper(value, j, ranges) or is_due
                continue
            unit = (value - low[j]) / width[j]
            if unit < -FAR or unit > 1.0 + FAR:
                is_due = watch_far(value, j, ranges) or is_due
            else:
                is_due = watch_near(unit, value, j, ranges) or is_due
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
