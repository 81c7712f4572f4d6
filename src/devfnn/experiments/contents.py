"""What results and comparisons must hold: the types of all that figures and reports rely on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from devfnn.errors import DataError

LARGEST = 1e100
"""Numbers beyond cannot be drawn, nor squared without care."""

LONGEST_SHOWN = 60
"""Characters of a bad value that a message shows."""

Check = Callable[[Any, str], None]

_SHARES = (
    *("accuracy_mean", "accuracy_std", "accuracy_overall", "precision", "recall", "f1"),
    *("precision_weighted", "recall_weighted", "f1_weighted", "kappa", "kappa_m"),
    *("kappa_temporal", "g_mean", "balanced_accuracy", "log_loss", "brier"),
    *("calibration_error", "auc", "paper_precision", "paper_recall", "label_fraction"),
)
_SIZES = (
    *("rules_mean", "layers_mean", "layers_total_mean", "parameters_mean", "labels_used"),
    *("seconds_predict", "seconds_learn", "rows_per_second", "model_bytes", "rows_left_out"),
    *("chunk_rows",),
)


def _refuse(value: object, name: str, wanted: str) -> DataError:
    kinds: dict[type, str] = {type(None): "null", list: "a list", dict: "an object"}
    shown = kinds.get(type(value)) or repr(value)
    if len(shown) > LONGEST_SHOWN:
        shown = shown[:LONGEST_SHOWN] + " ..."
    return DataError(f"{name or 'the file'} must be {wanted}, not {shown}")


def _anything(value: object, name: str) -> None:
    """No value is refused: it is only ever shown as text."""


def _text(value: object, name: str) -> None:
    if not isinstance(value, str):
        raise _refuse(value, name, "text")


def _flag(value: object, name: str) -> None:
    if not isinstance(value, bool):
        raise _refuse(value, name, "true or false")


def _number(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LARGEST:
        raise _refuse(value, name, "a number")


def _count(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise _refuse(value, name, "a whole number, 0 or more")


def _on_or_off(value: object, name: str) -> None:
    if not isinstance(value, bool | int | float) or value not in (0, 1):
        raise _refuse(value, name, "0 or 1")


def _labelled(value: object, name: str) -> None:
    """A label, whatever it is, with a number."""
    if not isinstance(value, list) or len(value) != 2:
        raise _refuse(value, name, "a label and a number")
    _number(value[1], f"{name}[1]")


def _maybe(check: Check) -> Check:
    """The same, or null."""

    def checked(value: object, name: str) -> None:
        if value is not None:
            check(value, name)

    return checked


def _items(check: Check) -> Check:
    """A list of such values."""

    def checked(value: object, name: str) -> None:
        if not isinstance(value, list):
            raise _refuse(value, name, "a list")
        for place, item in enumerate(value):
            check(item, f"{name}[{place}]")

    return checked


def _mapping(known: Mapping[str, Check], others: Check = _anything) -> Check:
    """An object; a key of `known` that ends with ! must be there, the others may be missing."""
    checks = {key.removesuffix("!"): check for key, check in known.items()}
    needed = [key[:-1] for key in known if key.endswith("!")]

    def checked(value: object, name: str) -> None:
        if not isinstance(value, dict):
            raise _refuse(value, name, "an object")
        missing = [key for key in needed if key not in value]
        if missing:
            raise DataError(f"{name or 'the file'} lacks {', '.join(missing)}")
        for key, item in value.items():
            checks.get(key, others)(item, f"{name}.{key}" if name else key)

    return checked


_measured = _maybe(_number)
_series = _items(_measured)
_chunk_series = {
    "rows!": _items(_count),
    "accuracy!": _series,
    "voting_weights": _maybe(_items(_maybe(_series))),
    "feature_mask": _maybe(_items(_maybe(_items(_on_or_off)))),
}
_calibration = {"edges!": _items(_number), "rows!": _items(_count)}
_calibration |= {"confidence!": _series, "accuracy!": _series}
_detection: dict[str, Check] = {"drifts!": _count, "found!": _count, "missed!": _count}
_detection |= {"false_alarms!": _count, "delay_mean": _measured, "delays": _maybe(_series)}
_class_measures: dict[str, Check] = {"label": _anything, "name": _maybe(_text)}
_event: dict[str, Check] = {"kind!": _text, "row!": _count, "chunk": _maybe(_count)}
_event |= {"reason": _maybe(_text)}
_rule: dict[str, Check] = {
    "inputs!": _items(_text),
    "center!": _items(_number),
    "covariance!": _items(_items(_number)),
    "probabilities!": _items(_labelled),
    "n_rows!": _number,
    "is_archived!": _flag,
    "voting_weight!": _number,
    "ranges": _maybe(_items(_items(_number))),
}
_rule |= dict.fromkeys(("layer!", "rule!", "n_features!"), _count)

_RUN: dict[str, Check] = {
    "stream!": _text,
    "model!": _text,
    "rows!": _count,
    "chunks!": _count,
    "per_chunk!": _mapping(_chunk_series, _maybe(_series)),
    "seed": _maybe(_count),
    "is_complete": _maybe(_flag),
    "feature_names": _maybe(_items(_text)),
    "classes": _maybe(_items(_anything)),
    "class_names": _maybe(_items(_text)),
    "per_class": _maybe(_items(_mapping(_class_measures, _measured))),
    "confusion": _maybe(_items(_items(_count))),
    "calibration": _maybe(_mapping(_calibration)),
    "events": _maybe(_mapping({}, _count)),
    "event_log": _maybe(_items(_mapping(_event))),
    "drift_positions": _maybe(_items(_count)),
    "drift_detection": _maybe(_mapping(_detection)),
    "windowed": _maybe(_mapping({"chunks": _maybe(_count)}, _maybe(_series))),
    "rules": _maybe(_items(_mapping(_rule))),
}
_RUN |= dict.fromkeys(("settings", "config", "versions"), _maybe(_mapping({})))
_RUN |= dict.fromkeys(("version", "preset", "scaling", "command"), _maybe(_text))
_RUN |= dict.fromkeys((*_SHARES, *_SIZES), _measured)

_cell: dict[str, Check] = {
    "model!": _text,
    "stream!": _text,
    "seed": _maybe(_count),
    "accuracy_mean!": _measured,
    "file": _maybe(_text),
}
_RANKED: dict[str, Check] = {
    "models!": _items(_text),
    "n_streams!": _count,
    "mean_ranks!": _items(_number),
    "significance!": _number,
    "post_hoc!": _text,
    "groups!": _items(_items(_text)),
    "p_values!": _items(_mapping({"models!": _items(_text), "p!": _number})),
}
_RANKED |= dict.fromkeys(("friedman_statistic!", "friedman_p!", "critical_difference!"), _measured)
_COMPARISON: dict[str, Check] = {
    "models!": _items(_text),
    "streams!": _items(_text),
    "cells!": _items(
        _mapping(_cell | dict.fromkeys(("rows", "chunks", *_SHARES, *_SIZES), _measured))
    ),
    "seeds": _maybe(_items(_count)),
    "ranking": _maybe(_mapping(_RANKED)),
}


def check_run(data: object) -> None:
    """Refuse what is no result of a run.

    Raises
    ------
    DataError
        With the name of the first value that is wrong.
    """
    _mapping(_RUN)(data, "")
    assert isinstance(data, dict)
    for where in ("per_chunk", "windowed"):
        for key, series in (data.get(where) or {}).items():
            if isinstance(series, list):
                _check_length(series, len(data["per_chunk"]["rows"]), f"{where}.{key}")
    _check_classes(data)
    if data.get("feature_names") is not None:
        for row in data["per_chunk"].get("feature_mask") or []:
            if row is not None:
                _check_length(row, len(data["feature_names"]), "a row of per_chunk.feature_mask")


def _check_classes(data: Mapping[str, Any]) -> None:
    """Refuse lists with one value for each class, or for each bin, that differ in length."""
    if data.get("classes") is not None:
        n_classes = len(data["classes"])
        for key in ("class_names", "confusion"):
            if data.get(key):
                _check_length(data[key], n_classes, key)
        for row in data.get("confusion") or []:
            _check_length(row, n_classes, "a row of confusion")
    if data.get("calibration"):
        calibration = data["calibration"]
        for key in ("rows", "confidence", "accuracy"):
            _check_length(calibration[key], len(calibration["edges"]) - 1, f"calibration.{key}")


def check_comparison(data: object) -> None:
    """Refuse what is no comparison.

    Raises
    ------
    DataError
        With the name of the first value that is wrong.
    """
    _mapping(_COMPARISON)(data, "")
    assert isinstance(data, dict)
    for place, cell in enumerate(data["cells"]):
        for key in ("model", "stream"):
            if cell[key] not in data[f"{key}s"]:
                raise _refuse(cell[key], f"cells[{place}].{key}", f"one of the {key}s")
    if data.get("ranking"):
        _check_ranking(data["ranking"])


def _check_ranking(ranking: Mapping[str, Any]) -> None:
    """Refuse a ranking of models that it does not name, or without a rank for each."""
    models = ranking["models"]
    _check_length(ranking["mean_ranks"], len(models), "ranking.mean_ranks")
    for pair in ranking["p_values"]:
        _check_length(pair["models"], 2, "a pair of ranking.p_values")
    for group in (*ranking["groups"], *(pair["models"] for pair in ranking["p_values"])):
        for model in group:
            if model not in models:
                raise _refuse(model, "a model in the ranking", "one of those ranked")


def _check_length(values: Sequence[object], wanted: int, name: str) -> None:
    if len(values) != wanted:
        raise DataError(f"{name} must have {wanted:,} values, not {len(values):,}")
