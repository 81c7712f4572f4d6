"""Carrying a model over to a new scaling map, exactly.

With old = a * new + b per feature, the Chebyshev features of old and new values are related by a
matrix: expanded(old) = expanded(new) @ basis. So the consequents, the gain matrices, the centres
and the covariances can be rewritten such that every output stays what it was.

The prior of the weights (the cap of their variances) is rewritten too, or it would take what was
learned of a small range for impossible in a large one. It may grow `WIDEST_PRIOR`-fold: what was
known only of a tiny corner of the new range fades into the prior.
"""

import numpy as np

from devfnn.kernels.state import FREE, Flags, Floats, Layers
from devfnn.model.config import Config
from devfnn.scaling import Change

WIDEST_PRIOR = 1e4


def chebyshev_basis(change: Change, used: Flags) -> Floats:
    """The matrix `basis` (p, p) with expanded(old) = expanded(new) @ basis, in [-1, 1] units.

    used: (n,) which inputs are in use. One that is left out counts as 0 under both maps, so its
    weights must not flow into the bias.
    """
    basis = np.eye(2 * used.size + 1)
    for feature, a, b in zip(change.features, change.factors, change.shifts, strict=True):
        shift = a + 2.0 * b - 1.0  # of 2u - 1
        linear, quadratic = 2 * feature + 1, 2 * feature + 2
        basis[linear, linear] = a
        basis[linear, quadratic] = 4.0 * a * shift
        basis[quadratic, quadratic] = a * a
        if used[feature]:
            basis[0, linear] = shift
            basis[0, quadratic] = a * a + 2.0 * shift * shift - 1.0
    return basis


def rebase_layers(layers: Layers, change: Change, config: Config) -> None:
    """Rewrite all rules and statistics in the units of the new map."""
    from devfnn.kernels.layers import bound_gains

    if not change.features.size:
        return
    n = layers.centers.shape[2]
    basis = chebyshev_basis(change, layers.input_mask[0])
    factors, shifts = np.ones(n), np.zeros(n)
    factors[change.features], shifts[change.features] = change.factors, change.shifts
    pairs = np.outer(factors, factors)
    layers.consequents[:] = layers.consequents @ basis.T
    layers.gain_covs[:] = basis @ layers.gain_covs @ basis.T
    layers.gain_covs[:] = 0.5 * (layers.gain_covs + layers.gain_covs.swapaxes(2, 3))
    stretched = (np.abs(basis) @ np.sqrt(layers.gain_caps[0])) ** 2
    lowest, highest = config.initial_gain, WIDEST_PRIOR * config.initial_gain
    layers.gain_caps[:] = np.clip(stretched, lowest, highest)
    bound_gains(layers, np.empty(layers.gain_covs.shape[2]))
    layers.centers[:] = (layers.centers - shifts) / factors
    layers.covs[:] /= pairs
    layers.inverse_covs[:] *= pairs
    for layer in range(layers.status.shape[0]):
        own = int(layers.n_inputs[layer, 0])
        layers.log_volumes[layer, layers.status[layer] != FREE] -= np.log(factors[:own]).sum()
    layers.density_mean[:] = (layers.density_mean - shifts) / factors
    layers.density_cov[:] /= pairs
    layers.class_means[:] = (layers.class_means - shifts) / factors
    layers.class_variances[:] /= factors**2
