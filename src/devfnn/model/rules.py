"""Rules as objects and as text: what a model knows, in the units of its user."""

import dataclasses
import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from devfnn import formatting
from devfnn.arrays import Floats
from devfnn.model.explanation import plain

MOST_INPUTS = 8
"""Inputs that a text names by default."""

MOST_CLASSES = 4
"""Classes that a text names; the others are counted."""

TERMS = ("low", "medium", "high")
"""The thirds of the known range of an input."""


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
    """Its probabilities at its own centre, by label, before any layer votes."""
    n_rows: float
    """Learned rows that it has won, by weight: its support. Of clouds these fade."""
    is_archived: bool = False
    """Whether it waits to be recalled, and does not predict meanwhile."""
    voting_weight: float = 0.0
    """Share of its layer in the vote of the network."""
    ranges: Floats | None = None
    """Known range of each input, (n_inputs, 2)."""
    bounds: Floats | None = None
    """Bounds, (n_inputs, 2), if its IF part is a box: low < x <= high."""
    age: int | None = None
    """Rows learned since it began or was recalled; None where that is not counted, as of clouds."""
    firing_share: float | None = None
    """Share of the rows of its layer for which it fires; None before it is known. Recent rows in
    gaussian layers and, with their memory, in clouds; of boxes since the layer began anew."""
    slopes: Floats | None = None
    """What each input adds to the logit of each class (to its score, with least squares) from the
    lower to the upper end of its range, (n_inputs, m); None for clouds, which have no slopes."""
    trusts: Floats | None = None
    """Of a stacked layer: the weight of what each input says, (n_inputs,)."""

    @property
    def spreads(self) -> Floats:
        """Standard deviation of every input, (n_inputs,)."""
        spreads: Floats = np.sqrt(np.diagonal(self.covariance))
        return spreads

    @property
    def label(self) -> Hashable:
        """The class that it expects most."""
        return max(self.probabilities, key=lambda label: self.probabilities[label])

    def text(self, most: int | None = MOST_INPUTS, terms: bool = False) -> str:
        """The rule as a sentence. A value stands with the values one spread around it.

        Parameters
        ----------
        most
            Inputs to name; None for all. If there are more, the most specific ones come first:
            those whose spread is smallest against their range.
        terms
            Say low, medium and high, the thirds of the known range of an input, not numbers.

        Examples
        --------
        >>> rule = Rule(0, 2, ("heat", "wind"), 2, np.array([54.0, 5.2]), np.diag([36.0, 1.0]),
        ...             {"rain": 0.81, "dry": 0.19}, 1234.0, False, 1.0,
        ...             np.array([[40.0, 100.0], [0.0, 10.0]]))
        >>> rule.text()
        'IF heat is about 54 (48-60) and wind is about 5.2 (4.2-6.2) THEN rain 0.81, dry 0.19'
        >>> rule.text(terms=True)
        'IF heat is low and wind is medium THEN rain 0.81, dry 0.19'
        """
        condition = " and ".join(self._conditions(most, terms)) or "anything"
        return f"IF {condition} THEN {self._conclusion()}"

    def remark(self) -> str:
        """Its layer, its number and its rows."""
        archived = ", archived" if self.is_archived else ""
        return f"[layer {self.layer}, rule {self.rule}, {formatting.rows(self.n_rows)}{archived}]"

    def terms_of(self, place: int) -> tuple[str, ...]:
        """Terms whose middle an input's interval holds, else that of its centre; none if all do."""
        low, width = self._range(place)
        start, stop = ((end - low) / width for end in self._interval(place))
        held = tuple(term for i, term in enumerate(TERMS) if start < (2 * i + 1) / 6 <= stop)
        if held:
            return held if len(held) < len(TERMS) else ()
        center = (self.center[place] - low) / width
        return (TERMS[int(np.clip(3.0 * center, 0.0, 2.0))],)

    def _range(self, place: int) -> tuple[float, float]:
        """Start and width of the range of an input."""
        low, high = self.ranges[place].tolist() if self.ranges is not None else (0.0, 1.0)
        return low, high - low if high > low else 1.0

    def _interval(self, place: int) -> tuple[float, float]:
        """Interval in which it holds: its box, or one spread around its centre."""
        if self.bounds is not None:
            return float(self.bounds[place, 0]), float(self.bounds[place, 1])
        center, spread = float(self.center[place]), float(self.spreads[place])
        if place < self.n_features:
            return center - spread, center + spread
        return max(center - spread, 0.0), min(center + spread, 1.0)  # a probability

    def _conditions(self, most: int | None, terms: bool) -> list[str]:
        """The condition, with at most so many inputs named."""
        if self.trusts is not None:
            return []
        parts = [self._condition(place, terms) for place in range(len(self.inputs))]
        named = [place for place, part in enumerate(parts) if part]
        n_more = 0 if most is None else max(len(named) - most, 0)
        if n_more:  # those that are narrowest against their range
            spreads = self.spreads.tolist()
            named.sort(key=lambda place: spreads[place] / self._range(place)[1])
            named = named[:most]
        rest = [f"{n_more:,} more" if named else f"{n_more:,} conditions hold"] if n_more else []
        return [parts[place] for place in named] + rest

    def _condition(self, place: int, terms: bool) -> str:
        """The condition on an input; empty if it accepts all values."""
        name = self.inputs[place]
        if terms:
            held = self.terms_of(place)
            return f"{name} is {' or '.join(held)}" if held else ""
        if self.bounds is not None:
            return self._box_condition(place)
        ends = (float(self.center[place]), *self._interval(place))
        value, low, high = formatting.alike(ends, float(self.spreads[place]))
        to = "-" if not low.startswith("-") and "e" not in low + high else " to "
        return f"{name} is about {value} ({low}{to}{high})"

    def _box_condition(self, place: int) -> str:
        """The bounds of the box on an input; empty if it has none."""
        (low, high), (_, width) = self._interval(place), self._range(place)
        below, above = (formatting.about(value, 0.1 * width)[0] for value in (low, high))
        if math.isfinite(low) and math.isfinite(high):
            return f"{below} < {self.inputs[place]} ≤ {above}"
        if math.isfinite(low):
            return f"{self.inputs[place]} > {below}"
        return f"{self.inputs[place]} ≤ {above}" if math.isfinite(high) else ""

    def _conclusion(self) -> str:
        if self.trusts is not None:
            pairs = zip(self.trusts.tolist(), self.inputs, strict=True)
            return "the log odds are " + " + ".join(f"{w:.2f} x {name}" for w, name in pairs)
        ordered = sorted(self.probabilities.items(), key=lambda item: -item[1])
        said = [(formatting.named(label), share) for label, share in ordered[:MOST_CLASSES]]
        if rest := ordered[MOST_CLASSES:]:
            total = math.fsum(share for _, share in rest)
            said.append((formatting.plural(len(rest), "other"), total))
        return ", ".join(f"{name} {formatting.share(share)}" for name, share in said)

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain data, for JSON.

        `probabilities` is a list of pairs of label and probability, in the order of the classes, so
        that labels keep their types. A label that is no text, number, truth value, bytes or tuple
        of these comes back as its text.
        """
        pairs = self.probabilities.items()
        said = [[formatting.label_to_json(label), float(share)] for label, share in pairs]
        return dict(plain(vars(self) | {"probabilities": said}))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Rule":
        """The rule that `to_dict` turned into plain data."""
        n, pairs = len(data["inputs"]), data["probabilities"]
        shapes = {"center": (n,), "covariance": (n, n), "ranges": (n, 2), "bounds": (n, 2)}
        own: dict[str, Any] = {
            name: np.array(data[name], np.float64).reshape(shape)
            for name, shape in (shapes | {"slopes": (n, len(pairs)), "trusts": (n,)}).items()
            if data.get(name) is not None
        }
        if "bounds" in own:  # None was read as NaN
            own["bounds"] = np.where(np.isnan(own["bounds"]), [-math.inf, math.inf], own["bounds"])
        own["probabilities"] = {formatting.label_from_json(label): share for label, share in pairs}
        return cls(**(data | own | {"inputs": tuple(data["inputs"])}))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rule) and self.to_dict() == other.to_dict()
