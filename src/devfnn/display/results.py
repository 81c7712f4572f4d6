"""Tables of results: a run, a comparison of models, the tables of the paper."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import rich.table

from devfnn.display.tables import facts_table, literal, simple_table, text_table
from devfnn.evaluation import ChunkResult
from devfnn.evaluation.course import Course
from devfnn.evaluation.measures import LOWER_IS_BETTER, SHARES
from devfnn.evaluation.ranking import Ranking
from devfnn.evaluation.results import OVER_CHUNKS
from devfnn.events import DriftFound
from devfnn.experiments.rendering import Column, Table
from devfnn.formatting import NO_VALUE, count, listed, percent, size

MOST_CONCEPTS = 40
"""Lines of the table of drifts."""

MOST_FOUND = 100
"""Rows at which drift was found that are listed of a concept."""

MOST_CLASSES = 20
"""Lines of the table of classes."""

ROOMY = 110
"""Width of a terminal, in letters, from which on details are shown."""


def result_table(result: Mapping[str, Any], name: str) -> rich.table.Table:
    """Accuracy, size and speed of a run, from its result as plain data."""
    accuracy = percent(result["accuracy_mean"])
    if result["accuracy_std"] is not None:
        accuracy += f" ± {percent(result['accuracy_std'])}"
    facts = {
        "accuracy, mean ± std over chunks": accuracy,
        "accuracy over all predicted rows": percent(result["accuracy_overall"]),
    }
    for names, keys in (
        ("precision, recall, F1 (macro)", ("precision", "recall", "f1")),
        ("kappa, kappa M, kappa temporal", ("kappa", "kappa_m", "kappa_temporal")),
        ("balanced accuracy, G-mean, AUC", ("balanced_accuracy", "g_mean", "auc")),
    ):
        facts[names] = ", ".join(percent(result[key]) for key in keys)
    if result["log_loss"] is not None:
        scores = (result[key] for key in ("log_loss", "brier", "calibration_error"))
        facts["log-loss, Brier, calibration error"] = ", ".join(f"{each:.4f}" for each in scores)
    if result["rules_mean"] is not None:
        for key in ("rules", "layers"):
            last = count((result["per_chunk"][key] or [None])[-1])
            facts[f"{key}, mean (at the end)"] = f"{result[f'{key}_mean']:.2f} ({last})"
        events = ", ".join(f"{kind} {each}" for kind, each in sorted(result["events"].items()))
        facts["events"] = events or NO_VALUE
    if result["labels_used"] is not None:
        used = f"{count(result['labels_used'])} of {count(result['rows'])}"
        facts["labels used"] = f"{used}, {percent(result['label_fraction'])}"
    facts["model size"] = size(result["model_bytes"])
    facts["rows per second, predict and learn"] = count(result["rows_per_second"])
    return facts_table(name, facts)


def class_table(result: Mapping[str, Any]) -> rich.table.Table:
    """Precision, recall, F1 and rows of the classes that occurred, the rarest first."""
    found = [each for each in result["per_class"] if each["support"]]
    found.sort(key=lambda each: each["support"])
    lines = [
        (
            str(each["name"]),
            *(percent(each[key]) for key in ("precision", "recall", "f1")),
            count(each["support"]),
        )
        for each in found[:MOST_CLASSES]
    ]
    if len(found) > MOST_CLASSES:
        lines.append((f"{len(found) - MOST_CLASSES:,} more, with more rows", "", "", "", ""))
    return text_table("Classes", ("class", "precision", "recall", "F1", "rows"), lines)


def drift_table(
    results: Iterable[ChunkResult], true_positions: Sequence[int], n_rows: int
) -> rich.table.Table:
    """For every known concept: where it begins, and at which rows drift was found during it."""
    found = Course.of(results).alarms
    starts = [0, *(position for position in true_positions if position < n_rows)]
    lines = []
    for start, end in itertools.islice(itertools.pairwise([*starts, n_rows]), MOST_CONCEPTS):
        rows = [count(row) for row in found if start < row <= end]
        lines.append((count(start), listed(rows, MOST_FOUND) or NO_VALUE))
    if len(starts) > MOST_CONCEPTS:
        n_more = sum(row > starts[MOST_CONCEPTS] for row in found)
        lines.append((f"{len(starts) - MOST_CONCEPTS:,} more", f"{n_more:,} more"))
    return text_table("Drift", ("concept from row", "drift found at row"), lines)


def drifts_found(result: ChunkResult) -> list[int]:
    """Rows of the stream at which drift was found in a chunk."""
    return [event.row for event in result.events if isinstance(event, DriftFound)]


def ranking_lines(comparison: Mapping[str, Any]) -> list[str]:
    """The results of the statistical tests, in sentences."""
    ranking, measure = comparison["ranking"], comparison.get("measure", "accuracy")
    is_usual = measure == "accuracy"
    if ranking is None:
        with_value = "" if is_usual else f", with {measure}"
        needed = f"two streams or more, and all runs finished{with_value}"
        return [f"Ranks need two models or more, on {needed}."]
    lines = [] if is_usual else [f"Ranks are by {measure}"]
    lines += Ranking.from_dict(ranking).sentences()
    if ranking["critical_difference"] is None:
        lines.append("Wilcoxon's test of all pairs, p-values corrected by Holm: see the report")
    return lines


def measure_title(measure: str) -> str:
    """What the table of a comparison shows.

    >>> measure_title("accuracy")
    'Accuracy, mean over chunks and seeds (%)'
    >>> measure_title("log_loss")
    'log_loss over all rows, mean over seeds; lower is better'
    """
    if measure == "accuracy":
        return "Accuracy, mean over chunks and seeds (%)"
    unit = " (%)" if measure in SHARES else ""
    order = "; lower is better" if measure in LOWER_IS_BETTER else ""
    where = "mean over chunks" if measure in OVER_CHUNKS else "over all rows"
    return f"{measure} {where}, mean over seeds{unit}{order}"


def results_table(table: Table, width: int = ROOMY) -> rich.table.Table:
    """A table of results; values to be compared are below each other, to save width."""
    every = [
        column
        for column in table.columns
        if column.key != table.section and (width >= ROOMY or not column.is_detail)
    ]
    shown = [column for column in every if column.beside is None and _has_values(column, table)]
    below = {column.beside: column for column in every if column.beside is not None}
    grid = simple_table(table.title)
    for place, column in enumerate(shown):
        grid.add_column(
            literal(column.title),
            justify="right" if place else "left",
            no_wrap=column.spread is None,  # the others fold at their ±
            overflow="fold",
            min_width=6 if column.spread else None,  # else a narrow terminal loses columns
        )
    for rows in table.sections():
        if table.section is not None:
            grid.add_row(literal(str(rows[0][table.section]), "bold"))
        for row in rows:
            for style, cells in _lines(row, shown, below):
                grid.add_row(*(literal(cell) for cell in cells), style=style)
        grid.add_section()
    return grid


def _has_values(column: Column, table: Table) -> bool:
    """Whether it, or the column to compare it with, has a value anywhere."""
    pair = [each for each in table.columns if column.key in (each.key, each.beside)]
    return any(each.text(row) != NO_VALUE for each in pair for row in table.rows)


def _lines(
    row: Mapping[str, Any], shown: Sequence[Column], below: Mapping[str, Column]
) -> list[tuple[str, list[str]]]:
    """A row as one or two lines with their styles: measured values, then published ones."""
    measured = [column.text(row) for column in shown]
    beside = [below[column.key].text(row) if column.key in below else "" for column in shown]
    if all(cell in ("", NO_VALUE) for cell in beside):
        return [("", measured)]
    if not any(row.get(column.key) is not None for column in shown if column.key in below):
        return [("dim", [f"{measured[0]}, published", *beside[1:]])]
    return [("", measured), ("dim", ["  published", *beside[1:]])]
