"""The window: the newest rows that were learned, for layers that are fitted to them anew.

A ring, one column for every row: loops over rows are loops over neighbouring numbers.
"""

import numpy as np

from devfnn.kernels._jit import part


@part()
def remember_row(window, row, sample):
    """Put a learned row in place of the oldest. sample: label, weight"""
    room = window.labels.shape[0]
    label, weight = sample
    place = window.count[0] % room
    has_gap = False
    for j in range(window.rows.shape[0]):
        window.rows[j, place] = np.float32(row[j])
        has_gap = has_gap or row[j] != row[j]
    window.gaps[place] = has_gap
    window.labels[place] = label
    window.weights[place] = weight
    window.count[0] += 1


@part()
def n_remembered(window, most):
    """How many rows there are, `most` of them at most."""
    return min(window.count[0], window.labels.shape[0], most)


@part()
def first_column(window, n_rows):
    """Where the oldest of the newest `n_rows` rows is."""
    return (window.count[0] - n_rows) % window.labels.shape[0]


@part()
def next_column(column, room):
    """Where the row after it is."""
    return column + 1 if column + 1 < room else 0
