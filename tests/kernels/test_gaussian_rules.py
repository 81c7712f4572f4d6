"""Gaussian rules: firing and the winner, how its premise moves, data quality, birth and recall."""

from typing import Any

import numpy as np
import pytest

import reference
from build import Stack, batch_of, count, fill_rule, filled_stack, only_plain, random_metric, stack
from devfnn.arrays import Flags, Floats
from devfnn.kernels.gaussian import mark_present
from devfnn.kernels.gaussian_rules import (
    axis_quality,
    closest_class,
    fire,
    found_first_rule,
    grow_rule,
    holds_most_volume,
    invert_covariance,
    measure_rule,
    nearest_centers,
    normalise,
    potential,
    quality,
    sketch_rule,
    tune_partial,
    tune_premise,
    update_class_moments,
    update_density,
    winning_rule,
)
from devfnn.kernels.state import (
    ACTIVE,
    ARCHIVED,
    FREE,
    RECALLED,
    RULE_BORN_EVENT,
    RULE_RECALLED_EVENT,
    USED,
    GaussianState,
    GaussianWork,
)
from twin import slow_copy

WIDTH_FLOOR = 0.02


def measured(made: Stack, row: Floats) -> GaussianWork:
    """Working memory after a row was measured against all rules."""
    work = made.work
    mark_present(made.layer(), row, work)
    fire(made.layer(), row, True, work)
    return work


def is_sound(matrix: Floats) -> bool:
    """Finite, exactly symmetric and positive definite."""
    return bool(
        np.isfinite(matrix).all()
        and (matrix == matrix.T).all()
        and np.linalg.eigvalsh(matrix).min() > 0.0
    )


def everything(n: int) -> Flags:
    """All inputs present."""
    return np.ones(n, np.bool_)


# ---- firing


@only_plain
@pytest.mark.parametrize("n", [1, 2, 5])
def test_distances_equal_the_quadratic_form_over_the_inputs_there_are(
    rng: np.random.Generator, n: int
) -> None:
    made = filled_stack(rng, n, 2, (4,))
    layer = made.layer()
    for row in rng.random((20, n)):
        row[rng.random(n) < 0.3] = np.nan
        layer.input_mask[:] = rng.random(n) < 0.8
        seen = np.where(layer.input_mask, row, np.nan)
        pairs = zip(layer.centers, layer.inverse_covs, strict=True)
        expected = [reference.squared_distance(seen, *pair) for pair in pairs]
        work = measured(made, row)
        assert work.n_present[0] == np.count_nonzero(~np.isnan(seen))
        np.testing.assert_allclose(work.distances, expected, rtol=1e-12)


@only_plain
def test_activations_equal_the_reference(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (4,))
    for reach in (0.1, 1.0, 5.0, 1e3, 1e6):
        work = measured(made, reach * rng.random(3))
        normalise(made.layer(), work)
        expected = reference.firing_shares(work.distances)
        np.testing.assert_allclose(work.activations, expected, rtol=1e-12, atol=1e-300)
        assert work.activations.sum() == pytest.approx(1.0, abs=1e-12)


@only_plain
def test_rules_share_a_row_without_inputs_evenly(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (4,))
    work = measured(made, np.full(3, np.nan))
    normalise(made.layer(), work)
    np.testing.assert_allclose(work.activations, 0.25, rtol=1e-15)


@only_plain
def test_only_active_rules_fire_and_win(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (4,))
    made.layer().status[1:3] = [ARCHIVED, FREE]
    made.layer().populations[1:3] = 1e6
    for row in rng.random((10, 2)):
        work = measured(made, row)
        normalise(made.layer(), work)
        expected = reference.firing_shares(work.distances[[0, 3]])
        np.testing.assert_allclose(work.activations[[0, 3]], expected, rtol=1e-12)
        assert (work.activations[[1, 2]] == 0.0).all()
        assert np.isfinite(work.distances[1]) and np.isnan(work.distances[2])
        assert winning_rule(made.layer(), work) in (0, 3)


