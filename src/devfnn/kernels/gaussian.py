"""Gaussian layers over rows (paper: gClass): what a layer says, and its whole learning step."""

import numpy as np

from devfnn.kernels._jit import borrowed, kernel, part, step, view
from devfnn.kernels.events import report
from devfnn.kernels.gaussian_rules import (
    count_rules,
    count_step,
    distance_to_mean,
    fire,
    found_first_rule,
    free_slot,
    grow_rule,
    invert_covariance,
    measure_rule,
    normalise,
    passes_published_tuning,
    quality,
    tune_premise,
    update_class_moments,
    update_density,
    winning_rule,
)
from devfnn.kernels.labels import certainty
from devfnn.kernels.recursive import (
    CHECK_EVERY,
    DECAY_EVERY,
    bound_variance,
    decay_consequent,
    dot_in_order,
    expand_pairs,
    repair_gain_cov,
    softmax,
    update_consequent,
)
from devfnn.kernels.state import ACTIVE, FREE, OFFERED, RULE_BORN_EVENT, SEEN, UNLABELLED, USED

LEAST_ACTIVATION = 1e-4
"""Rules that fire less are not trained on the row: ten thousand such rows would count as one."""

MOST_FORGOTTEN = 0.99
"""Share of its population that a premise forgets where the density moves all the way, with
`gaussian.local_forgetting`: some of its past is kept. The density moves by far less in a row."""

LEAST_DENSITY = 1e-3
"""Least weight of a row in the density. Inputs in [0, 1] hardly come near it with the default
`gaussian.width_floor`; rows that a caller scales may, and a mean must follow them too."""


# ---- what a layer says


@part()
def mark_present(layer, inputs, work):
    """Note which inputs the layer may use on this row: switched on, and not missing."""
    count = 0
    for j in range(layer.n_inputs[0]):
        work.present[j] = layer.input_mask[j] and not np.isnan(inputs[j])
        count += work.present[j]
    work.n_present[0] = count


@part()
def rule_logits(layer, rule, work):
    """What a rule says, into `work.locals`: logits, or scores with least squares."""
    local, size = work.locals[rule], 2 * layer.n_inputs[0] + 1
    for k in range(local.shape[0]):
        local[k] = dot_in_order(layer.consequents[rule, k], work.expanded, size)
    return local


@part()
def combine_rules(layer, params, work):
    """Local outputs of the rules and their mixture, the layer's output."""
    m = work.output.shape[0]
    for k in range(m):
        work.output[k] = 0.0
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            local = rule_logits(layer, rule, work)
            for k in range(m):
                work.output[k] += work.activations[rule] * local[k]
            if params.logistic:
                softmax(local, local)
    if params.logistic:
        softmax(work.output, work.output)


@step()
def infer(layer, inputs, params, with_archive, work):
    """The layer's output for one row, in `work.output`. A layer without rules is undecided."""
    mark_present(layer, inputs, work)
    n_rules = count_rules(layer)
    if n_rules == 0:
        work.output[:] = 1.0 / work.output.shape[0]
        return
    expand_pairs(inputs, work.present, layer.n_inputs[0], work.expanded)
    if n_rules > 1 or with_archive:
        fire(layer, inputs, with_archive, work)
        normalise(layer, work)
    else:
        for rule in range(layer.status.shape[0]):
            work.activations[rule] = 1.0 if layer.status[rule] == ACTIVE else 0.0
    combine_rules(layer, params, work)


@part()
def update_potentials(layer, params, work):
    """How well the row lies around every rule, archived ones too; needs no label."""
    keep = params.potential_memory
    n = max(work.n_present[0], 1)
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] != FREE:
            layer.potentials[rule, 0] = keep * layer.potentials[rule, 0] + 1.0
            layer.potentials[rule, 1] = keep * layer.potentials[rule, 1] + work.distances[rule] / n
        if layer.status[rule] == ACTIVE:
            if layer.utilities[rule] < 0.0:
                layer.utilities[rule] = work.activations[rule]
            else:
                away = work.activations[rule] - layer.utilities[rule]
                layer.utilities[rule] += (1.0 - keep) * away


@part()
def is_inside(layer, winner, inputs, label, params, work):
    """When to learn: whether the premise of the winner is tuned on this row."""
    if params.tuning == 1:
        return work.distances[winner] <= params.coverage[work.n_present[0]]
    if params.tuning == 2:
        return passes_published_tuning(layer, inputs, label, params, work)
    return False


