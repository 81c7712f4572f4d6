"""Networks of the default configuration, rows and working memory for tests of kernels."""

from typing import Any

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.kernels import network, votes
from devfnn.kernels._jit import held
from devfnn.kernels.state import (
    ALWAYS,
    BOXES,
    INDEPENDENCE,
    LAST_LABEL,
    LINE,
    NEAR_CHANGES,
    NO_LAYER,
    NO_OWNER,
    STEPS,
    WATCHED,
    WHILE_LEADING,
    Batch,
    CloudState,
    EventBuffer,
    Params,
    PoolState,
    State,
    Work,
)
from devfnn.model import presets
from devfnn.model.layers.pool import packed
from devfnn.model.network import event_buffer
from devfnn.model.state import empty_state, first_sizes, kernel_params, work_for
from rival_parts import capped

QUICK_LINE, BRISK_LINE, STEADY_LINE, LIVELY_CURVE, CALM_CURVE, BOX_LAYER, CLOUD_LAYER = range(7)
"""Layers of the default; those with rules in the pool are born in the slots of the same numbers."""

FIRST_KEPT = 7

FIRST_FREE = CLOUD_LAYER
"""The first slot that is free in a new network."""

STILL: dict[str, Any] = {"growing": None, "drift": None, "merging": None}
"""A network that does not look for drift."""

RULE_FIELDS = tuple(
    name for name in PoolState._fields if name not in ("owners", "members", "n_members", "caps")
)
"""What a rule has, besides its owner."""

EVENTFUL: dict[str, Any] = {
    "memories": (30.0, 60.0, 150.0),
    "rules__prior": 0.4,
    "boxes__evidence": 5.0,
    "boxes__every": 20,
    "boxes__max_rules": 4,
    "clouds__max_rules": 6,
    "clouds__memory": 0.99,
    "voting__rows": 40.0,
    "voting__power": 0.5,
    "chunk_rows": 40,
    "growing__max_kept": 1,
    "drift__significance": 0.05,
}
"""So much happens in a few hundred rows."""


# ---- what kernels take besides the state


def events_for(n_rows: int, n_lines: int = 50) -> EventBuffer:
    """Room for what kernels report."""
    return event_buffer(n_rows, n_lines)


def lines_of(events: EventBuffer) -> list[list[int]]:
    """What kernels reported: row, kind, layer, and two numbers more."""
    lines: list[list[int]] = events.lines[: events.count[0]].tolist()
    return lines


def dirty_work(state: State) -> Work:
    """Working memory that holds nothing sensible: kernels must not read what they did not write."""
    m, n_layers = state.progress.label_shares.size, state.layers.kinds.size
    size = state.pool.caps.size
    n_clouds = state.clouds.labels.size if state.clouds is not None else 0
    config = presets.swift()
    sizes = first_sizes(state.pool.lows.shape[1], m, config)
    work = work_for(tuple(sizes.lengths(config).items()), 0)
    return Work(
        outputs=np.full((n_layers, m), np.nan),
        shares=np.full(n_layers, np.nan),
        probabilities=np.full(m, np.nan),
        codes=np.full(n_layers, 9),
        inputs=np.full(m, np.nan),
        expanded=np.full(size, np.nan),
        gain=np.full(size, np.nan),
        step=np.full(m, np.nan),
        learned=np.full(m, np.nan),
        heights=np.full(n_clouds, np.nan),
        distances=np.full(n_clouds, np.nan),
        gaussian=None,
        boosted=work.boosted,
        neighbours=work.neighbours,
        stacked=work.stacked,
    )


def part_of(batch: Batch, start: int, stop: int) -> Batch:
    """Some of the rows."""
    return Batch(*(array[start:stop] for array in batch))


# ---- saying and learning, as the model calls kernels


def said_by(state: State, rows: Floats, params: Params) -> Floats:
    """Outputs of all layers. (k, L, m)"""
    outputs = np.full((len(rows), *dirty_work(state).outputs.shape), np.nan)
    own = (held(state), held(params), held(dirty_work(state)))
    network.forward(*own, rows, outputs, rows)
    return outputs


def voted(state: State, outputs: Floats, params: Params) -> Floats:
    """Probabilities of the network. (k, m)"""
    probabilities = np.full((len(outputs), outputs.shape[2]), np.nan)
    votes.vote(held(state), held(params), outputs, probabilities)
    return probabilities