@only_plain
def test_the_winner_has_the_largest_posterior(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (5,))
    layer, winners = made.layer(), set()
    for row in rng.uniform(-0.5, 1.5, (100, 3)):
        work = measured(made, row)
        winner = winning_rule(layer, work)
        assert winner == reference.winner(work.distances, layer.log_volumes, layer.populations)
        winners.add(winner)
    assert len(winners) > 2


# ---- how the premise moves


def tune(made: Stack, rows: Floats, weights: Floats | None = None) -> None:
    """Tune rule 0 on every row, whether it wins or not."""
    layer, work, params = made.layer(), made.work, made.params
    for row, weight in zip(rows, np.ones(len(rows)) if weights is None else weights, strict=True):
        mark_present(layer, row, work)
        measure_rule(layer, 0, row, work)
        tune_premise(layer, 0, weight, params, work)


@only_plain
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


@only_plain
def test_one_update_uses_the_old_centre() -> None:
    made = stack(1, 2)
    layer = made.layer()
    layer.status[0], layer.centers[0], layer.populations[0] = ACTIVE, 0.2, 3.0
    layer.covs[0], layer.inverse_covs[0] = 0.04, 25.0
    layer.log_volumes[0] = np.log(0.2)
    tune(made, np.array([[0.6]]))
    cov = 0.75 * 0.04 + 0.25 * 0.75 * 0.4**2
    assert layer.centers[0, 0] == pytest.approx(0.3)
    assert layer.covs[0, 0, 0] == pytest.approx(cov)
    assert layer.inverse_covs[0, 0, 0] == pytest.approx(1.0 / cov)
    assert layer.log_volumes[0] == pytest.approx(0.5 * np.log(cov))
    assert layer.populations[0] == 4.0


@only_plain
def test_the_population_stops_at_its_cap(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1,), max_population=50.0)
    made.layer().populations[0] = 49.5
    tune(made, rng.random((3, 2)))
    assert made.layer().populations[0] == 50.0


@only_plain
@pytest.mark.parametrize(
    ("defect", "bound"), [("none", np.inf), ("constant", 1.5), ("collinear", 1e3), ("far", np.inf)]
)
def test_the_inverse_covariance_stays_sound_and_bounded(
    rng: np.random.Generator, defect: str, bound: float
) -> None:
    made = filled_stack(rng, 3, 2, (1,), width_floor=WIDTH_FLOOR)
    layer = made.layer()
    for _ in range(count(60, 20)):
        rows = rng.random((100, 3))
        if defect == "constant":
            rows[:, 1] = 0.3
        elif defect == "collinear":
            rows[:, 2] = rows[:, 0]
        elif defect == "far":
            rows[50] = 1e6
        tune(made, rows)
        assert is_sound(layer.covs[0]) and is_sound(layer.inverse_covs[0])
        assert np.linalg.eigvalsh(layer.inverse_covs[0]).max() <= bound / WIDTH_FLOOR**2
        assert np.isfinite(layer.centers[0]).all() and np.isfinite(layer.log_volumes[0])


@only_plain
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


@only_plain
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
    layer = filled_stack(np.random.default_rng(0), 3, 2, (1,)).layer()
    layer.covs[0] = cov
    invert_covariance(layer, 0, WIDTH_FLOOR, np.empty((3, 3)))
    assert is_sound(layer.inverse_covs[0])
    assert np.linalg.eigvalsh(layer.inverse_covs[0]).max() <= 1e4 / WIDTH_FLOOR**2
    assert (np.diag(layer.covs[0]) >= WIDTH_FLOOR**2).all()
    assert np.isfinite(layer.log_volumes[0])


