"""Predictions against the truth: the sums from which all measures follow."""

import math
from typing import NamedTuple

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.kernels._jit import borrowed, kernel, part
from devfnn.kernels.state import (
    LOG_LOSS,
    MAJORITY,
    N_BINS,
    N_TOTALS,
    NO_CHANGE,
    SQUARES,
    WITH_PROBABILITIES,
)
from devfnn.kernels.votes import best_class

N_LEVELS = 1024
"""Levels of a probability, for the area under the curve: steps of its log-odds."""

FINE, LEVELS_PER_DOUBLING = 24.0, 16.0
"""Odds between 2 to this power and its inverse have so many levels for each doubling: 768 of the
1024, and ties inside a level cost the area less than 0.001."""

LOW_LEVELS, LOW_TAIL, HIGH_LEVELS, HIGH_TAIL = 248, 1050.0, 8, 29.0
"""Levels of smaller and of larger odds, and how many doublings they cover: as far as floats go."""

SMALL_PRODUCT = 1e-200
"""Probabilities are multiplied until their product is below this; then its logarithm is taken."""

EPSILON = float(np.finfo(np.float64).eps)
"""Probabilities closer to 0 or 1 than this count as this far away where logarithms are taken."""


class Scored(NamedTuple):
    """Rows to be scored."""

    truth: Ints  # (k,) code of the class, -1 for a row that is not scored
    predicted: Ints  # (k,) the same; (0,) if the most probable class is predicted
    probabilities: Floats  # (k, c), or no rows if the model gives none; NaN in a row without
    columns: Ints  # (c,) codes of the columns of the probabilities


class Sums(NamedTuple):
    """What is counted over rows."""

    confusion: Ints  # (m, m) rows by truth and prediction
    totals: Floats  # (N_TOTALS,) log-loss, squared error, rows with probabilities, and rows that
    # the majority class and the last label would have got right
    calibration: Floats  # (3, N_BINS) rows, confidence, rows predicted right, by confidence
    levels: Ints  # (m, 2, N_LEVELS) rows by their probability for a class: others, and its own


class Past(NamedTuple):
    """What is known from the rows before."""

    counts: Ints  # (m,) labels so far by class
    last: Ints  # (1,) code of the label before, -1 for none
    total: Ints  # (m, 2, N_LEVELS) levels of all rows
    window: Ints  # (m, 2, N_LEVELS) of the rows of the last chunks
    oldest: Ints  # (m, 2, N_LEVELS) of the chunk that leaves the window


def empty_levels(n_classes: int) -> Ints:
    """Levels of no rows."""
    return np.zeros((n_classes, 2, N_LEVELS), np.int64)


def empty_sums(n_classes: int) -> Sums:
    """Sums over no rows."""
    return Sums(
        np.zeros((n_classes, n_classes), np.int64),
        np.zeros(N_TOTALS),
        np.zeros((3, N_BINS)),
        empty_levels(n_classes),
    )


@part()
def doublings_of(probability):
    """Odds on a scale of doublings that is straight between powers of two.

    Any scale that keeps the order would do; this one needs no logarithm.
    """
    if probability <= 0.0:
        return -2.0 * LOW_TAIL
    if probability >= 1.0:
        return 2.0 * HIGH_TAIL
    fraction, power = math.frexp(probability / (1.0 - probability))
    return power + 2.0 * fraction - 2.0


@part()
def level_of(doublings):
    """Level of odds: fine steps in the middle, coarse ones in the tails."""
    if doublings < -FINE:
        return int(LOW_LEVELS * max(0.0, 1.0 + (doublings + FINE) / LOW_TAIL) * (1.0 - EPSILON))
    if doublings < FINE:
        return LOW_LEVELS + int((doublings + FINE) * LEVELS_PER_DOUBLING)
    high = int(HIGH_LEVELS * (doublings - FINE) / HIGH_TAIL)
    return N_LEVELS - HIGH_LEVELS + min(high, HIGH_LEVELS - 1)


@part()
def add_levels(row, truth, columns, levels):
    """Count the levels of the probabilities of one row. row: (c,)"""
    if row.shape[0] == 2 and abs(row[0] + row[1] - 1.0) < 1e-9:  # one says all about the other
        doublings = doublings_of(row[1])
        levels[columns[1], int(columns[1] == truth), level_of(doublings)] += 1
        levels[columns[0], int(columns[0] == truth), level_of(-doublings)] += 1
        return
    for column in range(row.shape[0]):
        code = columns[column]
        levels[code, int(code == truth), level_of(doublings_of(row[column]))] += 1


