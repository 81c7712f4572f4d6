"""Whether the numbers of a state can be those of a model. Used before saving and after loading."""

from typing import Any

import numpy as np

from devfnn.model.concepts.network import ConceptNetwork
from devfnn.model.config import Config
from devfnn.model.network import Network
from devfnn.storage import concepts, stacked, values
from devfnn.storage.tree import leaves

RANGES = {
    "stacked": values.RANGES | stacked.RANGES,
    "concepts": values.RANGES | concepts.RANGES,
}
"""Closed ranges of values, by kind of network."""


def check_network(network: Any, config: Config) -> None:
    """Refuse a state that no model can be in."""
    partly_finite = stacked.PARTLY_FINITE | concepts.PARTLY_FINITE
    for name, leaf in leaves(network).items():
        if isinstance(leaf, np.ndarray):
            if leaf.dtype.kind == "f" and name not in partly_finite:
                values.check_finite(name, leaf, config)
            values.check_values(name, leaf, RANGES[config.network].get(name))
    if isinstance(network, Network):
        stacked.check_stacked(network, config)
    elif isinstance(network, ConceptNetwork):
        concepts.check_concepts(network, config)
