"""Hyperplane: a plane through the middle of a cube, which turns slowly or from drift to drift.

Hulten, Spencer and Domingos, "Mining time-changing data streams", KDD 2001. How weights move by
themselves, and flip_chance, is as in MOA: Bifet et al., JMLR 11, 2010.
"""

import dataclasses
from typing import Any, Unpack

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.errors import InputError
from devfnn.streams.arguments import MOST_FEATURES, finite_number, whole_number
from devfnn.streams.generators.concept import Maker, numbered_names
from devfnn.streams.generators.drifting import StreamOptions, drifting, with_defaults
from devfnn.streams.stream import Stream


@dataclasses.dataclass(frozen=True)
class Hyperplane:
    """Label 1 if the weighted sum of the features is at least half the sum of the weights.

    Features are uniform from 0 to 1, so half of the rows are on either side.
    """

    weights: tuple[float, ...]
    """One for each feature."""
    n_drift_features: int = 0
    """How many weights move, the first ones."""
    magnitude: float = 0.0
    """By how much these weights move after every row, all of them up at first."""
    flip_chance: float = 0.1
    """Chance that a moving weight turns round after a row."""

    classes = (0, 1)

    def __post_init__(self) -> None:
        weights = tuple(finite_number("weights", weight) for weight in self.weights)
        if not weights:
            raise InputError("weights must be one or more numbers")
        object.__setattr__(self, "weights", weights)
        whole_number("n_drift_features", self.n_drift_features, low=0, high=len(weights))
        finite_number("magnitude", self.magnitude, low=0)
        finite_number("flip_chance", self.flip_chance, low=0, high=1)

    @classmethod
    def from_seed(cls, n_features: int, seed: int, **motion: Any) -> "Hyperplane":
        """A plane whose weights are uniform from 0 to 1; it stands still by default."""
        n_features = whole_number("n_features", n_features, low=1, high=MOST_FEATURES)
        seed = whole_number("seed", seed, low=0)
        return cls(tuple(np.random.default_rng(seed).random(n_features).tolist()), **motion)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return numbered_names(len(self.weights))

    @property
    def n_draws(self) -> int:
        return len(self.weights) + self.n_drift_features

    @property
    def is_moving(self) -> bool:
        """Whether weights move by themselves."""
        return self.n_drift_features > 0 and self.magnitude > 0

    def start(self) -> Maker:
        if self.is_moving:
            return _Walk(self)
        weights = np.array(self.weights)
        return lambda draws: _made(draws[:, : len(weights)], weights)

    def between(self, other: "Hyperplane", shares: Floats) -> Maker:
        if self.is_moving or other.is_moving:
            raise InputError(
                "weights move by themselves or by incremental drift, not both; set magnitude to 0"
            )
        old, new = np.array(self.weights), np.array(other.weights)
        weights = old + shares[:, None] * (new - old)
        return lambda draws: _made(draws[:, : len(old)], weights)


def _made(X: Floats, weights: Floats) -> tuple[Floats, Ints]:
    """weights: (n_features,), or one for each row and feature"""
    axes = "ij,j->i" if weights.ndim == 1 else "ij,ij->i"
    return X, (np.einsum(axes, X - 0.5, weights) >= 0.0).astype(np.int64)


class _Walk:
    """Makes rows while weights move: every moving weight takes a step after each row.

    Steps are counted as whole numbers, so nothing is rounded however long the stream is.
    """

    def __init__(self, concept: Hyperplane) -> None:
        self.concept = concept
        self.directions = np.ones(concept.n_drift_features, np.int64)
        self.steps = np.zeros(concept.n_drift_features, np.int64)
        self.made_after = np.zeros((0, concept.n_drift_features), np.int64)
        """Steps taken before each row of the last call, (n_rows, n_drift_features)."""

    def __call__(self, draws: Floats) -> tuple[Floats, Ints]:
        n_features = len(self.concept.weights)
        is_turn = draws[:, n_features : self.concept.n_draws] < self.concept.flip_chance
        turns = np.where(is_turn, -1, 1)
        turned = np.cumprod(np.concatenate([self.directions[None], turns]), axis=0)
        walked = np.cumsum(np.concatenate([self.steps[None], turned[:-1]]), axis=0)
        self.directions, self.steps, self.made_after = turned[-1], walked[-1], walked[:-1]
        return self.again(draws, slice(None))

    def again(self, draws: Floats, places: Ints | slice) -> tuple[Floats, Ints]:
        weights = np.tile(self.concept.weights, (len(draws), 1))
        moved = self.concept.magnitude * self.made_after[places]
        weights[:, : self.concept.n_drift_features] += moved
        return _made(draws[:, : weights.shape[1]], weights)


def hyperplane(
    n_rows: int | None = None,
    *,
    n_features: int = 4,
    n_concepts: int = 1,
    n_drift_features: int = 2,
    magnitude: float = 0.001,
    flip_chance: float = 0.1,
    **options: Unpack[StreamOptions],
) -> Stream:
    """4 features on two sides of a plane that turns slowly.

    Weights that walk away by themselves are no drift that has a position: with one concept
    `drift_positions` is empty. The weights of several concepts are drawn with the seeds 0, 1, 2 and
    so on, whatever the stream's seed; for others give `Hyperplane` concepts to `drifting`. To let
    weights turn from one concept to the next set `magnitude` to 0, and `kind` and `width`. By
    default one of several concepts lasts 10,000 rows, and `noise` is 0.05. All other options are in
    `Hyperplane` and `StreamOptions`.

    Two planes, and 2000 rows in which the first turns into the second:

    >>> turning = hyperplane(
    ...     20_000, n_concepts=2, magnitude=0, positions=[8000], width=2000, kind="incremental"
    ... )
    >>> turning.drift_positions
    (8000,)
    """
    motion = {"magnitude": magnitude, "flip_chance": flip_chance}
    concepts = [
        Hyperplane.from_seed(n_features, seed, n_drift_features=n_drift_features, **motion)
        for seed in range(whole_number("n_concepts", n_concepts, low=1))
    ]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=10_000, noise=0.05))
