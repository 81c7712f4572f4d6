"""Learning row by row: votes and layers move at once, the structure every `chunk_rows` rows."""

from collections.abc import Hashable, Iterator

import numpy as np

from devfnn.events import Event
from devfnn.kernels.state import UNLABELLED, Batch, Flags, Ints, Journal
from devfnn.model.config import Config
from devfnn.model.drift import Level
from devfnn.model.fixed_rules import fill_up, while_founding
from devfnn.model.growth import double_slots, empty_journal, forward, refresh_gain, rule_events
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
    rows: Rows, labelled: Ints, fresh: list[Hashable], n_known: int
) -> Iterator[tuple[Rows, Ints, list[Hashable]]]:
    """Parts of the rows, each from where a new class first appears, with that class."""
    starts = [int(np.argmax(rows.labels == n_known + index)) for index in range(len(fresh))]
    if not starts or starts[0] > 0:
        stop = starts[0] if starts else len(rows)
        yield rows.part(0, stop), labelled[:stop], []
    for index, start in enumerate(starts):
        stop = starts[index + 1] if index + 1 < len(starts) else len(rows)
        yield rows.part(start, stop), labelled[start:stop], [fresh[index]]


def learn_rows(
    network: Network, rows: Rows, labelled: Ints, names: list[str], config: Config
) -> list[Event]:
    """Learn rows in parts: up to the next structural step or change of the scaling map."""
    events: list[Event] = []
    learned = start = 0
    while learned < len(rows):
        due = absorb(network, rows.X, start, config)
        while learned < due:
            gathered = _gathered(network, config)
            room = config.chunk_rows - gathered.count
            stop = _end_of_part(labelled, learned, due, room)
            events += _learn_part(network, rows.part(learned, stop), labelled[learned:stop], config)
            learned = stop
            if gathered.count == config.chunk_rows:
                events += close_gathered(network, names, config)
        if due < len(rows):
            events += change_map(network, names, config)
            start = due + 1
    return events


def _end_of_part(labelled: Ints, start: int, stop: int, room: int) -> int:
    """Where to stop such that at most `room` rows with a label are learned."""
    if stop - start <= room:
        return stop
    ends = np.flatnonzero(np.cumsum(labelled[start:stop] != UNLABELLED) == room)
    return start + int(ends[0]) + 1 if ends.size else stop


def _gathered(network: Network, config: Config) -> Gathered:
    """Room for the rows of the current structural step."""
    if network.gathered is None:
        network.gathered = Gathered.room(config.chunk_rows, network.shape)
    return network.gathered


def _learn_part(network: Network, rows: Rows, labelled: Ints, config: Config) -> list[Event]:
    """Rows under one scaling map and inside one structural step, through the kernel."""
    from devfnn.kernels import network as kernels

    draws = exploration_draws(config.seed, network.n_rows, len(rows))
    batch = Batch(scaled(network, rows.X, config), rows.labels, rows.weights, draws, labelled)
    journal = empty_journal(len(rows), network)
    done = 0
    while True:
        founding = while_founding(config, network.shape.features, network.n_chunks)
        settings = founding.kernel_settings(network.shape.inputs)
        done = kernels.learn_rows(network.layers, settings, batch, journal, network.scratch, done)
        if done == len(rows):
            break
        double_slots(network, config)
    events = rule_events(network, journal)
    _gather(_gathered(network, config), rows, journal, labelled != UNLABELLED)
    network.n_rows += len(rows)
    network.n_labels += int(journal.taken.sum())
    return events


def _gather(gathered: Gathered, rows: Rows, journal: Journal, has_label: Flags) -> None:
    """Keep rows with a label, and what the layers said, for the next structural step."""
    first, last = gathered.count, gathered.count + int(np.count_nonzero(has_label))
    gathered.rows.X[first:last] = rows.X[has_label]
    gathered.rows.labels[first:last] = rows.labels[has_label]
    gathered.rows.weights[first:last] = rows.weights[has_label]
    gathered.outputs[first:last] = journal.outputs[has_label]
    gathered.errors[first:last] = journal.errors[has_label]
    gathered.count = last


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
    _fill_up(network, rows, config)
    for layer in np.flatnonzero(~network.layers.is_merged):
        refresh_gain(network, int(layer), config)
    network.n_chunks += 1
    return events


def _fill_up(network: Network, rows: Rows, config: Config) -> None:
    """Give every layer the rules that it lacks, if their number is fixed."""
    if config.rules == "fixed":
        _, stacked = forward(network, scaled(network, rows.X, config), config)
        for layer in range(network.shape.layers):
            fill_up(network, layer, stacked, config)
