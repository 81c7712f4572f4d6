"""Which labels a concept network takes. Nothing here sees a label."""

from devfnn.kernels._jit import part
from devfnn.kernels.concept_state import LABEL_RATE, UNCERTAINTY
from devfnn.kernels.purse import can_buy, note_row
from devfnn.kernels.selection import certainty
from devfnn.kernels.state import ANSWERED, ASKED_FOR, OFFERED

RATE = 0.002
"""Of the running means of uncertainty and of labels taken."""


@part()
def is_worth_a_label(state, probabilities, draw, habits):
    """Whether the network is unsure of a row, or the row is one of those taken at random.

    With a budget the chance of a row follows its uncertainty, so that labels are spread over the
    stream; and what the budget does not allow is not taken. Chances rise up to twofold while fewer
    labels were taken than the budget has, as it cuts them where unsure rows come in a row.
    """
    if not habits.active_learning:
        return habits.label_budget >= 1.0 or can_buy(state.purse, habits.budget_window)
    sure = certainty(probabilities)
    if habits.label_budget >= 1.0:
        return draw < habits.exploration or sure < habits.conflict_threshold
    if not can_buy(state.purse, habits.budget_window):
        return False
    unsure = 2.0 * (1.0 - sure) / max(state.course[UNCERTAINTY], 1e-6)
    wanted = (1.0 - habits.exploration) * unsure + habits.exploration
    spent = state.course[LABEL_RATE] / habits.label_budget
    return draw < habits.label_budget * wanted * min(max(3.0 - 2.0 * spent, 0.0), 2.0)


@part()
def is_chosen(state, labelled, probabilities, draw, habits):
    """Whether the label of a row is taken; keeps count of how many were, and how unsure rows are.

    Rows that were asked about ahead of learning were counted then.
    """
    is_counted = labelled != ANSWERED
    if is_counted:
        unsure = 2.0 * (1.0 - certainty(probabilities))
        state.course[UNCERTAINTY] += RATE * (unsure - state.course[UNCERTAINTY])
    chosen = labelled == ASKED_FOR or labelled == ANSWERED
    if labelled == OFFERED:
        chosen = is_worth_a_label(state, probabilities, draw, habits)
    if is_counted:
        rate = state.course[LABEL_RATE]
        state.course[LABEL_RATE] = rate + RATE * ((1.0 if chosen else 0.0) - rate)
    note_row(state.purse, labelled, chosen)
    return chosen
