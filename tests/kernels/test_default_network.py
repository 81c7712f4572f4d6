"""The concept network over rows: outputs, votes, choice of labels and learning, as its twin."""

from typing import Any

import numpy as np
import pytest

from build import count
from concept_build import (
    copied,
    diary_for,
    dirty_work,
    fresh,
    lessons_of,
    let_rows_repeat,
    part_of,
    random_network,
    turning_stream,
)
from concept_parts import halves, learned_logistic
from concept_same import assert_same, assert_same_lines, members_of, slow_copy
from devfnn.kernels.concept_state import (
    BOX_LAYER,
    BOXES,
    BRISK_LINE,
    CALM_CURVE,
    CLOUD_LAYER,
    DRIFT_LINE,
    DROPPED_LINE,
    FIRST_KEPT,
    INDEPENDENCE,
    KEPT_LINE,
    LABEL_RATE,
    LAST_LABEL,
    LINE,
    LIVELY_CURVE,
    MEMORY,
    NEAR_CHANGES,
    NO_LAYER,
    QUICK_LINE,
    RECALLED_LINE,
    ROWS,
    SCORED,
    SPLIT_LINE,
    STEADY_LINE,
    STEPS,
    UNCERTAINTY,
    WATCHED,
    Concepts,
    Diary,
    Habits,
    Lessons,
)
from devfnn.kernels.concept_votes import head_start, score_layers
from devfnn.kernels.concepts import (
    GRACE,
    adapt_memory,
    choose,
    forward,
    learn_chunk,
    learn_rows,
    memory_of,
    rest_clouds,
    trust,
    vote,
    voting_shares,
)
from devfnn.arrays import Flags, Floats
from devfnn.kernels.state import ASKED_FOR, GONE_BY, OFFERED, UNLABELLED
from reference import certainty

EVENTFUL: dict[str, Any] = {
    "prior": 0.4,
    "quick_memory": 30.0,
    "shortest_memory": 60.0,
    "longest_memory": 150.0,
    "split_evidence": 5.0,
    "split_every": 20,
    "max_clouds": 6,
    "vote_rows": 40.0,
    "vote_power": 0.5,
    "chunk_rows": 40,
    "max_kept": 1,
    "max_boxes": 4,
    "cloud_memory": 0.99,
    "drift_significance": 0.05,
}
"""So much happens in a few hundred rows."""

CHOICES: list[dict[str, Any]] = [
    {"active_learning": False},
    {"active_learning": True, "conflict_threshold": 0.9, "exploration": 0.2},
    {"active_learning": True, "label_budget": 0.5, "exploration": 0.2},
]

TOLERANCE = 1e-5
"""How closely kernels solve for a step."""


def said_by(state: Concepts, rows: Floats) -> Floats:
    """Outputs of all layers. (k, L, m)"""
    outputs = np.full((len(rows), state.kinds.size, state.weights.shape[1]), np.nan)
    forward(state, rows, outputs, dirty_work(state))
    return outputs


def voted(state: Concepts, outputs: Floats, habits: Habits) -> Floats:
    """Probabilities of the network. (k, m)"""
    probabilities = np.full((len(outputs), outputs.shape[2]), np.nan)
    vote(state, outputs, habits, probabilities)
    return probabilities


def chunk_learned(state: Concepts, lessons: Lessons, habits: Habits) -> Diary:
    """Learn a chunk in place."""
    diary = diary_for(len(lessons.rows))
    outputs = said_by(state, lessons.rows)
    learn_chunk(state, lessons, outputs, habits, diary, dirty_work(state))
    return diary


def rows_learned(
    state: Concepts, lessons: Lessons, habits: Habits, lead: Floats
) -> tuple[Diary, list[int]]:
    """Learn row by row in place, over all structural steps; also the rows after which they were."""
    whole, stops, done = diary_for(len(lessons.rows)), [], 0
    while done < len(lessons.rows):
        part = part_of(lessons, done, len(lessons.rows))
        diary = diary_for(len(part.rows))
        steps = state.clock[STEPS]
        count = learn_rows(state, part, habits, diary, lead, dirty_work(state))
        whole.taken[done : done + count] = diary.taken[:count]
        whole.errors[done : done + count] = diary.errors[:count]
        done += count
        if state.clock[STEPS] > steps:
            stops.append(done)
    return whole, stops


def some_lessons(rng: np.random.Generator, n_rows: int, m: int, every: int) -> Lessons:
    """A stream that drifts and returns, with weights, absent features and labels of all kinds."""
    rows, labels = turning_stream(rng, n_rows, m, every)
    rows[rng.random((n_rows, 2)) < 0.02] = np.nan
    labelled = rng.choice([UNLABELLED, OFFERED, ASKED_FOR], n_rows, p=[0.05, 0.9, 0.05])
    weights = rng.uniform(0.5, 1.5, n_rows)
    return lessons_of(rows, labels, weights=weights, draws=rng.random(n_rows), labelled=labelled)


def assert_equal(state: Concepts, other: Concepts, but: tuple[str, ...] = ()) -> None:
    """Two networks are the same, bit by bit."""
    for name in Concepts._fields:
        if name not in but:
            np.testing.assert_array_equal(getattr(state, name), getattr(other, name), name)


