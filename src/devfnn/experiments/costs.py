"""What several runs of a model cost: the same figures on the screen, in tables and on pages."""

from collections.abc import Mapping, Sequence
from typing import Any


def overall_speed(runs: Sequence[Mapping[str, Any]]) -> float | None:
    """Rows of all runs by the time they took, so that long runs count by their length.

    >>> overall_speed([{"rows": 100, "rows_per_second": rate} for rate in (60.0, 20.0)])
    30.0
    """
    timed = [(run.get("rows"), run.get("rows_per_second")) for run in runs]
    known = [(rows, rate) for rows, rate in timed if rows and rate]
    return (
        sum(rows for rows, _ in known) / sum(rows / rate for rows, rate in known) if known else None
    )


def largest_size(runs: Sequence[Mapping[str, Any]]) -> float | None:
    """Bytes of the largest model."""
    sizes = [run["model_bytes"] for run in runs if run.get("model_bytes") is not None]
    return max(sizes, default=None)
