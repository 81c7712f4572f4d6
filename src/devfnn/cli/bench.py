"""`devfnn bench`: how fast models are on this machine."""

import platform
from typing import Annotated

import rich.console
import rich.progress
import rich.table
import typer

from devfnn.cli.kernels import get_ready
from devfnn.cli.refusals import refusing_bad_data
from devfnn.cli.results import CsvPath, JsonFile, Quiet, csv_file, result_file
from devfnn.display.literal import literal
from devfnn.display.numbers import bytes_of, count, percent
from devfnn.errors import InputError
from devfnn.experiments.bench import STREAMS, Timing, timings
from devfnn.experiments.settings import versions


def bench(
    models: Annotated[
        str, typer.Option(metavar="A,B,...", help="Models, as in `devfnn compare`.")
    ] = "devfnn,devfnn@static,logistic,rls",
    streams: Annotated[str, typer.Option(metavar="X,Y,...", help="Generated streams.")] = ",".join(
        STREAMS
    ),
    rows: Annotated[int, typer.Option(min=1000, help="Rows of each run.")] = 20_000,
    repeats: Annotated[int, typer.Option(min=1, help="Times each run is repeated.")] = 3,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """Time models on generated streams, predicting and learning, on one core.

    Machines differ and are busy. So speed is also given as a ratio: how many times as fast as one
    recursive least squares update in NumPy, timed in the same run.
    """
    screen = rich.console.Console(quiet=quiet)
    progress = rich.console.Console(stderr=True, quiet=quiet)
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as lines:
        names, chosen = models.split(","), streams.split(",")
        if not all(names) or not all(chosen):
            raise InputError("models and streams are names with commas between them")
        get_ready(None, progress)
        found: list[Timing] = []
        for timing in rich.progress.track(
            timings(names, chosen, rows, repeats),
            description="timing",
            total=len(names) * len(chosen),
            console=progress,
            transient=True,
            disable=not progress.is_terminal,
        ):
            if not found:
                lines.add(timing.to_dict())
            lines.add(timing.to_dict().values())
            found.append(timing)
        machine = {"machine": platform.machine(), "system": platform.system()}
        result.write(
            {"versions": versions() | machine, "timings": [each.to_dict() for each in found]}
        )
    screen.print(_table(found))


def _table(found: list[Timing]) -> rich.table.Table:
    table = rich.table.Table(
        title="Predicting and learning, one core, chunks of 500 rows",
        caption="x NumPy: times as fast as one least squares update in NumPy. loop: what measuring "
        "takes on top of the model's own time.",
    )
    for name in ("stream", "model"):
        table.add_column(name, no_wrap=True)
    for name in ("accuracy", "rows/s", "x NumPy", "loop", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found:
        table.add_row(
            literal(each.stream),
            literal(each.model),
            percent(each.accuracy_mean),
            count(each.rows_per_second),
            f"{each.times_yardstick:.2f}",
            f"+ {100.0 * each.loop_share:.1f} %",
            bytes_of(each.model_bytes),
        )
    return table
