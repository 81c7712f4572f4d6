"""The critical difference diagram, laid out in points so that nothing runs into anything."""

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from devfnn.figures.style import (
    BLUE,
    GREY,
    INK,
    SIZE,
    SMALL,
    WIDTH,
    label,
    new_figure,
    shortened,
    text_width,
)

if TYPE_CHECKING:
    from devfnn.evaluation.ranking import Ranking

MARGIN = 10.0
GAP = 12.0
"""Between the end of a line and the scale, at least."""

SPACE = 5.0
"""Between a line, a rank and a name."""

LINE = 15.0
"""From name to name."""

LEVEL = 7.0
"""From bar to bar."""

NOTE = 2.0 * SMALL + 14.0
"""Room for the note at the bottom."""

TESTS = {"nemenyi": "Nemenyi", "wilcoxon-holm": "Wilcoxon, Holm"}


class Sheet(NamedTuple):
    """Where things go, in points from the lower left corner; these shrink if there is no room."""

    ax: Axes
    width: float
    height: float
    left: float
    """Where the scale begins, at rank 1."""
    right: float
    """Where it ends."""
    unit: float
    """From rank to rank."""
    zoom: float
    """How much the sheet was shrunk to fit."""

    def at(self, rank: float) -> float:
        """Where a rank is on the scale."""
        return self.left + (rank - 1.0) * self.unit

    def draw(self, x: tuple[float, ...], y: tuple[float, ...], width: float, **style: Any) -> None:
        """A line."""
        self.ax.plot(x, y, linewidth=width * self.zoom, solid_capstyle="butt", **style)

    def write(self, x: float, y: float, text: str, size: float = SMALL, **style: Any) -> None:
        """Some text."""
        self.ax.text(x, y, text, fontsize=size * self.zoom, **style)


class Bar(NamedTuple):
    """A group of models that cannot be told apart, from its best to its worst rank."""

    best: float
    worst: float
    level: int


