"""Rules in words: numbers or low, medium and high; a whole model as text; simpful's grammar."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from devfnn.kernels.state import Floats
from devfnn.model import wording
from devfnn.model.explaining import IN_USE, LayerReasons
from devfnn.model.rules import MOST_CLASSES, MOST_INPUTS, Rule

MOST_SLOPES = 3
"""Inputs that are named with what they add."""

TERMS = ("low", "medium", "high")
"""The thirds of the known range of an input."""


# ---- one rule


def intervals_of(rule: Rule) -> Floats:
    """From where to where a rule holds, (n_inputs, 2): its box, or one spread around its centre."""
    if rule.bounds is not None:
        return rule.bounds
    intervals: Floats = np.stack([rule.center - rule.spreads, rule.center + rule.spreads], axis=1)
    return intervals


def terms_of(rule: Rule, place: int) -> tuple[str, ...]:
    """Terms whose middle an input's interval holds, else that of its centre; none if all do."""
    low, high = rule.ranges[place].tolist() if rule.ranges is not None else (0.0, 1.0)
    width = high - low if high > low else 1.0
    start, stop = ((value - low) / width for value in intervals_of(rule)[place].tolist())
    held = tuple(term for i, term in enumerate(TERMS) if start < (2 * i + 1) / 6 <= stop)
    if held:
        return held if len(held) < len(TERMS) else ()
    center = (rule.center[place] - low) / width
    return (TERMS[int(np.clip(3.0 * center, 0.0, 2.0))],)


def sentence(rule: Rule, terms: bool = False, most: int = MOST_INPUTS) -> str:
    """A rule as a sentence.

    >>> rule = Rule(0, 2, ("heat", "wind"), 2, np.array([54.0, 5.2]), np.diag([36.0, 1.0]),
    ...             {"rain": 0.81, "dry": 0.19}, 1234.0, False, 1.0,
    ...             np.array([[40.0, 100.0], [0.0, 10.0]]))
    >>> sentence(rule)
    'IF heat is about 54 (48-60) and wind is about 5.2 (4.2-6.2) THEN rain 0.81, dry 0.19'
    >>> sentence(rule, terms=True)
    'IF heat is low and wind is medium THEN rain 0.81, dry 0.19'
    """
    parts = [part for part in _conditions(rule, terms) if part]
    if len(parts) > most:
        parts = [*parts[:most], f"{len(parts) - most} more"]
    ranked = sorted(rule.probabilities.items(), key=lambda item: -item[1])
    said = [f"{wording.named(label)} {share:.2f}" for label, share in ranked[:MOST_CLASSES]]
    return f"IF {' and '.join(parts) or 'anything'} THEN {', '.join(said)}"


def leaning(rule: Rule, most: int = MOST_SLOPES) -> str:
    """What speaks for a rule's class as it grows, and what against it; empty if nothing does.

    Numbers are log odds against the other classes, from the lower to the upper end of a range.
    """
    if rule.slopes is None or len(rule.probabilities) < 2:
        return ""
    place = list(rule.probabilities).index(rule.label)
    others = np.delete(rule.slopes, place, axis=1).mean(axis=1)
    speaks = (rule.slopes[:, place] - others).tolist()
    ranked = sorted(zip(rule.inputs, speaks, strict=True), key=lambda pair: -abs(pair[1]))
    parts = [f"{name} {value:+.1f}" for name, value in ranked[:most] if abs(value) >= 0.05]
    return f"; as they grow: {', '.join(parts)}" if parts else ""


def _conditions(rule: Rule, terms: bool) -> Iterator[str]:
    """A condition for every input, the most specific first; empty where all values will do."""
    for place in rule.most_specific():
        if terms:
            held = terms_of(rule, place)
            yield f"{rule.inputs[place]} is {' or '.join(held)}" if held else ""
        elif rule.bounds is not None:
            yield rule.box_condition(place)
        else:
            yield _about(rule, place)


def _about(rule: Rule, place: int) -> str:
    """An input's centre, and one spread to both sides."""
    center, spread = float(rule.center[place]), float(rule.spreads[place])
    ends = (center, center - spread, center + spread)
    if place >= rule.n_features:  # what another layer says is a probability
        ends = (center, max(center - spread, 0.0), min(center + spread, 1.0))
    value, low, high = (wording.about(end, spread)[0] for end in ends)
    to = "-" if not low.startswith("-") and "e" not in low + high else " to "
    return f"{rule.inputs[place]} is about {value} ({low}{to}{high})"


