"""Columns of a file as numbers: categories, timestamps and gaps.

What encoders learn from rows is in their fields, and nowhere else. New values may come at any
time, memory is bounded, and a row is encoded by itself and the rows before it.
"""

import dataclasses
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

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

DAY = 86_400.0
PERIODS = {"day": (DAY, 0.0), "week": (7 * DAY, 4 * DAY), "year": (31_556_952.0, 0.0)}
"""Length and start in seconds: weeks begin on Mondays, the year is the mean one of the calendar."""


@dataclasses.dataclass
class OneHot:
    """A column for each value; when all are taken, new values share the last, "other".

    A closed one has no such column: a value that was not declared is zero everywhere.
    """

    names: tuple[str, ...]
    n_slots: int
    is_open: bool
    slots: dict[str, int]
    """The column of every value so far."""

    @classmethod
    def of(cls, name: str, known: Sequence[str], n_slots: int, is_open: bool) -> "OneHot":
        """An encoder with columns for known values and spare ones."""
        spare = [f"{name}#{slot + 1}" for slot in range(len(known), n_slots)]
        other = [f"{name}=other"] if is_open else []
        names = (*(f"{name}={value}" for value in known), *spare, *other)
        return cls(names, n_slots, is_open, {value: slot for slot, value in enumerate(known)})

    def encode(self, codes: Ints, values: Sequence[str], out: Floats) -> None:
        other = self.n_slots if self.is_open else -1
        _write_ones(_numbered(codes, values, self.slots, self.n_slots, other), out)


@dataclasses.dataclass
class Hashed:
    """One of a fixed number of columns, by a hash of the value."""

    names: tuple[str, ...]

    def encode(self, codes: Ints, values: Sequence[str], out: Floats) -> None:
        _write_ones(_hashes(values, len(self.names))[codes], out)


@dataclasses.dataclass
class Frequency:
    """How common a value is: the share of rows up to this one that had it; NaN if missing."""

    names: tuple[str, ...]
    n_rows: int = 0
    counts: Ints = dataclasses.field(default_factory=lambda: np.zeros(FREQUENCY_BUCKETS, np.int64))
    """Rows so far with values of each hash."""

    def encode(self, codes: Ints, values: Sequence[str], out: Floats) -> None:
        buckets = _hashes(values, FREQUENCY_BUCKETS)[codes]
        order = np.argsort(buckets, kind="stable")
        in_order = buckets[order]
        starts = np.flatnonzero(np.r_[True, in_order[1:] != in_order[:-1]])
        lengths = np.diff(np.r_[starts, len(in_order)])
        times_seen = np.empty(len(codes), np.int64)
        times_seen[order] = np.arange(1, len(codes) + 1) - np.repeat(starts, lengths)
        seen = self.counts[buckets] + times_seen
        out[:, 0] = seen / np.arange(self.n_rows + 1, self.n_rows + len(codes) + 1)
        out[buckets < 0, 0] = np.nan
        self.counts += np.bincount(buckets[buckets >= 0], minlength=FREQUENCY_BUCKETS)
        self.n_rows += len(codes)


@dataclasses.dataclass
class Codes:
    """A whole number for each value: as the file numbers them, then as they appear."""

    names: tuple[str, ...]
    numbers: dict[str, int]
    """The number of every value so far."""

    def encode(self, codes: Ints, values: Sequence[str], out: Floats) -> None:
        numbers = _numbered(codes, values, self.numbers, MOST_CODES, MOST_CODES - 1)
        out[:, 0] = np.where(numbers < 0, np.nan, numbers)


CategoryEncoder = OneHot | Hashed | Frequency | Codes
"""Turns the values of one column into numbers. Knows only values that came before.

`encode` writes the numbers of some rows; codes: (n_rows,), places in `values`, -1 for a missing
one · out: (n_rows, n_names)
"""


