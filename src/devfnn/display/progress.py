"""Bars for work that takes a while; nothing where nobody watches."""

import contextlib
from collections.abc import Callable, Iterator

import rich.console
import rich.progress


@contextlib.contextmanager
def download_bar(console: rich.console.Console) -> Iterator[Callable[[int, int | None], object]]:
    """Shows the bytes of a download once there are some."""
    columns = (
        rich.progress.TextColumn("downloading"),
        rich.progress.BarColumn(),
        rich.progress.DownloadColumn(),
        rich.progress.TransferSpeedColumn(),
        rich.progress.TimeRemainingColumn(),
    )
    with rich.progress.Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None, visible=False)

        def update(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield update


@contextlib.contextmanager
def rows_bar(
    console: rich.console.Console, doing: str, n_rows: int | None
) -> Iterator[Callable[[int], object]]:
    """Shows the rows done, of so many if that is known."""
    columns = (
        rich.progress.TextColumn(doing),
        rich.progress.BarColumn(),
        rich.progress.TextColumn("{task.completed:,} rows"),
        rich.progress.TimeElapsedColumn(),
    )
    with rich.progress.Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=n_rows)

        def update(done: int) -> None:
            bar.update(task, completed=done)

        yield update
