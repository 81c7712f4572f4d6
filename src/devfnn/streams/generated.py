"""What all generated streams have in common: what is known about them, and a way to start them."""

import dataclasses
import operator
from collections.abc import Callable, Hashable, Iterator
from typing import SupportsIndex

from devfnn.errors import InputError
from devfnn.types import Chunk


@dataclasses.dataclass(frozen=True)
class GeneratedStream:
    """A source whose rows are made when they are asked for, the same ones each time.

    Parameters
    ----------
    n_rows
        Rows of the whole stream.
    feature_names, classes
        What the columns are called, and which labels occur.
    drift_positions
        Rows with which a new concept begins.
    make_chunks
        Starts the stream from its first row.
    """

    n_rows: int
    feature_names: tuple[str, ...]
    classes: tuple[Hashable, ...]
    drift_positions: tuple[int, ...]
    make_chunks: Callable[[], Iterator[Chunk]]

    def __iter__(self) -> Iterator[Chunk]:
        return self.make_chunks()


def whole_number(name: str, value: SupportsIndex, low: int) -> int:
    """The value as an int, if it is a whole number from `low` on; else an InputError.

    >>> whole_number("chunk_rows", 500, low=1)
    500
    >>> whole_number("chunk_rows", 0, low=1)
    Traceback (most recent call last):
    ...
    devfnn.errors.InputError: chunk_rows must be a whole number from 1 on, not 0
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if number < low:
        raise InputError(f"{name} must be a whole number from {low} on, not {value!r}")
    return number
