"""Drift of the inputs: whether the feature means moved inside a chunk.

The cut is the first row where the means so far, with their margin, reach those of the whole chunk
with theirs. So a fall of the means is seen, a rise inside a chunk is not; this is how the method is
defined. A chunk without a cut is stable.
"""

import math
from typing import NamedTuple

import numpy as np

from devfnn.baselines.dsscn.settings import Settings
from devfnn.kernels.state import Floats
from devfnn.model.drift import Level, dynamic_significance

LEAST_AFTER = 2
"""Rows after a cut: the range of a single one is 0, so any gap would be a drift."""


class Verdict(NamedTuple):
    """The outcome with the numbers behind it."""

    level: Level
    gap: float = 0.0
    """Between the means before and after the cut, averaged over features."""
    bound: float = 0.0
    """Of the level that was reached; else that of a warning."""
    cut: int = 0
    """Rows before the cut."""


def cut_of(rows: Floats, confidence: float, first: int) -> int | None:
    """Rows before the cut, at least `first`; None if there is no cut.

    With `first` = 1 the program of the authors is followed: mean and range of a single row are
    taken over its features.
    """
    n_rows = len(rows)
    counts = np.arange(1, n_rows)
    slack = np.sqrt((n_rows - counts) / (2.0 * counts * n_rows) * math.log(1.0 / confidence))
    means = (np.cumsum(rows[:-1], axis=0) / counts[:, None]).mean(axis=1)
    highest = np.maximum.accumulate(rows[:-1], axis=0)
    spans = (highest - np.minimum.accumulate(rows[:-1], axis=0)).mean(axis=1)
    if n_rows > 1:
        spans[0] = np.ptp(rows[0])
    whole = rows.mean() + np.ptp(rows, axis=0).mean() * slack
    cuts = np.flatnonzero((means + spans * slack >= whole)[first - 1 :])
    return int(cuts[0]) + first if cuts.size else None


def judge_means(rows: Floats, n_chunks: int, settings: Settings) -> Verdict:
    """What the feature means of a chunk say; `n_chunks` counts the chunks before it."""
    cut = cut_of(rows, settings.cut_confidence, first=1 if settings.compat else 2)
    if cut is None or len(rows) - cut < LEAST_AFTER or not np.ptp(rows, axis=0).any():
        return Verdict(Level.STABLE)
    before, after = rows[:cut], rows[cut:]
    gap = float(np.abs(before.mean(axis=0) - after.mean(axis=0)).mean())
    span = float(np.ptp(after, axis=0).mean())
    horizon = settings.horizon
    bounds = {
        Level.DRIFT: dynamic_significance(n_chunks, horizon, settings.drift_cap),
        Level.WARNING: dynamic_significance(n_chunks, horizon - 1.0, settings.warning_cap),
    }
    bound = 0.0
    for level, significance in bounds.items():
        bound = span * math.sqrt(math.log(1.0 / significance) / (2.0 * cut))
        if gap >= bound:
            return Verdict(level, gap, bound, cut)
    return Verdict(Level.STABLE, gap, bound, cut)
