"""Runs: measures, layers, rules and features over time, and what was predicted."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import EngFormatter, MaxNLocator, MultipleLocator

from devfnn.arrays import Floats
from devfnn.errors import InputError
from devfnn.evaluation.measures import SHARES
from devfnn.figures import style, timeline
from devfnn.figures.style import axes_or_new, figure_of, label, legend_above, new_figure, styled
from devfnn.figures.timeline import PERCENT, Result, chunk_ends, curve, lists, run_name
from devfnn.formatting import percent

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

STATES = {
    "votes": ("works", USED),
    "on trial": ("on trial", style.ORANGE),
    "waits": ("waits for its concept", style.GREY),
    "rests": ("rests", style.PALE),
    "merged": ("merged", style.PURPLE),
}
"""What a layer does: name and colour."""

MOST_COUNTS = 12
"""Classes up to which the rows of every cell are written into it."""

MOST_SHARES = 5
"""Classes up to which there is room for the share as well."""

MOST_CLASSES = 40
"""Classes that are named; of more, every second, third, ..."""


@styled
def rate_over_time(result: Result, ax: Axes | None = None) -> Axes:
    """Accuracy of a run, with true drift and marks for drift found, warnings and new layers."""
    ends, accuracy = chunk_ends(result), curve(result, "accuracy")
    has_window = "accuracy" in (result.get("windowed") or {})
    ax = timeline.row_axes(result, ax, 3.0)
    colour = style.SKY if has_window else style.BLUE
    n_chunks = result.get("chunks_per_point")
    each = f"each {n_chunks} chunks" if n_chunks else "each chunk"
    ax.plot(ends, accuracy, color=colour, linewidth=0.7, label=each)
    if has_window:
        windowed = curve(result, "accuracy", "windowed")
        name = f"latest {result['windowed'].get('chunks', '')} chunks".replace("  ", " ")
        ax.plot(ends, windowed, color=style.BLUE, linewidth=1.8, label=name)
        accuracy = np.concatenate([accuracy, windowed])
    timeline.draw_true_drift(ax, result)
    timeline.set_share_axis(ax, accuracy, timeline.draw_events(ax, result))
    ax.set_ylabel("accuracy")
    legend_above(ax)
    return ax


@styled
def layers_over_time(result: Result, ax: Axes | None = None) -> Axes:
    """Layers that vote and all layers, as steps."""
    ends = chunk_ends(result)
    live, total = curve(result, "layers"), curve(result, "layers_total")
    ax = timeline.row_axes(result, ax)
    timeline.draw_true_drift(ax, result)
    how: dict[str, Any] = {"linewidth": 1.6, "drawstyle": "steps-post"}
    ax.plot(ends, total, color=style.ORANGE, label="all layers", **how)
    ax.plot(ends, live, color=style.BLUE, label="layers that vote", **how)
    timeline.set_count_axis(ax, np.append(live, total))
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
    ax = timeline.row_axes(result, ax)
    timeline.draw_true_drift(ax, result)
    ax.stairs(labels, edges, fill=True, color=style.SKY, alpha=0.5, linewidth=0.0)
    ax.stairs(labels, edges, baseline=None, color=style.BLUE, linewidth=0.9, label="labels used")
    if not np.array_equal(labels, rows):
        outline = ax.stairs(rows, edges, baseline=None, color=style.GREY, linewidth=0.9)
        outline.set(linestyle=":", label="rows of the chunk")
    timeline.set_count_axis(ax, np.append(labels, rows))
    n_chunks = result.get("chunks_per_point")
    per = f"per {n_chunks} chunks" if n_chunks else "per chunk"
    ax.set_ylabel(f"training samples\n{per}")
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
    ax = timeline.row_axes(result, ax)
    timeline.draw_true_drift(ax, result)
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
    ax = timeline.row_axes(longest, ax, 3.0)
    if len({tuple(each[0].get("drift_positions") or ()) for each in runs.values()}) == 1:
        timeline.draw_true_drift(ax, longest)
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
        timeline.set_share_axis(ax, values)
    elif measure in COUNTS:
        timeline.set_count_axis(ax, values)
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
    n_layers = shares.shape[1]
    is_few = n_layers <= len(style.PALETTE)
    shades = matplotlib.colormaps["viridis"](np.linspace(0.0, 1.0, n_layers))
    colours = style.PALETTE if is_few else tuple(map(to_hex, shades))
    ax = timeline.row_axes(result, ax, 2.8)
    names = [f"layer {layer}" for layer in range(n_layers)]
    how: dict[str, Any] = {"step": "post", "edgecolor": "white", "linewidth": 0.4}
    ax.stackplot(ends, shares.T, labels=names, colors=colours, **how)
    timeline.draw_true_drift(ax, result, on_colours=True)
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
    return np.asarray(table / np.where(totals > 0.0, totals, np.nan))


@styled
def feature_mask(result: Result, ax: Axes | None = None) -> Axes:
    """Which features the model used when, one line for each; white where it is not known."""
    mask = _mask(result)
    ax = _strips(result, mask, result.get("feature_names") or [], [LEFT_OUT, USED], ax)
    _name_states(ax, mask)
    return ax


@styled
def layers_at_work(result: Result, ax: Axes | None = None) -> Axes:
    """Which layers worked when, one line for each; white where there was none.

    Dear layers rest when answers are as good without them, and show themselves on trial.
    """
    states, known = lists(result, "layer_states"), list(STATES)
    table = np.full((max(len(each or ()) for each in states), len(states)), np.nan)
    for chunk, each in enumerate(states):
        for layer, state in enumerate(each or ()):
            table[layer, chunk] = np.nan if state is None else known.index(state)
    names = {each["layer"]: each["name"] for each in result.get("standings") or ()}
    named = [f"{names.get(layer, 'layer')} {layer}" for layer in range(len(table))]
    ax = _strips(result, table, named, [colour for _, colour in STATES.values()], ax)
    seen = [place for place in range(len(STATES)) if (table == place).any()]
    shown = [STATES[known[place]] for place in seen]
    legend_above(ax, [Patch(facecolor=colour, label=name) for name, colour in shown])
    return ax


def _strips(
    result: Result, table: Floats, names: Sequence[str], colours: list[str], ax: Axes | None
) -> Axes:
    """Lines of coloured pieces, one for each row of a table of numbers of colours; NaN is white."""
    edges, n_lines = np.append(0.0, chunk_ends(result)), len(table)
    ax = axes_or_new(ax, style.WIDTH, 1.0 + 0.18 * min(max(n_lines, 3), MOST_NAMES))
    how: dict[str, Any] = {"vmin": 0, "vmax": len(colours) - 1, "rasterized": True}
    image, shades = np.ma.masked_invalid(table), ListedColormap(colours)
    ax.pcolormesh(edges, np.arange(n_lines + 1), image, cmap=shades, **how)
    timeline.row_axes(result, ax)
    ax.grid(visible=False)
    if n_lines <= MOST_NAMES:  # lines between them, so that a table of one colour has rows
        ax.hlines(np.arange(1, n_lines), 0.0, edges[-1], colors="white", linewidth=1.2)
    ax.set_ylim(n_lines, 0)
    places = np.arange(0, n_lines, -(-n_lines // MOST_NAMES))
    size = style.SMALL if n_lines <= MOST_NAMES // 2 else style.SMALL - 1.5
    ax.set_yticks(places + 0.5, [label(names[place]) for place in places.tolist()])
    ax.tick_params(axis="y", length=0.0, labelsize=size)
    timeline.draw_true_drift(ax, result, on_colours=True)
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


# ---- classes that a run confuses, and how well its confidence is calibrated


@styled
def confusion_matrix(result: Result, ax: Axes | None = None) -> Axes:
    """Rows by true and predicted class; colours are shares of the true class, grey if empty."""
    counts, names = _confusion(result)
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, where=totals > 0, out=np.full(counts.shape, np.nan))
    n_classes = len(counts)
    side = min(max(2.6 + 0.3 * n_classes, 3.4), 8.0)
    is_new = ax is None
    ax = axes_or_new(ax, side + 1.0, side)
    if is_new:
        figure_of(ax).set_layout_engine("compressed")  # else square cells cut off the labels
    ax.spines[:].set_visible(False)
    colours = matplotlib.colormaps["Blues"].with_extremes(bad=style.PALE)
    image = ax.imshow(np.ma.masked_invalid(shares), cmap=colours, vmin=0.0, vmax=1.0)
    _name_classes(ax, names)
    # Inside the axes it keeps their height, whatever becomes of the layout.
    beside = ax.inset_axes((1.0 + 0.25 / side, 0.0, 0.2 / side, 1.0))
    bar = ax.figure.colorbar(image, cax=beside, format=PERCENT)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=style.SMALL, color=style.GREY)
    bar.set_label("share of the true class")
    if n_classes <= MOST_COUNTS:
        _write_counts(ax, counts, shares)
    return ax


def _confusion(result: Result) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Rows by true and predicted class, and the names of the classes."""
    content = result.get("confusion")
    counts = np.asarray(content if content else np.zeros((0, 0)))
    if not counts.sum():
        raise InputError(
            f"{run_name(result)} has no predictions to count: its first chunk is only learned, "
            "so run it on more rows"
        )
    names = result.get("class_names") or result.get("classes") or []
    return counts.astype(np.int64), [label(name, 20) for name in names]


