"""One rule layer over rows: its output, and the whole learning step of a row."""

import numpy as np

from devfnn.kernels._jit import borrowed, kernel, part
from devfnn.kernels.births import (
    count_rules,
    count_step,
    found_first_rule,
    free_slot,
    grow_rule,
    note_rule,
    passes_published_tuning,
)
from devfnn.kernels.consequents import bound_variance, dot, expand, softmax
from devfnn.kernels.premises import (
    fire,
    invert_covariance,
    measure_rule,
    normalise,
    tune_premise,
    winning_rule,
)
from devfnn.kernels.quality import quality, update_class_moments, update_density
from devfnn.kernels.selection import is_worth_learning, move_threshold
from devfnn.kernels.state import (
    ACTIVE,
    BORN_EVENT,
    FREE,
    OFFERED,
    SEEN,
    UNLABELLED,
    USED,
    Layer,
)
from devfnn.kernels.training import train_consequents


@part()
def view(layers, index):
    """One layer of a network, as views."""
    return Layer(
        layers.status[index],
        layers.centers[index],
        layers.covs[index],
        layers.inverse_covs[index],
        layers.log_volumes[index],
        layers.populations[index],
        layers.class_counts[index],
        layers.consequents[index],
        layers.gain_covs[index],
        layers.gain_caps[index],
        layers.densities[index],
        layers.potentials[index],
        layers.utilities[index],
        layers.ages[index],
        layers.premise_updates[index],
        layers.n_inputs[index],
        layers.input_mask[index],
        layers.density_weight[index],
        layers.density_mean[index],
        layers.density_cov[index],
        layers.class_weights[index],
        layers.class_means[index],
        layers.class_variances[index],
        layers.threshold[index],
        layers.counters[index],
    )


@part()
def mark_present(layer, inputs, scratch):
    """Note which inputs the layer may use on this row: switched on, and not missing."""
    count = 0
    for j in range(layer.n_inputs[0]):
        scratch.present[j] = layer.input_mask[j] and not np.isnan(inputs[j])
        count += scratch.present[j]
    scratch.n_present[0] = count


@part()
def combine_rules(layer, settings, scratch):
    """Local outputs of the rules and their mixture, the layer's output."""
    m = scratch.output.shape[0]
    size = 2 * layer.n_inputs[0] + 1
    for k in range(m):
        scratch.output[k] = 0.0
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] != ACTIVE:
            continue
        activation = scratch.activations[rule]
        local = scratch.locals[rule]
        for k in range(m):
            local[k] = dot(layer.consequents[rule, k], scratch.expanded, size)
        if settings.logistic:
            if settings.mix_logits:
                for k in range(m):
                    scratch.output[k] += activation * local[k]
            softmax(local, local)
            if settings.mix_logits:
                continue
        for k in range(m):
            scratch.output[k] += activation * local[k]
    if settings.logistic and settings.mix_logits:
        softmax(scratch.output, scratch.output)


@part()
def infer(layer, inputs, settings, with_archive, scratch):
    """The layer's output for one row, in `scratch.output`. A layer without rules is undecided."""
    mark_present(layer, inputs, scratch)
    n_rules = count_rules(layer)
    if n_rules == 0:
        scratch.output[:] = 1.0 / scratch.output.shape[0]
        return
    expand(inputs, scratch.present, layer.n_inputs[0], scratch.expanded)
    if n_rules > 1 or with_archive or settings.firing_floor:
        fire(layer, inputs, with_archive, scratch)
        normalise(layer, settings.firing_floor, scratch)
    else:
        for rule in range(layer.status.shape[0]):
            scratch.activations[rule] = 1.0 if layer.status[rule] == ACTIVE else 0.0
    combine_rules(layer, settings, scratch)


@part()
def update_potentials(layer, settings, scratch):
    """How well the row lies around every rule, archived ones too; needs no label."""
    keep = settings.potential_memory
    n = max(scratch.n_present[0], 1)
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] != FREE:
            layer.potentials[rule, 0] = keep * layer.potentials[rule, 0] + 1.0
            layer.potentials[rule, 1] = (
                keep * layer.potentials[rule, 1] + scratch.distances[rule] / n
            )
        if layer.status[rule] == ACTIVE:
            if layer.utilities[rule] < 0.0:
                layer.utilities[rule] = scratch.activations[rule]
            else:
                away = scratch.activations[rule] - layer.utilities[rule]
                layer.utilities[rule] += (1.0 - keep) * away


@part()
def local_outputs(layer, settings, scratch):
    """Recompute local outputs after the premises or the set of rules changed."""
    size = 2 * layer.n_inputs[0] + 1
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            local = scratch.locals[rule]
            for k in range(local.shape[0]):
                local[k] = dot(layer.consequents[rule, k], scratch.expanded, size)
            if settings.logistic:
                softmax(local, local)


@part()
def is_inside(layer, winner, inputs, label, settings, scratch):
    """When to learn: whether the premise of the winner is tuned on this row."""
    if settings.tuning == 1:
        return scratch.distances[winner] <= settings.coverage[scratch.n_present[0]]
    if settings.tuning == 2:
        return passes_published_tuning(layer, inputs, label, settings, scratch)
    return False


