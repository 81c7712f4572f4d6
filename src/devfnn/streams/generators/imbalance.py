"""How often each class comes, where that is asked for."""

import dataclasses
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from devfnn.errors import InputError
from devfnn.streams.arguments import share
from devfnn.streams.generators.concept import Floats, Ints, picked

SWING_ROWS = 10_000
"""Rows in which a share that swings goes from low to high and back."""

MAX_ROUNDS = 10_000
"""Tries to draw a row of the wanted class: enough if one row in 500 is of it."""


@dataclasses.dataclass(frozen=True)
class ClassShares:
    """Shares of some classes; the others keep their proportions among the rest."""

    places: tuple[int, ...]
    """Indices of the classes whose share is set."""
    lows: tuple[float, ...]
    """Their shares at the lowest ..."""
    highs: tuple[float, ...]
    """... and at the highest."""

    @classmethod
    def of(
        cls,
        shares: Mapping[Hashable, float | tuple[float, float]],
        classes: Sequence[Hashable],
    ) -> "ClassShares":
        """Checked shares."""
        if not isinstance(shares, Mapping):
            raise InputError(f"class_shares must map classes to shares, not {shares!r}")
        places, lows, highs = [], [], []
        for label, value in shares.items():
            if label not in classes:
                known = ", ".join(map(repr, classes))
                raise InputError(f"class_shares names {label!r}; the classes are {known}")
            bounds: tuple[float, ...] = value if isinstance(value, tuple) else (value, value)
            bounds = tuple(share("class_shares", bound) for bound in bounds)
            if len(bounds) != 2 or bounds[0] > bounds[1]:
                raise InputError(f"class_shares of {label!r} must be low to high, not {value!r}")
            places.append(classes.index(label))
            lows.append(bounds[0])
            highs.append(bounds[1])
        if sum(highs) > 1.0 + 1e-9:
            raise InputError("class_shares must not add up to more than 1")
        if len(places) == len(classes) and sum(lows) < 1.0 - 1e-9:
            raise InputError("class_shares of all classes must add up to 1")
        return cls(tuple(places), tuple(lows), tuple(highs))

    def wanted(self, draws: Floats, classes: Ints, first: int, n_classes: int) -> Ints:
        """The class every row should have, given what it would have by itself.

        draws: (n_rows, 2) · classes: (n_rows,) · first: number of the first row
        """
        rows = np.arange(first, first + len(classes))
        swing = 0.5 - 0.5 * np.cos(2.0 * np.pi * rows / SWING_ROWS)
        lows, highs = np.array(self.lows), np.array(self.highs)
        edges = np.cumsum(lows + (highs - lows) * swing[:, None], axis=1)
        choice = (draws[:, :1] >= edges).sum(axis=1)
        wanted: Ints = np.array((*self.places, -1))[choice]
        is_rest = wanted < 0
        if is_rest.any() and len(self.places) < n_classes:
            wanted[is_rest] = self._rest(draws[:, 1], classes, n_classes)[is_rest]
        elif is_rest.any():  # shares of all classes add up to 1 but for rounding
            wanted[is_rest] = self.places[-1]
        return wanted

    def _rest(self, draws: Floats, classes: Ints, n_classes: int) -> Ints:
        """A class whose share is not set: the row's own, or that of another such row at random."""
        is_free = ~np.isin(classes, self.places)
        pool = classes[is_free]
        if not len(pool):
            pool = np.setdiff1d(np.arange(n_classes), self.places)
        lent: Ints = pool[picked(draws, len(pool))]
        return np.where(is_free, classes, lent)