@only_plain
def test_tuning_with_missing_values_keeps_the_covariance_positive_definite(
    rng: np.random.Generator,
) -> None:
    made = filled_stack(rng, 4, 2, (1,))
    layer = made.layer()
    cov, center, population = layer.covs[0].copy(), layer.centers[0].copy(), layer.populations[0]
    for row in rng.random((count(1000, 300), 4)) @ rng.uniform(-0.3, 1.0, (4, 4)):
        holed = np.where(rng.random(4) < 0.4, np.nan, row)
        holed[rng.integers(4)] = np.nan  # never complete, so that it is always the partial form
        offset, rate = holed - center, 1.0 / (population + 1.0)
        cov = reference.tuned_cov(cov, offset, rate)
        center = center + rate * np.nan_to_num(offset, nan=0.0)
        population += 1.0
        tune(made, holed[None])
        assert is_sound(layer.covs[0]) and is_sound(layer.inverse_covs[0])
    np.testing.assert_allclose(layer.covs[0], cov, rtol=1e-9)
    np.testing.assert_allclose(layer.centers[0], center, rtol=1e-9)
    np.testing.assert_allclose(layer.inverse_covs[0] @ cov, np.eye(4), atol=1e-9)


@only_plain
def test_the_partial_form_on_a_whole_row_equals_the_complete_one(
    rng: np.random.Generator,
) -> None:
    made = filled_stack(rng, 3, 2, (1,))
    other, row = made.copy(), rng.random(3)
    rate = 1.0 / (made.layer().populations[0] + 1.0)
    tune_partial(made.layer(), 0, rate, WIDTH_FLOOR, measured(made, row))
    tune(other, row[None])
    for name in ("covs", "inverse_covs", "log_volumes"):
        np.testing.assert_allclose(
            getattr(made.layer(), name), getattr(other.layer(), name), rtol=1e-10
        )


@only_plain
def test_a_row_without_inputs_leaves_the_premise_where_it_is(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (1,))
    before = made.copy().layer()
    tune(made, np.full((1, 3), np.nan))
    np.testing.assert_array_equal(made.layer().centers, before.centers)
    np.testing.assert_allclose(made.layer().covs, before.covs, rtol=1e-15)
    np.testing.assert_allclose(made.layer().inverse_covs, before.inverse_covs, rtol=1e-9)


@only_plain
def test_an_input_switched_off_keeps_its_part_of_the_premise(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (1,))
    layer = made.layer()
    layer.covs[0, 1, [0, 2]] = layer.covs[0, [0, 2], 1] = 0.0
    invert_covariance(layer, 0, WIDTH_FLOOR, np.empty((3, 3)))
    layer.input_mask[1] = False
    before = made.copy().layer()
    tune(made, rng.random((50, 3)))
    assert layer.centers[0, 1] == before.centers[0, 1]
    np.testing.assert_array_equal(layer.covs[0, 1], before.covs[0, 1])
    np.testing.assert_array_equal(layer.covs[0, :, 1], before.covs[0, :, 1])
    np.testing.assert_array_equal(layer.inverse_covs[0, 1], before.inverse_covs[0, 1])
    assert (layer.covs[0, 0] != before.covs[0, 0]).any()
    volume = 0.5 * np.linalg.slogdet(layer.covs[0])[1]
    assert layer.log_volumes[0] == pytest.approx(volume, abs=1e-10)


# ---- data quality


def with_rows(rows: Floats, weights: Floats | None = None) -> GaussianState:
    """A layer whose density rests on weighted rows; NaN is absent."""
    layer = stack(rows.shape[1], 2).layer()
    for row, weight in zip(rows, np.ones(len(rows)) if weights is None else weights, strict=True):
        update_density(layer, row, ~np.isnan(row), weight)
    return layer


