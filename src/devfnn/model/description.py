"""A network's rules and explanations: as objects, as text, as plain data."""

import collections
import dataclasses
import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from devfnn import formatting
from devfnn.arrays import Floats
from devfnn.events import Event, LayerDropped, LayersMerged, RulePruned
from devfnn.kernels.state import GAUSSIAN, NO_LAYER, STACKED
from devfnn.model import lags
from devfnn.model.explanation import (
    CONSTANT,
    IN_USE,
    LIKE_A_CLOCK,
    LOGITS,
    MASKED,
    MISSING,
    Explanation,
    FiredRule,
    LayerReasons,
    Said,
)
from devfnn.model.layers import gaussian, stacked
from devfnn.model.network import Network
from devfnn.model.rules import Rule
from devfnn.model.units import Units
from devfnn.types import Standing

AT_WORK = ("votes", "on trial")
"""States of a layer that has a say."""

NO_SAY = 1e-3
"""Share of the vote below which a kept layer only waits for its concept."""

MOST_SLOPES = 3
"""Inputs whose slopes are named."""

MOST_MERGERS = 10
"""Newest mergers that a description lists, of layers and of rules."""

# ---- layers and features


def standings_of(network: Network) -> list[Standing]:
    """All layers, in the order of their numbers."""
    rests, costs = network.state.layers.rests, network.costs
    total = max(float(costs.sum()), 1e-300)
    return [
        Standing(
            *known,
            steps=int(rests[known[0]]),
            worth=_worth_of(network, known[0]),
            cost=float(costs[known[0]]) / total,
        )
        for known in _shares_of(network)
    ]


def _shares_of(network: Network) -> list[tuple[int, str, str, float]]:
    """Number, name and state of all layers, and how much they count."""
    return [
        (layer, _name_of(network, layer), _state_of(network, layer, say), say)
        for layer, say in enumerate(network.says.tolist())
        if network.state.layers.kinds[layer] != NO_LAYER
    ]


def _state_of(network: Network, layer: int, share: float) -> str:
    """Whether a layer votes, is on trial, waits for its concept, rests, or is merged."""
    layers = network.state.layers
    if layers.is_merged[layer]:
        return "merged"
    if layers.rests[layer] > 0:
        return "rests"
    if layers.naps.size and layers.naps[layer] > 0 and not _is_weighed(network, layer):
        return "on trial"
    is_kept = layer >= len(network.config.layers) and layers.kinds[layer] != GAUSSIAN
    return "waits" if is_kept and share < NO_SAY else "votes"


def _is_weighed(network: Network, layer: int) -> bool:
    """Whether a layer has worked long enough to be worth something or nothing."""
    rows, resting = network.state.layers.watched[layer], network.config.resting
    return resting is not None and bool(rows >= resting.trial_rows)


def _worth_of(network: Network, layer: int) -> float | None:
    """What answers gain by a dear layer below a stack, as far as it was seen."""
    layers = network.state.layers
    is_known = layers.watched.size and layers.watched[layer] > 0.0
    return float(layers.worths[layer]) if is_known else None


def _name_of(network: Network, layer: int) -> str:
    """Name of a layer."""
    layers = network.config.layers
    if layer < len(layers):
        return layers[layer].name
    if network.state.layers.kinds[layer] == GAUSSIAN:
        return layers[-1].name
    return f"kept {layers[int(network.state.layers.origins[layer])].kind}"


def _column_states(network: Network) -> list[str]:
    """State of every column: in use, masked or asleep."""
    left_out = np.where(network.feature_mask, _kinds_of_sleep(network), MASKED)
    states: list[str] = np.where(network.used_features, IN_USE, left_out).tolist()
    return states


def _kinds_of_sleep(network: Network) -> Any:
    return np.where(network.scaler.is_clock, LIKE_A_CLOCK, CONSTANT)


def _units_of(network: Network, labels: Sequence[Hashable], names: Sequence[str]) -> Units:
    """Inputs in the user's units."""
    maps = (np.zeros(network.n_features), np.ones(network.n_features))
    if network.config.scaling == "online":
        maps = (network.scaler.low, network.scaler.width)
    return Units(labels, names, network.used_features, maps)


