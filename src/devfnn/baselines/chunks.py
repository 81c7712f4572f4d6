"""Models of ours that learn chunks: what they share, and the two that look at labels only."""

import abc
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.errors import InputError, NotLearnedError
from devfnn.events import ClassAdded, Event
from devfnn.model.validation import LARGEST, Labels, as_labels, as_rows
from devfnn.parameters import check_names
from devfnn.types import Labels as LabelArray

AnySettings = TypeVar("AnySettings")


def settings_from(kind: type[AnySettings], parameters: Mapping[str, Any]) -> AnySettings:
    check_names(kind, parameters)
    return kind(**parameters)


def random_generator(seed: Any) -> np.random.Generator:
    """A random generator; InputError for what is no seed."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed must be a whole number from 0 on, not {seed!r}")
    return np.random.default_rng(seed)


class ChunkClassifier(abc.ABC):
    """Learns chunk by chunk; rows and labels are checked before anything changes.

    Labels are any hashable values, and new ones may come; `classes` are known beforehand. A chunk
    without rows changes nothing.
    """

    _largest = LARGEST  # value of a feature
    _missing = "refuse"  # what is done with NaN, as `as_rows` has it

    def __init__(self, classes: Iterable[Hashable] = ()) -> None:
        self._labels = Labels()
        self._labels.add(self._labels.encode(list(classes))[1])
        self._names: list[str] | None = None
        self._n_features: int | None = None
        self._n_rows = 0

    @property
    def classes(self) -> list[Hashable]:
        """Labels known so far, in the order of the columns of `predict_proba`."""
        return list(self._labels.classes)

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities of rows; the columns follow `classes`."""
        if not self._n_rows:
            raise NotLearnedError("the model has learned nothing yet: call learn first")
        return self._probabilities(self._as_rows(X, self._names))

    def predict(self, X: Any) -> LabelArray:
        """Labels of rows."""
        return self._labels.decode(self.predict_proba(X).argmax(axis=1))

    def learn(self, X: Any, y: Any) -> list[Event]:
        """Learn a chunk; returns what changed in the structure."""
        names = self._names
        if hasattr(X, "columns") and not self._n_rows:
            names = [str(column) for column in X.columns]
        rows = self._as_rows(X, names)
        codes, fresh = self._labels.encode(as_labels(y, len(rows)))
        if not len(rows):
            return []
        self._names, self._n_features = names, rows.shape[1]
        events = list(self._learn(rows, codes, fresh))
        self._n_rows += len(rows)
        return events

    @abc.abstractmethod
    def _probabilities(self, rows: Floats) -> Floats:
        """Class probabilities of rows that were checked."""

    @abc.abstractmethod
    def _learn(self, rows: Floats, codes: Ints, fresh: list[Hashable]) -> Sequence[Event]:
        """Learn rows that were checked; `fresh` are labels that are not known yet."""

    def _add_classes(self, fresh: list[Hashable]) -> list[Event]:
        """Number new labels; those of the first chunk are no event."""
        first = len(self._labels)
        self._labels.add(fresh)
        if not self._n_rows:
            return []
        return [ClassAdded(self._n_rows, str(label), first + at) for at, label in enumerate(fresh)]

    def _as_rows(self, X: Any, names: list[str] | None) -> Floats:
        rows = as_rows(X, names, self._n_features, self._missing)
        if len(rows) and self._largest < LARGEST and np.abs(rows).max() > self._largest:
            raise InputError(f"features must lie within {self._largest:g}; scale them first")
        return rows


class Majority(ChunkClassifier):
    """Predicts the label that came most often so far; values may be missing.

    >>> model = Majority()
    >>> events = model.learn([[1.0], [2.0], [3.0]], ["up", "down", "up"])
    >>> model.predict([[5.0]]).tolist()
    ['up']
    """

    _missing = "skip"

    def __init__(self) -> None:
        super().__init__()
        self._counts = np.zeros(0, np.int64)

    def _probabilities(self, rows: Floats) -> Floats:
        return np.tile(self._counts / self._counts.sum(), (len(rows), 1))

    def _learn(self, rows: Floats, codes: Ints, fresh: list[Hashable]) -> list[Event]:
        events = self._add_classes(fresh)
        counts = np.bincount(codes, minlength=len(self._labels))
        counts[: len(self._counts)] += self._counts
        self._counts = counts
        return events


class NoChange(Majority):
    """Predicts the last label it learned.

    Learned row by row, this is the classical rule that tomorrow will be like today. In chunks, it
    predicts for a whole chunk the label of the last row before it.

    >>> model = NoChange()
    >>> events = model.learn([[1.0], [2.0]], ["up", "down"])
    >>> model.predict([[5.0]]).tolist()
    ['down']
    """

    def _learn(self, rows: Floats, codes: Ints, fresh: list[Hashable]) -> list[Event]:
        self._counts = np.zeros(0, np.int64)  # of one row: the last
        return super()._learn(rows, codes[-1:], fresh)
