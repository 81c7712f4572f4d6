"""Runs over the rows of their streams: accuracy, labels used, any measure, and all at a glance."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from devfnn.errors import InputError
from devfnn.figures import style
from devfnn.figures.structure import layers_over_time, rules_over_time
from devfnn.figures.style import axes_or_new, label, legend_above, new_figure, styled
from devfnn.figures.timeline import (
    Floats,
    Result,
    chunk_ends,
    curve,
    draw_events,
    draw_true_drift,
    set_count_axis,
    set_row_axis,
    set_share_axis,
)

SHARES = {
    *("accuracy", "precision", "recall", "f1", "g_mean", "balanced_accuracy", "auc"),
    *("precision_weighted", "recall_weighted", "f1_weighted"),
    *("calibration_error", "paper_precision", "paper_recall"),
}
"""Measures that are shown in percent."""

COUNTS = {"rules", "layers", "layers_total", "parameters", "labels", "chunk_rows"}
"""Measures that are whole numbers from 0 on."""

UNITS = {"seconds_predict": "s", "seconds_learn": "s", "model_bytes": "B"}
"""Measures with a unit."""

NAMES = {
    "auc": "AUC",
    "f1": "F1",
    "f1_weighted": "F1, weighted",
    "g_mean": "G-mean",
    "kappa_m": "kappa M",
    "paper_precision": "precision as in the paper",
    "paper_recall": "recall as in the paper",
    "precision_weighted": "precision, weighted",
    "recall_weighted": "recall, weighted",
    "seconds_predict": "time to predict",
    "seconds_learn": "time to learn",
    "model_bytes": "size of the model",
}
"""Names of measures that differ from their keys."""

LINE_STYLES = ("-", "--", ":", "-.")
"""Styles of lines, for when colours have run out."""


@styled
def rate_over_time(result: Result, ax: Axes | None = None) -> Axes:
    """Accuracy of a run, with true drift and marks for drift found, warnings and new layers."""
    ends, accuracy = chunk_ends(result), curve(result, "accuracy")
    has_window = "accuracy" in (result.get("windowed") or {})
    ax = axes_or_new(ax, height=3.0)
    set_row_axis(ax, result)
    colour = style.SKY if has_window else style.BLUE
    ax.plot(ends, accuracy, color=colour, linewidth=0.7, label="each chunk")
    if has_window:
        windowed = curve(result, "accuracy", "windowed")
        name = f"latest {result['windowed'].get('chunks', '')} chunks".replace("  ", " ")
        ax.plot(ends, windowed, color=style.BLUE, linewidth=1.8, label=name)
        accuracy = np.concatenate([accuracy, windowed])
    draw_true_drift(ax, result)
    set_share_axis(ax, accuracy, draw_events(ax, result))
    ax.set_ylabel("accuracy")
    legend_above(ax)
    return ax


@styled
def training_samples_over_time(result: Result, ax: Axes | None = None) -> Axes:
    """Labels that the model used of each chunk, beside the rows of the chunk."""
    edges, labels = np.append(0.0, chunk_ends(result)), curve(result, "labels")
    rows = curve(result, "chunk_rows")
    ax = axes_or_new(ax)
    set_row_axis(ax, result)
    draw_true_drift(ax, result)
    ax.stairs(labels, edges, fill=True, color=style.SKY, alpha=0.5, linewidth=0.0)
    ax.stairs(labels, edges, baseline=None, color=style.BLUE, linewidth=0.9, label="labels used")
    if not np.array_equal(labels, rows):
        outline = ax.stairs(rows, edges, baseline=None, color=style.GREY, linewidth=0.9)
        outline.set(linestyle=":", label="rows of the chunk")
    set_count_axis(ax, labels, rows)
    ax.set_ylabel("training samples\nper chunk")
    legend_above(ax)
    return ax


@styled
def measure_over_time(
    result: Result, measure: str, ax: Axes | None = None, windowed: bool = False
) -> Axes:
    """Any measure of a run, such as "kappa" or "model_bytes", chunk by chunk.

    `windowed` draws the mean over the latest chunks, which not all measures have.
    """
    ends = chunk_ends(result)
    values = curve(result, measure, "windowed" if windowed else "per_chunk")
    ax = axes_or_new(ax)
    set_row_axis(ax, result)
    draw_true_drift(ax, result)
    ax.plot(ends, values, color=style.BLUE, linewidth=1.8 if windowed else 1.0)
    if measure in SHARES:
        set_share_axis(ax, values)
    elif measure in COUNTS:
        set_count_axis(ax, values)
    else:
        ax.yaxis.set_major_locator(MaxNLocator(nbins=6))
        if measure in UNITS:
            ax.set_ylim(0.0, 1.1 * np.nanmax(values) or 1.0)
            ax.yaxis.set_major_formatter(EngFormatter(UNITS[measure]))
    ax.set_ylabel(label(measure_name(measure)))
    return ax


def measure_name(measure: str) -> str:
    """A measure as figures and reports call it.

    >>> measure_name("f1"), measure_name("log_loss")
    ('F1', 'log loss')
    """
    return NAMES.get(measure, measure.replace("_", " "))


@styled
def several_over_time(
    runs: Mapping[str, Sequence[Result]], measure: str = "accuracy", ax: Axes | None = None
) -> Axes:
    """A measure of several runs on the same rows, if possible as the mean over the latest chunks.

    Results are given by the name of their line. Of several under one name the mean is drawn if
    they have the same chunks, otherwise the first.
    """
    if not runs or not all(runs.values()):
        raise InputError("there are no runs to draw")
    every = [result for results in runs.values() for result in results]
    has_window = all(measure in (result.get("windowed") or {}) for result in every)
    part = "windowed" if has_window else "per_chunk"
    curves = {name: _mean_curve(results, measure, part) for name, results in runs.items()}
    ax = axes_or_new(ax, height=3.0)
    longest = max((each[0] for each in runs.values()), key=lambda each: chunk_ends(each)[-1])
    set_row_axis(ax, longest)
    if len({tuple(each[0].get("drift_positions") or ()) for each in runs.values()}) == 1:
        draw_true_drift(ax, longest)
    for place, (name, (ends, values)) in enumerate(curves.items()):
        colour = style.PALETTE[place % len(style.PALETTE)]
        dashes = LINE_STYLES[place // len(style.PALETTE) % len(LINE_STYLES)]
        ax.plot(ends, values, color=colour, linestyle=dashes, linewidth=1.4, label=label(name))
    if measure in SHARES:
        set_share_axis(ax, np.concatenate([values for _, values in curves.values()]))
    ax.set_ylabel(label(measure_name(measure)))
    legend_above(ax)
    return ax


def _mean_curve(results: Sequence[Result], measure: str, part: str) -> tuple[Floats, Floats]:
    """Ends of chunks, and the mean of the results that have the same ones as the first."""
    ends = chunk_ends(results[0])
    same = [each for each in results if np.array_equal(chunk_ends(each), ends)]
    curves = np.ma.masked_invalid([curve(each, measure, part) for each in same])
    means: Floats = curves.mean(axis=0).filled(np.nan)
    return ends, means


def runs_by_name(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Runs by model, and by stream and seed if these differ; each run has a name of its own."""
    has_streams, has_seeds = (
        len({each.get(key) for each in results}) > 1 for key in ("stream", "seed")
    )
    named: dict[str, list[Result]] = {}
    for number, result in enumerate(results, start=1):
        name = str(result["model"])
        name += f" on {result['stream']}" if has_streams else ""
        name += f", seed {result.get('seed')}" if has_seeds else ""
        named[f"{name} ({number})" if name in named else name] = [result]
    return named