def rows_learned(state: State, batch: Batch, params: Params) -> tuple[EventBuffer, list[int]]:
    """Learn row by row in place, over all structural steps; also the rows after which they were."""
    n_rows, outputs = len(batch.rows), np.zeros((0, *dirty_work(state).outputs.shape))
    events, stops, done = events_for(n_rows, n_rows + 50), [], 0
    while done < n_rows:
        steps, arguments = (
            state.progress.counts[STEPS],
            (state, params, dirty_work(state), batch, events),
        )
        done = network.learn_rows(*map(held, arguments), outputs, done)
        if state.progress.counts[STEPS] > steps:
            stops.append(done)
    return events, stops


def chunk_learned(state: State, batch: Batch, params: Params) -> EventBuffer:
    """Learn a chunk in place. After a drift the second half of it alone is scored."""
    (n_rows, n), start, events = batch.rows.shape, 0, events_for(len(batch.rows))
    outputs, work = said_by(state, batch.rows, params), dirty_work(state)
    codes = np.full(state.layers.kinds.size, WHILE_LEADING)
    codes[: params.n_configured] = ALWAYS
    own = [held(each) for each in (state, params, work, batch, events)]
    found, *taken = network.assess_chunk(*own, outputs)
    if found:
        start = n_rows // 2
        step = (0, start, n, -1, False, *taken)
        network.learn_chunk(*own, outputs, codes, step)
        again = said_by(state, batch.rows, params)[start:, : params.n_configured]
        outputs[start:, : params.n_configured] = again
    step = (start, n_rows, n, start, False, *taken)
    network.learn_chunk(*own, outputs, codes, step)
    return events


# ---- networks


def fresh(
    n: int,
    m: int,
    room: int = 8,
    memories: tuple[float, float, float] | None = None,
    **changes: Any,
) -> tuple[State, Params]:
    """A network that has learned nothing, with free slots; learns all rows unless told.

    memories: of the quick line; of the lively curve, and the shortest; of the calm one, and the
    longest. Other arguments change the configuration.
    """
    config = presets.swift()
    if memories is not None:
        quick, shortest, longest = memories
        config = config.with_layer("quick line", memory=quick)
        config = config.with_layer("lively curve", memory=shortest)
        config = config.with_layer("calm curve", memory=longest)
        config = config.replace(memory__shortest=shortest, memory__longest=longest)
    own = {"labels__choice": "all", "rules__max_rules": FIRST_FREE + room}
    config = config.replace(**(own | changes))
    return empty_state(first_sizes(n, m, config), config), kernel_params(config, 0, (n, m))


def arrays_of(parts: Any, prefix: str = "") -> dict[str, Any]:
    """All arrays of a state, by names like `pool.weights`."""
    arrays: dict[str, Any] = {}
    for name, part in parts._asdict().items():
        if isinstance(part, tuple):
            arrays |= arrays_of(part, f"{name}.")
        elif part is not None:
            arrays[prefix + name] = part
    return arrays


def copied(parts: Any) -> Any:
    """The same, independent of the original."""
    return parts._make(
        copied(part) if isinstance(part, tuple) else part if part is None else part.copy()
        for part in parts
    )


def assert_equal(state: Any, other: Any, but: tuple[str, ...] = ()) -> None:
    """Two states are the same, bit by bit."""
    others = arrays_of(other)
    for name, array in arrays_of(state).items():
        if name not in but:
            np.testing.assert_array_equal(array, others[name], name)


def members_of(pool: PoolState, layer: int) -> list[int]:
    """Slots of the rules of a layer."""
    slots: list[int] = pool.members[layer, : pool.n_members[layer]].tolist()
    return slots


def random_gain(rng: np.random.Generator, caps: Floats) -> Floats:
    """A gain matrix within its caps."""
    mixing = rng.normal(size=(caps.size, caps.size))
    return capped(mixing @ mixing.T / caps.size + 0.05 * np.eye(caps.size), 0.8 * caps)


def fill_rule(pool: PoolState, slot: int, rng: np.random.Generator) -> None:
    """Put random but sound numbers into a rule; its box stays."""
    pool.weights[slot] = rng.normal(size=pool.weights.shape[1:])
    pool.gains[slot] = packed(random_gain(rng, pool.caps))
    pool.evidence[slot, ..., 0] = rng.normal(size=pool.evidence.shape[1:-1])
    pool.evidence[slot, ..., 1] = rng.uniform(1.0, 5.0, pool.evidence.shape[1:-1])
    pool.crossings[slot] = rng.normal(size=pool.crossings.shape[1:])
    pool.ages[slot] = rng.integers(1, 90)
    pool.means[slot] = rng.random(pool.means.shape[1])
    pool.variances[slot] = 0.1 * rng.random(pool.means.shape[1])
    pool.class_counts[slot] = rng.uniform(1.0, 20.0, pool.class_counts.shape[1])


