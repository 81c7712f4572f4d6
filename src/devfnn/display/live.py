"""What is shown while a command works: progress bars, and the live panel of a run."""

import collections
import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import rich.live
import rich.panel
import rich.progress
import rich.progress_bar
import rich.table
import rich.text
from rich.console import Console, Group

from devfnn.display.results import drifts_found
from devfnn.display.tables import literal
from devfnn.evaluation import ChunkResult
from devfnn.experiments.grid import Outcome
from devfnn.formatting import count, percent, plural, seconds
from devfnn.types import Standing

RECENT_CHUNKS, PLAIN_LINES = 10, 10
"""Chunks of the current accuracy, and lines printed over a run if there is no terminal."""

REFRESH_SECONDS, SILENT_SECONDS = 0.1, 5.0
"""Time between two updates of the panel, and between two lines of a run of unknown length."""


@contextlib.contextmanager
def _bar(
    console: Console, doing: str, *columns: str | rich.progress.ProgressColumn, **task: Any
) -> Iterator[Callable[..., None]]:
    """A progress bar on a terminal, nothing elsewhere; yields the function that updates it."""
    every = (doing, rich.progress.BarColumn(), *columns)
    is_off = not console.is_terminal
    with rich.progress.Progress(*every, console=console, transient=True, disable=is_off) as bar:
        number = bar.add_task("", **task)
        yield lambda **change: bar.update(number, **change)


@contextlib.contextmanager
def download_bar(console: Console) -> Iterator[Callable[[int, int | None], object]]:
    """Shows the bytes of a download once there are some."""
    columns = (rich.progress.DownloadColumn(), rich.progress.TimeRemainingColumn())
    with _bar(console, "downloading", *columns, total=None, visible=False) as update:
        yield lambda done, total: update(completed=done, total=total, visible=True)


@contextlib.contextmanager
def rows_bar(
    console: Console, doing: str, total: int | None, what: str = "rows"
) -> Iterator[Callable[[int], object]]:
    """Shows how many are done; `total` if it is known."""
    columns = (f"{{task.completed:,}} {what}", rich.progress.TimeElapsedColumn())
    with _bar(console, doing, *columns, total=total) as update:
        yield lambda done: update(completed=done)


@contextlib.contextmanager
def grid_bar(console: Console, n_runs: int) -> Iterator[Callable[[Outcome], object]]:
    """Shows the runs finished so far: a bar on a terminal, elsewhere a line for each."""
    columns = (
        "{task.completed} of {task.total} runs",
        rich.progress.TimeElapsedColumn(),
        "{task.fields[last]}",
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
    console: Console,
    *,
    name: str = "",
    before: Iterable[ChunkResult] = (),
) -> Iterator[ChunkResult]:
    """The same results, shown as they come: in a live panel on a terminal, else in a few lines.

    `n_rows` is the length of the whole run if it is known, `name` the title of the panel; `before`
    are results of the same run from before it was interrupted.
    """
    run = _Run(n_rows, before)
    show = _with_panel if console.is_terminal else _with_lines
    return show(results, run, console, name)


