"""`devfnn data`: which streams there are, and what is in them."""

import json
import math
import pathlib
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import rich.console
import typer

from devfnn.cli import inputs
from devfnn.cli.errors import finishing, interrupted
from devfnn.cli.output import CsvFile, Output, ResultFile, command, write_facts
from devfnn.cli.stream_info import data_set_row, info_of, plain, texts
from devfnn.display import streams as display
from devfnn.display.live import rows_bar
from devfnn.display.tables import facts_table
from devfnn.errors import DataError, InputError
from devfnn.formatting import count, plural
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.datasets.loading import described as known_data_set
from devfnn.streams.datasets.loading import locate
from devfnn.streams.describing import Description, Overview, describe
from devfnn.streams.drift import positions_before
from devfnn.streams.exporting import export_parquet
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.stream import Stream
from devfnn.streams.transforms import joined
from devfnn.types import Chunk

data = typer.Typer(help="Streams: list, look at, describe, fetch, export.", no_args_is_help=True)

PARQUET = (".parquet", ".pq", "")
"""Suffixes of Parquet files."""

NUMBERS = ("min", "max", "mean", "std", "missing")
"""What a table says about each feature of a chunk."""


@data.command("list")
@command
def list_streams(output: Output, data_dir: inputs.DataDir = None) -> None:
    """List all generators and data sets."""
    sets = [data_set_row(data_set, data_dir) for data_set in DATA_SETS.values()]
    generators = {name: each.summary for name, each in GENERATORS.items()}
    with output.files() as (result, table):
        result.write({"data_sets": [plain(row) for row in sets], "generators": generators})
        table.add(["name", "kind", *(fact.name for fact in sets[0][1:]), "what"])
        for row, each in zip(sets, DATA_SETS.values(), strict=True):
            first, *others = plain(row).values()
            table.add([first, "data set", *others, each.summary])
        for name, summary in generators.items():
            table.add([name, "generator", *([None] * (len(sets[0]) - 1)), summary])
    rows = [list(texts(row).values()) for row in sets]
    output.screen.print(display.names_table("Data sets", list(texts(sets[0])), rows))
    columns = ("generator", "what it makes")
    output.screen.print(display.names_table("Generators", columns, list(generators.items())))
    output.say("More: devfnn data info NAME. Files: give their path, or - for a pipe.")


@data.command()
@command
def info(
    output: Output,
    name: inputs.Name,
    label: inputs.Label = None,
    data_dir: inputs.DataDir = None,
    options: inputs.Options = None,
) -> None:
    """Show what is known about a stream: size, licence, citation, source, options."""
    with output.files({"STREAM": name}) as (result, table):
        facts = info_of(inputs.stream_settings(name, label, data_dir, options), output.progress)
        result.write(plain(facts))
        table.add(["fact", "value"])
        for fact in facts:
            is_plain = isinstance(fact.value, str | int | float | None)
            table.add([fact.name, fact.value if is_plain else json.dumps(fact.value)])
    output.screen.print(facts_table(name, texts(facts)))


@data.command()
@command
def fetch(
    output: Output,
    name: str = typer.Argument(help="A data set."),
    data_dir: inputs.DataDir = None,
) -> None:
    """Download a data set, unless it is already here."""
    with output.files() as (result, table):
        if name in GENERATORS:
            raise InputError(f"{name} is a generator: it is made, not downloaded")
        data_set = known_data_set(name)
        inputs.opened(inputs.stream_settings(name, None, data_dir, None), output.progress)
        located = locate(data_set, data_dir)
        assert located is not None
        n_bytes = located.path.stat().st_size
        write_facts(result, table, {"name": name, "path": str(located.path), "bytes": n_bytes})
    output.say(f"{name} is in {located.path}")


@data.command()
@command
def head(
    output: Output,
    name: inputs.Name,
    rows: int = typer.Option(5, min=1, help="Rows to show."),
    seed: inputs.Seed = 0,
    label: inputs.Label = None,
    data_dir: inputs.DataDir = None,
    options: inputs.Options = None,
) -> None:
    """Show the first rows, as a model would see them."""
    with output.files({"STREAM": name}) as (result, table):
        settings = inputs.stream_settings(
            *(name, label, data_dir, options), rows=rows, chunk_rows=rows, seed=seed
        )
        stream = inputs.opened(settings, output.progress)
        chunks = list(stream)
        if not chunks:
            raise DataError(f"{name} has no rows")
        chunk = joined(chunks)
        columns, *lines = _lines(chunk, stream.feature_names)
        result.write({"stream": name, "columns": columns, "rows": lines})
        for line in (columns, *lines):
            table.add(line)
    tables = display.head_tables(
        chunk, stream.feature_names, _class_names(stream), output.screen.width
    )
    output.screen.print(*tables)


