"""The explanation of a prediction: what each feature adds to the score of a class."""

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from devfnn.errors import InputError
from devfnn.figures import style
from devfnn.figures.style import axes_or_new, class_label, label, legend_above, styled
from devfnn.formatting import percent, plural

if TYPE_CHECKING:
    from devfnn.model.explanation import Explanation

MOST_STEPS = 10
"""Inputs that have a bar of their own unless told otherwise."""

LINE_HEIGHT, MARGINS = 0.24, 0.9
"""Inches that a bar takes, and all else."""

THICKNESS = 0.62
"""Share of its line that a bar fills."""


@styled
def contribution_bars(
    explanation: "Explanation",
    about: Hashable | None = None,
    ax: Axes | None = None,
    most: int = MOST_STEPS,
) -> Axes:
    """The score of a class in steps: the usual score, what each feature adds, and their sum.

    `about` is the class, by default the predicted one. The inputs that add most have bars of their
    own, the others share one.
    """
    names, added = _steps(explanation, about, most)
    stops = np.cumsum(added)
    if not np.isfinite(stops).all():
        raise InputError("the explanation has numbers that are not finite: it cannot be drawn")
    colours = [style.BLUE if width > 0.0 else style.RED for width in added[1:]]
    legend = [
        Patch(color=colour, label=name)
        for colour, name in ((style.BLUE, "raises it"), (style.RED, "lowers it"))
        if colour in colours
    ]
    names, colours = ["usually", *names, "together"], [style.GREY, *colours, style.INK]
    starts, stops = np.array([0.0, *stops[:-1], 0.0]), np.append(stops, stops[-1])
    low, high = min(*starts, *stops), max(*starts, *stops)
    reach = high - low or 1.0
    ax = axes_or_new(ax, style.WIDTH, MARGINS + LINE_HEIGHT * len(names))
    ax.barh(range(len(names)), stops - starts, THICKNESS, starts, color=colours, zorder=3.0)
    for place, width in enumerate(stops - starts):
        is_right = width >= 0.0
        ax.text(
            stops[place] + (0.012 if is_right else -0.012) * reach,
            place,
            f"{width:+.2f}".replace("-", "\N{MINUS SIGN}"),
            ha="left" if is_right else "right",
            va="center",
            fontsize=style.SMALL,
            fontweight="bold" if place == len(names) - 1 else "normal",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            zorder=2.5,
        )
    # Thin lines lead from the end of a bar to the next.
    places = np.arange(len(names) - 1)
    gap = (places + THICKNESS / 2.0, places + 1.0 - THICKNESS / 2.0)
    ax.vlines(stops[:-1], *gap, colors=style.GREY, linewidth=0.7, zorder=2.0)
    ax.axvline(0.0, color=style.INK, linewidth=0.8, zorder=1.5)
    room = 0.15 * reach  # for numbers
    ax.set(xlim=(low - room, high + room), ylim=(len(names) - 0.4, -0.6))
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis="y", length=0.0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x", color=style.PALE, linewidth=0.5)
    ax.set_xlabel(_axis_label(explanation, about))
    if legend:
        legend_above(ax, legend)
    return ax


def _steps(
    explanation: "Explanation", about: Hashable | None, most: int
) -> tuple[list[str], list[float]]:
    """Names of inputs, and what is usual and what each input adds, the others together."""
    added = {name: value for name, value in explanation.contributions(about).items() if value}
    values = dict(zip(explanation.features, explanation.values.tolist(), strict=True))
    shown, others = list(added)[: max(most, 0)], list(added)[max(most, 0) :]
    # Outputs of other layers have no value.
    names = [
        f"{label(name)} = {values[name]:.4g}" if name in values else label(name) for name in shown
    ]
    steps = [explanation.usually(about), *(added[name] for name in shown)]
    if others:
        names.append(plural(len(others), "other"))
        steps.append(sum(added[name] for name in others))
    return names, steps


def _axis_label(explanation: "Explanation", about: Hashable | None) -> str:
    """What the numbers are."""
    place, labels = explanation.place_of(about), explanation.labels
    kinds = {layer.output_is for layer in explanation.layers}
    what = "score" if kinds == {"scores"} else "log odds"
    others = "" if len(labels) < 2 else ", against the other classes"
    if len(labels) == 2:
        others = f", against {class_label(labels[1 - place])}"
    share = percent(float(explanation.probabilities[place]), 0)
    return f"{what} of {class_label(labels[place])}{others} (probability {share})"
