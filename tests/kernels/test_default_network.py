"""The default network over rows: what it says and how it learns, against its slow twin."""

from typing import Any

import numpy as np
import pytest

from build import batch_of, count, only_compiled, only_plain
from devfnn.arrays import Floats
from devfnn.kernels.boxes import memory_of
from devfnn.kernels.network import adapt_memory
from devfnn.kernels.state import (
    ASKED_FOR,
    BOXES,
    DRIFT_EVENT,
    DROPPED_EVENT,
    INDEPENDENCE,
    KEPT_EVENT,
    LABEL_RATE,
    LAST_LABEL,
    LINE,
    MEMORY,
    NEAR_CHANGES,
    NO_DRIFT_TEST,
    NO_LAYER,
    OFFERED,
    RECALLED_EVENT,
    RESTED_EVENT,
    ROWS,
    SCORED,
    SEEN_ROWS,
    SPLIT_EVENT,
    STEPS,
    UNCERTAINTY,
    UNLABELLED,
    WATCHED,
    WOKEN_EVENT,
    Batch,
    EventBuffer,
    Params,
    State,
)
from devfnn.kernels.votes import rest_layers
from reference import certainty
from rival_build import (
    BOX_LAYER,
    BRISK_LINE,
    CALM_CURVE,
    CLOUD_LAYER,
    EVENTFUL,
    FIRST_KEPT,
    LIVELY_CURVE,
    QUICK_LINE,
    STEADY_LINE,
    assert_equal,
    chunk_learned,
    copied,
    events_for,
    fresh,
    let_rows_repeat,
    lines_of,
    members_of,
    part_of,
    random_network,
    rows_learned,
    said_by,
    turning_stream,
    voted,
)
from rival_parts import halves, learned_logistic
from rival_same import assert_same, assert_same_lines, slow_copy

CHOICES: dict[str, dict[str, Any]] = {
    "all": {},
    "certainty": {"labels__choice": "vote", "labels__certainty": 0.9, "labels__exploration": 0.2},
    "budget": {"labels__choice": "vote", "labels__budget": 0.5, "labels__exploration": 0.2},
}

GRACE_ROWS = 10000
"""The default of rows after a drift before clouds may rest."""


def learned(state: State, batch: Batch, params: Params, is_chunk: bool) -> EventBuffer:
    """Learn rows in place, at once or one by one."""
    if is_chunk:
        return chunk_learned(state, batch, params)
    return rows_learned(state, batch, params)[0]


def some_batch(rng: np.random.Generator, n_rows: int, m: int, every: int) -> Batch:
    """A stream that drifts and returns, with weights, absent features and labels of all kinds."""
    rows, labels = turning_stream(rng, n_rows, m, every)
    rows[rng.random((n_rows, 2)) < 0.02] = np.nan
    labelled = rng.choice([UNLABELLED, OFFERED, ASKED_FOR], n_rows, p=[0.05, 0.9, 0.05])
    weights = rng.uniform(0.5, 1.5, n_rows)
    batch = batch_of(rows, labels, weights, rng.random(n_rows))
    return batch._replace(labelled=labelled)


def walking_batch(rng: np.random.Generator, n_rows: int, every: int) -> Batch:
    """Rows that walk, each close to the one before, with labels that turn round now and then."""
    walk = np.cumsum(rng.normal(scale=0.06, size=(n_rows, 2)), axis=0) + 0.5
    rows = np.abs((walk + 1.0) % 2.0 - 1.0)  # turned back at 0 and 1
    labels = (rows.sum(axis=1) > 1.0) ^ (np.arange(n_rows) // every % 2 == 1)
    return batch_of(rows, labels ^ (rng.random(n_rows) < 0.1), draws=rng.random(n_rows))


# ---- what it says


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 3), (5, 4)])
@pytest.mark.parametrize("rest", [0, 2])
def test_outputs_and_votes_equal_the_twin_and_change_nothing(
    rng: np.random.Generator, n: int, m: int, rest: int
) -> None:
    for _ in range(5):
        state, params = random_network(rng, n, m, kept=(LINE, NO_LAYER, BOXES))
        state.layers.rests[CLOUD_LAYER] = rest
        state.progress.signals[INDEPENDENCE] = rng.choice([1.0, 0.3])
        before, slow = copied(state), slow_copy(state, params)
        rows = rng.uniform(-0.1, 1.1, (20, n))
        rows[rng.random((20, n)) < 0.1] = np.nan
        outputs = said_by(state, rows, params)
        probabilities = voted(state, outputs, params)
        for row, own, shares in zip(rows, outputs, probabilities, strict=True):
            expected = slow.outputs(row)
            silent = [layer for layer in range(len(own)) if layer not in expected]
            assert (CLOUD_LAYER in silent) == (rest > 0)
            for layer, output in expected.items():
                np.testing.assert_allclose(own[layer], output, rtol=1e-10)
            assert np.isnan(own[silent]).all()
            np.testing.assert_allclose(shares, slow.vote(expected), rtol=1e-10)
        assert_equal(state, before)


