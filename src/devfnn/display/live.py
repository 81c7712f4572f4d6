"""What is shown while a command works: progress bars, and the live panel of a run."""

import collections
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import rich.console
import rich.live
import rich.panel
import rich.progress
import rich.progress_bar
import rich.table

from devfnn.display.results import drifts_found
from devfnn.display.tables import literal
from devfnn.evaluation import ChunkResult
from devfnn.experiments.grid import Outcome
from devfnn.formatting import NO_VALUE, count, percent, seconds

RECENT_CHUNKS = 10
"""Chunks over which the current accuracy is taken."""

REFRESH_SECONDS = 0.1
"""Time between two updates of the panel."""

PLAIN_LINES = 10
"""Lines printed over a run if the console is not a terminal."""

SILENT_SECONDS, FIRST_LINE = 5.0, 1000
"""If the length of a run is not known: seconds between lines, and rows before the first one."""


@contextlib.contextmanager
def _bar(
    console: rich.console.Console, doing: str, *columns: rich.progress.ProgressColumn, **task: Any
) -> Iterator[Callable[..., None]]:
    """A progress bar on a terminal, nothing elsewhere; yields the function that updates it."""
    every = (rich.progress.TextColumn(doing), rich.progress.BarColumn(), *columns)
    is_off = not console.is_terminal
    with rich.progress.Progress(*every, console=console, transient=True, disable=is_off) as bar:
        number = bar.add_task("", **task)
        yield lambda **change: bar.update(number, **change)


@contextlib.contextmanager
def download_bar(console: rich.console.Console) -> Iterator[Callable[[int, int | None], object]]:
    """Shows the bytes of a download once there are some."""
    columns = (
        rich.progress.DownloadColumn(),
        rich.progress.TransferSpeedColumn(),
        rich.progress.TimeRemainingColumn(),
    )
    with _bar(console, "downloading", *columns, total=None, visible=False) as update:
        yield lambda done, total: update(completed=done, total=total, visible=True)


@contextlib.contextmanager
def rows_bar(
    console: rich.console.Console, doing: str, n_rows: int | None
) -> Iterator[Callable[[int], object]]:
    """Shows the rows done so far; `n_rows` is their total if it is known."""
    columns = (
        rich.progress.TextColumn("{task.completed:,} rows"),
        rich.progress.TimeElapsedColumn(),
    )
    with _bar(console, doing, *columns, total=n_rows) as update:
        yield lambda done: update(completed=done)


@contextlib.contextmanager
def grid_bar(console: rich.console.Console, n_runs: int) -> Iterator[Callable[[Outcome], object]]:
    """Shows the runs finished so far: a bar on a terminal, elsewhere a line for each."""
    columns = (
        rich.progress.TextColumn("{task.completed} of {task.total} runs"),
        rich.progress.TimeElapsedColumn(),
        rich.progress.TextColumn("{task.fields[last]}"),
    )
    with _bar(console, "comparing", *columns, total=n_runs, last="") as update:

        def show(outcome: Outcome) -> None:
            line = literal(_outcome_line(outcome))
            update(advance=1, last=line.markup)
            if not console.is_terminal:
                console.print(line, soft_wrap=True)

        yield show


def _outcome_line(outcome: Outcome) -> str:
    result = outcome.result
    if result is None:
        return f"{outcome.cell}: failed"
    how = "already there" if outcome.was_there else f"{count(result['rows_per_second'])} rows/s"
    return f"{outcome.cell}: {percent(result['accuracy_mean'])}, {how}"


def watched(
    results: Iterable[ChunkResult],
    n_rows: int | None,
    console: rich.console.Console,
    *,
    name: str = "",
    before: Iterable[ChunkResult] = (),
) -> Iterator[ChunkResult]:
    """The same results, shown as they come: in a live panel on a terminal, else in a few lines.

    `n_rows` is the length of the whole run if it is known, `name` the title of the panel; `before`
    are results of the same run from before it was interrupted.
    """
    run = _Run(n_rows)
    for result in before:
        run.update(result)
    run.start()
    show = _with_panel if console.is_terminal else _with_lines
    return show(results, run, console, name)


