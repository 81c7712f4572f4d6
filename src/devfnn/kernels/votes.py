"""The vote of the layers: how they make one prediction, and how rows move their weights.

Forms of the weights: by accuracy, a power of the odds that a layer is as good as the best of late;
by reward and punishment, as the paper has it; by the fading likelihood of the labels; all equal.

Layers that earn their keep: a dear layer rests while the answer is as good without it.

With stacked layers, its worth is what the log-loss of their answers would lose if it said what the
vote says; without, its share of the vote. A layer that rests shows itself again on trial, at
growing distances, and after every drift.
"""

import numpy as np

from devfnn.kernels._jit import borrowed, kernel, part, step
from devfnn.kernels.boosted import forget_trees
from devfnn.kernels.events import report
from devfnn.kernels.state import (
    BY_ACCURACY,
    BY_LIKELIHOOD,
    BY_REWARD,
    FIRST_LABELS,
    GAUSSIAN,
    INDEPENDENCE,
    NO_LAYER,
    PRIOR,
    RESTED_EVENT,
    SCORED,
    STACKED,
    WATCHED,
    WOKEN_EVENT,
)

LEAST_LIKELIHOOD = 0.01
"""Least likelihood of a label: one wrong label is no proof, and with the default
`voting.sharpness`, which says how much a label counts, costs a layer 13 % of its weight at most."""


FIRST_TRIALS = 4
"""Trials that the first one of a layer is as long as: it begins with nothing."""

MOST_DOUBLINGS = 30
"""So that a shift stays within a number."""


@part()
def best_class(values):
    """Index of the largest value, the first of equals."""
    best = 0
    for k in range(1, values.shape[0]):
        if values[k] > values[best]:
            best = k
    return best


@part()
def is_idle(layers, layer):
    """Whether there is no layer at this place, or it is merged, or it rests."""
    return layers.kinds[layer] == NO_LAYER or layers.is_merged[layer] or layers.rests[layer] > 0


@part()
def leading_layer(layers, params):
    """The layer with the most say below the stack; of equals the first, or the one set to lead."""
    by_accuracy = params.votes == BY_ACCURACY
    best = params.first_leader
    if is_idle(layers, best):
        best = -1
    for layer in range(layers.kinds.shape[0]):
        if is_idle(layers, layer) or layers.kinds[layer] == STACKED:
            continue
        if best < 0:
            best = layer
        elif by_accuracy:
            if layers.scores[layer] > layers.scores[best]:
                best = layer
        elif layers.voting_weights[layer] > layers.voting_weights[best]:
            best = layer
    return best


@part()
def head_start(state, pool, layer, params):
    """Factor on the vote of some layers where rows repeat each other: they follow chance least.

    Class frequencies have hardly a number that could. Single curves of a fixed memory neither split
    nor start anew: the more independent rows it holds for every weight, the larger theirs.
    """
    if pool is None:
        return 1.0
    if state.layers.kinds[layer] == PRIOR:
        return 1.0 / state.progress.signals[INDEPENDENCE]
    if layer >= params.n_configured or not params.pool.head_starts[layer]:
        return 1.0
    independence = state.progress.signals[INDEPENDENCE]
    seen = params.pool.memories[layer] * independence
    wanted = params.rows_per_weight * pool.caps.shape[0]
    return max(seen / (seen + wanted) / independence, 1.0)


@part()
def share_among(state, params, is_stacked, power, shares):
    """Voting weights by accuracy of the stacked layers, or of those below; they sum to 1.

    Where rows repeat each other a lead says less.
    """
    layers, top, total = state.layers, -1.0, 0.0
    weight = np.sqrt(state.progress.signals[INDEPENDENCE])
    for layer in range(layers.kinds.shape[0]):
        if (layers.kinds[layer] == STACKED) == is_stacked and not is_idle(layers, layer):
            top = max(top, layers.scores[layer])
    for layer in range(layers.kinds.shape[0]):
        if (layers.kinds[layer] == STACKED) != is_stacked:
            continue
        shares[layer] = 0.0
        if not is_idle(layers, layer):
            lead = params.vote_rows * (layers.scores[layer] - top) * weight
            shares[layer] = np.exp(power * lead)
            shares[layer] *= head_start(state, state.pool, layer, params)
        total += shares[layer]
    for layer in range(layers.kinds.shape[0]):
        if (layers.kinds[layer] == STACKED) == is_stacked:
            shares[layer] /= total


