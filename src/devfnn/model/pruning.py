"""Rule pruning at the end of a chunk, by significance (deleted) and by potential (archived).

Paper: "fading": ERS and P+. A rule goes when its value lies below its own past, twice running,
while it is little used; one rule a layer and chunk at most. A rule that alone stands for a class
stays.
"""

from typing import NamedTuple

import numpy as np

from devfnn.events import RulePruned
from devfnn.kernels.state import ACTIVE, ARCHIVED, FREE, Flags, Floats, Ints, Layers
from devfnn.model.config import Config

LEAST_EVALUATIONS = 3
CONSECUTIVE = 2


class RuleRecords(NamedTuple):
    """How a rule's significance (0) and potential (1) went so far: arrays (L, R, 2)."""

    counts: Floats
    means: Floats
    squares: Floats  # sum of squared deviations
    violations: Floats  # how often running


def empty_records(n_layers: int, n_slots: int) -> RuleRecords:
    """Records of nothing."""
    return RuleRecords(*(np.zeros((n_layers, n_slots, 2)) for _ in range(4)))


def resized_records(records: RuleRecords, n_layers: int, n_slots: int) -> RuleRecords:
    """A larger copy."""
    fresh = empty_records(n_layers, n_slots)
    for source, target in zip(records, fresh, strict=True):
        target[: source.shape[0], : source.shape[1]] = source
    return fresh


def clear_record(records: RuleRecords, layer: int, rule: int) -> None:
    """Start the record of a new or recalled rule."""
    for array in records:
        array[layer, rule] = 0.0


def rule_significance(layers: Layers, layer: int) -> Floats:
    """Expected contribution of every rule to the output under uniform inputs (paper: ERS)."""
    active = layers.status[layer] == ACTIVE
    n = int(layers.n_inputs[layer, 0])
    volumes = np.where(active, layers.log_volumes[layer], -np.inf)
    shares = np.exp((volumes - volumes.max()) / n)
    weights = np.abs(layers.consequents[layer]).sum(axis=(1, 2))
    significance: Floats = weights * shares / shares.sum()
    return significance


def rule_potential(layers: Layers, layer: int) -> Floats:
    """How well recent rows lie around every rule (paper: P+)."""
    weight, distance = layers.potentials[layer, :, 0], layers.potentials[layer, :, 1]
    potential: Floats = np.sqrt(weight / np.maximum(weight + distance, 1e-300))
    return potential


def prune_layer(
    layers: Layers, records: RuleRecords, layer: int, seen_classes: Flags, config: Config
) -> tuple[int, str, float, float] | None:
    """Evaluate all rules of a layer and remove at most one.

    Returns (rule, reason, value, limit) of the removed rule.
    """
    active = np.flatnonzero(layers.status[layer] == ACTIVE)
    if active.size < 2:
        return None
    values = np.stack([rule_significance(layers, layer), rule_potential(layers, layer)], axis=1)
    limits = _limits(records, layer, config.prune_margin)
    low = (values < limits) & (records.counts[layer] >= LEAST_EVALUATIONS)
    records.violations[layer] = np.where(low, records.violations[layer] + 1, 0.0)
    _record(records, layer, active, values)
    due = records.violations[layer] >= CONSECUTIVE
    idle = layers.utilities[layer] < 1.0 / (2.0 * active.size)
    needed = _sole_rules(layers, layer, active, seen_classes)
    candidates = [rule for rule in active if due[rule].any() and idle[rule] and rule not in needed]
    if not candidates:
        return None
    rule = int(min(candidates, key=lambda index: layers.utilities[layer, index]))
    kind = 0 if due[rule, 0] else 1
    keep = kind == 1 and config.recall and config.archive_size > 0
    layers.status[layer, rule] = ARCHIVED if keep else FREE
    if keep:
        _shrink_archive(layers, layer, config.archive_size)
    reason = ("significance", "potential")[kind]
    return rule, reason, float(values[rule, kind]), float(limits[rule, kind])


def _limits(records: RuleRecords, layer: int, margin: float) -> Floats:
    """Mean less some standard deviations of every rule's own past."""
    counts = np.maximum(records.counts[layer], 1.0)
    limits: Floats = records.means[layer] - margin * np.sqrt(records.squares[layer] / counts)
    return limits


def _record(records: RuleRecords, layer: int, active: Ints, values: Floats) -> None:
    """Take an evaluation into the running mean and deviation."""
    records.counts[layer, active] += 1.0
    away = values[active] - records.means[layer, active]
    records.means[layer, active] += away / records.counts[layer, active]
    records.squares[layer, active] += away * (values[active] - records.means[layer, active])


def _sole_rules(layers: Layers, layer: int, active: Ints, seen: Flags) -> set[int]:
    """Rules that alone have a class of the last chunk as their majority."""
    majority = layers.class_counts[layer].argmax(axis=1)
    sole = set()
    for label in np.flatnonzero(seen):
        owners = active[majority[active] == label]
        if owners.size == 1:
            sole.add(int(owners[0]))
    return sole


def _shrink_archive(layers: Layers, layer: int, size: int) -> None:
    """Evict the archived rule with the lowest potential when there are too many."""
    archived = np.flatnonzero(layers.status[layer] == ARCHIVED)
    if archived.size > size:
        potential = rule_potential(layers, layer)
        layers.status[layer, archived[np.argmin(potential[archived])]] = FREE


def prune_layers(
    layers: Layers, records: RuleRecords, trained: list[int], seen: Flags, row: int, config: Config
) -> list[RulePruned]:
    """Prune every layer that was trained, and say what went."""
    events = []
    for layer in trained:
        utilities = layers.utilities[layer].copy()
        removed = prune_layer(layers, records, layer, seen, config)
        if removed is not None:
            rule, reason, value, limit = removed
            events.append(
                RulePruned(row, layer, rule, reason, value, limit, float(utilities[rule]))
            )
    return events
