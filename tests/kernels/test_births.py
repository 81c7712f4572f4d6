"""Rule growing: what a new rule looks like, when it is founded, and recall instead of birth."""

import numpy as np
import pytest

from build import Stack, batch_of, fill_rule, filled_stack, stack
from devfnn.kernels.births import (
    found_first_rule,
    grow_rule,
    holds_most_volume,
    nearest_centers,
    potential,
    sketch_rule,
)
from devfnn.kernels.layers import mark_present
from devfnn.kernels.premises import fire
from devfnn.arrays import Floats
from devfnn.kernels.state import ACTIVE, ARCHIVED, BORN_EVENT, FREE, RECALLED, RECALLED_EVENT, USED, Scratch
from twin import slow_copy

FLOOR = 0.02


def with_rules(centers: list[list[float]], labels: list[int], width: float = 0.1) -> Stack:
    """Round rules of one width, each of a class; class moments as if from rows at the centres."""
    made = stack(len(centers[0]), 2, slots=len(centers) + 2, width_floor=FLOOR)
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


def measured(made: Stack, row: Floats) -> Scratch:
    """Working memory after the row was measured against all rules."""
    scratch = made.scratch
    mark_present(made.layer(), row, scratch)
    fire(made.layer(), row, True, scratch)
    return scratch


def sketched(made: Stack, row: Floats, label: int) -> tuple[Floats, Floats, float]:
    """Centre, widths and log volume of the rule that a row would found."""
    scratch = measured(made, row)
    log_volume = sketch_rule(made.layer(), row, label, made.settings, scratch)
    return scratch.candidate_center.copy(), scratch.candidate_width.copy(), log_volume


def ready_to_grow(rng: np.random.Generator, **changes: object) -> tuple[Stack, Floats]:
    """A layer with one small rule, and a far row that earns one; slots 1 and 2 are free."""
    made = stack(2, 2, slots=3, vigilance=0.3, **changes)
    made.learn(batch_of(0.5 + 0.01 * rng.normal(size=(80, 2)), rng.integers(0, 2, 80)))
    row = np.array([0.9, 0.95])
    assert made.layer().status.tolist() == [ACTIVE, FREE, FREE]
    return made, row


def archive_near(made: Stack, slot: int, row: Floats) -> None:
    """Put an archived rule around a row that recent rows lie close to; others are spread out."""
    layer = made.layer()
    fill_rule(layer, slot, np.random.default_rng(slot), is_archived=True)
    layer.centers[slot] = row
    layer.potentials[slot] = [100.0, 0.0]
    layer.density_cov[:] = 0.5 * np.eye(2)


def test_the_nearest_rules_are_those_of_smallest_euclidean_distance(
    rng: np.random.Generator,
) -> None:
    made = filled_stack(rng, 3, 2, (6,))
    layer = made.layer()
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


def test_a_row_clear_of_all_rules_becomes_the_centre() -> None:
    made = with_rules([[0.1, 0.1], [0.9, 0.2]], [0, 1])
    row = np.array([0.6, 0.9])
    center, widths, log_volume = sketched(made, row, 0)
    np.testing.assert_allclose(center, row)
    np.testing.assert_allclose(widths, [0.5, 0.8])  # up to the rule of its own class
    assert log_volume == pytest.approx(np.log(0.5 * 0.8))


def test_a_clear_row_of_a_new_class_reaches_to_the_nearest_rule() -> None:
    made = with_rules([[0.1, 0.1], [0.7, 0.2]], [0, 0])
    center, widths, _ = sketched(made, np.array([0.6, 0.9]), 1)
    np.testing.assert_allclose(center, [0.6, 0.9])
    np.testing.assert_allclose(widths, [0.1, 0.7])


def test_class_overlap_pushes_the_centre_away_from_the_foreign_rule() -> None:
    made = with_rules([[0.2, 0.2], [0.6, 0.6]], [0, 1], width=0.2)
    row = np.array([0.5, 0.7])  # among rows of class 1, but of class 0
    center, widths, _ = sketched(made, row, 0)
    pushed = row + 0.1 * (row - [0.6, 0.6])
    shrink = np.hypot(0.1, 0.1) / np.hypot(0.3, 0.5)
    np.testing.assert_allclose(center, pushed)
    np.testing.assert_allclose(widths, shrink * np.abs(pushed - [0.6, 0.6]))


def test_rule_overlap_pushes_the_centre_away_from_its_own_rule() -> None:
    made = with_rules([[0.2, 0.2], [0.6, 0.6]], [0, 1], width=0.2)
    row = np.array([0.3, 0.3])
    center, widths, _ = sketched(made, row, 0)
    pushed = row + 0.1 * (row - [0.2, 0.2])
    np.testing.assert_allclose(center, pushed)
    np.testing.assert_allclose(widths, np.abs(pushed - [0.2, 0.2]))  # the foreign rule is farther


