"""Tables of a model: what it is, its features, layers and rules, and what learning changed."""

import itertools
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import rich.console
import rich.table

from devfnn.display.streams import number
from devfnn.display.tables import LEFT, RIGHT, facts_table, literal, text_table
from devfnn.formatting import NO_VALUE, change_text, count, listed, percent, size
from devfnn.model.rules import Rule

MOST_FEATURES = 30
"""Lines of the table of features; those that are not in use come first if there are more."""

MOST_CLASSES = 30
"""Classes that are listed."""

USUAL = ("rules", "votes")
"""Kind and state of a layer that are not mentioned."""

KEYWORDS = re.compile(r"^IF | and |^THEN |  \[layer [^\]]*\]$", re.MULTILINE)
"""Parts of a rule that are the same in every rule."""


def model_tables(about: Mapping[str, Any]) -> Iterator[rich.console.RenderableType]:
    """A model, as `devfnn inspect` describes it in plain data: facts, features, layers."""
    yield facts_table(about["file"], _facts(about))
    if about["features"]:
        yield _features_table(about["features"])
    if about["layers"]:
        yield _layers_table(about["layers"])


def _facts(about: Mapping[str, Any]) -> dict[str, str]:
    layers = [layer for layer in about["layers"] if not layer["is_merged"]]
    classes = [str(label) for label in about["classes"]]
    n_merged = len(about["layers"]) - len(layers)
    n_archived = sum(layer["archived"] for layer in layers)
    changed = ", ".join(itertools.starmap(change_text, about["changed"].items()))
    preset = "" if about["preset"] == "default" else f", preset {about['preset']}"
    return {
        "model": about["class"] + preset,
        "parameters changed": changed or "none",
        "learned": f"{about['rows']:,} rows, {about['labels_used']:,} labels used",
        "classes": f"{len(classes):,}: {listed(classes, MOST_CLASSES)}" if classes else "none yet",
        "layers": f"{len(layers):,}" + (f", and {n_merged:,} merged" if n_merged else ""),
        "rules": count(sum(layer["rules"] for layer in layers))
        + (f", and {n_archived:,} archived" if n_archived else ""),
        "numbers in rules": count(about["parameters"]),
        "size": f"{size(about['bytes'])} of arrays, {size(about['file_bytes'])} on disk",
    }


def _features_table(features: Sequence[Mapping[str, Any]]) -> rich.table.Table:
    """Ranges by which features are scaled, and whether they are in use."""
    columns = [("feature", LEFT), ("from", RIGHT), ("to", RIGHT), ("", LEFT)]
    table = text_table("Features", columns)
    lines = list(features)
    if len(lines) > MOST_FEATURES:
        lines.sort(key=lambda feature: bool(feature["state"] == "in use"))
    for feature in lines[:MOST_FEATURES]:
        ends = (feature["low"], feature["high"])
        style = "" if feature["state"] == "in use" else "yellow"
        table.add_row(
            literal(feature["name"]),
            *("" if end is None else number(end) for end in ends),
            literal(feature["state"], style),
        )
    if len(lines) > MOST_FEATURES:
        table.add_row(f"{len(lines) - MOST_FEATURES:,} more")
    return table


def _layers_table(layers: Sequence[Mapping[str, Any]]) -> rich.table.Table:
    """Layers with their votes; merged and resting layers have none."""
    columns = ("layer", "vote", "rules", "archived", "features", "from layers")
    table = text_table("Layers", [*((column, RIGHT) for column in columns), ("", LEFT)])
    for layer in layers:
        is_silent = layer["state"] in ("merged", "rests")
        counts = (layer[name] for name in ("rules", "archived", "features", "inputs_from_layers"))
        table.add_row(
            str(layer["layer"]),
            NO_VALUE if is_silent else percent(layer["vote"], 1),
            *map(count, counts),
            ", ".join(word for word in (layer["kind"], layer["state"]) if word not in USUAL),
            style="dim" if is_silent else "",
        )
    return table


def rules_table(rules: Sequence[Rule], most: int) -> rich.table.Table:
    """The first rules as text, and how many more there are."""
    heading = "Rules, those of the layer with the largest vote first"
    table = text_table(heading, [("", RIGHT), ("", LEFT)])
    table.show_header = False
    for place, rule in enumerate(rules[:most], start=1):
        condition, then, conclusion = rule.text().rpartition(" THEN ")
        text = literal(f"{condition}\n{then.lstrip()}{conclusion}  {rule.remark()}")
        text.highlight_regex(KEYWORDS, "cyan")
        table.add_row(f"{place}", text, style="dim" if rule.is_archived else "")
    if len(rules) > most:
        table.add_row("", f"{len(rules) - most:,} more: --rules {len(rules)}")
    return table


def predictions_table(
    name: str, counts: Mapping[Hashable, int], accuracy: float | None
) -> rich.table.Table:
    """How many rows were predicted, as which class, and how many of them correctly."""
    n_rows = sum(counts.values())
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    shares = [f"{label}: {percent(each / n_rows, 1)}" for label, each in ordered]
    facts = {
        "rows": count(n_rows),
        "predicted": listed(shares, MOST_CLASSES),
        "accuracy": "" if accuracy is None else percent(accuracy),
    }
    return facts_table(f"Predictions of {name}", facts)


def learning_table(
    name: str, facts: Mapping[str, str], before: Mapping[str, int], after: Mapping[str, int]
) -> rich.console.Group:
    """What was learned, and the model before and after it."""
    lines = [(what, count(before[what]), count(end)) for what, end in after.items()]
    columns = [("", LEFT), ("before", RIGHT), ("after", RIGHT)]
    return rich.console.Group(facts_table(name, facts), text_table("Model", columns, lines))
