"""How a run looks: a live bar on a terminal, plain lines elsewhere, tables at the end."""

import collections
import dataclasses
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence

import rich.console
import rich.progress
import rich.table

from devfnn.display.literal import title
from devfnn.evaluation import ChunkResult, Summary
from devfnn.events import DriftFound

RECENT_CHUNKS = 10
"""Chunks over which the live accuracy is taken."""

PLAIN_LINES = 10
"""Lines printed over a run that nobody watches on a terminal."""

SILENT_SECONDS = 5.0
"""Longest silence, if rows come and the length of the run is not known."""

FIRST_LINE = 1000
"""Rows after which the first of them comes if the length of the run is not known."""

MOST_CONCEPTS = 40
"""Lines of the table of drifts."""

NO_VALUE = "-"


def watched(
    results: Iterable[ChunkResult], n_rows: int | None, console: rich.console.Console
) -> Iterator[ChunkResult]:
    """The same results, shown as they come.

    Parameters
    ----------
    results
        A run, as `iter_prequential` yields it.
    n_rows
        Rows of the whole run; None if nobody knows.
    console
        Where to show them; a live bar if it is a terminal, else a few plain lines.
    """
    show = _with_bar if console.is_terminal else _with_lines
    return show(results, n_rows, console)


@dataclasses.dataclass
class _Standing:
    """What is worth knowing while a run goes on."""

    recent: collections.deque[ChunkResult] = dataclasses.field(
        default_factory=lambda: collections.deque(maxlen=RECENT_CHUNKS)
    )
    n_rows: int = 0
    seconds: float = 0.0
    last_drift: int | None = None

    def update(self, result: ChunkResult) -> str:
        """Take in a chunk and say how things stand."""
        self.recent.append(result)
        self.n_rows = result.n_rows
        self.seconds += result.seconds_predict + result.seconds_learn
        if _has_drift(result):
            self.last_drift = result.n_rows
        rate = self.n_rows / self.seconds if self.seconds > 0.0 else None
        return (
            f"accuracy {_percent(Summary.of(self.recent).accuracy)}"
            f"  layers {_count(result.n_layers)}  rules {_count(result.n_rules)}"
            f"  drift {_count(self.last_drift)}  {_count(rate)} rows/s"
        )


def _with_bar(
    results: Iterable[ChunkResult], n_rows: int | None, console: rich.console.Console
) -> Iterator[ChunkResult]:
    """Results under a live progress bar."""
    standing = _Standing()
    how_far = (rich.progress.BarColumn(bar_width=None), rich.progress.TaskProgressColumn())
    how_many = (
        rich.progress.SpinnerColumn(finished_text=" "),
        rich.progress.TextColumn("{task.completed:,} rows"),
    )
    columns = (
        *(how_many if n_rows is None else how_far),
        rich.progress.TextColumn("{task.fields[standing]}"),
    )
    with rich.progress.Progress(*columns, console=console, expand=n_rows is not None) as progress:
        task = progress.add_task("", total=n_rows, standing="")
        for result in results:
            progress.update(task, completed=result.n_rows, standing=standing.update(result))
            yield result


def _with_lines(
    results: Iterable[ChunkResult], n_rows: int | None, console: rich.console.Console
) -> Iterator[ChunkResult]:
    """Results with a plain line after every tenth of the run.

    If its length is not known: when the rows have doubled, or nothing was said for a while.
    """
    standing = _Standing()
    next_line = FIRST_LINE if n_rows is None else -(-n_rows // PLAIN_LINES)
    said_at = time.monotonic()
    for result in results:
        line = standing.update(result)
        is_late = n_rows is None and time.monotonic() - said_at > SILENT_SECONDS
        if result.n_rows >= next_line or is_late:
            said_at = time.monotonic()
            console.print(f"{_count(result.n_rows):>11} rows  {line}", soft_wrap=True)
            next_line = _next_line(result.n_rows, n_rows)
        yield result


def _next_line(done: int, n_rows: int | None) -> int:
    """Rows after which the next plain line comes."""
    if n_rows is None:
        return 2 * done
    tenth = done * PLAIN_LINES // n_rows + 1
    return -(-tenth * n_rows // PLAIN_LINES)


def result_table(results: Sequence[ChunkResult], name: str) -> rich.table.Table:
    """Accuracy, size and speed of a run."""
    summary = Summary.of(results)
    last = results[-1]
    spread = _percent(summary.accuracy_mean)
    if summary.accuracy_std is not None:
        spread += f" ± {_percent(summary.accuracy_std)}"
    table = rich.table.Table(title=title(name), show_header=False)
    table.add_row("accuracy, mean ± std over chunks", spread)
    table.add_row("accuracy over all predicted rows", _percent(summary.accuracy))
    table.add_row("rules, mean (at the end)", _mean_and_last(summary.rules_mean, last.n_rules))
    table.add_row("layers, mean (at the end)", _mean_and_last(summary.layers_mean, last.n_layers))
    if summary.n_labels is not None:
        table.add_row("labels used", f"{_count(summary.n_labels)} of {_count(summary.n_rows)}")
    events = ", ".join(f"{kind} {count}" for kind, count in sorted(summary.events.items()))
    table.add_row("events", events or NO_VALUE)
    table.add_row("rows per second, predict and learn", _count(summary.rows_per_second))
    return table


def drift_table(
    results: Iterable[ChunkResult], true_positions: Sequence[int], n_rows: int
) -> rich.table.Table:
    """For every concept: where it begins, and when drift was found while it lasted.

    Where nobody knows of concepts, only what was found.

    A drift is found at the end of a chunk: only then are all its labels known.
    """
    found = [result.n_rows for result in results if _has_drift(result)]
    table = rich.table.Table(title="Drift")
    if not true_positions:
        table.add_column("drift found at row")
        table.add_row(", ".join(map(_count, found)) or NO_VALUE)
        return table
    table.add_column("new concept from row", justify="right")
    table.add_column("drift found at row")
    starts = [0, *(position for position in true_positions if position < n_rows)]
    for start, end in itertools.islice(itertools.pairwise([*starts, n_rows]), MOST_CONCEPTS):
        rows = ", ".join(_count(row) for row in found if start < row <= end)
        table.add_row(_count(start), rows or NO_VALUE)
    if len(starts) > MOST_CONCEPTS:
        n_more = sum(row > starts[MOST_CONCEPTS] for row in found)
        table.add_row(f"{len(starts) - MOST_CONCEPTS:,} more", f"{n_more:,} more")
    return table


def _has_drift(result: ChunkResult) -> bool:
    return any(isinstance(event, DriftFound) for event in result.events)


def _percent(share: float | None) -> str:
    return NO_VALUE if share is None else f"{100.0 * share:.2f} %"


def _count(number: float | None) -> str:
    return NO_VALUE if number is None else f"{number:,.0f}"


def _mean_and_last(mean: float | None, last: int | None) -> str:
    return NO_VALUE if mean is None else f"{mean:.2f} ({_count(last)})"
