"""From raw rows to the inputs of the layers: the scaling map, its changes, and inputs left out."""

import numpy as np

from devfnn.events import Event, FeatureAsleep, FeatureAwake, RangeChanged
from devfnn.kernels.state import Flags, Floats
from devfnn.model.config import Config
from devfnn.model.features import rebased_stats
from devfnn.model.network import Network
from devfnn.model.rebasing import rebase_layers
from devfnn.scaling import CLIP, Change, OnlineScaler


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


def change_map(network: Network, names: list[str], config: Config) -> list[Event]:
    """Remake the scaling map and carry everything learned over to it.

    While the map is still being made from the first rows, its changes are no events.
    """
    scaler = network.scaler
    is_settled, was_awake = not scaler.first_rows.size, scaler.awake
    change = scaler.remake()
    rebase_layers(network.layers, change, is_settled, config)
    network.feature_stats = rebased_stats(network.feature_stats, change)
    switch_inputs(network, config)
    if not is_settled:
        return []
    return range_events(scaler, change, was_awake, network.n_rows, names)


def range_events(
    scaler: OnlineScaler, change: Change, was_awake: Flags, row: int, names: list[str]
) -> list[Event]:
    """What a change of the scaling map means for the features."""
    lows, highs = scaler.low, scaler.low + scaler.width
    events: list[Event] = [
        RangeChanged(row, names[j], float(lows[j]), float(highs[j])) for j in change.features
    ]
    for j in np.flatnonzero(was_awake & ~scaler.awake):
        events.append(FeatureAsleep(row, names[j], int(scaler.escapes[:, j].max())))
    for j in np.flatnonzero(~was_awake & scaler.awake):
        events.append(FeatureAwake(row, names[j], float(lows[j]), float(highs[j])))
    return events


def absorb_chunk(network: Network, X: Floats, names: list[str], config: Config) -> list[Event]:
    """Let the scaler see a whole chunk first: features are known before labels."""
    events: list[Event] = []
    start = 0
    while (due := absorb(network, X, start, config)) < X.shape[0]:
        events += change_map(network, names, config)
        start = due + 1
    return events


def switch_inputs(network: Network, config: Config) -> None:
    """Bring all input masks in line: relevant features that vary, settled live layers.

    An input that is switched off is uncoupled from the others, so that leaving it out is exact.
    """
    from devfnn.kernels.layers import decouple_input

    layers, shape = network.layers, network.shape
    wanted = np.ones(shape.inputs, np.bool_)
    wanted[: shape.features] = network.feature_mask
    if config.scaling == "online":
        wanted[: shape.features] &= network.scaler.awake
    for merged in np.flatnonzero(layers.is_merged[:-1]):
        start = shape.features + int(merged) * shape.classes
        wanted[start : start + shape.classes] = False
    if config.augmentation == "settled" and config.training == "winner_and_initial":
        wanted[shape.features : shape.features + shape.classes * config.initial_layers] = False
    elif config.augmentation == "off":
        wanted[shape.features :] = False
    for layer in range(shape.layers):
        n = int(layers.n_inputs[layer, 0])
        off: Flags = layers.input_mask[layer, :n] & ~wanted[:n]
        for axis in np.flatnonzero(off):
            decouple_input(layers, layer, axis, config.width_floor)
        layers.input_mask[layer] = wanted