@only_plain
@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("has_constant", [False, True])
def test_moments_and_data_quality_equal_the_direct_weighted_sum(
    rng: np.random.Generator, n: int, has_constant: bool
) -> None:
    rows, weights = rng.random((200, n)), rng.uniform(1e-3, 1.0, 200)
    if has_constant:
        rows[:, -1] = 0.4
    layer = with_rows(rows, weights)
    mean, cov = reference.weighted_moments(rows, weights)
    assert layer.density_weight[0] == pytest.approx(weights.sum())
    np.testing.assert_allclose(layer.density_mean, mean, rtol=1e-12)
    np.testing.assert_allclose(layer.density_cov, cov, rtol=1e-10, atol=1e-15)
    for point in rng.uniform(-1.0, 2.0, (10, n)):
        metric = np.linalg.inv(random_metric(rng, n))
        own = quality(layer, point, metric, everything(n))
        expected = reference.data_quality(point, metric, rows, weights)
        assert own == pytest.approx(expected, rel=1e-12, abs=1e-12)


@only_plain
def test_moments_stay_exact_far_from_the_origin(rng: np.random.Generator) -> None:
    rows = 1e6 + rng.random((300, 2))
    np.testing.assert_allclose(with_rows(rows).density_cov, np.cov(rows.T, bias=True), rtol=1e-6)


@only_plain
def test_quality_before_any_row_and_of_the_only_one_is_one() -> None:
    layer, row = stack(2, 2).layer(), np.array([0.3, 0.8])
    assert quality(layer, 30.0 * row, np.eye(2), everything(2)) == 1.0
    assert axis_quality(layer, 30.0 * row, np.ones(2), everything(2)) == 1.0
    layer = with_rows(row[None], np.array([0.2]))
    assert quality(layer, row, 50.0 * np.eye(2), everything(2)) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_array_equal(layer.density_mean, row)
    assert (layer.density_cov == 0.0).all()


@only_plain
def test_quality_of_a_far_row_is_small_and_finite(rng: np.random.Generator) -> None:
    layer = with_rows(rng.random((50, 2)))
    assert 0.0 < quality(layer, np.full(2, 1e6), np.eye(2), everything(2)) < 2e-6


@only_plain
def test_the_axis_parallel_form_equals_the_diagonal_metric(rng: np.random.Generator) -> None:
    layer = with_rows(rng.random((100, 4)))
    for point in rng.random((10, 4)):
        widths, present = rng.uniform(0.02, 1.0, 4), rng.random(4) < 0.7
        full = quality(layer, point, np.diag(widths**-2.0), present)
        assert axis_quality(layer, point, widths, present) == pytest.approx(full, rel=1e-12)


@only_plain
def test_moments_with_missing_values_keep_the_covariance_semidefinite(
    rng: np.random.Generator,
) -> None:
    rows = rng.random((count(500, 200), 4)) @ rng.uniform(-0.3, 1.0, (4, 4))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    layer = with_rows(rows)
    assert is_sound(layer.density_cov)
    mean, cov = layer.density_mean.copy(), layer.density_cov.copy()
    update_density(layer, np.full(4, np.nan), ~everything(4), 1.0)
    np.testing.assert_array_equal(layer.density_mean, mean)
    np.testing.assert_array_equal(layer.density_cov, cov)


@only_plain
def test_class_moments_equal_the_batch_values(rng: np.random.Generator) -> None:
    layer, rows, labels = stack(3, 3).layer(), rng.random((200, 3)), rng.integers(0, 2, 200)
    weights = rng.uniform(0.1, 2.0, 200)
    for row, label, weight in zip(rows, labels, weights, strict=True):
        update_class_moments(layer, row, everything(3), label, weight)
    for label in range(2):
        own = labels == label
        mean, cov = reference.weighted_moments(rows[own], weights[own])
        assert layer.class_weights[label] == pytest.approx(weights[own].sum())
        np.testing.assert_allclose(layer.class_means[label], mean, rtol=1e-12)
        np.testing.assert_allclose(layer.class_variances[label], np.diag(cov), rtol=1e-10)
    assert layer.class_weights[2] == 0.0