@styled
def run_overview(result: Result, figure: Figure | None = None) -> Figure:
    """A run at a glance: accuracy, layers, rules and training samples, one panel each.

    Models without layers and rules have fewer panels. Draws on `figure`, or on a new one.
    """
    curve(result, "accuracy")  # before anything is drawn
    panels = [("accuracy", rate_over_time)] + [
        (name, draw)
        for name, draw, needed in (
            ("layers", layers_over_time, ("layers", "layers_total")),
            ("rules", rules_over_time, ("rules",)),
            ("training samples", training_samples_over_time, ("labels", "chunk_rows")),
        )
        if _has_curves(result, needed)
    ]
    figure = new_figure(style.WIDTH, 3.2 + 1.6 * (len(panels) - 1)) if figure is None else figure
    ratios = (2.0, *(1.0 for _ in panels[1:]))
    (grid,) = figure.subplots(len(panels), 1, sharex=True, height_ratios=ratios, squeeze=False).T
    for letter, ax, (name, draw) in zip("abcd", grid, panels, strict=False):
        draw(result, ax=ax)
        ax.set_title(f"({letter}) {name}", loc="left")
        ax.label_outer()
        if letter != "a" and ax.get_legend() is not None:  # true drift is named once
            handles = ax.get_legend_handles_labels()[0]
            legend_above(ax, [each for each in handles if each.get_label() != "true drift"])
    figure.align_ylabels(list(grid))
    return figure


def _has_curves(result: Result, names: Sequence[str]) -> bool:
    """Whether there is something to draw."""
    try:
        for name in names:
            curve(result, name)
    except InputError:
        return False
    return True
