"""How good a run was: which classes it mixed up, and how far its confidence can be trusted."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator

from devfnn.errors import InputError
from devfnn.figures.columns import Floats, Result, run_name
from devfnn.figures.style import BLUE, GREY, INK, PALE, SMALL, axes_or_new, figure_of, label, styled
from devfnn.figures.timeline import PERCENT

MOST_COUNTS = 12
"""Classes up to which the rows of every cell are written into it."""

MOST_SHARES = 5
"""Classes up to which there is room for the share as well."""

MOST_CLASSES = 40
"""Classes that are named; of more, every so many."""


@styled
def confusion_matrix(result: Result, ax: Axes | None = None) -> Axes:
    """What was predicted for the rows of each class; colours are shares of the true class.

    Parameters
    ----------
    result
        A run, as `devfnn run --json` writes it.
    ax
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; grey lines are classes that never came.

    Raises
    ------
    InputError
        If no row was scored.
    """
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
    colours = matplotlib.colormaps["Blues"].with_extremes(bad=PALE)
    image = ax.imshow(np.ma.masked_invalid(shares), cmap=colours, vmin=0.0, vmax=1.0)
    _name_classes(ax, names)
    # Inside the axes it keeps their height, whatever becomes of the layout.
    beside = ax.inset_axes((1.0 + 0.25 / side, 0.0, 0.2 / side, 1.0))
    bar = ax.figure.colorbar(image, cax=beside, format=PERCENT)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL, color=GREY)
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
            f"{run_name(result)} holds no predictions to count: its first chunk only trains, "
            "so run it on more rows"
        )
    names = result.get("class_names") or result.get("classes") or []
    if counts.shape != (len(names), len(names)):
        raise InputError(
            f"{run_name(result)} has {len(names)} classes and a confusion matrix of "
            f"{' x '.join(map(str, counts.shape))}: the result is damaged, so run it again"
        )
    return counts.astype(np.int64), [label(name, 20) for name in names]


def _name_classes(ax: Axes, names: list[str]) -> None:
    """Classes along both axes; turned if they would run into each other."""
    n_classes = len(names)
    places = np.arange(0, n_classes, -(-n_classes // MOST_CLASSES))
    shown = [names[place] for place in places]
    is_turned = n_classes * max(map(len, shown)) > 40
    size = SMALL if n_classes <= MOST_COUNTS else SMALL - 2.0
    ax.set_yticks(places, shown)
    ax.set_xticks(places, shown)
    if is_turned:
        ax.set_xticks(places, shown, rotation=90)
    ax.tick_params(length=0.0, labelsize=size)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    edges = np.arange(1, n_classes) - 0.5
    width = 1.0 if n_classes <= MOST_COUNTS else 0.4
    ax.hlines(edges, -0.5, n_classes - 0.5, colors="white", linewidth=width)
    ax.vlines(edges, -0.5, n_classes - 0.5, colors="white", linewidth=width)


def _write_counts(ax: Axes, counts: npt.NDArray[np.int64], shares: Floats) -> None:
    """Rows of every cell, as large as they fit."""
    n_classes = len(counts)
    longest = max(len(f"{count:,}") for count in counts.flat)
    extent = ax.get_window_extent()
    cell = min(extent.width, extent.height) * 72.0 / ax.figure.dpi / n_classes
    size = float(np.clip(0.8 * cell / (0.62 * longest), 4.0, SMALL + 1.0))
    has_shares = n_classes <= MOST_SHARES and cell > 4.0 * size
    for (true, predicted), count in np.ndenumerate(counts):
        share = shares[true, predicted]
        text = f"{count:,}"
        if has_shares and np.isfinite(share):
            text += f"\n{100.0 * share:.1f} %"
        colour = "white" if share > 0.55 else INK
        ax.text(predicted, true, text, ha="center", va="center", fontsize=size, color=colour)


@styled
def reliability_curve(result: Result, ax: Axes | None = None) -> Axes:
    """How often the model was right when it was this confident; bars show the share of rows.

    Parameters
    ----------
    result
        A run, as `devfnn run --json` writes it.
    ax
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on. Above the diagonal the model was too modest, below it too sure.

    Raises
    ------
    InputError
        If the model gives no probabilities, or no row was scored.
    """
    calibration = result.get("calibration")
    rows = _numbers(calibration, "rows") if calibration else np.zeros(0)
    if not calibration or not rows.sum():
        raise InputError(
            f"{run_name(result)} holds no calibration: it needs a model that gives probabilities, "
            "and more than one chunk"
        )
    edges, confidence, accuracy = (
        _numbers(calibration, name) for name in ("edges", "confidence", "accuracy")
    )
    filled = rows > 0
    ax = axes_or_new(ax, 4.2, 4.2)
    ax.stairs(rows / rows.sum(), edges, fill=True, color=PALE, label="share of rows")
    ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linewidth=0.9, linestyle="--", label="ideal")
    ax.plot(
        confidence[filled],
        accuracy[filled],
        color=BLUE,
        linewidth=1.4,
        marker="o",
        markersize=4.5,
        label="accuracy",
    )
    _set_unit_square(ax)
    error = result.get("calibration_error")
    if error is None:
        error = float((rows * np.abs(accuracy - confidence))[filled].sum() / rows.sum())
    ax.set_title(f"calibration error {100.0 * error:.1f} %", loc="left")
    ax.legend(loc="upper left", handlelength=1.8)
    return ax


def _set_unit_square(ax: Axes) -> None:
    """Both axes from 0 to 100 percent."""
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.02), xlabel="confidence", ylabel="accuracy; share of rows")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MultipleLocator(0.2))
        axis.set_major_formatter(PERCENT)
    ax.grid(color=PALE, linewidth=0.5)


def _numbers(calibration: Mapping[str, Any], name: str) -> Floats:
    return np.array([np.nan if value is None else value for value in calibration[name]], np.float64)
