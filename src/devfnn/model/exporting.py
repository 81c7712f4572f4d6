"""A model as plain data, for JSON: its features and layers; rules and events say it themselves."""

import collections
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from devfnn.kernels.concept_state import NO_LAYER
from devfnn.kernels.state import ACTIVE, ARCHIVED
from devfnn.model import lags
from devfnn.model.concepts.engine import ConceptEngine
from devfnn.model.concepts.explaining import kind_of
from devfnn.model.config import Config
from devfnn.model.engines import Engine
from devfnn.model.explaining import CONSTANT, IN_USE, LIKE_A_CLOCK, MASKED
from devfnn.model.rules import Rule
from devfnn.model.stacked import StackedEngine


def features_of(
    network: Engine | None, names: Sequence[str], late: tuple[int, ...], config: Config
) -> list[dict[str, Any]]:
    """Every feature: its range as the model scales it, and whether it is in use."""
    if network is None:
        return [{"name": name, "low": None, "high": None, "state": IN_USE} for name in names]
    columns = lags.columns_of(network.n_features, len(names), late).features
    scaler, is_scaled = network.scaler, config.scaling == "online"
    features: list[dict[str, Any]] = []
    for name, place in zip(names, columns.tolist(), strict=True):
        low, width = float(scaler.low[place]), float(scaler.width[place])
        state = IN_USE if network.feature_mask[place] else MASKED
        if is_scaled and not scaler.awake[place]:
            state = LIKE_A_CLOCK if scaler.is_clock[place] else CONSTANT
        ends = (low, low + width) if is_scaled and width > 0.0 else (None, None)
        features.append({"name": name, "low": ends[0], "high": ends[1], "state": state})
    return features


def layers_of(network: Engine, rules: Sequence[Rule], config: Config) -> list[dict[str, Any]]:
    """Every layer: what it is, its say, its rules, its inputs in use.

    rules: of all layers, archived ones too
    """
    match network:
        case StackedEngine():
            return _stacked_layers(network)
        case ConceptEngine():
            return _rival_layers(network, rules, config)
    return []


def _rival_layers(
    network: ConceptEngine, rules: Sequence[Rule], config: Config
) -> list[dict[str, Any]]:
    """The layers of a concept network; rules of those that wait or rest count as archived."""
    counts = collections.Counter((rule.layer, rule.is_archived) for rule in rules)
    n_features = int(np.count_nonzero(network.used_features(config)))
    places = np.flatnonzero(network.state.kinds != NO_LAYER).tolist()
    found = []
    for place, vote in zip(places, network.voting_weights(config).tolist(), strict=True):
        state = "votes" if counts[place, False] or not counts[place, True] else "waits"
        found.append(
            {
                "layer": place,
                "kind": kind_of(network.state, place),
                "state": "rests" if network.state.rests[place] else state,
                "is_merged": False,
                "vote": vote,
                "rules": counts[place, False],
                "archived": counts[place, True],
                "features": n_features,
                "inputs_from_layers": 0,
            }
        )
    return found


def _stacked_layers(network: StackedEngine) -> list[dict[str, Any]]:
    """The layers of a stacked network."""
    layers = network.layers
    votes = np.where(layers.is_merged, 0.0, layers.voting_weights)
    votes /= votes.sum()
    found = []
    for layer in range(network.shape.layers):
        used = np.flatnonzero(layers.input_mask[layer, : int(layers.n_inputs[layer, 0])])
        n_features = int(np.count_nonzero(used < network.shape.features))
        found.append(
            {
                "layer": layer,
                "kind": "rules",
                "state": "merged" if layers.is_merged[layer] else "votes",
                "is_merged": bool(layers.is_merged[layer]),
                "vote": float(votes[layer]),
                "rules": int(np.count_nonzero(layers.status[layer] == ACTIVE)),
                "archived": int(np.count_nonzero(layers.status[layer] == ARCHIVED)),
                "features": n_features,
                "inputs_from_layers": int(used.size) - n_features,
            }
        )
    return found


def finite(data: Any) -> Any:
    """Plain data with None for every number that JSON does not know.

    >>> finite({"a": [1.0, float("inf")], "b": float("nan")})
    {'a': [1.0, None], 'b': None}
    """
    match data:
        case dict():
            return {name: finite(value) for name, value in data.items()}
        case list() | tuple():
            return [finite(value) for value in data]
        case float() if not math.isfinite(data):
            return None
    return data
