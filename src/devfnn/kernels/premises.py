"""The IF part: how strongly multivariate Gaussian rules fire, and how the winner moves."""

import numpy as np

from devfnn.kernels._jit import kernel, part
from devfnn.kernels.state import ACTIVE, FREE

REPAIR_EVERY = 64
"""Premise updates of a rule between two exact recomputations of its inverse covariance."""


@part()
def measure_rule(layer, rule, inputs, scratch):
    """Squared Mahalanobis distance of the row to one rule; absent inputs lie on the centre."""
    n = layer.n_inputs[0]
    center = layer.centers[rule]
    inverse = layer.inverse_covs[rule]
    offset = scratch.offsets[rule]
    pull = scratch.pulls[rule]
    for j in range(n):
        offset[j] = inputs[j] - center[j] if scratch.present[j] else 0.0
        pull[j] = 0.0
    for i in range(n):
        value = offset[i]
        if value != 0.0:
            row = inverse[i]
            for j in range(n):
                pull[j] += value * row[j]
    distance = 0.0
    for j in range(n):
        distance += offset[j] * pull[j]
    scratch.distances[rule] = max(distance, 0.0)


@part()
def fire(layer, inputs, with_archive, scratch):
    """Measure the row against every active rule, and against the archived ones if asked."""
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE or (with_archive and layer.status[rule] != FREE):
            measure_rule(layer, rule, inputs, scratch)


@part()
def normalise(layer, firing_floor, scratch):
    """Turn distances into activations that sum to 1 (softmax of the log firing).

    With `firing_floor` the authors' form: a total under 0.001 is read as 1.
    """
    nearest = np.inf
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            nearest = min(nearest, scratch.distances[rule])
    if firing_floor:
        nearest = 0.0
    total = 0.0
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            scratch.activations[rule] = np.exp(-0.5 * (scratch.distances[rule] - nearest))
            total += scratch.activations[rule]
        else:
            scratch.activations[rule] = 0.0
    if firing_floor and total < 1e-3:
        total = 1.0
    for rule in range(layer.status.shape[0]):
        scratch.activations[rule] /= total


@part()
def winning_rule(layer, scratch):
    """The rule with the largest posterior: near, small, and well populated."""
    best, best_score = -1, -np.inf
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            prior = np.log(np.log1p(layer.populations[rule]))
            score = -0.5 * scratch.distances[rule] - layer.log_volumes[rule] + prior
            if score > best_score:
                best, best_score = rule, score
    return best


@kernel()
def invert_covariance(layer, rule, width_floor, factor):
    """Recompute inverse covariance and log volume of a rule from its covariance.

    Cholesky with pivots raised to the floor: exact where the covariance is sound, and positive
    definite with bounded precision where features are constant or collinear.
    """
    n = layer.n_inputs[0]
    cov = layer.covs[rule]
    inverse = layer.inverse_covs[rule]
    floor = width_floor * width_floor
    log_volume = 0.0
    for i in range(n):
        cov[i, i] = max(cov[i, i], floor)
        for j in range(i + 1):
            rest = cov[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(max(rest, 1e-2 * floor))
                log_volume += np.log(factor[i, i])
            else:
                factor[i, j] = rest / factor[j, j]
    for i in range(n):  # invert the factor in place, row by row
        factor[i, i] = 1.0 / factor[i, i]
        for j in range(i):
            rest = 0.0
            for k in range(j, i):
                rest -= factor[i, k] * factor[k, j]
            factor[i, j] = rest * factor[i, i]
    for i in range(n):
        for j in range(i + 1):
            value = 0.0
            for k in range(i, n):
                value += factor[k, i] * factor[k, j]
            inverse[i, j] = value
            inverse[j, i] = value
    layer.log_volumes[rule] = log_volume


@part()
def tune_complete(layer, rule, rate, scratch):
    """Rank-one update of covariance, inverse and volume; inputs switched off keep their rows."""
    n = layer.n_inputs[0]
    cov = layer.covs[rule]
    inverse = layer.inverse_covs[rule]
    offset = scratch.offsets[rule]
    pull = scratch.pulls[rule]
    distance = scratch.distances[rule]
    keep = 1.0 - rate
    scale = 1.0 / keep
    step = rate / (keep * (1.0 + rate * distance))
    for i in range(n):
        if scratch.present[i]:
            cov_row, inverse_row = cov[i], inverse[i]
            away, drawn = offset[i], pull[i]
            for j in range(n):
                cov_row[j] = keep * cov_row[j] + rate * keep * (away * offset[j])
                inverse_row[j] = scale * inverse_row[j] - step * (drawn * pull[j])
    layer.log_volumes[rule] += 0.5 * (
        scratch.n_present[0] * np.log(keep) + np.log1p(rate * distance)
    )


@kernel()
def tune_partial(layer, rule, rate, width_floor, scratch):
    """The same for a row with values missing: the missing ones keep their variance."""
    n = layer.n_inputs[0]
    cov = layer.covs[rule]
    offset = scratch.offsets[rule]
    keep = 1.0 - rate
    for i in range(n):
        for j in range(n):
            if scratch.present[i] and scratch.present[j]:
                cov[i, j] = keep * cov[i, j] + rate * keep * (offset[i] * offset[j])
            elif scratch.present[i] or scratch.present[j]:
                cov[i, j] *= keep
    invert_covariance(layer, rule, width_floor, scratch.factor)


@part()
def tune_premise(layer, rule, weight, settings, scratch):
    """Move the winner towards the row: covariance and inverse first, from the OLD centre."""
    n = layer.n_inputs[0]
    rate = weight / (layer.populations[rule] + weight)
    is_complete = True
    for j in range(n):
        if layer.input_mask[j] and not scratch.present[j]:
            is_complete = False
    layer.premise_updates[rule] += 1
    if is_complete:
        tune_complete(layer, rule, rate, scratch)
    else:
        tune_partial(layer, rule, rate, settings.width_floor, scratch)
    for j in range(n):
        layer.centers[rule, j] += rate * scratch.offsets[rule, j]
    layer.populations[rule] = min(layer.populations[rule] + weight, settings.max_population)
    if is_complete and layer.premise_updates[rule] % REPAIR_EVERY == 0:
        invert_covariance(layer, rule, settings.width_floor, scratch.factor)
