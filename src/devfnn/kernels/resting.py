"""Layers that earn their keep: a dear layer rests while the answer is as good without it.

With stacked layers, its worth is what the log-loss of their answers would lose if it said what the
vote says; without, its share of the vote. A layer that rests shows itself again on trial, at
growing distances, and after every drift.
"""

import numpy as np

from devfnn.kernels._jit import part, step
from devfnn.kernels.events import report
from devfnn.kernels.state import RESTED_EVENT, SCORED, WOKEN_EVENT
from devfnn.kernels.votes import has_stack, is_idle, share_votes

MOST_DOUBLINGS = 30
"""So that a shift stays within a number."""

LEAST_LIKELIHOOD = 1e-15
"""Keeps the logarithm of the probability of a label finite."""


# ---- what a layer is worth


@part()
def log_share_without(heard, weights, layer, label, logits):
    """Log probability of a label if a layer said what the vote says. logits: (m,) with the layer"""
    n_inputs, n_classes = heard.shape
    top, total, own = -np.inf, 0.0, 0.0
    for k in range(n_classes):
        value = logits[k] - weights[layer] * (heard[layer, k] - heard[n_inputs - 1, k])
        top = max(top, value)
    for k in range(n_classes):
        value = logits[k] - weights[layer] * (heard[layer, k] - heard[n_inputs - 1, k])
        total += np.exp(value - top)
        if k == label:
            own = value
    return own - top - np.log(total)


@part()
def add_logits(heard, weights, logits):
    """What a stacked layer says before it is made probabilities. logits: (m,)"""
    for k in range(logits.shape[0]):
        logits[k] = 0.0
    for each in range(heard.shape[0]):
        if weights[each] != 0.0:
            for k in range(logits.shape[0]):
                logits[k] += weights[each] * heard[each, k]


@step()
def weigh_worth(state, outputs, label, params, work):
    """Let a labelled row count for what dear layers are worth. outputs: (L, m)

    `work.heard` is what the stacked layers heard of the row.
    """
    layers, stacked, own, n_open = state.layers, state.stacked, params.stacked, 0
    for layer in range(own.first):
        work.losses[layer] = 0.0
    for place in range(stacked.weights.shape[0]):
        if not own.takes[place, 0]:
            continue
        weights, n_open = stacked.weights[place], n_open + 1
        add_logits(work.heard, weights, work.logits)
        said = np.log(max(outputs[own.first + place, label], LEAST_LIKELIHOOD))
        for layer in range(own.first):
            if params.is_dear[layer] and not is_idle(layers, layer) and weights[layer] > 0.0:
                without = log_share_without(work.heard, weights, layer, label, work.logits)
                work.losses[layer] += said - without
    for layer in range(own.first):
        if params.is_dear[layer] and not is_idle(layers, layer) and n_open > 0:
            layers.watched[layer] += 1
            rate = max(1.0 / params.worth_rows, 1.0 / layers.watched[layer])
            layers.worths[layer] += rate * (work.losses[layer] / n_open - layers.worths[layer])


# ---- rest and trial


@part()
def has_shown(state, layer, params, shares):
    """Whether a layer had time to show what it is worth, what that is, and what it must be."""
    if has_stack(state.stacked):
        watched = state.layers.watched[layer] >= params.trial_rows
        return watched, state.layers.worths[layer], params.least_worth
    has_had_time = state.progress.counts[SCORED] >= params.grace_rows
    return has_had_time, shares[layer], params.rest_share


@part()
def start_trial(state, layer, stacked, params):
    """Let a layer show itself again: stacked layers trust it as they did when they began."""
    state.layers.rests[layer] = 0
    if state.layers.watched.shape[0] > 0:
        state.layers.watched[layer] = 0
        state.layers.worths[layer] = 0.0
    if stacked is None:
        return
    for place in range(stacked.weights.shape[0]):
        information = stacked.information[place]
        stacked.weights[place, layer] = params.stacked.starts[place, layer]
        for other in range(information.shape[0]):
            information[max(layer, other), min(layer, other)] = 0.0
        information[layer, layer] = params.stacked.ridges[place]


@part()
def start_rest(layers, layer, row, facts, params, events):
    """Let a layer rest, below a stack each time twice as long. facts: worth, needed"""
    steps = params.rest_steps
    if layers.naps.shape[0] > 0:
        steps = min(steps << min(layers.naps[layer], MOST_DOUBLINGS), params.most_rest_steps)
        layers.naps[layer] += 1
    layers.rests[layer] = steps
    report(events, row, RESTED_EVENT, layer, steps, 0, facts)


@part()
def forget_naps(layers, layer):
    """The next rest of a layer is a short one again."""
    if layers.naps.shape[0] > 0:
        layers.naps[layer] = 0


@step()
def rest_layers(state, row, params, shares, events):
    """Layers that have rested come back on trial, and others may rest.

    Of layers that are worth something, but too little, one at a time: two that say the same are
    each worth nothing as long as the other is there.
    """
    layers, idlest, least = state.layers, -1, 0.0
    share_votes(state, params, shares)
    for layer in range(params.n_configured):
        if not params.is_dear[layer]:
            continue
        if layers.rests[layer] > 1:
            layers.rests[layer] -= 1
        elif layers.rests[layer] == 1:
            start_trial(state, layer, state.stacked, params)
            report(events, row, WOKEN_EVENT, layer, 0, 0, (0.0, 0.0, 0.0, 0.0))
        else:
            is_shown, worth, needed = has_shown(state, layer, params, shares)
            if is_shown and worth >= needed:
                forget_naps(layers, layer)
            elif is_shown and worth <= 0.0:
                start_rest(layers, layer, row, (worth, needed, 0.0, 0.0), params, events)
            elif is_shown and (idlest < 0 or worth < least):
                idlest, least = layer, worth
    if idlest >= 0:
        _, worth, needed = has_shown(state, idlest, params, shares)
        start_rest(layers, idlest, row, (worth, needed, 0.0, 0.0), params, events)


@part()
def wake_layers(state, params):
    """After a drift, what layers had right was right before: all show themselves again."""
    for layer in range(params.n_configured):
        if params.is_dear[layer] and state.layers.rests[layer] > 0:
            start_trial(state, layer, state.stacked, params)
            forget_naps(state.layers, layer)
