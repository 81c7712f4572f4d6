"""Tables to chunks: features as numbers, labels, times, and rows that are bad after all."""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as arrow_types

from devfnn.streams.files.columns import LabelColumn, Layout
from devfnn.streams.files.encoding import (
    Category,
    Encoders,
    Floats,
    MeanFiller,
    cyclic_features,
    cyclic_names,
    encoder_for,
)
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.tables import TEXT, Parsed
from devfnn.streams.stream import BadRow
from devfnn.types import Chunk

PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6}
SECONDS_PER_DAY = 86_400.0


@dataclasses.dataclass(frozen=True)
class ConvertedRows:
    """Rows as numbers, but for what depends on all rows before: categories and gaps."""

    chunk: Chunk
    categories: Mapping[str, Category]
    bad: Sequence[BadRow]
    """Counted from 1 within the piece."""
    n_rows: int
    """Rows of the piece, bad ones too."""

    def first_rows(self, n_rows: int) -> "ConvertedRows":
        """Only the first of the rows that are not bad."""
        categories = {
            name: Category(each.codes[:n_rows], each.values)
            for name, each in self.categories.items()
        }
        return dataclasses.replace(
            self, chunk=self.chunk.rows(slice(n_rows)), categories=categories
        )


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
            column.name: _different_texts(first.column(column.name)) for column in self._categories
        }
        names: dict[str, tuple[str, ...]] = {each.name: (each.name,) for each in layout.features}
        names |= {name: cyclic_names(name) for name in layout.cyclic}
        names |= {name: each.names for name, each in self._encoders().items()}
        edges = list(itertools.accumulate(map(len, names.values()), initial=0))
        self._places = dict(
            zip(names, itertools.starmap(slice, itertools.pairwise(edges)), strict=True)
        )
        self.feature_names = _made_different(itertools.chain(*names.values()))

    def _encoders(self) -> dict[str, Any]:
        return {
            column.name: encoder_for(column, self._first_values[column.name], self._options)
            for column in self._categories
        }

    def encoders(self) -> Encoders:
        """Encoders that have seen nothing yet."""
        n_features = len(self.feature_names)
        filler = None
        if self._options.missing == "mean":
            filler = MeanFiller(np.zeros(n_features), np.zeros(n_features, np.int64))
        return Encoders(self._encoders(), self._places, filler)

    def converted(self, parsed: Parsed) -> ConvertedRows:
        """Numbers of a table; columns of categories are left for the encoders."""
        table = parsed.table
        X = np.zeros((table.num_rows, len(self.feature_names)))
        for column in self._layout.features:
            if column.data_type != TEXT:
                numbers = _numbers(_whole(table.column(column.name)))
                is_cyclic = column.name in self._layout.cyclic
                features = cyclic_features(numbers) if is_cyclic else numbers[:, None]
                X[:, self._places[column.name]] = features
        y, labelled, misfits = self._labels(table)
        categories = {each.name: _category(table.column(each.name)) for each in self._categories}
        chunk = Chunk(X, y, self._times(table), labelled)
        reasons = {row: self._misfit(table, row) for row in misfits}
        reasons |= dict.fromkeys(_rows_with(np.isinf(X)), "a value is infinite")
        if self._options.missing == "bad":
            gaps = [each.codes < 0 for each in categories.values()]
            missing = np.column_stack([np.isnan(X), *gaps])
            reasons |= dict.fromkeys(_rows_with(missing), "a value is missing")
        if reasons:
            return self.converted(parsed.without(reasons))
        bad = [BadRow(*each) for each in sorted(parsed.bad.items())]
        return ConvertedRows(chunk, categories, bad, len(parsed.numbers) + len(bad))

    def _labels(self, table: pa.Table) -> tuple[Any, npt.NDArray[np.bool_] | None, list[int]]:
        if self._label is None:
            unknown = np.full(table.num_rows, None, object)
            return unknown, np.zeros(table.num_rows, bool), []
        return self._label.array(_whole(table.column(self._label.name)))

    def _misfit(self, table: pa.Table, row: int) -> str:
        assert self._label is not None
        value = table.column(self._label.name)[row].as_py()
        return f"the label {value!r} is no whole number, as those before it were"

    def _times(self, table: pa.Table) -> npt.NDArray[Any] | None:
        if self._layout.time is None:
            return None
        column = _whole(table.column(self._layout.time.name))
        if arrow_types.is_timestamp(self._layout.time.data_type):
            unit = "ns" if getattr(column.type, "unit", "") == "ns" else "us"
            times = column.cast(pa.timestamp(unit)).to_numpy(zero_copy_only=False)
            return np.asarray(times)
        return _numbers(column)


def _whole(column: Any) -> Any:
    """A column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _numbers(column: Any) -> Floats:
    """Numbers, truth values or timestamps as float64; NaN where missing."""
    if arrow_types.is_timestamp(column.type) or arrow_types.is_date64(column.type):
        unit = getattr(column.type, "unit", "ms")
        if unit == "ns":  # finer than a float64 holds it
            return _numbers(column.cast(pa.timestamp("us", column.type.tz), safe=False))
        return _numbers(column.cast(pa.int64())) / PER_SECOND[unit]
    if arrow_types.is_date(column.type):
        return _numbers(column.cast(pa.int32())) * SECONDS_PER_DAY
    if not arrow_types.is_floating(column.type):
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


def _rows_with(test: npt.NDArray[np.bool_]) -> list[int]:
    """Rows in which something holds; mostly none."""
    return np.flatnonzero(test.any(axis=1)).tolist() if test.any() else []
