"""Learning row by row: votes and layers move at once, the structure every `chunk_rows` rows."""

from collections.abc import Hashable, Iterator

import numpy as np

from devfnn.events import Event
from devfnn.kernels.state import Batch, Journal
from devfnn.model.config import Config
from devfnn.model.drift import Level
from devfnn.model.growth import double_slots, empty_journal, refresh_gain, rule_events
from devfnn.model.inputs import absorb, change_map, scaled
from devfnn.model.intake import exploration_draws
from devfnn.model.network import Gathered, Network, Rows
from devfnn.model.structure import (
    layers_to_train,
    mask_features,
    merge_layers,
    prune_rules,
    react_to_errors,
)


def split_at_new_classes(
    rows: Rows, fresh: list[Hashable], n_known: int
) -> Iterator[tuple[Rows, list[Hashable]]]:
    """Parts of the rows, each from where a new class first appears, with that class."""
    starts = [int(np.argmax(rows.labels == n_known + index)) for index in range(len(fresh))]
    if not starts or starts[0] > 0:
        yield rows.part(0, starts[0] if starts else len(rows)), []
    for index, start in enumerate(starts):
        stop = starts[index + 1] if index + 1 < len(starts) else len(rows)
        yield rows.part(start, stop), [fresh[index]]


def learn_rows(
    network: Network, rows: Rows, names: list[str], chosen: bool, config: Config
) -> list[Event]:
    """Learn rows in parts: up to the next structural step or change of the scaling map."""
    events: list[Event] = []
    learned = start = 0
    while learned < len(rows):
        due = absorb(network, rows.X, start, config)
        while learned < due:
            gathered = _gathered(network, config)
            stop = min(due, learned + config.chunk_rows - gathered.count)
            events += _learn_part(network, rows.part(learned, stop), chosen, config)
            learned = stop
            if gathered.count == config.chunk_rows:
                events += close_gathered(network, names, config)
        if due < len(rows):
            events += change_map(network, names, config)
            start = due + 1
    return events


def _gathered(network: Network, config: Config) -> Gathered:
    """Room for the rows of the current structural step."""
    if network.gathered is None:
        network.gathered = Gathered.room(config.chunk_rows, network.shape)
    return network.gathered


def _learn_part(network: Network, rows: Rows, chosen: bool, config: Config) -> list[Event]:
    """Rows under one scaling map and inside one structural step, through the kernel."""
    from devfnn.kernels import network as kernels

    gathered = _gathered(network, config)
    first, last = gathered.count, gathered.count + len(rows)
    gathered.rows.X[first:last] = rows.X
    gathered.rows.labels[first:last] = rows.labels
    gathered.rows.weights[first:last] = rows.weights
    draws = exploration_draws(config.seed, network.n_rows, len(rows))
    batch = Batch(scaled(network, rows.X, config), rows.labels, rows.weights, draws, chosen)
    lines = empty_journal(len(rows), network)
    journal = Journal(
        gathered.outputs[first:last],
        gathered.errors[first:last],
        lines.rule_events,
        lines.rule_numbers,
        lines.n_events,
    )
    done = 0
    while True:
        settings = config.kernel_settings(network.shape.inputs)
        done = kernels.learn_rows(network.layers, settings, batch, journal, network.scratch, done)
        if done == len(rows):
            break
        double_slots(network, config)
        journal = journal._replace(outputs=gathered.outputs[first:last])
    events = rule_events(network, journal)
    gathered.count = last
    network.n_rows += len(rows)
    return events


def close_gathered(network: Network, names: list[str], config: Config) -> list[Event]:
    """Run the structural steps on the rows gathered since the last time."""
    gathered = network.gathered
    if gathered is None or not gathered.count:
        return []
    network.gathered = None
    rows = gathered.rows.part(0, gathered.count)
    outputs, errors = gathered.outputs[: gathered.count], gathered.errors[: gathered.count]
    events = mask_features(network, scaled(network, rows.X, config), rows.labels, names, config)
    events += merge_layers(network, outputs, config)
    draws = exploration_draws(config.seed + 2, network.n_rows, len(rows))
    events += react_to_errors(network, rows, errors, draws, config).events
    trained = layers_to_train(network, Level.STABLE, config)
    events += prune_rules(network, trained, rows.labels, config)
    for layer in np.flatnonzero(~network.layers.is_merged):
        refresh_gain(network, int(layer), config)
    network.n_chunks += 1
    return events
