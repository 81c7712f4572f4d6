"""What a run measured: in a few numbers, and all of it as plain data."""

import dataclasses
import itertools
import statistics
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from devfnn.evaluation.course import OF_TALLIES, ChunkResult, Course
from devfnn.evaluation.measures import MEASURES, PER_CLASS, Tally, added, calibration, measures
from devfnn.types import Standing

NO_PREDICTION = "no prediction"
"""The name of the class that stands for rows without a prediction."""

OVER_CHUNKS = OF_TALLIES
"""Measures that are means over chunks, as in the paper's Table 1; others are over all rows."""


@dataclasses.dataclass(frozen=True, slots=True)
class Summary:
    """Summary of a run. None stands for what could not be measured.

    >>> first = ChunkResult(0, 100, 100, None, 0, (), 0.0, 0.5)
    >>> later = ChunkResult(1, 100, 200, 80, 100, (), 0.1, 0.4)
    >>> last = ChunkResult(2, 50, 250, 50, 50, (), 0.1, 0.4)
    >>> summary = Summary.of([first, later, last])
    >>> summary.accuracy_mean, round(summary.accuracy, 3), round(summary.rows_per_second)
    (0.9, 0.867, 167)
    """

    n_chunks: int
    n_rows: int
    accuracy: float | None
    """Share of all scored rows that were predicted right."""
    accuracy_mean: float | None
    accuracy_std: float | None
    """Of the chunks' accuracies, with n - 1."""
    rules_mean: float | None
    layers_mean: float | None
    n_labels: int | None
    """Labels the model used."""
    rows_per_second: float | None
    """Rows by the time spent in predicting and learning."""
    events: dict[str, int]
    """Events by kind."""

    @classmethod
    def of(cls, results: Iterable[ChunkResult]) -> "Summary":
        """Summarise the results of a run, or of a part of it."""
        chunks = Course.of(results)
        n_correct = sum(chunk.n_correct or 0 for chunk in chunks)
        n_rows = sum(chunk.chunk_rows for chunk in chunks)
        seconds = sum(chunk.seconds_predict + chunk.seconds_learn for chunk in chunks)
        return cls(
            n_chunks=chunks.n_chunks,
            n_rows=n_rows,
            accuracy=_ratio(n_correct, sum(chunk.n_scored for chunk in chunks)),
            accuracy_mean=chunks.mean("accuracy"),
            accuracy_std=chunks.deviation("accuracy"),
            rules_mean=chunks.mean("rules"),
            layers_mean=chunks.mean("layers"),
            n_labels=chunks[-1].n_labels if chunks else None,
            rows_per_second=_ratio(n_rows, seconds),
            events=dict(chunks.event_counts),
        )


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def deviation(values: Iterable[float | None]) -> float | None:
    """Standard deviation (with n - 1) of what is known; None for fewer than two values."""
    known = [value for value in values if value is not None]
    return statistics.stdev(known) if len(known) > 1 else None


def _ratio(part: float | None, whole: float) -> float | None:
    return None if part is None or not whole else part / whole


def drift_detection(alarms: Sequence[int], positions: Iterable[int], n_rows: int) -> dict[str, Any]:
    """How well drift was found, as plain data.

    A drift is found by the first alarm after its beginning and not after the beginning of the next.
    All other alarms are false: those before the first drift, and later ones for the same drift.
    Positions may have no end; those after the rows of the run do not count.

    >>> drift_detection([300, 1200, 1700], [1000, 2000], 3000)["delays"]
    [200, None]
    """
    within_run = itertools.takewhile(lambda position: position < n_rows, positions)
    starts = [position for position in within_run if position > 0]
    delays: list[int | None] = []
    for start, end in itertools.pairwise([*starts, n_rows + 1]):
        first = next((alarm for alarm in alarms if start < alarm <= end), None)
        delays.append(None if first is None else first - start)
    n_missed = delays.count(None)
    return {
        "drifts": len(starts),
        "found": len(starts) - n_missed,
        "missed": n_missed,
        "false_alarms": len(alarms) - len(starts) + n_missed,
        "delay_mean": mean(delays),
        "delays": delays,
    }


