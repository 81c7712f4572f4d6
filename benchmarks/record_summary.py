"""What the benchmark of record says of each run, and how runs on a stream compare."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from record_runs import RecordCell
from record_systems import DEFAULT, MOA_FOREST, RIVER_FOREST
from scipy import stats

from devfnn.evaluation.ranking import holm

FEWEST_PAIRS = 6
"""Chunks below which a test of pairs could not find anything at 5 %."""

Summary = dict[str, Any]
Cells = Mapping[tuple[str, str], Mapping[str, Any]]
"""Summaries by stream and system."""


def summary_of(
    cell: RecordCell, result: Mapping[str, Any], made: Mapping[str, str] | None = None
) -> Summary:
    """A run in the numbers of the tables.

    Parameters
    ----------
    cell
        What was run.
    result
        Its result, as plain data.
    made
        When and on what machine it was run.
    """
    per_chunk = result["per_chunk"]
    accuracies = per_chunk["accuracy"]
    n_first = len(accuracies) // 5
    return {
        "stream": cell.stream.name,
        "system": cell.system.name,
        "kind": cell.system.kind,
        "scaling": result["scaling"],
        "by_row": cell.system.by_row,
        "changes": dict(cell.system.changes),
        "code": cell.code,
        "seed": cell.seed,
        "rows": result["rows"],
        "chunks": result["chunks"],
        **_spread("accuracy", accuracies),
        **_spread("first", accuracies[:n_first]),
        **_spread("rest", accuracies[n_first:]),
        "rows_per_second": _warm_speed(per_chunk, n_first),
        "rows_per_second_overall": result["rows_per_second"],
        "model_bytes": result["model_bytes"],
        "label_fraction": result["label_fraction"],
        "layers": per_chunk["layers"][-1],
        "rules": per_chunk["rules"][-1],
        "events": result["events"],
        "drift_positions": result["drift_positions"],
        "drift_detection": result["drift_detection"],
        "chunk_rows": per_chunk["chunk_rows"],
        "chunk_accuracies": accuracies,
        "made": dict(made or {}),
    }


def _spread(name: str, accuracies: Sequence[float | None]) -> dict[str, float | None]:
    """Mean and standard deviation over the chunks that were scored."""
    known = [value for value in accuracies if value is not None]
    return {
        f"{name}_mean": statistics.fmean(known) if known else None,
        f"{name}_std": statistics.stdev(known) if len(known) > 1 else None,
    }


def _warm_speed(per_chunk: Mapping[str, Sequence[float]], n_first: int) -> float | None:
    """Rows by the time of predicting and learning, after the first fifth.

    By then Java has compiled what it runs; our kernels are compiled beforehand.
    """
    rows = sum(per_chunk["chunk_rows"][n_first:])
    seconds = sum(per_chunk["seconds_predict"][n_first:])
    seconds += sum(per_chunk["seconds_learn"][n_first:])
    return rows / seconds if seconds > 0.0 else None


def compare(summaries: Sequence[Summary]) -> list[Summary]:
    """The same, with how each system compares with others on its stream.

    Added are the difference to the default, the p of a signed-rank test over chunks (Holm's
    correction for all systems of the stream), and how many times as fast it is as the forests.
    """
    cells = by_name(summaries)
    p_values: dict[tuple[str, str], float] = {}
    for stream in dict.fromkeys(each["stream"] for each in summaries):
        p_values |= {(stream, system): p for system, p in _tests(cells, stream).items()}
    return [
        each
        | {
            "difference": _difference(each, cells.get((each["stream"], DEFAULT))),
            "p": p_values.get((each["stream"], each["system"])),
            "times_capymoa_arf": _times(each, cells.get((each["stream"], MOA_FOREST))),
            "times_river_arf": _times(each, cells.get((each["stream"], RIVER_FOREST))),
        }
        for each in summaries
    ]


def by_name(summaries: Sequence[Mapping[str, Any]]) -> Cells:
    """Summaries by stream and system."""
    return {(each["stream"], each["system"]): each for each in summaries}


def _tests(cells: Cells, stream: str) -> dict[str, float]:
    """p of each system of a stream against the default."""
    default = cells.get((stream, DEFAULT))
    if default is None:
        return {}
    pairs: dict[tuple[str, str], float] = {}
    for (name, system), other in cells.items():
        if name == stream and system != DEFAULT:
            p = _signed_rank(default["chunk_accuracies"], other["chunk_accuracies"])
            if p is not None:
                pairs[DEFAULT, system] = p
    return {system: p for (_, system), p in holm(pairs).items()}


def _signed_rank(one: Sequence[float | None], other: Sequence[float | None]) -> float | None:
    """p of Wilcoxon's test over chunks that both scored; None if there are too few."""
    if len(one) != len(other):
        return None
    gaps = [a - b for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    if len(gaps) < FEWEST_PAIRS:
        return None
    if not any(gaps):
        return 1.0
    return float(stats.wilcoxon(gaps, zero_method="zsplit").pvalue)


def _difference(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> float | None:
    """By how much its accuracy is higher."""
    if other is None or one["accuracy_mean"] is None or other["accuracy_mean"] is None:
        return None
    return float(one["accuracy_mean"] - other["accuracy_mean"])


def _times(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> float | None:
    """How many times as fast it is."""
    if other is None or not one["rows_per_second"] or not other["rows_per_second"]:
        return None
    return float(one["rows_per_second"] / other["rows_per_second"])
