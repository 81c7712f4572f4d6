"""The report of one run: key figures, figures, measures, events, rules, settings."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devfnn.errors import InputError
from devfnn.model.config import Config
from devfnn.reports.measures import measure_rows
from devfnn.reports.page import (
    HALF,
    NOT_MEASURED,
    WIDE,
    Picture,
    blank,
    count,
    decimal,
    percent,
    picture,
    plain,
    rendered,
    seconds,
    sentence,
    set_values,
    sheet,
    size,
)
from devfnn.reports.reasons import kind_in_words, reason_of
from devfnn.reports.rules import names_to_draw, rules_in, rules_to_draw, telling_features

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

    Parameters
    ----------
    result
        What `devfnn run --json` wrote, as `devfnn.experiments.reading.read_result` reads it.

    Returns
    -------
    str
        The page. The same result gives the same page.
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


def _class_rows(classes: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Classes with their measures, the most common first."""
    ordered = sorted(classes, key=lambda row: -(row.get("support") or 0.0))
    return [
        {
            "name": row.get("name") or plain(row.get("label")),
            **{key: percent(row.get(key)) for key in ("precision", "recall", "f1")},
            "support": count(row.get("support")),
        }
        for row in ordered[:MOST_LISTED]
    ]


def _about(result: Result) -> str:
    """Size of the run in one line."""
    parts = [f"{count(result['rows'])} rows", f"{count(result['chunks'])} chunks"]
    if result.get("chunk_rows"):
        parts[-1] += f" of {count(result['chunk_rows'])}"
    named = (("preset", "preset"), ("scaling", "scaling"), ("seed", "seed"))
    parts += [f"{name} {result[key]}" for key, name in named if result.get(key) is not None]
    return ", ".join(parts)


def _remarks(result: Result) -> Iterator[str]:
    """What a reader should know before reading on."""
    if result.get("is_complete") is False:
        yield "The run was interrupted: everything here is about the rows up to then."
    if result.get("rows_left_out"):
        n_left = count(result["rows_left_out"])
        yield f"{n_left} rows at the end do not fill a chunk and were left out."
    if result.get("accuracy_mean") is None and result["chunks"] < 2:
        yield "There is one chunk only, which is learned: nothing was predicted."
    elif result["chunks"] < 10:
        yield f"With {result['chunks']} chunks, means and spreads over chunks say little."


def _tiles(result: Result) -> list[tuple[str, str, str]]:
    """Key figures: name, value, remark."""
    accuracy = percent(result.get("accuracy_mean"))
    std = result.get("accuracy_std")
    labels = result.get("label_fraction")
    used = f"{count(result.get('labels_used'))} labels" if labels is not None else ""
    predicting, learning = result.get("seconds_predict"), result.get("seconds_learn")
    speed = ""
    if predicting is not None and learning is not None:
        speed = f"{seconds(predicting)} predicting, {seconds(learning)} learning"
    parameters = result.get("parameters_mean")
    numbers = f"{count(parameters)} parameters on average" if parameters is not None else ""
    return [
        ("accuracy", accuracy, f"± {percent(std)} over chunks" if std is not None else ""),
        ("accuracy overall", percent(result.get("accuracy_overall")), "over all predicted rows"),
        ("rows per second", count(result.get("rows_per_second")), speed),
        ("rules", decimal(result.get("rules_mean"), 1), _at_the_end(result, "rules")),
        ("layers", decimal(result.get("layers_mean"), 1), _at_the_end(result, "layers")),
        ("labels used", percent(labels, 1), used),
        ("model size", size(result.get("model_bytes")), numbers),
    ]


def _at_the_end(result: Result, key: str) -> str:
    series = result["per_chunk"].get(key) or [None]
    return f"on average; {count(series[-1])} at the end" if series[-1] is not None else ""


