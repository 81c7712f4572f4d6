"""Rows as models see them: scaled by the whole stream, or as far as it has come."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from devfnn.arrays import Floats
from devfnn.errors import DataError, InputError
from devfnn.model.scaling import OnlineScaler
from devfnn.streams.stream import Stream
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
    with np.errstate(over="ignore", invalid="ignore"):
        width = np.where(high == low, 1.0, high - low)
    for name, reach in zip(stream.feature_names, width, strict=True):
        if not np.isfinite(reach):
            why = "it has no value in the whole stream, or its values lie too far apart"
            raise InputError(f"{name!r} has no range to scale by: {why}")

    def scaled() -> Iterator[Chunk]:
        for block in stream.blocks():
            yield block._replace(X=(block.X - low) / width)

    return dataclasses.replace(stream, blocks=scaled)


def scaled_online(stream: Stream, *, by_row: bool = False) -> Iterator[Chunk]:
    """Chunks scaled by what came before them, for models that do not do it themselves.

    The first chunk is scaled by itself, since it only trains; a later one by the rows before it.
    Row by row, the first chunk is predicted too: ever longer pieces of it are scaled by the rows
    before them.
    """
    scaler = OnlineScaler(len(stream.feature_names))
    is_first = True
    for chunk in stream:
        late = chunk.late
        if late is not None:
            late = late._replace(X=scaler.transform(late.X))
        if is_first and by_row:
            X = np.concatenate([chunk.X[:0], *_piecewise(chunk.X, scaler)])
        elif is_first:
            _absorb(scaler, chunk.X)
            X = scaler.transform(chunk.X)
        else:
            X = scaler.transform(chunk.X)
        yield chunk._replace(X=X, late=late)
        if not is_first:
            _absorb(scaler, chunk.X)
        is_first = is_first and not len(chunk.y)


def _piecewise(X: Floats, scaler: OnlineScaler) -> Iterator[Floats]:
    """Pieces of 1, 1, 2, 4, ... rows, each scaled by those before it."""
    start = 0
    while start < len(X):
        piece = X[start : max(1, 2 * start)]
        yield scaler.transform(piece)
        _absorb(scaler, piece)
        start += len(piece)


def _absorb(scaler: OnlineScaler, X: Floats) -> None:
    """Let the scaler see a chunk."""
    start = 0
    while (due := scaler.absorb(X, start)) < len(X):
        scaler.remake()
        start = due + 1


def complete(
    chunks: Iterable[Chunk], feature_names: Sequence[str], *, model: str, n_before: int
) -> Iterator[Chunk]:
    """Chunks up to a value that is missing: DataError says where it is.

    For models of other libraries that fail of it, or learn nonsense from it without a word.
    """
    n_rows = n_before
    for chunk in chunks:
        is_missing = np.isnan(chunk.X)
        if is_missing.any():
            row, feature = np.argwhere(is_missing)[0]
            raise DataError(
                f"row {n_rows + row + 1:,}: {feature_names[feature]!r} is missing, and {model} "
                "needs all values; missing='mean' puts the mean in its place"
            )
        n_rows += len(chunk.y)
        yield chunk
