"""From River's rows, whose features come and go, to rows of a model."""

import copy
import operator
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from river.utils import dataframe

from devfnn.arrays import Floats
from devfnn.errors import InputError, shown
from devfnn.model.validation import LARGEST, are_sound


class Features:
    """Which feature has which column of the model.

    `names` are the features that a model has already. New ones are numbered in an order of their
    own, not in that of the row: the order in which a row names its features must not matter.

    >>> features = Features()
    >>> features.add({"b": 1.0, "a": 2.0})
    ['a', 'b']
    >>> features.row({"b": 5.0})
    [nan, 5.0]
    >>> features.add({1: 3.0, "1": 4.0})
    ['1', "'1'"]
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._places: dict[Hashable, int] = {name: place for place, name in enumerate(names)}
        self._names: dict[str, None] = dict.fromkeys(names)  # in order: pickles are the same
        self._pick: Callable[[Mapping[Any, Any]], Sequence[Any]] | None = None
        self._choose()

    def copied(self) -> "Features":
        """A copy, which may be changed on trial."""
        copied = copy.copy(self)
        copied._places, copied._names = self._places.copy(), self._names.copy()
        return copied

    @property
    def keys(self) -> list[Hashable]:
        """Keys of the features in rows, in the order of the columns."""
        return list(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def are_new(self, keys: Iterable[Hashable]) -> bool:
        """Whether one of these features was never seen."""
        return any(key not in self._places for key in keys)

    def add(self, keys: Iterable[Hashable]) -> list[str]:
        """Give columns to features that were never seen; returns what the model calls them."""
        fresh = [key for key in keys if key not in self._places]
        try:
            fresh.sort(key=lambda key: (type(key).__name__, repr(key)))
            names = [self._name(key) for key in fresh]
        except ValueError as error:  # a number without end
            raise InputError(f"the name of a feature is no text: {error}") from None
        for key in fresh:
            self._places[key] = len(self._places)
        self._choose()
        return names

    def _choose(self) -> None:
        """Prepare a getter of whole rows; with a single feature it would not return a tuple."""
        if len(self._places) > 1:
            self._pick = operator.itemgetter(*self._places)

    def _name(self, key: Hashable) -> str:
        """A name that no other feature has: 1 and "1" are two features."""
        name = str(key) if str(key) not in self._names else repr(key)
        while name in self._names:
            name += "'"
        self._names[name] = None
        return name

    def whole_row(self, x: Mapping[Any, Any]) -> Sequence[float] | None:
        """The values of a row that has exactly the known features; None otherwise."""
        if self._pick is None or len(x) != len(self._places):
            return None
        try:
            values = self._pick(x)
        except KeyError:
            return None
        return values if are_sound(values) else None

    def row(self, x: Mapping[Any, Any]) -> Sequence[float]:
        """The values of a row in the order of the columns; NaN for what it does not have."""
        values = self.whole_row(x)
        return values or [as_number(x.get(key), key) for key in self._places]

    def matrix(self, columns: Sequence[Hashable], rows: Floats) -> Floats:
        """The rows of a table in the order of the columns of the model."""
        placed = np.full((rows.shape[0], len(self._places)), np.nan)
        for place, key in enumerate(columns):
            if key in self._places:
                placed[:, self._places[key]] = rows[:, place]
        return placed


def as_mapping(x: Any) -> Mapping[Any, Any]:
    """A row as a dictionary; a series of pandas has items, too."""
    if type(x) is dict or isinstance(x, Mapping):
        return x
    if hasattr(x, "items") and hasattr(x, "keys") and getattr(x, "ndim", 1) == 1:
        return dict(x.items())
    kind = type(x).__name__
    problem = f"a row is a dictionary of features, not {kind}"
    raise InputError(f"{problem}; use learn_many and predict_many for tables")


def as_number(value: Any, key: Hashable) -> float:
    """A feature's value; NaN if it is missing.

    >>> as_number(None, "age"), as_number(True, "is_new")
    (nan, 1.0)
    >>> as_number("red", "colour")
    Traceback (most recent call last):
    ...
    devfnn.errors.InputError: feature 'colour' is 'red', not a number; encode categories first
    """
    if value is None or value is getattr(sys.modules.get("pandas"), "NA", None):
        return float("nan")
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        number = float(value)
    except OverflowError:  # of an integer without end
        number = float("inf")
    except (TypeError, ValueError):
        problem = f"feature {shown(key)} is {shown(value)}, not a number; encode categories first"
        raise InputError(problem) from None
    if abs(number) > LARGEST:
        raise InputError(f"feature {shown(key)} is infinite or beyond {LARGEST:g}")
    return number


def read_table(X: Any) -> tuple[Any, list[Hashable], Floats]:
    """A table as narwhals sees it, its columns, and its rows as numbers."""
    try:
        frame = dataframe.into_frame(X)
    except TypeError:
        kind = type(X).__name__
        problem = f"rows must be a table of pandas, Polars or PyArrow, not {kind}"
        raise InputError(f"{problem}; use learn_one for a single row") from None
    except ValueError as error:  # narwhals refuses columns that are there twice
        raise InputError(" ".join(str(error).split())) from None
    columns: list[Hashable] = list(frame.columns)
    rows = np.empty((len(frame), len(columns)))
    for place, series in enumerate(frame.iter_columns()):
        rows[:, place] = _as_numbers(series, columns[place])
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise InputError(f"column {twice!r} is there more than once")
    return frame, columns, rows


def _as_numbers(series: Any, key: Hashable) -> npt.NDArray[Any]:
    """A column as floats; NaN where there is no value."""
    if series.dtype.is_numeric() and not series.is_null().any():
        numbers: npt.NDArray[Any] = series.to_numpy().astype(np.float64)
        if not (np.abs(numbers) > LARGEST).any():
            return numbers
    return np.array([as_number(value, key) for value in series.to_list()], np.float64)


def as_list(column: Any, what: str) -> list[Any]:
    """A column of any kind as a list."""
    if isinstance(column, np.ndarray):
        column = column.tolist()
    if isinstance(column, list | tuple):
        return list(column)
    try:
        return list(dataframe.into_series(column).to_list())
    except TypeError:
        kind = type(column).__name__
        raise InputError(f"{what} must be a column, a list or an array, not {kind}") from None
