"""Recursive updates of the weights of a rule: logistic regression, and weighted least squares.

The logistic step of lines, curves and boxes is implicit: it looks for the output AFTER the step, so
that a row that is far off cannot throw the weights beyond it, whatever the gain. Gaussian layers
update all classes at once with the gain of weighted least squares (paper: FWGRLS), or with that
gain weighted by the curvature of the likelihood, a recursive Newton step.
"""

import numpy as np

from devfnn.kernels._jit import part, step, sum_part

LEAST_CURVATURE = 1e-4
"""What a row of which a rule is sure takes off its uncertainty. Few such rows are learned: 1e-6 to
1e-2 gave the same accuracies. The implicit step needs no floor; the explicit one of gaussian layers
divides by it, so theirs is a parameter."""

MOST_ROUNDS, LONGEST_STEP = 30, 4.0
"""Of Newton's method, for the output after a step; the second in logits a round, from three classes
on. It takes 4 to 7 rounds, 99 times in 100 at most 20, whatever the gain. With 1 it takes up to
130, with 16 it may circle for good. Neither moves where it ends."""

CLOSE_ENOUGH = 1e-3
"""Change of a logit at which these rounds end. The error squares from round to round, so that
outputs are then exact to 2e-7, and smaller values only take a round more."""

MOST_ODDS = 500.0
"""Log odds beyond which nothing changes any more; exponentials overflow at 709."""

TINY = 1e-300
"""Keeps logarithms and quotients of probabilities finite; floats end at 1e-308."""

DECAY_EVERY = 16
"""The weight decay costs as much as the update itself, so it is applied to every 16th, 16-fold."""

SHORT_MEMORY = 0.9
"""Below it, errors of rounding grow by more than a tenth with each row."""

LEAST_DOUBT = 1e-12
"""Share of its cap by which every variance then grows with a row: more than rounding takes away."""

CHECK_EVERY = 4096
"""Updates of a rule between two checks that its gain matrix is positive definite, so that a check,
which costs p / 6 updates, costs nothing. It changes nothing where all is well (`make soak`)."""


@sum_part()
def dot(a, b, size):
    """Inner product of the first `size` entries."""
    total = 0.0
    for j in range(size):
        total += a[j] * b[j]
    return total


@part()
def dot_in_order(a, b, size):
    """The same in a fixed order, whatever the processor: what gaussian layers compute, over
    thousands of rows, shall not depend on it. Four sums overlap.
    """
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = size - size % 4
    for j in range(0, whole, 4):
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
    for j in range(whole, size):
        s0 += a[j] * b[j]
    return (s0 + s1) + (s2 + s3)


@part()
def add_rows(matrix, factors, size, total):
    """The rows of a matrix, each times its factor, added up; those times 0 cost nothing."""
    for j in range(size):
        total[j] = 0.0
    for i in range(size):
        factor = factors[i]
        if factor != 0.0:
            row = matrix[i]
            for j in range(size):
                total[j] += factor * row[j]


@part()
def softmax(logits, out):
    """Write the softmax of `logits` into `out`; the two may be the same array."""
    top = logits[0]
    for k in range(1, logits.shape[0]):
        top = max(top, logits[k])
    total = 0.0
    for k in range(logits.shape[0]):
        out[k] = np.exp(logits[k] - top)
        total += out[k]
    for k in range(logits.shape[0]):
        out[k] /= total


# ---- expansion: features are moved from [0, 1] to [-1, 1]


@part()
def expand_input(value, first, second, expanded):
    """Write the Chebyshev terms T1 and T2 of an input, 0 if it is absent (NaN)."""
    t = 2.0 * value - 1.0
    is_there = t == t
    expanded[first] = t if is_there else 0.0
    expanded[second] = 2.0 * t * t - 1.0 if is_there else 0.0


@part()
def expand_blocks(row, expanded):
    """Write [1, T1 of all features, T2 of all features]; lines use the first half alone."""
    n = row.shape[0]
    expanded[0] = 1.0
    for j in range(n):
        expand_input(row[j], 1 + j, 1 + n + j, expanded)


@part()
def expand_pairs(inputs, present, n_inputs, expanded):
    """Write [1, T1, T2, ...] of the inputs, so that further inputs leave the first where it is."""
    expanded[0] = 1.0
    for j in range(n_inputs):
        expand_input(inputs[j] if present[j] else np.nan, 2 * j + 1, 2 * j + 2, expanded)


# ---- the implicit logistic step


@part()
def share_two(output):
    """The softmax of two logits, in place, with one exponential."""
    away = output[1] - output[0]
    below = np.exp(-abs(away))
    larger = 1.0 / (1.0 + below)
    output[0] = larger if away <= 0.0 else below * larger
    output[1] = below * larger if away <= 0.0 else larger


