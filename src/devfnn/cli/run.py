"""`devfnn run`: a model over a stream, predicting first."""

import contextlib
import enum
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import rich.console
import typer

import devfnn
from devfnn.cli.choosing import (
    Choice,
    ChunkRows,
    DataDir,
    DelayLabels,
    HideLabels,
    Label,
    Options,
    Rows,
    Shuffle,
    Skip,
)
from devfnn.cli.describing import show_bad_rows
from devfnn.cli.refusals import interrupted, refusing_bad_data
from devfnn.cli.results import JsonFile, result_file
from devfnn.cli.values import parsed_changes
from devfnn.display import drift_table, result_table, watched
from devfnn.display.literal import literal
from devfnn.errors import DataError, InputError
from devfnn.evaluation import ChunkResult, Summary, iter_prequential
from devfnn.model.intake import LARGEST
from devfnn.streams import Stream, sea
from devfnn.types import Chunk


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
    skip: Skip = 0,
    shuffle: Shuffle = None,
    hide_labels: HideLabels = 0.0,
    delay_labels: DelayLabels = 0,
    preset: Annotated[Preset, typer.Option(help="Configuration to start from.")] = Preset.default,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; may be repeated."),
    ] = None,
    json_file: JsonFile = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")] = False,
) -> None:
    """Train DEVFNN on a stream, predicting every chunk before learning it.

    Ctrl-C ends the run and shows its result so far.
    """
    screen = rich.console.Console(quiet=quiet)
    progress = rich.console.Console(stderr=True, quiet=quiet)
    with refusing_bad_data(), result_file(json_file) as result:
        config = _config(preset, seed, changes or [])
        choice = Choice(
            name=name,
            rows=rows,
            chunk_rows=chunk_rows,
            seed=seed,
            label=label,
            data_dir=data_dir,
            changes=options,
            skip=skip,
            shuffle=shuffle,
            hide_labels=hide_labels,
            delay_labels=delay_labels,
        )
        if choice.has_no_label or hide_labels == 1.0:
            said = "--label none" if choice.has_no_label else "--hide-labels 1"
            raise InputError(f"a run needs labels to learn; with {said} there are none")
        stream = choice.open(progress)
        seconds_ready = _get_ready(config, progress)
        model = devfnn.DEVFNN(config, feature_names=stream.feature_names)
        run_results = iter_prequential(model, _usable(stream, choice, config))
        results, is_whole = _gathered(watched(run_results, stream.n_rows, progress))
        if not results:
            raise DataError(f"{name} has no rows") if is_whole else KeyboardInterrupt
        if is_whole and not model.n_labels_used:
            raise DataError(f"nothing was learned: no row of {name} has a label to learn")
        about = {"stream": name, "is_interrupted": not is_whole, "seconds_ready": seconds_ready}
        result.write(about | _report(results, stream, config))
    n_rows = results[-1].n_rows
    title = f"DEVFNN ({preset}) on {name}, {n_rows:,} rows, seed {seed}"
    screen.print(result_table(results, title if is_whole else f"{title}, interrupted"))
    screen.print(drift_table(results, stream.drift_positions, n_rows))
    show_bad_rows(stream, screen)
    screen.print(f"Kernels were ready after {seconds_ready:.1f} s, not counted above.")
    if not is_whole:
        raise interrupted()


def _usable(stream: Stream, choice: Choice, config: devfnn.Config) -> Iterator[Chunk]:
    """The chunks of a stream, up to a value that the model would refuse."""
    n_before = choice.skip
    for chunk in stream:
        is_missing = np.isnan(chunk.X)
        is_bad = np.abs(np.where(is_missing, 0.0, chunk.X)) > LARGEST
        if config.missing == "error":
            is_bad |= is_missing
        if is_bad.any():
            row, feature = np.argwhere(is_bad)[0]
            what = (
                "is missing. To learn without it: --set missing=skip. "
                "To put the mean in its place: --with missing=mean"
                if is_missing[row, feature]
                else f"is {chunk.X[row, feature]:g}; beyond {LARGEST:g} nothing can be learned"
            )
            place = f"{n_before + row + 1:,}" + (" as shuffled" if choice.shuffle else "")
            raise DataError(f"{choice.name}, row {place}: {stream.feature_names[feature]!r} {what}")
        n_before += len(chunk.y)
        yield chunk


def _gathered(results: Iterable[ChunkResult]) -> tuple[list[ChunkResult], bool]:
    """All results, and whether there are no more or Ctrl-C was pressed."""
    gathered = []
    try:
        for result in results:
            gathered.append(result)
    except KeyboardInterrupt:
        return gathered, False
    return gathered, True


def _config(preset: Preset, seed: int, changes: Sequence[str]) -> devfnn.Config:
    """The preset with the seed and the changes applied."""
    from devfnn.model import presets

    start = {Preset.default: presets.default, Preset.static: presets.static}[preset]()
    return start.replace(**({"seed": seed} | parsed_changes(changes)))


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
        self.console.print(literal(record.getMessage()))


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
        "events": [
            event.to_dict() | {"stream_row": result.n_rows}
            for result in results
            for event in result.events
        ],
    }
