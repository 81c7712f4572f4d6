"""Tables to chunks: features as numbers, labels, times, and rows that are bad after all."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as arrow_types

from devfnn.streams.files.columns import LabelColumn, Layout
from devfnn.streams.files.encoding import (
    Category,
    CategoryEncoder,
    Encoders,
    Floats,
    MeanFiller,
    cyclic_features,
    cyclic_names,
    encoder_for,
)
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.tables import TEXT, Parsed, whole
from devfnn.streams.stream import BadRow
from devfnn.types import Chunk


class ConvertedRows(NamedTuple):
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
            name: Category(codes[:n_rows], values)
            for name, (codes, values) in self.categories.items()
        }
        return self._replace(chunk=self.chunk.rows(slice(n_rows)), categories=categories)


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
        names |= {name: cyclic_names(name) for name in layout.cyclic}
        names |= {name: each.names for name, each in self._encoders().items()}
        edges = itertools.accumulate(map(len, names.values()), initial=0)
        self._places = dict(
            zip(names, itertools.starmap(slice, itertools.pairwise(edges)), strict=True)
        )
        self.feature_names = _made_different(itertools.chain(*names.values()))

    def _encoders(self) -> dict[str, CategoryEncoder]:
        return {
            column.name: encoder_for(
                column, self._first_values[column.name].to_pylist(), self._options
            )
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
        return ConvertedRows(chunk, categories, bad, len(parsed.numbers) + len(bad))

    def _labels(self, table: pa.Table) -> tuple[Any, npt.NDArray[np.bool_] | None, dict[int, str]]:
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
    return Category(codes, values)


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
