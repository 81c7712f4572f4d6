"""What labels are worth: accuracy against the share of labels that a model has learned."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from devfnn.errors import InputError
from devfnn.figures.style import PALETTE, WIDTH, axes_or_new, label, legend_above, styled
from devfnn.figures.timeline import PERCENT

Result = Mapping[str, Any]


@styled
def accuracy_against_labels(results: Iterable[Result], ax: Axes | None = None) -> Axes:
    """Accuracy of runs with different label budgets against the labels they used.

    Parameters
    ----------
    results
        Results of runs, as `devfnn run --label-budget ... --json` writes them. Runs of one model
        on one stream make one line; several seeds of a budget are points of their own.
    ax
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    InputError
        If no result says how many labels it used.
    """
    lines = _lines(results)
    if not lines:
        raise InputError("no result has both an accuracy and the share of labels it used")
    ax = axes_or_new(ax, WIDTH, 3.2)
    for place, (name, points) in enumerate(lines.items()):
        shares, rates = zip(*points, strict=True)
        colour = PALETTE[place % len(PALETTE)]
        ax.plot(shares, rates, color=colour, marker="o", markersize=4.0, label=label(name))
    ax.set_xlabel("labels used, share of rows")
    ax.set_ylabel("accuracy, mean over chunks")
    ax.xaxis.set_major_formatter(PERCENT)
    ax.yaxis.set_major_formatter(PERCENT)
    ax.set_xlim(left=0.0)
    legend_above(ax)
    return ax


def _lines(results: Iterable[Result]) -> dict[str, Sequence[tuple[float, float]]]:
    """Labels used and accuracy of every run, by model and stream, in the order of labels."""
    found: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        point = result.get("label_fraction"), result.get("accuracy_mean")
        if point[0] is not None and point[1] is not None:
            name = f"{result.get('model')} on {result.get('stream')}"
            found.setdefault(name, []).append((point[0], point[1]))
    return {name: sorted(points) for name, points in found.items()}