class _Run:
    """How far a run is, and how it is doing."""

    def __init__(self, n_rows_in_all: int | None, before: Iterable[ChunkResult]) -> None:
        self.n_rows_in_all = n_rows_in_all
        self.n_rows = self._n_correct = self._n_scored = 0
        self._recent: collections.deque[ChunkResult] = collections.deque(maxlen=RECENT_CHUNKS)
        self._seconds = 0.0
        self._last_drift: int | None = None
        for result in before:
            self.update(result)
        self._started, self._n_rows_before = time.monotonic(), self.n_rows

    def update(self, result: ChunkResult) -> None:
        """Take in a chunk."""
        self._recent.append(result)
        self._n_correct += result.n_correct or 0
        self._n_scored += result.n_scored
        self.n_rows = result.n_rows
        self._seconds += result.seconds_predict + result.seconds_learn
        self._last_drift = max(drifts_found(result), default=self._last_drift)

    def facts(self) -> dict[str, str]:
        """Accuracy, size and speed so far."""
        n_correct = sum(result.n_correct or 0 for result in self._recent)
        now = _ratio(n_correct, sum(result.n_scored for result in self._recent))
        return {
            "accuracy now": percent(now),
            "accuracy so far": percent(_ratio(self._n_correct, self._n_scored)),
            "rows/s": count(_ratio(self.n_rows, self._seconds)),
            "layers": count(self._recent[-1].n_layers if self._recent else None),
            "rules": count(self._recent[-1].n_rules if self._recent else None),
            "last drift": count(self._last_drift),
        }

    def standings(self) -> tuple[Standing, ...]:
        """What the layers do; nothing if the model does not tell."""
        return (self._recent[-1].standings if self._recent else None) or ()

    def line(self) -> str:
        """Everything in one line."""
        facts = "  ".join(f"{name} {value}" for name, value in self.facts().items())
        resting = [each.name for each in self.standings() if each.state == "rests"]
        rests = f"  at rest {', '.join(resting)}" if resting else ""
        return f"{count(self.n_rows):>11} rows  {facts}{rests}"

    def panel(self, name: str) -> rich.panel.Panel:
        """Everything in a panel."""
        grid = rich.table.Table.grid(padding=(0, 3), expand=True)
        for _ in range(3):
            grid.add_column(ratio=1)
        cells = [f"{name} [bold]{value}[/]" for name, value in self.facts().items()]
        grid.add_row(*cells[:3])
        grid.add_row(*cells[3:])
        done = f"{count(self.n_rows)} rows"
        if self.n_rows_in_all is not None:
            pace = _ratio(time.monotonic() - self._started, self.n_rows - self._n_rows_before)
            left = None if pace is None else pace * (self.n_rows_in_all - self.n_rows)
            done = f"{count(self.n_rows)} of {count(self.n_rows_in_all)} rows"
            done += f", time left {seconds(left)}"
        bar = rich.progress_bar.ProgressBar(total=self.n_rows_in_all, completed=self.n_rows)
        top = rich.table.Table.grid(padding=(0, 1), expand=True)
        top.add_row(bar, done)
        body = Group(top, grid, *_layers_grid(self.standings()))
        return rich.panel.Panel(body, title=literal(name), title_align="left")


def _layers_grid(standings: Sequence[Standing]) -> Iterator[rich.table.Table]:
    """What layers count and cost, or why they do not: in two columns, to save lines."""
    if not standings:
        return
    grid, half = rich.table.Table.grid(padding=(0, 2)), -(-len(standings) // 2)
    for place in range(6):
        grid.add_column(justify="right" if place % 3 else "left", no_wrap=True)
    heads = [literal(each, "dim") for each in ("layer", "counts", "costs")]
    grid.add_row(*heads, *(heads if len(standings) > 1 else []))
    rows = [_layer_cells(each) for each in standings]
    for first, second in itertools.zip_longest(rows[:half], rows[half:], fillvalue=()):
        grid.add_row(*first, *second)
    yield grid


def _layer_cells(each: Standing) -> tuple[rich.text.Text, ...]:
    """Name of a layer, its share of the answer and of the time; or that it rests."""
    counts = percent(each.share, 0) if each.state == "votes" else each.state
    costs = plural(each.steps, "step") if each.state == "rests" else percent(each.cost, 0)
    style = {"rests": "dim", "merged": "dim", "on trial": "yellow"}.get(each.state, "")
    return tuple(literal(text, style) for text in (each.name, counts, costs))


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _with_panel(
    results: Iterable[ChunkResult], run: _Run, console: Console, name: str
) -> Iterator[ChunkResult]:
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
    results: Iterable[ChunkResult], run: _Run, console: Console, name: str
) -> Iterator[ChunkResult]:
    """A line after every tenth of the run; if its length is not known, at once and now and then."""
    n_rows, shown_at = run.n_rows_in_all, -SILENT_SECONDS
    for result in results:
        before = run.n_rows
        run.update(result)
        if n_rows is None:
            is_due = time.monotonic() - shown_at > SILENT_SECONDS
        else:
            is_due = before * PLAIN_LINES // n_rows < run.n_rows * PLAIN_LINES // n_rows
        if is_due:
            shown_at = time.monotonic()
            console.print(run.line(), soft_wrap=True)
        yield result
