"""What a run predicted: classes that it confuses, and how well its confidence is calibrated."""

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator

from devfnn.errors import InputError
from devfnn.figures import style
from devfnn.figures.style import axes_or_new, figure_of, label, styled
from devfnn.figures.timeline import PERCENT, Floats, Result, run_name
from devfnn.formatting import percent

MOST_COUNTS = 12
"""Classes up to which the rows of every cell are written into it."""

MOST_SHARES = 5
"""Classes up to which there is room for the share as well."""

MOST_CLASSES = 40
"""Classes that are named; of more, every second, third, ..."""


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
    ax.plot(
        confidence[filled],
        accuracy[filled],
        color=style.BLUE,
        linewidth=1.4,
        marker="o",
        markersize=4.5,
        label="accuracy",
    )
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.02), xlabel="confidence", ylabel="accuracy; share of rows")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MultipleLocator(0.2))
        axis.set_major_formatter(PERCENT)
    ax.grid(color=style.PALE, linewidth=0.5)
    ax.set_title(f"calibration error {percent(result.get('calibration_error'), 1)}", loc="left")
    ax.legend(loc="upper left", handlelength=1.8)
    return ax
