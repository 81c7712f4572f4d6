"""Lines, curves and boxes: which rule holds, evidence for a split, the two halves, priors."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import batch_of, only_compiled, only_plain
from devfnn.arrays import Floats, Ints
from devfnn.kernels.boxes import (
    best_crossing,
    best_cut,
    best_step,
    bin_bounds,
    contrast,
    copy_rule,
    evidence_of_cut,
    free_rule,
    gather_crossings,
    gather_evidence,
    holding_rule,
    middle_cut,
    note_row,
    split_rule,
    trust,
    widen_caps,
)
from devfnn.kernels.state import (
    DROPPED_EVENT,
    INDEPENDENCE,
    LINE,
    NO_LAYER,
    NO_OWNER,
    SPLIT_EVENT,
    PoolParams,
    PoolState,
    State,
)
from devfnn.model.layers.pool import unpacked
from rival_build import (
    BOX_LAYER,
    CALM_CURVE,
    CLOUD_LAYER,
    FIRST_FREE,
    FIRST_KEPT,
    LIVELY_CURVE,
    QUICK_LINE,
    RULE_FIELDS,
    STILL,
    add_rule,
    assert_equal,
    chunk_learned,
    copied,
    events_for,
    fill_rule,
    fresh,
    halve,
    lines_of,
    members_of,
    random_halvings,
    random_network,
    said_by,
)
from rival_parts import capped, contrasts_of, cut_evidence
from rival_same import assert_same_rule, slow_rule, unpaired

LEAST_VARIANCE = 20.0
"""The default of what both sides of a cut have seen."""

UNDECIDED = np.array([0.5, 0.5])


def fresh_pool(n: int, m: int, room: int = 8) -> PoolState:
    """The rules of a network that has learned nothing."""
    return fresh(n, m, room)[0].pool


def holders(pool: PoolState, row: Floats) -> list[int]:
    """All boxes that hold a row, by definition."""
    own = members_of(pool, BOX_LAYER)
    return [
        rule for rule in own if (row > pool.lows[rule]).all() and (row <= pool.highs[rule]).all()
    ]


# ---- which rule holds


@only_plain
@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.integers(0, 12))
def test_exactly_one_box_holds_a_row(seed: int, times: int) -> None:
    rng = np.random.default_rng(seed)
    pool = fresh_pool(3, 2, 12)
    random_halvings(pool, BOX_LAYER, times, rng)
    edges = pool.highs[np.isfinite(pool.highs)]
    for row in rng.uniform(-0.3, 1.3, (20, 3)):
        if edges.size and rng.random() < 0.5:
            row[:2] = rng.choice(edges, 2)  # on the border of two boxes
        assert holders(pool, row) == [holding_rule(pool, BOX_LAYER, row)]


@only_plain
def test_a_border_belongs_to_the_lower_box() -> None:
    pool = fresh_pool(2, 2)
    above = halve(pool, BOX_LAYER, 1, 0.5)
    assert holding_rule(pool, BOX_LAYER, np.array([0.9, 0.5])) == BOX_LAYER
    assert holding_rule(pool, BOX_LAYER, np.array([0.1, np.nextafter(0.5, 1.0)])) == above


@only_plain
def test_absent_features_lie_in_every_box() -> None:
    pool = fresh_pool(2, 2)
    right = halve(pool, BOX_LAYER, 0, 0.5)
    upper = halve(pool, right, 1, 0.5)
    assert holding_rule(pool, BOX_LAYER, np.array([0.9, np.nan])) == right
    assert holding_rule(pool, BOX_LAYER, np.array([np.nan, 0.9])) == BOX_LAYER
    assert holding_rule(pool, BOX_LAYER, np.array([0.9, 0.9])) == upper
    assert holding_rule(pool, BOX_LAYER, np.full(2, np.nan)) == BOX_LAYER


@only_plain
def test_the_first_rule_holds_what_no_box_does() -> None:
    pool = fresh_pool(2, 2)
    pool.highs[BOX_LAYER, 0] = 0.2
    add_rule(pool, BOX_LAYER, [0.8, -np.inf])
    assert holding_rule(pool, BOX_LAYER, np.array([0.5, 0.5])) == BOX_LAYER


# ---- evidence


@only_plain
def test_contrasts_are_the_bits_of_a_class() -> None:
    own = [[contrast(k, q) for k in range(8)] for q in range(3)]
    np.testing.assert_array_equal(own, contrasts_of(3, 8))
    assert len({tuple(column) for column in np.transpose(own)}) == 8  # tell all classes apart


@only_plain
def test_bins_lie_in_the_box_and_in_the_unit_interval() -> None:
    assert bin_bounds(-np.inf, np.inf) == (0.0, 1.0)
    assert bin_bounds(0.25, 0.5) == (0.25, 0.5)
    assert bin_bounds(-0.3, 1.2) == (0.0, 1.0)


@only_plain
@pytest.mark.parametrize("m", [2, 3, 6])
def test_the_evidence_is_residuals_and_variances_by_bin(rng: np.random.Generator, m: int) -> None:
    pool = fresh_pool(2, m)
    pool.lows[BOX_LAYER, 1], pool.highs[BOX_LAYER, 1] = 0.25, 0.75
    rows = np.column_stack([rng.uniform(-0.2, 1.2, 300), rng.uniform(0.25, 0.75, 300)])
    labels, said = rng.integers(0, m, 300), rng.dirichlet(np.ones(m), 300)
    for row, label, shares in zip(rows, labels, said, strict=True):
        gather_evidence(pool, BOX_LAYER, row, label, shares)
    sides = contrasts_of(pool.evidence.shape[3], m)
    expected = said @ sides.T
    news = np.stack([sides[:, labels].T - expected, 1.0 - expected**2], axis=-1)
    lows, widths = np.array([0.0, 0.25]), np.array([1.0, 0.5])
    places = np.clip(np.floor(8.0 * (rows - lows) / widths), 0, 7)
    for j in range(2):
        for b in range(8):
            own = pool.evidence[BOX_LAYER, j, b]
            np.testing.assert_allclose(own, news[places[:, j] == b].sum(axis=0), atol=1e-4)
    assert (pool.evidence[:BOX_LAYER] == 0.0).all()


@only_plain
def test_absent_features_and_boxes_outside_gather_nothing() -> None:
    pool = fresh_pool(3, 2)
    pool.lows[BOX_LAYER, 2] = 1.0
    gather_evidence(pool, BOX_LAYER, np.array([0.5, np.nan, 1.05]), 1, UNDECIDED)
    own = np.abs(pool.evidence[BOX_LAYER]).sum(axis=(1, 2, 3))
    np.testing.assert_array_equal(own, [2.0, 0.0, 0.0])


@only_plain
def test_the_evidence_of_a_cut_equals_the_direct_computation(rng: np.random.Generator) -> None:
    for n_contrasts in (1, 2, 3):
        bins = np.stack([rng.normal(scale=5.0, size=(8, n_contrasts))] * 2, axis=-1)
        bins[..., 1] = rng.uniform(5.0, 40.0, (8, n_contrasts))
        for place in range(7):
            left, right = bins[: place + 1].sum(axis=0), bins[place + 1 :].sum(axis=0)
            gained = evidence_of_cut(bins.astype(np.float32), place, LEAST_VARIANCE)
            assert gained == pytest.approx(cut_evidence(left, right), rel=1e-4, abs=1e-4)
            assert gained > 0.0


@only_plain
def test_a_side_that_saw_little_is_no_evidence() -> None:
    bins = np.zeros((8, 1, 2), np.float32)
    bins[0, 0], bins[7, 0] = (15.0, 19.0), (-15.0, 200.0)
    assert evidence_of_cut(bins, 0, LEAST_VARIANCE) == 0.0
    assert evidence_of_cut(bins, 0, 18.0) > 5.0
    bins[0, 0, 1] = 21.0
    assert evidence_of_cut(bins, 0, LEAST_VARIANCE) > 5.0


@only_plain
def test_the_evidence_is_the_likelihood_that_a_step_gains(rng: np.random.Generator) -> None:
    labels = (rng.random(4000) < np.repeat([0.45, 0.55], 2000)).astype(np.int64)
    pool = fresh_pool(1, 2)
    for place, label in zip(np.repeat([0.2, 0.8], 2000), labels, strict=True):
        gather_evidence(pool, BOX_LAYER, np.array([place]), label, UNDECIDED)
    shares = labels.reshape(2, 2000).mean(axis=1)
    entropies = [p * np.log(p) + (1 - p) * np.log(1 - p) for p in (*shares, labels.mean())]
    gained = 2.0 * 2000.0 * (entropies[0] + entropies[1] - 2.0 * entropies[2])
    own = evidence_of_cut(pool.evidence[BOX_LAYER, 0], 3, LEAST_VARIANCE)
    assert own == pytest.approx(gained, rel=0.05)


@only_plain
def test_the_best_cut_is_the_best_of_all(rng: np.random.Generator) -> None:
    pool = fresh_pool(3, 3)
    for _ in range(20):
        fill_rule(pool, BOX_LAYER, rng)
        pool.evidence[BOX_LAYER] *= 5.0
        pool.crossings[BOX_LAYER] *= rng.choice([5.0, 100.0])
        gained, feature, place = slow_rule(pool, BOX_LAYER).best_cut()
        own = best_cut(pool, BOX_LAYER, LEAST_VARIANCE)
        assert own[:2] == (feature, place)
        assert own[2] == pytest.approx(gained, rel=1e-4)
    pool.evidence[BOX_LAYER], pool.crossings[BOX_LAYER] = 0.0, 0.0
    assert best_cut(pool, BOX_LAYER, LEAST_VARIANCE)[0] == -1


# ---- crossings


def chessboard(rng: np.random.Generator, n_rows: int, n: int = 2) -> tuple[Floats, Ints]:
    """Rows whose class says whether the last two features lie on the same side of the middle."""
    rows = rng.random((n_rows, n))
    likely = np.where((rows[:, -2] > 0.5) == (rows[:, -1] > 0.5), 0.9, 0.1)
    return rows, (rng.random(n_rows) < likely).astype(np.int64)


def undecided_on(rows: Floats, labels: Ints) -> PoolState:
    """A rule that has seen rows, and could not say anything about them."""
    pool = fresh_pool(rows.shape[1], 2)
    for row, label in zip(rows, labels, strict=True):
        gather_evidence(pool, BOX_LAYER, row, label, UNDECIDED)
    return pool


def crossing_of(pool: PoolState) -> tuple[int, int, float]:
    """The best crossing of the boxes' first rule."""
    return best_crossing(pool.crossings[BOX_LAYER], pool.evidence[BOX_LAYER])