def _name_classes(ax: Axes, names: list[str]) -> None:
    """Classes along both axes; rotated if they would overlap."""
    n_classes = len(names)
    places = np.arange(0, n_classes, -(-n_classes // MOST_CLASSES))
    shown = [names[place] for place in places]
    rotation = 90 if n_classes * max(map(len, shown)) > 40 else 0
    size = style.SMALL if n_classes <= MOST_COUNTS else style.SMALL - 2.0
    ax.set_yticks(places, shown)
    ax.set_xticks(places, shown, rotation=rotation)
    ax.tick_params(length=0.0, labelsize=size)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    edges = np.arange(1, n_classes) - 0.5
    width = 1.0 if n_classes <= MOST_COUNTS else 0.4
    ax.hlines(edges, -0.5, n_classes - 0.5, colors="white", linewidth=width)
    ax.vlines(edges, -0.5, n_classes - 0.5, colors="white", linewidth=width)


def _write_counts(ax: Axes, counts: npt.NDArray[np.int64], shares: Floats) -> None:
    """The number of rows in every cell, as large as fits."""
    n_classes = len(counts)
    longest = max(len(f"{count:,}") for count in counts.flat)
    extent = ax.get_window_extent()
    cell = min(extent.width, extent.height) * 72.0 / ax.figure.dpi / n_classes
    size = float(np.clip(0.8 * cell / (0.62 * longest), 4.0, style.SMALL + 1.0))
    has_shares = n_classes <= MOST_SHARES and cell > 4.0 * size
    for (true, predicted), count in np.ndenumerate(counts):
        share = shares[true, predicted]
        text = f"{count:,}"
        if has_shares and np.isfinite(share):
            text += f"\n{percent(float(share), 1)}"
        colour = "white" if share > 0.55 else style.INK
        ax.text(predicted, true, text, ha="center", va="center", fontsize=size, color=colour)


@styled
def reliability_curve(result: Result, ax: Axes | None = None) -> Axes:
    """Accuracy by confidence, and the share of rows with that confidence.

    Above the diagonal the model was underconfident, below it overconfident.
    """
    calibration = result.get("calibration") or {"rows": []}
    if not sum(calibration["rows"]):
        raise InputError(
            f"{run_name(result)} has no calibration: it needs a model that gives probabilities, "
            "and more than one chunk"
        )
    rows, edges, confidence, accuracy = (
        np.array(calibration[name], np.float64)  # None becomes NaN
        for name in ("rows", "edges", "confidence", "accuracy")
    )
    filled = rows > 0
    ax = axes_or_new(ax, 4.2, 4.2)
    ax.stairs(rows / rows.sum(), edges, fill=True, color=style.PALE, label="share of rows")
    ax.plot([0.0, 1.0], [0.0, 1.0], color=style.GREY, linewidth=0.9, linestyle="--", label="ideal")
    points = confidence[filled], accuracy[filled]
    ax.plot(*points, "o-", color=style.BLUE, linewidth=1.4, markersize=4.5, label="accuracy")
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.02), xlabel="confidence", ylabel="accuracy; share of rows")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MultipleLocator(0.2))
        axis.set_major_formatter(PERCENT)
    ax.grid(color=style.PALE, linewidth=0.5)
    ax.set_title(f"calibration error {percent(result.get('calibration_error'), 1)}", loc="left")
    ax.legend(loc="upper left", handlelength=1.8)
    return ax
