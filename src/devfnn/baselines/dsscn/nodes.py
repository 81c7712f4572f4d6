"""Random nodes: interval-valued Gaussians, and the search for one that is worth its place.

A node has a centre, an interval of fixed half width around it, and a random matrix A; S = A Aᵀ / n
measures distances. A candidate is admissible if, for every output, it explains at least a given
share of the squared error: the supervisory inequality of stochastic configuration networks (Wang
and Li 2017). Small random numbers are tried first, larger ones if none of these will do.
"""

import math
from typing import NamedTuple

import numpy as np

from devfnn.baselines.dsscn.settings import Settings
from devfnn.kernels.state import Floats


class Nodes(NamedTuple):
    """What nodes look at; it never changes once a node is there."""

    centers: Floats
    """(n_nodes, n_features)."""
    factors: Floats
    """Random matrices, (n_nodes, n_features, n_features)."""

    def joined(self, other: "Nodes") -> "Nodes":
        """These nodes and others after them."""
        return Nodes(
            np.concatenate([self.centers, other.centers]),
            np.concatenate([self.factors, other.factors]),
        )

    def one(self, index: int) -> "Nodes":
        """A single node."""
        return Nodes(self.centers[index : index + 1], self.factors[index : index + 1])


class Found(NamedTuple):
    """An admissible candidate."""

    node: Nodes
    scope: float
    """Range of the random numbers it was drawn from."""
    rate: float
    """Share of the error that was allowed to remain."""
    score: float
    """What it explains beyond what it must, summed over outputs."""


def plain_node(rows: Floats) -> Nodes:
    """A round node in the middle of rows."""
    n_features = rows.shape[1]
    factor = math.sqrt(n_features) * np.eye(n_features)
    return Nodes(rows.mean(axis=0)[None], factor[None])


def bounds_of_firing(rows: Floats, nodes: Nodes, half_width: float) -> tuple[Floats, Floats]:
    """Upper and lower firing of every node, (n_rows, n_nodes) each."""
    offsets = (nodes.centers[:, None, :] @ nodes.factors)[:, 0]
    turned = rows[None] @ nodes.factors - offsets[:, None, :]  # (n_nodes, n_rows, n_features)
    widths = half_width * nodes.factors.sum(axis=1)
    # The squares of turned - widths and turned + widths, summed, differ only in the sign of a term.
    squares = np.einsum("ijk,ijk->ij", turned, turned) + np.square(widths).sum(axis=1)[:, None]
    apart = 2.0 * np.abs((turned @ widths[:, :, None])[:, :, 0])
    scale = -0.5 / rows.shape[1]
    upper: Floats = np.exp(scale * np.maximum(squares - apart, 0.0)).T
    lower: Floats = np.exp(scale * (squares + apart)).T
    return upper, lower


def firing(rows: Floats, nodes: Nodes, half_width: float, upper_share: float) -> Floats:
    """Firing of every node, not normalised, (n_rows, n_nodes)."""
    upper, lower = bounds_of_firing(rows, nodes, half_width)
    strengths: Floats = upper_share * upper + (1.0 - upper_share) * lower
    return strengths


def supervisory_scores(errors: Floats, strengths: Floats, remaining: float) -> Floats:
    """What candidates explain of every output beyond what they must (ξ).

    Parameters
    ----------
    errors
        Of the network without the candidate, (n_rows, n_outputs).
    strengths
        Firing of the candidates, (n_rows, n_candidates).
    remaining
        Share of the squared error that may remain, r + μ.

    Returns
    -------
    Scores, (n_candidates, n_outputs).
    """
    norms = np.maximum(np.square(strengths).sum(axis=0), 1e-300)
    explained = np.square(strengths.T @ errors) / norms[:, None]
    scores: Floats = explained - (1.0 - remaining) * np.square(errors).sum(axis=0)
    return scores


def best_admissible(scores: Floats) -> int | None:
    """The candidate with the largest sum of scores, among those with no negative score.

    >>> best_admissible(np.array([[9.0, -0.1], [1.0, 2.0], [1.0, 1.0]]))
    1
    >>> best_admissible(np.array([[9.0, -0.1]]))
    """
    admissible = np.flatnonzero(scores.min(axis=1) >= 0.0)
    if not admissible.size:
        return None
    return int(admissible[scores[admissible].sum(axis=1).argmax()])


def remaining_share(rate: float, n_nodes: int, slack: float) -> float:
    """Share of the squared error that may remain after node number `n_nodes` (from 1): r + μ.

    >>> remaining_share(0.9, 1, slack=0.0)
    0.9
    """
    return rate + slack * (1.0 - rate) / (n_nodes + 1)


def drawn_nodes(
    rows: Floats, errors: Floats, scope: float, count: int, rng: np.random.Generator
) -> Nodes:
    """Random candidates; their centres are rows, more often those with large errors."""
    weights = np.square(errors).sum(axis=1)
    total = weights.sum()
    shares = weights / total if total > 0.0 else None
    chosen = rng.choice(len(rows), count, p=shares)
    n_features = rows.shape[1]
    return Nodes(rows[chosen], rng.uniform(-scope, scope, (count, n_features, n_features)))


def search_node(
    rows: Floats, errors: Floats, n_nodes: int, settings: Settings, rng: np.random.Generator
) -> Found | None:
    """The best admissible candidate of the first scope that has one; None if none has.

    Parameters
    ----------
    rows
        What the layer sees, (n_rows, n_features).
    errors
        Of the layer as it is, (n_rows, n_outputs).
    n_nodes
        Nodes of the layer as it is.
    settings
        Scopes, rates and the number of candidates.
    rng
        Draws the candidates.
    """
    for scope in settings.scopes:
        nodes = drawn_nodes(rows, errors, scope, settings.n_candidates, rng)
        strengths = firing(rows, nodes, settings.half_width, settings.upper_share)
        for rate in settings.rates:
            remaining = remaining_share(rate, n_nodes + 1, settings.slack)
            scores = supervisory_scores(errors, strengths, remaining)
            best = best_admissible(scores)
            if best is not None:
                return Found(nodes.one(best), scope, rate, float(scores[best].sum()))
    return None