@part()
def class_shares(weights, expanded, size, output):
    """Class probabilities of a rule. weights: (m, p) · output: (m,)"""
    for k in range(weights.shape[0]):
        output[k] = dot(weights[k], expanded, size)
    if weights.shape[0] == 2:
        share_two(output)
    else:
        softmax(output, output)


@part()
def step_of_two(said, label, reach, learned):
    """`implicit_output` for two classes: one equation in the log odds."""
    odds = np.log(max(said[1], TINY) / max(said[0], TINY))
    target = 1.0 if label == 1 else 0.0
    # Seen from here the curve bends one way only, so that no round overshoots.
    moved = max(odds, 0.0) if label == 1 else min(odds, 0.0)
    share = said[1] if moved == odds else 0.5
    for _ in range(MOST_ROUNDS):
        gap = moved - odds - 2.0 * reach * (target - share)
        change = gap / (1.0 + 2.0 * reach * share * (1.0 - share))
        moved -= change
        share = 1.0 / (1.0 + np.exp(min(-moved, MOST_ODDS)))
        if abs(change) < CLOSE_ENOUGH:
            break
    learned[0] = 1.0 - share
    learned[1] = share


@part()
def moved_shares(said, label, step, learned):
    """Shares when the logits have moved by `step`."""
    total = 0.0
    for k in range(said.shape[0]):
        learned[k] = max(said[k], TINY) * np.exp(min(step[k] - step[label], MOST_ODDS))
        total += learned[k]
    for k in range(said.shape[0]):
        learned[k] /= total


@part()
def step_of_many(said, label, reach, step, learned):
    """`implicit_output` for any number of classes: Newton's method with the whole curvature.

    It starts where the label is as likely as all the others together. The curvature is a diagonal
    less an outer product, so that solving takes one pass (Sherman and Morrison).
    """
    own = max(said[label], TINY)
    step[:] = 0.0
    step[label] = max(np.log(max(1.0 - own, TINY) / own), 0.0)
    for _ in range(MOST_ROUNDS):
        moved_shares(said, label, step, learned)
        pulled, weight, worst = 0.0, 0.0, 0.0
        for k in range(said.shape[0]):
            slope = 1.0 + reach * learned[k]
            gap = step[k] - reach * ((1.0 if k == label else 0.0) - learned[k])
            pulled += learned[k] * gap / slope
            weight += learned[k] / slope
        shared = reach * pulled / weight
        for k in range(said.shape[0]):
            slope = 1.0 + reach * learned[k]
            gap = step[k] - reach * ((1.0 if k == label else 0.0) - learned[k])
            change = (gap + learned[k] * shared) / slope
            step[k] -= min(max(change, -LONGEST_STEP), LONGEST_STEP)
            worst = max(worst, abs(change))
        if worst < CLOSE_ENOUGH:
            break
    moved_shares(said, label, step, learned)


@part()
def implicit_output(said, label, reach, step, learned):
    """The output after a step: learned = softmax(log said + reach * (target - learned)).

    said, step, learned: (m,) · reach: by how much a unit residual moves a logit
    """
    if said.shape[0] == 2:
        step_of_two(said, label, reach, learned)
    else:
        step_of_many(said, label, reach, step, learned)


@part()
def largest_curvature(said, learned):
    """Of the likelihood, before or after the step, over all classes."""
    largest = LEAST_CURVATURE
    for k in range(said.shape[0]):
        largest = max(largest, said[k] * (1.0 - said[k]))
        largest = max(largest, learned[k] * (1.0 - learned[k]))
    return largest


@part()
def hold_under_caps(gains, size, caps):
    """Bring variances that forgetting has raised above the prior back to it. gains: (h,)"""
    start = 0
    for i in range(size):
        variance = gains[start + i]
        if variance > caps[i]:
            factor = np.sqrt(caps[i] / variance)
            for j in range(i + 1):
                gains[start + j] *= factor
            below = start + i
            for k in range(i, size):
                gains[below] *= factor
                below += k + 1
        start += i + 1


@sum_part()
def gain_of(gains, expanded, size, gain):
    """The symmetric matrix in `gains` times the expanded row; returns the variance of the row."""
    start = 0
    for i in range(size):
        value, row = expanded[i], gains[start : start + i + 1]
        total = row[i] * value
        for j in range(i):
            total += row[j] * expanded[j]
            gain[j] += value * row[j]
        gain[i] = total
        start += i + 1
    return dot(expanded, gain, size)


@part()
def learn_logistic(weights, gains, size, said, sample, caps, work):
    """One recursive step of a rule on a row.

    weights: (m, p) · gains: (h,) · said: (m,) · caps: (p,)
    sample: label, weight of the row, memory
    """
    label, weight, memory = sample
    gain = work.gain
    variance = gain_of(gains, work.expanded, size, gain)
    implicit_output(said, label, weight * variance, work.step, work.learned)
    curvature = weight * largest_curvature(said, work.learned)
    for k in range(weights.shape[0]):
        residual = weight * ((1.0 if k == label else 0.0) - work.learned[k])
        for j in range(size):
            weights[k, j] += residual * gain[j]
    scale = 1.0 / (memory / curvature + variance)
    growth = 1.0 / memory
    start, is_over = 0, False
    for i in range(size):
        pull, row = scale * gain[i], gains[start : start + i + 1]
        for j in range(i + 1):
            row[j] = (row[j] - pull * gain[j]) * growth
        is_over |= row[i] > caps[i]
        start += i + 1
    if is_over:
        hold_under_caps(gains, size, caps)


