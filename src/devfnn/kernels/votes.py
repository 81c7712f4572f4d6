"""The vote of the layers: how they make one prediction, and how rows move their weights.

Forms of the weights: by accuracy, a power of the odds that a layer is as good as the best of late;
by reward and punishment, as the paper has it; by the fading likelihood of the labels; all equal.
"""

import numpy as np

from devfnn.kernels._jit import borrowed, kernel, part
from devfnn.kernels.state import (
    BY_ACCURACY,
    BY_LIKELIHOOD,
    BY_REWARD,
    GAUSSIAN,
    INDEPENDENCE,
    NO_LAYER,
    SCORED,
    STACKED,
)

LEAST_LIKELIHOOD = 0.01
"""Least likelihood of a label: one wrong label is no proof, and with the default
`voting.sharpness`, which says how much a label counts, costs a layer 13 % of its weight at most."""


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
    """Factor on the vote of single curves of a fixed memory where rows repeat each other.

    They neither split nor start anew, so they follow chance least; the more so, the more
    independent rows their memory holds for every weight.
    """
    if pool is None:
        return 1.0
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
def answer(state, outputs, shares, total, soft, probabilities):
    """The network's probabilities for one row: the vote of the stacked layers, if it has some."""
    kinds = state.layers.kinds
    if not has_stack(state.stacked):
        combine_votes(kinds, outputs, shares, total, soft, probabilities)
        return
    for k in range(probabilities.shape[0]):
        probabilities[k] = 0.0
    for layer in range(shares.shape[0]):
        if kinds[layer] == STACKED:
            for k in range(probabilities.shape[0]):
                probabilities[k] += shares[layer] * outputs[layer, k]


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
