"""The IF part: distances, activations, the winner, and how its premise moves."""

import numpy as np
import pytest

import reference
from build import Stack, count, fill_rule, filled_stack, random_metric, stack
from devfnn.kernels.layers import mark_present
from devfnn.kernels.premises import (
    fire,
    invert_covariance,
    measure_rule,
    normalise,
    tune_partial,
    tune_premise,
    winning_rule,
)
from devfnn.arrays import Floats
from devfnn.kernels.state import ARCHIVED, FREE, Layer, Scratch

WIDTH_FLOOR = 0.02


def measured(made: Stack, row: Floats) -> Scratch:
    """Working memory after a row was measured against all rules."""
    layer, scratch = made.layer(), made.scratch
    mark_present(layer, row, scratch)
    fire(layer, row, True, scratch)
    return scratch


def tune(made: Stack, rows: Floats, weights: Floats) -> None:
    """Tune rule 0 on every row, whether it wins or not."""
    layer, scratch = made.layer(), made.scratch
    for row, weight in zip(rows, weights, strict=True):
        mark_present(layer, row, scratch)
        measure_rule(layer, 0, row, scratch)
        tune_premise(layer, 0, weight, made.settings, scratch)


def is_sound(matrix: Floats) -> bool:
    """Finite, exactly symmetric and positive definite."""
    return bool(
        np.isfinite(matrix).all()
        and (matrix == matrix.T).all()
        and np.linalg.eigvalsh(matrix).min() > 0.0
    )


def expected_distances(layer: Layer, row: Floats) -> Floats:
    """Distances by the reference."""
    pairs = zip(layer.centers, layer.inverse_covs, strict=True)
    return np.array([reference.squared_distance(row, *pair) for pair in pairs])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_distances_equal_the_quadratic_form(rng: np.random.Generator, n: int) -> None:
    made = filled_stack(rng, n, 2, (4,))
    for row in rng.random((20, n)):
        expected = expected_distances(made.layer(), row)
        np.testing.assert_allclose(measured(made, row).distances, expected, rtol=1e-12)


def test_an_absent_input_lies_on_the_centre(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 4, 2, (3,))
    row = np.array([0.2, np.nan, 0.9, np.nan])
    scratch = measured(made, row)
    assert scratch.n_present[0] == 2
    np.testing.assert_allclose(scratch.distances, expected_distances(made.layer(), row), rtol=1e-12)


def test_an_input_switched_off_counts_as_absent(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (3,))
    row = rng.random(3)
    made.layer().input_mask[1] = False
    hidden = np.where([True, False, True], row, np.nan)
    np.testing.assert_allclose(
        measured(made, row).distances, expected_distances(made.layer(), hidden), rtol=1e-12
    )


@pytest.mark.parametrize("is_floored", [False, True])
def test_activations_equal_the_reference(rng: np.random.Generator, is_floored: bool) -> None:
    made = filled_stack(rng, 3, 2, (4,))
    for reach in (0.1, 1.0, 5.0):
        scratch = measured(made, reach * rng.random(3))
        normalise(made.layer(), is_floored, scratch)
        expected = reference.firing_shares(scratch.distances, is_floored)
        np.testing.assert_allclose(scratch.activations, expected, rtol=1e-12, atol=1e-300)


def test_only_active_rules_fire(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (4,))
    made.layer().status[1:3] = [ARCHIVED, FREE]
    scratch = measured(made, rng.random(2))
    normalise(made.layer(), False, scratch)
    expected = reference.firing_shares(scratch.distances[[0, 3]])
    np.testing.assert_allclose(scratch.activations[[0, 3]], expected, rtol=1e-12)
    assert (scratch.activations[[1, 2]] == 0.0).all()
    assert np.isfinite(scratch.distances[1]) and np.isnan(scratch.distances[2])


@pytest.mark.parametrize("reach", [1.0, 1e3, 1e6])
def test_activations_sum_to_one_however_far_the_row(rng: np.random.Generator, reach: float) -> None:
    made = filled_stack(rng, 3, 2, (4,))
    scratch = measured(made, np.full(3, reach))
    normalise(made.layer(), False, scratch)
    assert np.isfinite(scratch.activations).all()
    assert scratch.activations.sum() == pytest.approx(1.0, abs=1e-12)
    normalise(made.layer(), True, scratch)
    assert np.isfinite(scratch.activations).all()


def test_rules_share_a_row_without_inputs_evenly(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (4,))
    scratch = measured(made, np.full(3, np.nan))
    normalise(made.layer(), False, scratch)
    np.testing.assert_allclose(scratch.activations, 0.25, rtol=1e-15)


def test_the_winner_has_the_largest_posterior(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (5,))
    layer, winners = made.layer(), set()
    for row in rng.uniform(-0.5, 1.5, (100, 3)):
        scratch = measured(made, row)
        winner = winning_rule(layer, scratch)
        assert winner == reference.winner(scratch.distances, layer.log_volumes, layer.populations)
        winners.add(winner)
    assert len(winners) > 2


