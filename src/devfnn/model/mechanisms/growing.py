"""Growing by layers: after a drift a new gaussian layer is added on top, and trained.

Paper: sections "Deep Stacked Network" and "Hidden Layer Growing Mechanism". Networks that keep
layers instead do that inside kernels, see `kernels/drift.py`.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.events import DriftFound, DriftWarned, Event, LayerAdded
from devfnn.kernels.state import FREE, GAUSSIAN, OFFERED, Batch
from devfnn.model.config import AddLayers
from devfnn.model.layers.gaussian import start_inputs
from devfnn.model.layout import present
from devfnn.model.mechanisms.drift import Level, find_drift
from devfnn.model.rows import Gathered, Rows
from devfnn.model.validation import exploration_draws

if TYPE_CHECKING:
    from devfnn.model.network import Network

INHERITED = (
    "status centers covs inverse_covs log_volumes populations class_counts consequents gain_covs "
    "densities potentials utilities density_weight density_mean density_cov class_weights "
    "class_means class_variances"
).split()
"""What a new layer takes over from the winner: its rules and what it knows of the rows."""


class Reaction(NamedTuple):
    """What the drift test led to; `said` and `taken` are those of a new layer, row by row."""

    level: Level
    events: list[Event]
    said: Floats | None = None
    taken: Ints | None = None


def react_to_errors(
    network: "Network", growing: AddLayers, since: Gathered, draws: Floats
) -> Reaction:
    """Test for drift: add a layer, keep the rows since the last step for later, or go on."""
    rows, kept = since.rows, Rows.joined([network.buffer, since.rows])
    verdict = find_drift(network, since.errors)
    facts = (verdict.error_before, verdict.error_after, verdict.bound)
    if verdict.level is Level.WARNING:
        dropped = max(len(kept) - growing.buffer_rows, 0)  # the oldest
        network.buffer = kept.part(dropped, len(kept))
        warned = DriftWarned(network.n_rows, *facts, len(network.buffer), dropped)
        return Reaction(Level.WARNING, [warned])
    network.buffer = Rows.none(network.n_features)
    if verdict.level is Level.STABLE:
        return Reaction(Level.STABLE, [])
    found = DriftFound(network.n_rows, *facts, verdict.cut)
    if network.n_layers >= growing.max_layers:  # the present layers have to do
        return Reaction(Level.STABLE, [found])
    first = len(kept) - len(rows)
    lead = exploration_draws(network.config.seed + 1, network.n_rows, first)
    added, said, taken = _add_layer(network, kept, np.concatenate([lead, draws]), growing)
    return Reaction(Level.DRIFT, [found, *added], said[first:], taken[first:])


def _add_layer(
    network: "Network", rows: Rows, draws: Floats, growing: AddLayers
) -> tuple[list[Event], Floats, Ints]:
    """Add a layer and train it; returns events, its outputs before learning and labels used."""
    parent, layer = network.leader, network.n_layers
    network.resize(layers=layer + 1)
    network.state.layers.kinds[layer] = GAUSSIAN
    network.state.layers.origins[layer] = layer
    if growing.newborn == "winner":
        _inherit_rules(network, parent, layer, growing.newborn_doubt)
    network.switch_inputs()
    _, stacked = network.forward(network.inputs_of(rows.X))
    offered = np.full(len(rows), OFFERED, np.int64)
    batch = Batch(stacked, rows.labels, rows.weights, draws, offered)
    events, outputs, taken = network.train(batch, [layer])
    n_inputs = int(present(network.state.gaussians).n_inputs[layer, 0])
    added = LayerAdded(network.n_rows, layer, n_inputs, len(rows))
    return [added, *events], outputs[:, layer], taken


def _inherit_rules(network: "Network", parent: int, child: int, doubt: float) -> None:
    """Start the newest layer as a copy of another, with a larger gain.

    Inputs that the other did not have start uncoupled and with weight 0.
    """
    own, params = present(network.state.gaussians), network.config.gaussian
    for name in INHERITED:
        array = getattr(own, name)
        array[child] = array[parent]
    n_parent, n = int(own.n_inputs[parent, 0]), int(own.n_inputs[child, 0])
    known = slice(0, 2 * n_parent + 1)
    rules = np.flatnonzero(own.status[child] != FREE)
    own.gain_covs[child, rules, known, known] *= doubt
    start_inputs(own, (child, rules), np.arange(n_parent, n), params, params.later_gain)
    own.ages[child, rules] = 0


def layers_to_train(network: "Network", level: Level) -> list[int]:
    """Layers that learn a chunk: the leader, unless it just failed, and those that always learn."""
    config, layers = network.config, network.state.layers
    n_always = config.n_always(layers.kinds.size)
    chosen = set(np.flatnonzero(~layers.is_merged[:n_always]).tolist())
    on_warning = isinstance(config.growing, AddLayers) and config.growing.train_on_warning
    if level is Level.STABLE or (level is Level.WARNING and on_warning):
        chosen.add(network.leader)
    if level is Level.DRIFT:
        chosen.discard(layers.kinds.size - 1)  # the new layer has learned the chunk already
    return sorted(chosen)
