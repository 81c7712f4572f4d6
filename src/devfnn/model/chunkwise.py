"""Learning chunk by chunk: the paper's Algorithm 1."""

import numpy as np

from devfnn.events import Event
from devfnn.kernels.state import UNLABELLED, Batch, Flags, Floats, Ints
from devfnn.model import voting
from devfnn.model.config import Config
from devfnn.model.drift import Level
from devfnn.model.fixed_rules import fill_up, while_founding
from devfnn.model.growth import Trained, forward, train_layer
from devfnn.model.inputs import absorb_chunk, scaled, switch_inputs
from devfnn.model.intake import exploration_draws
from devfnn.model.network import Network, Rows
from devfnn.model.structure import (
    layers_to_train,
    mask_features,
    merge_layers,
    prune_rules,
    react_to_errors,
)


def learn_chunk(
    network: Network, rows: Rows, labelled: Ints, names: list[str], config: Config
) -> list[Event]:
    """Take in a chunk: scale it, then train; the first chunk only founds the layers."""
    events = absorb_chunk(network, rows.X, names, config)
    inputs = scaled(network, rows.X, config)
    draws = exploration_draws(config.seed, network.n_rows, len(rows))
    batch = Batch(inputs, rows.labels, rows.weights, draws, labelled)
    if network.n_chunks == 0:
        events += _found_layers(network, batch, config)
    else:
        events += _evolve(network, rows, batch, names, config)
    network.n_rows += len(rows)
    network.n_chunks += 1
    return events


def _found_layers(network: Network, batch: Batch, config: Config) -> list[Event]:
    """Train every initial layer in turn, each on what the ones before it say."""
    events: list[Event] = []
    taken = np.zeros(batch.labels.size, np.int64)
    switch_inputs(network, config)
    founding = while_founding(config, network.shape.features, network.n_chunks)
    for layer in range(network.shape.layers):
        _, stacked = forward(network, batch.rows, config)
        trained = train_layer(network, layer, batch._replace(rows=stacked), founding)
        fill_up(network, layer, stacked, config)
        taken |= trained.taken
        events += trained.events
    network.n_labels += int(taken.sum())
    return events


def _evolve(
    network: Network, rows: Rows, batch: Batch, names: list[str], config: Config
) -> list[Event]:
    """All mechanisms in their order, with the outputs made before anything changed.

    Rows without a label only let time pass for the label budget.
    """
    outputs, stacked = forward(network, batch.rows, config)
    has_label = batch.labelled != UNLABELLED
    known, outputs = rows.where(has_label), outputs[has_label]
    if not len(known):
        idle = layers_to_train(network, Level.STABLE, config)
        _train(network, idle, batch._replace(rows=stacked), config)
        return []
    errors = voting.errors(network.layers, outputs, known.labels, config)
    if config.voting_weights == "reward":
        voting.reweigh(network.layers, outputs, known.labels, config)
    events = mask_features(network, batch.rows[has_label], known.labels, names, config)
    events += merge_layers(network, outputs, config)
    reaction = react_to_errors(network, known, errors, batch.draws[has_label], config)
    events += reaction.events
    trained = layers_to_train(network, reaction.level, config)
    learned = _train(network, trained, batch._replace(rows=stacked), config)
    network.n_labels += _count_taken(learned, has_label, reaction.taken)
    events += [event for one in learned.values() for event in one.events]
    if config.voting_weights == "likelihood":
        said = {layer: one.said[has_label] for layer, one in learned.items()}
        outputs = _as_learned(outputs, reaction.said, said)
        voting.reweigh(network.layers, outputs, known.labels, config)
    return events + prune_rules(network, trained, known.labels, config)


def _train(
    network: Network, trained: list[int], batch: Batch, config: Config
) -> dict[int, Trained]:
    """Train layers on the chunk, each from its own start."""
    learned: dict[int, Trained] = {}
    for layer in trained:
        learned[layer] = train_layer(network, layer, batch, config)
        fill_up(network, layer, batch.rows, config)
        if config.reset_winner:
            voting.reset(network.layers, layer, config)
    return learned


def _count_taken(learned: dict[int, Trained], has_label: Flags, newborn: Ints | None) -> int:
    """Labels that at least one layer took."""
    taken = np.zeros(np.count_nonzero(has_label), np.int64)
    for one in learned.values():
        taken |= one.taken[has_label]
    if newborn is not None:
        taken |= newborn
    return int(taken.sum())


def _as_learned(outputs: Floats, newborn: Floats | None, said: dict[int, Floats]) -> Floats:
    """Outputs with those of trained layers as they were row by row, while they learned.

    So the vote knows at once how well a layer has adapted to the chunk, and not only how well the
    layer of before the chunk did; and still no layer is judged on a row that it had learned.
    """
    if newborn is not None:
        outputs = np.concatenate([outputs, newborn[:, None]], axis=1)
    for layer, own in said.items():
        outputs[:, layer] = own
    return outputs
