"""Lines, curves and boxes: rules with a box as IF part and logistic regression as THEN part.

A line and a curve are one rule that holds everywhere; a curve also has the squares of features.
Boxes split: when the residuals of the rows of a rule lie on one side of a feature and not on the
other (the score test of a step function in the log odds, for every feature and cut, on residuals
gathered in bins), or when they turn where two features cross, which no single step shows. So rules
are born only where they predict better than their parent. All rules of a network stand in one pool.
"""

import numpy as np

from devfnn.kernels._jit import kernel, part, step
from devfnn.kernels.events import report
from devfnn.kernels.recursive import (
    CHECK_EVERY,
    TINY,
    class_shares,
    hold_under_caps,
    learn_logistic,
    repair_gains,
    start_gains,
)
from devfnn.kernels.state import (
    DROPPED_EVENT,
    INDEPENDENCE,
    LINE,
    MEMORY,
    NO_LAYER,
    NO_OWNER,
    SPLIT_EVENT,
    STEPS,
)

EVEN_VARIANCE = 1.0 / 12.0
"""Of a feature whose values are spread evenly over [0, 1]."""

CONSTANT_VARIANCE = 1e-6
"""Of a thousandth of a range: such a feature is constant, and its prior stays. Variances up to 3000
times larger get the widest prior there is (`rules.prior_reach`)."""

WELL_KNOWN = 100
"""Rows before variances are used: their standard error is then 14 %, little against `MOST_RISE`."""

MOST_RISE = 2.0
"""Factor by which a cap rises in a structural step at most: a feature that has just begun to vary,
or is constant for a while, looks narrow. 1.25 and 1.5 gave the same (docs/performance.md)."""

SLOWEST_MEAN = 0.001
"""Least rate of means and variances of a rule's rows. Crossings and cuts need a mean to a bin and
priors a variance to a factor; 1000 rows give them to some percent and follow changes."""


# ---- the pool


@part()
def free_rule(pool):
    """A slot without a rule, or NO_OWNER."""
    for rule in range(pool.owners.shape[0]):
        if pool.owners[rule] == NO_OWNER:
            return rule
    return NO_OWNER


@part()
def copy_values(source, target):
    """Copy an array; assigning a slice would compile half of NumPy's messages too."""
    for place in np.ndindex(source.shape):
        target[place] = source[place]


@step()
def copy_rule(pool, source, target):
    """Make a rule the same as another in all but its owner."""
    copy_values(pool.lows[source], pool.lows[target])
    copy_values(pool.highs[source], pool.highs[target])
    copy_values(pool.weights[source], pool.weights[target])
    copy_values(pool.gains[source], pool.gains[target])
    copy_values(pool.evidence[source], pool.evidence[target])
    copy_values(pool.crossings[source], pool.crossings[target])
    copy_values(pool.means[source], pool.means[target])
    copy_values(pool.variances[source], pool.variances[target])
    copy_values(pool.class_counts[source], pool.class_counts[target])
    pool.ages[target] = pool.ages[source]


@part()
def count_free(pool):
    """Slots without a rule."""
    count = 0
    for rule in range(pool.owners.shape[0]):
        if pool.owners[rule] == NO_OWNER:
            count += 1
    return count


@kernel()
def drop_layer(layers, pool, layer):
    """Empty a place for a layer, and the slots of its rules."""
    for index in range(pool.n_members[layer]):
        pool.owners[pool.members[layer, index]] = NO_OWNER
    pool.n_members[layer] = 0
    layers.kinds[layer] = NO_LAYER
    layers.origins[layer] = layer
    for other in range(layers.compared.shape[0]):
        layers.disagreements[layer, other] = layers.disagreements[other, layer] = 0.0
        layers.compared[layer, other] = layers.compared[other, layer] = 0.0


@part()
def oldest_kept(layers, first_kept):
    """The kept layer that was the best the longest time ago, or NO_LAYER."""
    oldest = NO_LAYER
    for layer in range(first_kept, layers.kinds.shape[0]):
        if layers.kinds[layer] != NO_LAYER:
            if oldest == NO_LAYER or layers.last_wins[layer] < layers.last_wins[oldest]:
                oldest = layer
    return oldest


@step()
def drop_oldest(state, row, params, events):
    """Drop the least recently best kept layer; False if none."""
    layers = state.layers
    oldest = oldest_kept(layers, params.n_configured)
    if oldest == NO_LAYER:
        return False
    steps = float(state.progress.counts[STEPS] - layers.last_wins[oldest])
    report(events, row, DROPPED_EVENT, oldest, 0, 0, (steps, 0.0, 0.0, 0.0))
    drop_layer(layers, state.pool, oldest)
    return True


