"""Rules that go: of gaussian layers by significance and potential, of boxes by likeness.

Gaussian layers (paper: ERS and P+): a rule goes when its value lies below its own past, twice
running, while it is little used; one rule a layer and chunk at most. For lack of significance it is
deleted, for lack of potential archived. A rule that alone stands for a class stays. Boxes: two
neighbours whose weights differ by no more than chance explains become one rule.
"""

from typing import TYPE_CHECKING

import numpy as np

from devfnn.arrays import Flags, Floats, Ints
from devfnn.events import Event, RulePruned
from devfnn.kernels.state import ACTIVE, ARCHIVED, BOXES, FREE, NO_OWNER, GaussianState, PoolState
from devfnn.model.layers.gaussian import Gaussian
from devfnn.model.layers.pool import Boxes, packed, unpacked

if TYPE_CHECKING:
    from devfnn.model.network import Network

LEAST_EVALUATIONS = 3
"""Evaluations of a rule before its own mean and deviation say something."""

CONSECUTIVE = 2
"""Evaluations in a row that must be too low: one may be chance."""


def rule_significance(own: GaussianState, layer: int) -> Floats:
    """Expected contribution of every rule to the output under uniform inputs (paper: ERS)."""
    active = own.status[layer] == ACTIVE
    n = int(own.n_inputs[layer, 0])
    volumes = np.where(active, own.log_volumes[layer], -np.inf)
    shares = np.exp((volumes - volumes.max()) / n)
    weights = np.abs(own.consequents[layer]).sum(axis=(1, 2))
    significance: Floats = weights * shares / shares.sum()
    return significance


def rule_potential(own: GaussianState, layer: int) -> Floats:
    """How well recent rows lie around every rule (paper: P+)."""
    weight, distance = own.potentials[layer, :, 0], own.potentials[layer, :, 1]
    potential: Floats = np.sqrt(weight / np.maximum(weight + distance, 1e-300))
    return potential


def prune_layer(
    own: GaussianState, layer: int, seen_classes: Flags, params: Gaussian
) -> tuple[int, str, float, float] | None:
    """Evaluate all rules of a layer and remove at most one.

    Returns (rule, reason, value, limit) of the removed rule.
    """
    active = np.flatnonzero(own.status[layer] == ACTIVE)
    if active.size < 2:
        return None
    values = np.stack([rule_significance(own, layer), rule_potential(own, layer)], axis=1)
    limits = _limits(own, layer, params.prune_margin)
    low = (values < limits) & (own.record_counts[layer] >= LEAST_EVALUATIONS)
    own.violations[layer] = np.where(low, own.violations[layer] + 1, 0.0)
    _record(own, layer, active, values)
    due = own.violations[layer] >= CONSECUTIVE
    idle = own.utilities[layer] < 1.0 / (2.0 * active.size)
    needed = _sole_rules(own, layer, active, seen_classes)
    candidates = [rule for rule in active if due[rule].any() and idle[rule] and rule not in needed]
    if not candidates:
        return None
    rule = int(min(candidates, key=lambda index: own.utilities[layer, index]))
    kind = 0 if due[rule, 0] else 1
    keep = kind == 1 and params.recall and params.archive_size > 0
    own.status[layer, rule] = ARCHIVED if keep else FREE
    if keep:
        _shrink_archive(own, layer, params.archive_size)
    reason = ("significance", "potential")[kind]
    return rule, reason, float(values[rule, kind]), float(limits[rule, kind])


def _limits(own: GaussianState, layer: int, margin: float) -> Floats:
    """Mean less some standard deviations of every rule's own past."""
    counts = np.maximum(own.record_counts[layer], 1.0)
    limits: Floats = own.record_means[layer] - margin * np.sqrt(own.record_squares[layer] / counts)
    return limits


def _record(own: GaussianState, layer: int, active: Ints, values: Floats) -> None:
    """Take an evaluation into the running mean and deviation."""
    own.record_counts[layer, active] += 1.0
    away = values[active] - own.record_means[layer, active]
    own.record_means[layer, active] += away / own.record_counts[layer, active]
    own.record_squares[layer, active] += away * (values[active] - own.record_means[layer, active])


def _sole_rules(own: GaussianState, layer: int, active: Ints, seen: Flags) -> set[int]:
    """Rules that alone have a class of the last chunk as their majority."""
    majority = own.class_counts[layer].argmax(axis=1)
    sole = set()
    for label in np.flatnonzero(seen):
        owners = active[majority[active] == label]
        if owners.size == 1:
            sole.add(int(owners[0]))
    return sole


