"""From the arrays of the kernels to the slow twin, and whether both are the same."""

import dataclasses
from typing import Any

import numpy as np

from concept_parts import Line, SlowCloud, SlowLayer, SlowPurse, SlowRepeats, SlowRule
from concept_twin import SlowConcepts
from devfnn.kernels.concept_state import (
    FIRST_KEPT,
    INDEPENDENCE,
    LAST_LABEL,
    NEAR_CHANGES,
    NO_LAYER,
    NO_OWNER,
    TOLD,
    WATCHED,
    Concepts,
    Diary,
    Habits,
)
from devfnn.arrays import Floats, Ints
from devfnn.kernels.state import FIRST_PLACE
from devfnn.model.concepts.state import unpacked
from devfnn.model.mechanisms.drift import ErrorTrack


def slow_rule(state: Concepts, slot: int) -> SlowRule:
    """The twin of one rule."""
    return SlowRule(
        slot=slot,
        low=state.lows[slot].copy(),
        high=state.highs[slot].copy(),
        weights=state.weights[slot].copy(),
        gain=unpacked(state.gains[slot]),
        evidence=state.evidence[slot].astype(np.float64),
        crossings=unpaired(state.crossings[slot]),
        age=int(state.ages[slot]),
        mean=state.means[slot].copy(),
        variance=state.variances[slot].copy(),
        class_counts=state.class_counts[slot].copy(),
    )


def unpaired(crossings: Floats) -> Floats:
    """Pairs of features (d, Q) as a symmetric table (n, n, Q)."""
    n = int((1 + np.sqrt(1 + 8 * len(crossings))) / 2)
    table = np.zeros((n, n, crossings.shape[1]))
    table[np.tril_indices(n, -1)] = crossings
    return table + table.swapaxes(0, 1)


def members_of(state: Concepts, layer: int) -> list[int]:
    """Slots of the rules of a layer."""
    slots: list[int] = state.members[layer, : state.n_members[layer]].tolist()
    return slots


def slow_layer(state: Concepts, number: int) -> SlowLayer:
    """The twin of one layer."""
    return SlowLayer(
        kind=int(state.kinds[number]),
        rules=[slow_rule(state, slot) for slot in members_of(state, number)],
        score=float(state.scores[number]),
        rest=int(state.rests[number]),
        last_win=int(state.last_wins[number]),
    )


def slow_repeats(state: Concepts) -> SlowRepeats:
    """The twin of what is known of labels that repeat each other."""
    watched, last, near_share = state.course[WATCHED:].tolist()
    return SlowRepeats(int(watched), int(last), near_share, state.label_shares.copy())


def slow_purse(purse: Ints, window: int) -> SlowPurse:
    """The twin of a purse."""
    gone_by, bought, owed = purse[:FIRST_PLACE].tolist()
    rows = sorted(purse[FIRST_PLACE : FIRST_PLACE + bought].tolist())
    most = purse.size - FIRST_PLACE
    return SlowPurse(most, window, gone_by, bought, owed, rows)


def assert_same_purse(purse: Ints, slow: SlowPurse) -> None:
    """Compare a purse with its twin; of the rows it has only the newest."""
    counters = [slow.row, slow.n_bought, slow.owed]
    assert purse[:FIRST_PLACE].tolist() == counters
    rows = sorted(purse[FIRST_PLACE : FIRST_PLACE + slow.n_bought].tolist())
    assert rows == sorted(slow.bought)[len(slow.bought) - len(rows) :]


def slow_copy(state: Concepts, habits: Habits, lead: float = 0.0) -> SlowConcepts:
    """The twin of a network as it stands."""
    numbers = np.flatnonzero(state.kinds != NO_LAYER).tolist()
    kept = [number for number in numbers if number >= FIRST_KEPT]
    memory, referee, uncertainty, label_rate, independence = state.course[:WATCHED].tolist()
    rows, steps, scored, _ = state.clock.tolist()
    return SlowConcepts(
        habits=habits,
        caps=state.caps.copy(),
        n_slots=state.owners.size,
        n_places=state.kinds.size,
        most_rules=state.members.shape[1],
        most_clouds=state.cloud_labels.size,
        layers={number: slow_layer(state, number) for number in numbers},
        clouds=[
            SlowCloud(
                state.cloud_centers[:, cloud].copy(),
                int(state.cloud_labels[cloud]),
                float(state.cloud_spreads[cloud]),
                float(state.cloud_masses[cloud]),
            )
            for cloud in range(state.n_clouds[0])
        ],
        pairs={
            (a, b): (float(state.disagreements[a, b]), float(state.compared[a, b]))
            for a in kept
            for b in kept
            if a < b
        },
        track=ErrorTrack(*state.track.tolist()),
        memory=memory,
        referee=referee,
        uncertainty=uncertainty,
        label_rate=label_rate,
        independence=independence,
        repeats=slow_repeats(state),
        purse=slow_purse(state.purse, habits.budget_window),
        rows=rows,
        steps=steps,
        scored=scored,
        lead=lead,
    )


