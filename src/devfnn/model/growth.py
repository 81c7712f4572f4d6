"""Training layers on rows, and growing the network by a layer.

Paper: sections "Deep Stacked Network" and "Hidden Layer Growing Mechanism".
"""

import dataclasses

import numpy as np

from devfnn.events import Event, LayerAdded, RuleBorn, RuleRecalled
from devfnn.kernels.state import BORN_EVENT, USED, Batch, Floats, Journal
from devfnn.model.config import Config
from devfnn.model.network import Network, Rows
from devfnn.model.inputs import scaled, switch_inputs
from devfnn.model.pruning import clear_record


def empty_journal(n_rows: int, network: Network, outputs: bool = False) -> Journal:
    """Room for what kernels report about `n_rows` rows."""
    shape = network.shape
    n_lines = n_rows * shape.layers
    return Journal(
        outputs=np.empty((n_rows if outputs else 0, shape.layers, shape.classes)),
        errors=np.zeros(n_rows, np.int64),
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


def train_layer(network: Network, layer: int, batch: Batch, config: Config) -> list[Event]:
    """Train one layer on stacked rows, in their order; returns what happened to its rules."""
    from devfnn.kernels.layers import learn_layer

    refresh_gain(network, layer, config)
    journal = empty_journal(batch.rows.shape[0], network)
    settings = config.kernel_settings(network.shape.inputs)
    done = 0
    while True:
        done = learn_layer(network.layers, layer, settings, batch, journal, network.scratch, done)
        if done == batch.rows.shape[0]:
            return rule_events(network, journal)
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
    gains = network.layers.gain_covs[layer]
    if config.chunk_memory == 1.0:
        return
    if config.chunk_memory == 0.0:
        gains[:] = config.initial_gain * np.eye(gains.shape[1])
        return
    gains /= config.chunk_memory
    variances = np.maximum(np.einsum("rii->ri", gains), 1e-300)
    shrink = np.sqrt(np.minimum(config.initial_gain / variances, 1.0))
    gains *= shrink[:, :, None] * shrink[:, None, :]


def labels_used(network: Network) -> int:
    """Labels that training has read so far, summed over layers."""
    return int(network.layers.counters[:, USED].sum())


def add_layer(network: Network, rows: Rows, batch_draws: Floats, config: Config) -> list[Event]:
    """A new layer on top, trained on the rows; the layers below make its extra inputs."""
    shape = network.shape
    network.resize(dataclasses.replace(shape, layers=shape.layers + 1), config)
    switch_inputs(network, config)
    _, stacked = forward(network, scaled(network, rows.X, config), config)
    batch = Batch(stacked, rows.labels, rows.weights, batch_draws, False)
    events = train_layer(network, shape.layers, batch, config)
    n_inputs = int(network.layers.n_inputs[shape.layers, 0])
    added = LayerAdded(network.n_rows + len(rows), shape.layers, n_inputs, len(rows))
    return [added, *events]


def keep_for_later(network: Network, rows: Rows, limit: int) -> int:
    """Append rows to the warning buffer; returns how many of the oldest had to go."""
    joined = Rows.joined([network.buffer, rows])
    dropped = max(len(joined) - limit, 0)
    network.buffer = joined.part(dropped, len(joined))
    return dropped
