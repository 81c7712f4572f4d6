"""What figures over the rows of a stream share: values of a result, axes, drift and events."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator, StrMethodFormatter

from devfnn.arrays import Floats
from devfnn.errors import InputError
from devfnn.figures import style

Result: TypeAlias = Mapping[str, Any]
"""What `devfnn run --json` writes, as plain data."""

NO_CURVES = {"rows", "voting_weights", "feature_mask", "layer_states"}
"""Columns of `per_chunk` that are not one number for each chunk, or say where the chunk ends."""

MOST_MARKS = 60
"""Events of a kind, or drifts, that are drawn one by one; more of them are drawn as a rug."""

EVENT_MARKS = {
    "DriftFound": ("drift found", "v", style.RED),
    "DriftWarned": ("drift warning", "d", style.ORANGE),
    "LayerAdded": ("layer added", "^", style.GREEN),
    "LayersMerged": ("layers merged", "s", style.PURPLE),
    "LayerKept": ("layer kept", "P", style.BLUE),
    "LayerRecalled": ("layer recalled", "*", style.SKY),
    "LayerDropped": ("layer dropped", "X", style.GREY),
}
"""Kinds of events that are marked: name, shape and colour."""

LANE = 0.06
"""Height of the lane in which the events of a kind are marked, as a share of the axes."""

PERCENT: Formatter = FuncFormatter(lambda share, _: f"{round(100.0 * share, 6):g} %")
COUNT: Formatter = StrMethodFormatter("{x:,.0f}")


# ---- values of a result


def chunk_ends(result: Result) -> Floats:
    """Rows of the stream at the end of each chunk."""
    rows = _part(result, "per_chunk").get("rows") or []
    if len(rows) < 2:
        raise InputError(
            f"a curve needs at least two chunks, and {run_name(result)} has {len(rows)}: "
            "run it on more rows or with smaller chunks"
        )
    return np.asarray(rows, np.float64)


def curve(result: Result, name: str, part: str = "per_chunk") -> Floats:
    """A number for each chunk, NaN where it was not measured.

    part: "per_chunk", or "windowed" for the mean over the latest chunks
    """
    chunk_ends(result)
    known = curve_names(result, part)
    if name not in known:
        raise InputError(
            f"there is no {name!r} in {part!r} of {run_name(result)}: "
            f"choose one of {', '.join(known)}"
        )
    numbers = np.array(result[part][name], np.float64)  # None becomes NaN
    if not np.isfinite(numbers).any():
        raise InputError(f"{name!r} was not measured in any chunk of {run_name(result)}")
    return numbers


def curve_names(result: Result, part: str = "per_chunk") -> list[str]:
    """Names of all curves of a result."""
    return [
        name
        for name, values in _part(result, part).items()
        if name not in NO_CURVES and isinstance(values, Sequence) and not isinstance(values, str)
    ]


def lists(result: Result, name: str) -> list[list[Any] | None]:
    """A list for each chunk, None where there is none."""
    chunk_ends(result)
    values = _part(result, "per_chunk").get(name)
    if not values or not any(values):
        raise InputError(
            f"{run_name(result)} has no {name!r}: only models with layers, such as devfnn, have it"
        )
    return list(values)


def _part(result: Result, name: str) -> Mapping[str, Any]:
    """A part of a result that is needed."""
    content = result.get(name)
    if not isinstance(content, Mapping):
        raise InputError(
            f"{run_name(result)} has no {name!r}: make the result with `devfnn run --json FILE`"
        )
    return content


def run_name(result: Result) -> str:
    """A run in messages: "the run of devfnn on sea"."""
    return f"the run of {result.get('model', 'a model')} on {result.get('stream', 'a stream')}"


# ---- axes


def row_axes(result: Result, ax: Axes | None, height: float = 2.6) -> Axes:
    """Axes of which x are the rows of the stream, with faint horizontal lines."""
    ax = style.axes_or_new(ax, style.WIDTH, height)
    ax.set_xlim(0.0, chunk_ends(result)[-1])
    ax.xaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10], integer=True))
    ax.xaxis.set_major_formatter(COUNT)
    ax.set_xlabel("rows of the stream")
    ax.grid(axis="y", color=style.PALE, linewidth=0.5)
    return ax


def set_share_axis(ax: Axes, values: Floats, n_lanes: int = 0) -> None:
    """Let y be a share in percent, all values visible above the lanes of the events."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    below = 0.05 + LANE * n_lanes
    height = max(high - low, 0.02) / (0.95 - below)
    ax.set_ylim(low - below * height, low + (1.0 - below) * height)
    bottom, top = ax.get_ylim()
    lowest = max(bottom + LANE * n_lanes * height, 0.0)  # no ticks beside the lanes
    ticks = MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10]).tick_values(bottom, top)
    ax.set_yticks([tick for tick in ticks if lowest - 1e-9 <= tick <= min(top, 1.0) + 1e-9])
    ax.yaxis.set_major_formatter(PERCENT)


def set_count_axis(ax: Axes, values: Floats) -> None:
    """Let y be counts from 0 on."""
    ax.set_ylim(0.0, max(1.1 * float(np.nanmax(values)), 1.0))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10], integer=True))
    ax.yaxis.set_major_formatter(COUNT)


# ---- drift and events


def draw_true_drift(ax: Axes, result: Result, on_colours: bool = False) -> None:
    """A dashed line where a new concept begins; a rug at the top if there are many.

    on_colours: whether the lines are drawn over coloured areas
    """
    positions: Floats = np.asarray(result.get("drift_positions") or [], np.float64)
    rows = positions[(positions > 0) & (positions < chunk_ends(result)[-1])]
    if not len(rows):
        return
    is_rug = len(rows) > MOST_MARKS
    lines = ax.vlines(
        rows,
        0.97 if is_rug else 0.0,
        1.0,
        transform=ax.get_xaxis_transform(),
        colors=style.INK if on_colours else style.GREY,
        linewidth=0.6 if is_rug else 0.9,
        linestyles="solid" if is_rug else "dashed",
        label="true drift",
        zorder=2.5 if on_colours else 1.5,
    )
    if on_colours:
        lines.set_path_effects([withStroke(linewidth=2.4, foreground="white")])


def draw_events(ax: Axes, result: Result) -> int:
    """Mark events in lanes along the bottom, one for each kind; returns the number of lanes."""
    log = result.get("event_log") or []
    found = {kind: [event["row"] for event in log if event["kind"] == kind] for kind in EVENT_MARKS}
    happened = {kind: rows for kind, rows in found.items() if rows}
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
