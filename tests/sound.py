"""What must hold of the numbers of a model at any time."""

import numpy as np

from devfnn import DEVFNN
from devfnn.kernels.concept_state import NO_LAYER, NO_OWNER, Concepts
from devfnn.arrays import Floats
from devfnn.kernels.state import FREE, Layers
from devfnn.model.concepts.network import ConceptNetwork
from devfnn.model.concepts.state import unpacked
from devfnn.storage.tree import leaves

UNBOUNDED = ("gathered", "buffer", "first_rows", "state/lows", "state/highs")
"""Parts of names of arrays that may hold NaN or infinity."""


def assert_sound(model: DEVFNN) -> None:
    """Matrices of all used rules are exactly symmetric and positive definite; all is finite."""
    network = model._known()
    is_stacked = not isinstance(network, ConceptNetwork)
    for name, leaf in leaves(network).items():
        values = np.asarray(leaf, np.float64)
        if is_stacked and name.startswith("layers"):
            is_merged = network.layers.is_merged
            values = values[~is_merged] if values.shape[:1] == is_merged.shape else values
        if not any(part in name for part in UNBOUNDED):
            assert np.isfinite(values).all(), name
    if is_stacked:
        assert_sound_layers(network.layers)
    else:
        assert_sound_concepts(network.state)


def assert_sound_layers(layers: Layers) -> None:
    """The rules of stacked layers."""
    for layer, rule in np.argwhere(layers.status != FREE):
        n = int(layers.n_inputs[layer, 0])
        assert_positive_definite(layers.gain_covs[layer, rule], 2 * n + 1)
        assert_positive_definite(layers.inverse_covs[layer, rule], n)
        assert_positive_definite(layers.covs[layer, rule], n)
        assert np.isfinite(layers.log_volumes[layer, rule])


def assert_sound_concepts(state: Concepts) -> None:
    """The rules of a concept network: every slot has one owner, boxes are not empty."""
    for rule in np.flatnonzero(state.owners != NO_OWNER).tolist():
        assert_positive_definite(unpacked(state.gains[rule]), state.caps.size)
        owner = int(state.owners[rule])
        assert rule in state.members[owner, : state.n_members[owner]]
    assert (state.lows < state.highs).all()
    assert np.count_nonzero(state.owners != NO_OWNER) == state.n_members.sum()
    assert not state.n_members[state.kinds == NO_LAYER].any()
    count = int(state.n_clouds[0])
    assert (state.cloud_spreads[:count] > 0.0).all() and (state.cloud_masses[:count] > 0.0).all()
    assert (state.variances >= 0.0).all() and (state.course >= -10.0).all()
    assert ((state.scores >= 0.0) & (state.scores <= 1.0)).all()


def assert_positive_definite(matrix: Floats, size: int) -> None:
    """The upper left block is exactly symmetric and positive definite."""
    block = matrix[:size, :size]
    np.testing.assert_array_equal(block, block.T)
    np.linalg.cholesky(block)  # raises unless positive definite