def run_record(
    results: Iterable[ChunkResult],
    *,
    classes: Sequence[Hashable],
    class_names: Sequence[str] = (),
    auc: float | None = None,
    window_chunks: int = 10,
) -> dict[str, Any]:
    """All that was measured in a run: what `devfnn run --json` writes, less its settings.

    Classes are in the order of their codes, and the area is that of all rows, as they are in
    `Prequential.scorer`. Of a run with more chunks than `course.MOST_POINTS`, `per_chunk` and
    `windowed` have a value for so many chunks as `chunks_per_point` says, and the log the newest
    events; `events_dropped` are counted, but not in it.
    """
    results = Course.of(results, window_chunks)
    summary = Summary.of(results)
    tallies = (each.tally for each in results if each.tally is not None)
    total = added(tallies, auc, n_classes=len(classes))
    per_chunk = _per_chunk(results)
    more = [NO_PREDICTION if label is None else str(label) for label in classes]
    names = [*class_names, *more[len(class_names) :]]
    overall = measures(total) | {name: results.mean(name) for name in OVER_CHUNKS}
    overall["accuracy_overall"] = overall.pop("accuracy")
    return {
        "classes": [plain(label) for label in classes],
        "class_names": names,
        "rows": summary.n_rows,
        "chunks": summary.n_chunks,
        "rows_scored": total.n_scored,
        "accuracy_mean": summary.accuracy_mean,
        "accuracy_std": summary.accuracy_std,
        **overall,
        "per_class": _per_class(total, classes, names),
        "confusion": total.confusion.tolist(),
        "calibration": calibration(total),
        "rules_mean": summary.rules_mean,
        "layers_mean": summary.layers_mean,
        "layers_total_mean": results.mean("layers_total"),
        "parameters_mean": results.mean("parameters"),
        "labels_used": summary.n_labels,
        "label_fraction": _ratio(summary.n_labels, summary.n_rows),
        "seconds_predict": sum(each.seconds_predict for each in results),
        "seconds_learn": sum(each.seconds_learn for each in results),
        "rows_per_second": summary.rows_per_second,
        "events": summary.events,
        "event_log": [
            event.to_dict() | {"chunk": chunk, "explanation": event.explanation}
            for chunk, event in results.log
        ],
        "per_chunk": per_chunk,
        "windowed": _windowed(results),
    } | _thinned(results)


def _thinned(results: Course) -> dict[str, Any]:
    """How much a long run was thinned; nothing of an ordinary one."""
    if results.chunks_per_point == 1:
        return {}
    return {
        "chunks_per_point": results.chunks_per_point,
        "events_dropped": results.n_events_dropped,
    }


def drift_record(results: Iterable[ChunkResult], positions: Sequence[int]) -> dict[str, Any] | None:
    """How well drift was found in a run; None where it is not known where the stream drifts.

    Of a long run, from the oldest drift on whose row is kept.
    """
    course = Course.of(results)
    if not course or not positions:
        return None
    is_whole = course.event_counts["DriftFound"] == len(course.alarms)
    since = 0 if is_whole else course.alarms[0]
    known = [position for position in positions if position >= since]
    return drift_detection(list(course.alarms), known, course[-1].n_rows)


def _per_chunk(results: Course) -> dict[str, list[Any]]:
    """Measures and sizes of every chunk, or of every point of a long run."""
    of_chunks = [{} if each.tally is None else measures(each.tally) for each in results]
    labels = [each.n_labels or 0 for each in results]
    n_chunks = {"chunks": [each.n_chunks for each in results]}
    return {
        "rows": [each.n_rows for each in results],
        **(n_chunks if results.chunks_per_point > 1 else {}),
        "chunk_rows": [each.chunk_rows for each in results],
        **{name: [chunk.get(name) for chunk in of_chunks] for name in MEASURES},
        "rules": [each.n_rules for each in results],
        "layers": [each.n_layers for each in results],
        "layers_total": [each.n_layers_total for each in results],
        "parameters": [each.n_parameters for each in results],
        "labels": np.diff(labels, prepend=0).tolist(),
        "seconds_predict": [each.seconds_predict for each in results],
        "seconds_learn": [each.seconds_learn for each in results],
        "model_bytes": [each.n_bytes for each in results],
        "voting_weights": [each.voting_weights and list(each.voting_weights) for each in results],
        "feature_mask": [each.feature_mask and list(each.feature_mask) for each in results],
        "layer_states": [each.standings and _states(each.standings) for each in results],
    }


def _states(standings: Sequence[Standing]) -> list[str | None]:
    """What layers do, in the order of their numbers; None where there is no layer."""
    states = {each.layer: each.state for each in standings}
    return [states.get(layer) for layer in range(max(states) + 1)]


def _windowed(results: Course) -> dict[str, Any]:
    """Measures over the last scored chunks; None where a chunk was not scored."""
    values = results.windowed()
    of_measures = {name: [value.get(name) for value in values] for name in MEASURES}
    return {"chunks": results.window.maxlen} | of_measures


def _per_class(total: Tally, classes: Sequence[Any], names: Sequence[str]) -> list[dict[str, Any]]:
    columns = {
        "label": [plain(label) for label in classes],
        "name": names,
        **{name: scores(total.confusion).tolist() for name, scores in PER_CLASS.items()},
        "support": total.confusion.sum(axis=1).tolist(),
    }
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def plain(value: Any) -> Any:
    """A value for JSON: functions by their names, other unsupported values as text."""
    if callable(value):
        return getattr(value, "__name__", "a function")
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        value = value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
