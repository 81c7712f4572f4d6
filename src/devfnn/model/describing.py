"""Many rules in words: a whole model as text, a table, simpful's grammar."""

import itertools
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from devfnn.formatting import percent
from devfnn.kernels.state import Floats
from devfnn.model import wording
from devfnn.model.explaining import IN_USE, LayerReasons
from devfnn.model.history import History
from devfnn.model.mergers import Merger, mergers_in
from devfnn.model.rules import Rule

MOST_SLOPES = 3
"""Inputs that are named with what they add."""

MOST_MERGERS = 10
"""Mergers of layers that are told, and of rules, the newest."""

OUTPUT = "class"
"""What rules for simpful conclude on."""


# ---- one rule


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


class Words(NamedTuple):
    """Inputs and classes of rules as single words, each another."""

    inputs: Mapping[str, str]
    classes: Mapping[Hashable, str]

    @classmethod
    def of(cls, rules: Sequence[Rule]) -> "Words":
        """Words for all inputs and classes of some rules.

        >>> rule = Rule(0, 0, ("a b", "a-b"), 2, np.zeros(2), np.eye(2), {1: 1.0, "1": 0.0},
        ...             1.0, False, 1.0)
        >>> words = Words.of([rule])
        >>> list(words.inputs.values()), list(words.classes.values())
        (['a_b', 'a_b_2'], ['class_1', '_1'])
        """
        inputs = list(dict.fromkeys(name for rule in rules for name in rule.inputs))
        labels = labels_of(rules)
        taken = wording.told_apart(map(word, [OUTPUT, *inputs]), "_{}")[1:]
        said = wording.told_apart((word(wording.named(label)) for label in labels), "_{}")
        return cls(dict(zip(inputs, taken, strict=True)), dict(zip(labels, said, strict=True)))


def in_simpful(rule: Rule, words: Words | None = None) -> str:
    """A rule in simpful's grammar; empty if it has no condition.

    >>> rule = Rule(0, 2, ("heat in °C", "wind"), 2, np.array([54.0, 5.2]), np.diag([36.0, 1.0]),
    ...             {"rain": 0.81, "dry": 0.19}, 1234.0, False, 1.0,
    ...             np.array([[40.0, 100.0], [0.0, 10.0]]))
    >>> in_simpful(rule)
    'IF (heat_in_C IS low) AND (wind IS medium) THEN (class IS rain)'
    """
    words = words or Words.of([rule])
    clauses = []
    for place, name in enumerate(rule.inputs):
        held = [f"({words.inputs[name]} IS {term})" for term in rule.terms_of(place)]
        if held:
            clauses.append(held[0] if len(held) == 1 else f"({' OR '.join(held)})")
    if not clauses:
        return ""
    condition = clauses[0]
    for number, clause in enumerate(clauses[1:]):
        condition = f"({condition})" if number else condition
        condition = f"{condition} AND {clause}"
    return f"IF {condition} THEN ({OUTPUT} IS {words.classes[rule.label]})"


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
    labels = labels_of(rules)
    for label, text in zip(labels, wording.distinct(labels), strict=True):
        columns[f"probability of {text}"] = [rule.probabilities.get(label) for rule in rules]
    for name in dict.fromkeys(name for rule in rules for name in rule.inputs):
        places = [rule.inputs.index(name) if name in rule.inputs else None for rule in rules]
        pairs = list(zip(rules, places, strict=True))
        columns[f"center of {name}"] = [_at(rule.center, place) for rule, place in pairs]
        columns[f"width of {name}"] = [_at(rule.spreads, place) for rule, place in pairs]
    columns["text"] = [rule.text() for rule in rules]
    return columns


def labels_of(rules: Sequence[Rule]) -> list[Hashable]:
    """All classes of some rules, in their order."""
    return list(dict.fromkeys(label for rule in rules for label in rule.probabilities))


def _at(values: Floats, place: int | None) -> float | None:
    return None if place is None else float(values[place])


class Subject(NamedTuple):
    """What a description tells of."""

    layers: Sequence[LayerReasons]
    """All layers; only what they are and their voting weights are read."""
    rules: Sequence[Rule]
    """All rules, archived ones too."""
    states: Sequence[tuple[str, str]]
    """Every feature with its state."""
    history: History


def description(model: Subject, terms: bool, most: int | None) -> str:
    """A whole model as text.

    Parameters
    ----------
    model
        What there is to tell.
    terms
        Whether to say low, medium and high.
    most
        Rules to name in a layer, the weightiest; the others are counted. None: all.
    """
    mergers = list(mergers_in(model.history))
    lines = []
    for layer in sorted(model.layers, key=lambda each: -each.voting_weight):
        own = [rule for rule in model.rules if rule.layer == layer.layer]
        lines.append(_heading(layer, own, mergers))
        if layer.state != "merged":
            shown = own if most is None else own[:most]
            lines += [f"  {rule.text(terms=terms)}{leaning(rule)}{_remark(rule)}" for rule in shown]
            lines += [f"  ... and {len(own) - len(shown):,} more"] if len(own) > len(shown) else []
    headed = {layer.layer for layer in model.layers if layer.state == "merged"}
    others = [each for each in mergers if each.what == "rule" or each.gone not in headed]
    lines += _told(others, "layer") + _told(others, "rule")
    left_out = sorted(((state, name) for name, state in model.states if state != IN_USE))
    for state, group in itertools.groupby(left_out, key=lambda pair: pair[0]):
        lines.append(f"Features left out ({state}): {', '.join(name for _, name in group)}")
    return "\n".join(lines)


def _heading(layer: LayerReasons, rules: Sequence[Rule], mergers: Sequence[Merger]) -> str:
    """What a layer is, and its say."""
    named = f"Layer {layer.layer}, {layer.kind}"
    if layer.state == "merged":
        into = [each for each in mergers if (each.what, each.gone) == ("layer", layer.layer)]
        other = f"layer {into[-1].kept} at row {into[-1].row:,}" if into else "another"
        return f"{named}: merged into {other}, says nothing"
    if layer.state == "rests":
        return f"{named}: rests, says nothing for now"
    count = "1 rule" if len(rules) == 1 else f"{len(rules)} rules"
    waits = ", waits for its concept" if layer.state == "waits" else ""
    return f"{named}: {percent(layer.voting_weight, 0)} of the vote, {count}{waits}"


def _told(mergers: Sequence[Merger], what: str) -> list[str]:
    """The newest mergers of layers, or of rules, a line each; earlier ones are counted."""
    own = [merger for merger in mergers if merger.what == what]
    n_earlier = max(len(own) - MOST_MERGERS, 0)
    earlier = [f"{n_earlier:,} {what}s were merged before"] if n_earlier else []
    return earlier + [merger.text for merger in own[n_earlier:]]


def _remark(rule: Rule) -> str:
    """Which rule of its layer it is, and on how much it rests."""
    archived = ", archived" if rule.is_archived else ""
    return f"  [rule {rule.rule}, {wording.rows(rule.n_rows)}{archived}]"
