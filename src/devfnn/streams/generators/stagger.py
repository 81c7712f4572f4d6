"""STAGGER: objects of three sizes, colours and shapes, and three ideas of what belongs together.

Schlimmer and Granger, "Incremental learning from noisy data", Machine Learning 1, 1986.
"""

import dataclasses
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from devfnn.streams.arguments import listed
from devfnn.streams.generators.checks import function_number
from devfnn.streams.generators.concept import Floats, Ints, Maker, picked
from devfnn.streams.generators.drifting import StreamOptions, drifting, with_defaults
from devfnn.streams.stream import Stream

SMALL, MEDIUM, LARGE = range(3)
RED, BLUE, GREEN = range(3)
CIRCLE, SQUARE, TRIANGLE = range(3)

DEFAULTS: StreamOptions = {"rows_per_concept": 10_000}


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
        function_number(self.function, 3)

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
    """Objects that belong to a class or not, by one idea after the other.

    Parameters
    ----------
    n_rows
        Rows of the whole stream; None for one that never ends.
    functions
        From 1 to 3, as in `Stagger`, one for each concept; after the last comes the first again.
    **options
        As in `Recipe`. By default a concept lasts 10,000 rows; in the paper it is 40.

    Examples
    --------
    >>> stream = stagger(120, rows_per_concept=40, chunk_rows=40)
    >>> stream.drift_positions
    (40, 80)
    >>> [chunk.X.shape for chunk in stream]
    [(40, 3), (40, 3), (40, 3)]
    """
    concepts = [Stagger(function) for function in listed("functions", functions)]
    return drifting(concepts, n_rows, **with_defaults(options, DEFAULTS))
