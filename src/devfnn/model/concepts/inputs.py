"""From raw rows to what the layers of a concept network see, and changes of the scaling map.

With old = a * new + b per feature, the expanded features of old and new values are related by a
matrix: expanded(old) = expanded(new) @ basis. So weights, gains and boxes can be rewritten such
that every output of lines and boxes stays what it was. Clouds are round in scaled units: their
centres move exactly, their spreads by the mean of the factors.
"""

import numpy as np

from devfnn.events import Event
from devfnn.kernels.concept_state import LINE, Concepts
from devfnn.kernels.state import Flags, Floats
from devfnn.model.concepts.network import ConceptNetwork
from devfnn.model.concepts.state import packed, unpacked
from devfnn.model.config import Config
from devfnn.model.features import rebased_stats
from devfnn.model.inputs import range_events
from devfnn.model.rebasing import WIDEST_PRIOR
from devfnn.scaling import CLIP, Change


def used_features(network: ConceptNetwork, config: Config) -> Flags:
    """Features that are neither masked nor asleep."""
    used: Flags = network.feature_mask.copy()
    if config.scaling == "online":
        used &= network.scaler.awake
    return used


def layer_inputs(network: ConceptNetwork, X: Floats, config: Config) -> Floats:
    """Rows as the layers see them: scaled, NaN where a feature is left out."""
    if config.scaling == "online":
        inputs = network.scaler.transform(X)
    else:
        inputs = np.clip(X, -CLIP, 1.0 + CLIP)
    used = used_features(network, config)
    if not used.all():
        inputs[:, ~used] = np.nan
    return inputs


def absorb(network: ConceptNetwork, X: Floats, start: int, config: Config) -> int:
    """Let the scaler see rows; returns the first row before which the map must change."""
    if config.scaling == "none":
        return int(X.shape[0])
    return network.scaler.absorb(X, start)


def absorb_chunk(
    network: ConceptNetwork, X: Floats, names: list[str], config: Config
) -> list[Event]:
    """Let the scaler see a whole chunk first: features are known before labels."""
    events: list[Event] = []
    start = 0
    while (due := absorb(network, X, start, config)) < X.shape[0]:
        events += change_map(network, names, config)
        start = due + 1
    return events


def change_map(network: ConceptNetwork, names: list[str], config: Config) -> list[Event]:
    """Remake the scaling map and carry everything learned over to it."""
    scaler = network.scaler
    is_settled, was_awake = not scaler.first_rows.size, scaler.awake
    used = used_features(network, config)
    change = scaler.remake()
    rebase(network.state, change, used, config)
    if not is_settled:
        start_gains(network.state, config)
    network.feature_stats = rebased_stats(network.feature_stats, change)
    return range_events(scaler, change, was_awake, network.n_rows, names) if is_settled else []


def rebase(state: Concepts, change: Change, used: Flags, config: Config) -> None:
    """Rewrite the state in the units of a new map."""
    for feature in change.features[change.is_wild]:
        _restart_feature(state, int(feature), config)
    change = change.without_wild()
    if not change.features.size:
        return
    basis = block_basis(change, used)
    bases = _bases_of_rules(state, basis)
    state.weights[:] = state.weights @ bases.swapaxes(1, 2)
    state.gains[:] = packed(bases @ unpacked(state.gains) @ bases.swapaxes(1, 2))
    explained = (np.abs(basis) @ np.sqrt(state.caps)) ** 2
    state.caps[:] = np.clip(explained, config.prior, WIDEST_PRIOR * config.prior)
    moved = (change.features, change.factors, change.shifts)
    for feature, factor, shift in zip(*moved, strict=True):
        for array in (state.lows, state.highs, state.means):
            array[:, feature] = (array[:, feature] - shift) / factor
        state.variances[:, feature] /= factor * factor
        _forget_evidence(state, int(feature))
        state.cloud_centers[feature] = (state.cloud_centers[feature] - shift) / factor
    n = state.lows.shape[1]
    narrower = np.exp(-2.0 * np.log(change.factors).sum() / n)
    state.cloud_spreads[:] = np.maximum(state.cloud_spreads * narrower, 1e-5)
    count = int(state.n_clouds[0])
    logs = np.log(np.maximum(state.cloud_masses[:count], 1e-300))
    state.cloud_heights[:count] = logs - 0.5 * n * np.log(state.cloud_spreads[:count])


def _bases_of_rules(state: Concepts, basis: Floats) -> Floats:
    """The basis (C, p, p) of every rule: a line has no curves, so none may flow into its gains."""
    n = state.lows.shape[1]
    straight = basis.copy()
    straight[:, 1 + n :] = np.eye(2 * n + 1)[:, 1 + n :]
    is_line = np.isin(state.owners, np.flatnonzero(state.kinds == LINE))
    return np.where(is_line[:, None, None], straight, basis)


def start_gains(state: Concepts, config: Config) -> None:
    """While the map is still made from the first rows, everything is still to be learned."""
    state.caps[:] = config.prior
    state.gains[:] = packed(np.diag(state.caps))


def block_basis(change: Change, used: Flags) -> Floats:
    """The matrix (p, p) with expanded(old) = expanded(new) @ basis.

    used: (n,) a feature that is left out counts as 0 under both maps, so its weights must not flow
    into the bias.
    """
    n = used.size
    basis = np.eye(2 * n + 1)
    for feature, a, b in zip(change.features, change.factors, change.shifts, strict=True):
        shift = a + 2.0 * b - 1.0  # of 2u - 1
        line, curve = 1 + feature, 1 + n + feature
        basis[line, line] = a
        basis[line, curve] = 4.0 * a * shift
        basis[curve, curve] = a * a
        if used[feature]:
            basis[0, line] = shift
            basis[0, curve] = a * a + 2.0 * shift * shift - 1.0
    return basis


def _restart_feature(state: Concepts, feature: int, config: Config) -> None:
    """Start all rules anew on a feature whose old range says nothing about the new one."""
    n = state.lows.shape[1]
    gains = unpacked(state.gains)
    for place in (1 + feature, 1 + n + feature):
        state.weights[:, :, place] = 0.0
        gains[:, place, :] = 0.0
        gains[:, :, place] = 0.0
        gains[:, place, place] = config.prior
        state.caps[place] = config.prior
    state.gains[:] = packed(gains)
    state.means[:, feature] = 0.5
    state.variances[:, feature] = 0.0
    _forget_evidence(state, feature)
    state.cloud_centers[feature] = 0.5


def _forget_evidence(state: Concepts, feature: int) -> None:
    """Gather evidence for splits anew wherever a feature takes part."""
    state.evidence[:, feature] = 0.0
    if state.crossings.size:
        pairs = np.tril_indices(state.lows.shape[1], -1)
        state.crossings[:, (pairs[0] == feature) | (pairs[1] == feature)] = 0.0