# ---- which rows it learns


@part()
def is_redundant(layer, winner, inputs, work):
    """Whether the row is neither denser nor sparser than every rule centre (paper: ERDE).

    For one metric the density falls with the distance to the mean, so distances are compared. With
    a single rule the test says nothing and the row counts as redundant.
    """
    inverse = layer.inverse_covs[winner]
    own = distance_to_mean(layer, inputs, inverse, work.present)
    is_nearer, is_farther = False, False
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            distance = distance_to_mean(layer, layer.centers[rule], inverse, work.present)
            is_nearer = is_nearer or own < distance
            is_farther = is_farther or own > distance
    return (is_nearer and is_farther) or count_rules(layer) == 1


@step()
def is_worth_learning(layer, winner, inputs, draw, params, work):
    """Conflict, or ignorance, or exploration, of which there is less with a budget."""
    if layer.counters[USED] < 2 * layer.n_inputs[0] + 1:
        return True
    if draw < params.exploration:
        return True
    if certainty(work.output) < layer.threshold[0]:
        return True
    return not is_redundant(layer, winner, inputs, work)


# ---- consequents


@part()
def local_change(layer, rule, params, work):
    """How much the density around a rule has just moved (paper: gradient of LDQ)."""
    activation = work.activations[rule]
    n = max(work.n_present[0], 1)
    record = layer.densities[rule]
    record[0] = params.density_memory * record[0] + activation
    record[1] = params.density_memory * record[1] + activation * work.distances[rule] / n
    density = np.sqrt(record[0] / (record[0] + record[1])) if record[0] > 0.0 else record[2]
    change = abs(density - record[2])
    record[2] = density
    return change


@part()
def forgetting_factor(layer, rule, params, work):
    """Memory of one rule for this row; also lets the premise forget where the density moves."""
    activation = work.activations[rule]
    memory = 1.0 - (1.0 - params.memory) * activation
    if params.local_forgetting > 0.0:
        change = activation * local_change(layer, rule, params, work)
        if layer.ages[rule] > 2 * layer.n_inputs[0] + 1:
            memory *= 1.0 - min(params.local_forgetting * change, params.local_forgetting)
            kept = layer.populations[rule] * (1.0 - min(MOST_FORGOTTEN * change, MOST_FORGOTTEN))
            layer.populations[rule] = max(kept, 1.0)
    return memory


@step()
def train_consequents(layer, label, weight, params, work):
    """Recursive update of every rule that fires, each on its own error."""
    size = 2 * layer.n_inputs[0] + 1
    expanded, gain = work.expanded[:size], work.gain[:size]
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] != ACTIVE or work.activations[rule] < LEAST_ACTIVATION:
            continue
        memory = forgetting_factor(layer, rule, params, work)
        strength = work.activations[rule] * weight
        local = work.locals[rule]
        curvature = 1.0
        if params.logistic:
            curvature = params.curvature_floor
            for k in range(local.shape[0]):
                curvature = max(curvature, local[k] * (1.0 - local[k]))
        for k in range(local.shape[0]):
            target = 1.0 if k == label else 0.0
            work.residuals[k] = (target - local[k]) / curvature
        consequent = layer.consequents[rule, :, :size]
        gain_cov, caps = layer.gain_covs[rule, :size, :size], layer.gain_caps
        weight_of_row, misses = strength * curvature, work.residuals
        update_consequent(consequent, gain_cov, expanded, gain, misses, weight_of_row, memory, caps)
        layer.ages[rule] += 1
        if params.weight_decay > 0.0 and layer.ages[rule] % DECAY_EVERY == 0:
            decay = DECAY_EVERY * params.weight_decay * strength
            decay_consequent(consequent, gain_cov, gain, decay)
        if layer.ages[rule] % CHECK_EVERY == 0:
            repair_gain_cov(gain_cov, size, caps)


# ---- a row, many rows


@step()
def say_gaussian(gaussians, index, inputs, params, work, output):
    """What one gaussian layer says of a row. inputs: (i,) · output: (m,)"""
    if gaussians is None:
        return
    infer(view(gaussians, index), inputs, params, False, work)
    for k in range(output.shape[0]):
        output[k] = work.output[k]