def assert_close(own: Any, other: Any, tolerance: float) -> None:
    """Both relative and absolute. NumPy's own test is slow, so that it only tells what differs."""
    if not (np.abs(np.subtract(own, other)) <= tolerance * (1.0 + np.abs(other))).all():
        np.testing.assert_allclose(own, other, rtol=tolerance, atol=tolerance)


def assert_same_rule(state: Concepts, rule: SlowRule, tolerance: float) -> None:
    """Compare a rule with its twin, field by field."""
    slot = rule.slot
    assert state.ages[slot] == rule.age
    assert state.lows[slot].tolist() == rule.low.tolist()
    assert state.highs[slot].tolist() == rule.high.tolist()
    assert_close(state.weights[slot], rule.weights, tolerance)
    assert_close(unpacked(state.gains[slot]), rule.gain, tolerance)
    assert_close(state.evidence[slot], rule.evidence, max(tolerance, 1e-5))
    assert_close(unpaired(state.crossings[slot]), rule.crossings, max(tolerance, 1e-5))
    assert_close(state.means[slot], rule.mean, tolerance)
    assert_close(state.variances[slot], rule.variance, tolerance)
    assert_close(state.class_counts[slot], rule.class_counts, tolerance)


def assert_same_clouds(state: Concepts, clouds: list[SlowCloud], tolerance: float) -> None:
    """Compare all clouds with their twins."""
    count = len(clouds)
    assert state.n_clouds[0] == count
    assert state.cloud_labels[:count].tolist() == [cloud.label for cloud in clouds]
    for place, cloud in enumerate(clouds):
        assert_close(state.cloud_centers[:, place], cloud.center, tolerance)
        assert_close(state.cloud_spreads[place], cloud.spread, tolerance)
        assert_close(state.cloud_masses[place], cloud.mass, tolerance)
        assert_close(state.cloud_heights[place], cloud.height, tolerance)


def assert_same(state: Concepts, slow: SlowConcepts, tolerance: float = 1e-9) -> None:
    """Compare a network with its twin: counts and choices exactly, numbers closely."""
    owners = np.full(state.owners.size, NO_OWNER)
    kinds = np.full(state.kinds.size, NO_LAYER)
    for number, layer in slow.layers.items():
        kinds[number] = layer.kind
        slots = [rule.slot for rule in layer.rules]
        owners[slots] = number
        assert members_of(state, number) == slots
        assert (state.rests[number], state.last_wins[number]) == (layer.rest, layer.last_win)
        assert_close(state.scores[number], layer.score, tolerance)
        for rule in layer.rules:
            assert_same_rule(state, rule, tolerance)
    assert state.owners.tolist() == owners.tolist()
    assert state.kinds.tolist() == kinds.tolist()
    for (first, second), known in slow.pairs.items():
        own = state.disagreements[first, second], state.compared[first, second]
        assert_close(own, known, tolerance)
    assert_same_clouds(state, slow.clouds, tolerance)
    assert_close(state.caps, slow.caps, tolerance)
    assert state.track.tolist() == list(dataclasses.astuple(slow.track))
    assert state.clock[:TOLD].tolist() == [slow.rows, slow.steps, slow.scored]
    course = [slow.memory, slow.referee, slow.uncertainty, slow.label_rate, slow.independence]
    assert_close(state.course[: INDEPENDENCE + 1], course, tolerance)
    assert_same_repeats(state, slow.repeats)
    assert_same_purse(state.purse, slow.purse)


def assert_same_repeats(state: Concepts, slow: SlowRepeats) -> None:
    """Compare what is known of runs of labels: it does not depend on what layers learn."""
    assert state.course[[WATCHED, LAST_LABEL]].tolist() == [slow.watched, slow.last]
    assert_close(state.course[NEAR_CHANGES], slow.near_share, 1e-12)
    assert_close(state.label_shares, slow.class_shares, 1e-12)


def assert_same_lines(diary: Diary, lines: list[Line], tolerance: float = 1e-9) -> None:
    """Compare what kernels report with what the twin does."""
    count = int(diary.n_lines[0])
    assert diary.lines[:count].tolist() == [list(line[:5]) for line in lines]
    for numbers, line in zip(diary.numbers, lines, strict=False):
        assert_close(numbers, line[5], max(tolerance, 1e-5))
