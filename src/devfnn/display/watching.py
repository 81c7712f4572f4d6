"""A run while it lasts: a live panel on a terminal, plain lines elsewhere."""

import collections
import time
from collections.abc import Iterable, Iterator

import rich.console
import rich.live
import rich.panel
import rich.progress_bar
import rich.table

from devfnn.display.literal import literal
from devfnn.display.numbers import NO_VALUE, count, percent, seconds
from devfnn.display.runs import drifts_found
from devfnn.evaluation import ChunkResult

RECENT_CHUNKS = 10
"""Chunks over which the accuracy now is taken."""

REFRESH_SECONDS = 0.1
"""Time between two pictures of the panel."""

PLAIN_LINES = 10
"""Lines printed over a run that nobody watches on a terminal."""

SILENT_SECONDS = 5.0
"""Longest silence, if rows come and the length of the run is not known."""

FIRST_LINE = 1000
"""Rows after which the first of them comes if the length of the run is not known."""


def watched(
    results: Iterable[ChunkResult],
    n_rows: int | None,
    console: rich.console.Console,
    *,
    name: str = "",
    before: Iterable[ChunkResult] = (),
) -> Iterator[ChunkResult]:
    """The same results, shown as they come.

    Parameters
    ----------
    results
        A run, as `iter_prequential` yields it.
    n_rows
        Rows of the whole run; None if nobody knows.
    console
        Where to show them; a live panel if it is a terminal, else a few plain lines.
    name
        What runs, for the head of the panel.
    before
        Results of the same run, from before it was stopped.
    """
    standing = _Standing(n_rows)
    for result in before:
        standing.update(result)
    standing.start()
    show = _with_panel if console.is_terminal else _with_lines
    return show(results, standing, console, name)


class _Standing:
    """What is worth knowing while a run goes on."""

    def __init__(self, n_rows_in_all: int | None) -> None:
        self.n_rows_in_all = n_rows_in_all
        self.n_rows = 0
        self._recent: collections.deque[ChunkResult] = collections.deque(maxlen=RECENT_CHUNKS)
        self._n_correct = self._n_scored = 0
        self._seconds = 0.0
        self._last_drift: int | None = None
        self._n_drifts = 0
        self._layers = self._rules = NO_VALUE
        self.start()

    def start(self) -> None:
        """Take the time from here."""
        self._started, self._n_rows_before = time.monotonic(), self.n_rows

    def update(self, result: ChunkResult) -> None:
        """Take in a chunk."""
        self._recent.append(result)
        self._n_correct += result.n_correct or 0
        self._n_scored += result.n_scored
        self.n_rows = result.n_rows
        self._seconds += result.seconds_predict + result.seconds_learn
        self._layers, self._rules = count(result.n_layers), count(result.n_rules)
        for row in drifts_found(result):
            self._last_drift = row
            self._n_drifts += 1

    @property
    def accuracy_now(self) -> str:
        """Over the last chunks."""
        n_scored = sum(result.n_scored for result in self._recent)
        n_correct = sum(result.n_correct or 0 for result in self._recent)
        return percent(n_correct / n_scored if n_scored else None)

    @property
    def accuracy_so_far(self) -> str:
        """Over all rows."""
        return percent(self._n_correct / self._n_scored if self._n_scored else None)

    @property
    def rate(self) -> str:
        """Rows per second of the model's own time."""
        return count(self.n_rows / self._seconds if self._seconds > 0.0 else None)

    @property
    def time_left(self) -> float | None:
        """Seconds to the end, at the pace so far."""
        done = self.n_rows - self._n_rows_before
        if self.n_rows_in_all is None or not done:
            return None
        return (time.monotonic() - self._started) * (self.n_rows_in_all - self.n_rows) / done

    def line(self) -> str:
        """All of it in one line."""
        return (
            f"accuracy {self.accuracy_now} now, {self.accuracy_so_far} so far"
            f"  layers {self._layers}  rules {self._rules}"
            f"  drift {count(self._last_drift)}  {self.rate} rows/s"
        )

    def panel(self, name: str) -> rich.panel.Panel:
        """All of it as a picture."""
        grid = rich.table.Table.grid(padding=(0, 3), expand=True)
        for _ in range(3):
            grid.add_column(ratio=1)
        drift = NO_VALUE
        if self._last_drift is not None:
            ago = self.n_rows - self._last_drift
            drift = f"{count(self._last_drift)}, {count(ago)} rows ago ({self._n_drifts} in all)"
        grid.add_row(
            f"accuracy now [bold green]{self.accuracy_now}",
            f"layers [bold]{self._layers}",
            f"speed [bold]{self.rate}[/] rows/s",
        )
        grid.add_row(
            f"accuracy so far [bold]{self.accuracy_so_far}",
            f"rules [bold]{self._rules}",
            f"time left [bold]{seconds(self.time_left)}",
        )
        parts: list[rich.console.RenderableType] = [grid, f"last drift found at row {drift}"]
        parts.insert(0, self._how_far())
        body = rich.console.Group(*parts)
        return rich.panel.Panel(body, title=literal(name), title_align="left")

    def _how_far(self) -> rich.console.RenderableType:
        if self.n_rows_in_all is None:
            return f"{count(self.n_rows)} rows"
        row = rich.table.Table.grid(padding=(0, 1), expand=True)
        row.add_column(ratio=1)
        row.add_column(justify="right", no_wrap=True)
        bar = rich.progress_bar.ProgressBar(total=self.n_rows_in_all or 1, completed=self.n_rows)
        share = self.n_rows / self.n_rows_in_all if self.n_rows_in_all else 1.0
        row.add_row(bar, f"{count(self.n_rows)} of {count(self.n_rows_in_all)} rows {share:4.0%}")
        return row


def _with_panel(
    results: Iterable[ChunkResult], standing: _Standing, console: rich.console.Console, name: str
) -> Iterator[ChunkResult]:
    """Results over a live panel."""
    shown_at = 0.0
    with rich.live.Live(standing.panel(name), console=console, auto_refresh=False) as live:
        for result in results:
            standing.update(result)
            if time.monotonic() - shown_at > REFRESH_SECONDS:
                shown_at = time.monotonic()
                live.update(standing.panel(name), refresh=True)
            yield result
        live.update(standing.panel(name), refresh=True)


def _with_lines(
    results: Iterable[ChunkResult], standing: _Standing, console: rich.console.Console, name: str
) -> Iterator[ChunkResult]:
    """Results with a plain line after every tenth of the run.

    If its length is not known: when the rows have doubled, or nothing was said for a while.
    """
    n_rows = standing.n_rows_in_all
    next_line = FIRST_LINE if n_rows is None else _next_line(standing.n_rows, n_rows)
    said_at = time.monotonic()
    for result in results:
        standing.update(result)
        is_late = n_rows is None and time.monotonic() - said_at > SILENT_SECONDS
        if result.n_rows >= next_line or is_late:
            said_at = time.monotonic()
            console.print(f"{count(result.n_rows):>11} rows  {standing.line()}", soft_wrap=True)
            next_line = _next_line(result.n_rows, n_rows)
        yield result


def _next_line(done: int, n_rows: int | None) -> int:
    """Rows after which the next plain line comes."""
    if n_rows is None:
        return 2 * done
    if not n_rows:
        return 1
    tenth = done * PLAIN_LINES // n_rows + 1
    return -(-tenth * n_rows // PLAIN_LINES)
