"""Boxes: which rule holds, evidence for a split, and what becomes of the two halves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import count
from concept_build import (
    FIRST_FREE,
    add_rule,
    copied,
    diary_for,
    dirty_work,
    fill_rule,
    fresh,
    halve,
    lessons_of,
    random_halvings,
)
from concept_parts import capped, contrasts_of, cut_evidence
from concept_same import assert_same_rule, members_of, slow_rule
from devfnn.kernels.boxes import (
    best_cut,
    bin_bounds,
    contrast,
    evidence_of_cut,
    gather_evidence,
    holding_rule,
    note_row,
    split_rule,
)
from devfnn.kernels.concept_state import (
    BOX_LAYER,
    CALM_CURVE,
    CLOUD_LAYER,
    DROPPED_LINE,
    FIRST_KEPT,
    INDEPENDENCE,
    LINE,
    LIVELY_CURVE,
    NO_LAYER,
    NO_OWNER,
    QUICK_LINE,
    SPLIT_LINE,
    Concepts,
)
from devfnn.kernels.concepts import learn_chunk
from devfnn.kernels.pool import copy_rule, free_rule
from devfnn.arrays import Floats, Ints
from devfnn.model.concepts.state import unpacked

POOLED = (
    *("lows", "highs", "weights", "gains", "evidence", "crossings", "ages", "means", "variances"),
)
"""Fields of a rule besides its classes and its owner."""


def holders(state: Concepts, row: Floats) -> list[int]:
    """All boxes that hold a row, by definition."""
    own = members_of(state, BOX_LAYER)
    return [
        rule for rule in own if (row > state.lows[rule]).all() and (row <= state.highs[rule]).all()
    ]


# ---- which rule holds


@settings(deadline=None, max_examples=count(60, 20))
@given(st.integers(0, 10**6), st.integers(0, 12))
def test_exactly_one_box_holds_a_row(seed: int, times: int) -> None:
    rng = np.random.default_rng(seed)
    state, _ = fresh(3, 2, 12)
    random_halvings(state, BOX_LAYER, times, rng)
    edges = state.highs[np.isfinite(state.highs)]
    for row in rng.uniform(-0.3, 1.3, (20, 3)):
        if edges.size and rng.random() < 0.5:
            row[:2] = rng.choice(edges, 2)  # on the border of two boxes
        assert holders(state, row) == [holding_rule(state, BOX_LAYER, row)]


def test_a_border_belongs_to_the_lower_box() -> None:
    state, _ = fresh(2, 2)
    above = halve(state, BOX_LAYER, 1, 0.5)
    assert holding_rule(state, BOX_LAYER, np.array([0.9, 0.5])) == BOX_LAYER
    assert holding_rule(state, BOX_LAYER, np.array([0.1, np.nextafter(0.5, 1.0)])) == above


def test_absent_features_lie_in_every_box() -> None:
    state, _ = fresh(2, 2)
    right = halve(state, BOX_LAYER, 0, 0.5)
    upper = halve(state, right, 1, 0.5)
    assert holding_rule(state, BOX_LAYER, np.array([0.9, np.nan])) == right
    assert holding_rule(state, BOX_LAYER, np.array([np.nan, 0.9])) == BOX_LAYER
    assert holding_rule(state, BOX_LAYER, np.array([0.9, 0.9])) == upper
    assert holding_rule(state, BOX_LAYER, np.full(2, np.nan)) == BOX_LAYER


def test_the_first_rule_holds_what_no_box_does() -> None:
    state, _ = fresh(2, 2)
    state.highs[BOX_LAYER, 0] = 0.2
    add_rule(state, BOX_LAYER, np.array([0.8, -np.inf]), np.array([np.inf, np.inf]))
    assert holding_rule(state, BOX_LAYER, np.array([0.5, 0.5])) == BOX_LAYER


# ---- evidence


def test_contrasts_are_the_bits_of_a_class() -> None:
    own = [[contrast(k, q) for k in range(8)] for q in range(3)]
    np.testing.assert_array_equal(own, contrasts_of(3, 8))
    assert len({tuple(column) for column in np.transpose(own)}) == 8  # tell all classes apart


def test_bins_lie_in_the_box_and_in_the_unit_interval() -> None:
    assert bin_bounds(-np.inf, np.inf) == (0.0, 1.0)
    assert bin_bounds(0.25, 0.5) == (0.25, 0.5)
    assert bin_bounds(-0.3, 1.2) == (0.0, 1.0)


@pytest.mark.parametrize("m", [2, 3, 6])
def test_the_evidence_is_residuals_and_variances_by_bin(rng: np.random.Generator, m: int) -> None:
    state, _ = fresh(2, m)
    state.lows[BOX_LAYER, 1], state.highs[BOX_LAYER, 1] = 0.25, 0.75
    rows = np.column_stack([rng.uniform(-0.2, 1.2, 300), rng.uniform(0.25, 0.75, 300)])
    labels, said = rng.integers(0, m, 300), rng.dirichlet(np.ones(m), 300)
    for row, label, shares in zip(rows, labels, said, strict=True):
        gather_evidence(state, BOX_LAYER, row, label, shares)
    sides = contrasts_of(state.evidence.shape[3], m)
    expected = said @ sides.T
    news = np.stack([sides[:, labels].T - expected, 1.0 - expected**2], axis=-1)
    lows, widths = np.array([0.0, 0.25]), np.array([1.0, 0.5])
    places = np.clip(np.floor(8.0 * (rows - lows) / widths), 0, 7)
    for j in range(2):
        for b in range(8):
            own = state.evidence[BOX_LAYER, j, b]
            np.testing.assert_allclose(own, news[places[:, j] == b].sum(axis=0), atol=1e-4)
    assert (state.evidence[:BOX_LAYER] == 0.0).all()


def test_absent_features_and_boxes_outside_gather_nothing() -> None:
    state, _ = fresh(3, 2)
    state.lows[BOX_LAYER, 2] = 1.0
    gather_evidence(state, BOX_LAYER, np.array([0.5, np.nan, 1.05]), 1, np.array([0.5, 0.5]))
    own = np.abs(state.evidence[BOX_LAYER]).sum(axis=(1, 2, 3))
    np.testing.assert_array_equal(own, [2.0, 0.0, 0.0])


def test_the_evidence_of_a_cut_equals_the_direct_computation(rng: np.random.Generator) -> None:
    for n_contrasts in (1, 2, 3):
        bins = np.stack([rng.normal(scale=5.0, size=(8, n_contrasts))] * 2, axis=-1)
        bins[..., 1] = rng.uniform(5.0, 40.0, (8, n_contrasts))
        for place in range(7):
            left, right = bins[: place + 1].sum(axis=0), bins[place + 1 :].sum(axis=0)
            gained = evidence_of_cut(bins.astype(np.float32), place)
            assert gained == pytest.approx(cut_evidence(left, right), rel=1e-4, abs=1e-4)
            assert gained > 0.0


def test_a_side_that_saw_little_is_no_evidence() -> None:
    bins = np.zeros((8, 1, 2), np.float32)
    bins[0, 0], bins[7, 0] = (15.0, 19.0), (-15.0, 200.0)
    assert evidence_of_cut(bins, 0) == 0.0
    bins[0, 0, 1] = 21.0
    assert evidence_of_cut(bins, 0) > 5.0


def test_the_evidence_is_the_likelihood_that_a_step_gains(rng: np.random.Generator) -> None:
    said, labels = 0.5, (rng.random(4000) < np.repeat([0.45, 0.55], 2000)).astype(np.int64)
    state, _ = fresh(1, 2)
    places = np.repeat([0.2, 0.8], 2000)
    for place, label in zip(places, labels, strict=True):
        gather_evidence(state, BOX_LAYER, np.array([place]), label, np.array([1 - said, said]))
    shares = labels.reshape(2, 2000).mean(axis=1)
    both = labels.mean()
    entropies = [p * np.log(p) + (1 - p) * np.log(1 - p) for p in (*shares, both)]
    gained = 2.0 * 2000.0 * (entropies[0] + entropies[1] - 2.0 * entropies[2])
    assert evidence_of_cut(state.evidence[BOX_LAYER, 0], 3) == pytest.approx(gained, rel=0.05)


def test_the_best_cut_is_the_best_of_all(rng: np.random.Generator) -> None:
    state, _ = fresh(3, 3)
    for _ in range(20):
        fill_rule(state, BOX_LAYER, rng)
        state.evidence[BOX_LAYER, ..., 0] *= 5.0
        state.evidence[BOX_LAYER, ..., 1] *= 5.0
        state.crossings[BOX_LAYER] *= rng.choice([5.0, 100.0])
        gained, feature, place = slow_rule(state, BOX_LAYER).best_cut()
        own = best_cut(state, BOX_LAYER)
        assert own[:2] == (feature, place)
        assert own[2] == pytest.approx(gained, rel=1e-4)
    state.evidence[BOX_LAYER], state.crossings[BOX_LAYER] = 0.0, 0.0
    assert best_cut(state, BOX_LAYER)[0] == -1


# ---- splits


def with_step(state: Concepts, feature: int, cut: float, rng: np.random.Generator) -> None:
    """Residuals of an undecided rule on labels that depend on one side of a cut."""
    for row in rng.random((400, state.lows.shape[1])):
        label = int(rng.random() < (0.8 if row[feature] > cut else 0.2))
        gather_evidence(state, BOX_LAYER, row, label, np.array([0.5, 0.5]))


@pytest.mark.parametrize(("feature", "cut"), [(0, 0.375), (1, 0.75), (2, 0.125)])
def test_a_split_happens_at_the_planted_cut(
    rng: np.random.Generator, feature: int, cut: float
) -> None:
    state, habits = fresh(3, 2)
    fill_rule(state, BOX_LAYER, rng)
    state.evidence[BOX_LAYER], state.crossings[BOX_LAYER] = 0.0, 0.0
    with_step(state, feature, cut, rng)
    before, diary = copied(state), diary_for(1)
    most = best_cut(state, BOX_LAYER)[2]
    split_rule(state, BOX_LAYER, BOX_LAYER, 17, habits, diary)
    sibling = FIRST_FREE
    assert diary.n_lines[0] == 1
    assert diary.lines[0].tolist() == [17, SPLIT_LINE, BOX_LAYER, BOX_LAYER, sibling]
    assert diary.numbers[0].tolist() == [feature, cut, most, habits.split_evidence]
    assert state.highs[BOX_LAYER, feature] == state.lows[sibling, feature] == cut
    assert members_of(state, BOX_LAYER) == [BOX_LAYER, sibling]
    assert state.owners[sibling] == BOX_LAYER
    gain = capped(habits.split_doubt * unpacked(before.gains[BOX_LAYER]), state.caps)
    for rule in (BOX_LAYER, sibling):
        others = np.arange(3) != feature
        np.testing.assert_array_equal(state.lows[rule, others], -np.inf)
        np.testing.assert_array_equal(state.highs[rule, others], np.inf)
        np.testing.assert_array_equal(state.weights[rule], before.weights[BOX_LAYER])
        np.testing.assert_allclose(unpacked(state.gains[rule]), gain, rtol=1e-12)
        np.testing.assert_array_equal(state.evidence[rule], 0.0)
        np.testing.assert_array_equal(state.crossings[rule], 0.0)
        assert state.ages[rule] == 0
        np.testing.assert_array_equal(state.means[rule], before.means[BOX_LAYER])
        halved = 0.5 * before.class_counts[BOX_LAYER]
        np.testing.assert_array_equal(state.class_counts[rule], halved)
    np.testing.assert_array_equal(state.weights[:BOX_LAYER], before.weights[:BOX_LAYER])


def test_the_second_split_stays_inside_the_box(rng: np.random.Generator) -> None:
    state, habits = fresh(2, 2)
    right = halve(state, BOX_LAYER, 0, 0.5)
    for row in np.column_stack([rng.uniform(0.5, 1.0, 400), rng.random(400)]):
        label = int(rng.random() < (0.8 if row[0] > 0.75 else 0.2))
        gather_evidence(state, right, row, label, np.array([0.5, 0.5]))
    split_rule(state, BOX_LAYER, right, 0, habits, diary_for(1))
    sibling = members_of(state, BOX_LAYER)[-1]
    own = [(state.lows[rule, 0], state.highs[rule, 0]) for rule in (BOX_LAYER, right, sibling)]
    assert own == [(-np.inf, 0.5), (0.5, 0.75), (0.75, np.inf)]


def test_too_little_evidence_splits_nothing(rng: np.random.Generator) -> None:
    for m, extra in ((2, 0.0), (3, 4.0), (5, 8.0)):
        state, habits = fresh(2, m)
        fill_rule(state, BOX_LAYER, rng)
        state.evidence[BOX_LAYER, ..., 1] = 10.0
        most = best_cut(state, BOX_LAYER)[2]
        before = copied(state)
        strict = habits._replace(split_evidence=float(most) - extra + 1e-3)
        split_rule(state, BOX_LAYER, BOX_LAYER, 0, strict, diary_for(1))
        for own, old in zip(state, before, strict=True):
            np.testing.assert_array_equal(own, old)
        lax = habits._replace(split_evidence=float(most) - extra - 1e-3)
        split_rule(state, BOX_LAYER, BOX_LAYER, 0, lax, diary_for(1))
        assert state.n_members[BOX_LAYER] == 2


def test_the_evidence_that_a_split_needs_grows_as_rows_are_worth_less(
    rng: np.random.Generator,
) -> None:
    for independence in (1.0, 0.5, 0.1):
        state, habits = fresh(2, 3)
        fill_rule(state, BOX_LAYER, rng)
        state.evidence[BOX_LAYER, ..., 1] = 10.0
        state.course[INDEPENDENCE] = independence
        most = float(best_cut(state, BOX_LAYER)[2])
        for margin, n_rules in ((1e-3, 1), (-1e-3, 2)):
            split_evidence = (most + margin) * independence - 4.0
            diary, asked = diary_for(1), habits._replace(split_evidence=split_evidence)
            split_rule(state, BOX_LAYER, BOX_LAYER, 0, asked, diary)
            assert state.n_members[BOX_LAYER] == n_rules
            assert diary.n_lines[0] == n_rules - 1
        assert diary.numbers[0, 2:].tolist() == [most, pytest.approx(most - 1e-3)]


def test_a_full_pool_refuses_quietly(rng: np.random.Generator) -> None:
    state, habits = fresh(2, 2, room=0)
    assert free_rule(state) == NO_OWNER
    with_step(state, 0, 0.5, rng)
    before, diary = copied(state), diary_for(1)
    split_rule(state, BOX_LAYER, BOX_LAYER, 0, habits, diary)
    for own, old in zip(state, before, strict=True):
        np.testing.assert_array_equal(own, old)
    assert diary.n_lines[0] == 0


def test_kept_layers_make_way_for_a_rule_the_oldest_first(rng: np.random.Generator) -> None:
    state, habits = fresh(2, 2, room=2)
    for place, last_win in ((FIRST_KEPT, 7), (FIRST_KEPT + 1, 3)):
        add_rule(state, place, np.full(2, -np.inf), np.full(2, np.inf))
        state.kinds[place], state.last_wins[place] = LINE, last_win
    with_step(state, 0, 0.5, rng)
    diary = diary_for(1)
    split_rule(state, BOX_LAYER, BOX_LAYER, 0, habits, diary)
    assert diary.lines[:2, 1:3].tolist() == [
        [DROPPED_LINE, FIRST_KEPT + 1],
        [SPLIT_LINE, BOX_LAYER],
    ]
    assert state.kinds[FIRST_KEPT : FIRST_KEPT + 2].tolist() == [LINE, NO_LAYER]
    assert state.owners[FIRST_FREE:].tolist() == [FIRST_KEPT, BOX_LAYER]


def test_a_rule_takes_the_first_free_slot(rng: np.random.Generator) -> None:
    state, _ = fresh(2, 2)
    add_rule(state, BOX_LAYER, np.zeros(2), np.ones(2))
    assert free_rule(state) == FIRST_FREE + 1
    state.owners[2] = NO_OWNER
    assert free_rule(state) == 2


def test_a_copy_is_the_same_in_all_but_its_owner(rng: np.random.Generator) -> None:
    state, _ = fresh(2, 3)
    fill_rule(state, BOX_LAYER, rng)
    state.lows[BOX_LAYER], state.highs[BOX_LAYER] = 0.1, 0.9
    before = copied(state)
    copy = FIRST_FREE + 2
    copy_rule(state, BOX_LAYER, copy)
    for name in (*POOLED, "class_counts"):
        own = getattr(state, name)
        np.testing.assert_array_equal(own[copy], getattr(before, name)[BOX_LAYER])
        np.testing.assert_array_equal(own[:copy], getattr(before, name)[:copy])
        assert not np.array_equal(own[copy], own[copy + 1])
    assert state.owners[copy] == NO_OWNER


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


def learned(rows: Floats, labels: Ints, chunk: int = 300, **changes: object) -> Concepts:
    """A network without clouds and drifts that has learned the rows."""
    state, habits = fresh(2, 2, 30, **({"max_clouds": 0, "growing": False} | changes))
    for start in range(0, len(rows), chunk):
        lessons = lessons_of(rows[start : start + chunk], labels[start : start + chunk])
        outputs = np.full((len(lessons.rows), state.kinds.size, 2), 0.5)
        diary = diary_for(len(lessons.rows))
        learn_chunk(state, lessons, outputs, habits, diary, dirty_work(state))
    return state


def test_rules_are_born_where_labels_jump() -> None:
    for seed in range(count(10, 4)):
        state = learned(*steps(np.random.default_rng(seed), 1200))
        own = members_of(state, BOX_LAYER)
        assert 2 <= len(own) <= 8
        assert np.isinf(state.lows[own, 0]).all()  # never along the first feature
        cuts = set(state.highs[own, 1]) - {np.inf}
        assert cuts & {0.25, 0.5, 0.75}


def test_rules_are_hardly_ever_born_without_need() -> None:
    n_seeds = count(40, 15)
    runs = [learned(*smooth(np.random.default_rng(seed), 900)) for seed in range(n_seeds)]
    assert sum(int(state.n_members[BOX_LAYER]) - 1 for state in runs) <= n_seeds // 15


def test_without_growing_nothing_splits_and_nothing_is_gathered() -> None:
    state = learned(*steps(np.random.default_rng(0), 600), rule_growing=False)
    assert state.n_members.tolist() == [1] * CLOUD_LAYER + [0] * (state.kinds.size - CLOUD_LAYER)
    assert (state.evidence == 0.0).all() and (state.crossings == 0.0).all()


@pytest.mark.parametrize("curve", [LIVELY_CURVE, CALM_CURVE])
def test_single_curves_stay_one_rule_where_the_boxes_split(curve: int) -> None:
    state = learned(*steps(np.random.default_rng(0), 1200), split_evidence=4.0, split_every=30)
    assert state.n_members[BOX_LAYER] > 2
    assert members_of(state, curve) == [curve]
    assert (state.evidence[curve] == 0.0).all() and (state.crossings[curve] == 0.0).all()
    assert state.ages[curve] == 1200
    assert (state.weights[curve] != 0.0).all()  # with the curves


def test_no_more_rules_than_there_is_room_for() -> None:
    state = learned(*steps(np.random.default_rng(0), 1200), max_boxes=2, split_evidence=5.0)
    assert state.n_members[BOX_LAYER] == 2
    assert np.count_nonzero(state.owners == BOX_LAYER) == 2


def test_boxes_still_partition_the_space_after_learning(rng: np.random.Generator) -> None:
    state = learned(*steps(rng, 1200), split_evidence=4.0, split_every=30)
    assert state.n_members[BOX_LAYER] >= 4
    for row in rng.uniform(-0.2, 1.2, (100, 2)):
        assert holders(state, row) == [holding_rule(state, BOX_LAYER, row)]


# ---- rows of a rule


def test_means_variances_and_classes_follow_the_rows(rng: np.random.Generator) -> None:
    state, _ = fresh(3, 3)
    rows, labels = rng.random((200, 3)), rng.integers(0, 3, 200)
    rows[rng.random((200, 3)) < 0.1] = np.nan
    rows[:, 0] = rng.random(200)
    weights, slow = rng.uniform(0.2, 2.0, 200), slow_rule(state, QUICK_LINE)
    for row, label, weight in zip(rows, labels, weights, strict=True):
        note_row(state, QUICK_LINE, row, label, weight)
        slow.note(row, int(label), float(weight))
    assert_same_rule(state, slow, 1e-10)
    assert state.means[QUICK_LINE, 0] == pytest.approx(rows[:, 0].mean())
    assert state.variances[QUICK_LINE, 0] == pytest.approx(rows[:, 0].var())
    expected = [weights[labels == k].sum() for k in range(3)]
    np.testing.assert_allclose(state.class_counts[QUICK_LINE], expected)


def test_the_mean_of_an_old_rule_still_moves() -> None:
    state, _ = fresh(1, 2)
    state.ages[QUICK_LINE], state.means[QUICK_LINE] = 10**6, 0.0
    for _ in range(100):
        note_row(state, QUICK_LINE, np.ones(1), 0, 1.0)
    assert state.means[QUICK_LINE, 0] == pytest.approx(1.0 - 0.999**100)