class _Run:
    """How far a run is, and how it is doing."""

    def __init__(self, n_rows_in_all: int | None) -> None:
        self.n_rows_in_all = n_rows_in_all
        self.n_rows = 0
        self._recent: collections.deque[ChunkResult] = collections.deque(maxlen=RECENT_CHUNKS)
        self._n_correct = self._n_scored = 0
        self._seconds = 0.0
        self._drifts: list[int] = []
        self._layers = self._rules = NO_VALUE
        self.start()

    def start(self) -> None:
        """Measure the time left from here."""
        self._started, self._n_rows_before = time.monotonic(), self.n_rows

    def update(self, result: ChunkResult) -> None:
        """Take in the result of a chunk."""
        self._recent.append(result)
        self._n_correct += result.n_correct or 0
        self._n_scored += result.n_scored
        self.n_rows = result.n_rows
        self._seconds += result.seconds_predict + result.seconds_learn
        self._layers, self._rules = count(result.n_layers), count(result.n_rules)
        self._drifts += drifts_found(result)

    @property
    def accuracy_now(self) -> str:
        """Over the latest chunks."""
        n_correct = sum(result.n_correct or 0 for result in self._recent)
        return percent(_ratio(n_correct, sum(result.n_scored for result in self._recent)))

    @property
    def accuracy_so_far(self) -> str:
        """Over all rows."""
        return percent(_ratio(self._n_correct, self._n_scored))

    @property
    def speed(self) -> str:
        """Rows per second spent in the model."""
        return count(_ratio(self.n_rows, self._seconds))

    @property
    def time_left(self) -> str:
        """Time to the end at the speed so far."""
        elapsed = time.monotonic() - self._started
        pace = _ratio(elapsed, self.n_rows - self._n_rows_before)
        if self.n_rows_in_all is None or pace is None:
            return NO_VALUE
        return seconds(pace * (self.n_rows_in_all - self.n_rows))

    def line(self) -> str:
        """Everything in one line."""
        drift = count(self._drifts[-1] if self._drifts else None)
        return (
            f"{count(self.n_rows):>11} rows"
            f"  accuracy {self.accuracy_now} now, {self.accuracy_so_far} so far"
            f"  layers {self._layers}  rules {self._rules}  drift {drift}  {self.speed} rows/s"
        )

    def panel(self, name: str) -> rich.panel.Panel:
        """Everything in a panel."""
        grid = rich.table.Table.grid(padding=(0, 3), expand=True)
        for _ in range(3):
            grid.add_column(ratio=1)
        grid.add_row(
            f"accuracy now [bold green]{self.accuracy_now}",
            f"layers [bold]{self._layers}",
            f"speed [bold]{self.speed}[/] rows/s",
        )
        grid.add_row(
            f"accuracy so far [bold]{self.accuracy_so_far}",
            f"rules [bold]{self._rules}",
            f"time left [bold]{self.time_left}",
        )
        drift = NO_VALUE
        if self._drifts:
            ago = count(self.n_rows - self._drifts[-1])
            drift = f"{count(self._drifts[-1])}, {ago} rows ago ({len(self._drifts)} in all)"
        body = rich.console.Group(self._progress(), grid, f"last drift found at row {drift}")
        return rich.panel.Panel(body, title=literal(name), title_align="left")

    def _progress(self) -> rich.console.RenderableType:
        if self.n_rows_in_all is None:
            return f"{count(self.n_rows)} rows"
        row = rich.table.Table.grid(padding=(0, 1), expand=True)
        row.add_column(ratio=1)
        row.add_column(justify="right", no_wrap=True)
        bar = rich.progress_bar.ProgressBar(total=self.n_rows_in_all or 1, completed=self.n_rows)
        share = self.n_rows / self.n_rows_in_all if self.n_rows_in_all else 1.0
        row.add_row(bar, f"{count(self.n_rows)} of {count(self.n_rows_in_all)} rows {share:4.0%}")
        return row


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _with_panel(
    results: Iterable[ChunkResult], run: _Run, console: rich.console.Console, name: str
) -> Iterator[ChunkResult]:
    """Results with a live panel."""
    shown_at = 0.0
    with rich.live.Live(run.panel(name), console=console, auto_refresh=False) as live:
        for result in results:
            run.update(result)
            if time.monotonic() - shown_at > REFRESH_SECONDS:
                shown_at = time.monotonic()
                live.update(run.panel(name), refresh=True)
            yield result
        live.update(run.panel(name), refresh=True)


def _with_lines(
    results: Iterable[ChunkResult], run: _Run, console: rich.console.Console, name: str
) -> Iterator[ChunkResult]:
    """Results with a line after every tenth of the run.

    If the length is not known: whenever the rows have doubled, or after some seconds.
    """
    n_rows = run.n_rows_in_all
    next_line = FIRST_LINE if n_rows is None else _next_line(run.n_rows, n_rows)
    shown_at = time.monotonic()
    for result in results:
        run.update(result)
        is_late = n_rows is None and time.monotonic() - shown_at > SILENT_SECONDS
        if result.n_rows >= next_line or is_late:
            shown_at = time.monotonic()
            console.print(run.line(), soft_wrap=True)
            next_line = _next_line(result.n_rows, n_rows)
        yield result


def _next_line(done: int, n_rows: int | None) -> int:
    """Rows after which the next line is printed."""
    if n_rows is None:
        return 2 * done
    if not n_rows:
        return 1
    tenth = done * PLAIN_LINES // n_rows + 1
    return -(-tenth * n_rows // PLAIN_LINES)
