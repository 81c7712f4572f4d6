"""Which labels are taken, and the label budget: a bound on every window."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import batch_of
from devfnn.arrays import Flags, Floats, Ints
from devfnn.kernels.labels import can_buy, choose_labels, count_row, count_rows, keep_to_budget
from devfnn.kernels.state import (
    ANSWERED,
    ASKED_FOR,
    BOUGHT,
    FIRST_PLACE,
    OFFERED,
    SEEN_ROWS,
    UNLABELLED,
    Params,
    State,
)
from rival_build import assert_equal, chunk_learned, copied, fresh, random_network
from rival_same import assert_same, assert_same_budget, slow_budget, slow_copy

CHOICES: dict[str, dict[str, Any]] = {
    "all": {"labels__choice": "all"},
    "certainty": {
        "labels__choice": "vote",
        "labels__certainty": 0.9,
        "labels__exploration": 0.2,
    },
    "budget": {"labels__choice": "vote", "labels__budget": 0.5, "labels__exploration": 0.2},
    "all in a budget": {"labels__choice": "all", "labels__budget": 0.5},
}

# ---- the budget


def budget_of(most: int) -> Ints:
    """A budget before the first row."""
    return np.zeros(FIRST_PLACE + most, np.int64)


@given(st.lists(st.booleans(), min_size=1, max_size=200), st.integers(0, 8), st.integers(1, 30))
@settings(deadline=None, derandomize=True)
def test_no_window_holds_more_and_nothing_is_cut_without_need(
    wishes: list[bool], most: int, window: int
) -> None:
    budget, wanted = budget_of(most), np.array(wishes, np.bool_)
    slow, expected = slow_budget(budget, window), []
    for wish in wishes:
        expected.append(wish and slow.has_room())
        slow.note(OFFERED, expected[-1])
    keep_to_budget(budget, window, wanted)
    assert wanted.tolist() == expected
    assert np.convolve(wanted, np.ones(window, np.int64)).max(initial=0) <= most
    assert_same_budget(budget, slow)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=100))
@settings(deadline=None, derandomize=True)
def test_rows_of_all_kinds_are_counted_as_in_the_twin(rows: list[tuple[int, bool]]) -> None:
    budget = budget_of(4)
    slow = slow_budget(budget, 10)
    for labelled, is_bought in rows:
        bought = labelled != UNLABELLED and is_bought
        assert can_buy(budget, 10) == slow.has_room()
        count_row(budget, labelled, bought)
        slow.note(labelled, bought)
    assert_same_budget(budget, slow)


def test_answers_were_counted_when_they_were_asked_for() -> None:
    budget, wanted = budget_of(3), np.array([True, False, True, False])
    count_rows(budget, np.full(4, OFFERED), wanted)
    before = budget.copy()
    count_rows(budget, np.full(2, ANSWERED), np.ones(2, np.bool_))
    np.testing.assert_array_equal(budget, before)
    count_rows(budget, np.array([ASKED_FOR]), np.array([True]))  # a label that nobody asked for
    assert budget[BOUGHT] == 3 and budget[SEEN_ROWS] == 5
    assert not can_buy(budget, 10)


@pytest.mark.parametrize("most", [0, 1])
def test_the_smallest_budgets(most: int) -> None:
    wanted = np.ones(10, np.bool_)
    keep_to_budget(budget_of(most), 5, wanted)
    assert np.flatnonzero(wanted).tolist() == [0, 5][: 2 * most]


# ---- the choice


def wanted_by(state: State, probabilities: Floats, draws: Floats, params: Params) -> Flags:
    """The choice of the kernel."""
    wanted = np.zeros(len(draws), np.bool_)
    choose_labels(state.progress, probabilities, draws, params, wanted)
    return wanted


@pytest.mark.parametrize("choice", CHOICES)
def test_choosing_equals_the_twin_and_changes_signals_and_budget_alone(
    rng: np.random.Generator, choice: str
) -> None:
    state, params = random_network(rng, 2, 3, **CHOICES[choice])
    before, slow = copied(state), slow_copy(state, params)
    probabilities, draws = rng.dirichlet(np.full(3, 0.3), 500), rng.random(500)
    wanted = wanted_by(state, probabilities, draws, params)
    assert_equal(state, before, but=("progress.signals", "progress.budget"))
    pairs = zip(probabilities, draws.tolist(), strict=True)
    assert wanted.tolist() == [slow.choose(shares, draw, OFFERED) for shares, draw in pairs]
    assert_same(state, slow)
    assert wanted.any() and wanted.all() == (choice == "all")


@pytest.mark.parametrize("budget", [0.05, 0.2, 0.6])
def test_the_budget_is_kept_and_goes_to_unsure_rows(
    rng: np.random.Generator, budget: float
) -> None:
    state, params = fresh(
        2, 2, labels__choice="vote", labels__budget=budget, labels__exploration=0.1
    )
    shares = rng.beta(0.5, 0.5, 6000)
    probabilities = np.column_stack([1.0 - shares, shares])
    wanted = wanted_by(state, probabilities, rng.random(6000), params)
    assert 0.7 * budget < wanted[1000:].mean() < 1.3 * budget
    unsure = np.abs(shares - 0.5) < 0.25
    assert wanted[unsure].mean() > 1.5 * wanted[~unsure].mean() > 0.0


def test_a_label_that_was_asked_for_is_always_taken(rng: np.random.Generator) -> None:
    state, params = random_network(rng, 2, 2, labels__choice="vote", labels__budget=0.0)
    batch = batch_of(rng.random((20, 2)), rng.integers(0, 2, 20))
    batch.labelled[::2] = ASKED_FOR
    with np.errstate(all="ignore"):
        events = chunk_learned(state, batch, params)
    assert events.taken.tolist() == [1, 0] * 10
