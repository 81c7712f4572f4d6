"""Sine, Mixed and STAGGER: a few features, and numbered functions of them that decide the class.

Sine and Mixed: Gama, Medas, Castillo and Rodrigues, "Learning with drift detection", SBIA 2004.
STAGGER: Schlimmer and Granger, "Incremental learning from noisy data", Machine Learning 1, 1986.
"""

import dataclasses
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from devfnn.streams.arguments import listed, whole_number
from devfnn.streams.generators.concept import Floats, Ints, Maker, numbered_names, picked
from devfnn.streams.generators.drifting import StreamOptions, drifting, with_defaults
from devfnn.streams.stream import Stream

SMALL, MEDIUM, LARGE = range(3)
RED, BLUE, GREEN = range(3)
CIRCLE, SQUARE, TRIANGLE = range(3)


@dataclasses.dataclass(frozen=True)
class Sine:
    """Label 1 if f1 is below a curve of f2, or with functions 2 and 4 if it is not.

    Functions 1 and 2 are the paper's SINE1 and its reverse, 3 and 4 its SINE2 and its reverse.

    Parameters
    ----------
    function
        1 and 2: the curve is sin(f2); 3 and 4: it is 0.5 + 0.3 sin(3 π f2).
    has_irrelevant
        Whether there are two more features, which say nothing: the paper's SINIRREL1 and 2.
    """

    function: int
    has_irrelevant: bool = False

    classes = (0, 1)

    def __post_init__(self) -> None:
        whole_number("function", self.function, low=1, high=4)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return numbered_names(self.n_draws)

    @property
    def n_draws(self) -> int:
        return 4 if self.has_irrelevant else 2

    def start(self) -> Maker:
        def made(draws: Floats) -> tuple[Floats, Ints]:
            X = draws[:, : self.n_draws]
            curve = np.sin(X[:, 1]) if self.function <= 2 else _curve(X[:, 1])
            classes = (X[:, 0] < curve) == (self.function % 2 == 1)
            return X, classes.astype(np.int64)

        return made


def _curve(x: Floats) -> Floats:
    return 0.5 + 0.3 * np.sin(3.0 * np.pi * x)


def sine(
    n_rows: int | None = None,
    *,
    functions: Sequence[int] = (1, 2, 3, 4),
    has_irrelevant: bool = False,
    **options: Unpack[StreamOptions],
) -> Stream:
    """Points on both sides of a curve; every second drift exchanges the sides.

    Parameters
    ----------
    functions, has_irrelevant
        As in `Sine`; one function for each concept, and after the last comes the first again.
    n_rows, **options
        As in `StreamOptions`. By default a concept lasts 10,000 rows; in the paper it is 1000.
    """
    concepts = [Sine(function, has_irrelevant) for function in listed("functions", functions)]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=10_000))


@dataclasses.dataclass(frozen=True)
class Mixed:
    """Label 1 if two of three hold: v, w, and y < 0.5 + 0.3 sin(3 π x).

    As in the paper function 1 calls the majority positive; MOA and River do the opposite.

    Parameters
    ----------
    function
        1 as above; 2 the reverse.
    """

    function: int

    feature_names = ("v", "w", "x", "y")
    classes = (0, 1)
    n_draws = 4

    def __post_init__(self) -> None:
        whole_number("function", self.function, low=1, high=2)

    def start(self) -> Maker:
        def made(draws: Floats) -> tuple[Floats, Ints]:
            X = draws[:, :4].copy()
            X[:, :2] = X[:, :2] >= 0.5
            has_most = X[:, 0] + X[:, 1] + (X[:, 3] < _curve(X[:, 2])) >= 2.0
            return X, (has_most == (self.function == 1)).astype(np.int64)

        return made


def mixed(
    n_rows: int | None = None,
    *,
    functions: Sequence[int] = (1, 2),
    **options: Unpack[StreamOptions],
) -> Stream:
    """Rows with two booleans and two numbers; every drift exchanges the classes.

    Parameters
    ----------
    functions
        As in `Mixed`, one for each concept; after the last comes the first again.
    n_rows, **options
        As in `StreamOptions`. By default a concept lasts 10,000 rows; in the paper it is 1000.
    """
    concepts = [Mixed(function) for function in listed("functions", functions)]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=10_000))


@dataclasses.dataclass(frozen=True)
class Stagger:
    """Label 1 if an object is as a function says; features are codes 0, 1 and 2.

    Sizes are small, medium and large, colours red, blue and green, shapes circle, square and
    triangle.

    Parameters
    ----------
    function
        1: small and red; 2: green or a circle; 3: medium or large.
    """

    function: int

    feature_names = ("size", "colour", "shape")
    classes = (0, 1)
    n_draws = 3

    def __post_init__(self) -> None:
        whole_number("function", self.function, low=1, high=3)

    def start(self) -> Maker:
        def made(draws: Floats) -> tuple[Floats, Ints]:
            codes = picked(draws[:, :3], 3)
            size, colour, shape = codes.T
            if self.function == 1:
                belongs = (size == SMALL) & (colour == RED)
            elif self.function == 2:
                belongs = (colour == GREEN) | (shape == CIRCLE)
            else:
                belongs = (size == MEDIUM) | (size == LARGE)
            return codes.astype(np.float64), belongs.astype(np.int64)

        return made


def stagger(
    n_rows: int | None = None,
    *,
    functions: Sequence[int] = (1, 2, 3),
    **options: Unpack[StreamOptions],
) -> Stream:
    """Objects that belong to a class or not, by one rule after the other.

    Parameters
    ----------
    functions
        As in `Stagger`, one for each concept; after the last comes the first again.
    n_rows, **options
        As in `StreamOptions`. By default a concept lasts 10,000 rows; in the paper it is 40.
    """
    concepts = [Stagger(function) for function in listed("functions", functions)]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=10_000))
