"""Tables to chunks: features as numbers, labels, times, and rows that are bad after all."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from devfnn.streams.bad_rows import BadRow
from devfnn.streams.files.categories import CategoryEncoder, Ints, encoder_for
from devfnn.streams.files.cyclic import cyclic_features, cyclic_names
from devfnn.streams.files.labels import LabelColumn
from devfnn.streams.files.layout import Layout
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.tables import Column, Kind, Parsed
from devfnn.types import Chunk

PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6}
SECONDS_PER_DAY = 86_400.0


@dataclasses.dataclass(frozen=True)
class Category:
    """Values of a category as codes."""

    codes: Ints
    values: Sequence[str]

    def rows(self, index: slice | npt.NDArray[np.bool_]) -> "Category":
        """Some of the rows."""
        return Category(self.codes[index], self.values)


@dataclasses.dataclass(frozen=True)
class Digest:
    """Rows as numbers, but for the categories, which depend on all rows before."""

    chunk: Chunk
    categories: Mapping[str, Category]
    bad: Sequence[BadRow]
    """Counted from 1 within the piece."""
    n_rows: int
    """Rows of the piece, bad ones too."""

    def until(self, n_rows: int) -> "Digest":
        """Only the first rows."""
        first = slice(n_rows)
        categories = {name: each.rows(first) for name, each in self.categories.items()}
        return Digest(self.chunk.rows(first), categories, (), n_rows)


class Digester:
    """Turns tables of one layout into numbers. Keeps nothing: threads may share it."""

    def __init__(
        self, layout: Layout, label: LabelColumn | None, first: pa.Table, options: ReadOptions
    ) -> None:
        self._layout = layout
        self._label = label
        self._options = options
        self._categories = [each for each in layout.features if each.kind is Kind.text]
        self._first_values = {
            column.name: _different_texts(first.column(column.name)) for column in self._categories
        }
        names = self._names()
        edges = list(itertools.accumulate(map(len, names.values()), initial=0))
        self._places = dict(
            zip(names, itertools.starmap(slice, itertools.pairwise(edges)), strict=True)
        )
        self.feature_names = _different(list(itertools.chain(*names.values())))

    def _names(self) -> dict[str, tuple[str, ...]]:
        """Names of the features that each column becomes."""
        encoders = self.encoders()
        names: dict[str, tuple[str, ...]] = {}
        for column in self._layout.features:
            names[column.name] = (column.name,)
            if column.name in encoders:
                names[column.name] = encoders[column.name].names
            elif column.name in self._layout.cyclic:
                names[column.name] = cyclic_names(column.name)
        return names

    def encoders(self) -> dict[str, CategoryEncoder]:
        """Encoders that have seen nothing yet, one for each category."""
        return {
            column.name: encoder_for(column, self._first_values[column.name], self._options)
            for column in self._categories
        }

    def digest(self, parsed: Parsed) -> Digest:
        """Numbers of a table; columns of categories are left for `encoded`."""
        table = parsed.table
        X = np.empty((table.num_rows, len(self.feature_names)))
        for column in self._layout.features:
            out = X[:, self._places[column.name]]
            if column.kind is Kind.text:
                out[:] = 0.0
            else:
                self._write(table, column, out)
        categories = {each.name: _category(table.column(each.name)) for each in self._categories}
        return self._checked(parsed, X, categories)

    def encoded(self, digest: Digest, encoders: Mapping[str, CategoryEncoder]) -> Chunk:
        """The chunk of a digest with its categories written; to be called in order of the rows."""
        for name, category in digest.categories.items():
            out = digest.chunk.X[:, self._places[name]]
            encoders[name].encode(category.codes, category.values, out)
        return digest.chunk

    def _write(self, table: pa.Table, column: Column, out: npt.NDArray[np.float64]) -> None:
        numbers = _numbers(_whole(table.column(column.name)))
        if column.name in self._layout.cyclic:
            out[:] = cyclic_features(numbers)
        else:
            out[:, 0] = numbers

    def _checked(
        self, parsed: Parsed, X: npt.NDArray[np.float64], categories: dict[str, Category]
    ) -> Digest:
        """A digest without rows that have infinite values, a misfit for a label, or gaps."""
        table = parsed.table
        y, labelled, misfits = self._labels(table)
        chunk = Chunk(X, y, self._times(table), labelled)
        reasons = {row: f"the label {_label_text(table, self._label, row)}" for row in misfits}
        reasons |= {row: "a value is infinite" for row in _rows_with(np.isinf, X)}
        if self._options.missing == "bad":
            rows = [*_rows_with(np.isnan, X), *_gaps(categories.values())]
            reasons |= {row: "a value is missing" for row in rows}
        if not reasons:
            return Digest(chunk, categories, parsed.bad, parsed.n_rows)
        keep = np.ones(table.num_rows, bool)
        keep[list(reasons)] = False
        bad = [BadRow(parsed.place(row), reason) for row, reason in reasons.items()]
        kept = {name: each.rows(keep) for name, each in categories.items()}
        return Digest(chunk.rows(keep), kept, sorted([*parsed.bad, *bad]), parsed.n_rows)

    def _labels(self, table: pa.Table) -> tuple[Any, npt.NDArray[np.bool_] | None, list[int]]:
        if self._label is None:
            unknown = np.full(table.num_rows, None, object)
            return unknown, np.zeros(table.num_rows, bool), []
        return self._label.array(_whole(table.column(self._label.name)))

    def _times(self, table: pa.Table) -> npt.NDArray[Any] | None:
        if self._layout.time is None:
            return None
        column = _whole(table.column(self._layout.time.name))
        if self._layout.time.kind is Kind.time:
            unit = "ns" if getattr(column.type, "unit", "") == "ns" else "us"
            times = column.cast(pa.timestamp(unit)).to_numpy(zero_copy_only=False)
            return np.asarray(times)
        return _numbers(column)


def _whole(column: Any) -> Any:
    """A column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _numbers(column: Any) -> npt.NDArray[np.float64]:
    """Numbers, truth values or timestamps as float64; NaN where missing."""
    if types.is_timestamp(column.type) or types.is_date64(column.type):
        unit = getattr(column.type, "unit", "ms")
        if unit == "ns":  # finer than a float64 holds it
            return _numbers(column.cast(pa.timestamp("us", column.type.tz), safe=False))
        return _numbers(column.cast(pa.int64())) / PER_SECOND[unit]
    if types.is_date(column.type):
        return _numbers(column.cast(pa.int32())) * SECONDS_PER_DAY
    if not types.is_floating(column.type):
        # Whole numbers that are too large for it are rounded, as they are in a text file.
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)


