"""Training layers on rows, and growing the network by a layer.

Paper: sections "Deep Stacked Network" and "Hidden Layer Growing Mechanism".
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from devfnn.events import Event, LayerAdded, RuleBorn, RuleRecalled
from devfnn.kernels.state import BORN_EVENT, FREE, OFFERED, Batch, Floats, Ints, Journal
from devfnn.model.config import Config
from devfnn.model.inputs import scaled, switch_inputs
from devfnn.model.network import Network, Rows
from devfnn.model.pruning import clear_record
from devfnn.model.voting import winner

INHERITED = (
    "status",
    "centers",
    "covs",
    "inverse_covs",
    "log_volumes",
    "populations",
    "class_counts",
    "consequents",
    "gain_covs",
    "densities",
    "potentials",
    "utilities",
    "density_weight",
    "density_mean",
    "density_cov",
    "class_weights",
    "class_means",
    "class_variances",
)
"""What a new layer takes over from the winner: its rules and what it knows of the rows."""


def empty_journal(n_rows: int, network: Network) -> Journal:
    """Room for what kernels report about `n_rows` rows."""
    shape = network.shape
    n_lines = n_rows * shape.layers
    return Journal(
        outputs=np.empty((n_rows, shape.layers, shape.classes)),
        errors=np.zeros(n_rows, np.int64),
        taken=np.zeros(n_rows, np.int64),
        rule_events=np.zeros((n_lines, 4), np.int64),
        rule_numbers=np.zeros((n_lines, 4)),
        n_events=np.zeros(1, np.int64),
    )


def forward(network: Network, rows: Floats, config: Config) -> tuple[Floats, Floats]:
    """Outputs (k, L, m) of all layers, and the stacked inputs (k, n) of the deepest one."""
    from devfnn.kernels import network as kernels

    shape = network.shape
    outputs = np.empty((rows.shape[0], shape.layers, shape.classes))
    stacked = np.empty((rows.shape[0], shape.inputs))
    settings = config.kernel_settings(shape.inputs)
    kernels.forward(network.layers, settings, rows, outputs, stacked, network.scratch)
    return outputs, stacked


def double_slots(network: Network, config: Config) -> None:
    """More room for rules, for all layers at once."""
    shape = network.shape
    network.resize(dataclasses.replace(shape, slots=2 * shape.slots), config)


class Trained(NamedTuple):
    """What training a layer on rows led to."""

    events: list[Event]
    said: Floats  # (k, m) outputs of the layer just before it learned each row
    taken: Ints  # (k,) 1 where it took the label


def train_layer(network: Network, layer: int, batch: Batch, config: Config) -> Trained:
    """Train one layer on stacked rows, in their order."""
    from devfnn.kernels.layers import learn_layer

    refresh_gain(network, layer, config)
    journal = empty_journal(batch.rows.shape[0], network)
    settings = config.kernel_settings(network.shape.inputs)
    done = 0
    while True:
        done = learn_layer(network.layers, layer, settings, batch, journal, network.scratch, done)
        if done == batch.rows.shape[0]:
            events = rule_events(network, journal)
            return Trained(events, journal.outputs[:, layer], journal.taken)
        double_slots(network, config)


def rule_events(network: Network, journal: Journal) -> list[Event]:
    """Rules born or recalled, as events; their records start anew."""
    events: list[Event] = []
    for line in range(int(journal.n_events[0])):
        row, kind, layer, rule = (int(value) for value in journal.rule_events[line])
        clear_record(network.records, layer, rule)
        make = RuleBorn if kind == BORN_EVENT else RuleRecalled
        numbers = (float(value) for value in journal.rule_numbers[line])
        events.append(make(network.n_rows + row, layer, rule, *numbers))
    return events


def refresh_gain(network: Network, layer: int, config: Config) -> None:
    """Let the layer's memory fade by one chunk; with no memory the gain starts anew."""
    from devfnn.kernels.layers import bound_gains

    gains, caps = network.layers.gain_covs[layer], network.layers.gain_caps[layer]
    if config.chunk_memory == 1.0:
        return
    if config.chunk_memory == 0.0:
        gains[:] = np.diag(caps)
        return
    gains /= config.chunk_memory
    bound_gains(network.layers, caps, np.empty(caps.size))


def add_layer(network: Network, rows: Rows, draws: Floats, config: Config) -> Trained:
    """A new layer on top, trained on the rows; settled layers below make its extra inputs."""
    shape = network.shape
    parent = winner(network.layers)
    network.resize(dataclasses.replace(shape, layers=shape.layers + 1), config)
    if config.newborn == "winner":
        inherit_rules(network, parent, config)
    switch_inputs(network, config)
    _, stacked = forward(network, scaled(network, rows.X, config), config)
    offered = np.full(len(rows), OFFERED, np.int64)
    batch = Batch(stacked, rows.labels, rows.weights, draws, offered)
    trained = train_layer(network, shape.layers, batch, config)
    n_inputs = int(network.layers.n_inputs[shape.layers, 0])
    added = LayerAdded(network.n_rows, shape.layers, n_inputs, len(rows))
    return trained._replace(events=[added, *trained.events])


def inherit_rules(network: Network, parent: int, config: Config) -> None:
    """Start the newest layer as a copy of another, less sure of what it knows.

    Inputs that the other did not have start uncoupled and with weight 0.
    """
    layers = network.layers
    child = network.shape.layers - 1
    for name in INHERITED:
        array = getattr(layers, name)
        array[child] = array[parent]
    own, n = int(layers.n_inputs[parent, 0]), int(layers.n_inputs[child, 0])
    added = np.arange(own, n)
    known, columns = slice(0, 2 * own + 1), np.arange(2 * own + 1, 2 * n + 1)
    for rule in np.flatnonzero(layers.status[child] != FREE):
        layers.centers[child, rule, added] = 0.5
        layers.covs[child, rule, added, added] = 1.0 / config.first_precision
        layers.inverse_covs[child, rule, added, added] = config.first_precision
        layers.log_volumes[child, rule] -= 0.5 * added.size * np.log(config.first_precision)
        layers.gain_covs[child, rule, known, known] *= config.newborn_doubt
        layers.gain_covs[child, rule, columns, columns] = config.later_gain
        layers.ages[child, rule] = 0


def keep_for_later(network: Network, rows: Rows, limit: int) -> int:
    """Append rows to the warning buffer; returns how many of the oldest had to go."""
    joined = Rows.joined([network.buffer, rows])
    dropped = max(len(joined) - limit, 0)
    network.buffer = joined.part(dropped, len(joined))
    return dropped
