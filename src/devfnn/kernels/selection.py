"""What to learn: which rows are worth their label. Nothing here sees a label."""

from devfnn.kernels._jit import part
from devfnn.kernels.quality import distance_to_mean
from devfnn.kernels.state import ACTIVE, USED


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
    if first + second < 1e-9:
        return 0.5
    return first / (first + second)


@part()
def is_redundant(layer, winner, inputs, scratch):
    """Whether the row is neither denser nor sparser than every rule centre (paper: ERDE).

    For one metric the density falls with the distance to the mean, so distances are compared. With
    a single rule the test says nothing and the row counts as redundant.
    """
    inverse = layer.inverse_covs[winner]
    own = distance_to_mean(layer, inputs, inverse, scratch.present)
    is_nearer, is_farther = False, False
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE:
            distance = distance_to_mean(layer, layer.centers[rule], inverse, scratch.present)
            is_nearer = is_nearer or own < distance
            is_farther = is_farther or own > distance
    return (is_nearer and is_farther) or winner_is_alone(layer, winner)


@part()
def winner_is_alone(layer, winner):
    """Whether no other rule is active."""
    for rule in range(layer.status.shape[0]):
        if layer.status[rule] == ACTIVE and rule != winner:
            return False
    return True


@part()
def is_worth_learning(layer, winner, inputs, draw, settings, scratch):
    """Conflict, or ignorance, or exploration, of which there is less with a budget."""
    if layer.counters[USED] < 2 * layer.n_inputs[0] + 1:
        return True
    if draw < settings.exploration * settings.label_budget:
        return True
    if certainty(scratch.output) < layer.threshold[0]:
        return True
    return not is_redundant(layer, winner, inputs, scratch)


@part()
def move_threshold(layer, is_accepted, settings):
    """Lower the threshold where labels are taken, raise it where not, if it is to vary."""
    if settings.threshold_step > 0.0:
        factor = 1.0 - settings.threshold_step if is_accepted else 1.0 + settings.threshold_step
        lowest = 1.0 / layer.class_weights.shape[0] + 0.05
        moved = layer.threshold[0] * factor
        layer.threshold[0] = min(max(moved, min(lowest, 1.0)), 1.0)
