"""The report of a run: key figures, figures, measures, events, rules, settings."""

import collections
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devfnn import figures
from devfnn.errors import InputError
from devfnn.events import Event
from devfnn.figures.rules import features_by_contrast, features_to_draw, rules_of, rules_to_draw
from devfnn.figures.style import new_figure
from devfnn.formatting import NO_VALUE, count, percent, seconds, size
from devfnn.model.config import Config
from devfnn.reports.measures import measure_rows
from devfnn.reports.page import (
    HALF,
    WIDE,
    Picture,
    blank,
    decimal,
    picture,
    plain,
    rendered,
    sentence,
    set_values,
)

MOST_EVENTS = 1000
"""Events that are listed; of more, the first and the last."""

MOST_LISTED = 200
"""Classes, rules and drifts that are listed."""

MOST_DRAWN = 1000
"""Chunks of which voting weights are drawn."""

MOST_IN_HALF = 6
"""Classes of a confusion matrix that fits into half the page."""

Result = Mapping[str, Any]


def run_report(result: Result) -> str:
    """The report of a run as one HTML page that needs no other file and no network.

    `result` is what `devfnn run --json` wrote, as `read_result` reads it. The same result gives the
    same page.
    """
    classes = result.get("per_class") or []
    return rendered(
        "run.html",
        {
            "command": result.get("command"),
            "title": f"{result['model']} on {result['stream']}",
            "about": _about(result),
            "remarks": list(_remarks(result)),
            "tiles": _tiles(result),
            "pictures": _run_pictures(result),
            "measures": measure_rows(result),
            "window_chunks": (result.get("windowed") or {}).get("chunks"),
            "classes": _class_rows(classes),
            "n_classes_more": max(len(classes) - MOST_LISTED, 0),
            "score_pictures": _score_pictures(result),
            "drift": _drift(result),
            "events": _events(result),
            "rules": _rules(result),
            "settings": set_values(result.get("settings") or {}),
            "config": _config_rows(result),
            "versions": {"devfnn": result.get("version")} | (result.get("versions") or {}),
        },
    )


def _about(result: Result) -> str:
    """Size of the run in one line."""
    chunks = f" of {count(result['chunk_rows'])}" if result.get("chunk_rows") else ""
    parts = [f"{count(result['rows'])} rows", f"{count(result['chunks'])} chunks{chunks}"]
    keys = ("preset", "scaling", "seed")
    return ", ".join(
        parts + [f"{key} {result[key]}" for key in keys if result.get(key) is not None]
    )


def _remarks(result: Result) -> Iterator[str]:
    """What limits the results."""
    if result.get("is_complete") is False:
        yield "The run was interrupted: this page is about the rows up to then."
    if result.get("rows_left_out"):
        n_left = count(result["rows_left_out"])
        yield f"{n_left} rows at the end do not fill a chunk and were left out."
    if result.get("accuracy_mean") is None and result["chunks"] < 2:
        yield "There is only one chunk, which is learned: nothing was predicted."
    elif result["chunks"] < 10:
        yield f"With {result['chunks']} chunks, means and deviations over chunks are imprecise."


def _tiles(result: Result) -> list[tuple[str, str, str]]:
    """Key figures: name, value, remark."""

    def remark(text: str, *keys: str, shown: Any = count) -> str:
        values = [result.get(key) for key in keys]
        return "" if None in values else text.format(*map(shown, values))

    def at_the_end(key: str) -> str:
        last = (result["per_chunk"].get(key) or [None])[-1]
        return "" if last is None else f"on average; {count(last)} at the end"

    times = remark("{} predicting, {} learning", "seconds_predict", "seconds_learn", shown=seconds)
    deviation = remark("± {} over chunks", "accuracy_std", shown=percent)
    overall = percent(result.get("accuracy_overall"))
    return [
        ("accuracy", percent(result.get("accuracy_mean")), deviation),
        ("accuracy overall", overall, "over all predicted rows"),
        ("rows per second", count(result.get("rows_per_second")), times),
        ("rules", decimal(result.get("rules_mean"), 1), at_the_end("rules")),
        ("layers", decimal(result.get("layers_mean"), 1), at_the_end("layers")),
        (
            "labels used",
            percent(result.get("label_fraction"), 1),
            remark("{} labels", "labels_used"),
        ),
        (
            "model size",
            size(result.get("model_bytes")),
            remark("{} parameters on average", "parameters_mean"),
        ),
    ]


