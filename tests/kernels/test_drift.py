"""Drift inside the concept network: the test on its errors, and what is kept and started anew."""

import numpy as np
import pytest

from concept_build import add_rule, copied, diary_for, let_rows_repeat, random_network
from concept_same import assert_same, assert_same_lines, members_of, slow_copy
from devfnn.kernels.concept_state import (
    BOX_LAYER,
    BOXES,
    BRISK_LINE,
    CALM_CURVE,
    CLOUD_LAYER,
    CUT_ERRORS,
    CUT_ROWS,
    DRIFT_LINE,
    DROPPED_LINE,
    FIRST_KEPT,
    INDEPENDENCE,
    KEPT_LINE,
    LINE,
    LIVELY_CURVE,
    MEMORY,
    NO_LAYER,
    NO_OWNER,
    QUICK_LINE,
    REFEREE,
    SCORED,
    STEADY_LINE,
    STEPS,
    TRACK_ERRORS,
    TRACK_ROWS,
    Concepts,
    Habits,
)
from devfnn.kernels.drifts import (
    best_of_lasting,
    find_drift,
    keep_layer,
    note_error,
    respond,
    start_anew,
)
from devfnn.kernels.pool import count_free, drop_layer, oldest_kept, place_for_layer
from devfnn.arrays import Ints
from devfnn.model.concepts.state import unpacked
from devfnn.model.mechanisms.drift import ErrorTrack, Level

RULE_FIELDS = (
    "lows",
    "highs",
    "weights",
    "gains",
    "evidence",
    "ages",
    "means",
    "variances",
    "class_counts",
)


def some_errors(rng: np.random.Generator, kind: str) -> Ints:
    """500 errors: rare then frequent, the other way round, always as frequent, or none."""
    chances = {
        "rise": np.repeat([0.1, 0.4], 250),
        "fall": np.repeat([0.4, 0.1], 250),
        "steady": np.full(500, 0.3),
        "waves": 0.25 + 0.2 * np.sin(np.arange(500) / 30.0),
        "none": np.zeros(500),
        "all": np.ones(500),
    }[kind]
    return (rng.random(500) < chances).astype(np.int64)


# ---- the test


@pytest.mark.parametrize("kind", ["rise", "fall", "steady", "waves", "none", "all"])
@pytest.mark.parametrize(("significance", "independence"), [(0.001, 1.0), (0.05, 1.0), (0.05, 0.4)])
def test_the_verdict_is_that_of_an_error_track_row_by_row(
    rng: np.random.Generator, kind: str, significance: float, independence: float
) -> None:
    state, habits = random_network(rng, 2, 2, drift_significance=significance)
    state.course[INDEPENDENCE] = independence
    level = significance ** (1.0 / independence)  # of one row in so many
    track, n_drifts = ErrorTrack(), 0
    for row, error in enumerate(some_errors(rng, kind).tolist()):
        note_error(state.track, error, habits)
        track.extend(np.array([error]), significance)
        expected = [track.rows, track.errors, track.cut_rows, track.cut_errors]
        assert state.track.tolist() == expected
        verdict, diary = track.verdict(level, level, one_sided=True), diary_for(1)
        found = find_drift(state, row, habits, diary)
        assert found == (verdict.level is Level.DRIFT)
        assert diary.n_lines[0] == found
        if found:
            n_drifts += 1
            assert diary.lines[0, :3].tolist() == [row, DRIFT_LINE, 0]
            facts = [verdict.error_before, verdict.error_after, verdict.bound, verdict.cut]
            np.testing.assert_allclose(diary.numbers[0], facts, rtol=1e-12)
            assert state.track.tolist() == [0, 0, 0, 0]
            track = ErrorTrack()
    assert kind != "rise" or n_drifts > 0
    assert kind not in ("none", "all") or n_drifts == 0


