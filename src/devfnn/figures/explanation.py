"""The explanation of a prediction: what each feature adds to the score of a class."""

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

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


class Step(NamedTuple):
    """A bar: what it stands for, and from where to where it goes."""

    name: str
    start: float
    stop: float
    colour: str


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
    steps = steps_of(explanation, about, most)
    if not all(math.isfinite(step.stop) for step in steps):
        raise InputError("the explanation has numbers that are not finite: it cannot be drawn")
    ax = axes_or_new(ax, style.WIDTH, MARGINS + LINE_HEIGHT * len(steps))
    ends = [end for step in steps for end in (step.start, step.stop)]
    reach = max(ends) - min(ends) or 1.0
    for place, step in enumerate(steps):
        _draw(ax, place, step, reach)
    for place, step in enumerate(steps[:-1]):
        below = [place + THICKNESS / 2.0, place + 1.0 - THICKNESS / 2.0]
        ax.plot([step.stop] * 2, below, color=style.GREY, linewidth=0.7, zorder=2.0)
    ax.axvline(0.0, color=style.INK, linewidth=0.8, zorder=1.5)
    room = 0.15 * reach  # for numbers
    ax.set(xlim=(min(ends) - room, max(ends) + room), ylim=(len(steps) - 0.4, -0.6))
    ax.set_yticks(range(len(steps)), [step.name for step in steps])
    ax.tick_params(axis="y", length=0.0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x", color=style.PALE, linewidth=0.5)
    ax.set_xlabel(_axis_label(explanation, about))
    _name_colours(ax, steps)
    return ax


def steps_of(explanation: "Explanation", about: Hashable | None, most: int) -> list[Step]:
    """The bars of an explanation, from top to bottom."""
    added = {name: value for name, value in explanation.contributions(about).items() if value}
    values = dict(zip(explanation.features, explanation.values.tolist(), strict=True))
    names = list(added)[: max(most, 0)]
    parts = [(_with_value(name, values), added[name]) for name in names]
    if n_others := len(added) - len(names):
        rest = math.fsum(value for name, value in added.items() if name not in names)
        parts.append((plural(n_others, "other"), rest))
    at = explanation.usually(about)
    steps = [Step("usually", 0.0, at, style.GREY)]
    for name, value in parts:
        steps.append(Step(name, at, at + value, style.BLUE if value > 0.0 else style.RED))
        at += value
    return [*steps, Step("together", 0.0, at, style.INK)]


def _with_value(name: str, values: dict[str, float]) -> str:
    """An input with its value; outputs of other layers have none."""
    value = f" = {values[name]:.4g}" if name in values else ""
    return f"{label(name)}{value}"


def _draw(ax: Axes, place: int, step: Step, reach: float) -> None:
    """A bar, and its number on the side it points to."""
    bottom, width = place - THICKNESS / 2.0, step.stop - step.start
    ax.add_patch(
        Rectangle((step.start, bottom), width, THICKNESS, facecolor=step.colour, zorder=3.0)
    )
    is_right = width >= 0.0
    ax.text(
        step.stop + (0.012 if is_right else -0.012) * reach,
        place,
        f"{width:+.2f}".replace("-", "\N{MINUS SIGN}"),
        ha="left" if is_right else "right",
        va="center",
        fontsize=style.SMALL,
        color=style.INK,
        fontweight="bold" if step.colour == style.INK else "normal",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        zorder=2.5,
    )


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


def _name_colours(ax: Axes, steps: list[Step]) -> None:
    """A legend of the colours of features, if there are any."""
    colours = {step.colour for step in steps}
    names = {style.BLUE: "raises it", style.RED: "lowers it"}
    handles = [
        Rectangle((0.0, 0.0), 1.0, 1.0, facecolor=colour, label=name)
        for colour, name in names.items()
        if colour in colours
    ]
    if handles:
        legend_above(ax, handles)
