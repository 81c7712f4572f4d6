"""The vote of the layers and their voting weights.

Paper: section "Adaptation of Voting Weight" (`reward`). With more than half of the rows right, the
printed weights all saturate at 1 and the vote no longer tells good layers from bad ones; so the
default weighs a layer by the fading likelihood of the labels under it (`likelihood`).
"""

import numpy as np

from devfnn.kernels.state import Floats, Ints, Layers
from devfnn.model.config import Config


def vote(layers: Layers, outputs: Floats, config: Config) -> Floats:
    """Class probabilities (k, m) of the network from the outputs (k, L, m) of its layers."""
    from devfnn.kernels.votes import vote_rows

    probabilities = np.empty((outputs.shape[0], outputs.shape[2]))
    is_soft = config.vote == "soft"
    vote_rows(outputs, layers.voting_weights, layers.is_merged, is_soft, probabilities)
    return probabilities


def errors(layers: Layers, outputs: Floats, labels: Ints, config: Config) -> Ints:
    """1 where the network is wrong."""
    wrong: Ints = (vote(layers, outputs, config).argmax(axis=1) != labels).astype(np.int64)
    return wrong


def reweigh(layers: Layers, outputs: Floats, labels: Ints, config: Config) -> None:
    """Move the voting weights of all live layers, row by row."""
    from devfnn.kernels.votes import update_votes

    settings = config.kernel_settings(layers.centers.shape[2])
    update_votes(layers, outputs, labels, settings)


def winner(layers: Layers) -> int:
    """The live layer with the largest voting weight."""
    weights = np.where(layers.is_merged, -1.0, layers.voting_weights)
    return int(np.argmax(weights))


def reset(layers: Layers, layer: int, config: Config) -> None:
    """Give a layer its initial weight and decay again."""
    layers.voting_weights[layer] = config.newborn_weight
    layers.decays[layer] = config.initial_decay