def _category(column: Any) -> Category:
    """Codes and values of a column of texts; a missing value may be in either."""
    whole = _whole(column)
    codes = whole.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    values = whole.dictionary.to_pylist()
    if None in values:
        places = [-1 if value is None else place for place, value in enumerate(values)]
        codes = np.array([*places, -1])[codes]
    return Category(codes, values)


def _different_texts(column: Any) -> list[str]:
    """Values of a category in the first rows, as they appear."""
    values = _whole(column).dictionary_decode().unique().to_pylist()
    return [value for value in values if value is not None]


def _different(names: Sequence[str]) -> tuple[str, ...]:
    """Names that are all different, for instance if a category has a value "other" of its own.

    >>> _different(["a", "b", "a"])
    ('a', 'b', 'a*')
    """
    found: dict[str, None] = {}
    for name in names:
        while name in found:
            name += "*"
        found[name] = None
    return tuple(found)


def _rows_with(test: Any, X: npt.NDArray[np.float64]) -> list[int]:
    found = test(X)
    return np.flatnonzero(found.any(axis=1)).tolist() if found.any() else []


def _gaps(categories: Iterable[Category]) -> Iterator[int]:
    for category in categories:
        yield from np.flatnonzero(category.codes < 0).tolist()


def _label_text(table: pa.Table, label: LabelColumn | None, row: int) -> str:
    value = None if label is None else table.column(label.name)[row].as_py()
    return f"{value!r} is no whole number, as those before it were"
