"""Mechanisms of the stacked network, and the feature mask of both networks: each fires on a stream
made for it, not on one without, and can be switched off by one parameter. Those of a layer are in
test_rule_mechanisms.py."""

from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, GClass
from devfnn.events import (
    DriftFound,
    DriftWarned,
    FeatureOff,
    FeatureOn,
    LayerAdded,
    LayersMerged,
)
from devfnn.kernels.state import SEEN
from scenes import (
    CHUNK,
    config_of,
    each_network,
    flipped,
    noisy,
    of_kind,
    prequential,
    run,
    sloped,
    stacked,
)

VERBS = ["learn", "learn_rows"]


# ---- drift


@pytest.mark.parametrize("verb", VERBS)
def test_an_abrupt_flip_adds_a_layer_at_once(verb: str) -> None:
    model = DEVFNN(stacked(chunk_rows=CHUNK))
    events = run(model, *flipped(20), verb)
    added = of_kind(events, LayerAdded)
    assert added and 10 * CHUNK <= added[0].row <= 13 * CHUNK
    assert (added[0].layer, model.n_layers) == (2, 2 + len(added))
    assert len(of_kind(events, DriftFound)) == len(added)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
def test_a_stationary_stream_adds_no_layer(verb: str, noise: float) -> None:
    X, y = sloped(30)
    events = run(DEVFNN(stacked(chunk_rows=CHUNK)), X, noisy(y, noise), verb)
    assert not of_kind(events, LayerAdded) and not of_kind(events, DriftFound)


@pytest.mark.parametrize("verb", VERBS)
def test_without_growing_nothing_is_added(verb: str) -> None:
    model = DEVFNN(stacked(chunk_rows=CHUNK, growing=False))
    kinds = {event.kind for event in run(model, *flipped(20), verb)}
    assert not kinds & {"LayerAdded", "DriftFound", "DriftWarned"}
    assert model.n_layers == 2


def test_a_network_of_full_depth_notices_drift_but_does_not_grow() -> None:
    events = run(DEVFNN(stacked(max_layers=2)), *flipped(20))
    assert of_kind(events, DriftFound) and not of_kind(events, LayerAdded)


@pytest.mark.parametrize("newborn", ["winner", "scratch"])
def test_the_network_recovers_soon_after_a_flip(newborn: str) -> None:
    accuracies = prequential(DEVFNN(stacked().replace(newborn=newborn)), *flipped(20))
    assert accuracies[8] > 0.95 and accuracies[9] < 0.1 and accuracies[11] > 0.9


def test_a_new_layer_starts_as_the_winner_or_from_scratch() -> None:
    for newborn in ("winner", "scratch"):
        model = DEVFNN(stacked(active_learning=False).replace(newborn=newborn))
        events = run(model, *flipped(20))
        (added,) = of_kind(events, LayerAdded)
        rows = 20 * CHUNK - added.row + added.trained_rows - CHUNK
        counted = model._known().layers.class_counts[2].sum()
        assert (counted > rows) == (newborn == "winner")


