"""All commands in one place."""

import io
import sys

import typer

import devfnn
from devfnn.cli.data import data
from devfnn.cli.run import run

app = typer.Typer(
    help="Learning from data streams that change.", no_args_is_help=True, add_completion=False
)
app.command()(run)
app.add_typer(data, name="data")


@app.command()
def version() -> None:
    """Show the version."""
    typer.echo(f"devfnn {devfnn.__version__}")


def main() -> None:
    """Run the command line; what a terminal cannot show is shown by its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="devfnn")