@step()
def is_definite(gains, size):
    """Whether a Cholesky factorisation of the leading block goes through. gains: (h,)"""
    factor = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1):
            rest = gains[i * (i + 1) // 2 + j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i == j:
                if not rest > 0.0:
                    return False
                factor[i, i] = np.sqrt(rest)
            else:
                factor[i, j] = rest / factor[j, j]
    return True


@step()
def repair_gains(gains, size, caps):
    """Fall back to the diagonal when rounding has cost the matrix its definiteness."""
    if is_definite(gains, size):
        return
    start = 0
    for i in range(size):
        for j in range(i):
            gains[start + j] = 0.0
        if not (gains[start + i] > 0.0 and gains[start + i] <= caps[i]):
            gains[start + i] = caps[i]
        start += i + 1


@part()
def start_gains(gains, caps):
    """Everything is still to be learned: the prior. gains: (h,) · caps: (p,)"""
    gains[:] = 0.0
    start = 0
    for i in range(caps.shape[0]):
        gains[start + i] = caps[i]
        start += i + 1


# ---- weighted least squares, and its logistic form


@part()
def bound_variance(consequent, gain_cov, gain, axis, cap):
    """Bring the variance of one weight back to its cap, as if the prior were observed once more.

    The weight moves towards 0 by the weight of the prior against what is known of it, and the
    weights correlated with it follow. So forgetting never reaches beyond the prior.
    """
    size = gain.shape[0]
    variance = gain_cov[axis, axis]
    scale = (variance - cap) / (variance * variance)
    for j in range(size):
        gain[j] = gain_cov[axis, j]
    for k in range(consequent.shape[0]):
        step = scale * consequent[k, axis]
        for j in range(size):
            consequent[k, j] -= step * gain[j]
    for i in range(size):
        row = gain_cov[i]
        pull = gain[i]
        for j in range(size):
            row[j] -= scale * (pull * gain[j])


@part()
def forget_and_bound(consequent, gain_cov, gain, scale, memory, caps):
    """Psi <- (Psi - scale * gain gain') / memory, with every variance kept under its cap.

    The product gain_i * gain_j is formed first, so the matrix stays exactly symmetric.
    """
    size = gain.shape[0]
    growth = 1.0 / memory
    for i in range(size):
        row = gain_cov[i]
        pull = gain[i]
        for j in range(size):
            row[j] = (row[j] - scale * (pull * gain[j])) * growth
    for i in range(size):
        if memory < SHORT_MEMORY:
            gain_cov[i, i] += LEAST_DOUBT * caps[i]
        if gain_cov[i, i] > caps[i]:
            bound_variance(consequent, gain_cov, gain, i, caps[i])


@part()
def update_consequent(consequent, gain_cov, expanded, gain, residuals, strength, memory, caps):
    """One weighted recursive step of all classes of a rule.

    consequent: (m, p) · gain_cov: (p, p) · expanded, gain: (p,) · residuals: (m,)
    """
    size = expanded.shape[0]
    add_rows(gain_cov, expanded, size, gain)
    scale = 1.0 / (memory / strength + dot_in_order(expanded, gain, size))
    for k in range(consequent.shape[0]):
        step = scale * residuals[k]
        weights = consequent[k]
        for j in range(size):
            weights[j] += step * gain[j]
    forget_and_bound(consequent, gain_cov, gain, scale, memory, caps)


@step()
def decay_consequent(consequent, gain_cov, gain, strength):
    """Shrink the weights along the gain matrix; the step is bounded, so none can grow."""
    size = gain.shape[0]
    trace = 0.0
    for j in range(size):
        trace += gain_cov[j, j]
    eta = strength / (1.0 + strength * trace)
    for k in range(consequent.shape[0]):
        weights = consequent[k]
        add_rows(gain_cov, weights, size, gain)
        for j in range(size):
            weights[j] -= eta * gain[j]


@step()
def repair_gain_cov(gain_cov, size, caps):
    """`repair_gains` for a full matrix. gain_cov: (p, p)"""
    packed = np.empty(size * (size + 1) // 2)
    for i in range(size):
        for j in range(i + 1):
            packed[i * (i + 1) // 2 + j] = gain_cov[i, j]
    repair_gains(packed, size, caps)
    for i in range(size):
        for j in range(i + 1):
            gain_cov[i, j] = gain_cov[j, i] = packed[i * (i + 1) // 2 + j]