# ---- rules and reasons


def rules_of(network: Network, labels: Sequence[Hashable], names: Sequence[str]) -> list[Rule]:
    """All rules in the user's units; those that do not vote now are archived, at the end."""
    units, rules = _units_of(network, labels, names), list[Rule]()
    for layer, _, state, share in _shares_of(network):
        if state != "merged":
            found = network.module_of(layer).rules_of(network.state, layer, units, network.config)
            for rule in found:
                waits = rule.is_archived or state not in AT_WORK
                rules.append(dataclasses.replace(rule, voting_weight=share, is_archived=waits))
    rules.sort(key=lambda r: (r.is_archived, -r.voting_weight, r.layer, -r.n_rows, r.rule))
    return rules


def explanation_of(
    network: Network, X: Floats, labels: Sequence[Hashable], names: Sequence[str]
) -> Explanation:
    """Explain the prediction for the only row of X."""
    units, probabilities, layers = _units_of(network, labels, names), np.zeros(len(labels)), []
    said, kinds = _said_by_all(network, network.inputs_of(X)[0]), network.state.layers.kinds
    has_stack = network.config.has("stacked")
    for layer, name, state, share in _shares_of(network):
        own, is_stacked = said.get(layer) or _silence(network, layer), kinds[layer] == STACKED
        fired = tuple(_with_label(rule, labels) for rule in own.fired)
        if is_stacked == has_stack:
            probabilities += share * own.votes
        layers.append(
            LayerReasons(
                layer=layer,
                kind=name,
                state=state,
                voting_weight=share,
                inputs=stacked.input_names(network.config)
                if is_stacked
                else tuple(units.input_names(own.contributions.shape[0])),
                is_stacked=bool(is_stacked),
                output=own.bias + own.contributions.sum(axis=0),
                **own._asdict() | {"fired": fired},
            )
        )
    states = [
        MISSING if state == IN_USE and math.isnan(value) else state
        for state, value in zip(_column_states(network), X[0].tolist(), strict=True)
    ]
    return Explanation(
        labels=tuple(labels),
        probabilities=probabilities,
        features=tuple(names),
        values=X[0],
        states=tuple(states),
        layers=tuple(layers),
    )


def _with_label(rule: FiredRule, labels: Sequence[Hashable]) -> FiredRule:
    """A rule that fired with the user's label in place of the number of its class."""
    place = rule.label
    return rule._replace(label=labels[place]) if isinstance(place, int) else rule


def _said_by_all(network: Network, row: Floats) -> dict[int, Said]:
    """Outputs of the live layers, each from the outputs before it; of stacked ones from all."""
    said, m, kinds = dict[int, Said](), network.n_classes, network.state.layers.kinds
    inputs = np.concatenate([row, np.full(network.sizes.layers * m, np.nan)])
    below = [layer for layer in network.live_layers if kinds[layer] != STACKED]
    for layer in below:
        reasons = network.module_of(layer).reasons_of
        said[layer], raw = reasons(network.state, layer, row, inputs, network.config)
        if network.params.stacks:  # others take it in
            start = row.size + layer * m
            inputs[start : start + m] = np.clip(raw, 0.0, 1.0)
    if network.config.has("stacked"):  # kept layers, which vote too, come after them
        heard = stacked.heard_of(said, network.shares, network.config)
        for layer in np.flatnonzero(kinds == STACKED).tolist():
            said[layer], _ = stacked.reasons_of(network.state, layer, row, heard, network.config)
    return said


def _silence(network: Network, layer: int) -> Said:
    """The explanation of an idle layer: empty."""
    none, n, kind = np.zeros(network.n_classes), network.n_features, LOGITS
    if network.state.gaussians is not None and network.config.gaussian is not None:
        n = int(network.state.gaussians.n_inputs[layer, 0])
        kind = gaussian.output_kind(network.config.gaussian)
    return Said(kind, none, np.zeros((n, network.n_classes)), (), none, none)


