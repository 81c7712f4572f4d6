"""All commands in one place; those without a file of their own are here."""

import io
import sys

import rich.table
import typer

import devfnn
from devfnn.baselines.registry import MODELS
from devfnn.cli.bench import bench
from devfnn.cli.compare import compare
from devfnn.cli.data import data
from devfnn.cli.inspect import explain, inspect
from devfnn.cli.learn import learn
from devfnn.cli.output import Output, command, write_facts
from devfnn.cli.plot import plot
from devfnn.cli.predict import predict
from devfnn.cli.report import report
from devfnn.cli.run import run
from devfnn.cli.table import table
from devfnn.display.tables import literal
from devfnn.experiments.settings import versions

app = typer.Typer(
    help="Learning from data streams that change.", no_args_is_help=True, add_completion=False
)


@command
def models(output: Output) -> None:
    """List the models that `run` and `compare` know."""
    entries = [
        {"name": each.name, "description": each.description, "extra": each.extra}
        for each in MODELS.values()
    ]
    with output.files() as (result, lines):
        result.write({"models": entries})
        lines.add(("model", "description", "extra"))
        for entry in entries:
            lines.add(entry.values())
    table = rich.table.Table("model", "description", "needs", title="Models")
    for name, description, extra in (entry.values() for entry in entries):
        table.add_row(name, description, literal(f"devfnn[{extra}]" if extra else ""))
    output.screen.print(table)
    output.say("pip install 'devfnn[baselines,bench]' installs what all of them need.")


@command
def version(output: Output) -> None:
    """Show the version."""
    with output.files() as (result, line):
        write_facts(result, line, versions())
    output.say(f"devfnn {devfnn.__version__}")


for function in (
    *(run, compare, models, table, plot, report),
    *(inspect, explain, predict, learn, bench, version),
):
    app.command()(function)
app.add_typer(data, name="data")


def main() -> None:
    """Run the command line; characters that a terminal cannot show are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="devfnn")
