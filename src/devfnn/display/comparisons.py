"""How a comparison of models looks, while it lasts and at its end."""

import contextlib
import statistics
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import rich.console
import rich.progress
import rich.table

from devfnn.display.literal import literal
from devfnn.display.numbers import NO_VALUE, bytes_of, count, percent
from devfnn.evaluation.ranking import Ranking
from devfnn.experiments.costs import largest_size, overall_speed
from devfnn.experiments.grid import Outcome


@contextlib.contextmanager
def grid_bar(console: rich.console.Console, n_runs: int) -> Iterator[Callable[[Outcome], object]]:
    """A bar over all runs on a terminal; elsewhere a line for each."""
    columns = (
        rich.progress.TextColumn("comparing"),
        rich.progress.BarColumn(),
        rich.progress.TextColumn("{task.completed} of {task.total} runs"),
        rich.progress.TimeElapsedColumn(),
        rich.progress.TextColumn("{task.fields[last]}"),
    )
    with rich.progress.Progress(
        *columns, console=console, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("", total=n_runs, last="")

        def show(outcome: Outcome) -> None:
            line = _line(outcome)
            progress.update(task, advance=1, last=literal(line).markup)
            if not console.is_terminal:
                console.print(literal(line), soft_wrap=True)

        yield show


def _line(outcome: Outcome) -> str:
    if outcome.result is None:
        return f"{outcome.cell}: failed"
    said = (
        "was there" if outcome.was_there else f"{count(outcome.result['rows_per_second'])} rows/s"
    )
    return f"{outcome.cell}: {percent(outcome.result['accuracy_mean'])}, {said}"


def accuracy_table(comparison: Mapping[str, Any]) -> rich.table.Table:
    """Accuracy of every model on every stream, best ones bold; ranks, speed and size."""
    streams, cells = comparison["streams"], comparison["cells"]
    table = rich.table.Table(title="Accuracy, mean over chunks and seeds (%)")
    table.add_column("model", overflow="fold")
    for stream in streams:
        table.add_column(literal(stream), justify="right")
    for name in ("mean rank", "rows/s", "largest"):
        table.add_column(name, justify="right")
    means = {
        (model, stream): _mean(cells, model, stream)
        for model in comparison["models"]
        for stream in streams
    }
    best = {
        stream: max((means[model, stream] or 0.0 for model in comparison["models"]), default=0.0)
        for stream in streams
    }
    for model in comparison["models"]:
        scores = [_score(means[model, stream], best[stream]) for stream in streams]
        own = [cell for cell in cells if cell["model"] == model]
        table.add_row(
            literal(model),
            *scores,
            _rank(comparison, model),
            count(overall_speed(own)),
            bytes_of(largest_size(own)),
        )
    return table


def ranking_lines(comparison: Mapping[str, Any]) -> list[str]:
    """What the tests say, in sentences."""
    ranking = comparison["ranking"]
    if ranking is None:
        return ["Ranks need two models or more, on two streams or more, and all runs finished."]
    lines = Ranking.from_dict(ranking).sentences()
    if ranking["critical_difference"] is None:
        lines.append("Wilcoxon's test of all pairs, p-values corrected by Holm: see the report")
    return lines


def _mean(cells: Any, model: str, stream: str) -> float | None:
    found = [
        cell["accuracy_mean"]
        for cell in cells
        if cell["model"] == model and cell["stream"] == stream and cell["accuracy_mean"] is not None
    ]
    return statistics.fmean(found) if found else None


def _score(mean: float | None, best: float) -> str:
    if mean is None:
        return NO_VALUE
    shown = f"{100.0 * mean:.2f}"
    return f"[bold]{shown}[/bold]" if mean == best else shown


def _rank(comparison: Mapping[str, Any], model: str) -> str:
    ranking = comparison["ranking"]
    if ranking is None:
        return NO_VALUE
    return f"{ranking['mean_ranks'][ranking['models'].index(model)]:.2f}"
