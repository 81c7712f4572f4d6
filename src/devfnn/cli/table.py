"""`devfnn table`: the paper's Table 1 measured anew, or results of runs side by side."""

import enum
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import rich.console
import typer

from devfnn.cli.choosing import Choice, DataDir, Rows
from devfnn.cli.commands import typed_command
from devfnn.cli.gridding import check_all_can_start, finished, listed, made_folder
from devfnn.cli.refusals import interrupted, refusing_bad_data
from devfnn.cli.results import (
    CsvPath,
    JsonFile,
    check_outputs,
    check_replaceable,
    csv_file,
    result_file,
    text_file,
)
from devfnn.display.literal import literal
from devfnn.display.tables import results_table, show_notes
from devfnn.errors import InputError
from devfnn.experiments.ablations import ablation_table
from devfnn.experiments.grid import Cell
from devfnn.experiments.paper_table import paper_table
from devfnn.experiments.peer_table import peer_table
from devfnn.experiments.reading import read_results
from devfnn.experiments.rendering import Table
from devfnn.experiments.table_runs import (
    PAPER_MODELS,
    PAPER_STREAMS,
    PEER_MODELS,
    PEER_STREAMS,
    ablation_cells,
    table_cells,
)


class Format(enum.StrEnum):
    """How a table is written."""

    text = "text"
    markdown = "markdown"
    csv = "csv"
    latex = "latex"
    html = "html"


class _Kind(enum.Enum):
    """Which table it is."""

    paper = enum.auto()
    peers = enum.auto()
    ablations = enum.auto()


_MADE: dict[_Kind, Callable[[Sequence[Mapping[str, Any]]], Table]] = {
    _Kind.paper: paper_table,
    _Kind.peers: peer_table,
    _Kind.ablations: ablation_table,
}

_WRITTEN: dict[Format, Callable[[Table], str]] = {
    Format.text: Table.to_text,
    Format.markdown: Table.to_markdown,
    Format.csv: Table.to_csv,
    Format.latex: Table.to_latex,
    Format.html: Table.to_html,
}


def table(
    context: typer.Context,
    paths: Annotated[
        list[pathlib.Path] | None,
        typer.Argument(
            metavar="[RESULT]...",
            exists=True,
            show_default=False,
            help="Files that `devfnn run --json` wrote, or folders of them. Without any, all that "
            "is missing is run first.",
        ),
    ] = None,
    peers: Annotated[
        bool,
        typer.Option("--peers", help="Many models by streams, with speed, size, ranks and tests."),
    ] = False,
    ablations: Annotated[
        bool, typer.Option("--ablations", help="DEVFNN with every mechanism switched off in turn.")
    ] = False,
    models: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Models to run, as `devfnn models` lists them; by default all of the table.",
        ),
    ] = None,
    streams: Annotated[
        str | None,
        typer.Option(metavar="X,Y,...", help="Streams to run; by default all of the table."),
    ] = None,
    n_seeds: Annotated[
        int,
        typer.Option("--seeds", min=1, help="Runs with seeds 0, 1, ...; KDD and SUSY have one."),
    ] = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = os.cpu_count() or 1,
    folder: Annotated[
        pathlib.Path,
        typer.Option(metavar="FOLDER", file_okay=False, help="Where the results of runs are kept."),
    ] = pathlib.Path("table"),
    rows: Rows = None,
    data_dir: DataDir = None,
    written_as: Annotated[
        Format, typer.Option("--format", help="How it is written.")
    ] = Format.text,
    output: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Write it here instead of showing it."),
    ] = None,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")] = False,
) -> None:
    """Make Table 1 of the paper, measured beside published; or a table of many models.

    Every run is kept in a file of its own as soon as it is finished, so the same command goes on
    where it was stopped. Results of several seeds become one line of means. JSON and CSV files have
    all digits, and shares between 0 and 1.
    """
    progress = rich.console.Console(stderr=True, quiet=quiet)
    kind = _Kind.peers if peers else _Kind.ablations if ablations else _Kind.paper
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as values:
        check_outputs(_inputs(paths or []), output=output, json=json_file, csv=csv_path)
        if output is not None:
            check_replaceable(output)
        _check_one_table(peers, ablations, models)
        if paths:
            _check_nothing_to_run(models, streams, rows)
            found = _Found(read_results(paths))
        else:
            plan = _Plan(kind, models, streams, n_seeds, rows, data_dir)
            found = _run(plan, folder, jobs, progress)
        if not found.results:
            _end(found, context, progress)
        made = _MADE[kind](found.results)
        result.write(made.to_dict())
        for line in made.values():
            values.add(line)
        if output is not None:
            with text_file(output) as file:
                if file is not None:
                    file.write(_WRITTEN[written_as](made))
    _show(made, written_as, output, rich.console.Console(quiet=quiet))
    _end(found, context, progress)


