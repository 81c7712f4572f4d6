"""The two models that every other must beat; they look at labels only."""

import abc
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from devfnn.baselines.chunks import ChunkClassifier
from devfnn.events import Event
from devfnn.kernels.state import Floats, Ints


class _Blind(ChunkClassifier):
    """Says the same of every row, be its values missing."""

    _missing = "skip"

    def _probabilities(self, rows: Floats) -> Floats:
        return np.tile(self._answer(), (len(rows), 1))

    def _learn(self, rows: Floats, codes: Ints, fresh: list[Hashable]) -> list[Event]:
        events = self._add_classes(fresh)
        self._count(codes)
        return events

    @abc.abstractmethod
    def _answer(self) -> npt.NDArray[np.float64]:
        """What it says of a row, one number for each class."""

    @abc.abstractmethod
    def _count(self, codes: Ints) -> None:
        """Take in the classes of rows, in order."""


class Majority(_Blind):
    """Predicts the label that came most often so far.

    >>> model = Majority()
    >>> events = model.learn([[1.0], [2.0], [3.0]], ["up", "down", "up"])
    >>> model.predict([[5.0]]).tolist()
    ['up']
    """

    def __init__(self) -> None:
        super().__init__()
        self._counts = np.zeros(0, np.int64)

    def _answer(self) -> npt.NDArray[np.float64]:
        shares: npt.NDArray[np.float64] = self._counts / self._counts.sum()
        return shares

    def _count(self, codes: Ints) -> None:
        counts = np.bincount(codes, minlength=len(self._labels))
        counts[: len(self._counts)] += self._counts
        self._counts = counts


class NoChange(_Blind):
    """Predicts the last label it learned.

    Learned row by row, this is the classical rule that tomorrow will be like today. In chunks, it
    says of a whole chunk what the last row before it was.

    >>> model = NoChange()
    >>> events = model.learn([[1.0], [2.0]], ["up", "down"])
    >>> model.predict([[5.0]]).tolist()
    ['down']
    """

    def __init__(self) -> None:
        super().__init__()
        self._last = 0

    def _answer(self) -> npt.NDArray[np.float64]:
        probabilities = np.zeros(len(self._labels))
        probabilities[self._last] = 1.0
        return probabilities

    def _count(self, codes: Ints) -> None:
        self._last = int(codes[-1])
