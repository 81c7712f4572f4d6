"""Drift inside the concept network: the test on its errors, and what follows from it.

The test is that of `model/drift.py` over the stream, with the same bounds. After a drift the best
layer is kept as it is, for the day its concept returns; the layers that learn on keep where their
rules hold, and start anew in what they say.
"""

import numpy as np

from devfnn.kernels._jit import kernel, part
from devfnn.kernels.concept_state import (
    BOX_LAYER,
    BRISK_LINE,
    CLOUD_LAYER,
    CUT_ERRORS,
    CUT_ROWS,
    DRIFT_LINE,
    FIRST_KEPT,
    INDEPENDENCE,
    KEPT_LINE,
    MEMORY,
    NO_LAYER,
    REFEREE,
    SCORED,
    STEADY_LINE,
    STEPS,
    TRACK_ERRORS,
    TRACK_ROWS,
)
from devfnn.kernels.diary import note
from devfnn.kernels.logistic import start_gains
from devfnn.kernels.pool import copy_rule, free_rule, place_for_layer


@part()
def note_error(track, error, habits):
    """Take in one error; the cut moves to wherever the bounded rate is lowest."""
    track[TRACK_ROWS] += 1
    track[TRACK_ERRORS] += error
    slack = np.sqrt(-0.5 * np.log(habits.drift_significance))
    rows, cut_rows = track[TRACK_ROWS], track[CUT_ROWS]
    upper = track[TRACK_ERRORS] / rows + slack / np.sqrt(rows)
    if cut_rows == 0 or upper <= track[CUT_ERRORS] / cut_rows + slack / np.sqrt(cut_rows):
        track[CUT_ROWS] = rows
        track[CUT_ERRORS] = track[TRACK_ERRORS]


@part()
def find_drift(state, index, habits, diary):
    """Whether errors after the cut are more frequent than before, beyond chance."""
    track = state.track
    before, after = track[CUT_ROWS], track[TRACK_ROWS] - track[CUT_ROWS]
    if not habits.growing or before == 0 or after == 0:
        return False
    rate = track[TRACK_ERRORS] / track[TRACK_ROWS]
    level = -np.log(habits.drift_significance)
    share = 1.0 / before + 1.0 / after
    level /= state.course[INDEPENDENCE]
    bound = np.sqrt(2.0 * rate * (1.0 - rate) * level * share) + level / (3.0 * after)
    error_before = track[CUT_ERRORS] / before
    error_after = (track[TRACK_ERRORS] - track[CUT_ERRORS]) / after
    if error_after - error_before <= bound:
        return False
    facts = (error_before, error_after, bound, float(before))
    note(diary, index, DRIFT_LINE, 0, 0, 0, facts)
    track[:] = 0
    return True


@part()
def best_of_lasting(state):
    """The best of the layers that have a long memory, kept ones included."""
    best = STEADY_LINE
    if state.scores[BOX_LAYER] > state.scores[best]:
        best = BOX_LAYER
    for layer in range(FIRST_KEPT, state.kinds.shape[0]):
        if state.kinds[layer] != NO_LAYER and state.scores[layer] > state.scores[best]:
            best = layer
    return best


@part()
def keep_layer(state, source, index, diary):
    """Copy a layer as it is to a place of its own, and say which; its own if there is no room."""
    place = place_for_layer(state, state.n_members[source], index, diary)
    if place == NO_LAYER:
        return source
    rows = 0
    for number in range(state.n_members[source]):
        rule, copy = state.members[source, number], free_rule(state)
        copy_rule(state, rule, copy)
        state.owners[copy] = place
        state.members[place, number] = copy
        rows += state.ages[rule]
    state.n_members[place] = state.n_members[source]
    state.kinds[place] = state.kinds[source]
    state.scores[place] = state.scores[source]
    state.rests[place] = 0
    state.last_wins[place] = state.clock[STEPS]
    facts = (float(rows), state.scores[source], 0.0, 0.0)
    note(diary, index, KEPT_LINE, place, source, state.n_members[source], facts)
    return place


@part()
def start_anew(state, layer):
    """Forget what the rules of a layer say; where they hold stays."""
    for index in range(state.n_members[layer]):
        rule = state.members[layer, index]
        state.weights[rule] = 0.0
        start_gains(state.gains[rule], state.caps)
        state.evidence[rule] = 0.0
        state.crossings[rule] = 0.0
        state.ages[rule] = 0
        state.class_counts[rule] = 0.0


@kernel()
def respond(state, index, habits, diary):
    """Keep the best layer for later, and start the others anew.

    Returns where it is kept, and which it was; twice the same if nothing is kept.
    """
    best = best_of_lasting(state)
    place = best
    if habits.recall and best < FIRST_KEPT:
        place = keep_layer(state, best, index, diary)
    start_anew(state, BRISK_LINE)
    start_anew(state, STEADY_LINE)
    start_anew(state, BOX_LAYER)
    state.rests[CLOUD_LAYER] = 0  # what they had right was right before
    state.course[MEMORY] = habits.shortest_rows
    state.course[REFEREE] = 0.0
    doubt = 1.0 - state.course[INDEPENDENCE]  # alarms are less reliable where rows repeat
    state.clock[SCORED] = int(doubt * state.clock[SCORED])
    return place, best
