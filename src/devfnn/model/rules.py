"""Rules as objects and as text: what a model knows, in the units of its user."""

import dataclasses
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from devfnn.kernels.state import ARCHIVED, FREE, Floats, Ints
from devfnn.model import wording
from devfnn.model.config import Config
from devfnn.model.network import Network
from devfnn.scaling import CLIP

MOST_INPUTS = 8
"""Inputs that a text names unless told otherwise."""

MOST_CLASSES = 4
"""Classes that a text names; the others are counted."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rule:
    """One rule: IF the inputs are near its centre, THEN it expects these classes.

    Inputs that are left out, because they are asleep or masked, say nothing and are not here.
    Features are in the user's units; what earlier layers say are probabilities.
    """

    layer: int
    """Number of its layer, from 0, as in events."""
    rule: int
    """Its number in the layer, from 0, as in events."""
    inputs: tuple[str, ...]
    """Names of the features in use, then inputs from earlier layers, as "layer 0 says up"."""
    n_features: int
    """How many of the inputs are features."""
    center: Floats
    """Where it fires most strongly, (n_inputs,)."""
    covariance: Floats
    """How far it reaches, (n_inputs, n_inputs)."""
    probabilities: dict[Hashable, float]
    """What it says at its own centre, by label, before any layer votes."""
    n_rows: float
    """Learned rows that it has won, by their weights: its support."""
    is_archived: bool
    """Whether it waits to be recalled, and says nothing meanwhile."""
    voting_weight: float
    """Share of its layer in the vote of the network."""
    ranges: Floats | None = None
    """From where to where each input goes, (n_inputs, 2), as far as the model knows."""
    bounds: Floats | None = None
    """Between which values it holds, (n_inputs, 2), if its IF part is a box: low < x <= high."""
    age: int | None = None
    """Rows learned since it began or was recalled; None where that is not counted, as of clouds."""
    firing_share: float | None = None
    """Share of the rows of its layer for which it fires, of late; None before it is known."""
    slopes: Floats | None = None
    """What each input adds to the logit of each class (to its score, with least squares) from the
    lower to the upper end of its range, (n_inputs, m); None for clouds, which have no slopes."""

    @property
    def spreads(self) -> Floats:
        """Standard deviation of every input, (n_inputs,)."""
        spreads: Floats = np.sqrt(np.diagonal(self.covariance))
        return spreads

    @property
    def label(self) -> Hashable:
        """The class that it expects most."""
        return max(self.probabilities, key=lambda label: self.probabilities[label])

    def text(self, most: int | None = MOST_INPUTS) -> str:
        """The rule in one line. A value stands with its standard deviation.

        Parameters
        ----------
        most
            Inputs to name; None for all. If there are more, the most specific ones come first:
            those whose spread is smallest against their range.

        Examples
        --------
        >>> rule = Rule(0, 2, ("voltage", "current"), 2, np.array([230.02, 5.21]),
        ...             np.diag([9.5, 1.02]), {"high": 0.83, "low": 0.17}, 1234.0, False, 1.0)
        >>> print(rule.text())  # doctest: +NORMALIZE_WHITESPACE
        IF voltage is about 230 (± 3.1) AND current is about 5.2 (± 1.0)
        THEN high 83 %, low 17 %  [layer 0, rule 2, 1,234 rows]
        """
        where = f"layer {self.layer}, rule {self.rule}, {wording.rows(self.n_rows)}"
        archived = ", archived" if self.is_archived else ""
        condition = " AND ".join(self._conditions(most)) or "anything"
        return f"IF {condition} THEN {self._conclusion()}  [{where}{archived}]"

    def _conditions(self, most: int | None) -> list[str]:
        """What must hold, with at most so many inputs named."""
        if self.bounds is not None:
            return self._box_conditions(self.bounds)
        named: Sequence[int] = range(len(self.inputs))
        n_more = 0
        if most is not None and len(self.inputs) > most:
            named, n_more = self.most_specific()[:most], len(self.inputs) - most
        parts = [self._condition(place) for place in named]
        if n_more:
            parts.append(f"{n_more:,} more" if parts else f"{n_more:,} inputs are right")
        return parts

    def most_specific(self) -> list[int]:
        """Places of the inputs, the narrowest against their range first."""
        widths = np.ones(len(self.inputs))
        if self.ranges is not None:
            widths = self.ranges[:, 1] - self.ranges[:, 0]
        relative = self.spreads / np.where(widths > 0.0, widths, 1.0)
        places: list[int] = np.argsort(relative, kind="stable").tolist()
        return places

    def with_vote(self, voting_weight: float, is_archived: bool) -> "Rule":
        """The same rule in a layer with another share in the vote."""
        return dataclasses.replace(self, voting_weight=voting_weight, is_archived=is_archived)

    def _box_conditions(self, bounds: Floats) -> list[str]:
        """A condition for every input that the box bounds."""
        parts = (self.box_condition(place) for place in range(len(bounds)))
        return [part for part in parts if part]

    def box_condition(self, place: int) -> str:
        """Between which values the box has an input; empty if it does not bound it."""
        low, high = (
            self.bounds[place].tolist() if self.bounds is not None else (-math.inf, math.inf)
        )
        width = 1.0
        if self.ranges is not None:
            width = float(self.ranges[place, 1] - self.ranges[place, 0])
        below, above = (wording.about(value, 0.1 * width)[0] for value in (low, high))
        if math.isfinite(low) and math.isfinite(high):
            return f"{below} < {self.inputs[place]} ≤ {above}"
        if math.isfinite(low):
            return f"{self.inputs[place]} > {below}"
        return f"{self.inputs[place]} ≤ {above}" if math.isfinite(high) else ""

    def _condition(self, place: int) -> str:
        center, spread = float(self.center[place]), float(self.spreads[place])
        if place < self.n_features:
            value, reach = wording.about(center, spread)
            return f"{self.inputs[place]} is about {value} (± {reach})"
        share, reach = wording.percent(center), wording.percent(spread)
        return f"{self.inputs[place]} with about {share} (± {reach})"

    def _conclusion(self) -> str:
        ordered = sorted(self.probabilities.items(), key=lambda item: -item[1])
        parts = [
            f"{wording.named(label)} {wording.percent(share)}"
            for label, share in ordered[:MOST_CLASSES]
        ]
        rest = ordered[MOST_CLASSES:]
        if rest:
            others = "1 other" if len(rest) == 1 else f"{len(rest):,} others"
            parts.append(f"{others} {wording.percent(math.fsum(share for _, share in rest))}")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain data, for JSON.

        `probabilities` is a list of pairs of label and probability, in the order of the classes, so
        that labels keep their types. A label that is no text, number, truth value, bytes or tuple
        of these comes back as its text.
        """
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        for name in ("center", "covariance", "ranges", "slopes"):
            data[name] = None if data[name] is None else data[name].tolist()
        if self.bounds is not None:
            data["bounds"] = [
                [value if math.isfinite(value) else None for value in pair]
                for pair in self.bounds.tolist()
            ]
        pairs = self.probabilities.items()
        data["probabilities"] = [
            [wording.label_to_json(label), float(share)] for label, share in pairs
        ]
        return data | {"inputs": list(self.inputs)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Rule":
        """The rule that `to_dict` turned into plain data."""
        n_inputs = len(data["inputs"])
        arrays = {"center": (-1,), "covariance": (n_inputs, n_inputs), "ranges": (n_inputs, 2)}
        arrays["slopes"] = (n_inputs, len(data["probabilities"]))
        own: dict[str, Any] = {
            name: np.array(data[name], np.float64).reshape(shape)
            for name, shape in arrays.items()
            if data.get(name) is not None
        }
        if data.get("bounds") is not None:
            own["bounds"] = np.array(
                [
                    [-math.inf if low is None else low, math.inf if high is None else high]
                    for low, high in data["bounds"]
                ]
            ).reshape(-1, 2)
        own["probabilities"] = {
            wording.label_from_json(label): share for label, share in data["probabilities"]
        }
        return cls(**(data | own | {"inputs": tuple(data["inputs"])}))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rule) and self.to_dict() == other.to_dict()