@part()
def learn_row(layer, index, row, batch, settings, scratch, journal, inputs):
    """One row through the layer: choose, grow or tune, then train the consequents."""
    label, weight = batch.labels[row], batch.weights[row]
    if weight <= 0.0:
        return
    mark_present(layer, inputs, scratch)
    layer.counters[SEEN] += 1
    is_first = count_rules(layer) == 0
    if is_first:
        found_first_rule(layer, inputs, label, settings, scratch)
    infer(layer, inputs, settings, settings.recall_rules, scratch)
    if count_rules(layer) == 1 and not settings.recall_rules and not settings.firing_floor:
        fire(layer, inputs, False, scratch)
    for k in range(scratch.output.shape[0]):
        undecided = 1.0 / scratch.output.shape[0]
        journal.outputs[row, index, k] = undecided if is_first else scratch.output[k]
    update_potentials(layer, settings, scratch)
    winner = winning_rule(layer, scratch)
    is_accepted = batch.labelled[row] != UNLABELLED
    if settings.active_learning and batch.labelled[row] == OFFERED:
        draw = batch.draws[row]
        is_accepted = is_worth_learning(layer, winner, inputs, draw, settings, scratch)
    move_threshold(layer, is_accepted, settings)
    if not is_accepted:
        return
    layer.counters[USED] += 1
    journal.taken[row] = 1
    rule, kind, numbers = -1, BORN_EVENT, (0.0, 0.0, 0.0, 0.0)
    if settings.grow_rules and not (settings.plain_first and index == 0):
        rule, kind, numbers = grow_rule(layer, winner, inputs, label, settings, scratch)
    if rule >= 0:
        note_rule(journal, row, kind, index, rule, numbers)
        measure_rule(layer, rule, inputs, scratch)
        winner = rule
        normalise(layer, settings.firing_floor, scratch)
        local_outputs(layer, settings, scratch)
    elif not is_first:
        has_tuned = is_inside(layer, winner, inputs, label, settings, scratch)
        count_step(layer, has_tuned)
        if has_tuned:
            tune_premise(layer, winner, weight, settings, scratch)
            measure_rule(layer, winner, inputs, scratch)
            normalise(layer, settings.firing_floor, scratch)
    if settings.grow_rules or settings.active_learning or settings.tuning == 2:
        own = quality(layer, inputs, layer.inverse_covs[winner], scratch.present)
        update_density(layer, inputs, scratch.present, weight * max(own, 1e-3))
    if settings.grow_rules or settings.tuning == 2:
        update_class_moments(layer, inputs, scratch.present, label, weight)
    layer.class_counts[winner, label] += weight
    train_consequents(layer, label, weight, settings, scratch)


@part()
def has_room(layers, index, settings):
    """Whether the layer has a free slot, or has reached its number of rules anyway."""
    layer = view(layers, index)
    return free_slot(layer) >= 0 or count_rules(layer) >= settings.max_rules


@kernel()
def learn_layer(layers, index, settings, batch, journal, scratch, start):
    """Train one layer on rows [start, ...); returns the first row it had no room to learn."""
    layers, batch, journal = borrowed(layers), borrowed(batch), borrowed(journal)
    settings, scratch = borrowed(settings), borrowed(scratch)
    layer = view(layers, index)
    for row in range(start, batch.rows.shape[0]):
        if settings.grow_rules and not has_room(layers, index, settings):
            return row
        learn_row(layer, index, row, batch, settings, scratch, journal, batch.rows[row])
    return batch.rows.shape[0]


@kernel()
def choose_rows(layers, index, settings, batch, scratch, wanted):
    """Which rows the layer would ask for as it stands, were there no label budget."""
    layers, batch = borrowed(layers), borrowed(batch)
    settings, scratch = borrowed(settings), borrowed(scratch)
    layer = view(layers, index)
    for row in range(batch.rows.shape[0]):
        if count_rules(layer) == 0:
            wanted[row] = True
            continue
        infer(layer, batch.rows[row], settings, False, scratch)
        fire(layer, batch.rows[row], False, scratch)
        winner = winning_rule(layer, scratch)
        wanted[row] = not settings.active_learning or is_worth_learning(
            layer, winner, batch.rows[row], batch.draws[row], settings, scratch
        )


@kernel()
def decouple_input(layers, index, axis, width_floor):
    """Cut the covariances of one input with all others, in every rule: it is left out now."""
    layer = view(layers, index)
    n = layer.n_inputs[0]
    factor = np.empty((n, n))
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] != FREE:
            for j in range(n):
                if j != axis:
                    layer.covs[rule, axis, j] = 0.0
                    layer.covs[rule, j, axis] = 0.0
            invert_covariance(layer, rule, width_floor, factor)


@kernel()
def bound_gains(layers, caps, gain):
    """Bring every variance under its cap, moving the weights towards the prior. caps: (p,)"""
    layers = borrowed(layers)
    for index in range(layers.status.shape[0]):
        size = 2 * layers.n_inputs[index, 0] + 1
        for rule in range(layers.status.shape[1]):
            if layers.status[index, rule] != FREE:
                gain_cov = layers.gain_covs[index, rule, :size, :size]
                consequent = layers.consequents[index, rule, :, :size]
                for axis in range(size):
                    if gain_cov[axis, axis] > caps[axis]:
                        bound_variance(consequent, gain_cov, gain[:size], axis, caps[axis])