# ---- learning against the twin


class Chronicle:
    """What a run has shown, so that no test is right because nothing happened."""

    def __init__(self) -> None:
        self.shown: set[str] = set()
        self.worths: set[float] = set()
        self.memory = np.inf
        self.n_taken = 0

    def take(self, events: EventBuffer, state: State) -> None:
        """Note what a step did."""
        names = {
            SPLIT_EVENT: "split",
            DRIFT_EVENT: "drift",
            KEPT_EVENT: "kept",
            DROPPED_EVENT: "dropped",
            RECALLED_EVENT: "recalled",
            RESTED_EVENT: "rested",
            WOKEN_EVENT: "woken",
        }
        self.shown |= {names[kind] for _, kind, *_ in lines_of(events)}
        memory = float(state.progress.signals[MEMORY])
        if np.isfinite(self.memory) and memory != self.memory:
            self.shown.add("longer" if memory > self.memory else "shorter")
        self.memory = memory
        self.worths.add(float(state.progress.signals[INDEPENDENCE]))
        self.n_taken += int(events.taken.sum())


EVERYTHING = {"split", "drift", "kept", "dropped", "recalled", "longer", "shorter"}


def compared(
    state: State, params: Params, batch: Batch, size: int, is_chunk: bool, tolerance: float = 1e-5
) -> Chronicle:
    """Learn parts of a size, as chunks or row by row; after each a new twin has to agree.

    The tolerance is how closely kernels solve for a step, unless steps add up.
    """
    chronicle = Chronicle()
    for start in range(0, len(batch.rows), size):
        slow, part = slow_copy(state, params), part_of(batch, start, start + size)
        events = learned(state, part, params, is_chunk)
        taken, errors = slow.learn_chunk(part) if is_chunk else slow.learn_rows(part)
        assert (events.taken.tolist(), events.errors.tolist()) == (taken, errors)
        assert_same(state, slow, tolerance)
        assert_same_lines(events, slow.lines, tolerance)
        chronicle.take(events, state)
    return chronicle


@pytest.mark.parametrize(
    ("choice", "size", "m", "n_rows"),
    [
        ("all", 1, 2, count(540, 320)),
        pytest.param("all", 40, 2, 400, marks=only_compiled),
        pytest.param("all", 1, 3, 200, marks=only_compiled),
        pytest.param("certainty", 1, 2, 200, marks=only_compiled),
        ("certainty", 40, 3, 320),
        ("budget", 1, 3, 200),
        pytest.param("budget", 40, 2, 320, marks=only_compiled),
    ],
)
def test_learning_equals_the_twin(
    rng: np.random.Generator, choice: str, size: int, m: int, n_rows: int
) -> None:
    state, params = fresh(2, m, 12, **(EVENTFUL | CHOICES[choice]))
    batch = part_of(some_batch(rng, 700, m, 160), 0, n_rows)
    chronicle = compared(state, params, batch, size, is_chunk=size > 1)
    if (m, choice) == (2, "all"):
        rare = {540: set(), 400: {"recalled"}}.get(n_rows, {"recalled", "dropped"})
        assert chronicle.shown >= EVERYTHING - rare
    offered = np.count_nonzero(batch.labelled != UNLABELLED)
    if choice == "all":
        assert chronicle.n_taken == offered
    else:
        assert chronicle.n_taken < offered * (0.95 if size == 1 else 1.0)


