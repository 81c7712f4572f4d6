"""How far rows repeat each other: the evidence of rows that come in runs is worth less.

Where labels come in runs, so do errors, and rows are not drawn independently: bounds that take them
for such give false alarms, and a layer is in the lead because of what happens to be going on. A
label differs from the one before less often then than the shares of the classes allow, and by that
factor rows count less. Where rows are drawn independently the factor is near 1, and counts as 1.
"""

from devfnn.kernels._jit import part
from devfnn.kernels.concept_state import INDEPENDENCE, LAST_LABEL, NEAR_CHANGES, WATCHED

RATE = 1e-4
"""Of the running shares of classes, and of labels that differ from the one before."""

BY_CHANCE = 0.7
"""A factor from this on is none."""

LEAST = 0.1
"""No row counts less than this."""

FIRST_ROWS = 1000
"""Labels before which nothing is known."""


@part()
def watch_label(state, label):
    """Take in a label, and whether it differs from the one before."""
    course, shares = state.course, state.label_shares
    watched = course[WATCHED]
    for k in range(shares.shape[0]):
        own = 1.0 if k == label else 0.0
        shares[k] += max(RATE, 1.0 / (watched + 1.0)) * (own - shares[k])
    if watched > 0.0:
        differs = 1.0 if label != course[LAST_LABEL] else 0.0
        course[NEAR_CHANGES] += max(RATE, 1.0 / watched) * (differs - course[NEAR_CHANGES])
    course[LAST_LABEL] = label
    course[WATCHED] += 1.0


@part()
def weigh_evidence(state):
    """Bring up to date what one row is worth, against one that repeats nothing."""
    course, same = state.course, 0.0
    for k in range(state.label_shares.shape[0]):
        same += state.label_shares[k] * state.label_shares[k]
    near, expected = course[NEAR_CHANGES], 1.0 - same
    if course[WATCHED] < FIRST_ROWS or near >= BY_CHANCE * expected:
        course[INDEPENDENCE] = 1.0
    else:
        course[INDEPENDENCE] = max(near / expected, LEAST)
