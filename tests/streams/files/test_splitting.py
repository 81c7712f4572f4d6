"""Pieces: cut where rows end, worked on in order, and nothing left behind."""

import functools
import io
import itertools
import re
import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from devfnn.errors import DataError
from devfnn.streams.files import splitting
from devfnn.streams.files.content import Content
from devfnn.streams.files.splitting import last_quoted_end, row_pieces, worked_on

last_end = functools.partial(last_quoted_end, delimiter=b",")
TEXTS = st.lists(
    st.sampled_from([b'"', b'""', b",", b'"\n', b',"', b"\n", b"a", b" ", b"\r\n", b'",']),
    max_size=40,
).map(b"".join)


def last_end_slowly(text: bytes) -> int:
    """Where the last whole row ends, one character after the other."""
    state, end = "value begins", 0
    for place, character in enumerate(text.decode(), start=1):
        if state in ("in quotes", "quote in quotes") and character == '"':
            state = "quote in quotes" if state == "in quotes" else "in quotes"
        elif state == "in quotes":
            continue
        elif character == '"' and state == "value begins":
            state = "in quotes"
        else:
            state = "value begins" if character in ",\r\n" else "in value"
            end = place if character == "\n" else end
    return end


@given(TEXTS.filter(lambda text: b"\n" in text))
@example(b'a"\n"b\n"\n')
@example(b'"a""\n"\n')
@example(b'1,2" x\n"a\nb",3\n"c')
def test_the_last_row_ends_outside_of_quotes(text):
    assert last_end(text) == last_end_slowly(text)


@given(TEXTS.filter(lambda text: b"\n" in text))
def test_the_careful_way_finds_the_same_end(text):
    assert splitting._last_end_slowly(text, b",", b"\n") == last_end_slowly(text)


@given(TEXTS, st.integers(1, 20))
def test_pieces_are_the_whole_text_and_end_where_rows_end(text, n_bytes):
    closed = text + b'\n"' if last_end_slowly(text + b"\n") <= len(text) else text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "PIECE_BYTES", n_bytes)
        found = []
        try:
            for piece in row_pieces(Content(io.BytesIO(closed)), last_end):
                found.append(piece)
        except DataError:
            assert last_end_slowly(closed + b"\n") <= len(closed)
            return
    assert b"".join(found) == closed
    for end in itertools.accumulate(map(len, found[:-1])):
        before = closed[:end].rstrip(b"\r\n") + b"\n"
        assert last_end_slowly(before) == len(before)


def test_a_quote_that_is_never_closed_is_refused():
    text = b'1,2\n3,"4\n5,6\n'
    found = row_pieces(Content(io.BytesIO(text)), last_end)
    assert next(found) == b"1,2\n"
    with pytest.raises(DataError, match=r"a pipe: a quote is never closed in the row '3,\"4"):
        next(found)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(monkeypatch):
    monkeypatch.setattr(splitting, "LONGEST_LINE", 10_000)
    monkeypatch.setattr(splitting, "PIECE_BYTES", 1000)
    asked = []

    class Endless(io.RawIOBase):
        def read(self, size=-1):
            asked.append(size)
            return b"x" * size

        read1 = read

    with pytest.raises(DataError, match=re.escape("a line of more than 10,000 bytes")):
        list(row_pieces(Content(Endless())))
    assert sum(asked) <= 12_000


def test_many_quotes_in_one_long_row_take_no_time(monkeypatch):
    monkeypatch.setattr(splitting, "PIECE_BYTES", 1 << 16)
    rows = b'1,"never closed\n' + b"2,3\n" * 500_000
    with pytest.raises(DataError, match="a quote is never closed"):
        list(row_pieces(Content(io.BytesIO(rows)), last_end))


# ---- work in threads


@pytest.mark.parametrize("n_ahead", [0, 1, 3])
def test_results_come_in_order(n_ahead):
    waiting = [threading.Event() for _ in range(10)]
    for event in waiting[::2]:
        event.set()

    def work(number):
        waiting[number - 1].set() if number % 2 == 0 else waiting[number].set()
        waiting[number].wait(10)
        return number * number

    assert list(worked_on(iter(range(10)), work, n_ahead)) == [n * n for n in range(10)]


def test_without_pieces_ahead_nothing_is_asked_for_early():
    asked = []

    def numbers():
        for number in range(5):
            asked.append(number)
            yield number

    results = worked_on(numbers(), lambda number: number, 0)
    next(results)
    assert asked == [0]


def test_only_a_few_pieces_are_asked_for_ahead():
    asked = []

    def numbers():
        for number in range(100):
            asked.append(number)
            yield number

    results = worked_on(numbers(), lambda number: number, 3)
    next(results)
    assert len(asked) <= 4
    results.close()
    assert len(asked) <= 4


def reader_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("devfnn-reader")]


def test_an_error_of_the_work_is_raised_in_its_turn_and_ends_the_threads():
    def work(number):
        if number == 3:
            raise DataError("the third")
        return number

    results = worked_on(iter(range(100)), work, 2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    assert reader_threads() != []
    with pytest.raises(DataError, match="the third"):
        next(results)
    assert reader_threads() == []


def test_closing_ends_the_threads():
    results = worked_on(iter(range(100)), lambda number: number, 2)
    next(results)
    assert reader_threads() != []
    results.close()
    assert reader_threads() == []
