"""`devfnn data`: which streams there are, and what is in them."""

import inspect
import itertools
import json
import math
import pathlib
import textwrap
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import rich.console
import typer

from devfnn.cli import inputs
from devfnn.cli.errors import interrupted, until_ctrl_c
from devfnn.cli.option_parsing import form
from devfnn.cli.output import Output, check_replaceable, command
from devfnn.display import streams as display
from devfnn.display.live import rows_bar
from devfnn.display.tables import facts_table, text_table
from devfnn.errors import DataError, InputError
from devfnn.experiments.settings import StreamSettings
from devfnn.formatting import count, listed, plural
from devfnn.streams.datasets.catalogue import DATA_SETS, DataSet
from devfnn.streams.datasets.loading import OWN_OPTIONS, Folder, described, download_folder, locate
from devfnn.streams.describing import Description, Overview, describe
from devfnn.streams.drift import KINDS, Positions, positions_before
from devfnn.streams.exporting import export_parquet
from devfnn.streams.files.options import CHOICES as FILE_CHOICES
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.opening import option_types
from devfnn.streams.stream import Stream
from devfnn.streams.transforms import joined
from devfnn.types import Chunk

Facts = dict[str, Any]
"""Facts by name, as plain data."""

data = typer.Typer(help="Streams: list, look at, describe, fetch, export.", no_args_is_help=True)

MOST_POSITIONS = 4
"""Drifts that are listed."""

CHOICES: dict[str, Iterable[str]] = {"kind": KINDS, **FILE_CHOICES}
"""Values of options that accept only some texts."""

NUMBERS = ("min", "max", "mean", "std", "missing")
"""What a table says about each feature of a chunk."""


@data.command("list")
@command
def list_streams(output: Output, data_dir: inputs.DataDir = None) -> None:
    """List all generators and data sets."""
    sets = [data_set_row(data_set, data_dir) for data_set in DATA_SETS.values()]
    generators = {name: each.summary for name, each in GENERATORS.items()}
    with output.files() as (result, table):
        result.write_json({"data_sets": sets, "generators": generators})
        _, *columns = sets[0]
        table.add_row(["name", "kind", *columns, "what"])
        for (name, *others), each in zip(map(dict.values, sets), DATA_SETS.values(), strict=True):
            table.add_row([name, "data set", *others, each.summary])
        for name, summary in generators.items():
            table.add_row([name, "generator", *([None] * len(columns)), summary])
    rows = [
        texts(row | {"licence": textwrap.shorten(row["licence"], 16, placeholder=" ...")})
        for row in sets
    ]
    output.screen.print(text_table("Data sets", list(rows[0]), map(dict.values, rows)))
    columns = ["generator", "what it makes"]
    output.screen.print(text_table("Generators", columns, generators.items()))
    output.say("More: devfnn data info NAME. Files: give their path, or - for a pipe.")


@data.command()
@command
def info(output: Output, chosen: inputs.StreamChoice) -> None:
    """Show what is known about a stream: size, licence, citation, source, options."""
    with output.files({"STREAM": chosen.name}) as (result, table):
        facts = info_of(chosen.settings(), output.progress)
        result.write_json(facts)
        table.add_row(["fact", "value"])
        for fact, value in facts.items():
            is_plain = isinstance(value, str | int | float | None)
            table.add_row([fact, value if is_plain else json.dumps(value)])
    output.screen.print(facts_table(chosen.name, texts(facts)))


@data.command()
@command
def fetch(
    output: Output, name: str = typer.Argument(help="A data set."), data_dir: inputs.DataDir = None
) -> None:
    """Download a data set, unless it is already here."""
    with output.files() as (result, table):
        if name in GENERATORS:
            raise InputError(f"{name} is a generator: it is made, not downloaded")
        data_set = described(name)
        inputs.opened(inputs.StreamChoice(name, 0, None, data_dir, []).settings(), output.progress)
        located = locate(data_set, data_dir)
        assert located is not None
        n_bytes = located.path.stat().st_size
        facts = {"name": name, "path": str(located.path), "bytes": n_bytes}
        result.write_json(facts)
        table.write_table([facts])
    output.say(f"{name} is in {located.path}")