@part()
def has_stack(stacked):
    """Whether stacked layers give the answer."""
    if stacked is None:
        return False
    return stacked.weights.shape[0] > 0


@part()
def share_stack(state, stacked, params, shares):
    """Voting weights of the stacked layers."""
    if stacked is None:
        return
    if stacked.weights.shape[0] > 0:
        power = params.vote_power * params.stacked.power
        share_among(state, params, True, power, shares)


@part()
def share_votes(state, params, shares):
    """Voting weights of all layers into `shares`, 0 for idle ones; returns their sum.

    By accuracy those of the stacked layers sum to 1, and those of the layers below too.
    """
    layers = state.layers
    total = 0.0
    if params.votes != BY_ACCURACY:
        for layer in range(layers.kinds.shape[0]):
            shares[layer] = 0.0 if is_idle(layers, layer) else layers.voting_weights[layer]
            total += shares[layer]
        return total
    share_among(state, params, False, params.vote_power, shares)
    share_stack(state, state.stacked, params, shares)
    return 1.0


@part()
def add_share(output, share, soft, probabilities):
    """Add what one gaussian layer says: all on its best class, or spread over its outputs."""
    if not soft:
        probabilities[best_class(output)] += share
        return
    total = 0.0
    for k in range(output.shape[0]):
        total += max(output[k], 0.0)
    for k in range(output.shape[0]):
        own = max(output[k], 0.0) / total if total > 0.0 else 1.0 / output.shape[0]
        probabilities[k] += share * own


@part()
def combine_votes(kinds, outputs, shares, total, soft, probabilities):
    """The vote of the layers below the stack for one row. outputs: (L, m) · probabilities: (m,)"""
    n_classes = probabilities.shape[0]
    for k in range(n_classes):
        probabilities[k] = 0.0
    for layer in range(shares.shape[0]):
        share = shares[layer]
        if share > 0.0 and kinds[layer] != STACKED:
            if kinds[layer] == GAUSSIAN or not soft:
                add_share(outputs[layer], share, soft, probabilities)
            else:  # they are probabilities
                for k in range(n_classes):
                    probabilities[k] += share * outputs[layer, k]
    if total != 1.0:
        for k in range(n_classes):
            probabilities[k] /= total


@part()
def answer_of_stack(kinds, stacked, outputs, shares, probabilities):
    """The vote of the stacked layers; labels that no layer foresees have all classes alike."""
    if stacked is None:
        return
    unforeseen, n_classes = stacked.unforeseen[0], probabilities.shape[0]
    for k in range(n_classes):
        probabilities[k] = unforeseen / n_classes
    for layer in range(shares.shape[0]):
        if kinds[layer] == STACKED:
            share = (1.0 - unforeseen) * shares[layer]
            for k in range(n_classes):
                probabilities[k] += share * outputs[layer, k]


@part()
def answer(state, outputs, shares, total, soft, probabilities):
    """The network's probabilities for one row: the vote of the stacked layers, if it has some."""
    kinds = state.layers.kinds
    if has_stack(state.stacked):
        answer_of_stack(kinds, state.stacked, outputs, shares, probabilities)
    else:
        combine_votes(kinds, outputs, shares, total, soft, probabilities)


@kernel()
def vote(state, params, outputs, probabilities):
    """The network's probabilities for rows. outputs: (k, L, m) · probabilities: (k, m)"""
    state, params = borrowed(state), borrowed(params)
    own = np.zeros(state.layers.kinds.shape[0])
    total = share_votes(state, params, own)
    outputs, probabilities, shares = borrowed((outputs, probabilities, own))
    for index in range(outputs.shape[0]):
        said = probabilities[index]
        answer(state, outputs[index], shares, total, params.soft_votes, said)
    own[0] = 0.0  # keeps it alive


