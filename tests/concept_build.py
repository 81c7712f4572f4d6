"""Concept networks, rows and working memory for tests of kernels."""

from typing import Any

import numpy as np

from concept_parts import capped
from concept_same import members_of
from devfnn.kernels.concept_state import (
    BOX_LAYER,
    BOXES,
    CLOUD_LAYER,
    CLOUDS,
    FIRST_KEPT,
    INDEPENDENCE,
    LAST_LABEL,
    LINE,
    NEAR_CHANGES,
    NO_LAYER,
    NO_OWNER,
    WATCHED,
    Concepts,
    Diary,
    Habits,
    Lessons,
    Work,
)
from devfnn.arrays import Floats, Ints
from devfnn.kernels.state import OFFERED
from devfnn.model.concepts.state import empty_concepts, packed, work_for
from devfnn.model.config import Config

FIRST_FREE = CLOUD_LAYER
"""The first slot that is free in a new network: each layer before the clouds has one rule."""


def diary_for(n_rows: int, n_lines: int = 50) -> Diary:
    """Room for what kernels report."""
    return Diary(
        taken=np.zeros(n_rows, np.int64),
        errors=np.zeros(n_rows, np.int64),
        lines=np.zeros((n_lines, 5), np.int64),
        numbers=np.zeros((n_lines, 4)),
        n_lines=np.zeros(1, np.int64),
    )


def dirty_work(state: Concepts) -> Work:
    """Working memory that holds nothing sensible: kernels must not read what they did not write."""
    work = work_for(state)
    for array in work:
        array.fill(np.nan)
    return work


def lessons_of(rows: Floats, labels: Ints, **others: Any) -> Lessons:
    """Rows to learn, of weight 1, offered, and never drawn for exploration unless told."""
    ones = np.ones(len(rows))
    return Lessons(
        rows=np.ascontiguousarray(rows),
        labels=np.ascontiguousarray(labels, np.int64),
        weights=others.get("weights", ones),
        draws=others.get("draws", ones),
        labelled=others.get("labelled", np.full(len(rows), OFFERED, np.int64)),
    )


def part_of(lessons: Lessons, start: int, stop: int) -> Lessons:
    """Some of the rows."""
    return Lessons(*(array[start:stop] for array in lessons))


def copied(state: Concepts) -> Concepts:
    """The same, independent of the original."""
    return Concepts(*(array.copy() for array in state))


def fresh(n: int, m: int, room: int = 8, **changes: Any) -> tuple[Concepts, Habits]:
    """A network that has learned nothing, with free slots; learns all rows unless told."""
    config = Config(**({"active_learning": False, "max_pool": FIRST_FREE + room} | changes))
    return empty_concepts(n, m, config), config.habits()


def random_gain(rng: np.random.Generator, caps: Floats) -> Floats:
    """A gain matrix within its caps."""
    mixing = rng.normal(size=(caps.size, caps.size))
    return capped(mixing @ mixing.T / caps.size + 0.05 * np.eye(caps.size), 0.8 * caps)


def fill_rule(state: Concepts, slot: int, rng: np.random.Generator) -> None:
    """Put random but sound numbers into a rule; its box stays."""
    state.weights[slot] = rng.normal(size=state.weights.shape[1:])
    state.gains[slot] = packed(random_gain(rng, state.caps))
    state.evidence[slot, ..., 0] = rng.normal(size=state.evidence.shape[1:-1])
    state.evidence[slot, ..., 1] = rng.uniform(1.0, 5.0, state.evidence.shape[1:-1])
    state.crossings[slot] = rng.normal(size=state.crossings.shape[1:])
    state.ages[slot] = rng.integers(1, 90)
    state.means[slot] = rng.random(state.means.shape[1])
    state.variances[slot] = 0.1 * rng.random(state.means.shape[1])
    state.class_counts[slot] = rng.uniform(1.0, 20.0, state.class_counts.shape[1])


