"""One layer: nodes, their weights, how it answers, grows and learns."""

import dataclasses

import numpy as np

from devfnn.baselines.dsscn.nodes import (
    Found,
    Nodes,
    bounds_of_firing,
    plain_node,
    search_node,
)
from devfnn.baselines.dsscn.settings import Settings
from devfnn.baselines.dsscn.weights import (
    Weights,
    chebyshev_terms,
    fresh_weights,
    update_weights,
)
from devfnn.kernels.state import Floats

SMALLEST_SUM = 1e-3
"""Where all nodes together fire less than this, the firing is not normalised."""


@dataclasses.dataclass
class Layer:
    """Random nodes with learned weights, and the fixed random matrix that shifts its input."""

    nodes: Nodes
    weights: Weights
    shifts: Floats
    """Turns the output of the layer below into a shift, (n_outputs, n_features)."""
    upper_share: float
    """Weight of the upper firing against the lower one."""

    @property
    def n_nodes(self) -> int:
        """Nodes so far."""
        return len(self.nodes.centers)

    @property
    def n_parameters(self) -> int:
        """Numbers that describe it: both ends of intervals, distances and weights."""
        n_nodes, n_features = self.nodes.centers.shape
        return int(n_nodes * (2 * n_features + n_features**2) + self.weights.values.size)

    def outputs(self, rows: Floats, half_width: float) -> Floats:
        """What it says of rows, (n_rows, n_outputs)."""
        upper, lower = bounds_of_firing(rows, self.nodes, half_width)
        shares, _ = normalised(upper, lower, self.upper_share)
        return mixed(shares, chebyshev_terms(rows), self.weights.values)

    def widen(self, n_outputs: int, rng: np.random.Generator) -> None:
        """Make room for classes that came later; what is said of the others stays."""
        missing = n_outputs - len(self.shifts)
        if missing > 0:
            values = np.pad(self.weights.values, ((0, 0), (0, 0), (0, missing)))
            self.weights = Weights(values, self.weights.covariances)
            fresh = rng.random((missing, self.shifts.shape[1]))
            self.shifts = np.concatenate([self.shifts, fresh])

    def grow(
        self, rows: Floats, targets: Floats, settings: Settings, rng: np.random.Generator
    ) -> Found | None:
        """Add the node that explains most of what the layer gets wrong, if one is good enough.

        It starts with the weights of the nearest node.
        """
        errors = targets - self.outputs(rows, settings.half_width)
        as_it_fires = dataclasses.replace(settings, upper_share=self.upper_share)
        found = search_node(rows, errors, self.n_nodes, as_it_fires, rng)
        if found is not None:
            distances = np.square(self.nodes.centers - found.node.centers).sum(axis=1)
            nearest = self.weights.values[[distances.argmin()]]
            fresh = fresh_weights(nearest, settings.covariance)
            self.nodes = self.nodes.joined(found.node)
            self.weights = Weights(
                np.concatenate([self.weights.values, fresh.values]),
                np.concatenate([self.weights.covariances, fresh.covariances]),
            )
        return found

    def learn(self, rows: Floats, targets: Floats, settings: Settings) -> None:
        """Update the weights with rows, in order, then the share of the upper firing."""
        upper, lower = bounds_of_firing(rows, self.nodes, settings.half_width)
        shares, sums = normalised(upper, lower, self.upper_share)
        terms = chebyshev_terms(rows)
        update_weights(self.weights, terms, shares, targets, settings.decay)
        if settings.share_rate > 0.0:
            errors = targets - mixed(shares, terms, self.weights.values)
            slopes = _slopes_of_shares(upper - lower, shares, sums)
            moves = mixed(slopes, terms, self.weights.values)
            step = settings.share_rate * float((errors * moves).sum(axis=1).mean())
            self.upper_share = float(np.clip(self.upper_share + step, 0.0, 1.0))


def new_layer(
    rows: Floats, targets: Floats, shifts: Floats, settings: Settings, rng: np.random.Generator
) -> tuple[Layer, Found | None]:
    """A layer with one node, not trained yet: an admissible one, or a round one in the middle.

    Parameters
    ----------
    rows
        What it sees, already shifted, (n_rows, n_features).
    targets
        (n_rows, n_outputs).
    shifts
        What `rows` were shifted with, (n_outputs, n_features).
    settings, rng
        Of the search for the node.
    """
    found = search_node(rows, targets, 0, settings, rng)
    node = plain_node(rows) if found is None else found.node
    n_features, n_outputs = rows.shape[1], targets.shape[1]
    values = np.zeros((1, 2 * n_features + 1, n_outputs))
    layer = Layer(
        nodes=node,
        weights=fresh_weights(values, settings.covariance),
        shifts=shifts,
        upper_share=settings.upper_share,
    )
    return layer, found


def normalised(upper: Floats, lower: Floats, upper_share: float) -> tuple[Floats, Floats]:
    """Shares of the nodes in the firing, (n_rows, n_nodes), and what they were divided by."""
    strengths = upper_share * upper + (1.0 - upper_share) * lower
    sums = strengths.sum(axis=1, keepdims=True)
    sums = np.where(sums < SMALLEST_SUM, 1.0, sums)
    return strengths / sums, sums


def mixed(shares: Floats, terms: Floats, values: Floats) -> Floats:
    """Answers of nodes, mixed by their shares, (n_rows, n_outputs)."""
    answers = terms @ values  # (n_nodes, n_rows, n_outputs)
    outputs: Floats = (shares.T[:, :, None] * answers).sum(axis=0)
    return outputs


def _slopes_of_shares(differences: Floats, shares: Floats, sums: Floats) -> Floats:
    """How the shares change with the weight of the upper firing, (n_rows, n_nodes)."""
    slopes: Floats = (differences - shares * differences.sum(axis=1, keepdims=True)) / sums
    return slopes
