"""What figures over the rows of a stream share: the axis, true drift, and marks of events."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator, StrMethodFormatter

from devfnn.figures.columns import Floats, Result, chunk_ends, event_rows, true_drift
from devfnn.figures.style import BLUE, GREEN, GREY, INK, ORANGE, PALE, PURPLE, RED, SKY

MOST_MARKS = 60
"""Events of a kind, or drifts, that are drawn one by one; more of them are drawn as a rug."""

EVENT_MARKS = {
    "DriftFound": ("drift found", "v", RED),
    "DriftWarned": ("drift warning", "d", ORANGE),
    "LayerAdded": ("layer added", "^", GREEN),
    "LayersMerged": ("layers merged", "s", PURPLE),
    "LayerKept": ("layer kept", "P", BLUE),
    "LayerRecalled": ("layer recalled", "*", SKY),
    "LayerDropped": ("layer dropped", "X", GREY),
}
"""Kinds of events that are marked: what they are called, their shape and colour."""

LANE = 0.06
"""Height of the lane in which the events of a kind are marked, as a share of the axes."""

PERCENT: Formatter = FuncFormatter(lambda share, _: f"{round(100.0 * share, 6):g} %")
COUNT: Formatter = StrMethodFormatter("{x:,.0f}")


class ShareLocator(MaxNLocator):
    """Ticks only where a share can be, and not beside the lanes of the events.

    Parameters
    ----------
    lowest
        Where ticks begin.
    """

    def __init__(self, lowest: float) -> None:
        super().__init__(nbins=7, steps=[1, 2, 2.5, 5, 10])
        self.lowest = max(lowest, 0.0)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Nice values."""
        ticks = np.asarray(super().tick_values(vmin, vmax))
        return [float(tick) for tick in ticks if self.lowest - 1e-9 <= tick <= 1.0 + 1e-9]


def set_row_axis(ax: Axes, result: Result) -> None:
    """Let x be the rows of the stream, with faint lines across."""
    ax.set_xlim(0.0, chunk_ends(result)[-1])
    ax.xaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10], integer=True))
    ax.xaxis.set_major_formatter(COUNT)
    ax.set_xlabel("rows of the stream")
    ax.grid(axis="y", color=PALE, linewidth=0.5)


def draw_true_drift(ax: Axes, result: Result, on_colours: bool = False) -> None:
    """A dashed line wherever a new concept begins; a rug at the top if these are very many.

    Parameters
    ----------
    ax
        Axes whose x is rows.
    result
        A run, as plain data.
    on_colours
        Whether the lines must be seen on coloured areas.
    """
    rows = true_drift(result)
    if not len(rows):
        return
    is_rug = len(rows) > MOST_MARKS
    lines = ax.vlines(
        rows,
        0.97 if is_rug else 0.0,
        1.0,
        transform=ax.get_xaxis_transform(),
        colors=INK if on_colours else GREY,
        linewidth=0.6 if is_rug else 0.9,
        linestyles="solid" if is_rug else "dashed",
        label="true drift",
        zorder=2.5 if on_colours else 1.5,
    )
    if on_colours:
        lines.set_path_effects([withStroke(linewidth=2.4, foreground="white")])


def draw_events(ax: Axes, result: Result) -> int:
    """Mark what happened to the structure in lanes along the bottom; gives the number of lanes."""
    happened = {kind: event_rows(result, kind) for kind in EVENT_MARKS}
    happened = {kind: rows for kind, rows in happened.items() if len(rows)}
    for place, (kind, rows) in enumerate(happened.items(), start=1):
        name, shape, colour = EVENT_MARKS[kind]
        is_rug = len(rows) > MOST_MARKS
        ax.plot(
            rows,
            np.full(len(rows), (len(happened) - place + 0.6) * LANE),
            linestyle="none",
            marker="|" if is_rug else shape,
            markersize=5.0,
            markeredgewidth=0.6,
            markeredgecolor=colour if is_rug else "white",
            markerfacecolor=colour,
            color=colour,
            label=name,
            transform=ax.get_xaxis_transform(),
            clip_on=False,
            zorder=3.0,
        )
    return len(happened)


def set_share_axis(ax: Axes, values: Floats, n_lanes: int = 0) -> None:
    """Let y be a share in percent, all values visible above the lanes of the events."""
    finite = values[np.isfinite(values)]
    low, high = float(finite.min()), float(finite.max())
    below = 0.05 + LANE * n_lanes
    height = max(high - low, 0.02) / (0.95 - below)
    ax.set_ylim(low - below * height, low + (1.0 - below) * height)
    lanes = LANE * n_lanes * height if n_lanes else 0.0
    ax.yaxis.set_major_locator(ShareLocator(ax.get_ylim()[0] + lanes))
    ax.yaxis.set_major_formatter(PERCENT)


def set_count_axis(ax: Axes, *curves: Floats) -> None:
    """Let y be counts from 0 on."""
    highest = max(float(np.nanmax(values)) for values in curves)
    ax.set_ylim(0.0, max(1.1 * highest, 1.0))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10], integer=True))
    ax.yaxis.set_major_formatter(COUNT)
