"""Rule growing: when a row founds a rule, what the rule looks like, and recall instead of birth."""

import numpy as np

from devfnn.kernels._jit import part
from devfnn.kernels.quality import axis_quality, closest_class
from devfnn.kernels.state import (
    ACTIVE,
    ARCHIVED,
    BORN_EVENT,
    CONSEQUENT_ONLY,
    FREE,
    GROWN,
    RECALLED,
    RECALLED_EVENT,
    TUNED,
    USED,
)

RECALL_MARGIN = 1.05
"""How much denser an archived rule must lie than row and rules before it is called back."""


@part()
def count_rules(layer):
    """Number of active rules."""
    count = 0
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            count += 1
    return count


@part()
def free_slot(layer):
    """A slot for a new rule, or -1."""
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == FREE:
            return rule
    return -1


@part()
def nearest_centers(layer, inputs, label, present):
    """Nearest rules of the same and of another class, and their squared distances."""
    same, other = -1, -1
    same_distance, other_distance = np.inf, np.inf
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] != ACTIVE:
            continue
        distance = 0.0
        for j in range(layer.n_inputs[0]):
            if present[j]:
                away = inputs[j] - layer.centers[rule, j]
                distance += away * away
        if np.argmax(layer.class_counts[rule]) == label:
            if distance < same_distance:
                same, same_distance = rule, distance
        elif distance < other_distance:
            other, other_distance = rule, distance
    return same, same_distance, other, other_distance


@part()
def sketch_rule(layer, inputs, label, settings, scratch):
    """Centre and widths that a rule founded on this row would have; returns its log volume.

    Three cases (paper: class overlap): clear of all rules; overlapping while the row's surroundings
    belong to another class (pushed away from the foreign rule); overlapping among its own.
    """
    n = layer.n_inputs[0]
    same, same_distance, other, other_distance = nearest_centers(
        layer, inputs, label, scratch.present
    )
    reference = same if same >= 0 else other
    shift, shrink = 0.0, 1.0
    covered = np.inf
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            covered = min(covered, scratch.distances[rule])
    if covered <= settings.coverage[scratch.n_present[0]] and same >= 0 and other >= 0:
        shift = 0.1
        shrink = min(max(np.sqrt(other_distance / max(same_distance, 1e-12)), 0.1), 1.0)
        if closest_class(layer, inputs, scratch.present) != label:
            reference = other
    log_volume = 0.0
    for j in range(n):
        if not scratch.present[j]:
            scratch.candidate_center[j] = layer.centers[reference, j]
            scratch.candidate_width[j] = np.sqrt(layer.covs[reference, j, j])
        else:
            center = inputs[j] - shift * (layer.centers[reference, j] - inputs[j])
            width = shrink * abs(center - layer.centers[reference, j])
            scratch.candidate_center[j] = center
            scratch.candidate_width[j] = max(width, settings.width_floor)
        log_volume += np.log(scratch.candidate_width[j])
    return log_volume


@part()
def holds_most_volume(layer, winner, log_vigilance):
    """Whether the winner holds more than the vigilance share of the volume of all rules."""
    top = -np.inf
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            top = max(top, layer.log_volumes[rule])
    total = 0.0
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            total += np.exp(layer.log_volumes[rule] - top)
    return layer.log_volumes[winner] > log_vigilance + top + np.log(total)


@part()
def quality_bounds(layer, scratch):
    """Smallest and largest data quality of the rule centres in the candidate's metric."""
    lowest, highest = np.inf, -np.inf
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            own = axis_quality(layer, layer.centers[rule], scratch.candidate_width, scratch.present)
            lowest, highest = min(lowest, own), max(highest, own)
    return lowest, highest


@part()
def place_rule(layer, rule, gain):
    """Set what every new rule starts with; centre, width and consequent are the caller's."""
    n = layer.n_inputs[0]
    layer.status[rule] = ACTIVE
    layer.log_volumes[rule] = 0.0
    for i in range(n):
        for j in range(n):
            layer.covs[rule, i, j] = 0.0
            layer.inverse_covs[rule, i, j] = 0.0
    size = 2 * n + 1
    for i in range(size):
        for j in range(size):
            layer.gain_covs[rule, i, j] = 0.0
        layer.gain_covs[rule, i, i] = gain
    layer.populations[rule] = 1.0
    for k in range(layer.class_counts.shape[1]):
        layer.class_counts[rule, k] = 0.0
    layer.densities[rule, 0] = 1.0
    layer.densities[rule, 1] = 0.0
    layer.densities[rule, 2] = 1.0
    layer.potentials[rule, 0] = 1.0
    layer.potentials[rule, 1] = 0.0
    layer.utilities[rule] = -1.0
    layer.ages[rule] = 0
    layer.premise_updates[rule] = 0


@part()
def set_axis_width(layer, rule, axis, width):
    """Axis-parallel start of one input of a fresh rule."""
    layer.covs[rule, axis, axis] = width * width
    layer.inverse_covs[rule, axis, axis] = 1.0 / (width * width)
    layer.log_volumes[rule] += np.log(width)