def _run_pictures(result: Result) -> list[Picture]:
    """Figures over the course of the run."""
    from devfnn import figures

    has_layers = result.get("layers_mean") is not None
    pictures = [
        picture(
            "At a glance",
            "Accuracy"
            + (", layers, rules" if has_layers else "")
            + " and training samples, chunk by chunk.",
            lambda: figures.run_overview(result, figure=sheet(WIDE, 8.5 if has_layers else 5.5)),
            is_wide=True,
        )
    ]
    n_features = len(result.get("feature_names") or [])
    step = -(-len(result["per_chunk"]["rows"]) // MOST_DRAWN)
    pictures += [
        picture(
            "Voting weights",
            "How much each layer counts in the vote"
            + (f", every {step} chunks." if step > 1 else "."),
            lambda: figures.voting_weights(_thinned(result, step), ax=blank(HALF, 3.0)),
        ),
        picture(
            "Features in use",
            "Which features the model used, chunk by chunk.",
            lambda: figures.feature_mask(
                result, ax=blank(HALF, min(max(1.3 + 0.2 * n_features, 3.0), 8.0))
            ),
        ),
    ]
    return pictures


def _thinned(result: Result, step: int) -> Result:
    """The voting weights of the last of every so many chunks: bands are as long as their file."""
    per_chunk = result["per_chunk"]
    kept = {
        key: per_chunk[key][step - 1 :: step]
        for key in ("rows", "voting_weights")
        if per_chunk.get(key)
    }
    return {**result, "per_chunk": kept}


def _score_pictures(result: Result) -> list[Picture]:
    """Figures of what was predicted."""
    from devfnn import figures

    has_room = len(result.get("classes") or []) <= MOST_IN_HALF
    return [
        picture(
            "Confusion matrix",
            "True classes against predicted ones.",
            lambda: figures.confusion_matrix(result),
            is_wide=not has_room,
        ),
        picture(
            "Reliability",
            "How sure the model was against how often it was right.",
            lambda: figures.reliability_curve(result, ax=blank(HALF, 4.2)),
        ),
    ]


def _drift(result: Result) -> dict[str, Any]:
    """How well drifts were found, where it is known when they happened."""
    detection, positions = result.get("drift_detection"), result.get("drift_positions") or []
    if not detection:
        found = (result.get("events") or {}).get("DriftFound", 0)
        summary = {0: "No drift was found.", 1: "Drift was found once."}.get(
            found, f"Drift was found {count(found)} times."
        )
        if not positions:
            summary += " When this stream drifts is not known, so how well it was found is not."
        return {"summary": summary, "rows": []}
    delays = detection.get("delays") or []
    rows = [
        (count(position), "missed" if delay is None else f"found {count(delay)} rows later")
        for position, delay in zip(positions, delays, strict=False)
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
        counts = {}
        for event in log:
            counts[event["kind"]] = counts.get(event["kind"], 0) + 1
    half = MOST_EVENTS // 2
    shown = log if len(log) <= MOST_EVENTS else [*log[:half], *log[-half:]]
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {
        "counts": [(kind, kind_in_words(kind), number) for kind, number in ordered],
        "n_all": len(log),
        "gap_at": half if len(log) > MOST_EVENTS else None,
        "half": half,
        "rows": [
            {
                "row": count(event.get("row")),
                "chunk": count(event.get("chunk")),
                "kind": event["kind"],
                "name": kind_in_words(event["kind"]),
                "reason": reason_of(event),
            }
            for event in shown
        ],
    }


def _rules(result: Result) -> dict[str, Any]:
    """Rules as text, and figures of the most telling ones."""
    from devfnn import figures

    try:
        rules = rules_in(result)
        drawn = rules_to_draw(rules)
    except InputError as error:
        return {"missing": sentence(str(error)), "texts": [], "pictures": [], "n_more": 0}
    names = telling_features(drawn, result)
    where = f"Active rules of layer {drawn[0].layer}."
    pictures = [
        picture(
            f"Memberships of {name}",
            where,
            lambda name=name: figures.membership_curves(drawn, name, ax=blank(HALF, 2.6)),  # type: ignore[misc]
        )
        for name in names_to_draw(drawn, names)
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
        {
            "text": f"{rule.text()}  {rule.remark()}",
            "layer": rule.layer,
            "weight": percent(rule.voting_weight, 1),
        }
        for rule in rules[:MOST_LISTED]
    ]
    more = max(len(rules) - MOST_LISTED, 0)
    return {"missing": "", "texts": texts, "pictures": pictures, "n_more": more}


def _config_rows(result: Result) -> list[dict[str, Any]]:
    """Parameters of the model, what they mean, and which differ from the default."""
    config = result.get("config") or {}
    fields = {field.name: field for field in dataclasses.fields(Config)}
    rows = []
    for name, value in config.items():
        field = fields.get(name)
        rows.append(
            {
                "name": name,
                "value": plain(value),
                "default": plain(field.default) if field else NOT_MEASURED,
                "is_changed": field is not None and value != field.default,
                "meaning": sentence(field.metadata["meaning"]) if field else "",
            }
        )
    return rows
