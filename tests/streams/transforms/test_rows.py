"""Which rows come, and in which chunks: against lists of rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devfnn.errors import InputError
from devfnn.streams.transforms import rows
from devfnn.types import Chunk
from plain_streams import (
    Endless,
    all_rows,
    block_of,
    numbered,
    numbers_of,
    pieces,
    rows_of,
    table,
    tables,
)

COUNTS = st.integers(0, 40)
SIZES = st.integers(1, 35)


# ---- joining parts


@given(source=tables())
def test_joined_parts_are_their_rows_in_order(source):
    parts = [block for block in source.blocks.blocks if len(block.y)]
    if parts:
        assert rows_of(rows.joined(parts)) == source.rows


@given(source=tables(kinds=["int", "text"]))
def test_joined_labels_of_one_kind_keep_it(source):
    parts = [block for block in source.blocks.blocks if len(block.y)]
    if parts:
        assert rows.joined(parts).y.dtype.kind == parts[0].y.dtype.kind


def test_joining_does_not_turn_numbers_into_text():
    parts = [
        block_of(numbered([1, 2]), "int"),
        block_of(numbered(["1"]), "text"),
        block_of(numbered([None, 2.5])),
    ]
    labels = rows.joined(parts).y
    assert labels.tolist() == [1, 2, "1", None, 2.5]
    assert [type(label) for label in labels] == [int, int, str, type(None), float]


def test_joining_parts_with_and_without_a_mask_keeps_the_mask():
    shown = block_of(numbered([0, 1]))
    hidden = shown._replace(labelled=np.array([False, True]))
    assert rows.joined([shown, hidden]).labelled.tolist() == [True, True, False, True]
    assert rows.joined([shown, shown]).labelled is None


def test_times_are_joined_only_if_all_parts_have_them():
    with_times = block_of(numbered([0], [np.int64(7)]))
    assert rows.joined([with_times, with_times]).times.tolist() == [7, 7]
    assert rows.joined([with_times, block_of(numbered([0]))]).times is None


def test_clocks_that_cannot_be_compared_are_refused():
    dates = block_of(numbered([0], [np.datetime64("2024-01-01")]))
    with pytest.raises(InputError, match="dates and rows with numbers as times cannot be joined"):
        rows.joined([dates, block_of(numbered([0], [np.int64(7)]))])


# ---- cutting by rows


@given(source=tables(), chunk_rows=SIZES)
def test_chunks_cut_by_rows_are_slices_of_the_rows(source, chunk_rows):
    chunks = list(rows.cut_by_rows(source.blocks(), chunk_rows))
    assert [rows_of(chunk) for chunk in chunks] == pieces(source.rows, chunk_rows)


@given(source=tables(kinds=["int"]), chunk_rows=SIZES)
def test_empty_blocks_do_not_change_the_kind_of_labels(source, chunk_rows):
    chunks = rows.cut_by_rows(source.blocks(), chunk_rows)
    assert all(chunk.y.dtype == np.int64 for chunk in chunks)


@given(sizes=st.lists(st.integers(0, 9), max_size=10), chunk_rows=SIZES, n_asked=st.integers(0, 9))
def test_a_chunk_is_there_as_soon_as_its_last_row_was_read(sizes, chunk_rows, n_asked):
    source = table(numbered(range(sum(sizes))), sizes)
    chunks = list(itertools.islice(rows.cut_by_rows(source.blocks(), chunk_rows), n_asked))
    if len(chunks) == n_asked and all(len(chunk.y) == chunk_rows for chunk in chunks):
        needed = n_asked * chunk_rows
        n_needed = next(k for k in range(len(sizes) + 1) if sum(sizes[:k]) >= needed)
        assert source.blocks.n_read == n_needed


# ---- cutting by time

WINDOWS = st.integers(1, 12)


def window_of(span):
    """Numbers of windows, for times that are whole numbers."""
    return lambda times: times // span


@given(source=tables(clocks=["int"]), span=WINDOWS)
def test_chunks_of_a_rising_clock_are_the_rows_of_each_window(source, span):
    chunks = list(rows.cut_by_time(source.blocks(), window_of(span)))
    groups = itertools.groupby(source.rows, key=lambda row: row.time // span)
    assert [rows_of(chunk) for chunk in chunks] == [list(group) for _, group in groups]


@given(source=tables(clocks=["int"], is_rising=False), span=WINDOWS)
def test_any_clock_keeps_all_rows_in_order_and_late_ones_with_those_they_came_with(source, span):
    expected, newest = [], 0
    for row in source.rows:
        window = row.time // span
        if not expected or window > newest or window < newest - 1:
            expected.append([])
            newest = window
        expected[-1].append(row)
    chunks = list(rows.cut_by_time(source.blocks(), window_of(span)))
    assert [rows_of(chunk) for chunk in chunks] == expected


def test_windows_without_rows_give_no_chunks():
    source = table(numbered("abc", map(np.int64, [0, 5, 95])), [1, 1])
    chunks = list(rows.cut_by_time(source.blocks(), window_of(10)))
    assert [numbers_of([chunk]) for chunk in chunks] == [[0, 1], [2]]


def test_a_window_ends_with_the_first_row_behind_it_and_nothing_more_is_read():
    source = table(numbered(range(9), map(np.int64, range(9))), [1] * 9)
    chunks = rows.cut_by_time(source.blocks(), window_of(3))
    assert source.blocks.n_read == 0
    next(chunks)
    assert source.blocks.n_read == 4
    next(chunks)
    assert source.blocks.n_read == 7


# ---- taking, leaving out, repeating


@given(source=tables(), n_rows=COUNTS)
def test_taken_rows_are_the_first(source, n_rows):
    assert all_rows(rows.taken(source.blocks(), n_rows)) == source.rows[:n_rows]


@given(sizes=st.lists(st.integers(0, 9), max_size=10), n_rows=COUNTS)
def test_taking_reads_not_one_block_more_than_needed(sizes, n_rows):
    source = table(numbered(range(sum(sizes))), sizes)
    list(rows.taken(source.blocks(), n_rows))
    needed = min(n_rows, sum(sizes))
    if n_rows <= sum(sizes):
        n_needed = next(k for k in range(len(sizes) + 1) if sum(sizes[:k]) >= needed)
    else:
        n_needed = len(sizes)
    assert source.blocks.n_read == n_needed


@given(source=tables(), n_rows=COUNTS)
def test_skipped_rows_are_the_first(source, n_rows):
    assert all_rows(rows.skipped(source.blocks(), n_rows)) == source.rows[n_rows:]


def test_skipping_gives_what_is_left_of_a_block_at_once():
    source = table(numbered(range(9)), [3, 3, 3])
    first = next(rows.skipped(source.blocks(), 4))
    assert numbers_of([first]) == [4, 5]
    assert source.blocks.n_read == 2


@given(source=tables(max_rows=12), times=st.integers(1, 4))
def test_repeated_rows_are_the_same_again(source, times):
    assert all_rows(rows.repeated(source.blocks, times)) == source.rows * times


@given(source=tables(max_rows=12), n_rows=COUNTS)
def test_rows_are_repeated_for_ever(source, n_rows):
    endless = rows.taken(rows.repeated(source.blocks, None), n_rows)
    again = itertools.islice(itertools.cycle(source.rows), n_rows)
    assert all_rows(endless) == list(again)


def test_a_source_is_started_again_only_when_its_next_row_is_asked_for():
    source = table(numbered(range(4)), [2, 2])
    list(rows.taken(rows.repeated(source.blocks, None), 4))
    assert (source.blocks.n_started, source.blocks.n_read) == (1, 2)


@pytest.mark.parametrize("sizes", [[], [0, 0]])
def test_repeating_nothing_for_ever_ends_at_once(sizes):
    source = table([], sizes)
    assert all_rows(rows.repeated(source.blocks, None)) == []
    assert source.blocks.n_started == 1


# ---- shuffling


@given(source=tables(), buffer_rows=SIZES, seed=st.integers(0, 5))
def test_every_buffer_is_a_permutation_of_its_rows(source, buffer_rows, seed):
    shuffled = pieces(all_rows(rows.shuffled(source.blocks(), buffer_rows, seed)), buffer_rows)
    for buffer, original in zip(shuffled, pieces(source.rows, buffer_rows), strict=True):
        assert sorted(row.features for row in buffer) == [row.features for row in original]
        assert all(original[int(r.features[0] - original[0].features[0])] == r for r in buffer)


@given(sizes=st.lists(st.integers(0, 30), max_size=6), buffer_rows=SIZES)
def test_the_order_depends_on_the_seed_and_not_on_the_blocks(sizes, buffer_rows):
    plain = table(numbered(range(100)))
    cut = table(numbered(range(100)), sizes)
    expected = numbers_of(rows.shuffled(plain.blocks(), buffer_rows, 1))
    assert numbers_of(rows.shuffled(cut.blocks(), buffer_rows, 1)) == expected
    if buffer_rows > 10:
        assert numbers_of(rows.shuffled(plain.blocks(), buffer_rows, 2)) != expected


def test_every_order_of_a_buffer_is_as_likely_as_the_others():
    source = table(numbered(range(3 * 6000)))
    order = np.array(numbers_of(rows.shuffled(source.blocks(), 3, 0))).reshape(-1, 3) % 3
    _, counts = np.unique(order, axis=0, return_counts=True)
    assert len(counts) == 6
    np.testing.assert_allclose(counts / 6000, 1 / 6, atol=0.02)


def test_a_buffer_is_there_as_soon_as_it_is_full():
    source = table(numbered(range(9)), [3, 3, 3])
    next(rows.shuffled(source.blocks(), 6, 0))
    assert source.blocks.n_read == 2


# ---- nothing is held


@pytest.mark.parametrize(
    ("change", "most"),
    [
        (lambda start: rows.cut_by_rows(start(), 4), 2),
        (lambda start: rows.cut_by_rows(start(), 25), 4),
        (lambda start: rows.cut_by_time(start(), window_of(25)), 5),
        (lambda start: rows.taken(start(), 10_000), 2),
        (lambda start: rows.skipped(start(), 55), 2),
        (lambda start: rows.repeated(start, None), 2),
        (lambda start: rows.shuffled(start(), 20, 0), 3),
    ],
)
def test_blocks_are_let_go_of_when_their_rows_have_passed(change, most):
    source = Endless(10)
    passing = change(source)
    for _ in range(60):
        next(passing)
        assert source.n_alive() <= most
    assert source.n_read >= 24


def test_a_source_without_rows_gives_no_chunks():
    for blocks in ([], [block_of([])]):
        assert list(rows.cut_by_rows(iter(blocks), 3)) == []
        assert list(rows.cut_by_time(iter(blocks), window_of(3))) == []
        assert list(rows.shuffled(iter(blocks), 3, 0)) == []
        assert list(rows.skipped(iter(blocks), 0)) == []


def test_chunks_leave_what_they_are_made_of_untouched():
    block = block_of(numbered(range(10)), "int")
    copy = Chunk(block.X.copy(), block.y.copy())
    list(rows.shuffled(rows.cut_by_rows(iter([block]), 3), 4, 0))
    np.testing.assert_array_equal(block.X, copy.X)
    np.testing.assert_array_equal(block.y, copy.y)
