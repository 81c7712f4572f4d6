"""`devfnn data`: what streams there are, and what is in them."""

import json
import math
import pathlib
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import rich.console
import typer

from devfnn.cli.choosing import Choice, ChunkRows, DataDir, Label, Name, Options, Rows, Seed
from devfnn.cli.describing import class_names, described, show_bad_rows, show_overview
from devfnn.cli.facts import (
    Fact,
    data_set_facts,
    data_set_row,
    file_facts,
    generator_facts,
    plain,
    stream_facts,
    texts,
)
from devfnn.cli.refusals import interrupted, refusing_bad_data
from devfnn.cli.results import (
    CsvPath,
    JsonFile,
    Quiet,
    check_outputs,
    csv_file,
    result_file,
    write_facts,
)
from devfnn.display.literal import literal
from devfnn.display.progress import rows_bar
from devfnn.display.streams import facts_table, head_tables, names_table
from devfnn.errors import DataError, InputError
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.datasets.loading import described as known_data_set
from devfnn.streams.datasets.loading import locate
from devfnn.streams.exporting import export_parquet
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.transforms import joined
from devfnn.types import Chunk

data = typer.Typer(help="Streams: list, look at, describe, fetch, export.", no_args_is_help=True)

PARQUET = (".parquet", ".pq", "")
"""How the names of Parquet files end."""


