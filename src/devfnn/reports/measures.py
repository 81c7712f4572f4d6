"""The measures of a result as tables: what each means, and its values over the run."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from devfnn.evaluation.summary import mean
from devfnn.reports.page import decimal, percent, spread


@dataclasses.dataclass(frozen=True)
class Measure:
    """A measure by its key in a result."""

    key: str
    name: str
    meaning: str
    is_share: bool = False

    def text(self, value: float | None) -> str:
        """A value of the measure as it is shown."""
        return percent(value) if self.is_share else decimal(value)


MEASURES = (
    Measure("accuracy", "accuracy", "Share of rows predicted right, before learning them.", True),
    Measure(
        "balanced_accuracy",
        "balanced accuracy",
        "Mean over the classes of the share of their rows that was found.",
        True,
    ),
    Measure(
        "precision",
        "precision",
        "Of the rows that were said to be of a class, how many are. Mean over the classes.",
        True,
    ),
    Measure(
        "recall",
        "recall",
        "Of the rows of a class, how many were found. Mean over the classes.",
        True,
    ),
    Measure(
        "f1", "F1", "Harmonic mean of precision and recall of a class. Mean over the classes.", True
    ),
    Measure(
        "precision_weighted",
        "precision, weighted",
        "As precision, but a class counts by its rows.",
        True,
    ),
    Measure(
        "recall_weighted", "recall, weighted", "As recall, but a class counts by its rows.", True
    ),
    Measure("f1_weighted", "F1, weighted", "As F1, but a class counts by its rows.", True),
    Measure(
        "g_mean",
        "geometric mean",
        "Geometric mean of the recalls of the classes: 0 as soon as one class is never found.",
        True,
    ),
    Measure(
        "kappa",
        "kappa",
        "Gain over guessing with the same shares of classes: 0 is none, 1 is all right.",
    ),
    Measure("kappa_m", "kappa M", "Gain over always saying the most common class."),
    Measure(
        "kappa_temporal",
        "kappa temporal",
        "Gain over repeating the label before: negative if repeating it would have been better.",
    ),
    Measure(
        "auc",
        "area under the curve",
        "How often a row of a class gets a higher probability of it than a row of another class; "
        "0.5 is guessing.",
    ),
    Measure(
        "log_loss",
        "log loss",
        "Mean of the negative logarithm of the probability given to the true class. "
        "Lower is better.",
    ),
    Measure(
        "brier",
        "Brier score",
        "Mean squared distance of the probabilities from the truth. Lower is better.",
    ),
    Measure(
        "calibration_error",
        "calibration error",
        "Mean gap between how sure the model was and how often it was right. Lower is better.",
        True,
    ),
    Measure(
        "paper_precision",
        "precision, as published",
        "As in Table 1 of the paper: class 0 is positive, false positives and negatives are "
        "swapped, mean over chunks.",
        True,
    ),
    Measure(
        "paper_recall",
        "recall, as published",
        "As in Table 1 of the paper: class 0 is positive, false positives and negatives are "
        "swapped, mean over chunks.",
        True,
    ),
)
"""All measures in the order in which they are shown."""


def measure_values(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """For each measure that was taken: overall, mean and spread over chunks, last window.

    Returns
    -------
    list of dict
        Plain data with the keys `measure`, `overall`, `mean`, `std` and `last_window`.
    """
    rows = []
    for measure in MEASURES:
        values = _values(result, measure.key)
        if any(value is not None for value in values.values()):
            rows.append({"measure": measure.key, **values})
    return rows


def _values(result: Mapping[str, Any], key: str) -> dict[str, float | None]:
    series = result["per_chunk"].get(key) or []
    known = [value for value in series if value is not None]
    window = (result.get("windowed") or {}).get(key) or [None]
    values = {
        "overall": result.get("accuracy_overall" if key == "accuracy" else key),
        "mean": mean(known),
        "std": spread(known),
        "last_window": window[-1],
    }
    if key == "accuracy":
        values |= {"mean": result.get("accuracy_mean"), "std": result.get("accuracy_std")}
    return values


def measure_rows(result: Mapping[str, Any]) -> list[dict[str, str]]:
    """The same as texts, with what each measure means."""
    by_key = {measure.key: measure for measure in MEASURES}
    rows = []
    for values in measure_values(result):
        measure = by_key[values["measure"]]
        middle = measure.text(values["mean"])
        if values["std"] is not None:
            middle += f" ± {measure.text(values['std'])}"
        rows.append(
            {
                "name": measure.name,
                "overall": measure.text(values["overall"]),
                "mean": middle,
                "last_window": measure.text(values["last_window"]),
                "meaning": measure.meaning,
            }
        )
    return rows
