"""Many runs as commands start them: names in a list, refusals before the work, a bar over it."""

import pathlib
from collections.abc import Sequence
from typing import Any

import rich.console

from devfnn.cli.choosing import Choice
from devfnn.cli.kernels import get_ready
from devfnn.display.comparisons import grid_bar
from devfnn.errors import InputError
from devfnn.experiments.grid import Cell, Outcome, run_grid
from devfnn.model.config import Config


def listed(text: str) -> list[str]:
    """Names between commas."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError("at least one model and one stream are needed")
    return names


def made_folder(folder: pathlib.Path) -> pathlib.Path:
    """A folder of results, made if need be, and tried."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".tmp").open("w"):
            pass
        (folder / ".tmp").unlink()
    except OSError as error:
        raise InputError(f"cannot write into {str(folder)!r}: {error.strerror}") from None
    return folder


def check_all_can_start(
    cells: Sequence[Cell], choice: Choice, console: rich.console.Console
) -> None:
    """Refuse before the work what would fail in it: names, parameters, data that are not there."""
    streams: dict[str, Any] = {}
    for cell in cells:
        settings = cell.settings
        name = settings.stream.name
        if name not in streams:
            with choice.opening(console) as progress:
                streams[name] = settings.stream.open(progress).stream
        if settings.stream.seed == 0:
            settings.make_model(streams[name])


def finished(
    cells: Sequence[Cell], folder: pathlib.Path, jobs: int, console: rich.console.Console
) -> tuple[list[Outcome], bool]:
    """All outcomes in the order of the cells, and whether Ctrl-C left none undone."""
    outcomes: list[Outcome] = []
    running = run_grid(cells, folder, jobs)
    try:
        for config in _networks(cells):
            get_ready(config, console)  # once, not in every process
        with grid_bar(console, len(cells)) as show:
            for outcome in running:
                outcomes.append(outcome)
                show(outcome)
    except KeyboardInterrupt:
        running.close()  # type: ignore[attr-defined]
    places = {cell.name: place for place, cell in enumerate(cells)}
    outcomes.sort(key=lambda outcome: places[outcome.cell.name])
    return outcomes, len(outcomes) == len(cells)


def _networks(cells: Sequence[Cell]) -> list[Config]:
    """A configuration for each kind of network that has kernels to get ready."""
    configs = [cell.settings.final_config() for cell in cells]
    kinds = dict.fromkeys(config.network for config in configs if config is not None)
    return [Config(network=kind) for kind in kinds]
