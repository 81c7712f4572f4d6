"""A whole run as plain data: what `devfnn run --json` writes, less its settings."""

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from devfnn.evaluation.detection import detection
from devfnn.evaluation.measures import (
    MEASURES,
    Tally,
    added,
    calibration_table,
    f1_scores,
    measures,
    precisions,
    recalls,
)
from devfnn.evaluation.results import ChunkResult
from devfnn.evaluation.summary import Summary, mean

NO_PREDICTION = "no prediction"
"""The name of what a model predicts when it predicts nothing."""

OVER_CHUNKS = ("paper_precision", "paper_recall")
"""Measures that are means over chunks, as in the paper's Table 1; others are over all rows."""


def run_record(
    results: Sequence[ChunkResult],
    *,
    classes: Sequence[Hashable],
    class_names: Sequence[str] = (),
    auc: float | None = None,
    window_chunks: int = 10,
) -> dict[str, Any]:
    """All that was measured in a run.

    Parameters
    ----------
    results
        The chunks, in order.
    classes
        Labels in the order of their codes; `Prequential.scorer.codes.labels`.
    class_names
        What they are called, if not by their labels.
    auc
        Area under the curve over all rows; `Prequential.scorer.auc`.
    window_chunks
        Scored chunks in a window.
    """
    summary = Summary.of(results)
    total = added((each.tally for each in results if each.tally is not None), auc)
    total = _with_classes(total, len(classes))
    per_chunk = _per_chunk(results)
    names = _names(classes, class_names)
    overall = measures(total) | {name: mean(per_chunk[name]) for name in OVER_CHUNKS}
    overall["accuracy_overall"] = overall.pop("accuracy")
    return {
        "classes": [_plain(label) for label in classes],
        "class_names": names,
        "rows": summary.n_rows,
        "chunks": summary.n_chunks,
        "rows_scored": total.n_scored,
        "accuracy_mean": summary.accuracy_mean,
        "accuracy_std": summary.accuracy_std,
        **overall,
        "per_class": _per_class(total, classes, names),
        "confusion": total.confusion.tolist(),
        "calibration": calibration_table(total),
        "rules_mean": summary.rules_mean,
        "layers_mean": summary.layers_mean,
        "layers_total_mean": mean(per_chunk["layers_total"]),
        "parameters_mean": mean(per_chunk["parameters"]),
        "labels_used": summary.n_labels,
        "label_fraction": _fraction(summary.n_labels, summary.n_rows),
        "seconds_predict": sum(each.seconds_predict for each in results),
        "seconds_learn": sum(each.seconds_learn for each in results),
        "rows_per_second": summary.rows_per_second,
        "events": summary.events,
        "event_log": _event_log(results),
        "per_chunk": per_chunk,
        "windowed": _windowed(results, window_chunks),
    }


def drift_record(results: Sequence[ChunkResult], positions: Sequence[int]) -> dict[str, Any] | None:
    """How well drift was found; None where nobody knows of any."""
    if not results or not positions:
        return None
    alarms = [
        event.row for result in results for event in result.events if event.kind == "DriftFound"
    ]
    return detection(alarms, positions, results[-1].n_rows).to_dict()


def _per_chunk(results: Sequence[ChunkResult]) -> dict[str, list[Any]]:
    """Measures and sizes of every chunk."""
    found: dict[str, list[Any]] = {
        "rows": [each.n_rows for each in results],
        "chunk_rows": [each.chunk_rows for each in results],
    }
    of_chunks = [None if each.tally is None else measures(each.tally) for each in results]
    for name in MEASURES:
        found[name] = [None if chunk is None else chunk[name] for chunk in of_chunks]
    labels = [each.n_labels or 0 for each in results]
    return found | {
        "rules": [each.n_rules for each in results],
        "layers": [each.n_layers for each in results],
        "layers_total": [each.n_layers_total for each in results],
        "parameters": [each.n_parameters for each in results],
        "labels": np.diff(labels, prepend=0).tolist(),
        "seconds_predict": [each.seconds_predict for each in results],
        "seconds_learn": [each.seconds_learn for each in results],
        "model_bytes": [each.n_bytes for each in results],
        "voting_weights": [_listed(each.voting_weights) for each in results],
        "feature_mask": [_listed(each.feature_mask) for each in results],
    }


def _windowed(results: Sequence[ChunkResult], window_chunks: int) -> dict[str, Any]:
    """Measures over the last scored chunks; None where a chunk was not scored."""
    found: dict[str, Any] = {"chunks": window_chunks} | {name: [] for name in MEASURES}
    window: list[Tally] = []
    for each in results:
        values: dict[str, float | None] = {}
        if each.tally is not None:
            window = [*window, each.tally][-window_chunks:]
            values = measures(added(window, each.auc_windowed))
        for name in MEASURES:
            found[name].append(values.get(name))
    return found


def _per_class(
    total: Tally, classes: Sequence[Hashable], names: Sequence[str]
) -> list[dict[str, Any]]:
    confusion = total.confusion
    columns = (precisions(confusion), recalls(confusion), f1_scores(confusion))
    return [
        {
            "label": _plain(label),
            "name": names[code],
            "precision": float(columns[0][code]),
            "recall": float(columns[1][code]),
            "f1": float(columns[2][code]),
            "support": int(confusion[code].sum()),
        }
        for code, label in enumerate(classes)
    ]


def _event_log(results: Sequence[ChunkResult]) -> list[dict[str, Any]]:
    """Every event with its chunk and its reason."""
    return [
        event.to_dict() | {"chunk": each.index, "reason": event.explanation}
        for each in results
        for event in each.events
    ]


def _with_classes(total: Tally, n_classes: int) -> Tally:
    """The tally with a row and a column for each class, also for those that never came."""
    more = n_classes - len(total.confusion)
    if more <= 0:
        return total
    confusion = np.pad(total.confusion, ((0, more), (0, more)))
    return dataclasses.replace(total, confusion=confusion)


def _names(classes: Sequence[Hashable], names: Sequence[str]) -> list[str]:
    more = [NO_PREDICTION if label is None else str(label) for label in classes[len(names) :]]
    return [*names, *more]


def _listed(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _plain(label: Any) -> Any:
    """A label as JSON has it; what JSON does not know becomes text."""
    value = label.item() if isinstance(label, np.generic) else label
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _fraction(part: int | None, whole: int) -> float | None:
    return None if part is None or not whole else part / whole
