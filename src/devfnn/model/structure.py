"""The structural steps, on a chunk or on gathered rows: mask, merging, drift, pruning."""

import dataclasses

import numpy as np

from devfnn.events import DriftFound, DriftWarned, Event, FeatureOff, FeatureOn, LayersMerged
from devfnn.kernels.state import Floats, Ints
from devfnn.model import voting
from devfnn.model.config import Config
from devfnn.model.drift import Level, Verdict, find_drift
from devfnn.model.features import feature_scores, updated_mask, updated_stats
from devfnn.model.growth import add_layer, keep_for_later
from devfnn.model.inputs import switch_inputs
from devfnn.model.intake import exploration_draws
from devfnn.model.merging import redundant_pair, update_output_stats
from devfnn.model.network import Network, Rows
from devfnn.model.pruning import prune_layers


@dataclasses.dataclass(frozen=True)
class Reaction:
    """What the drift test led to; `said` and `taken` are those of a new layer (see `Trained`)."""

    level: Level
    events: list[Event] = dataclasses.field(default_factory=list)
    said: Floats | None = None
    taken: Ints | None = None


def mask_features(
    network: Network, inputs: Floats, labels: Ints, names: list[str], config: Config
) -> list[Event]:
    """Switch features off and on by their relevance to the classes."""
    if not config.feature_mask:
        return []
    memory = config.statistics_memory
    network.feature_stats = updated_stats(network.feature_stats, inputs, labels, memory)
    scores = feature_scores(network.feature_stats, config)
    mask = updated_mask(network.feature_mask, scores, config.feature_threshold)
    changed = np.flatnonzero(mask != network.feature_mask)
    if not changed.size:
        return []
    network.feature_mask = mask
    switch_inputs(network, config)
    limit = config.feature_threshold
    return [
        (FeatureOn if mask[j] else FeatureOff)(network.n_rows, names[j], float(scores[j]), limit)
        for j in changed
    ]


def merge_layers(network: Network, outputs: Floats, config: Config) -> list[Event]:
    """Leave out layers that repeat another; the weaker goes, unless it is one that never rests."""
    layers = network.layers
    if not config.merging or network.shape.layers == 1:
        return []
    stats = network.output_stats
    update_output_stats(stats, outputs, layers.is_merged, config.statistics_memory)
    events: list[Event] = []
    resting = first_that_may_rest(config)
    while pair := redundant_pair(stats, layers.is_merged, config.merge_threshold, resting):
        first, second, index = pair
        weaker_first = layers.voting_weights[first] < layers.voting_weights[second]
        if first < resting:
            weaker_first = False
        kept, dropped = (second, first) if weaker_first else (first, second)
        layers.is_merged[dropped] = True
        events.append(LayersMerged(network.n_rows, kept, dropped, index, config.merge_threshold))
    if events:
        switch_inputs(network, config)
    return events


def react_to_errors(
    network: Network, rows: Rows, errors: Ints, draws: Floats, config: Config
) -> Reaction:
    """Test for drift: grow, keep the rows for later, or go on."""
    if not config.growing:
        return Reaction(Level.STABLE)
    verdict = find_drift(errors, network.track, network.n_chunks, config)
    if verdict.level is Level.DRIFT:
        return _grow(network, rows, verdict, draws, config)
    if verdict.level is Level.WARNING:
        dropped = keep_for_later(network, rows, config.buffer_rows)
        facts = (verdict.error_before, verdict.error_after, verdict.bound)
        kept = len(network.buffer)
        return Reaction(Level.WARNING, [DriftWarned(network.n_rows, *facts, kept, dropped)])
    network.buffer = Rows.none(network.shape.features)
    return Reaction(Level.STABLE)


def _grow(
    network: Network, rows: Rows, verdict: Verdict, draws: Floats, config: Config
) -> Reaction:
    """Add a layer for the new concept; at full depth the present layers have to do."""
    facts = (verdict.error_before, verdict.error_after, verdict.bound, verdict.cut)
    events: list[Event] = [DriftFound(network.n_rows, *facts)]
    kept = Rows.joined([network.buffer, rows])
    network.buffer = Rows.none(network.shape.features)
    if network.shape.layers >= config.max_layers:
        return Reaction(Level.STABLE, events)
    lead = exploration_draws(config.seed + 1, network.n_rows, len(kept) - len(rows))
    born = add_layer(network, kept, np.concatenate([lead, draws]), config)
    first = len(kept) - len(rows)
    return Reaction(Level.DRIFT, events + born.events, born.said[first:], born.taken[first:])


def first_that_may_rest(config: Config) -> int:
    """Initial layers that never rest are rivals, not copies: two of them never merge."""
    return config.initial_layers if config.training == "winner_and_initial" else 0


def layers_to_train(network: Network, level: Level, config: Config) -> list[int]:
    """Layers that learn a chunk: the winner, unless it just failed, and those that never rest."""
    live = np.flatnonzero(~network.layers.is_merged)
    if config.training == "all":
        chosen = {int(layer) for layer in live}
    elif config.training == "winner_and_initial":
        chosen = {int(layer) for layer in live if layer < config.initial_layers}
    else:
        chosen = set()
    if level is Level.STABLE or (level is Level.WARNING and config.train_on_warning):
        chosen.add(voting.winner(network.layers))
    if level is Level.DRIFT:
        chosen.discard(network.shape.layers - 1)  # the new layer has learned the chunk already
    return sorted(chosen)


def prune_rules(network: Network, trained: list[int], labels: Ints, config: Config) -> list[Event]:
    """Drop rules that lost their significance or potential."""
    if not config.pruning or config.rules == "fixed":
        return []
    seen = np.bincount(labels, minlength=network.shape.classes) > 0
    layers, records = network.layers, network.records
    return [*prune_layers(layers, records, trained, seen, network.n_rows, config)]
