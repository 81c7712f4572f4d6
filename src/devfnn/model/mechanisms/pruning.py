"""Pruning: rules of gaussian layers by significance and potential, boxes by similarity.

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

LEAST_EVALUATIONS, CONSECUTIVE = 3, 2
"""Evaluations of a rule before its own mean and deviation are meaningful, and how many in a row
must be too low: one may be chance. How low is `gaussian.prune_margin`."""

LITTLE_USED = 0.5
"""Utility below which a rule may go, in even shares: half of what each rule would have."""


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
    """How well recent rows lie around every rule (paper: P+), as in the kernel `potential`."""
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
    counts, means, squares = (
        past[layer] for past in (own.record_counts, own.record_means, own.record_squares)
    )
    limits = means - params.prune_margin * np.sqrt(squares / np.maximum(counts, 1.0))
    is_low = (values < limits) & (counts >= LEAST_EVALUATIONS)
    own.violations[layer] = np.where(is_low, own.violations[layer] + 1, 0.0)
    counts[active] += 1.0
    away = values[active] - means[active]
    means[active] += away / counts[active]
    squares[active] += away * (values[active] - means[active])
    due = own.violations[layer] >= CONSECUTIVE
    may_go = due.any(axis=1) & (own.utilities[layer] < LITTLE_USED / active.size)
    may_go[_sole_rules(own, layer, active, seen_classes)] = False
    candidates = active[may_go[active]]
    if not candidates.size:
        return None
    rule = int(candidates[own.utilities[layer, candidates].argmin()])
    kind = 0 if due[rule, 0] else 1
    own.status[layer, rule] = FREE
    if kind == 1 and params.recall and params.archive_size > 0:
        own.status[layer, rule] = ARCHIVED
        archived = np.flatnonzero(own.status[layer] == ARCHIVED)
        if archived.size > params.archive_size:
            own.status[layer, archived[np.argmin(values[archived, 1])]] = FREE
    reason = ("significance", "potential")[kind]
    return rule, reason, float(values[rule, kind]), float(limits[rule, kind])


def _sole_rules(own: GaussianState, layer: int, active: Ints, seen: Flags) -> list[int]:
    """Rules that alone have a class of the last chunk as their majority."""
    majority = own.class_counts[layer, active].argmax(axis=1)
    owners = [active[majority == label] for label in np.flatnonzero(seen)]
    return [int(rules[0]) for rules in owners if rules.size == 1]


def prune_rules(network: "Network", trained: list[int], labels: Ints) -> list[Event]:
    """Prune every gaussian layer that was trained; returns events."""
    own, params = network.state.gaussians, network.config.gaussian
    if own is None or params is None or not params.pruning or params.rules == "fixed":
        return []
    seen = np.bincount(labels, minlength=network.n_classes) > 0
    events: list[Event] = []
    for layer in trained:
        removed = prune_layer(own, layer, seen, params)
        if removed is not None:
            utility = float(own.utilities[layer, removed[0]])
            events.append(RulePruned(network.n_rows, layer, *removed, utility, -1))
    return events


# ---- boxes that say the same


def join_rules(network: "Network") -> list[Event]:
    """Join two neighbours whose difference chance explains; one pair at a time."""
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
    """The neighbouring boxes whose weights differ least, if chance explains the difference."""
    own = pool.members[layer, : pool.n_members[layer]]
    grown = own[pool.ages[own] >= boxes.join_rows]
    if grown.size < 2:
        return None
    limit = boxes.join_evidence * (pool.caps.size * (pool.weights.shape[1] - 1))
    pairs = neighbours(pool.lows[grown], pool.highs[grown])
    if not len(pairs):
        return None
    differences = weight_differences(pool, *grown[pairs].T)
    best = int(np.argmin(differences))
    if not differences[best] < limit:
        return None
    return *grown[pairs[best]].tolist(), float(differences[best]), limit


def neighbours(lows: Floats, highs: Floats) -> Ints:
    """Pairs of boxes whose union is a box. lows, highs: (k, n) · returns (pairs, 2)"""
    differs = (lows[:, None] != lows) | (highs[:, None] != highs)
    first, second = pairs = np.argwhere(differs.sum(axis=2) == 1).T
    axis = np.argmax(differs[first, second], axis=1)
    touch = highs[first, axis] == lows[second, axis]  # each pair from one of its sides
    return np.sort(pairs.T[touch], axis=1)


def weight_differences(pool: PoolState, first: Ints, second: Ints) -> Floats:
    """Squared differences of the weights of pairs of rules, in units of their variance."""
    away = pool.weights[first] - pool.weights[second]
    away -= away.mean(axis=1, keepdims=True)
    spread = unpacked(pool.gains[first] + pool.gains[second])
    solved = np.linalg.solve(spread, away.swapaxes(1, 2))
    differences: Floats = np.einsum("rmp,rpm->r", away, solved)
    return differences


def _unite(pool: PoolState, layer: int, first: int, second: int) -> None:
    """Combine two rules in the first, and free the second."""
    known = [np.linalg.inv(unpacked(pool.gains[rule])) for rule in (first, second)]
    gains = np.linalg.inv(known[0] + known[1])
    weighted = pool.weights[first] @ known[0] + pool.weights[second] @ known[1]
    pool.weights[first] = weighted @ gains
    pool.gains[first] = packed(gains)
    both = [first, second]
    shares = pool.ages[both] / max(float(pool.ages[both].sum()), 1.0)
    means = shares @ pool.means[both]
    spreads = pool.variances[both] + (pool.means[both] - means) ** 2
    pool.means[first], pool.variances[first] = means, shares @ spreads
    pool.lows[first] = np.minimum(pool.lows[first], pool.lows[second])
    pool.highs[first] = np.maximum(pool.highs[first], pool.highs[second])
    pool.ages[first] += pool.ages[second]
    pool.class_counts[first] += pool.class_counts[second]
    pool.evidence[first] = 0.0
    pool.crossings[first] = 0.0
    pool.owners[second] = NO_OWNER
    count = int(pool.n_members[layer])
    own = pool.members[layer, :count]
    own[:-1] = own[own != second]
    pool.n_members[layer] = count - 1
