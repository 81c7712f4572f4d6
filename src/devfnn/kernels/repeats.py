"""How far rows repeat each other: the evidence of rows that come in runs is worth less.

Where labels come in runs, so do errors, and rows are not drawn independently: bounds that take them
for such give false alarms, and a layer is in the lead because of what happens to be going on. A
label differs from the one before less often than from one further back then, and by that factor
rows count less. Where rows are drawn independently both are as likely, whatever drifts.
"""

from devfnn.kernels._jit import part
from devfnn.kernels.concept_state import (
    FAR_CHANGES,
    FAR_LABEL,
    INDEPENDENCE,
    LAST_LABEL,
    NEAR_CHANGES,
    WATCHED,
)

RATE = 1e-4
"""Of the running shares of labels that differ."""

FAR = 250
"""Labels until another one becomes the one further back."""

BY_CHANCE = 0.7
"""A factor from this on is none."""

LEAST = 0.1
"""No row counts less than this."""

FIRST_ROWS = 1000
"""Labels before which nothing is known."""


@part()
def watch_label(course, label):
    """Take in whether a label differs from the one before, and from one further back."""
    watched = course[WATCHED]
    if watched > 0.0:
        rate = max(RATE, 1.0 / watched)
        near = 1.0 if label != course[LAST_LABEL] else 0.0
        far = 1.0 if label != course[FAR_LABEL] else 0.0
        course[NEAR_CHANGES] += rate * (near - course[NEAR_CHANGES])
        course[FAR_CHANGES] += rate * (far - course[FAR_CHANGES])
    if watched % FAR == 0:
        course[FAR_LABEL] = course[LAST_LABEL] if watched > 0.0 else label
    course[LAST_LABEL] = label
    course[WATCHED] += 1.0


@part()
def weigh_evidence(course):
    """Bring up to date what one row is worth, against one that repeats nothing."""
    near, far = course[NEAR_CHANGES], course[FAR_CHANGES]
    if course[WATCHED] < FIRST_ROWS or near >= BY_CHANCE * far:
        course[INDEPENDENCE] = 1.0
    else:
        course[INDEPENDENCE] = max(near / far, LEAST)