@only_plain
@pytest.mark.parametrize("m", [2, 3, 6])
def test_crossings_are_residuals_times_both_sides(rng: np.random.Generator, m: int) -> None:
    pool = fresh_pool(4, m)
    pool.means[BOX_LAYER] = [0.3, 0.5, 0.5, 0.8]
    rows = rng.random((200, 4))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    labels, said = rng.integers(0, m, 200), rng.dirichlet(np.ones(m), 200)
    for row, label, shares in zip(rows, labels, said, strict=True):
        gather_evidence(pool, BOX_LAYER, row, label, shares)
    sides = contrasts_of(pool.crossings.shape[2], m)
    residuals = sides[:, labels].T - said @ sides.T
    signs = np.sign(np.nan_to_num(rows - pool.means[BOX_LAYER], nan=0.0))
    own = unpaired(pool.crossings[BOX_LAYER])
    for j in range(4):
        for k in range(4):
            turned = (signs[:, j] * signs[:, k]) @ residuals if j != k else np.zeros(len(sides))
            np.testing.assert_allclose(own[j, k], turned, atol=1e-3)


@only_plain
def test_a_single_feature_crosses_nothing() -> None:
    pool = fresh_pool(1, 2)
    gather_evidence(pool, BOX_LAYER, np.array([0.7]), 1, UNDECIDED)
    assert pool.crossings[BOX_LAYER].shape == (0, 1)
    assert crossing_of(pool) == (-1, -1, 0.0)


