"""`devfnn table`: the paper's Table 1 measured again, or results of many runs in one table."""

import itertools
import pathlib
import sys
from typing import Any, Literal

import typer

from devfnn.cli import inputs, running
from devfnn.cli.option_parsing import parse_names
from devfnn.cli.output import Output, check_replaceable, command, file_option, text_file
from devfnn.display.results import results_table
from devfnn.display.tables import literal
from devfnn.errors import InputError
from devfnn.experiments import table_runs
from devfnn.experiments.grid import Cell
from devfnn.experiments.rendering import Table
from devfnn.experiments.result_files import read_results, refusing_malformed
from devfnn.experiments.tables import ablation_table, paper_table, peer_table
from devfnn.formatting import printable

Format = Literal["markdown", "latex"]


@command
def table(
    output: Output,
    context: typer.Context,
    paths: list[pathlib.Path] = typer.Argument(
        None,
        metavar="[RESULT]...",
        exists=True,
        show_default=False,
        help="Files that `devfnn run --json` wrote, or folders of them. Without any, all missing "
        "runs are made first.",
    ),
    peers: bool = typer.Option(
        False, "--peers", help="Many models by streams, with speed, size, ranks and tests."
    ),
    ablations: bool = typer.Option(
        False, "--ablations", help="DEVFNN with each mechanism switched off in turn."
    ),
    models: str | None = typer.Option(
        None,
        metavar="A,B,...",
        help="Models to run, as `devfnn models` lists them; by default all of the table.",
    ),
    streams: str | None = typer.Option(
        None, metavar="X,Y,...", help="Streams to run; by default all of the table."
    ),
    n_seeds: int = typer.Option(
        3, "--seeds", min=1, help="Number of seeds: 0, 1, ...; one for KDD and SUSY."
    ),
    jobs: running.Jobs = running.ALL_CORES,
    folder: pathlib.Path = typer.Option(
        "table", metavar="FOLDER", file_okay=False, help="Folder of the results of runs."
    ),
    rows: inputs.Rows = None,
    data_dir: inputs.DataDir = None,
    written_as: Format | None = typer.Option(
        None, "--format", help="How the table is written; files are Markdown by default."
    ),
    file: pathlib.Path | None = file_option("Write the table here, do not show it.", "--output"),
) -> None:
    """Make Table 1 of the paper, measured beside published; or a table of many models.

    Every run is saved in a file of its own as soon as it is finished, so the same command continues
    where it was stopped. Results of several seeds become one line of means. JSON and CSV files have
    all digits, and shares between 0 and 1.
    """
    paths = paths or []
    folders = (path.rglob("*.json") if path.is_dir() else [path] for path in paths)
    read = {str(each): each for each in itertools.chain.from_iterable(folders)}
    with output.files(read, output=file) as (result, values):
        if file is not None:
            check_replaceable(file)
        if ablations and (peers or models is not None):
            raise InputError("--ablations are of DEVFNN: --peers and --models do not go with them")
        if paths:
            if models or streams or rows:
                raise InputError("with results nothing is run by --models, --streams or --rows")
            runs, results = running.Runs([]), read_results(paths)
        else:
            limits = {"rows": rows, "data_dir": None if data_dir is None else str(data_dir)}
            cells = _cells(peers, ablations, models, streams, n_seeds, limits)
            runs = running.run_all(cells, folder, jobs, output.progress)
            results = runs.results
        if not results:
            runs.end(context, output)
        with refusing_malformed(" ".join(map(str, paths or [folder]))):
            make = ablation_table if ablations else peer_table if peers else paper_table
            made = make(results)
            text: str = getattr(made, f"to_{written_as or 'markdown'}")()
        result.write_json(made.to_dict())
        for line in made.values():
            values.add_row(line)
        with text_file(file) as written:
            written.write(text)
    if file is not None:
        output.say(f"The table is in {file}")
    else:
        _show(made, text, written_as, output)
    runs.end(context, output)


def _show(made: Table, text: str, written_as: Format | None, output: Output) -> None:
    if written_as is None:
        output.screen.print(results_table(made, output.screen.width))
        for note in made.notes:
            output.screen.print(literal(note, "dim"))
    elif not output.quiet:
        is_shown = sys.stdout.isatty()
        typer.echo(printable(text, keeps="\n") if is_shown else text, nl=False)


def _cells(
    peers: bool,
    ablations: bool,
    models: str | None,
    streams: str | None,
    n_seeds: int,
    limits: dict[str, Any],
) -> list[Cell]:
    """The runs of a table, of the chosen models and streams or of all."""
    every = table_runs.PEER_STREAMS if peers or ablations else table_runs.PAPER_STREAMS
    chosen = every if streams is None else parse_names(streams)
    if ablations:
        return table_runs.ablation_cells(chosen, n_seeds, **limits)
    usual = table_runs.PEER_MODELS if peers else table_runs.PAPER_MODELS
    named = usual if models is None else parse_names(models)
    return table_runs.table_cells(named, chosen, n_seeds, **limits)
