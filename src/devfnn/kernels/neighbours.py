"""Neighbours: the rows of the window nearest to a row, each a rule for its own class.

Distances count a feature by how far it tells the classes of the window apart: a share of its
variance lies between classes, the rest within them.
"""

import numpy as np

from devfnn.kernels._jit import kernel, part, step, sum_part
from devfnn.kernels.window import n_remembered

LEAST_SPREAD_OF_FEATURE = 1e-8
"""Of a feature that is used: 0.01 % of its range."""

BLOCK = 64
"""Rows of which the nearest is found first: a hundredth of a usual window."""

LEAST_DISTANCE = 1e-20
"""Squared, of the last neighbour: all may be the same row."""


@sum_part()
def add_distances(values, count, value, scale, distances):
    """Add what one feature makes of the distances to rows. values, distances: (V,) single"""
    for place in range(count):
        away = value - values[place]
        distances[place] += scale * away * away


@part()
def add_known_distances(values, count, value, scale, distances):
    """The same where rows lack the feature: they lie at the mean distance of all others."""
    total, known = 0.0, 0
    for place in range(count):
        away = value - values[place]
        if away == away:
            total += away * away
            known += 1
    mean = np.float32(scale * total / max(known, 1))
    for place in range(count):
        away = value - values[place]
        distances[place] += scale * away * away if away == away else mean


@step()
def measure_window(window, neighbours, row, count, distances):
    """Squared distances of a row to all rows of the window; absent features are left out."""
    for place in range(count):
        distances[place] = np.float32(0.0)
    for j in range(row.shape[0]):
        value, scale = np.float32(row[j]), neighbours.scales[j]
        if value != value or scale == 0.0:
            continue
        if neighbours.gaps[j]:
            add_known_distances(window.rows[j], count, value, scale, distances)
        else:
            add_distances(window.rows[j], count, value, scale, distances)


@part()
def sort_in(distances, place, nearest, last):
    """Put a place before all with larger distances; the one at `last` goes. nearest: (k,)"""
    while last > 0 and distances[nearest[last - 1]] > distances[place]:
        nearest[last] = nearest[last - 1]
        last -= 1
    nearest[last] = place


@part(fastmath={"nnan", "nsz", "reassoc"})
def least_of(distances, start, stop):
    """The smallest of some distances."""
    least = distances[start]
    for place in range(start + 1, stop):
        least = min(least, distances[place])
    return least


@step()
def take_smallest(values, count, nearest):
    """Places of the smallest values, the smallest first; how many. nearest: (k,)"""
    taken = min(count, nearest.shape[0])
    for place in range(taken):
        sort_in(values, place, nearest, place)
    for place in range(taken, count):
        if values[place] < values[nearest[taken - 1]]:
            sort_in(values, place, nearest, taken - 1)
    return taken


@step()
def take_nearest(distances, count, lows, nearest):
    """Places of the smallest distances, the smallest first; how many. nearest: (k,)

    Only blocks are searched whose smallest distance may be among them. lows: (blocks,)
    """
    n_blocks, wanted = (count + BLOCK - 1) // BLOCK, min(count, nearest.shape[0])
    if n_blocks <= wanted:
        return take_smallest(distances, count, nearest)
    for block in range(n_blocks):
        start = block * BLOCK
        lows[block] = least_of(distances, start, min(start + BLOCK, count))
    take_smallest(lows, n_blocks, nearest)
    bound, taken = lows[nearest[wanted - 1]], 0
    for block in range(n_blocks):
        if lows[block] > bound:
            continue
        for place in range(block * BLOCK, min(block * BLOCK + BLOCK, count)):
            if taken < wanted:
                sort_in(distances, place, nearest, taken)
                taken += 1
            elif distances[place] < distances[nearest[wanted - 1]]:
                sort_in(distances, place, nearest, wanted - 1)
    return taken


@kernel()
def say_neighbours(window, neighbours, row, params, work, output):
    """Class probabilities by the nearest rows; `work.nearest` ends as their places."""
    if neighbours is None:
        return 0
    count, n_classes = n_remembered(window, window.labels.shape[0]), output.shape[0]
    for k in range(n_classes):
        seen = neighbours.class_weights[k] + 1.0
        output[k] = params.prior * seen / (neighbours.weight[0] + n_classes)
    measure_window(window, neighbours, row, count, work.distances)
    taken = take_nearest(work.distances, count, work.lows, work.nearest)
    total = params.prior
    if taken > 0:
        last = max(work.distances[work.nearest[taken - 1]], LEAST_DISTANCE)
        for number in range(taken):
            place = work.nearest[number]
            closeness = 1.0 / (np.sqrt(work.distances[place] / last) + params.softness)
            closeness *= window.weights[place]
            output[window.labels[place]] += closeness
            total += closeness
    for k in range(n_classes):
        output[k] /= total
    return taken


@step()
def refit_neighbours(window, neighbours, params, work):
    """How much features count in distances, and how often classes are in the window."""
    if neighbours is None:
        return
    if neighbours.scales.shape[0] == 0:
        return
    count, means, weights = n_remembered(window, window.labels.shape[0]), work.means, work.weights
    classes, total = neighbours.class_weights, 0.0
    for k in range(classes.shape[0]):
        classes[k] = 0.0
    for place in range(count):
        classes[window.labels[place]] += window.weights[place]
        total += window.weights[place]
    neighbours.weight[0] = total
    for j in range(window.rows.shape[0]):
        values = window.rows[j]
        for k in range(classes.shape[0]):
            means[k], weights[k] = 0.0, 0.0
        for place in range(count):
            value = values[place]
            if value == value:
                means[window.labels[place]] += window.weights[place] * value
                weights[window.labels[place]] += window.weights[place]
        known, mean = 0.0, 0.0
        for k in range(classes.shape[0]):
            known += weights[k]
            mean += means[k]
            means[k] /= max(weights[k], 1.0)
        mean /= max(known, 1.0)
        neighbours.gaps[j] = known < total
        variance, between = 0.0, 0.0
        for place in range(count):
            away = values[place] - mean
            if away == away:
                variance += window.weights[place] * away * away
        for k in range(classes.shape[0]):
            between += weights[k] * (means[k] - mean) * (means[k] - mean)
        neighbours.scales[j] = np.float32(0.0)
        if known > 0.0 and variance / known > LEAST_SPREAD_OF_FEATURE:
            told = between / variance + params.least_share
            neighbours.scales[j] = np.float32(told * known / variance)
