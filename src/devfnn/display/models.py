"""Tables of a model: what it is, its features, layers and rules, and what learning changed."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import rich.console
import rich.table

from devfnn.display.streams import number
from devfnn.display.tables import Cell, facts_table, literal, text_table
from devfnn.formatting import (
    NO_VALUE,
    change_text,
    count,
    listed,
    percent,
    plural,
    size,
    standing,
    worth,
)
from devfnn.model.rules import Rule

MOST_FEATURES = 30
"""Lines of the table of features; those that are not in use come first if there are more."""


ABOUT_LAYERS = (
    "counts: in the answer. costs: of the time of all layers, by estimate. worth: log-loss and "
    "hits per row that answers gain by the layer."
)
"""What the columns of the table of layers are."""


def model_tables(about: Mapping[str, Any]) -> Iterator[rich.console.RenderableType]:
    """A model, as `devfnn inspect` describes it in plain data: facts, features, layers."""
    yield facts_table(about["file"], _facts(about))
    if about["features"]:
        yield _features_table(about["features"])
    if about["layers"]:
        yield _layers_table(about["layers"])


def fleet_table(about: Mapping[str, Any]) -> rich.table.Table:
    """A fleet, as `devfnn inspect` describes it in plain data."""
    classes = [str(label) for label in about["classes"]]
    rows, rules, changed = about["rows"], about["rules"], about["changed"]
    n_used = sum(n > 0 for n in rows)
    facts = {
        "fleet": f"{plural(len(rows), 'model')}, preset {about['preset']}",
        "parameters changed": ", ".join(itertools.starmap(change_text, changed.items())) or "none",
        "learned": f"{sum(rows):,} rows by {n_used:,} of them, {sum(about['labels_used']):,} "
        "labels used",
        "rows of a model": f"{min(rows):,} to {max(rows):,}",
        "drifts": f"{sum(about['drifts']):,}, in {sum(n > 0 for n in about['drifts']):,} of them",
        "features": f"{len(about['features']):,}: {listed(about['features'])}",
        "classes": f"{len(classes):,}: {listed(classes)}",
        "rules of a model": f"{min(rules):,} to {max(rules):,}",
        "size": f"{size(about['bytes'])} of arrays, {size(about['file_bytes'])} on disk",
    }
    return facts_table(about["file"], facts)


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
    """What layers do, count, are worth and cost; merged and resting layers say nothing."""
    lines = []
    for layer in layers:
        is_silent = layer["state"] in ("merged", "rests")
        held = [count(layer[name]) for name in ("rules", "archived") if layer[name]]
        says = (NO_VALUE if is_silent else percent(layer[name], 1) for name in ("vote", "cost"))
        cells = (
            str(layer["layer"]),
            layer["kind"],
            standing(layer["state"], layer["steps"]),
            *says,
            "" if layer["worth"] is None else worth(layer["worth"]),
            held[0] if held else count(0),
            held[1] if len(held) > 1 else "",
            count(layer["inputs_from_layers"]) if layer["inputs_from_layers"] else "",
        )
        lines.append([literal(cell, "dim" if is_silent else "") for cell in cells])
    columns = ("", "layer", "state", "counts", "costs", "worth", "rules", "archived", "hears")
    table = text_table("Layers", columns, lines)
    table.caption, table.caption_justify = literal(ABOUT_LAYERS), "left"
    return table


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
