"""Mechanisms of a rule layer: each fires on a stream made for it, not on one without, and can be
switched off by one parameter."""

from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, Config, GClass
from devfnn.arrays import Floats
from devfnn.events import RuleBorn, RulePruned, RuleRecalled
from devfnn.kernels.state import ACTIVE, ARCHIVED, CONSEQUENT_ONLY, GROWN, TUNED
from scenes import CHUNK, clusters, flipped, of_kind, prequential, run, sloped, stack_of, stacked

VERBS = ["learn", "learn_rows"]
UNSCALED = stacked(scaling="none", chunk_rows=CHUNK)
TURNS = " ".join(["a"] * 6 + ["b"] * 6)
FORGETFUL = UNSCALED.replace(gaussian__prune_margin=0.0)
"""Prunes as soon as a rule falls below its own mean, so that little data is enough."""


# ---- growing


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", [DEVFNN, GClass])
def test_rules_grow_on_far_apart_clusters(verb: str, kind: type[DEVFNN]) -> None:
    model, (X, y) = kind(UNSCALED), clusters(10, "ab")
    born = of_kind(run(model, X, y, verb), RuleBorn)
    assert born and model.n_rules > model.n_layers
    for event in born:
        above = event.data_quality >= event.quality_bound
        assert above or event.data_quality <= event.quality_bound
        assert event.rule > 0 and event.winner_distance >= 0.0
    assert (model.predict(X) == y).mean() > 0.97


@pytest.mark.parametrize("verb", VERBS)
def test_without_rule_growing_every_layer_keeps_one_rule(verb: str) -> None:
    model = DEVFNN(UNSCALED.replace(gaussian__growing=False))
    assert not of_kind(run(model, *clusters(10, "ab"), verb), RuleBorn)
    assert model.n_rules == model.n_layers
    assert (model._known().state.gaussians.counters[:, GROWN] == 1).all()


@pytest.mark.parametrize("verb", VERBS)
def test_several_rules_see_what_one_cannot(verb: str) -> None:
    X, _ = sloped(40)
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)  # no single feature tells anything
    accuracies = []
    for growing in (True, False):
        model = GClass(UNSCALED.replace(gaussian__growing=growing))
        run(model, X, y, verb)
        accuracies.append((model.predict(X) == y).mean())
    assert accuracies[0] > accuracies[1] + 0.05


def test_there_are_never_more_rules_than_allowed() -> None:
    model = GClass(
        UNSCALED.replace(gaussian__max_rules=2, gaussian__pruning=False, gaussian__vigilance=0.0)
    )
    run(model, *clusters(12, "ab"))
    assert model.n_rules == 2


def test_the_first_of_several_layers_stays_plain_if_it_should() -> None:
    for plain in (True, False):
        model = DEVFNN(UNSCALED.replace(layers=stack_of(2, plain_first=plain)))
        run(model, *clusters(10, "ab"))
        rules = (model._known().state.gaussians.status == ACTIVE).sum(axis=1)
        assert (rules[0] == 1) == plain and rules[1] > 1


# ---- pruning and recall


@pytest.mark.parametrize("verb", VERBS)
def test_rules_of_a_place_that_is_left_are_pruned(verb: str) -> None:
    model = GClass(FORGETFUL)
    pruned = of_kind(run(model, *clusters(36, TURNS), verb), RulePruned)
    assert pruned and {event.reason for event in pruned} <= {"significance", "potential"}
    assert all(event.value < event.limit for event in pruned)
    assert model.n_rules >= 1


@pytest.mark.parametrize("verb", VERBS)
def test_without_pruning_rules_stay(verb: str) -> None:
    model = GClass(FORGETFUL.replace(gaussian__pruning=False))
    events = run(model, *clusters(36, TURNS), verb)
    assert not of_kind(events, RulePruned) and not of_kind(events, RuleRecalled)
    assert model.n_rules == 1 + len(of_kind(events, RuleBorn))


def test_rules_that_are_in_use_are_not_pruned() -> None:
    events = run(GClass(FORGETFUL), *clusters(30, "ab"))
    assert of_kind(events, RuleBorn) and not of_kind(events, RulePruned)


def recalling() -> tuple[GClass, Any, Any]:
    """A layer just before an archived rule comes back, and the chunk that brings it back."""
    X, y = clusters(60, TURNS)
    model, copies = GClass(FORGETFUL), []
    for start in range(0, len(y), CHUNK):
        rows, labels = X[start : start + CHUNK], y[start : start + CHUNK]
        copies.append((rows, labels, model.__getstate__()))
        if of_kind(model.learn(rows, labels), RuleRecalled):
            before = GClass.__new__(GClass)
            before.__setstate__(copies[-1][2])
            return before, rows, labels
    pytest.fail("no rule was recalled")