def slowly_worse() -> tuple[Any, Any]:
    """Errors that become a little more frequent: a warning first, then a drift."""
    X, y = sloped(40)
    return X, np.where(np.arange(len(y)) < len(y) // 2, y, noisy(y, 0.06))


WARY = stacked(warning_significance=0.1, drift_significance=1e-12, horizon=1.0)


@pytest.mark.parametrize("verb", VERBS)
def test_rows_of_the_warning_phase_are_kept_for_the_new_layer(verb: str) -> None:
    events = run(DEVFNN(WARY.replace(chunk_rows=CHUNK)), *slowly_worse(), verb)
    added = of_kind(events, LayerAdded)[0]
    before = [event for event in of_kind(events, DriftWarned) if event.row <= added.row]
    assert before and before[-1].dropped_rows == 0
    assert added.trained_rows == before[-1].kept_rows + CHUNK > CHUNK


@pytest.mark.parametrize("verb", VERBS)
def test_the_warning_buffer_is_bounded_and_says_what_it_dropped(verb: str) -> None:
    config = WARY.replace(chunk_rows=CHUNK, drift_significance=1e-300, buffer_rows=300)
    model = DEVFNN(config)
    warnings = of_kind(run(model, *flipped(20), verb), DriftWarned)
    assert [event.kept_rows for event in warnings[:2]] == [CHUNK, 300]
    assert [event.dropped_rows for event in warnings[:2]] == [0, 2 * CHUNK - 300]
    assert max(event.kept_rows for event in warnings) == 300
    assert len(model._known().buffer) <= 300


def test_a_stable_chunk_empties_the_warning_buffer() -> None:
    model = DEVFNN(WARY.replace(drift_significance=1e-300))
    X, y = sloped(30)
    run(model, X, y)
    model.learn(X[:CHUNK], noisy(y[:CHUNK], 0.3))
    assert len(model._known().buffer) == CHUNK
    run(model, X, y)
    assert len(model._known().buffer) == 0


def test_without_a_buffer_the_new_layer_has_the_drifting_chunk_alone() -> None:
    events = run(DEVFNN(WARY.replace(buffer_rows=0)), *slowly_worse())
    assert of_kind(events, DriftWarned)[0].kept_rows == 0
    assert of_kind(events, LayerAdded)[0].trained_rows == CHUNK


def test_training_may_pause_in_the_warning_phase() -> None:
    counts = {}
    for trained in (True, False):
        config = WARY.replace(train_on_warning=trained, training="winner", drift_significance=1e-99)
        model = DEVFNN(config)
        warned = of_kind(run(model, *slowly_worse()), DriftWarned)
        counts[trained] = int(model._known().layers.counters[:, SEEN].sum()), len(warned)
    assert counts[True][0] == 41 * CHUNK  # both initial layers learn the first chunk
    assert counts[False][0] == (41 - counts[False][1]) * CHUNK


# ---- merging

TWINS = stacked(
    training="all",
    plain_first=False,
    augmentation="off",
    rule_growing=False,
    active_learning=False,
    voting_weights="reward",
)
"""Two layers that learn the same rows in the same way."""


@pytest.mark.parametrize("verb", VERBS)
def test_two_layers_that_say_the_same_merge(verb: str) -> None:
    model = DEVFNN(TWINS.replace(chunk_rows=CHUNK))
    (merged,) = of_kind(run(model, *sloped(8), verb), LayersMerged)
    assert merged.row <= 3 * CHUNK and merged.compression_index < merged.threshold
    assert (model.n_layers, model.n_live_layers) == (2, 1)
    assert model.voting_weights[merged.dropped] == 0.0 < model.voting_weights[merged.kept]


@pytest.mark.parametrize("verb", VERBS)
def test_without_merging_they_stay_two(verb: str) -> None:
    model = DEVFNN(TWINS.replace(chunk_rows=CHUNK, merging=False))
    assert not of_kind(run(model, *sloped(8), verb), LayersMerged)
    assert model.n_live_layers == 2


def test_layers_that_say_different_things_do_not_merge(rng: np.random.Generator) -> None:
    model = DEVFNN(TWINS.replace(training="winner"))
    model.learn(*sloped(1))
    consequents = model._known().layers.consequents
    consequents[1] = rng.standard_normal(consequents[1].shape)
    assert not of_kind(run(model, *sloped(8)), LayersMerged)


def test_a_merged_layer_stays_as_it_is_and_says_nothing() -> None:
    model, (X, y) = DEVFNN(TWINS), sloped(8)
    run(model, X, y)
    network = model._known()
    (dropped,) = np.flatnonzero(network.layers.is_merged)
    before = network.layers.consequents[dropped].copy(), network.layers.counters[dropped].copy()
    run(model, X, y)
    model.learn_rows(X, y)
    np.testing.assert_array_equal(network.layers.consequents[dropped], before[0])
    np.testing.assert_array_equal(network.layers.counters[dropped], before[1])
    predicted = model.predict_proba(X)
    network.layers.consequents[dropped] = 99.0
    np.testing.assert_array_equal(model.predict_proba(X), predicted)


# ---- feature mask

MASKING: dict[str, Any] = {"feature_mask": True, "feature_threshold": 0.93}


def changing_relevance() -> tuple[Any, Any]:
    """The third feature is noise for half of the stream, then takes the place of the second."""
    X, y = sloped(60)
    return X, np.where(np.arange(len(y)) < len(y) // 2, y, X[:, 0] + X[:, 2] > 1.0)


@pytest.mark.parametrize("verb", VERBS)
@each_network
def test_a_noise_feature_is_left_out_until_it_becomes_relevant(network: str, verb: str) -> None:
    every = {"chunk_rows": CHUNK, "active_learning": False}  # so that chance decides nothing
    model = DEVFNN(config_of(network, **every, **MASKING))
    X, y = changing_relevance()
    half = len(y) // 2
    off = of_kind(run(model, X[:half], y[:half], verb), FeatureOff)
    assert [event.feature for event in off] == ["x2"] and off[0].score >= off[0].threshold
    assert model.feature_mask.tolist() == [True, True, False]
    shuffled = np.where([True, True, False], X, X[::-1])
    np.testing.assert_array_equal(model.predict_proba(shuffled), model.predict_proba(X))
    on = of_kind(run(model, X[half:], y[half:], verb), FeatureOn)
    assert [event.feature for event in on] == ["x2"] and on[0].score < on[0].threshold
    assert model.feature_mask[2]


@each_network
def test_relevant_features_are_never_left_out(network: str) -> None:
    X, _ = sloped(20)
    model = DEVFNN(config_of(network, **MASKING))
    assert not of_kind(run(model, X, X.sum(axis=1) > 1.5), FeatureOff)


@pytest.mark.parametrize("verb", VERBS)
@each_network
def test_without_a_feature_mask_every_feature_stays(network: str, verb: str) -> None:
    model = DEVFNN(config_of(network, chunk_rows=CHUNK, feature_mask=False))
    assert not of_kind(run(model, *changing_relevance(), verb), FeatureOff)
    assert model.feature_mask.all()


@pytest.mark.parametrize("verb", VERBS)
@each_network
def test_one_feature_always_stays(network: str, verb: str) -> None:
    model, (X, y) = DEVFNN(config_of(network, chunk_rows=CHUNK, **MASKING)), sloped(20)
    nothing = np.random.default_rng(3).permutation(y)
    for start in range(0, len(y), CHUNK):
        getattr(model, verb)(X[start : start + CHUNK], nothing[start : start + CHUNK])
        assert model.feature_mask.any()
    assert not model.feature_mask.all()


def test_a_single_layer_has_no_network_mechanisms() -> None:
    model = GClass(stacked(chunk_rows=CHUNK).replace(**MASKING))
    kinds = {event.kind for event in run(model, *flipped(20))}
    assert kinds <= {"ClassAdded", "RuleBorn", "RulePruned", "RuleRecalled"}
    assert model.n_layers == 1
