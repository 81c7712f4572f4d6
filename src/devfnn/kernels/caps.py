"""The prior of weights, by feature: wider where a feature uses little of its range.

Scaling to the range makes most values of a feature with rare extremes (a price, a count) crowd in a
corner of [0, 1]. Telling them apart takes large weights, which one prior for all would forbid.
"""

from devfnn.kernels._jit import part
from devfnn.kernels.concept_state import CALM_CURVE

EVEN_VARIANCE = 1.0 / 12.0
"""Of a feature whose values are spread evenly over [0, 1]."""

CONSTANT_VARIANCE = 1e-6
"""At most that of a feature that says nothing; its prior stays as it is."""

WELL_KNOWN = 100
"""Rows of the calm curve before its variances are relied on."""

MOST_RISE = 2.0
"""Factor by which a cap rises in a structural step at most: a feature that has just begun to vary,
or holds still for a while, looks narrow."""


@part()
def widen_caps(state, habits):
    """Raise the caps of features by how much less they vary than an evenly spread one.

    Caps never fall here: what a rule has learned under a wider prior stays possible.
    """
    rule, n = state.members[CALM_CURVE, 0], state.lows.shape[1]
    if state.ages[rule] < WELL_KNOWN:
        return
    for j in range(n):
        variance = state.variances[rule, j]
        if variance > CONSTANT_VARIANCE:
            cap = habits.prior * min(EVEN_VARIANCE / variance, habits.prior_reach)
            for place in (1 + j, 1 + n + j):
                state.caps[place] = max(state.caps[place], min(cap, MOST_RISE * state.caps[place]))
