"""The weights of nodes: generalised recursive least squares, one filter for each node.

A node answers with a linear function of second-order Chebyshev terms. Its rows count by its share
of the firing. Weights fade a little with every row; the default is so small that this is off.
"""

from typing import NamedTuple

import numpy as np

from devfnn.kernels.state import Floats
from devfnn.model.compiling import ensure_compiled


class Weights(NamedTuple):
    """What nodes answer, and how sure they are of it."""

    values: Floats
    """(n_nodes, n_terms, n_outputs)."""
    covariances: Floats
    """(n_nodes, n_terms, n_terms)."""


def chebyshev_terms(rows: Floats) -> Floats:
    """1, and x and 2x² - 1 of every feature, (n_rows, 2 n_features + 1).

    >>> chebyshev_terms(np.array([[0.5, 2.0]])).tolist()
    [[1.0, 0.5, -0.5, 2.0, 7.0]]
    """
    terms = np.ones((len(rows), 2 * rows.shape[1] + 1))
    terms[:, 1::2] = rows
    terms[:, 2::2] = 2.0 * np.square(rows) - 1.0
    return terms


def fresh_weights(values: Floats, covariance: float) -> Weights:
    """Weights with the given values, (n_nodes, n_terms, n_outputs), and nothing learned yet."""
    n_nodes, n_terms, _ = values.shape
    return Weights(values.copy(), np.tile(covariance * np.eye(n_terms), (n_nodes, 1, 1)))


def update_weights(
    weights: Weights, terms: Floats, shares: Floats, targets: Floats, decay: float
) -> None:
    """Learn rows in order, in place.

    Parameters
    ----------
    weights
        Of all nodes of a layer.
    terms
        Chebyshev terms, (n_rows, n_terms).
    shares
        Normalised firing, (n_rows, n_nodes).
    targets
        (n_rows, n_outputs).
    decay
        How fast weights fade (ϖ).
    """
    from devfnn.kernels.node_weights import learn_nodes

    ensure_compiled("nodes")
    values = np.ascontiguousarray(weights.values.transpose(0, 2, 1))
    shares, gain = np.ascontiguousarray(shares), np.empty(terms.shape[1])
    learn_nodes(values, weights.covariances, terms, shares, targets, float(decay), gain)
    weights.values[:] = values.transpose(0, 2, 1)
    weights.covariances[:] = 0.5 * (
        weights.covariances + weights.covariances.transpose(0, 2, 1)
    )  # rounding must not make them lean
