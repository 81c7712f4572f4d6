"""Runs over the rows of their streams: accuracy and other measures, layers, rules, features."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import EngFormatter, MaxNLocator

from devfnn.errors import InputError
from devfnn.figures import style
from devfnn.figures.style import axes_or_new, label, legend_above, new_figure, styled
from devfnn.figures.timeline import (
    PERCENT,
    Floats,
    Result,
    chunk_ends,
    curve,
    draw_events,
    draw_true_drift,
    lists,
    row_axes,
    run_name,
    set_count_axis,
    set_share_axis,
)
from devfnn.formatting import percent

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

MOST_NAMES = 30
"""Features that are named; of more, every second, third, ..."""

USED, LEFT_OUT, NOT_KNOWN = "#a9cce3", style.RED, "white"


@styled
def rate_over_time(result: Result, ax: Axes | None = None) -> Axes:
    """Accuracy of a run, with true drift and marks for drift found, warnings and new layers."""
    ends, accuracy = chunk_ends(result), curve(result, "accuracy")
    has_window = "accuracy" in (result.get("windowed") or {})
    ax = row_axes(result, ax, 3.0)
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
def layers_over_time(result: Result, ax: Axes | None = None) -> Axes:
    """Layers that vote and all layers, as steps."""
    ends = chunk_ends(result)
    live, total = curve(result, "layers"), curve(result, "layers_total")
    ax = row_axes(result, ax)
    draw_true_drift(ax, result)
    how: dict[str, Any] = {"linewidth": 1.6, "drawstyle": "steps-post"}
    ax.plot(ends, total, color=style.ORANGE, label="all layers", **how)
    ax.plot(ends, live, color=style.BLUE, label="layers that vote", **how)
    set_count_axis(ax, np.append(live, total))
    ax.set_ylabel("layers")
    legend_above(ax)
    return ax


@styled
def rules_over_time(result: Result, ax: Axes | None = None) -> Axes:
    """Rules of the whole model, as steps."""
    ax = measure_over_time(result, "rules", ax)
    ax.lines[-1].set(drawstyle="steps-post", linewidth=1.2)
    return ax


@styled
def training_samples_over_time(result: Result, ax: Axes | None = None) -> Axes:
    """Labels that the model used of each chunk, beside the rows of the chunk."""
    edges, labels = np.append(0.0, chunk_ends(result)), curve(result, "labels")
    rows = curve(result, "chunk_rows")
    ax = row_axes(result, ax)
    draw_true_drift(ax, result)
    ax.stairs(labels, edges, fill=True, color=style.SKY, alpha=0.5, linewidth=0.0)
    ax.stairs(labels, edges, baseline=None, color=style.BLUE, linewidth=0.9, label="labels used")
    if not np.array_equal(labels, rows):
        outline = ax.stairs(rows, edges, baseline=None, color=style.GREY, linewidth=0.9)
        outline.set(linestyle=":", label="rows of the chunk")
    set_count_axis(ax, np.append(labels, rows))
    ax.set_ylabel("training samples\nper chunk")
    legend_above(ax)
    return ax


@styled
def run_overview(result: Result, figure: Figure | None = None) -> Figure:
    """A run at a glance: accuracy, layers, rules and training samples, one panel each.

    Models without layers and rules have fewer panels. Draws on `figure`, or on a new one.
    """
    curve(result, "accuracy")  # before anything is drawn
    panels = [
        (name, draw)
        for name, draw, needed in (
            ("accuracy", rate_over_time, ()),
            ("layers", layers_over_time, ("layers", "layers_total")),
            ("rules", rules_over_time, ("rules",)),
            ("training samples", training_samples_over_time, ("labels", "chunk_rows")),
        )
        if all(set(result["per_chunk"].get(key) or ()) - {None} for key in needed)
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


# ---- any measure, of one run or of several


@styled
def measure_over_time(
    result: Result, measure: str, ax: Axes | None = None, windowed: bool = False
) -> Axes:
    """Any measure of a run, such as "kappa" or "model_bytes", chunk by chunk.

    `windowed` draws the mean over the latest chunks, which not all measures have.
    """
    values = curve(result, measure, "windowed" if windowed else "per_chunk")
    ax = row_axes(result, ax)
    draw_true_drift(ax, result)
    ax.plot(chunk_ends(result), values, color=style.BLUE, linewidth=1.8 if windowed else 1.0)
    _set_measure_axis(ax, measure, values)
    return ax


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
    longest = max((each[0] for each in runs.values()), key=lambda each: chunk_ends(each)[-1])
    ax = row_axes(longest, ax, 3.0)
    if len({tuple(each[0].get("drift_positions") or ()) for each in runs.values()}) == 1:
        draw_true_drift(ax, longest)
    for place, (name, (ends, values)) in enumerate(curves.items()):
        colour = style.PALETTE[place % len(style.PALETTE)]
        dashes = LINE_STYLES[place // len(style.PALETTE) % len(LINE_STYLES)]
        ax.plot(ends, values, color=colour, linestyle=dashes, linewidth=1.4, label=label(name))
    _set_measure_axis(ax, measure, np.concatenate([values for _, values in curves.values()]))
    legend_above(ax)
    return ax


def _mean_curve(results: Sequence[Result], measure: str, part: str) -> tuple[Floats, Floats]:
    """Ends of chunks, and the mean of the results that have the same ones as the first."""
    ends = chunk_ends(results[0])
    same = [each for each in results if np.array_equal(chunk_ends(each), ends)]
    curves = np.ma.masked_invalid([curve(each, measure, part) for each in same])
    means: Floats = curves.mean(axis=0).filled(np.nan)
    return ends, means


def _set_measure_axis(ax: Axes, measure: str, values: Floats) -> None:
    """Let y be a measure with its unit."""
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


def measure_name(measure: str) -> str:
    """A measure as figures and reports call it.

    >>> measure_name("f1"), measure_name("log_loss")
    ('F1', 'log loss')
    """
    return NAMES.get(measure, measure.replace("_", " "))


def runs_by_name(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Runs by model, and by stream and seed if these differ; each run has a name of its own."""
    has_streams, has_seeds = (
        len({each.get(key) for each in results}) > 1 for key in ("stream", "seed")
    )
    names = [
        str(each["model"])
        + (f" on {each['stream']}" if has_streams else "")
        + (f", seed {each.get('seed')}" if has_seeds else "")
        for each in results
    ]
    found = {}
    for index, (name, each) in enumerate(zip(names, results, strict=True)):
        n_before = names[:index].count(name)
        found[f"{name} ({n_before + 1})" if n_before else name] = [each]
    return found