@only_plain
def test_the_closest_class_is_the_densest_around_the_row(rng: np.random.Generator) -> None:
    layer = stack(2, 4).layer()
    assert closest_class(layer, np.zeros(2), everything(2)) == -1
    rows = [0.3 * rng.random((30, 2)) + middle for middle in rng.random((3, 2))]
    for label, own in enumerate(rows):
        for row in own:
            update_class_moments(layer, row, everything(2), label, 1.0)
    for row in rng.random((50, 2)):
        qualities = [reference.class_quality(row, own) for own in rows]
        assert closest_class(layer, row, everything(2)) == np.argmax(qualities)


# ---- what a new rule would look like


def with_rules(centers: list[list[float]], labels: list[int], width: float = 0.1) -> Stack:
    """Round rules of one width, each of a class; class moments as if from rows at the centres."""
    made = stack(len(centers[0]), 2, slots=len(centers) + 2, width_floor=WIDTH_FLOOR)
    layer = made.layer()
    for rule, (center, label) in enumerate(zip(centers, labels, strict=True)):
        fill_rule(layer, rule, np.random.default_rng(rule))
        layer.centers[rule] = center
        layer.covs[rule] = width**2 * np.eye(len(center))
        layer.inverse_covs[rule] = width**-2.0 * np.eye(len(center))
        layer.log_volumes[rule] = len(center) * np.log(width)
        layer.class_counts[rule] = np.eye(2)[label]
        layer.class_weights[label] += 1.0
        layer.class_means[label] = center
    return made


def sketched(made: Stack, row: Floats, label: int) -> tuple[Floats, Floats]:
    """Centre and widths of the rule that a row would found."""
    work = measured(made, row)
    log_volume = sketch_rule(made.layer(), row, label, made.params, work)
    assert log_volume == pytest.approx(np.log(work.candidate_width).sum())
    return work.candidate_center.copy(), work.candidate_width.copy()


@only_plain
def test_the_nearest_rules_are_those_of_smallest_euclidean_distance(
    rng: np.random.Generator,
) -> None:
    layer = filled_stack(rng, 3, 2, (6,)).layer()
    layer.status[2] = ARCHIVED
    for row in rng.random((30, 3)):
        present = rng.random(3) < 0.8
        same, same_distance, other, other_distance = nearest_centers(layer, row, 1, present)
        gaps = (((layer.centers - row) ** 2) * present).sum(axis=1)
        gaps[2] = np.inf
        is_own = layer.class_counts.argmax(axis=1) == 1
        assert same_distance == pytest.approx(gaps[is_own].min())
        assert other_distance == pytest.approx(gaps[~is_own].min())
        assert gaps[same] == pytest.approx(same_distance)
        assert gaps[other] == pytest.approx(other_distance)


@only_plain
@pytest.mark.parametrize(
    ("rules", "labels", "width", "row", "label", "widths"),
    [
        ([[0.1, 0.1], [0.9, 0.2]], [0, 1], 0.1, [0.6, 0.9], 0, [0.5, 0.8]),
        ([[0.1, 0.1], [0.7, 0.2]], [0, 0], 0.1, [0.6, 0.9], 1, [0.1, 0.7]),
        ([[0.2, 0.2], [0.9, 0.9]], [0, 1], 0.05, [0.6, 0.2], 0, [0.4, WIDTH_FLOOR]),
        # The text may also be read to push the centre away from the one rule that there is.
        ([[0.2, 0.2]], [0], 0.3, [0.4, 0.5], 0, [0.2, 0.3]),
        ([[0.2, 0.2]], [0], 0.3, [0.4, 0.5], 1, [0.2, 0.3]),
    ],
    ids=[
        "up to the rule of its own class",
        "of a new class: up to the nearest rule",
        "no width falls below the floor",
        "overlap with the only rule, of its class",
        "overlap with the only rule, of another class",
    ],
)
def test_a_row_clear_of_all_rules_becomes_the_centre(
    rules: list[list[float]],
    labels: list[int],
    width: float,
    row: list[float],
    label: int,
    widths: list[float],
) -> None:
    center, own_widths = sketched(with_rules(rules, labels, width), np.array(row), label)
    np.testing.assert_allclose(center, row)
    np.testing.assert_allclose(own_widths, widths)


