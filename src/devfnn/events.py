"""What happened to the structure of a model, and the numbers that caused it.

`learn` returns these; reports, the command line and tests read the same list. Layers and rules are
counted from 0, rows from the first row the model ever learned; the prequential loop counts rows of
the stream instead, whatever was learned of them.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, dataclass_transform

_ACCEPTED: dict[Any, tuple[type, ...]] = {int: (int,), float: (float, int), str: (str,)}
"""Types of values by the type of their field."""

_SHARES = ("error_before", "error_after", "bound")
"""Fields that are shown in percent."""

_KINDS: "dict[str, type[Event]]" = {}
"""All events by name."""


_LARGEST = 2**63
"""Bound of whole numbers; beyond some size they cannot be shown as others."""


def _is_plain(value: Any) -> bool:
    """Whether a value can be shown: no flag, no number without end, text of whole characters."""
    if isinstance(value, str):
        return not any("\ud800" <= each <= "\udfff" for each in value)
    return not isinstance(value, bool) and (isinstance(value, float) or abs(value) < _LARGEST)


@dataclass_transform(frozen_default=True)
@dataclasses.dataclass(frozen=True)
class Event:
    """Something that changed the structure of the model. Subclasses are frozen dataclasses too."""

    row: int

    _why: ClassVar[str] = ""
    """What `explanation` says, with the names of fields in braces."""
    _why_merged: ClassVar[str] = ""
    """The same for what was merged into another."""

    def __init_subclass__(cls) -> None:
        _KINDS[cls.__name__] = dataclasses.dataclass(frozen=True)(cls)

    @property
    def kind(self) -> str:
        """Name of the event, as it is counted in reports."""
        return type(self).__name__

    @property
    def explanation(self) -> str:
        """Why it happened, in words, with the numbers that caused it."""
        fields = dataclasses.asdict(self)
        shares = {f"{name}_%": 100.0 * value for name, value in fields.items() if name in _SHARES}
        is_merged = fields.get("merged_into", -1) >= 0
        return (self._why_merged if is_merged else self._why).format(**fields, **shares)

    def to_dict(self) -> dict[str, Any]:
        """The event as plain data, with its kind."""
        return {"kind": self.kind, **dataclasses.asdict(self)}

    @staticmethod
    def from_dict(data: Any) -> "Event":
        """The event that `to_dict` gave; ValueError if it is none."""
        name = data.get("kind") if isinstance(data, Mapping) else None
        kind = _KINDS.get(name) if isinstance(name, str) else None
        if kind is None:
            raise ValueError(f"there is no event {name!r}")
        types = {field.name: field.type for field in dataclasses.fields(kind)}
        if set(data) != {"kind", *types}:
            raise ValueError(f"{name} has the fields {', '.join(types)}, and no others")
        for field, accepted in types.items():
            value = data[field]
            if not isinstance(value, _ACCEPTED[accepted]) or not _is_plain(value):
                raise ValueError(f"{field} of {name} cannot be {value!r}")
        return kind(**{field: data[field] for field in types})


# ---- DEVFNN: rules, layers and features


class RuleBorn(Event):
    """A row founded a rule: of extreme quality, significant, and the winner too large."""

    layer: int
    rule: int
    data_quality: float
    quality_bound: float
    log_volume: float
    winner_distance: float

    _why = (
        "a row unlike all before (quality {data_quality:.3g}, bound {quality_bound:.3g}), "
        "{winner_distance:.3g} from the nearest rule of layer {layer}, founded rule {rule}"
    )


class RuleRecalled(Event):
    """An archived rule fitted better than a new one would have."""

    layer: int
    rule: int
    data_quality: float
    quality_bound: float
    log_volume: float
    winner_distance: float

    _why = (
        "rows like those of archived rule {rule} of layer {layer} came back "
        "(quality {data_quality:.3g}, bound {quality_bound:.3g})"
    )


class RulePruned(Event):
    """A rule lost its significance (deleted) or its potential (archived)."""

    layer: int
    rule: int
    reason: str
    value: float
    limit: float
    utility: float
    merged_into: int
    """The rule of the layer that stands for both now; -1 if it was not merged."""

    _why = "rule {rule} of layer {layer}: {reason} {value:.3g} fell below {limit:.3g}"
    _why_merged = (
        "rule {rule} of layer {layer}: difference from rule {merged_into} {value:.3g} fell below "
        "{limit:.3g}"
    )


class FeatureOff(Event):
    """A feature is left out: it is not relevant enough to the classes."""

    feature: str
    score: float
    threshold: float

    _why = (
        "the feature {feature} says too little about the classes: score {score:.3g}, "
        "threshold {threshold:.3g}"
    )


class FeatureOn(Event):
    """A feature is used again."""

    feature: str
    score: float
    threshold: float

    _why = "the feature {feature} says enough again: score {score:.3g}, threshold {threshold:.3g}"


class RangeChanged(Event):
    """A feature left its range; everything learned was carried over exactly."""

    feature: str
    low: float
    high: float

    _why = "the feature {feature} kept leaving its range, which is now {low:.6g} to {high:.6g}"


class RangeMoved(Event):
    """A feature is in another unit or at another level: high and low values mean what they did."""

    feature: str
    low: float
    high: float

    _why = (
        "the feature {feature} is in another unit or at another level, its range now {low:.6g} to "
        "{high:.6g}"
    )


class CodeNoticed(Event):
    """A value far from all others came again and again: it is clipped, and followed by no range."""

    feature: str
    value: float

    _why = (
        "the feature {feature} was {value:.6g} again and again, far from its range, as if that "
        "stood for a missing value; give missing values as NaN"
    )


class FeatureAsleep(Event):
    """A feature grows or falls steadily, like a clock: it is left out."""

    feature: str
    escapes: int

    _why = "the feature {feature} left its range on the same side {escapes} times, like a clock"


class FeatureAwake(Event):
    """A constant or steadily growing feature varies now and is used."""

    feature: str
    low: float
    high: float

    _why = "the feature {feature} varies now, between {low:.6g} and {high:.6g}"


class LayersMerged(Event):
    """Two layers had the same output; one of them is left out from now on."""

    kept: int
    dropped: int
    compression_index: float
    threshold: float

    _why = (
        "layers {kept} and {dropped} say the same: compression index {compression_index:.3g}, "
        "threshold {threshold:.3g}"
    )


class DriftWarned(Event):
    """The error rate moved, not yet enough for a drift; the rows were kept for later."""

    error_before: float
    error_after: float
    bound: float
    kept_rows: int
    dropped_rows: int

    _why = (
        "errors moved from {error_before_%:.1f} % to {error_after_%:.1f} %, by more than "
        "{bound_%:.1f} points, the bound of a warning; {kept_rows} rows are kept"
    )


class DriftFound(Event):
    """The error rate moved more than chance explains."""

    error_before: float
    error_after: float
    bound: float
    cut: int

    _why = (
        "errors moved from {error_before_%:.1f} % to {error_after_%:.1f} %, by more than "
        "{bound_%:.1f} points, the bound of a drift"
    )


class LayerAdded(Event):
    """A new layer on top, trained on the drifting chunk and the rows kept for it."""

    layer: int
    n_inputs: int
    trained_rows: int

    _why = "after a drift, layer {layer} was trained on {trained_rows} rows with {n_inputs} inputs"


class RuleSplit(Event):
    """A rule became two: the labels of its rows differ on the two sides of a value."""

    layer: int
    rule: int
    sibling: int
    feature: str
    value: float
    evidence: float
    needed: float

    _why = (
        "rule {rule} of layer {layer} became rules {rule} and {sibling}, below and above "
        "{feature} = {value:.6g}: evidence {evidence:.3g}, needed {needed:.3g}"
    )


class CloudsChanged(Event):
    """Rows that no cloud explained founded new ones."""

    layer: int
    before: int
    after: int

    _why = "layer {layer} went from {before} to {after} clouds"


class LayerKept(Event):
    """After a drift the best layer was kept unchanged, in case its concept returns."""

    layer: int
    source: int
    n_rules: int
    learned_rows: int
    score: float

    _why = (
        "after a drift, layer {source} was kept as layer {layer}: number of rules {n_rules}, "
        "learned rows {learned_rows}, share it had right {score:.3f}"
    )


class LayerRecalled(Event):
    """A kept layer is the best again: its concept has returned, and it goes on learning."""

    layer: int
    score: float
    line_score: float
    box_score: float

    _why = (
        "kept layer {layer} is the best again: it had a share of {score:.3f} right, the steady "
        "line {line_score:.3f}, the boxes {box_score:.3f}"
    )


class LayerDropped(Event):
    """A kept layer is no longer needed."""

    layer: int
    reason: str
    value: float
    limit: float
    merged_into: int
    """The kept layer that stands for both now; -1 if it was not merged."""

    _why = "kept layer {layer} {reason} ({value:.3g}, limit {limit:.3g}) and was dropped"
    _why_merged = (
        "kept layer {layer} differs from layer {merged_into} in too few rows ({value:.3g}, limit "
        "{limit:.3g}) and was dropped"
    )


class LayerRested(Event):
    """A dear layer was not worth its cost, and rests."""

    layer: int
    steps: int
    worth: float
    needed: float

    _why = (
        "layer {layer} rests for {steps} structural steps: it was worth {worth:.3g}, and must be "
        "worth {needed:.3g}"
    )


class LayerOnTrial(Event):
    """A layer that has rested shows again what it can do."""

    layer: int

    _why = "layer {layer} has rested, and shows again what it can do"


class ClassAdded(Event):
    """A label never seen before; every layer has one more output."""

    label: str
    index: int

    _why = "the label {label} was never seen before; in the order of classes it is number {index}"


# ---- the models that DEVFNN is compared with


class NodeAdded(Event):
    """A random node explained enough of the error (DSSCN)."""

    layer: int
    node: int
    scope: float
    score: float

    _why = (
        "a random node of scope {scope:.3g} explained {score:.3g} more of the squared error "
        "than it must and became node {node} of layer {layer}"
    )


class MeansMoved(Event):
    """The feature means moved inside a chunk; the level is warning or drift (DSSCN)."""

    level: str
    gap: float
    limit: float
    cut: int

    _why = "{level}: feature means moved by {gap:.3g}, limit {limit:.3g}"


class TaskStarted(Event):
    """The next task began; in PNN, this is a new column."""

    task: int
    policy: str
    n_nodes: int

    _why = "task {task} began, by {policy}; there are {n_nodes} nodes now"


class MaskSaturated(Event):
    """Earlier tasks use every unit; a new one learns only its gates and outputs (HAT)."""

    task: int
    free: float

    _why = "earlier tasks left {free:.3g} units free: task {task} learns only its gates and outputs"


class GatesRedrawn(Event):
    """All gates of a layer had shut; they were opened anew (HAT)."""

    task: int
    layer: int

    _why = "task {task} had shut every gate of layer {layer}, so that nothing passed: drawn anew"


class UnitsSelected(Event):
    """A new task chose the units that it may change, by sparse outputs (DEN)."""

    task: int
    selected: int
    units: int
    shrinkage: float

    _why = (
        "with outputs shrunk by {shrinkage:.3g} a step, task {task} needs {selected} of {units} "
        "units; only these are learned further"
    )


class UnitsAdded(Event):
    """The loss of a task stayed too high, and it got new units (DEN)."""

    task: int
    loss: float
    limit: float
    added: int
    kept: int

    _why = (
        "loss {loss:.3g} of task {task} is above {limit:.3g}: of {added} units added, {kept} "
        "proved useful and were kept"
    )


class UnitSplit(Event):
    """A unit moved too far from what earlier tasks made of it, and became two (DEN)."""

    task: int
    layer: int
    unit: int
    copy: int
    drift: float
    limit: float

    _why = (
        "unit {unit} of layer {layer} moved by {drift:.3g}, limit {limit:.3g}: it got its old "
        "weights back, and unit {copy} goes on with the new ones for task {task}"
    )


__all__ = ["Event", *_KINDS]
