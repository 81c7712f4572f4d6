"""Layers of random nodes: the search for a node that is worth its place, its weights, the stack.

A node is an interval-valued Gaussian: a centre, an interval of fixed half width around it, and a
random matrix A; S = A Aᵀ / n measures distances. A candidate is admissible if, for every output, it
explains at least a given share of the squared error: the supervisory inequality of stochastic
configuration networks (Wang and Li 2017). Small random numbers are tried first, larger ones if none
of these will do.

A node answers with a linear function of second-order Chebyshev terms, learned by generalised
recursive least squares, one filter for each node. Its rows count by its share of the firing.
Weights fade a little with every row; the default is so small that this is off.
"""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from devfnn.arrays import Floats
from devfnn.errors import InputError
from devfnn.model.compiling import ensure_compiled
from devfnn.parameters import check_parameters, choice, number

SMALLEST_SUM = 1e-3
"""Where all nodes together fire less than this, the firing is not normalised."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """All parameters of DSSCN; the defaults are those of our description of the network."""

    scopes: tuple[float, ...] = (0.5, 1.0, 3.0, 5.0, 7.0, 9.0, 15.0, 25.0, 50.0)
    """Ranges of the random numbers, tried in order (λ)."""
    rates: tuple[float, ...] = (0.9,)
    """Shares of the error that may remain, tried in order (r)."""
    n_candidates: int = number(50, 1, 10**5, "random nodes drawn for each scope")
    slack: float = number(1.0, 0.0, 1.0, "by how much few nodes loosen the share; 0 is off", "μ")
    half_width: float = number(0.05, 0.0, 1e6, "of the interval around the centre of a node")
    upper_share: float = number(0.5, 0.0, 1.0, "weight of the upper firing", "q")
    growth: int = number(1, 0, 1000, "nodes that may be added with one chunk")
    min_rows: int = number(20, 1, 10**9, "rows of a chunk below which only weights are trained")
    max_nodes: int = number(60, 1, 10**5, "nodes of one layer")
    max_layers: int = number(50, 1, 1000, "layers; at full depth the top layer learns on")
    shift: float = number(0.001, 0.0, 1e3, "by how much a layer moves the input of the next", "α")
    covariance: float = number(1000.0, 1e-9, 1e12, "of the weights of a new node")
    decay: float = number(1e-15, 0.0, 1e-3, "how fast weights fade", "ϖ")
    merging: bool = choice(True, "merge layers that are alike")
    merge_threshold: float = number(0.005, 0.0, 1e6, "compression index of layers that are alike")
    drift_cap: float = number(0.09, 1e-12, 0.999, "largest significance of a drift")
    warning_cap: float = number(0.1, 1e-12, 0.999, "largest significance of a warning")
    horizon: float = number(200.0, 2.0, 1e12, "chunks over which the significance rises", "T")
    cut_confidence: float = number(0.001, 1e-12, 0.999, "significance of the search for the cut")
    compat: bool = choice(False, "let the cut come after one row, as in the authors' program")
    max_buffer: int = number(10000, 1, 10**9, "rows kept after warnings, the newest")
    feature_weighting: bool = choice(False, "let features that repeat others count less")

    def __post_init__(self) -> None:
        check_parameters(self)
        for name in ("scopes", "rates"):
            object.__setattr__(self, name, _rising(name, getattr(self, name)))
        if max(self.rates) >= 1.0:
            raise InputError("rates must lie between 0 and 1")


def _rising(name: str, values: Any) -> tuple[float, ...]:
    """Positive numbers in rising order; InputError for anything else."""
    numbers = list(values) if isinstance(values, Iterable) else []
    are_positive = [isinstance(each, int | float) and 0.0 < each < math.inf for each in numbers]
    if not numbers or not all(are_positive) or sorted(numbers) != numbers:
        raise InputError(f"{name} must be positive numbers, at least one, and rise")
    return tuple(map(float, numbers))


class Nodes(NamedTuple):
    """What nodes look at; it never changes once a node is there."""

    centers: Floats
    """(n_nodes, n_features)."""
    factors: Floats
    """Random matrices, (n_nodes, n_features, n_features)."""

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


def strengths_of(rows: Floats, nodes: Nodes, settings: Settings) -> Floats:
    """Firing of every node, between its upper and its lower one, (n_rows, n_nodes)."""
    offsets = (nodes.centers[:, None, :] @ nodes.factors)[:, 0]
    turned = rows[None] @ nodes.factors - offsets[:, None, :]  # (n_nodes, n_rows, n_features)
    widths = settings.half_width * nodes.factors.sum(axis=1)
    # The squares of turned - widths and turned + widths, summed, differ only in the sign of a term.
    squares = np.einsum("ijk,ijk->ij", turned, turned) + np.square(widths).sum(axis=1)[:, None]
    apart = 2.0 * np.abs((turned @ widths[:, :, None])[:, :, 0])
    scale = -0.5 / rows.shape[1]
    upper: Floats = np.exp(scale * np.maximum(squares - apart, 0.0)).T
    lower: Floats = np.exp(scale * (squares + apart)).T
    return np.asarray(settings.upper_share * upper + (1.0 - settings.upper_share) * lower)


def supervisory_scores(errors: Floats, strengths: Floats, remaining: float) -> Floats:
    """What candidates explain of every output beyond what they must (ξ), (n_candidates, n_outputs).

    errors: of the network without them, (n_rows, n_outputs); strengths: their firing, (n_rows,
    n_candidates); remaining: share of the squared error that may remain, r + μ.
    """
    norms = np.maximum(np.square(strengths).sum(axis=0), 1e-300)
    explained = np.square(strengths.T @ errors) / norms[:, None]
    return np.asarray(explained - (1.0 - remaining) * np.square(errors).sum(axis=0))


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


def drawn_nodes(
    rows: Floats, errors: Floats, scope: float, count: int, rng: np.random.Generator
) -> Nodes:
    """Random candidates; their centres are rows, more often those with large errors."""
    weights = np.square(errors).sum(axis=1)
    total = weights.sum()
    chosen = rng.choice(len(rows), count, p=weights / total if total > 0.0 else None)
    n_features = rows.shape[1]
    return Nodes(rows[chosen], rng.uniform(-scope, scope, (count, n_features, n_features)))


def search_node(
    rows: Floats, errors: Floats, n_nodes: int, settings: Settings, rng: np.random.Generator
) -> Found | None:
    """The best admissible candidate of the first scope that has one; None if none has.

    `rows` are what the layer sees; `errors`, (n_rows, n_outputs), and `n_nodes` are those of the
    layer as it is. The fewer nodes, the larger μ, the share of the error that may remain beyond r.
    """
    for scope in settings.scopes:
        nodes = drawn_nodes(rows, errors, scope, settings.n_candidates, rng)
        strengths = strengths_of(rows, nodes, settings)
        for rate in settings.rates:
            remaining = rate + settings.slack * (1.0 - rate) / (n_nodes + 2)
            scores = supervisory_scores(errors, strengths, remaining)
            best = best_admissible(scores)
            if best is not None:
                return Found(nodes.one(best), scope, rate, float(scores[best].sum()))
    return None


def chebyshev_terms(rows: Floats) -> Floats:
    """1, and x and 2x² - 1 of every feature, (n_rows, 2 n_features + 1).

    >>> chebyshev_terms(np.array([[0.5, 2.0]])).tolist()
    [[1.0, 0.5, -0.5, 2.0, 7.0]]
    """
    terms = np.ones((len(rows), 2 * rows.shape[1] + 1))
    terms[:, 1::2] = rows
    terms[:, 2::2] = 2.0 * np.square(rows) - 1.0
    return terms


class Layer:
    """Random nodes with learned weights, and the fixed random matrix that shifts its input.

    `shifts`, (n_outputs, n_features), turns the output of the layer below into a shift.
    """

    def __init__(self, shifts: Floats) -> None:
        n_outputs, n_features = shifts.shape
        n_terms = 2 * n_features + 1
        self.shifts = shifts
        self.nodes = Nodes(np.empty((0, n_features)), np.empty((0, n_features, n_features)))
        self.weights = np.empty((0, n_terms, n_outputs))
        """What nodes answer, (n_nodes, n_terms, n_outputs)."""
        self.covariances = np.empty((0, n_terms, n_terms))
        """How unsure they are of it."""

    @property
    def n_nodes(self) -> int:
        """Nodes so far."""
        return len(self.nodes.centers)

    @property
    def n_parameters(self) -> int:
        """Numbers that describe it: both ends of intervals, distances and weights."""
        n_nodes, n_features = self.nodes.centers.shape
        return int(n_nodes * (2 * n_features + n_features**2) + self.weights.size)

    def outputs(self, rows: Floats, settings: Settings) -> Floats:
        """Its answer to rows, (n_rows, n_outputs): those of its nodes, mixed by their shares."""
        answers = chebyshev_terms(rows) @ self.weights  # (n_nodes, n_rows, n_outputs)
        shares = self._shares(rows, settings)
        return np.asarray((shares.T[:, :, None] * answers).sum(axis=0))

    def _shares(self, rows: Floats, settings: Settings) -> Floats:
        """Shares of the nodes in the firing, (n_rows, n_nodes)."""
        strengths = strengths_of(rows, self.nodes, settings)
        sums = strengths.sum(axis=1, keepdims=True)
        return strengths / np.where(sums < SMALLEST_SUM, 1.0, sums)

    def widen(self, n_outputs: int, rng: np.random.Generator) -> None:
        """Make room for classes that came later; answers for the others stay."""
        missing = n_outputs - len(self.shifts)
        if missing > 0:
            self.weights = np.pad(self.weights, ((0, 0), (0, 0), (0, missing)))
            fresh = rng.random((missing, self.shifts.shape[1]))
            self.shifts = np.concatenate([self.shifts, fresh])

    def grow(
        self, rows: Floats, targets: Floats, settings: Settings, rng: np.random.Generator
    ) -> Found | None:
        """Add the node that explains most of what the layer gets wrong, if one is good enough.

        A layer that is still empty gets a round node in the middle if none is.
        """
        errors = targets - self.outputs(rows, settings)
        found = search_node(rows, errors, self.n_nodes, settings, rng)
        if found is not None:
            self._add(found.node, settings.covariance)
        elif not self.n_nodes:
            factor = math.sqrt(rows.shape[1]) * np.eye(rows.shape[1])
            self._add(Nodes(rows.mean(axis=0)[None], factor[None]), settings.covariance)
        return found

    def _add(self, node: Nodes, covariance: float) -> None:
        """Add a node; it starts with the weights of the nearest one."""
        fresh = np.zeros((1, *self.weights.shape[1:]))
        if self.n_nodes:
            distances = np.square(self.nodes.centers - node.centers).sum(axis=1)
            fresh = self.weights[[distances.argmin()]]
        unsure = covariance * np.eye(self.weights.shape[1])
        self.nodes = Nodes(*(np.concatenate(pair) for pair in zip(self.nodes, node, strict=True)))
        self.weights = np.concatenate([self.weights, fresh])
        self.covariances = np.concatenate([self.covariances, unsure[None]])

    def learn(self, rows: Floats, targets: Floats, settings: Settings) -> None:
        """Update the weights with rows, in order. targets: (n_rows, n_outputs)"""
        from devfnn.kernels.node_weights import learn_nodes

        ensure_compiled("nodes")
        terms, shares = chebyshev_terms(rows), np.ascontiguousarray(self._shares(rows, settings))
        weights = np.ascontiguousarray(self.weights.transpose(0, 2, 1))
        decay, gain = float(settings.decay), np.empty(terms.shape[1])
        learn_nodes(weights, self.covariances, terms, shares, targets, decay, gain)
        self.weights = np.ascontiguousarray(weights.transpose(0, 2, 1))
        turned = self.covariances.transpose(0, 2, 1)
        self.covariances = 0.5 * (self.covariances + turned)  # symmetric despite rounding
