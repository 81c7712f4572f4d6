"""Structural steps of a concept network between kernel calls: mask, joining, merging."""

import numpy as np

from devfnn.events import CloudsChanged, Event, FeatureOff, FeatureOn, LayerDropped, RulePruned
from devfnn.kernels.concept_state import (
    BOX_LAYER,
    CLOUD_LAYER,
    FIRST_KEPT,
    NO_LAYER,
    NO_OWNER,
    TOLD,
    Concepts,
)
from devfnn.kernels.state import Floats, Ints
from devfnn.model.concepts.inputs import layer_inputs
from devfnn.model.concepts.network import ConceptNetwork
from devfnn.model.concepts.state import packed, unpacked
from devfnn.model.config import Config
from devfnn.model.features import feature_scores, updated_mask, updated_stats
from devfnn.model.mergers import IS_LIKE, SAYS_THE_SAME
from devfnn.model.network import Rows

JOINING_ROWS = 1000
"""Rows that both rules of a pair must have learned before they can become one."""


def take_steps(network: ConceptNetwork, names: list[str], config: Config) -> list[Event]:
    """Everything that is due at the end of a structural step."""
    events = mask_features(network, names, config) + tell_clouds(network)
    if config.pruning and config.rule_growing:
        events += join_rules(network, config)
    if config.merging:
        events += merge_layers(network, config)
    return events


def tell_clouds(network: ConceptNetwork) -> list[Event]:
    """That the number of clouds has changed, if it has."""
    clock, after = network.state.clock, int(network.state.n_clouds[0])
    before, clock[TOLD] = int(clock[TOLD]), after
    return [CloudsChanged(network.n_rows, CLOUD_LAYER, before, after)] if after != before else []


def gather(network: ConceptNetwork, rows: Rows, taken: Ints, config: Config) -> None:
    """Keep learned rows for the feature mask, if it is on."""
    if config.feature_mask:
        network.gathered = Rows.joined([network.gathered, rows.where(taken == 1)])


def mask_features(network: ConceptNetwork, names: list[str], config: Config) -> list[Event]:
    """Switch features off and on by their relevance to the classes."""
    rows = network.gathered
    if not config.feature_mask or not len(rows):
        return []
    network.gathered = Rows.none(network.n_features)
    everything = network.feature_mask
    network.feature_mask = np.ones_like(everything)
    inputs = layer_inputs(network, rows.X, config)
    network.feature_mask = everything
    memory = config.statistics_memory
    network.feature_stats = updated_stats(network.feature_stats, inputs, rows.labels, memory)
    scores = feature_scores(network.feature_stats, config)
    mask = updated_mask(everything, scores, config.feature_threshold)
    changed = np.flatnonzero(mask != everything)
    network.feature_mask = mask
    limit = config.feature_threshold
    return [
        (FeatureOn if mask[j] else FeatureOff)(network.n_rows, names[j], float(scores[j]), limit)
        for j in changed
    ]


# ---- rules that say the same


def join_rules(network: ConceptNetwork, config: Config) -> list[Event]:
    """Make one rule of two neighbours that chance alone could have made differ; one at a time."""
    state = network.state
    found = alike_neighbours(state, config)
    if found is None:
        return []
    first, second, difference, limit = found
    _unite(state, first, second)
    reason = IS_LIKE.format(first)
    share = float(state.class_counts[first].sum())
    return [RulePruned(network.n_rows, BOX_LAYER, second, reason, difference, limit, share)]


def alike_neighbours(state: Concepts, config: Config) -> tuple[int, int, float, float] | None:
    """Two boxes side by side whose weights differ least against their uncertainty, if by chance."""
    own = state.members[BOX_LAYER, : state.n_members[BOX_LAYER]]
    grown = own[state.ages[own] >= JOINING_ROWS]
    size = state.caps.size * (state.weights.shape[1] - 1)
    limit = config.join_evidence * size
    best: tuple[int, int, float, float] | None = None
    for place, first in enumerate(grown.tolist()):
        for second in grown[place + 1 :].tolist():
            if not _are_neighbours(state, first, second):
                continue
            difference = weight_difference(state, first, second)
            if difference < (best[2] if best else limit):
                best = (first, second, difference, limit)
    return best


def _are_neighbours(state: Concepts, first: int, second: int) -> bool:
    """Whether two boxes together are a box."""
    same = (state.lows[first] == state.lows[second]) & (state.highs[first] == state.highs[second])
    if np.count_nonzero(~same) != 1:
        return False
    j = int(np.argmin(same))
    return bool(
        state.highs[first, j] == state.lows[second, j]
        or state.highs[second, j] == state.lows[first, j]
    )


def weight_difference(state: Concepts, first: int, second: int) -> float:
    """Squared difference of the weights of two rules, in units of its variance."""
    away = state.weights[first] - state.weights[second]
    away = away - away.mean(axis=0)
    spread = unpacked(state.gains[first] + state.gains[second])
    return float((away @ np.linalg.solve(spread, away.T)).trace())


def _unite(state: Concepts, first: int, second: int) -> None:
    """Put what two rules know together in the first, and free the second."""
    known = [np.linalg.inv(unpacked(state.gains[rule])) for rule in (first, second)]
    gains = np.linalg.inv(known[0] + known[1])
    weighted = state.weights[first] @ known[0] + state.weights[second] @ known[1]
    state.weights[first] = weighted @ gains
    state.gains[first] = packed(gains)
    shares = _shares(state.ages[[first, second]])
    means, both = shares @ state.means[[first, second]], [first, second]
    spreads = state.variances[both] + (state.means[both] - means) ** 2
    state.means[first], state.variances[first] = means, shares @ spreads
    state.lows[first] = np.minimum(state.lows[first], state.lows[second])
    state.highs[first] = np.maximum(state.highs[first], state.highs[second])
    state.ages[first] += state.ages[second]
    state.class_counts[first] += state.class_counts[second]
    state.evidence[first] = 0.0
    state.crossings[first] = 0.0
    state.owners[second] = NO_OWNER
    own = state.members[BOX_LAYER]
    count = int(state.n_members[BOX_LAYER])
    rest = [rule for rule in own[:count].tolist() if rule != second]
    own[: count - 1] = rest
    state.n_members[BOX_LAYER] = count - 1


def _shares(ages: Ints) -> Floats:
    """Shares of two rules in their rows."""
    shares: Floats = ages / max(float(ages.sum()), 1.0)
    return shares


# ---- layers that say the same


def merge_layers(network: ConceptNetwork, config: Config) -> list[Event]:
    """Drop kept layers that say the same as another; the worse of the two goes."""
    from devfnn.kernels.pool import drop_layer

    state = network.state
    events: list[Event] = []
    kept = [k for k in range(FIRST_KEPT, state.kinds.size) if state.kinds[k] != NO_LAYER]
    for place, first in enumerate(kept):
        for second in kept[place + 1 :]:
            if NO_LAYER in (state.kinds[first], state.kinds[second]):
                continue
            share = float(state.disagreements[first, second])
            enough = state.compared[first, second] >= 2.0 * config.vote_rows
            if enough and share < config.merge_disagreement:
                worse = first if state.scores[first] < state.scores[second] else second
                other = first + second - worse
                reason = SAYS_THE_SAME.format(other)
                limit = config.merge_disagreement
                events.append(LayerDropped(network.n_rows, worse, reason, share, limit))
                drop_layer(state, worse)
    return events