@only_plain
@pytest.mark.parametrize(
    ("row", "pushed_by", "shrink"),
    [
        ([0.5, 0.7], 0.6, np.hypot(0.1, 0.1) / np.hypot(0.3, 0.5)),
        ([0.3, 0.3], 0.2, 1.0),  # the foreign rule is farther
    ],
    ids=["among rows of another class: by the foreign rule", "among its own: by its own rule"],
)
def test_overlap_pushes_the_centre_away(row: list[float], pushed_by: float, shrink: float) -> None:
    made = with_rules([[0.2, 0.2], [0.6, 0.6]], [0, 1], width=0.2)
    center, widths = sketched(made, np.array(row), 0)
    np.testing.assert_allclose(center, np.array(row) + 0.1 * (np.array(row) - pushed_by))
    np.testing.assert_allclose(widths, shrink * np.abs(center - pushed_by))


@only_plain
def test_an_overlapping_rule_shrinks_to_a_tenth_at_most() -> None:
    made = with_rules([[0.0, 0.0], [0.9, 0.9]], [0, 1], width=0.3)
    center, widths = sketched(made, np.array([0.85, 0.86]), 0)
    np.testing.assert_allclose(widths, np.maximum(0.1 * np.abs(center - 0.9), WIDTH_FLOOR))


@only_plain
def test_an_input_switched_off_is_taken_from_the_reference_rule() -> None:
    made = with_rules([[0.2, 0.3], [0.9, 0.9]], [0, 1], width=0.05)
    made.layer().input_mask[1] = False
    center, widths = sketched(made, np.array([0.6, 0.7]), 0)
    np.testing.assert_allclose(center, [0.6, 0.3])
    np.testing.assert_allclose(widths, [0.4, 0.05])


@only_plain
def test_sketches_equal_the_slow_twin(rng: np.random.Generator) -> None:
    for _ in range(20):
        made = filled_stack(rng, 3, 3, (5,))
        layer = made.layer()
        layer.class_weights[:] = [4.0, 0.0, 7.0]
        layer.class_means[:] = rng.random((3, 3))
        layer.class_variances[:] = 0.1 * rng.random((3, 3))
        slow = slow_copy(layer, made.params)
        for row in rng.uniform(-0.5, 1.5, (10, 3)):
            label = int(rng.integers(3))
            expected = slow.sketch(row, label, slow.distances(row))
            np.testing.assert_allclose(sketched(made, row, label), expected, rtol=1e-10)


def test_rules_that_rows_found_are_those_that_the_slow_twin_sketches(
    rng: np.random.Generator,
) -> None:
    n_born = 0
    for _ in range(60):
        made = filled_stack(rng, 3, 3, (5,), vigilance=0.01)
        layer, row, label = made.layer(), rng.uniform(-0.5, 1.5, (1, 3)), rng.integers(3)
        layer.counters[USED] = 100  # past its warm-up
        layer.density_weight[0], layer.density_mean[:] = 100.0, rng.random(3)
        layer.density_cov[:] = 0.05 * np.eye(3)
        layer.log_volumes[:] -= 5.0  # so that a new rule is among the largest
        layer.class_weights[:] = [4.0, 0.0, 7.0]
        layer.class_means[:] = rng.random((3, 3))
        layer.class_variances[:] = 0.1 * rng.random((3, 3))
        slow = slow_copy(layer, made.params)
        sketch = slow.sketch(row[0], int(label), slow.distances(row[0]))
        for event in made.learn(batch_of(row, label[None])):
            center, widths = made.layer().centers[event.rule], made.layer().covs[event.rule]
            np.testing.assert_allclose((center, np.sqrt(np.diag(widths))), sketch, rtol=1e-10)
            n_born += 1
    assert n_born > 10


# ---- birth and recall


