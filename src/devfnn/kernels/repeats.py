"""How far rows repeat each other: the evidence of rows that come in runs is worth less.

Where neighbouring rows are alike, errors come in runs too, and the error rates of blocks of rows
differ by more than chance allows. That factor says how many rows are worth one. It is taken from
differences between blocks that follow each other, so that drift hardly enters; and on streams whose
rows are drawn independently it stays 1, whatever drifts.
"""

from devfnn.kernels._jit import part
from devfnn.kernels.concept_state import (
    BLOCK_ERRORS,
    BLOCK_ROWS,
    ERROR_MEAN,
    INDEPENDENCE,
    LAG,
    LAST,
    LAST_BLOCK,
    MEAN,
    ROUGHNESS,
    VARIANCE,
)

RATE = 0.001
"""Of the running moments of rows."""

BLOCK = 50
"""Rows of a block."""

BLOCK_RATE = 0.05
"""Of the running means over blocks."""

LARGEST_JUMP = 4.0
"""A squared difference counts up to so many times their mean."""

ALIKE = 0.3
"""Correlation of neighbouring rows from which they are alike."""

BY_CHANCE = 1.5
"""A factor up to this is none."""


@part()
def watch_row(state, row, error):
    """Take a row and whether the network was wrong into the moments of neighbours."""
    past, course = state.past, state.course
    for j in range(row.shape[0]):
        if row[j] == row[j]:
            away, before = row[j] - past[MEAN, j], past[LAST, j] - past[MEAN, j]
            past[MEAN, j] += RATE * away
            past[VARIANCE, j] += RATE * (away * away - past[VARIANCE, j])
            past[LAG, j] += RATE * (away * before - past[LAG, j])
            past[LAST, j] = row[j]
    course[BLOCK_ROWS] += 1.0
    course[BLOCK_ERRORS] += error
    if course[BLOCK_ROWS] >= BLOCK:
        close_block(course)


@part()
def correlation(lag, variance):
    """Of neighbours, from 0 to 1."""
    if variance <= 1e-12:
        return 0.0
    return min(max(lag / variance, 0.0), 1.0)


@part()
def close_block(course):
    """Compare the error rate of a block with that of the block before."""
    share = course[BLOCK_ERRORS] / BLOCK
    rate = course[ERROR_MEAN]
    chance = 2.0 * max(rate * (1.0 - rate), 0.01) / BLOCK
    jump = (share - course[LAST_BLOCK]) ** 2 / chance
    jump = min(jump, LARGEST_JUMP * max(course[ROUGHNESS], 1.0))
    course[ROUGHNESS] += BLOCK_RATE * (jump - course[ROUGHNESS])
    course[ERROR_MEAN] += BLOCK_RATE * (share - rate)
    course[LAST_BLOCK] = share
    course[BLOCK_ROWS] = 0.0
    course[BLOCK_ERRORS] = 0.0


@part()
def weigh_evidence(state):
    """Bring up to date what one row is worth, against one that repeats nothing."""
    n = state.past.shape[1]
    alike = 0.0
    for j in range(n):
        alike += correlation(state.past[LAG, j], state.past[VARIANCE, j]) / n
    rough = state.course[ROUGHNESS]
    is_independent = alike < ALIKE or rough < BY_CHANCE
    state.course[INDEPENDENCE] = 1.0 if is_independent else 1.0 / rough
