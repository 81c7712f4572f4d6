"""The command line: parse, call, show."""

import contextlib
import enum
import json
import logging
import math
import pathlib
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import rich.console
import typer

import devfnn
from devfnn.display import drift_table, result_table, watched
from devfnn.errors import InputError
from devfnn.evaluation import ChunkResult, Summary, iter_prequential
from devfnn.streams import GeneratedStream, sea

CONCEPTS = 8
"""Concepts of the built-in stream: SEA's four thresholds, twice."""

app = typer.Typer(
    help="Learning from data streams that change.", no_args_is_help=True, add_completion=False
)


class Preset(enum.StrEnum):
    """Configurations to start from."""

    default = "default"
    static = "static"


@app.command()
def run(
    rows: Annotated[int, typer.Option(min=1, help="Rows of the stream.")] = 100_000,
    chunk_rows: Annotated[int, typer.Option(min=1, help="Rows in a chunk.")] = 500,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the stream and the model.")] = 0,
    noise: Annotated[float, typer.Option(min=0, max=1, help="Share of wrong labels.")] = 0.1,
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
    """Train DEVFNN on a SEA stream with drift, predicting every chunk before learning it."""
    with _refusing_bad_values():
        config = _config(preset, seed, changes or [])
        stream = sea(
            rows,
            rows_per_concept=math.ceil(rows / CONCEPTS),
            noise=noise,
            chunk_rows=chunk_rows,
            seed=seed,
        )
        _check_folder(json_file)
    screen = rich.console.Console(quiet=quiet)
    progress = rich.console.Console(stderr=True, quiet=quiet)
    seconds_ready = _get_ready(config, progress)
    model = devfnn.DEVFNN(config, feature_names=stream.feature_names)
    results = list(watched(iter_prequential(model, stream), stream.n_rows, progress))
    screen.print(result_table(results, f"DEVFNN ({preset}) on SEA, {rows:,} rows, seed {seed}"))
    screen.print(drift_table(results, stream.drift_positions, stream.n_rows))
    screen.print(f"Kernels were ready after {seconds_ready:.1f} s, not counted above.")
    if json_file is not None:
        report = _report(results, stream, config) | {"seconds_ready": seconds_ready}
        json_file.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


@app.command()
def version() -> None:
    """Show the version."""
    typer.echo(f"devfnn {devfnn.__version__}")


def main() -> None:
    """Run the command line."""
    app(prog_name="devfnn")


@contextlib.contextmanager
def _refusing_bad_values() -> Iterator[None]:
    """Show a refused value as a usage error, with exit code 2."""
    try:
        yield
    except InputError as error:
        raise typer.BadParameter(str(error)) from None


def _config(preset: Preset, seed: int, changes: Sequence[str]) -> devfnn.Config:
    """The preset with the seed and the changes applied."""
    from devfnn.model import presets

    start = {Preset.default: presets.default, Preset.static: presets.static}[preset]()
    return start.replace(**{"seed": seed} | dict(map(_parsed_change, changes)))


def _parsed_change(change: str) -> tuple[str, bool | int | float | str]:
    """A NAME=VALUE pair, the value as the plainest type that fits.

    >>> [_parsed_change(change) for change in ("max_rules=1e2", "growing=false", "vote=soft")]
    [('max_rules', 100), ('growing', False), ('vote', 'soft')]
    """
    name, equals, text = (part.strip() for part in change.partition("="))
    if not (name and equals and text):
        raise InputError(f"--set takes NAME=VALUE, not {change!r}")
    if text.lower() in ("true", "false"):
        return name, text.lower() == "true"
    with contextlib.suppress(ValueError):
        return name, int(text)
    with contextlib.suppress(ValueError):
        number = float(text)
        if math.isfinite(number):  # no parameter may be anything else: the text is refused later
            return name, int(number) if number.is_integer() else number
    return name, text


def _check_folder(file: pathlib.Path | None) -> None:
    """Refuse a result file that cannot be written before the run, not after it."""
    if file is not None and not file.parent.is_dir():
        raise InputError(f"the folder of {str(file)!r} does not exist")


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
    results: Sequence[ChunkResult], stream: GeneratedStream, config: devfnn.Config
) -> dict[str, Any]:
    """The run as plain data."""
    return {
        "version": devfnn.__version__,
        "config": config.to_dict(),
        "drift_positions": stream.drift_positions,
        "summary": Summary.of(results).to_dict(),
        "accuracies": [result.accuracy for result in results],
        "events": [event.to_dict() for result in results for event in result.events],
    }
