"""What comes in: rows to arrays, labels to class indices, draws for exploration."""

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract import Table
from devfnn import InputError
from devfnn.kernels.state import ASKED_FOR, OFFERED, UNLABELLED
from devfnn.model.validation import (
    Labels,
    as_labelled,
    as_labels,
    as_rows,
    as_weights,
    exploration_draws,
    plain_label,
)

# ---- rows


@pytest.mark.parametrize(
    "given",
    [
        [[1, 2], [3, 4]],
        ((1.0, 2.0), (3.0, 4.0)),
        [np.array([1, 2]), np.array([3, 4])],
        np.array([[1, 2], [3, 4]], np.uint8),
        np.array([[1, 2], [3, 4]], np.float16),
        np.array([[1, 2], [3, 4]], object),
        np.array([[1, 3], [2, 4]]).T,
        np.arange(1.0, 9.0).reshape(4, 2)[:2],
        Table(["a", "b"], np.array([[1.0, 2.0], [3.0, 4.0]])),
    ],
    ids=lambda given: type(given).__name__,
)
def test_anything_numpy_can_view_becomes_a_matrix(given: Any) -> None:
    rows = as_rows(given, None, None, "error")
    np.testing.assert_array_equal(rows, [[1.0, 2.0], [3.0, 4.0]])
    assert rows.dtype == np.float64 and rows.flags.c_contiguous


def test_flags_are_numbers() -> None:
    np.testing.assert_array_equal(as_rows([[True, False]], None, None, "error"), [[1.0, 0.0]])


def test_the_largest_and_smallest_numbers_are_taken() -> None:
    edge = [[1e100, -1e100, 5e-324]]
    np.testing.assert_array_equal(as_rows(edge, None, 3, "error"), edge)


def test_columns_come_in_the_order_of_the_model() -> None:
    table = Table(["c", "a", "b"], np.array([[3.0, 1.0, 2.0]]))
    np.testing.assert_array_equal(as_rows(table, ["a", "b", "c"], 3, "error"), [[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(as_rows(table, None, 3, "error"), [[3.0, 1.0, 2.0]])


def test_columns_need_not_be_text() -> None:
    table = Table([1, 0], np.array([[3.0, 1.0]]))  # type: ignore[list-item]
    np.testing.assert_array_equal(as_rows(table, ["0", "1"], 2, "error"), [[1.0, 3.0]])


def test_every_wrong_column_is_named() -> None:
    with pytest.raises(InputError) as caught:
        as_rows(Table(["a", "x", "y"], np.zeros((1, 3))), ["a", "b"], 2, "error")
    for part in ("unknown column 'x'", "unknown column 'y'", "column 'b' is absent", "knows a, b"):
        assert part in str(caught.value)


# ---- labels


def test_labels_are_numbered_in_the_order_they_come() -> None:
    labels = Labels()
    codes, fresh = labels.encode(["b", "a", "b", "c"])
    assert codes.tolist() == [0, 1, 0, 2] and fresh == ["b", "a", "c"]
    assert len(labels) == 0  # not yet added
    labels.add(fresh)
    codes, fresh = labels.encode(["c", "d", "a", "d"])
    assert codes.tolist() == [2, 3, 1, 3] and fresh == ["d"]


@given(st.lists(st.integers(0, 20) | st.text("ab1é", max_size=2) | st.tuples(st.integers(0, 3))))
@settings(max_examples=50)
def test_decoding_gives_the_labels_back(values: list[Any]) -> None:
    labels = Labels()
    codes, fresh = labels.encode(values)
    labels.add(fresh)
    again, none = labels.encode(values)
    assert none == [] and again.tolist() == codes.tolist()
    assert labels.decode(codes).tolist() == values if values else True


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "i"),
        ([0.5, 1.5], "f"),
        ([True, False], "b"),
        (["a", "bb"], "U"),
        ([1, "1"], "O"),
        ([(1, 2), (3,)], "O"),
        ([b"a", b"b"], "O"),
        ([2**70, 1], "O"),
        ([2**63, 1], "O"),
    ],
)
def test_labels_of_one_type_come_back_as_an_array_of_it(values: list[Any], kind: str) -> None:
    array = Labels(values).as_array()
    assert array.dtype.kind == kind
    assert array.tolist() == values


def test_text_comes_back_to_the_last_character() -> None:
    values = ["a", "a\x00", "", "\x00", "ä\ud800"]
    assert Labels(values).decode(np.arange(5)).tolist() == values


def test_numbers_of_numpy_become_plain() -> None:
    codes, fresh = Labels().encode([np.int64(3), np.str_("a"), np.bool_(True), np.float64(0.5)])
    assert [type(label) for label in fresh] == [int, str, bool, float]
    assert codes.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("given", [(1, 2), [1, 2], np.array([1, 2]), iter([1, 2]), range(1, 3)])
def test_labels_may_be_any_sequence(given: Any) -> None:
    assert as_labels(given, 2) == [1, 2]


# ---- weights and chosen rows


def test_weights_are_1_unless_given() -> None:
    assert as_weights(None, 3).tolist() == [1.0, 1.0, 1.0]
    assert as_weights([0, 2, 1e6], 3).tolist() == [0.0, 2.0, 1e6]
    assert as_weights(None, 0).shape == (0,)


def test_chosen_rows_have_a_label_and_others_none() -> None:
    assert as_labelled(None, 2).tolist() == [OFFERED, OFFERED]
    assert as_labelled(True, 2).tolist() == [ASKED_FOR, ASKED_FOR]
    assert as_labelled(np.array([True, False]), 2).tolist() == [ASKED_FOR, UNLABELLED]
    assert as_labelled([False, True], 2).tolist() == [UNLABELLED, ASKED_FOR]


# ---- draws


def test_draws_depend_on_the_row_and_the_seed_alone() -> None:
    draws = exploration_draws(7, 0, 1000)
    parts = [exploration_draws(7, first, 100) for first in range(0, 1000, 100)]
    np.testing.assert_array_equal(np.concatenate(parts), draws)
    assert (exploration_draws(8, 0, 1000) != draws).all()
    assert exploration_draws(2**63 + 1, 10**15, 3).shape == (3,)


def test_draws_are_uniform_and_independent() -> None:
    draws = exploration_draws(0, 0, 100_000)
    assert draws.min() >= 0.0 and draws.max() < 1.0
    counts, _ = np.histogram(draws, bins=20, range=(0.0, 1.0))
    assert np.abs(counts - 5000).max() < 5 * np.sqrt(5000)
    for other in (draws[1:], exploration_draws(1, 0, 99_999), exploration_draws(2, 0, 99_999)):
        assert abs(np.corrcoef(draws[:-1], other)[0, 1]) < 0.02


@pytest.mark.parametrize("label", [float("nan"), np.float64("nan"), Decimal("NaN")])
def test_a_label_that_is_not_equal_to_itself_is_missing(label: Any) -> None:
    with pytest.raises(InputError, match="missing"):
        plain_label(label, 3)