@only_plain
def test_the_pairs_of_a_feature_follow_each_other() -> None:
    crossings = np.zeros(6, np.float32)
    gather_crossings(crossings, np.array([0.9, 0.9, np.nan, 0.1]), np.full(4, 0.5), 2.0)
    assert crossings.tolist() == [2.0, 0.0, 0.0, -2.0, -2.0, 0.0]


@only_plain
def test_a_chessboard_is_found_that_no_step_shows(rng: np.random.Generator) -> None:
    pool = undecided_on(*chessboard(rng, 600, 3))
    assert best_step(pool, BOX_LAYER, LEAST_VARIANCE)[2] < 15.0
    first, second, gained = crossing_of(pool)
    assert (first, second) == (2, 1)
    assert gained > 200.0
    feature, place, most = best_cut(pool, BOX_LAYER, LEAST_VARIANCE)
    assert feature in (1, 2) and place == 3 and most == gained


@only_plain
def test_of_two_features_that_cross_the_one_with_less_of_a_step_is_cut(
    rng: np.random.Generator,
) -> None:
    pool = undecided_on(*chessboard(rng, 600))
    for feature in (0, 1):
        pool.evidence[BOX_LAYER, ..., 0] = 0.0
        pool.evidence[BOX_LAYER, feature, 4:, 0, 0] = 5.0  # a step, but a lesser one
        assert best_cut(pool, BOX_LAYER, LEAST_VARIANCE)[0] == 1 - feature


