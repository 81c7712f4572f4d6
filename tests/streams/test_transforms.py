"""Which rows come, in which chunks, and when their labels come: against lists of rows."""

import datetime
import itertools
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from devfnn.errors import DataError, InputError
from devfnn.streams import from_arrays, sea, transforms
from devfnn.types import Chunk, Position
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

COUNTS = st.integers(0, 40)
SIZES = st.integers(1, 35)


# ---- joining parts


@given(source=tables())
def test_joined_parts_are_their_rows_in_order(source):
    parts = [block for block in source.blocks.blocks if len(block.y)]
    if parts:
        assert rows_of(transforms.joined(parts)) == source.rows


@given(source=tables(kinds=["int", "text"]))
def test_joined_labels_of_one_kind_keep_it(source):
    parts = [block for block in source.blocks.blocks if len(block.y)]
    if parts:
        assert transforms.joined(parts).y.dtype.kind == parts[0].y.dtype.kind


def test_joining_does_not_turn_numbers_into_text():
    parts = [
        block_of(numbered([1, 2]), "int"),
        block_of(numbered(["1"]), "text"),
        block_of(numbered([None, 2.5])),
    ]
    labels = transforms.joined(parts).y
    assert labels.tolist() == [1, 2, "1", None, 2.5]
    assert [type(label) for label in labels] == [int, int, str, type(None), float]


def test_joining_parts_with_and_without_a_mask_keeps_the_mask():
    shown = block_of(numbered([0, 1]))
    hidden = shown._replace(labelled=np.array([False, True]))
    assert transforms.joined([shown, hidden]).labelled.tolist() == [True, True, False, True]
    assert transforms.joined([shown, shown]).labelled is None


def test_times_are_joined_only_if_all_parts_have_them():
    with_times = block_of(numbered([0], [np.int64(7)]))
    assert transforms.joined([with_times, with_times]).times.tolist() == [7, 7]
    assert transforms.joined([with_times, block_of(numbered([0]))]).times is None


def test_clocks_that_cannot_be_compared_are_refused():
    dates = block_of(numbered([0], [np.datetime64("2024-01-01")]))
    with pytest.raises(InputError, match="dates and rows with numbers as times cannot be joined"):
        transforms.joined([dates, block_of(numbered([0], [np.int64(7)]))])


# ---- cutting by rows


@given(source=tables(kinds=["int"]), chunk_rows=SIZES)
def test_empty_blocks_do_not_change_the_kind_of_labels(source, chunk_rows):
    chunks = transforms.cut_by_rows(source.blocks(), chunk_rows)
    assert all(chunk.y.dtype == np.int64 for chunk in chunks)


@given(sizes=st.lists(st.integers(0, 9), max_size=10), chunk_rows=SIZES, n_asked=st.integers(0, 9))
def test_a_chunk_is_there_as_soon_as_its_last_row_was_read(sizes, chunk_rows, n_asked):
    source = table(numbered(range(sum(sizes))), sizes)
    chunks = list(itertools.islice(transforms.cut_by_rows(source.blocks(), chunk_rows), n_asked))
    if len(chunks) == n_asked and all(len(chunk.y) == chunk_rows for chunk in chunks):
        needed = n_asked * chunk_rows
        n_needed = next(k for k in range(len(sizes) + 1) if sum(sizes[:k]) >= needed)
        assert source.blocks.n_read == n_needed


# ---- cutting by time

WINDOWS = st.integers(1, 12)


@given(source=tables(clocks=["int"], is_rising=False), span=WINDOWS)
def test_any_clock_keeps_all_rows_in_order_and_late_ones_with_those_they_came_with(source, span):
    expected, newest = [], 0
    for row in source.rows:
        window = row.time // span
        if not expected or window > newest or window < newest - 1:
            expected.append([])
            newest = window
        expected[-1].append(row)
    chunks = list(transforms.cut_by_time(source.blocks(), span))
    assert [rows_of(chunk) for chunk in chunks] == expected


def test_windows_without_rows_give_no_chunks():
    source = table(numbered("abc", map(np.int64, [0, 5, 95])), [1, 1])
    chunks = list(transforms.cut_by_time(source.blocks(), 10))
    assert [numbers_of([chunk]) for chunk in chunks] == [[0, 1], [2]]


