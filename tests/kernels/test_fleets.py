"""Kernels of many models at once: each does to a model what the kernels of one do, to the bit."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from build import IS_COMPILED, batch_of, count, only_compiled
from devfnn.kernels._jit import held, view
from devfnn.kernels.fleets import Counts, Groups, learn_groups, predict_groups
from devfnn.kernels.network import learn_rows
from devfnn.kernels.state import DRIFT_EVENT, REPORTED_CLOUDS, STEPS, Batch, Params, State
from devfnn.kernels.votes import vote
from devfnn.model.fleet import groups_of
from rival_build import (
    EVENTFUL,
    assert_equal,
    copied,
    dirty_work,
    events_for,
    fresh,
    lines_of,
    part_of,
    random_network,
    said_by,
    turning_stream,
    voted,
)


def together(states: list[Any]) -> Any:
    """The arrays of many networks, with a leading axis."""
    return states[0]._make(
        None
        if parts[0] is None
        else together(parts)
        if isinstance(parts[0], tuple)
        else np.stack(parts)
        for parts in map(list, zip(*states, strict=True))
    )


def counts_for(n_models: int) -> Counts:
    """Nothing counted yet."""
    return Counts(*(np.zeros(n_models, np.int64) for _ in range(3)))


def in_order(batch: Batch, order: Any) -> Batch:
    """The rows in another order."""
    return Batch(*(array[order] for array in batch))


def not_kept(state: State) -> Any:
    """Outputs that nobody wants."""
    return np.zeros((0, *dirty_work(state).outputs.shape))


def learned_alone(state: State, batch: Batch, params: Params) -> tuple[int, int]:
    """Learn row by row in place, as a single model does; how many labels, and drifts."""
    done, n_taken, n_drifts, counts = 0, 0, 0, state.progress.counts
    while done < len(batch.rows):
        part, steps = part_of(batch, done, len(batch.rows)), counts[STEPS]
        events = events_for(len(part.rows), 500)
        own = map(held, (state, params, dirty_work(state), part, events))
        done += learn_rows(*own, not_kept(state), 0)
        if counts[STEPS] > steps and state.clouds is not None:
            counts[REPORTED_CLOUDS] = state.clouds.count[0]
        n_taken += int(events.taken.sum())
        n_drifts += sum(kind == DRIFT_EVENT for _, kind, *_ in lines_of(events))
    return n_taken, n_drifts


@pytest.mark.parametrize(
    ("m", "choice"),
    [
        (2, "all"),
        (3, "vote"),
        pytest.param(2, "vote", marks=only_compiled),
        pytest.param(3, "all", marks=only_compiled),
    ],
)
def test_a_fleet_learns_mixed_rows_as_its_models_do_alone(
    rng: np.random.Generator, m: int, choice: str
) -> None:
    learns_as_alone(rng, m, choice, EVENTFUL)


def test_a_fleet_without_clouds_learns_mixed_rows_as_its_models_do_alone(
    rng: np.random.Generator,
) -> None:
    others = {name: value for name, value in EVENTFUL.items() if not name.startswith("clouds")}
    learns_as_alone(rng, 2, "vote", others | {"clouds": None})


def learns_as_alone(rng: np.random.Generator, m: int, choice: str, changes: dict[str, Any]) -> None:
    """Five models learn rows in which drifts are found, in a fleet and each alone."""
    n_models, n_rows = 5, count(3000, 1200)
    certainty = {"labels__certainty": 0.9} if choice == "vote" else {}
    alone, params = fresh(2, m, labels__choice=choice, **certainty, **changes)
    fleet = together([alone] * n_models)
    ids = rng.choice(n_models, n_rows, p=[0.5, 0.3, 0.15, 0.05, 0.0])
    rows, labels = turning_stream(rng, n_rows, m, n_rows // 4)
    rows[rng.random(rows.shape) < 0.05] = np.nan
    batch = batch_of(rows, labels, rng.uniform(0.5, 2.0, n_rows), rng.random(n_rows))
    counts, work = counts_for(n_models), dirty_work(alone)
    for part in np.array_split(np.arange(n_rows), 7):
        groups, events = groups_of(ids[part]), events_for(len(part), 500)
        own = in_order(batch, part[groups.order])
        learn_groups(fleet, groups, own, params, events, counts, not_kept(alone), work)
    assert counts.n_drifts.sum() > 2
    assert (fleet.pool.n_members[0] > alone.pool.n_members).any()
    for model in range(n_models):
        single, own = copied(alone), in_order(batch, np.flatnonzero(ids == model))
        n_taken, n_drifts = learned_alone(single, own, params)
        assert_equal(view(fleet, model), single)
        assert counts.n_rows[model] == len(own.rows)
        assert (counts.n_labels[model], counts.n_drifts[model]) == (n_taken, n_drifts)
    assert (counts.n_labels.sum() < n_rows) == (choice == "vote")


@pytest.mark.parametrize(("n", "m"), [(2, 2), (4, 3)])
def test_a_fleet_predicts_mixed_rows_as_its_models_do_alone(
    rng: np.random.Generator, n: int, m: int
) -> None:
    networks = [random_network(rng, n, m) for _ in range(4)]
    params = networks[0][1]
    fleet = together([state for state, _ in networks])
    fleet.layers.rests[1, :2] = 1
    before = copied(fleet)
    ids, rows = rng.integers(0, 3, 60), rng.uniform(-0.1, 1.1, (60, n))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    probabilities = np.full((60, m), np.nan)
    work = dirty_work(view(fleet, 0))
    predict_groups(fleet, groups_of(ids), rows, params, probabilities, work)
    for model in range(3):
        own, state = ids == model, copied(view(fleet, model))
        said = voted(state, said_by(state, rows[own], params), params)
        assert probabilities[own].tolist() == said.tolist()
    assert_equal(fleet, before)


def test_no_rows_change_nothing(rng: np.random.Generator) -> None:
    state, params = random_network(rng, 2, 2)
    fleet, counts = together([state, state]), counts_for(2)
    groups, nothing = groups_of(np.zeros(0, np.int64)), batch_of(np.empty((0, 2)), np.zeros(0))
    own = (counts, not_kept(state), dirty_work(state))
    learn_groups(fleet, groups, nothing, params, events_for(0), *own)
    assert_equal(fleet, together([state, state]))
    assert not counts.n_rows.any()


def test_rows_are_grouped_by_model_in_their_order(rng: np.random.Generator) -> None:
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


def test_nothing_is_allocated_per_row(
    rng: np.random.Generator, allocations: Callable[[], int]
) -> None:
    state, params = fresh(2, 2, **EVENTFUL)
    made = []
    for n_rows in (500, 4000):
        fleet, counts = together([state] * 3), counts_for(3)
        rows, labels = turning_stream(rng, n_rows, 2, 300)
        groups = groups_of(rng.integers(0, 3, n_rows))
        batch, events = batch_of(rows, labels), events_for(n_rows, 500)
        probabilities, work = np.empty((n_rows, 2)), dirty_work(state)
        outputs = not_kept(state)
        before = allocations()
        learn_groups(fleet, groups, batch, params, events, counts, outputs, work)
        predict_groups(fleet, groups, rows, params, probabilities, work)
        made.append(allocations() - before)
    assert made == [made[0]] * 2
    before = allocations()
    own = (held(state), held(params))
    vote(*own, np.ones((1, state.layers.kinds.size, 2)), np.empty((1, 2)))
    assert allocations() > before  # that one does make an array: they are counted