# ---- what it says


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 3), (5, 4)])
@pytest.mark.parametrize("rest", [0, 2])
def test_outputs_and_votes_equal_the_twin(
    rng: np.random.Generator, n: int, m: int, rest: int
) -> None:
    for _ in range(5):
        state, habits = random_network(rng, n, m, kept=(LINE, NO_LAYER, BOXES))
        state.rests[CLOUD_LAYER] = rest
        state.course[INDEPENDENCE] = rng.choice([1.0, 0.3])
        slow = slow_copy(state, habits)
        rows = rng.uniform(-0.1, 1.1, (20, n))
        rows[rng.random((20, n)) < 0.1] = np.nan
        outputs = said_by(state, rows)
        probabilities = voted(state, outputs, habits)
        for row, own, shares in zip(rows, outputs, probabilities, strict=True):
            expected = slow.outputs(row)
            silent = [layer for layer in range(state.kinds.size) if layer not in expected]
            assert CLOUD_LAYER in silent if rest else CLOUD_LAYER in expected
            for layer, output in expected.items():
                np.testing.assert_allclose(own[layer], output, rtol=1e-10)
            np.testing.assert_array_equal(own[silent], 0.0)
            np.testing.assert_allclose(shares, slow.vote(expected), rtol=1e-10)


def test_saying_and_voting_change_nothing(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 2, 3)
    before = copied(state)
    voted(state, said_by(state, rng.random((20, 2))), habits)
    assert_equal(state, before)


def shares_of(state: Concepts, habits: Habits) -> Floats:
    """Voting weights of all layers."""
    shares = np.full(state.kinds.size, np.nan)
    voting_shares(state, habits, shares)
    return shares


@pytest.mark.parametrize("independence", [1.0, 0.25])
def test_voting_weights_follow_the_scores_as_far_as_rows_are_worth(
    rng: np.random.Generator, independence: float
) -> None:
    state, habits = random_network(rng, 2, 2, vote_rows=100.0, vote_power=0.5)
    state.course[INDEPENDENCE] = independence
    state.rests[CLOUD_LAYER] = 1
    state.scores[:] = 0.7
    state.scores[STEADY_LINE], state.scores[CLOUD_LAYER] = 0.76, 1.0
    shares = shares_of(state, habits)
    awake = (state.kinds != NO_LAYER) & (state.rests == 0)
    np.testing.assert_array_equal(shares > 0.0, awake)
    assert shares.sum() == pytest.approx(1.0)
    awake[[STEADY_LINE, LIVELY_CURVE, CALM_CURVE]] = False
    lead = 6.0 * np.sqrt(independence)
    np.testing.assert_allclose(shares[STEADY_LINE] / shares[awake], np.exp(0.5 * lead))


@pytest.mark.parametrize("independence", [1.0, 0.25])
def test_single_curves_have_a_head_start_where_rows_repeat_each_other(
    rng: np.random.Generator, independence: float
) -> None:
    state, habits = random_network(rng, 2, 2, shortest_memory=200.0, longest_memory=800.0)
    state.course[INDEPENDENCE] = independence
    state.scores[:] = 0.7
    shares = shares_of(state, habits)
    others = state.kinds != NO_LAYER
    others[[LIVELY_CURVE, CALM_CURVE]] = False
    # 5 weights want 50 rows: a fourth of the memories holds 50 and 200 independent ones
    expected = {LIVELY_CURVE: 2.0, CALM_CURVE: 3.2} if independence < 1.0 else {}
    for layer in (LIVELY_CURVE, CALM_CURVE):
        lead = expected.get(layer, 1.0)
        np.testing.assert_allclose(shares[layer] / shares[others], lead)
    assert shares.sum() == pytest.approx(1.0)


def test_a_curve_with_more_weights_than_rows_has_no_head_start(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 30, 2, shortest_memory=200.0, longest_memory=1e6)
    state.course[INDEPENDENCE] = 0.1
    assert head_start(state, LIVELY_CURVE, habits) == 1.0
    assert head_start(state, CALM_CURVE, habits) == pytest.approx(10.0, rel=0.01)
    assert head_start(state, STEADY_LINE, habits) == 1.0


# ---- learning against the twin


class Chronicle:
    """What a run has shown, so that no test is right because nothing happened."""

    def __init__(self) -> None:
        self.shown: set[str] = set()
        self.memory = np.inf

    def take(self, diary: Diary, state: Concepts) -> None:
        """Note what a step did."""
        names = {
            SPLIT_LINE: "split",
            DRIFT_LINE: "drift",
            KEPT_LINE: "kept",
            DROPPED_LINE: "dropped",
            RECALLED_LINE: "recalled",
        }
        self.shown |= {names[kind] for kind in diary.lines[: diary.n_lines[0], 1].tolist()}
        memory = float(state.course[MEMORY])
        if np.isfinite(self.memory) and memory != self.memory:
            self.shown.add("longer" if memory > self.memory else "shorter")
        self.memory = memory
        if state.course[INDEPENDENCE] < 1.0:
            self.shown.add("repeats")
        if state.rests[CLOUD_LAYER]:
            self.shown.add("rest")