@only_plain
def test_a_feature_that_both_sides_have_hardly_seen_is_not_cut(rng: np.random.Generator) -> None:
    pool = undecided_on(*chessboard(rng, 600))
    for feature in (0, 1):
        sparse = pool.evidence.copy()
        pool.evidence[BOX_LAYER, feature, 4:, 0, 1] = 1.0
        assert best_cut(pool, BOX_LAYER, LEAST_VARIANCE)[0] == 1 - feature
        pool.evidence[:] = sparse
    pool.evidence[BOX_LAYER, :, 4:, 0, 1] = 1.0
    step = best_step(pool, BOX_LAYER, LEAST_VARIANCE)
    assert best_cut(pool, BOX_LAYER, LEAST_VARIANCE) == step


@only_plain
def test_the_cut_lies_next_to_the_mean() -> None:
    pool = fresh_pool(2, 2)
    for mean, place in ((0.0, 0), (0.18, 0), (0.2, 1), (0.5, 3), (0.95, 6), (1.3, 6)):
        pool.means[BOX_LAYER, 1] = mean
        assert middle_cut(pool, BOX_LAYER, 1) == place
    pool.lows[BOX_LAYER, 1], pool.means[BOX_LAYER, 1] = 0.5, 0.76
    assert middle_cut(pool, BOX_LAYER, 1) == 3
    pool.lows[BOX_LAYER, 1] = 1.0  # outside the bins
    assert middle_cut(pool, BOX_LAYER, 1) == 0


@only_plain
def test_more_pairs_have_to_show_more(rng: np.random.Generator) -> None:
    found = []
    for n in (2, 4, 12):
        rows, labels = chessboard(rng, 400, 2)
        pool = undecided_on(np.column_stack([np.full((400, n - 2), np.nan), rows]), labels)
        own = slow_rule(pool, BOX_LAYER)
        residual, variance = own.evidence[-1, :, 0].sum(axis=0)
        total = (own.crossings[-1, -2, 0] ** 2 - residual**2) / (variance + 1.0)
        found.append(total - crossing_of(pool)[2])
    np.testing.assert_allclose(found, 2.0 * np.log([1, 6, 66]), atol=1e-3)


@only_plain
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_two_copies_of_a_feature_do_not_turn_a_bias_into_evidence(
    rng: np.random.Generator, sign: float
) -> None:
    values = rng.random(300)
    rows = np.column_stack([values, 0.5 + sign * (values - 0.5)])
    pool = undecided_on(rows, (rng.random(300) < 0.8).astype(np.int64))
    assert abs(float(pool.crossings[BOX_LAYER, 0, 0])) > 100.0
    assert crossing_of(pool)[2] == 0.0


@only_plain
def test_without_crossings_there_is_no_room_for_them(rng: np.random.Generator) -> None:
    state, params = fresh(3, 2, boxes__crossings=False)
    pool = state.pool
    for row, label in zip(*chessboard(rng, 600, 3), strict=True):
        gather_evidence(pool, BOX_LAYER, row, label, UNDECIDED)
    assert pool.crossings.shape[1] == 0
    step = best_step(pool, BOX_LAYER, LEAST_VARIANCE)
    assert best_cut(pool, BOX_LAYER, LEAST_VARIANCE) == step
    split_rule(state, BOX_LAYER, BOX_LAYER, 0, params, events_for(1))
    assert pool.n_members[BOX_LAYER] == 1