@step()
def place_for_layer(state, n_rules, row, params, events):
    """A place for a layer of so many rules, with slots for them; older kept layers make way.

    NO_LAYER if there would be no room even without them: then they stay.
    """
    layers, pool = state.layers, state.pool
    held = 0
    for layer in range(params.n_configured, layers.kinds.shape[0]):
        held += pool.n_members[layer]
    if count_free(pool) + held < n_rules:
        return NO_LAYER
    while True:
        if count_free(pool) >= n_rules:
            for layer in range(params.n_configured, layers.kinds.shape[0]):
                if layers.kinds[layer] == NO_LAYER:
                    return layer
        if not drop_oldest(state, row, params, events):
            return NO_LAYER


@step()
def start_anew(pool, layer):
    """Forget what the rules of a layer say; where they hold stays."""
    for index in range(pool.n_members[layer]):
        rule = pool.members[layer, index]
        pool.weights[rule] = 0.0
        start_gains(pool.gains[rule], pool.caps)
        pool.evidence[rule] = 0.0
        pool.crossings[rule] = 0.0
        pool.ages[rule] = 0
        pool.class_counts[rule] = 0.0


# ---- boxes


@part()
def holding_rule(pool, layer, row):
    """Slot of the rule whose box holds the row; absent features lie in every box."""
    count = pool.n_members[layer]
    first = pool.members[layer, 0]
    if count == 1:
        return first
    for index in range(count):
        rule = pool.members[layer, index]
        lows, highs = pool.lows[rule], pool.highs[rule]
        is_inside = True
        for j in range(row.shape[0]):
            if row[j] <= lows[j] or row[j] > highs[j]:
                is_inside = False
                break
        if is_inside:
            return rule
    return first


@part()
def contrast(label, index):
    """+1 or -1: the side on which a class stands in one of the contrasts."""
    return 1.0 if (label >> index) & 1 else -1.0


@part()
def bin_bounds(low, high):
    """The part of a box that has bins: inside [0, 1]."""
    return max(low, 0.0), min(high, 1.0)


@step()
def gather_evidence(pool, rule, row, label, said):
    """Add the residuals of a row to the bins of all features, and to their crossings."""
    evidence, lows, highs = pool.evidence[rule], pool.lows[rule], pool.highs[rule]
    n_bins, n_contrasts = evidence.shape[1], evidence.shape[2]
    for index in range(n_contrasts):
        expected = 0.0
        for k in range(said.shape[0]):
            expected += contrast(k, index) * said[k]
        residual = contrast(label, index) - expected
        variance = 1.0 - expected * expected
        for j in range(row.shape[0]):
            low, high = bin_bounds(lows[j], highs[j])
            if row[j] == row[j] and high > low:
                place = int((row[j] - low) / (high - low) * n_bins)
                place = min(max(place, 0), n_bins - 1)
                evidence[j, place, index, 0] += residual
                evidence[j, place, index, 1] += variance
        gather_crossings(pool.crossings[rule, :, index], row, pool.means[rule], residual)


@part()
def least_seen(evidence, place):
    """Variance that the poorer side of a cut after a bin has seen. evidence: (B, Q, 2)"""
    left, right = 0.0, 0.0
    for b in range(evidence.shape[0]):
        for index in range(evidence.shape[1]):
            if b <= place:
                left += evidence[b, index, 1]
            else:
                right += evidence[b, index, 1]
    return min(left, right)


@part()
def evidence_of_cut(evidence, place, least_variance):
    """How much likelier the labels are with a step after a bin. evidence: (B, Q, 2)

    Every variance counts 1 more: one residual, so that sides that have seen nothing say nothing.
    """
    gained = 0.0
    for index in range(evidence.shape[1]):
        left, left_variance, right, right_variance = 0.0, 0.0, 0.0, 0.0
        for other in range(evidence.shape[0]):
            if other <= place:
                left += evidence[other, index, 0]
                left_variance += evidence[other, index, 1]
            else:
                right += evidence[other, index, 0]
                right_variance += evidence[other, index, 1]
        both, both_variance = left + right, left_variance + right_variance
        gained += left * left / (left_variance + 1.0) + right * right / (right_variance + 1.0)
        gained -= both * both / (both_variance + 1.0)
    return gained if least_seen(evidence, place) >= least_variance else 0.0


