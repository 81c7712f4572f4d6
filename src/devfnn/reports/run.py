"""The report of a run: key figures, figures, measures, events, rules, settings."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from devfnn import figures
from devfnn.errors import InputError
from devfnn.evaluation.classes import are_unequal, cautions
from devfnn.evaluation.measures import SHARES
from devfnn.evaluation.results import deviation, mean
from devfnn.figures.rules import features_by_contrast, features_to_draw, rules_of, rules_to_draw
from devfnn.figures.runs import measure_name
from devfnn.figures.style import new_figure
from devfnn.formatting import (
    count,
    detection_line,
    flat_names,
    percent,
    plural,
    seconds,
    size,
    standing,
    worth,
)
from devfnn.model.config import SECTIONS, Config
from devfnn.reports import page

MOST_EVENTS, MOST_LISTED = 1000, 200
"""Events that are listed, the first and the last of them; and classes, rules and drifts."""

MOST_DRAWN = 1000
"""Chunks of which voting weights are drawn."""

_AS_PUBLISHED = (
    "As in Table 1 of the paper: class 0 is positive, false positives and false negatives are "
    "swapped, mean over chunks."
)
MEANINGS = {
    "accuracy": "Share of rows predicted correctly, before they are learned.",
    "balanced_accuracy": "Mean recall of the classes.",
    "precision": "Share of the rows predicted as a class that belong to it. Mean over the classes.",
    "recall": "Share of the rows of a class that were predicted as it. Mean over the classes.",
    "f1": "Harmonic mean of precision and recall of a class. Mean over the classes.",
    "precision_weighted": "As precision, but a class counts by its rows.",
    "recall_weighted": "As recall, but a class counts by its rows.",
    "f1_weighted": "As F1, but a class counts by its rows.",
    "g_mean": "Geometric mean of the recalls of the classes: 0 if one class is never predicted.",
    "kappa": "Gain over guessing with the same class frequencies: 0 is none, 1 is all correct.",
    "kappa_m": "Gain over always predicting the most frequent class.",
    "kappa_temporal": "Gain over repeating the previous label: negative if that would be better.",
    "auc": "Probability that a row of a class is ranked above a row of another; 50 % is guessing.",
    "log_loss": "Mean negative logarithm of the probability of the true class. Lower is better.",
    "brier": "Mean squared distance of the probabilities from the truth. Lower is better.",
    "calibration_error": "Mean gap between confidence and accuracy. Lower is better.",
    "paper_precision": _AS_PUBLISHED,
    "paper_recall": _AS_PUBLISHED,
}
"""What each measure means, in the order in which they are shown."""

Result = Mapping[str, Any]


def run_report(result: Result) -> str:
    """The report of a run as one HTML page that needs no other file and no network.

    `result` is what `devfnn run --json` wrote, as `devfnn.experiments.result_files` reads it. The
    same result gives the same page.
    """
    versions = {"devfnn": result.get("version")} | (result.get("versions") or {})
    return page.rendered(
        kind="Report of a run",
        title=f"{result['model']} on {result['stream']}",
        about=_about(result),
        remarks=list(_remarks(result)),
        lead=list(_class_figures(result)) if are_unequal(result) else [],
        tiles=_tiles(result),
        command=result.get("command"),
        sections={
            "Over time": [_run_pictures(result)],
            "Layers": _layers(result),
            "Measures": _measures(result),
            "Classes": _classes(result),
            "Drift": _drift(result),
            "Events": _events(result),
            "Rules at the end": _rules(result),
            "Settings": [page.pairs("setting", page.settings_of(result))],
            "Parameters": _parameters(result),
            "Versions": [page.pairs("package", versions)],
        },
    )


def _about(result: Result) -> str:
    chunks = f" of {count(result['chunk_rows'])}" if result.get("chunk_rows") else ""
    parts = [f"{count(result['rows'])} rows", f"{count(result['chunks'])} chunks{chunks}"]
    keys = ("preset", "scaling", "seed")
    parts += [f"{key} {result[key]}" for key in keys if result.get(key) is not None]
    return ", ".join(parts)


def _remarks(result: Result) -> Iterator[str]:
    yield from cautions(result)
    if result.get("is_complete") is False:
        yield "The run was interrupted: this page is about the rows up to then."
    if n_chunks := result.get("chunks_per_point"):
        yield (
            f"The run is long: chunks are told {count(n_chunks)} at a time, by their sums and by "
            "what was at their end. Measures over all rows and windows are exact all the same."
        )
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
    spread = remark("± {} over chunks", "accuracy_std", shown=percent)
    labels = remark("{} labels", "labels_used")
    parameters = remark("{} parameters on average", "parameters_mean")
    overall = percent(result.get("accuracy_overall"))
    return [
        ("accuracy", percent(result.get("accuracy_mean")), spread),
        ("accuracy overall", overall, "over all predicted rows"),
        ("rows per second", count(result.get("rows_per_second")), times),
        ("rules", page.decimal(result.get("rules_mean"), 1), at_the_end("rules")),
        ("layers", page.decimal(result.get("layers_mean"), 1), at_the_end("layers")),
        ("labels used", percent(result.get("label_fraction"), 1), labels),
        ("model size", size(result.get("model_bytes")), parameters),
    ]


def _run_pictures(result: Result) -> page.Part:
    has_layers = result.get("layers_mean") is not None
    panels = "Accuracy, layers, rules" if has_layers else "Accuracy"
    n_features = len(result.get("feature_names") or [])
    # Every chunk adds to the size of the page: of a long run, only some voting weights are drawn.
    columns, step = result["per_chunk"], -(-len(result["per_chunk"]["rows"]) // MOST_DRAWN)
    kept = {key: columns.get(key, [])[step - 1 :: step] for key in ("rows", "voting_weights")}
    every = f", every {step} chunks" if step > 1 else ""
    overview = page.picture(
        "Overview",
        f"{panels} and training samples, chunk by chunk.",
        figures.run_overview,
        result,
        new_figure(page.WIDE, 8.5 if has_layers else 5.5),
        is_wide=True,
    )
    caption, some = f"Share of each layer in the vote{every}.", {**result, "per_chunk": kept}
    votes = page.picture("Voting weights", caption, figures.voting_weights, some, height=3.0)
    caption = "Which features the model used, chunk by chunk."
    height = min(max(1.3 + 0.2 * n_features, 3.0), 8.0)
    mask = page.picture("Features in use", caption, figures.feature_mask, result, height=height)
    return [overview, votes, mask]


# ---- layers


def _layers(result: Result) -> Iterator[page.Part]:
    """What every layer does at the end, counts, is worth and costs, and what it did meanwhile."""
    standings = result.get("standings") or []
    if not standings:
        yield "The model has no layers, or the result does not tell of them."
        return
    yield (
        "Layers at the end. What a layer counts is its share of the answer: stacked layers, if "
        "there are some, give the answer, from what the layers below say, which count in theirs. "
        "Its cost is its share of the time that all layers take, by estimate. What dear layers are "
        "worth is measured: log-loss and hits per row that answers gain by them. Those that "
        "are not worth their cost rest, and show themselves again on trial."
    )
    states = result["per_chunk"].get("layer_states") or []
    rows = []
    for each in standings:
        did = [chunk[each["layer"]] for chunk in states if chunk and len(chunk) > each["layer"]]
        at_work = [state in ("votes", "on trial") for state in did if state]
        rows.append(
            (
                f"{each['layer']}",
                each["name"],
                standing(each["state"], each["steps"]),
                percent(each["share"], 1),
                percent(each["cost"], 1),
                worth(each["worth"]),
                percent(mean(at_work), 0),
            )
        )
    numbers = dict.fromkeys(("counts", "costs", "worth", "chunks at work"), "number")
    yield page.table({"": "number", "layer": "", "state": ""} | numbers, rows, "narrow")
    caption, height = "What layers did, chunk by chunk.", 1.0 + 0.2 * len(standings)
    draw = figures.layers_at_work
    yield [page.picture("Layers at work", caption, draw, result, height=height, is_wide=True)]


# ---- measures


def measure_values(result: Result) -> list[dict[str, Any]]:
    """For each measure that was taken: overall, mean and deviation over chunks, last window."""
    rows = []
    for key in MEANINGS:
        chunks = result["per_chunk"].get(key) or []
        values = {"overall": result.get(key), "mean": mean(chunks), "std": deviation(chunks)}
        if key == "accuracy":
            values = {name: result.get(f"accuracy_{name}") for name in values}
        values["last_window"] = ((result.get("windowed") or {}).get(key) or [None])[-1]
        if any(value is not None for value in values.values()):
            rows.append({"measure": key} | values)
    return rows


def _measures(result: Result) -> Iterator[page.Part]:
    values = measure_values(result)
    if not values:
        yield "Nothing was measured: no row was predicted and has a label."
        return
    n_window = (result.get("windowed") or {}).get("chunks")
    window = f", the last window holds the last {count(n_window)} chunks" if n_window else ""
    n_chunks = result.get("chunks_per_point")
    over = f"{count(n_chunks)} chunks at a time" if n_chunks else "chunks"
    yield f"Rows are predicted before they are learned. The mean is over {over}{window}."
    rows = []
    for each in values:
        key = each["measure"]
        shown = percent if key in SHARES else page.decimal
        spread = "" if each["std"] is None else f" ± {shown(each['std'])}"
        middle, last = shown(each["mean"]) + spread, shown(each["last_window"])
        rows.append((measure_name(key), shown(each["overall"]), middle, last, MEANINGS[key]))
    numbers = dict.fromkeys(("overall", "mean over chunks", "last window"), "number")
    yield page.table({"measure": "kind"} | numbers | {"meaning": "words"}, rows)


def _class_figures(result: Result) -> Iterator[page.Part]:
    """Precision, recall, F1 and rows of every class."""
    classes = result.get("per_class") or []
    if not classes:
        yield "The result has no measures by class."
    else:
        yield page.table(
            {"class": ""} | dict.fromkeys(("precision", "recall", "F1", "rows"), "number"),
            [
                (
                    row.get("name") or page.plain(row.get("label")),
                    *(percent(row.get(key)) for key in ("precision", "recall", "f1")),
                    count(row.get("support")),
                )
                for row in sorted(classes, key=lambda row: -(row.get("support") or 0.0))
            ][:MOST_LISTED],
            "narrow",
        )
    if len(classes) > MOST_LISTED:
        yield f"{count(len(classes) - MOST_LISTED)} more classes with fewer rows are not listed."


def _classes(result: Result) -> Iterator[page.Part]:
    if are_unequal(result):
        yield "Classes are unequal: precision, recall and F1 of each are at the top of the page."
    else:
        yield from _class_figures(result)
    matrix = page.picture(
        "Confusion matrix",
        "True classes against predicted ones.",
        figures.confusion_matrix,
        result,
        is_wide=len(result.get("classes") or []) > 6,
    )
    reliability = page.picture(
        "Reliability", "Accuracy against confidence.", figures.reliability_curve, result, height=4.2
    )
    yield [matrix, reliability]


# ---- drift, events and rules


def _drift(result: Result) -> Iterator[page.Part]:
    detection, positions = result.get("drift_detection"), result.get("drift_positions") or []
    if not detection:
        n_found = (result.get("events") or {}).get("DriftFound", 0)
        unknown = "" if positions else " The true drifts of this stream are not known."
        yield f"Drift was found {plural(n_found, 'time')}.{unknown}"
        return
    yield detection_line(detection)
    rows = [
        (count(position), "missed" if delay is None else f"found {count(delay)} rows later")
        for position, delay in zip(positions, detection.get("delays") or [], strict=False)
    ]
    yield page.table({"new concept from row": "", "drift": ""}, rows[:MOST_LISTED], "narrow")


def _events(result: Result) -> Iterator[page.Part]:
    log, counts = result.get("event_log") or [], result.get("events") or {}
    if not log:
        yield "The structure of the model did not change, or the model has no events."
        return
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    yield ", ".join(f"{event_name(kind)} {count(number)}" for kind, number in ordered)
    if n_dropped := result.get("events_dropped"):
        yield f"The run is long: its {count(n_dropped)} oldest events are counted, but not kept."
    rows = [
        (
            count(event.get("row")),
            count(event.get("chunk")),
            event_name(event["kind"]),
            page.sentence(event.get("explanation") or ""),
        )
        for event in log
    ]
    if len(rows) > MOST_EVENTS:
        half = MOST_EVENTS // 2
        between = f"{count(len(rows) - 2 * half)} events between are not listed."
        rows[half:-half] = [("…", "…", "…", between)]
    columns = {"row": "number", "chunk": "number", "event": "kind", "reason": "words"}
    yield page.table(columns, rows, "tall")


def event_name(kind: str) -> str:
    """A kind of event in words.

    >>> event_name("LayerAdded")
    'layer added'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower()


