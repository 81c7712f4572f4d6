"""The label budget: a bound on every window, against a twin that counts all windows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from concept_same import assert_same_purse, slow_purse
from devfnn.kernels.purse import can_buy, keep_to_budget, note_row, note_rows
from devfnn.arrays import Flags, Ints
from devfnn.kernels.state import ANSWERED, ASKED_FOR, BOUGHT, FIRST_PLACE, GONE_BY, OFFERED, UNLABELLED


def purse_of(most: int) -> Ints:
    """A purse before the first row."""
    return np.zeros(FIRST_PLACE + most, np.int64)


def fullest(bought: Flags, window: int) -> int:
    """Most labels in any window."""
    sums = np.convolve(bought, np.ones(window, np.int64))
    return int(sums.max(initial=0))


@given(st.lists(st.booleans(), min_size=1, max_size=200), st.integers(0, 8), st.integers(1, 30))
@settings(deadline=None, derandomize=True)
def test_no_window_holds_more_and_nothing_is_cut_without_need(
    wishes: list[bool], most: int, window: int
) -> None:
    purse, wanted = purse_of(most), np.array(wishes, np.bool_)
    slow, expected = slow_purse(purse, window), []
    for wish in wishes:
        expected.append(wish and slow.has_room())
        slow.note(OFFERED, expected[-1])
    keep_to_budget(purse, window, wanted)
    assert wanted.tolist() == expected
    assert fullest(wanted, window) <= most
    assert_same_purse(purse, slow)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=100))
@settings(deadline=None, derandomize=True)
def test_rows_of_all_kinds_go_by_as_in_the_twin(rows: list[tuple[int, bool]]) -> None:
    purse = purse_of(4)
    slow = slow_purse(purse, 10)
    for labelled, is_bought in rows:
        bought = labelled != UNLABELLED and is_bought
        assert can_buy(purse, 10) == slow.has_room()
        note_row(purse, labelled, bought)
        slow.note(labelled, bought)
    assert_same_purse(purse, slow)


def test_answers_went_by_when_they_were_asked_for() -> None:
    purse, wanted = purse_of(3), np.array([True, False, True, False])
    note_rows(purse, np.full(4, OFFERED), wanted)
    before = purse.copy()
    note_rows(purse, np.full(2, ANSWERED), np.ones(2, np.bool_))
    np.testing.assert_array_equal(purse, before)
    note_rows(purse, np.array([ASKED_FOR]), np.array([True]))  # a label that nobody asked for
    assert purse[BOUGHT] == 3 and purse[GONE_BY] == 5
    assert not can_buy(purse, 10)


@pytest.mark.parametrize("most", [0, 1])
def test_the_smallest_purses(most: int) -> None:
    wanted = np.ones(10, np.bool_)
    keep_to_budget(purse_of(most), 5, wanted)
    assert np.flatnonzero(wanted).tolist() == [0, 5][: 2 * most]
