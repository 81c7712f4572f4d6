"""Sine: points above and below a curve, and the same with the sides exchanged.

Gama, Medas, Castillo and Rodrigues, "Learning with drift detection", SBIA 2004. Functions 1 and 2
are the paper's SINE1 and its reverse, 3 and 4 its SINE2 and its reverse; two more features that say
nothing make them SINIRREL1 and SINIRREL2.
"""

import dataclasses
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from devfnn.streams.arguments import listed
from devfnn.streams.generators.checks import function_number
from devfnn.streams.generators.concept import Floats, Ints, Maker, numbered_names
from devfnn.streams.generators.drifting import StreamOptions, drifting, with_defaults
from devfnn.streams.stream import Stream

DEFAULTS: StreamOptions = {"rows_per_concept": 10_000}


@dataclasses.dataclass(frozen=True)
class Sine:
    """Label 1 if f1 is below a curve of f2, or with functions 2 and 4 if it is not.

    Parameters
    ----------
    function
        1 and 2: the curve is sin(f2); 3 and 4: it is 0.5 + 0.3 sin(3 π f2).
    has_irrelevant
        Whether there are two more features, which say nothing.
    """

    function: int
    has_irrelevant: bool = False

    classes = (0, 1)

    def __post_init__(self) -> None:
        function_number(self.function, 4)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return numbered_names(self.n_draws)

    @property
    def n_draws(self) -> int:
        return 4 if self.has_irrelevant else 2

    def start(self) -> Maker:
        def made(draws: Floats) -> tuple[Floats, Ints]:
            X = draws[:, : self.n_draws]
            if self.function <= 2:
                curve = np.sin(X[:, 1])
            else:
                curve = 0.5 + 0.3 * np.sin(3.0 * np.pi * X[:, 1])
            classes = (X[:, 0] < curve) == (self.function % 2 == 1)
            return X, classes.astype(np.int64)

        return made


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
    n_rows
        Rows of the whole stream; None for one that never ends.
    functions
        From 1 to 4, as in `Sine`, one for each concept; after the last comes the first again.
    has_irrelevant
        Whether there are two more features, which say nothing.
    **options
        As in `Recipe`. By default a concept lasts 10,000 rows; in the paper it is 1000.

    Examples
    --------
    >>> stream = sine(1000, functions=[1, 2], rows_per_concept=500, has_irrelevant=True)
    >>> stream.drift_positions
    (500,)
    >>> [chunk.X.shape for chunk in stream]
    [(500, 4), (500, 4)]
    """
    concepts = [Sine(function, has_irrelevant) for function in listed("functions", functions)]
    return drifting(concepts, n_rows, **with_defaults(options, DEFAULTS))
