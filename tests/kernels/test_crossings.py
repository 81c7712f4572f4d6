"""Crossings: residuals that turn where two features cross, which no single step shows."""

import numpy as np
import pytest

from build import count
from concept_build import diary_for, dirty_work, fresh, lessons_of
from concept_parts import contrasts_of
from concept_same import members_of, slow_rule, unpaired
from devfnn.kernels.boxes import best_cut, best_step, gather_evidence, middle_cut, split_rule
from devfnn.kernels.concept_state import BOX_LAYER, Concepts
from devfnn.kernels.concepts import forward, learn_chunk
from devfnn.kernels.crossings import best_crossing, gather_crossings
from devfnn.arrays import Floats, Ints

UNDECIDED = np.array([0.5, 0.5])


def chessboard(rng: np.random.Generator, n_rows: int, n: int = 2) -> tuple[Floats, Ints]:
    """Rows whose class says whether the last two features lie on the same side of the middle."""
    rows = rng.random((n_rows, n))
    likely = np.where((rows[:, -2] > 0.5) == (rows[:, -1] > 0.5), 0.9, 0.1)
    return rows, (rng.random(n_rows) < likely).astype(np.int64)


def undecided_on(rows: Floats, labels: Ints) -> Concepts:
    """A rule that has seen rows, and could not say anything about them."""
    state, _ = fresh(rows.shape[1], 2)
    for row, label in zip(rows, labels, strict=True):
        gather_evidence(state, BOX_LAYER, row, label, UNDECIDED)
    return state


@pytest.mark.parametrize("m", [2, 3, 6])
def test_crossings_are_residuals_times_both_sides(rng: np.random.Generator, m: int) -> None:
    state, _ = fresh(4, m)
    state.means[BOX_LAYER] = [0.3, 0.5, 0.5, 0.8]
    rows = rng.random((200, 4))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    labels, said = rng.integers(0, m, 200), rng.dirichlet(np.ones(m), 200)
    for row, label, shares in zip(rows, labels, said, strict=True):
        gather_evidence(state, BOX_LAYER, row, label, shares)
    sides = contrasts_of(state.crossings.shape[2], m)
    residuals = sides[:, labels].T - said @ sides.T
    signs = np.sign(np.nan_to_num(rows - state.means[BOX_LAYER], nan=0.0))
    own = unpaired(state.crossings[BOX_LAYER])
    for j in range(4):
        for k in range(4):
            turned = (signs[:, j] * signs[:, k]) @ residuals if j != k else np.zeros(len(sides))
            np.testing.assert_allclose(own[j, k], turned, atol=1e-3)


def test_a_single_feature_crosses_nothing() -> None:
    state, _ = fresh(1, 2)
    gather_evidence(state, BOX_LAYER, np.array([0.7]), 1, UNDECIDED)
    assert state.crossings[BOX_LAYER].shape == (0, 1)
    assert best_crossing(state.crossings[BOX_LAYER], state.evidence[BOX_LAYER]) == (-1, -1, 0.0)


def test_the_pairs_of_a_feature_follow_each_other() -> None:
    crossings = np.zeros(6, np.float32)
    gather_crossings(crossings, np.array([0.9, 0.9, np.nan, 0.1]), np.full(4, 0.5), 2.0)
    assert crossings.tolist() == [2.0, 0.0, 0.0, -2.0, -2.0, 0.0]


def test_a_chessboard_is_found_that_no_step_shows(rng: np.random.Generator) -> None:
    state = undecided_on(*chessboard(rng, 600, 3))
    assert best_step(state, BOX_LAYER)[2] < 15.0
    first, second, gained = best_crossing(state.crossings[BOX_LAYER], state.evidence[BOX_LAYER])
    assert (first, second) == (2, 1)
    assert gained > 200.0
    feature, place, most = best_cut(state, BOX_LAYER)
    assert feature in (1, 2) and place == 3 and most == gained


def test_of_two_features_that_cross_the_one_with_less_of_a_step_is_cut(
    rng: np.random.Generator,
) -> None:
    rows, labels = chessboard(rng, 600)
    for feature in (0, 1):
        state = undecided_on(rows, labels)
        state.evidence[BOX_LAYER, ..., 0] = 0.0
        state.evidence[BOX_LAYER, feature, 4:, 0, 0] = 5.0  # a step, but a lesser one
        assert best_cut(state, BOX_LAYER)[0] == 1 - feature