def _rules(result: Result) -> Iterator[page.Part]:
    try:
        rules = rules_of(result)
        drawn = rules_to_draw(rules)
    except InputError as error:
        yield page.sentence(str(error))
        return
    names = features_by_contrast(drawn, result)
    where = f"Active rules of layer {drawn[0].layer}."
    shown = [
        page.picture(
            f"Memberships of {name}", where, figures.membership_curves, drawn, name, height=2.6
        )
        for name in features_to_draw(drawn, names)
    ]
    if len(names) >= 2:
        title = f"Rules over {names[0]} and {names[1]}"
        pair = (names[0], names[1])
        shown.append(page.picture(title, where, figures.rule_ellipses, drawn, pair, height=4.2))
    yield shown
    rows = [
        (rule.remark().strip("[]"), percent(rule.voting_weight, 1), rule.text())
        for rule in rules[:MOST_LISTED]
    ]
    yield page.table({"rule": "", "vote of its layer": "number", "text": "value"}, rows)
    if len(rules) > MOST_LISTED:
        yield f"{count(len(rules) - MOST_LISTED)} more rules are not listed."


# ---- parameters


def _parameters(result: Result) -> Iterator[page.Part]:
    usual = flat_names(Config().to_dict())
    rows = []
    for name, value in flat_names(result.get("config") or {}).items():
        about = _about_parameter(name)
        # What the default has and this model has not is a section that is None.
        default = usual.get(name, about.default if about else "set" if name in SECTIONS else value)
        meaning = page.sentence(about.metadata["meaning"]) if about else ""
        shown, usually = (page.plain(_named_layers(each)) for each in (value, default))
        shown = shown if value == default else page.marked(shown)
        rows.append((name, shown, usually, meaning))
    if not rows:
        yield "The model has no such parameters."
        return
    rows.sort(key=lambda row: not isinstance(row[1], Markup))
    yield "Parameters that differ from the default are marked, and come first."
    columns = {"parameter": "", "value": "value", "default": "value", "meaning": "words"}
    yield page.table(columns, rows, "tall")


def _about_parameter(name: str) -> "dataclasses.Field[Any] | None":
    """Where a parameter is declared, if it is one."""
    section, _, own = name.rpartition(".")
    kinds: Any = SECTIONS.get(section, ()) if section else (Config,)
    fields = (field for kind in kinds for field in dataclasses.fields(kind))
    return next((field for field in fields if field.name == own and field.metadata), None)


def _named_layers(value: Any) -> Any:
    """Layers by their names; other values as they are."""
    is_list = isinstance(value, list) and all(isinstance(each, dict) for each in value)
    return [each.get("name", "") for each in value] if is_list else value
