"""Results of chunks as plain data and back. What is read may come from anywhere and is checked."""

import dataclasses
import types
import typing
from collections.abc import Sequence
from typing import Any

import numpy as np

from devfnn.evaluation import ChunkResult
from devfnn.evaluation.measures import Tally, empty_tally
from devfnn.events import Event

LARGEST = 2**63
"""No whole number is as large."""

TUPLES = ("voting_weights", "feature_mask")


def results_to_plain(results: Sequence[ChunkResult]) -> list[dict[str, Any]]:
    """Results as JSON can hold them."""
    return [_to_plain(result) for result in results]


def results_from_plain(data: Sequence[dict[str, Any]], n_classes: int) -> list[ChunkResult]:
    """The results that `results_to_plain` gave; ValueError, TypeError or KeyError for others."""
    results = [_from_plain(each) for each in data]
    n_rows = 0
    for place, result in enumerate(results):
        n_rows += result.chunk_rows
        _require(result.index == place and result.n_rows == n_rows, "a result is missing")
        _require(result.tally is None or len(result.tally.confusion) <= n_classes, "bad classes")
    return results


def _to_plain(result: ChunkResult) -> dict[str, Any]:
    fields = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    tally = result.tally
    return fields | {
        "events": [event.to_dict() for event in result.events],
        "tally": tally
        and {
            "confusion": tally.confusion.tolist(),
            "totals": tally.totals.tolist(),
            "calibration": tally.calibration.tolist(),
            "auc": tally.auc,
            "silence": tally.silence,
        },
    }


def _from_plain(data: dict[str, Any]) -> ChunkResult:
    events = tuple(Event.from_dict(each) for each in data["events"])
    tuples = {name: None if data[name] is None else tuple(data[name]) for name in TUPLES}
    tally = None if data["tally"] is None else _tally(data["tally"])
    result = ChunkResult(**(data | tuples | {"events": events, "tally": tally}))
    for each in (result, *events):
        _check_types(each)
    if tally is None:
        _require(result.n_correct is None and not result.n_scored, "scores without rows")
    else:
        counted = (tally.n_correct, tally.n_scored)
        _require((result.n_correct, result.n_scored) == counted, "scores of other rows")
    return result


def _tally(data: dict[str, Any]) -> Tally:
    confusion = np.array(data["confusion"], np.int64)
    tally = Tally(
        confusion,
        np.array(data["totals"], np.float64),
        np.array(data["calibration"], np.float64),
        data["auc"],
        data["silence"],
    )
    expected = empty_tally(len(confusion))
    for name in ("confusion", "totals", "calibration"):
        array = getattr(tally, name)
        _require(array.shape == getattr(expected, name).shape, f"{name} of another shape")
        _require(bool(np.isfinite(array).all()), f"{name} without bounds")
    _require(bool((confusion >= 0).all()) and tally.n_scored > 0, "no counts")
    _require(_fits(tally.auc, float | None), "no area under a curve")
    silence = tally.silence
    is_class = silence is None or (_fits(silence, int) and 0 <= silence < len(confusion))
    _require(is_class, "silence is no class")
    return tally


def _check_types(found: Any) -> None:
    """Refuse a dataclass whose values do not have the types of their fields."""
    for field in dataclasses.fields(found):
        value = getattr(found, field.name)
        _require(_fits(value, field.type), f"{field.name} is {str(value)[:60]}")


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type, as annotations have it."""
    if isinstance(kind, types.UnionType):
        return any(_fits(value, each) for each in typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(
            _fits(each, typing.get_args(kind)[0]) for each in value
        )
    if kind in (int, float):
        is_number = isinstance(value, int | kind) and not isinstance(value, bool)
        return is_number and (isinstance(value, float) or abs(value) < LARGEST)
    return isinstance(value, kind)


def _require(is_right: bool, otherwise: str) -> None:
    if not is_right:
        raise ValueError(otherwise)
