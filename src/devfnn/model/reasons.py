"""What a network knows and why it says what it says: rules and reasons of all its layers."""

from collections.abc import Hashable, Sequence

import numpy as np

from devfnn.arrays import Floats
from devfnn.kernels.state import GAUSSIAN, NO_LAYER
from devfnn.model.explanation import LOGITS, LayerReasons, Said
from devfnn.model.layers import gaussian
from devfnn.model.network import Network
from devfnn.model.rules import Rule, rank_of_rule
from devfnn.model.units import Units

NO_SAY = 1e-3
"""Share of the vote below which a kept layer only waits for its concept."""


def units_of(network: Network, labels: Sequence[Hashable], names: Sequence[str]) -> Units:
    """Inputs in the user's units."""
    maps = (np.zeros(network.n_features), np.ones(network.n_features))
    if network.config.scaling == "online":
        maps = (network.scaler.low, network.scaler.width)
    return Units(labels, names, network.used_features, maps)


def state_of(network: Network, layer: int, share: float) -> str:
    """Whether a layer votes, waits for its concept, rests, or is merged."""
    layers = network.state.layers
    if layers.is_merged[layer]:
        return "merged"
    if layers.rests[layer] > 0:
        return "rests"
    is_kept = layer >= len(network.config.layers) and not network.is_stepwise
    return "waits" if is_kept and share < NO_SAY else "votes"


def name_of(network: Network, layer: int) -> str:
    """What a layer is called."""
    layers = network.config.layers
    if layer < len(layers):
        return layers[layer].name
    if network.state.layers.kinds[layer] == GAUSSIAN:
        return layers[-1].name
    kind = layers[int(network.state.layers.origins[layer])].kind
    return f"kept {kind}"


def rules_of(
    network: Network, labels: Sequence[Hashable], names: Sequence[str], archived: bool = False
) -> list[Rule]:
    """The rules in the user's units; with `archived` also those without a say for now."""
    units, shares = units_of(network, labels, names), network.shares
    shares = shares / shares.sum()
    rules: list[Rule] = []
    for layer in np.flatnonzero(network.state.layers.kinds != NO_LAYER).tolist():
        share = float(shares[layer])
        state = state_of(network, layer, share)
        if state == "merged":
            continue
        for rule in network.store_of(layer).rules_of(network.state, layer, units, network.config):
            waits = rule.is_archived or state != "votes"
            if archived or not waits:
                rules.append(rule.with_vote(share, waits))
    return sorted(rules, key=rank_of_rule)


def reasons_of(
    network: Network, X: Floats, labels: Sequence[Hashable], names: Sequence[str]
) -> list[LayerReasons]:
    """What every layer says of the only row of X, and why."""
    units, shares = units_of(network, labels, names), network.shares
    shares = shares / shares.sum()
    said = _said_by_all(network, network.inputs_of(X)[0])
    reasons = []
    for layer in np.flatnonzero(network.state.layers.kinds != NO_LAYER).tolist():
        own = said.get(layer) or _silence(network, layer)
        reasons.append(
            LayerReasons(
                layer=layer,
                kind=name_of(network, layer),
                state=state_of(network, layer, float(shares[layer])),
                voting_weight=float(shares[layer]),
                fired=own.fired,
                output_is=own.output_is,
                inputs=tuple(units.input_names(own.contributions.shape[0])),
                bias=own.bias,
                contributions=own.contributions,
                output=own.bias + own.contributions.sum(axis=0),
                probabilities=own.probabilities,
                votes=own.votes,
            )
        )
    return reasons


def _said_by_all(network: Network, row: Floats) -> dict[int, Said]:
    """What the live layers say, each with what those before it said."""
    said, m = dict[int, Said](), network.n_classes
    inputs = np.concatenate([row, np.full(network.sizes.layers * m, np.nan)])
    for layer in network.live_layers:
        reasons = network.store_of(layer).reasons_of
        said[layer], raw = reasons(network.state, layer, row, inputs, network.config)
        start = row.size + layer * m
        inputs[start : start + m] = np.clip(raw, 0.0, 1.0)
    return said


def _silence(network: Network, layer: int) -> Said:
    """What an idle layer says: nothing."""
    none, n = np.zeros(network.n_classes), network.n_features
    kind = LOGITS
    if network.state.gaussians is not None and network.config.gaussian is not None:
        n = int(network.state.gaussians.n_inputs[layer, 0])
        kind = gaussian.output_kind(network.config.gaussian)
    return Said(kind, none, np.zeros((n, network.n_classes)), (), none, none)
