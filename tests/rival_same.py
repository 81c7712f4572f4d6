"""From the arrays of the kernels to the slow twin, and whether both are the same."""

import dataclasses
import functools
from typing import Any

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.kernels.state import (
    FIRST_PLACE,
    INDEPENDENCE,
    LAST_LABEL,
    NEAR_CHANGES,
    NO_LAYER,
    NO_OWNER,
    SCORED,
    WATCHED,
    CloudState,
    EventBuffer,
    Params,
    PoolState,
    Progress,
    State,
)
from rival_build import members_of
from rival_parts import Line, SlowBudget, SlowCloud, SlowErrors, SlowLayer, SlowRepeats, SlowRule
from rival_twin import SlowRivals


def slow_rule(pool: PoolState, slot: int) -> SlowRule:
    """The twin of one rule."""
    return SlowRule(
        slot=slot,
        low=pool.lows[slot].copy(),
        high=pool.highs[slot].copy(),
        weights=pool.weights[slot].copy(),
        gain=unpacked(pool.gains[slot]),
        evidence=pool.evidence[slot].astype(np.float64),
        crossings=unpaired(pool.crossings[slot]),
        age=int(pool.ages[slot]),
        mean=pool.means[slot].copy(),
        variance=pool.variances[slot].copy(),
        class_counts=pool.class_counts[slot].copy(),
    )


_below_diagonal = functools.cache(functools.partial(np.tril_indices, k=-1))
_lower_half = functools.cache(np.tril_indices)


def unpacked(half: Floats) -> Floats:
    """The symmetric matrix (p, p) of which this is the lower half, row by row."""
    size = int((np.sqrt(8 * half.size + 1) - 1) / 2)
    rows, columns = _lower_half(size)
    matrix = np.empty((size, size))
    matrix[rows, columns] = matrix[columns, rows] = half
    return matrix


def unpaired(crossings: Floats) -> Floats:
    """Pairs of features (d, Q) as a symmetric table (n, n, Q)."""
    n = int((1 + np.sqrt(1 + 8 * len(crossings))) / 2)
    table = np.zeros((n, n, crossings.shape[1]))
    table[_below_diagonal(n)] = crossings
    return table + table.swapaxes(0, 1)


def slow_layer(state: State, number: int) -> SlowLayer:
    """The twin of one layer."""
    layers, pool = state.layers, state.pool
    return SlowLayer(
        kind=int(layers.kinds[number]),
        rules=[slow_rule(pool, slot) for slot in members_of(pool, number)],
        score=float(layers.scores[number]),
        rest=int(layers.rests[number]),
        last_win=int(layers.last_wins[number]),
    )


def slow_clouds(clouds: CloudState | None) -> list[SlowCloud]:
    """The twins of all clouds."""
    if clouds is None:
        return []
    return [
        SlowCloud(
            clouds.centers[:, cloud].copy(),
            int(clouds.labels[cloud]),
            float(clouds.spreads[cloud]),
            float(clouds.masses[cloud]),
        )
        for cloud in range(clouds.count[0])
    ]


def slow_repeats(progress: Progress) -> SlowRepeats:
    """The twin of what is known of labels that repeat each other."""
    watched, last, near_share = progress.signals[WATCHED:].tolist()
    return SlowRepeats(int(watched), int(last), near_share, progress.label_shares.copy())


def slow_budget(budget: Ints, window: int) -> SlowBudget:
    """The twin of a label budget."""
    seen, bought, owed = budget[:FIRST_PLACE].tolist()
    rows = sorted(budget[FIRST_PLACE : FIRST_PLACE + bought].tolist())
    return SlowBudget(budget.size - FIRST_PLACE, window, seen, bought, owed, rows)


def slow_copy(state: State, params: Params) -> SlowRivals:
    """The twin of a network as it stands."""
    layers, progress, clouds = state.layers, state.progress, state.clouds
    numbers = np.flatnonzero(layers.kinds != NO_LAYER).tolist()
    kept = [number for number in numbers if number >= params.n_configured]
    memory, referee, uncertainty, label_rate, independence = progress.signals[:WATCHED].tolist()
    rows, steps, scored, _ = progress.counts.tolist()
    return SlowRivals(
        params=params,
        caps=state.pool.caps.copy(),
        n_slots=state.pool.owners.size,
        n_places=layers.kinds.size,
        most_rules=state.pool.members.shape[1],
        most_clouds=clouds.labels.size if clouds is not None else 0,
        layers={number: slow_layer(state, number) for number in numbers},
        clouds=slow_clouds(clouds),
        pairs={
            (a, b): (float(layers.disagreements[a, b]), float(layers.compared[a, b]))
            for a in kept
            for b in kept
            if a < b
        },
        errors=SlowErrors(*progress.errors.tolist()),
        memory=memory,
        referee=referee,
        uncertainty=uncertainty,
        label_rate=label_rate,
        independence=independence,
        repeats=slow_repeats(progress),
        budget=slow_budget(progress.budget, params.budget_window),
        rows=rows,
        steps=steps,
        scored=scored,
        n_open=int(progress.n_open[0]),
        lead=float(progress.lead[0]),
    )


