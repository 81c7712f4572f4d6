"""What commands that run models share: options, compiled kernels, many runs, how to go on."""

import logging
import os
import pathlib
import shlex
import tempfile
import time
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import rich.console
import rich.logging
import typer

from devfnn.cli.errors import interrupted
from devfnn.cli.inputs import opened
from devfnn.cli.output import Output
from devfnn.display.live import grid_bar
from devfnn.errors import InputError
from devfnn.evaluation import iter_prequential
from devfnn.experiments.grid import Cell, Outcome, run_grid
from devfnn.model.compiling import name_of
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.streams import sea
from devfnn.streams.stream import Stream

OUTPUTS = {
    *("--json", "--csv", "--quiet", "--output", "--report", "--save", "--checkpoint", "--resume"),
}
"""Options on which the results do not depend."""


Scaling = Literal["online", "dataset", "none"]
ByRow = Annotated[
    bool, typer.Option("--by-row", help="Predict and learn row by row, not chunk by chunk.")
]
WarmUp = Annotated[
    int, typer.Option(min=0, metavar="CHUNKS", help="Chunks at the start that are only learned.")
]
Holdout = Annotated[
    int | None,
    typer.Option(min=2, metavar="CHUNKS", help="Test on every so many chunks; learn the others."),
]
Unpredicted = Annotated[
    Literal["wrong", "skip", "first"],
    typer.Option(help="How rows are scored that a model does not predict."),
]
Jobs = Annotated[int, typer.Option(min=1, help="Number of processes.")]

ALL_CORES = os.cpu_count() or 1


# ---- kernels


def compile_kernels(config: Config | None, console: rich.console.Console) -> float:
    """Compile or load the kernels of a network, if any, before the work; returns the seconds."""
    if config is None:
        return 0.0
    start = time.perf_counter()
    logger = logging.getLogger("devfnn")
    shown = rich.logging.RichHandler(
        console=console, show_time=False, show_level=False, show_path=False
    )
    logger.addHandler(shown)
    try:
        with console.status("Compiling or loading the kernels ..."):
            from devfnn.model.compiling import ensure_compiled

            ensure_compiled(config)
            rehearsal = sea(300, rows_per_concept=300, chunk_rows=100)
            for _ in iter_prequential(DEVFNN(config), rehearsal):
                pass
    finally:
        logger.removeHandler(shown)
    return time.perf_counter() - start


# ---- many runs


class Runs(NamedTuple):
    """Finished runs of a grid, in its order, and the number that Ctrl-C left."""

    outcomes: list[Outcome]
    n_left: int = 0

    @property
    def failures(self) -> list[str]:
        """Which runs failed, and why."""
        return [f"{each.cell}: {each.error}" for each in self.outcomes if each.error]

    @property
    def results(self) -> list[dict[str, Any]]:
        """Results of the others."""
        return [dict(each.result) for each in self.outcomes if each.result is not None]

    def end(self, context: typer.Context, output: Output) -> None:
        """Show what failed and how to go on; the exit code says it too."""
        for failure in self.failures:
            output.note(f"Failed: {failure}")
        if self.n_left:
            command = typed_command(context, with_outputs=True)
            output.note(f"Runs left: {self.n_left:,}. To continue: {command}")
            raise interrupted()
        if self.failures:
            raise typer.Exit(1)


def run_all(
    cells: Sequence[Cell], folder: pathlib.Path, jobs: int, console: rich.console.Console
) -> Runs:
    """Run a grid, as far as Ctrl-C lets it; results are kept in a folder."""
    outcomes: list[Outcome] = []
    running = run_grid(cells, folder, jobs)
    configs = [cell.settings.final_config() for cell in cells]
    networks = {name_of(config): config for config in configs if config is not None}
    try:
        for config in networks.values():
            compile_kernels(config, console)  # once, not in every process
        with grid_bar(console, len(cells)) as show:
            for outcome in running:
                outcomes.append(outcome)
                show(outcome)
    except KeyboardInterrupt:
        running.close()  # type: ignore[attr-defined]
    places = {cell.name: place for place, cell in enumerate(cells)}
    outcomes.sort(key=lambda outcome: places[outcome.cell.name])
    return Runs(outcomes, len(cells) - len(outcomes))


def check_all_can_start(cells: Sequence[Cell], console: rich.console.Console) -> None:
    """Refuse before the work what would fail in it: names, parameters, missing data."""
    streams: dict[str, Stream] = {}
    for settings in (cell.settings for cell in cells):
        name = settings.stream.name
        if name not in streams:
            streams[name] = opened(settings.stream, console)
        if settings.stream.seed == 0:
            settings.make_model(streams[name])


def made_folder(folder: pathlib.Path) -> pathlib.Path:
    """A folder for results, made if needed, that can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"cannot write into {str(folder)!r}: {error.strerror}") from None
    return folder


# ---- how to go on


def typed_command(
    context: typer.Context, *, with_outputs: bool = False, flags: Iterable[str] = ()
) -> str:
    """The command as it was typed, without defaults, and with more flags."""
    words, last = context.command_path.split(), list[str]()
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        is_left_out = parameter.opts[0] in OUTPUTS and not with_outputs
        if source is None or source.name != "COMMANDLINE" or is_left_out:
            continue
        value = context.params[name]
        given = [str(each) for each in (value if isinstance(value, list | tuple) else [value])]
        if parameter.param_type_name == "argument":
            is_odd = any(each.startswith("-") and each != "-" for each in given)
            (last if is_odd else words).extend(given)
        elif getattr(parameter, "is_flag", False):
            words.append(parameter.opts[0])
        else:
            words += [word for each in given for word in (parameter.opts[0], each)]
    words += [flag for flag in flags if flag not in words]
    return shlex.join([*words, "--", *last] if last else words)