@part()
def best_step(pool, rule, least_variance):
    """Feature, bin and evidence of the best step."""
    feature, place, most = -1, -1, 0.0
    for j in range(pool.lows.shape[1]):
        for b in range(pool.evidence.shape[2] - 1):
            gained = evidence_of_cut(pool.evidence[rule, j], b, least_variance)
            if gained > most:
                feature, place, most = j, b, gained
    return feature, place, most


@part()
def middle_cut(pool, rule, feature):
    """The bin after which a cut lies closest to the mean of a feature."""
    low, high = bin_bounds(pool.lows[rule, feature], pool.highs[rule, feature])
    if high <= low:
        return 0
    n_bins = pool.evidence.shape[2]
    place = int((pool.means[rule, feature] - low) / (high - low) * n_bins + 0.5) - 1
    return min(max(place, 0), n_bins - 2)


@step()
def best_cut(pool, rule, least_variance):
    """Feature, bin and evidence of the best cut: a step, or where features cross.

    Of two features that cross, the one with less of a step is cut, near its mean: the other will
    show by itself.
    """
    feature, place, most = best_step(pool, rule, least_variance)
    first, second, crossed = best_crossing(pool.crossings[rule], pool.evidence[rule])
    if crossed > most:
        step = np.inf
        for j in (first, second):
            middle = middle_cut(pool, rule, j)
            evidence = pool.evidence[rule, j]
            own = max(evidence_of_cut(evidence, middle, least_variance), 0.0)
            if least_seen(evidence, middle) >= least_variance and own < step:
                feature, place, most, step = j, middle, crossed, own
    return feature, place, most


@part()
def start_half(pool, rule, doubt):
    """A rule that has just become one of two: less sure, and without evidence."""
    gains = pool.gains[rule]
    for place in range(gains.shape[0]):
        gains[place] *= doubt
    hold_under_caps(gains, pool.caps.shape[0], pool.caps)
    pool.evidence[rule] = 0.0
    pool.crossings[rule] = 0.0
    pool.ages[rule] = 0
    for k in range(pool.class_counts.shape[1]):
        pool.class_counts[rule, k] *= 0.5  # an even share each: only shown, and never learned from


# ---- crossings: residuals that turn where two features cross their means


@part()
def gather_crossings(crossings, row, means, residual):
    """Add a residual to all pairs of features. crossings: (d,) · row, means: (n,)

    The pairs of a feature with those before it follow each other. There is no room for them when
    rules are not to split this way.
    """
    if crossings.shape[0] == 0:
        return
    pair = 0
    for j in range(row.shape[0]):
        if row[j] == row[j]:
            turned = residual if row[j] > means[j] else -residual
            for k in range(j):
                if row[k] == row[k]:
                    crossings[pair + k] += turned if row[k] > means[k] else -turned
        pair += j


@part()
def best_crossing(crossings, evidence):
    """The best pair, and its evidence minus the expected maximum under no effect.

    What all residuals have in common is subtracted: two features that say the same are always on
    the same side, and it would add up. crossings: (d, Q) · evidence: (n, B, Q, 2)
    """
    first, second, most, pair = -1, -1, 0.0, 0
    if crossings.shape[0] == 0:
        return first, second, most
    by_chance = 2.0 * np.log(crossings.shape[0])
    for j in range(evidence.shape[0]):
        for k in range(j):
            gained = -by_chance
            for index in range(crossings.shape[1]):
                turned = 0.0 + crossings[pair, index]  # no longer single
                common, own, other = 0.0, 1.0, 1.0
                for b in range(evidence.shape[1]):
                    common += evidence[j, b, index, 0]
                    own += evidence[j, b, index, 1]
                    other += evidence[k, b, index, 1]
                gained += (turned * turned - common * common) / max(own, other)
            if gained > most:
                first, second, most = j, k, gained
            pair += 1
    return first, second, most


# ---- splitting


@step()
def split_rule(state, layer, rule, row, params, events):
    """Make two rules of one if the evidence is there, and a slot: kept layers make way."""
    pool, own = state.pool, params.pool
    feature, place, most = best_cut(pool, rule, own.least_variance)
    n_contrasts = pool.evidence.shape[3]
    needed = own.split_evidence + own.evidence_per_contrast * (n_contrasts - 1)
    needed /= state.progress.signals[INDEPENDENCE]
    if feature < 0 or most <= needed:
        return
    sibling = free_rule(pool)
    while sibling == NO_OWNER and drop_oldest(state, row, params, events):
        sibling = free_rule(pool)
    if sibling == NO_OWNER:
        return
    low, high = bin_bounds(pool.lows[rule, feature], pool.highs[rule, feature])
    cut = low + (high - low) * (place + 1) / pool.evidence.shape[2]
    copy_rule(pool, rule, sibling)
    pool.owners[sibling] = layer
    pool.members[layer, pool.n_members[layer]] = sibling
    pool.n_members[layer] += 1
    pool.highs[rule, feature] = cut
    pool.lows[sibling, feature] = cut
    start_half(pool, rule, own.split_doubt)
    start_half(pool, sibling, own.split_doubt)
    report(events, row, SPLIT_EVENT, layer, rule, sibling, (float(feature), cut, most, needed))


