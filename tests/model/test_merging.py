"""Layer merging: statistics of pairs, and which pair says the same."""

import numpy as np
import pytest

import reference
from devfnn.arrays import Floats
from devfnn.model.mechanisms.merging import (
    OutputStats,
    empty_output_stats,
    redundant_pair,
    resized_output_stats,
    update_output_stats,
)

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
