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
    """Rows predicted right; None if none was scored, as in the first chunk, which only trains."""
    n_scored: int
    """Rows that were predicted and whose labels are known."""
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
        """Share of the scored rows predicted right."""
        return None if self.n_correct is None else self.n_correct / self.n_scored


def iter_prequential(model: Classifier, source: Iterable[Chunk]) -> Iterator[ChunkResult]:
    """Test on every chunk, then train on it; the first chunk trains only.

    The loop runs as far as its results are asked for, so it can be watched, paused and stopped.
    Chunks with neither rows nor labels of earlier rows are passed over.

    Of a stream with hidden or delayed labels all rows are predicted and scored, and those whose
    labels have come are learned: `Chunk.lessons`. Nothing is predicted before something was
    learned. A label that is None is neither scored nor learned.

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
    n_rows, has_learned = 0, False
    chunks = (chunk for chunk in source if len(chunk.y) or chunk.late is not None)
    for index, chunk in enumerate(chunks):
        n_rows += len(chunk.y)
        start = time.perf_counter()
        predicted = model.predict(chunk.X) if has_learned and len(chunk.y) else None
        middle = time.perf_counter()
        n_correct, n_scored = _score(predicted, chunk)
        lessons = list(chunk.lessons())
        resumed = time.perf_counter()
        events = [event for lesson in lessons for event in model.learn(lesson.X, lesson.y)]
        end = time.perf_counter()
        has_learned = has_learned or len(lessons) > 0
        yield ChunkResult(
            index=index,
            chunk_rows=len(chunk.y),
            n_rows=n_rows,
            n_correct=n_correct,
            n_scored=n_scored,
            events=tuple(events),
            seconds_predict=middle - start,
            seconds_learn=end - resumed,
            n_rules=getattr(model, "n_rules", None),
            n_layers=getattr(model, "n_live_layers", None),
            n_labels=getattr(model, "n_labels_used", None),
        )


def _score(predicted: object | None, chunk: Chunk) -> tuple[int | None, int]:
    """How many predictions are right, and of how many; None if there is nothing to compare."""
    if predicted is None:
        return None, 0
    predictions = np.asarray(predicted)
    if predictions.shape != chunk.y.shape:  # the comparison would mean nothing
        raise InputError(f"predictions have shape {predictions.shape}, labels {chunk.y.shape}")
    is_known = chunk.is_known()
    n_scored = int(np.count_nonzero(is_known))
    n_correct = int(np.count_nonzero((predictions == chunk.y) & is_known))
    return (n_correct if n_scored else None), n_scored
