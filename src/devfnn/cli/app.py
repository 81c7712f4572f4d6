"""All commands in one place; those without a file of their own are here."""

import io
import platform
import sys

import typer

import devfnn
from devfnn.baselines.registry import MODELS
from devfnn.cli.compare import compare
from devfnn.cli.data import data
from devfnn.cli.learn import learn
from devfnn.cli.option_parsing import parse_names
from devfnn.cli.output import Output, command
from devfnn.cli.plot import plot, report
from devfnn.cli.run import run
from devfnn.cli.running import Commands, compile_kernels
from devfnn.cli.saved_models import explain, inspect, predict
from devfnn.cli.table import table
from devfnn.display.live import rows_bar
from devfnn.display.tables import text_table
from devfnn.experiments.bench import STREAMS, timings
from devfnn.experiments.settings import versions
from devfnn.formatting import count, percent, size
from devfnn.model.config import Config

app = typer.Typer(
    cls=Commands,
    help="Learning from data streams that change.",
    no_args_is_help=True,
    add_completion=False,
)


@command
def models(output: Output) -> None:
    """List the models that `run` and `compare` know."""
    entries = [(each.name, each.description, each.extra) for each in MODELS.values()]
    with output.files() as (result, lines):
        names = ("name", "description", "extra")
        result.write_json({"models": [dict(zip(names, each, strict=True)) for each in entries]})
        for line in (("model", "description", "extra"), *entries):
            lines.add_row(line)
    shown = [(*about, extra and f"devfnn[{extra}]") for *about, extra in entries]
    output.screen.print(text_table("Models", ("model", "description", "needs"), shown))
    output.say("pip install 'devfnn[baselines,bench]' installs what all of them need.")


@command
def bench(
    output: Output,
    models: str = typer.Option(
        "devfnn,devfnn@static,logistic,rls",
        metavar="A,B,...",
        help="Models, as in `devfnn compare`.",
    ),
    streams: str = typer.Option(",".join(STREAMS), metavar="X,Y,...", help="Generated streams."),
    rows: int = typer.Option(20_000, min=1000, help="Rows of each run."),
    repeats: int = typer.Option(3, min=1, help="Repetitions of each run."),
) -> None:
    """Time models on generated streams, predicting and learning, on one core.

    Machines differ and are busy. So speed is also given as a ratio: how many times as fast as one
    recursive least squares update in NumPy, timed in the same run.
    """
    with output.files() as (result, lines):
        names, chosen = parse_names(models), parse_names(streams)
        compile_kernels(Config(), output.progress)
        found = []
        with rows_bar(output.progress, "timing", len(names) * len(chosen), "runs") as show:
            for timing in timings(names, chosen, rows, repeats):
                found.append(timing)
                show(len(found))
        lines.write_table(found)
        machine = {"machine": platform.machine(), "system": platform.system()}
        result.write_json({"versions": versions() | machine, "timings": found})
    columns = ("stream", "model", "accuracy", "rows/s", "x NumPy", "loop", "size")
    shown = [
        (
            each["stream"],
            each["model"],
            percent(each["accuracy_mean"]),
            count(each["rows_per_second"]),
            f"{each['times_yardstick']:.2f}",
            f"+ {percent(each['loop_share'], 1)}",
            size(each["model_bytes"]),
        )
        for each in found
    ]
    title = "Predicting and learning, one core, chunks of 500 rows"
    output.screen.print(text_table(title, columns, shown))
    output.say(
        "x NumPy: times as fast as one least squares update in NumPy. loop: time of the measuring "
        "loop on top of the model's own time."
    )


@command
def version(output: Output) -> None:
    """Show the version."""
    with output.files() as (result, line):
        result.write_json(versions())
        line.write_table([versions()])
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
