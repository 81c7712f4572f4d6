"""The two models that every other must beat; they look at labels only."""

import abc
from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.errors import NotLearnedError
from devfnn.events import Event
from devfnn.model.intake import Labels, as_labels
from devfnn.types import Labels as LabelArray


class _Blind(abc.ABC):
    """Says the same of every row; labels are any hashable values, and new ones may come."""

    def __init__(self) -> None:
        self._labels = Labels()

    @property
    def classes(self) -> list[Hashable]:
        """Labels seen so far, in the order of the columns of `predict_proba`."""
        return list(self._labels.classes)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Class probabilities of rows; the columns follow `classes`."""
        if not len(self._labels):
            raise NotLearnedError("the model has learned nothing yet: call learn first")
        return np.tile(self._probabilities(), (len(X), 1))

    def predict(self, X: Any) -> LabelArray:
        """Labels of rows."""
        return self._labels.decode(self.predict_proba(X).argmax(axis=1))

    def learn(self, X: Any, y: Any) -> list[Event]:
        """Learn the labels of rows."""
        codes, fresh = self._labels.encode(as_labels(y, len(X)))
        self._labels.add(fresh)
        if len(codes):
            self._count(codes)
        return []

    @abc.abstractmethod
    def _probabilities(self) -> npt.NDArray[np.float64]:
        """What it says of a row, one number for each class."""

    @abc.abstractmethod
    def _count(self, codes: npt.NDArray[np.int64]) -> None:
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

    def _probabilities(self) -> npt.NDArray[np.float64]:
        shares: npt.NDArray[np.float64] = self._counts / self._counts.sum()
        return shares

    def _count(self, codes: npt.NDArray[np.int64]) -> None:
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

    def _probabilities(self) -> npt.NDArray[np.float64]:
        probabilities = np.zeros(len(self._labels))
        probabilities[self._last] = 1.0
        return probabilities

    def _count(self, codes: npt.NDArray[np.int64]) -> None:
        self._last = int(codes[-1])