def test_a_window_ends_with_the_first_row_behind_it_and_nothing_more_is_read():
    source = table(numbered(range(9), map(np.int64, range(9))), [1] * 9)
    chunks = transforms.cut_by_time(source.blocks(), 3)
    assert source.blocks.n_read == 0
    next(chunks)
    assert source.blocks.n_read == 4
    next(chunks)
    assert source.blocks.n_read == 7


# ---- taking, leaving out, repeating


@given(sizes=st.lists(st.integers(0, 9), max_size=10), n_rows=COUNTS)
def test_taking_reads_not_one_block_more_than_needed(sizes, n_rows):
    source = table(numbered(range(sum(sizes))), sizes)
    list(transforms.taken(source.blocks(), n_rows))
    needed = min(n_rows, sum(sizes))
    if n_rows <= sum(sizes):
        n_needed = next(k for k in range(len(sizes) + 1) if sum(sizes[:k]) >= needed)
    else:
        n_needed = len(sizes)
    assert source.blocks.n_read == n_needed


def test_skipping_gives_what_is_left_of_a_block_at_once():
    source = table(numbered(range(9)), [3, 3, 3])
    first = next(transforms.skipped(source.blocks(), 4))
    assert numbers_of([first]) == [4, 5]
    assert source.blocks.n_read == 2


def test_a_source_is_started_again_only_when_its_next_row_is_asked_for():
    source = table(numbered(range(4)), [2, 2])
    list(transforms.taken(transforms.repeated(source.blocks, None), 4))
    assert (source.blocks.n_started, source.blocks.n_read) == (1, 2)


@pytest.mark.parametrize("sizes", [[], [0, 0]])
def test_repeating_nothing_for_ever_ends_at_once(sizes):
    source = table([], sizes)
    assert all_rows(transforms.repeated(source.blocks, None)) == []
    assert source.blocks.n_started == 1


# ---- shuffling


@given(sizes=st.lists(st.integers(0, 30), max_size=6), buffer_rows=SIZES)
def test_the_order_depends_on_the_seed_and_not_on_the_blocks(sizes, buffer_rows):
    plain = table(numbered(range(100)))
    cut = table(numbered(range(100)), sizes)
    expected = numbers_of(transforms.shuffled(plain.blocks(), buffer_rows, 1))
    assert numbers_of(transforms.shuffled(cut.blocks(), buffer_rows, 1)) == expected
    if buffer_rows > 10:
        assert numbers_of(transforms.shuffled(plain.blocks(), buffer_rows, 2)) != expected


def test_every_order_of_a_buffer_is_as_likely_as_the_others():
    source = table(numbered(range(3 * 6000)))
    order = np.array(numbers_of(transforms.shuffled(source.blocks(), 3, 0))).reshape(-1, 3) % 3
    _, counts = np.unique(order, axis=0, return_counts=True)
    assert len(counts) == 6
    np.testing.assert_allclose(counts / 6000, 1 / 6, atol=0.02)


def test_a_buffer_is_there_as_soon_as_it_is_full():
    source = table(numbered(range(9)), [3, 3, 3])
    next(transforms.shuffled(source.blocks(), 6, 0))
    assert source.blocks.n_read == 2


# ---- nothing is held


