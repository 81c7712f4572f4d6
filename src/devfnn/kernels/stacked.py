"""Stacked layers: logistic regressions on what the layers below say, and on their vote.

A layer below says centred log probabilities. A stacked layer has one weight for each, shared by all
classes and never negative, and no bias of a class: it can only trust, ignore and calibrate. Weights
are fixed between structural steps. Then a Newton step follows the rows since the last one, with
what is known of the weights from the past.

The last two inputs are the choice of the vote, as sure of all rows alike, and the vote. Where
labels are noise for a part, what is left of the odds far from a boundary is the same everywhere:
that is what the choice is for.
"""

import numpy as np

from devfnn.kernels._jit import part, step
from devfnn.kernels.recursive import softmax
from devfnn.kernels.state import INDEPENDENCE
from devfnn.kernels.votes import best_class, is_idle

LEAST_SHARE, MOST_HEARD = 1e-4, 5.0
"""Least probability and most centred log odds that count: one layer that is sure, and wrong, must
not rule the others out."""

CHOICE_ODDS = 2.0
"""Log odds of the choice of the vote: a share of 0.88 with two classes. Its weight makes it any."""

LEAST_SAID = 1e-15
"""Keeps the logarithm of the probability of a label finite."""

LEAST_UNFORESEEN, MOST_UNFORESEEN = 1e-4, 0.5
"""Bounds of the share of labels that no layer foresees: it must be able to grow again, and an
answer must say something."""

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


@part()
def hear_vote(vote, choice, logs):
    """What the vote says, and what it chooses. vote, choice, logs: (m,)"""
    center_logs(vote, logs)
    best, n_classes = best_class(vote), vote.shape[0]
    for k in range(n_classes):
        choice[k] = CHOICE_ODDS * ((1.0 if k == best else 0.0) - 1.0 / n_classes)


@step()
def hear_layers(state, outputs, vote, params, heard):
    """What the layers below say, then the choice of their vote, and last the vote.

    A layer that rests says what the vote says. outputs: (L, m) · vote: (m,) · heard: (I, m)
    """
    n_below = heard.shape[0] - 2
    hear_vote(vote, heard[n_below], heard[n_below + 1])
    for layer in range(n_below):
        if is_idle(state.layers, layer):
            for k in range(vote.shape[0]):
                heard[layer, k] = heard[n_below + 1, k]
        else:
            center_logs(outputs[layer], heard[layer])


@part()
def add_logits(heard, weights, logits):
    """What a stacked layer says before it is made probabilities. heard: (I, m) · logits: (m,)"""
    for k in range(logits.shape[0]):
        logits[k] = 0.0
    for each in range(heard.shape[0]):
        if weights[each] != 0.0:
            for k in range(logits.shape[0]):
                logits[k] += weights[each] * heard[each, k]


@part()
def say_stacked(stacked, place, heard, output):
    """Class probabilities of one stacked layer. heard: (I, m)"""
    add_logits(heard, stacked.weights[place], output)
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
def note_unforeseen(stacked, said, n_classes, n_rows, params):
    """Let a label count for the share of those that no layer foresees: how likely it was one.

    said: what the answer gave it · n_rows: how many independent rows it stands for
    """
    share = stacked.unforeseen[0]
    if share > 0.0:
        likely = min(share / n_classes / max(said, LEAST_SAID), 1.0)
        moved = share + min(n_rows / params.unforeseen_rows, 1.0) * (likely - share)
        stacked.unforeseen[0] = min(max(moved, LEAST_UNFORESEEN), MOST_UNFORESEEN)


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


# ---- what a layer is worth


@part()
def answer_without(layer, outputs, stacked, first, shares, work):
    """The answer to a row if a layer had not been there; `work.without` ends as that.

    outputs: (L, m) · shares: (L,) of the vote and of the stacked layers
    """
    n_below, n_classes = work.heard.shape[0] - 2, work.vote.shape[0]
    unforeseen = stacked.unforeseen[0]
    heard, choice, logs, logits = work.heard, work.spare[0], work.spare[1], work.spare[2]
    left = 1.0 - shares[layer]
    for k in range(n_classes):
        said = work.vote[k]
        if left > 0.0:
            said = max(said - shares[layer] * outputs[layer, k], 0.0) / left
        logits[k], work.without[k] = said, unforeseen / n_classes
    hear_vote(logits, choice, logs)
    for place in range(stacked.weights.shape[0]):
        weights = stacked.weights[place]
        for k in range(n_classes):
            logits[k] = work.logits[place, k]
            logits[k] += weights[layer] * (logs[k] - heard[layer, k])
            logits[k] += weights[n_below] * (choice[k] - heard[n_below, k])
            logits[k] += weights[n_below + 1] * (logs[k] - heard[n_below + 1, k])
        softmax(logits, logits)
        share = (1.0 - unforeseen) * shares[first + place]
        for k in range(n_classes):
            work.without[k] += share * logits[k]


@part()
def is_judged(stacked, layer, params):
    """Whether stacked layers have had labels by which to judge a layer since it came."""
    for place in range(stacked.weights.shape[0]):
        if params.takes[place, layer]:
            return stacked.information[place, layer, layer] > params.ridges[place]
    return True


@step()
def weigh_worth(state, outputs, sample, params, shares, work):
    """Let a labelled row count for what dear layers are worth: log-loss and hits of the answer.

    Where rows repeat each other it takes more of them. sample: label, for how many rows it stands
    outputs: (L, m) · shares: (L,) · `work.heard`, `work.vote`, `work.answer`: of the row
    """
    label, n_rows = sample
    n_rows *= state.progress.signals[INDEPENDENCE]
    layers, stacked, first = state.layers, state.stacked, params.stacked.first
    is_known = False
    for layer in range(first):
        if not params.is_dear[layer] or is_idle(layers, layer):
            continue
        if not is_judged(stacked, layer, params.stacked):
            continue
        if not is_known:
            is_known = True
            for place in range(stacked.weights.shape[0]):
                add_logits(work.heard, stacked.weights[place], work.logits[place])
        answer_without(layer, outputs, stacked, first, shares, work)
        own, other = max(work.answer[label], LEAST_SAID), max(work.without[label], LEAST_SAID)
        gained = np.log(own) - np.log(other)
        gained += 1.0 if best_class(work.answer) == label else 0.0
        gained -= 1.0 if best_class(work.without) == label else 0.0
        layers.watched[layer] += n_rows
        rate = min(n_rows / min(params.worth_rows, layers.watched[layer]), 1.0)
        layers.worths[layer] += rate * (gained - layers.worths[layer])
        layers.squares[layer] += rate * (gained * gained - layers.squares[layer])