def test_an_archived_rule_comes_back_when_its_place_does() -> None:
    model, rows, labels = recalling()
    status = model._known().state.gaussians.status[0].copy()
    events = of_kind(model.learn(rows, labels), RuleRecalled)
    for event in events[:1]:
        assert status[event.rule] == ARCHIVED
        assert model._known().state.gaussians.status[0, event.rule] == ACTIVE


def test_without_recall_nothing_is_kept_and_nothing_comes_back() -> None:
    for changes in ({"gaussian__recall": False}, {"gaussian__archive_size": 0}):
        model = GClass(FORGETFUL.replace(**changes))
        events = run(model, *clusters(60, TURNS))
        assert of_kind(events, RulePruned) and not of_kind(events, RuleRecalled)
        assert not (model._known().state.gaussians.status == ARCHIVED).any()


# ---- premises


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("tuning", ["covered", "published", "off"])
def test_premises_move_as_the_configuration_says(verb: str, tuning: str) -> None:
    model = GClass(UNSCALED.replace(gaussian__tuning=tuning))
    run(model, *clusters(10, "ab"), verb)
    layers = model._known().state.gaussians
    tuned, only = layers.counters[0, TUNED], layers.counters[0, CONSEQUENT_ONLY]
    assert tuned == layers.premise_updates.sum()
    assert {"covered": tuned > only, "published": only > tuned > 0, "off": tuned == 0}[tuning]


def test_published_tuning_never_moves_a_lone_rule() -> None:
    model = GClass(UNSCALED.replace(gaussian__tuning="published", gaussian__growing=False))
    run(model, *sloped(10))
    assert model._known().state.gaussians.counters[0, TUNED] == 0


def outputs_of(config: Config, X: Floats) -> Floats:
    """What a single layer with several rules says to rows."""
    model = GClass(config)
    run(model, *clusters(10, "ab"))
    assert model.n_rules > 1
    return model._known().forward(X)[0][:, 0]


# ---- consequents


def test_a_layer_without_chunk_memory_follows_a_flip_at_once() -> None:
    config = stacked(
        gaussian__consequent="least_squares", gaussian__growing=False, labels__choice="all"
    )
    after = {}
    for memory in (0.0, 0.5, 1.0):
        model = GClass(config.replace(gaussian__memory=1.0, gaussian__chunk_memory=memory))
        after[memory] = prequential(model, *flipped(20))[10:]
    assert after[0.0][:3].min() > 0.8
    assert after[0.5][4:].min() > 0.8
    assert after[1.0][:4].max() < 0.3


def test_the_memory_of_rows_decides_how_soon_a_flip_is_followed() -> None:
    config = stacked(
        gaussian__consequent="least_squares", gaussian__growing=False, labels__choice="all"
    )
    short, long = (
        prequential(GClass(config.replace(gaussian__memory=memory)), *flipped(20))[10:]
        for memory in (0.98, 1.0)
    )
    assert short[:3].mean() > 0.9 > 0.5 > long[:3].mean()


@pytest.mark.parametrize("consequent", ["logistic", "least_squares"])
def test_weight_decay_keeps_weights_small(consequent: str) -> None:
    sizes = []
    for decay in (0.0, 1e-3, 1e-1):
        model = GClass(
            stacked(gaussian__growing=False).replace(
                gaussian__weight_decay=decay, gaussian__consequent=consequent
            )
        )
        run(model, *sloped(10))
        sizes.append(np.abs(model._known().state.gaussians.consequents).sum())
    assert sizes[0] > sizes[1] > sizes[2] > 0.0


def test_where_the_density_moves_memory_is_cut() -> None:
    X, y = clusters(24, " ".join(["a"] * 12 + ["b"] * 12))
    memories = {}
    for forgetting in (0.0, 0.5):
        changes = {
            "gaussian__local_forgetting": forgetting,
            "gaussian__density_memory": 0.99,
            "gaussian__coverage": 0.9999,
        }
        model = GClass(UNSCALED.replace(gaussian__growing=False, labels__choice="all", **changes))
        run(model, X[: 12 * CHUNK], y[: 12 * CHUNK])
        before = float(model._known().state.gaussians.populations[0, 0])
        run(model, X[12 * CHUNK :][:40], y[12 * CHUNK :][:40])
        memories[forgetting] = before, float(model._known().state.gaussians.populations[0, 0])
    assert memories[0.0][1] >= memories[0.0][0]
    assert memories[0.5][1] < 0.75 * memories[0.5][0]
