"""Labels hidden, renamed and delayed: against lists of rows."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devfnn.streams import sea
from devfnn.streams.transforms import labels
from devfnn.types import Chunk
from plain_streams import (
    NAMES,
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

# ---- hiding


def mask_of(chunks):
    """The mask of all rows."""
    return [row.is_labelled for row in all_rows(chunks)]


@given(source=tables(), rate=st.floats(0, 1), seed=st.integers(0, 9))
def test_hiding_changes_nothing_but_the_mask(source, rate, seed):
    hidden = all_rows(labels.hidden(source.blocks(), rate, seed))
    assert [row[:3] for row in hidden] == [row[:3] for row in source.rows]


@given(source=tables(), rate=st.floats(0, 1), seed=st.integers(0, 9))
def test_what_was_hidden_stays_hidden(source, rate, seed):
    plain = table(source.rows)
    drawn = mask_of(labels.hidden(plain.blocks(), rate, seed))
    before = [row.is_labelled for row in source.rows]
    expected = [old and new for old, new in zip(before, drawn, strict=True)]
    assert mask_of(labels.hidden(source.blocks(), rate, seed)) == expected


@given(sizes=st.lists(st.integers(0, 30), max_size=6), seed=st.integers(0, 3))
def test_the_mask_does_not_depend_on_the_blocks(sizes, seed):
    whole, cut = table(numbered(range(90))), table(numbered(range(90)), sizes)
    expected = mask_of(labels.hidden(whole.blocks(), 0.5, seed))
    assert mask_of(labels.hidden(cut.blocks(), 0.5, seed)) == expected
    assert mask_of(labels.hidden(whole.blocks(), 0.5, seed + 1)) != expected


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_the_rate_is_the_share_of_hidden_labels(rate):
    hidden = np.concatenate(
        [block.labelled for block in labels.hidden(Endless(1000, 20)(), rate, 4)]
    )
    assert 1 - hidden.mean() == pytest.approx(rate, abs=0.01)
    assert rate not in (0.0, 1.0) or 1 - hidden.mean() == rate


def test_a_higher_rate_hides_more_of_the_same_labels():
    few, many = (
        np.array(mask_of(labels.hidden(Endless(100, 5)(), rate, 4))) for rate in (0.2, 0.6)
    )
    assert (few >= many).all()
    assert few.sum() > many.sum()


# ---- renaming

NEW_NAMES = st.dictionaries(
    st.sampled_from([None, 0, 1, 2, 3, "no", "yes", "one", ("a", 1)]),
    st.sampled_from([None, 5, -6, 2**65, "new", ("new", 2), 1.5]),
)


@given(source=tables(), names=NEW_NAMES)
def test_labels_with_a_new_name_have_it_and_the_others_their_own(source, names):
    renamed = all_rows(labels.relabelled(source.blocks(), names))
    assert renamed == [row._replace(label=names.get(row.label, row.label)) for row in source.rows]


def test_labels_that_become_whole_numbers_are_an_array_of_them():
    source = table(numbered(["up", "down"]), kind="text")
    (block,) = labels.relabelled(source.blocks(), {"up": 1, "down": 0})
    assert block.y.dtype == np.int64
    assert block.y.tolist() == [1, 0]


@pytest.mark.parametrize("new", ["text", True, None, 2**64, ("a", "b")])
def test_labels_that_are_no_plain_numbers_stay_as_they_are(new):
    (block,) = labels.relabelled(table(numbered([0, 0]), kind="int").blocks(), {0: new})
    assert block.y.dtype == object
    assert block.y.tolist() == [new, new]
    assert type(block.y[0]) is type(new)


# ---- delaying


def twin_delayed(chunks, times, delay):
    """For every chunk: its rows, which of them may be learned, and what is late; then the rest.

    chunks: lists of rows, none of them empty · times: a list of when they came for each
    """
    shown = [max(max(part) for part in times[: k + 1]) for k in range(len(chunks))]
    arrivals = {}
    for number, (rows, clock) in enumerate(zip(chunks, times, strict=True)):
        for place, (row, when) in enumerate(zip(rows, clock, strict=True)):
            if row.is_labelled:
                later = range(number, len(chunks))
                come = next((k for k in later if shown[k] >= when + delay), len(chunks))
                arrivals[number, place] = come
    told = []
    for number, rows in enumerate([*chunks, []]):
        mask = [arrivals.get((number, place)) == number for place in range(len(rows))]
        late = [
            chunks[origin][place]._replace(is_labelled=True)
            for (origin, place), come in sorted(arrivals.items())
            if come == number and origin < number
        ]
        told.append(([r._replace(is_labelled=m) for r, m in zip(rows, mask, strict=True)], late))
    return told if told[-1][1] else told[:-1]


def told(chunks):
    """The same of real chunks."""
    return [(rows_of(c), rows_of(c.late) if c.late is not None else []) for c in chunks]


def chunks_of(source, size):
    """A source in blocks of equal size, as a delay gets them, and as lists."""
    parts = pieces(source.rows, size)
    masked = any(block.labelled is not None for block in source.blocks.blocks)
    return [block_of(part, masked=masked) for part in parts], parts


@given(source=tables(), size=st.integers(1, 12), delay=st.integers(0, 40))
def test_labels_delayed_by_rows_come_as_soon_as_a_chunk_ends_and_never_before(source, size, delay):
    chunks, parts = chunks_of(source, size)
    delayed = list(labels.delayed(iter(chunks), delay, labels.row_clock))
    clock = pieces(list(range(len(source.rows))), size)
    assert told(delayed) == twin_delayed(parts, clock, delay)


DELAYS = {
    "int": st.integers(0, 30),
    "float": st.floats(0, 10),
    "date": st.integers(0, 7200).map(lambda seconds: np.timedelta64(seconds, "s")),
}


@given(data=st.data(), clock=st.sampled_from(sorted(DELAYS)), is_rising=st.booleans())
def test_labels_delayed_by_time_come_as_soon_as_the_clock_says(data, clock, is_rising):
    source = data.draw(tables(clocks=[clock], is_rising=is_rising))
    delay = data.draw(DELAYS[clock])
    chunks, parts = chunks_of(source, data.draw(st.integers(1, 12)))
    delayed = list(labels.delayed(iter(chunks), delay, lambda chunk, n_before: chunk.times))
    clock_of = [[row.time for row in part] for part in parts]
    assert told(delayed) == twin_delayed(parts, clock_of, delay)


@given(source=tables(), size=st.integers(1, 12), delay=st.integers(0, 40))
def test_every_label_arrives_exactly_once(source, size, delay):
    chunks, _ = chunks_of(source, size)
    delayed = labels.delayed(iter(chunks), delay, labels.row_clock)
    learned = [row for chunk in delayed for row in all_rows(chunk.lessons())]
    assert sorted(row.features for row in learned) == [
        row.features for row in source.rows if row.is_labelled and row.label is not None
    ]


@given(source=tables(), size=st.integers(1, 12))
def test_a_delay_of_nothing_changes_no_lesson(source, size):
    chunks, _ = chunks_of(source, size)
    delayed = list(labels.delayed(iter(chunks), 0, labels.row_clock))
    assert [all_rows(c.lessons()) for c in delayed] == [all_rows(c.lessons()) for c in chunks]


def test_a_delay_is_not_lost_in_rounding():
    """The second row comes 0.8 after the first; (1.5 + 0.8) - 0.8 would be too early for that."""
    times = [0.7, 0.7 + 0.8]
    chunks = [block_of(rows) for rows in pieces(numbered([0, 1], map(np.float64, times)), 1)]
    _, second, _ = labels.delayed(iter(chunks), 0.8, lambda chunk, n_before: chunk.times)
    assert numbers_of([second.late]) == [0]


def test_a_huge_delay_does_not_blur_the_clock():
    chunks = [block_of(rows) for rows in pieces(numbered([0, 1], map(np.float64, [0.5, 0.7])), 1)]
    first, second, rest = labels.delayed(iter(chunks), 1e17, lambda chunk, n_before: chunk.times)
    assert (first.late, second.late) == (None, None)
    assert numbers_of([rest.late]) == [0, 1]


def test_labels_of_a_row_come_with_the_row_that_many_later():
    chunks = [block_of(rows) for rows in pieces(numbered(range(6)), 2)]
    one, two, three, rest = labels.delayed(iter(chunks), 1, labels.row_clock)
    assert [one.labelled.tolist(), two.labelled.tolist()] == [[True, False], [True, False]]
    assert one.late is None
    assert [numbers_of([chunk.late]) for chunk in (two, three, rest)] == [[1], [3], [5]]
    assert rest.X.shape == (0, len(NAMES))


def test_a_stream_without_rows_has_nothing_that_is_late():
    for blocks in ([], [block_of([])]):
        assert list(labels.delayed(iter(blocks), 3, labels.row_clock)) == []


def test_empty_chunks_are_passed_over():
    chunks = [block_of([]), block_of(numbered([0])), block_of([]), block_of(numbered([1], first=1))]
    delayed = list(labels.delayed(iter(chunks), 1, labels.row_clock))
    assert [len(chunk.y) for chunk in delayed] == [1, 1, 0]


def test_late_labels_of_several_kinds_are_not_mixed_up():
    chunks = [block_of(numbered([7]), "int"), block_of(numbered(["7"], first=1), "text")]
    *_, last = labels.delayed(iter(chunks), 9, labels.row_clock)
    assert last.late.y.tolist() == [7, "7"]


# ---- laziness


def hold(chunks, delay):
    return labels.delayed(chunks, delay, labels.row_clock)


@pytest.mark.parametrize(
    "change",
    [
        lambda blocks: labels.hidden(blocks, 0.5, 0),
        lambda blocks: labels.relabelled(blocks, {0: "a"}),
        lambda blocks: hold(blocks, 0),
        lambda blocks: hold(blocks, 35),
    ],
)
def test_a_block_is_passed_on_before_the_next_is_read_and_then_let_go_of(change):
    source = Endless(10)
    passing = change(source())
    assert source.n_read == 0
    for number in range(30):
        next(passing)
        assert source.n_read == number + 1
        assert source.n_alive() <= 3


def test_only_rows_that_wait_are_kept():
    """Blocks whose labels are hidden leave nothing behind, however long the delay."""
    blocks = (block._replace(labelled=np.zeros(10, bool)) for block in Endless(10, 30)())
    delayed = list(hold(blocks, 10**6))
    assert len(delayed) == 30
    assert all(chunk.late is None for chunk in delayed)


def test_a_long_delay_of_short_chunks_takes_no_time_for_every_row_that_waits():
    def seconds(delay):
        chunks = (Chunk(np.zeros((1, 1)), np.zeros(1, int)) for _ in range(4000))
        start = time.perf_counter()
        assert sum(1 for _ in hold(chunks, delay)) == 4001
        return time.perf_counter() - start

    assert seconds(2000) < 10 * min(seconds(1), seconds(1)) + 0.5


def test_a_label_renamed_to_none_is_not_learned():
    stream = sea(1000).relabel({1: None})
    labels = {label for chunk in stream for lesson in chunk.lessons() for label in lesson.y}
    assert labels == {0}
    assert stream.classes == (0,)
