"""Who is best on a stream, and whether the others are behind by more than chance."""

from collections.abc import Mapping, Sequence

import numpy as np

from devfnn.arrays import Floats
from devfnn.evaluation.ranking import signed_rank_p
from devfnn.experiments.cells import OURS, Cells, Result, mean_accuracy

SIGNIFICANCE = 0.05
"""Below it, a difference is not left to chance."""


def best_of(measured: Mapping[str, Sequence[Result]]) -> str | None:
    """The system with the highest accuracy, as a mean over seeds."""
    known = {system: mean_accuracy(seeds) for system, seeds in measured.items()}
    scored = {system: score for system, score in known.items() if score is not None}
    return max(scored, key=lambda system: scored[system]) if scored else None


def chances_against_best(
    measured: Mapping[str, Sequence[Result]],
) -> dict[str, float | None]:
    """How likely each system differs from the best by chance; None for the best itself.

    Wilcoxon's signed ranks over chunks, each a mean over seeds. None too where chunks are unknown
    or not the same.
    """
    best = best_of(measured)
    if best is None:
        return {}
    ahead = _chunks(measured[best])
    found: dict[str, float | None] = {}
    for system, seeds in measured.items():
        found[system] = None
        own = _chunks(seeds)
        if own is None or ahead is None or system == best or own.shape != ahead.shape:
            continue
        gaps = ahead - own
        if gaps.size > np.isnan(gaps).sum():
            found[system] = signed_rank_p(gaps[~np.isnan(gaps)])
    return found


def verdicts(cells: Cells) -> list[str]:
    """For each stream, whether the default is best, or significantly behind the best."""
    lines = []
    for stream in dict.fromkeys(stream for stream, _ in cells):
        measured = {system: seeds for (name, system), seeds in cells.items() if name == stream}
        if OURS in measured and len(measured) > 1:
            lines += _verdict(stream, measured)
    return lines


def _verdict(stream: str, measured: Mapping[str, Sequence[Result]]) -> list[str]:
    best, ours = best_of(measured), mean_accuracy(measured[OURS])
    if best is None or ours is None:
        return []
    if best == OURS:
        return [f"{stream}: {OURS} has the highest CR."]
    top = mean_accuracy(measured[best]) or 0.0
    p = chances_against_best(measured)[OURS]
    how = "its chunks are unknown"
    if p is not None:
        how = f"{'not ' if p > SIGNIFICANCE else ''}significantly, p = {p:.3g}"
    gap = f"{100.0 * (top - ours):.2f}"
    return [
        f"{stream}: {best} has the highest CR, {100.0 * top:.2f}; {OURS} is {gap} below, {how}."
    ]


def _chunks(seeds: Sequence[Result]) -> Floats | None:
    """Accuracy of every chunk, as a mean over seeds, NaN where there is none."""
    every = [(result.get("per_chunk") or {}).get("accuracy") or [] for result in seeds]
    if len({len(each) for each in every}) != 1:
        return None
    chunks: Floats = np.array(every, np.float64).mean(axis=0)
    return chunks if chunks.size else None