@part()
def add_probabilities(row, truth, columns, sums):
    """Add what the probabilities of one row say; returns that of the truth. row: (c,)"""
    own, squares, has_column = 0.0, 0.0, False
    for column in range(row.shape[0]):
        code, p = columns[column], row[column]
        is_own = code == truth
        if is_own:
            own, has_column = p, True
        squares += (p - is_own) ** 2
    if not has_column:
        squares += 1.0
    add_levels(row, truth, columns, sums.levels)
    sums.totals[SQUARES] += squares
    sums.totals[WITH_PROBABILITIES] += 1.0
    return min(max(own, EPSILON), 1.0 - EPSILON)


@part()
def add_confidence(confidence, is_right, calibration):
    """Count a row in the bin of its confidence."""
    place = min(max(math.ceil(confidence * N_BINS) - 1, 0), N_BINS - 1)
    calibration[0, place] += 1.0
    calibration[1, place] += confidence
    calibration[2, place] += is_right


@kernel()
def score_rows(rows, sums, past, areas):
    """Count rows; how many were scored. rows: Scored · sums: Sums, set to 0 first · past: Past

    areas: (2,), under the curve, of these rows and of the window that they close; NaN where they
    are not defined. The majority class is that of the labels so far, the row itself included, as
    MOA has it.
    """
    rows, sums, past = borrowed(rows), borrowed(sums), borrowed(past)
    n_scored = 0
    sums.confusion[:] = 0
    sums.totals[:] = 0.0
    sums.calibration[:] = 0.0
    sums.levels[:] = 0
    has_probabilities = rows.probabilities.shape[0] > 0
    has_predictions = rows.predicted.shape[0] > 0
    product = 1.0
    for i in range(rows.truth.shape[0]):
        truth = rows.truth[i]
        if truth < 0:
            continue
        past.counts[truth] += 1
        if has_predictions:
            predicted = rows.predicted[i]
        else:
            predicted = rows.columns[best_class(rows.probabilities[i])]
        if predicted >= 0:
            n_scored += 1
            sums.confusion[truth, predicted] += 1
            sums.totals[MAJORITY] += best_class(past.counts) == truth
            sums.totals[NO_CHANGE] += past.last[0] == truth
            if has_probabilities and not math.isnan(rows.probabilities[i, 0]):
                row = rows.probabilities[i]
                product *= add_probabilities(row, truth, rows.columns, sums)
                if product < SMALL_PRODUCT:
                    sums.totals[LOG_LOSS] -= math.log(product)
                    product = 1.0
                add_confidence(row.max(), truth == predicted, sums.calibration)
        past.last[0] = truth
    sums.totals[LOG_LOSS] -= math.log(product)
    areas[:] = np.nan
    if sums.totals[WITH_PROBABILITIES] > 0.0:
        close_chunk(sums.levels, past, areas)
    return n_scored


@part()
def close_chunk(levels, past, areas):
    """Add the levels of a chunk to those of all rows and of the window."""
    for k in range(levels.shape[0]):
        for own in range(2):
            for level in range(levels.shape[2]):
                fresh = levels[k, own, level]
                past.total[k, own, level] += fresh
                past.window[k, own, level] += fresh - past.oldest[k, own, level]
                past.oldest[k, own, level] = fresh
    areas[0] = mean_area(levels)
    areas[1] = mean_area(past.window)


@part()
def area_under_curve(levels):
    """Area under the curve of a class; NaN where it is not defined. levels: (2, N_LEVELS)"""
    below, area, n_own = 0, 0.0, 0
    for level in range(levels.shape[1]):
        others, own = levels[0, level], levels[1, level]
        area += own * (below + 0.5 * others)
        below += others
        n_own += own
    return area / (below * n_own) if below > 0 and n_own > 0 else np.nan


@part()
def mean_area(levels):
    """Mean area under the curves of the classes that have one; of two classes, that of the last."""
    total, last, n_defined = 0.0, np.nan, 0
    for k in range(levels.shape[0]):
        area = area_under_curve(levels[k])
        if not math.isnan(area):
            total += area
            last = area
            n_defined += 1
    return total / n_defined if n_defined > 2 else last


@kernel()
def overall_area(levels):
    """The same for Python. levels: (m, 2, N_LEVELS)"""
    return mean_area(levels)
