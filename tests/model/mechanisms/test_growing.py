"""What follows a drift: a layer is kept for later, or one is added on top; and memory is short."""

from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, Config
from devfnn.arrays import Floats, Ints
from devfnn.events import (
    DriftFound,
    DriftWarned,
    LayerAdded,
    LayerDropped,
    LayerKept,
    LayerRecalled,
)
from devfnn.kernels.state import MEMORY, SEEN
from scenes import (
    BOX_LAYER,
    BRISK_LINE,
    CALM_CURVE,
    CHUNK,
    FIRST_KEPT,
    ONE_CLOUD,
    QUICK_LINE,
    STEADY_LINE,
    count,
    flipped,
    noisy,
    of_kind,
    prequential,
    run,
    sloped,
    stacked,
    swift,
)

VERBS = ["learn", "learn_rows"]
CONFIG = swift(chunk_rows=CHUNK)
NO_GROWING: dict[str, Any] = {"growing": None, "drift": None, "merging": None}


def recurring(n_rows: int, every: int, seed: int = 1) -> tuple[Floats, Ints]:
    """SEA with 10 % of the labels flipped: two thresholds that take turns."""
    rng = np.random.default_rng(seed)
    X = 10.0 * rng.random((n_rows, 3))
    threshold = np.array([6.0, 12.0])[np.arange(n_rows) // every % 2]
    y = (X[:, 0] + X[:, 1] <= threshold) ^ (rng.random(n_rows) < 0.1)
    return X, y.astype(np.int64)


# ---- the best layer is kept


@pytest.mark.parametrize("verb", VERBS)
def test_a_flip_is_found_and_the_best_layer_kept(verb: str) -> None:
    model = DEVFNN(CONFIG)
    events = run(model, *flipped(40), verb)
    (drift,) = of_kind(events, DriftFound)
    (kept,) = of_kind(events, LayerKept)
    assert 20 * CHUNK <= drift.row <= 23 * CHUNK and kept.row == drift.row
    assert drift.error_after - drift.error_before > drift.bound
    assert kept.layer == FIRST_KEPT and kept.source in (STEADY_LINE, BOX_LAYER)
    assert kept.n_rules >= 1 and kept.learned_rows > 0 and kept.score > 0.5
    assert model.n_layers == FIRST_KEPT + 1


@pytest.mark.parametrize("verb", VERBS)
def test_after_a_flip_all_but_the_quick_line_and_the_calm_curve_start_anew(verb: str) -> None:
    model = DEVFNN(CONFIG.replace(labels__choice="all"))
    events = run(model, *flipped(40), verb)
    (drift,) = of_kind(events, DriftFound)
    state = model._known().state
    assert state.pool is not None
    owned = np.bincount(
        state.pool.owners[state.pool.owners >= 0], state.pool.ages[state.pool.owners >= 0]
    )
    since = model.n_rows - drift.row
    for layer in (BRISK_LINE, STEADY_LINE, BOX_LAYER):
        assert 0 < owned[layer] <= since + CHUNK
    for layer in (QUICK_LINE, CALM_CURVE):
        assert owned[layer] == model.n_rows
        assert state.pool.n_members[layer] == 1


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("config", [CONFIG, stacked(chunk_rows=CHUNK)], ids=["default", "stacked"])
def test_a_stationary_stream_has_no_drift(verb: str, noise: float, config: Config) -> None:
    X, y = sloped(30)
    kinds = {event.kind for event in run(DEVFNN(config), X, noisy(y, noise), verb)}
    assert not kinds & {"DriftFound", "LayerKept", "LayerAdded"}


def test_the_network_recovers_soon_after_a_flip() -> None:
    accuracies = prequential(DEVFNN(CONFIG), *flipped(40))
    assert accuracies[18] > 0.95 and accuracies[19] < 0.1 and accuracies[21] > 0.85
    assert accuracies[25:].min() > 0.9


def test_without_growing_no_drift_is_found_and_concepts_that_return_are_learned_worse() -> None:
    X, y = recurring(count(24_000, 800), count(3000, 100))
    means, kinds = {}, {}
    for growing in (True, False):
        changes = {} if growing else NO_GROWING
        config = CONFIG.with_layer("quick line", memory=2000.0)
        model = DEVFNN(config.replace(memory__longest=2000.0, **ONE_CLOUD, **changes))
        accuracies, events = [], []
        for start in range(0, len(y), CHUNK):
            rows, labels = X[start : start + CHUNK], y[start : start + CHUNK]
            if start:
                accuracies.append((model.predict(rows) == labels).mean())
            events += model.learn(rows, labels)
        means[growing] = np.mean(accuracies[len(accuracies) // 4 :])
        kinds[growing] = {event.kind for event in events}
    assert not kinds[False] & {"DriftFound", "LayerKept", "LayerRecalled"}
    if count(1, 0):
        assert kinds[True] >= {"DriftFound", "LayerKept"}
        assert means[True] > means[False] + 0.01


# ---- recall


@pytest.mark.parametrize("verb", VERBS)
def test_a_kept_layer_is_the_best_again_when_its_concept_returns(verb: str) -> None:
    model = DEVFNN(CONFIG)
    run(model, *plane(30, concept=4, seed=1), verb)
    run(model, *plane(30, concept=5, seed=2), verb)
    events = run(model, *plane(20, concept=4, seed=3), verb)
    recalled = of_kind(events, LayerRecalled)
    assert recalled and recalled[0].layer == FIRST_KEPT
    assert recalled[0].row <= 60 * CHUNK + 4 * CHUNK
    assert recalled[0].score > max(recalled[0].line_score, recalled[0].box_score)


def plane(n_chunks: int, concept: int, seed: int) -> tuple[Floats, Ints]:
    """Twelve features that matter, with 5 % of the labels flipped: much to learn anew."""
    weights = np.random.default_rng(concept).standard_normal(12)
    X = np.random.default_rng(seed).random((n_chunks * CHUNK, 12))
    return X, noisy(((X - 0.5) @ weights > 0.0).astype(np.int64), 0.05, seed)


def test_with_recall_a_concept_that_returns_is_known_at_once() -> None:
    after = {}
    for recall in (True, False):
        model = DEVFNN(CONFIG.replace(growing__max_kept=5 if recall else 0))
        run(model, *plane(30, concept=4, seed=1))
        run(model, *plane(30, concept=5, seed=2))
        assert (model.n_layers > FIRST_KEPT) == recall
        after[recall] = prequential(model, *plane(10, concept=4, seed=3))
    assert after[True][1:5].mean() > after[False][1:5].mean() + 0.01
    assert after[True][1:].mean() > 0.92


def test_no_more_layers_are_kept_than_allowed_and_the_one_least_of_use_goes() -> None:
    X, y = recurring(count(16_000, 1600), count(2000, 200))
    model = DEVFNN(CONFIG.replace(growing__max_kept=1, drift__significance=1e-2))
    events = run(model, X, y)
    assert model.n_layers <= FIRST_KEPT + 1
    if count(1, 0):
        dropped = of_kind(events, LayerDropped)
        assert dropped and all(event.layer == FIRST_KEPT for event in dropped)
        assert len(of_kind(events, LayerKept)) == len(dropped) + model.n_layers - FIRST_KEPT


def test_without_places_nothing_is_kept() -> None:
    model = DEVFNN(CONFIG.replace(growing__max_kept=0))
    events = run(model, *flipped(40))
    assert of_kind(events, DriftFound) and not of_kind(events, LayerKept)
    assert model.n_layers == FIRST_KEPT


# ---- forgetting


def memory_after(X: Floats, y: Ints, **changes: Any) -> Floats:
    """Rows of memory at the end of every chunk."""
    model, memories = DEVFNN(CONFIG.replace(**changes)), []
    for start in range(0, len(y), CHUNK):
        model.learn(X[start : start + CHUNK], y[start : start + CHUNK])
        memories.append(float(model._known().state.progress.signals[MEMORY]))
    return np.array(memories)


def turning(n_chunks: int, turns: float) -> tuple[Floats, Ints]:
    """A line that turns steadily, with 5 % of the labels flipped."""
    X, _ = sloped(n_chunks, features=2)
    angle = 2.0 * np.pi * turns * np.arange(len(X)) / len(X)
    y = np.cos(angle) * (X[:, 0] - 0.5) + np.sin(angle) * (X[:, 1] - 0.5) > 0.0
    return X, noisy(y.astype(np.int64), 0.05)


def test_memory_grows_in_a_calm() -> None:
    runs = [memory_after(*sloped(60, seed=seed), labels__choice="all") for seed in range(6)]
    memories = np.concatenate(runs)
    assert memories.mean() > 1.4 * CONFIG.memory.shortest
    assert memories.max() > 2.0 * CONFIG.memory.shortest
    assert memories.max() <= CONFIG.memory.longest


def test_memory_stays_short_under_steady_drift() -> None:
    n_chunks = 60
    still = memory_after(*turning(n_chunks, 0.0), labels__choice="all", **NO_GROWING)
    moving = memory_after(*turning(n_chunks, 2.0), labels__choice="all", **NO_GROWING)
    assert moving[n_chunks // 2 :].mean() < 0.6 * still[n_chunks // 2 :].mean()
    assert moving.min() == CONFIG.memory.shortest


def test_after_a_drift_memory_is_short_again() -> None:
    memories = memory_after(*flipped(60), labels__choice="all")
    assert memories[28] > 1.5 * CONFIG.memory.shortest
    assert memories[30:33].min() <= CONFIG.memory.shortest + CHUNK


def test_a_network_that_never_forgets_follows_steady_drift_worse() -> None:
    X, y = turning(60, 2.0)
    means = [
        prequential(DEVFNN(CONFIG.replace(**ONE_CLOUD, **NO_GROWING, **changes)), X, y)[20:].mean()
        for changes in ({}, {"memory": None})
    ]
    assert means[0] > means[1] + 0.05


# ---- a layer is added


@pytest.mark.parametrize("verb", VERBS)
def test_an_abrupt_flip_adds_a_layer_at_once(verb: str) -> None:
    model = DEVFNN(stacked(chunk_rows=CHUNK))
    events = run(model, *flipped(20), verb)
    added = of_kind(events, LayerAdded)
    assert added and 10 * CHUNK <= added[0].row <= 13 * CHUNK
    assert (added[0].layer, model.n_layers) == (2, 2 + len(added))
    assert len(of_kind(events, DriftFound)) == len(added)


@pytest.mark.parametrize("verb", VERBS)
def test_without_growing_nothing_is_added(verb: str) -> None:
    model = DEVFNN(stacked(chunk_rows=CHUNK, growing=None, drift=None))
    kinds = {event.kind for event in run(model, *flipped(20), verb)}
    assert not kinds & {"LayerAdded", "DriftFound", "DriftWarned"}
    assert model.n_layers == 2


def test_a_network_of_full_depth_notices_drift_but_does_not_grow() -> None:
    events = run(DEVFNN(stacked(growing__max_layers=2)), *flipped(20))
    assert of_kind(events, DriftFound) and not of_kind(events, LayerAdded)


@pytest.mark.parametrize("newborn", ["winner", "scratch"])
def test_a_stack_recovers_soon_after_a_flip(newborn: str) -> None:
    accuracies = prequential(DEVFNN(stacked().replace(growing__newborn=newborn)), *flipped(20))
    assert accuracies[8] > 0.95 and accuracies[9] < 0.1 and accuracies[11] > 0.9


def test_a_new_layer_starts_as_the_winner_or_from_scratch() -> None:
    for newborn in ("winner", "scratch"):
        model = DEVFNN(stacked(labels__choice="all").replace(growing__newborn=newborn))
        events = run(model, *flipped(20))
        (added,) = of_kind(events, LayerAdded)
        rows = 20 * CHUNK - added.row + added.trained_rows - CHUNK
        counted = model._known().state.gaussians.class_counts[2].sum()
        assert (counted > rows) == (newborn == "winner")


def slowly_worse() -> tuple[Any, Any]:
    """Errors that become a little more frequent: a warning first, then a drift."""
    X, y = sloped(40)
    return X, np.where(np.arange(len(y)) < len(y) // 2, y, noisy(y, 0.06))


WARY = stacked(drift__warning=0.1, drift__significance=1e-12, drift__horizon=1.0)


@pytest.mark.parametrize("verb", VERBS)
def test_rows_of_the_warning_phase_are_kept_for_the_new_layer(verb: str) -> None:
    events = run(DEVFNN(WARY.replace(chunk_rows=CHUNK)), *slowly_worse(), verb)
    added = of_kind(events, LayerAdded)[0]
    before = [event for event in of_kind(events, DriftWarned) if event.row <= added.row]
    assert before and before[-1].dropped_rows == 0
    assert added.trained_rows == before[-1].kept_rows + CHUNK > CHUNK


@pytest.mark.parametrize("verb", VERBS)
def test_the_warning_buffer_is_bounded_and_says_what_it_dropped(verb: str) -> None:
    config = WARY.replace(chunk_rows=CHUNK, drift__significance=1e-300, growing__buffer_rows=300)
    model = DEVFNN(config)
    warnings = of_kind(run(model, *flipped(20), verb), DriftWarned)
    assert [event.kept_rows for event in warnings[:2]] == [CHUNK, 300]
    assert [event.dropped_rows for event in warnings[:2]] == [0, 2 * CHUNK - 300]
    assert max(event.kept_rows for event in warnings) == 300
    assert len(model._known().buffer) <= 300


def test_a_stable_chunk_empties_the_warning_buffer() -> None:
    model = DEVFNN(WARY.replace(drift__significance=1e-300))
    X, y = sloped(30)
    run(model, X, y)
    model.learn(X[:CHUNK], noisy(y[:CHUNK], 0.3))
    assert len(model._known().buffer) == CHUNK
    run(model, X, y)
    assert len(model._known().buffer) == 0


def test_without_a_buffer_the_new_layer_has_the_drifting_chunk_alone() -> None:
    events = run(DEVFNN(WARY.replace(growing__buffer_rows=0)), *slowly_worse())
    assert of_kind(events, DriftWarned)[0].kept_rows == 0
    assert of_kind(events, LayerAdded)[0].trained_rows == CHUNK


def test_training_may_pause_in_the_warning_phase() -> None:
    counts = {}
    for trained in (True, False):
        config = WARY.replace(
            growing__train_on_warning=trained, training="leader", drift__significance=1e-99
        )
        model = DEVFNN(config)
        warned = of_kind(run(model, *slowly_worse()), DriftWarned)
        counts[trained] = int(model._known().state.gaussians.counters[:, SEEN].sum()), len(warned)
    assert counts[True][0] == 41 * CHUNK  # both initial layers learn the first chunk
    assert counts[False][0] == (41 - counts[False][1]) * CHUNK
