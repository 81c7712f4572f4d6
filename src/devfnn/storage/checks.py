"""Whether the numbers of a state can be those of a model. Used before saving and after loading.

Compiled code trusts the state: indices are not checked again there. So nothing that serves as an
index, a count or a weight may come from a file unseen.
"""

from typing import Any

import numpy as np

from devfnn.errors import StorageError
from devfnn.kernels.state import ACTIVE, ARCHIVED, FREE, Flags, Floats
from devfnn.model.config import Config
from devfnn.model.intake import LARGEST
from devfnn.model.network import Network, Rows
from devfnn.storage.container import require
from devfnn.storage.tree import leaves, schema

RAW_ROWS = {"buffer/X", "gathered/rows/X", "scaler/first_rows"}
"""Rows as they came: NaN in them is a missing value."""

LEAST = 5e-324
"""The smallest positive number, as the lower end of ranges that exclude 0."""

RANGES = {
    "layers/status": (FREE, max(ACTIVE, ARCHIVED)),
    "layers/populations": (LEAST, np.inf),
    "layers/class_counts": (0.0, np.inf),
    "layers/voting_weights": (LEAST, 1.0),
    "layers/decays": (0.0, 1.0),
    "layers/density_weight": (0.0, np.inf),
    "layers/class_weights": (0.0, np.inf),
    "scaler/width": (0.0, np.inf),
    "scaler/outside_share": (0.0, 1.0),
    "feature_stats/weight": (0.0, np.inf),
    "output_stats/chunks": (0.0, np.inf),
    "output_stats/weights": (0.0, np.inf),
    "records/counts": (0.0, np.inf),
    "buffer/weights": (0.0, np.inf),
    "gathered/rows/weights": (0.0, np.inf),
    "gathered/errors": (0, 1),
}
"""Closed ranges of values; whole numbers are never negative anyway."""

ASYMMETRY = 1e-6
"""Largest relative difference between the two halves of a symmetric matrix."""


def check_network(network: Network, config: Config) -> None:
    """Refuse a state that no model can be in."""
    for name, leaf in leaves(network).items():
        if isinstance(leaf, np.ndarray):
            _check_values(name, leaf, network, config)
    _check_layers(network)
    _check_matrices(network)
    _check_rows(network, config)
    _check_counters(network)


def _check_values(
    name: str, array: "np.ndarray[Any, np.dtype[Any]]", network: Network, config: Config
) -> None:
    """The values of one array, each on its own."""
    if array.dtype.kind == "b":
        is_flag = array.size == 0 or int(array.reshape(-1).view(np.uint8).max()) <= 1
        require(is_flag, f"{name} holds flags that are neither true nor false")
        return
    if array.dtype.kind == "f":
        _check_finite(name, array, network, config)
    low, high = RANGES.get(name, (0 if array.dtype.kind == "i" else -np.inf, np.inf))
    outside = (array < low) | (array > high)  # NaN, where it is legal, is in no range
    if outside.any():
        raise StorageError(f"{name} holds {array[outside][0]}, which cannot be")


def _check_finite(name: str, array: Floats, network: Network, config: Config) -> None:
    """Nothing infinite, and NaN only where it means something."""
    if name in RAW_ROWS:
        within = np.abs(array) <= LARGEST
        legal = within | np.isnan(array) if config.missing == "skip" else within
    elif name == "gathered/outputs":
        legal = np.isfinite(array) | (np.isnan(array) & network.layers.is_merged[:, None])
    else:
        legal = np.isfinite(array)
    require(bool(legal.all()), f"{name} holds NaN or infinity")


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
    for name, (_, axes) in schema().tensors.items():
        sizes = [axis.size for axis in axes]
        if sizes[-2:] != ["inputs", "inputs"]:
            continue
        matrices = flat[name][used] if sizes[:2] == ["layers", "slots"] else flat[name]
        if matrices.size:
            limit = ASYMMETRY * np.abs(matrices).max(axis=(-2, -1), keepdims=True)
            gaps = np.abs(matrices - matrices.swapaxes(-2, -1))
            require(bool((gaps <= limit).all()), f"{name} holds a matrix that is not symmetric")


def _check_rows(network: Network, config: Config) -> None:
    """Rows kept for later."""
    _check_labels("buffer", network.buffer, network.shape.classes)
    gathered = network.gathered
    if gathered is not None:
        _check_labels("gathered", gathered.rows, network.shape.classes)
        fits = len(gathered.rows) == config.chunk_rows
        require(fits, "the room for gathered rows does not fit chunk_rows")
        require(gathered.count <= len(gathered.rows), "more rows are gathered than there is room")


def _check_labels(name: str, rows: Rows, n_classes: int) -> None:
    """Class indices of stored rows."""
    is_known = bool((rows.labels < n_classes).all())
    require(is_known, f"{name} holds rows of a class that is not there")


def _check_counters(network: Network) -> None:
    """Counters that limit each other."""
    track, scaler = network.track, network.scaler
    is_sound = (
        track.errors <= track.rows
        and track.cut_rows <= track.rows
        and track.cut_errors <= min(track.errors, track.cut_rows)
        and track.errors - track.cut_errors <= track.rows - track.cut_rows
    )
    require(is_sound, "the counters of the error track contradict each other")
    require(
        scaler.first_rows.shape[0] <= scaler.n_first,
        "the scaler keeps more rows than it has seen",
    )