# ---- splits


def with_step(pool: PoolState, feature: int, cut: float, rng: np.random.Generator) -> None:
    """Residuals of an undecided rule on labels that depend on one side of a cut."""
    for row in rng.random((400, pool.lows.shape[1])):
        label = int(rng.random() < (0.8 if row[feature] > cut else 0.2))
        gather_evidence(pool, BOX_LAYER, row, label, UNDECIDED)


@only_plain
@pytest.mark.parametrize(("feature", "cut"), [(0, 0.375), (1, 0.75), (2, 0.125)])
def test_a_split_happens_at_the_planted_cut(
    rng: np.random.Generator, feature: int, cut: float
) -> None:
    state, params = fresh(3, 2)
    pool = state.pool
    fill_rule(pool, BOX_LAYER, rng)
    pool.evidence[BOX_LAYER], pool.crossings[BOX_LAYER] = 0.0, 0.0
    with_step(pool, feature, cut, rng)
    before, events = copied(pool), events_for(1)
    most = best_cut(pool, BOX_LAYER, LEAST_VARIANCE)[2]
    split_rule(state, BOX_LAYER, BOX_LAYER, 17, params, events)
    sibling = FIRST_FREE
    assert lines_of(events) == [[17, SPLIT_EVENT, BOX_LAYER, BOX_LAYER, sibling]]
    assert events.numbers[0].tolist() == [feature, cut, most, params.pool.split_evidence]
    assert pool.highs[BOX_LAYER, feature] == pool.lows[sibling, feature] == cut
    assert members_of(pool, BOX_LAYER) == [BOX_LAYER, sibling]
    assert pool.owners[sibling] == BOX_LAYER
    gain = capped(params.pool.split_doubt * unpacked(before.gains[BOX_LAYER]), pool.caps)
    for rule in (BOX_LAYER, sibling):
        others = np.arange(3) != feature
        np.testing.assert_array_equal(pool.lows[rule, others], -np.inf)
        np.testing.assert_array_equal(pool.highs[rule, others], np.inf)
        np.testing.assert_array_equal(pool.weights[rule], before.weights[BOX_LAYER])
        np.testing.assert_allclose(unpacked(pool.gains[rule]), gain, rtol=1e-12)
        np.testing.assert_array_equal(pool.evidence[rule], 0.0)
        np.testing.assert_array_equal(pool.crossings[rule], 0.0)
        assert pool.ages[rule] == 0
        np.testing.assert_array_equal(pool.means[rule], before.means[BOX_LAYER])
        halved = 0.5 * before.class_counts[BOX_LAYER]
        np.testing.assert_array_equal(pool.class_counts[rule], halved)
    np.testing.assert_array_equal(pool.weights[:BOX_LAYER], before.weights[:BOX_LAYER])


@only_plain
def test_the_second_split_stays_inside_the_box(rng: np.random.Generator) -> None:
    state, params = fresh(2, 2)
    pool = state.pool
    right = halve(pool, BOX_LAYER, 0, 0.5)
    for row in np.column_stack([rng.uniform(0.5, 1.0, 400), rng.random(400)]):
        label = int(rng.random() < (0.8 if row[0] > 0.75 else 0.2))
        gather_evidence(pool, right, row, label, UNDECIDED)
    split_rule(state, BOX_LAYER, right, 0, params, events_for(1))
    sibling = members_of(pool, BOX_LAYER)[-1]
    own = [(pool.lows[rule, 0], pool.highs[rule, 0]) for rule in (BOX_LAYER, right, sibling)]
    assert own == [(-np.inf, 0.5), (0.5, 0.75), (0.75, np.inf)]