def _class_rows(classes: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Name, precision, recall, F1 and rows of each class, the most frequent first."""
    ordered = sorted(classes, key=lambda row: -(row.get("support") or 0.0))
    return [
        (
            row.get("name") or plain(row.get("label")),
            *(percent(row.get(key)) for key in ("precision", "recall", "f1")),
            count(row.get("support")),
        )
        for row in ordered[:MOST_LISTED]
    ]


def _run_pictures(result: Result) -> list[Picture]:
    """Figures over the rows of the stream."""
    has_layers = result.get("layers_mean") is not None
    panels = "Accuracy, layers, rules" if has_layers else "Accuracy"
    n_features = len(result.get("feature_names") or [])
    mask_height = min(max(1.3 + 0.2 * n_features, 3.0), 8.0)
    step = -(-len(result["per_chunk"]["rows"]) // MOST_DRAWN)
    every = f", every {step} chunks" if step > 1 else ""
    return [
        picture(
            "Overview",
            f"{panels} and training samples, chunk by chunk.",
            lambda: figures.run_overview(result, new_figure(WIDE, 8.5 if has_layers else 5.5)),
            is_wide=True,
        ),
        picture(
            "Voting weights",
            f"Share of each layer in the vote{every}.",
            lambda: figures.voting_weights(_thinned(result, step), ax=blank(HALF, 3.0)),
        ),
        picture(
            "Features in use",
            "Which features the model used, chunk by chunk.",
            lambda: figures.feature_mask(result, ax=blank(HALF, mask_height)),
        ),
    ]


def _thinned(result: Result, step: int) -> Result:
    """The voting weights of every so many chunks, since each adds to the size of the page."""
    per_chunk = result["per_chunk"]
    kept = {key: per_chunk.get(key, [])[step - 1 :: step] for key in ("rows", "voting_weights")}
    return {**result, "per_chunk": kept}


def _score_pictures(result: Result) -> list[Picture]:
    """Figures of what was predicted."""
    return [
        picture(
            "Confusion matrix",
            "True classes against predicted ones.",
            lambda: figures.confusion_matrix(result),
            is_wide=len(result.get("classes") or []) > MOST_IN_HALF,
        ),
        picture(
            "Reliability",
            "Accuracy against confidence.",
            lambda: figures.reliability_curve(result, ax=blank(HALF, 4.2)),
        ),
    ]


def _drift(result: Result) -> dict[str, Any]:
    """How well drifts were detected, if the true ones are known."""
    detection, positions = result.get("drift_detection"), result.get("drift_positions") or []
    if not detection:
        n_found = (result.get("events") or {}).get("DriftFound", 0)
        summary = {0: "No drift was found.", 1: "Drift was found once."}.get(
            n_found, f"Drift was found {count(n_found)} times."
        )
        if not positions:
            summary += " The true drifts of this stream are not known."
        return {"summary": summary, "rows": []}
    rows = [
        (count(position), "missed" if delay is None else f"found {count(delay)} rows later")
        for position, delay in zip(positions, detection.get("delays") or [], strict=False)
    ]
    summary = (
        f"Drifts: {detection['drifts']}, of which found: {detection['found']}, missed: "
        f"{detection['missed']}. False alarms: {detection['false_alarms']}."
    )
    if detection.get("delay_mean") is not None:
        summary += f" On average a drift was found {count(detection['delay_mean'])} rows later."
    return {"summary": summary, "rows": rows[:MOST_LISTED]}


def _events(result: Result) -> dict[str, Any]:
    """Events by kind, and listed with their reasons."""
    log = result.get("event_log") or []
    counts = result.get("events")
    if counts is None:
        counts = collections.Counter(event["kind"] for event in log)
    half = MOST_EVENTS // 2
    shown = log if len(log) <= MOST_EVENTS else [*log[:half], *log[-half:]]
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {
        "counts": [(kind, event_name(kind), number) for kind, number in ordered],
        "n_all": len(log),
        "gap_at": half if len(log) > MOST_EVENTS else None,
        "half": half,
        "rows": [
            {
                "row": count(event.get("row")),
                "chunk": count(event.get("chunk")),
                "kind": event["kind"],
                "name": event_name(event["kind"]),
                "reason": event_reason(event),
            }
            for event in shown
        ],
    }


def event_name(kind: str) -> str:
    """A kind of event in words.

    >>> event_name("LayerAdded")
    'layer added'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower()


def event_reason(event: Mapping[str, Any]) -> str:
    """Why an event happened: as the log says, else as its kind explains it, else its numbers.

    >>> event_reason({"kind": "ClassAdded", "row": 3, "reason": "label up is new"})
    'Label up is new.'
    """
    reason = event.get("reason") or ""
    if " " in reason.strip():
        return sentence(reason)
    fields = {name: value for name, value in event.items() if name != "chunk"}
    try:
        return sentence(Event.from_dict(fields).explanation)
    except ValueError:
        named = (each for each in fields.items() if each[0] not in ("kind", "row"))
        return sentence(
            ", ".join(f"{name.replace('_', ' ')} {plain(value)}" for name, value in named)
        )


def _rules(result: Result) -> dict[str, Any]:
    """Rules as text, and figures of those that differ most."""
    try:
        rules = rules_of(result)
        drawn = rules_to_draw(rules)
    except InputError as error:
        return {"missing": sentence(str(error)), "texts": [], "pictures": [], "n_more": 0}
    names = features_by_contrast(drawn, result)
    where = f"Active rules of layer {drawn[0].layer}."
    pictures = [
        picture(
            f"Memberships of {name}",
            where,
            lambda name=name: figures.membership_curves(drawn, name, ax=blank(HALF, 2.6)),  # type: ignore[misc]
        )
        for name in features_to_draw(drawn, names)
    ]
    if len(names) >= 2:
        pair = (names[0], names[1])
        pictures.append(
            picture(
                f"Rules over {pair[0]} and {pair[1]}",
                where,
                lambda: figures.rule_ellipses(drawn, pair, ax=blank(HALF, 4.2)),
            )
        )
    texts = [
        (f"{rule.text()}  {rule.remark()}", percent(rule.voting_weight, 1))
        for rule in rules[:MOST_LISTED]
    ]
    n_more = max(len(rules) - MOST_LISTED, 0)
    return {"missing": "", "texts": texts, "pictures": pictures, "n_more": n_more}


def _config_rows(result: Result) -> list[dict[str, Any]]:
    """Parameters of the model, what they mean, and which differ from the default."""
    fields = {field.name: field for field in dataclasses.fields(Config)}
    rows = []
    for name, value in (result.get("config") or {}).items():
        field = fields.get(name)
        rows.append(
            {
                "name": name,
                "value": plain(value),
                "default": plain(field.default) if field else NO_VALUE,
                "is_changed": field is not None and value != field.default,
                "meaning": sentence(field.metadata["meaning"]) if field else "",
            }
        )
    return sorted(rows, key=lambda row: not row["is_changed"])
