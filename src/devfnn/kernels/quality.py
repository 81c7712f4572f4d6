"""Data quality: recursive weighted density of the rows, for any metric, and moments per class."""

import numpy as np

from devfnn.kernels._jit import part


@part()
def mean_spread(layer, inverse):
    """Mean squared distance of the rows to their mean under a metric."""
    n = layer.n_inputs[0]
    spread = 0.0
    for i in range(n):
        row, cov_row = inverse[i], layer.density_cov[i]
        for j in range(n):
            spread += row[j] * cov_row[j]
    return max(spread, 0.0)


@part()
def distance_to_mean(layer, point, inverse, present):
    """Squared distance of a point to the weighted mean of the rows under a metric."""
    n = layer.n_inputs[0]
    distance = 0.0
    for i in range(n):
        if present[i]:
            away = point[i] - layer.density_mean[i]
            row = inverse[i]
            for j in range(n):
                if present[j]:
                    distance += away * row[j] * (point[j] - layer.density_mean[j])
    return max(distance, 0.0)


@part()
def quality(layer, point, inverse, present):
    """Density of the rows seen so far around `point` under the metric `inverse` (paper: DQ)."""
    if layer.density_weight[0] <= 0.0:
        return 1.0
    spread = distance_to_mean(layer, point, inverse, present) + mean_spread(layer, inverse)
    return 1.0 / np.sqrt(1.0 + spread / layer.n_inputs[0])


@part()
def axis_quality(layer, point, widths, present):
    """The same for an axis-parallel metric given by its widths, in n steps."""
    if layer.density_weight[0] <= 0.0:
        return 1.0
    n = layer.n_inputs[0]
    spread = 0.0
    for j in range(n):
        away = point[j] - layer.density_mean[j] if present[j] else 0.0
        spread += (away * away + layer.density_cov[j, j]) / (widths[j] * widths[j])
    return 1.0 / np.sqrt(1.0 + spread / n)


@part()
def update_density(layer, inputs, present, weight):
    """Take a row into the weighted mean and covariance; absent inputs keep their moments."""
    n = layer.n_inputs[0]
    layer.density_weight[0] += weight
    rate = weight / layer.density_weight[0]
    keep = 1.0 - rate
    for i in range(n):
        away = inputs[i] - layer.density_mean[i] if present[i] else 0.0
        row = layer.density_cov[i]
        for j in range(n):
            if present[i] and present[j]:
                row[j] = keep * (row[j] + rate * (away * (inputs[j] - layer.density_mean[j])))
            elif present[i] or present[j]:
                row[j] *= keep
    for i in range(n):
        if present[i]:
            layer.density_mean[i] += rate * (inputs[i] - layer.density_mean[i])


@part()
def update_class_moments(layer, inputs, present, label, weight):
    """Take a row into mean and variance of its class."""
    layer.class_weights[label] += weight
    rate = weight / layer.class_weights[label]
    for j in range(layer.n_inputs[0]):
        if present[j]:
            away = inputs[j] - layer.class_means[label, j]
            layer.class_means[label, j] += rate * away
            variance = layer.class_variances[label, j]
            layer.class_variances[label, j] = (1.0 - rate) * (variance + rate * away * away)


@part()
def closest_class(layer, inputs, present):
    """The class whose rows lie densest around the row (paper: quality per class)."""
    best, best_spread = -1, np.inf
    for label in range(layer.class_weights.shape[0]):
        if layer.class_weights[label] > 0.0:
            spread = 0.0
            for j in range(layer.n_inputs[0]):
                if present[j]:
                    away = inputs[j] - layer.class_means[label, j]
                    spread += away * away + layer.class_variances[label, j]
            if spread < best_spread:
                best, best_spread = label, spread
    return best
