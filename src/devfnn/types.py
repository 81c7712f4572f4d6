"""Chunks, the data that streams pass to models, how far these are, and what their layers do."""

import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Labels = npt.NDArray[Any]
"""One label for each row, of any type."""


class Chunk(NamedTuple):
    """Rows that arrive together, with their labels, and labels of earlier rows that arrive late.

    `labelled_parts()` gives the rows that may be learned now, in order; without hidden or delayed
    labels that is the chunk itself.
    """

    X: npt.NDArray[np.float64]
    """Features, (n_rows, n_features). NaN stands for a missing value."""
    y: Labels
    """Labels, (n_rows,): the truth, for scoring. None stands for an unknown label."""
    times: npt.NDArray[Any] | None = None
    """When each row came, (n_rows,): datetime64 or numbers; None for a stream without a clock."""
    labelled: npt.NDArray[np.bool_] | None = None
    """Rows whose labels a model may learn with this chunk, (n_rows,); None for all."""
    late: "Chunk | None" = None
    """Rows of earlier chunks whose labels arrive with this one."""

    def rows(self, index: slice | npt.NDArray[Any]) -> "Chunk":
        """Some of the rows, by a slice, a mask or their numbers; without what is late."""
        return Chunk(
            self.X[index],
            self.y[index],
            None if self.times is None else self.times[index],
            None if self.labelled is None else self.labelled[index],
        )

    def labelled_parts(self) -> "Iterator[Chunk]":
        """Rows that may be learned after the chunk was predicted: late ones first, then its own.

        Rows with unknown labels are never among them.

        >>> chunk = Chunk(np.eye(2), np.array([1, 0]), labelled=np.array([True, False]))
        >>> [part.y.tolist() for part in chunk.labelled_parts()]
        [[1]]
        """
        if self.late is not None:
            yield from self.late.labelled_parts()
        own, may_learn = Chunk(self.X, self.y, self.times), self.may_learn()
        if not may_learn.all():
            own = own.rows(may_learn)
        if len(own.y):
            yield own

    def is_known(self) -> npt.NDArray[np.bool_]:
        """Which labels are not None, (n_rows,)."""
        if self.y.dtype != object:
            return np.ones(len(self.y), np.bool_)
        return np.array([label is not None for label in self.y], np.bool_)

    def may_learn(self) -> npt.NDArray[np.bool_]:
        """Which rows may be learned with this chunk, (n_rows,)."""
        return self.is_known() if self.labelled is None else self.labelled & self.is_known()


class Position(NamedTuple):
    """How far a model has come in a source of rows; `DEVFNN.positions` keeps it with the model.

    >>> start = Position()
    >>> start.after([[1.0], [2.0]], ["a", "b"]) == start.after([[1.0]], ["a"]).after([[2.0]], ["b"])
    True
    """

    rows: int = 0
    """Rows of the source that were learned, from the first on."""
    fingerprint: int = 0
    """A checksum of these rows, by which others are noticed; 0 if nobody computes it."""

    def after(self, X: Any, y: Any) -> "Position":
        """The position behind more rows, however they are cut into chunks."""
        rows = np.ascontiguousarray(X, "<f8")
        labels = y.tolist() if isinstance(y, np.ndarray) else y
        content = np.empty((len(rows), 8 * rows.shape[1] + 4), np.uint8)
        content[:, 4:] = rows.view(np.uint8)
        plain = (each.item() if isinstance(each, np.generic) else each for each in labels)
        codes = [zlib.crc32(ascii(label).encode()) for label in plain]
        content[:, :4] = np.array(codes, "<u4").view(np.uint8).reshape(len(rows), 4)
        return Position(self.rows + len(rows), zlib.crc32(content.tobytes(), self.fingerprint))


class Standing(NamedTuple):
    """A layer of a model: what it does, and what it counts, is worth and costs."""

    layer: int
    """Its number, from 0, as in rules and events."""
    name: str
    state: str
    """votes; on trial, after a rest; waits, kept for its concept; rests; merged."""
    share: float
    """How much it counts in the answer; 0 if it says nothing."""
    steps: int = 0
    """Structural steps that it still rests."""
    worth: float | None = None
    """Log-loss and hits per row that answers gain by it; None where that is not measured."""
    cost: float = 0.0
    """Its share of the time that all layers take, by estimate."""
