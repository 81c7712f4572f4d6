"""What a stream looks like: rows, class balance, ranges and missing values, chunk by chunk."""

import collections
import dataclasses
import functools
import operator
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from devfnn.arrays import Floats, Ints
from devfnn.types import Chunk


@dataclasses.dataclass(frozen=True)
class Description:
    """Some rows in a few numbers. Two descriptions can be added."""

    n_rows: int
    class_counts: dict[Hashable, int]
    """Rows of each class; None stands for unknown labels."""
    n_present: Ints
    """Number of values that are not missing, for each feature."""
    lows: Floats
    """Lowest value of each feature; NaN if all are missing."""
    highs: Floats
    means: Floats
    squares: Floats
    """Sum of squared distances from the mean."""
    n_hidden: int = 0
    """Labels that may not be learned."""

    @classmethod
    def of(cls, chunk: Chunk) -> Self:
        """A chunk in numbers."""
        present = ~np.isnan(chunk.X)
        n_present = present.sum(axis=0)
        means = _divided(np.where(present, chunk.X, 0.0).sum(axis=0), n_present)
        distances = np.where(present, chunk.X - means, 0.0)
        return cls(
            n_rows=len(chunk.y),
            class_counts=dict(collections.Counter(chunk.y.tolist())),
            n_present=n_present,
            lows=np.fmin.reduce(chunk.X, axis=0, initial=np.nan),
            highs=np.fmax.reduce(chunk.X, axis=0, initial=np.nan),
            means=means,
            squares=(distances**2).sum(axis=0),
            n_hidden=0 if chunk.labelled is None else int((~chunk.labelled).sum()),
        )

    def __add__(self, other: "Description") -> "Description":
        counts = collections.Counter(self.class_counts)
        counts.update(other.class_counts)
        n_both = self.n_present + other.n_present
        here, there = np.nan_to_num(self.means), np.nan_to_num(other.means)
        weights = np.nan_to_num(_divided(other.n_present, n_both))
        return Description(
            n_rows=self.n_rows + other.n_rows,
            class_counts=dict(counts),
            n_present=n_both,
            lows=np.fmin(self.lows, other.lows),
            highs=np.fmax(self.highs, other.highs),
            means=np.where(n_both > 0, here + (there - here) * weights, np.nan),
            squares=self.squares + other.squares + (there - here) ** 2 * self.n_present * weights,
            n_hidden=self.n_hidden + other.n_hidden,
        )

    @property
    def stds(self) -> Floats:
        """Standard deviation of each feature."""
        return np.sqrt(_divided(self.squares, self.n_present))

    @property
    def n_missing(self) -> Ints:
        """Missing values of each feature."""
        return np.asarray(self.n_rows - self.n_present)

    def class_shares(self) -> dict[Hashable, float]:
        """Share of each class, the most common first."""
        common = sorted(self.class_counts.items(), key=lambda item: (-item[1], str(item[0])))
        return {label: count / self.n_rows for label, count in common}

    def to_dict(self, feature_names: Sequence[str]) -> dict[str, Any]:
        """Plain data, for JSON; what is not known is None."""
        numbers = {"min": self.lows, "max": self.highs, "mean": self.means, "std": self.stds}
        columns = {
            key: [None if np.isnan(value) else float(value) for value in values]
            for key, values in numbers.items()
        } | {"missing": self.n_missing.tolist()}
        rows = zip(*columns.values(), strict=True)
        features = [dict(zip(columns, row, strict=True)) for row in rows]
        return {
            "rows": self.n_rows,
            "classes": {str(label): count for label, count in self.class_counts.items()},
            "hidden_labels": self.n_hidden,
            "features": dict(zip(feature_names, features, strict=True)),
        }


def _divided(values: npt.NDArray[Any], counts: Ints) -> Floats:
    """Values by counts; NaN where there are none."""
    quotients = np.divide(values, counts, where=counts > 0, out=np.full(len(counts), np.nan))
    return np.asarray(quotients)


def describe(chunks: Iterable[Chunk]) -> Iterator[Description]:
    """A description of every chunk that has rows."""
    return (Description.of(chunk) for chunk in chunks if len(chunk.y))


class Overview:
    """A stream in at most so many descriptions: neighbours are merged as it goes on.

    >>> overview = Overview(most=4)
    >>> for chunk in [Chunk(np.zeros((10, 1)), np.zeros(10, int))] * 9:
    ...     overview.add(Description.of(chunk))
    >>> [part.n_rows for part in overview.parts], overview.n_chunks
    ([40, 40, 10], 9)
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.n_chunks = 0
        self.whole: Description | None = None
        """All chunks together; None before the first."""
        self.parts: list[Description] = []
        """In order, each of the same number of chunks, except the last, which may have fewer."""
        self._part_chunks = 1

    def add(self, description: Description) -> None:
        """Take in the next chunk."""
        self.whole = description if self.whole is None else self.whole + description
        if self.n_chunks % self._part_chunks:
            self.parts[-1] = self.parts[-1] + description
        else:
            self.parts.append(description)
        if len(self.parts) > self.most:
            self.parts = joined_neighbours(self.parts, 2)
            self._part_chunks *= 2
        self.n_chunks += 1


def joined_neighbours(parts: Sequence[Description], size: int) -> list[Description]:
    """Every so many neighbours as one."""
    starts = range(0, len(parts), size)
    return [functools.reduce(operator.add, parts[start : start + size]) for start in starts]
