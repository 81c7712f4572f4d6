"""The votes of the layers: how they make one prediction, and how rows move their weights."""

import numpy as np

from devfnn.kernels._jit import kernel, part

LEAST_LIKELIHOOD = 0.01
"""A single label can cost a layer no more than this."""


@part()
def best_class(values):
    """Index of the largest value, the first of equals."""
    best = 0
    for k in range(1, values.shape[0]):
        if values[k] > values[best]:
            best = k
    return best


@part()
def winning_layer(voting_weights, is_merged):
    """The live layer with the largest voting weight, the lowest of equals."""
    winner = -1
    for layer in range(voting_weights.shape[0]):
        if not is_merged[layer] and (winner < 0 or voting_weights[layer] > voting_weights[winner]):
            winner = layer
    return winner


@part()
def add_share(output, weight, soft, probabilities):
    """Add one layer's say: its whole weight on its best class, or spread over its outputs."""
    if not soft:
        probabilities[best_class(output)] += weight
        return
    total = 0.0
    for k in range(output.shape[0]):
        total += max(output[k], 0.0)
    for k in range(output.shape[0]):
        share = max(output[k], 0.0) / total if total > 0.0 else 1.0 / output.shape[0]
        probabilities[k] += weight * share


@part()
def combine_votes(outputs, voting_weights, is_merged, soft, probabilities):
    """The network's probabilities for one row. outputs: (L, m) · probabilities: (m,)"""
    probabilities[:] = 0.0
    total = 0.0
    for layer in range(outputs.shape[0]):
        if not is_merged[layer]:
            add_share(outputs[layer], voting_weights[layer], soft, probabilities)
            total += voting_weights[layer]
    for k in range(probabilities.shape[0]):
        probabilities[k] /= total


@kernel()
def vote_rows(outputs, voting_weights, is_merged, soft, probabilities):
    """The same for many rows. outputs: (k, L, m) · probabilities: (k, m)"""
    for row in range(outputs.shape[0]):
        combine_votes(outputs[row], voting_weights, is_merged, soft, probabilities[row])


@part()
def reward_layers(layers, outputs, label, step, floor):
    """Raise the weight of every live layer that was right on a row, lower that of the others."""
    for layer in range(outputs.shape[0]):
        if layers.is_merged[layer]:
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
def weigh_by_likelihood(layers, outputs, label, settings):
    """Weigh live layers by the fading likelihood of the labels, relative to the best layer."""
    top = 0.0
    for layer in range(outputs.shape[0]):
        if not layers.is_merged[layer]:
            total, own = 0.0, max(outputs[layer, label], 0.0)
            for k in range(outputs.shape[1]):
                total += max(outputs[layer, k], 0.0)
            share = own / total if total > 0.0 else 0.0
            kept = layers.voting_weights[layer] ** settings.vote_memory
            weight = kept * max(share, LEAST_LIKELIHOOD) ** settings.vote_sharpness
            layers.voting_weights[layer] = weight
            top = max(top, weight)
    for layer in range(outputs.shape[0]):
        if not layers.is_merged[layer]:
            relative = layers.voting_weights[layer] / top
            layers.voting_weights[layer] = max(relative, settings.vote_floor)


@part()
def move_votes(layers, outputs, label, settings):
    """Let one row move the voting weights. outputs: (L, m)"""
    if settings.adapt_votes == 1:
        reward_layers(layers, outputs, label, settings.vote_step, settings.vote_floor)
    elif settings.adapt_votes == 2:
        weigh_by_likelihood(layers, outputs, label, settings)


@kernel()
def update_votes(layers, outputs, labels, settings):
    """Move the voting weights over the rows of a chunk. outputs: (k, L, m) · labels: (k,)"""
    for row in range(outputs.shape[0]):
        move_votes(layers, outputs[row], labels[row], settings)


@part()
def clip_unit(value):
    """An output as input of the next layers: inside [0, 1]."""
    return min(max(value, 0.0), 1.0) if not np.isnan(value) else 0.0