@data.command()
@command
def head(
    output: Output,
    chosen: inputs.StreamChoice,
    rows: int = typer.Option(5, min=1, help="Rows to show."),
) -> None:
    """Show the first rows, as a model would see them."""
    with output.files({"STREAM": chosen.name}) as (result, table):
        stream = inputs.opened(chosen.settings(rows=rows, chunk_rows=rows), output.progress)
        chunks = list(stream)
        if not chunks:
            raise DataError(f"{chosen.name} has no rows")
        columns, *lines = _lines(joined(chunks), stream.feature_names)
        result.write_json({"stream": chosen.name, "columns": columns, "rows": lines})
        for line in (columns, *lines):
            table.add_row(line)
    tables = display.head_tables(columns, lines, _class_names(stream), output.screen.width)
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
    chosen: inputs.StreamChoice,
    rows: inputs.Rows = None,
    chunk_rows: inputs.ChunkRows = 500,
) -> None:
    """Show class balance, ranges and missing values, chunk by chunk and over all.

    Ctrl-C shows what was read so far.
    """
    overview = Overview(most=2 * display.MOST_LINES)
    with output.files({"STREAM": chosen.name}) as (result, table):
        settings = chosen.settings(rows=rows, chunk_rows=chunk_rows)
        stream = inputs.opened(settings, output.progress)
        names = stream.feature_names
        numbers = (f"{number} of {name}" for name in names for number in NUMBERS)
        table.add_row(["first row", "rows", "classes", "hidden labels", *numbers])

        def add(part: Description) -> None:
            """Sum up a chunk, and write it, so that it need not be kept."""
            n_before = overview.whole.n_rows if overview.whole else 0
            overview.add(part)
            if result.is_wanted:
                result.add_item("chunks", part.to_dict(names))
            if table.is_wanted:
                table.add_row([n_before + 1, *_description_line(part, names)])
            progress(n_before + part.n_rows)

        with rows_bar(output.progress, "reading", stream.n_rows) as progress:
            is_whole = until_ctrl_c(describe(stream), add)
        if overview.whole is None:
            raise DataError(f"{chosen.name} has no rows") if is_whole else KeyboardInterrupt
        result.write_json(
            {
                "stream": chosen.name,
                "is_interrupted": not is_whole,
                "drift_positions": list(stream.drift_positions),
                "overall": overview.whole.to_dict(names),
            }
        )
    screen, whole = output.screen, overview.whole
    drifts = positions_before(stream.drift_positions, whole.n_rows)
    screen.print(f"{count(whole.n_rows)} rows in {plural(overview.n_chunks, 'chunk')}")
    screen.print(display.chunks_table(overview, names, drifts))
    screen.print(display.classes_table(whole, _class_names(stream)))
    screen.print(display.features_table(whole, names))
    display.show_bad_rows(stream, screen)
    if not is_whole:
        raise interrupted()


def _description_line(part: Description, names: Sequence[str]) -> Iterator[Any]:
    """A chunk as a line of a table; class counts are JSON, since classes are not known before."""
    about = part.to_dict(names)
    yield from (about["rows"], json.dumps(about["classes"]), about["hidden_labels"])
    yield from (about["features"][name][number] for name in names for number in NUMBERS)


def _class_names(stream: Stream) -> dict[Hashable, str]:
    return dict(zip(stream.classes, stream.class_names, strict=bool(stream.class_names)))


@data.command()
@command
def export(
    output: Output,
    chosen: inputs.StreamChoice,
    *,
    file: pathlib.Path = typer.Argument(dir_okay=False, help="A Parquet file."),
    rows: inputs.Rows = None,
    label_name: str = typer.Option("class", help="Name of the label's column."),
) -> None:
    """Write a stream to a Parquet file."""
    name = chosen.name
    with output.files({"STREAM": name}, export=file) as (result, table):
        if file.suffix.lower() not in (".parquet", ".pq", "") or file.name == "-":
            better = file.with_name(f"{file.stem.strip('-') or name}.parquet")
            raise InputError(f"export writes Parquet: call the file {better}, not {file}")
        check_replaceable(file)
        stream = inputs.opened(chosen.settings(rows=rows), output.progress)
        with rows_bar(output.progress, "writing", stream.n_rows) as progress:
            n_rows = export_parquet(stream, file, label=label_name, progress=progress)
        facts = {"stream": name, "path": str(file), "rows": n_rows}
        result.write_json(facts)
        table.write_table([facts])
    output.say(f"{n_rows:,} rows in {file}")
    display.show_bad_rows(stream, output.screen)


# ---- what is known about a stream


