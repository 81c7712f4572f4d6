"""What must hold of the numbers of a model at any time."""

import numpy as np

from devfnn import DEVFNN
from devfnn.kernels.state import FREE
from devfnn.storage.tree import leaves


def assert_sound(model: DEVFNN) -> None:
    """Matrices of all used rules are exactly symmetric and positive definite; all is finite."""
    network = model._known()
    layers = network.layers
    for name, leaf in leaves(network).items():
        values = np.asarray(leaf, np.float64)
        if name.startswith("layers") and values.shape[:1] == layers.is_merged.shape:
            values = values[~layers.is_merged]
        if "gathered" not in name and "buffer" not in name and "first_rows" not in name:
            assert np.isfinite(values).all(), name
    for layer, rule in np.argwhere(layers.status != FREE):
        n = int(layers.n_inputs[layer, 0])
        for matrix, size in (
            (layers.gain_covs[layer, rule], 2 * n + 1),
            (layers.inverse_covs[layer, rule], n),
            (layers.covs[layer, rule], n),
        ):
            block = matrix[:size, :size]
            np.testing.assert_array_equal(block, block.T)
            np.linalg.cholesky(block)  # raises unless positive definite
        assert np.isfinite(layers.log_volumes[layer, rule])
