"""Categories to numbers, online: new values may come at any time, memory is bounded."""

import zlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.tables import Column

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FREQUENCY_BUCKETS = 1 << 16
"""Counters of values; beyond that many, two values may share one."""

MOST_CODES = 1 << 16
"""Values that get a number of their own; later ones share the last."""

FEWEST_SLOTS = 4
"""One-hot columns of a category at least, so that values that come later find room."""


class CategoryEncoder(Protocol):
    """Turns the values of one column into numbers. Knows only values that came before."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns it makes."""

    def encode(self, codes: Ints, values: Sequence[str], out: Floats) -> None:
        """Write the numbers of some rows.

        codes: (n_rows,), places in `values`, -1 for a missing one · out: (n_rows, n_names)
        """


class OneHot:
    """A column for each value; when all are taken, new values share the last, "other".

    A closed one has no such column: a value that was not declared is zero everywhere.
    """

    def __init__(self, name: str, known: Sequence[str], n_slots: int, is_open: bool) -> None:
        self._slots = {value: slot for slot, value in enumerate(known)}
        self._n_slots = n_slots
        self._other = n_slots if is_open else -1
        spare = [f"{name}#{slot + 1}" for slot in range(len(known), n_slots)]
        other = [f"{name}=other"] if is_open else []
        self.names = (*(f"{name}={value}" for value in known), *spare, *other)

    def encode(self, codes: Ints, values: Sequence[str], out: Floats) -> None:
        slots = np.empty(len(values) + 1, np.int64)
        slots[-1] = -1
        for place in _in_order_of_appearance(codes):
            value = values[place]
            if value not in self._slots and len(self._slots) < self._n_slots:
                self._slots[value] = len(self._slots)
            slots[place] = self._slots.get(value, self._other)
        chosen = slots[codes]
        out[:] = 0.0
        rows = np.flatnonzero(chosen >= 0)
        out[rows, chosen[rows]] = 1.0


class Hashed:
    """One of a fixed number of columns, by a hash of the value."""

    def __init__(self, name: str, n_buckets: int) -> None:
        self._n_buckets = n_buckets
        self.names = tuple(f"{name}%{bucket}" for bucket in range(n_buckets))

    def encode(self, codes: Ints, values: Sequence[str], out: Floats) -> None:
        buckets = np.array([*(_hash(value) % self._n_buckets for value in values), -1])
        chosen = buckets[codes]
        out[:] = 0.0
        rows = np.flatnonzero(chosen >= 0)
        out[rows, chosen[rows]] = 1.0


class Frequency:
    """How common a value is: the share of rows up to this one that had it; NaN if missing."""

    def __init__(self, name: str) -> None:
        self._counts = np.zeros(FREQUENCY_BUCKETS, np.int64)
        self._n_rows = 0
        self.names = (name,)

    def encode(self, codes: Ints, values: Sequence[str], out: Floats) -> None:
        buckets = np.array([*(_hash(value) % FREQUENCY_BUCKETS for value in values), -1])[codes]
        order = np.argsort(buckets, kind="stable")
        in_order = buckets[order]
        starts = np.flatnonzero(np.r_[True, in_order[1:] != in_order[:-1]])
        lengths = np.diff(np.r_[starts, len(in_order)])
        times_seen = np.empty(len(codes), np.int64)
        times_seen[order] = np.arange(1, len(codes) + 1) - np.repeat(starts, lengths)
        seen = self._counts[buckets] + times_seen
        out[:, 0] = seen / np.arange(self._n_rows + 1, self._n_rows + len(codes) + 1)
        out[buckets < 0, 0] = np.nan
        present = buckets[buckets >= 0]
        self._counts += np.bincount(present, minlength=FREQUENCY_BUCKETS)
        self._n_rows += len(codes)


class Codes:
    """A whole number for each value: as the file numbers them, then as they appear."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self._numbers = {value: number for number, value in enumerate(known)}
        self.names = (name,)

    def encode(self, codes: Ints, values: Sequence[str], out: Floats) -> None:
        numbers = np.full(len(values) + 1, np.nan)
        for place in _in_order_of_appearance(codes):
            value = values[place]
            if value not in self._numbers and len(self._numbers) < MOST_CODES:
                self._numbers[value] = len(self._numbers)
            numbers[place] = self._numbers.get(value, MOST_CODES - 1)
        out[:, 0] = numbers[codes]


def encoder_for(
    column: Column, first_values: Sequence[str], options: ReadOptions
) -> CategoryEncoder:
    """A fresh encoder of a column.

    first_values: different values of the first rows, in order of appearance
    """
    declared = column.values
    known = first_values if declared is None else declared
    way = options.categories
    if way == "auto":
        way = "onehot" if len(known) <= options.onehot_slots else "frequency"
    if way == "hash":
        return Hashed(column.name, options.hash_buckets)
    if way == "frequency":
        return Frequency(column.name)
    if way == "codes":
        return Codes(column.name, known)
    known = known[: options.onehot_slots]
    if declared is not None and len(declared) <= options.onehot_slots:
        return OneHot(column.name, known, len(known), is_open=False)
    n_slots = min(options.onehot_slots, max(FEWEST_SLOTS, 2 * len(known)))
    return OneHot(column.name, known, n_slots, is_open=True)


def _in_order_of_appearance(codes: Ints) -> list[int]:
    """Places that occur, each once, as they come."""
    places, firsts = np.unique(codes, return_index=True)
    ordered = places[np.argsort(firsts)]
    return [int(place) for place in ordered if place >= 0]


def _hash(value: str) -> int:
    """The same number for the same text, in every process."""
    return zlib.crc32(value.encode())
