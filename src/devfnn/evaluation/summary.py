"""A whole run in a few numbers."""

import collections
import dataclasses
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from devfnn.evaluation.results import ChunkResult


@dataclasses.dataclass(frozen=True, slots=True)
class Summary:
    """What a run came to. None stands for what could not be measured.

    Examples
    --------
    >>> first = ChunkResult(0, 100, 100, None, 0, (), 0.0, 0.5)
    >>> later = ChunkResult(1, 100, 200, 80, 100, (), 0.1, 0.4)
    >>> last = ChunkResult(2, 50, 250, 50, 50, (), 0.1, 0.4)
    >>> summary = Summary.of([first, later, last])
    >>> summary.accuracy_mean, round(summary.accuracy, 3), round(summary.rows_per_second)
    (0.9, 0.867, 167)
    """

    n_chunks: int
    """Chunks, the first included."""
    n_rows: int
    """Rows of all chunks."""
    accuracy: float | None
    """Share of all scored rows that were predicted right."""
    accuracy_mean: float | None
    """Mean of the chunks' accuracies."""
    accuracy_std: float | None
    """Their standard deviation (with n - 1)."""
    rules_mean: float | None
    """Rules, mean over chunks."""
    layers_mean: float | None
    """Layers that vote, mean over chunks."""
    n_labels: int | None
    """Labels the model used."""
    rows_per_second: float | None
    """Rows by the time spent in predicting and learning."""
    events: dict[str, int]
    """Events by kind."""

    @classmethod
    def of(cls, results: Iterable[ChunkResult]) -> "Summary":
        """Summarise the results of a run, or of a part of it."""
        chunks = list(results)
        scored = [chunk for chunk in chunks if chunk.n_correct is not None]
        accuracies = [chunk.accuracy for chunk in scored if chunk.accuracy is not None]
        n_rows = sum(chunk.chunk_rows for chunk in chunks)
        seconds = sum(chunk.seconds_predict + chunk.seconds_learn for chunk in chunks)
        return cls(
            n_chunks=len(chunks),
            n_rows=n_rows,
            accuracy=_share(scored),
            accuracy_mean=mean(accuracies),
            accuracy_std=statistics.stdev(accuracies) if len(accuracies) > 1 else None,
            rules_mean=mean([chunk.n_rules for chunk in chunks]),
            layers_mean=mean([chunk.n_layers for chunk in chunks]),
            n_labels=chunks[-1].n_labels if chunks else None,
            rows_per_second=n_rows / seconds if seconds > 0.0 else None,
            events=dict(collections.Counter(e.kind for chunk in chunks for e in chunk.events)),
        )

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain data."""
        return dataclasses.asdict(self)


def _share(scored: Sequence[ChunkResult]) -> float | None:
    """Share of all scored rows of these chunks that were predicted right."""
    if not scored:
        return None
    return sum(chunk.n_correct or 0 for chunk in scored) / sum(chunk.n_scored for chunk in scored)


def mean(values: Sequence[float | None]) -> float | None:
    """Mean, or None if there is nothing to average."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