def add_rule(pool: PoolState, layer: int, low: Any = -np.inf, high: Any = np.inf) -> int:
    """Give a layer a rule with a box, in a free slot."""
    slot = int(np.flatnonzero(pool.owners == NO_OWNER)[0])
    pool.owners[slot] = layer
    pool.members[layer, pool.n_members[layer]] = slot
    pool.n_members[layer] += 1
    pool.lows[slot], pool.highs[slot] = low, high
    return slot


def halve(pool: PoolState, slot: int, feature: int, cut: float) -> int:
    """Cut a box in two; the new rule holds above the cut."""
    low = pool.lows[slot].copy()
    low[feature] = cut
    sibling = add_rule(pool, int(pool.owners[slot]), low, pool.highs[slot])
    pool.highs[slot, feature] = cut
    return sibling


def random_halvings(pool: PoolState, layer: int, times: int, rng: np.random.Generator) -> None:
    """Cut random boxes of a layer, at random features and places."""
    for _ in range(times):
        slot, feature = int(rng.choice(members_of(pool, layer))), int(rng.integers(0, 2))
        low, high = max(pool.lows[slot, feature], -0.2), min(pool.highs[slot, feature], 1.2)
        halve(pool, slot, feature, float(rng.uniform(low, high)))


def fill_clouds(clouds: CloudState, count: int, m: int, rng: np.random.Generator) -> None:
    """Put random clouds of all classes into the network."""
    n = clouds.centers.shape[0]
    clouds.count[0] = count
    clouds.centers[:, :count] = rng.random((n, count))
    clouds.labels[:count] = np.arange(count) % m
    clouds.spreads[:count] = rng.uniform(0.01, 0.1, count)
    clouds.masses[:count] = rng.uniform(0.05, 1.0, count)
    spreads = np.log(clouds.spreads[:count])
    clouds.heights[:count] = np.log(clouds.masses[:count]) - 0.5 * n * spreads


def random_network(
    rng: np.random.Generator, n: int, m: int, kept: tuple[int, ...] = (LINE, BOXES), **changes: Any
) -> tuple[State, Params]:
    """Random rules in all configured layers, and in kept ones of these kinds."""
    state, params = fresh(n, m, 24, **({"rules__prior": 0.4} | changes))
    layers, pool = state.layers, state.pool
    random_halvings(pool, BOX_LAYER, 3, rng)
    for place, kind in enumerate(kept, start=params.n_configured):
        layers.kinds[place] = kind
        layers.origins[place] = BOX_LAYER if kind == BOXES else STEADY_LINE
        if kind != NO_LAYER:
            add_rule(pool, place)
        if kind == BOXES:
            random_halvings(pool, place, 2, rng)
    for slot in np.flatnonzero(pool.owners != NO_OWNER).tolist():
        fill_rule(pool, slot, rng)
    if state.clouds is not None:
        fill_clouds(state.clouds, min(7, state.clouds.labels.size), m, rng)
    scores = rng.uniform(0.6, 0.9, 20)[: layers.kinds.size]
    layers.scores[:] = np.where(layers.kinds == NO_LAYER, 0.0, scores)
    state.progress.signals[: INDEPENDENCE + 1] = [3000.0, 0.01, 0.5, 0.2, 1.0]
    return state, params


def let_rows_repeat(state: State, factor: float) -> None:
    """As if labels so far had come in runs: so many rows are worth one."""
    signals, shares = state.progress.signals, state.progress.label_shares
    shares[:] = 1.0 / shares.size
    near = (1.0 - 1.0 / shares.size) / factor
    signals[[WATCHED, LAST_LABEL, NEAR_CHANGES]] = 1240.0, 1.0, near
    signals[INDEPENDENCE] = 1.0 / factor


def turning_stream(
    rng: np.random.Generator, n_rows: int, m: int, every: int
) -> tuple[Floats, Ints]:
    """Rows of two features in [0, 1] with bands of classes that turn round, and back, in turns."""
    rows = rng.random((n_rows, 2))
    bands = np.minimum((m * 0.5 * rows.sum(axis=1)).astype(np.int64), m - 1)
    turned = np.arange(n_rows) // every % 2 == 1
    return rows, np.where(turned, (m - 1) - bands if m == 2 else (bands + 1) % m, bands)