@pytest.mark.parametrize("size", [pytest.param(1, marks=only_compiled), 40])
def test_learning_rows_that_repeat_each_other_equals_the_twin(
    rng: np.random.Generator, size: int
) -> None:
    state, params = fresh(2, 2, 12, **(EVENTFUL | {"boxes__evidence": 1.0}))
    let_rows_repeat(state, 2.5)
    batch = walking_batch(rng, 320, 220)
    chronicle = compared(state, params, batch, size, is_chunk=size > 1)
    assert chronicle.shown >= {"drift", "split", "kept"}
    assert len(chronicle.worths) > 5 and max(chronicle.worths) < 1.0


@only_compiled
def test_the_twin_can_be_left_alone_for_hundreds_of_rows(rng: np.random.Generator) -> None:
    state, params = fresh(2, 2, 12, **EVENTFUL)
    compared(state, params, some_batch(rng, 300, 2, 150), 300, is_chunk=False, tolerance=1e-4)


def test_several_kept_layers_equal_the_twin(rng: np.random.Generator) -> None:
    options = EVENTFUL | {"growing__max_kept": 4, "clouds__birth": 0.0}
    state, params = random_network(rng, 2, 2, kept=(LINE, BOXES, LINE), **options)
    state.layers.scores[FIRST_KEPT + 1] = 0.95
    batch = some_batch(rng, 120, 2, 1000)
    compared(state, params, batch, 40, is_chunk=True)
    own = state.layers.compared[FIRST_KEPT : FIRST_KEPT + 3, FIRST_KEPT : FIRST_KEPT + 3]
    n_learned = np.count_nonzero(batch.labelled != UNLABELLED)
    np.testing.assert_array_equal(own, np.triu(np.full((3, 3), n_learned), 1))


# ---- learning, by its properties


def test_a_layer_is_kept_and_recalled_when_its_concept_returns(rng: np.random.Generator) -> None:
    options = EVENTFUL | {"growing__max_kept": 2, "voting__rows": 30.0}
    state, params = fresh(2, 2, 12, **options)
    batch, layers = batch_of(*turning_stream(rng, 900, 2, 300)), state.layers
    best, events = [], []
    for start in range(0, 900, 30):
        told = chunk_learned(state, part_of(batch, start, start + 30), params)
        best.append(int(np.argmax(np.where(layers.kinds == NO_LAYER, -1.0, layers.scores))))
        events += [(start, *line[1:3]) for line in lines_of(told)]
    kept = [place for start, kind, place in events if kind == KEPT_EVENT and 300 <= start < 400]
    assert kept == [FIRST_KEPT]
    assert FIRST_KEPT in best[20:]
    assert any(start >= 600 and line == [RECALLED_EVENT, FIRST_KEPT] for start, *line in events)


def weights_of(state: State, layer: int) -> Floats:
    """Weights of all rules of a layer."""
    return state.pool.weights[members_of(state.pool, layer)].copy()


def random_batch(rng: np.random.Generator, n_rows: int, m: int = 2, **others: Any) -> Batch:
    """Rows that say nothing."""
    return batch_of(rng.random((n_rows, 2)), rng.integers(0, m, n_rows), **others)


def test_of_kept_layers_only_the_best_learns(rng: np.random.Generator) -> None:
    state, params = random_network(rng, 2, 2, kept=(LINE, LINE), voting__rows=1e6)
    scores = state.layers.scores
    scores[FIRST_KEPT] = 0.95
    first, second = weights_of(state, FIRST_KEPT), weights_of(state, FIRST_KEPT + 1)
    chunk_learned(state, random_batch(rng, 20), params)
    assert (weights_of(state, FIRST_KEPT) != first)[:, :, :3].all()
    np.testing.assert_array_equal(weights_of(state, FIRST_KEPT + 1), second)
    scores[FIRST_KEPT], scores[STEADY_LINE] = 0.1, 0.99
    first = weights_of(state, FIRST_KEPT)
    chunk_learned(state, random_batch(rng, 20), params)
    np.testing.assert_array_equal(weights_of(state, FIRST_KEPT), first)


