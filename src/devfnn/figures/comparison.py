"""Models compared: mean ranks and which of them differ, accuracy against speed and labels."""

import itertools
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import Bbox

from devfnn.arrays import Floats
from devfnn.errors import InputError
from devfnn.figures import style
from devfnn.figures.timeline import COUNT, PERCENT, Result
from devfnn.formatting import plural

if TYPE_CHECKING:
    from devfnn.evaluation.ranking import Ranking

MARGIN = 10.0
"""Around the critical difference diagram, in points, as all that follows."""

GAP, SPACE = 12.0, 5.0
"""Between the end of a line and the scale, at least, and between a line and a name."""

LINE, LEVEL = 15.0, 7.0
"""From name to name, and from bar to bar."""

NOTE = 2.0 * style.SMALL + 14.0
"""Height of the note at the bottom."""

TESTS = {"nemenyi": "Nemenyi", "wilcoxon-holm": "Wilcoxon, Holm"}

DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
"""Where the name of a point may be, the best place first."""

DISTANCES = (6.0, 12.0, 20.0, 30.0, 42.0, 56.0)
"""How far away from it, in points."""


@style.styled
def critical_difference(ranking: "Ranking", ax: Axes | None = None) -> Axes:
    """Mean ranks of models on a scale; bars join those that do not differ (Demšar, 2006).

    A new figure is as large as needed; in given axes the diagram is scaled down to fit.
    """
    if len(ranking.models) < 2:
        raise InputError(
            f"a ranking of {len(ranking.models)} has no differences: compare at least two models"
        )
    diagram = _Diagram(ranking, ax)
    diagram.draw_scale()
    diagram.draw_bars()
    diagram.draw_models()
    diagram.draw_note()
    return diagram.ax


def group_bars(ranking: "Ranking") -> list[tuple[float, float, int]]:
    """Best and worst rank of every group, and its level: as few as keep the bars apart."""
    ranks = dict(zip(ranking.models, ranking.mean_ranks, strict=True))
    groups = [[ranks[each] for each in group] for group in ranking.groups if len(group) > 1]
    room = 0.03 * len(ranks)
    ends: list[float] = []  # of the last bar on each level
    bars = []
    for best, worst in sorted((min(group), max(group)) for group in groups):
        free = (level for level, end in enumerate(ends) if best > end + room)
        level = next(free, len(ends))
        ends[level : level + 1] = [worst]
        bars.append((best, worst, level))
    return bars


