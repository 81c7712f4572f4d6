"""Neighbours: the rows of the window nearest to a row, each a rule for its own class.

Distances count a feature by how far it tells the classes of the window apart: a share of its
variance lies between classes, the rest within them.
"""

import numpy as np

from devfnn.kernels._jit import kernel, part, step, sum_part
from devfnn.kernels.window import n_remembered

LEAST_SPREAD_OF_FEATURE = 1e-8
"""Of a feature that is used: 0.01 % of its range."""

GROUP = 64
"""Rows of which the nearest is found first: a hundredth of a usual window."""

STRETCH = 512
"""Rows whose distances are found together: 2 kB."""

LEAST_DISTANCE = 1e-20
"""Squared, of the last neighbour: all may be the same row."""

BEYOND_OTHERS = 1e38
"""Squared distance of a row that lacks what others have: farther than all, but a number."""


@sum_part()
def add_distances(values, value, scale, distances):
    """Add what one feature makes of the distances to rows. values, distances: (k,) single"""
    for place in range(values.shape[0]):
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
    """Squared distances of a row to all rows of the window; absent features are left out.

    Some rows at a time, so that their distances stay near at hand.
    """
    for start in range(0, count, STRETCH):
        stop = min(start + STRETCH, count)
        own = distances[start:stop]
        for place in range(own.shape[0]):
            own[place] = np.float32(0.0)
        for j in range(row.shape[0]):
            scale = neighbours.scales[j]
            if scale > 0.0 and row[j] == row[j] and not neighbours.gaps[j]:
                add_distances(window.rows[j, start:stop], np.float32(row[j]), scale, own)
    for j in range(row.shape[0]):
        if neighbours.gaps[j] and neighbours.scales[j] > 0.0 and row[j] == row[j]:
            value, scale = np.float32(row[j]), neighbours.scales[j]
            add_known_distances(window.rows[j], count, value, scale, distances)
    for place in range(count):  # of rows with gaps that came since the features were looked at
        if distances[place] != distances[place]:
            distances[place] = BEYOND_OTHERS


@part()
def is_before(values, one, other):
    """Whether one place comes before another: by its value, or else as it stands."""
    return values[one] < values[other] or (values[one] == values[other] and one < other)


@part()
def sort_in(values, place, nearest, last):
    """Put a place before all that come after it; the one at `last` goes. nearest: (k,)"""
    while last > 0 and is_before(values, place, nearest[last - 1]):
        nearest[last] = nearest[last - 1]
        last -= 1
    nearest[last] = place


@step()
def take_smallest(values, count, nearest):
    """Places of the smallest values, the smallest first; how many. nearest: (k,)"""
    taken = min(count, nearest.shape[0])
    for place in range(taken):
        sort_in(values, place, nearest, place)
    for place in range(taken, count):
        if is_before(values, place, nearest[taken - 1]):
            sort_in(values, place, nearest, taken - 1)
    return taken


@part()
def lower(lows, values):
    """Lower what is above the values beside it. lows: at least as long as values"""
    for group in range(values.shape[0]):
        lows[group] = values[group] if values[group] < lows[group] else lows[group]


@step()
def take_nearest(distances, count, lows, nearest):
    """Places of the smallest distances, the smallest first; how many. nearest: (k,)

    Every so many places are a group. Only groups are searched whose smallest distance may be among
    them. lows: (groups,)
    """
    n_groups, wanted = (count + GROUP - 1) // GROUP, min(count, nearest.shape[0])
    if n_groups <= wanted:
        return take_smallest(distances, count, nearest)
    for group in range(n_groups):
        lows[group] = distances[group]
    for start in range(n_groups, count, n_groups):
        lower(lows, distances[start : min(start + n_groups, count)])
    take_smallest(lows, n_groups, nearest)
    bound, taken = lows[nearest[wanted - 1]], 0
    for group in range(n_groups):
        if lows[group] > bound:
            continue
        for place in range(group, count, n_groups):
            if distances[place] > bound:
                continue
            if taken < wanted:
                sort_in(distances, place, nearest, taken)
                taken += 1
            elif is_before(distances, place, nearest[wanted - 1]):
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
