"""Weights of rows by their class (`Config.class_weights`): what training sees, and nothing else.

Not in the paper. Balanced weights follow from the labels that came so far, that of the row
included, never from later ones: rows of class k of m weigh n / (m n_k), so that every class weighs
as much as any other, and a row of the stream 1 on average. One row of each class is added to the
counts, since the first row of a class says little about how rare it is. All counts are halved from
time to time, so that shares which change are followed.
"""

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.kernels.state import UNLABELLED
from devfnn.model.config import Config
from devfnn.model.network import Network
from devfnn.model.rows import Rows
from devfnn.model.validation import LARGEST_WEIGHT, Labels

MOST_COUNTED = 20_000
"""Labels at which counts are halved: a class of one row in 1,000 still has ten rows in them."""

LARGEST_BALANCED = 100.0
"""Most that balancing lets a row weigh: single rows must not rule a model."""

LEAST_WEIGHT = 1e-300
"""A product of weights is not rounded to 0, which would be a row that is passed over."""


def weighted(network: Network, rows: Rows, labelled: Ints, labels: Labels) -> Floats:
    """Weights of rows by their classes, on top of their own; balancing counts their labels."""
    known = labelled != UNLABELLED
    by_class = np.ones(len(rows))
    if network.label_counts is not None:
        by_class[known] = balanced_weights(network.label_counts, rows.labels[known])
    else:
        by_class[known] = weights_of(network.config, labels)[rows.labels[known]]
    return np.clip(rows.weights * by_class, LEAST_WEIGHT, LARGEST_WEIGHT)


def weights_of(config: Config, labels: Labels) -> Floats:
    """The weight given to every class; 1 for those that none is given for."""
    given = config.weight_of
    return np.array([given.get(label, 1.0) for label in labels.classes])


def balanced_weights(counts: Ints, labels: Ints) -> Floats:
    """Weights of rows one after the other; `counts` goes on with them.

    >>> counts = np.array([0, 0])
    >>> balanced_weights(counts, np.array([0, 0, 0, 0, 1])).tolist(), counts.tolist()
    ([1.0, 1.0, 1.0, 1.0, 1.75], [4, 1])
    """
    weights, start = np.empty(labels.size), 0
    while start < labels.size:
        n_before = int(counts.sum())
        part = labels[start : start + MOST_COUNTED - n_before]
        own = counts[part] + _places_in_class(part)
        n_known = np.count_nonzero(counts) + np.cumsum(own == 1)
        n_rows = n_before + np.arange(1, part.size + 1)
        share = (n_rows + n_known) / (n_known * (own + 1))
        stop = start + part.size
        weights[start:stop] = np.minimum(share, LARGEST_BALANCED)
        counts += np.bincount(part, minlength=counts.size)
        if n_before + part.size == MOST_COUNTED:
            counts //= 2
        start = stop
    return weights


def _places_in_class(labels: Ints) -> Ints:
    """1 for the first row of a class, 2 for the second, ...

    >>> _places_in_class(np.array([3, 0, 3, 3])).tolist()
    [1, 1, 2, 3]
    """
    order = np.argsort(labels, kind="stable")
    in_order = labels[order]
    places = np.empty(labels.size, np.int64)
    places[order] = np.arange(labels.size) - np.searchsorted(in_order, in_order) + 1
    return places
