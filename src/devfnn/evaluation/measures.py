"""All measures of predictions, from the sums in a `Tally`.

A measure is None where it is not defined: nothing was scored, no probabilities, one class only.
Averages over classes leave out classes that neither occurred nor were predicted.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.arrays import Floats, Ints
from devfnn.errors import InputError
from devfnn.kernels import state


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What is counted over predicted rows."""

    confusion: Ints
    """Rows by truth and prediction, (n_classes, n_classes)."""
    totals: Floats
    """Sums over rows; their places are in kernels/state.py."""
    calibration: Floats
    """Rows, confidence and rows predicted right, summed in ten bins of the confidence, (3, 10)."""
    auc: float | None = None
    """Area under the curve: one class against the others, mean over classes."""
    silence: int | None = None
    """The class that stands for rows without a prediction, if there are any."""

    @property
    def n_classes(self) -> int:
        """Classes that a row can be of."""
        return len(self.confusion) - (self.silence is not None)

    @property
    def n_scored(self) -> int:
        """Rows that were predicted and scored."""
        return int(self.confusion.sum())

    @property
    def n_correct(self) -> int:
        """Rows predicted right."""
        return int(self.confusion.trace())


def added(tallies: Iterable[Tally], auc: float | None = None, n_classes: int = 0) -> Tally:
    """The sum of tallies, of so many classes or more; areas cannot be added, so it is given."""
    found = list(tallies)
    n_classes = max([n_classes, *(len(tally.confusion) for tally in found)])
    confusion = np.zeros((n_classes, n_classes), np.int64)
    totals, calibration = np.zeros(state.N_TOTALS), np.zeros((3, state.N_BINS))
    for tally in found:
        n_here = len(tally.confusion)
        confusion[:n_here, :n_here] += tally.confusion
        totals += tally.totals
        calibration += tally.calibration
    silence = next((tally.silence for tally in found if tally.silence is not None), None)
    return Tally(confusion, totals, calibration, auc, silence)


def precisions(confusion: Ints) -> Floats:
    """For every class, the share of its predictions that are right; 0 if there are none."""
    return _ratios(confusion.diagonal(), confusion.sum(axis=0))


def recalls(confusion: Ints) -> Floats:
    """For every class, the share of its rows that are predicted right; 0 if there are none."""
    return _ratios(confusion.diagonal(), confusion.sum(axis=1))


def f1_scores(confusion: Ints) -> Floats:
    """For every class, the harmonic mean of precision and recall; 0 if both are."""
    return _ratios(2 * confusion.diagonal(), confusion.sum(axis=0) + confusion.sum(axis=1))


Measure = Callable[[Tally], float | None]
PerClass = Callable[[Ints], Floats]

PER_CLASS: dict[str, PerClass] = {"precision": precisions, "recall": recalls, "f1": f1_scores}


def _macro(scores: PerClass) -> Measure:
    """The mean over classes."""

    def mean(tally: Tally) -> float | None:
        confusion = tally.confusion
        occurs = (confusion.sum(axis=0) + confusion.sum(axis=1)) > 0
        if tally.silence is not None:
            occurs[tally.silence] = False  # no class: its rows are errors of the others
        return float(scores(confusion)[occurs].mean()) if occurs.any() else None

    return mean


def _weighted(scores: PerClass) -> Measure:
    """The mean over classes, weighted by their rows."""
    return lambda tally: _ratio(
        float(scores(tally.confusion) @ tally.confusion.sum(axis=1)), tally.n_scored
    )


def _kappa(tally: Tally) -> float | None:
    n_rows = tally.n_scored
    by_chance = float(tally.confusion.sum(axis=0) @ tally.confusion.sum(axis=1))
    return _gain(tally.n_correct * n_rows, by_chance, n_rows * n_rows)


def _mean_recall(tally: Tally, *, is_geometric: bool) -> float | None:
    """The mean over classes that occurred."""
    found = recalls(tally.confusion)[tally.confusion.sum(axis=1) > 0]
    if not found.size:
        return None
    return math.prod(found.tolist()) ** (1.0 / found.size) if is_geometric else float(found.mean())


def _calibration_error(tally: Tally) -> float | None:
    n_rows, confidence, n_right = tally.calibration
    return _ratio(float(np.abs(confidence - n_right).sum()), float(n_rows.sum()))


