"""How a model looks: what it is, its layers, its rules, and what learning changed."""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import rich.box
import rich.console
import rich.table
import rich.text

from devfnn.display.literal import literal, title
from devfnn.display.streams import NO_VALUE, facts_table, number, percent
from devfnn.model.rules import Rule

MOST_FEATURES = 30
"""Lines of the table of features; those that are not in use come first if there are more."""

MOST_CLASSES = 30
"""Classes that are listed."""

USUAL = ("rules", "votes")
"""What is said of layers only if it is otherwise: what they are, and what they do."""

PARTS = r"^IF | and |^THEN |  \[layer [^\]]*\]$"
"""What is the same in every rule."""


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
    merged = len(about["layers"]) - len(layers)
    archived = sum(layer["archived"] for layer in layers)
    changed = ", ".join(f"{name}={value}" for name, value in about["changed"].items())
    shown = ", ".join(classes[:MOST_CLASSES])
    more = f" and {len(classes) - MOST_CLASSES:,} more" if len(classes) > MOST_CLASSES else ""
    return {
        "model": about["class"],
        "parameters changed": changed or "none",
        "learned": f"{about['rows']:,} rows, {about['labels_used']:,} labels used",
        "classes": f"{len(classes):,}: {shown}{more}" if classes else "none yet",
        "layers": f"{len(layers):,}" + (f", and {merged:,} merged" if merged else ""),
        "rules": f"{sum(layer['rules'] for layer in layers):,}"
        + (f", and {archived:,} archived" if archived else ""),
        "numbers in rules": f"{about['parameters']:,}",
        "size": f"{_bytes(about['bytes'])} of arrays, {_bytes(about['file_bytes'])} on disk",
    }


def _features_table(features: Sequence[Mapping[str, Any]]) -> rich.table.Table:
    """Ranges by which features are scaled, and whether they are in use."""
    table = _table("Features", {"feature": "left", "from": "right", "to": "right", "": "left"})
    lines = list(features)
    if len(lines) > MOST_FEATURES:
        lines.sort(key=lambda feature: bool(feature["state"] == "in use"))
    for feature in lines[:MOST_FEATURES]:
        ends = (_or_blank(feature["low"]), _or_blank(feature["high"]))
        style = "" if feature["state"] == "in use" else "yellow"
        table.add_row(literal(feature["name"]), *ends, literal(feature["state"], style))
    if len(lines) > MOST_FEATURES:
        table.add_row(f"{len(lines) - MOST_FEATURES:,} more", "", "", "")
    return table


def _layers_table(layers: Sequence[Mapping[str, Any]]) -> rich.table.Table:
    """Layers with their say; those that were merged into others, or rest, say nothing."""
    numbers = dict.fromkeys(("layer", "vote", "rules", "archived", "features"), "right")
    table = _table("Layers", numbers | {"from layers": "right", "": "left"})
    for layer in layers:
        is_silent = layer["state"] in ("merged", "rests")
        counts = (layer[name] for name in ("rules", "archived", "features", "inputs_from_layers"))
        table.add_row(
            str(layer["layer"]),
            NO_VALUE if is_silent else percent(layer["vote"]),
            *(f"{count:,}" for count in counts),
            ", ".join(word for word in (layer["kind"], layer["state"]) if word not in USUAL),
            style="dim" if is_silent else "",
        )
    return table


def rules_table(rules: Sequence[Rule], most: int) -> rich.table.Table:
    """Rules as text, so many of them; the others are counted."""
    table = _table("Rules, those of the weightiest layer first", {"": "right", " ": "left"})
    table.show_header = False
    for place, rule in enumerate(rules[:most], start=1):
        condition, then, conclusion = rule.text().rpartition(" THEN ")
        text = literal(f"{condition}\n{then.lstrip()}{conclusion}  {rule.remark()}")
        text.highlight_regex(re.compile(PARTS, re.MULTILINE), "cyan")
        table.add_row(f"{place}", text, style="dim" if rule.is_archived else "")
    if len(rules) > most:
        table.add_row("", f"{len(rules) - most:,} more: --rules {len(rules)}")
    return table


def predictions_table(
    name: str, counts: Mapping[Hashable, int], accuracy: float | None
) -> rich.table.Table:
    """How many rows were predicted, as what, and how many of them rightly."""
    n_rows = sum(counts.values())
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    shares = [f"{label}: {percent(count / n_rows)}" for label, count in ordered]
    more = f"  {len(shares) - MOST_CLASSES:,} more" if len(shares) > MOST_CLASSES else ""
    facts = {
        "rows": f"{n_rows:,}",
        "predicted": "  ".join(shares[:MOST_CLASSES]) + more,
        "accuracy": "" if accuracy is None else f"{100.0 * accuracy:.2f} %",
    }
    return facts_table(f"Predictions of {name}", facts)


def learning_table(
    name: str, facts: Mapping[str, str], before: Mapping[str, int], after: Mapping[str, int]
) -> rich.console.Group:
    """What learning came to, and the model before and after it."""
    table = _table("Model", {"": "left", "before": "right", "after": "right"})
    for what, count in after.items():
        table.add_row(what, f"{before[what]:,}", f"{count:,}")
    return rich.console.Group(facts_table(name, facts), table)


def _table(name: str, columns: Mapping[str, Any]) -> rich.table.Table:
    table = rich.table.Table(
        title=title(name),
        title_justify="left",
        box=rich.box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    for place, (column, justify) in enumerate(columns.items()):
        style = "bold" if place == 0 else ""
        table.add_column(column.strip(), justify=justify, style=style, overflow="fold")
    return table


def _or_blank(value: float | None) -> str:
    return "" if value is None else number(value)


def _bytes(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1e3:,.0f} kB"
