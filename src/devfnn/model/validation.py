"""Input validation: rows to arrays, labels to class indices, before a model changes."""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.errors import InputError
from devfnn.kernels.state import ASKED_FOR, OFFERED, UNLABELLED
from devfnn.model.names import check_room, checked_names, label_size, plain_label

LARGEST_WEIGHT = 1e6
"""A heavier row would wipe out all the others."""

LARGEST = 1e100
"""Values beyond this are treated as infinite."""


def as_rows(X: Any, names: Sequence[str] | None, n_features: int | None, missing: str) -> Floats:
    """A float64 matrix of the rows, with columns in the model's order; raises InputError.

    `missing` says what is done with NaN: "skip" lets it pass, "error" says how to let it pass,
    "refuse" does not.
    """
    if hasattr(X, "columns"):
        given = checked_names(X.columns)
        X = _in_order(X, given, names if names is not None else given)
    rows = _as_floats(X, "features", "encode categories first")
    if rows.ndim != 2:
        raise InputError(
            f"rows must be a matrix (rows x features), not an array of {rows.ndim} dimension(s); "
            "for a single row use learn_one and predict_one, or pass [row]"
        )
    if n_features is not None and rows.shape[1] != n_features:
        raise InputError(f"rows have {rows.shape[1]} features, the model knows {n_features}")
    if rows.shape[1] == 0:
        raise InputError("rows have no features")
    check_values(rows, missing)
    return rows


def _as_floats(X: Any, what: str, hint: str) -> Floats:
    """Numbers as float64; strings and other things are refused, not guessed."""
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "fiub":
        X = np.ma.filled(
            X.astype(np.float64), np.nan
        )  # else what is masked would be taken as it is
    try:
        raw = np.asarray(X)
    except ValueError as error:
        raise InputError(f"rows must all have the same number of {what}: {error}") from None
    if raw.dtype == object and any(isinstance(value, str | bytes) for value in raw.flat):
        raise InputError(f"{what} must be numbers, not text; {hint}")
    if raw.dtype.kind not in "fiubO":
        raise InputError(f"{what} must be numbers, not {raw.dtype}; {hint}")
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite is refused
            return np.require(raw, np.float64, ("C", "A", "W"))  # the arrays kernels know
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be numbers: {error}") from None


def _in_order(X: Any, columns: list[str], names: Sequence[str]) -> Any:
    """A table's columns in the model's order."""
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise InputError(f"column {twice!r} is there more than once")
    unknown, absent = set(columns) - set(names), set(names) - set(columns)
    if unknown or absent:
        problems = [f"unknown column {name!r}" for name in sorted(unknown)]
        problems += [f"column {name!r} is absent" for name in sorted(absent)]
        raise InputError("; ".join(problems) + f"; the model knows {', '.join(names)}")
    if columns == list(names):
        return X
    return np.asarray(X)[:, [columns.index(name) for name in names]]


def check_values(rows: Floats, missing: str) -> None:
    """Refuse infinity, and NaN unless it stands for an absent feature."""
    if not rows.size or (sizes := np.abs(rows)).max() <= LARGEST:
        return
    bad = sizes > LARGEST
    if bad.any():
        row, feature = np.argwhere(bad)[0]
        raise InputError(f"row {row}, feature {feature} is infinite or beyond {LARGEST:g}")
    if missing != "skip":
        row, feature = np.argwhere(np.isnan(rows))[0]
        skip = 'use missing="skip" to treat NaN as an absent feature'
        hint = "this model needs all values" if missing == "refuse" else skip
        raise InputError(f"row {row}, feature {feature} is NaN; {hint}")


def are_sound(values: Iterable[Any]) -> bool:
    """Whether all values of a row are numbers of an allowed size; False if not certain.

    >>> are_sound((1, True, 2.5)), are_sound((1.0, float("nan"))), are_sound(("1", 2.0))
    (True, False, False)
    >>> are_sound((2e100, -2e100)), are_sound((None,)), are_sound((10**400,)), are_sound(())
    (False, False, False, True)
    """
    try:
        return math.hypot(*values) <= LARGEST  # NaN is not, infinity neither
    except (TypeError, ValueError, OverflowError):  # text and the like; integers without end
        return False


def are_sound_or_absent(values: Iterable[Any]) -> bool:
    """The same for rows with gaps.

    >>> are_sound_or_absent((1, float("nan"))), are_sound_or_absent((2e100, float("nan")))
    (True, False)
    >>> are_sound_or_absent((np.float32("inf"), 1.0))  # to which 1e100 is infinite, too
    False
    """
    try:
        return all(math.fabs(value) <= LARGEST or value != value for value in values)
    except (TypeError, ValueError, ArithmeticError):
        return False


