"""The contracts between sources, models and whatever runs them, all on one page."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from devfnn.events import Event

Labels = npt.NDArray[Any]
"""One label for each row, of any type."""


class Chunk(NamedTuple):
    """Rows that arrive together, with their labels."""

    X: npt.NDArray[np.float64]
    """Features, (n_rows, n_features)."""
    y: Labels
    """Labels, (n_rows,)."""


class Source(Protocol):
    """A stream of labelled rows. It knows no model, and starts anew when iterated again."""

    @property
    def feature_names(self) -> Sequence[str]:
        """Names of the columns of every chunk."""

    @property
    def classes(self) -> Sequence[Hashable]:
        """Labels that may occur."""

    @property
    def drift_positions(self) -> Sequence[int]:
        """Rows with which a new concept begins, where that is known."""

    def __iter__(self) -> Iterator[Chunk]:
        """The chunks in order."""


class Classifier(Protocol):
    """A model that predicts rows and learns them, chunk by chunk."""

    def predict_proba(self, X: Any, /) -> npt.NDArray[np.float64]:
        """Probability of every class, (n_rows, n_classes); the model stays as it is."""

    def predict(self, X: Any, /) -> Labels:
        """The most probable labels, (n_rows,); the model stays as it is."""

    def learn(self, X: Any, y: Any, /) -> Sequence[Event]:
        """Learn the rows and say what changed in the structure of the model."""