def rules_of(
    network: Network,
    labels: Sequence[Hashable],
    names: Sequence[str],
    config: Config,
    archived: bool = False,
) -> list[Rule]:
    """The rules of all live layers: active ones first, then by the layer's vote and by support.

    Parameters
    ----------
    network
        What was learned.
    labels, names
        The classes and the features, in the order of the network.
    config
        With which it was learned.
    archived
        Whether to list also rules that wait to be recalled.
    """
    named = Names(labels, names)
    rules = [
        rule
        for layer in np.flatnonzero(~network.layers.is_merged).tolist()
        for rule in _rules_of_layer(network, layer, named, config)
        if archived or not rule.is_archived
    ]
    return sorted(rules, key=rank_of_rule)


def rank_of_rule(rule: Rule) -> tuple[bool, float, int, float, int]:
    """Where a rule stands in a list: active ones first, then by vote and by support."""
    return rule.is_archived, -rule.voting_weight, rule.layer, -rule.n_rows, rule.rule


class Names(NamedTuple):
    """What classes and features are called."""

    labels: Sequence[Hashable]
    features: Sequence[str]

    def inputs(self) -> Iterator[str]:
        """Names of all inputs of a network without end."""
        yield from self.features
        layer = 0
        while True:
            yield from (f"layer {layer} says {label}" for label in self.labels)
            layer += 1


