"""Concepts that end and return: growing, recall, merging and the memory of a concept network."""

from typing import Any

import numpy as np
import pytest

from build import count
from devfnn import DEVFNN, Config
from devfnn.events import DriftFound, LayerDropped, LayerKept, LayerRecalled
from devfnn.kernels.concept_state import (
    BOX_LAYER,
    BRISK_LINE,
    CALM_CURVE,
    FIRST_KEPT,
    MEMORY,
    NO_LAYER,
    QUICK_LINE,
    STEADY_LINE,
)
from devfnn.kernels.drifts import keep_layer
from devfnn.arrays import Floats, Ints
from devfnn.model.concepts.learning import empty_diary
from devfnn.model.concepts.structure import merge_layers
from scenes import CHUNK, flipped, noisy, of_kind, prequential, run, sloped

VERBS = ["learn", "learn_rows"]
CONFIG = Config(chunk_rows=CHUNK)


def recurring(n_rows: int, every: int, seed: int = 1) -> tuple[Floats, Ints]:
    """SEA with 10 % of the labels flipped: two thresholds that take turns."""
    rng = np.random.default_rng(seed)
    X = 10.0 * rng.random((n_rows, 3))
    threshold = np.array([6.0, 12.0])[np.arange(n_rows) // every % 2]
    y = (X[:, 0] + X[:, 1] <= threshold) ^ (rng.random(n_rows) < 0.1)
    return X, y.astype(np.int64)


def taught(verb: str = "learn", **changes: Any) -> DEVFNN:
    """A network after one concept, with a kept layer from the one before it."""
    model = DEVFNN(CONFIG.replace(**changes))
    run(model, *flipped(40), verb)
    return model


# ---- growing: what follows a drift


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
    model = DEVFNN(CONFIG.replace(active_learning=False))
    events = run(model, *flipped(40), verb)
    (drift,) = of_kind(events, DriftFound)
    state = model._known().state
    owned = np.bincount(state.owners[state.owners >= 0], state.ages[state.owners >= 0])
    since = model.n_rows - drift.row
    for layer in (BRISK_LINE, STEADY_LINE, BOX_LAYER):
        assert 0 < owned[layer] <= since + CHUNK
    for layer in (QUICK_LINE, CALM_CURVE):
        assert owned[layer] == model.n_rows
        assert state.n_members[layer] == 1


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
def test_a_stationary_stream_has_no_drift(verb: str, noise: float) -> None:
    X, y = sloped(40)
    events = run(DEVFNN(CONFIG), X, noisy(y, noise), verb)
    assert not of_kind(events, DriftFound) and not of_kind(events, LayerKept)


def test_the_network_recovers_soon_after_a_flip() -> None:
    accuracies = prequential(DEVFNN(CONFIG), *flipped(40))
    assert accuracies[18] > 0.95 and accuracies[19] < 0.1 and accuracies[21] > 0.85
    assert accuracies[25:].min() > 0.9


def test_without_growing_no_drift_is_found_and_concepts_that_return_are_learned_worse() -> None:
    X, y = recurring(count(24_000, 800), count(3000, 100))
    config = CONFIG.replace(longest_memory=2000.0, max_clouds=0)
    means, kinds = {}, {}
    for growing in (True, False):
        model = DEVFNN(config.replace(growing=growing, quick_memory=2000.0))
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
        model = DEVFNN(CONFIG.replace(recall=recall))
        run(model, *plane(30, concept=4, seed=1))
        run(model, *plane(30, concept=5, seed=2))
        assert (model.n_layers > FIRST_KEPT) == recall
        after[recall] = prequential(model, *plane(10, concept=4, seed=3))
    assert after[True][1:5].mean() > after[False][1:5].mean() + 0.01
    assert after[True][1:].mean() > 0.92


def test_no_more_layers_are_kept_than_allowed_and_the_one_least_of_use_goes() -> None:
    X, y = recurring(count(16_000, 1600), count(2000, 200))
    model = DEVFNN(CONFIG.replace(max_kept=1, drift_significance=1e-2, recall=True))
    events = run(model, X, y)
    assert model.n_layers <= FIRST_KEPT + 1
    if count(1, 0):
        dropped = of_kind(events, LayerDropped)
        assert dropped and all(event.layer == FIRST_KEPT for event in dropped)
        assert len(of_kind(events, LayerKept)) == len(dropped) + model.n_layers - FIRST_KEPT


def test_without_places_nothing_is_kept() -> None:
    model = DEVFNN(CONFIG.replace(max_kept=0))
    events = run(model, *flipped(40))
    assert of_kind(events, DriftFound) and not of_kind(events, LayerKept)
    assert model.n_layers == FIRST_KEPT


# ---- merging


def twins(**changes: Any) -> DEVFNN:
    """A network with the same kept layer twice."""
    model = taught(**changes)
    place = keep_layer(model._known().state, FIRST_KEPT, 0, empty_diary(1))
    assert place == FIRST_KEPT + 1
    return model


def same_as_before() -> tuple[Floats, Ints]:
    """More of the concept that is learned at the time."""
    X, y = sloped(20, seed=5)
    return X, 1 - y


def test_of_two_equal_kept_layers_one_is_dropped() -> None:
    model = twins(active_learning=False)
    (dropped,) = of_kind(run(model, *same_as_before()), LayerDropped)
    assert dropped.layer in (FIRST_KEPT, FIRST_KEPT + 1)
    assert "differs from layer" in dropped.reason and dropped.value < dropped.limit
    assert model.n_layers == FIRST_KEPT + 1


def test_without_merging_both_stay() -> None:
    model = twins(merging=False, active_learning=False)
    assert not of_kind(run(model, *same_as_before()), LayerDropped)
    assert model.n_layers == FIRST_KEPT + 2


def test_kept_layers_that_differ_both_stay() -> None:
    model = twins(active_learning=False)
    state = model._known().state
    for rule in state.members[FIRST_KEPT + 1, : state.n_members[FIRST_KEPT + 1]]:
        state.weights[rule] *= -1.0
    assert not of_kind(run(model, *same_as_before()), LayerDropped)
    assert model.n_layers == FIRST_KEPT + 2


def test_layers_are_compared_on_enough_rows_first_and_the_worse_goes() -> None:
    model = twins()
    network, state = model._known(), model._known().state
    state.scores[FIRST_KEPT : FIRST_KEPT + 2] = [0.8, 0.9]
    assert merge_layers(network, model.config) == []
    state.compared[FIRST_KEPT, FIRST_KEPT + 1] = 2.0 * model.config.vote_rows
    (dropped,) = merge_layers(network, model.config)
    assert isinstance(dropped, LayerDropped) and dropped.layer == FIRST_KEPT
    assert state.kinds[FIRST_KEPT] == NO_LAYER


# ---- forgetting


def memory_after(X: Floats, y: Ints, **changes: Any) -> Floats:
    """Rows of memory at the end of every chunk."""
    model, memories = DEVFNN(CONFIG.replace(**changes)), []
    for start in range(0, len(y), CHUNK):
        model.learn(X[start : start + CHUNK], y[start : start + CHUNK])
        memories.append(float(model._known().state.course[MEMORY]))
    return np.array(memories)


def turning(n_chunks: int, turns: float) -> tuple[Floats, Ints]:
    """A line that turns steadily, with 5 % of the labels flipped."""
    X, _ = sloped(n_chunks, features=2)
    angle = 2.0 * np.pi * turns * np.arange(len(X)) / len(X)
    y = np.cos(angle) * (X[:, 0] - 0.5) + np.sin(angle) * (X[:, 1] - 0.5) > 0.0
    return X, noisy(y.astype(np.int64), 0.05)


def test_memory_grows_in_a_calm() -> None:
    runs = [memory_after(*sloped(60, seed=seed), active_learning=False) for seed in range(6)]
    memories = np.concatenate(runs)
    assert memories.mean() > 1.4 * CONFIG.shortest_memory
    assert memories.max() > 2.0 * CONFIG.shortest_memory
    assert memories.max() <= CONFIG.longest_memory


def test_memory_stays_short_under_steady_drift() -> None:
    n_chunks = 60
    still = memory_after(*turning(n_chunks, 0.0), active_learning=False, growing=False)
    moving = memory_after(*turning(n_chunks, 2.0), active_learning=False, growing=False)
    assert moving[n_chunks // 2 :].mean() < 0.6 * still[n_chunks // 2 :].mean()
    assert moving.min() == CONFIG.shortest_memory


def test_after_a_drift_memory_is_short_again() -> None:
    memories = memory_after(*flipped(60), active_learning=False)
    assert memories[28] > 1.5 * CONFIG.shortest_memory
    assert memories[30:33].min() <= CONFIG.shortest_memory + CHUNK


def test_a_network_that_never_forgets_follows_steady_drift_worse() -> None:
    X, y = turning(60, 2.0)
    means = {
        forgetting: prequential(
            DEVFNN(CONFIG.replace(forgetting=forgetting, growing=False, max_clouds=0)), X, y
        )[20:].mean()
        for forgetting in (True, False)
    }
    assert means[True] > means[False] + 0.05