@only_plain
@pytest.mark.parametrize("level", [0.0, 800.0, -800.0])
def test_the_volume_check_compares_shares_of_the_whole_volume(
    rng: np.random.Generator, level: float
) -> None:
    layer = filled_stack(rng, 2, 2, (4,)).layer()
    for _ in range(20):
        logs = rng.normal(size=4)
        layer.log_volumes[:] = logs + level
        share = np.exp(logs[1]) / np.exp(logs).sum()
        assert holds_most_volume(layer, 1, np.log(0.3)) == (share > 0.3)
    layer.status[1:] = FREE  # a lone rule holds all volume
    assert holds_most_volume(layer, 0, np.log(0.9999))


@only_plain
def test_the_first_rule_has_the_configured_precision_and_no_opinion() -> None:
    made = stack(2, 3, first_precision=4.0, initial_gain=7.0)
    layer, work = made.layer(), made.work
    layer.consequents.fill(9.0)
    row = np.array([0.3, np.nan])
    mark_present(layer, row, work)
    found_first_rule(layer, row, 1, made.params, work)
    np.testing.assert_array_equal(layer.centers[0], [0.3, 0.5])
    np.testing.assert_allclose(layer.inverse_covs[0], 4.0 * np.eye(2))
    np.testing.assert_allclose(layer.covs[0], 0.25 * np.eye(2))
    assert layer.log_volumes[0] == pytest.approx(2.0 * np.log(0.5))
    assert (layer.consequents[0] == 0.0).all()
    np.testing.assert_array_equal(layer.gain_covs[0], 7.0 * np.eye(5))
    assert layer.populations[0] == 1.0
    assert layer.status.tolist() == [ACTIVE, FREE]


def ready_to_grow(rng: np.random.Generator, **changes: Any) -> tuple[Stack, Floats]:
    """A layer with one small rule, and a far row that earns one; slots 1 and 2 are free."""
    eager = {} if "growing" in changes else {"vigilance": 0.3}
    made = stack(2, 2, slots=3, **eager, **changes)
    made.learn(batch_of(0.5 + 0.01 * rng.normal(size=(80, 2)), rng.integers(0, 2, 80)))
    assert made.layer().status.tolist() == [ACTIVE, FREE, FREE]
    return made, np.array([0.9, 0.95])


def archive_near(made: Stack, slot: int, row: Floats) -> None:
    """Put an archived rule around a row that recent rows lie close to; others are spread out."""
    layer = made.layer()
    fill_rule(layer, slot, np.random.default_rng(slot), is_archived=True)
    layer.centers[slot] = row
    layer.potentials[slot] = [100.0, 0.0]
    layer.density_cov[:] = 0.5 * np.eye(2)


def grown(made: Stack, row: Floats) -> tuple[int, int]:
    """The rule that a row founds or recalls, -1 for none, and what happened."""
    return grow_rule(made.layer(), 0, row, 0, made.params, measured(made, row))[:2]


@only_plain
def test_a_new_rule_starts_from_the_winners_consequents(rng: np.random.Generator) -> None:
    made, row = ready_to_grow(rng, later_gain=3.0)
    layer, work = made.layer(), measured(made, row)
    slow = slow_copy(layer, made.params)
    center, widths = slow.sketch(row, 0, slow.distances(row))
    rule, kind, numbers = grow_rule(layer, 0, row, 0, made.params, work)
    assert (rule, kind) == (1, RULE_BORN_EVENT)
    assert layer.status.tolist() == [ACTIVE, ACTIVE, FREE]
    np.testing.assert_array_equal(layer.consequents[1], layer.consequents[0])
    np.testing.assert_array_equal(layer.gain_covs[1], 3.0 * np.eye(5))
    np.testing.assert_allclose(layer.centers[1], center)
    np.testing.assert_allclose(layer.covs[1], np.diag(widths**2))
    np.testing.assert_allclose(layer.inverse_covs[1], np.diag(widths**-2.0))
    assert layer.log_volumes[1] == pytest.approx(np.log(widths).sum())
    assert layer.populations[1] == 1.0 and layer.ages[1] == 0
    assert numbers[2] == pytest.approx(np.log(widths).sum())
    assert numbers[3] == pytest.approx(work.distances[0])