@pytest.mark.parametrize("is_chunk", [False, True])
def test_a_row_that_repeats_others_is_learned_as_any_other(
    rng: np.random.Generator, is_chunk: bool
) -> None:
    state, params = random_network(rng, 2, 2, kept=(LINE,), clouds__birth=0.0)
    state.layers.scores[FIRST_KEPT], state.progress.counts[SCORED] = 0.95, 10**6
    batch, before = batch_of(rng.random((1, 2)), [1]), copied(state)
    whole, lighter = copied(state), copied(state)
    state.progress.signals[INDEPENDENCE] = 0.25
    learned(state, batch, params, is_chunk)
    learned(whole, batch, params, is_chunk)
    learned(lighter, batch._replace(weights=np.array([0.25])), params, is_chunk)
    assert_equal(state.pool, whole.pool)
    assert_equal(state.clouds, whole.clouds)
    for layer in (*range(CLOUD_LAYER), FIRST_KEPT):
        own, light, old = (weights_of(each, layer) for each in (state, lighter, before))
        assert 0.0 < np.abs(light - old).sum() < np.abs(own - old).sum()  # a lighter row would be
    gained = state.pool.class_counts - before.pool.class_counts
    assert gained.sum() >= 4.0  # not all doubt the label


@pytest.mark.parametrize("is_chunk", [False, True])
def test_only_labels_that_were_taken_are_watched(rng: np.random.Generator, is_chunk: bool) -> None:
    state, params = random_network(rng, 2, 3)
    batch, progress = random_batch(rng, 60, 3), state.progress
    batch.labelled[rng.random(60) < 0.4] = UNLABELLED
    learned(state, batch, params, is_chunk)
    taken = batch.labels[batch.labelled != UNLABELLED]
    assert progress.signals[WATCHED] == taken.size < 50
    assert progress.signals[LAST_LABEL] == taken[-1]
    assert progress.signals[NEAR_CHANGES] == pytest.approx((taken[1:] != taken[:-1]).mean())
    np.testing.assert_allclose(progress.label_shares, np.bincount(taken, minlength=3) / taken.size)


def test_what_rows_are_worth_changes_only_at_a_structural_step(rng: np.random.Generator) -> None:
    state, params = fresh(2, 2, 12, **EVENTFUL)
    let_rows_repeat(state, 4.0)
    signals = state.progress.signals
    signals[INDEPENDENCE] = 0.9  # not yet up to date
    batch = walking_batch(rng, 40, 1000)
    rows_learned(state, part_of(batch, 0, 39), params)
    assert signals[INDEPENDENCE] == 0.9
    rows_learned(state, part_of(batch, 39, 40), params)
    assert 0.2 < signals[INDEPENDENCE] < 0.3


# ---- learning after a drift


def about_to_drift(rng: np.random.Generator, best: int, **changes: Any) -> tuple[State, Params]:
    """A network whose next errors are a drift, and after it one of its layers is kept."""
    options = {"kept": (), "voting__rows": 1000.0} | changes
    state, params = random_network(rng, 2, 2, **options)
    state.layers.scores[:] = np.where(state.layers.kinds == NO_LAYER, 0.0, 0.6)
    state.layers.scores[best] = 0.8
    state.progress.errors[:] = [400, 150, 200, 2]
    return state, params


@pytest.mark.parametrize("best", [STEADY_LINE, BOX_LAYER])
@pytest.mark.parametrize("n_rows", [1, 40, 41])
def test_after_a_drift_only_the_second_half_of_the_chunk_is_scored(
    rng: np.random.Generator, best: int, n_rows: int
) -> None:
    state, params = about_to_drift(rng, best)
    batch = batch_of(*turning_stream(rng, n_rows, 2, 1000))
    half, slow, scores = n_rows // 2, slow_copy(state, params), state.layers.scores
    said = said_by(state, batch.rows, params).argmax(axis=2) == batch.labels[:, None]
    events = chunk_learned(state, batch, params)
    assert events.lines[:2, 1].tolist() == [DRIFT_EVENT, KEPT_EVENT]
    assert state.progress.counts[SCORED] == n_rows - half
    assert state.progress.counts[ROWS] == n_rows  # all of them were learned
    # A kept layer is scored by what its source said before, the others by what they say half-way.
    assert scores[FIRST_KEPT] == pytest.approx(said[half:, best].mean())
    slow._respond(0)
    slow._train_some(batch, np.arange(half))
    for layer in range(FIRST_KEPT):
        rights = [
            slow.output(layer, row).argmax() == label
            for row, label in zip(batch.rows[half:], batch.labels[half:], strict=True)
        ]
        assert scores[layer] == pytest.approx(np.mean(rights))


