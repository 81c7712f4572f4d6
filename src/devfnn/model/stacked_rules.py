"""The rules of a stacked network as objects, in the user's units."""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from devfnn.kernels.state import ARCHIVED, FREE, Floats, Ints
from devfnn.model import wording
from devfnn.model.config import Config
from devfnn.model.network import Network
from devfnn.model.rules import Rule, rank_of_rule
from devfnn.scaling import CLIP


def rules_of(
    network: Network,
    labels: Sequence[Hashable],
    names: Sequence[str],
    config: Config,
    archived: bool = False,
) -> list[Rule]:
    """The rules of all live layers: active ones first, then by the layer's vote and by support.

    Parameters
    ----------
    network
        What was learned.
    labels, names
        The classes and the features, in the order of the network.
    config
        With which it was learned.
    archived
        Whether to list also rules that wait to be recalled.
    """
    named = Names(labels, names)
    rules = [
        rule
        for layer in np.flatnonzero(~network.layers.is_merged).tolist()
        for rule in _rules_of_layer(network, layer, named, config)
        if archived or not rule.is_archived
    ]
    return sorted(rules, key=rank_of_rule)


class Names(NamedTuple):
    """What classes and features are called."""

    labels: Sequence[Hashable]
    features: Sequence[str]

    def inputs(self) -> Iterator[str]:
        """Names of all inputs of a network without end."""
        yield from self.features
        layer, texts = 0, wording.distinct(self.labels)
        while True:
            yield from (f"layer {layer} says {text}" for text in texts)
            layer += 1


def _rules_of_layer(network: Network, layer: int, names: Names, config: Config) -> Iterator[Rule]:
    """Every rule of a layer, active or archived."""
    layers, n_features = network.layers, network.shape.features
    n_inputs = int(layers.n_inputs[layer, 0])
    used = np.flatnonzero(layers.input_mask[layer, :n_inputs])
    all_names = dict(zip(range(n_inputs), names.inputs(), strict=False))
    lows, widths = _maps(network, n_inputs, config)
    lows, widths = lows[used], widths[used]
    vote = layers.voting_weights[layer] / layers.voting_weights[~layers.is_merged].sum()
    for slot in np.flatnonzero(layers.status[layer] != FREE).tolist():
        shares = _said(network, layer, slot, used, config)
        utility = float(layers.utilities[layer, slot])
        cov = layers.covs[layer, slot][np.ix_(used, used)]
        yield Rule(
            layer=layer,
            rule=slot,
            inputs=tuple(all_names[place] for place in used.tolist()),
            n_features=int(np.count_nonzero(used < n_features)),
            center=lows + widths * layers.centers[layer, slot, used],
            covariance=cov * np.outer(widths, widths),
            probabilities=dict(zip(names.labels, shares.tolist(), strict=True)),
            n_rows=float(layers.class_counts[layer, slot].sum()),
            is_archived=bool(layers.status[layer, slot] == ARCHIVED),
            voting_weight=float(vote),
            ranges=np.stack([lows, lows + widths], axis=1),
            age=int(layers.ages[layer, slot]),
            firing_share=utility if utility >= 0.0 else None,
            slopes=2.0 * layers.consequents[layer, slot][:, 2 * used + 1].T,
        )


def _maps(network: Network, n_inputs: int, config: Config) -> tuple[Floats, Floats]:
    """The affine maps of all inputs: the user's value = low + width * the layer's value."""
    lows, widths = np.zeros(n_inputs), np.ones(n_inputs)
    if config.scaling == "online":
        n_features = network.shape.features
        lows[:n_features], widths[:n_features] = network.scaler.low, network.scaler.width
    return lows, widths


def _said(network: Network, layer: int, slot: int, used: Ints, config: Config) -> Floats:
    """Class probabilities by one rule's consequent at its own centre.

    Inputs are clipped as those of a prediction are, and outputs become shares in the same way.
    """
    layers, n_features = network.layers, network.shape.features
    reach = np.where(used < n_features, CLIP, 0.0)
    t = 2.0 * np.clip(layers.centers[layer, slot, used], -reach, 1.0 + reach) - 1.0
    weights = layers.consequents[layer, slot]
    outputs = weights[:, 0] + weights[:, 2 * used + 1] @ t
    outputs += weights[:, 2 * used + 2] @ (2.0 * t * t - 1.0)
    is_logistic = config.consequent == "logistic"
    shares: Floats = np.exp(outputs - outputs.max()) if is_logistic else np.maximum(outputs, 0.0)
    if not shares.any():
        shares[:] = 1.0
    shares /= shares.sum()
    return shares
