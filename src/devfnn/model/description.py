"""A whole model in words, as a table, and as plain data."""

import collections
import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from devfnn import formatting
from devfnn.arrays import Floats
from devfnn.events import Event, LayerDropped, LayersMerged, RulePruned
from devfnn.kernels.state import GAUSSIAN, NO_LAYER
from devfnn.model import lags
from devfnn.model.explanation import CONSTANT, IN_USE, LIKE_A_CLOCK, MASKED, LayerReasons
from devfnn.model.history import History
from devfnn.model.network import Network
from devfnn.model.reasons import name_of, state_of
from devfnn.model.rules import Rule

MOST_SLOPES = 3
"""Inputs that are named with what they add."""

MOST_MERGERS = 10
"""Mergers of layers that are told, and of rules, the newest."""


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


# ---- layers and rules that were made one, as the events tell it


class Merger(NamedTuple):
    """Two that were made one."""

    row: int
    what: str
    """A layer, or a rule."""
    gone: int
    kept: int
    layer: int
    """The layer of a rule; of a layer its number."""

    @property
    def text(self) -> str:
        """What happened, as a sentence without its dot."""
        of = f" of layer {self.layer}" if self.what == "rule" else ""
        into = f"into {self.what} {self.kept} at row {self.row:,}"
        return f"{self.what.capitalize()} {self.gone}{of} was merged {into}"


def mergers_in(events: Iterable[Event]) -> Iterator[Merger]:
    """What was merged, in the order of the events."""
    for event in events:
        match event:
            case LayersMerged(row=row, kept=kept, dropped=gone):
                yield Merger(row, "layer", gone, kept, gone)
            case LayerDropped(row=row, layer=gone, merged_into=other) if other >= 0:
                yield Merger(row, "layer", gone, other, gone)
            case RulePruned(row=row, layer=layer, rule=gone, merged_into=other) if other >= 0:
                yield Merger(row, "rule", gone, other, layer)


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
    for label, text in zip(labels, formatting.distinct(labels), strict=True):
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
    return f"{named}: {formatting.percent(layer.voting_weight, 0)} of the vote, {count}{waits}"


def _told(mergers: Sequence[Merger], what: str) -> list[str]:
    """The newest mergers of layers, or of rules, a line each; earlier ones are counted."""
    own = [merger for merger in mergers if merger.what == what]
    n_earlier = max(len(own) - MOST_MERGERS, 0)
    earlier = [f"{n_earlier:,} {what}s were merged before"] if n_earlier else []
    return earlier + [merger.text for merger in own[n_earlier:]]


def _remark(rule: Rule) -> str:
    """Which rule of its layer it is, and on how much it rests."""
    archived = ", archived" if rule.is_archived else ""
    return f"  [rule {rule.rule}, {formatting.rows(rule.n_rows)}{archived}]"


# ---- plain data


def features_of(
    network: Network | None, names: Sequence[str], late: tuple[int, ...]
) -> list[dict[str, Any]]:
    """Every feature: its range as the model scales it, and whether it is in use."""
    if network is None:
        return [{"name": name, "low": None, "high": None, "state": IN_USE} for name in names]
    columns = lags.columns_of(network.n_features, len(names), late).features
    scaler, is_scaled = network.scaler, network.config.scaling == "online"
    features: list[dict[str, Any]] = []
    for name, place in zip(names, columns.tolist(), strict=True):
        low, width = float(scaler.low[place]), float(scaler.width[place])
        state = IN_USE if network.feature_mask[place] else MASKED
        if is_scaled and not scaler.awake[place]:
            state = LIKE_A_CLOCK if scaler.is_clock[place] else CONSTANT
        ends = (low, low + width) if is_scaled and width > 0.0 else (None, None)
        features.append({"name": name, "low": ends[0], "high": ends[1], "state": state})
    return features


def layers_of(network: Network, rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """Every layer: what it is, its say, its rules, its inputs in use.

    rules: of all layers, archived ones too; those of layers that wait or rest count as archived
    """
    counts = collections.Counter((rule.layer, rule.is_archived) for rule in rules)
    shares, own = network.shares / network.shares.sum(), network.state.gaussians
    n_features = int(np.count_nonzero(network.used_features))
    found = []
    for layer in np.flatnonzero(network.state.layers.kinds != NO_LAYER).tolist():
        n_stacked = 0
        if own is not None and network.state.layers.kinds[layer] == GAUSSIAN:
            used = np.flatnonzero(own.input_mask[layer, : int(own.n_inputs[layer, 0])])
            n_stacked = int(np.count_nonzero(used >= network.n_features))
        state = state_of(network, layer, float(shares[layer]))
        found.append(
            {
                "layer": layer,
                "kind": name_of(network, layer),
                "state": state,
                "is_merged": state == "merged",
                "vote": float(shares[layer]),
                "rules": counts[layer, False],
                "archived": counts[layer, True],
                "features": n_features,
                "inputs_from_layers": n_stacked,
            }
        )
    return found


def finite(data: Any) -> Any:
    """Plain data with None for every number that JSON does not know.

    >>> finite({"a": [1.0, float("inf")], "b": float("nan")})
    {'a': [1.0, None], 'b': None}
    """
    match data:
        case dict():
            return {name: finite(value) for name, value in data.items()}
        case list() | tuple():
            return [finite(value) for value in data]
        case float() if not math.isfinite(data):
            return None
    return data