def sheet_of(ranking: "Ranking", ax: Axes | None) -> Sheet:
    """A sheet as large as the diagram needs; in axes that were given, shrunk if need be."""
    n_models = len(ranking.models)
    n_steps = max(n_models - 1.0, ranking.critical_difference or 0.0)
    left, right = _side_widths(ranking)
    width = left + right + max(220.0, 18.0 * n_steps)
    height = 2.0 * MARGIN + _above(ranking) + _below(ranking) + LINE * -(-n_models // 2) + NOTE
    zoom = 1.0
    if ax is None:
        width = max(width, 72.0 * WIDTH)
        figure = new_figure(width / 72.0, height / 72.0)
        figure.set_layout_engine("none")
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    else:
        extent = ax.get_window_extent()
        there = np.array([extent.width, extent.height]) * 72.0 / ax.figure.dpi
        zoom = float(min(1.0, there[0] / width, there[1] / height))
        width, height = there / zoom
    ax.set(xlim=(0.0, width), ylim=(0.0, height))
    ax.set_axis_off()
    return Sheet(ax, width, height, left, width - right, (width - right - left) / n_steps, zoom)


def draw_diagram(sheet: Sheet, ranking: "Ranking") -> None:
    """The scale, the critical difference, the bars, and a line to the name of every model."""
    axis = sheet.height - MARGIN - _above(ranking)
    _draw_scale(sheet, axis, len(ranking.models))
    if ranking.critical_difference is not None:
        _draw_length(sheet, axis + 28.0, ranking.critical_difference)
    for bar in group_bars(ranking):
        height = axis - 9.0 - LEVEL * bar.level
        reach = (sheet.at(bar.best) - 3.0, sheet.at(bar.worst) + 3.0)
        sheet.draw(reach, (height, height), 3.2, color=BLUE, zorder=3.0)
    _draw_models(sheet, axis, ranking)
    _draw_note(sheet, ranking)


def group_bars(ranking: "Ranking") -> list[Bar]:
    """Bars of the groups, on as few levels as keep them apart."""
    ranks = dict(zip(ranking.models, ranking.mean_ranks, strict=True))
    reaches = sorted(
        (min(ranks[each] for each in group), max(ranks[each] for each in group))
        for group in ranking.groups
        if len(group) > 1
    )
    room = 0.03 * len(ranks)
    bars: list[Bar] = []
    for best, worst in reaches:
        level = 0
        while any(bar.level == level and best <= bar.worst + room for bar in bars):
            level += 1
        bars.append(Bar(best, worst, level))
    return bars


def _draw_scale(sheet: Sheet, axis: float, n_models: int) -> None:
    """The axis of ranks, 1 at the left."""
    sheet.draw((sheet.at(1), sheet.at(n_models)), (axis, axis), 1.0, color=INK)
    for rank in range(1, n_models + 1):
        sheet.draw((sheet.at(rank),) * 2, (axis, axis + 5.0), 1.0, color=INK)
        sheet.write(sheet.at(rank), axis + 7.0, str(rank), ha="center", va="bottom")
    for rank in range(1, n_models):
        sheet.draw((sheet.at(rank + 0.5),) * 2, (axis, axis + 3.0), 0.6, color=INK)
    sheet.write(sheet.at(1) - 8.0, axis + 7.0, "best", ha="right", va="bottom", color=GREY)


def _draw_length(sheet: Sheet, height: float, difference: float) -> None:
    """How far apart two ranks must be."""
    start, end = sheet.at(1.0), sheet.at(1.0 + difference)
    sheet.draw((start, end), (height, height), 1.2, color=INK)
    for edge in (start, end):
        sheet.draw((edge, edge), (height - 3.0, height + 3.0), 1.2, color=INK)
    text = f"critical difference {difference:.2f}"
    sheet.write((start + end) / 2.0, height + 4.0, text, ha="center", va="bottom")


def _draw_models(sheet: Sheet, axis: float, ranking: "Ranking") -> None:
    """Lines from the scale to the ranks and names: the better half at the left."""
    better, others = _halves(ranking)
    top = axis - _below(ranking) - LINE / 2.0
    number = _number_width(ranking)
    edges = (sheet.left - GAP, sheet.right + GAP)
    for places, edge, step in ((better, edges[0], -1.0), (others, edges[1], 1.0)):
        for count, place in enumerate(places):
            height = top - LINE * count
            at = sheet.at(ranking.mean_ranks[place])
            sheet.draw((at, at, edge), (axis, height, height), 0.8, color=GREY)
            # Numbers end at the same place, so that their points are under each other.
            end = edge + step * SPACE + (number if step > 0.0 else 0.0)
            rank, name = f"{ranking.mean_ranks[place]:.2f}", label(ranking.models[place])
            sheet.write(end, height, rank, SIZE, ha="right", va="center_baseline")
            start = edge + step * (2.0 * SPACE + number)
            side = "right" if step < 0.0 else "left"
            sheet.write(start, height, name, SIZE, ha=side, va="center_baseline")


def _draw_note(sheet: Sheet, ranking: "Ranking") -> None:
    """What the ranks and bars are based on."""
    words = ["1 stream" if ranking.n_streams == 1 else f"{ranking.n_streams} streams"]
    if ranking.friedman_p is not None:
        p = ranking.friedman_p
        words.append("Friedman p < 0.0001" if p < 0.0001 else f"Friedman p = {p:.4f}")
    joined = "bars join models that do not differ" if group_bars(ranking) else "all models differ"
    test = TESTS.get(ranking.post_hoc, ranking.post_hoc)
    words.append(f"{joined} at {100.0 * ranking.significance:g} % ({test})")
    text = "; ".join(words)
    letter = text_width(text, SMALL) / len(text)
    lines = textwrap.wrap(text, int((sheet.width - 2.0 * MARGIN) / letter))
    middle = sheet.width / 2.0
    bottom = sheet.height - _above(ranking) - _below(ranking) - 2.0 * MARGIN - NOTE
    bottom -= LINE * len(_halves(ranking)[0])
    sheet.write(middle, bottom + MARGIN, "\n".join(lines), ha="center", va="bottom", color=GREY)


def _halves(ranking: "Ranking") -> tuple[list[int], list[int]]:
    """Models at the left from the best on, and at the right from the worst on."""
    order = np.argsort(ranking.mean_ranks, kind="stable").tolist()
    n_left = -(-len(order) // 2)
    return order[:n_left], order[: n_left - 1 : -1]


def _above(ranking: "Ranking") -> float:
    """Room above the axis: numbers, and the critical difference if there is one."""
    return 18.0 if ranking.critical_difference is None else 44.0


def _below(ranking: "Ranking") -> float:
    """Room between the axis and the first name."""
    return 10.0 + LEVEL * max((bar.level + 1 for bar in group_bars(ranking)), default=0)


def _number_width(ranking: "Ranking") -> float:
    return max(text_width(f"{rank:.2f}", SIZE) for rank in ranking.mean_ranks)


def _side_widths(ranking: "Ranking") -> tuple[float, float]:
    """Room for the names at the left and at the right, with all that stands beside them."""
    beside = MARGIN + GAP + 2.0 * SPACE + _number_width(ranking)
    names = [shortened(model) for model in ranking.models]
    left, right = (
        beside + max(text_width(names[place], SIZE) for place in places)
        for places in _halves(ranking)
    )
    return left, right