@only_plain
@pytest.mark.parametrize(("m", "extra"), [(2, 0.0), (3, 4.0), (5, 8.0)])
@pytest.mark.parametrize("independence", [1.0, 0.5, 0.1])
def test_the_evidence_that_a_split_needs_grows_with_classes_and_as_rows_are_worth_less(
    rng: np.random.Generator, m: int, extra: float, independence: float
) -> None:
    state, params = fresh(2, m)
    fill_rule(state.pool, BOX_LAYER, rng)
    state.pool.evidence[BOX_LAYER, ..., 1] = 10.0
    state.progress.signals[INDEPENDENCE] = independence
    before = copied(state)
    most = float(best_cut(state.pool, BOX_LAYER, LEAST_VARIANCE)[2])
    for margin, n_rules in ((1e-3, 1), (-1e-3, 2)):
        needed = (most + margin) * independence - extra
        events, asked = events_for(1), params.pool._replace(split_evidence=needed)
        split_rule(state, BOX_LAYER, BOX_LAYER, 0, params._replace(pool=asked), events)
        assert state.pool.n_members[BOX_LAYER] == n_rules
        assert events.count[0] == n_rules - 1
        if margin > 0.0:
            assert_equal(state, before)
    assert events.numbers[0, 2:].tolist() == [most, pytest.approx(most - 1e-3)]


@only_plain
def test_a_full_pool_refuses_quietly(rng: np.random.Generator) -> None:
    state, params = fresh(2, 2, room=0)
    assert free_rule(state.pool) == NO_OWNER
    with_step(state.pool, 0, 0.5, rng)
    before, events = copied(state), events_for(1)
    split_rule(state, BOX_LAYER, BOX_LAYER, 0, params, events)
    assert_equal(state, before)
    assert events.count[0] == 0


@only_plain
def test_kept_layers_make_way_for_a_rule_the_oldest_first(rng: np.random.Generator) -> None:
    state, params = fresh(2, 2, room=2)
    layers = state.layers
    for place, last_win in ((FIRST_KEPT, 7), (FIRST_KEPT + 1, 3)):
        add_rule(state.pool, place)
        layers.kinds[place], layers.last_wins[place] = LINE, last_win
    with_step(state.pool, 0, 0.5, rng)
    events = events_for(1)
    split_rule(state, BOX_LAYER, BOX_LAYER, 0, params, events)
    expected = [[DROPPED_EVENT, FIRST_KEPT + 1], [SPLIT_EVENT, BOX_LAYER]]
    assert [line[1:3] for line in lines_of(events)] == expected
    assert layers.kinds[FIRST_KEPT : FIRST_KEPT + 2].tolist() == [LINE, NO_LAYER]
    assert state.pool.owners[FIRST_FREE:].tolist() == [FIRST_KEPT, BOX_LAYER]


@only_plain
def test_a_rule_takes_the_first_free_slot() -> None:
    pool = fresh_pool(2, 2)
    add_rule(pool, BOX_LAYER)
    assert free_rule(pool) == FIRST_FREE + 1
    pool.owners[2] = NO_OWNER
    assert free_rule(pool) == 2


@only_plain
def test_a_copy_is_the_same_in_all_but_its_owner(rng: np.random.Generator) -> None:
    pool = fresh_pool(2, 3)
    fill_rule(pool, BOX_LAYER, rng)
    pool.lows[BOX_LAYER], pool.highs[BOX_LAYER] = 0.1, 0.9
    before = copied(pool)
    copy = FIRST_FREE + 2
    copy_rule(pool, BOX_LAYER, copy)
    for name in RULE_FIELDS:
        own = getattr(pool, name)
        np.testing.assert_array_equal(own[copy], getattr(before, name)[BOX_LAYER])
        np.testing.assert_array_equal(own[:copy], getattr(before, name)[:copy])
        assert not np.array_equal(own[copy], own[copy + 1])
    assert pool.owners[copy] == NO_OWNER


# ---- learning


def steps(rng: np.random.Generator, n_rows: int) -> tuple[Floats, Ints]:
    """Labels that jump up and down along the second feature: no parabola follows them."""
    rows = rng.random((n_rows, 2))
    likely = np.array([0.1, 0.9, 0.1, 0.9])[np.minimum(4.0 * rows[:, 1], 3.0).astype(np.int64)]
    return rows, (rng.random(n_rows) < likely).astype(np.int64)


def smooth(rng: np.random.Generator, n_rows: int) -> tuple[Floats, Ints]:
    """Labels whose log odds are a parabola: one rule is enough."""
    rows = rng.random((n_rows, 2))
    odds = 3.0 * rows[:, 0] - 1.0 - 4.0 * (rows[:, 1] - 0.5) ** 2
    return rows, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int64)


