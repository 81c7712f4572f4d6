"""A concept: the rule by which a generator makes rows and labels, as long as it lasts."""

from collections.abc import Callable, Hashable
from typing import Any, Protocol

import numpy as np

from devfnn.arrays import Floats, Ints

Maker = Callable[[Floats], tuple[Floats, Ints]]
"""Random numbers (n_rows, n_draws) to features (n_rows, n_features) and class indices (n_rows,)."""


class Concept(Protocol):
    """What stays the same between two drifts. Equal concepts make equal rows.

    A row is a function of a few random numbers, uniform from 0 to 1, and of what the concept
    remembers of the rows it made before. So two concepts that differ in their boundary only make
    the same features from the same seed.

    Three more methods are optional. `between(other, shares)` of a concept gives a maker of rows on
    the way to another concept, each as far as its share says: incremental drift needs it.
    `situation()` begins what goes on whatever the concept: a function of random numbers, called
    once for all concepts of a stream, whose makers get what it returns. A maker that changes with
    every row has `again(draws, places)`, which makes other rows instead of some of its last call.
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


def numbered_names(n_features: int) -> tuple[str, ...]:
    """Default names of features: f1, f2, ..."""
    return tuple(f"f{number}" for number in range(1, n_features + 1))


def normal_draws(uniform: Floats) -> Floats:
    """Normally distributed numbers from pairs of uniform ones, (n_rows, 2 k) to (n_rows, k)."""
    half = uniform.shape[1] // 2
    radius = np.sqrt(-2.0 * np.log1p(-uniform[:, :half]))  # 1 - u is never 0
    return radius * np.cos(2.0 * np.pi * uniform[:, half : 2 * half])


def picked(uniform: Floats, n_choices: int) -> Any:
    """Uniform integers from 0 on, from uniform numbers of any shape."""
    return np.minimum((uniform * n_choices).astype(np.int64), n_choices - 1)