@data.command("list")
def list_streams(
    data_dir: DataDir = None,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """All generators and data sets by name."""
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        sets = [data_set_row(data_set, data_dir) for data_set in DATA_SETS.values()]
        generators = {name: each.summary for name, each in GENERATORS.items()}
        result.write({"data_sets": [plain(row) for row in sets], "generators": generators})
        table.add(["name", "kind", *(fact.name for fact in sets[0][1:]), "what"])
        for row, each in zip(sets, DATA_SETS.values(), strict=True):
            first, *others = plain(row).values()
            table.add([first, "data set", *others, each.summary])
        for name, summary in generators.items():
            table.add([name, "generator", *([None] * (len(sets[0]) - 1)), summary])
    screen = _screen(quiet)
    rows = [list(texts(row).values()) for row in sets]
    screen.print(names_table("Data sets", list(texts(sets[0])), rows))
    columns = ("generator", "what it makes")
    screen.print(names_table("Generators", columns, list(generators.items())))
    screen.print("More: devfnn data info NAME. Files: give their path, or - for a pipe.")


@data.command()
def info(
    name: Name,
    label: Label = None,
    data_dir: DataDir = None,
    options: Options = None,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """Everything known about a generator, a data set or a file: size, licence, citation, source."""
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        check_outputs({"STREAM": name}, json=json_file, csv=csv_path)
        choice = Choice(name=name, label=label, data_dir=data_dir, changes=options)
        facts = _facts(choice, _progress(quiet))
        result.write(plain(facts))
        table.add(["fact", "value"])
        for fact in facts:
            is_plain = isinstance(fact.value, str | int | float | None)
            table.add([fact.name, fact.value if is_plain else json.dumps(fact.value)])
    _screen(quiet).print(facts_table(name, texts(facts)))


def _facts(choice: Choice, console: rich.console.Console) -> list[Fact]:
    """What is known of a stream, with its options; a data set is not downloaded for it."""
    if choice.name not in DATA_SETS:
        stream = choice.opened_whole(console)
        facts_of = generator_facts if choice.name in GENERATORS else file_facts
        return facts_of(choice.name, stream)
    data_set, options = DATA_SETS[choice.name], choice.options()
    facts = data_set_facts(data_set, choice.data_dir, options.pop("target", None))
    if options and locate(data_set, choice.data_dir) is not None:
        as_read = {fact.name: fact for fact in stream_facts(choice.opened_whole(console))}
        facts = [as_read.get(fact.name, fact) for fact in facts]
    return facts


@data.command()
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set.")],
    data_dir: DataDir = None,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """Download a data set, unless it is here already."""
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        if name in GENERATORS:
            raise InputError(f"{name} is a generator: it is made, not downloaded")
        data_set = known_data_set(name)
        Choice(name=name, data_dir=data_dir).open(_progress(quiet))
        located = locate(data_set, data_dir)
        assert located is not None
        n_bytes = located.path.stat().st_size
        write_facts(result, table, {"name": name, "path": str(located.path), "bytes": n_bytes})
    _screen(quiet).print(literal(f"{name} is in {located.path}"), soft_wrap=True)


@data.command()
def head(
    name: Name,
    rows: Annotated[int, typer.Option(min=1, help="Rows to show.")] = 5,
    seed: Seed = 0,
    label: Label = None,
    data_dir: DataDir = None,
    options: Options = None,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """The first rows, as a model would see them."""
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        check_outputs({"STREAM": name}, json=json_file, csv=csv_path)
        choice = Choice(
            name=name,
            rows=rows,
            chunk_rows=rows,
            seed=seed,
            label=label,
            data_dir=data_dir,
            changes=options,
        )
        stream = choice.open(_progress(quiet))
        chunks = list(stream)
        if not chunks:
            raise DataError(f"{name} has no rows")
        chunk = joined(chunks)
        columns, *lines = _lines(chunk, stream.feature_names)
        result.write({"stream": name, "columns": columns, "rows": lines})
        for line in (columns, *lines):
            table.add(line)
    screen, names = _screen(quiet), stream.feature_names
    screen.print(*head_tables(chunk, names, class_names(stream), screen.width))


def _lines(chunk: Chunk, names: Sequence[str]) -> Iterator[list[Any]]:
    """Names of columns, then rows as plain data; what is missing is None."""
    has_times = chunk.times is not None
    yield [*(["time"] if has_times else []), *names, "label"]
    times = [str(time) for time in chunk.times] if chunk.times is not None else [""] * len(chunk.y)
    for time, x, label in zip(times, chunk.X.tolist(), chunk.y.tolist(), strict=True):
        values = (None if math.isnan(value) else value for value in x)
        yield [*([time] if has_times else []), *values, label]


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
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """Class balance, ranges and missing values, chunk by chunk and over all.

    Ctrl-C shows what was read so far.
    """
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        check_outputs({"STREAM": name}, json=json_file, csv=csv_path)
        choice = Choice(
            name=name,
            rows=rows,
            chunk_rows=chunk_rows,
            seed=seed,
            label=label,
            data_dir=data_dir,
            changes=options,
        )
        stream = choice.open(_progress(quiet))
        overview, is_whole = described(stream, result, table, _progress(quiet))
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
    show_overview(overview, stream, _screen(quiet))
    if not is_whole:
        raise interrupted()


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
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """Write a stream to a Parquet file."""
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        check_outputs({"STREAM": name}, export=file, json=json_file, csv=csv_path)
        if file.suffix.lower() not in PARQUET or file.name == "-":
            better = file.with_name(f"{file.stem.strip('-') or name}.parquet")
            raise InputError(f"export writes Parquet: call the file {better}, not {file}")
        choice = Choice(
            name=name, rows=rows, seed=seed, label=label, data_dir=data_dir, changes=options
        )
        stream = choice.open(_progress(quiet))
        with rows_bar(_progress(quiet), "writing", stream.n_rows) as progress:
            n_rows = export_parquet(stream, file, label=label_name, progress=progress)
        write_facts(result, table, {"stream": name, "path": str(file), "rows": n_rows})
    _screen(quiet).print(literal(f"{n_rows:,} rows in {file}"), soft_wrap=True)
    show_bad_rows(stream, _screen(quiet))


def _screen(quiet: bool) -> rich.console.Console:
    return rich.console.Console(quiet=quiet)


def _progress(quiet: bool) -> rich.console.Console:
    return rich.console.Console(stderr=True, quiet=quiet)