@only_plain
def test_nothing_grows_during_warm_up(rng: np.random.Generator) -> None:
    made, row = ready_to_grow(rng)
    made.layer().counters[USED] = 5  # as many as the consequents have weights
    assert grown(made, row)[0] == -1
    made.layer().counters[USED] += 1
    assert grown(made, row)[0] == 1


@only_plain
@pytest.mark.parametrize("is_archived", [False, True], ids=["birth", "recall"])
@pytest.mark.parametrize("obstacle", ["missing value", "amid the rules", "enough rules"])
def test_what_keeps_a_row_from_founding_or_recalling_a_rule(
    rng: np.random.Generator, obstacle: str, is_archived: bool
) -> None:
    made, row = ready_to_grow(rng, max_rules=1 if obstacle == "enough rules" else 5)
    if obstacle == "missing value":
        row[1] = np.nan
    elif obstacle == "amid the rules":
        row = made.layer().centers[0] + 1e-3
    if is_archived:
        archive_near(made, 1, np.nan_to_num(row, nan=0.95))
    before = made.layer().status.tolist()
    assert grown(made, row)[0] == -1
    assert made.layer().status.tolist() == before


def test_growing_can_be_switched_off(rng: np.random.Generator) -> None:
    made, row = ready_to_grow(rng, growing=False)
    made.learn(batch_of(row[None], np.zeros(1)))
    assert made.layer().status.tolist() == [ACTIVE, FREE, FREE]


@only_plain
def test_an_archived_rule_comes_back_with_identical_weights(rng: np.random.Generator) -> None:
    made, row = ready_to_grow(rng)
    archive_near(made, 1, row)
    layer, before = made.layer(), made.copy().layer()
    assert grown(made, row) == (1, RULE_RECALLED_EVENT)
    assert layer.status.tolist() == [ACTIVE, ACTIVE, FREE]
    for name in ("centers", "covs", "inverse_covs", "log_volumes", "consequents", "gain_covs"):
        np.testing.assert_array_equal(getattr(layer, name), getattr(before, name))
    assert layer.populations[1] == before.populations[1]
    assert layer.ages[1] == 0
    assert layer.counters[RECALLED] == 1


@only_plain
def test_of_two_archived_rules_the_one_of_higher_potential_returns(
    rng: np.random.Generator,
) -> None:
    made, row = ready_to_grow(rng)
    archive_near(made, 1, row)
    archive_near(made, 2, row)
    made.layer().potentials[1] = [100.0, 5.0]
    assert grown(made, row) == (2, RULE_RECALLED_EVENT)


@only_plain
@pytest.mark.parametrize("obstacle", ["low potential", "far away", "recall is off"])
def test_an_archived_rule_that_does_not_fit_stays_away(
    rng: np.random.Generator, obstacle: str
) -> None:
    made, row = ready_to_grow(rng, recall=obstacle != "recall is off")
    archive_near(made, 1, row)
    if obstacle == "low potential":
        made.layer().potentials[1] = [1.0, 1e6]
    elif obstacle == "far away":
        made.layer().centers[1] = row + 10.0
    assert grown(made, row) == (2, RULE_BORN_EVENT)
    assert made.layer().status.tolist() == [ACTIVE, ARCHIVED, ACTIVE]


@only_plain
def test_the_potential_of_fresh_sums_is_one(rng: np.random.Generator) -> None:
    layer = filled_stack(rng, 2, 2, (1,)).layer()
    layer.potentials[0] = [1.0, 0.0]
    assert potential(layer, 0) == 1.0
    layer.potentials[0] = [3.0, 9.0]
    assert potential(layer, 0) == pytest.approx(0.5)
