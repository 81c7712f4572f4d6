"""How systems stand over the eighteen real streams: the zoo, four files and SUSY, as one."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from record_plan import (
    ALL_LABELS,
    DEFAULT,
    EIGHTEEN,
    MOA_FOREST,
    PEERS,
    SWIFT,
    name_on,
)
from record_runs import Cells

from devfnn.evaluation.ranking import mean_ranks
from devfnn.experiments.rendering import Column, Table

SYSTEMS = (DEFAULT, SWIFT, ALL_LABELS, *PEERS)
"""Who is compared; ours scale online everywhere."""

NEAR = 0.3
"""Points below the best peer that count as no worse."""

CALIBRATED_ROWS = 5_000
"""Rows of a stream below which its calibration error is mostly chance."""

MEASURES = {
    "accuracy_mean": Column("", "accuracy, mean over chunks (%)", decimals=2, factor=100.0),
    "log_loss": Column("", "log-loss of all rows", decimals=3),
    "calibration_error": Column("", "calibration error", decimals=3),
}
"""How each is shown."""

Values = dict[str, float]
"""A number for each stream."""


def measured(cells: Cells, system: str, key: str, streams: Sequence[str] = EIGHTEEN) -> Values:
    """A measure of a system on these streams, as far as it is known."""
    found = {
        stream: cells.get((stream, name_on(system, stream)), {}).get(key) for stream in streams
    }
    return {stream: float(value) for stream, value in found.items() if value is not None}


def complete(
    cells: Cells, system: str, key: str, streams: Sequence[str] = EIGHTEEN
) -> Values | None:
    """The same; None if it is not known on all of them."""
    found = measured(cells, system, key, streams)
    return found if streams and len(found) == len(streams) else None


def percents(cells: Cells, system: str, streams: Sequence[str] = EIGHTEEN) -> Values | None:
    """Accuracy in percent; None if it is not known on all of them."""
    found = complete(cells, system, "accuracy_mean", streams)
    return None if found is None else {stream: 100.0 * each for stream, each in found.items()}


def best_peers(cells: Cells, streams: Sequence[str] = EIGHTEEN) -> Values | None:
    """Accuracy of the best peer on each stream; None if a peer is not known on all of them."""
    found = [each for peer in PEERS if (each := percents(cells, peer, streams)) is not None]
    if len(found) < len(PEERS):
        return None
    return {stream: max(each[stream] for each in found) for stream in streams}


def behind(own: Mapping[str, float], best: Mapping[str, float]) -> Values:
    """Streams on which a system is further below the best peer than what counts as no worse."""
    gaps = {stream: round(own[stream] - best[stream], 9) for stream in own}
    return {stream: gap for stream, gap in gaps.items() if gap < -NEAR}


def calibration_errors(
    cells: Cells, system: str, streams: Sequence[str] = EIGHTEEN
) -> Values | None:
    """On streams that are long enough; None if one is not known."""
    rows = complete(cells, system, "rows", streams) or {}
    long = [stream for stream, n_rows in rows.items() if n_rows >= CALIBRATED_ROWS]
    return complete(cells, system, "calibration_error", long)


def times_as_fast(
    cells: Cells, system: str, other: str = MOA_FOREST, streams: Sequence[str] = EIGHTEEN
) -> Values | None:
    """How many times as many rows per second as another; None if one is not known."""
    own = complete(cells, system, "rows_per_second", streams)
    theirs = complete(cells, other, "rows_per_second", streams)
    if own is None or theirs is None:
        return None
    return {stream: own[stream] / theirs[stream] for stream in streams}


# ---- tables


def standing(cells: Cells, streams: Sequence[str]) -> Table:
    """Every system in a few numbers."""
    best = best_peers(cells, streams)
    by_accuracy = _ranks(cells, "accuracy_mean", streams, sign=1.0)
    by_log_loss = _ranks(cells, "log_loss", streams, sign=-1.0)
    rows = []
    for system in SYSTEMS:
        own, losses = percents(cells, system, streams), complete(cells, system, "log_loss", streams)
        errors, times = (
            calibration_errors(cells, system, streams),
            times_as_fast(cells, system, streams=streams),
        )
        n_behind = None if own is None or best is None else len(behind(own, best))
        rows.append(
            {
                "system": system,
                "accuracy": own and statistics.fmean(own.values()),
                "near": None if n_behind is None else len(streams) - n_behind,
                "log_loss": losses and statistics.fmean(losses.values()),
                "calibration": errors and statistics.fmean(errors.values()),
                "worst": errors and max(errors.values()),
                "by_accuracy": by_accuracy.get(system),
                "by_log_loss": by_log_loss.get(system),
                "times": times and statistics.geometric_mean(times.values()),
            }
        )
    columns = (
        Column("system", "system"),
        Column("accuracy", "accuracy", decimals=2),
        Column("near", "near the best"),
        Column("log_loss", "log-loss", decimals=3),
        Column("calibration", "calibration error", decimals=3),
        Column("worst", "worst", decimals=3),
        Column("by_accuracy", "rank, accuracy", decimals=2),
        Column("by_log_loss", "rank, log-loss", decimals=2),
        Column("times", "x capymoa-arf", decimals=2),
    )
    notes = (
        f"Means over {_named(streams)}; ours scale online. Near the best: streams on which it is "
        f"not more than {NEAR} points below the best peer. Calibration error: mean, and the worst, "
        f"over streams of at least {CALIBRATED_ROWS:,} rows. Ranks: mean over streams, 1 is best. "
        "x capymoa-arf: how many times as fast, geometric mean.",
    )
    return Table("Real streams: how systems stand", columns, tuple(rows), notes)


def _named(streams: Sequence[str]) -> str:
    if len(streams) == len(EIGHTEEN):
        return "the eighteen real streams (zoo, four files, SUSY)"
    return f"{len(streams)} of the {len(EIGHTEEN)} real streams"


def _ranks(cells: Cells, key: str, streams: Sequence[str], sign: float) -> Values:
    """Mean ranks of the systems that are known on all streams."""
    scores = {
        system: [sign * found[stream] for stream in streams]
        for system in SYSTEMS
        if (found := complete(cells, system, key, streams)) is not None
    }
    return mean_ranks(scores) if len(scores) > 1 else {}


def by_stream(cells: Cells, key: str, streams: Sequence[str]) -> Table:
    """A measure of all systems, a line for each stream, and the mean of what is complete."""
    found = {system: measured(cells, system, key, streams) for system in SYSTEMS}
    rows: list[dict[str, Any]] = [
        {"stream": stream} | {system: found[system].get(stream) for system in SYSTEMS}
        for stream in streams
    ]
    means = {
        system: statistics.fmean(values.values())
        for system, values in found.items()
        if len(values) == len(streams)
    }
    shown = MEASURES[key]
    columns = (
        Column(system, system, decimals=shown.decimals, factor=shown.factor) for system in SYSTEMS
    )
    title = f"Real streams: {shown.title}"
    everything = (*rows, {"stream": "mean of all"} | means)
    return Table(title, (Column("stream", "stream"), *columns), everything)