def test_an_overlapping_rule_shrinks_to_a_tenth_at_most() -> None:
    made = with_rules([[0.0, 0.0], [0.9, 0.9]], [0, 1], width=0.3)
    row = np.array([0.85, 0.86])
    center, widths, _ = sketched(made, row, 0)
    np.testing.assert_allclose(widths, np.maximum(0.1 * np.abs(center - 0.9), FLOOR))


@pytest.mark.parametrize("label", [0, 1])
def test_overlap_without_rules_of_both_kinds_counts_as_clear(label: int) -> None:
    # The text may also be read to push the centre away from the one rule that there is.
    made = with_rules([[0.2, 0.2]], [0], width=0.3)
    row = np.array([0.4, 0.5])
    center, widths, _ = sketched(made, row, label)
    np.testing.assert_allclose(center, row)
    np.testing.assert_allclose(widths, row - 0.2)


def test_no_width_falls_below_the_floor() -> None:
    made = with_rules([[0.2, 0.2], [0.9, 0.9]], [0, 1], width=0.05)
    center, widths, log_volume = sketched(made, np.array([0.6, 0.2]), 0)
    np.testing.assert_allclose(center, [0.6, 0.2])
    np.testing.assert_allclose(widths, [0.4, FLOOR])
    assert log_volume == pytest.approx(np.log(0.4 * FLOOR))


def test_an_input_switched_off_is_taken_from_the_reference_rule() -> None:
    made = with_rules([[0.2, 0.3], [0.9, 0.9]], [0, 1], width=0.05)
    made.layer().input_mask[1] = False
    center, widths, _ = sketched(made, np.array([0.6, 0.7]), 0)
    np.testing.assert_allclose(center, [0.6, 0.3])
    np.testing.assert_allclose(widths, [0.4, 0.05])


def test_sketches_equal_the_slow_twin(rng: np.random.Generator) -> None:
    for _ in range(20):
        made = filled_stack(rng, 3, 3, (5,))
        layer = made.layer()
        layer.class_weights[:] = [4.0, 0.0, 7.0]
        layer.class_means[:] = rng.random((3, 3))
        layer.class_variances[:] = 0.1 * rng.random((3, 3))
        slow = slow_copy(layer, made.settings)
        for row in rng.uniform(-0.5, 1.5, (10, 3)):
            label = int(rng.integers(3))
            center, widths, _ = sketched(made, row, label)
            expected = slow.sketch(row, label, slow.distances(row))
            np.testing.assert_allclose(center, expected[0], rtol=1e-10)
            np.testing.assert_allclose(widths, expected[1], rtol=1e-10)


@pytest.mark.parametrize("level", [0.0, 800.0, -800.0])
def test_the_volume_check_compares_shares_of_the_whole_volume(
    rng: np.random.Generator, level: float
) -> None:
    made = filled_stack(rng, 2, 2, (4,))
    for _ in range(20):
        logs = rng.normal(size=4)
        made.layer().log_volumes[:] = logs + level
        share = np.exp(logs[1]) / np.exp(logs).sum()
        assert holds_most_volume(made.layer(), 1, np.log(0.3)) == (share > 0.3)


def test_a_lone_rule_holds_all_volume(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1,))
    assert holds_most_volume(made.layer(), 0, np.log(0.9999))


def test_the_first_rule_has_the_configured_precision_and_no_opinion() -> None:
    made = stack(2, 3, first_precision=4.0, initial_gain=7.0)
    layer, scratch = made.layer(), made.scratch
    layer.consequents.fill(9.0)
    row = np.array([0.3, np.nan])
    mark_present(layer, row, scratch)
    found_first_rule(layer, row, 1, made.settings, scratch)
    np.testing.assert_array_equal(layer.centers[0], [0.3, 0.5])
    np.testing.assert_allclose(layer.inverse_covs[0], 4.0 * np.eye(2))
    np.testing.assert_allclose(layer.covs[0], 0.25 * np.eye(2))
    assert layer.log_volumes[0] == pytest.approx(2.0 * np.log(0.5))
    assert (layer.consequents[0] == 0.0).all()
    np.testing.assert_array_equal(layer.gain_covs[0], 7.0 * np.eye(5))
    assert layer.populations[0] == 1.0
    assert layer.status.tolist() == [ACTIVE, FREE]


def test_one_row_is_enough_for_a_rule_and_the_last_rule_stays(rng: np.random.Generator) -> None:
    made = stack(2, 2)
    made.learn(batch_of(rng.random((1, 2)), np.zeros(1)))
    assert (made.layer().status == ACTIVE).sum() == 1
    made.learn(batch_of(rng.random((200, 2)), rng.integers(0, 2, 200)))
    assert (made.layer().status == ACTIVE).sum() >= 1


