"""Explanations of a prediction: layers, rules and features, in numbers that add up.

Every layer has an output for each class, and `bias + sum of contributions = output` in each. A
feature contributes what its value adds beyond a usual one: the mean of the rows of the rule that
fires; in a stacked layer the centre of each rule; for clouds the mean of all clouds by their mass.
The bias is the output for a usual row. A missing feature adds nothing to either. What an
output is depends on the layer (`LayerReasons.output_is`):

- "logits": the layer's probabilities are their softmax. Lines, curves and boxes are logistic in the
  features and their squares, so that what a feature contributes is exact, up to log odds of 30. In
  a gaussian layer it is the mean over its rules by how strongly they fire; in boosted layers what
  it adds along the paths through the trees; a stacked layer has layers as inputs.
- "log probabilities": of clouds. A class is as likely as its rules together: log sum exp(a) =
  sum r a + entropy of r, where r is the share of each rule in the class. So a feature contributes
  the mean, by r, of what it adds to each rule's a; the bias holds the rest.
- "scores": of least squares. Negative ones count as 0, the others are divided by their sum.

The vote is the mean of the layers' probabilities, by their voting weights, while contributions are
to outputs: where a vote is close, the two may differ.
"""

import dataclasses
import math
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from devfnn import formatting
from devfnn.arrays import Floats
from devfnn.errors import InputError

LOGITS, LOG_PROBABILITIES, SCORES = "logits", "log probabilities", "scores"
"""What the output of a layer can be."""

IN_USE, MISSING, MASKED = "in use", "missing", "masked"
CONSTANT, LIKE_A_CLOCK = "asleep: constant", "asleep: like a clock"
"""States of a feature in a row."""

MOST_TOLD = 30.0
"""Log odds that are told of an output, and of its inputs together: at most. With 30 the other class
has a probability of 1e-13, and with 300 it says no more."""

MOST_REASONS, MOST_FIRED, LEAST_SHOWN = 6, 3, 0.005
"""Most inputs and fired rules in the text of a layer, and least strength of these rules."""

MOST_LABELS = 20
"""Classes that an error message names."""


class FiredRule(NamedTuple):
    """A rule that fired."""

    rule: int
    """Its number in the layer, as in `rules` and events."""
    strength: float
    """How strongly it fired: its share of the layer's output."""
    label: Hashable = None
    """Of a neighbour: its class."""


class Said(NamedTuple):
    """Output of a layer for a row and its contributions, without its place in the vote."""

    output_is: str
    bias: Floats  # (m,)
    contributions: Floats  # (n, m)
    fired: tuple[FiredRule, ...]
    probabilities: Floats  # (m,)
    votes: Floats  # (m,)


@dataclasses.dataclass(frozen=True, eq=False)
class LayerReasons:
    """Output of one layer for a row, and its contributions."""

    layer: int
    """Its number, from 0, as in `rules` and events."""
    kind: str
    """What it is: "steady line", "boxes", "clouds", "rules", ..."""
    state: str
    """votes; waits, with next to no vote; rests or merged: it says nothing."""
    voting_weight: float
    """Its share of the vote. Below a stack, how much its log odds count in the answer."""
    fired: tuple[FiredRule, ...]
    """The rules that fired, the strongest first."""
    output_is: str
    """What its output is: logits, log probabilities or scores."""
    inputs: tuple[str, ...]
    """Names of its inputs: features, then inputs from earlier layers, as "layer 0 says up"."""
    bias: Floats
    """Output for a usual row, (m,)."""
    contributions: Floats
    """What each input adds to the output of each class beyond its usual value, (n_inputs, m)."""
    output: Floats
    """bias + contributions.sum(axis=0), (m,)."""
    probabilities: Floats
    """Class probabilities, (m,); zeros if it does not predict."""
    votes: Floats
    """What it puts into the vote: its probabilities, or 1 for one class in a hard vote. Those of a
    stacked layer leave room for labels that no layer foresees."""
    is_stacked: bool = False
    """Whether its inputs are what other layers say; such layers give the answer."""

    def against_the_others(self, place: int) -> Floats:
        """What each input adds to a class, less the mean of what it adds to the others."""
        return _against(self.contributions, place)

    def usually(self, place: int) -> float:
        """Output of a class for a usual row, less the mean of the others."""
        return float(_against(self.bias, place))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        fired = [
            rule._asdict()
            | {"label": None if rule.label is None else formatting.label_to_json(rule.label)}
            for rule in self.fired
        ]
        return dict(plain(vars(self) | {"fired": fired}))


