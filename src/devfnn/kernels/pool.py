"""The pool from which all layers of a concept network draw their rules."""

from devfnn.kernels._jit import part
from devfnn.kernels.concept_state import (
    DROPPED_LINE,
    FIRST_KEPT,
    NO_LAYER,
    NO_OWNER,
    STEPS,
)
from devfnn.kernels.diary import note


@part()
def free_rule(state):
    """A slot without a rule, or NO_OWNER."""
    for rule in range(state.owners.shape[0]):
        if state.owners[rule] == NO_OWNER:
            return rule
    return NO_OWNER


@part()
def copy_rule(state, source, target):
    """Make a rule the same as another in all but its owner."""
    state.lows[target] = state.lows[source]
    state.highs[target] = state.highs[source]
    state.weights[target] = state.weights[source]
    state.gains[target] = state.gains[source]
    state.evidence[target] = state.evidence[source]
    state.crossings[target] = state.crossings[source]
    state.ages[target] = state.ages[source]
    state.means[target] = state.means[source]
    state.variances[target] = state.variances[source]
    state.class_counts[target] = state.class_counts[source]


@part()
def count_free(state):
    """Slots without a rule."""
    count = 0
    for rule in range(state.owners.shape[0]):
        if state.owners[rule] == NO_OWNER:
            count += 1
    return count


@part()
def drop_layer(state, layer):
    """Empty a place for a layer, and the slots of its rules."""
    for index in range(state.n_members[layer]):
        state.owners[state.members[layer, index]] = NO_OWNER
    state.n_members[layer] = 0
    state.kinds[layer] = NO_LAYER
    state.disagreements[layer, :] = 0.0
    state.disagreements[:, layer] = 0.0
    state.compared[layer, :] = 0.0
    state.compared[:, layer] = 0.0


@part()
def oldest_kept(state):
    """The kept layer that was the best the longest time ago, or NO_LAYER."""
    oldest = NO_LAYER
    for layer in range(FIRST_KEPT, state.kinds.shape[0]):
        if state.kinds[layer] != NO_LAYER:
            if oldest == NO_LAYER or state.last_wins[layer] < state.last_wins[oldest]:
                oldest = layer
    return oldest


@part()
def drop_oldest(state, index, diary):
    """Give up the kept layer that is least recently of use; whether there was one."""
    oldest = oldest_kept(state)
    if oldest == NO_LAYER:
        return False
    steps = float(state.clock[STEPS] - state.last_wins[oldest])
    note(diary, index, DROPPED_LINE, oldest, 0, 0, (steps, 0.0, 0.0, 0.0))
    drop_layer(state, oldest)
    return True


@part()
def slot_for_rule(state, index, diary):
    """A slot without a rule; kept layers make way for one that is to be born."""
    slot = free_rule(state)
    while slot == NO_OWNER and drop_oldest(state, index, diary):
        slot = free_rule(state)
    return slot


@part()
def place_for_layer(state, n_rules, index, diary):
    """A place for a layer of so many rules, with slots for them; older kept layers make way.

    NO_LAYER if there would be no room even without them: then they stay.
    """
    held = 0
    for layer in range(FIRST_KEPT, state.kinds.shape[0]):
        held += state.n_members[layer]
    if count_free(state) + held < n_rules:
        return NO_LAYER
    while True:
        if count_free(state) >= n_rules:
            for layer in range(FIRST_KEPT, state.kinds.shape[0]):
                if state.kinds[layer] == NO_LAYER:
                    return layer
        if not drop_oldest(state, index, diary):
            return NO_LAYER
