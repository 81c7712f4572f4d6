"""All commands in one place."""

import io
import sys

import typer

import devfnn
from devfnn.cli.bench import bench
from devfnn.cli.compare import compare
from devfnn.cli.data import data
from devfnn.cli.explain import explain
from devfnn.cli.inspect import inspect
from devfnn.cli.learn import learn
from devfnn.cli.listing import models
from devfnn.cli.plot import plot
from devfnn.cli.predict import predict
from devfnn.cli.refusals import refusing_bad_data
from devfnn.cli.report import report
from devfnn.cli.results import CsvPath, JsonFile, Quiet, csv_file, result_file, write_facts
from devfnn.cli.run import run
from devfnn.cli.table import table
from devfnn.experiments.settings import versions

app = typer.Typer(
    help="Learning from data streams that change.", no_args_is_help=True, add_completion=False
)
for command in (
    *(run, compare, models, table, plot, report),
    *(inspect, explain, predict, learn, bench),
):
    app.command()(command)
app.add_typer(data, name="data")


@app.command()
def version(json_file: JsonFile = None, csv_path: CsvPath = None, quiet: Quiet = False) -> None:
    """Show the version."""
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as line:
        write_facts(result, line, versions())
    if not quiet:
        typer.echo(f"devfnn {devfnn.__version__}")


def main() -> None:
    """Run the command line; what a terminal cannot show is shown by its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="devfnn")