def assert_close(own: Any, other: Any, tolerance: float) -> None:
    """Both relative and absolute. NumPy's own test is slow, so that it only tells what differs."""
    if not (np.abs(np.subtract(own, other)) <= tolerance * (1.0 + np.abs(other))).all():
        np.testing.assert_allclose(own, other, rtol=tolerance, atol=tolerance)


def assert_same_rule(pool: PoolState, rule: SlowRule, tolerance: float) -> None:
    """Compare a rule with its twin, field by field."""
    slot = rule.slot
    assert pool.ages[slot] == rule.age
    assert pool.lows[slot].tolist() == rule.low.tolist()
    assert pool.highs[slot].tolist() == rule.high.tolist()
    assert_close(pool.weights[slot], rule.weights, tolerance)
    assert_close(unpacked(pool.gains[slot]), rule.gain, tolerance)
    assert_close(pool.evidence[slot], rule.evidence, max(tolerance, 1e-5))
    assert_close(unpaired(pool.crossings[slot]), rule.crossings, max(tolerance, 1e-5))
    assert_close(pool.means[slot], rule.mean, tolerance)
    assert_close(pool.variances[slot], rule.variance, tolerance)
    assert_close(pool.class_counts[slot], rule.class_counts, tolerance)


def assert_same_clouds(clouds: CloudState, slow: list[SlowCloud], tolerance: float) -> None:
    """Compare all clouds with their twins."""
    count = len(slow)
    assert clouds.count[0] == count
    assert clouds.labels[:count].tolist() == [cloud.label for cloud in slow]
    for place, cloud in enumerate(slow):
        assert_close(clouds.centers[:, place], cloud.center, tolerance)
        assert_close(clouds.spreads[place], cloud.spread, tolerance)
        assert_close(clouds.masses[place], cloud.mass, tolerance)
        assert_close(clouds.heights[place], cloud.height, tolerance)


def assert_same_repeats(progress: Progress, slow: SlowRepeats) -> None:
    """Compare what is known of runs of labels: it does not depend on what layers learn."""
    assert progress.signals[[WATCHED, LAST_LABEL]].tolist() == [slow.watched, slow.last]
    assert_close(progress.signals[NEAR_CHANGES], slow.near_share, 1e-12)
    assert_close(progress.label_shares, slow.class_shares, 1e-12)


def assert_same_budget(budget: Ints, slow: SlowBudget) -> None:
    """Compare a label budget with its twin; of the rows it has only the newest."""
    assert budget[:FIRST_PLACE].tolist() == [slow.row, slow.n_bought, slow.owed]
    rows = sorted(budget[FIRST_PLACE : FIRST_PLACE + slow.n_bought].tolist())
    assert rows == sorted(slow.bought)[len(slow.bought) - len(rows) :]


def assert_same(state: State, slow: SlowRivals, tolerance: float = 1e-9) -> None:
    """Compare a network with its twin: counts and choices exactly, numbers closely."""
    layers, pool, progress = state.layers, state.pool, state.progress
    owners = np.full(pool.owners.size, NO_OWNER)
    kinds = np.full(layers.kinds.size, NO_LAYER)
    for number, layer in slow.layers.items():
        kinds[number] = layer.kind
        slots = [rule.slot for rule in layer.rules]
        owners[slots] = number
        assert members_of(pool, number) == slots
        assert (layers.rests[number], layers.last_wins[number]) == (layer.rest, layer.last_win)
        assert_close(layers.scores[number], layer.score, tolerance)
        for rule in layer.rules:
            assert_same_rule(pool, rule, tolerance)
    assert pool.owners.tolist() == owners.tolist()
    assert layers.kinds.tolist() == kinds.tolist()
    for (first, second), known in slow.pairs.items():
        own = layers.disagreements[first, second], layers.compared[first, second]
        assert_close(own, known, tolerance)
    if state.clouds is not None:
        assert_same_clouds(state.clouds, slow.clouds, tolerance)
    assert_close(pool.caps, slow.caps, tolerance)
    assert progress.errors.tolist() == list(dataclasses.astuple(slow.errors))
    counts = [slow.rows, slow.steps, slow.scored]
    assert progress.counts[: SCORED + 1].tolist() == counts
    assert (progress.n_open[0], progress.lead[0]) == (slow.n_open, slow.lead)
    signals = [slow.memory, slow.referee, slow.uncertainty, slow.label_rate, slow.independence]
    assert_close(progress.signals[: INDEPENDENCE + 1], signals, tolerance)
    assert_same_repeats(progress, slow.repeats)
    assert_same_budget(progress.budget, slow.budget)


def assert_same_lines(events: EventBuffer, lines: list[Line], tolerance: float = 1e-9) -> None:
    """Compare what kernels report with what the twin does."""
    count = int(events.count[0])
    assert events.lines[:count].tolist() == [list(line[:5]) for line in lines]
    for numbers, line in zip(events.numbers, lines, strict=False):
        assert_close(numbers, line[5], max(tolerance, 1e-5))
