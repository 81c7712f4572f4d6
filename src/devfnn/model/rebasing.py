"""Carrying a model over to a new scaling map, exactly.

With old = a * new + b per feature, the Chebyshev features of old and new values are related by a
matrix: expanded(old) = expanded(new) @ basis. So the consequents, the gain matrices, the centres
and the covariances can be rewritten such that every output stays what it was.

The prior of the weights (the cap of their variances) is rewritten too, or it would take what was
learned of a small range for impossible in a large one. It may grow `WIDEST_PRIOR`-fold, which a
fourfold range takes. Beyond that the outputs do not stay exactly what they were: what was known
only of a corner of the new range would say wild things about the rest, so it fades into the prior.
After a jump of more than a hundred widths at once, an input starts anew.
"""

import numpy as np

from devfnn.kernels.state import FREE, Flags, Floats, Ints, Layers
from devfnn.model.config import Config
from devfnn.scaling import Change

WIDEST_PRIOR = 1e4

TRACE = 1e-12
"""Share of its cap added to every variance: a far jump all but ties the weights of a feature to the
bias, and rounding must not cost the matrix its definiteness."""


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


def rebase_layers(layers: Layers, change: Change, is_settled: bool, config: Config) -> None:
    """Rewrite all rules and statistics in the units of the new map.

    While the map is still being made from the first rows, the prior is that of the newest map.
    """
    restart_inputs(layers, change.features[change.is_wild], config)
    change = change.without_wild()
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
    _rebase_prior(layers, basis, is_settled, config)
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


def _rebase_prior(layers: Layers, basis: Floats, is_settled: bool, config: Config) -> None:
    """Let the prior of the weights follow the map, and hold all variances under it."""
    from devfnn.kernels.layers import bound_gains

    lowest, highest = config.initial_gain, WIDEST_PRIOR * config.initial_gain
    explained = (np.abs(basis) @ np.sqrt(layers.gain_caps[0])) ** 2
    caps = np.clip(explained, lowest, highest if is_settled else lowest)
    layers.gain_caps[:] = caps
    layers.gain_covs[layers.status == FREE] = 0.0
    bound_gains(layers, caps, np.empty(caps.size))
    diagonal = np.arange(caps.size)
    layers.gain_covs[:, :, diagonal, diagonal] += TRACE * caps


def restart_inputs(layers: Layers, features: Ints, config: Config) -> None:
    """Start rules anew on some inputs; what these said at a rule's centre stays in its bias."""
    for feature in features:
        linear, quadratic = 2 * feature + 1, 2 * feature + 2
        t = 2.0 * layers.centers[:, :, feature, None] - 1.0
        said = layers.consequents[..., linear] * t
        said += layers.consequents[..., quadratic] * (2.0 * t * t - 1.0)
        layers.consequents[..., 0] += said * layers.input_mask[:, None, None, feature]
        for column in (linear, quadratic):
            layers.consequents[..., column] = 0.0
            layers.gain_covs[:, :, column, :] = 0.0
            layers.gain_covs[:, :, :, column] = 0.0
            layers.gain_covs[:, :, column, column] = config.initial_gain
            layers.gain_caps[:, column] = config.initial_gain
        _restart_premise(layers, int(feature), config)


def _restart_premise(layers: Layers, feature: int, config: Config) -> None:
    """Give every rule its first width on one input, and forget the moments of that input."""
    from devfnn.kernels.layers import decouple_input

    layers.centers[:, :, feature] = 0.5
    layers.covs[:, :, feature, feature] = 1.0 / config.first_precision
    for layer in range(layers.status.shape[0]):
        decouple_input(layers, layer, feature, config.width_floor)
    layers.density_mean[:, feature] = 0.5
    layers.density_cov[:, feature, :] = 0.0
    layers.density_cov[:, :, feature] = 0.0
    layers.class_means[:, :, feature] = 0.5
    layers.class_variances[:, :, feature] = 0.0