class _Diagram:
    """The critical difference diagram, laid out in points from the lower left corner."""

    def __init__(self, ranking: "Ranking", ax: Axes | None) -> None:
        self.ranking, self.bars = ranking, group_bars(ranking)
        self.n_models = len(ranking.models)
        order: list[int] = np.argsort(ranking.mean_ranks, kind="stable").tolist()
        n_left = -(-self.n_models // 2)
        self.halves = (order[:n_left], order[: n_left - 1 : -1])  # from the best, from the worst
        ranks = [f"{rank:.2f}" for rank in ranking.mean_ranks]
        n_digits = max(map(len, ranks))
        self.ranks = [rank.rjust(n_digits, "\N{FIGURE SPACE}") for rank in ranks]
        self.names = [style.label(model) for model in ranking.models]
        widths = [
            style.text_width(f"{name}  {rank}", style.SIZE)
            for name, rank in zip(self.names, self.ranks, strict=True)
        ]
        self.left, right = (
            MARGIN + GAP + SPACE + max(widths[place] for place in half) for half in self.halves
        )
        difference = ranking.critical_difference
        n_steps = max(self.n_models - 1.0, difference or 0.0)
        width = self.left + right + max(220.0, 18.0 * n_steps)
        above = 18.0 if difference is None else 44.0
        below = 10.0 + LEVEL * max((level + 1 for *_, level in self.bars), default=0)
        height = 2.0 * MARGIN + above + below + LINE * n_left + NOTE
        self.ax, self.width, top, self.zoom = _point_axes(ax, width, height)
        self.axis = top - MARGIN - above
        self.first_name = self.axis - below - LINE / 2.0
        self.right = self.width - right
        self.unit = (self.right - self.left) / n_steps

    def at(self, rank: float) -> float:
        """Where a rank is on the scale."""
        return self.left + (rank - 1.0) * self.unit

    def line(
        self, x: Sequence[float], y: Sequence[float], width: float, color: str = style.INK
    ) -> None:
        """Draw a line."""
        self.ax.plot(x, y, linewidth=width * self.zoom, solid_capstyle="butt", color=color)

    def text(self, x: float, y: float, text: str, size: float = style.SMALL, **how: Any) -> None:
        """Write some text, by default above a point."""
        how = {"ha": "center", "va": "bottom"} | how
        self.ax.text(x, y, text, fontsize=size * self.zoom, **how)

    def draw_scale(self) -> None:
        """The axis of ranks, 1 at the left, and the length of the critical difference."""
        axis = self.axis
        self.line((self.at(1), self.at(self.n_models)), (axis, axis), 1.0)
        for rank in range(1, self.n_models + 1):
            self.line((self.at(rank),) * 2, (axis, axis + 5.0), 1.0)
            self.text(self.at(rank), axis + 7.0, str(rank))
        for rank in range(1, self.n_models):
            self.line((self.at(rank + 0.5),) * 2, (axis, axis + 3.0), 0.6)
        self.text(self.at(1) - 8.0, axis + 7.0, "best", ha="right", color=style.GREY)
        difference = self.ranking.critical_difference
        if difference is not None:
            start, end, height = self.at(1.0), self.at(1.0 + difference), axis + 28.0
            self.line((start, end), (height, height), 1.2)
            for edge in (start, end):
                self.line((edge, edge), (height - 3.0, height + 3.0), 1.2)
            text = f"critical difference {difference:.2f}"
            self.text((start + end) / 2.0, height + 4.0, text)

    def draw_bars(self) -> None:
        """Bars below the scale join models that do not differ."""
        for best, worst, level in self.bars:
            height = self.axis - 9.0 - LEVEL * level
            self.line((self.at(best) - 3.0, self.at(worst) + 3.0), (height,) * 2, 3.2, style.BLUE)

    def draw_models(self) -> None:
        """Lines from the scale to ranks and names: the better half at the left."""
        edges = (self.left - GAP, self.right + GAP)
        for half, edge, is_left in zip(self.halves, edges, (True, False), strict=True):
            for count, place in enumerate(half):
                rank, name = self.ranks[place], self.names[place]
                at, height = self.at(self.ranking.mean_ranks[place]), self.first_name - LINE * count
                self.line((at, at, edge), (self.axis, height, height), 0.8, style.GREY)
                text = f"{name}  {rank}" if is_left else f"{rank}  {name}"
                start, side = (edge - SPACE, "right") if is_left else (edge + SPACE, "left")
                self.text(start, height, text, style.SIZE, ha=side, va="center_baseline")

    def draw_note(self) -> None:
        """What the ranks and bars are based on."""
        ranking = self.ranking
        words = [plural(ranking.n_streams, "stream")]
        if ranking.friedman_p is not None:
            p = ranking.friedman_p
            words.append("Friedman p < 0.0001" if p < 0.0001 else f"Friedman p = {p:.4f}")
        joined = "bars join models that do not differ" if self.bars else "all models differ"
        words.append(f"{joined} at {100.0 * ranking.significance:g} % ({TESTS[ranking.post_hoc]})")
        text = "; ".join(words)
        letter = style.text_width(text, style.SMALL) / len(text)
        lines = "\n".join(textwrap.wrap(text, int((self.width - 2.0 * MARGIN) / letter)))
        bottom = self.first_name - LINE * (len(self.halves[0]) - 0.5) - NOTE
        self.text(self.width / 2.0, bottom, lines, color=style.GREY)


def _point_axes(ax: Axes | None, width: float, height: float) -> tuple[Axes, float, float, float]:
    """Axes in points, their width and height, and how much the diagram is scaled down to fit."""
    zoom = 1.0
    if ax is None:
        width = max(width, 72.0 * style.WIDTH)
        figure = style.new_figure(width / 72.0, height / 72.0)
        figure.set_layout_engine("none")
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    else:
        extent = ax.get_window_extent()
        there = np.array([extent.width, extent.height]) * 72.0 / ax.figure.dpi
        zoom = float(min(1.0, there[0] / width, there[1] / height))
        width, height = there / zoom
    ax.set(xlim=(0.0, width), ylim=(0.0, height))
    ax.set_axis_off()
    return ax, width, height, zoom


# ---- accuracy against speed, and against labels


@style.styled
def accuracy_against_speed(cells: Sequence[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Accuracy of models against their speed; a line joins those that no other beats in both.

    Means of the cells of a comparison: over seeds, then over the streams that all models share.
    """
    models, speeds, rates, n_streams = _mean_scores(cells)
    is_new = ax is None
    ax = style.axes_or_new(ax, style.WIDTH, 4.2)
    _set_axes(ax, speeds, rates)
    ax.set_ylabel(f"accuracy, mean over {plural(n_streams, 'stream')}")
    fastest_first = np.lexsort((-rates, -speeds))
    best_so_far = np.maximum.accumulate([-np.inf, *rates[fastest_first]])[:-1]
    front = fastest_first[rates[fastest_first] > best_so_far][::-1]  # no other beats these
    how: dict[str, Any] = {"color": style.GREY, "linewidth": 0.9, "zorder": 1.5}
    ax.step(speeds[front], rates[front], "--", label="no model is faster and better", **how)
    faces = [style.BLUE if place in front else "white" for place in range(len(models))]
    ax.scatter(speeds, rates, s=30.0, c=faces, edgecolors=style.BLUE, linewidths=1.1, zorder=3.0)
    if len(front) > 1:
        style.legend_above(ax)
    if is_new:
        style.figure_of(ax).draw_without_rendering()  # only now the size of the axes is known
    _name_points(ax, models, np.column_stack([speeds, rates]), front.tolist())
    return ax


def _mean_scores(cells: Sequence[Mapping[str, Any]]) -> tuple[list[str], Floats, Floats, int]:
    """Models, their speeds and accuracies, and over how many streams these are means."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for cell in cells:
        rate, speed = cell.get("accuracy_mean"), cell.get("rows_per_second")
        streams = found.setdefault(str(cell["model"]), {})
        if rate is not None and speed is not None and speed > 0.0:
            streams.setdefault(str(cell["stream"]), []).append((np.log(speed), rate))
    if not found:
        raise InputError("there are no cells to compare: give those of `devfnn compare --json`")
    shared = sorted(set.intersection(*map(set, found.values())))
    if not shared:
        raise InputError(
            "no stream has accuracy and speed of all models: compare them on the same streams"
        )
    scores = [[np.mean(streams[each], axis=0) for each in shared] for streams in found.values()]
    means = np.mean(scores, axis=1)
    return list(found), np.exp(means[:, 0]), means[:, 1], len(shared)


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
    ax.xaxis.set_major_formatter(COUNT)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(PERCENT)
    ax.set_xlabel("rows per second, geometric mean")
    ax.grid(color=style.PALE, linewidth=0.5)


def _name_points(ax: Axes, models: Sequence[str], points: Floats, front: Sequence[int]) -> None:
    """A name beside every point that covers no other name, no point and no line, if possible."""
    scale = 72.0 / ax.figure.dpi
    places = ax.transData.transform(points) * scale
    edges = Bbox(ax.get_window_extent().get_points() * scale)
    arrow = {"arrowstyle": "-", "color": style.GREY, "linewidth": 0.5}
    taken = [Bbox([place - 4.5, place + 4.5]) for place in places]
    for start, end in itertools.pairwise(places[list(front)]):  # the steps of the line
        corner = np.array([start[0], end[1]])
        taken += [Bbox([corner - 1.5, start + 1.5]), Bbox([corner - 1.5, end + 1.5])]
    for which in np.argsort(-places[:, 1]):
        name = style.label(models[which])
        half = np.array([style.text_width(name, style.SMALL) + 2.0, style.SMALL + 2.0]) / 2.0
        best, least = (np.zeros(2), 0.0), np.inf
        for distance, direction in itertools.product(DISTANCES, DIRECTIONS):
            offset = np.array(direction) * (distance / np.hypot(*direction) + half)
            middle = places[which] + offset
            box = Bbox([middle - half, middle + half])
            covered = box.count_overlaps(taken) + 4 - edges.count_contains(box.corners())
            if covered < least:
                best, least, chosen = (offset, distance), covered, box
        offset, distance = best
        taken.append(chosen)
        ax.annotate(
            name,
            tuple(points[which]),
            xytext=(offset[0], offset[1]),
            textcoords="offset points",
            ha="center",
            va="center_baseline",
            fontsize=style.SMALL,
            zorder=4.0,
            arrowprops=arrow if distance > DISTANCES[0] else None,
        )


@style.styled
def accuracy_against_labels(results: Iterable[Result], ax: Axes | None = None) -> Axes:
    """Accuracy of runs with different label budgets against the labels they used.

    Runs of one model on one stream are one line; several seeds of a budget are separate points.
    """
    lines: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        share, rate = result.get("label_fraction"), result.get("accuracy_mean")
        if share is not None and rate is not None:
            name = f"{result.get('model')} on {result.get('stream')}"
            lines.setdefault(name, []).append((share, rate))
    if not lines:
        raise InputError("no result has both an accuracy and the share of labels it used")
    ax = style.axes_or_new(ax, style.WIDTH, 3.2)
    for place, (name, points) in enumerate(lines.items()):
        colour = style.PALETTE[place % len(style.PALETTE)]
        shown = style.label(name)
        ax.plot(*np.array(sorted(points)).T, color=colour, marker="o", ms=4.0, label=shown)
    ax.set(xlabel="labels used, share of rows", ylabel="accuracy, mean over chunks")
    ax.xaxis.set_major_formatter(PERCENT)
    ax.yaxis.set_major_formatter(PERCENT)
    ax.set_xlim(left=0.0)
    style.legend_above(ax)
    return ax
