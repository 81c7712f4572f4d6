"""What happens to a network that learns tasks."""

import dataclasses
from typing import ClassVar

from devfnn.events import Event


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
