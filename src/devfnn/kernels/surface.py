"""A surface: one rule that holds everywhere, whose log odds are of second order in the features.

It has the lines and squares of a curve, and products of pairs: what a feature says may depend on
another. These are as many as half the features squared, so where there are many it is a line.
"""

from devfnn.kernels._jit import part
from devfnn.kernels.boxes import note_row
from devfnn.kernels.recursive import (
    CHECK_EVERY,
    class_shares,
    expand_blocks,
    learn_logistic,
    repair_gains,
)


@part()
def expand_products(row, expanded):
    """Write [1, T1 of all, T2 of all, products of all pairs of T1].

    The pairs of a feature with those before it follow each other.
    """
    expand_blocks(row, expanded)
    n = row.shape[0]
    place = 1 + 2 * n
    for j in range(n):
        for k in range(j):
            expanded[place + k] = expanded[1 + j] * expanded[1 + k]
        place += j


@part()
def say_surface(surface, row, work, output):
    """Class probabilities of the surface; `work.expanded` ends as the row's. output: (m,)"""
    if surface is None:
        return
    size = surface.caps.shape[0]
    if size > 1 + row.shape[0]:
        expand_products(row, work.expanded)
    else:  # a line
        expand_blocks(row, work.expanded)
    class_shares(surface.weights[0], work.expanded, size, output)


@part()
def learn_surface(surface, index, batch, said, params, work):
    """One row; `work.expanded` is the row's. said: (m,) what the surface said of it"""
    if surface is None:
        return
    memory, size, n = 1.0 - 1.0 / params.memory, surface.caps.shape[0], surface.means.shape[1]
    row, label, weight = batch.rows[index, :n], batch.labels[index], batch.weights[index]
    weights, gains = surface.weights[0], surface.gains[0]
    learn_logistic(weights, gains, size, said, (label, weight, memory), surface.caps, work)
    note_row(surface, 0, row, label, weight)
    if surface.ages[0] % CHECK_EVERY == 0:
        repair_gains(gains, size, surface.caps)
