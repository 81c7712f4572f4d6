"""LED: which digit a display of seven segments shows, some of them wrong, among useless features.

Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees", 1984. Drift by swapping
segments with useless features is that of MOA's "LEDGeneratorDrift" (Bifet et al., JMLR 11, 2010).
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

    With each drift, other features are the segments.
    With a tenth of the segments inverted, no classifier gets more than 74 % right.

    Each of the swaps is `n_swapped` of a concept, which lasts 10,000 rows by default. All other
    options are in `LED` and `StreamOptions`, where `noise` is the share of labels that are wrong.
    """
    concepts = [
        LED(n_swapped, attribute_noise, n_irrelevant) for n_swapped in listed("swaps", swaps)
    ]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=10_000))
