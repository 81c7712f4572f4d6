"""Rows as models see them: scaled by the whole stream, or as far as it has come."""

import dataclasses
import functools
from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np

from devfnn.arrays import Floats
from devfnn.errors import DataError, InputError
from devfnn.model.scaling import OnlineScaler
from devfnn.streams.stream import Blocks, Stream
from devfnn.types import Chunk


def scaled_by_range(stream: Stream) -> Stream:
    """The stream scaled to [0, 1] by the smallest and largest values of all its rows.

    This looks ahead: it reads the stream once before it starts. The paper does it.
    """
    low = np.full(len(stream.feature_names), np.inf)
    high = -low
    for block in stream.blocks():
        if len(block.y):
            low = np.fmin(low, np.fmin.reduce(block.X))
            high = np.fmax(high, np.fmax.reduce(block.X))
    if not np.isfinite(low).all():
        name = stream.feature_names[int(np.flatnonzero(~np.isfinite(low))[0])]
        raise InputError(f"{name!r} has no range to scale by: it has no value in the whole stream")
    with np.errstate(over="ignore"):
        width = np.where(high > low, high - low, 1.0)
    if not np.isfinite(width).all():
        name = stream.feature_names[int(np.flatnonzero(~np.isfinite(width))[0])]
        raise InputError(f"the range of {name!r} is too large to scale by")
    return dataclasses.replace(stream, blocks=functools.partial(_mapped, stream.blocks, low, width))


def _mapped(start: Blocks, low: Floats, width: Floats) -> Iterator[Chunk]:
    for block in start():
        yield block._replace(X=(block.X - low) / width)


class ScaledOnline:
    """A stream whose chunks are scaled by what came before them, for models that do not do it.

    The first chunk is scaled by itself, since it only trains; a later one by the rows before it.
    Row by row, the first chunk is predicted too: ever longer pieces of it are scaled by the rows
    before them.
    """

    def __init__(self, stream: Stream, *, by_row: bool = False) -> None:
        self._stream = stream
        self._by_row = by_row
        self.feature_names: tuple[str, ...] = stream.feature_names
        self.classes: tuple[Hashable, ...] = stream.classes

    def __iter__(self) -> Iterator[Chunk]:
        scaler = OnlineScaler(len(self.feature_names))
        is_first = True
        for chunk in self._stream:
            late = chunk.late
            if late is not None:
                late = late._replace(X=scaler.transform(late.X))
            if is_first and self._by_row:
                X = np.concatenate([chunk.X[:0], *self._piecewise(chunk.X, scaler)])
            elif is_first:
                _absorb(scaler, chunk.X)
                X = scaler.transform(chunk.X)
            else:
                X = scaler.transform(chunk.X)
            yield chunk._replace(X=X, late=late)
            if not is_first:
                _absorb(scaler, chunk.X)
            is_first = is_first and not len(chunk.y)

    def _piecewise(self, X: Floats, scaler: OnlineScaler) -> Iterator[Floats]:
        """Pieces of 1, 1, 2, 4, ... rows, each scaled by those before it."""
        start = 0
        while start < len(X):
            piece = X[start : max(1, 2 * start)]
            yield scaler.transform(piece)
            _absorb(scaler, piece)
            start += len(piece)


class Complete:
    """Chunks up to a value that is missing: DataError says where it is.

    For models of other libraries that fail of it, or learn nonsense from it without a word.
    """

    def __init__(
        self, chunks: Iterable[Chunk], feature_names: Sequence[str], *, model: str, n_before: int
    ) -> None:
        self._chunks, self._names = chunks, feature_names
        self._model, self._n_before = model, n_before

    def __iter__(self) -> Iterator[Chunk]:
        n_rows = self._n_before
        for chunk in self._chunks:
            is_missing = np.isnan(chunk.X)
            if is_missing.any():
                row, feature = np.argwhere(is_missing)[0]
                raise DataError(
                    f"row {n_rows + row + 1:,}: {self._names[feature]!r} is missing, and "
                    f"{self._model} needs all values; missing='mean' puts the mean in its place"
                )
            n_rows += len(chunk.y)
            yield chunk


def _absorb(scaler: OnlineScaler, X: Floats) -> None:
    """Let the scaler see a chunk."""
    start = 0
    while (due := scaler.absorb(X, start)) < len(X):
        scaler.remake()
        start = due + 1
