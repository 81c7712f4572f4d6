"""A concept: the rule by which a generator makes rows and labels, as long as it lasts."""

from collections.abc import Callable, Hashable
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Maker = Callable[[Floats], tuple[Floats, Ints]]
"""Random numbers (n_rows, n_draws) to features (n_rows, n_features) and class indices (n_rows,)."""


class Concept(Protocol):
    """What stays the same between two drifts. Equal concepts make equal rows.

    A row is a function of a few random numbers, uniform from 0 to 1, and of what the concept
    remembers of the rows it made before. So two concepts that differ in their boundary only make
    the same features from the same seed.
    """

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """Labels that may occur, in the order of the class indices."""

    @property
    def n_draws(self) -> int:
        """Random numbers that a row takes."""

    def start(self) -> Maker:
        """Begin to make rows; a maker may remember what it made."""


Situation = Callable[[Floats], Floats]
"""Random numbers of rows, in order, to what concepts make of them: (n_rows, n_draws) to any."""


@runtime_checkable
class SituatedConcept(Concept, Protocol):
    """A concept that judges something that goes on by itself, whatever the concept."""

    def situation(self) -> Situation:
        """Begin what goes on; all concepts of a stream share one. Their makers get what it says."""


@runtime_checkable
class MovableConcept(Concept, Protocol):
    """A concept with numbers that can move, for incremental drift."""

    def between(self, other: Self, shares: Floats) -> Maker:
        """Makes rows on the way to another concept, each as far as its share says, (n_rows,)."""


@runtime_checkable
class MovingMaker(Protocol):
    """A maker that changes by itself with every row it makes."""

    def __call__(self, draws: Floats, /) -> tuple[Floats, Ints]:
        """The next rows, as any maker."""

    def again(self, draws: Floats, places: Ints, /) -> tuple[Floats, Ints]:
        """Other rows instead of some that the last call made, as it was then; it does not move."""


def numbered_names(n_features: int) -> tuple[str, ...]:
    """Names for features that mean nothing.

    >>> numbered_names(3)
    ('f1', 'f2', 'f3')
    """
    return tuple(f"f{number}" for number in range(1, n_features + 1))


def normal_draws(uniform: Floats) -> Floats:
    """Normally distributed numbers from pairs of uniform ones, (n_rows, 2 k) to (n_rows, k)."""
    half = uniform.shape[1] // 2
    radius = np.sqrt(-2.0 * np.log1p(-uniform[:, :half]))  # 1 - u is never 0
    return radius * np.cos(2.0 * np.pi * uniform[:, half : 2 * half])


def picked(uniform: Floats, n_choices: int) -> Any:
    """Whole numbers from 0 on, all equally likely, from uniform numbers of any shape."""
    return np.minimum((uniform * n_choices).astype(np.int64), n_choices - 1)
