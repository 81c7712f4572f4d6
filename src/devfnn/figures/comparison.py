"""Models side by side: which ones cannot be told apart, and what accuracy costs in speed."""

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from devfnn.errors import InputError
from devfnn.figures.columns import Floats
from devfnn.figures.diagram import draw_diagram, sheet_of
from devfnn.figures.style import (
    BLUE,
    GREY,
    PALE,
    SMALL,
    WIDTH,
    axes_or_new,
    figure_of,
    label,
    shortened,
    styled,
    text_width,
)
from devfnn.figures.timeline import PERCENT

if TYPE_CHECKING:
    from devfnn.evaluation.ranking import Ranking

DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
"""Where the name of a point may stand, the best place first."""

DISTANCES = (6.0, 12.0, 20.0, 30.0, 42.0, 56.0)
"""How far away from it, in points."""


class Standing(NamedTuple):
    """A model in two numbers, means over the same streams as all others."""

    model: str
    accuracy: float
    rows_per_second: float


@styled
def critical_difference(ranking: "Ranking", ax: Axes | None = None) -> Axes:
    """Mean ranks of models on a scale; bars join those that cannot be told apart (Demšar, 2006).

    Parameters
    ----------
    ranking
        What `devfnn.evaluation.rank` says about at least two models.
    ax
        Where to draw; a new figure, as large as needed, if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; its units are points.

    Raises
    ------
    InputError
        If there are fewer than two models.
    """
    if len(ranking.models) < 2:
        raise InputError(
            f"a ranking of {len(ranking.models)} has no differences: compare at least two models"
        )
    sheet = sheet_of(ranking, ax)
    draw_diagram(sheet, ranking)
    return sheet.ax


@styled
def accuracy_against_speed(cells: Sequence[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Accuracy of models against their speed; a line joins those that no other beats in both.

    Parameters
    ----------
    cells
        Cells of a comparison, as `devfnn compare --json` writes them. Means are taken over seeds,
        then over the streams that all models have in common.
    ax
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    InputError
        If no stream has accuracy and speed of all models.
    """
    standings, n_streams = _standings(cells)
    is_new = ax is None
    speeds = np.array([each.rows_per_second for each in standings])
    rates = np.array([each.accuracy for each in standings])
    ax = axes_or_new(ax, WIDTH, 4.2)
    _set_axes(ax, speeds, rates)
    streams = "1 stream" if n_streams == 1 else f"{n_streams} streams"
    ax.set_ylabel(f"accuracy, mean over {streams}")
    front = _undefeated(speeds, rates)
    ax.plot(
        speeds[front],
        rates[front],
        drawstyle="steps-pre",
        color=GREY,
        linewidth=0.9,
        linestyle="--",
        zorder=1.5,
        label="no model is faster and better" if len(front) > 1 else None,
    )
    is_front = np.isin(np.arange(len(standings)), front)
    faces = [BLUE if each else "white" for each in is_front]
    ax.scatter(speeds, rates, s=30.0, c=faces, edgecolors=BLUE, linewidths=1.1, zorder=3.0)
    if len(front) > 1:
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1)
    if is_new:
        figure_of(ax).draw_without_rendering()  # only now it is known how large the axes are
    _name_points(ax, standings, front)
    return ax


def _standings(cells: Sequence[Mapping[str, Any]]) -> tuple[list[Standing], int]:
    """Every model in two numbers, and how many streams they are from."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for cell in cells:
        rate, speed = cell.get("accuracy_mean"), cell.get("rows_per_second")
        streams = found.setdefault(str(cell["model"]), {})
        if rate is not None and speed is not None and speed > 0.0:
            streams.setdefault(str(cell["stream"]), []).append((rate, np.log(speed)))
    if not found:
        raise InputError("there are no cells to compare: give those of `devfnn compare --json`")
    shared = set.intersection(*(set(streams) for streams in found.values()))
    if not shared:
        raise InputError(
            "no stream has accuracy and speed of all models: compare them on the same streams"
        )
    standings = []
    for model, streams in found.items():
        means = np.mean([np.mean(streams[stream], axis=0) for stream in sorted(shared)], axis=0)
        standings.append(Standing(model, float(means[0]), float(np.exp(means[1]))))
    return standings, len(shared)


def _undefeated(speeds: Floats, rates: Floats) -> list[int]:
    """Models that no other beats in speed and accuracy, the slowest first."""
    best, front = -np.inf, []
    for place in np.lexsort((-rates, -speeds)):
        if rates[place] > best:
            best = rates[place]
            front.append(int(place))
    return front[::-1]


def _set_axes(ax: Axes, speeds: Floats, rates: Floats) -> None:
    """Speed on a logarithmic scale, with room for names around the points."""
    ax.set_xscale("log")
    low, high = np.log10(speeds.min()), np.log10(speeds.max())
    room = max(0.14 * (high - low), 0.15)
    ax.set_xlim(10.0 ** (low - room), 10.0 ** (high + room))
    height = max(float(np.ptp(rates)), 0.01)
    ax.set_ylim(rates.min() - 0.1 * height, rates.max() + 0.1 * height)
    subs = (1.0, 2.0, 5.0) if high - low + 2.0 * room < 3.0 else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(subs=subs))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda speed, _: f"{speed:,.0f}" if speed >= 1.0 else f"{speed:g}")
    )
    ax.yaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(PERCENT)
    ax.set_xlabel("rows per second, geometric mean")
    ax.grid(color=PALE, linewidth=0.5)


