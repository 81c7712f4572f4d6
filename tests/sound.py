"""What must hold of the numbers of a model at any time."""

import numpy as np

from devfnn import DEVFNN
from devfnn.arrays import Floats
from devfnn.kernels.state import FREE, NO_LAYER, NO_OWNER, GaussianState, State
from devfnn.model.layers.pool import unpacked

UNBOUNDED = ("lows", "highs", "thresholds")
"""Arrays that may hold infinity."""
SPARSE = ("rows", "edges")
"""Arrays of which some numbers may be absent, of the window and of bins."""


def assert_sound(model: DEVFNN) -> None:
    """Matrices of all used rules are exactly symmetric and positive definite; all is finite."""
    state = model._known().state
    is_merged = state.layers.is_merged
    for name, part in state._asdict().items():
        for field, array in part._asdict().items() if part is not None else ():
            has_merged = name == "gaussians" and array.shape[:1] == is_merged.shape
            values = array[~is_merged] if has_merged else array
            is_sound = ~np.isinf(values) if field in SPARSE else np.isfinite(values)
            assert field in UNBOUNDED or is_sound.all(), f"{name}/{field}"
    for stats in (model._known().feature_stats, model._known().output_stats):
        assert stats is None or all(np.isfinite(array).all() for array in stats)
    assert ((state.layers.scores >= 0.0) & (state.layers.scores <= 1.0)).all()
    assert (state.progress.signals >= -10.0).all()
    if state.gaussians is not None:
        assert_sound_gaussians(state.gaussians)
    if state.pool is not None:
        assert_sound_pool(state)
    if state.clouds is not None:
        count = int(state.clouds.count[0])
        assert (state.clouds.spreads[:count] > 0.0).all()
        assert (state.clouds.masses[:count] > 0.0).all()


def assert_sound_gaussians(own: GaussianState) -> None:
    """The rules of gaussian layers."""
    for layer, rule in np.argwhere(own.status != FREE):
        n = int(own.n_inputs[layer, 0])
        assert_positive_definite(own.gain_covs[layer, rule], 2 * n + 1)
        assert_positive_definite(own.inverse_covs[layer, rule], n)
        assert_positive_definite(own.covs[layer, rule], n)
        assert np.isfinite(own.log_volumes[layer, rule])


def assert_sound_pool(state: State) -> None:
    """The rules of lines, curves and boxes: every slot has one owner, boxes are not empty."""
    pool = state.pool
    assert pool is not None
    for rule in np.flatnonzero(pool.owners != NO_OWNER).tolist():
        assert_positive_definite(unpacked(pool.gains[rule]), pool.caps.size)
        owner = int(pool.owners[rule])
        assert rule in pool.members[owner, : pool.n_members[owner]]
    assert (pool.lows < pool.highs).all()
    assert np.count_nonzero(pool.owners != NO_OWNER) == pool.n_members.sum()
    assert not pool.n_members[state.layers.kinds == NO_LAYER].any()
    assert (pool.variances >= 0.0).all()


def assert_positive_definite(matrix: Floats, size: int) -> None:
    """The upper left block is exactly symmetric and positive definite."""
    block = matrix[:size, :size]
    np.testing.assert_array_equal(block, block.T)
    np.linalg.cholesky(block)  # raises unless positive definite