def _lines(chunk: Chunk, names: Sequence[str]) -> Iterator[list[Any]]:
    """Names of columns, then rows as plain data; missing values are None."""
    times = [] if chunk.times is None else [[str(time)] for time in chunk.times]
    yield [*(["time"] if times else []), *names, "label"]
    rows = zip(times or [[]] * len(chunk.y), chunk.X.tolist(), chunk.y.tolist(), strict=True)
    for time, x, label in rows:
        yield [*time, *(None if math.isnan(value) else value for value in x), label]


@data.command("describe")
@command
def describe_stream(
    output: Output,
    name: inputs.Name,
    rows: inputs.Rows = None,
    chunk_rows: inputs.ChunkRows = 500,
    seed: inputs.Seed = 0,
    label: inputs.Label = None,
    data_dir: inputs.DataDir = None,
    options: inputs.Options = None,
) -> None:
    """Show class balance, ranges and missing values, chunk by chunk and over all.

    Ctrl-C shows what was read so far.
    """
    with output.files({"STREAM": name}) as (result, table):
        settings = inputs.stream_settings(
            *(name, label, data_dir, options), rows=rows, chunk_rows=chunk_rows, seed=seed
        )
        stream = inputs.opened(settings, output.progress)
        overview, is_whole = _described(stream, result, table, output.progress)
        if overview.whole is None:
            raise DataError(f"{name} has no rows") if is_whole else KeyboardInterrupt
        result.write(
            {
                "stream": name,
                "is_interrupted": not is_whole,
                "drift_positions": list(stream.drift_positions),
                "overall": overview.whole.to_dict(stream.feature_names),
            }
        )
    screen, whole = output.screen, overview.whole
    drifts = positions_before(stream.drift_positions, whole.n_rows)
    screen.print(f"{count(whole.n_rows)} rows in {plural(overview.n_chunks, 'chunk')}")
    screen.print(display.chunks_table(overview, stream.feature_names, drifts))
    screen.print(display.classes_table(whole, _class_names(stream)))
    screen.print(display.features_table(whole, stream.feature_names))
    display.show_bad_rows(stream, screen)
    if not is_whole:
        raise interrupted()


def _described(
    stream: Stream, result: ResultFile, table: CsvFile, console: rich.console.Console
) -> tuple[Overview, bool]:
    """A summary of a stream, and whether it was read to its end or until Ctrl-C.

    Each chunk goes to the result and the table as it comes, and is not kept in memory.
    """
    overview = Overview(most=2 * display.MOST_LINES)
    names = stream.feature_names
    numbers = (f"{number} of {name}" for name in names for number in NUMBERS)
    table.add(["first row", "rows", "classes", "hidden labels", *numbers])
    n_rows = 0
    try:
        with rows_bar(console, "reading", stream.n_rows) as progress:
            for part in describe(stream):
                with finishing():
                    overview.add(part)
                    if result.is_wanted:
                        result.add("chunks", part.to_dict(names))
                    if table.is_wanted:
                        table.add(_description_line(part, names, n_rows))
                n_rows += part.n_rows
                progress(n_rows)
    except KeyboardInterrupt:
        return overview, False
    return overview, True


def _description_line(part: Description, names: Sequence[str], n_before: int) -> Iterator[Any]:
    """A chunk as a line of a table; class counts are JSON, since classes are not known before."""
    about = part.to_dict(names)
    yield from (n_before + 1, about["rows"], json.dumps(about["classes"]), about["hidden_labels"])
    yield from (about["features"][name][number] for name in names for number in NUMBERS)


def _class_names(stream: Stream) -> dict[Hashable, str]:
    """Names of classes, if they have any."""
    if not stream.class_names:
        return {}
    return dict(zip(stream.classes, stream.class_names, strict=True))


@data.command()
@command
def export(
    output: Output,
    name: inputs.Name,
    file: pathlib.Path = typer.Argument(dir_okay=False, help="A Parquet file."),
    rows: inputs.Rows = None,
    seed: inputs.Seed = 0,
    label: inputs.Label = None,
    label_name: str = typer.Option("class", help="Name of the label's column."),
    data_dir: inputs.DataDir = None,
    options: inputs.Options = None,
) -> None:
    """Write a stream to a Parquet file."""
    with output.files({"STREAM": name}, export=file) as (result, table):
        if file.suffix.lower() not in PARQUET or file.name == "-":
            better = file.with_name(f"{file.stem.strip('-') or name}.parquet")
            raise InputError(f"export writes Parquet: call the file {better}, not {file}")
        settings = inputs.stream_settings(name, label, data_dir, options, rows=rows, seed=seed)
        stream = inputs.opened(settings, output.progress)
        with rows_bar(output.progress, "writing", stream.n_rows) as progress:
            n_rows = export_parquet(stream, file, label=label_name, progress=progress)
        write_facts(result, table, {"stream": name, "path": str(file), "rows": n_rows})
    output.say(f"{n_rows:,} rows in {file}")
    display.show_bad_rows(stream, output.screen)
