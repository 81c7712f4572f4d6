"""Which labels are taken, and the label budget. Nothing here sees a label.

The budget is a hard bound: no window of `budget_window` rows exceeds it. `Progress.budget` holds
counters, then the rows of the newest labels, as many as a window may hold. One more is allowed if
the oldest of these lies a whole window back. Without room for rows there is no budget, and it only
counts.
"""

from devfnn.kernels._jit import borrowed, kernel, part
from devfnn.kernels.state import (
    ALL_LABELS,
    ANSWERED,
    ASKED_FOR,
    BOUGHT,
    BY_LAYER,
    FIRST_PLACE,
    LABEL_RATE,
    OFFERED,
    SEEN_ROWS,
    UNCERTAINTY,
    UNLABELLED,
)

RATE = 0.002
"""Of the running means of uncertainty and of labels taken: some 500 rows. At the smallest budgets
in use, a few percent, they still hold ten labels; the bound itself does not depend on them."""

CORRECTION, MOST_RAISED = 2.0, 2.0
"""How probabilities follow the labels taken: the same while these meet the budget, doubled at half
of it or less, 0 from one and a half on. It only spreads labels: the bound is the budget itself."""

NO_OUTPUT, LEAST_UNCERTAINTY = 1e-9, 1e-6
"""Keep quotients finite where all outputs are 0, and in a network that is always sure."""


# ---- the budget


@part()
def can_buy(budget, window):
    """Whether one more label, for the next row, stays inside the budget."""
    room = budget.shape[0] - FIRST_PLACE
    if budget[BOUGHT] < room:
        return True
    return room > 0 and budget[SEEN_ROWS] - budget[FIRST_PLACE + budget[BOUGHT] % room] >= window


@part()
def count_row(budget, labelled, is_bought):
    """Count a row, unless it was counted when it was asked about."""
    if labelled == ANSWERED:
        return
    if is_bought:
        room = budget.shape[0] - FIRST_PLACE
        if room > 0:
            budget[FIRST_PLACE + budget[BOUGHT] % room] = budget[SEEN_ROWS]
        budget[BOUGHT] += 1
    budget[SEEN_ROWS] += 1


@kernel()
def keep_to_budget(budget, window, wanted):
    """Count rows, and cut what is wanted of them to what the budget allows."""
    for row in range(wanted.shape[0]):
        wanted[row] = wanted[row] and can_buy(budget, window)
        count_row(budget, OFFERED, wanted[row])


@kernel()
def count_rows(budget, labelled, is_bought):
    """Count rows whose labels were chosen by others."""
    for row in range(is_bought.shape[0]):
        count_row(budget, labelled[row], is_bought[row])


# ---- the choice


@part()
def certainty(output):
    """Share of the first among the two largest outputs: 0.5 undecided, 1 sure."""
    first, second = 0.0, 0.0
    for k in range(output.shape[0]):
        value = max(output[k], 0.0)
        if value > first:
            first, second = value, first
        elif value > second:
            second = value
    if first + second < NO_OUTPUT:
        return 0.5
    return first / (first + second)


@part()
def is_worth_a_label(progress, probabilities, draw, params):
    """Whether the network is unsure of a row, or the row is one of those taken at random.

    With a budget the probability of a row follows its uncertainty, so that labels are spread over
    the stream; what the budget does not allow is not taken. Probabilities are up to doubled while
    spending is below budget, as it cuts them where unsure rows follow each other.
    """
    if params.label_choice == ALL_LABELS:
        return params.label_budget >= 1.0 or can_buy(progress.budget, params.budget_window)
    sure = certainty(probabilities)
    if params.label_budget >= 1.0:
        return draw < params.exploration or sure < params.certainty
    if not can_buy(progress.budget, params.budget_window):
        return False
    unsure = 2.0 * (1.0 - sure) / max(progress.signals[UNCERTAINTY], LEAST_UNCERTAINTY)
    wanted = (1.0 - params.exploration) * unsure + params.exploration
    spent = progress.signals[LABEL_RATE] / params.label_budget
    factor = min(max(1.0 + CORRECTION - CORRECTION * spent, 0.0), MOST_RAISED)
    return draw < params.label_budget * wanted * factor


@part()
def importance(labelled, probabilities, params):
    """How many rows a row stands for whose label was taken: a sure one for those that were not."""
    if labelled != OFFERED or params.label_choice == ALL_LABELS or params.label_budget < 1.0:
        return 1.0
    if certainty(probabilities) < params.certainty:
        return 1.0
    return 1.0 / max(params.exploration, LEAST_UNCERTAINTY)


@part()
def choose_label(progress, labelled, probabilities, draw, params):
    """Whether the label of a row is taken; keeps count of how many were, and how unsure rows are.

    Where every layer chooses for itself, all labels count as taken by the network. Rows that were
    asked about ahead of learning were counted then.
    """
    if params.label_choice == BY_LAYER:
        count_row(progress.budget, labelled, labelled != UNLABELLED)
        return labelled != UNLABELLED
    is_counted = labelled != ANSWERED
    if is_counted:
        unsure = 2.0 * (1.0 - certainty(probabilities))
        progress.signals[UNCERTAINTY] += RATE * (unsure - progress.signals[UNCERTAINTY])
    chosen = labelled == ASKED_FOR or labelled == ANSWERED
    if labelled == OFFERED:
        chosen = is_worth_a_label(progress, probabilities, draw, params)
    if is_counted:
        rate = progress.signals[LABEL_RATE]
        progress.signals[LABEL_RATE] = rate + RATE * ((1.0 if chosen else 0.0) - rate)
    count_row(progress.budget, labelled, chosen)
    return chosen


@kernel()
def choose_labels(progress, probabilities, draws, params, wanted):
    """Which rows the network asks for as it stands; signals and budget go on row by row."""
    progress, params = borrowed(progress), borrowed(params)
    for index in range(draws.shape[0]):
        said, draw = probabilities[index], draws[index]
        wanted[index] = choose_label(progress, OFFERED, said, draw, params)
