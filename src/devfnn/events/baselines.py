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
