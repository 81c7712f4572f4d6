"""The benchmark of record as text: tables for the terminal, and the report in Markdown."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from record_bars import Bar
from record_streams import RecordStream
from record_summary import Summary
from record_systems import record_systems

from devfnn.experiments.rendering import Column, Table

COLUMNS = (
    Column("system", "system"),
    Column("scaling", "scaling"),
    Column("accuracy_mean", "accuracy", "accuracy_std", decimals=2, factor=100.0),
    Column("first_mean", "first fifth", "first_std", decimals=2, factor=100.0),
    Column("rest_mean", "other four fifths", "rest_std", decimals=2, factor=100.0),
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
    "Accuracy is in percent: mean ± standard deviation over chunks. The default was chosen on "
    "generated streams and on the first fifth of each file; so the first fifth of the chunks and "
    "the other four fifths stand apart. But the whole files were looked at, and two choices "
    "were made on Electricity and KDD: see performance.md.",
    "p: Wilcoxon's signed-rank test over chunks against the default, with Holm's correction for "
    "all systems of the stream. Chunks that follow each other are not independent; it is a guide.",
    "Rows/s: predicting and learning after the first fifth of the chunks, when Java has compiled "
    "what it runs; one process at a time, one thread. x capymoa-arf, x river-arf: how many times "
    "as fast as these forests of 10 trees on the same stream.",
    "Models of River and CapyMOA take one row at a time from Python. CapyMOA can also run its loop "
    "in Java, for streams that Java reads: tried three times on 30,000 rows of agrawal, that was "
    "1.6 to 2.1 times as fast for its forest of 10 trees, and 4.2 to 4.8 times for naive Bayes. "
    "Against that loop, our lead is smaller by as much.",
    "Scaling: dataset scales by the range of the whole stream, which looks ahead, as the paper "
    "does; online uses the rows before only; none leaves rows as they are. Files are scaled by "
    "dataset for all systems unless the table says otherwise. On generated streams every system "
    "has what `devfnn compare` gives it by default.",
    "Bytes: arrays of our models, the pickle of River's; CapyMOA's have none. Labels: share that "
    "was learned. Layers (that vote) and rules: at the end.",
    "An ablation is the default with one mechanism turned off (or on, if it is off by default). "
    "Stacked layers: the paper's kind of network with our parameters. Label budget 0.1: about a "
    "tenth of the labels. One RLS rule, one logistic rule: the simplest "
    "parts of the network on their own.",
    "capymoa-arf, -srp and -bagging (leveraging bagging) have 10 trees instead of 100, and "
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
    told = None if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"
    return summary | {"p": told}


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
    """One table for files, one for what is made."""
    for group in ("files", "generated"):
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
    return table.to_text()


def markdown_table(table: Table) -> str:
    """A table as Markdown has it: the first column at the left, numbers at the right."""
    are_words = {"system", "scaling", "what", "is", "by"}
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
