"""Columns of a file as numbers: categories, timestamps and gaps.

New values may come at any time, memory is bounded, and a row is encoded by itself and the rows
before it.
"""

import dataclasses
import itertools
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as arrow_types

from devfnn.arrays import Flags, Floats, Ints
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.tables import TEXT, Column, LabelColumn, Layout, Parsed, whole
from devfnn.streams.stream import BadRow
from devfnn.types import Chunk

FREQUENCY_BUCKETS = 1 << 16
"""Counters of values; beyond this number, two values may share one."""

MOST_CODES = 1 << 16
"""Values with a number of their own; later ones share the last."""

FEWEST_SLOTS = 4
"""One-hot columns of a category at least, so that values that come later find room."""

DAY = 86_400.0
PERIODS = {"day": (DAY, 0.0), "week": (7 * DAY, 4 * DAY), "year": (31_556_952.0, 0.0)}
"""Length and start in seconds: weeks begin on Mondays, the year is the mean one of the calendar."""


@dataclasses.dataclass
class Numbered:
    """A number for each value: as the file numbers them, then as they appear.

    One-hot, it is the place of the column that holds a one. When there are `most` values, new ones
    share the number `other`; with -1 they are zero in all columns.
    """

    names: tuple[str, ...]
    numbers: dict[str, int]
    """The number of every value so far."""
    most: int
    other: int
    is_onehot: bool = False

    def encode(self, codes: Ints, values: Sequence[str], out: Floats) -> None:
        found = np.full(len(values) + 1, -1)
        places, firsts = np.unique(codes, return_index=True)
        for place in places[np.argsort(firsts)].tolist():
            if place >= 0:
                if values[place] not in self.numbers and len(self.numbers) < self.most:
                    self.numbers[values[place]] = len(self.numbers)
                found[place] = self.numbers.get(values[place], self.other)
        numbers = found[codes]
        if self.is_onehot:
            _write_ones(numbers, out)
        else:
            out[:, 0] = np.where(numbers < 0, np.nan, numbers)


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


CategoryEncoder = Numbered | Hashed | Frequency
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
        numbers = {value: number for number, value in enumerate(known)}
        return Numbered((name,), numbers, MOST_CODES, MOST_CODES - 1)
    known = known[: options.onehot_slots]
    is_open = declared is None or len(declared) > options.onehot_slots
    n_slots = min(options.onehot_slots, max(FEWEST_SLOTS, 2 * len(known)))
    return one_hot(name, known, n_slots if is_open else len(known), is_open)


def one_hot(name: str, known: Sequence[str], n_slots: int, is_open: bool) -> Numbered:
    """Columns for known values and spare ones; if it is open, one for others when all are taken."""
    spare = [f"{name}#{slot + 1}" for slot in range(len(known), n_slots)]
    other = [f"{name}=other"] if is_open else []
    names = (*(f"{name}={value}" for value in known), *spare, *other)
    numbers = {value: slot for slot, value in enumerate(known)}
    return Numbered(names, numbers, n_slots, n_slots if is_open else -1, is_onehot=True)


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

    sums: Floats | float = 0.0
    counts: Ints | int = 0

    def fill(self, X: Floats) -> None:
        """Replace NaN, row by row, by what is known from the rows before. Changes X."""
        missing = np.isnan(X)
        # Sums are taken row by row, so that they do not depend on how rows are cut into blocks.
        values = np.where(missing, 0.0, X)
        values[:1] += self.sums
        sums = np.cumsum(values, axis=0)
        counts = self.counts + np.cumsum(~missing, axis=0)
        np.copyto(X, sums / np.maximum(counts, 1), where=missing)
        if len(X):
            self.sums, self.counts = sums[-1].copy(), counts[-1].copy()


Category = tuple[Ints, Sequence[str]]
"""Codes of a category, and the values they stand for."""


def cyclic_features(seconds: Floats) -> Floats:
    """Sine and cosine of the time of day, week and year, (n_rows, 6); NaN stays NaN.

    Timestamps as points on circles: midnight is near 23:59, December near January.

    seconds: since 1970, (n_rows,)
    """
    angles = [2.0 * np.pi * (seconds - start) / length for length, start in PERIODS.values()]
    return np.stack([turn(angle) for angle in angles for turn in (np.sin, np.cos)], axis=1)


class ConvertedRows(NamedTuple):
    """Rows as numbers, except for what depends on earlier rows: categories and gaps."""

    chunk: Chunk
    categories: Mapping[str, Category]
    bad: Sequence[BadRow]
    """Counted from 1 within the piece."""
    n_rows: int
    """Rows of the piece, bad ones too."""

    def first_rows(self, n_rows: int) -> "ConvertedRows":
        """Only the first of the rows that are not bad."""
        first = {name: (codes[:n_rows], each) for name, (codes, each) in self.categories.items()}
        return self._replace(chunk=self.chunk.rows(slice(n_rows)), categories=first)


