"""A small data set drawn at random from a large one, once, and kept."""

import logging
import os
import pathlib
import secrets
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from devfnn.streams.datasets.description import DataSet
from devfnn.streams.datasets.locking import locked
from devfnn.streams.datasets.lookup import drawn_name
from devfnn.streams.datasets.partial import writing
from devfnn.streams.stream import Stream
from devfnn.types import Chunk

SEED = 30_000

logger = logging.getLogger(__name__)


def draw(data_set: DataSet, large: Stream, folder: pathlib.Path) -> pathlib.Path:
    """Rows of a large stream, in its order, as arrays in a file of the folder.

    The stream must say how many rows it has. It is read once, and only the rows drawn are kept.
    """
    assert large.n_rows is not None
    target = folder / drawn_name(data_set)
    numbers = drawn_rows(large.n_rows, data_set.n_rows)
    with writing(target):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(target):
            if not target.is_file():
                logger.info("drawing %d of %d rows", data_set.n_rows, large.n_rows)
                parts = list(_chosen(large.blocks(), numbers))
                _write(target, data_set, parts)
                logger.info("%s is in %s", target.name, folder)
    return target


def drawn_rows(n_all: int, n_drawn: int) -> npt.NDArray[np.int64]:
    """Numbers of rows, from 0 on, in order; the same in every version of NumPy.

    >>> drawn_rows(8, 3).tolist() == sorted(set(drawn_rows(8, 3).tolist()))
    True
    """
    keys = np.random.PCG64(SEED).random_raw(n_all)
    return np.sort(np.argpartition(keys, n_drawn - 1)[:n_drawn])


def _chosen(blocks: Iterator[Chunk], numbers: npt.NDArray[np.int64]) -> Iterator[Chunk]:
    """The rows with these numbers; all rows are read, so that a file cut off is noticed."""
    n_before = 0
    for block in blocks:
        n_after = n_before + len(block.y)
        first, last = np.searchsorted(numbers, [n_before, n_after])
        if last > first:
            yield block.rows(numbers[first:last] - n_before)
        n_before = n_after


def _write(target: pathlib.Path, data_set: DataSet, parts: list[Chunk]) -> None:
    draft = target.with_name(f"{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as file:
            np.savez_compressed(
                file,
                X=np.concatenate([part.X for part in parts]),
                y=np.concatenate([part.y for part in parts]),
                feature_names=np.array(data_set.feature_names),
                class_names=np.array(data_set.class_names),
                about=np.array(f"drawn from {data_set.drawn_from} with seed {SEED}"),
            )
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