def info_of(settings: StreamSettings, console: rich.console.Console) -> Facts:
    """What is known of a stream with its options; a data set is not downloaded for it."""
    name, options = settings.name, dict(settings.options)
    if name in GENERATORS:
        generator = GENERATORS[name]
        about = (inspect.getdoc(generator.make) or "").partition("\n\nExamples")[0]
        return {
            "what": generator.summary,
            "citation": generator.citation,
            **_stream_facts(inputs.opened_whole(settings, console)),
            "options": _options(name),
            "more": about.partition("\n\n")[2].replace("\n", " "),
        }
    if inputs.is_file(name):
        return _stream_facts(inputs.opened_whole(settings, console)) | {"options": _options(name)}
    data_set = DATA_SETS[name]
    facts = _data_set_facts(data_set, settings.data_dir, options.pop("target", None))
    if options and locate(data_set, settings.data_dir) is not None:
        as_read = _stream_facts(inputs.opened_whole(settings, console))
        facts |= {fact: as_read[fact] for fact in as_read if fact in facts}
    return facts


def texts(facts: Facts) -> dict[str, str]:
    """Facts for the screen; those that are empty are left out there."""
    return {name: _text(name, value) for name, value in facts.items()}


def _text(name: str, value: Any) -> str:
    match value:
        case None | False | []:
            return ""
        case True:
            return "yes"
        case int():
            return count(value)
        case dict():
            return "\n".join(f"{option}={text}" for option, text in value.items())
        case list() if name == "drift":
            more = " ..." if len(value) > MOST_POSITIONS else ""
            return ", ".join(f"row {row:,}" for row in value[:MOST_POSITIONS]) + more
        case list() if name in ("features", "classes"):
            return f"{len(value):,}: {listed(value)}"
        case list():
            return "\n".join(value)
    return str(value)


def data_set_row(data_set: DataSet, data_dir: Folder | None) -> Facts:
    """A line of the list of data sets."""
    return {
        "data set": data_set.name,
        "rows": data_set.n_rows,
        "features": len(data_set.feature_names),
        "classes": len(data_set.class_names),
        "licence": data_set.licence,
        "where": _where(data_set, data_dir),
    }


def _where(data_set: DataSet, data_dir: Folder | None) -> str:
    """Whether it is here, and if not, how to get it."""
    located = locate(data_set, data_dir)
    if located is not None:
        return "here, drawn at random" if located.origin == "drawn" else "here"
    if data_set.drawn_from is not None:
        return f"drawn from {data_set.drawn_from}"
    if data_set.file is None:
        return "by hand"
    size = data_set.file.n_bytes
    return "to download" if size is None else f"to download, {size / 1e6:,.1f} MB"


def _data_set_facts(data_set: DataSet, data_dir: Folder | None, target: str | None) -> Facts:
    """All that is known about a data set, with its usual classes or those of a target."""
    located, file = locate(data_set, data_dir), data_set.file
    chosen = data_set.targets.get(target or "")
    return {
        "what": f"{data_set.title}. {data_set.summary}",
        "rows": data_set.n_rows,
        "features": list(data_set.feature_names),
        "classes": list(data_set.class_names if chosen is None else chosen.class_names),
        "targets": list(data_set.target_names if data_set.targets else ()),
        "drift": _drift(data_set.drift_positions),
        "notes": list(data_set.notes),
        "licence": data_set.licence,
        "citation": data_set.citation,
        "home page": data_set.home_page,
        "source": [] if file is None else list(file.mirrors),
        "sha256": None if file is None else file.sha256,
        "checked": list(data_set.checks),
        "here": str(located.path) if located else None,
        "options": _options(data_set.name),
        "to get it": None if located else data_set.directions(download_folder(data_dir)),
    }


def _stream_facts(stream: Stream) -> Facts:
    return {
        "rows": stream.n_rows,
        "endless": stream.is_endless,
        "features": list(stream.feature_names),
        "classes": list(stream.class_names) or [str(label) for label in stream.classes],
        "drift": _drift(stream.drift_positions),
    }


def _options(name: str) -> dict[str, str]:
    """What `--with` accepts, and how it is written."""
    left_out = (*inputs.FLAGS, *(OWN_OPTIONS if name in DATA_SETS else ()))
    return {
        option: " or ".join(CHOICES.get(option, ())) or form(hint)
        for option, hint in option_types(name).items()
        if option not in left_out
    }


def _drift(positions: Positions) -> list[int]:
    """Where it drifts; the first of positions that may be endless."""
    is_short = isinstance(positions, tuple)
    return list(positions if is_short else itertools.islice(positions, MOST_POSITIONS + 1))
