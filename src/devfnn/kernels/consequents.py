"""The THEN part: Chebyshev expansion, local outputs, and the recursive update of one rule.

Paper: FLANN expansion and FWGRLS. `least_squares` and `logistic` share the state and the cost; the
logistic form weighs the gain by the curvature of the likelihood (a recursive Newton step).
"""

import numpy as np

from devfnn.kernels._jit import kernel, part

DECAY_EVERY = 16
"""The weight decay costs as much as the update itself, so it is applied to every 16th, 16-fold."""

SHORT_MEMORY = 0.9
"""Below it, errors of rounding grow by more than a tenth with each row."""

LEAST_DOUBT = 1e-12
"""Share of its cap by which every variance then grows with a row: more than rounding takes away."""

CHECK_EVERY = 4096
"""How many updates of a rule pass between two checks that its gain matrix is positive definite."""


@part()
def dot(a, b, size):
    """Inner product of the first `size` entries, in four sums so that they can overlap."""
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
def expand(inputs, present, n_inputs, expanded):
    """Write [1, T1, T2, ...] of the inputs, moved from [0, 1] to [-1, 1]; absent ones give 0, 0."""
    expanded[0] = 1.0
    for j in range(n_inputs):
        if present[j]:
            t = 2.0 * inputs[j] - 1.0
            expanded[2 * j + 1] = t
            expanded[2 * j + 2] = 2.0 * t * t - 1.0
        else:
            expanded[2 * j + 1] = 0.0
            expanded[2 * j + 2] = 0.0


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


@part()
def bound_variance(consequent, gain_cov, gain, axis, cap):
    """Bring the variance of one weight back to its cap, as if the prior were observed once more.

    The weight is pulled towards 0 by what the prior is worth against what is known of it, and the
    weights that lean on it follow. So forgetting never reaches beyond the prior.
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
    for j in range(size):
        gain[j] = 0.0
    for i in range(size):
        value = expanded[i]
        if value != 0.0:
            row = gain_cov[i]
            for j in range(size):
                gain[j] += value * row[j]
    scale = 1.0 / (memory / strength + dot(expanded, gain, size))
    for k in range(consequent.shape[0]):
        step = scale * residuals[k]
        weights = consequent[k]
        for j in range(size):
            weights[j] += step * gain[j]
    forget_and_bound(consequent, gain_cov, gain, scale, memory, caps)


@kernel()
def decay_consequent(consequent, gain_cov, gain, strength):
    """Shrink the weights along the gain matrix; the step is bounded, so none can grow."""
    size = gain.shape[0]
    trace = 0.0
    for j in range(size):
        trace += gain_cov[j, j]
    eta = strength / (1.0 + strength * trace)
    for k in range(consequent.shape[0]):
        weights = consequent[k]
        for j in range(size):
            gain[j] = 0.0
        for i in range(size):
            value = weights[i]
            if value != 0.0:
                row = gain_cov[i]
                for j in range(size):
                    gain[j] += value * row[j]
        for j in range(size):
            weights[j] -= eta * gain[j]


@kernel()
def is_positive_definite(matrix, size):
    """Whether a Cholesky factorisation of the leading block goes through."""
    factor = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i == j:
                if not rest > 0.0:
                    return False
                factor[i, i] = np.sqrt(rest)
            else:
                factor[i, j] = rest / factor[j, j]
    return True


@kernel()
def repair_gain_cov(gain_cov, size, caps):
    """Fall back to the diagonal when rounding has cost the matrix its definiteness."""
    if is_positive_definite(gain_cov, size):
        return
    for i in range(size):
        for j in range(size):
            if i != j:
                gain_cov[i, j] = 0.0
        if not (gain_cov[i, i] > 0.0 and gain_cov[i, i] <= caps[i]):
            gain_cov[i, i] = caps[i]
