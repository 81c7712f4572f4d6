"""Layers that say the same are merged: by what they output, or by how often they differ."""

from typing import Any

import numpy as np
import pytest

import reference
from devfnn import DEVFNN
from devfnn.arrays import Floats, Ints
from devfnn.events import LayerDropped, LayersMerged
from devfnn.kernels.state import NO_LAYER
from devfnn.model.config import ByReward
from devfnn.model.mechanisms.merging import (
    OutputStats,
    empty_output_stats,
    merge_layers,
    redundant_pair,
    resized_output_stats,
    update_output_stats,
)
from scenes import (
    CHUNK,
    FIRST_KEPT,
    flipped,
    keep_copy,
    of_kind,
    run,
    sloped,
    stack_of,
    stacked,
    swift,
)

VERBS = ["learn", "learn_rows"]
NO_OUTPUTS = np.empty((0, 0, 0))
NOBODY = np.zeros(3, np.bool_)


def stats_of(outputs: Floats, memory: float = 1.0, n_chunks: int = 4) -> OutputStats:
    """Statistics of all layers after some chunks."""
    stats = empty_output_stats(outputs.shape[1], outputs.shape[2])
    for chunk in np.array_split(outputs, n_chunks):
        update_output_stats(stats, chunk, np.zeros(outputs.shape[1], np.bool_), memory)
    return stats


def alike(rng: np.random.Generator, n_rows: int = 400) -> Floats:
    """Outputs of three layers of which 0 and 2 say almost the same."""
    outputs = rng.random((n_rows, 3, 2))
    outputs[:, 2] = outputs[:, 0] + 0.01 * rng.normal(size=(n_rows, 2))
    return outputs


def test_statistics_without_fading_equal_those_of_all_rows(rng: np.random.Generator) -> None:
    outputs = alike(rng)
    stats = stats_of(outputs)
    for i in range(3):
        for j in range(3):
            if i == j:
                continue
            for k in range(2):
                cov = np.cov(outputs[:, i, k], outputs[:, j, k], bias=True)
                assert stats.means[i, j, k] == pytest.approx(outputs[:, i, k].mean())
                assert stats.variances[i, j, k] == pytest.approx(cov[0, 0])
                assert stats.covs[i, j, k] == pytest.approx(cov[0, 1], abs=1e-15)
    assert (stats.chunks == 4).all() and (stats.weights == 400).all()


def test_fading_statistics_equal_weighted_ones(rng: np.random.Generator) -> None:
    outputs = alike(rng)
    stats = stats_of(outputs, memory=0.5)
    weights = np.repeat(0.5 ** np.arange(4)[::-1], 100)
    for i, j in ((0, 1), (1, 0), (0, 2)):
        pair = np.stack([outputs[:, i, 0], outputs[:, j, 0]], axis=1)
        mean, cov = reference.weighted_moments(pair, weights)
        assert stats.means[i, j, 0] == pytest.approx(mean[0])
        assert stats.variances[i, j, 0] == pytest.approx(cov[0, 0])
        assert stats.covs[i, j, 0] == pytest.approx(cov[0, 1], abs=1e-15)


def test_the_pair_most_alike_is_found(rng: np.random.Generator) -> None:
    outputs = alike(rng)
    pair = redundant_pair(stats_of(outputs), NOBODY, 1e-3)
    assert pair is not None
    cov = [np.cov(outputs[:, 0, k], outputs[:, 2, k], bias=True) for k in range(2)]
    expected = max(reference.compression_index(c[0, 0], c[1, 1], c[0, 1]) for c in cov)
    assert pair[:2] == (0, 2)
    assert pair[2] == pytest.approx(expected)


def test_layers_that_differ_stay_apart(rng: np.random.Generator) -> None:
    assert redundant_pair(stats_of(rng.random((400, 3, 2))), NOBODY, 1e-3) is None


def test_one_class_apart_is_enough_to_stay_apart(rng: np.random.Generator) -> None:
    outputs = alike(rng)
    outputs[:, 2, 1] = rng.random(400)
    assert redundant_pair(stats_of(outputs), NOBODY, 1e-3) is None


def test_opposite_outputs_are_as_dependent_as_equal_ones(rng: np.random.Generator) -> None:
    outputs = rng.random((400, 2, 2))
    outputs[:, 1] = 1.0 - outputs[:, 0]
    pair = redundant_pair(stats_of(outputs), NOBODY[:2], 1e-3)
    assert pair is not None and pair[:2] == (0, 1)


def test_a_pair_needs_two_chunks(rng: np.random.Generator) -> None:
    assert redundant_pair(stats_of(alike(rng), n_chunks=1), NOBODY, 1e-3) is None
    assert redundant_pair(stats_of(alike(rng), n_chunks=2), NOBODY, 1e-3) is not None


def test_a_constant_layer_matches_no_other(rng: np.random.Generator) -> None:
    outputs = rng.random((400, 2, 2))
    outputs[:, 1] = 0.5
    assert redundant_pair(stats_of(outputs), NOBODY[:2], 1e-3) is None


