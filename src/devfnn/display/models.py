"""Tables of a model: what it is, its features, layers and rules, and what learning changed."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import rich.console
import rich.table

from devfnn.display.streams import number
from devfnn.display.tables import Cell, facts_table, literal, text_table
from devfnn.formatting import NO_VALUE, change_text, count, listed, percent, size
from devfnn.model.rules import Rule

MOST_FEATURES = 30
"""Lines of the table of features; those that are not in use come first if there are more."""

USUAL = ("rules", "votes")
"""Kind and state of a layer that are not mentioned."""


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
        "classes": f"{len(classes):,}: {listed(classes)}" if classes else "none yet",
        "layers": f"{len(layers):,}" + (f", and {n_merged:,} merged" if n_merged else ""),
        "rules": count(sum(layer["rules"] for layer in layers))
        + (f", and {n_archived:,} archived" if n_archived else ""),
        "numbers in rules": count(about["parameters"]),
        "size": f"{size(about['bytes'])} of arrays, {size(about['file_bytes'])} on disk",
    }


def _features_table(features: Sequence[Mapping[str, Any]]) -> rich.table.Table:
    """Ranges by which features are scaled, and whether they are in use."""
    lines: list[list[Cell]] = []
    every = list(features)
    if len(every) > MOST_FEATURES:
        every.sort(key=lambda feature: bool(feature["state"] == "in use"))
    for feature in every[:MOST_FEATURES]:
        ends = ("" if end is None else number(end) for end in (feature["low"], feature["high"]))
        style = "" if feature["state"] == "in use" else "yellow"
        lines.append([feature["name"], *ends, literal(feature["state"], style)])
    if len(every) > MOST_FEATURES:
        lines.append([f"{len(every) - MOST_FEATURES:,} more", "", "", ""])
    return text_table("Features", ("feature", "from", "to", ""), lines)


def _layers_table(layers: Sequence[Mapping[str, Any]]) -> rich.table.Table:
    """Layers with their votes; merged and resting layers have none."""
    lines = []
    for layer in layers:
        is_silent = layer["state"] in ("merged", "rests")
        counts = (layer[name] for name in ("rules", "archived", "features", "inputs_from_layers"))
        cells = (
            str(layer["layer"]),
            NO_VALUE if is_silent else percent(layer["vote"], 1),
            *map(count, counts),
            ", ".join(word for word in (layer["kind"], layer["state"]) if word not in USUAL),
        )
        lines.append([literal(cell, "dim" if is_silent else "") for cell in cells])
    columns = ("layer", "vote", "rules", "archived", "features", "from layers", "")
    return text_table("Layers", columns, lines)


def rules_table(rules: Sequence[Rule], most: int) -> rich.table.Table:
    """The first rules as text, and how many more there are."""
    lines: list[tuple[str, Cell]] = []
    for place, rule in enumerate(rules[:most], start=1):
        condition, then, conclusion = rule.text().rpartition(" THEN ")
        style = "dim" if rule.is_archived else ""
        text = f"{condition}\n{then.lstrip()}{conclusion}  {rule.remark()}"
        lines.append((f"{place}", literal(text, style)))
    if len(rules) > most:
        lines.append(("", f"{len(rules) - most:,} more: --rules {len(rules)}"))
    heading = "Rules, those of the layer with the largest vote first"
    return text_table(heading, ("", ""), lines, show_header=False)