class Converter:
    """Turns tables of one layout into numbers. Keeps nothing: threads may share it."""

    def __init__(
        self, layout: Layout, label: LabelColumn | None, first: pa.Table, options: ReadOptions
    ) -> None:
        self._layout = layout
        self._label = label
        self._options = options
        self._categories = [each for each in layout.features if each.data_type == TEXT]
        self._first_values = {
            each.name: whole(first.column(each.name)).dictionary_decode().unique().drop_null()
            for each in self._categories
        }
        names: dict[str, tuple[str, ...]] = {each.name: (each.name,) for each in layout.features}
        cycles = [f"{period}_{part}" for period in PERIODS for part in ("sin", "cos")]
        names |= {name: tuple(f"{name}_{each}" for each in cycles) for name in layout.cyclic}
        names |= {name: each.names for name, each in self._encoders().items()}
        edges = itertools.accumulate(map(len, names.values()), initial=0)
        slices = itertools.starmap(slice, itertools.pairwise(edges))
        self._places = dict(zip(names, slices, strict=True))
        self.feature_names = _made_different(itertools.chain(*names.values()))

    def _encoders(self) -> dict[str, CategoryEncoder]:
        return {
            each.name: encoder_for(each, self._first_values[each.name].to_pylist(), self._options)
            for each in self._categories
        }

    def encoding(self) -> Callable[[ConvertedRows], None]:
        """Writes the features that depend on the rows before, for one pass over a file.

        Called with all rows in order; changes them. What was learned from rows is kept here alone.
        """
        encoders = self._encoders()
        filler = MeanFiller() if self._options.missing == "mean" else None

        def encode(rows: ConvertedRows) -> None:
            X = rows.chunk.X
            for name, (codes, values) in rows.categories.items():
                encoders[name].encode(codes, values, X[:, self._places[name]])
            if filler is not None:
                filler.fill(X)

        return encode

    def converted(self, parsed: Parsed) -> ConvertedRows:
        """Numbers of a table; columns of categories are left for the encoders."""
        table = parsed.table
        X = np.zeros((table.num_rows, len(self.feature_names)))
        for column in self._layout.features:
            if column.data_type != TEXT:
                numbers = _numbers(whole(table.column(column.name)))
                is_cyclic = column.name in self._layout.cyclic
                features = cyclic_features(numbers) if is_cyclic else numbers[:, None]
                X[:, self._places[column.name]] = features
        y, labelled, reasons = self._labels(table)
        categories = {each.name: _category(table.column(each.name)) for each in self._categories}
        reasons |= dict.fromkeys(_rows_with(np.isinf(X)), "a value is infinite")
        if self._options.missing == "bad":
            gaps = [codes < 0 for codes, _ in categories.values()]
            missing = np.column_stack([np.isnan(X), *gaps])
            reasons |= dict.fromkeys(_rows_with(missing), "a value is missing")
        if reasons:
            return self.converted(parsed.without(reasons))
        bad = [BadRow(*each) for each in sorted(parsed.bad.items())]
        chunk = Chunk(X, y, self._times(table), labelled)
        return ConvertedRows(chunk, categories, bad, parsed.n_rows)

    def _labels(self, table: pa.Table) -> tuple[Any, Flags | None, dict[int, str]]:
        """Labels, which of them are there, and what is wrong with the others."""
        if self._label is None:
            return np.full(table.num_rows, None, object), np.zeros(table.num_rows, bool), {}
        column = table.column(self._label.name)
        y, labelled, misfits = self._label.array(whole(column))
        odd = "the label {!r} is no whole number, as those before it were"
        return y, labelled, {row: odd.format(column[row].as_py()) for row in misfits}

    def _times(self, table: pa.Table) -> npt.NDArray[Any] | None:
        if self._layout.time is None:
            return None
        column = whole(table.column(self._layout.time.name))
        is_moment = arrow_types.is_timestamp(column.type)
        return np.asarray(column.to_numpy(zero_copy_only=False)) if is_moment else _numbers(column)


def _numbers(column: Any) -> Floats:
    """Numbers, truth values or timestamps as float64; NaN where missing."""
    if arrow_types.is_timestamp(column.type):
        # Nanoseconds are finer than a float64 holds them.
        moments = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        return _numbers(moments.cast(pa.int64())) / 1e6
    if not arrow_types.is_floating(column.type):
        # Whole numbers that are too large for it are rounded, as they are in a text file.
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)


def _category(column: Any) -> Category:
    """Codes and values of a column of texts; a missing value may be in either."""
    column = whole(column)
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    values = column.dictionary.to_pylist()
    if None in values:
        places = [-1 if value is None else place for place, value in enumerate(values)]
        codes = np.array([*places, -1])[codes]
    return codes, values


def _made_different(names: Iterable[str]) -> tuple[str, ...]:
    """Names that are all different, for instance if a category has a value "other" of its own.

    >>> _made_different(["a", "b", "a"])
    ('a', 'b', 'a*')
    """
    found: dict[str, None] = {}
    for name in names:
        while name in found:
            name += "*"
        found[name] = None
    return tuple(found)


def _rows_with(test: Flags) -> list[int]:
    """Numbers of the rows where the mask is true; usually none."""
    return np.flatnonzero(test.any(axis=1)).tolist() if test.any() else []