def as_weights(weights: Any, n_rows: int) -> Floats:
    """Row weights: 1 unless given, never negative."""
    if weights is None:
        return np.ones(n_rows)
    array = _as_floats(weights, "weights", "convert them first")
    if array.shape != (n_rows,):
        raise InputError(f"{array.size} weights for {n_rows} rows")
    if not ((array >= 0.0) & (array <= LARGEST_WEIGHT)).all():
        raise InputError(f"weights must lie between 0 and {LARGEST_WEIGHT:g}")
    return array


def as_labels(y: Any, n_rows: int) -> list[Any]:
    """Labels as a list, one for each row."""
    if isinstance(y, np.ndarray) and y.dtype.kind in "mM":  # its list may be of plain numbers
        raise InputError("labels must not be dates or times; give them as text")
    try:
        labels = y.tolist() if hasattr(y, "tolist") else list(y)
    except TypeError:
        labels = None
    if not isinstance(labels, list) or isinstance(y, str | bytes):
        raise InputError("labels must be a sequence, one for each row")
    if len(labels) != n_rows:
        raise InputError(f"{len(labels)} labels for {n_rows} rows")
    return labels


def as_labelled(chosen: Any, n_rows: int) -> Ints:
    """What is known of the rows' labels, from a mask of those chosen, a flag for all, or None."""
    if chosen is None:
        return np.full(n_rows, OFFERED, np.int64)
    if isinstance(chosen, bool):
        return np.full(n_rows, ASKED_FOR if chosen else UNLABELLED, np.int64)
    try:
        mask = np.asarray(chosen)
    except ValueError:  # rows of different lengths
        mask = np.empty(0)
    if mask.shape != (n_rows,) or mask.dtype != np.bool_:
        raise InputError(f"chosen must be True or a mask of {n_rows} rows")
    labelled: Ints = np.where(mask, ASKED_FOR, UNLABELLED).astype(np.int64)
    return labelled


class Labels:
    """The classes seen so far: any hashable values, numbered in the order they came."""

    def __init__(self, classes: Iterable[Hashable] = ()) -> None:
        self.classes: list[Hashable] = list(classes)
        self._index = {label: index for index, label in enumerate(self.classes)}
        self._stored = sum(map(label_size, self.classes))

    def __len__(self) -> int:
        return len(self.classes)

    def copy(self) -> "Labels":
        """The same, to be added to apart from this."""
        own = Labels()
        own.classes, own._index, own._stored = [*self.classes], {**self._index}, self._stored
        return own

    def index_of(self, label: Hashable) -> int | None:
        """Class index of a label, None if it was never seen."""
        return self._index.get(label)

    def encode(self, labels: list[Any]) -> tuple[Ints, list[Hashable]]:
        """Class indices, and the labels never seen before (not yet added)."""
        index = self._index
        try:
            return np.fromiter(map(index.__getitem__, labels), np.int64, len(labels)), []
        except (KeyError, TypeError):
            known = dict(index)
        codes = [_code_of(label, row, known) for row, label in enumerate(labels)]
        fresh = list(known)[len(index) :]
        check_room(self._stored + sum(map(label_size, fresh)), "classes")
        return np.array(codes, np.int64), fresh

    def add(self, fresh: Iterable[Hashable]) -> None:
        """Number new labels."""
        for label in fresh:
            self._index[label] = len(self.classes)
            self.classes.append(label)
            self._stored += label_size(label)

    def decode(self, codes: Ints) -> "np.ndarray[Any, np.dtype[Any]]":
        """Labels of class indices, in an array of their own type if they share one."""
        return self.as_array()[codes]

    def as_array(self) -> "np.ndarray[Any, np.dtype[Any]]":
        """The classes as an array that keeps every label as it is."""
        kinds = {type(label) for label in self.classes}
        letters: dict[type, str] = {int: "i", float: "f", bool: "b", str: "U"}
        if len(kinds) == 1 and (letter := letters.get(kinds.pop())):
            array = np.array(self.classes)
            if array.dtype.kind == letter and array.tolist() == self.classes:
                return array
        objects = np.empty(len(self.classes), object)
        for index, label in enumerate(self.classes):
            objects[index] = label
        return objects


def _code_of(label: Any, row: int, known: dict[Hashable, int]) -> int:
    """The class index of a label, which `known` has from then on; only a new one is checked."""
    try:
        code = known.get(label)
    except TypeError:  # it is no label, and the error says so
        code = None
    return known.setdefault(plain_label(label, row), len(known)) if code is None else code


def exploration_draws(seed: int, first: int, count: int) -> Floats:
    """Uniform numbers for rows `first`, ...: the same whatever the batch."""
    return draws_of(seed, np.arange(first, first + count))


def draws_of(seed: int, numbers: Ints) -> Floats:
    """The uniform numbers of rows by their number in the stream (splitmix64)."""
    z = (numbers.astype(np.uint64) + 1) * 0x9E3779B97F4A7C15 + seed
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z ^= z >> shift
        z *= factor
    z ^= z >> 31
    z >>= 11
    draws: Floats = z.astype(np.float64) * 2.0**-53
    return draws