@part()
def found_first_rule(layer, inputs, label, settings, scratch):
    """The first row of a layer becomes its first rule: wide, and with consequents 0."""
    place_rule(layer, 0, settings.initial_gain)
    width = 1.0 / np.sqrt(settings.first_precision)
    for j in range(layer.n_inputs[0]):
        layer.centers[0, j] = inputs[j] if scratch.present[j] else 0.5
        set_axis_width(layer, 0, j, width)
    for k in range(layer.consequents.shape[1]):
        for j in range(2 * layer.n_inputs[0] + 1):
            layer.consequents[0, k, j] = 0.0
    layer.counters[GROWN] += 1


@part()
def found_rule(layer, rule, winner, settings, scratch):
    """Turn the sketch into a rule; its consequents start where the winner's are."""
    place_rule(layer, rule, settings.later_gain)
    for j in range(layer.n_inputs[0]):
        layer.centers[rule, j] = scratch.candidate_center[j]
        set_axis_width(layer, rule, j, scratch.candidate_width[j])
    for k in range(layer.consequents.shape[1]):
        for j in range(2 * layer.n_inputs[0] + 1):
            layer.consequents[rule, k, j] = layer.consequents[winner, k, j]
    layer.counters[GROWN] += 1


@part()
def potential(layer, rule):
    """How well recent rows still lie around a rule (paper: P+)."""
    weight = layer.potentials[rule, 0]
    return np.sqrt(weight / (weight + layer.potentials[rule, 1]))


@part()
def recallable_rule(layer, best_quality, settings, scratch):
    """The archived rule that fits better than a new one would, or -1."""
    best, best_potential = -1, RECALL_MARGIN * best_quality
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ARCHIVED:
            near = scratch.distances[rule] <= settings.coverage[scratch.n_present[0]]
            if near and potential(layer, rule) > best_potential:
                best, best_potential = rule, potential(layer, rule)
    return best


@part()
def revive_rule(layer, rule):
    """Bring an archived rule back with all it knew; only its record starts anew."""
    layer.status[rule] = ACTIVE
    layer.ages[rule] = 0
    layer.utilities[rule] = -1.0
    layer.densities[rule, 0] = 1.0
    layer.densities[rule, 1] = 0.0
    layer.densities[rule, 2] = 1.0
    layer.counters[RECALLED] += 1


@part()
def note_rule(journal, row, kind, index, rule, numbers):
    """Write a line about a new or recalled rule into the journal."""
    line = journal.n_events[0]
    if line < journal.rule_events.shape[0]:
        journal.rule_events[line, 0] = row
        journal.rule_events[line, 1] = kind
        journal.rule_events[line, 2] = index
        journal.rule_events[line, 3] = rule
        for k in range(4):
            journal.rule_numbers[line, k] = numbers[k]
        journal.n_events[0] += 1


@part()
def passes_published_tuning(layer, inputs, label, settings, scratch):
    """The printed condition of premise tuning: significant, but not of extreme quality."""
    log_volume = sketch_rule(layer, inputs, label, settings, scratch)
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE and log_volume < layer.log_volumes[rule]:
            return False
    lowest, highest = quality_bounds(layer, scratch)
    own = axis_quality(layer, inputs, scratch.candidate_width, scratch.present)
    return lowest < own < highest


@part()
def grow_rule(layer, winner, inputs, label, settings, scratch):
    """Found or recall a rule if the row earns one.

    Returns (rule or -1, kind, numbers). Data quality, datum significance and volume must all agree.
    """
    numbers = (0.0, 0.0, 0.0, 0.0)
    is_young = layer.counters[USED] <= 2 * layer.n_inputs[0] + 1
    if is_young or count_rules(layer) >= settings.max_rules:
        return -1, BORN_EVENT, numbers
    for j in range(layer.n_inputs[0]):
        if layer.input_mask[j] and not scratch.present[j]:
            return -1, BORN_EVENT, numbers
    if not holds_most_volume(layer, winner, settings.log_vigilance):
        return -1, BORN_EVENT, numbers
    log_volume = sketch_rule(layer, inputs, label, settings, scratch)
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE and log_volume < layer.log_volumes[rule]:
            return -1, BORN_EVENT, numbers
    lowest, highest = quality_bounds(layer, scratch)
    own = axis_quality(layer, inputs, scratch.candidate_width, scratch.present)
    if lowest < own < highest:
        return -1, BORN_EVENT, numbers
    bound = highest if own >= highest else lowest
    numbers = (own, bound, log_volume, scratch.distances[winner])
    if settings.recall_rules:
        rule = recallable_rule(layer, max(own, highest), settings, scratch)
        if rule >= 0:
            revive_rule(layer, rule)
            return rule, RECALLED_EVENT, numbers
    slot = free_slot(layer)
    if slot < 0:
        return -1, BORN_EVENT, numbers
    found_rule(layer, slot, winner, settings, scratch)
    return slot, BORN_EVENT, numbers


@part()
def count_step(layer, has_tuned):
    """Note whether a learned row moved the premise or the consequents only."""
    layer.counters[TUNED if has_tuned else CONSEQUENT_ONLY] += 1
