"""What happened to the structure of a model, and the numbers that caused it.

`learn` returns these; reports, the command line and tests read the same list. Layers and rules are
counted from 0, rows from the first row the model ever learned.
"""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """Something that changed the structure of the model."""

    row: int

    @property
    def kind(self) -> str:
        """Name of the event, as it is counted in reports."""
        return type(self).__name__

    def to_dict(self) -> dict[str, Any]:
        """The event as plain data, with its kind."""
        return {"kind": self.kind, **dataclasses.asdict(self)}


@dataclasses.dataclass(frozen=True, slots=True)
class RuleBorn(Event):
    """A row founded a rule: of extreme quality, significant, and the winner too large."""

    layer: int
    rule: int
    data_quality: float
    quality_bound: float
    log_volume: float
    winner_distance: float


@dataclasses.dataclass(frozen=True, slots=True)
class RuleRecalled(Event):
    """An archived rule fitted better than a new one would have."""

    layer: int
    rule: int
    data_quality: float
    quality_bound: float
    log_volume: float
    winner_distance: float


@dataclasses.dataclass(frozen=True, slots=True)
class RulePruned(Event):
    """A rule lost its significance (deleted) or its potential (archived)."""

    layer: int
    rule: int
    reason: str
    value: float
    limit: float
    utility: float


@dataclasses.dataclass(frozen=True, slots=True)
class FeatureOff(Event):
    """A feature is left out: it says too little about the classes."""

    feature: str
    score: float
    threshold: float


@dataclasses.dataclass(frozen=True, slots=True)
class FeatureOn(Event):
    """A feature is used again."""

    feature: str
    score: float
    threshold: float


@dataclasses.dataclass(frozen=True, slots=True)
class RangeChanged(Event):
    """A feature left its range; everything learned was carried over exactly."""

    feature: str
    low: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True)
class FeatureAsleep(Event):
    """A feature behaves like a clock, always leaving its range on one side: it is left out."""

    feature: str
    escapes: int


@dataclasses.dataclass(frozen=True, slots=True)
class FeatureAwake(Event):
    """A feature that was constant or a clock has something to say."""

    feature: str
    low: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True)
class LayersMerged(Event):
    """Two layers said the same; one of them is left out from now on."""

    kept: int
    dropped: int
    compression_index: float
    threshold: float


@dataclasses.dataclass(frozen=True, slots=True)
class DriftWarned(Event):
    """The error rate moved, not yet enough for a drift; the rows were kept for later."""

    error_before: float
    error_after: float
    bound: float
    kept_rows: int
    dropped_rows: int


@dataclasses.dataclass(frozen=True, slots=True)
class DriftFound(Event):
    """The error rate moved more than chance explains."""

    error_before: float
    error_after: float
    bound: float
    cut: int


@dataclasses.dataclass(frozen=True, slots=True)
class LayerAdded(Event):
    """A new layer on top, trained on the drifting chunk and the rows kept for it."""

    layer: int
    n_inputs: int
    trained_rows: int


@dataclasses.dataclass(frozen=True, slots=True)
class ClassAdded(Event):
    """A label never seen before; every layer has one more output."""

    label: str
    index: int
