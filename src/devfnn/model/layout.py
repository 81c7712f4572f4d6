"""Layouts: what the arrays of a part of the network look like. One table drives everything.

A layout has a field for every array: its axes, its type, what an empty one holds, and which values
it may have. From it arrays are made, widened, checked before and after they are stored, and put
together for fleets.

Axes are letters (see `kernels/state.py`) or numbers:

>>> lengths = {"C": 3, "n": 2}
>>> make({"ages": Field("C", 0), "lows": Field("C n", -1.0)}, lengths)["lows"].tolist()
[[-1.0, -1.0], [-1.0, -1.0], [-1.0, -1.0]]
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from devfnn.arrays import Ints

Part = TypeVar("Part")
Array = np.ndarray[Any, np.dtype[Any]]

LEAST = 5e-324
"""The smallest positive number, as the lower end of ranges that exclude 0."""

LARGEST_COUNT = 2**62
"""Largest legal count; one more row must not overflow."""


LARGEST_NUMBER = 1e101
"""Largest legal size of a number that is bounded: products of three, and sums of them, are finite.
Ranges of features may be as wide as 2e100."""


class Field(NamedTuple):
    """One array."""

    axes: str  # letters and numbers, separated by blanks
    fill: float | int | bool  # what an empty one holds; says by its type which numbers these are
    low: float | None = None  # the least value; None: 0 for whole numbers, else as for `high`
    high: float | None = None  # the largest value; None: `LARGEST_NUMBER`
    stored: str = ""  # type in fewer bytes than usual: f4, i4, u1
    unbounded: bool = False  # whether infinity is a value
    gaps: Literal["", "missing", "any"] = ""  # whether NaN is a value: of rows with missing values

    @property
    def dtype(self) -> "np.dtype[Any]":
        """Type of the numbers."""
        return np.dtype(self.stored) if self.stored else np.asarray(self.fill).dtype

    def shape(self, lengths: Mapping[str, int]) -> tuple[int, ...]:
        """Shape for these lengths of axes."""
        return tuple(int(a) if a.isdigit() else lengths[a] for a in self.axes.split())

    def n_bytes(self, lengths: Mapping[str, int]) -> int:
        """Size in bytes, without making it."""
        return math.prod(self.shape(lengths)) * self.dtype.itemsize


Layout = Mapping[str, Field]


def make(layout: Layout, lengths: Mapping[str, int]) -> dict[str, Array]:
    """Empty arrays."""
    return {
        name: np.full(field.shape(lengths), field.fill, field.dtype)
        for name, field in layout.items()
    }


def carry_over(
    layout: Layout, old: Mapping[str, Array], new: Mapping[str, Array], places: Mapping[str, Ints]
) -> None:
    """Copy arrays into larger ones. places: where the old entries of an axis stand in the new one

    An axis without places keeps its length, or its entries stay in front.
    """
    for name, field in layout.items():
        axes = zip(field.axes.split(), old[name].shape, strict=True)
        index = [places.get(axis, np.arange(length)) for axis, length in axes]
        new[name][np.ix_(*index)] = old[name]


def numbers_for(kernel: Any, sections: tuple[Any, ...], **others: Any) -> Any:
    """Parameters for kernels: fields of sections by name, and others."""
    for section in sections:
        for field in dataclasses.fields(section):
            if field.name in kernel._fields and field.name not in others:
                kind: Any = field.type
                others[field.name] = kind(getattr(section, field.name))
    return kernel(**others)


def present(part: Part | None) -> Part:
    """A part of the state that the network has."""
    assert part is not None
    return part


MOST_CONTRASTS = 3
"""They tell eight classes apart; of more, every eighth counts as the same. Files and the time of a
row grow with each."""


def n_contrasts(n_classes: int) -> int:
    """Contrasts of classes used to search for splits: each divides the classes into two halves."""
    return max(1, min(MOST_CONTRASTS, (n_classes - 1).bit_length()))