def test_a_rule_that_is_not_active_never_wins(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (3,))
    made.layer().status[:2] = [ARCHIVED, FREE]
    for row in rng.random((10, 2)):
        assert winning_rule(made.layer(), measured(made, row)) == 2


@pytest.mark.parametrize("is_weighted", [False, True])
def test_inverse_covariance_equals_the_batch_value_after_290_updates(
    rng: np.random.Generator, is_weighted: bool
) -> None:
    made = filled_stack(rng, 4, 2, (1,))
    layer = made.layer()
    layer.populations[0] = 1.0
    founder, start = layer.centers[0].copy(), layer.covs[0].copy()
    rows = rng.random((290, 4)) @ rng.uniform(-0.5, 1.0, (4, 4))
    weights = rng.uniform(0.2, 3.0, 290) if is_weighted else np.ones(290)
    tune(made, rows, weights)
    # The founding row counts once and brings its width: population * cov = start + scatter.
    total = 1.0 + weights.sum()
    mean, cov = reference.weighted_moments(np.vstack([founder, rows]), np.append(1.0, weights))
    cov = cov + start / total
    assert layer.populations[0] == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(layer.centers[0], mean, atol=1e-10)
    np.testing.assert_allclose(layer.covs[0], cov, atol=1e-10)
    np.testing.assert_allclose(layer.inverse_covs[0] @ cov, np.eye(4), atol=1e-10)
    assert layer.log_volumes[0] == pytest.approx(0.5 * np.linalg.slogdet(cov)[1], abs=1e-10)


def test_one_update_uses_the_old_centre() -> None:
    made = stack(1, 2)
    layer = made.layer()
    layer.status[0], layer.centers[0], layer.populations[0] = 1, 0.2, 3.0
    layer.covs[0], layer.inverse_covs[0] = 0.04, 25.0
    layer.log_volumes[0] = np.log(0.2)
    tune(made, np.array([[0.6]]), np.ones(1))
    cov = 0.75 * 0.04 + 0.25 * 0.75 * 0.4**2
    assert layer.centers[0, 0] == pytest.approx(0.3)
    assert layer.covs[0, 0, 0] == pytest.approx(cov)
    assert layer.inverse_covs[0, 0, 0] == pytest.approx(1.0 / cov)
    assert layer.log_volumes[0] == pytest.approx(0.5 * np.log(cov))
    assert layer.populations[0] == 4.0


def test_the_inverse_covariance_stays_exactly_symmetric(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (1,))
    for _ in range(5):
        rows = rng.random((count(2000, 300), 3))
        tune(made, rows, np.ones(len(rows)))
        assert is_sound(made.layer().inverse_covs[0])
        assert is_sound(made.layer().covs[0])


def test_the_population_stops_at_its_cap(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1,), max_population=50.0)
    made.layer().populations[0] = 49.5
    tune(made, rng.random((3, 2)), np.ones(3))
    assert made.layer().populations[0] == 50.0


def test_a_constant_feature_leaves_the_inverse_bounded(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (1,), width_floor=WIDTH_FLOOR)
    largest = 0.0
    for _ in range(count(60, 20)):
        rows = rng.random((100, 3))
        rows[:, 1] = 0.3
        tune(made, rows, np.ones(100))
        assert is_sound(made.layer().inverse_covs[0])
        largest = max(largest, np.linalg.eigvalsh(made.layer().inverse_covs[0]).max())
    assert largest <= 1.5 / WIDTH_FLOOR**2


def test_collinear_features_leave_the_inverse_bounded(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (1,), width_floor=WIDTH_FLOOR)
    for _ in range(count(60, 20)):
        rows = rng.random((100, 3))
        rows[:, 2] = rows[:, 0]
        tune(made, rows, np.ones(100))
        assert is_sound(made.layer().inverse_covs[0])
        assert np.linalg.eigvalsh(made.layer().inverse_covs[0]).max() <= 1e3 / WIDTH_FLOOR**2


def test_a_premise_survives_a_row_at_distance_one_million(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (1,))
    rows = rng.random((200, 3))
    rows[100] = 1e6
    tune(made, rows, np.ones(200))
    assert np.isfinite(made.layer().centers[0]).all()
    assert is_sound(made.layer().inverse_covs[0]) and is_sound(made.layer().covs[0])
    assert np.isfinite(made.layer().log_volumes[0])


@pytest.mark.parametrize("n", [1, 3, 8])
def test_inverting_equals_numpy_where_the_covariance_is_sound(
    rng: np.random.Generator, n: int
) -> None:
    made = filled_stack(rng, n, 2, (1,))
    layer, cov = made.layer(), random_metric(rng, n)
    layer.covs[0] = cov
    invert_covariance(layer, 0, WIDTH_FLOOR, np.full((n, n), np.nan))
    np.testing.assert_allclose(layer.inverse_covs[0], np.linalg.inv(cov), rtol=1e-9, atol=1e-9)
    assert layer.log_volumes[0] == pytest.approx(0.5 * np.linalg.slogdet(cov)[1])
    assert (layer.covs[0] == cov).all()
    assert is_sound(layer.inverse_covs[0])