def _rules_of_layer(network: Network, layer: int, names: Names, config: Config) -> Iterator[Rule]:
    """Every rule of a layer, active or archived."""
    layers, n_features = network.layers, network.shape.features
    n_inputs = int(layers.n_inputs[layer, 0])
    used = np.flatnonzero(layers.input_mask[layer, :n_inputs])
    all_names = dict(zip(range(n_inputs), names.inputs(), strict=False))
    lows, widths = _maps(network, n_inputs, config)
    lows, widths = lows[used], widths[used]
    vote = layers.voting_weights[layer] / layers.voting_weights[~layers.is_merged].sum()
    for slot in np.flatnonzero(layers.status[layer] != FREE).tolist():
        shares = _said(network, layer, slot, used, config)
        utility = float(layers.utilities[layer, slot])
        cov = layers.covs[layer, slot][np.ix_(used, used)]
        yield Rule(
            layer=layer,
            rule=slot,
            inputs=tuple(all_names[place] for place in used.tolist()),
            n_features=int(np.count_nonzero(used < n_features)),
            center=lows + widths * layers.centers[layer, slot, used],
            covariance=cov * np.outer(widths, widths),
            probabilities=dict(zip(names.labels, shares.tolist(), strict=True)),
            n_rows=float(layers.class_counts[layer, slot].sum()),
            is_archived=bool(layers.status[layer, slot] == ARCHIVED),
            voting_weight=float(vote),
            ranges=np.stack([lows, lows + widths], axis=1),
            age=int(layers.ages[layer, slot]),
            firing_share=utility if utility >= 0.0 else None,
            slopes=2.0 * layers.consequents[layer, slot][:, 2 * used + 1].T,
        )


def _maps(network: Network, n_inputs: int, config: Config) -> tuple[Floats, Floats]:
    """The affine maps of all inputs: the user's value = low + width * the layer's value."""
    lows, widths = np.zeros(n_inputs), np.ones(n_inputs)
    if config.scaling == "online":
        n_features = network.shape.features
        lows[:n_features], widths[:n_features] = network.scaler.low, network.scaler.width
    return lows, widths


def _said(network: Network, layer: int, slot: int, used: Ints, config: Config) -> Floats:
    """Class probabilities by one rule's consequent at its own centre.

    Inputs are clipped as those of a prediction are, and outputs become shares in the same way.
    """
    layers, n_features = network.layers, network.shape.features
    reach = np.where(used < n_features, CLIP, 0.0)
    t = 2.0 * np.clip(layers.centers[layer, slot, used], -reach, 1.0 + reach) - 1.0
    weights = layers.consequents[layer, slot]
    outputs = weights[:, 0] + weights[:, 2 * used + 1] @ t
    outputs += weights[:, 2 * used + 2] @ (2.0 * t * t - 1.0)
    is_logistic = config.consequent == "logistic"
    shares: Floats = np.exp(outputs - outputs.max()) if is_logistic else np.maximum(outputs, 0.0)
    if not shares.any():
        shares[:] = 1.0
    shares /= shares.sum()
    return shares