def _shrink_archive(own: GaussianState, layer: int, size: int) -> None:
    """Evict the archived rule with the lowest potential when there are too many."""
    archived = np.flatnonzero(own.status[layer] == ARCHIVED)
    if archived.size > size:
        potential = rule_potential(own, layer)
        own.status[layer, archived[np.argmin(potential[archived])]] = FREE


def prune_rules(network: "Network", trained: list[int], labels: Ints) -> list[Event]:
    """Prune every gaussian layer that was trained, and say what went."""
    own, params = network.state.gaussians, network.config.gaussian
    if own is None or params is None or not params.pruning or params.rules == "fixed":
        return []
    seen = np.bincount(labels, minlength=network.n_classes) > 0
    events: list[Event] = []
    for layer in trained:
        utilities = own.utilities[layer].copy()
        removed = prune_layer(own, layer, seen, params)
        if removed is not None:
            rule, reason, value, limit = removed
            utility = float(utilities[rule])
            events.append(
                RulePruned(network.n_rows, layer, rule, reason, value, limit, utility, -1)
            )
    return events


# ---- boxes that say the same


def join_rules(network: "Network") -> list[Event]:
    """Make one rule of two neighbours that chance alone could have made differ; one at a time."""
    pool, boxes = network.state.pool, network.config.boxes
    if pool is None or boxes is None or not boxes.joining:
        return []
    layer = int(np.argmax(network.state.layers.kinds == BOXES))
    found = alike_neighbours(pool, layer, boxes)
    if found is None:
        return []
    first, second, difference, limit = found
    _unite(pool, layer, first, second)
    support = float(pool.class_counts[first].sum())
    facts = (layer, second, "difference", difference, limit, support, first)
    return [RulePruned(network.n_rows, *facts)]


def alike_neighbours(
    pool: PoolState, layer: int, boxes: Boxes
) -> tuple[int, int, float, float] | None:
    """Two boxes side by side whose weights differ least against their uncertainty, if by chance."""
    own = pool.members[layer, : pool.n_members[layer]]
    grown = own[pool.ages[own] >= boxes.join_rows]
    size = pool.caps.size * (pool.weights.shape[1] - 1)
    limit = boxes.join_evidence * size
    best: tuple[int, int, float, float] | None = None
    for place, first in enumerate(grown.tolist()):
        for second in grown[place + 1 :].tolist():
            if not _are_neighbours(pool, first, second):
                continue
            difference = weight_difference(pool, first, second)
            if difference < (best[2] if best else limit):
                best = (first, second, difference, limit)
    return best


def _are_neighbours(pool: PoolState, first: int, second: int) -> bool:
    """Whether two boxes together are a box."""
    same = (pool.lows[first] == pool.lows[second]) & (pool.highs[first] == pool.highs[second])
    if np.count_nonzero(~same) != 1:
        return False
    j = int(np.argmin(same))
    return bool(
        pool.highs[first, j] == pool.lows[second, j] or pool.highs[second, j] == pool.lows[first, j]
    )


def weight_difference(pool: PoolState, first: int, second: int) -> float:
    """Squared difference of the weights of two rules, in units of its variance."""
    away = pool.weights[first] - pool.weights[second]
    away = away - away.mean(axis=0)
    spread = unpacked(pool.gains[first] + pool.gains[second])
    return float((away @ np.linalg.solve(spread, away.T)).trace())


def _unite(pool: PoolState, layer: int, first: int, second: int) -> None:
    """Put what two rules know together in the first, and free the second."""
    known = [np.linalg.inv(unpacked(pool.gains[rule])) for rule in (first, second)]
    gains = np.linalg.inv(known[0] + known[1])
    weighted = pool.weights[first] @ known[0] + pool.weights[second] @ known[1]
    pool.weights[first] = weighted @ gains
    pool.gains[first] = packed(gains)
    shares = _shares(pool.ages[[first, second]])
    means, both = shares @ pool.means[[first, second]], [first, second]
    spreads = pool.variances[both] + (pool.means[both] - means) ** 2
    pool.means[first], pool.variances[first] = means, shares @ spreads
    pool.lows[first] = np.minimum(pool.lows[first], pool.lows[second])
    pool.highs[first] = np.maximum(pool.highs[first], pool.highs[second])
    pool.ages[first] += pool.ages[second]
    pool.class_counts[first] += pool.class_counts[second]
    pool.evidence[first] = 0.0
    pool.crossings[first] = 0.0
    pool.owners[second] = NO_OWNER
    own = pool.members[layer]
    count = int(pool.n_members[layer])
    rest = [rule for rule in own[:count].tolist() if rule != second]
    own[: count - 1] = rest
    pool.n_members[layer] = count - 1


def _shares(ages: Ints) -> Floats:
    """Shares of two rules in their rows."""
    shares: Floats = ages / max(float(ages.sum()), 1.0)
    return shares
