"""Labels of a file: which type they have, and how they become an array."""

import dataclasses
import enum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from devfnn.errors import DataError
from devfnn.streams.files.layout import TEXT_TYPE
from devfnn.types import Labels

MOST_LABELS = 100
"""Different labels in the first rows that may be classes even if they are measured."""

LARGEST_INT64 = 2**63 - 1
TOO_LARGE = 2.0**53
"""From here on a float64 does not hold every whole number."""


class LabelKind(enum.Enum):
    """What the labels of a file are."""

    text = "text"
    boolean = "boolean"
    integer = "integer"
    whole = "whole"
    """Whole numbers written with a fraction, as 1.0."""
    number = "number"


@dataclasses.dataclass(frozen=True)
class LabelColumn:
    """A column of labels."""

    name: str
    kind: LabelKind

    @classmethod
    def of(cls, name: str, first: Any, is_guess: bool = False) -> "LabelColumn":
        """What kind of labels these are, by the first rows.

        is_guess: whether nobody said that this is the label
        """
        if is_guess:
            _check_classes(name, first)
        data_type = first.type
        if types.is_boolean(data_type):
            return cls(name, LabelKind.boolean)
        if types.is_integer(data_type):
            is_larger = types.is_uint64(data_type) and (pc.max(first).as_py() or 0) > LARGEST_INT64
            return cls(name, LabelKind.text if is_larger else LabelKind.integer)
        if types.is_floating(data_type) or types.is_decimal(data_type):
            return cls(name, _number_kind(name, _as_floats(first)))
        return cls(name, LabelKind.text)

    @property
    def arrow_type(self) -> pa.DataType:
        """How the column is read."""
        return {
            LabelKind.text: TEXT_TYPE,
            LabelKind.boolean: pa.bool_(),
            LabelKind.integer: pa.int64(),
        }.get(self.kind, pa.float64())

    def array(self, column: Any) -> tuple[Labels, npt.NDArray[np.bool_] | None, list[int]]:
        """Labels, which of them are there (None for all), and rows whose label is of another kind.

        column: an arrow array of `arrow_type`
        """
        misfits: list[int] = []
        if self.kind in (LabelKind.whole, LabelKind.number):
            column = pa.array(_as_floats(column), from_pandas=True)
        missing = np.asarray(pc.is_null(column))
        if self.kind is LabelKind.text:
            labels = _texts(column)
        else:
            filled = column.fill_null(pa.scalar(0, pa.int8()).cast(column.type))
            labels = filled.to_numpy(zero_copy_only=False)
            misfits = np.flatnonzero(~self._fit(labels)).tolist()
        if self.kind is LabelKind.whole:
            labels = np.where(self._fit(labels), labels, 0.0).astype(np.int64)
        if not missing.any():
            return labels, None, misfits
        labels = labels.astype(object)
        labels[missing] = None
        return labels, ~missing, misfits

    def _fit(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which numbers are labels of this kind."""
        if self.kind is LabelKind.number:
            return np.asarray(np.isfinite(numbers))
        if self.kind is LabelKind.whole:
            is_exact = np.abs(numbers) < TOO_LARGE
            return np.asarray(is_exact & (np.floor(numbers) == numbers))
        return np.ones(len(numbers), bool)


def _as_floats(column: Any) -> npt.NDArray[np.float64]:
    """Numbers of any type as float64, NaN where missing."""
    floats: npt.NDArray[np.float64] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return floats


def _check_classes(name: str, first: Any) -> None:
    """Refuse labels of which nearly every row has another: no classes can be learned from them."""
    if types.is_dictionary(first.type):
        first = first.dictionary_decode()
    n_different, n_rows = len(first.unique()), len(first) - first.null_count
    if n_different > MOST_LABELS and 2 * n_different > n_rows:
        raise DataError(
            f"column {name!r} was taken for the label, but nearly every row has another value; "
            "name the label's column with label, or say label=None"
        )


def _number_kind(name: str, first: npt.NDArray[np.float64]) -> LabelKind:
    numbers = first[np.isfinite(first)]
    if (np.floor(numbers) == numbers).all():
        return LabelKind.whole if (np.abs(numbers) < TOO_LARGE).all() else LabelKind.text
    if len(np.unique(numbers)) > MOST_LABELS:
        raise DataError(
            f"the label column {name!r} holds measurements, not classes; name another with label"
        )
    return LabelKind.number


def _texts(column: Any) -> Labels:
    """A dictionary column as an array of strings."""
    values = np.empty(len(column.dictionary) + 1, object)
    values[:-1] = column.dictionary.to_pylist()
    codes = column.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    return np.asarray(values[codes])