@dataclasses.dataclass(frozen=True, eq=False)
class Explanation:
    """A prediction and its contributions; the head of this module says what adds up."""

    labels: tuple[Hashable, ...]
    """The classes, in the order of all arrays."""
    probabilities: Floats
    """Of the classes: the mean of the layers' votes by their weights; as `predict_proba`."""
    features: tuple[str, ...]
    """Names of the columns of the row."""
    values: Floats
    """The row, in the user's units."""
    states: tuple[str, ...]
    """Of each column: in use, missing, masked or asleep. Only the first contribute."""
    layers: tuple[LayerReasons, ...]
    """All layers, in the order of their numbers."""

    @property
    def label(self) -> Hashable:
        """The class that is predicted."""
        return self.labels[int(self.probabilities.argmax())]

    def contributions(self, label: Hashable | None = None) -> dict[str, float]:
        """What each input speaks for a class, the weightiest first; None: the predicted one.

        The mean over layers, by vote, of what the input adds to this class less the mean of what it
        adds to the others: log odds, but for least squares. With what is said `usually` they sum to
        what the layers say, by vote.
        """
        place = self.place_of(label)
        total: dict[str, float] = {}
        for layer in self.layers:
            if layer.is_stacked:  # it makes of what the others say
                continue
            speaks = layer.voting_weight * layer.against_the_others(place)
            for name, value in zip(layer.inputs, speaks.tolist(), strict=True):
                total[name] = total.get(name, 0.0) + value
        return dict(sorted(total.items(), key=lambda item: -abs(item[1])))

    def usually(self, label: Hashable | None = None) -> float:
        """What speaks for a class in a usual row, as `contributions` do in this one."""
        place = self.place_of(label)
        below = (layer for layer in self.layers if not layer.is_stacked)
        return math.fsum(layer.voting_weight * layer.usually(place) for layer in below)

    def place_of(self, label: Hashable | None = None) -> int:
        """The column of a class; None: of the predicted one."""
        if label is None:
            return int(self.probabilities.argmax())
        if label not in self.labels:
            known = formatting.listed([*map(repr, self.labels)], MOST_LABELS)
            raise InputError(f"there is no class {label!r}; there are {known}")
        return self.labels.index(label)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: None where a value is missing.

        What is said `usually` and `contributions` are of the predicted class.
        """
        return {
            "label": formatting.label_to_json(self.label),
            "labels": [formatting.label_to_json(label) for label in self.labels],
            "probabilities": self.probabilities.tolist(),
            "usually": self.usually(),
            "contributions": self.contributions(),
            "features": list(self.features),
            "values": plain(self.values),
            "states": list(self.states),
            "layers": [layer.to_dict() for layer in self.layers],
        }

    def text(self, label: Hashable | None = None, most: int = MOST_REASONS) -> str:
        """The explanation of one class as text; None: of the predicted one."""
        place = self.place_of(label)
        about = formatting.named(self.labels[place])
        shares = zip(self.labels, self.probabilities.tolist(), strict=True)
        ranked = sorted(shares, key=lambda item: -item[1])
        said = ", ".join(
            f"{formatting.named(each)} {formatting.percent(p, 0)}" for each, p in ranked
        )
        spoken = _spoken(self.usually(label), self.contributions(label), most)
        lines = [said, f"For {about}: {spoken}"]
        has_stack = any(layer.is_stacked for layer in self.layers)
        order = sorted(self.layers, key=lambda each: (not each.is_stacked, -each.voting_weight))
        lines += [_layer_line(layer, place, most, has_stack) for layer in order]
        for state in dict.fromkeys(self.states):
            if state != IN_USE:  # features without a say, and why
                pairs = zip(self.features, self.states, strict=True)
                names = [name for name, each in pairs if each == state]
                lines.append(f"{state}: {', '.join(names)}")
        return "\n".join(lines)


def _layer_line(layer: LayerReasons, place: int, most: int, has_stack: bool) -> str:
    """One layer as text."""
    named = f"layer {layer.layer} ({layer.kind})"
    if not layer.fired and not layer.votes.any():
        return f"{named} {layer.state}: it says nothing"
    share = formatting.percent(float(layer.probabilities[place]), 0)
    pairs = zip(layer.inputs, layer.against_the_others(place).tolist(), strict=True)
    ranked = dict(sorted(pairs, key=lambda item: -abs(item[1])))
    spoken = _spoken(layer.usually(place), ranked, most)
    shown = [rule for rule in layer.fired[:MOST_FIRED] if rule.strength >= LEAST_SHOWN]
    rules = ", ".join(f"{_rule_name(r)} {formatting.percent(r.strength, 0)}" for r in shown)
    counts = formatting.counts(layer.voting_weight, layer.is_stacked, has_stack)
    return f"{named} {counts}, says {share}; {rules or 'no rule fires'}; {spoken}"


def _rule_name(rule: FiredRule) -> str:
    """A rule that fired, with its class if it has one."""
    of = "" if rule.label is None else f" of {formatting.named(rule.label)}"
    return f"rule {rule.rule}{of}"


def _spoken(usually: float, ranked: dict[str, float], most: int) -> str:
    """What speaks for a class: what is usual, then inputs, the weightiest first, and the sum."""
    named = [(name, value) for name, value in ranked.items() if value]
    parts = [f"usually {usually:+.2f}", *(f"{name} {value:+.2f}" for name, value in named[:most])]
    if rest := named[most:]:
        others = formatting.plural(len(rest), "other")
        parts.append(f"{others} {math.fsum(value for _, value in rest):+.2f}")
    total = usually + math.fsum(ranked.values())
    return ", ".join([*parts, f"together {total:+.2f}"])


def _against(values: Floats, place: int) -> Floats:
    """The column of a class in values (..., m), less the mean of the others."""
    own: Floats = values[..., place]
    speaks: Floats = own - (values.sum(axis=-1) - own) / max(values.shape[-1] - 1, 1)
    return speaks


def plain(data: Any) -> Any:
    """Data for JSON: arrays as lists, None for numbers that are not finite.

    >>> plain({"a": np.array([1.0, np.inf]), "b": float("nan")})
    {'a': [1.0, None], 'b': None}
    """
    match data:
        case dict():
            return {name: plain(value) for name, value in data.items()}
        case list() | tuple() | np.ndarray():
            return [plain(value) for value in (data.tolist() if hasattr(data, "tolist") else data)]
        case float() if not math.isfinite(data):
            return None
    return data


def within_reason(bias: Floats, contributions: Floats) -> tuple[Floats, Floats]:
    """Bias (m,) and contributions (n, m) to logits, held where log odds still mean something.

    Far from all that a rule has learned, as with a code that has hardly ever come, features speak
    for a class by hundreds or cancel each other. Probabilities stay what they were.
    """
    if np.abs(bias).sum() + np.abs(contributions).sum() <= 0.5 * MOST_TOLD:
        return bias, contributions  # neither their spread nor what is centred can be larger
    output = bias + contributions.sum(axis=0)
    centred = contributions - contributions.mean(axis=1, keepdims=True)
    sizes = np.abs(centred).sum(axis=0)
    if max(float(np.ptp(output)), float(sizes.max(initial=0.0))) <= MOST_TOLD:
        return bias, contributions
    centred *= MOST_TOLD / np.maximum(sizes, MOST_TOLD)
    told = np.maximum(output - output.max(), -MOST_TOLD)
    return told - centred.sum(axis=0), centred


def softmax(logits: Floats) -> Floats:
    """Probabilities (..., m) of logits (..., m)."""
    shares: Floats = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return shares
