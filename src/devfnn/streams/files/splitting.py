"""Text split into pieces that end where a row ends, and work on pieces in threads, in order."""

import collections
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from devfnn.errors import DataError
from devfnn.streams.files.content import Content, check_utf8, last_line_end

PIECE_BYTES = 1 << 20
"""Bytes parsed at a time: large enough to be fast, small enough that many fit into memory."""

LONGEST_LINE = 1 << 24
"""Limit for files without line ends, or with a quote that is never closed."""

N_THREADS = min(4, os.cpu_count() or 1)
"""Threads that parse at a time: more would wait for the one that reads."""

QUOTE = '"'

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def row_pieces(
    content: Content, last_end: Callable[[bytes], int] = last_line_end, n_skipped: int = 0
) -> Iterator[bytes]:
    """The text of a file in pieces that end where a row ends, the last perhaps without a line end.

    last_end: where the last whole row of a piece ends, 0 if there is none
    n_skipped: bytes at the beginning that are left out
    """
    rest = b""
    for more in content.text(PIECE_BYTES):
        piece = rest + more[n_skipped:] if rest else more[n_skipped:]
        n_skipped = max(0, n_skipped - len(more))
        end = last_end(piece)
        if end == 0 and len(piece) > LONGEST_LINE:
            raise DataError(
                f"{content.name} has a line of more than {LONGEST_LINE:,} bytes; is there a quote "
                f"that is never closed? It begins with {_start(piece)}"
            )
        rest, rows = piece[end:], piece[:end]
        if rows:
            check_utf8(rows, content.name)
            yield rows
    if rest:
        check_utf8(rest, content.name)
        if last_end(rest + b"\n") <= len(rest):
            raise DataError(f"{content.name}: a quote is never closed in the row {_start(rest)}")
        yield rest


def _start(row: bytes) -> str:
    """The beginning of a row, to be shown."""
    return repr(row[:60].decode(errors="replace"))


def last_quoted_end(piece: bytes, delimiter: bytes) -> int:
    """Where the last whole row ends, if quoted values may hold line ends; 0 if there is none.

    A quote opens a value only where a value begins; elsewhere it means nothing.
    """
    if QUOTE.encode() not in piece:
        return last_line_end(piece)
    characters = np.frombuffer(piece, np.uint8)
    quotes = np.flatnonzero(characters == ord(QUOTE))
    line_end = b"\n" if b"\n" in piece else b"\r"
    # Quotes open and close values in turn if every second one stands where a value begins, or
    # right after another quote, which makes both of them one quote inside of a value.
    may_open = np.zeros(256, bool)
    may_open[list(QUOTE.encode() + delimiter + b"\r\n")] = True
    opening = quotes[::2]
    if not (may_open[characters[opening - 1]] | (opening == 0)).all():
        return _last_end_slowly(piece, delimiter, line_end)
    end = piece.rfind(line_end)
    while end >= 0 and (n_before := int(np.searchsorted(quotes, end))) % 2:
        end = piece.rfind(line_end, 0, int(quotes[n_before - 1]))
    return end + 1


def _last_end_slowly(piece: bytes, delimiter: bytes, line_end: bytes) -> int:
    """The same for any text, value by value: ten times slower."""
    between = re.escape(delimiter + b"\r\n".replace(line_end, b""))
    value = rb'(?:"(?:[^"]++|"")*+"|(?!"))[^%b%b]*+' % (between, line_end)
    match = re.match(rb"(?:(?:%b[%b])*+%b%b)*+" % (value, between, value, line_end), piece)
    return match.end() if match else 0


def worked_on(
    pieces: Iterator[Piece], work: Callable[[Piece], Result], n_ahead: int
) -> Iterator[Result]:
    """The results of work on pieces, in order, with some pieces ahead of what is asked for.

    With `n_ahead` 0 no piece is asked for before the result of the one before it was used. An error
    of the pieces comes after the results of those before it.
    """
    waiting: collections.deque[Future[Result]] = collections.deque()

    def started() -> Iterator[Future[Result]]:
        try:
            for piece in pieces:
                yield pool.submit(work, piece)
        except DataError as error:
            failed: Future[Result] = Future()
            failed.set_exception(error)
            yield failed

    with ThreadPoolExecutor(max(1, n_ahead), "devfnn-reader") as pool:
        try:
            for future in started():
                waiting.append(future)
                if len(waiting) > n_ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
