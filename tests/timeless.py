"""Results without what no two runs have in common: times, the command, the checksum over them."""

from typing import Any

TIMES = (
    "seconds_predict",
    "seconds_learn",
    "seconds_ready",
    "rows_per_second",
    "command",
    "sha256",
)


def timeless(data: Any) -> Any:
    """The same data without times, wherever they are."""
    if isinstance(data, dict):
        return {key: timeless(value) for key, value in data.items() if key not in TIMES}
    if isinstance(data, list | tuple):
        return [timeless(value) for value in data]
    return data
