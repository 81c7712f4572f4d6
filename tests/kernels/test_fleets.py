"""Kernels of many models at once: each does to a model what the kernels of one do, to the bit."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from build import IS_COMPILED, count
from concept_build import (
    copied,
    diary_for,
    dirty_work,
    fresh,
    lessons_of,
    part_of,
    random_network,
    turning_stream,
)
from devfnn.kernels.concept_state import STEPS, TOLD, Concepts, Habits, Lessons
from devfnn.kernels.concepts import forward, learn_rows, vote
from devfnn.kernels.fleets import Counts, Groups, learn_groups, predict_groups
from devfnn.arrays import Floats, Ints
from devfnn.model.fleet import groups_of

EVENTFUL = {
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
    "drift_significance": 0.05,
}
"""So much happens in a few hundred rows."""


def together(states: list[Concepts]) -> Concepts:
    """The arrays of many networks, with a leading axis."""
    return Concepts(*(np.stack(arrays) for arrays in zip(*states, strict=True)))


def one_of(fleet: Concepts, model: int) -> Concepts:
    """One network of a fleet."""
    return Concepts(*(array[model] for array in fleet))


def counts_for(n_models: int) -> Counts:
    """Nothing counted yet."""
    zeros = [np.zeros(n_models, np.int64) for _ in range(3)]
    return Counts(np.zeros((n_models, 1)), *zeros)


def in_order(lessons: Lessons, order: Ints) -> Lessons:
    """The rows in another order."""
    return Lessons(*(array[order] for array in lessons))


def learned_alone(
    state: Concepts, lessons: Lessons, habits: Habits, lead: Floats
) -> tuple[int, int]:
    """Learn row by row in place, as a single model does; how many labels, and drifts."""
    done, n_taken, n_drifts = 0, 0, 0
    while done < len(lessons.rows):
        part, steps = part_of(lessons, done, len(lessons.rows)), state.clock[STEPS]
        diary = diary_for(len(part.rows), 500)
        done += learn_rows(state, part, habits, diary, lead, dirty_work(state))
        if state.clock[STEPS] > steps:
            state.clock[TOLD] = state.n_clouds[0]
        n_taken += int(diary.taken.sum())
        n_drifts += int((diary.lines[: diary.n_lines[0], 1] == 1).sum())
    return n_taken, n_drifts


def assert_identical(own: Concepts, other: Concepts) -> None:
    """Compare two networks to the bit."""
    for name in Concepts._fields:
        np.testing.assert_array_equal(getattr(own, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("is_choosy", [False, True])
@pytest.mark.parametrize("m", [2, 3])
def test_a_fleet_learns_mixed_rows_as_its_models_do_alone(rng, m, is_choosy):
    n_models, n_rows = 5, count(3000, 1500)
    alone, habits = fresh(2, m, active_learning=is_choosy, conflict_threshold=0.9, **EVENTFUL)
    fleet = together([alone] * n_models)
    ids = rng.choice(n_models, n_rows, p=[0.5, 0.3, 0.15, 0.05, 0.0])
    rows, labels = turning_stream(rng, n_rows, m, n_rows // 4)
    rows[rng.random(rows.shape) < 0.05] = np.nan
    lessons = lessons_of(
        rows, labels, weights=rng.uniform(0.5, 2.0, n_rows), draws=rng.random(n_rows)
    )
    counts, work = counts_for(n_models), dirty_work(alone)
    for batch in np.array_split(np.arange(n_rows), 7):
        groups = groups_of(ids[batch])
        own = in_order(lessons, batch[groups.order])
        learn_groups(fleet, groups, own, habits, diary_for(len(batch), 500), counts, work)
    assert counts.n_drifts.sum() > 2
    assert (fleet.n_members[0] > alone.n_members).any()
    for model in range(n_models):
        single, lead = copied(alone), np.zeros(1)
        own = in_order(lessons, np.flatnonzero(ids == model))
        n_taken, n_drifts = learned_alone(single, own, habits, lead)
        assert_identical(one_of(fleet, model), single)
        assert counts.leads[model] == lead
        assert counts.n_rows[model] == len(own.rows)
        assert (counts.n_labels[model], counts.n_drifts[model]) == (n_taken, n_drifts)
    assert (counts.n_labels.sum() < n_rows) == is_choosy


@pytest.mark.parametrize(("n", "m"), [(2, 2), (4, 3)])
def test_a_fleet_predicts_mixed_rows_as_its_models_do_alone(rng, n, m):
    networks = [random_network(rng, n, m) for _ in range(4)]
    habits = networks[0][1]
    fleet = together([state for state, _ in networks])
    fleet.rests[1, :2] = 1
    before = copied(fleet)
    ids, rows = rng.integers(0, 3, 60), rng.uniform(-0.1, 1.1, (60, n))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    probabilities = np.full((60, m), np.nan)
    work = dirty_work(one_of(fleet, 0))
    predict_groups(fleet, groups_of(ids), rows, habits, probabilities, work)
    for row, model in enumerate(ids):
        state = copied(one_of(fleet, model))
        outputs, said = np.empty((1, state.kinds.size, m)), np.empty((1, m))
        forward(state, rows[row : row + 1], outputs, dirty_work(state))
        vote(state, outputs, habits, said)
        assert probabilities[row].tolist() == said[0].tolist()
    assert_identical(fleet, before)


def test_no_rows_change_nothing(rng):
    state, habits = random_network(rng, 2, 2)
    fleet, counts = together([state, state]), counts_for(2)
    groups = groups_of(np.zeros(0, np.int64))
    nothing = lessons_of(np.empty((0, 2)), np.zeros(0, np.int64))
    learn_groups(fleet, groups, nothing, habits, diary_for(0), counts, dirty_work(state))
    assert_identical(fleet, together([state, state]))
    assert not counts.n_rows.any()


def test_rows_are_grouped_by_model_in_their_order(rng):
    ids = rng.integers(0, 300, 1000)
    groups = groups_of(ids)
    assert groups.models.tolist() == sorted(set(ids.tolist()))
    for model, start, stop in zip(groups.models, groups.bounds, groups.bounds[1:], strict=False):
        assert groups.order[start:stop].tolist() == np.flatnonzero(ids == model).tolist()
    assert isinstance(groups, Groups) and groups.bounds[-1] == 1000


@pytest.fixture
def allocations() -> Iterator[Callable[[], int]]:
    """How many arrays compiled code has made so far."""
    if not IS_COMPILED:
        pytest.skip("counts what compiled code allocates")
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    yield lambda: int(rtsys.get_allocation_stats().mi_alloc)
    _nrt_python.memsys_disable_stats()


def test_nothing_is_allocated_per_row(rng, allocations):
    state, habits = fresh(2, 2, **EVENTFUL)
    made = []
    for n_rows in (500, 4000):
        fleet, counts = together([state] * 3), counts_for(3)
        rows, labels = turning_stream(rng, n_rows, 2, 300)
        groups = groups_of(rng.integers(0, 3, n_rows))
        lessons, diary = lessons_of(rows, labels), diary_for(n_rows, 500)
        probabilities, work = np.empty((n_rows, 2)), dirty_work(state)
        before = allocations()
        learn_groups(fleet, groups, lessons, habits, diary, counts, work)
        predict_groups(fleet, groups, rows, habits, probabilities, work)
        made.append(allocations() - before)
    assert made == [made[0]] * 2
    before = allocations()
    vote(state, np.ones((1, state.kinds.size, 2)), habits, np.empty((1, 2)))
    assert allocations() > before  # that one does make an array: they are counted
