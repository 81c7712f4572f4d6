"""What commands that run models share: options, compiled kernels, many runs, how to go on."""

import dataclasses
import logging
import os
import pathlib
import shlex
import time
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import rich.console
import typer
import typer.core
from rich.logging import RichHandler

from devfnn.cli import inputs
from devfnn.cli.errors import interrupted, printable_messages
from devfnn.cli.output import Output, check_replaceable
from devfnn.display.live import grid_bar
from devfnn.errors import InputError
from devfnn.evaluation import Procedure, iter_prequential
from devfnn.experiments.grid import Cell, Outcome, run_grid
from devfnn.experiments.settings import StreamSettings
from devfnn.model.compiling import name_of
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.streams import sea

TYPED = "devfnn typed"
"""Where the words of a command are kept in its context."""

Jobs = Annotated[int, typer.Option(min=1, help="Number of processes.")]

ALL_CORES = os.cpu_count() or 1


# ---- options of runs


@dataclasses.dataclass
class RunChoice:
    """Options for the rows of a stream and the procedure of a run."""

    rows: inputs.Rows = None
    skip: inputs.Skip = 0
    folds: int | None = typer.Option(None, min=1, help="Number of chunks to cut the stream into.")
    chunk_rows: int | None = typer.Option(
        None, min=1, help="Rows in a chunk: 500, or as in the paper for its streams."
    )
    shuffle: int | None = typer.Option(
        None, min=1, metavar="ROWS", help="Shuffle the rows within buffers of this size."
    )
    hide_labels: float = typer.Option(
        0.0, min=0.0, max=1.0, metavar="RATE", help="Share of labels hidden from the model."
    )
    delay_labels: int = typer.Option(
        0, min=0, metavar="ROWS", help="Rows after which the label of a row arrives."
    )
    scaling: Literal["online", "dataset", "none"] | None = typer.Option(
        None, help="By default each model's own. dataset looks ahead, as the paper does."
    )
    by_row: bool = typer.Option(
        False, "--by-row", help="Predict and learn row by row, not chunk by chunk."
    )
    warm_up_chunks: int = typer.Option(
        0, "--warm-up", min=0, metavar="CHUNKS", help="Chunks at the start that are only learned."
    )
    holdout_every: int | None = typer.Option(
        None,
        "--holdout",
        min=2,
        metavar="CHUNKS",
        help="Test on every so many chunks; learn the others.",
    )
    label_budget: float | None = typer.Option(
        None, metavar="SHARE", help="Share of labels that a model may ask for."
    )
    unpredicted: Literal["wrong", "skip", "first"] = typer.Option(
        "wrong", help="How rows are scored that a model does not predict."
    )
    window_chunks: int = typer.Option(
        10, "--window", min=1, metavar="CHUNKS", help="Chunks of the windowed measures."
    )

    def of(self, stream: inputs.StreamChoice) -> StreamSettings:
        """The rows of a stream."""
        names = ("rows", "skip", "folds", "chunk_rows", "shuffle", "hide_labels", "delay_labels")
        return stream.settings(**{name: getattr(self, name) for name in names})

    def procedure(self) -> Procedure:
        """How a run goes."""
        names = ("by_row", "warm_up_chunks", "holdout_every", "label_budget", "unpredicted")
        return Procedure(**{name: getattr(self, name) for name in (*names, "window_chunks")})


# ---- kernels


def compile_kernels(config: Config | None, console: rich.console.Console) -> float:
    """Compile or load the kernels of a network, if any, before the work; returns the seconds."""
    if config is None:
        return 0.0
    start = time.perf_counter()
    logger = logging.getLogger("devfnn")
    shown = RichHandler(console=console, show_time=False, show_level=False, show_path=False)
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
    def results(self) -> list[dict[str, Any]]:
        """Results of those that did not fail."""
        return [dict(each.result) for each in self.outcomes if each.result is not None]

    def end(self, context: typer.Context, output: Output) -> None:
        """Show what failed and how to go on; the exit code says it too."""
        failed = [each for each in self.outcomes if each.error]
        for each in failed:
            output.note(f"Failed: {each.cell}: {each.error}")
        if self.n_left:
            output.note(f"Runs left: {self.n_left:,}. To continue: {typed_command(context)}")
            raise interrupted()
        if failed:
            raise typer.Exit(1)


def run_all(
    cells: Sequence[Cell],
    folder: pathlib.Path,
    jobs: int,
    console: rich.console.Console,
    targets: Iterable[pathlib.Path] = (),
) -> Runs:
    """Run a grid, as far as Ctrl-C lets it; results are kept in a folder.

    What would fail later is refused first: names, parameters, missing data, a folder or other
    targets that cannot be written.
    """
    first = [cell.settings for cell in cells if cell.seed == 0]
    streams = {settings.stream.name: settings.stream for settings in first}
    opened = {name: inputs.opened(stream, console) for name, stream in streams.items()}
    for settings in first:
        settings.make_model(opened[settings.stream.name])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write into {str(folder)!r}: {error.strerror}") from None
    for path in (folder / "x", *targets):
        check_replaceable(path)
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


# ---- how to go on


class Commands(typer.core.TyperGroup):
    """Commands that keep their command line."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Keep the words, for results and to continue."""
        typed = list(args)
        with printable_messages():
            context = super().make_context(info_name, args, parent, **extra)
        context.meta[TYPED] = typed
        return context

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with printable_messages():
            return super().invoke(ctx)


def typed_command(context: typer.Context, *flags: str) -> str:
    """The command as it was typed, with more flags."""
    name, *words = context.meta[TYPED]
    return shlex.join(["devfnn", name, *(flag for flag in flags if flag not in words), *words])