def in_simpful(rule: Rule) -> str:
    """A rule in simpful's grammar; empty if it has no condition.

    >>> rule = Rule(0, 2, ("heat in °C", "wind"), 2, np.array([54.0, 5.2]), np.diag([36.0, 1.0]),
    ...             {"rain": 0.81, "dry": 0.19}, 1234.0, False, 1.0,
    ...             np.array([[40.0, 100.0], [0.0, 10.0]]))
    >>> in_simpful(rule)
    'IF (heat_in_C IS low) AND (wind IS medium) THEN (class IS rain)'
    """
    clauses = []
    for place, name in enumerate(rule.inputs):
        held = [f"({word(name)} IS {term})" for term in terms_of(rule, place)]
        if held:
            clauses.append(held[0] if len(held) == 1 else f"({' OR '.join(held)})")
    if not clauses:
        return ""
    condition = clauses[0]
    for number, clause in enumerate(clauses[1:]):
        condition = f"({condition})" if number else condition
        condition = f"{condition} AND {clause}"
    return f"IF {condition} THEN (class IS {word(str(rule.label))})"


def word(name: str) -> str:
    """A name as one word of letters, digits and underscores.

    >>> word("layer 1 says rain"), word("2nd"), word("é")
    ('layer_1_says_rain', '_2nd', '_')
    """
    plain = re.sub(r"[^0-9A-Za-z]+", "_", name)
    plain = plain.strip("_") or "_"
    return f"_{plain}" if plain[0].isdigit() else plain


# ---- many rules


def table_of(rules: Sequence[Rule]) -> dict[str, list[Any]]:
    """Rules as columns."""
    columns: dict[str, list[Any]] = {
        "layer": [rule.layer for rule in rules],
        "rule": [rule.rule for rule in rules],
        "support": [rule.n_rows for rule in rules],
        "age": [rule.age for rule in rules],
        "firing_share": [rule.firing_share for rule in rules],
        "is_archived": [rule.is_archived for rule in rules],
        "voting_weight": [rule.voting_weight for rule in rules],
    }
    for label in dict.fromkeys(label for rule in rules for label in rule.probabilities):
        shares = [rule.probabilities.get(label) for rule in rules]
        columns[f"probability of {label}"] = shares
    for name in dict.fromkeys(name for rule in rules for name in rule.inputs):
        places = [rule.inputs.index(name) if name in rule.inputs else None for rule in rules]
        pairs = list(zip(rules, places, strict=True))
        columns[f"center of {name}"] = [_at(rule.center, place) for rule, place in pairs]
        columns[f"width of {name}"] = [_at(rule.spreads, place) for rule, place in pairs]
    columns["text"] = [sentence(rule) for rule in rules]
    return columns


def _at(values: Floats, place: int | None) -> float | None:
    return None if place is None else float(values[place])


def description(
    layers: Sequence[LayerReasons],
    rules: Sequence[Rule],
    states: Sequence[tuple[str, str]],
    terms: bool,
) -> str:
    """A whole model as text.

    Parameters
    ----------
    layers
        All layers; only what they are and their voting weights are read.
    rules
        All rules, archived ones too.
    states
        Every feature with its state.
    terms
        Whether to say low, medium and high.
    """
    lines = []
    for layer in sorted(layers, key=lambda each: -each.voting_weight):
        own = [rule for rule in rules if rule.layer == layer.layer]
        lines.append(_heading(layer, own))
        if layer.state != "merged":
            lines += [f"  {sentence(rule, terms)}{leaning(rule)}{_remark(rule)}" for rule in own]
    left_out = sorted(((state, name) for name, state in states if state != IN_USE))
    for state, group in itertools.groupby(left_out, key=lambda pair: pair[0]):
        lines.append(f"Features left out ({state}): {', '.join(name for _, name in group)}")
    return "\n".join(lines)


def _heading(layer: LayerReasons, rules: Sequence[Rule]) -> str:
    """What a layer is, and its say."""
    named = f"Layer {layer.layer}, {layer.kind}"
    if layer.state == "merged":
        return f"{named}: merged into another, says nothing"
    if layer.state == "rests":
        return f"{named}: rests, says nothing for now"
    count = "1 rule" if len(rules) == 1 else f"{len(rules)} rules"
    waits = ", waits for its concept" if layer.state == "waits" else ""
    return f"{named}: {wording.percent(layer.voting_weight)} of the vote, {count}{waits}"


def _remark(rule: Rule) -> str:
    """Where a rule stands, and on how much it rests."""
    archived = ", archived" if rule.is_archived else ""
    return f"  [rule {rule.rule}, {wording.rows(rule.n_rows)}{archived}]"
