"""The measures of a result: what each means, and its values over the run."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from devfnn.evaluation.results import mean
from devfnn.figures.runs import SHARES, measure_name
from devfnn.formatting import percent
from devfnn.reports.page import decimal

_AS_PUBLISHED = (
    "As in Table 1 of the paper: class 0 is positive, false positives and false negatives are "
    "swapped, mean over chunks."
)
MEANINGS = {
    "accuracy": "Share of rows predicted correctly, before they are learned.",
    "balanced_accuracy": "Mean recall of the classes.",
    "precision": "Share of the rows predicted as a class that belong to it. Mean over the classes.",
    "recall": "Share of the rows of a class that were predicted as it. Mean over the classes.",
    "f1": "Harmonic mean of precision and recall of a class. Mean over the classes.",
    "precision_weighted": "As precision, but a class counts by its rows.",
    "recall_weighted": "As recall, but a class counts by its rows.",
    "f1_weighted": "As F1, but a class counts by its rows.",
    "g_mean": "Geometric mean of the recalls of the classes: 0 if one class is never predicted.",
    "kappa": "Gain over guessing with the same class frequencies: 0 is none, 1 is all correct.",
    "kappa_m": "Gain over always predicting the most frequent class.",
    "kappa_temporal": "Gain over repeating the previous label: negative if that would be better.",
    "auc": "Probability that a row of a class is ranked above a row of another; 50 % is guessing.",
    "log_loss": "Mean negative logarithm of the probability of the true class. Lower is better.",
    "brier": "Mean squared distance of the probabilities from the truth. Lower is better.",
    "calibration_error": "Mean gap between confidence and accuracy. Lower is better.",
    "paper_precision": _AS_PUBLISHED,
    "paper_recall": _AS_PUBLISHED,
}
"""What each measure means, in the order in which they are shown."""


def measure_values(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """For each measure that was taken: overall, mean and deviation over chunks, last window."""
    rows = [{"measure": key, **_values(result, key)} for key in MEANINGS]
    return [row for row in rows if any(row[key] is not None for key in row if key != "measure")]


def _values(result: Mapping[str, Any], key: str) -> dict[str, float | None]:
    known = [value for value in result["per_chunk"].get(key) or [] if value is not None]
    window = (result.get("windowed") or {}).get(key) or [None]
    values = {"overall": result.get(key), "mean": mean(known), "std": deviation(known)}
    if key == "accuracy":
        values = {name: result.get(f"accuracy_{name}") for name in values}
    return values | {"last_window": window[-1]}


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation (n - 1), of two values at least."""
    return statistics.stdev(values) if len(values) > 1 else None


def measure_rows(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The same as texts: name, overall, mean over chunks, last window, meaning."""
    rows: list[tuple[str, ...]] = []
    for values in measure_values(result):
        key = values["measure"]
        shown = percent if key in SHARES else decimal
        overall, middle, std, last = (
            shown(values[each]) for each in ("overall", "mean", "std", "last_window")
        )
        spread = "" if values["std"] is None else f" ± {std}"
        rows.append((measure_name(key), overall, middle + spread, last, MEANINGS[key]))
    return rows