class _Found(NamedTuple):
    """What a table is made from, and what is missing in it."""

    results: Sequence[Mapping[str, Any]]
    failures: Sequence[str] = ()
    is_whole: bool = True


class _Plan(NamedTuple):
    """What is to be run."""

    kind: _Kind
    models: str | None
    streams: str | None
    n_seeds: int
    rows: int | None
    data_dir: pathlib.Path | None

    def cells(self) -> list[Cell]:
        """All runs."""
        usual = PAPER_STREAMS if self.kind is _Kind.paper else PEER_STREAMS
        streams = usual if self.streams is None else listed(self.streams)
        data_dir = None if self.data_dir is None else str(self.data_dir)
        limits: dict[str, Any] = {"rows": self.rows, "data_dir": data_dir}
        if self.kind is _Kind.ablations:
            return ablation_cells(streams, self.n_seeds, **limits)
        all_models = PEER_MODELS if self.kind is _Kind.peers else PAPER_MODELS
        models = all_models if self.models is None else listed(self.models)
        return table_cells(models, streams, self.n_seeds, **limits)


def _run(plan: _Plan, folder: pathlib.Path, jobs: int, progress: rich.console.Console) -> _Found:
    """Run what is missing."""
    cells = plan.cells()
    check_all_can_start(cells, Choice(name="", data_dir=plan.data_dir), progress)
    outcomes, is_whole = finished(cells, made_folder(folder), jobs, progress)
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    failures = [f"{outcome.cell}: {outcome.error}" for outcome in outcomes if outcome.error]
    if not results and is_whole:
        said = f": {failures[0]}" if failures else ""
        raise InputError(f"no run was finished, so there is no table{said}")
    return _Found(results, failures, is_whole)


def _end(found: _Found, context: typer.Context, progress: rich.console.Console) -> None:
    """Say what is missing, and how to go on; the exit code says it too."""
    for failure in found.failures:
        progress.print(literal(f"Failed: {failure}"), soft_wrap=True)
    if not found.is_whole:
        command = typed_command(context, with_outputs=True)
        progress.print(literal(f"Runs are left. To go on: {command}"), soft_wrap=True)
        raise interrupted()
    if found.failures:
        raise typer.Exit(1)


def _check_one_table(peers: bool, ablations: bool, models: str | None) -> None:
    """Refuse to make two tables at once, and other models than DEVFNN in its ablations."""
    if peers and ablations:
        raise InputError("--peers and --ablations are two tables; make one after the other")
    if ablations and models is not None:
        raise InputError("--ablations are of DEVFNN; --models does not go with it")


def _check_nothing_to_run(models: str | None, streams: str | None, rows: int | None) -> None:
    """Refuse to be told what to run when there are results to read."""
    for option, value in (("--models", models), ("--streams", streams), ("--rows", rows)):
        if value is not None:
            raise InputError(f"{option} says what to run; with results, nothing is run")


def _inputs(paths: list[pathlib.Path]) -> dict[str, pathlib.Path]:
    """All files that are read, also those in folders."""
    files = [file for path in paths for file in (path.rglob("*.json") if path.is_dir() else [path])]
    return {str(file): file for file in files}


def _show(
    made: Table, written_as: Format, output: pathlib.Path | None, screen: rich.console.Console
) -> None:
    if output is not None:
        screen.print(literal(f"The table is in {output}"), soft_wrap=True)
    elif written_as is Format.text:
        screen.print(results_table(made, screen.width))
        show_notes(made, screen)
    elif not screen.quiet:
        typer.echo(_WRITTEN[written_as](made), nl=False)
