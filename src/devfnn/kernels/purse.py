"""The label budget as a hard bound: any `window` rows in a row hold so many labels, and no more.

A purse is one array: three counters, then the rows of the newest labels, as many as a window may
hold. One more is allowed if the oldest of these lies a whole window back. A purse without room for
rows belongs to a model without a budget, and only counts.
"""

from devfnn.kernels._jit import kernel, part
from devfnn.kernels.state import ANSWERED, BOUGHT, FIRST_PLACE, GONE_BY, OFFERED


@part()
def can_buy(purse, window):
    """Whether one more label, for the next row, stays inside the budget."""
    room = purse.shape[0] - FIRST_PLACE
    if purse[BOUGHT] < room:
        return True
    return room > 0 and purse[GONE_BY] - purse[FIRST_PLACE + purse[BOUGHT] % room] >= window


@part()
def note_row(purse, labelled, is_bought):
    """Let a row go by, unless it did so when it was asked about."""
    if labelled == ANSWERED:
        return
    if is_bought:
        room = purse.shape[0] - FIRST_PLACE
        if room > 0:
            purse[FIRST_PLACE + purse[BOUGHT] % room] = purse[GONE_BY]
        purse[BOUGHT] += 1
    purse[GONE_BY] += 1


@kernel()
def keep_to_budget(purse, window, wanted):
    """Let rows go by, and cut what is wanted of them to what the budget allows."""
    for row in range(wanted.shape[0]):
        wanted[row] = wanted[row] and can_buy(purse, window)
        note_row(purse, OFFERED, wanted[row])


@kernel()
def note_rows(purse, labelled, is_bought):
    """Let rows go by whose labels were chosen by others."""
    for row in range(is_bought.shape[0]):
        note_row(purse, labelled[row], is_bought[row])