EVERYTHING = {"split", "drift", "kept", "dropped", "recalled", "longer", "shorter"}


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("choice", CHOICES, ids=["all", "certainty", "budget"])
def test_learning_row_by_row_equals_the_twin(
    rng: np.random.Generator, m: int, choice: dict[str, Any]
) -> None:
    state, habits = fresh(2, m, 12, **(EVENTFUL | choice))
    is_long = not choice["active_learning"] and m == 2
    lessons, lead = some_lessons(rng, 700 if is_long else 260, m, 160), np.zeros(1)
    chronicle, n_taken = Chronicle(), 0
    for index in range(len(lessons.rows)):
        slow, one = slow_copy(state, habits, lead[0]), part_of(lessons, index, index + 1)
        diary = diary_for(1)
        assert learn_rows(state, one, habits, diary, lead, dirty_work(state)) == 1
        say = float(one.draws[0]), int(one.labelled[0])
        answer = slow.learn_row(0, one.rows[0], int(one.labels[0]), float(one.weights[0]), say)
        assert (bool(diary.taken[0]), bool(diary.errors[0])) == answer
        assert_same(state, slow, TOLERANCE)
        assert_same_lines(diary, slow.lines, TOLERANCE)
        assert lead[0] == slow.lead
        chronicle.take(diary, state)
        n_taken += answer[0]
    if is_long:
        assert chronicle.shown >= EVERYTHING
    offered = np.count_nonzero(lessons.labelled != UNLABELLED)
    assert n_taken < 0.95 * offered if choice["active_learning"] else n_taken == offered


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("choice", CHOICES, ids=["all", "certainty", "budget"])
def test_learning_in_chunks_equals_the_twin(
    rng: np.random.Generator, m: int, choice: dict[str, Any]
) -> None:
    state, habits = fresh(2, m, 12, **(EVENTFUL | choice))
    lessons, chronicle = some_lessons(rng, 800 if m == 2 else 440, m, 160), Chronicle()
    for start in range(0, len(lessons.rows), 40):
        slow, chunk = slow_copy(state, habits), part_of(lessons, start, start + 40)
        diary = chunk_learned(state, chunk, habits)
        taken, errors = slow.learn_chunk(chunk)
        assert diary.taken.tolist() == taken
        assert diary.errors.tolist() == errors
        assert_same(state, slow, TOLERANCE)
        assert_same_lines(diary, slow.lines, TOLERANCE)
        chronicle.take(diary, state)
    if m == 2 and not choice["active_learning"]:
        assert chronicle.shown >= EVERYTHING - {"recalled"}


