"""What figures need of a result: curves as arrays, or a word about what is missing."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from devfnn.errors import InputError

Floats: TypeAlias = npt.NDArray[np.float64]
Result: TypeAlias = Mapping[str, Any]
"""What `devfnn run --json` writes, as plain data."""

NO_CURVES = {"rows", "voting_weights", "feature_mask"}
"""Columns of `per_chunk` that are not one number for each chunk, or say where the chunk ends."""


def chunk_ends(result: Result) -> Floats:
    """Rows of the stream at the end of each chunk."""
    per_chunk = table(result, "per_chunk")
    rows = per_chunk.get("rows") or []
    if len(rows) < 2:
        raise InputError(
            f"a curve needs at least two chunks, and {run_name(result)} has {len(rows)}: "
            "run it on more rows or with smaller chunks"
        )
    return np.asarray(rows, np.float64)


def curve(result: Result, name: str, part: str = "per_chunk") -> Floats:
    """A number for each chunk, NaN where it was not measured.

    Parameters
    ----------
    result
        A run, as plain data.
    name
        Which number.
    part
        "per_chunk", or "windowed" for the mean over the latest chunks.
    """
    n_chunks = len(chunk_ends(result))
    known = curve_names(result, part)
    if name not in known:
        close = difflib.get_close_matches(str(name), known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise InputError(
            f"there is no {name!r} in {part!r} of {run_name(result)}{hint}: "
            f"choose one of {', '.join(known)}"
        )
    values = result[part][name]
    if len(values) != n_chunks:
        raise InputError(
            f"{run_name(result)} has {n_chunks} chunks and {len(values)} values of {name!r}: "
            "the result is damaged, so run it again"
        )
    numbers = np.array([np.nan if value is None else value for value in values], np.float64)
    if not np.isfinite(numbers).any():
        raise InputError(f"{name!r} was not measured in any chunk of {run_name(result)}")
    return numbers


def curve_names(result: Result, part: str = "per_chunk") -> list[str]:
    """Names of all curves of a result."""
    return [
        name
        for name, values in table(result, part).items()
        if name not in NO_CURVES and isinstance(values, Sequence) and not isinstance(values, str)
    ]


def lists(result: Result, name: str) -> list[list[Any] | None]:
    """A list for each chunk, None where there is none."""
    n_chunks = len(chunk_ends(result))
    values = table(result, "per_chunk").get(name)
    if not values or not any(values):
        raise InputError(
            f"{run_name(result)} holds no {name!r}: only models with layers, such as devfnn, say it"
        )
    if len(values) != n_chunks:
        raise InputError(
            f"{run_name(result)} has {n_chunks} chunks and {len(values)} values of {name!r}: "
            "the result is damaged, so run it again"
        )
    return list(values)


def table(result: Result, part: str) -> Mapping[str, Any]:
    """A part of a result that must be there."""
    content = result.get(part)
    if not isinstance(content, Mapping):
        raise InputError(
            f"{run_name(result)} holds no {part!r}: make the result with `devfnn run --json FILE`"
        )
    return content


def event_rows(result: Result, kind: str) -> Floats:
    """Rows of the stream at which something of this kind happened."""
    log = result.get("event_log") or []
    return np.array([event["row"] for event in log if event["kind"] == kind], np.float64)


def true_drift(result: Result) -> Floats:
    """Rows of the run with which a new concept begins, where that is known."""
    positions: Floats = np.asarray(result.get("drift_positions") or [], np.float64)
    inside: Floats = positions[(positions > 0) & (positions < chunk_ends(result)[-1])]
    return inside


def run_name(result: Result) -> str:
    """A run in messages.

    >>> run_name({"model": "devfnn", "stream": "sea"})
    'the run of devfnn on sea'
    """
    return f"the run of {result.get('model', 'a model')} on {result.get('stream', 'a stream')}"
