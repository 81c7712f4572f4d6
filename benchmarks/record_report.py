"""The report of the benchmark of record: tables, figures, and how it was measured."""

import collections
import pathlib
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from record_bars import Bar
from record_eighteen import MEASURES, by_stream, standing
from record_plan import DEFAULT, EIGHTEEN, GROWING_OFF, RecordStream, record_systems
from record_runs import Summary, by_name
from rich.console import Console

from devfnn.display.results import results_table
from devfnn.errors import InputError
from devfnn.experiments.rendering import Column, Table
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

SCREEN_WIDTH = 200
"""Letters of a line on the terminal; tables are not folded below that."""


# ---- tables

COLUMNS = (
    Column("system", "system"),
    Column("scaling", "scaling"),
    Column("accuracy_mean", "accuracy", "accuracy_std", decimals=2, factor=100.0),
    Column("first_mean", "first fifth", "first_std", decimals=2, factor=100.0),
    Column("rest_mean", "other four fifths", "rest_std", decimals=2, factor=100.0),
    Column("log_loss", "log-loss", decimals=3),
    Column("calibration_error", "calibration error", decimals=3),
    Column("difference", "to default", decimals=2, factor=100.0),
    Column("p", "p"),
    Column("rows_per_second", "rows/s", decimals=0),
    Column("times_capymoa_arf", "x capymoa-arf", decimals=2),
    Column("times_river_arf", "x river-arf", decimals=2),
    Column("model_bytes", "bytes", decimals=0),
    Column("label_fraction", "labels %", decimals=1, factor=100.0),
    Column("layers", "layers"),
    Column("rules", "rules"),
)

PROCEDURE = (
    "Every run is prequential: a chunk is predicted and scored, then learned; the first chunk only "
    "trains. By row: every row is predicted, then learned, and results are still taken by chunks.",
    "Accuracy is in percent: mean ± standard deviation over chunks. The default was developed on "
    "the zoo and on generated streams, what is now `swift` on generated streams and on the first "
    "fifth of each file; so the first fifth of the chunks and the other four fifths stand apart. "
    "But the whole files were looked at: see performance.md.",
    "Log-loss: mean over all scored rows of minus the natural logarithm of the probability of the "
    "truth. Calibration error: mean gap between confidence and accuracy over ten bins of the "
    "confidence. Both of rows with probabilities. A dash where a rival's figures are kept from a "
    "time when these were not.",
    "The zoo: thirteen real streams, the first 20,000 rows of each at most, in their order. Peers "
    "over the eighteen real streams are CapyMOA's forest with 10 and 30 trees and its leveraging "
    "bagging, River's logistic regression, and our own single rules; the forest with 30 trees is "
    "run nowhere else, and other rivals are not run on the zoo: slow ones, and those that are far "
    "from the best elsewhere. What must know all classes of a file is told them.",
    "p: Wilcoxon's signed-rank test over chunks against the default, with Holm's correction for "
    "all systems of the stream. Chunks that follow each other are not independent; it is a guide. "
    "Of rivals whose figures are kept from an earlier run there are no chunks to compare.",
    "Rows/s: predicting and learning after the first fifth of the chunks, when Java has compiled "
    "what it runs (streams of less than five chunks have no first fifth, so there that counts, "
    "too); one process at a time, one thread. On the eighteen streams CapyMOA's forest of 10 trees "
    "was timed three or four times, and the fastest run counts. x capymoa-arf, x river-arf: how "
    "many times as fast as these forests of 10 trees on the same stream.",
    "Models of River and CapyMOA take one row at a time from Python. CapyMOA can also run its loop "
    "in Java, for streams that Java reads: tried three times on 30,000 rows of agrawal, that was "
    "1.6 to 2.1 times as fast for its forest of 10 trees, and 4.2 to 4.8 times for naive Bayes. "
    "Against that loop, our lead is smaller by as much.",
    "Scaling: dataset scales by the range of the whole stream, which looks ahead, as the paper "
    "does; online uses the rows before only; none leaves rows as they are. Files are scaled by "
    "dataset for all systems unless the table says otherwise. On the zoo and on generated streams "
    "every system has what `devfnn compare` gives it by default. Over the eighteen streams, the "
    "default, `swift` and the default that learns all labels scale files online, too.",
    "Bytes: arrays of our models, the pickle of River's; CapyMOA's have none. Labels: share that "
    "was learned. Layers (that vote) and rules: at the end.",
    "An ablation is the default with one mechanism turned off (or on, if it is off by default). "
    "Stacked layers: the paper's kind of network with our parameters. Label budget 0.1: about a "
    "tenth of the labels. One RLS rule, one logistic rule: the simplest "
    "parts of the network on their own.",
    "capymoa-arf, -srp and -bagging (leveraging bagging) have 10 or 30 trees instead of 100, and "
    "capymoa-sgbt 10 steps instead of 100, each ten times as long; it is the slowest, and runs on "
    "five files only. Everything else of other libraries is as its authors have it.",
)


