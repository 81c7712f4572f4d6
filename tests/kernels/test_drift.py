"""Drift: the test on errors, what is kept and started anew, and how far rows repeat each other."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from build import count, only_plain
from devfnn.arrays import Floats, Ints
from devfnn.kernels.boxes import (
    count_free,
    drop_layer,
    oldest_kept,
    place_for_layer,
    start_anew,
)
from devfnn.kernels.drift import (
    FIRST_LABELS,
    best_lasting,
    find_drift,
    keep_layer,
    note_error,
    note_errors,
    respond_to_drift,
    watch_label,
    weigh_rows,
)
from devfnn.kernels.state import (
    BOXES,
    DRIFT_EVENT,
    DROPPED_EVENT,
    INDEPENDENCE,
    KEPT_EVENT,
    LAST_LABEL,
    LEAST_ROW_WEIGHT,
    LINE,
    MEMORY,
    NEAR_CHANGES,
    NO_LAYER,
    NO_OWNER,
    REFEREE,
    SCORED,
    STEPS,
    WATCHED,
    Params,
    PoolState,
    Progress,
    State,
)
from devfnn.model.layers.pool import unpacked
from rival_build import (
    BOX_LAYER,
    BRISK_LINE,
    CALM_CURVE,
    CLOUD_LAYER,
    FIRST_KEPT,
    LIVELY_CURVE,
    QUICK_LINE,
    RULE_FIELDS,
    STEADY_LINE,
    STILL,
    add_rule,
    assert_equal,
    copied,
    events_for,
    fresh,
    let_rows_repeat,
    lines_of,
    members_of,
    random_network,
)
from rival_parts import SlowErrors, SlowRepeats
from rival_same import assert_same, assert_same_lines, assert_same_repeats, slow_copy


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
def test_drift_is_found_where_the_twin_finds_it_row_by_row(
    rng: np.random.Generator, kind: str, significance: float, independence: float
) -> None:
    state, params = fresh(2, 2, drift__significance=significance)
    progress = state.progress
    progress.signals[INDEPENDENCE] = independence
    level = significance ** (1.0 / independence)  # of one row in so many
    slow, n_drifts = SlowErrors(), 0
    for row, error in enumerate(some_errors(rng, kind).tolist()):
        note_error(progress.errors, error, significance)
        slow.note(bool(error), significance)
        assert progress.errors.tolist() == list(dataclasses.astuple(slow))
        (before, after), bound, events = slow.rates(), slow.bound(level), events_for(1)
        found = find_drift(progress, row, params, events)
        assert found == (after - before > bound)
        assert events.count[0] == found
        if found:
            n_drifts += 1
            assert events.lines[0, :3].tolist() == [row, DRIFT_EVENT, 0]
            facts = [before, after, bound, slow.cut_rows]
            np.testing.assert_allclose(events.numbers[0], facts, rtol=1e-12)
            assert progress.errors.tolist() == [0, 0, 0, 0]
            slow = SlowErrors()
    assert kind != "rise" or n_drifts > 0
    assert kind not in ("none", "all") or n_drifts == 0


def test_errors_of_a_chunk_are_noted_like_single_ones(rng: np.random.Generator) -> None:
    errors = some_errors(rng, "waves")
    one_by_one, at_once = np.zeros((2, 4), np.int64)
    for error in errors.tolist():
        note_error(one_by_one, error, 0.01)
    note_errors(at_once, errors, 0.01)
    assert at_once.tolist() == one_by_one.tolist()


def test_the_fewer_rows_are_worth_one_the_sooner_drift_is_seen() -> None:
    state, params = fresh(2, 2, drift__significance=0.001)
    seen = []
    for independence in (1.0, 0.5, 0.2):
        state.progress.signals[INDEPENDENCE] = independence
        for after in range(1, 300):
            state.progress.errors[:] = [100 + after, 10 + after // 2, 100, 10]
            if find_drift(state.progress, 0, params, events_for(1)):
                break
        seen.append(after)
    assert seen[0] < 50 < seen[1] < seen[2] - 30 < 270


@pytest.mark.parametrize("changes", [{}, STILL])
def test_drifts_are_not_looked_for_if_layers_do_not_grow(changes: dict[str, Any]) -> None:
    state, params = fresh(2, 2, **changes)
    state.progress.errors[:] = [200, 100, 100, 0]
    assert find_drift(state.progress, 0, params, events_for(1)) == (changes != STILL)
    assert state.progress.errors.any() == (changes == STILL)


def test_nothing_before_or_after_the_cut_is_no_drift() -> None:
    state, params = fresh(2, 2)
    for errors in ([0, 0, 0, 0], [100, 50, 100, 50], [100, 50, 0, 0]):
        state.progress.errors[:] = errors
        assert not find_drift(state.progress, 0, params, events_for(1))
        assert state.progress.errors.tolist() == errors


# ---- what follows


@only_plain
def test_only_layers_with_a_long_memory_are_kept(rng: np.random.Generator) -> None:
    state, params = random_network(rng, 2, 2, kept=(LINE, BOXES))
    layers, pool = state.layers, state.pool
    layers.scores[:] = 0.5
    assert best_lasting(layers, pool, params) == STEADY_LINE
    for other in (QUICK_LINE, BRISK_LINE, LIVELY_CURVE, CALM_CURVE, CLOUD_LAYER):  # curves go on
        layers.scores[other] = 0.9
    assert best_lasting(layers, pool, params) == STEADY_LINE
    layers.scores[BOX_LAYER] = 0.6
    assert best_lasting(layers, pool, params) == BOX_LAYER
    layers.scores[FIRST_KEPT + 1] = 0.7
    assert best_lasting(layers, pool, params) == FIRST_KEPT + 1
    layers.scores[FIRST_KEPT + 2] = 0.8  # there is no layer at that place
    assert best_lasting(layers, pool, params) == FIRST_KEPT + 1


def led_by(rng: np.random.Generator, layer: int, **changes: Any) -> tuple[State, Params]:
    """A network with a layer that is the best."""
    state, params = random_network(rng, 2, 2, **({"kept": ()} | changes))
    state.layers.scores[:] = np.where(state.layers.kinds == NO_LAYER, 0.0, 0.6)
    state.layers.scores[layer] = 0.8
    return state, params


def assert_same_rules(pool: PoolState, rules: list[int], other: PoolState, own: list[int]) -> None:
    """Rules are the same as others in all but their owner."""
    for name in RULE_FIELDS:
        np.testing.assert_array_equal(getattr(pool, name)[rules], getattr(other, name)[own], name)


def assert_is_fresh(pool: PoolState, before: PoolState, layer: int) -> None:
    """A layer knows nothing, but where its rules hold."""
    rules = members_of(pool, layer)
    for rule in rules:
        np.testing.assert_array_equal(unpacked(pool.gains[rule]), np.diag(pool.caps))
    for name in ("weights", "evidence", "crossings", "class_counts", "ages"):
        assert not getattr(pool, name)[rules].any()
    for name in ("lows", "highs", "means", "variances", "owners"):
        np.testing.assert_array_equal(getattr(pool, name)[rules], getattr(before, name)[rules])
    assert rules == members_of(before, layer)


@only_plain
@pytest.mark.parametrize("best", [STEADY_LINE, BOX_LAYER])
def test_the_best_layer_is_kept_as_it_is(rng: np.random.Generator, best: int) -> None:
    state, params = led_by(rng, best, kept=(LINE,), memory__shortest=1234.0)
    layers, pool, progress = state.layers, state.pool, state.progress
    progress.counts[STEPS], progress.counts[SCORED] = 9, 77
    layers.rests[FIRST_KEPT + 1] = 3  # of a layer that was here before
    layers.rests[CLOUD_LAYER] = 2
    before, slow, events = copied(state), slow_copy(state, params), events_for(1)
    place, source = respond_to_drift(state, pool, 31, params, events)
    assert (place, source) == (FIRST_KEPT + 1, best)
    own, old = members_of(pool, place), members_of(before.pool, best)
    assert not set(own) & set(np.flatnonzero(before.pool.owners != NO_OWNER))
    assert (pool.owners[own] == place).all()
    assert_same_rules(pool, own, before.pool, old)
    assert (layers.kinds[place], layers.origins[place]) == (layers.kinds[best], best)
    assert (layers.scores[place], layers.rests[place], layers.last_wins[place]) == (0.8, 0, 9)
    assert (progress.signals[MEMORY], progress.signals[REFEREE]) == (1234.0, 0.0)
    assert progress.counts[SCORED] == 0
    assert layers.rests[CLOUD_LAYER] == 0  # else they would vote by what they had right before
    assert lines_of(events) == [[31, KEPT_EVENT, place, best, len(own)]]
    assert events.numbers[0].tolist() == [before.pool.ages[old].sum(), 0.8, 0.0, 0.0]
    slow._respond(31)
    assert_same(state, slow)
    assert_same_lines(events, slow.lines)


@only_plain
@pytest.mark.parametrize("best", [STEADY_LINE, CALM_CURVE, BOX_LAYER, FIRST_KEPT])
def test_layers_of_an_adaptive_memory_start_anew_and_the_others_are_left_alone(
    rng: np.random.Generator, best: int
) -> None:
    state, params = led_by(rng, best, kept=(LINE,))
    before = copied(state)
    respond_to_drift(state, state.pool, 0, params, events_for(1))
    alone = [QUICK_LINE, LIVELY_CURVE, CALM_CURVE, FIRST_KEPT]
    rules = [rule for layer in alone for rule in members_of(before.pool, layer)]
    assert rules == [rule for layer in alone for rule in members_of(state.pool, layer)]
    assert_same_rules(state.pool, rules, before.pool, rules)
    for layer in (BRISK_LINE, STEADY_LINE, BOX_LAYER):
        assert before.pool.weights[members_of(before.pool, layer)].any()
        assert_is_fresh(state.pool, before.pool, layer)
    own = np.s_[: FIRST_KEPT + 1]
    np.testing.assert_array_equal(state.layers.scores[own], before.layers.scores[own])
    np.testing.assert_array_equal(state.layers.kinds[own], before.layers.kinds[own])


@only_plain
@pytest.mark.parametrize(("factor", "n_left"), [(1.0, 0), (4.0, 60), (10.0, 72)])
def test_scores_start_anew_as_far_as_rows_are_worth_which_a_drift_does_not_change(
    rng: np.random.Generator, factor: float, n_left: int
) -> None:
    state, params = random_network(rng, 2, 2, kept=())
    let_rows_repeat(state, factor)
    state.progress.counts[SCORED] = 80
    before = copied(state.progress)
    respond_to_drift(state, state.pool, 0, params, events_for(1))
    assert state.progress.counts[SCORED] == n_left
    own, old = state.progress.signals, before.signals
    np.testing.assert_array_equal(own[INDEPENDENCE:], old[INDEPENDENCE:])
    np.testing.assert_array_equal(state.progress.label_shares, before.label_shares)


@only_plain
@pytest.mark.parametrize(
    ("best", "changes"),
    [(FIRST_KEPT + 1, {"kept": (LINE, BOXES)}), (BOX_LAYER, {"growing__max_kept": 0})],
)
def test_nothing_is_kept_twice_or_without_a_place(
    rng: np.random.Generator, best: int, changes: dict[str, Any]
) -> None:
    state, params = led_by(rng, best, **changes)
    before, events = copied(state), events_for(1)
    assert respond_to_drift(state, state.pool, 0, params, events) == (best, best)
    np.testing.assert_array_equal(state.layers.kinds, before.layers.kinds)
    np.testing.assert_array_equal(state.pool.owners, before.pool.owners)
    assert events.count[0] == 0
    assert_is_fresh(state.pool, before.pool, BOX_LAYER)


def crowded(pool: PoolState, n_free: int) -> None:
    """Leave only so many slots free; the others are more rules of the quick line."""
    while count_free(pool) > n_free:
        add_rule(pool, QUICK_LINE)


@only_plain
@pytest.mark.parametrize("spare", [0, -1])
def test_a_layer_is_kept_if_there_are_slots_for_all_its_rules(
    rng: np.random.Generator, spare: int
) -> None:
    state, params = led_by(rng, BOX_LAYER)
    crowded(state.pool, int(state.pool.n_members[BOX_LAYER]) + spare)
    before, events = copied(state), events_for(1)
    place, _ = respond_to_drift(state, state.pool, 0, params, events)
    assert place == (FIRST_KEPT if spare == 0 else BOX_LAYER)
    assert events.count[0] == (spare == 0)
    assert_is_fresh(state.pool, before.pool, BOX_LAYER)
    if spare:
        np.testing.assert_array_equal(state.pool.owners, before.pool.owners)
        np.testing.assert_array_equal(state.layers.kinds, before.layers.kinds)


@only_plain
def test_as_many_old_layers_make_way_as_it_takes(rng: np.random.Generator) -> None:
    state, params = led_by(rng, BOX_LAYER, kept=(LINE, BOXES, LINE))  # with 1, 3 and 1 rules
    assert state.pool.n_members[BOX_LAYER] == 4
    state.layers.last_wins[FIRST_KEPT : FIRST_KEPT + 3] = [5, 6, 7]
    crowded(state.pool, 0)
    before, slow, events = copied(state), slow_copy(state, params), events_for(1)
    place, _ = respond_to_drift(state, state.pool, 0, params, events)
    assert place == FIRST_KEPT
    kinds = [DROPPED_EVENT, DROPPED_EVENT, KEPT_EVENT]
    places = [FIRST_KEPT, FIRST_KEPT + 1, FIRST_KEPT]
    assert events.lines[:3, 1:3].T.tolist() == [kinds, places]
    assert state.layers.kinds[FIRST_KEPT : FIRST_KEPT + 3].tolist() == [BOXES, NO_LAYER, LINE]
    slow._respond(0)
    assert_same(state, slow)
    assert_same_lines(events, slow.lines)
    for room in range(3):  # a buffer without room takes what it can, and nothing else changes
        other, fewer = copied(before), events_for(1, room)
        respond_to_drift(other, other.pool, 0, params, fewer)
        assert lines_of(fewer) == lines_of(events)[:room]
        np.testing.assert_array_equal(fewer.numbers, events.numbers[:room])
        assert_equal(other, state)


@only_plain
def test_the_layer_least_recently_best_makes_room(rng: np.random.Generator) -> None:
    state, params = led_by(rng, BOX_LAYER, kept=(LINE, BOXES, LINE), growing__max_kept=3)
    layers, oldest = state.layers, FIRST_KEPT + 1
    layers.last_wins[FIRST_KEPT : FIRST_KEPT + 3] = [7, 4, 9]
    state.progress.counts[STEPS] = 10
    layers.disagreements[:], layers.compared[:] = 0.2, 50.0
    freed = members_of(state.pool, oldest)
    slow, events = slow_copy(state, params), events_for(1)
    assert respond_to_drift(state, state.pool, 3, params, events) == (oldest, BOX_LAYER)
    assert events.lines[:2, 1:3].tolist() == [[DROPPED_EVENT, oldest], [KEPT_EVENT, oldest]]
    assert events.numbers[0, 0] == 6.0
    assert set(freed) <= set(members_of(state.pool, oldest))
    pairs = layers.compared[FIRST_KEPT:, FIRST_KEPT:]
    np.testing.assert_array_equal(pairs, [[50.0, 0.0, 50.0], [0.0] * 3, [50.0, 0.0, 50.0]])
    np.testing.assert_array_equal(layers.disagreements > 0.0, layers.compared > 0.0)
    slow._respond(3)
    assert_same(state, slow)
    assert_same_lines(events, slow.lines)


@only_plain
def test_no_layer_makes_room_in_vain(rng: np.random.Generator) -> None:
    options = {"kept": (LINE, LINE), "growing__max_kept": 2, "boxes__max_rules": 40}
    state, params = led_by(rng, BOX_LAYER, **options)
    while count_free(state.pool) > 0:
        add_rule(state.pool, BOX_LAYER, 2.0, 3.0)
    place, source = respond_to_drift(state, state.pool, 0, params, events_for(1))
    assert place == source == BOX_LAYER  # its rules are more than one kept line could give
    assert (state.layers.kinds[FIRST_KEPT : FIRST_KEPT + 2] == LINE).all()


def test_a_dropped_layer_leaves_nothing_behind(rng: np.random.Generator) -> None:
    layers, pool, *_ = random_network(rng, 2, 2, kept=(BOXES, BOXES))[0]
    layers.disagreements[:], layers.compared[:] = 0.1, 5.0
    rules, free = members_of(pool, FIRST_KEPT), np.count_nonzero(pool.owners == NO_OWNER)
    drop_layer(layers, pool, FIRST_KEPT)
    assert (layers.kinds[FIRST_KEPT], pool.n_members[FIRST_KEPT]) == (NO_LAYER, 0)
    assert (pool.owners[rules] == NO_OWNER).all()
    assert np.count_nonzero(pool.owners == NO_OWNER) == free + len(rules)
    assert not layers.disagreements[FIRST_KEPT].any() and not layers.compared[:, FIRST_KEPT].any()
    assert layers.compared[FIRST_KEPT + 1, FIRST_KEPT + 1] == 5.0


@only_plain
def test_a_free_place_comes_before_any_eviction(rng: np.random.Generator) -> None:
    state, params = random_network(rng, 2, 2, kept=(LINE, LINE, LINE), growing__max_kept=4)
    drop_layer(state.layers, state.pool, FIRST_KEPT + 1)
    events = events_for(1)
    assert place_for_layer(state, 2, 0, params, events) == FIRST_KEPT + 1
    assert events.count[0] == 0


@only_plain
def test_the_oldest_is_looked_for_among_kept_layers_only(rng: np.random.Generator) -> None:
    layers, pool, *_ = random_network(rng, 2, 2, kept=(LINE, LINE, LINE))[0]
    layers.last_wins[FIRST_KEPT : FIRST_KEPT + 3] = [4, 2, 3]
    assert oldest_kept(layers, FIRST_KEPT) == FIRST_KEPT + 1
    for layer, oldest in ((1, FIRST_KEPT + 2), (2, FIRST_KEPT), (0, NO_LAYER)):
        drop_layer(layers, pool, FIRST_KEPT + layer)
        assert oldest_kept(layers, FIRST_KEPT) == oldest


@only_plain
def test_keeping_takes_the_copy_out_of_reach_of_learning(rng: np.random.Generator) -> None:
    state, params = random_network(rng, 2, 2, kept=())
    pool, before = state.pool, copied(state.pool)
    place = keep_layer(state, BOX_LAYER, 0, params, events_for(1))
    start_anew(pool, BOX_LAYER)
    assert_same_rules(pool, members_of(pool, place), before, members_of(before, BOX_LAYER))


# ---- how far rows repeat each other


def known(m: int) -> Progress:
    """Nothing watched yet."""
    return fresh(1, m)[0].progress


def watch(progress: Progress, labels: Ints) -> Progress:
    """Take in labels."""
    for label in labels.tolist():
        watch_label(progress, label)
    return progress


def worths(labels: Ints, m: int = 2) -> Floats:
    """What a row is worth, every 100 labels."""
    progress, found = known(m), []
    for start in range(0, len(labels), 100):
        weigh_rows(watch(progress, labels[start : start + 100]))
        found.append(float(progress.signals[INDEPENDENCE]))
    return np.array(found)


def in_runs(rng: np.random.Generator, n_rows: int, length: int, m: int = 2) -> Ints:
    """Classes drawn anew about every so many rows."""
    turns = np.cumsum(rng.random(n_rows) < 1.0 / length)
    return rng.integers(0, m, n_rows + 1)[turns]


def changes_of(labels: Ints) -> Floats:
    """Whether each label but the first differs from the one before."""
    return (labels[1:] != labels[:-1]).astype(np.float64)


@pytest.mark.parametrize("m", [2, 5])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 250, 1700, 10000])
def test_the_shares_are_plain_means(rng: np.random.Generator, m: int, n_rows: int) -> None:
    labels = in_runs(rng, n_rows, 4, m)
    own = watch(known(m), labels)
    near = changes_of(labels).mean() if n_rows > 1 else 0.0  # the first follows nothing
    assert own.signals[NEAR_CHANGES] == pytest.approx(near, rel=1e-10)
    expected = np.bincount(labels, minlength=m) / n_rows
    np.testing.assert_allclose(own.label_shares, expected, rtol=1e-10, atol=1e-15)
    assert (own.signals[WATCHED], own.signals[LAST_LABEL]) == (n_rows, labels[-1])


@pytest.mark.parametrize(("m", "watched"), [(2, 0), (3, 0), (3, 12000)])
def test_watching_labels_equals_the_twin_and_leaves_all_else_alone(
    rng: np.random.Generator, m: int, watched: int
) -> None:
    progress, slow = known(m), SlowRepeats(watched, 0, 0.0, np.zeros(m))
    progress.signals[: WATCHED + 1] = [*rng.random(WATCHED), watched]
    before = copied(progress)
    for label in in_runs(rng, 1600, 8, m).tolist():
        watch_label(progress, label)
        slow.watch(label)
        assert_same_repeats(progress, slow)
        assert progress.label_shares.min() >= 0.0 and progress.label_shares.max() <= 1.0
    np.testing.assert_array_equal(progress.signals[:WATCHED], before.signals[:WATCHED])
    assert_equal(progress, before, but=("signals", "label_shares"))
    weigh_rows(progress)
    assert progress.signals[INDEPENDENCE] == pytest.approx(slow.independence())
    assert slow.independence() < 0.5


@pytest.mark.parametrize(
    ("n_rows", "near", "shares", "worth"),
    [
        (1000, 0.1, (0.5, 0.5), 0.2),
        (999, 0.1, (0.5, 0.5), 1.0),  # nothing is known yet
        (0, 0.0, (0.0, 0.0), 1.0),
        (5000, 0.34, (0.5, 0.5), 0.68),
        (5000, 0.36, (0.5, 0.5), 1.0),  # by chance
        (5000, 0.7, (0.5, 0.5), 1.0),  # labels that change in turns
        (5000, 0.06, (0.5, 0.5), 0.12),
        (5000, 0.05, (0.5, 0.5), 0.1),
        (5000, 0.03, (0.5, 0.5), 0.1),
        (5000, 0.0, (0.5, 0.5), 0.1),
        (5000, 0.09, (0.9, 0.1), 0.5),
        (5000, 0.13, (0.1, 0.9), 1.0),
        (5000, 0.31, (0.2, 0.5, 0.3), 0.5),
        (5000, 0.0, (1.0 - 1e-9, 1e-9), 0.1),
        (5000, 0.0, (0.0, 1.0), 1.0),  # one class only
        (5000, 0.1, (0.0, 1.0), 1.0),
    ],
)
def test_the_worth_is_the_factor_of_changes_and_those_by_chance(
    n_rows: int, near: float, shares: tuple[float, ...], worth: float
) -> None:
    own = known(len(shares))
    for old in (0.4, 1.0):
        own.signals[[WATCHED, NEAR_CHANGES, INDEPENDENCE]] = n_rows, near, old
        own.label_shares[:] = shares
        before = copied(own)
        weigh_rows(own)
        assert own.signals[INDEPENDENCE] == pytest.approx(worth)
        before.signals[INDEPENDENCE] = own.signals[INDEPENDENCE]
        assert_equal(own, before)


def some_labels(rng: np.random.Generator, kind: str, n_rows: int) -> Ints:
    """Independent labels whose balance drifts in some way, or stays."""
    times = np.arange(n_rows) / n_rows
    chances = {
        "none": np.full(n_rows, 0.5),
        "skewed": np.full(n_rows, 0.4),
        "rare": np.full(n_rows, 0.1),
        "very rare": np.full(n_rows, 0.01),
        "sudden": np.where(times < 0.5, 0.4, 0.6),
        "gradual": np.linspace(0.35, 0.65, n_rows),
        "recurring": np.where(4.0 * times % 2.0 < 1.0, 0.4, 0.6),
    }
    if kind == "many classes":
        return rng.integers(0, 10, n_rows)
    if kind == "concept":  # the rows are independent, what they are called turns round
        rows = rng.random(n_rows)
        return np.where(times < 0.5, rows < 0.5, rows >= 0.5).astype(np.int64)
    return (rng.random(n_rows) < chances[kind]).astype(np.int64)


@pytest.mark.parametrize(
    "kind",
    "none,skewed,rare,very rare,sudden,gradual,recurring,many classes,concept".split(","),
)
def test_independent_labels_are_worth_1_whatever_drifts(
    rng: np.random.Generator, kind: str
) -> None:
    m = 10 if kind == "many classes" else 2
    n_rows, times = (30000, 1) if "rare" in kind else (count(8000, 3000), count(6, 3))
    for _ in range(times):
        assert (worths(some_labels(rng, kind, n_rows), m) == 1.0).all()


@pytest.mark.parametrize("m", [2, 5])
@pytest.mark.parametrize("length", [3, 10, 40])
def test_labels_in_runs_are_worth_less_by_the_changes_that_are_missing(
    rng: np.random.Generator, m: int, length: int
) -> None:
    labels = in_runs(rng, 6000, length, m)
    found = worths(labels, m)
    for rows in (1000, 1500, 6000):
        shares = np.bincount(labels[:rows], minlength=m) / rows
        factor = changes_of(labels[:rows]).mean() / (1.0 - (shares**2).sum())
        expected = max(factor, 0.1) if factor < 0.7 else 1.0
        assert found[rows // 100 - 1] == pytest.approx(expected)
    assert (found[: FIRST_LABELS // 100 - 1] == 1.0).all()
    assert found.min() >= LEAST_ROW_WEIGHT
    # Neighbours are of one run unless it has just ended.
    assert found[-1] == pytest.approx(max(1.0 / length, 0.1), rel=0.5)


@pytest.mark.parametrize("length", [100, 1000, 7000])
def test_no_row_is_worth_less_than_the_least(length: int) -> None:
    found = worths(np.arange(14000) // length % 2)
    assert found[-1] == found.min() == LEAST_ROW_WEIGHT


@pytest.mark.parametrize("labels", [np.arange(3000) % 2, np.arange(3000) % 7, np.full(3000, 1)])
def test_labels_in_turns_and_a_single_class_are_worth_1(labels: Ints) -> None:
    assert (worths(labels, 7 if labels.max() > 1 else 2) == 1.0).all()


def test_runs_are_forgotten_when_they_are_over(rng: np.random.Generator) -> None:
    own = watch(known(2), in_runs(rng, 2000, 10))
    weigh_rows(own)
    assert own.signals[INDEPENDENCE] < 0.3
    weigh_rows(watch(own, rng.integers(0, 2, 6000)))
    assert own.signals[INDEPENDENCE] == 1.0
