"""Data quality by moments is the direct sum; class moments are those of the rows."""

import numpy as np
import pytest

import reference
from build import Stack, count, random_metric, stack
from devfnn.kernels.quality import (
    axis_quality,
    closest_class,
    quality,
    update_class_moments,
    update_density,
)
from devfnn.arrays import Floats


def everything(n: int) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """All inputs present."""
    return np.ones(n, np.bool_)


def with_rows(rows: Floats, weights: Floats) -> Stack:
    """A layer whose density rests on weighted rows; NaN is absent."""
    made = stack(rows.shape[1], 2)
    for row, weight in zip(rows, weights, strict=True):
        update_density(made.layer(), row, ~np.isnan(row), weight)
    return made


@pytest.mark.parametrize("n", [1, 2, 6])
def test_data_quality_by_moments_equals_the_direct_weighted_sum(
    rng: np.random.Generator, n: int
) -> None:
    rows, weights = rng.random((200, n)), rng.uniform(1e-3, 1.0, 200)
    layer = with_rows(rows, weights).layer()
    for point in rng.uniform(-1.0, 2.0, (10, n)):
        metric = np.linalg.inv(random_metric(rng, n))
        own = quality(layer, point, metric, everything(n))
        assert own == pytest.approx(
            reference.data_quality(point, metric, rows, weights), rel=1e-12, abs=1e-12
        )


def test_moments_equal_the_batch_values(rng: np.random.Generator) -> None:
    rows, weights = rng.random((300, 3)), rng.uniform(1e-3, 1.0, 300)
    layer = with_rows(rows, weights).layer()
    mean, cov = reference.weighted_moments(rows, weights)
    assert layer.density_weight[0] == pytest.approx(weights.sum())
    np.testing.assert_allclose(layer.density_mean, mean, rtol=1e-12)
    np.testing.assert_allclose(layer.density_cov, cov, rtol=1e-10, atol=1e-15)


def test_moments_stay_exact_far_from_the_origin(rng: np.random.Generator) -> None:
    rows = 1e6 + rng.random((300, 2))
    layer = with_rows(rows, np.ones(300)).layer()
    np.testing.assert_allclose(layer.density_cov, np.cov(rows.T, bias=True), rtol=1e-6)


def test_quality_before_any_row_is_one() -> None:
    layer = stack(2, 2).layer()
    assert quality(layer, np.array([9.0, 9.0]), np.eye(2), everything(2)) == 1.0
    assert axis_quality(layer, np.array([9.0, 9.0]), np.ones(2), everything(2)) == 1.0


def test_quality_of_the_only_row_is_one() -> None:
    row = np.array([0.3, 0.8])
    layer = with_rows(row[None], np.array([0.2])).layer()
    assert quality(layer, row, 50.0 * np.eye(2), everything(2)) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_array_equal(layer.density_mean, row)
    assert (layer.density_cov == 0.0).all()


def test_quality_of_a_far_row_is_small_and_finite(rng: np.random.Generator) -> None:
    layer = with_rows(rng.random((50, 2)), np.ones(50)).layer()
    own = quality(layer, np.full(2, 1e6), np.eye(2), everything(2))
    assert 0.0 < own < 2e-6


def test_a_constant_column_adds_nothing_to_the_spread(rng: np.random.Generator) -> None:
    rows = rng.random((100, 2))
    rows[:, 1] = 0.4
    layer = with_rows(rows, np.ones(100)).layer()
    np.testing.assert_allclose(layer.density_cov[1], 0.0, atol=1e-30)
    direct = reference.data_quality(rows[3], np.eye(2), rows, np.ones(100))
    assert quality(layer, rows[3], np.eye(2), everything(2)) == pytest.approx(direct, rel=1e-12)


def test_the_axis_parallel_form_equals_the_diagonal_metric(rng: np.random.Generator) -> None:
    layer = with_rows(rng.random((100, 4)), np.ones(100)).layer()
    for point in rng.random((10, 4)):
        widths, present = rng.uniform(0.02, 1.0, 4), rng.random(4) < 0.7
        full = quality(layer, point, np.diag(widths**-2.0), present)
        assert axis_quality(layer, point, widths, present) == pytest.approx(full, rel=1e-12)


def test_moments_with_missing_values_keep_the_covariance_semidefinite(
    rng: np.random.Generator,
) -> None:
    rows = rng.random((count(500, 200), 4)) @ rng.uniform(-0.3, 1.0, (4, 4))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    layer = with_rows(rows, np.ones(len(rows))).layer()
    assert np.linalg.eigvalsh(layer.density_cov).min() > 0.0
    assert (layer.density_cov == layer.density_cov.T).all()


def test_a_row_without_inputs_leaves_the_moments(rng: np.random.Generator) -> None:
    rows = rng.random((20, 3))
    layer = with_rows(rows, np.ones(20)).layer()
    mean, cov = layer.density_mean.copy(), layer.density_cov.copy()
    update_density(layer, np.full(3, np.nan), np.zeros(3, np.bool_), 1.0)
    np.testing.assert_array_equal(layer.density_mean, mean)
    np.testing.assert_array_equal(layer.density_cov, cov)


def test_class_moments_equal_the_batch_values(rng: np.random.Generator) -> None:
    made, rows, labels = stack(3, 3), rng.random((200, 3)), rng.integers(0, 2, 200)
    layer, weights = made.layer(), rng.uniform(0.1, 2.0, 200)
    for row, label, weight in zip(rows, labels, weights, strict=True):
        update_class_moments(layer, row, everything(3), label, weight)
    for label in range(2):
        own = labels == label
        mean, cov = reference.weighted_moments(rows[own], weights[own])
        assert layer.class_weights[label] == pytest.approx(weights[own].sum())
        np.testing.assert_allclose(layer.class_means[label], mean, rtol=1e-12)
        np.testing.assert_allclose(layer.class_variances[label], np.diag(cov), rtol=1e-10)
    assert layer.class_weights[2] == 0.0


def test_the_closest_class_is_the_densest_around_the_row(rng: np.random.Generator) -> None:
    made = stack(2, 4)
    rows = [0.3 * rng.random((30, 2)) + middle for middle in rng.random((3, 2))]
    for label, own in enumerate(rows):
        for row in own:
            update_class_moments(made.layer(), row, everything(2), label, 1.0)
    for row in rng.random((50, 2)):
        qualities = [reference.class_quality(row, own) for own in rows]
        assert closest_class(made.layer(), row, everything(2)) == np.argmax(qualities)


def test_without_any_class_there_is_no_closest_one() -> None:
    assert closest_class(stack(2, 2).layer(), np.zeros(2), everything(2)) == -1
