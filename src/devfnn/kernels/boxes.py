"""Rules with boxes as IF part: which one holds, and when one becomes two.

A rule splits when the residuals of its rows lie on one side of a feature and not on the other: the
score test of a step function in the log odds, for every feature and cut, on residuals gathered in
bins; or when they turn where two features cross (`crossings.py`), which no single step shows. So
rules are born only where they predict better than their parent.
"""

import numpy as np

from devfnn.kernels._jit import kernel, part
from devfnn.kernels.concept_state import INDEPENDENCE, NO_OWNER, SPLIT_LINE
from devfnn.kernels.crossings import best_crossing, gather_crossings
from devfnn.kernels.diary import note
from devfnn.kernels.logistic import hold_under_caps
from devfnn.kernels.pool import copy_rule, slot_for_rule

EVIDENCE_PER_CONTRAST = 4.0
"""What chance alone adds to the evidence for every further contrast of classes."""

LEAST_VARIANCE = 20.0
"""Variance of residuals that each side of a cut must have seen."""


@part()
def holding_rule(state, layer, row):
    """Slot of the rule whose box holds the row; absent features lie in every box."""
    count = state.n_members[layer]
    first = state.members[layer, 0]
    if count == 1:
        return first
    for index in range(count):
        rule = state.members[layer, index]
        is_inside = True
        for j in range(row.shape[0]):
            if row[j] <= state.lows[rule, j] or row[j] > state.highs[rule, j]:
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


@part()
def gather_evidence(state, rule, row, label, said):
    """Add the residuals of a row to the bins of all features, and to their crossings."""
    n_bins, n_contrasts = state.evidence.shape[2], state.evidence.shape[3]
    for index in range(n_contrasts):
        expected = 0.0
        for k in range(said.shape[0]):
            expected += contrast(k, index) * said[k]
        residual = contrast(label, index) - expected
        variance = 1.0 - expected * expected
        for j in range(row.shape[0]):
            low, high = bin_bounds(state.lows[rule, j], state.highs[rule, j])
            if row[j] == row[j] and high > low:
                place = int((row[j] - low) / (high - low) * n_bins)
                place = min(max(place, 0), n_bins - 1)
                state.evidence[rule, j, place, index, 0] += residual
                state.evidence[rule, j, place, index, 1] += variance
        gather_crossings(state.crossings[rule, :, index], row, state.means[rule], residual)


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
def evidence_of_cut(evidence, place):
    """How much likelier the labels are with a step after a bin. evidence: (B, Q, 2)"""
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
    return gained if least_seen(evidence, place) >= LEAST_VARIANCE else 0.0


@part()
def best_step(state, rule):
    """Feature, bin and evidence of the step that would pay most."""
    feature, place, most = -1, -1, 0.0
    for j in range(state.lows.shape[1]):
        for b in range(state.evidence.shape[2] - 1):
            gained = evidence_of_cut(state.evidence[rule, j], b)
            if gained > most:
                feature, place, most = j, b, gained
    return feature, place, most


@part()
def middle_cut(state, rule, feature):
    """The bin after which a cut lies closest to the mean of a feature."""
    low, high = bin_bounds(state.lows[rule, feature], state.highs[rule, feature])
    if high <= low:
        return 0
    n_bins = state.evidence.shape[2]
    place = int((state.means[rule, feature] - low) / (high - low) * n_bins + 0.5) - 1
    return min(max(place, 0), n_bins - 2)


@part()
def best_cut(state, rule):
    """Feature, bin and evidence of the cut that would pay most: a step, or where features cross.

    Of two features that cross, the one with less of a step is cut, near its mean: the other will
    show by itself.
    """
    feature, place, most = best_step(state, rule)
    first, second, crossed = best_crossing(state.crossings[rule], state.evidence[rule])
    if crossed > most:
        step = np.inf
        for j in (first, second):
            middle = middle_cut(state, rule, j)
            own = max(evidence_of_cut(state.evidence[rule, j], middle), 0.0)
            if least_seen(state.evidence[rule, j], middle) >= LEAST_VARIANCE and own < step:
                feature, place, most, step = j, middle, crossed, own
    return feature, place, most


@part()
def start_half(state, rule, doubt):
    """A rule that has just become one of two: less sure, and without evidence."""
    gains = state.gains[rule]
    for place in range(gains.shape[0]):
        gains[place] *= doubt
    hold_under_caps(gains, state.caps.shape[0], state.caps)
    state.evidence[rule] = 0.0
    state.crossings[rule] = 0.0
    state.ages[rule] = 0
    for k in range(state.class_counts.shape[1]):
        state.class_counts[rule, k] *= 0.5


@kernel()
def split_rule(state, layer, rule, row, habits, diary):
    """Make two rules of one if the evidence is there, and a slot."""
    feature, place, most = best_cut(state, rule)
    n_contrasts = state.evidence.shape[3]
    needed = habits.split_evidence + EVIDENCE_PER_CONTRAST * (n_contrasts - 1)
    needed /= state.course[INDEPENDENCE]
    if feature < 0 or most <= needed:
        return
    sibling = slot_for_rule(state, row, diary)
    if sibling == NO_OWNER:
        return
    low, high = bin_bounds(state.lows[rule, feature], state.highs[rule, feature])
    cut = low + (high - low) * (place + 1) / state.evidence.shape[2]
    copy_rule(state, rule, sibling)
    state.owners[sibling] = layer
    state.members[layer, state.n_members[layer]] = sibling
    state.n_members[layer] += 1
    state.highs[rule, feature] = cut
    state.lows[sibling, feature] = cut
    start_half(state, rule, habits.split_doubt)
    start_half(state, sibling, habits.split_doubt)
    note(diary, row, SPLIT_LINE, layer, rule, sibling, (float(feature), cut, most, needed))


@part()
def note_row(state, rule, row, label, weight):
    """Keep mean, variance and classes of the rows of a rule up to date."""
    state.ages[rule] += 1
    state.class_counts[rule, label] += weight
    rate = max(1.0 / state.ages[rule], 0.001)
    for j in range(row.shape[0]):
        if row[j] == row[j]:
            away = row[j] - state.means[rule, j]
            state.means[rule, j] += rate * away
            spread = (1.0 - rate) * away * away - state.variances[rule, j]
            state.variances[rule, j] += rate * spread
