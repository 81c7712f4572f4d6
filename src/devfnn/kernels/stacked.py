"""Stacked layers: logistic regressions on what the layers below say, and on their vote.

A layer below says centred log probabilities. A stacked layer has one weight for each, shared by all
classes and never negative, and no bias of a class: it can only trust, ignore and calibrate. Weights
are fixed between structural steps. Then a Newton step follows the rows since the last one, with
what is known of the weights from the past.
"""

import numpy as np

from devfnn.kernels._jit import part, step
from devfnn.kernels.recursive import softmax
from devfnn.kernels.votes import is_idle

LEAST_SHARE, MOST_HEARD = 1e-4, 5.0
"""Least probability and most centred log odds that count: one layer that is sure, and wrong, must
not rule the others out."""

MOST_STEP = 0.5
"""Most that a weight moves in one step: a Newton step from few rows may overshoot."""

SWEEPS = 50
"""How often all weights are gone through to solve for them: with a dozen that are alike, the
largest error is then below a thousandth."""


@part()
def center_logs(shares, logs):
    """Centred log probabilities, bounded. shares, logs: (m,)"""
    mean = 0.0
    for k in range(shares.shape[0]):
        logs[k] = np.log(max(shares[k], LEAST_SHARE))
        mean += logs[k]
    mean /= shares.shape[0]
    for k in range(shares.shape[0]):
        logs[k] = min(max(logs[k] - mean, -MOST_HEARD), MOST_HEARD)


@step()
def hear_layers(state, outputs, vote, params, heard):
    """What the layers below say, and last their vote; a layer that rests says what the vote says.

    outputs: (L, m) · vote: (m,) · heard: (I, m)
    """
    n_inputs = heard.shape[0]
    center_logs(vote, heard[n_inputs - 1])
    for layer in range(n_inputs - 1):
        if is_idle(state.layers, layer):
            for k in range(vote.shape[0]):
                heard[layer, k] = heard[n_inputs - 1, k]
        else:
            center_logs(outputs[layer], heard[layer])


@part()
def say_stacked(stacked, place, heard, output):
    """Class probabilities of one stacked layer. heard: (I, m)"""
    for k in range(output.shape[0]):
        output[k] = 0.0
    for each in range(heard.shape[0]):
        weight = stacked.weights[place, each]
        if weight != 0.0:
            for k in range(output.shape[0]):
                output[k] += weight * heard[each, k]
    softmax(output, output)


@step()
def note_heard(stacked, place, heard, said, sample, params):
    """Gather gradient and curvature of the loss of one row. sample: label, weight"""
    label, weight = sample
    n_inputs, n_classes = heard.shape
    slopes, curvatures = stacked.slopes[place], stacked.curvatures[place]
    for first in range(n_inputs):
        if not params.takes[place, first]:
            continue
        mean = 0.0
        for k in range(n_classes):
            mean += said[k] * heard[first, k]
        slopes[first] += weight * (heard[first, label] - mean)
        for second in range(first + 1):
            if params.takes[place, second]:
                product = 0.0
                for k in range(n_classes):
                    product += said[k] * (heard[first, k] - mean) * heard[second, k]
                curvatures[first, second] += weight * product


@part()
def solve_above(matrix, vector, lows, found):
    """The smallest of x' matrix x / 2 - vector' x with x >= lows, by one number after the other.

    matrix: (I, I) its lower half, positive definite · found: (I,) where to begin, and the result
    """
    for _ in range(SWEEPS):
        for i in range(vector.shape[0]):
            rest = vector[i]
            for j in range(vector.shape[0]):
                if j != i:
                    rest -= matrix[max(i, j), min(i, j)] * found[j]
            found[i] = max(rest / matrix[i, i], lows[i])


@step()
def step_stacked(stacked, place, n_rows, params, work):
    """A Newton step of the weights, on the rows gathered and what is known of the past.

    What the past says of them fades, and the pull towards the first weights takes its place.
    n_rows: how many independent rows have come
    """
    weights, information = stacked.weights[place], stacked.information[place]
    slopes, curvatures, starts = stacked.slopes[place], stacked.curvatures[place], params.starts
    n_inputs, kept, found = weights.shape[0], params.memory**n_rows, work.found
    pull = (1.0 - kept) * params.ridges[place]
    for i in range(n_inputs):
        for j in range(i + 1):
            information[i, j] = kept * information[i, j] + curvatures[i, j]
            curvatures[i, j] = 0.0
        information[i, i] += pull
        found[i] = weights[i]
    for i in range(n_inputs):
        work.asked[i] = slopes[i] + pull * (starts[place, i] - weights[i])
        slopes[i] = 0.0
        for j in range(n_inputs):
            work.asked[i] += information[max(i, j), min(i, j)] * weights[j]
    solve_above(information, work.asked, params.lows[place], found)
    largest = MOST_STEP
    for i in range(n_inputs):
        largest = max(largest, abs(found[i] - weights[i]))
    for i in range(n_inputs):
        weights[i] += MOST_STEP / largest * (found[i] - weights[i])