def test_a_new_rule_starts_from_the_winners_consequents(rng: np.random.Generator) -> None:
    made, row = ready_to_grow(rng, later_gain=3.0)
    layer, scratch = made.layer(), measured(made, row)
    slow = slow_copy(layer, made.settings)
    center, widths = slow.sketch(row, 0, slow.distances(row))
    rule, kind, numbers = grow_rule(layer, 0, row, 0, made.settings, scratch)
    assert (rule, kind) == (1, BORN_EVENT)
    assert layer.status.tolist() == [ACTIVE, ACTIVE, FREE]
    np.testing.assert_array_equal(layer.consequents[1], layer.consequents[0])
    np.testing.assert_array_equal(layer.gain_covs[1], 3.0 * np.eye(5))
    np.testing.assert_allclose(layer.centers[1], center)
    np.testing.assert_allclose(layer.covs[1], np.diag(widths**2))
    np.testing.assert_allclose(layer.inverse_covs[1], np.diag(widths**-2.0))
    assert layer.log_volumes[1] == pytest.approx(np.log(widths).sum())
    assert layer.populations[1] == 1.0 and layer.ages[1] == 0
    assert numbers[2] == pytest.approx(np.log(widths).sum())
    assert numbers[3] == pytest.approx(scratch.distances[0])


def test_nothing_grows_during_warm_up(rng: np.random.Generator) -> None:
    made, row = ready_to_grow(rng)
    made.layer().counters[USED] = 5  # as many as the consequents have weights
    rule, _, _ = grow_rule(made.layer(), 0, row, 0, made.settings, measured(made, row))
    assert rule == -1
    made.layer().counters[USED] += 1
    rule, _, _ = grow_rule(made.layer(), 0, row, 0, made.settings, measured(made, row))
    assert rule == 1


def test_a_row_with_a_missing_value_founds_no_rule(rng: np.random.Generator) -> None:
    made, row = ready_to_grow(rng)
    row[1] = np.nan
    rule, _, _ = grow_rule(made.layer(), 0, row, 0, made.settings, measured(made, row))
    assert rule == -1


def test_a_row_amid_the_rules_founds_none(rng: np.random.Generator) -> None:
    made, _ = ready_to_grow(rng)
    row = made.layer().centers[0] + 1e-3
    rule, _, _ = grow_rule(made.layer(), 0, row, 0, made.settings, measured(made, row))
    assert rule == -1


def test_there_are_never_more_rules_than_allowed(rng: np.random.Generator) -> None:
    made, row = ready_to_grow(rng, max_rules=1)
    rule, _, _ = grow_rule(made.layer(), 0, row, 0, made.settings, measured(made, row))
    assert rule == -1


def test_growing_can_be_switched_off(rng: np.random.Generator) -> None:
    made, row = ready_to_grow(rng, rule_growing=False)
    made.learn(batch_of(row[None], np.zeros(1)))
    assert made.layer().status.tolist() == [ACTIVE, FREE, FREE]


def test_an_archived_rule_comes_back_with_identical_weights(rng: np.random.Generator) -> None:
    made, row = ready_to_grow(rng)
    archive_near(made, 1, row)
    layer, before = made.layer(), made.copy().layer()
    rule, kind, _ = grow_rule(layer, 0, row, 0, made.settings, measured(made, row))
    assert (rule, kind) == (1, RECALLED_EVENT)
    assert layer.status.tolist() == [ACTIVE, ACTIVE, FREE]
    for name in ("centers", "covs", "inverse_covs", "log_volumes", "consequents", "gain_covs"):
        np.testing.assert_array_equal(getattr(layer, name), getattr(before, name))
    assert layer.populations[1] == before.populations[1]
    assert layer.ages[1] == 0
    assert layer.counters[RECALLED] == 1


def test_of_two_archived_rules_the_one_of_higher_potential_returns(
    rng: np.random.Generator,
) -> None:
    made, row = ready_to_grow(rng)
    archive_near(made, 1, row)
    archive_near(made, 2, row)
    made.layer().potentials[1] = [100.0, 5.0]
    rule, kind, _ = grow_rule(made.layer(), 0, row, 0, made.settings, measured(made, row))
    assert (rule, kind) == (2, RECALLED_EVENT)


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
    rule, kind, _ = grow_rule(made.layer(), 0, row, 0, made.settings, measured(made, row))
    assert (rule, kind) == (2, BORN_EVENT)
    assert made.layer().status.tolist() == [ACTIVE, ARCHIVED, ACTIVE]


def test_recall_keeps_to_the_largest_number_of_rules(rng: np.random.Generator) -> None:
    # A rule is recalled where one would be created, and at the limit none would be.
    made, row = ready_to_grow(rng, max_rules=1)
    archive_near(made, 1, row)
    rule, _, _ = grow_rule(made.layer(), 0, row, 0, made.settings, measured(made, row))
    assert rule == -1
    assert made.layer().status.tolist() == [ACTIVE, ARCHIVED, FREE]


def test_the_potential_of_fresh_sums_is_one(rng: np.random.Generator) -> None:
    layer = filled_stack(rng, 2, 2, (1,)).layer()
    layer.potentials[0] = [1.0, 0.0]
    assert potential(layer, 0) == 1.0
    layer.potentials[0] = [3.0, 9.0]
    assert potential(layer, 0) == pytest.approx(0.5)