def learned(rows: Floats, labels: Ints, chunk: int = 300, **changes: Any) -> State:
    """A network without drifts that has learned the rows."""
    state, params = fresh(2, 2, 30, **(STILL | changes))
    for start in range(0, len(rows), chunk):
        batch = batch_of(rows[start : start + chunk], labels[start : start + chunk])
        chunk_learned(state, batch, params)
    return state


EAGER: dict[str, Any] = {"boxes__evidence": 4.0, "boxes__every": 30}


@only_compiled
def test_rules_are_born_where_labels_jump() -> None:
    for seed in range(10):
        pool = learned(*steps(np.random.default_rng(seed), 1200)).pool
        own = members_of(pool, BOX_LAYER)
        assert 2 <= len(own) <= 8
        assert np.isinf(pool.lows[own, 0]).all()  # never along the first feature
        cuts = set(pool.highs[own, 1]) - {np.inf}
        assert cuts & {0.25, 0.5, 0.75}


@only_compiled
def test_rules_are_hardly_ever_born_without_need() -> None:
    n_seeds = 40
    runs = [learned(*smooth(np.random.default_rng(seed), 900)) for seed in range(n_seeds)]
    assert sum(int(state.pool.n_members[BOX_LAYER]) - 1 for state in runs) <= n_seeds // 15


@only_compiled
def test_rules_learn_a_chessboard() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        state, params = fresh(2, 2, 30, **STILL)
        for _ in range(6):
            chunk_learned(state, batch_of(*chessboard(rng, 300)), params)
        own = members_of(state.pool, BOX_LAYER)
        assert len(own) >= 2
        assert 0.5 in state.pool.highs[own]
        rows, labels = chessboard(rng, 1000)
        said = said_by(state, rows, params)
        right = (said.argmax(axis=2) == labels[:, None]).mean(axis=0)
        assert right[BOX_LAYER] > right[:BOX_LAYER].max() + 0.1


def test_without_splitting_there_is_one_rule_and_nothing_is_gathered() -> None:
    state = learned(*steps(np.random.default_rng(0), 600), boxes__splitting=False)
    pool = state.pool
    assert pool.n_members.tolist() == [1] * CLOUD_LAYER + [0]
    assert (pool.evidence == 0.0).all() and (pool.crossings == 0.0).all()


@only_compiled
def test_single_curves_stay_one_rule_where_the_boxes_split() -> None:
    pool = learned(*steps(np.random.default_rng(0), 1200), **EAGER).pool
    assert pool.n_members[BOX_LAYER] > 2
    for curve in (LIVELY_CURVE, CALM_CURVE):
        assert members_of(pool, curve) == [curve]
        assert (pool.evidence[curve] == 0.0).all() and (pool.crossings[curve] == 0.0).all()
        assert pool.ages[curve] == 1200
        assert (pool.weights[curve] != 0.0).all()  # with the curves


@only_compiled
def test_no_more_rules_than_there_is_room_for() -> None:
    pool = learned(*steps(np.random.default_rng(0), 1200), **EAGER, boxes__max_rules=2).pool
    assert pool.n_members[BOX_LAYER] == 2
    assert np.count_nonzero(pool.owners == BOX_LAYER) == 2


@only_plain
def test_boxes_still_partition_the_space_after_learning(rng: np.random.Generator) -> None:
    pool = learned(*steps(rng, 1200), **EAGER).pool
    assert pool.n_members[BOX_LAYER] >= 4
    for row in rng.uniform(-0.2, 1.2, (100, 2)):
        assert holders(pool, row) == [holding_rule(pool, BOX_LAYER, row)]


# ---- rows of a rule


@only_plain
def test_means_variances_and_classes_follow_the_rows(rng: np.random.Generator) -> None:
    pool = fresh_pool(3, 3)
    rows, labels = rng.random((200, 3)), rng.integers(0, 3, 200)
    rows[rng.random((200, 3)) < 0.1] = np.nan
    rows[:, 0] = rng.random(200)
    weights, slow = rng.uniform(0.2, 2.0, 200), slow_rule(pool, QUICK_LINE)
    for row, label, weight in zip(rows, labels, weights, strict=True):
        note_row(pool, QUICK_LINE, row, label, weight)
        slow.note(row, int(label), float(weight))
    assert_same_rule(pool, slow, 1e-10)
    assert pool.means[QUICK_LINE, 0] == pytest.approx(rows[:, 0].mean())
    assert pool.variances[QUICK_LINE, 0] == pytest.approx(rows[:, 0].var())
    expected = [weights[labels == k].sum() for k in range(3)]
    np.testing.assert_allclose(pool.class_counts[QUICK_LINE], expected)