@step()
def learn_gaussian(gaussians, index, row, batch, inputs, params, work, events):
    """One row through a layer: choose, grow or tune, then train; `work.outputs` is what it said."""
    if gaussians is None:
        return
    layer, said, own = view(gaussians, index), work.outputs[index], work.gaussian
    label, weight = batch.labels[row], batch.weights[row]
    mark_present(layer, inputs, own)
    layer.counters[SEEN] += 1
    is_first = count_rules(layer) == 0
    if is_first:
        found_first_rule(layer, inputs, label, params, own)
    infer(layer, inputs, params, params.recall_rules, own)
    if count_rules(layer) == 1 and not params.recall_rules:
        fire(layer, inputs, False, own)
    for k in range(said.shape[0]):
        said[k] = 1.0 / said.shape[0] if is_first else own.output[k]
    update_potentials(layer, params, own)
    winner = winning_rule(layer, own)
    is_accepted = batch.labelled[row] != UNLABELLED
    if params.chooses_rows and batch.labelled[row] == OFFERED:
        draw = batch.draws[row]
        is_accepted = is_worth_learning(layer, winner, inputs, draw, params, own)
    if not is_accepted:
        return
    layer.counters[USED] += 1
    events.taken[row] = 1
    rule, kind, numbers = -1, RULE_BORN_EVENT, (0.0, 0.0, 0.0, 0.0)
    if params.grow_rules and not (index < params.singles.shape[0] and params.singles[index]):
        rule, kind, numbers = grow_rule(layer, winner, inputs, label, params, own)
    if rule >= 0:
        report(events, row, kind, index, rule, 0, numbers)
        measure_rule(layer, rule, inputs, own)
        winner = rule
        normalise(layer, own)
        combine_rules(layer, params, own)
    elif not is_first:
        has_tuned = is_inside(layer, winner, inputs, label, params, own)
        count_step(layer, has_tuned)
        if has_tuned:
            tune_premise(layer, winner, weight, params, own)
            measure_rule(layer, winner, inputs, own)
            normalise(layer, own)
    if params.grow_rules or params.chooses_rows or params.tuning == 2:
        density = quality(layer, inputs, layer.inverse_covs[winner], own.present)
        update_density(layer, inputs, own.present, weight * max(density, LEAST_DENSITY))
    if params.grow_rules or params.tuning == 2:
        update_class_moments(layer, inputs, own.present, label, weight)
    layer.class_counts[winner, label] += weight
    train_consequents(layer, label, weight, params, own)


@step()
def lacks_room(gaussians, index, params):
    """Whether a layer may found a rule and has no slot for it."""
    if gaussians is None:
        return False
    if not params.grow_rules:
        return False
    layer = view(gaussians, index)
    return free_slot(layer) < 0 and count_rules(layer) < params.max_rules


@kernel()
def choose_rows(gaussians, index, batch, params, work, wanted):
    """Which rows the layer would ask for as it stands, were there no label budget."""
    gaussians, batch = borrowed(gaussians), borrowed(batch)
    params, work = borrowed(params), borrowed(work)
    layer = view(gaussians, index)
    for row in range(batch.rows.shape[0]):
        if count_rules(layer) == 0:
            wanted[row] = True
            continue
        infer(layer, batch.rows[row], params, False, work)
        fire(layer, batch.rows[row], False, work)
        winner = winning_rule(layer, work)
        wanted[row] = not params.chooses_rows or is_worth_learning(
            layer, winner, batch.rows[row], batch.draws[row], params, work
        )


@kernel()
def decouple_input(gaussians, index, axis, width_floor):
    """Cut the covariances of one input with all others, in every rule: it is left out now."""
    gaussians = borrowed(gaussians)
    layer = view(gaussians, index)
    n = layer.n_inputs[0]
    factor = np.empty((n, n))
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] != FREE:
            for j in range(n):
                if j != axis:
                    layer.covs[rule, axis, j] = layer.covs[rule, j, axis] = 0.0
            invert_covariance(layer, rule, width_floor, factor)


@kernel()
def bound_gains(gaussians, caps, gain):
    """Bring every variance under its cap, moving the weights towards the prior. caps: (p,)"""
    gaussians = borrowed(gaussians)
    for index in range(gaussians.status.shape[0]):
        size = 2 * gaussians.n_inputs[index, 0] + 1
        for rule in range(gaussians.status.shape[1]):
            if gaussians.status[index, rule] != FREE:
                gain_cov = gaussians.gain_covs[index, rule, :size, :size]
                consequent = gaussians.consequents[index, rule, :, :size]
                for axis in range(size):
                    if gain_cov[axis, axis] > caps[axis]:
                        bound_variance(consequent, gain_cov, gain[:size], axis, caps[axis])
