"""Rules with clouds as IF part: round Gaussians, each of one class, that follow the rows.

The class of a row is that of the clouds it most likely comes from. A row that its own class hardly
explains founds a cloud; when there is no room, in place of the emptiest.
"""

import numpy as np

from devfnn.kernels._jit import part

DOUBT = 0.02
"""Probability that is spread over all classes, whatever the clouds say."""

REFRESH_ROWS = 64
"""Rows between two fadings of all masses."""

LEAST_MASS, FIRST_MASS, MASS_OF_ROW = 1e-3, 0.02, 0.025

FIRST_SPREAD, LEAST_SPREAD = 0.02, 1e-5

OUT_OF_REACH = 10.0
"""Log densities further than this below the best count as none."""

NEGLIGIBLE = 0.01
"""Share of a row below which a cloud does not move."""


@part()
def set_height(state, cloud):
    """Log density at the centre of a cloud, up to a constant."""
    n = state.cloud_centers.shape[0]
    spread = np.log(state.cloud_spreads[cloud])
    state.cloud_heights[cloud] = np.log(state.cloud_masses[cloud]) - 0.5 * n * spread


@part()
def measure_clouds(state, row, work):
    """Squared distances of a row to all clouds; absent features lie on every centre."""
    count = state.n_clouds[0]
    for cloud in range(count):
        work.distances[cloud] = 0.0
    for j in range(row.shape[0]):
        value = row[j]
        if value == value:
            centers = state.cloud_centers[j]
            for cloud in range(count):
                away = value - centers[cloud]
                work.distances[cloud] += away * away


@part()
def cloud_shares(state, row, work, output):
    """Class probabilities by the clouds; `work.heights` ends as their densities at the row."""
    count = state.n_clouds[0]
    n_classes = output.shape[0]
    measure_clouds(state, row, work)
    top = -np.inf
    for cloud in range(count):
        spread = state.cloud_spreads[cloud]
        height = state.cloud_heights[cloud] - 0.5 * work.distances[cloud] / spread
        work.heights[cloud] = height
        top = max(top, height)
    for k in range(n_classes):
        output[k] = 0.0
    total = 0.0
    for cloud in range(count):
        below = top - work.heights[cloud]
        density = np.exp(-below) if below < OUT_OF_REACH else 0.0
        work.heights[cloud] = density
        output[state.cloud_labels[cloud]] += density
        total += density
    for k in range(n_classes):
        share = output[k] / total if total > 0.0 else 1.0 / n_classes
        output[k] = (1.0 - DOUBT) * share + DOUBT / n_classes


@part()
def emptiest_cloud(state):
    """The cloud with the smallest mass."""
    emptiest = 0
    for cloud in range(1, state.n_clouds[0]):
        if state.cloud_masses[cloud] < state.cloud_masses[emptiest]:
            emptiest = cloud
    return emptiest


@part()
def found_cloud(state, row, label, work):
    """A new cloud around a row, half as wide as the densest of its class there."""
    parent = -1
    for cloud in range(state.n_clouds[0]):
        if state.cloud_labels[cloud] == label:
            if parent < 0 or work.heights[cloud] > work.heights[parent]:
                parent = cloud
    spread = 0.5 * state.cloud_spreads[parent] if parent >= 0 else FIRST_SPREAD
    if state.n_clouds[0] < state.cloud_labels.shape[0]:
        cloud = state.n_clouds[0]
        state.n_clouds[0] += 1
    else:
        cloud = emptiest_cloud(state)
    for j in range(row.shape[0]):
        state.cloud_centers[j, cloud] = row[j] if row[j] == row[j] else 0.5
    state.cloud_labels[cloud] = label
    state.cloud_spreads[cloud] = max(spread, LEAST_SPREAD)
    state.cloud_masses[cloud] = FIRST_MASS
    set_height(state, cloud)


@part()
def move_clouds(state, row, label, weight, habits, work):
    """Let the clouds of the row's class share it by their densities."""
    own = 0.0
    for cloud in range(state.n_clouds[0]):
        if state.cloud_labels[cloud] == label:
            own += work.heights[cloud]
    n = row.shape[0]
    for cloud in range(state.n_clouds[0]):
        if state.cloud_labels[cloud] != label or work.heights[cloud] <= NEGLIGIBLE * own:
            continue
        share = work.heights[cloud] / own
        rate = min(habits.cloud_rate * share * weight, 0.5)
        state.cloud_masses[cloud] += MASS_OF_ROW * share * weight
        for j in range(n):
            if row[j] == row[j]:
                away = row[j] - state.cloud_centers[j, cloud]
                state.cloud_centers[j, cloud] += rate * away
        wider = work.distances[cloud] / n - state.cloud_spreads[cloud]
        spread = state.cloud_spreads[cloud] + rate * wider
        state.cloud_spreads[cloud] = max(spread, LEAST_SPREAD)
        set_height(state, cloud)


@part()
def fade_clouds(state, memory):
    """Let all masses fade by the rows since the last time."""
    kept = memory**REFRESH_ROWS
    for cloud in range(state.n_clouds[0]):
        state.cloud_masses[cloud] = max(state.cloud_masses[cloud] * kept, LEAST_MASS)
        set_height(state, cloud)


@part()
def learn_clouds(state, row, said, lesson, habits, work):
    """One row: found a cloud, or move those of its class. lesson: label, weight of the row"""
    label, weight = lesson
    if state.n_clouds[0] == 0 or said[label] < habits.cloud_birth:
        found_cloud(state, row, label, work)
    else:
        move_clouds(state, row, label, weight, habits, work)
