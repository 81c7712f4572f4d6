"""What happened to the structure of a model, and the numbers that caused it.

`learn` returns these; reports, the command line and tests read the same list. Layers and rules are
counted from 0, rows from the first row the model ever learned; the prequential loop counts rows of
the stream instead, whatever was learned of them.
"""

from devfnn.events.baselines import (
    GatesRedrawn,
    MaskSaturated,
    MeansMoved,
    NodeAdded,
    TaskStarted,
    UnitsAdded,
    UnitSplit,
    UnitsSelected,
)
from devfnn.events.event import Event
from devfnn.events.structure import (
    ClassAdded,
    CloudsChanged,
    DriftFound,
    DriftWarned,
    FeatureAsleep,
    FeatureAwake,
    FeatureOff,
    FeatureOn,
    LayerAdded,
    LayerDropped,
    LayerKept,
    LayerRecalled,
    LayersMerged,
    RangeChanged,
    RuleBorn,
    RulePruned,
    RuleRecalled,
    RuleSplit,
)

__all__ = [
    "ClassAdded",
    "CloudsChanged",
    "DriftFound",
    "DriftWarned",
    "Event",
    "FeatureAsleep",
    "FeatureAwake",
    "FeatureOff",
    "FeatureOn",
    "GatesRedrawn",
    "LayerAdded",
    "LayerDropped",
    "LayerKept",
    "LayerRecalled",
    "LayersMerged",
    "MaskSaturated",
    "MeansMoved",
    "NodeAdded",
    "RangeChanged",
    "RuleBorn",
    "RulePruned",
    "RuleRecalled",
    "RuleSplit",
    "TaskStarted",
    "UnitSplit",
    "UnitsAdded",
    "UnitsSelected",
]
