"""The only test-then-train loop in the package."""

import dataclasses
import time
from collections.abc import Iterable, Iterator

import numpy as np

from devfnn.errors import InputError
from devfnn.events import Event
from devfnn.types import Chunk, Classifier


@dataclasses.dataclass(frozen=True, slots=True)
class ChunkResult:
    """One chunk, predicted and then learned. None stands for what was not measured."""

    index: int
    """Number of the chunk, from 0."""
    chunk_rows: int
    """Rows in the chunk."""
    n_rows: int
    """Rows so far, this chunk included."""
    n_correct: int | None
    """Rows predicted right; None for the first chunk, which only trains."""
    events: tuple[Event, ...]
    """What learning the chunk changed in the structure of the model."""
    seconds_predict: float
    """Time to predict the chunk."""
    seconds_learn: float
    """Time to learn the chunk."""
    n_rules: int | None = None
    """Rules after learning, if the model counts them."""
    n_layers: int | None = None
    """Layers that vote after learning, if the model counts them."""
    n_labels: int | None = None
    """Labels the model has used so far, if it counts them."""

    @property
    def accuracy(self) -> float | None:
        """Share of the chunk's rows predicted right."""
        return None if self.n_correct is None else self.n_correct / self.chunk_rows


def iter_prequential(model: Classifier, source: Iterable[Chunk]) -> Iterator[ChunkResult]:
    """Test on every chunk, then train on it; the first chunk trains only.

    The loop runs as far as its results are asked for, so it can be watched, paused and stopped.
    Chunks without rows are passed over.

    Parameters
    ----------
    model
        Changed by what it learns. If it has `n_rules`, `n_live_layers` or `n_labels_used`, the
        results carry them.
    source
        The chunks, in order.

    Examples
    --------
    >>> from devfnn import DEVFNN
    >>> from devfnn.streams import sea
    >>> results = list(iter_prequential(DEVFNN(), sea(3000, rows_per_concept=3000, noise=0.0)))
    >>> [result.n_rows for result in results]
    [500, 1000, 1500, 2000, 2500, 3000]
    >>> results[0].accuracy is None, results[-1].accuracy > 0.9
    (True, True)
    """
    n_rows = 0
    for index, chunk in enumerate(chunk for chunk in source if len(chunk.y)):
        n_rows += len(chunk.y)
        start = time.perf_counter()
        predicted = model.predict(chunk.X) if index else None
        middle = time.perf_counter()
        n_correct = None if predicted is None else _count_equal(predicted, chunk.y)
        resumed = time.perf_counter()
        events = tuple(model.learn(chunk.X, chunk.y))
        end = time.perf_counter()
        yield ChunkResult(
            index=index,
            chunk_rows=len(chunk.y),
            n_rows=n_rows,
            n_correct=n_correct,
            events=events,
            seconds_predict=middle - start,
            seconds_learn=end - resumed,
            n_rules=getattr(model, "n_rules", None),
            n_layers=getattr(model, "n_live_layers", None),
            n_labels=getattr(model, "n_labels_used", None),
        )


def _count_equal(predicted: object, y: object) -> int:
    """How many predictions are right; one for each row, else the comparison would mean nothing."""
    predictions, labels = np.asarray(predicted), np.asarray(y)
    if predictions.shape != labels.shape:
        raise InputError(f"predictions have shape {predictions.shape}, labels {labels.shape}")
    return int(np.count_nonzero(predictions == labels))
