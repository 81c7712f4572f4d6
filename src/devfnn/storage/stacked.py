"""Whether the numbers of a state can be those of a stacked network."""

import numpy as np

from devfnn.kernels.state import ACTIVE, ARCHIVED, FREE, Flags
from devfnn.model.config import Config
from devfnn.model.network import Network
from devfnn.storage.container import require
from devfnn.storage.schema import schema
from devfnn.storage.tree import leaves
from devfnn.storage.values import (
    LEAST,
    check_labels,
    check_purse,
    check_recent,
    check_scaler,
    check_symmetric,
    check_track,
)

RANGES: dict[str, tuple[float, float]] = {
    "layers/status": (FREE, max(ACTIVE, ARCHIVED)),
    "layers/populations": (LEAST, np.inf),
    "layers/class_counts": (0.0, np.inf),
    "layers/voting_weights": (LEAST, 1.0),
    "layers/decays": (0.0, 1.0),
    "layers/density_weight": (0.0, np.inf),
    "layers/class_weights": (0.0, np.inf),
    "output_stats/chunks": (0.0, np.inf),
    "output_stats/weights": (0.0, np.inf),
    "records/counts": (0.0, np.inf),
    "buffer/weights": (0.0, np.inf),
    "gathered/rows/weights": (0.0, np.inf),
    "gathered/errors": (0, 1),
}
"""Closed ranges of values."""

PARTLY_FINITE = {"gathered/outputs"}
"""Arrays that are checked here instead: merged layers say nothing, which is NaN."""


def check_stacked(network: Network, config: Config) -> None:
    """What the parts of a stacked network say about each other."""
    _check_layers(network)
    _check_matrices(network)
    _check_rows(network, config)
    track = network.track
    check_track(track.rows, track.errors, track.cut_rows, track.cut_errors)
    check_scaler(network.scaler)
    check_recent(network.recent, network.shape.classes)
    check_purse(network.purse)


def _check_layers(network: Network) -> None:
    """What the layers say about each other."""
    layers, shape = network.layers, network.shape
    require(not layers.is_merged.all(), "every layer is merged; one must be left")
    n_inputs = shape.features + np.arange(shape.layers) * shape.classes
    fits = np.array_equal(layers.n_inputs[:, 0], n_inputs)
    require(fits, "the numbers of inputs of the layers do not fit the shape")
    diagonals = np.einsum("lrii->lri", layers.covs)
    own = np.arange(shape.inputs) < n_inputs[:, None]
    used = (layers.status != FREE)[:, :, None] & own[:, None, :]
    require(bool((diagonals[used] > 0.0).all()), "a rule has a variance that is not positive")


def _check_matrices(network: Network) -> None:
    """Covariances, their inverses and gain matrices are symmetric wherever a rule is."""
    flat = leaves(network)
    used: Flags = network.layers.status != FREE
    for name, (_, axes) in schema("stacked").tensors.items():
        sizes = [axis.size for axis in axes]
        if sizes[-2:] == ["inputs", "inputs"]:
            is_of_rules = sizes[:2] == ["layers", "slots"]
            check_symmetric(name, flat[name][used] if is_of_rules else flat[name])


def _check_rows(network: Network, config: Config) -> None:
    """Rows kept for later."""
    check_labels("buffer", network.buffer, network.shape.classes)
    gathered = network.gathered
    if gathered is None:
        return
    outputs, is_merged = gathered.outputs, network.layers.is_merged
    legal = np.isfinite(outputs) | (np.isnan(outputs) & is_merged[:, None])
    require(bool(legal.all()), "gathered/outputs holds NaN or infinity")
    check_labels("gathered", gathered.rows, network.shape.classes)
    fits = len(gathered.rows) == config.chunk_rows
    require(fits, "the room for gathered rows does not fit chunk_rows")
    require(gathered.count <= len(gathered.rows), "more rows are gathered than there is room")