# ---- in words


def described(
    network: Network,
    rules: Sequence[Rule],
    names: Sequence[str],
    events: Iterable[Event],
    terms: bool,
    most: int | None,
) -> str:
    """A whole model as text. rules: all, archived ones too · most: rules to name in a layer"""
    standings, mergers = standings_of(network), list(mergers_in(events))
    lines = []
    for standing in sorted(standings, key=lambda each: -each.share):
        own = [rule for rule in rules if rule.layer == standing.layer]
        is_stacked = bool(network.state.layers.kinds[standing.layer] == STACKED)
        heads = formatting.counts(standing.share, is_stacked, network.config.has("stacked"))
        lines.append(_heading(standing, heads, len(own), mergers))
        shown = own if most is None else own[:most]
        lines += [f"  {rule.text(terms=terms)}{leaning(rule)}  {_remark(rule)}" for rule in shown]
        lines += [f"  ... and {len(own) - len(shown):,} more"] if len(own) > len(shown) else []
    headed = {each.layer for each in standings if each.state == "merged"}
    lines += _merger_lines(
        [each for each in mergers if each.what == "layer" and each.gone not in headed]
    )
    lines += _merger_lines([each for each in mergers if each.what == "rule"])
    left_out = sorted(zip(_column_states(network), names, strict=True))
    for state, group in itertools.groupby(left_out, key=lambda pair: pair[0]):
        if state != IN_USE:
            lines.append(f"Features left out ({state}): {', '.join(name for _, name in group)}")
    return "\n".join(lines)


def leaning(rule: Rule) -> str:
    """What speaks for a rule's class as it grows, and what against it; empty if nothing does.

    Numbers are log odds against the other classes, from the lower to the upper end of a range.
    """
    if rule.slopes is None or len(rule.probabilities) < 2:
        return ""
    place = list(rule.probabilities).index(rule.label)
    others = np.delete(rule.slopes, place, axis=1).mean(axis=1)
    speaks = (rule.slopes[:, place] - others).tolist()
    ranked = sorted(zip(rule.inputs, speaks, strict=True), key=lambda pair: -abs(pair[1]))
    parts = [f"{name} {value:+.1f}" for name, value in ranked[:MOST_SLOPES] if abs(value) >= 0.05]
    return f"; as they grow: {', '.join(parts)}" if parts else ""


def _remark(rule: Rule) -> str:
    """Number and rows of a rule."""
    archived = ", archived" if rule.is_archived else ""
    return f"[rule {rule.rule}, {formatting.rows(rule.n_rows)}{archived}]"


class Merger(NamedTuple):
    """Two layers, or rules of a layer, that were made one."""

    row: int
    what: str
    gone: int
    kept: int
    of: str


def mergers_in(events: Iterable[Event]) -> Iterator[Merger]:
    """What was merged, in the order of the events."""
    for event in events:
        match event:
            case LayersMerged(row=row, kept=kept, dropped=gone):
                yield Merger(row, "layer", gone, kept, "")
            case LayerDropped(row=row, layer=gone, merged_into=other) if other >= 0:
                yield Merger(row, "layer", gone, other, "")
            case RulePruned(row=row, layer=layer, rule=gone, merged_into=other) if other >= 0:
                yield Merger(row, "rule", gone, other, f" of layer {layer}")


def _merger_lines(mergers: Sequence[Merger]) -> list[str]:
    """The newest mergers of layers, or of rules, a line each; earlier ones are counted."""
    n_earlier = max(len(mergers) - MOST_MERGERS, 0)
    earlier = [f"{n_earlier:,} {mergers[0].what}s were merged before"] if n_earlier else []
    return earlier + [
        f"{what.capitalize()} {gone}{of} was merged into {what} {kept} at row {row:,}"
        for row, what, gone, kept, of in mergers[n_earlier:]
    ]