def stream_table(stream: RecordStream, summaries: Sequence[Summary]) -> Table:
    """All systems on one stream."""
    rows = [_row(each) for each in summaries if each["stream"] == stream.name]
    n_rows, n_chunks = (rows[0]["rows"], rows[0]["chunks"]) if rows else (0, 0)
    notes = (f"{stream.about}: {n_rows:,} rows in {n_chunks:,} chunks.",)
    return Table(title=stream.name, columns=COLUMNS, rows=tuple(rows), notes=notes)


def _row(summary: Summary) -> dict[str, Any]:
    p = summary["p"]
    shown = None if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"
    return summary | {"p": shown}


def overview(title: str, streams: Sequence[RecordStream], summaries: Sequence[Summary]) -> Table:
    """Systems by streams: accuracy, and its mean for systems that were run on all of them."""
    cells = {(each["stream"], each["system"]): each for each in summaries}
    names = [stream.name for stream in streams]
    there = {each["system"] for each in summaries if each["stream"] in names}
    systems = [system.name for system in record_systems() if system.name in there]
    rows = []
    for system in systems:
        values = {name: cells.get((name, system), {}).get("accuracy_mean") for name in names}
        known = [value for value in values.values() if value is not None]
        mean = statistics.fmean(known) if len(known) == len(names) else None
        rows.append({"system": system, "mean": mean} | values)
    columns = [Column(name, name, decimals=2, factor=100.0) for name in ("mean", *names)]
    return Table(title, (Column("system", "system"), *columns), tuple(rows))


def overviews(streams: Sequence[RecordStream], summaries: Sequence[Summary]) -> Iterator[Table]:
    """How systems stand over the real streams, then a table for each group of streams."""
    there = {stream.name for stream in streams}
    real = [name for name in EIGHTEEN if name in there]
    if real:
        cells = by_name(summaries)
        yield standing(cells, real)
        yield from (by_stream(cells, key, real) for key in MEASURES)
    for group in ("files", "zoo", "generated"):
        members = [stream for stream in streams if stream.group == group]
        if members:
            yield overview(f"Accuracy, {group}: mean over chunks (%)", members, summaries)


def bar_table(bars: Sequence[Bar]) -> Table:
    """What was to be reached, and whether it was."""
    rows = tuple({"what": bar.what, "is": bar.verdict, "by": bar.figures or None} for bar in bars)
    columns = (Column("what", "bar"), Column("is", "verdict"), Column("by", "figures"))
    counts = {each: sum(bar.is_reached is each for bar in bars) for each in (True, False, None)}
    note = f"{counts[True]} reached, {counts[False]} not reached, {counts[None]} not measured."
    return Table("Bars", columns, rows, (note,))


def plain(table: Table) -> str:
    """A table for the terminal; words stand at the left."""
    if any(column.key == "what" for column in table.columns):
        lines = [f"{row['is']:<12}  {row['what']}  [{row['by'] or '-'}]" for row in table.rows]
        return "\n".join([table.title, "", *lines, "", *table.notes, ""])
    console = Console(width=SCREEN_WIDTH)
    with console.capture() as shown:
        console.print(results_table(table, SCREEN_WIDTH))
    return shown.get()


def markdown_table(table: Table) -> str:
    """A table as Markdown has it: the first column at the left, numbers at the right."""
    are_words = {"system", "stream", "scaling", "what", "is", "by"}
    marks = [":--" if column.key in are_words else "--:" for column in table.columns]
    lines = [_line([column.title for column in table.columns]), _line(marks)]
    lines += [_line(cells) for section in table.lines() for cells in section]
    return "\n".join([*lines, *(f"\n{note}" for note in table.notes)]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def report(
    streams: Sequence[RecordStream],
    summaries: Sequence[Summary],
    bars: Sequence[Bar],
    about: Mapping[str, Any],
) -> str:
    """The whole report in Markdown.

    Parameters
    ----------
    streams, summaries, bars
        What was run, and what came of it.
    about
        `command`, `date`, `versions`, and `notes`: sentences about what was left out.
    """
    versions = [f"| {name} | {version} |" for name, version in about["versions"].items()]
    parts = [
        "# Benchmark of record\n",
        f"Made by `{about['command']}` on {about['date']}; do not edit. All results, chunk by "
        "chunk, are in `record.json` of the output folder, beside two figures: "
        "`accuracy-speed.png` and `drift.png`.\n",
        "\n".join(["| | version |", "| :-- | :-- |", *versions]) + "\n",
        *(f"{note}\n" for note in about["notes"]),
        "## Bars\n",
        markdown_table(bar_table(bars)),
        "## Overview\n",
    ]
    for table in overviews(streams, summaries):
        parts += [f"### {table.title}\n", markdown_table(table)]
    parts += ["## How it was measured\n", *(f"- {line}" for line in PROCEDURE), ""]
    parts += ["## Streams\n"]
    for stream in streams:
        table = stream_table(stream, summaries)
        if table.rows:
            parts += [f"### {table.title}\n", markdown_table(table)]
    return "\n".join(parts)


# ---- figures

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
        kind: {system: line for system in systems if (line := around_drift(cells, names, system))}
        for kind, names in groups.items()
    }
    curves = {kind: lines for kind, lines in curves.items() if lines}
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