def _name_points(ax: Axes, standings: Sequence[Standing], front: Sequence[int]) -> None:
    """A name beside every point, none over another name, a point or the line."""
    models = [each.model for each in standings]
    places = np.array([(each.rows_per_second, each.accuracy) for each in standings])
    scale = 72.0 / ax.figure.dpi
    points = ax.transData.transform(places) * scale
    edges = ax.get_window_extent().get_points() * scale
    taken = [_box(point, (0.0, 0.0), (9.0, 9.0)) for point in points]
    taken += _line_boxes(points[list(front)])
    for place in np.argsort(-points[:, 1]):
        size = (text_width(shortened(models[place]), SMALL) + 2.0, SMALL + 2.0)
        offset = _free_place(points[place], size, taken, edges)
        taken.append(_box(points[place], offset, size))
        gaps = np.maximum(np.abs(offset) - np.array(size) / 2.0, 0.0)
        is_far = np.hypot(*gaps) > 1.5 * DISTANCES[0]
        ax.annotate(
            label(models[place]),
            tuple(places[place]),
            xytext=tuple(offset),
            textcoords="offset points",
            ha="center",
            va="center_baseline",
            fontsize=SMALL,
            zorder=4.0,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.5} if is_far else None,
        )


def _free_place(
    point: Floats, size: tuple[float, float], taken: Sequence[Floats], edges: Floats
) -> Floats:
    """Middle of a name, from the point, where it covers least of what is there."""
    best, least = np.zeros(2), np.inf
    for distance in DISTANCES:
        for across, up in DIRECTIONS:
            step = distance / np.hypot(across, up)
            sides = np.array([across, up]) * (np.array([step, step]) + np.array(size) / 2.0)
            box = _box(point, sides, size)
            covered = sum(_shared_area(box, other) for other in taken)
            outside = size[0] * size[1] - _shared_area(box, edges)
            if covered + outside < least - 1e-9:
                best, least = sides, covered + outside
        if least == 0.0:
            break
    return best


def _box(point: Floats, offset: Sequence[float] | Floats, size: tuple[float, float]) -> Floats:
    """Lower left and upper right corner of a box around a point."""
    middle = point + np.asarray(offset)
    half = np.asarray(size) / 2.0
    return np.array([middle - half, middle + half])


def _line_boxes(front: Floats) -> list[Floats]:
    """Boxes around the steps of the line through the undefeated models."""
    boxes = []
    for start, end in itertools.pairwise(front):
        corner = np.array([start[0], end[1]])
        boxes.append(np.array([corner - 1.5, start + 1.5]))
        boxes.append(np.array([corner - 1.5, end + 1.5]))
    return boxes


def _shared_area(one: Floats, other: Floats) -> float:
    sides = np.minimum(one[1], other[1]) - np.maximum(one[0], other[0])
    return float(np.prod(np.maximum(sides, 0.0)))
