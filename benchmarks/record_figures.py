"""The two figures of the benchmark of record: accuracy against speed, and what drift does to it."""

import collections
import pathlib
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from record_streams import RecordStream
from record_summary import Summary, by_name
from record_systems import DEFAULT, GROWING_OFF

from devfnn.errors import InputError
from devfnn.figures import accuracy_against_speed, save
from devfnn.figures.style import (
    GREY,
    PALE,
    PALETTE,
    SMALL,
    WIDTH,
    axes_or_new,
    new_figure,
    styled,
)
from devfnn.figures.timeline import COUNT, PERCENT

N_BEST_RIVALS = 3
BEFORE, AFTER = 0.2, 0.6
"""Shares of a concept that are shown before and after a drift."""

DRIFTS = {"abrupt": "abrupt drift", "gradual": "gradual drift", "recurring": "SEA, recurring"}


def draw_figures(
    streams: Sequence[RecordStream], summaries: Sequence[Summary], folder: pathlib.Path
) -> list[str]:
    """Write both figures; returns a word about each that could not be drawn."""
    said = []
    for name, draw in (
        ("accuracy-speed.png", lambda: speed_figure(summaries)),
        ("drift.png", lambda: drift_figure(streams, summaries)),
    ):
        try:
            save(draw(), folder / name)
        except InputError as error:
            said.append(f"{name} is not drawn: {error}")
    return said


def speed_figure(summaries: Sequence[Summary]) -> Axes:
    """Accuracy against rows/s of all systems that were run on every stream.

    Ablations and trivial rivals are left out, so that there is room for the others.
    """
    n_streams = len({each["stream"] for each in summaries})
    counts = collections.Counter(each["system"] for each in summaries)
    cells = [
        each | {"model": each["system"]}
        for each in summaries
        if counts[each["system"]] == n_streams
        and (each["kind"] not in ("ablation", "trivial") or each["system"] == GROWING_OFF)
    ]
    return accuracy_against_speed(cells)


@styled
def drift_figure(streams: Sequence[RecordStream], summaries: Sequence[Summary]) -> Any:
    """Accuracy around true drifts, mean over all drifts of a kind, a panel for each kind."""
    cells = by_name(summaries)
    groups = {kind: [stream.name for stream in streams if stream.drift == kind] for kind in DRIFTS}
    systems = [
        DEFAULT,
        GROWING_OFF,
        *best_rivals(summaries, [n for g in groups.values() for n in g]),
    ]
    curves = {
        kind: {system: around_drift(cells, names, system) for system in systems}
        for kind, names in groups.items()
    }
    curves = {kind: lines for kind, lines in curves.items() if any(lines.values())}
    if not curves:
        raise InputError("no stream with known drift was run")
    figure = new_figure(WIDTH, 2.6 * len(curves) + 0.4)
    panels = figure.subplots(len(curves), 1, squeeze=False)[:, 0]
    for ax, (kind, lines) in zip(panels, curves.items(), strict=True):
        _draw_panel(axes_or_new(ax), DRIFTS[kind], lines)
    panels[-1].set_xlabel("rows after the drift began; a point for each chunk, at its end")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=SMALL)
    return figure


def _draw_panel(ax: Axes, title: str, lines: Mapping[str, Mapping[int, float]]) -> None:
    for (system, line), colour in zip(lines.items(), PALETTE, strict=False):
        is_own = system == DEFAULT
        ax.plot(
            list(line),
            list(line.values()),
            label=system,
            color=colour,
            zorder=3.0 if is_own else 2.0,
            linewidth=2.0 if is_own else 1.1,
            linestyle="--" if system == GROWING_OFF else "-",
        )
    ax.axvline(0.0, color=GREY, linewidth=0.9, linestyle=":")
    ax.grid(axis="y", color=PALE, linewidth=0.5)
    ax.set_title(title, loc="left")
    ax.set_ylabel("accuracy")
    ax.yaxis.set_major_formatter(PERCENT)
    ax.xaxis.set_major_formatter(COUNT)


def best_rivals(summaries: Sequence[Summary], streams: Sequence[str]) -> list[str]:
    """Systems of other libraries that are best on average over these streams."""
    found: dict[str, list[float]] = {}
    for each in summaries:
        is_known = each["stream"] in streams and each["accuracy_mean"] is not None
        if each["kind"] == "peer" and is_known:
            found.setdefault(each["system"], []).append(each["accuracy_mean"])
    most = max(map(len, found.values()), default=0)
    means = {name: statistics.fmean(each) for name, each in found.items() if len(each) == most}
    return sorted(means, key=lambda name: -means[name])[:N_BEST_RIVALS]


def around_drift(
    cells: Mapping[tuple[str, str], Mapping[str, Any]], streams: Sequence[str], system: str
) -> dict[int, float]:
    """Accuracy by the rows from a drift to the end of a chunk, mean over all drifts of the streams.

    Only places that every drift has are kept, so that all points are means over the same drifts.
    """
    found: dict[int, list[float]] = {}
    n_drifts = 0
    for stream in streams:
        cell = cells.get((stream, system))
        if cell is None or not cell["drift_positions"]:
            continue
        for drift in cell["drift_positions"]:
            n_drifts += 1
            for place, accuracy in _near(cell, drift).items():
                found.setdefault(place, []).append(accuracy)
    return {
        place: statistics.fmean(values)
        for place, values in sorted(found.items())
        if len(values) == n_drifts
    }


def _near(cell: Mapping[str, Any], drift: int) -> dict[int, float]:
    """Accuracies of the chunks near a drift, by where they end, in whole chunks from the drift."""
    size = cell["chunk_rows"][0]
    first = cell["drift_positions"][0]  # concepts have equal lengths
    found, end = {}, 0
    for rows, accuracy in zip(cell["chunk_rows"], cell["chunk_accuracies"], strict=True):
        end += rows
        place = -(-(end - drift) // size) * size
        if accuracy is not None and -BEFORE * first <= place <= AFTER * first:
            found[place] = accuracy
    return found
