"""Carrying a model over to a new scaling map, exactly.

With old = a * new + b per feature, the Chebyshev features of old and new values are related by a
matrix: expanded(old) = expanded(new) @ basis. So the consequents, the gain matrices, the centres
and the covariances can be rewritten such that every output stays what it was.
"""

import numpy as np

from devfnn.kernels.state import FREE, Floats, Layers
from devfnn.scaling import Change


def chebyshev_basis(change: Change, n_inputs: int) -> Floats:
    """The matrix `basis` (p, p) with expanded(old) = expanded(new) @ basis, in [-1, 1] units."""
    basis = np.eye(2 * n_inputs + 1)
    for feature, a, b in zip(change.features, change.factors, change.shifts, strict=True):
        shift = a + 2.0 * b - 1.0  # of 2u - 1
        linear, quadratic = 2 * feature + 1, 2 * feature + 2
        basis[0, linear] = shift
        basis[linear, linear] = a
        basis[0, quadratic] = a * a + 2.0 * shift * shift - 1.0
        basis[linear, quadratic] = 4.0 * a * shift
        basis[quadratic, quadratic] = a * a
    return basis


def rebase_layers(layers: Layers, change: Change, cap: float) -> None:
    """Rewrite all rules and statistics in the units of the new map.

    Gain matrices that an earlier change has stretched beyond their cap are brought back first.
    """
    from devfnn.kernels.layers import bound_gains

    if not change.features.size:
        return
    bound_gains(layers, cap, np.empty(layers.gain_covs.shape[2]))
    n = layers.centers.shape[2]
    basis = chebyshev_basis(change, n)
    factors, shifts = np.ones(n), np.zeros(n)
    factors[change.features], shifts[change.features] = change.factors, change.shifts
    pairs = np.outer(factors, factors)
    layers.consequents[:] = layers.consequents @ basis.T
    layers.gain_covs[:] = basis @ layers.gain_covs @ basis.T
    layers.gain_covs[:] = 0.5 * (layers.gain_covs + layers.gain_covs.swapaxes(2, 3))
    layers.centers[:] = (layers.centers - shifts) / factors
    layers.covs[:] /= pairs
    layers.inverse_covs[:] *= pairs
    layers.log_volumes[layers.status != FREE] -= np.log(factors).sum()
    layers.density_mean[:] = (layers.density_mean - shifts) / factors
    layers.density_cov[:] /= pairs
    layers.class_means[:] = (layers.class_means - shifts) / factors
    layers.class_variances[:] /= factors**2