def test_a_kept_layer_is_not_asked_again_after_a_drift(rng: np.random.Generator) -> None:
    state, params = about_to_drift(rng, FIRST_KEPT, kept=(LINE,))
    rows = rng.random((40, 2))
    labels = 1 - said_by(state, rows, params)[:, FIRST_KEPT].argmax(axis=1)
    events = chunk_learned(state, batch_of(rows, labels), params)
    assert lines_of(events)[0][1] == DRIFT_EVENT
    assert state.layers.scores[FIRST_KEPT] == 0.0  # all wrong before
    now = said_by(state, rows, params)[:, FIRST_KEPT].argmax(axis=1)
    assert (now == labels).mean() > 0.5  # it was the best, so that it learned


def test_without_a_drift_the_whole_chunk_is_scored_by_what_was_said_before(
    rng: np.random.Generator,
) -> None:
    state, params = random_network(rng, 2, 2, kept=(LINE,), voting__rows=1000.0)
    batch = batch_of(*turning_stream(rng, 40, 2, 1000))
    said = said_by(state, batch.rows, params).argmax(axis=2) == batch.labels[:, None]
    events = chunk_learned(state, batch, params)
    assert events.count[0] == 0 and state.progress.counts[SCORED] == 40
    there = state.layers.kinds != NO_LAYER
    np.testing.assert_allclose(state.layers.scores[there], said.mean(axis=0)[there])


def test_the_row_of_a_drift_is_learned_by_what_the_layers_say_by_then(
    rng: np.random.Generator,
) -> None:
    state, params = about_to_drift(rng, STEADY_LINE)
    pool, row, label = state.pool, np.array([0.3, 0.8]), 1
    state.progress.counts[ROWS] = 100  # now drift is looked for
    events, _ = rows_learned(state, batch_of(row[None], [label]), params)
    assert events.lines[0, 1] == DRIFT_EVENT
    trusted = 0.9 * 0.5 / (0.9 * 0.5 + 0.1 * 0.5)
    for layer, weight, size in ((STEADY_LINE, trusted, 3), (BOX_LAYER, 1.0, 5)):
        rates = weight, 1.0 - 1.0 / state.progress.signals[MEMORY]
        phi, gain = halves(row)[:size], np.diag(pool.caps[:size])
        expected = learned_logistic(np.zeros((2, size)), gain, phi, label, rates)[0]
        rule = next(slot for slot in members_of(pool, layer) if pool.ages[slot] == 1)
        np.testing.assert_allclose(pool.weights[rule, :, :size], expected, atol=1e-6)


@pytest.mark.parametrize(("every", "n_rows", "n_lines"), [(50, 99, 0), (50, 100, 2), (33, 99, 2)])
def test_row_by_row_drift_is_looked_for_every_so_many_rows(
    rng: np.random.Generator, every: int, n_rows: int, n_lines: int
) -> None:
    state, params = about_to_drift(rng, STEADY_LINE, drift__every=every)
    state.progress.counts[ROWS] = n_rows
    events, _ = rows_learned(state, batch_of(rng.random((1, 2)), [1]), params)
    assert events.count[0] == n_lines


def test_the_calm_curve_learns_on_through_a_drift(rng: np.random.Generator) -> None:
    state, params = about_to_drift(rng, BOX_LAYER)
    other, batch = copied(state), random_batch(rng, 40)
    chunk_learned(state, batch, params)
    chunk_learned(other, batch, params._replace(drift_test=NO_DRIFT_TEST))
    assert state.layers.kinds[FIRST_KEPT] == BOXES
    assert other.layers.kinds[FIRST_KEPT] == NO_LAYER
    for name in ("weights", "gains", "ages", "class_counts"):
        own, same = getattr(state.pool, name), getattr(other.pool, name)
        np.testing.assert_array_equal(own[CALM_CURVE], same[CALM_CURVE])
        assert (own[STEADY_LINE] != same[STEADY_LINE]).any()


# ---- learning in parts


@pytest.mark.parametrize("sizes", [[1], [7, 40, 3, 55], [100]])
def test_rows_in_parts_are_learned_as_if_at_once(
    rng: np.random.Generator, sizes: list[int]
) -> None:
    batch = some_batch(rng, count(600, 300), 2, 130)
    state, params = fresh(2, 2, 12, **(EVENTFUL | CHOICES["certainty"]))
    other = copied(state)
    events, stops = rows_learned(state, batch, params)
    taken: list[int] = []
    while len(taken) < len(batch.rows):
        for size in sizes:
            part = part_of(batch, len(taken), len(taken) + size)
            taken += rows_learned(other, part, params)[0].taken.tolist()
    assert_equal(state, other)
    assert events.taken.tolist() == taken
    labels = np.cumsum(events.taken)[np.array(stops) - 1]
    assert np.diff(labels).tolist() == [40] * (len(stops) - 1)


