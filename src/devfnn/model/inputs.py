"""From raw rows to the inputs of the layers: the scaling map, its changes, and inputs left out."""

import numpy as np

from devfnn.events import RangeChanged
from devfnn.kernels.state import Flags, Floats
from devfnn.model.config import Config
from devfnn.model.features import FeatureStats
from devfnn.model.network import Network
from devfnn.model.rebasing import rebase_layers
from devfnn.scaling import CLIP, Change


def scaled(network: Network, X: Floats, config: Config) -> Floats:
    """Rows as the layers see them."""
    if config.scaling == "online":
        return network.scaler.transform(X)
    clipped: Floats = np.clip(X, -CLIP, 1.0 + CLIP)
    return clipped


def absorb(network: Network, X: Floats, start: int, config: Config) -> int:
    """Let the scaler see rows; returns the first row before which the map must change."""
    if config.scaling == "none":
        return int(X.shape[0])
    return network.scaler.absorb(X, start)


def change_map(network: Network, names: list[str], config: Config) -> list[RangeChanged]:
    """Remake the scaling map and carry everything learned over to it.

    While the map is still being made from the first rows, its changes are no events.
    """
    is_settled = not network.scaler.first_rows.size
    change = network.scaler.remake()
    rebase_layers(network.layers, change)
    network.feature_stats = _rebased_stats(network.feature_stats, change)
    switch_inputs(network, config)
    low, width = network.scaler.low, network.scaler.width
    return [
        RangeChanged(network.n_rows, names[j], float(low[j]), float(low[j] + width[j]))
        for j in change.features
        if is_settled
    ]


def absorb_chunk(
    network: Network, X: Floats, names: list[str], config: Config
) -> list[RangeChanged]:
    """Let the scaler see a whole chunk before it is used; its features are known before its labels."""
    events, start = [], 0
    while (due := absorb(network, X, start, config)) < X.shape[0]:
        events += change_map(network, names, config)
        start = due + 1
    return events


def switch_inputs(network: Network, config: Config) -> None:
    """Bring the input masks of all layers in line: relevant features that vary, and live layers.

    An input that is switched off is uncoupled from the others, so that leaving it out is exact.
    """
    from devfnn.kernels.layers import decouple_input

    layers, shape = network.layers, network.shape
    wanted = np.ones(shape.inputs, np.bool_)
    wanted[: shape.features] = network.feature_mask
    if config.scaling == "online":
        wanted[: shape.features] &= network.scaler.awake
    for layer in np.flatnonzero(layers.is_merged[:-1]):
        start = shape.features + layer * shape.classes
        wanted[start : start + shape.classes] = False
    for layer in range(shape.layers):
        n = int(layers.n_inputs[layer, 0])
        off: Flags = layers.input_mask[layer, :n] & ~wanted[:n]
        for axis in np.flatnonzero(off):
            decouple_input(layers, layer, axis, config.width_floor)
        layers.input_mask[layer] = wanted


def _rebased_stats(stats: FeatureStats, change: Change) -> FeatureStats:
    """Feature statistics in the units of the new map."""
    means, variances = stats.feature_means.copy(), stats.feature_variances.copy()
    covariances = stats.covariances.copy()
    means[change.features] = (means[change.features] - change.shifts) / change.factors
    variances[change.features] /= change.factors**2
    covariances[change.features] /= change.factors[:, None]
    return stats._replace(
        feature_means=means, feature_variances=variances, covariances=covariances
    )