@pytest.mark.parametrize(
    ("change", "most"),
    [
        (lambda start: transforms.cut_by_rows(start(), 4), 2),
        (lambda start: transforms.cut_by_rows(start(), 25), 4),
        (lambda start: transforms.cut_by_time(start(), 25), 5),
        (lambda start: transforms.taken(start(), 10_000), 2),
        (lambda start: transforms.skipped(start(), 55), 2),
        (lambda start: transforms.repeated(start, None), 2),
        (lambda start: transforms.shuffled(start(), 20, 0), 3),
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
        assert list(transforms.cut_by_rows(iter(blocks), 3)) == []
        assert list(transforms.cut_by_time(iter(blocks), 3)) == []
        assert list(transforms.shuffled(iter(blocks), 3, 0)) == []
        assert list(transforms.skipped(iter(blocks), 0)) == []


def test_chunks_leave_what_they_are_made_of_untouched():
    block = block_of(numbered(range(10)), "int")
    copy = Chunk(block.X.copy(), block.y.copy())
    list(transforms.shuffled(transforms.cut_by_rows(iter([block]), 3), 4, 0))
    np.testing.assert_array_equal(block.X, copy.X)
    np.testing.assert_array_equal(block.y, copy.y)


# ---- hiding


def mask_of(chunks):
    """The mask of all rows."""
    return [row.is_labelled for row in all_rows(chunks)]


@given(source=tables(), rate=st.floats(0, 1), seed=st.integers(0, 9))
def test_what_was_hidden_stays_hidden(source, rate, seed):
    plain = table(source.rows)
    drawn = mask_of(transforms.hidden(plain.blocks(), rate, seed))
    before = [row.is_labelled for row in source.rows]
    expected = [old and new for old, new in zip(before, drawn, strict=True)]
    assert mask_of(transforms.hidden(source.blocks(), rate, seed)) == expected


@given(sizes=st.lists(st.integers(0, 30), max_size=6), seed=st.integers(0, 3))
def test_the_mask_does_not_depend_on_the_blocks(sizes, seed):
    whole, cut = table(numbered(range(90))), table(numbered(range(90)), sizes)
    expected = mask_of(transforms.hidden(whole.blocks(), 0.5, seed))
    assert mask_of(transforms.hidden(cut.blocks(), 0.5, seed)) == expected
    assert mask_of(transforms.hidden(whole.blocks(), 0.5, seed + 1)) != expected


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_the_rate_is_the_share_of_hidden_labels(rate):
    hidden = np.concatenate(
        [block.labelled for block in transforms.hidden(Endless(1000, 20)(), rate, 4)]
    )
    assert 1 - hidden.mean() == pytest.approx(rate, abs=0.01)
    assert rate not in (0.0, 1.0) or 1 - hidden.mean() == rate


def test_a_higher_rate_hides_more_of_the_same_labels():
    few, many = (
        np.array(mask_of(transforms.hidden(Endless(100, 5)(), rate, 4))) for rate in (0.2, 0.6)
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
    renamed = all_rows(transforms.relabelled(source.blocks(), names))
    assert renamed == [row._replace(label=names.get(row.label, row.label)) for row in source.rows]


def test_labels_that_become_whole_numbers_are_an_array_of_them():
    source = table(numbered(["up", "down"]), kind="text")
    (block,) = transforms.relabelled(source.blocks(), {"up": 1, "down": 0})
    assert block.y.dtype == np.int64
    assert block.y.tolist() == [1, 0]


@pytest.mark.parametrize("new", ["text", True, None, 2**64, ("a", "b")])
def test_labels_that_are_no_plain_numbers_stay_as_they_are(new):
    (block,) = transforms.relabelled(table(numbered([0, 0]), kind="int").blocks(), {0: new})
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
    found = []
    for number, rows in enumerate([*chunks, []]):
        mask = [arrivals.get((number, place)) == number for place in range(len(rows))]
        late = [
            chunks[origin][place]._replace(is_labelled=True)
            for (origin, place), come in sorted(arrivals.items())
            if come == number and origin < number
        ]
        found.append(([r._replace(is_labelled=m) for r, m in zip(rows, mask, strict=True)], late))
    return found if found[-1][1] else found[:-1]


def outcome_of(chunks):
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
    delayed = list(transforms.delayed(iter(chunks), delay, in_rows=True))
    clock = pieces(list(range(len(source.rows))), size)
    assert outcome_of(delayed) == twin_delayed(parts, clock, delay)


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
    delayed = list(transforms.delayed(iter(chunks), delay, in_rows=False))
    clock_of = [[row.time for row in part] for part in parts]
    assert outcome_of(delayed) == twin_delayed(parts, clock_of, delay)


@given(source=tables(), size=st.integers(1, 12), delay=st.integers(0, 40))
def test_every_label_arrives_exactly_once(source, size, delay):
    chunks, _ = chunks_of(source, size)
    delayed = transforms.delayed(iter(chunks), delay, in_rows=True)
    learned = [row for chunk in delayed for row in all_rows(chunk.labelled_parts())]
    assert sorted(row.features for row in learned) == [
        row.features for row in source.rows if row.is_labelled and row.label is not None
    ]


@given(source=tables(), size=st.integers(1, 12))
def test_a_delay_of_nothing_changes_no_labels(source, size):
    chunks, _ = chunks_of(source, size)
    delayed = list(transforms.delayed(iter(chunks), 0, in_rows=True))
    assert [all_rows(c.labelled_parts()) for c in delayed] == [
        all_rows(c.labelled_parts()) for c in chunks
    ]


def test_a_delay_is_not_lost_in_rounding():
    """The second row comes 0.8 after the first; (1.5 + 0.8) - 0.8 would be too early for that."""
    times = [0.7, 0.7 + 0.8]
    chunks = [block_of(rows) for rows in pieces(numbered([0, 1], map(np.float64, times)), 1)]
    _, second, _ = transforms.delayed(iter(chunks), 0.8, in_rows=False)
    assert numbers_of([second.late]) == [0]


def test_a_huge_delay_does_not_blur_the_clock():
    chunks = [block_of(rows) for rows in pieces(numbered([0, 1], map(np.float64, [0.5, 0.7])), 1)]
    first, second, rest = transforms.delayed(iter(chunks), 1e17, in_rows=False)
    assert (first.late, second.late) == (None, None)
    assert numbers_of([rest.late]) == [0, 1]


def test_labels_of_a_row_come_with_the_row_that_many_later():
    chunks = [block_of(rows) for rows in pieces(numbered(range(6)), 2)]
    one, two, three, rest = transforms.delayed(iter(chunks), 1, in_rows=True)
    assert [one.labelled.tolist(), two.labelled.tolist()] == [[True, False], [True, False]]
    assert one.late is None
    assert [numbers_of([chunk.late]) for chunk in (two, three, rest)] == [[1], [3], [5]]
    assert rest.X.shape == (0, len(NAMES))


def test_a_stream_without_rows_has_nothing_that_is_late():
    for blocks in ([], [block_of([])]):
        assert list(transforms.delayed(iter(blocks), 3, in_rows=True)) == []


def test_empty_chunks_are_passed_over():
    chunks = [block_of([]), block_of(numbered([0])), block_of([]), block_of(numbered([1], first=1))]
    delayed = list(transforms.delayed(iter(chunks), 1, in_rows=True))
    assert [len(chunk.y) for chunk in delayed] == [1, 1, 0]


def test_late_labels_of_several_kinds_are_not_mixed_up():
    chunks = [block_of(numbered([7]), "int"), block_of(numbered(["7"], first=1), "text")]
    *_, last = transforms.delayed(iter(chunks), 9, in_rows=True)
    assert last.late.y.tolist() == [7, "7"]


# ---- laziness


def hold(chunks, delay):
    return transforms.delayed(chunks, delay, in_rows=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda blocks: transforms.hidden(blocks, 0.5, 0),
        lambda blocks: transforms.relabelled(blocks, {0: "a"}),
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
    labels = {label for chunk in stream for part in chunk.labelled_parts() for label in part.y}
    assert labels == {0}
    assert stream.classes == (0,)


HOUR = datetime.timedelta(hours=1)


@pytest.mark.parametrize(
    "span", [1, 0.5, np.float32(2), HOUR, np.timedelta64(3, "ms"), np.timedelta64(1, "W")]
)
def test_stretches_of_time_are_accepted(span):
    transforms.check_span("every", span)
    transforms.check_span("every", span, or_zero=True)


@pytest.mark.parametrize("zero", [0, 0.0, datetime.timedelta(0), np.timedelta64(0, "s")])
def test_zero_is_a_stretch_of_time_only_where_it_makes_sense(zero):
    transforms.check_span("time", zero, or_zero=True)
    with pytest.raises(InputError, match="every must be a duration above zero, not "):
        transforms.check_span("every", zero)


@pytest.mark.parametrize(
    "span",
    [
        -1,
        -HOUR,
        np.timedelta64(-1, "s"),
        float("nan"),
        float("inf"),
        np.timedelta64("NaT", "s"),
        "1h",
        None,
        [1],
        np.array([1, 2]),
        1j,
        datetime.timedelta.max,
    ],
)
def test_what_is_no_stretch_of_time_is_refused(span):
    with pytest.raises(InputError, match="time must be a duration from zero on, not"):
        transforms.check_span("time", span, or_zero=True)


@pytest.mark.parametrize("unit", ["M", "Y", None])
def test_stretches_that_are_not_always_equally_long_are_refused(unit):
    span = np.timedelta64(1, unit) if unit else np.timedelta64(1)
    with pytest.raises(InputError, match="every must be in weeks, days, hours or shorter units"):
        transforms.check_span("every", span)


DATES = np.array(["2024-01-01T00:30", "2024-01-01T02:00"], "datetime64[s]")


@pytest.mark.parametrize(
    ("row_times", "span", "message"),
    [
        (None, 1, "every needs a stream with times, and this one has none"),
        (np.array(["a", "b"]), 1, "every needs times that are dates or numbers, not <U1"),
        (np.array([1, None], object), 1, "dates or numbers, not object"),
        (DATES, 5, r"every must be a timedelta, as the stream's times are datetime64\[s\]"),
        (np.array([1, 2]), np.timedelta64(1, "s"), "every must be a number, as .* are int64"),
        (np.array([1.0, np.nan]), 1, "rows whose times are all known and finite"),
        (np.array([1.0, np.inf]), 1, "rows whose times are all known and finite"),
        (np.array(["2024-01-01", "NaT"], "datetime64[D]"), np.timedelta64(1, "D"), "all known"),
    ],
)
def test_clocks_that_tell_nothing_are_refused(row_times, span, message):
    with pytest.raises(InputError, match=message):
        transforms.checked_times("every", row_times, span)


def test_small_numbers_do_not_overflow_when_a_delay_is_added():
    for dtype in (np.uint8, np.int16, np.uint32):
        checked = transforms.checked_times("time", np.array([250, 7], dtype), 10**6)
        assert (checked + 10**6).tolist() == [1_000_250, 1_000_007]


def test_a_day_begins_at_midnight_and_an_hour_when_it_is_full():
    hours = transforms.time_windows(DATES, np.timedelta64(1, "h"))
    assert (hours - hours[0]).tolist() == [0, 2]
    days = transforms.time_windows(
        np.array(["1969-12-31T23:59:59", "1970-01-01", "1970-01-01T23:59:59"], "datetime64[s]"),
        transforms.numpy_span(datetime.timedelta(days=1)),
    )
    assert days.tolist() == [-1, 0, 0]


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_dates_of_any_unit_fall_in_the_same_windows(unit):
    dates = np.array(["1969-12-30", "1970-01-02", "2024-02-29"], f"datetime64[{unit}]")
    assert transforms.time_windows(dates, np.timedelta64(2, "D")).tolist() == [-1, 0, 9891]


@example(time=3_600_000_000_000 * 470_000 - 1, span=3_600_000_000_000)  # an hour of nanoseconds
@given(time=st.integers(-(2**60), 2**60), span=st.integers(1, 2**45))
def test_windows_of_whole_numbers_are_exact(time, span):
    assert transforms.time_windows(np.array([time]), span).tolist() == [time // span]


def test_windows_of_fractions_begin_at_whole_multiples():
    assert transforms.time_windows(np.array([-0.1, 0.0, 0.4, 1.0]), 0.1).tolist() == [-1, 0, 4, 10]
    assert transforms.time_windows(np.array([-1, 0, 3]), 1.5).tolist() == [-1, 0, 2]


# ---- after a position


def test_rows_after_a_position_are_cut_from_there(rng):
    X, y = rng.normal(size=(1000, 2)), np.array(["a", "b"])[rng.integers(0, 2, 1000)]
    whole = from_arrays(X, y, chunk_rows=300)
    for n_rows in (0, 1, 299, 300, 301, 999):
        position = Position().after(X[:n_rows], y[:n_rows])
        rest = whole.chunks(rows=7).after(position).chunks(rows=300)
        assert rest.n_rows == 1000 - n_rows
        expected = [chunk.y.tolist() for chunk in whole.skip(n_rows)]
        assert [chunk.y.tolist() for chunk in rest] == expected
    assert list(whole.after(Position().after(X, y))) == []


def test_rows_before_a_position_must_be_those_it_was_reached_with(rng):
    X, y = rng.normal(size=(100, 2)), rng.integers(0, 2, 100)
    position = Position().after(X[:60], y[:60])
    other = X.copy()
    other[59, 0] = 0.0
    with pytest.raises(DataError, match="the first 60 rows are not those"):
        list(from_arrays(other, y).after(position))
    with pytest.raises(DataError, match="the first 60 rows are not those"):
        list(from_arrays(X, 1 - y).after(position))
    with pytest.raises(DataError, match="there are 59 rows, fewer than the 60"):
        list(from_arrays(X[:59], y[:59]).after(position))
    other[59] = X[59]
    other[60] = 0.0
    assert sum(len(chunk.y) for chunk in from_arrays(other, y).after(position)) == 40