def test_learning_row_by_row_stops_after_so_many_labels(rng: np.random.Generator) -> None:
    state, params = fresh(2, 2, 12, **(EVENTFUL | {"chunk_rows": 25}))
    batch, progress = batch_of(*turning_stream(rng, 80, 2, 1000)), state.progress
    batch.labelled[:10] = UNLABELLED
    progress.n_open[0], progress.lead[0] = 5, 3.0  # of labels since the last step
    _, stops = rows_learned(state, batch, params)
    assert stops == [30, 55, 80]
    assert (progress.counts[ROWS], progress.counts[STEPS]) == (70, 3)
    assert (progress.n_open[0], progress.lead[0]) == (0, 0.0)


@pytest.mark.parametrize("is_chunk", [False, True])
@pytest.mark.parametrize("choice", CHOICES)
def test_rows_without_a_label_change_nothing_but_what_choosing_goes_by(
    rng: np.random.Generator, choice: str, is_chunk: bool
) -> None:
    options = EVENTFUL | CHOICES[choice] | {"growing__max_kept": 3}
    state, params = random_network(rng, 2, 2, **options)
    before, (signals, budget) = copied(state), (state.progress.signals, state.progress.budget)
    batch = random_batch(rng, 50, draws=np.zeros(50))
    batch.labelled[:] = UNLABELLED
    uncertainty, label_rate = signals[UNCERTAINTY], signals[LABEL_RATE]
    for shares in voted(state, said_by(state, batch.rows, params), params):
        uncertainty += 0.002 * (2.0 * (1.0 - certainty(shares)) - uncertainty)
    assert not learned(state, batch, params, is_chunk).taken.any()
    assert signals[LABEL_RATE] == pytest.approx(label_rate * 0.998**50)
    assert signals[UNCERTAINTY] == pytest.approx(uncertainty)
    signals[[LABEL_RATE, UNCERTAINTY]] = before.progress.signals[[LABEL_RATE, UNCERTAINTY]]
    assert budget[SEEN_ROWS] == before.progress.budget[SEEN_ROWS] + 50
    budget[SEEN_ROWS] -= 50
    step = ("progress.counts", "layers.last_wins", "layers.rests")  # a chunk is a structural step
    assert_equal(state, before, but=step if is_chunk else ())


def test_rows_without_a_label_in_a_chunk_leave_the_others_alone(rng: np.random.Generator) -> None:
    state, params = random_network(rng, 2, 2, **(EVENTFUL | {"growing__max_kept": 3}))
    params = params._replace(drift_test=NO_DRIFT_TEST)
    batch, other, sums = some_batch(rng, 80, 2, 40), copied(state), [LABEL_RATE, UNCERTAINTY]
    labelled = batch.labelled != UNLABELLED
    chunk_learned(state, batch, params)
    chunk_learned(other, Batch(*(array[labelled] for array in batch)), params)
    own, others = state.progress.signals, other.progress.signals
    assert own[LABEL_RATE] < others[LABEL_RATE]
    own[sums] = others[sums]
    assert_equal(state, other, but=("progress.budget",))


# ---- parts of a step


@only_plain
def test_the_memory_of_the_layers() -> None:
    state, params = fresh(2, 2, memories=(100.0, 500.0, 7000.0))
    state.progress.signals[MEMORY] = 4000.0
    state.layers.origins[FIRST_KEPT] = STEADY_LINE
    lengths = {
        QUICK_LINE: 100.0,
        BRISK_LINE: 1000.0,
        STEADY_LINE: 4000.0,
        LIVELY_CURVE: 500.0,
        CALM_CURVE: 7000.0,
        BOX_LAYER: 4000.0,
        FIRST_KEPT: 4000.0,
    }
    for layer, rows in lengths.items():
        assert memory_of(state, layer, params.pool) == pytest.approx(1.0 - 1.0 / rows)
        assert memory_of(state, layer, params.pool._replace(forgetting=False)) == 1.0