# ---- votes of layers, and features in use


@styled
def voting_weights(result: Result, ax: Axes | None = None) -> Axes:
    """Share of every layer in the vote, as bands; a gap where no layer voted."""
    ends, shares = chunk_ends(result), _voting_shares(result)
    tops = np.cumsum(shares, axis=1)
    n_layers = shares.shape[1]
    is_few = n_layers <= len(style.PALETTE)
    shades = matplotlib.colormaps["viridis"](np.linspace(0.0, 1.0, n_layers))
    colours = style.PALETTE if is_few else tuple(map(to_hex, shades))
    ax = row_axes(result, ax, 2.8)
    for layer in range(n_layers):
        ax.fill_between(
            ends,
            tops[:, layer] - shares[:, layer],
            tops[:, layer],
            step="post",
            facecolor=colours[layer],
            edgecolor="white",
            linewidth=0.4,
            label=f"layer {layer}",
        )
    draw_true_drift(ax, result, on_colours=True)
    ax.grid(visible=False)
    ax.set_ylim(0.0, 1.0)
    ax.yaxis.set_major_formatter(PERCENT)
    ax.set_ylabel("share of the vote")
    if is_few:
        legend_above(ax)
    else:  # a legend would be too large: a scale
        norm = BoundaryNorm(np.arange(n_layers + 1) - 0.5, n_layers)
        scale = ScalarMappable(norm, ListedColormap(colours))
        ticks = MaxNLocator(nbins=8, integer=True)
        bar = ax.figure.colorbar(scale, ax=ax, ticks=ticks, pad=0.02, label="layer")
        bar.ax.minorticks_off()
        bar.ax.tick_params(labelsize=style.SMALL)
        bar.outline.set_visible(False)
    return ax


def _voting_shares(result: Result) -> Floats:
    """Share of each layer for each chunk, (n_chunks, n_layers); NaN where no layer voted."""
    weights = [each or [] for each in lists(result, "voting_weights")]
    table = np.zeros((len(weights), max(map(len, weights))))
    for row, each in zip(table, weights, strict=True):
        row[: len(each)] = [weight or 0.0 for weight in each]
    totals = table.sum(axis=1, keepdims=True)
    if not totals.any():
        raise InputError(
            f"all voting weights of {run_name(result)} are 0: there is no vote to show"
        )
    shares: Floats = table / np.where(totals > 0.0, totals, np.nan)
    return shares


@styled
def feature_mask(result: Result, ax: Axes | None = None) -> Axes:
    """Which features the model used when, one line for each; white where it is not known."""
    edges, mask = np.append(0.0, chunk_ends(result)), _mask(result)
    names = result.get("feature_names") or []
    n_features = len(mask)
    ax = axes_or_new(ax, style.WIDTH, 1.0 + 0.18 * min(max(n_features, 3), MOST_NAMES))
    colours = ListedColormap([LEFT_OUT, USED])
    image = np.ma.masked_invalid(mask)
    ax.pcolormesh(
        edges, np.arange(n_features + 1), image, cmap=colours, vmin=0, vmax=1, rasterized=True
    )
    row_axes(result, ax)
    ax.grid(visible=False)
    if n_features <= MOST_NAMES:  # lines between features, so that a mask of one colour has rows
        ax.hlines(np.arange(1, n_features), 0.0, edges[-1], colors="white", linewidth=1.2)
    ax.set_ylim(n_features, 0)
    places = np.arange(0, n_features, -(-n_features // MOST_NAMES))
    size = style.SMALL if n_features <= MOST_NAMES // 2 else style.SMALL - 1.5
    ax.set_yticks(places + 0.5, [label(names[place]) for place in places])
    ax.tick_params(axis="y", length=0.0, labelsize=size)
    draw_true_drift(ax, result, on_colours=True)
    _name_states(ax, mask)
    return ax


def _mask(result: Result) -> Floats:
    """1 for used, 0 for left out, NaN for not known, (n_features, n_chunks)."""
    masks = lists(result, "feature_mask")
    n_features = max(len(each) for each in masks if each is not None)
    table = [[None] * n_features if each is None else each for each in masks]
    return np.array(table, np.float64).T


def _name_states(ax: Axes, mask: Floats) -> None:
    """A legend of the colours, with their shares of the run."""
    known = np.isfinite(mask)
    share = float(mask[known].mean()) if known.any() else 0.0
    handles = [Patch(facecolor=USED, label=f"used ({percent(share, 0)})")]
    if share < 1.0:
        handles.append(Patch(facecolor=LEFT_OUT, label=f"left out ({percent(1.0 - share, 0)})"))
    if not known.all():
        handles.append(Patch(facecolor=NOT_KNOWN, edgecolor=style.GREY, label="not known"))
    lines = [line for line in ax.collections if line.get_label() == "true drift"]
    legend_above(ax, [*handles, *lines])
