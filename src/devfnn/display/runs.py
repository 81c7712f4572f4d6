"""How a run looks: tables at the end. While it lasts, see watching.py."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import rich.table

from devfnn.display.literal import title
from devfnn.display.numbers import NO_VALUE, bytes_of, count, mean_and_last, percent
from devfnn.evaluation import ChunkResult
from devfnn.events import DriftFound

MOST_CONCEPTS = 40
"""Lines of the table of drifts."""


def result_table(result: Mapping[str, Any], name: str) -> rich.table.Table:
    """Accuracy, size and speed of a run, from its result as plain data."""
    last = {key: values[-1] for key, values in result["per_chunk"].items() if values}
    spread = percent(result["accuracy_mean"])
    if result["accuracy_std"] is not None:
        spread += f" ± {percent(result['accuracy_std'])}"
    table = rich.table.Table(title=title(name), show_header=False)
    table.add_row("accuracy, mean ± std over chunks", spread)
    table.add_row("accuracy over all predicted rows", percent(result["accuracy_overall"]))
    table.add_row("precision, recall, F1 (macro)", _shares(result, "precision", "recall", "f1"))
    table.add_row(
        "kappa, kappa M, kappa temporal", _shares(result, "kappa", "kappa_m", "kappa_temporal")
    )
    table.add_row(
        "balanced accuracy, G-mean, AUC", _shares(result, "balanced_accuracy", "g_mean", "auc")
    )
    if result["log_loss"] is not None:
        table.add_row(
            "log-loss, Brier, calibration error",
            _plain(result, "log_loss", "brier", "calibration_error"),
        )
    if result["rules_mean"] is not None:
        table.add_row(
            "rules, mean (at the end)", mean_and_last(result["rules_mean"], last["rules"])
        )
        table.add_row(
            "layers, mean (at the end)", mean_and_last(result["layers_mean"], last["layers"])
        )
    if result["labels_used"] is not None:
        used = f"{count(result['labels_used'])} of {count(result['rows'])}"
        table.add_row("labels used", f"{used}, {percent(result['label_fraction'])}")
    table.add_row("model size", bytes_of(result["model_bytes"]))
    if result["rules_mean"] is not None:
        events = ", ".join(f"{kind} {each}" for kind, each in sorted(result["events"].items()))
        table.add_row("events", events or NO_VALUE)
    table.add_row("rows per second, predict and learn", count(result["rows_per_second"]))
    return table


def detection_line(detection: Mapping[str, Any]) -> str:
    """How well drift was found, in a sentence."""
    found = f"Of {count(detection['drifts'])} true drifts {count(detection['found'])} were found"
    if detection["delay_mean"] is not None:
        found += f", after {count(detection['delay_mean'])} rows on average"
    return f"{found}; {count(detection['false_alarms'])} false alarms."


def _shares(result: Mapping[str, Any], *names: str) -> str:
    return ", ".join(percent(result[name]) for name in names)


def _plain(result: Mapping[str, Any], *names: str) -> str:
    return ", ".join(f"{result[name]:.4f}" for name in names)


def drift_table(
    results: Iterable[ChunkResult], true_positions: Sequence[int], n_rows: int
) -> rich.table.Table:
    """For every concept: where it begins, and when drift was found while it lasted.

    Where nobody knows of concepts, only what was found.
    """
    found = [row for result in results for row in drifts_found(result)]
    table = rich.table.Table(title="Drift")
    if not true_positions:
        table.add_column("drift found at row")
        table.add_row(", ".join(map(count, found)) or NO_VALUE)
        return table
    table.add_column("new concept from row", justify="right")
    table.add_column("drift found at row")
    starts = [0, *(position for position in true_positions if position < n_rows)]
    for start, end in itertools.islice(itertools.pairwise([*starts, n_rows]), MOST_CONCEPTS):
        rows = ", ".join(count(row) for row in found if start < row <= end)
        table.add_row(count(start), rows or NO_VALUE)
    if len(starts) > MOST_CONCEPTS:
        n_more = sum(row > starts[MOST_CONCEPTS] for row in found)
        table.add_row(f"{len(starts) - MOST_CONCEPTS:,} more", f"{n_more:,} more")
    return table


def drifts_found(result: ChunkResult) -> list[int]:
    """Rows of the stream that had come when drift was found in a chunk."""
    return [event.row for event in result.events if isinstance(event, DriftFound)]
