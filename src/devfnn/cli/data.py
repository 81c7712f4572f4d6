"""`devfnn data`: what streams there are, and what is in them."""

import json
import pathlib
from collections.abc import Hashable
from typing import Annotated, Any

import rich.console
import typer

from devfnn.cli.choosing import Choice, ChunkRows, DataDir, Label, Name, Options, Rows, Seed
from devfnn.cli.facts import data_set_facts, data_set_row, generator_facts, stream_facts
from devfnn.cli.values import check_folder, refusing_bad_data
from devfnn.display.progress import rows_bar
from devfnn.display.streams import (
    chunks_table,
    classes_table,
    facts_table,
    features_table,
    head_table,
    names_table,
)
from devfnn.errors import DataError
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.datasets.lookup import locate
from devfnn.streams.describing import Description, describe
from devfnn.streams.exporting import export_parquet
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.stream import Stream
from devfnn.streams.transforms.rows import joined

data = typer.Typer(help="Streams: list, look at, describe, fetch, export.", no_args_is_help=True)

JsonFile = Annotated[
    pathlib.Path | None,
    typer.Option("--json", metavar="FILE", dir_okay=False, help="Write the result here."),
]


@data.command("list")
def list_streams(data_dir: DataDir = None, json_file: JsonFile = None) -> None:
    """All generators and data sets by name."""
    with refusing_bad_data():
        check_folder(json_file)
    screen = _screen()
    sets = [data_set_row(data_set, data_dir) for data_set in DATA_SETS.values()]
    columns = ("data set", "rows", "features", "classes", "licence", "where")
    screen.print(names_table("Data sets", columns, sets))
    generators = [(name, each.summary) for name, each in GENERATORS.items()]
    screen.print(names_table("Generators", ("generator", "what it makes"), generators))
    screen.print("More: devfnn data info NAME. Files: give their path, or - for a pipe.")
    _write(
        json_file,
        {
            "data_sets": [dict(zip(columns, row, strict=True)) for row in sets],
            "generators": dict(generators),
        },
    )


@data.command()
def info(
    name: Name,
    label: Label = None,
    data_dir: DataDir = None,
    options: Options = None,
    json_file: JsonFile = None,
) -> None:
    """Everything known about a generator, a data set or a file: size, licence, citation, source."""
    with refusing_bad_data():
        check_folder(json_file)
        if name in DATA_SETS:
            facts = data_set_facts(DATA_SETS[name], data_dir)
        elif name in GENERATORS:
            facts = generator_facts(name)
        else:
            choice = Choice(name, label=label, data_dir=data_dir, changes=tuple(options or ()))
            facts = stream_facts(choice.open(_progress()))
    _screen().print(facts_table(name, facts))
    _write(json_file, facts)


@data.command()
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set.")],
    data_dir: DataDir = None,
) -> None:
    """Download a data set, unless it is here already."""
    with refusing_bad_data():
        if name not in DATA_SETS:
            raise DataError(f"there is no data set {name!r}; `devfnn data list` shows them")
        Choice(name, data_dir=data_dir).open(_progress())
    located = locate(DATA_SETS[name], data_dir)
    _screen().print(f"{name} is in {located.path if located else 'memory'}", soft_wrap=True)


@data.command()
def head(
    name: Name,
    rows: Annotated[int, typer.Option(min=1, help="Rows to show.")] = 5,
    seed: Seed = 0,
    label: Label = None,
    data_dir: DataDir = None,
    options: Options = None,
) -> None:
    """The first rows, as a model would see them."""
    with refusing_bad_data():
        choice = Choice(name, rows, rows, seed, label, data_dir, tuple(options or ()))
        stream = choice.open(_progress())
        chunks = list(stream)
        if not chunks:
            raise DataError(f"{name} has no rows")
    _screen().print(head_table(joined(chunks), stream.feature_names, name, _names(stream)))


@data.command("describe")
def describe_stream(
    name: Name,
    rows: Rows = None,
    chunk_rows: ChunkRows = 500,
    seed: Seed = 0,
    label: Label = None,
    data_dir: DataDir = None,
    options: Options = None,
    json_file: JsonFile = None,
) -> None:
    """Class balance, ranges and missing values, chunk by chunk and over all."""
    with refusing_bad_data():
        check_folder(json_file)
        choice = Choice(name, rows, chunk_rows, seed, label, data_dir, tuple(options or ()))
        stream = choice.open(_progress())
        parts = _described(stream)
        if not parts:
            raise DataError(f"{name} has no rows")
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    screen = _screen()
    screen.print(f"{whole.n_rows:,} rows in {len(parts):,} chunks")
    screen.print(chunks_table(parts, stream.feature_names, stream.drift_positions))
    screen.print(classes_table(whole, _names(stream)))
    screen.print(features_table(whole, stream.feature_names))
    _show_bad_rows(stream, screen)
    _write(
        json_file,
        {
            "stream": name,
            "drift_positions": list(stream.drift_positions),
            "overall": whole.to_dict(stream.feature_names),
            "chunks": [part.to_dict(stream.feature_names) for part in parts],
        },
    )


@data.command()
def export(
    name: Name,
    file: Annotated[pathlib.Path, typer.Argument(dir_okay=False, help="A Parquet file.")],
    rows: Rows = None,
    seed: Seed = 0,
    label: Label = None,
    label_name: Annotated[str, typer.Option(help="Name of the label's column.")] = "class",
    data_dir: DataDir = None,
    options: Options = None,
) -> None:
    """Write a stream to a Parquet file."""
    with refusing_bad_data():
        choice = Choice(name, rows, 500, seed, label, data_dir, tuple(options or ()))
        stream = choice.open(_progress())
        with rows_bar(_progress(), "writing", stream.n_rows) as progress:
            n_rows = export_parquet(stream, file, label=label_name, progress=progress)
    _screen().print(f"{n_rows:,} rows in {file}", soft_wrap=True)
    _show_bad_rows(stream, _screen())


def _names(stream: Stream) -> dict[Hashable, str]:
    """What classes are called, where they have names."""
    if not stream.class_names:
        return {}
    return dict(zip(stream.classes, stream.class_names, strict=True))


def _described(stream: Stream) -> list[Description]:
    """Descriptions of all chunks, under a bar."""
    parts: list[Description] = []
    n_rows = 0
    with rows_bar(_progress(), "reading", stream.n_rows) as progress:
        for part in describe(stream):
            parts.append(part)
            n_rows += part.n_rows
            progress(n_rows)
    return parts


def _show_bad_rows(stream: Stream, screen: rich.console.Console) -> None:
    if stream.bad_rows is None or not stream.bad_rows.n_rows:
        return
    screen.print(f"{stream.bad_rows.n_rows:,} bad rows were left out, the first of them:")
    for row, reason in stream.bad_rows.examples:
        screen.print(f"  row {row:,}: {reason}", markup=False)


def _screen() -> rich.console.Console:
    return rich.console.Console()


def _progress() -> rich.console.Console:
    return rich.console.Console(stderr=True)


def _write(file: pathlib.Path | None, result: dict[str, Any]) -> None:
    if file is not None:
        file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