def walking_lessons(rng: np.random.Generator, n_rows: int, every: int) -> Lessons:
    """Rows that walk, each close to the one before, with labels that turn round now and then."""
    walk = np.cumsum(rng.normal(scale=0.06, size=(n_rows, 2)), axis=0) + 0.5
    rows = np.abs((walk + 1.0) % 2.0 - 1.0)  # turned back at 0 and 1
    labels = (rows.sum(axis=1) > 1.0) ^ (np.arange(n_rows) // every % 2 == 1)
    return lessons_of(rows, labels ^ (rng.random(n_rows) < 0.1), draws=rng.random(n_rows))


@pytest.mark.parametrize("size", [1, 40])
def test_learning_rows_that_repeat_each_other_equals_the_twin(
    rng: np.random.Generator, size: int
) -> None:
    options = EVENTFUL | {"active_learning": False, "split_evidence": 1.0}
    state, habits = fresh(2, 2, 12, **options)
    let_rows_repeat(state, 2.5)
    lessons, lead, chronicle = walking_lessons(rng, 480, 220), np.zeros(1), Chronicle()
    worths = set()
    for start in range(0, len(lessons.rows), size):
        slow, part = slow_copy(state, habits, lead[0]), part_of(lessons, start, start + size)
        if size > 1:
            diary = chunk_learned(state, part, habits)
            slow.learn_chunk(part)
        else:
            diary = diary_for(1)
            learn_rows(state, part, habits, diary, lead, dirty_work(state))
            slow.learn_row(0, part.rows[0], int(part.labels[0]), 1.0, (1.0, OFFERED))
        assert_same(state, slow, TOLERANCE)
        assert_same_lines(diary, slow.lines, TOLERANCE)
        chronicle.take(diary, state)
        worths.add(float(state.course[INDEPENDENCE]))
    assert chronicle.shown >= {"drift", "split", "kept", "repeats"}
    assert len(worths) > 5 and max(worths) < 1.0


def test_the_twin_can_be_left_alone_for_hundreds_of_rows(rng: np.random.Generator) -> None:
    state, habits = fresh(2, 2, 12, **(EVENTFUL | {"active_learning": False}))
    lessons, lead = some_lessons(rng, 400, 2, 150), np.zeros(1)
    slow = slow_copy(state, habits)
    diary, stops = rows_learned(state, lessons, habits, lead)
    answers = [
        slow.learn_row(index, row, int(label), float(weight), (float(draw), int(labelled)))
        for index, (row, label, weight, draw, labelled) in enumerate(zip(*lessons, strict=True))
    ]
    own = zip(diary.taken.tolist(), diary.errors.tolist(), strict=True)
    assert [(bool(taken), bool(error)) for taken, error in own] == answers
    assert_same(state, slow, 1e-4)
    assert len(stops) == state.clock[STEPS] == slow.steps


def test_several_kept_layers_equal_the_twin(rng: np.random.Generator) -> None:
    options = EVENTFUL | {"active_learning": False, "max_kept": 4, "cloud_birth": 0.0}
    state, habits = random_network(rng, 2, 2, kept=(LINE, BOXES, LINE), **options)
    state.scores[FIRST_KEPT + 1] = 0.95
    lessons = some_lessons(rng, 120, 2, 1000)
    for start in range(0, 120, 40):
        slow, chunk = slow_copy(state, habits), part_of(lessons, start, start + 40)
        chunk_learned(state, chunk, habits)
        slow.learn_chunk(chunk)
        assert_same(state, slow, 1e-5)
    own = state.compared[FIRST_KEPT : FIRST_KEPT + 3, FIRST_KEPT : FIRST_KEPT + 3]
    learned = np.count_nonzero(lessons.labelled != UNLABELLED)
    np.testing.assert_array_equal(own, np.triu(np.full((3, 3), learned), 1))


# ---- learning, by its properties


def test_a_layer_is_kept_and_recalled_when_its_concept_returns(rng: np.random.Generator) -> None:
    options = EVENTFUL | {"active_learning": False, "max_kept": 2, "vote_rows": 30.0}
    state, habits = fresh(2, 2, 12, **options)
    lessons = lessons_of(*turning_stream(rng, 900, 2, 300))
    best, events = [], []
    for start in range(0, 900, 30):
        diary = chunk_learned(state, part_of(lessons, start, start + 30), habits)
        best.append(int(np.argmax(np.where(state.kinds == NO_LAYER, -1.0, state.scores))))
        events += [(start, *line[1:3]) for line in diary.lines[: diary.n_lines[0]].tolist()]
    kept = [place for start, kind, place in events if kind == KEPT_LINE and 300 <= start < 400]
    assert kept == [FIRST_KEPT]
    assert FIRST_KEPT in best[20:]
    assert any(start >= 600 and line == [RECALLED_LINE, FIRST_KEPT] for start, *line in events)


def kept_weights(state: Concepts, layer: int) -> Floats:
    """Weights of all rules of a layer."""
    return state.weights[members_of(state, layer)].copy()


def test_of_kept_layers_only_the_best_learns(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 2, 2, kept=(LINE, LINE), vote_rows=1e6)
    state.scores[FIRST_KEPT] = 0.95
    first, second = kept_weights(state, FIRST_KEPT), kept_weights(state, FIRST_KEPT + 1)
    chunk_learned(state, lessons_of(rng.random((20, 2)), rng.integers(0, 2, 20)), habits)
    assert (kept_weights(state, FIRST_KEPT) != first)[:, :, :3].all()
    np.testing.assert_array_equal(kept_weights(state, FIRST_KEPT + 1), second)
    state.scores[FIRST_KEPT] = 0.1
    state.scores[STEADY_LINE] = 0.99
    first = kept_weights(state, FIRST_KEPT)
    chunk_learned(state, lessons_of(rng.random((20, 2)), rng.integers(0, 2, 20)), habits)
    np.testing.assert_array_equal(kept_weights(state, FIRST_KEPT), first)


RULES = ("weights", "gains", "class_counts", "means", "variances", "ages", "evidence")

CLOUDY = ("cloud_centers", "cloud_spreads", "cloud_masses", "cloud_heights")


@pytest.mark.parametrize("is_chunk", [False, True])
def test_a_row_that_repeats_others_is_learned_as_any_other(
    rng: np.random.Generator, is_chunk: bool
) -> None:
    state, habits = random_network(rng, 2, 2, kept=(LINE,), cloud_birth=0.0, label_noise=0.1)
    state.scores[FIRST_KEPT], state.clock[SCORED] = 0.95, 10**6
    lessons, before = lessons_of(rng.random((1, 2)), np.array([1])), copied(state)
    whole, lighter = copied(state), copied(state)
    state.course[INDEPENDENCE] = 0.25
    lighter_lessons = lessons._replace(weights=np.array([0.25]))
    for network, taught in ((state, lessons), (lighter, lighter_lessons), (whole, lessons)):
        if is_chunk:
            chunk_learned(network, taught, habits)
        else:
            rows_learned(network, taught, habits, np.zeros(1))
    for name in RULES + CLOUDY:
        np.testing.assert_array_equal(getattr(state, name), getattr(whole, name))
    for layer in (*range(CLOUD_LAYER), FIRST_KEPT):
        own, light, old = (kept_weights(each, layer) for each in (state, lighter, before))
        assert 0.0 < np.abs(light - old).sum() < np.abs(own - old).sum()  # a lighter row would be
    assert (state.class_counts - before.class_counts).sum() >= 4.0  # not all doubt the label


@pytest.mark.parametrize("is_chunk", [False, True])
def test_only_labels_that_were_taken_are_watched(rng: np.random.Generator, is_chunk: bool) -> None:
    state, habits = random_network(rng, 2, 3, active_learning=False)
    lessons = lessons_of(rng.random((60, 2)), rng.integers(0, 3, 60))
    lessons.labelled[rng.random(60) < 0.4] = UNLABELLED
    if is_chunk:
        chunk_learned(state, lessons, habits)
    else:
        rows_learned(state, lessons, habits, np.zeros(1))
    taken = lessons.labels[lessons.labelled != UNLABELLED]
    assert state.course[WATCHED] == taken.size < 50
    assert state.course[LAST_LABEL] == taken[-1]
    assert state.course[NEAR_CHANGES] == pytest.approx((taken[1:] != taken[:-1]).mean())
    np.testing.assert_allclose(state.label_shares, np.bincount(taken, minlength=3) / taken.size)


def test_what_rows_are_worth_changes_only_at_a_structural_step(rng: np.random.Generator) -> None:
    state, habits = fresh(2, 2, 12, **(EVENTFUL | {"active_learning": False}))
    let_rows_repeat(state, 4.0)
    state.course[INDEPENDENCE] = 0.9  # not yet up to date
    lessons, lead = walking_lessons(rng, 40, 1000), np.zeros(1)
    rows_learned(state, part_of(lessons, 0, 39), habits, lead)
    assert state.course[INDEPENDENCE] == 0.9
    rows_learned(state, part_of(lessons, 39, 40), habits, lead)
    assert 0.2 < state.course[INDEPENDENCE] < 0.3


# ---- learning after a drift


def about_to_drift(rng: np.random.Generator, best: int, **changes: Any) -> tuple[Concepts, Habits]:
    """A network whose next errors are a drift, and after it one of its layers is kept."""
    state, habits = random_network(rng, 2, 2, kept=(), active_learning=False, **changes)
    state.scores[:] = np.where(state.kinds == NO_LAYER, 0.0, 0.6)
    state.scores[best] = 0.8
    state.track[:] = [400, 150, 200, 2]
    return state, habits


@pytest.mark.parametrize("best", [STEADY_LINE, BOX_LAYER])
@pytest.mark.parametrize("n_rows", [1, 40, 41])
def test_after_a_drift_only_the_second_half_of_the_chunk_is_scored(
    rng: np.random.Generator, best: int, n_rows: int
) -> None:
    state, habits = about_to_drift(rng, best, vote_rows=1000.0)
    lessons = lessons_of(*turning_stream(rng, n_rows, 2, 1000))
    half, slow = n_rows // 2, slow_copy(state, habits)
    said = said_by(state, lessons.rows).argmax(axis=2) == lessons.labels[:, None]
    diary = chunk_learned(state, lessons, habits)
    assert diary.lines[:2, 1].tolist() == [DRIFT_LINE, KEPT_LINE]
    assert state.clock[SCORED] == n_rows - half
    assert state.clock[ROWS] == n_rows  # all of them were learned
    # A kept layer is scored by what its source said before, the others by what they say half-way.
    assert state.scores[FIRST_KEPT] == pytest.approx(said[half:, best].mean())
    slow._respond(0)
    slow._train_some(lessons, np.arange(half))
    for layer in range(FIRST_KEPT):
        rights = [
            slow.output(layer, row).argmax() == label
            for row, label in zip(lessons.rows[half:], lessons.labels[half:], strict=True)
        ]
        assert state.scores[layer] == pytest.approx(np.mean(rights))


def test_a_kept_layer_is_not_asked_again_after_a_drift(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 2, 2, kept=(LINE,), active_learning=False, vote_rows=1000.0)
    state.scores[FIRST_KEPT], state.track[:] = 0.95, [400, 150, 200, 2]
    rows = rng.random((40, 2))
    labels = 1 - said_by(state, rows)[:, FIRST_KEPT].argmax(axis=1)
    diary = chunk_learned(state, lessons_of(rows, labels), habits)
    assert diary.lines[: diary.n_lines[0], 1].tolist()[0] == DRIFT_LINE
    assert state.scores[FIRST_KEPT] == 0.0  # all wrong before
    now = said_by(state, rows)[:, FIRST_KEPT].argmax(axis=1)
    assert (now == labels).mean() > 0.5  # it was the best, so that it learned


def test_without_a_drift_the_whole_chunk_is_scored_by_what_was_said_before(
    rng: np.random.Generator,
) -> None:
    state, habits = random_network(rng, 2, 2, kept=(LINE,), active_learning=False, vote_rows=1000.0)
    lessons = lessons_of(*turning_stream(rng, 40, 2, 1000))
    said = said_by(state, lessons.rows).argmax(axis=2) == lessons.labels[:, None]
    diary = chunk_learned(state, lessons, habits)
    assert diary.n_lines[0] == 0 and state.clock[SCORED] == 40
    there = state.kinds != NO_LAYER
    np.testing.assert_allclose(state.scores[there], said.mean(axis=0)[there])


def test_the_row_of_a_drift_is_learned_by_what_the_layers_say_by_then(
    rng: np.random.Generator,
) -> None:
    state, habits = about_to_drift(rng, STEADY_LINE, label_noise=0.1)
    state.clock[ROWS] = 100  # now drift is looked for
    row, label = np.array([0.3, 0.8]), 1
    diary, lead = diary_for(1), np.zeros(1)
    learn_rows(state, lessons_of(row[None], [label]), habits, diary, lead, dirty_work(state))
    assert diary.lines[0, 1] == DRIFT_LINE
    trusted = 0.9 * 0.5 / (0.9 * 0.5 + 0.1 * 0.5)
    for layer, weight, size in ((STEADY_LINE, trusted, 3), (BOX_LAYER, 1.0, 5)):
        rates = weight, memory_of(state, layer, habits)
        phi, gain = halves(row)[:size], np.diag(state.caps[:size])
        expected = learned_logistic(np.zeros((2, size)), gain, phi, label, rates)[0]
        rule = next(slot for slot in members_of(state, layer) if state.ages[slot] == 1)
        np.testing.assert_allclose(state.weights[rule, :, :size], expected, atol=1e-6)


@pytest.mark.parametrize("n_rows", [99, 100])
def test_row_by_row_drift_is_looked_for_every_fifty_rows(
    rng: np.random.Generator, n_rows: int
) -> None:
    state, habits = about_to_drift(rng, STEADY_LINE)
    state.clock[ROWS] = n_rows
    diary, row = diary_for(1), rng.random((1, 2))
    learn_rows(state, lessons_of(row, [1]), habits, diary, np.zeros(1), dirty_work(state))
    assert diary.n_lines[0] == (2 if n_rows == 100 else 0)


def test_the_calm_curve_learns_on_through_a_drift(rng: np.random.Generator) -> None:
    state, habits = about_to_drift(rng, BOX_LAYER)
    other, lessons = copied(state), lessons_of(rng.random((40, 2)), rng.integers(0, 2, 40))
    chunk_learned(state, lessons, habits)
    chunk_learned(other, lessons, habits._replace(growing=False))
    assert state.kinds[FIRST_KEPT] == BOXES and other.kinds[FIRST_KEPT] == NO_LAYER
    for name in ("weights", "gains", "ages", "class_counts"):
        own, same = getattr(state, name), getattr(other, name)
        np.testing.assert_array_equal(own[CALM_CURVE], same[CALM_CURVE])
        assert (own[STEADY_LINE] != same[STEADY_LINE]).any()


# ---- learning in parts


@pytest.mark.parametrize("sizes", [[1], [7, 40, 3, 55], [100]])
def test_rows_in_parts_are_learned_as_if_at_once(
    rng: np.random.Generator, sizes: list[int]
) -> None:
    lessons = some_lessons(rng, count(600, 300), 2, 130)
    options = EVENTFUL | CHOICES[1]
    state, habits = fresh(2, 2, 12, **options)
    other, lead, other_lead = copied(state), np.zeros(1), np.zeros(1)
    diary, stops = rows_learned(state, lessons, habits, lead)
    taken: list[int] = []
    while len(taken) < len(lessons.rows):
        for size in sizes:
            part = part_of(lessons, len(taken), len(taken) + size)
            taken += rows_learned(other, part, habits, other_lead)[0].taken.tolist()
    assert_equal(state, other)
    assert diary.taken.tolist() == taken
    assert lead[0] == other_lead[0]
    assert np.diff(np.cumsum(diary.taken)[np.array(stops) - 1]).tolist() == [40] * (len(stops) - 1)


def test_learning_row_by_row_stops_after_so_many_labels(rng: np.random.Generator) -> None:
    state, habits = fresh(2, 2, 12, **(EVENTFUL | {"active_learning": False, "chunk_rows": 25}))
    lessons = lessons_of(*turning_stream(rng, 100, 2, 1000))
    lessons.labelled[:10] = UNLABELLED
    lead = np.full(1, 3.0)
    assert learn_rows(state, lessons, habits, diary_for(100), lead, dirty_work(state)) == 35
    assert lead[0] == 0.0
    assert (state.clock[ROWS], state.clock[STEPS]) == (25, 1)


@pytest.mark.parametrize("choice", CHOICES, ids=["all", "certainty", "budget"])
def test_rows_without_a_label_change_nothing_but_what_choosing_goes_by(
    rng: np.random.Generator, choice: dict[str, Any]
) -> None:
    state, habits = random_network(rng, 2, 2, **(EVENTFUL | choice | {"max_kept": 3}))
    before, lead, sums = copied(state), np.zeros(1), [LABEL_RATE, UNCERTAINTY]
    lessons = lessons_of(rng.random((50, 2)), rng.integers(0, 2, 50), draws=np.zeros(50))
    lessons.labelled[:] = UNLABELLED
    uncertainty = before.course[UNCERTAINTY]
    for shares in voted(state, said_by(state, lessons.rows), habits):
        uncertainty += 0.002 * (2.0 * (1.0 - certainty(shares)) - uncertainty)
    for learn in (lambda: rows_learned(state, lessons, habits, lead)[0], None):
        diary = learn() if learn else chunk_learned(state, lessons, habits)
        assert not diary.taken.any() and lead[0] == 0.0
        assert state.course[LABEL_RATE] == pytest.approx(before.course[LABEL_RATE] * 0.998**50)
        assert state.course[UNCERTAINTY] == pytest.approx(uncertainty)
        state.course[sums] = before.course[sums]
        step = () if learn else ("clock", "last_wins", "rests")  # a chunk is a structural step
        assert state.purse[GONE_BY] == before.purse[GONE_BY] + 50
        state.purse[GONE_BY] = before.purse[GONE_BY]
        assert_equal(state, before, but=step)


def test_rows_without_a_label_in_a_chunk_leave_the_others_alone(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 2, 2, **(EVENTFUL | {"max_kept": 3, "growing": False}))
    lessons, other, sums = some_lessons(rng, 80, 2, 40), copied(state), [LABEL_RATE, UNCERTAINTY]
    labelled = lessons.labelled != UNLABELLED
    chunk_learned(state, lessons, habits)
    chunk_learned(other, Lessons(*(array[labelled] for array in lessons)), habits)
    assert state.course[LABEL_RATE] < other.course[LABEL_RATE]
    state.course[sums] = other.course[sums]
    assert_equal(state, other, but=("purse",))


# ---- which labels it takes


def wanted_by(state: Concepts, probabilities: Floats, draws: Floats, habits: Habits) -> Flags:
    """The choice of the kernel."""
    wanted = np.zeros(len(draws), np.bool_)
    choose(state, probabilities, draws, habits, wanted)
    return wanted


@pytest.mark.parametrize("choice", CHOICES, ids=["all", "certainty", "budget"])
def test_choosing_equals_the_twin_and_changes_course_and_purse_alone(
    rng: np.random.Generator, choice: dict[str, Any]
) -> None:
    state, habits = random_network(rng, 2, 3, **choice)
    before, slow = copied(state), slow_copy(state, habits)
    probabilities, draws = rng.dirichlet(np.full(3, 0.3), 500), rng.random(500)
    wanted = wanted_by(state, probabilities, draws, habits)
    assert_equal(state, before, but=("course", "purse"))
    pairs = zip(probabilities, draws.tolist(), strict=True)
    assert wanted.tolist() == [slow.choose(shares, draw, OFFERED) for shares, draw in pairs]
    assert_same(state, slow)
    assert wanted.all() != habits.active_learning


@pytest.mark.parametrize("budget", [0.05, 0.2, 0.6])
def test_the_budget_is_kept_and_goes_to_unsure_rows(
    rng: np.random.Generator, budget: float
) -> None:
    state, habits = fresh(2, 2, active_learning=True, label_budget=budget, exploration=0.1)
    shares = rng.beta(0.5, 0.5, 6000)
    probabilities = np.column_stack([1.0 - shares, shares])
    wanted = wanted_by(state, probabilities, rng.random(6000), habits)
    assert 0.7 * budget < wanted[1000:].mean() < 1.3 * budget
    unsure = np.abs(shares - 0.5) < 0.25
    assert wanted[unsure].mean() > 1.5 * wanted[~unsure].mean() > 0.0


def test_a_label_that_was_asked_for_is_always_taken(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 2, 2, active_learning=True, label_budget=0.0)
    lessons = lessons_of(rng.random((20, 2)), rng.integers(0, 2, 20))
    lessons.labelled[::2] = ASKED_FOR
    with np.errstate(all="ignore"):
        diary = chunk_learned(state, lessons, habits)
    assert diary.taken.tolist() == [1, 0] * 10


# ---- parts of a step


@pytest.mark.parametrize(("independence", "n_rows"), [(1.0, 10), (0.5, 20)])
def test_scores_are_means_since_the_drift_until_there_are_enough_rows(
    rng: np.random.Generator, independence: float, n_rows: int
) -> None:
    state, habits = random_network(rng, 2, 2, vote_rows=10.0)
    state.rests[CLOUD_LAYER], state.clock[SCORED] = 1, 0
    state.course[INDEPENDENCE] = independence
    before, rights = state.scores.copy(), rng.random(50) < 0.7
    expected = 0.0
    for index, right in enumerate(rights, start=1):
        outputs = np.tile([0.1, 0.9], (state.kinds.size, 1))
        outputs[STEADY_LINE] = [0.1, 0.9] if right else [0.9, 0.1]
        score_layers(state, outputs, 1, habits)
        expected += (right - expected) / min(index, n_rows)
        assert state.scores[STEADY_LINE] == pytest.approx(expected)
        if index <= n_rows:
            assert expected == pytest.approx(rights[:index].mean())
    assert state.clock[SCORED] == 50
    assert state.scores[QUICK_LINE] == 1.0
    silent = (state.kinds == NO_LAYER) | (state.rests > 0)
    np.testing.assert_array_equal(state.scores[silent], before[silent])


def test_how_often_kept_layers_differ_fades_by_the_rows_of_the_vote(
    rng: np.random.Generator,
) -> None:
    state, habits = random_network(rng, 2, 2, kept=(LINE, BOXES), vote_rows=10.0)
    pair, expected = (FIRST_KEPT, FIRST_KEPT + 1), 0.0
    state.course[INDEPENDENCE] = 0.5
    for index, differs in enumerate((rng.random(30) < 0.4).tolist(), start=1):
        outputs = np.tile([0.1, 0.9], (state.kinds.size, 1))
        outputs[FIRST_KEPT] = [0.8, 0.2] if differs else [0.4, 0.6]
        score_layers(state, outputs, 1, habits)
        expected = 0.9 * expected + 0.1 * differs
        assert state.disagreements[pair] == pytest.approx(expected)
        assert state.compared[pair] == index


def test_the_memory_of_the_layers() -> None:
    state, habits = fresh(2, 2, quick_memory=100.0, shortest_memory=500.0, longest_memory=7000.0)
    state.course[MEMORY] = 4000.0
    lengths = {
        QUICK_LINE: 100.0,
        BRISK_LINE: 1000.0,
        STEADY_LINE: 4000.0,
        LIVELY_CURVE: 500.0,
        CALM_CURVE: 7000.0,
        BOX_LAYER: 4000.0,
        FIRST_KEPT: 4000.0,
    }
    for layer, rows in lengths.items():
        assert memory_of(state, layer, habits) == pytest.approx(1.0 - 1.0 / rows)
        assert memory_of(state, layer, habits._replace(forgetting=False)) == 1.0


@pytest.mark.parametrize("memory", ["shortest", "longest"])
def test_no_layer_forgets_more_slowly_than_the_calm_curve(memory: str) -> None:
    state, habits = fresh(2, 2, shortest_memory=500.0, longest_memory=6000.0)
    for lead in [400.0] * 30 if memory == "shortest" else [-1.0] * 80:
        adapt_memory(state, lead, 200, habits)
    assert state.course[MEMORY] == (500.0 if memory == "shortest" else 6000.0)
    calm = memory_of(state, CALM_CURVE, habits)
    assert calm == pytest.approx(1.0 - 1.0 / 6000.0)
    others = [layer for layer in range(state.kinds.size) if layer != CALM_CURVE]
    assert max(memory_of(state, layer, habits) for layer in others) <= calm


def test_the_memory_shortens_while_the_brisk_line_leads() -> None:
    state, habits = fresh(2, 2, shortest_memory=1000.0, longest_memory=3000.0)
    state.course[MEMORY] = 2000.0
    memories = []
    for lead in (-10.0, 40.0, 0.0, -200.0, *[-1.0] * 20, *[400.0] * 10):
        adapt_memory(state, lead, 200, habits)
        memories.append(float(state.course[MEMORY]))
    assert memories[:4] == [2100.0, 1680.0, 1344.0, 1444.0]  # one lead is remembered for a while
    assert memories[23] == 3000.0 and memories[-1] == 1000.0
    adapt_memory(state, 0.0, 0, habits)
    assert state.course[MEMORY] == 1000.0
    assert state.clock[STEPS] == 35


def test_clouds_without_a_say_sit_out_four_steps(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 2, 2, vote_rows=500.0)
    state.scores[:], state.clock[SCORED] = 0.8, GRACE
    rests, shares = [], np.full(state.kinds.size, np.nan)
    for score in [0.8, 0.5, 0.5, 0.9, 0.5, 0.5, 0.9, 0.5]:
        state.scores[CLOUD_LAYER] = score
        rest_clouds(state, habits, shares)
        rests.append(int(state.rests[CLOUD_LAYER]))
    assert rests == [0, 4, 3, 2, 1, 0, 0, 4]


def test_clouds_do_not_rest_until_some_time_after_a_drift(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 2, 2, vote_rows=500.0)
    state.scores[:], state.scores[CLOUD_LAYER] = 0.8, 0.5
    shares = np.full(state.kinds.size, np.nan)
    for n_scored, rest in [(0, 0), (1, 0), (GRACE - 1, 0), (GRACE, 4), (GRACE + 1, 4)]:
        state.rests[CLOUD_LAYER], state.clock[SCORED] = 0, n_scored
        rest_clouds(state, habits, shares)
        assert shares[CLOUD_LAYER] < 1e-3
        assert state.rests[CLOUD_LAYER] == rest
    state.clock[SCORED] = 0  # a drift: clouds that rest already wake in their time
    rests = []
    for _ in range(6):
        rest_clouds(state, habits, shares)
        rests.append(int(state.rests[CLOUD_LAYER]))
    assert rests == [3, 2, 1, 0, 0, 0]


@pytest.mark.parametrize("is_chunk", [False, True])
def test_clouds_that_come_to_rest_equal_the_twin(rng: np.random.Generator, is_chunk: bool) -> None:
    options: dict[str, Any] = {
        "active_learning": False,
        "growing": False,
        "chunk_rows": 40,
        "vote_rows": 500.0,
    }
    state, habits = random_network(rng, 2, 2, **options)
    state.scores[CLOUD_LAYER], state.clock[SCORED] = 0.1, GRACE - 60
    lessons, lead, rests = lessons_of(*turning_stream(rng, 280, 2, 1000)), np.zeros(1), []
    for start in range(0, 280, 40):
        slow, part = slow_copy(state, habits, lead[0]), part_of(lessons, start, start + 40)
        if is_chunk:
            chunk_learned(state, part, habits)
            slow.learn_chunk(part)
        else:
            rows_learned(state, part, habits, lead)
            for index, (row, label) in enumerate(zip(part.rows, part.labels, strict=True)):
                slow.learn_row(index, row, int(label), 1.0, (1.0, OFFERED))
        assert_same(state, slow, 1e-4)
        rests.append(int(state.rests[CLOUD_LAYER]))
    assert rests == [0, 4, 3, 2, 1, 0, 4]


def test_a_network_without_clouds_has_none_to_rest(rng: np.random.Generator) -> None:
    state, habits = random_network(rng, 2, 2, max_clouds=0)
    rest_clouds(state, habits, np.zeros(state.kinds.size))
    assert state.rests[CLOUD_LAYER] == 0
    chunk_learned(state, lessons_of(rng.random((70, 2)), rng.integers(0, 2, 70)), habits)
    assert state.kinds[CLOUD_LAYER] == NO_LAYER and state.n_clouds[0] == 0


def test_trust_is_the_probability_that_a_label_is_right() -> None:
    said = np.array([0.7, 0.2, 0.1])
    for label in range(3):
        right = 0.9 * said[label]
        assert trust(said, label, 0.1) == pytest.approx(right / (right + 0.1 / 3.0))
        assert trust(said, label, 0.0) == 1.0
    for noise in (0.0, 0.1):
        assert trust(np.array([1.0, 0.0]), 1, noise) == 0.0


def test_gains_are_checked_every_4096_rows_of_a_rule(rng: np.random.Generator) -> None:
    lessons = lessons_of(np.array([[0.3, 0.6]]), np.array([1]))
    layers = list(range(BOX_LAYER))
    for age, is_mended in ((4094, False), (4095, True)):
        state, habits = random_network(rng, 2, 2)
        state.ages[layers] = age
        state.gains[np.ix_(layers, [1, 3])] = 3.0  # more covariance than variance
        chunk_learned(state, lessons, habits)
        mended = (state.gains[np.ix_(layers, [1, 3])] == 0.0).all(axis=1)
        assert mended.tolist() == [is_mended] * BOX_LAYER
