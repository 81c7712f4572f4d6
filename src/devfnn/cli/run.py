"""`devfnn run`: a model over a stream, predicting first."""

import contextlib
import enum
import json
import logging
import pathlib
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import rich.console
import typer

import devfnn
from devfnn.cli.choosing import Choice, ChunkRows, DataDir, Label, Options, Rows
from devfnn.cli.values import check_folder, parsed_changes, refusing_bad_data
from devfnn.display import drift_table, result_table, watched
from devfnn.errors import DataError
from devfnn.evaluation import ChunkResult, Summary, iter_prequential
from devfnn.streams import Stream, sea


class Preset(enum.StrEnum):
    """Configurations to start from."""

    default = "default"
    static = "static"


def run(
    name: Annotated[
        str,
        typer.Argument(metavar="STREAM", help="A generator, a data set, a file, or - for a pipe."),
    ] = "sea",
    rows: Rows = None,
    chunk_rows: ChunkRows = 500,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the stream and the model.")] = 0,
    label: Label = None,
    data_dir: DataDir = None,
    options: Options = None,
    preset: Annotated[Preset, typer.Option(help="Configuration to start from.")] = Preset.default,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; may be repeated."),
    ] = None,
    json_file: Annotated[
        pathlib.Path | None,
        typer.Option("--json", metavar="FILE", dir_okay=False, help="Write the result here."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")] = False,
) -> None:
    """Train DEVFNN on a stream, predicting every chunk before learning it."""
    screen = rich.console.Console(quiet=quiet)
    progress = rich.console.Console(stderr=True, quiet=quiet)
    with refusing_bad_data():
        config = _config(preset, seed, changes or [])
        check_folder(json_file)
        choice = Choice(name, rows, chunk_rows, seed, label, data_dir, tuple(options or ()))
        stream = choice.open(progress)
        seconds_ready = _get_ready(config, progress)
        model = devfnn.DEVFNN(config, feature_names=stream.feature_names)
        results = list(watched(iter_prequential(model, stream), stream.n_rows, progress))
        if not results:
            raise DataError(f"{name} has no rows")
    n_rows = results[-1].n_rows
    screen.print(
        result_table(results, f"DEVFNN ({preset}) on {name}, {n_rows:,} rows, seed {seed}")
    )
    screen.print(drift_table(results, stream.drift_positions, n_rows))
    screen.print(f"Kernels were ready after {seconds_ready:.1f} s, not counted above.")
    if json_file is not None:
        report = _report(results, stream, config) | {"seconds_ready": seconds_ready}
        json_file.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _config(preset: Preset, seed: int, changes: Sequence[str]) -> devfnn.Config:
    """The preset with the seed and the changes applied."""
    from devfnn.model import presets

    start = {Preset.default: presets.default, Preset.static: presets.static}[preset]()
    return start.replace(**{"seed": seed} | parsed_changes(changes))


def _get_ready(config: devfnn.Config, console: rich.console.Console) -> float:
    """Compile or load the kernels where the user can see it; returns the seconds it took."""
    start = time.perf_counter()
    with _log_shown(console), console.status("Getting the compiled kernels ready ..."):
        from devfnn.model.compiling import ensure_compiled

        ensure_compiled()
        rehearsal = sea(300, rows_per_concept=300, chunk_rows=100)
        for _ in iter_prequential(devfnn.DEVFNN(config), rehearsal):
            pass
    return time.perf_counter() - start


class _ConsoleHandler(logging.Handler):
    """Shows log records as lines on a console, above a status if there is one."""

    def __init__(self, console: rich.console.Console) -> None:
        super().__init__()
        self.console = console

    def emit(self, record: logging.LogRecord) -> None:
        self.console.print(record.getMessage(), markup=False)


@contextlib.contextmanager
def _log_shown(console: rich.console.Console) -> Iterator[None]:
    """Show what the package logs, while this lasts."""
    handler = _ConsoleHandler(console)
    logger = logging.getLogger("devfnn")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _report(
    results: Sequence[ChunkResult], stream: Stream, config: devfnn.Config
) -> dict[str, Any]:
    """The run as plain data."""
    return {
        "version": devfnn.__version__,
        "config": config.to_dict(),
        "drift_positions": list(stream.drift_positions),
        "summary": Summary.of(results).to_dict(),
        "accuracies": [result.accuracy for result in results],
        "events": [event.to_dict() for result in results for event in result.events],
    }