@part()
def judge(state, outputs, shares, params, answered, judged):
    """What labels are chosen by: the vote below the stack, the answer where rows repeat each other.

    Where labels are noise for a part the answer is unsure of every row, and the vote only of those
    that teach something. But where rows repeat each other the vote is too sure of all.
    outputs: (L, m) · answered, judged: (m,)
    """
    signals = state.progress.signals
    own = signals[INDEPENDENCE] if signals[WATCHED] >= FIRST_LABELS else 0.0
    combine_votes(state.layers.kinds, outputs, shares, 1.0, params.soft_votes, judged)
    for k in range(judged.shape[0]):
        judged[k] = own * judged[k] + (1.0 - own) * answered[k]


@kernel()
def judge_rows(state, params, outputs, probabilities):
    """The same for rows; `probabilities` holds the answers. Shapes as of `vote`."""
    state, params = borrowed(state), borrowed(params)
    own, spare = np.zeros(state.layers.kinds.shape[0]), np.zeros(probabilities.shape[1])
    share_votes(state, params, own)
    outputs, probabilities, shares, judged = borrowed((outputs, probabilities, own, spare))
    for index in range(outputs.shape[0]):
        judge(state, outputs[index], shares, params, probabilities[index], judged)
        for k in range(judged.shape[0]):
            probabilities[index, k] = judged[k]
    own[0] = spare[0] = 0.0  # keeps them alive


@kernel()
def voting_shares(state, params, shares):
    """Voting weights of all layers, 0 for idle ones."""
    share_votes(borrowed(state), borrowed(params), shares)


# ---- how rows move the weights


@part()
def reward_layers(layers, outputs, label, step, floor):
    """Raise the weight of every live layer that was right on a row, lower that of the others."""
    for layer in range(outputs.shape[0]):
        if is_idle(layers, layer):
            continue
        if best_class(outputs[layer]) == label:
            layers.decays[layer] = min(layers.decays[layer] + step, 1.0)
            raised = layers.voting_weights[layer] * (1.0 + layers.decays[layer])
            layers.voting_weights[layer] = min(raised, 1.0)
        else:
            layers.decays[layer] = max(layers.decays[layer] - step, step)
            lowered = layers.voting_weights[layer] * layers.decays[layer]
            layers.voting_weights[layer] = max(lowered, floor)


@part()
def weigh_by_likelihood(layers, outputs, label, params):
    """Weigh live layers by the fading likelihood of the labels, relative to the best layer."""
    top = 0.0
    for layer in range(outputs.shape[0]):
        if not is_idle(layers, layer):
            total, own = 0.0, max(outputs[layer, label], 0.0)
            for k in range(outputs.shape[1]):
                total += max(outputs[layer, k], 0.0)
            share = own / total if total > 0.0 else 0.0
            kept = layers.voting_weights[layer] ** params.vote_memory
            weight = kept * max(share, LEAST_LIKELIHOOD) ** params.vote_sharpness
            layers.voting_weights[layer] = weight
            top = max(top, weight)
    for layer in range(outputs.shape[0]):
        if not is_idle(layers, layer):
            relative = layers.voting_weights[layer] / top
            layers.voting_weights[layer] = max(relative, params.vote_floor)


@part()
def score_layers(state, outputs, label, params):
    """Let a row move the scores, and what is known of kept layers that say the same.

    After a drift the scores are means of the rows since then, until these are enough. Where rows
    repeat each other it takes more of them.
    """
    layers, counts = state.layers, state.progress.counts
    counts[SCORED] += 1
    rate = 1.0 / params.vote_rows
    score_rate = max(rate * state.progress.signals[INDEPENDENCE], 1.0 / counts[SCORED])
    n_layers = layers.kinds.shape[0]
    for layer in range(n_layers):
        if not is_idle(layers, layer):
            right = 1.0 if best_class(outputs[layer]) == label else 0.0
            layers.scores[layer] += score_rate * (right - layers.scores[layer])
    for first in range(params.n_configured, n_layers):
        if is_idle(layers, first):
            continue
        for second in range(first + 1, n_layers):
            if not is_idle(layers, second):
                differs = best_class(outputs[first]) != best_class(outputs[second])
                past = layers.disagreements[first, second]
                change = rate * ((1.0 if differs else 0.0) - past)
                layers.disagreements[first, second] = past + change
                layers.compared[first, second] += 1.0