@part()
def note_row(pool, rule, row, label, weight):
    """Keep mean, variance and classes of the rows of a rule up to date."""
    pool.ages[rule] += 1
    pool.class_counts[rule, label] += weight
    rate = max(1.0 / pool.ages[rule], SLOWEST_MEAN)
    means, variances = pool.means[rule], pool.variances[rule]
    for j in range(row.shape[0]):
        if row[j] == row[j]:
            away = row[j] - means[j]
            means[j] += rate * away
            spread = (1.0 - rate) * away * away - variances[j]
            variances[j] += rate * spread


@step()
def widen_caps(pool, params):
    """Raise the prior of features by how much less they vary than an evenly spread one.

    Scaling to the range makes most values of a feature with rare extremes (a price, a count) crowd
    in a corner of [0, 1]. Telling them apart takes large weights, which one prior for all would
    forbid. Caps never fall here: what a rule has learned under a wider prior stays possible.
    """
    if pool is None:
        return
    if params.reference < 0:
        return
    rule, n = pool.members[params.reference, 0], pool.lows.shape[1]
    if pool.ages[rule] < WELL_KNOWN:
        return
    for j in range(n):
        variance = pool.variances[rule, j]
        if variance > CONSTANT_VARIANCE:
            cap = params.prior * min(EVEN_VARIANCE / variance, params.prior_reach)
            for place in (1 + j, 1 + n + j):
                pool.caps[place] = max(pool.caps[place], min(cap, MOST_RISE * pool.caps[place]))


# ---- one layer on one row


@part()
def size_of(kind, row):
    """Expanded features that a layer uses: lines do without the curves."""
    n = row.shape[0]
    return 1 + n if kind == LINE else 1 + 2 * n


@part()
def memory_of(state, layer, params):
    """Share of the past that a layer keeps per row."""
    if not params.forgetting:
        return 1.0
    origin = state.layers.origins[layer]
    rows = params.memories[origin]
    if rows == 0.0:
        rows = state.progress.signals[MEMORY] * params.memory_shares[origin]
    return 1.0 - 1.0 / rows


@part()
def trust(said, label, noise):
    """Probability that a label is right, if a share of them is drawn at random."""
    own = (1.0 - noise) * said[label]
    return own / max(own + noise / said.shape[0], TINY)


@part()
def say_rules(layers, pool, layer, row, work, output):
    """Class probabilities of a line, curve or boxes; `work.expanded` is the row's."""
    if pool is None:
        return
    rule = holding_rule(pool, layer, row)
    size = size_of(layers.kinds[layer], row)
    class_shares(pool.weights[rule], work.expanded, size, output)


@part()
def learn_rules(state, pool, layer, index, batch, params, work, events):
    """One row of a line, curve or boxes; `work.outputs` is what the layer said."""
    if pool is None:
        return
    own, said = params.pool, work.outputs[layer]
    n = pool.lows.shape[1]
    row, label, weight = batch.rows[index, :n], batch.labels[index], batch.weights[index]
    rule, size = holding_rule(pool, layer, row), size_of(state.layers.kinds[layer], row)
    noise = own.label_noises[state.layers.origins[layer]]
    if noise > 0.0:
        weight *= max(trust(said, label, noise), own.least_trust)
    weights, gains = pool.weights[rule], pool.gains[rule]
    sample = (label, weight, memory_of(state, layer, own))
    learn_logistic(weights, gains, size, said, sample, pool.caps, work)
    note_row(pool, rule, row, label, weight)
    if pool.ages[rule] % CHECK_EVERY == 0:
        repair_gains(gains, size, pool.caps)
    if layer < params.n_configured and own.splits[layer]:
        gather_evidence(pool, rule, row, label, said)
        has_room = pool.n_members[layer] < pool.members.shape[1]
        if pool.ages[rule] % own.split_every == 0 and has_room:
            split_rule(state, layer, rule, index, params, events)