def add_rule(state: Concepts, layer: int, low: Floats, high: Floats) -> int:
    """Give a layer a rule with a box, in a free slot."""
    slot = int(np.flatnonzero(state.owners == NO_OWNER)[0])
    state.owners[slot] = layer
    state.members[layer, state.n_members[layer]] = slot
    state.n_members[layer] += 1
    state.lows[slot], state.highs[slot] = low, high
    return slot


def halve(state: Concepts, slot: int, feature: int, cut: float) -> int:
    """Cut a box in two; the new rule holds above the cut."""
    low = state.lows[slot].copy()
    low[feature] = cut
    sibling = add_rule(state, int(state.owners[slot]), low, state.highs[slot])
    state.highs[slot, feature] = cut
    return sibling


def random_halvings(state: Concepts, layer: int, times: int, rng: np.random.Generator) -> None:
    """Cut random boxes of a layer, at random features and places."""
    for _ in range(times):
        slot, feature = int(rng.choice(members_of(state, layer))), int(rng.integers(0, 2))
        low, high = max(state.lows[slot, feature], -0.2), min(state.highs[slot, feature], 1.2)
        halve(state, slot, feature, float(rng.uniform(low, high)))


def fill_clouds(state: Concepts, count: int, rng: np.random.Generator) -> None:
    """Put random clouds of all classes into the network."""
    n, m = state.cloud_centers.shape[0], state.weights.shape[1]
    state.n_clouds[0] = count
    state.cloud_centers[:, :count] = rng.random((n, count))
    state.cloud_labels[:count] = np.arange(count) % m
    state.cloud_spreads[:count] = rng.uniform(0.01, 0.1, count)
    state.cloud_masses[:count] = rng.uniform(0.05, 1.0, count)
    spreads = np.log(state.cloud_spreads[:count])
    state.cloud_heights[:count] = np.log(state.cloud_masses[:count]) - 0.5 * n * spreads


def random_network(
    rng: np.random.Generator, n: int, m: int, kept: tuple[int, ...] = (LINE, BOXES), **changes: Any
) -> tuple[Concepts, Habits]:
    """Random rules in all layers that are always there, and in kept ones of these kinds."""
    state, habits = fresh(n, m, 24, **({"prior": 0.4} | changes))
    random_halvings(state, BOX_LAYER, 3, rng)
    for place, kind in enumerate(kept, start=FIRST_KEPT):
        state.kinds[place] = kind
        add_rule(state, place, np.full(n, -np.inf), np.full(n, np.inf))
        if kind == BOXES:
            random_halvings(state, place, 2, rng)
    for slot in np.flatnonzero(state.owners != NO_OWNER):
        fill_rule(state, int(slot), rng)
    if state.kinds[CLOUD_LAYER] == CLOUDS:
        fill_clouds(state, min(7, state.cloud_labels.size), rng)
    state.scores[:] = np.where(
        state.kinds == NO_LAYER, 0.0, rng.uniform(0.6, 0.9, 20)[: state.kinds.size]
    )
    state.course[: INDEPENDENCE + 1] = [3000.0, 0.01, 0.5, 0.2, 1.0]
    return state, habits


def let_rows_repeat(state: Concepts, factor: float) -> None:
    """As if labels so far had come in runs: so many rows are worth one."""
    m = state.label_shares.size
    state.label_shares[:] = 1.0 / m
    state.course[[WATCHED, LAST_LABEL, NEAR_CHANGES]] = 1240.0, 1.0, (1.0 - 1.0 / m) / factor
    state.course[INDEPENDENCE] = 1.0 / factor


def turning_stream(
    rng: np.random.Generator, n_rows: int, m: int, every: int
) -> tuple[Floats, Ints]:
    """Rows of two features in [0, 1] with bands of classes that turn round, and back, in turns."""
    rows = rng.random((n_rows, 2))
    bands = np.minimum((m * 0.5 * rows.sum(axis=1)).astype(np.int64), m - 1)
    turned = np.arange(n_rows) // every % 2 == 1
    return rows, np.where(turned, (m - 1) - bands if m == 2 else (bands + 1) % m, bands)
