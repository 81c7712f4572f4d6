"""What happens to the rules, layers and features of DEVFNN."""

import dataclasses
from typing import ClassVar

from devfnn.events.event import Event


@dataclasses.dataclass(frozen=True, slots=True)
class RuleBorn(Event):
    """A row founded a rule: of extreme quality, significant, and the winner too large."""

    layer: int
    rule: int
    data_quality: float
    quality_bound: float
    log_volume: float
    winner_distance: float

    _explanation: ClassVar[str] = (
        "a row unlike all before (quality {data_quality:.3g}, bound {quality_bound:.3g}), "
        "{winner_distance:.3g} from the nearest rule of layer {layer}, founded rule {rule}"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class RuleRecalled(Event):
    """An archived rule fitted better than a new one would have."""

    layer: int
    rule: int
    data_quality: float
    quality_bound: float
    log_volume: float
    winner_distance: float

    _explanation: ClassVar[str] = (
        "rows like those of archived rule {rule} of layer {layer} came back "
        "(quality {data_quality:.3g}, bound {quality_bound:.3g})"
    )


@dataclasses.dataclass(frozen=True, slots=True)
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

    _explanation: ClassVar[str] = (
        "rule {rule} of layer {layer}: {reason} {value:.3g} fell below {limit:.3g}"
    )
    _merged: ClassVar[str] = (
        "rule {rule} of layer {layer}: difference from rule {merged_into} {value:.3g} fell below "
        "{limit:.3g}"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class FeatureOff(Event):
    """A feature is left out: it says too little about the classes."""

    feature: str
    score: float
    threshold: float

    _explanation: ClassVar[str] = (
        "the feature {feature} says too little about the classes: score {score:.3g}, "
        "threshold {threshold:.3g}"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class FeatureOn(Event):
    """A feature is used again."""

    feature: str
    score: float
    threshold: float

    _explanation: ClassVar[str] = (
        "the feature {feature} says enough again: score {score:.3g}, threshold {threshold:.3g}"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class RangeChanged(Event):
    """A feature left its range; everything learned was carried over exactly."""

    feature: str
    low: float
    high: float

    _explanation: ClassVar[str] = (
        "the feature {feature} kept leaving its range, which is now {low:.6g} to {high:.6g}"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class FeatureAsleep(Event):
    """A feature behaves like a clock, always leaving its range on one side: it is left out."""

    feature: str
    escapes: int

    _explanation: ClassVar[str] = (
        "the feature {feature} left its range on the same side {escapes} times, like a clock"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class FeatureAwake(Event):
    """A feature that was constant or a clock has something to say."""

    feature: str
    low: float
    high: float

    _explanation: ClassVar[str] = (
        "the feature {feature} varies now, between {low:.6g} and {high:.6g}"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class LayersMerged(Event):
    """Two layers said the same; one of them is left out from now on."""

    kept: int
    dropped: int
    compression_index: float
    threshold: float

    _explanation: ClassVar[str] = (
        "layers {kept} and {dropped} say the same: compression index {compression_index:.3g}, "
        "threshold {threshold:.3g}"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class DriftWarned(Event):
    """The error rate moved, not yet enough for a drift; the rows were kept for later."""

    error_before: float
    error_after: float
    bound: float
    kept_rows: int
    dropped_rows: int

    _explanation: ClassVar[str] = (
        "errors moved from {error_before_%:.1f} % to {error_after_%:.1f} %, by more than "
        "{bound_%:.1f} points, the bound of a warning; {kept_rows} rows are kept"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class DriftFound(Event):
    """The error rate moved more than chance explains."""

    error_before: float
    error_after: float
    bound: float
    cut: int

    _explanation: ClassVar[str] = (
        "errors moved from {error_before_%:.1f} % to {error_after_%:.1f} %, by more than "
        "{bound_%:.1f} points, the bound of a drift"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class LayerAdded(Event):
    """A new layer on top, trained on the drifting chunk and the rows kept for it."""

    layer: int
    n_inputs: int
    trained_rows: int

    _explanation: ClassVar[str] = (
        "after a drift, layer {layer} was trained on {trained_rows} rows with {n_inputs} inputs"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class RuleSplit(Event):
    """A rule became two: the labels of its rows differ on the two sides of a value."""

    layer: int
    rule: int
    sibling: int
    feature: str
    value: float
    evidence: float
    needed: float

    _explanation: ClassVar[str] = (
        "rule {rule} of layer {layer} became rules {rule} and {sibling}, below and above "
        "{feature} = {value:.6g}: evidence {evidence:.3g}, needed {needed:.3g}"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class CloudsChanged(Event):
    """Rows that no cloud explained founded new ones."""

    layer: int
    before: int
    after: int

    _explanation: ClassVar[str] = "layer {layer} went from {before} to {after} clouds"


@dataclasses.dataclass(frozen=True, slots=True)
class LayerKept(Event):
    """After a drift the best layer was kept as it was, for the day its concept returns."""

    layer: int
    source: int
    n_rules: int
    learned_rows: int
    score: float

    _explanation: ClassVar[str] = (
        "after a drift, layer {source} was kept as layer {layer}: number of rules {n_rules}, "
        "learned rows {learned_rows}, share it had right {score:.3f}"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class LayerRecalled(Event):
    """A kept layer is the best again: its concept has returned, and it goes on learning."""

    layer: int
    score: float
    line_score: float
    box_score: float

    _explanation: ClassVar[str] = (
        "kept layer {layer} is the best again: it had a share of {score:.3f} right, the steady "
        "line {line_score:.3f}, the boxes {box_score:.3f}"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class LayerDropped(Event):
    """A kept layer is no longer needed."""

    layer: int
    reason: str
    value: float
    limit: float
    merged_into: int
    """The kept layer that stands for both now; -1 if it was not merged."""

    _explanation: ClassVar[str] = (
        "kept layer {layer} {reason} ({value:.3g}, limit {limit:.3g}) and was dropped"
    )
    _merged: ClassVar[str] = (
        "kept layer {layer} differs from layer {merged_into} in too few rows ({value:.3g}, limit "
        "{limit:.3g}) and was dropped"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class ClassAdded(Event):
    """A label never seen before; every layer has one more output."""

    label: str
    index: int

    _explanation: ClassVar[str] = (
        "the label {label} was never seen before; in the order of classes it is number {index}"
    )