def encoder_for(
    column: Column, first_values: Sequence[str], options: ReadOptions
) -> CategoryEncoder:
    """A fresh encoder of a column; its first values are in order of appearance."""
    name, declared = column.name, column.values
    known = first_values if declared is None else declared
    way = options.categories
    if way == "auto":
        way = "onehot" if len(known) <= options.onehot_slots else "frequency"
    if way == "hash":
        return Hashed(tuple(f"{name}%{bucket}" for bucket in range(options.hash_buckets)))
    if way == "frequency":
        return Frequency((name,))
    if way == "codes":
        return Codes((name,), {value: number for number, value in enumerate(known)})
    known = known[: options.onehot_slots]
    if declared is not None and len(declared) <= options.onehot_slots:
        return OneHot.of(name, known, len(known), is_open=False)
    n_slots = min(options.onehot_slots, max(FEWEST_SLOTS, 2 * len(known)))
    return OneHot.of(name, known, n_slots, is_open=True)


def _numbered(
    codes: Ints, values: Sequence[str], known: dict[str, int], most: int, other: int
) -> Ints:
    """The number of each row's value, -1 for a missing one. New values are added as they appear.

    other: number of values that come when there are `most` already
    """
    numbers = np.full(len(values) + 1, -1)
    places, firsts = np.unique(codes, return_index=True)
    for place in places[np.argsort(firsts)].tolist():
        if place >= 0:
            if values[place] not in known and len(known) < most:
                known[values[place]] = len(known)
            numbers[place] = known.get(values[place], other)
    return numbers[codes]


def _hashes(values: Sequence[str], n_buckets: int) -> Ints:
    """A bucket for each value, the same in every process; -1 behind them, for a missing one."""
    return np.array([*(zlib.crc32(value.encode()) % n_buckets for value in values), -1])


def _write_ones(columns: Ints, out: Floats) -> None:
    """A one in a column of each row; none where it is -1."""
    out[:] = 0.0
    rows = np.flatnonzero(columns >= 0)
    out[rows, columns[rows]] = 1.0


@dataclasses.dataclass
class MeanFiller:
    """Replaces missing numbers by the mean of those that came before, and by 0 if none came."""

    sums: Floats
    counts: Ints

    def fill(self, X: Floats) -> None:
        """Replace NaN, row by row, by what is known from the rows before. Changes X."""
        missing = np.isnan(X)
        # Sums are taken row by row, so that they do not depend on how rows are cut into blocks.
        values = np.where(missing, 0.0, X)
        values[:1] += self.sums
        sums = np.cumsum(values, axis=0)
        for column in np.flatnonzero(missing.any(axis=0)):
            gaps = missing[:, column]
            counts = self.counts[column] + np.cumsum(~gaps)
            X[gaps, column] = (sums[:, column] / np.maximum(counts, 1))[gaps]
        if len(X):
            self.sums = sums[-1].copy()
        self.counts += (~missing).sum(axis=0)


class Category(NamedTuple):
    """Values of a category as codes."""

    codes: Ints
    values: Sequence[str]


@dataclasses.dataclass
class Encoders:
    """All that one pass over a file learns from its rows. Rows are to come in order."""

    categories: dict[str, CategoryEncoder]
    """By column."""
    places: Mapping[str, slice]
    """Which features each column becomes."""
    filler: MeanFiller | None
    """None if missing numbers stay NaN."""

    def encode(self, X: Floats, categories: Mapping[str, Category]) -> None:
        """Write the features that depend on the rows before. Changes X."""
        for name, (codes, values) in categories.items():
            self.categories[name].encode(codes, values, X[:, self.places[name]])
        if self.filler is not None:
            self.filler.fill(X)


def cyclic_names(name: str) -> tuple[str, ...]:
    """Names of the features of a timestamp."""
    return tuple(f"{name}_{period}_{part}" for period in PERIODS for part in ("sin", "cos"))


def cyclic_features(seconds: Floats) -> Floats:
    """Sine and cosine of the time of day, week and year, (n_rows, 6); NaN stays NaN.

    Timestamps as points on circles: midnight is near 23:59, December near January.

    seconds: since 1970, (n_rows,)
    """
    angles = [2.0 * np.pi * (seconds - start) / length for length, start in PERIODS.values()]
    return np.stack([turn(angle) for angle in angles for turn in (np.sin, np.cos)], axis=1)