@pytest.mark.parametrize(
    "cov",
    [
        np.zeros((3, 3)),
        np.ones((3, 3)),
        np.diag([0.1, 0.0, 0.1]),
        np.outer([0.5, 1.0, -2.0], [0.5, 1.0, -2.0]),
        np.array([[1.0, 1.1, 0.0], [1.1, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ],
    ids=["nothing varies", "all the same", "one constant", "rank one", "not even definite"],
)
def test_inverting_a_singular_covariance_is_bounded(cov: Floats) -> None:
    made = filled_stack(np.random.default_rng(0), 3, 2, (1,))
    layer = made.layer()
    layer.covs[0] = cov
    invert_covariance(layer, 0, WIDTH_FLOOR, np.empty((3, 3)))
    assert is_sound(layer.inverse_covs[0])
    assert np.linalg.eigvalsh(layer.inverse_covs[0]).max() <= 1e4 / WIDTH_FLOOR**2
    assert (np.diag(layer.covs[0]) >= WIDTH_FLOOR**2).all()
    assert np.isfinite(layer.log_volumes[0])


def test_tuning_with_missing_values_keeps_the_covariance_positive_definite(
    rng: np.random.Generator,
) -> None:
    made = filled_stack(rng, 4, 2, (1,))
    layer = made.layer()
    expected_cov, expected_center = layer.covs[0].copy(), layer.centers[0].copy()
    population = layer.populations[0]
    for row in rng.random((count(1000, 300), 4)) @ rng.uniform(-0.3, 1.0, (4, 4)):
        holed = np.where(rng.random(4) < 0.4, np.nan, row)
        holed[rng.integers(4)] = np.nan  # never complete, so that it is always the partial form
        offset, rate = holed - expected_center, 1.0 / (population + 1.0)
        expected_cov = reference.tuned_cov(expected_cov, offset, rate)
        expected_center = expected_center + rate * np.nan_to_num(offset, nan=0.0)
        population += 1.0
        tune(made, holed[None], np.ones(1))
        assert is_sound(layer.covs[0]) and is_sound(layer.inverse_covs[0])
    np.testing.assert_allclose(layer.covs[0], expected_cov, rtol=1e-9)
    np.testing.assert_allclose(layer.centers[0], expected_center, rtol=1e-9)
    np.testing.assert_allclose(layer.inverse_covs[0] @ expected_cov, np.eye(4), atol=1e-9)


def test_the_partial_form_on_a_whole_row_equals_the_complete_one(
    rng: np.random.Generator,
) -> None:
    made = filled_stack(rng, 3, 2, (1,))
    other, row = made.copy(), rng.random(3)
    scratch = measured(made, row)
    rate = 1.0 / (made.layer().populations[0] + 1.0)
    tune_partial(made.layer(), 0, rate, WIDTH_FLOOR, scratch)
    tune(other, row[None], np.ones(1))
    for name in ("covs", "inverse_covs", "log_volumes"):
        np.testing.assert_allclose(
            getattr(made.layer(), name), getattr(other.layer(), name), rtol=1e-10
        )


def test_a_row_without_inputs_leaves_the_premise_where_it_is(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (1,))
    before = made.copy().layer()
    tune(made, np.full((1, 3), np.nan), np.ones(1))
    np.testing.assert_array_equal(made.layer().centers, before.centers)
    np.testing.assert_allclose(made.layer().covs, before.covs, rtol=1e-15)
    np.testing.assert_allclose(made.layer().inverse_covs, before.inverse_covs, rtol=1e-9)


def test_an_input_switched_off_keeps_its_part_of_the_premise(rng: np.random.Generator) -> None:
    made = stack(3, 2)
    layer = made.layer()
    fill_rule(layer, 0, rng)
    layer.covs[0, 1, [0, 2]] = layer.covs[0, [0, 2], 1] = 0.0
    invert_covariance(layer, 0, WIDTH_FLOOR, np.empty((3, 3)))
    layer.input_mask[1] = False
    before = made.copy().layer()
    tune(made, rng.random((50, 3)), np.ones(50))
    assert layer.centers[0, 1] == before.centers[0, 1]
    np.testing.assert_array_equal(layer.covs[0, 1], before.covs[0, 1])
    np.testing.assert_array_equal(layer.covs[0, :, 1], before.covs[0, :, 1])
    np.testing.assert_array_equal(layer.inverse_covs[0, 1], before.inverse_covs[0, 1])
    assert (layer.covs[0, 0] != before.covs[0, 0]).any()
    volume = 0.5 * np.linalg.slogdet(layer.covs[0])[1]
    assert layer.log_volumes[0] == pytest.approx(volume, abs=1e-10)
