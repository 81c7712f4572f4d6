"""`devfnn bench`: how fast models are on this machine."""

import platform
from typing import Any

import rich.progress
import rich.table
import typer

from devfnn.cli.output import Output, command
from devfnn.cli.running import compile_kernels
from devfnn.display.tables import literal
from devfnn.errors import InputError
from devfnn.experiments.bench import STREAMS, timings
from devfnn.experiments.settings import versions
from devfnn.formatting import count, percent, size
from devfnn.model.config import Config


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
        names, chosen = models.split(","), streams.split(",")
        if not all(names) or not all(chosen):
            raise InputError("models and streams are names with commas between them")
        compile_kernels(Config(), output.progress)
        tracked = rich.progress.track(
            timings(names, chosen, rows, repeats),
            description="timing",
            total=len(names) * len(chosen),
            console=output.progress,
            transient=True,
            disable=not output.progress.is_terminal,
        )
        found = list(tracked)
        lines.add_all(found)
        machine = {"machine": platform.machine(), "system": platform.system()}
        result.write({"versions": versions() | machine, "timings": found})
    output.screen.print(_table(found))


def _table(found: list[dict[str, Any]]) -> rich.table.Table:
    table = rich.table.Table(
        title="Predicting and learning, one core, chunks of 500 rows",
        caption="x NumPy: times as fast as one least squares update in NumPy. loop: time of the "
        "measuring loop on top of the model's own time.",
    )
    for name in ("stream", "model"):
        table.add_column(name, no_wrap=True)
    for name in ("accuracy", "rows/s", "x NumPy", "loop", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found:
        table.add_row(
            literal(each["stream"]),
            literal(each["model"]),
            percent(each["accuracy_mean"]),
            count(each["rows_per_second"]),
            f"{each['times_yardstick']:.2f}",
            f"+ {percent(each['loop_share'], 1)}",
            size(each["model_bytes"]),
        )
    return table
