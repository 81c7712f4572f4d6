"""As many rules in a gaussian layer as there are features, from the first chunk on: static
networks.

Rows of the first chunk found rules as they always do, but no more than that; the layer is then
filled up with the rows that lie farthest from all its rules. From then on rules are tuned, and none
comes or goes.
"""

from typing import TYPE_CHECKING

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.kernels.state import ACTIVE, FREE, GaussianState, Params
from devfnn.model.layers.gaussian import LAYOUT
from devfnn.model.layout import present

if TYPE_CHECKING:
    from devfnn.model.network import Network

MOST_FIXED_RULES = 1000
"""Of a layer, however many features there are: as many as `gaussian.max_rules` allows."""


def founding_params(network: "Network") -> Params:
    """Parameters for kernels: in a first chunk, rules whose number is fixed are born."""
    own, params = network.config.gaussian, network.params
    if network.n_chunks or own is None or own.rules == "evolving":
        return params
    most = min(network.n_features, MOST_FIXED_RULES)
    gaussian = present(params.gaussian)._replace(grow_rules=own.growing, max_rules=most)
    return params._replace(gaussian=gaussian)


def fill_up(network: "Network", layer: int, stacked: Floats) -> None:
    """Give a layer the rules that it still lacks, at rows that lie far from all others.

    stacked: rows as the layer sees them; those with a gap are left aside
    """
    params, own = network.config.gaussian, network.state.gaussians
    wanted = min(network.n_features, MOST_FIXED_RULES)
    if params is None or own is None or params.rules == "evolving":
        return
    active = _active(own, layer)
    if active.size in (0, wanted):
        return
    n = int(own.n_inputs[layer, 0])
    inputs = np.where(own.input_mask[layer, :n], stacked[:, :n], 0.5)
    rows = inputs[~np.isnan(inputs).any(axis=1)]
    by_volume = active[np.argsort(own.log_volumes[layer, active])]
    model = int(by_volume[active.size // 2])  # new rules are as wide as that in the middle
    centers = own.centers[layer, active, :n]
    distances = _squared_distances(rows, centers).min(axis=1, initial=np.inf)
    for _ in range(wanted - active.size):
        if distances.max(initial=0.0) == 0.0:
            return
        center = rows[np.argmax(distances)]
        _place(network, layer, center, model, params.later_gain)
        distances = np.minimum(distances, _squared_distances(rows, center[None])[:, 0])


def _active(own: GaussianState, layer: int) -> Ints:
    return np.flatnonzero(own.status[layer] == ACTIVE)


def _squared_distances(rows: Floats, centers: Floats) -> Floats:
    away: Floats = rows[:, None, :] - centers[None]
    return np.asarray(np.einsum("kij,kij->ki", away, away))


def _place(network: "Network", layer: int, center: Floats, model: int, gain: float) -> None:
    """A rule at a row, as wide as `model`, with the consequent of its nearest neighbour."""
    from devfnn.kernels.gaussian_rules import FIRST_DENSITY, FIRST_POTENTIAL, UNUSED

    own = present(network.state.gaussians)
    if not (own.status[layer] == FREE).any():
        network.resize(slots=2 * own.status.shape[1])
        own = present(network.state.gaussians)
    active, rule = _active(own, layer), int(np.argmax(own.status[layer] == FREE))
    near = _squared_distances(center[None], own.centers[layer, active, : center.size])
    for name, field in LAYOUT.items():
        if field.axes.startswith("L G"):
            getattr(own, name)[layer, rule] = field.fill
    own.status[layer, rule], own.utilities[layer, rule] = ACTIVE, UNUSED
    own.densities[layer, rule], own.potentials[layer, rule] = FIRST_DENSITY, FIRST_POTENTIAL
    for name in ("covs", "inverse_covs", "log_volumes"):
        getattr(own, name)[layer, rule] = getattr(own, name)[layer, model]
    own.centers[layer, rule, : center.size] = center
    own.consequents[layer, rule] = own.consequents[layer, active[np.argmin(near)]]
    size = 2 * center.size + 1
    np.fill_diagonal(own.gain_covs[layer, rule, :size, :size], gain)