@only_plain
def test_the_mean_of_an_old_rule_still_moves() -> None:
    pool = fresh_pool(1, 2)
    pool.ages[QUICK_LINE], pool.means[QUICK_LINE] = 10**6, 0.0
    for _ in range(100):
        note_row(pool, QUICK_LINE, np.ones(1), 0, 1.0)
    assert pool.means[QUICK_LINE, 0] == pytest.approx(1.0 - 0.999**100)


@only_plain
def test_trust_is_the_probability_that_a_label_is_right() -> None:
    said = np.array([0.7, 0.2, 0.1])
    for label in range(3):
        right = 0.9 * said[label]
        assert trust(said, label, 0.1) == pytest.approx(right / (right + 0.1 / 3.0))
        assert trust(said, label, 0.0) == 1.0
    for noise in (0.0, 0.1):
        assert trust(np.array([1.0, 0.0]), 1, noise) == 0.0


def test_gains_are_checked_every_4096_rows_of_a_rule(rng: np.random.Generator) -> None:
    batch, layers = batch_of(np.array([[0.3, 0.6]]), [1]), list(range(BOX_LAYER))
    for age, is_mended in ((4094, False), (4095, True)):
        state, params = random_network(rng, 2, 2)
        pool = state.pool
        pool.ages[layers] = age
        pool.gains[np.ix_(layers, [1, 3])] = 3.0  # more covariance than variance
        chunk_learned(state, batch, params)
        mended = (pool.gains[np.ix_(layers, [1, 3])] == 0.0).all(axis=1)
        assert mended.tolist() == [is_mended] * BOX_LAYER


# ---- caps: features that use little of their range may have larger weights


def seen(
    variances: list[float], age: int = 100, reach: float = 10.0
) -> tuple[PoolState, PoolParams]:
    """Rules of which the calm curve's has seen features vary so much."""
    state, params = fresh(len(variances), 2, rules__prior=2.0, rules__prior_reach=reach)
    state.pool.variances[CALM_CURVE] = variances
    state.pool.ages[CALM_CURVE] = age
    return state.pool, params.pool


@only_plain
def test_a_feature_that_varies_less_than_evenly_has_a_wider_prior() -> None:
    pool, params = seen([1.0 / 12.0, 1.0 / 36.0, 1e-4, 0.2, 0.0, 1e-7])
    for _ in range(4):
        widen_caps(pool, params)
    factors = [1.0, 3.0, 10.0, 1.0, 1.0, 1.0]  # those of constant features stay
    np.testing.assert_allclose(pool.caps, 2.0 * np.array([1.0, *factors, *factors]))


@only_plain
@pytest.mark.parametrize(
    ("age", "reach", "widens"), [(0, 10, 0), (99, 10, 0), (100, 10, 1), (100, 1, 0)]
)
def test_few_rows_say_nothing_about_a_variance_and_a_reach_of_one_widens_nothing(
    age: int, reach: float, widens: int
) -> None:
    pool, params = seen([1e-4, 1e-3], age, reach)
    widen_caps(pool, params)
    np.testing.assert_array_equal(pool.caps > 2.0, [False] + [bool(widens)] * 4)


@only_plain
def test_caps_never_fall() -> None:
    pool, params = seen([1.0 / 18.0])
    pool.caps[1] = 50.0
    for variance in (1.0 / 18.0, 0.08):
        pool.variances[CALM_CURVE] = variance
        widen_caps(pool, params)
        np.testing.assert_allclose(pool.caps, [2.0, 50.0, 3.0])


@only_plain
def test_caps_rise_step_by_step() -> None:
    """A feature that holds still for a step, or has just begun to vary, looks narrow."""
    pool, params = seen([1e-4])
    caps = []
    for _ in range(5):
        widen_caps(pool, params)
        caps.append(float(pool.caps[1]))
    assert caps == [4.0, 8.0, 16.0, 20.0, 20.0]