@part()
def move_votes(state, outputs, label, params):
    """Let one row move the voting weights. outputs: (L, m)"""
    if params.votes == BY_ACCURACY:
        score_layers(state, outputs, label, params)
    elif params.votes == BY_REWARD:
        reward_layers(state.layers, outputs, label, params.vote_step, params.vote_floor)
    elif params.votes == BY_LIKELIHOOD:
        weigh_by_likelihood(state.layers, outputs, label, params)


@kernel()
def move_votes_by_rows(state, params, outputs, labels, is_used):
    """The same over the rows of a chunk. outputs: (k, L, m) · is_used: (k,)"""
    state, params = borrowed(state), borrowed(params)
    outputs, labels = borrowed((outputs, labels))
    for index in range(outputs.shape[0]):
        if is_used[index]:
            move_votes(state, outputs[index], labels[index], params)


# ---- rest and trial


@part()
def has_rested(layers, layer):
    """Whether a layer is on trial."""
    return layers.naps.shape[0] > 0 and layers.naps[layer] > 0


@part()
def has_shown(state, layer, params, shares):
    """Whether a layer had time to show what it is worth, what that is, what it must be, and how
    far off the worth may be.
    """
    layers = state.layers
    if has_stack(state.stacked):
        n_trials, rows = 1 if has_rested(layers, layer) else FIRST_TRIALS, layers.watched[layer]
        worth = layers.worths[layer]
        variance = max(layers.squares[layer] - worth * worth, 0.0)
        doubt = params.worth_doubt * np.sqrt(
            variance / max(min(rows, 2.0 * params.worth_rows), 1.0)
        )
        return rows >= n_trials * params.trial_rows, worth, params.least_worths[layer], doubt
    has_had_time = state.progress.counts[SCORED] >= params.grace_rows
    return has_had_time, shares[layer], params.rest_share, 0.0


@part()
def start_trial(state, layer, stacked, params):
    """Let a layer show itself again: stacked layers trust it as they did when they began.

    Trees begin anew: most rows of the window have come since theirs were grown.
    """
    state.layers.rests[layer] = 0
    forget_trees(state.boosted, layer, params.boosted)
    if state.layers.watched.shape[0] > 0:
        state.layers.watched[layer] = 0.0
        state.layers.worths[layer] = 0.0
        state.layers.squares[layer] = 0.0
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
    """Let a layer rest, below a stack each time twice as long. facts: worth, needed

    The first rest there is four times as long: a trial costs as much as several steps.
    """
    steps = params.rest_steps
    if layers.naps.shape[0] > 0:
        layers.naps[layer] += 1
        doublings = min(layers.naps[layer] + 1, MOST_DOUBLINGS)
        steps = min(steps << doublings, params.most_rest_steps)
    layers.rests[layer] = steps
    report(events, row, RESTED_EVENT, layer, steps, 0, facts)


@part()
def forget_nap(layers, layer):
    """The next rest of a layer is half as long again: a trial that went well may be chance."""
    if layers.naps.shape[0] > 0:
        layers.naps[layer] = max(layers.naps[layer] - 1, 0)


@step()
def rest_layers(state, row, params, shares, events):
    """Layers that have rested come back on trial, and others may rest.

    Of layers that are worth something, but too little, one at a time at first: two that say the
    same are each worth nothing as long as the other is there.
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
            is_shown, worth, needed, doubt = has_shown(state, layer, params, shares)
            if is_shown and worth >= needed:
                forget_nap(layers, layer)
            elif worth + doubt >= needed:
                continue
            elif is_shown and (worth <= 0.0 or has_rested(layers, layer)):
                start_rest(layers, layer, row, (worth, needed, 0.0, 0.0), params, events)
            elif is_shown and (idlest < 0 or worth < least):
                idlest, least = layer, worth
    if idlest >= 0:
        _, worth, needed, _ = has_shown(state, idlest, params, shares)
        start_rest(layers, idlest, row, (worth, needed, 0.0, 0.0), params, events)


@part()
def wake_layers(state, params):
    """After a drift, what layers had right was right before: all show themselves again.

    Below a stack not at once, when they could but show what they know of the old concept, but as
    soon as rows of the new one are there.
    """
    rests = state.layers.rests
    for layer in range(params.n_configured):
        if params.is_dear[layer] and rests[layer] > 0:
            if has_stack(state.stacked):
                rests[layer] = min(rests[layer], params.rest_steps)
            else:
                start_trial(state, layer, state.stacked, params)
