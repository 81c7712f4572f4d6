"""Mixed: two features that are true or false, two that are numbers, and a vote among three signs.

Gama, Medas, Castillo and Rodrigues, "Learning with drift detection", SBIA 2004. As there, function
1 calls the majority positive, class 1; MOA and River count the other way round.
"""

import dataclasses
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from devfnn.streams.arguments import listed
from devfnn.streams.generators.checks import function_number
from devfnn.streams.generators.concept import Floats, Ints, Maker
from devfnn.streams.generators.drifting import StreamOptions, drifting, with_defaults
from devfnn.streams.stream import Stream

DEFAULTS: StreamOptions = {"rows_per_concept": 10_000}


@dataclasses.dataclass(frozen=True)
class Mixed:
    """Label 1 if two of three hold: v, w, and y < 0.5 + 0.3 sin(3 π x).

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
        function_number(self.function, 2)

    def start(self) -> Maker:
        def made(draws: Floats) -> tuple[Floats, Ints]:
            X = draws[:, :4].copy()
            X[:, :2] = X[:, :2] >= 0.5
            is_below = X[:, 3] < 0.5 + 0.3 * np.sin(3.0 * np.pi * X[:, 2])
            has_most = X[:, 0] + X[:, 1] + is_below >= 2.0
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
    n_rows
        Rows of the whole stream; None for one that never ends.
    functions
        1 and 2, as in `Mixed`, one for each concept; after the last comes the first again.
    **options
        As in `Recipe`. By default a concept lasts 10,000 rows; in the paper it is 1000.

    Examples
    --------
    >>> stream = mixed(1000, rows_per_concept=400)
    >>> stream.drift_positions
    (400, 800)
    >>> [chunk.X.shape for chunk in stream]
    [(500, 4), (500, 4)]
    """
    concepts = [Mixed(function) for function in listed("functions", functions)]
    return drifting(concepts, n_rows, **with_defaults(options, DEFAULTS))
