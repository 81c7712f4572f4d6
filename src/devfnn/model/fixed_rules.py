"""As many rules in a layer as there are features, from the first chunk on: the static network.

Rows of the first chunk found rules as they always do, but no more than that; the layer is then
filled up with the rows that lie farthest from all its rules. From then on rules are tuned, and
none comes or goes.
"""

import functools

import numpy as np

from devfnn.kernels.state import ACTIVE, FREE, Floats
from devfnn.model.config import Config
from devfnn.model.growth import double_slots
from devfnn.model.network import Network
from devfnn.model.pruning import clear_record

MOST = 1000
"""Rules of a layer, however many features there are."""

FRESH = {
    "status": ACTIVE,
    "populations": 1.0,
    "class_counts": 0.0,
    "densities": (1.0, 0.0, 1.0),
    "potentials": (1.0, 0.0),
    "utilities": -1.0,
    "ages": 0,
    "premise_updates": 0,
}
"""What a rule that has seen nothing starts with."""


@functools.lru_cache(maxsize=64)
def while_founding(config: Config, n_features: int, n_chunks: int) -> Config:
    """The configuration with which a network learns: rules may be born in its first chunk only."""
    if config.rules == "evolving" or n_chunks > 0:
        return config
    return config.replace(rules="evolving", pruning=False, max_rules=min(n_features, MOST))


def fill_up(network: Network, layer: int, stacked: Floats, config: Config) -> None:
    """Give a layer the rules that it still lacks, at rows that lie far from all others.

    Parameters
    ----------
    stacked
        Rows as the layer sees them; those with a gap are left aside.
    """
    wanted = min(network.shape.features, MOST)
    n = int(network.layers.n_inputs[layer, 0])
    if config.rules == "evolving" or _active(network, layer).size in (0, wanted):
        return
    rows = stacked[~np.isnan(stacked[:, :n]).any(axis=1), :n]
    model = _of_middle_volume(network, layer)
    centers = network.layers.centers[layer, _active(network, layer), :n]
    distances = _squared_distances(rows, centers).min(axis=1, initial=np.inf)
    while _active(network, layer).size < wanted and distances.max(initial=0.0) > 0.0:
        center = rows[np.argmax(distances)]
        _place(network, layer, center, model, config)
        distances = np.minimum(distances, _squared_distances(rows, center[None])[:, 0])


def _active(network: Network, layer: int) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    return np.flatnonzero(network.layers.status[layer] == ACTIVE)


def _squared_distances(rows: Floats, centers: Floats) -> Floats:
    away: Floats = rows[:, None, :] - centers[None]
    return np.asarray(np.einsum("kij,kij->ki", away, away))


def _of_middle_volume(network: Network, layer: int) -> int:
    """The rule in the middle when all are put in the order of their volumes."""
    active = _active(network, layer)
    order = np.argsort(network.layers.log_volumes[layer, active])
    return int(active[order[active.size // 2]])


def _place(network: Network, layer: int, center: Floats, model: int, config: Config) -> None:
    """A rule at a row, as wide as the model; it says what its nearest neighbour says."""
    active = _active(network, layer)
    near = _squared_distances(center[None], network.layers.centers[layer, active, : center.size])
    neighbour = int(active[np.argmin(near)])
    if not (network.layers.status[layer] == FREE).any():
        double_slots(network, config)
    layers = network.layers
    rule = int(np.argmax(layers.status[layer] == FREE))
    for name, value in FRESH.items():
        getattr(layers, name)[layer, rule] = value
    for name in ("covs", "inverse_covs", "log_volumes"):
        getattr(layers, name)[layer, rule] = getattr(layers, name)[layer, model]
    layers.centers[layer, rule, : center.size] = center
    layers.consequents[layer, rule] = layers.consequents[layer, neighbour]
    layers.gain_covs[layer, rule] = 0.0
    size = 2 * center.size + 1
    np.fill_diagonal(layers.gain_covs[layer, rule, :size, :size], config.later_gain)
    clear_record(network.records, layer, rule)