def test_a_feature_that_both_sides_have_hardly_seen_is_not_cut(rng: np.random.Generator) -> None:
    state = undecided_on(*chessboard(rng, 600))
    for feature in (0, 1):
        sparse = state.evidence.copy()
        state.evidence[BOX_LAYER, feature, 4:, 0, 1] = 1.0
        assert best_cut(state, BOX_LAYER)[0] == 1 - feature
        state.evidence[:] = sparse
    state.evidence[BOX_LAYER, :, 4:, 0, 1] = 1.0
    assert best_cut(state, BOX_LAYER) == best_step(state, BOX_LAYER)


def test_the_cut_lies_next_to_the_mean() -> None:
    state, _ = fresh(2, 2)
    for mean, place in ((0.0, 0), (0.18, 0), (0.2, 1), (0.5, 3), (0.95, 6), (1.3, 6)):
        state.means[BOX_LAYER, 1] = mean
        assert middle_cut(state, BOX_LAYER, 1) == place
    state.lows[BOX_LAYER, 1], state.means[BOX_LAYER, 1] = 0.5, 0.76
    assert middle_cut(state, BOX_LAYER, 1) == 3
    state.lows[BOX_LAYER, 1] = 1.0  # outside the bins
    assert middle_cut(state, BOX_LAYER, 1) == 0


def test_more_pairs_have_to_show_more(rng: np.random.Generator) -> None:
    found = []
    for n in (2, 4, 12):
        rows, labels = chessboard(rng, 400, 2)
        padded = np.column_stack([np.full((400, n - 2), np.nan), rows])
        state = undecided_on(padded, labels)
        own = slow_rule(state, BOX_LAYER)
        residual, variance = own.evidence[-1, :, 0].sum(axis=0)
        total = (own.crossings[-1, -2, 0] ** 2 - residual**2) / (variance + 1.0)
        gained = best_crossing(state.crossings[BOX_LAYER], state.evidence[BOX_LAYER])[2]
        found.append(total - gained)
    np.testing.assert_allclose(found, 2.0 * np.log([1, 6, 66]), atol=1e-3)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_two_copies_of_a_feature_do_not_turn_a_bias_into_evidence(
    rng: np.random.Generator, sign: float
) -> None:
    values = rng.random(300)
    rows = np.column_stack([values, 0.5 + sign * (values - 0.5)])
    state = undecided_on(rows, (rng.random(300) < 0.8).astype(np.int64))
    assert abs(float(state.crossings[BOX_LAYER, 0, 0])) > 100.0
    assert best_crossing(state.crossings[BOX_LAYER], state.evidence[BOX_LAYER])[2] == 0.0


def test_without_crossings_there_is_no_room_for_them(rng: np.random.Generator) -> None:
    state, habits = fresh(3, 2, crossings=False)
    for row, label in zip(*chessboard(rng, 600, 3), strict=True):
        gather_evidence(state, BOX_LAYER, row, label, UNDECIDED)
    assert state.crossings.shape[1] == 0
    assert best_cut(state, BOX_LAYER) == best_step(state, BOX_LAYER)
    split_rule(state, BOX_LAYER, BOX_LAYER, 0, habits, diary_for(1))
    assert state.n_members[BOX_LAYER] == 1


def test_a_split_on_a_chessboard_forgets_its_crossings(rng: np.random.Generator) -> None:
    state = undecided_on(*chessboard(rng, 600))
    habits = fresh(2, 2)[1]
    split_rule(state, BOX_LAYER, BOX_LAYER, 0, habits, diary_for(1))
    own = members_of(state, BOX_LAYER)
    assert len(own) == 2
    assert (state.crossings[own] == 0.0).all()


def test_rules_learn_a_chessboard() -> None:
    for seed in range(count(6, 3)):
        rng = np.random.default_rng(seed)
        state, habits = fresh(2, 2, 30, max_clouds=0, growing=False)
        for _ in range(6):
            lessons = lessons_of(*chessboard(rng, 300))
            outputs = np.full((300, state.kinds.size, 2), 0.5)
            learn_chunk(state, lessons, outputs, habits, diary_for(300), dirty_work(state))
        own = members_of(state, BOX_LAYER)
        assert len(own) >= 2
        assert 0.5 in state.highs[own]
        rows, labels = chessboard(rng, 1000)
        said = np.zeros((1000, state.kinds.size, 2))
        forward(state, rows, said, dirty_work(state))
        right = (said.argmax(axis=2) == labels[:, None]).mean(axis=0)
        assert right[BOX_LAYER] > right[:BOX_LAYER].max() + 0.1
