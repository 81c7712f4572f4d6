"""The vote of a concept network: by the share of rows that each layer had right of late."""

import numpy as np

from devfnn.kernels._jit import part
from devfnn.kernels.concept_state import (
    CALM_CURVE,
    FIRST_KEPT,
    INDEPENDENCE,
    LIVELY_CURVE,
    NO_LAYER,
    SCORED,
    STEADY_LINE,
)
from devfnn.kernels.votes import best_class


@part()
def is_idle(state, layer):
    """Whether there is no layer at this place, or it rests."""
    return state.kinds[layer] == NO_LAYER or state.rests[layer] > 0


@part()
def best_layer(state):
    """The layer with the highest score; the first of equals."""
    best = STEADY_LINE
    for layer in range(state.kinds.shape[0]):
        if not is_idle(state, layer) and state.scores[layer] > state.scores[best]:
            best = layer
    return best


ROWS_PER_WEIGHT = 10.0
"""Independent rows that a rule should have seen for each of its weights."""


@part()
def head_start(state, layer, habits):
    """Factor on the vote of the two single curves where rows repeat each other.

    They neither split nor start anew, so they follow chance least; the more so, the more
    independent rows their memory holds for every weight.
    """
    if layer not in (LIVELY_CURVE, CALM_CURVE):
        return 1.0
    independence = state.course[INDEPENDENCE]
    rows = habits.longest_rows if layer == CALM_CURVE else habits.shortest_rows
    seen, wanted = rows * independence, ROWS_PER_WEIGHT * state.caps.shape[0]
    return max(seen / (seen + wanted) / independence, 1.0)


@part()
def share_votes(state, habits, shares):
    """Voting weights from the scores: a power of the odds that a layer is as good as the best.

    Where rows repeat each other a lead says less, and the two single curves have a head start.
    """
    top = state.scores[best_layer(state)]
    worth = np.sqrt(state.course[INDEPENDENCE])
    total = 0.0
    for layer in range(state.kinds.shape[0]):
        shares[layer] = 0.0
        if not is_idle(state, layer):
            lead = habits.vote_rows * (state.scores[layer] - top) * worth
            shares[layer] = np.exp(habits.vote_sharpness * lead)
            shares[layer] *= head_start(state, layer, habits)
        total += shares[layer]
    for layer in range(state.kinds.shape[0]):
        shares[layer] /= total


@part()
def combine(outputs, shares, probabilities):
    """The vote of the layers. outputs: (L, m)"""
    probabilities[:] = 0.0
    for layer in range(shares.shape[0]):
        if shares[layer] > 0.0:
            for k in range(probabilities.shape[0]):
                probabilities[k] += shares[layer] * outputs[layer, k]


@part()
def score_layers(state, outputs, label, habits):
    """Let a row move the scores, and what is known of kept layers that say the same.

    After a drift the scores are means of the rows since then, until these are enough. Where rows
    repeat each other it takes more of them.
    """
    state.clock[SCORED] += 1
    rate = 1.0 / habits.vote_rows
    score_rate = max(rate * state.course[INDEPENDENCE], 1.0 / state.clock[SCORED])
    n_layers = state.kinds.shape[0]
    for layer in range(n_layers):
        if not is_idle(state, layer):
            right = 1.0 if best_class(outputs[layer]) == label else 0.0
            state.scores[layer] += score_rate * (right - state.scores[layer])
    for first in range(FIRST_KEPT, n_layers):
        if is_idle(state, first):
            continue
        for second in range(first + 1, n_layers):
            if not is_idle(state, second):
                differs = best_class(outputs[first]) != best_class(outputs[second])
                past = state.disagreements[first, second]
                change = rate * ((1.0 if differs else 0.0) - past)
                state.disagreements[first, second] = past + change
                state.compared[first, second] += 1.0
