"""Rules with clouds as IF part: round Gaussians, each of one class, that follow the rows.

The class of a row is that of the clouds it most likely comes from. A row that its own class hardly
explains founds a cloud; when there is no room, in place of the emptiest.
"""

import numpy as np

from devfnn.kernels._jit import part, step

REFRESH_ROWS = 64
"""Rows between two fadings of all masses, each by as many rows: fading costs as much as a row."""

LEAST_MASS, LEAST_SPREAD = 1e-3, 1e-5
"""Keep logarithms and densities finite: a thousandth of a row, and 0.3 % of a range as width."""

OUT_OF_REACH = 10.0
"""Log densities further than this below the best count as none: exp(-10) changes no vote."""

MOVING_SHARE = 0.01
"""Share of a row that moves a cloud: by less than 1 % of `clouds.rate` would only cost time."""

NARROWER = 0.5
"""Spread of a new cloud against the densest of its class there, which was too wide to explain the
row: 0.7 of its width. It is only a start: 1 / `clouds.rate` rows replace it."""

FASTEST_RATE = 0.5
"""Most that a row moves a cloud: a heavy row (weights may be large) halves the distance."""


@part()
def set_height(clouds, cloud):
    """Log density at the centre of a cloud, up to a constant."""
    n = clouds.centers.shape[0]
    spread = np.log(clouds.spreads[cloud])
    clouds.heights[cloud] = np.log(clouds.masses[cloud]) - 0.5 * n * spread


@part()
def measure_clouds(clouds, row, distances):
    """Squared distances of a row to all clouds; absent features lie on every centre."""
    count = clouds.count[0]
    for cloud in range(count):
        distances[cloud] = 0.0
    for j in range(row.shape[0]):
        value = row[j]
        if value == value:
            centers = clouds.centers[j]
            for cloud in range(count):
                away = value - centers[cloud]
                distances[cloud] += away * away


@step()
def say_clouds(clouds, row, params, work, output):
    """Class probabilities by the clouds; `work.heights` ends as their densities at the row."""
    if clouds is None:
        return
    count, n_classes = clouds.count[0], output.shape[0]
    heights, distances = work.heights, work.distances
    spreads, labels = clouds.spreads, clouds.labels
    measure_clouds(clouds, row, distances)
    top, own = -np.inf, clouds.heights
    for cloud in range(count):
        height = own[cloud] - 0.5 * distances[cloud] / spreads[cloud]
        heights[cloud] = height
        top = max(top, height)
    for k in range(n_classes):
        output[k] = 0.0
    total = 0.0
    for cloud in range(count):
        below = top - heights[cloud]
        density = np.exp(-below) if below < OUT_OF_REACH else 0.0
        heights[cloud] = density
        output[labels[cloud]] += density
        total += density
    for k in range(n_classes):
        share = output[k] / total if total > 0.0 else 1.0 / n_classes
        output[k] = (1.0 - params.doubt) * share + params.doubt / n_classes


@part()
def emptiest_cloud(clouds):
    """The cloud with the smallest mass."""
    emptiest = 0
    for cloud in range(1, clouds.count[0]):
        if clouds.masses[cloud] < clouds.masses[emptiest]:
            emptiest = cloud
    return emptiest


@part()
def found_cloud(clouds, row, label, params, heights):
    """A new cloud around a row, narrower than the densest of its class there."""
    parent = -1
    for cloud in range(clouds.count[0]):
        if clouds.labels[cloud] == label:
            if parent < 0 or heights[cloud] > heights[parent]:
                parent = cloud
    spread = NARROWER * clouds.spreads[parent] if parent >= 0 else params.first_spread
    if clouds.count[0] < clouds.labels.shape[0]:
        cloud = clouds.count[0]
        clouds.count[0] += 1
    else:
        cloud = emptiest_cloud(clouds)
    for j in range(clouds.centers.shape[0]):
        clouds.centers[j, cloud] = row[j] if row[j] == row[j] else 0.5
    clouds.labels[cloud] = label
    clouds.spreads[cloud] = max(spread, LEAST_SPREAD)
    clouds.masses[cloud] = params.first_mass
    set_height(clouds, cloud)


@part()
def move_clouds(clouds, row, sample, params, work):
    """Let the clouds of the row's class share it by their densities. sample: label, weight"""
    label, weight = sample
    heights, distances = work.heights, work.distances
    labels, centers = clouds.labels, clouds.centers
    own = 0.0
    for cloud in range(clouds.count[0]):
        if labels[cloud] == label:
            own += heights[cloud]
    n = centers.shape[0]  # what other layers say may follow in the row
    for cloud in range(clouds.count[0]):
        if labels[cloud] != label or heights[cloud] <= MOVING_SHARE * own:
            continue
        share = heights[cloud] / own
        rate = min(params.rate * share * weight, FASTEST_RATE)
        clouds.masses[cloud] += params.row_mass * share * weight
        for j in range(n):
            if row[j] == row[j]:
                centers[j, cloud] += rate * (row[j] - centers[j, cloud])
        wider = distances[cloud] / n - clouds.spreads[cloud]
        spread = clouds.spreads[cloud] + rate * wider
        clouds.spreads[cloud] = max(spread, LEAST_SPREAD)
        set_height(clouds, cloud)


@step()
def fade_clouds(clouds, n_rows, params):
    """Let all masses fade by the rows since the last time, now and then. n_rows: learned so far"""
    if clouds is None:
        return
    if n_rows % REFRESH_ROWS == 0:
        kept = params.memory**REFRESH_ROWS
        for cloud in range(clouds.count[0]):
            clouds.masses[cloud] = max(clouds.masses[cloud] * kept, LEAST_MASS)
            set_height(clouds, cloud)


@step()
def learn_clouds(clouds, row, said, sample, params, work):
    """One row: found a cloud, or move those of its class. sample: label, weight of the row"""
    if clouds is None:
        return
    label, _ = sample
    if clouds.count[0] == 0 or said[label] < params.birth:
        found_cloud(clouds, row, label, params, work.heights)
    else:
        move_clouds(clouds, row, sample, params, work)