def test_the_fewer_rows_are_worth_one_the_sooner_drift_is_seen(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 2, 2, drift_significance=0.001)
    seen = []
    for independence in (1.0, 0.5, 0.2):
        state.course[INDEPENDENCE] = independence
        for after in range(1, 300):
            state.track[:] = [100 + after, 10 + after // 2, 100, 10]
            if find_drift(state, 0, habits, diary_for(1)):
                break
        seen.append(after)
    assert seen[0] < 50 < seen[1] < seen[2] - 30 < 270


def test_places_of_the_track_are_those_of_an_error_track() -> None:
    assert (TRACK_ROWS, TRACK_ERRORS, CUT_ROWS, CUT_ERRORS) == (0, 1, 2, 3)
    names = ["rows", "errors", "cut_rows", "cut_errors"]
    assert list(ErrorTrack.__dataclass_fields__) == names


def test_drifts_are_not_looked_for_if_layers_do_not_grow(rng: np.random.Generator) -> None:
    for growing in (True, False):
        state, habits = random_network(rng, 2, 2, growing=growing)
        state.track[:] = [200, 100, 100, 0]
        assert find_drift(state, 0, habits, diary_for(1)) == growing
        assert bool(state.track.any()) != growing


def test_nothing_before_or_after_the_cut_is_no_drift(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 2, 2)
    for track in ([0, 0, 0, 0], [100, 50, 100, 50], [100, 50, 0, 0]):
        state.track[:] = track
        assert not find_drift(state, 0, habits, diary_for(1))
        assert state.track.tolist() == track


# ---- which layer is kept


def test_only_layers_with_a_long_memory_are_kept(rng: np.random.Generator) -> None:
    state, _ = random_network(rng, 2, 2, kept=(LINE, BOXES))
    state.scores[:] = 0.5
    assert best_of_lasting(state) == STEADY_LINE
    for other in (QUICK_LINE, BRISK_LINE, LIVELY_CURVE, CALM_CURVE, CLOUD_LAYER):  # curves go on
        state.scores[other] = 0.9
    assert best_of_lasting(state) == STEADY_LINE
    state.scores[BOX_LAYER] = 0.6
    assert best_of_lasting(state) == BOX_LAYER
    state.scores[FIRST_KEPT + 1] = 0.7
    assert best_of_lasting(state) == FIRST_KEPT + 1
    state.scores[FIRST_KEPT + 2] = 0.8
    assert best_of_lasting(state) == FIRST_KEPT + 1  # there is no layer at the other place


def leader(state: Concepts, layer: int) -> None:
    """Make a layer the best."""
    state.scores[:] = np.where(state.kinds == NO_LAYER, 0.0, 0.6)
    state.scores[layer] = 0.8


def assert_is_fresh(state: Concepts, before: Concepts, layer: int) -> None:
    """A layer knows nothing, but where its rules hold."""
    for rule in members_of(state, layer):
        np.testing.assert_array_equal(state.weights[rule], 0.0)
        np.testing.assert_array_equal(unpacked(state.gains[rule]), np.diag(state.caps))
        np.testing.assert_array_equal(state.evidence[rule], 0.0)
        np.testing.assert_array_equal(state.crossings[rule], 0.0)
        np.testing.assert_array_equal(state.class_counts[rule], 0.0)
        assert state.ages[rule] == 0
        for name in ("lows", "highs", "means", "variances", "owners"):
            np.testing.assert_array_equal(getattr(state, name)[rule], getattr(before, name)[rule])
    assert members_of(state, layer) == members_of(before, layer)


@pytest.mark.parametrize("best", [STEADY_LINE, BOX_LAYER])
def test_the_best_layer_is_kept_and_the_others_start_anew(
    rng: np.random.Generator, best: int
) -> None:
    state, habits = random_network(rng, 2, 3, kept=(LINE,), shortest_memory=1234.0)
    leader(state, best)
    state.clock[STEPS], state.clock[SCORED] = 9, 77
    state.rests[FIRST_KEPT + 1] = 3  # of a layer that was here before
    state.rests[CLOUD_LAYER] = 2
    before, slow, diary = copied(state), slow_copy(state, habits), diary_for(1)
    place, source = respond(state, 31, habits, diary)
    assert (place, source) == (FIRST_KEPT + 1, best)
    own, old = members_of(state, place), members_of(before, best)
    assert len(own) == len(old) and not set(own) & set(np.flatnonzero(before.owners != NO_OWNER))
    assert (state.owners[own] == place).all()
    for copy, rule in zip(own, old, strict=True):
        for name in RULE_FIELDS:
            np.testing.assert_array_equal(getattr(state, name)[copy], getattr(before, name)[rule])
    assert state.kinds[place] == before.kinds[best]
    assert (state.scores[place], state.rests[place], state.last_wins[place]) == (0.8, 0, 9)
    for layer in (BRISK_LINE, STEADY_LINE, BOX_LAYER):
        assert_is_fresh(state, before, layer)
    for rule in [QUICK_LINE, LIVELY_CURVE, CALM_CURVE, *members_of(before, FIRST_KEPT)]:
        for name in RULE_FIELDS:
            np.testing.assert_array_equal(getattr(state, name)[rule], getattr(before, name)[rule])
    assert (state.course[MEMORY], state.course[REFEREE]) == (1234.0, 0.0)
    assert state.clock[SCORED] == 0
    assert state.rests[CLOUD_LAYER] == 0  # else they would vote by what they had right before
    np.testing.assert_array_equal(state.scores[: FIRST_KEPT + 1], before.scores[: FIRST_KEPT + 1])
    assert diary.lines[0].tolist() == [31, KEPT_LINE, place, best, len(own)]
    assert diary.numbers[0].tolist() == [before.ages[old].sum(), 0.8, 0.0, 0.0]
    slow._respond(31)
    assert_same(state, slow)
    assert_same_lines(diary, slow.lines)


@pytest.mark.parametrize("best", [STEADY_LINE, CALM_CURVE, BOX_LAYER, FIRST_KEPT])
def test_a_drift_leaves_the_calm_curve_alone_while_the_others_start_anew(
    rng: np.random.Generator, best: int
) -> None:
    state, habits = random_network(rng, 2, 2, kept=(LINE,))
    leader(state, best)
    before = copied(state)
    respond(state, 0, habits, diary_for(1))
    for name in RULE_FIELDS:
        own, old = getattr(state, name)[CALM_CURVE], getattr(before, name)[CALM_CURVE]
        np.testing.assert_array_equal(own, old, name)
    assert members_of(state, CALM_CURVE) == [CALM_CURVE]
    assert state.owners[CALM_CURVE] == CALM_CURVE and state.kinds[CALM_CURVE] == BOXES
    assert state.scores[CALM_CURVE] == before.scores[CALM_CURVE]
    for layer in (BRISK_LINE, STEADY_LINE, BOX_LAYER):
        assert before.weights[members_of(before, layer)].any()
        assert_is_fresh(state, before, layer)


@pytest.mark.parametrize(("independence", "n_left"), [(1.0, 0), (0.25, 60), (0.1, 72)])
def test_scores_start_anew_after_a_drift_as_far_as_rows_are_worth(
    rng: np.random.Generator, independence: float, n_left: int
) -> None:
    state, habits = random_network(rng, 2, 2, kept=())
    state.course[INDEPENDENCE], state.clock[SCORED] = independence, 80
    respond(state, 0, habits, diary_for(1))
    assert state.clock[SCORED] == n_left


def test_a_drift_does_not_change_what_rows_are_worth(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 2, 2, kept=())
    let_rows_repeat(state, 3.0)
    before = copied(state)
    respond(state, 0, habits, diary_for(1))
    np.testing.assert_array_equal(state.course[INDEPENDENCE:], before.course[INDEPENDENCE:])
    np.testing.assert_array_equal(state.label_shares, before.label_shares)


def test_a_kept_layer_that_is_the_best_is_not_kept_twice(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 2, 2, kept=(LINE, BOXES))
    leader(state, FIRST_KEPT + 1)
    before, diary = copied(state), diary_for(1)
    assert respond(state, 0, habits, diary) == (FIRST_KEPT + 1, FIRST_KEPT + 1)
    np.testing.assert_array_equal(state.kinds, before.kinds)
    np.testing.assert_array_equal(state.owners, before.owners)
    assert diary.n_lines[0] == 0
    for rule in members_of(before, FIRST_KEPT + 1):
        np.testing.assert_array_equal(state.weights[rule], before.weights[rule])
    assert_is_fresh(state, before, BOX_LAYER)


def without_recall(rng: np.random.Generator, **changes: object) -> tuple[Concepts, Habits]:
    """A network whose boxes are the best."""
    state, habits = random_network(rng, 2, 2, **({"kept": ()} | changes))
    leader(state, BOX_LAYER)
    return state, habits


def test_nothing_is_kept_without_recall(rng: np.random.Generator) -> None:
    state, habits = without_recall(rng, recall=False)
    before, diary = copied(state), diary_for(1)
    assert respond(state, 0, habits, diary) == (BOX_LAYER, BOX_LAYER)
    np.testing.assert_array_equal(state.owners, before.owners)
    assert_is_fresh(state, before, BOX_LAYER)
    assert diary.n_lines[0] == 0


def test_nothing_is_kept_without_a_place(rng: np.random.Generator) -> None:
    state, habits = without_recall(rng, max_kept=0)
    before = copied(state)
    assert state.kinds.size == FIRST_KEPT
    assert respond(state, 0, habits, diary_for(1)) == (BOX_LAYER, BOX_LAYER)
    np.testing.assert_array_equal(state.owners, before.owners)
    assert_is_fresh(state, before, BOX_LAYER)


def crowded(state: Concepts, n_free: int) -> None:
    """Leave only so many slots free; the others are more rules of the quick line."""
    while count_free(state) > n_free:
        add_rule(state, QUICK_LINE, np.full(2, -np.inf), np.full(2, np.inf))


def test_a_layer_is_kept_if_there_are_slots_for_all_its_rules(rng: np.random.Generator) -> None:
    for spare in (0, -1):
        state, habits = without_recall(rng)
        crowded(state, int(state.n_members[BOX_LAYER]) + spare)
        before, diary = copied(state), diary_for(1)
        place, _ = respond(state, 0, habits, diary)
        assert place == (FIRST_KEPT if spare == 0 else BOX_LAYER)
        assert diary.n_lines[0] == (spare == 0)
        assert_is_fresh(state, before, BOX_LAYER)
        if spare:
            np.testing.assert_array_equal(state.owners, before.owners)
            np.testing.assert_array_equal(state.kinds, before.kinds)


def test_as_many_old_layers_make_way_as_it_takes(rng: np.random.Generator) -> None:
    state, habits = without_recall(rng, kept=(LINE, BOXES, LINE))  # with 1, 3 and 1 rules
    assert state.n_members[BOX_LAYER] == 4
    state.last_wins[FIRST_KEPT : FIRST_KEPT + 3] = [5, 6, 7]
    crowded(state, 0)
    slow, diary = slow_copy(state, habits), diary_for(1)
    place, _ = respond(state, 0, habits, diary)
    assert place == FIRST_KEPT
    dropped, kept = [DROPPED_LINE, FIRST_KEPT], [KEPT_LINE, FIRST_KEPT]
    assert diary.lines[:3, 1:3].tolist() == [dropped, [DROPPED_LINE, FIRST_KEPT + 1], kept]
    assert state.kinds[FIRST_KEPT : FIRST_KEPT + 3].tolist() == [BOXES, NO_LAYER, LINE]
    slow._respond(0)
    assert_same(state, slow)
    assert_same_lines(diary, slow.lines)


def test_the_layer_least_recently_best_makes_room(rng: np.random.Generator) -> None:
    state, habits = without_recall(rng, kept=(LINE, BOXES, LINE), max_kept=3)
    state.last_wins[FIRST_KEPT : FIRST_KEPT + 3] = [7, 4, 9]
    state.clock[STEPS] = 10
    state.disagreements[:], state.compared[:] = 0.2, 50.0
    oldest = FIRST_KEPT + 1
    freed = members_of(state, oldest)
    slow, diary = slow_copy(state, habits), diary_for(1)
    assert respond(state, 3, habits, diary) == (oldest, BOX_LAYER)
    assert diary.lines[:2, 1:3].tolist() == [[DROPPED_LINE, oldest], [KEPT_LINE, oldest]]
    assert diary.numbers[0, 0] == 6.0
    assert set(freed) <= set(members_of(state, oldest))
    pairs = state.compared[FIRST_KEPT:, FIRST_KEPT:]
    np.testing.assert_array_equal(pairs, [[50.0, 0.0, 50.0], [0.0] * 3, [50.0, 0.0, 50.0]])
    np.testing.assert_array_equal(state.disagreements > 0.0, state.compared > 0.0)
    slow._respond(3)
    assert_same(state, slow)
    assert_same_lines(diary, slow.lines)


def test_no_layer_makes_room_in_vain(rng: np.random.Generator) -> None:
    state, habits = without_recall(rng, kept=(LINE, LINE), max_kept=2, max_boxes=40)
    while count_free(state) > 0:
        add_rule(state, BOX_LAYER, np.full(2, 2.0), np.full(2, 3.0))
    place, source = respond(state, 0, habits, diary_for(1))
    assert place == source == BOX_LAYER  # its rules are more than one kept line could give
    assert (state.kinds[FIRST_KEPT : FIRST_KEPT + 2] == LINE).all()


# ---- parts


@pytest.mark.parametrize("room", [0, 1, 2])
def test_a_diary_without_room_takes_what_it_can(rng: np.random.Generator, room: int) -> None:
    state, habits = without_recall(rng, kept=(LINE, BOXES, LINE))
    state.last_wins[FIRST_KEPT : FIRST_KEPT + 3] = [5, 6, 7]
    crowded(state, 0)
    other, diary, whole = copied(state), diary_for(1, room), diary_for(1)
    respond(state, 0, habits, diary)
    respond(other, 0, habits, whole)
    assert (diary.n_lines[0], whole.n_lines[0]) == (room, 3)
    np.testing.assert_array_equal(diary.lines, whole.lines[:room])
    np.testing.assert_array_equal(diary.numbers, whole.numbers[:room])
    for own, same in zip(state, other, strict=True):
        np.testing.assert_array_equal(own, same)


def test_a_dropped_layer_leaves_nothing_behind(rng: np.random.Generator) -> None:
    state, _ = random_network(rng, 2, 2, kept=(BOXES, BOXES))
    state.disagreements[:], state.compared[:] = 0.1, 5.0
    rules, free = members_of(state, FIRST_KEPT), count_free(state)
    drop_layer(state, FIRST_KEPT)
    assert (state.kinds[FIRST_KEPT], state.n_members[FIRST_KEPT]) == (NO_LAYER, 0)
    assert (state.owners[rules] == NO_OWNER).all()
    assert count_free(state) == free + len(rules) == np.count_nonzero(state.owners == NO_OWNER)
    assert not state.disagreements[FIRST_KEPT].any() and not state.compared[:, FIRST_KEPT].any()
    assert state.compared[FIRST_KEPT + 1, FIRST_KEPT + 1] == 5.0


def test_a_free_place_comes_before_any_eviction(rng: np.random.Generator) -> None:
    state, _ = random_network(rng, 2, 2, kept=(LINE, LINE, LINE), max_kept=4)
    drop_layer(state, FIRST_KEPT + 1)
    diary = diary_for(1)
    assert place_for_layer(state, 2, 0, diary) == FIRST_KEPT + 1
    assert diary.n_lines[0] == 0


def test_the_oldest_is_looked_for_among_kept_layers_only(rng: np.random.Generator) -> None:
    state, _ = random_network(rng, 2, 2, kept=(LINE, LINE, LINE))
    state.last_wins[FIRST_KEPT : FIRST_KEPT + 3] = [4, 2, 3]
    assert oldest_kept(state) == FIRST_KEPT + 1
    for layer, oldest in ((1, FIRST_KEPT + 2), (2, FIRST_KEPT), (0, NO_LAYER)):
        drop_layer(state, FIRST_KEPT + layer)
        assert oldest_kept(state) == oldest


def test_keeping_takes_the_copy_out_of_reach_of_learning(rng: np.random.Generator) -> None:
    state, _ = random_network(rng, 2, 2, kept=())
    place = keep_layer(state, BOX_LAYER, 0, diary_for(1))
    kept = [state.weights[rule].copy() for rule in members_of(state, place)]
    start_anew(state, BOX_LAYER)
    assert any(weights.any() for weights in kept)
    for rule, weights in zip(members_of(state, place), kept, strict=True):
        np.testing.assert_array_equal(state.weights[rule], weights)
