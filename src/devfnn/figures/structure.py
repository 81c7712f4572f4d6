"""The structure of a model over the rows of a stream: layers, rules, votes, features in use."""

import matplotlib
import matplotlib.cm
import matplotlib.colors
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from devfnn.errors import InputError
from devfnn.figures import style
from devfnn.figures.style import axes_or_new, label, legend_above, styled
from devfnn.figures.timeline import (
    PERCENT,
    Floats,
    Result,
    chunk_ends,
    curve,
    draw_true_drift,
    lists,
    run_name,
    set_count_axis,
    set_row_axis,
)
from devfnn.formatting import percent

MOST_NAMES = 30
"""Features that are named; of more, every second, third, ..."""

USED, LEFT_OUT, NOT_KNOWN = "#a9cce3", style.RED, "white"


@styled
def layers_over_time(result: Result, ax: Axes | None = None) -> Axes:
    """Layers that vote and all layers, as steps."""
    ends = chunk_ends(result)
    live, total = curve(result, "layers"), curve(result, "layers_total")
    ax = axes_or_new(ax)
    set_row_axis(ax, result)
    draw_true_drift(ax, result)
    for values, colour, name in (
        (total, style.ORANGE, "all layers"),
        (live, style.BLUE, "layers that vote"),
    ):
        ax.plot(ends, values, color=colour, linewidth=1.6, drawstyle="steps-post", label=name)
    set_count_axis(ax, live, total)
    ax.set_ylabel("layers")
    legend_above(ax)
    return ax


@styled
def rules_over_time(result: Result, ax: Axes | None = None) -> Axes:
    """Rules of the whole model, as steps."""
    ends, rules = chunk_ends(result), curve(result, "rules")
    ax = axes_or_new(ax)
    set_row_axis(ax, result)
    draw_true_drift(ax, result)
    ax.plot(ends, rules, color=style.BLUE, linewidth=1.2, drawstyle="steps-post")
    set_count_axis(ax, rules)
    ax.set_ylabel("rules")
    return ax


@styled
def voting_weights(result: Result, ax: Axes | None = None) -> Axes:
    """Share of every layer in the vote, as bands; a gap where no layer voted."""
    ends, shares = chunk_ends(result), _voting_shares(result)
    tops = np.cumsum(shares, axis=1)
    n_layers = shares.shape[1]
    colours = _layer_colours(n_layers)
    ax = axes_or_new(ax, height=2.8)
    set_row_axis(ax, result)
    for layer in range(n_layers):
        ax.fill_between(
            ends,
            tops[:, layer] - shares[:, layer],
            tops[:, layer],
            step="post",
            facecolor=colours[layer],
            edgecolor="white",
            linewidth=0.4,
            label=f"layer {layer}",
        )
    draw_true_drift(ax, result, on_colours=True)
    ax.grid(visible=False)
    ax.set_ylim(0.0, 1.0)
    ax.yaxis.set_major_formatter(PERCENT)
    ax.set_ylabel("share of the vote")
    _name_layers(ax, colours)
    return ax


def _voting_shares(result: Result) -> Floats:
    """Share of each layer for each chunk, (n_chunks, n_layers); NaN where no layer voted."""
    weights = lists(result, "voting_weights")
    n_layers = max(len(each) for each in weights if each is not None)
    table = np.zeros((len(weights), n_layers))
    for row, each in zip(table, weights, strict=True):
        row[: len(each or [])] = [weight or 0.0 for weight in each or []]
    totals = table.sum(axis=1, keepdims=True)
    if not (totals > 0.0).any():
        raise InputError(
            f"all voting weights of {run_name(result)} are 0: there is no vote to show"
        )
    shares: Floats = np.full_like(table, np.nan)
    np.divide(table, totals, where=totals > 0.0, out=shares)
    return shares


def _layer_colours(n_layers: int) -> list[str]:
    if n_layers <= len(style.PALETTE):
        return list(style.PALETTE[:n_layers])
    shades = matplotlib.colormaps["viridis"](np.linspace(0.0, 1.0, n_layers))
    return [matplotlib.colors.to_hex(shade) for shade in shades]


def _name_layers(ax: Axes, colours: list[str]) -> None:
    """A legend, or a scale if there are too many layers for one."""
    if len(colours) <= len(style.PALETTE):
        legend_above(ax)
        return
    norm = matplotlib.colors.BoundaryNorm(np.arange(len(colours) + 1) - 0.5, len(colours))
    scale = matplotlib.cm.ScalarMappable(norm, matplotlib.colors.ListedColormap(colours))
    ticks = MaxNLocator(nbins=8, integer=True)
    bar = ax.figure.colorbar(scale, ax=ax, ticks=ticks, pad=0.02)
    bar.ax.minorticks_off()
    bar.set_label("layer")
    bar.ax.tick_params(labelsize=style.SMALL)
    bar.outline.set_visible(False)


@styled
def feature_mask(result: Result, ax: Axes | None = None) -> Axes:
    """Which features the model used when, one line for each; white where it is not known."""
    edges, mask = np.append(0.0, chunk_ends(result)), _mask(result)
    names = result.get("feature_names") or []
    n_features = len(mask)
    ax = axes_or_new(ax, style.WIDTH, 1.0 + 0.18 * min(max(n_features, 3), MOST_NAMES))
    colours = matplotlib.colors.ListedColormap([LEFT_OUT, USED])
    image = np.ma.masked_invalid(mask)
    ax.pcolormesh(
        edges, np.arange(n_features + 1), image, cmap=colours, vmin=0, vmax=1, rasterized=True
    )
    set_row_axis(ax, result)
    ax.grid(visible=False)
    if n_features <= MOST_NAMES:  # lines between features, so that a mask of one colour has rows
        ax.hlines(np.arange(1, n_features), 0.0, edges[-1], colors="white", linewidth=1.2)
    ax.set_ylim(n_features, 0)
    places = np.arange(0, n_features, -(-n_features // MOST_NAMES))
    size = style.SMALL if n_features <= MOST_NAMES // 2 else style.SMALL - 1.5
    ax.set_yticks(places + 0.5, [label(names[place]) for place in places])
    ax.tick_params(axis="y", length=0.0, labelsize=size)
    draw_true_drift(ax, result, on_colours=True)
    _name_states(ax, mask)
    return ax


def _mask(result: Result) -> Floats:
    """1 for used, 0 for left out, NaN for not known, (n_features, n_chunks)."""
    masks = lists(result, "feature_mask")
    n_features = max(len(each) for each in masks if each is not None)
    table = np.full((len(masks), n_features), np.nan)
    for row, each in zip(table, masks, strict=True):
        if each is not None:
            row[:] = [np.nan if state is None else float(bool(state)) for state in each]
    return table.T


def _name_states(ax: Axes, mask: Floats) -> None:
    """A legend of the colours, with their shares of the run."""
    known = np.isfinite(mask)
    share = float(mask[known].mean()) if known.any() else 0.0
    handles: list[Artist] = [Patch(facecolor=USED, label=f"used ({percent(share, 0)})")]
    if share < 1.0:
        name = f"left out ({percent(1.0 - share, 0)})"
        handles.append(Patch(facecolor=LEFT_OUT, label=name))
    if not known.all():
        handles.append(Patch(facecolor=NOT_KNOWN, edgecolor=style.GREY, label="not known"))
    lines = [line for line in ax.collections if line.get_label() == "true drift"]
    legend_above(ax, [*handles, *lines])
