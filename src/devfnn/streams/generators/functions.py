"""Sine, Mixed, STAGGER and LED: a few features, and rules with a number that decide the class.

Sine and Mixed: Gama, Medas, Castillo and Rodrigues, "Learning with drift detection", SBIA 2004.
STAGGER: Schlimmer and Granger, "Incremental learning from noisy data", Machine Learning 1, 1986.
LED: Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees", 1984; its drift by
swapping segments with useless features is that of MOA (Bifet et al., JMLR 11, 2010).
"""

import dataclasses
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.streams.arguments import finite_number, listed, whole_number
from devfnn.streams.generators.concept import Maker, numbered_names, picked
from devfnn.streams.generators.drifting import StreamOptions, drifting, with_defaults
from devfnn.streams.stream import Stream


@dataclasses.dataclass(frozen=True)
class Sine:
    """Label 1 if f1 is below a curve of f2, or with functions 2 and 4 if it is not.

    Functions 1 and 2 are the paper's SINE1 and its reverse, 3 and 4 its SINE2 and its reverse.
    """

    function: int
    """1 and 2: the curve is sin(f2); 3 and 4: it is 0.5 + 0.3 sin(3 π f2)."""
    has_irrelevant: bool = False
    """Whether there are two more features, which say nothing: the paper's SINIRREL1 and 2."""

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
    """2 features above and below a sine, the sides exchanged by drift.

    Each function of `Sine` lasts 10,000 rows by default (paper: 1000); see `StreamOptions`.
    """
    concepts = [Sine(function, has_irrelevant) for function in listed("functions", functions)]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=10_000))


@dataclasses.dataclass(frozen=True)
class Mixed:
    """Label 1 if two of three hold: v, w, and y < 0.5 + 0.3 sin(3 π x); function 2 is the reverse.

    As in the paper function 1 calls the majority positive; MOA and River do the opposite.
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
    """2 booleans and 2 numbers, the classes exchanged by drift.

    Each function of `Mixed` lasts 10,000 rows by default (paper: 1000); see `StreamOptions`.
    """
    concepts = [Mixed(function) for function in listed("functions", functions)]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=10_000))


@dataclasses.dataclass(frozen=True)
class Stagger:
    """Label 1 if an object is as a function says; features are codes 0, 1 and 2.

    Sizes are small, medium and large, colours red, blue and green, shapes circle, square and
    triangle. Function 1: small and red; 2: green or a circle; 3: medium or large.
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
            belongs = ((size == 0) & (colour == 0), (colour == 2) | (shape == 0), size > 0)
            return codes.astype(np.float64), belongs[self.function - 1].astype(np.int64)

        return made


def stagger(
    n_rows: int | None = None,
    *,
    functions: Sequence[int] = (1, 2, 3),
    **options: Unpack[StreamOptions],
) -> Stream:
    """Objects of 3 sizes, colours and shapes, 3 rules.

    Each function of `Stagger` lasts 10,000 rows by default (paper: 40); see `StreamOptions`.
    """
    concepts = [Stagger(function) for function in listed("functions", functions)]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=10_000))


SEGMENTS = (
    *("1110111", "0010010", "1011101", "1011011", "0111010"),
    *("1101011", "1101111", "1010010", "1111111", "1111011"),
)
"""Segments that are lit for 0 to 9: top, upper left, upper right, middle, lower left, lower right,
bottom."""

N_SEGMENTS = len(SEGMENTS[0])


@dataclasses.dataclass(frozen=True)
class LED:
    """The digit that seven segments show; every feature is 0 or 1."""

    n_swapped: int = 0
    """Segments that change places with useless features: the first with the first, and so on."""
    attribute_noise: float = 0.1
    """Chance of each segment to be inverted."""
    n_irrelevant: int = 17
    """Features that say nothing, after the segments."""

    classes = tuple(range(len(SEGMENTS)))

    def __post_init__(self) -> None:
        whole_number("n_irrelevant", self.n_irrelevant, low=0)
        whole_number("n_swapped", self.n_swapped, low=0, high=min(N_SEGMENTS, self.n_irrelevant))
        finite_number("attribute_noise", self.attribute_noise, low=0, high=1)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return numbered_names(N_SEGMENTS + self.n_irrelevant)

    @property
    def n_draws(self) -> int:
        return 1 + N_SEGMENTS + self.n_irrelevant

    def start(self) -> Maker:
        lit = np.array([[segment == "1" for segment in digit] for digit in SEGMENTS])
        order = np.arange(N_SEGMENTS + self.n_irrelevant)
        segments, others = slice(self.n_swapped), slice(N_SEGMENTS, N_SEGMENTS + self.n_swapped)
        order[segments], order[others] = order[others], order[segments].copy()

        def made(draws: Floats) -> tuple[Floats, Ints]:
            digits: Ints = picked(draws[:, 0], len(SEGMENTS))
            is_on = draws[:, 1 : self.n_draws] < 0.5
            is_wrong = draws[:, 1 : 1 + N_SEGMENTS] < self.attribute_noise
            is_on[:, :N_SEGMENTS] = lit[digits] ^ is_wrong
            return is_on[:, order].astype(np.float64), digits

        return made


def led(
    n_rows: int | None = None,
    *,
    swaps: Sequence[int] = (0, 3, 5, 7),
    attribute_noise: float = 0.1,
    n_irrelevant: int = 17,
    **options: Unpack[StreamOptions],
) -> Stream:
    """10 digits on a display of 7 segments, among 17 useless features.

    With each drift, other features are the segments. With a tenth of the segments inverted, no
    classifier gets more than 74 % right. Each of the swaps is `n_swapped` of a concept, which lasts
    10,000 rows by default. All other options are in `LED` and `StreamOptions`, where `noise` is the
    share of labels that are wrong.
    """
    concepts = [LED(each, attribute_noise, n_irrelevant) for each in listed("swaps", swaps)]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=10_000))