def test_merged_layers_are_left_alone(rng: np.random.Generator) -> None:
    outputs = alike(rng)
    merged = np.array([False, False, True])
    stats = stats_of(outputs)
    assert redundant_pair(stats, merged, 1e-3) is None
    before = stats.variances.copy()
    outputs[:, 2] = np.nan
    update_output_stats(stats, outputs, merged, 1.0)
    np.testing.assert_array_equal(stats.variances[2], before[2])
    np.testing.assert_array_equal(stats.variances[:, 2], before[:, 2])
    assert np.isfinite(stats.variances).all() and np.isfinite(stats.covs).all()


def test_a_pair_counts_from_the_birth_of_the_younger_layer(rng: np.random.Generator) -> None:
    outputs = rng.random((400, 3, 2))
    outputs[200:, 2] = outputs[200:, 0]
    stats = empty_output_stats(2, 2)
    for chunk in np.split(outputs[:200, :2], 2):
        update_output_stats(stats, chunk, NOBODY[:2], 0.9)
    stats = resized_output_stats(stats, 3, 2)
    for chunk in np.split(outputs[200:], 2):
        update_output_stats(stats, chunk, NOBODY, 0.9)
    assert stats.chunks[0, 1] == 4 and stats.chunks[0, 2] == 2
    pair = redundant_pair(stats, NOBODY, 1e-3)
    assert pair is not None and pair[:2] == (0, 2)
    assert pair[2] == pytest.approx(0.0, abs=1e-12)


# ---- layers of a stack

TWINS = stacked(
    training="all",
    layers=stack_of(2, plain_first=False, inputs="features"),
    growing__inputs="features",
    gaussian__growing=False,
    labels__choice="all",
    voting=ByReward(),
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
    model = DEVFNN(TWINS.replace(chunk_rows=CHUNK, merging=None))
    assert not of_kind(run(model, *sloped(8), verb), LayersMerged)
    assert model.n_live_layers == 2


def test_layers_that_say_different_things_do_not_merge(rng: np.random.Generator) -> None:
    model = DEVFNN(TWINS.replace(training="leader"))
    model.learn(*sloped(1))
    consequents = model._known().state.gaussians.consequents
    consequents[1] = rng.standard_normal(consequents[1].shape)
    assert not of_kind(run(model, *sloped(8)), LayersMerged)


def test_a_merged_layer_stays_as_it_is_and_says_nothing() -> None:
    model, (X, y) = DEVFNN(TWINS), sloped(8)
    run(model, X, y)
    network = model._known()
    (dropped,) = np.flatnonzero(network.state.layers.is_merged)
    before = (
        network.state.gaussians.consequents[dropped].copy(),
        network.state.gaussians.counters[dropped].copy(),
    )
    run(model, X, y)
    model.learn_rows(X, y)
    np.testing.assert_array_equal(network.state.gaussians.consequents[dropped], before[0])
    np.testing.assert_array_equal(network.state.gaussians.counters[dropped], before[1])
    predicted = model.predict_proba(X)
    network.state.gaussians.consequents[dropped] = 99.0
    np.testing.assert_array_equal(model.predict_proba(X), predicted)


# ---- kept layers


def twins(**changes: Any) -> DEVFNN:
    """A network after two concepts, with the same kept layer twice."""
    model = DEVFNN(swift(chunk_rows=CHUNK, **changes))
    run(model, *flipped(40))
    assert keep_copy(model, FIRST_KEPT) == FIRST_KEPT + 1
    return model


def same_as_before() -> tuple[Floats, Ints]:
    """More of the concept that is learned at the time."""
    X, y = sloped(20, seed=5)
    return X, 1 - y


def test_of_two_equal_kept_layers_one_is_dropped() -> None:
    model = twins(labels__choice="all")
    (dropped,) = of_kind(run(model, *same_as_before()), LayerDropped)
    assert dropped.layer in (FIRST_KEPT, FIRST_KEPT + 1)
    assert dropped.merged_into == 2 * FIRST_KEPT + 1 - dropped.layer
    assert dropped.value < dropped.limit
    assert model.n_layers == FIRST_KEPT + 1


def test_without_merging_both_kept_layers_stay() -> None:
    model = twins(merging=None, labels__choice="all")
    assert not of_kind(run(model, *same_as_before()), LayerDropped)
    assert model.n_layers == FIRST_KEPT + 2


def test_kept_layers_that_differ_both_stay() -> None:
    model = twins(labels__choice="all")
    state = model._known().state
    for rule in state.pool.members[FIRST_KEPT + 1, : state.pool.n_members[FIRST_KEPT + 1]]:
        state.pool.weights[rule] *= -1.0
    assert not of_kind(run(model, *same_as_before()), LayerDropped)
    assert model.n_layers == FIRST_KEPT + 2


def test_layers_are_compared_on_enough_rows_first_and_the_worse_goes() -> None:
    model = twins()
    network, state = model._known(), model._known().state
    state.layers.scores[FIRST_KEPT : FIRST_KEPT + 2] = [0.8, 0.9]
    assert merge_layers(network, NO_OUTPUTS) == []
    state.layers.compared[FIRST_KEPT, FIRST_KEPT + 1] = 2.0 * model.config.voting.rows
    (dropped,) = merge_layers(network, NO_OUTPUTS)
    assert isinstance(dropped, LayerDropped) and dropped.layer == FIRST_KEPT
    assert state.layers.kinds[FIRST_KEPT] == NO_LAYER
