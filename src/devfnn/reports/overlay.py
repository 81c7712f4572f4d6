"""Several runs in one figure: a measure over the rows of the stream, one line each."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ("-", "--", ":", "-.")
"""Kinds of lines, for when colours have run out."""

Result = Mapping[str, Any]


def several_over_time(
    runs: Mapping[str, Sequence[Result]], measure: str = "accuracy", ax: "Axes | None" = None
) -> "Axes":
    """A measure of several runs over the same rows, as the mean over the latest chunks.

    Parameters
    ----------
    runs
        Results by the name of their line. Of several under one name the mean is drawn, if they
        have the same chunks; otherwise the first.
    measure
        A column of `windowed`, or of `per_chunk` for those that have no window.
    ax
        Where to draw; a new figure if None.

    Raises
    ------
    InputError
        If there is no run, or one lacks the measure.
    """
    from devfnn.figures.columns import chunk_ends
    from devfnn.figures.runs import SHARES, WORDS
    from devfnn.figures.style import PALETTE, axes_or_new, label, legend_above, styled
    from devfnn.figures.timeline import draw_true_drift, set_row_axis, set_share_axis

    if not runs or not all(runs.values()):
        raise InputError("there are no runs to draw")
    part = _part(runs, measure)
    curves = {name: _mean_curve(results, measure, part) for name, results in runs.items()}

    @styled
    def draw(ax: "Axes | None") -> "Axes":
        ax = axes_or_new(ax, height=3.0)
        longest = max((each[0] for each in runs.values()), key=lambda each: chunk_ends(each)[-1])
        set_row_axis(ax, longest)
        if len({tuple(each[0].get("drift_positions") or ()) for each in runs.values()}) == 1:
            draw_true_drift(ax, longest)
        for place, (name, (ends, values)) in enumerate(curves.items()):
            colour, line = place % len(PALETTE), place // len(PALETTE) % len(STYLES)
            ax.plot(
                ends,
                values,
                color=PALETTE[colour],
                linestyle=STYLES[line],
                linewidth=1.4,
                label=label(name),
            )
        if measure in SHARES:
            set_share_axis(ax, np.concatenate([values for _, values in curves.values()]))
        ax.set_ylabel(label(WORDS.get(measure, measure.replace("_", " "))))
        legend_above(ax)
        return ax

    return draw(ax)


def _part(runs: Mapping[str, Sequence[Result]], measure: str) -> str:
    """Windowed if all runs have it so."""
    every = [result for results in runs.values() for result in results]
    has_window = all(measure in (result.get("windowed") or {}) for result in every)
    return "windowed" if has_window else "per_chunk"


def _mean_curve(results: Sequence[Result], measure: str, part: str) -> tuple[Any, Any]:
    """Ends of chunks, and the mean of the results that have the same ones as the first."""
    from devfnn.figures.columns import chunk_ends, curve

    ends = chunk_ends(results[0])
    same = [each for each in results if np.array_equal(chunk_ends(each), ends)]
    curves = np.array([curve(each, measure, part) for each in same])
    is_known = np.isfinite(curves)
    n_known = is_known.sum(axis=0)
    sums = np.where(is_known, curves, 0.0).sum(axis=0)
    return ends, np.divide(sums, n_known, where=n_known > 0, out=np.full(len(ends), np.nan))


def run_names(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Runs by a name that tells them apart: model, stream and seed as far as they differ."""
    parts = [
        key
        for key in ("model", "stream", "seed")
        if key == "model" or len({each.get(key) for each in results}) > 1
    ]
    named: dict[str, list[Result]] = {}
    for number, result in enumerate(results, start=1):
        words = [result["model"]]
        words += ["on " + result["stream"]] if "stream" in parts else []
        words += [f"seed {result.get('seed')}"] if "seed" in parts else []
        name = ", ".join(words).replace(", on ", " on ")
        named.setdefault(f"{name} ({number})" if name in named else name, []).append(result)
    return named
