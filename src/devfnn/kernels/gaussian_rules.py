"""Gaussian rules: how strongly they fire, how the winner moves, when one is born or recalled.

Paper: gClass, its IF part. Rows are judged by data quality: their recursive weighted density.
"""

import numpy as np

from devfnn.kernels._jit import part, step
from devfnn.kernels.recursive import add_rows
from devfnn.kernels.state import (
    ACTIVE,
    ARCHIVED,
    CONSEQUENT_ONLY,
    FREE,
    GROWN,
    RECALLED,
    RULE_BORN_EVENT,
    RULE_RECALLED_EVENT,
    TUNED,
    USED,
)

REPAIR_EVERY = 64
"""Premise updates of a rule between two exact recomputations of its inverse covariance, which cost
as much as 64 updates of few inputs: rounding stays below 1e-10."""

PIVOT_FLOOR = 1e-2
"""Least pivot of a covariance against `gaussian.width_floor`, squared: collinear features leave a
width of a tenth of the floor of single ones, so that correlations up to 0.995 count in full."""

OVERLAP_SHIFT, OVERLAP_SHRINK = 0.1, 0.1
"""Where classes overlap, how far a new rule moves off its reference, in distances, and the least
factor on its width. Ours (docs/paper.md): small, since the premise is tuned from its first row on;
and a narrower rule would fail the test of its volume anyway."""

COINCIDENT = 1e-12
"""Squared distance of a row to the centre that it lies on: it keeps a quotient finite."""

FIRST_DENSITY, FIRST_POTENTIAL, UNUSED = (1.0, 0.0, 1.0), (1.0, 0.0), -1.0
"""Densities, potentials and utility of a rule without rows: as if one row lay on its centre, since
a potential of 0 would stay 0; and no utility yet, which the first row sets."""


# ---- firing


@step()
def measure_rule(layer, rule, inputs, work):
    """Squared Mahalanobis distance of the row to one rule; absent inputs lie on the centre."""
    n = layer.n_inputs[0]
    center, offset, pull = layer.centers[rule], work.offsets[rule], work.pulls[rule]
    for j in range(n):
        offset[j] = inputs[j] - center[j] if work.present[j] else 0.0
    add_rows(layer.inverse_covs[rule], offset, n, pull)
    distance = 0.0
    for j in range(n):
        distance += offset[j] * pull[j]
    work.distances[rule] = max(distance, 0.0)


@part()
def fire(layer, inputs, with_archive, work):
    """Measure the row against every active rule, and against the archived ones if asked."""
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE or (with_archive and layer.status[rule] != FREE):
            measure_rule(layer, rule, inputs, work)


@part()
def normalise(layer, work):
    """Turn distances into activations that sum to 1 (softmax of the log firing)."""
    nearest = np.inf
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            nearest = min(nearest, work.distances[rule])
    total = 0.0
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            work.activations[rule] = np.exp(-0.5 * (work.distances[rule] - nearest))
            total += work.activations[rule]
        else:
            work.activations[rule] = 0.0
    for rule in range(layer.status.shape[0]):
        work.activations[rule] /= total


@part()
def winning_rule(layer, work):
    """The rule with the largest posterior: near, small, and well populated."""
    best, best_score = -1, -np.inf
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            prior = np.log(np.log1p(layer.populations[rule]))
            score = -0.5 * work.distances[rule] - layer.log_volumes[rule] + prior
            if score > best_score:
                best, best_score = rule, score
    return best


