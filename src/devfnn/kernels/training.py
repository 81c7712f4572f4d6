"""Training the consequents of a layer on a row: local forgetting, then a step per rule."""

import numpy as np

from devfnn.kernels._jit import part
from devfnn.kernels.consequents import (
    CHECK_EVERY,
    DECAY_EVERY,
    decay_consequent,
    repair_gain_cov,
    update_consequent,
)
from devfnn.kernels.state import ACTIVE

NEGLIGIBLE = 1e-4
"""Rules that fire less than this are not trained on the row."""


@part()
def local_change(layer, rule, settings, scratch):
    """How much the density around a rule has just moved (paper: gradient of LDQ)."""
    activation = scratch.activations[rule]
    n = max(scratch.n_present[0], 1)
    record = layer.densities[rule]
    record[0] = settings.density_memory * record[0] + activation
    record[1] = settings.density_memory * record[1] + activation * scratch.distances[rule] / n
    density = np.sqrt(record[0] / (record[0] + record[1])) if record[0] > 0.0 else record[2]
    change = abs(density - record[2])
    record[2] = density
    return change


@part()
def forgetting_factor(layer, rule, settings, scratch):
    """Memory of one rule for this row; also lets the premise forget where the density moves."""
    activation = scratch.activations[rule]
    memory = 1.0 - (1.0 - settings.memory) * activation
    if settings.local_forgetting > 0.0:
        change = activation * local_change(layer, rule, settings, scratch)
        if layer.ages[rule] > 2 * layer.n_inputs[0] + 1:
            memory *= 1.0 - min(settings.local_forgetting * change, settings.local_forgetting)
            kept = layer.populations[rule] * (1.0 - min(0.99 * change, 0.99))
            layer.populations[rule] = max(kept, 1.0)
    return memory


@part()
def train_consequents(layer, label, weight, settings, scratch):
    """Recursive update of every rule that fires, each on its own error."""
    size = 2 * layer.n_inputs[0] + 1
    expanded, gain = scratch.expanded[:size], scratch.gain[:size]
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] != ACTIVE or scratch.activations[rule] < NEGLIGIBLE:
            continue
        memory = forgetting_factor(layer, rule, settings, scratch)
        strength = scratch.activations[rule] * weight
        local = scratch.locals[rule]
        curvature = 1.0
        if settings.logistic:
            curvature = settings.curvature_floor
            for k in range(local.shape[0]):
                curvature = max(curvature, local[k] * (1.0 - local[k]))
        for k in range(local.shape[0]):
            target = 1.0 if k == label else 0.0
            scratch.residuals[k] = (target - local[k]) / curvature
        consequent = layer.consequents[rule, :, :size]
        gain_cov = layer.gain_covs[rule, :size, :size]
        update_consequent(
            consequent,
            gain_cov,
            expanded,
            gain,
            scratch.residuals,
            strength * curvature,
            memory,
            layer.gain_caps,
        )
        layer.ages[rule] += 1
        if settings.weight_decay > 0.0 and layer.ages[rule] % DECAY_EVERY == 0:
            decay = DECAY_EVERY * settings.weight_decay * strength
            decay_consequent(consequent, gain_cov, gain, decay)
        if layer.ages[rule] % CHECK_EVERY == 0:
            repair_gain_cov(gain_cov, size, layer.gain_caps)
