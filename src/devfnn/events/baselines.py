"""What happens to the models that DEVFNN is compared with."""

import dataclasses
from typing import ClassVar

from devfnn.events.event import Event


@dataclasses.dataclass(frozen=True, slots=True)
class NodeAdded(Event):
    """A random node explained enough of the error (DSSCN)."""

    layer: int
    node: int
    scope: float
    score: float

    _explanation: ClassVar[str] = (
        "a random node of scope {scope:.3g} explained {score:.3g} more of the squared error "
        "than it must and became node {node} of layer {layer}"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class MeansMoved(Event):
    """The feature means moved inside a chunk; the level is warning or drift (DSSCN)."""

    level: str
    gap: float
    limit: float
    cut: int

    _explanation: ClassVar[str] = "{level}: feature means moved by {gap:.3g}, limit {limit:.3g}"


@dataclasses.dataclass(frozen=True, slots=True)
class TaskStarted(Event):
    """The next task began; in PNN, this is a new column."""

    task: int
    policy: str
    n_nodes: int

    _explanation: ClassVar[str] = "task {task} began, by {policy}; there are {n_nodes} nodes now"


@dataclasses.dataclass(frozen=True, slots=True)
class MaskSaturated(Event):
    """Earlier tasks use every unit; a new one learns only its gates and outputs (HAT)."""

    task: int
    free: float

    _explanation: ClassVar[str] = (
        "earlier tasks left {free:.3g} units free: task {task} learns only its gates and outputs"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class GatesRedrawn(Event):
    """All gates of a layer had shut; they were opened anew (HAT)."""

    task: int
    layer: int

    _explanation: ClassVar[str] = (
        "task {task} had shut every gate of layer {layer}, so that nothing passed: drawn anew"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class UnitsSelected(Event):
    """A new task chose the units that it may change, by sparse outputs (DEN)."""

    task: int
    selected: int
    units: int
    shrinkage: float

    _explanation: ClassVar[str] = (
        "with outputs shrunk by {shrinkage:.3g} a step, task {task} needs {selected} of {units} "
        "units; only these are learned further"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class UnitsAdded(Event):
    """A task stayed too bad with the units there were, and got new ones (DEN)."""

    task: int
    loss: float
    limit: float
    added: int
    kept: int

    _explanation: ClassVar[str] = (
        "loss {loss:.3g} of task {task} is above {limit:.3g}: of {added} units added, {kept} "
        "proved useful and were kept"
    )


@dataclasses.dataclass(frozen=True, slots=True)
class UnitSplit(Event):
    """A unit moved too far from what earlier tasks made of it, and became two (DEN)."""

    task: int
    layer: int
    unit: int
    copy: int
    drift: float
    limit: float

    _explanation: ClassVar[str] = (
        "unit {unit} of layer {layer} moved by {drift:.3g}, limit {limit:.3g}: it got its old "
        "weights back, and unit {copy} goes on with the new ones for task {task}"
    )