@step()
def invert_covariance(layer, rule, width_floor, factor):
    """Recompute inverse covariance and log volume of a rule from its covariance.

    Cholesky with pivots raised to the floor: exact where the covariance is sound, and positive
    definite with bounded precision where features are constant or collinear.
    """
    n, cov, inverse = layer.n_inputs[0], layer.covs[rule], layer.inverse_covs[rule]
    floor = width_floor * width_floor
    log_volume = 0.0
    for i in range(n):
        cov[i, i] = max(cov[i, i], floor)
        for j in range(i + 1):
            rest = cov[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(max(rest, PIVOT_FLOOR * floor))
                log_volume += np.log(factor[i, i])
            else:
                factor[i, j] = rest / factor[j, j]
    for i in range(n):  # invert the factor in place, row by row
        factor[i, i] = 1.0 / factor[i, i]
        for j in range(i):
            rest = 0.0
            for k in range(j, i):
                rest -= factor[i, k] * factor[k, j]
            factor[i, j] = rest * factor[i, i]
    for i in range(n):
        for j in range(i + 1):
            value = 0.0
            for k in range(i, n):
                value += factor[k, i] * factor[k, j]
            inverse[i, j] = value
            inverse[j, i] = value
    layer.log_volumes[rule] = log_volume


@part()
def tune_complete(layer, rule, rate, work):
    """Rank-one update of covariance, inverse and volume; inputs switched off keep their rows."""
    n, cov, inverse = layer.n_inputs[0], layer.covs[rule], layer.inverse_covs[rule]
    offset, pull, distance = work.offsets[rule], work.pulls[rule], work.distances[rule]
    keep = 1.0 - rate
    scale = 1.0 / keep
    step = rate / (keep * (1.0 + rate * distance))
    for i in range(n):
        if work.present[i]:
            cov_row, inverse_row = cov[i], inverse[i]
            away, drawn = offset[i], pull[i]
            for j in range(n):
                cov_row[j] = keep * cov_row[j] + rate * keep * (away * offset[j])
                inverse_row[j] = scale * inverse_row[j] - step * (drawn * pull[j])
    layer.log_volumes[rule] += 0.5 * (work.n_present[0] * np.log(keep) + np.log1p(rate * distance))


@step()
def tune_partial(layer, rule, rate, width_floor, work):
    """The same for a row with values missing: the missing ones keep their variance."""
    n, cov, offset = layer.n_inputs[0], layer.covs[rule], work.offsets[rule]
    keep = 1.0 - rate
    for i in range(n):
        for j in range(n):
            if work.present[i] and work.present[j]:
                cov[i, j] = keep * cov[i, j] + rate * keep * (offset[i] * offset[j])
            elif work.present[i] or work.present[j]:
                cov[i, j] *= keep
    invert_covariance(layer, rule, width_floor, work.factor)


@step()
def tune_premise(layer, rule, weight, params, work):
    """Move the winner towards the row: covariance and inverse first, from the OLD centre."""
    n = layer.n_inputs[0]
    rate = weight / (layer.populations[rule] + weight)
    is_complete = True
    for j in range(n):
        if layer.input_mask[j] and not work.present[j]:
            is_complete = False
    layer.premise_updates[rule] += 1
    if is_complete:
        tune_complete(layer, rule, rate, work)
    else:
        tune_partial(layer, rule, rate, params.width_floor, work)
    for j in range(n):
        layer.centers[rule, j] += rate * work.offsets[rule, j]
    layer.populations[rule] = min(layer.populations[rule] + weight, params.max_population)
    if is_complete and layer.premise_updates[rule] % REPAIR_EVERY == 0:
        invert_covariance(layer, rule, params.width_floor, work.factor)


# ---- data quality


@part()
def mean_spread(layer, inverse):
    """Mean squared distance of the rows to their mean under a metric."""
    n = layer.n_inputs[0]
    spread = 0.0
    for i in range(n):
        row, cov_row = inverse[i], layer.density_cov[i]
        for j in range(n):
            spread += row[j] * cov_row[j]
    return max(spread, 0.0)


@part()
def distance_to_mean(layer, point, inverse, present):
    """Squared distance of a point to the weighted mean of the rows under a metric."""
    n = layer.n_inputs[0]
    distance = 0.0
    for i in range(n):
        if present[i]:
            away = point[i] - layer.density_mean[i]
            row = inverse[i]
            for j in range(n):
                if present[j]:
                    distance += away * row[j] * (point[j] - layer.density_mean[j])
    return max(distance, 0.0)


@part()
def quality(layer, point, inverse, present):
    """Density of the rows seen so far around `point` under the metric `inverse` (paper: DQ)."""
    if layer.density_weight[0] <= 0.0:
        return 1.0
    spread = distance_to_mean(layer, point, inverse, present) + mean_spread(layer, inverse)
    return 1.0 / np.sqrt(1.0 + spread / layer.n_inputs[0])


@part()
def axis_quality(layer, point, widths, present):
    """The same for an axis-parallel metric given by its widths, in n steps."""
    if layer.density_weight[0] <= 0.0:
        return 1.0
    n = layer.n_inputs[0]
    spread = 0.0
    for j in range(n):
        away = point[j] - layer.density_mean[j] if present[j] else 0.0
        spread += (away * away + layer.density_cov[j, j]) / (widths[j] * widths[j])
    return 1.0 / np.sqrt(1.0 + spread / n)


@step()
def update_density(layer, inputs, present, weight):
    """Take a row into the weighted mean and covariance; absent inputs keep their moments."""
    n = layer.n_inputs[0]
    layer.density_weight[0] += weight
    rate = weight / layer.density_weight[0]
    keep = 1.0 - rate
    for i in range(n):
        away = inputs[i] - layer.density_mean[i] if present[i] else 0.0
        row = layer.density_cov[i]
        for j in range(n):
            if present[i] and present[j]:
                row[j] = keep * (row[j] + rate * (away * (inputs[j] - layer.density_mean[j])))
            elif present[i] or present[j]:
                row[j] *= keep
    for i in range(n):
        if present[i]:
            layer.density_mean[i] += rate * (inputs[i] - layer.density_mean[i])


@part()
def update_class_moments(layer, inputs, present, label, weight):
    """Take a row into mean and variance of its class."""
    layer.class_weights[label] += weight
    rate = weight / layer.class_weights[label]
    for j in range(layer.n_inputs[0]):
        if present[j]:
            away = inputs[j] - layer.class_means[label, j]
            layer.class_means[label, j] += rate * away
            variance = layer.class_variances[label, j]
            layer.class_variances[label, j] = (1.0 - rate) * (variance + rate * away * away)


@part()
def closest_class(layer, inputs, present):
    """The class whose rows lie densest around the row (paper: quality per class)."""
    best, best_spread = -1, np.inf
    for label in range(layer.class_weights.shape[0]):
        if layer.class_weights[label] > 0.0:
            spread = 0.0
            for j in range(layer.n_inputs[0]):
                if present[j]:
                    away = inputs[j] - layer.class_means[label, j]
                    spread += away * away + layer.class_variances[label, j]
            if spread < best_spread:
                best, best_spread = label, spread
    return best


# ---- birth and recall


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


@step()
def sketch_rule(layer, inputs, label, params, work):
    """Centre and widths that a rule founded on this row would have; returns its log volume.

    Three cases (paper: class overlap): clear of all rules; overlapping while the row's surroundings
    belong to another class (pushed away from the foreign rule); overlapping among its own.
    """
    n = layer.n_inputs[0]
    same, same_distance, other, other_distance = nearest_centers(layer, inputs, label, work.present)
    reference = same if same >= 0 else other
    shift, shrink = 0.0, 1.0
    covered = np.inf
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            covered = min(covered, work.distances[rule])
    if covered <= params.coverage[work.n_present[0]] and same >= 0 and other >= 0:
        shift = OVERLAP_SHIFT
        nearness = np.sqrt(other_distance / max(same_distance, COINCIDENT))
        shrink = min(max(nearness, OVERLAP_SHRINK), 1.0)
        if closest_class(layer, inputs, work.present) != label:
            reference = other
    log_volume = 0.0
    for j in range(n):
        if not work.present[j]:
            work.candidate_center[j] = layer.centers[reference, j]
            work.candidate_width[j] = np.sqrt(layer.covs[reference, j, j])
        else:
            center = inputs[j] - shift * (layer.centers[reference, j] - inputs[j])
            width = shrink * abs(center - layer.centers[reference, j])
            work.candidate_center[j] = center
            work.candidate_width[j] = max(width, params.width_floor)
        log_volume += np.log(work.candidate_width[j])
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
def quality_bounds(layer, work):
    """Smallest and largest data quality of the rule centres in the candidate's metric."""
    lowest, highest = np.inf, -np.inf
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            own = axis_quality(layer, layer.centers[rule], work.candidate_width, work.present)
            lowest, highest = min(lowest, own), max(highest, own)
    return lowest, highest


@part()
def start_record(layer, rule):
    """Activate a new or recalled rule, with nothing in its record."""
    layer.status[rule] = ACTIVE
    layer.ages[rule] = 0
    layer.utilities[rule] = UNUSED
    for place in range(3):
        layer.densities[rule, place] = FIRST_DENSITY[place]
    for kind in range(2):
        layer.record_counts[rule, kind] = 0.0
        layer.record_means[rule, kind] = 0.0
        layer.record_squares[rule, kind] = 0.0
        layer.violations[rule, kind] = 0.0


@part()
def place_rule(layer, rule, gain, work):
    """A new rule, axis-parallel, where the sketch is; its consequents are the caller's."""
    n = layer.n_inputs[0]
    layer.log_volumes[rule] = 0.0
    for i in range(n):
        for j in range(n):
            layer.covs[rule, i, j] = layer.inverse_covs[rule, i, j] = 0.0
        width = work.candidate_width[i]
        layer.centers[rule, i] = work.candidate_center[i]
        layer.covs[rule, i, i] = width * width
        layer.inverse_covs[rule, i, i] = 1.0 / (width * width)
        layer.log_volumes[rule] += np.log(width)
    size = 2 * n + 1
    for i in range(size):
        for j in range(size):
            layer.gain_covs[rule, i, j] = 0.0
        layer.gain_covs[rule, i, i] = gain
    layer.populations[rule] = 1.0
    for k in range(layer.class_counts.shape[1]):
        layer.class_counts[rule, k] = 0.0
    for place in range(2):
        layer.potentials[rule, place] = FIRST_POTENTIAL[place]
    layer.premise_updates[rule] = 0
    start_record(layer, rule)
    layer.counters[GROWN] += 1


@step()
def found_first_rule(layer, inputs, label, params, work):
    """The first row of a layer becomes its first rule: wide, and with consequents 0."""
    for j in range(layer.n_inputs[0]):
        work.candidate_center[j] = inputs[j] if work.present[j] else 0.5
        work.candidate_width[j] = 1.0 / np.sqrt(params.first_precision)
    place_rule(layer, 0, params.initial_gain, work)
    for k in range(layer.consequents.shape[1]):
        for j in range(2 * layer.n_inputs[0] + 1):
            layer.consequents[0, k, j] = 0.0


@step()
def found_rule(layer, rule, winner, params, work):
    """Turn the sketch into a rule; its consequents start where the winner's are."""
    place_rule(layer, rule, params.later_gain, work)
    for k in range(layer.consequents.shape[1]):
        for j in range(2 * layer.n_inputs[0] + 1):
            layer.consequents[rule, k, j] = layer.consequents[winner, k, j]


@part()
def potential(layer, rule):
    """How well recent rows still lie around a rule (paper: P+)."""
    weight = layer.potentials[rule, 0]
    return np.sqrt(weight / (weight + layer.potentials[rule, 1]))


@part()
def recallable_rule(layer, best_quality, params, work):
    """The archived rule that fits better than a new one would, or -1."""
    best, best_potential = -1, params.recall_margin * best_quality
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ARCHIVED:
            near = work.distances[rule] <= params.coverage[work.n_present[0]]
            if near and potential(layer, rule) > best_potential:
                best, best_potential = rule, potential(layer, rule)
    return best


@part()
def is_largest(layer, log_volume):
    """Whether no active rule has a larger volume (paper: datum significance)."""
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE and log_volume < layer.log_volumes[rule]:
            return False
    return True


@part()
def passes_published_tuning(layer, inputs, label, params, work):
    """The printed condition of premise tuning: significant, but not of extreme quality."""
    if not is_largest(layer, sketch_rule(layer, inputs, label, params, work)):
        return False
    lowest, highest = quality_bounds(layer, work)
    own = axis_quality(layer, inputs, work.candidate_width, work.present)
    return lowest < own < highest


@step()
def grow_rule(layer, winner, inputs, label, params, work):
    """Found or recall a rule if the row calls for one.

    Returns (rule or -1, kind, numbers). Data quality, datum significance and volume must all agree.
    """
    numbers = (0.0, 0.0, 0.0, 0.0)
    is_ruled_out = layer.counters[USED] <= 2 * layer.n_inputs[0] + 1
    for j in range(layer.n_inputs[0]):
        is_ruled_out |= layer.input_mask[j] and not work.present[j]
    if is_ruled_out or count_rules(layer) >= params.max_rules:
        return -1, RULE_BORN_EVENT, numbers
    if not holds_most_volume(layer, winner, params.log_vigilance):
        return -1, RULE_BORN_EVENT, numbers
    log_volume = sketch_rule(layer, inputs, label, params, work)
    if not is_largest(layer, log_volume):
        return -1, RULE_BORN_EVENT, numbers
    lowest, highest = quality_bounds(layer, work)
    own = axis_quality(layer, inputs, work.candidate_width, work.present)
    if lowest < own < highest:
        return -1, RULE_BORN_EVENT, numbers
    bound = highest if own >= highest else lowest
    numbers = (own, bound, log_volume, work.distances[winner])
    if params.recall_rules:
        rule = recallable_rule(layer, max(own, highest), params, work)
        if rule >= 0:
            start_record(layer, rule)  # all else it still knows
            layer.counters[RECALLED] += 1
            return rule, RULE_RECALLED_EVENT, numbers
    slot = free_slot(layer)
    if slot < 0:
        return -1, RULE_BORN_EVENT, numbers
    found_rule(layer, slot, winner, params, work)
    return slot, RULE_BORN_EVENT, numbers


@part()
def count_step(layer, has_tuned):
    """Note whether a learned row moved the premise or the consequents only."""
    layer.counters[TUNED if has_tuned else CONSEQUENT_ONLY] += 1
