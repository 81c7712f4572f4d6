"""A run over the rows of its stream: how often it was right, what it used, and all at once."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from devfnn.errors import InputError
from devfnn.figures.columns import Result, chunk_ends, curve
from devfnn.figures.structure import layers_over_time, rules_over_time
from devfnn.figures.style import (
    BLUE,
    GREY,
    SKY,
    WIDTH,
    axes_or_new,
    label,
    legend_above,
    new_figure,
    styled,
)
from devfnn.figures.timeline import (
    draw_events,
    draw_true_drift,
    set_count_axis,
    set_row_axis,
    set_share_axis,
)

SHARES = {
    "accuracy",
    "precision",
    "recall",
    "f1",
    "g_mean",
    "balanced_accuracy",
    "calibration_error",
    "auc",
    "paper_precision",
    "paper_recall",
}
"""Measures that are shown in percent."""

COUNTS = {"rules", "layers", "layers_total", "parameters", "labels", "chunk_rows"}
"""Measures that are whole numbers from 0 on."""

UNITS = {"seconds_predict": "s", "seconds_learn": "s", "model_bytes": "B"}
"""Measures with a unit."""

WORDS = {
    "auc": "AUC",
    "f1": "F1",
    "g_mean": "G-mean",
    "kappa_m": "kappa M",
    "paper_precision": "precision as in the paper",
    "paper_recall": "recall as in the paper",
    "seconds_predict": "time to predict",
    "seconds_learn": "time to learn",
    "model_bytes": "size of the model",
}
"""What measures are called, if not by their name."""


@styled
def rate_over_time(result: Result, ax: Axes | None = None) -> Axes:
    """Share of right predictions, with true drift, drift found, warnings, and layers that came.

    Parameters
    ----------
    result
        A run, as `devfnn run --json` writes it.
    ax
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    InputError
        If no chunk was scored, or there is only one.
    """
    ends, accuracy = chunk_ends(result), curve(result, "accuracy")
    has_window = "accuracy" in (result.get("windowed") or {})
    ax = axes_or_new(ax, height=3.0)
    set_row_axis(ax, result)
    ax.plot(ends, accuracy, color=SKY if has_window else BLUE, linewidth=0.7, label="each chunk")
    if has_window:
        windowed = curve(result, "accuracy", "windowed")
        name = f"latest {result['windowed'].get('chunks', '')} chunks".replace("  ", " ")
        ax.plot(ends, windowed, color=BLUE, linewidth=1.8, label=name)
        accuracy = np.concatenate([accuracy, windowed])
    draw_true_drift(ax, result)
    set_share_axis(ax, accuracy, draw_events(ax, result))
    ax.set_ylabel("accuracy")
    legend_above(ax)
    return ax


@styled
def training_samples_over_time(result: Result, ax: Axes | None = None) -> Axes:
    """Labels that the model used of each chunk, beside the rows of the chunk.

    Parameters
    ----------
    result
        A run, as `devfnn run --json` writes it.
    ax
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    InputError
        If the labels were not counted, or there is only one chunk.
    """
    edges, labels = np.append(0.0, chunk_ends(result)), curve(result, "labels")
    rows = curve(result, "chunk_rows")
    ax = axes_or_new(ax)
    set_row_axis(ax, result)
    draw_true_drift(ax, result)
    ax.stairs(labels, edges, fill=True, color=SKY, alpha=0.5, linewidth=0.0)
    ax.stairs(labels, edges, baseline=None, color=BLUE, linewidth=0.9, label="labels used")
    if not np.array_equal(labels, rows):
        outline = ax.stairs(rows, edges, baseline=None, color=GREY, linewidth=0.9)
        outline.set(linestyle=":", label="rows of the chunk")
    set_count_axis(ax, labels, rows)
    ax.set_ylabel("training samples\nper chunk")
    legend_above(ax)
    return ax


@styled
def measure_over_time(
    result: Result, measure: str, ax: Axes | None = None, windowed: bool = False
) -> Axes:
    """Any measure of a run, chunk by chunk.

    Parameters
    ----------
    result
        A run, as `devfnn run --json` writes it.
    measure
        A column of its `per_chunk`, such as "kappa" or "model_bytes".
    ax
        Where to draw; a new figure if None.
    windowed
        Draw the mean over the latest chunks instead; not all measures have one.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    InputError
        If there is no such measure, or it was not taken.
    """
    ends = chunk_ends(result)
    values = curve(result, measure, "windowed" if windowed else "per_chunk")
    ax = axes_or_new(ax)
    set_row_axis(ax, result)
    draw_true_drift(ax, result)
    ax.plot(ends, values, color=BLUE, linewidth=1.8 if windowed else 1.0)
    if measure in SHARES:
        set_share_axis(ax, values)
    elif measure in COUNTS:
        set_count_axis(ax, values)
    else:
        ax.yaxis.set_major_locator(MaxNLocator(nbins=6))
        if measure in UNITS:
            ax.set_ylim(0.0, 1.1 * np.nanmax(values) or 1.0)
            ax.yaxis.set_major_formatter(EngFormatter(UNITS[measure]))
    ax.set_ylabel(label(WORDS.get(measure, measure.replace("_", " "))))
    return ax


@styled
def run_overview(result: Result, figure: Figure | None = None) -> Figure:
    """A run at a glance: accuracy, layers, rules and training samples under each other.

    Models without layers and rules have fewer panels.

    Parameters
    ----------
    result
        A run, as `devfnn run --json` writes it.
    figure
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib.figure.Figure
        The figure drawn on, with panels (a) to (d), or those of which something is known.

    Raises
    ------
    InputError
        If nothing was predicted, or there is only one chunk.
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
    figure = new_figure(WIDTH, 3.2 + 1.6 * (len(panels) - 1)) if figure is None else figure
    ratios = (2.0, *(1.0 for _ in panels[1:]))
    (grid,) = figure.subplots(len(panels), 1, sharex=True, height_ratios=ratios, squeeze=False).T
    for letter, ax, (name, draw) in zip("abcd", grid, panels, strict=False):
        draw(result, ax=ax)
        ax.set_title(f"({letter}) {name}", loc="left")
        ax.label_outer()
        if letter != "a":
            _leave_out_drift(ax)
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


def _leave_out_drift(ax: Axes) -> None:
    """Do not name true drift again in the legend."""
    if ax.get_legend() is not None:
        handles = ax.get_legend_handles_labels()[0]
        legend_above(ax, [each for each in handles if each.get_label() != "true drift"])