@only_plain
@pytest.mark.parametrize(("leads", "rows"), [([400.0] * 30, 500.0), ([-1.0] * 80, 6000.0)])
def test_no_layer_forgets_more_slowly_than_the_calm_curve(leads: list[float], rows: float) -> None:
    state, params = fresh(2, 2, memories=(300.0, 500.0, 6000.0))
    for lead in leads:
        adapt_memory(state.progress.signals, lead, 200, params.pool)
    assert state.progress.signals[MEMORY] == rows
    memories = [memory_of(state, layer, params.pool) for layer in range(CLOUD_LAYER)]
    assert max(memories) == memories[CALM_CURVE] == pytest.approx(1.0 - 1.0 / 6000.0)


@only_plain
def test_the_memory_shortens_while_the_brisk_line_leads() -> None:
    state, params = fresh(2, 2, memories=(300.0, 1000.0, 3000.0))
    signals, memories = state.progress.signals, []
    signals[MEMORY] = 2000.0
    for lead in (-10.0, 40.0, 0.0, -200.0, *[-1.0] * 20, *[400.0] * 10):
        adapt_memory(signals, lead, 200, params.pool)
        memories.append(float(signals[MEMORY]))
    assert memories[:4] == [2100.0, 1680.0, 1344.0, 1444.0]  # one lead is remembered for a while
    assert memories[23] == 3000.0 and memories[-1] == 1000.0
    adapt_memory(signals, 0.0, 0, params.pool)
    assert signals[MEMORY] == 1000.0


def rest_of(state: State, params: Params, score: float, n_scored: int) -> int:
    """The rest of the clouds after a step that ends with such a score."""
    shares = np.full(state.layers.kinds.size, np.nan)
    state.layers.scores[CLOUD_LAYER], state.progress.counts[SCORED] = score, n_scored
    rest_layers(state, 0, params, shares, events_for(1))
    return int(state.layers.rests[CLOUD_LAYER])


@only_plain
def test_clouds_without_a_say_sit_out_four_steps(rng: np.random.Generator) -> None:
    state, params = random_network(rng, 2, 2, voting__rows=500.0)
    state.layers.scores[:] = 0.8
    scores = [0.8, 0.5, 0.5, 0.9, 0.5, 0.5, 0.9, 0.5]
    rests = [rest_of(state, params, score, GRACE_ROWS) for score in scores]
    assert rests == [0, 4, 3, 2, 1, 0, 0, 4]


@only_plain
def test_clouds_do_not_rest_until_some_time_after_a_drift(rng: np.random.Generator) -> None:
    state, params = random_network(rng, 2, 2, voting__rows=500.0)
    state.layers.scores[:] = 0.8
    for n_scored, rest in [(0, 0), (1, 0), (GRACE_ROWS - 1, 0), (GRACE_ROWS, 4)]:
        assert rest_of(state, params, 0.5, n_scored) == rest
    # a drift: clouds that rest already wake in their time
    assert [rest_of(state, params, 0.5, 0) for _ in range(6)] == [3, 2, 1, 0, 0, 0]


@pytest.mark.parametrize("is_chunk", [pytest.param(False, marks=only_compiled), True])
def test_clouds_that_come_to_rest_equal_the_twin(rng: np.random.Generator, is_chunk: bool) -> None:
    state, params = random_network(rng, 2, 2, chunk_rows=40, voting__rows=500.0)
    params = params._replace(drift_test=NO_DRIFT_TEST)
    state.layers.scores[CLOUD_LAYER], state.progress.counts[SCORED] = 0.1, GRACE_ROWS - 60
    batch, rests = batch_of(*turning_stream(rng, 280, 2, 1000)), []
    for start in range(0, 280, 40):
        compared(state, params, part_of(batch, start, start + 40), 40, is_chunk, 1e-4)
        rests.append(int(state.layers.rests[CLOUD_LAYER]))
    assert rests == [0, 4, 3, 2, 1, 0, 4]


@pytest.mark.parametrize("is_chunk", [False, True])
def test_a_network_without_clouds_equals_the_twin(rng: np.random.Generator, is_chunk: bool) -> None:
    state, params = random_network(rng, 2, 2, clouds=None)
    assert state.clouds.labels.size == 0 and params.n_configured == CLOUD_LAYER
    compared(state, params, random_batch(rng, 70), 35, is_chunk, 1e-4)