def _per_row(tally: Tally, total: int, factor: float = 1.0) -> float | None:
    return _ratio(factor * tally.totals[total], tally.totals[state.WITH_PROBABILITIES])


MEASURES: dict[str, Measure] = {
    # Share of rows predicted right: the classification rate.
    "accuracy": lambda tally: _ratio(tally.n_correct, tally.n_scored),
    # Means over classes, and weighted by their rows.
    **{name: _macro(scores) for name, scores in PER_CLASS.items()},
    **{f"{name}_weighted": _weighted(scores) for name, scores in PER_CLASS.items()},
    # How much better than predictions of the same frequencies by chance (Cohen), than the majority
    # class so far, and than repeating the label of the row before.
    "kappa": _kappa,
    "kappa_m": lambda tally: _gain(tally.n_correct, tally.totals[state.MAJORITY], tally.n_scored),
    "kappa_temporal": lambda tally: _gain(
        tally.n_correct, tally.totals[state.NO_CHANGE], tally.n_scored
    ),
    # Geometric and arithmetic mean of the recalls of the classes that occurred.
    "g_mean": lambda tally: _mean_recall(tally, is_geometric=True),
    "balanced_accuracy": lambda tally: _mean_recall(tally, is_geometric=False),
    # Mean of minus the logarithm of the probability of the truth.
    "log_loss": lambda tally: _per_row(tally, state.LOG_LOSS),
    # Mean squared error of the probabilities, summed over classes; half of it for two classes.
    "brier": lambda tally: _per_row(tally, state.SQUARES, 0.5 if tally.n_classes == 2 else 1.0),
    # Mean gap between confidence and accuracy over ten bins of the confidence.
    "calibration_error": _calibration_error,
    "auc": lambda tally: tally.auc,
    # What the paper's Table 1 calls so: with two classes, recall and precision of the first.
    "paper_precision": lambda tally: _first_of_two(tally, tally.confusion.sum(axis=1)),
    "paper_recall": lambda tally: _first_of_two(tally, tally.confusion.sum(axis=0)),
}
"""Every measure by name."""


SHARES = {
    *("accuracy", "precision", "recall", "f1", "g_mean", "balanced_accuracy", "auc"),
    *("precision_weighted", "recall_weighted", "f1_weighted"),
    *("calibration_error", "paper_precision", "paper_recall"),
}
"""Measures that are shown in percent."""

LOWER_IS_BETTER = {"log_loss", "brier", "calibration_error"}
"""Measures of errors; of all others, higher is better."""


def check_measure(name: str) -> None:
    """Refuse what is no measure."""
    if name not in MEASURES:
        raise InputError(f"no measure is called {name!r}; there are {', '.join(MEASURES)}")


def key_of(measure: str) -> str:
    """Where the result of a run has a measure: accuracy as the mean over chunks, as in the paper.

    >>> key_of("accuracy"), key_of("log_loss")
    ('accuracy_mean', 'log_loss')
    """
    return "accuracy_mean" if measure == "accuracy" else measure


def measures(tally: Tally) -> dict[str, float | None]:
    """All measures of a tally."""
    return {name: measure(tally) for name, measure in MEASURES.items()}


def calibration(tally: Tally) -> dict[str, Any] | None:
    """Rows, mean confidence and accuracy by bins of the confidence; None without probabilities."""
    n_rows, confidence, n_right = tally.calibration.tolist()
    if not sum(n_rows):
        return None
    return {
        "edges": [place / state.N_BINS for place in range(state.N_BINS + 1)],
        "rows": [int(each) for each in n_rows],
        "confidence": [_ratio(*pair) for pair in zip(confidence, n_rows, strict=True)],
        "accuracy": [_ratio(*pair) for pair in zip(n_right, n_rows, strict=True)],
    }


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def _ratios(parts: npt.NDArray[Any], wholes: npt.NDArray[Any]) -> Floats:
    return np.asarray(np.divide(parts, wholes, out=np.zeros(len(parts)), where=wholes > 0))


def _gain(right: float, rival: float, most: float) -> float | None:
    """Share of a rival's errors that were avoided; None if it made none."""
    return _ratio(right - rival, most - rival)


def _first_of_two(tally: Tally, wholes: Ints) -> float | None:
    return _ratio(tally.confusion[0, 0], wholes[0]) if tally.n_classes == 2 else None
