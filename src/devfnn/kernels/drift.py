"""Drift: the test on the errors of the network, what follows from it, and how far rows repeat.

Errors since the last drift; the cut is where the error rate was lowest, and the bound knows that
the variance of rare errors is small (Bernstein's inequality). The paper's own test, inside one
chunk, is in `model/mechanisms/drift.py`.

After a drift the best lasting layer is kept as it is, for the day its concept returns; layers of an
adaptive memory keep where their rules hold, and start anew in what they say.

With autocorrelated labels errors are not independent, and the usual bounds give false alarms. A
label then differs from the one before less often than the shares of the classes allow, and by that
factor rows count less. With independent rows the factor is near 1, and counts as 1.
"""

import numpy as np

from devfnn.kernels._jit import kernel, part, step
from devfnn.kernels.boxes import copy_rule, free_rule, place_for_layer, start_anew
from devfnn.kernels.events import report
from devfnn.kernels.state import (
    CUT_ERRORS,
    CUT_ROWS,
    DRIFT_EVENT,
    DRIFT_IN_STREAM,
    FIRST_LABELS,
    INDEPENDENCE,
    KEPT_EVENT,
    LAST_LABEL,
    LEAST_ROW_WEIGHT,
    MEMORY,
    NEAR_CHANGES,
    NO_LAYER,
    REFEREE,
    SCORED,
    STEPS,
    TRACK_ERRORS,
    TRACK_ROWS,
    WATCHED,
)
from devfnn.kernels.votes import wake_layers

REPEAT_RATE = 1e-4
"""Of the running shares of classes, and of labels that differ from the one before. Runs of labels
can last hundreds of rows, and 10,000 hold enough of them."""

INDEPENDENT = 0.7
"""Ratios that count as independent: with `FIRST_LABELS` the standard error is 3 % for equal classes
and 22 % where one has a share of 1 %, so chance alone reaches 0.7. Streams with runs lie far below:
Electricity at 0.30."""


# ---- the test


@part()
def note_error(error_counts, error, significance):
    """Count one error; the cut moves to where the upper bound of the rate is lowest."""
    error_counts[TRACK_ROWS] += 1
    error_counts[TRACK_ERRORS] += error
    slack = np.sqrt(-0.5 * np.log(significance))
    rows, cut_rows = error_counts[TRACK_ROWS], error_counts[CUT_ROWS]
    upper = error_counts[TRACK_ERRORS] / rows + slack / np.sqrt(rows)
    if cut_rows == 0 or upper <= error_counts[CUT_ERRORS] / cut_rows + slack / np.sqrt(cut_rows):
        error_counts[CUT_ROWS] = rows
        error_counts[CUT_ERRORS] = error_counts[TRACK_ERRORS]


@kernel()
def note_errors(error_counts, errors, significance):
    """Count the errors of a chunk."""
    for row in range(errors.shape[0]):
        note_error(error_counts, errors[row], significance)


@kernel()
def compare_errors(error_counts, level):
    """Error rates before and after the cut, and the gap that chance explains. level: log(1 / alpha)

    The gap is infinite where there is nothing to compare.
    """
    before, after = error_counts[CUT_ROWS], error_counts[TRACK_ROWS] - error_counts[CUT_ROWS]
    if before == 0 or after == 0:
        return 0.0, 0.0, np.inf
    rate = error_counts[TRACK_ERRORS] / error_counts[TRACK_ROWS]
    share = 1.0 / before + 1.0 / after
    bound = np.sqrt(2.0 * rate * (1.0 - rate) * level * share) + level / (3.0 * after)
    error_after = (error_counts[TRACK_ERRORS] - error_counts[CUT_ERRORS]) / after
    return error_counts[CUT_ERRORS] / before, error_after, bound


@step()
def find_drift(progress, row, params, events):
    """Whether errors after the cut are more frequent than before, beyond chance."""
    if params.drift_test != DRIFT_IN_STREAM:
        return False
    error_counts = progress.errors
    level = -np.log(params.drift_significance) / progress.signals[INDEPENDENCE]
    error_before, error_after, bound = compare_errors(error_counts, level)
    if error_after - error_before <= bound:
        return False
    facts = (error_before, error_after, bound, float(error_counts[CUT_ROWS]))
    report(events, row, DRIFT_EVENT, 0, 0, 0, facts)
    for place in range(error_counts.shape[0]):
        error_counts[place] = 0
    return True