def _heading(standing: Standing, counts: str, n_rules: int, mergers: Sequence[Merger]) -> str:
    """Name of a layer, and what it counts."""
    named = f"Layer {standing.layer}, {standing.name}"
    if standing.state == "merged":
        into = [each for each in mergers if (each.what, each.gone) == ("layer", standing.layer)]
        other = f"layer {into[-1].kept} at row {into[-1].row:,}" if into else "another"
        return f"{named}: merged into {other}, says nothing"
    if standing.state == "rests":
        return f"{named}: rests, says nothing for now"
    waits = ", waits for its concept" if standing.state == "waits" else ""
    return f"{named}: {counts.removeprefix('has ')}, {formatting.plural(n_rules, 'rule')}{waits}"


# ---- as plain data


def table_of(rules: Sequence[Rule]) -> dict[str, list[Any]]:
    """Rules as columns."""
    own = ("layer", "rule", "n_rows", "age", "firing_share", "is_archived", "voting_weight")
    columns = {name: [getattr(rule, name) for rule in rules] for name in own}
    columns = {{"n_rows": "support"}.get(name, name): column for name, column in columns.items()}
    labels = list(dict.fromkeys(label for rule in rules for label in rule.probabilities))
    for label, text in zip(labels, formatting.distinct(labels), strict=True):
        columns[f"probability of {text}"] = [rule.probabilities.get(label) for rule in rules]
    inputs = [{name: place for place, name in enumerate(rule.inputs)} for rule in rules]
    for name in dict.fromkeys(itertools.chain.from_iterable(inputs)):
        places = [own.get(name) for own in inputs]
        for title, values in (("center", "center"), ("width", "spreads")):
            columns[f"{title} of {name}"] = [
                None if place is None else float(getattr(rule, values)[place])
                for rule, place in zip(rules, places, strict=True)
            ]
    columns["text"] = [rule.text() for rule in rules]
    return columns


def features_of(
    network: Network | None, names: Sequence[str], late: tuple[int, ...]
) -> list[dict[str, Any]]:
    """Every feature: its range as the model scales it, and whether it is in use."""
    if network is None:
        return [{"name": name, "low": None, "high": None, "state": IN_USE} for name in names]
    places = lags.columns_of(network.n_features, len(names), late).features.tolist()
    scaler, is_scaled = network.scaler, network.config.scaling == "online"
    states = _column_states(network)
    if is_scaled:  # a sleeping feature is reported as asleep, even if masked
        states = np.where(scaler.awake, states, _kinds_of_sleep(network)).tolist()
    features: list[dict[str, Any]] = []
    for name, place in zip(names, places, strict=True):
        low, width = float(scaler.low[place]), float(scaler.width[place])
        ends = (low, low + width) if is_scaled and width > 0.0 else (None, None)
        features.append({"name": name, "low": ends[0], "high": ends[1], "state": states[place]})
    return features


def layers_of(network: Network, rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """Every layer: what it is, its say, its rules, its inputs in use.

    rules: of all layers, archived ones too; those of layers that wait or rest count as archived
    """
    counts = collections.Counter((rule.layer, rule.is_archived) for rule in rules)
    return [
        {
            "layer": each.layer,
            "kind": each.name,
            "state": each.state,
            "is_merged": each.state == "merged",
            "vote": each.share,
            "steps": each.steps,
            "worth": each.worth,
            "cost": each.cost,
            "rules": counts[each.layer, False],
            "archived": counts[each.layer, True],
            "features": int(np.count_nonzero(network.used_features)),
            "inputs_from_layers": _n_stacked(network, each.layer),
        }
        for each in standings_of(network)
    ]


def _n_stacked(network: Network, layer: int) -> int:
    """Inputs in use that come from other layers."""
    if network.state.layers.kinds[layer] == STACKED:
        return int(network.module_of(layer).counts_of(network.state, layer)[1])
    own = network.state.gaussians
    if own is None or network.state.layers.kinds[layer] != GAUSSIAN:
        return 0
    others = own.input_mask[layer, network.n_features : int(own.n_inputs[layer, 0])]
    return int(np.count_nonzero(others))