# ---- how far rows repeat each other


@part()
def watch_label(progress, label):
    """Take in a label, and whether it differs from the one before."""
    signals, shares = progress.signals, progress.label_shares
    watched = signals[WATCHED]
    for k in range(shares.shape[0]):
        own = 1.0 if k == label else 0.0
        shares[k] += max(REPEAT_RATE, 1.0 / (watched + 1.0)) * (own - shares[k])
    if watched > 0.0:
        differs = 1.0 if label != signals[LAST_LABEL] else 0.0
        change = differs - signals[NEAR_CHANGES]
        signals[NEAR_CHANGES] += max(REPEAT_RATE, 1.0 / watched) * change
    signals[LAST_LABEL] = label
    signals[WATCHED] += 1.0


@part()
def weigh_rows(progress):
    """Update the effective weight of one row."""
    signals, same = progress.signals, 0.0
    for k in range(progress.label_shares.shape[0]):
        same += progress.label_shares[k] * progress.label_shares[k]
    near, expected = signals[NEAR_CHANGES], 1.0 - same
    if signals[WATCHED] < FIRST_LABELS or near >= INDEPENDENT * expected:
        signals[INDEPENDENCE] = 1.0
    else:
        signals[INDEPENDENCE] = max(near / expected, LEAST_ROW_WEIGHT)


# ---- what follows


@part()
def best_lasting(layers, pool, params):
    """The best of the layers that have the whole of the adaptive memory, kept ones included."""
    best, own = -1, params.pool
    for layer in range(layers.kinds.shape[0]):
        if layers.kinds[layer] == NO_LAYER or pool.n_members[layer] == 0:
            continue
        if layer < params.n_configured:
            if own.memories[layer] > 0.0 or own.memory_shares[layer] < 1.0:
                continue
        if best < 0 or layers.scores[layer] > layers.scores[best]:
            best = layer
    return best


@step()
def keep_layer(state, source, row, params, events):
    """Copy a layer as it is to a place of its own, and say which; its own if there is no room."""
    layers, pool = state.layers, state.pool
    place = place_for_layer(state, pool.n_members[source], row, params, events)
    if place == NO_LAYER:
        return source
    rows = 0
    for number in range(pool.n_members[source]):
        rule, copy = pool.members[source, number], free_rule(pool)
        copy_rule(pool, rule, copy)
        pool.owners[copy] = place
        pool.members[place, number] = copy
        rows += pool.ages[rule]
    pool.n_members[place] = pool.n_members[source]
    layers.kinds[place] = layers.kinds[source]
    layers.origins[place] = layers.origins[source]
    layers.scores[place] = layers.scores[source]
    layers.rests[place] = 0
    layers.last_wins[place] = state.progress.counts[STEPS]
    facts = (float(rows), layers.scores[source], 0.0, 0.0)
    report(events, row, KEPT_EVENT, place, source, pool.n_members[source], facts)
    return place


@step()
def respond_to_drift(state, pool, row, params, events):
    """Keep the best layer for later, and start those of an adaptive memory anew.

    Returns where it is kept, and which it was; twice the same if nothing is kept.
    """
    if pool is None:
        return 0, 0
    layers, progress = state.layers, state.progress
    best = best_lasting(layers, pool, params)
    place = best
    if params.keeps_layers and best < params.n_configured:
        place = keep_layer(state, best, row, params, events)
    for layer in range(params.n_configured):
        if pool.n_members[layer] > 0 and params.pool.memories[layer] == 0.0:  # adaptive
            start_anew(pool, layer)
    wake_layers(state, params)
    progress.signals[MEMORY] = params.pool.shortest_memory
    progress.signals[REFEREE] = 0.0
    doubt = 1.0 - progress.signals[INDEPENDENCE]  # alarms are less reliable where rows repeat
    progress.counts[SCORED] = int(doubt * progress.counts[SCORED])
    return place, best
