"""Parameters that all networks share, and the sizes that the paper's table gives them."""

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from devfnn.baselines.checks import (
    check_choice,
    check_count,
    check_flags,
    check_labels,
    check_number,
)
from devfnn.errors import InputError


class Size(NamedTuple):
    """Hidden layers, and units in each."""

    depth: int
    width: int


STREAMS = ("sea", "hyperplane", "weather", "electricity", "susy", "rfid", "kdd")
"""Streams of the paper's table."""

TABLE: Mapping[str, Mapping[str, Size]] = {
    "PNN": {"susy": Size(3, 10), "rfid": Size(3, 2), "kdd": Size(3, 41)},
    "HAT": {"susy": Size(2, 10), "rfid": Size(2, 10), "kdd": Size(2, 30)},
    "DEN": {
        "weather": Size(1, 10),
        "susy": Size(1, 10),
        "rfid": Size(1, 8),
        "kdd": Size(1, 20),
    },
}
"""Sizes of the table that do not follow from the formula of the model."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "size": ("table", "matched"),
    "policy": ("blocks", "drift", "chunk"),
    "choice": ("latest", "best_prev", "entropy"),
    "activation": ("tanh", "leaky_relu", "relu"),
    "optimizer": ("adam", "sgd"),
}

AT_LEAST_ONE = ("epochs", "batch_rows", "budget", "block_chunks")
OPTIONAL = ("width", "depth", "max_tasks", "n_chunks")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """What a network for tasks can be told."""

    classes: Sequence[Hashable] = ()
    """Labels known beforehand; others may come later."""
    stream: str | None = None
    """Stream of the paper's table whose size is taken; by default the formula decides."""
    size: str = "table"
    """`table`, or `matched`: the width that comes nearest to `budget` parameters."""
    budget: int = 1000
    """Parameters of a network of matched size, with all its tasks."""
    depth: int | None = None
    """Hidden layers; by default those of the table."""
    width: int | None = None
    """Units of a hidden layer; by default those of the table."""
    activation: str = "tanh"
    """`tanh`, `leaky_relu` or `relu`; narrow networks die with the last."""
    optimizer: str = "adam"
    """`adam` or `sgd`."""
    learning_rate: float | None = None
    """Step; by default 0.01 for Adam, 0.2 for SGD."""
    largest_gradient: float = 10000.0
    """Norm to which gradients are cut before a step of SGD; steps of Adam are bounded anyway."""
    epochs: int = 1
    """Passes over each chunk."""
    batch_rows: int = 32
    """Rows of a mini-batch."""
    policy: str = "blocks"
    """When a task begins: `blocks` of chunks, `drift` of the errors, or every `chunk`."""
    max_tasks: int | None = 3
    """The last task goes on for ever; None for no limit."""
    n_chunks: int | None = None
    """Chunks that will be given to `learn`, if known: blocks are equal parts of them."""
    block_chunks: int = 50
    """Chunks of a block, as they are given to `learn`, if the length of the stream is unknown."""
    min_gap: int = 5
    """Chunks of a task, at least, before a drift ends it."""
    drift_significance: float = 0.09
    """Cap of the level of a drift."""
    horizon: float = 200.0
    """Chunks over which that level rises."""
    choice: str = "latest"
    """Task that predicts: `latest`, `best_prev` on the chunk learned last, or least `entropy`."""

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            check_choice(name, getattr(self, name), known)
        check_labels("classes", self.classes)
        check_flags(self)
        if self.stream is not None:
            check_choice("stream", self.stream, STREAMS)
        for name in AT_LEAST_ONE:
            check_count(name, getattr(self, name))
        for name in OPTIONAL:
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        check_count("min_gap", self.min_gap, least=0)
        check_number("drift_significance", self.drift_significance, 1e-300, 0.5)
        check_number("horizon", self.horizon, 1e-9, 1e12)
        check_number("largest_gradient", self.largest_gradient, 1e-12, 1e12)
        if self.learning_rate is not None:
            check_number("learning_rate", self.learning_rate, 1e-12, 100.0)

    @property
    def step(self) -> float:
        """The learning rate, given or usual."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 0.01 if self.optimizer == "adam" else 0.2

    def listed_size(self, model: str) -> Size | None:
        """Size that the table gives a model on the stream, where the formula does not hold."""
        return None if self.stream is None else TABLE[model].get(self.stream)


AnySettings = TypeVar("AnySettings", bound=Settings)


def settings_of(kind: type[AnySettings], parameters: Mapping[str, Any]) -> AnySettings:
    """Settings from parameters by name; InputError for a name that is none."""
    names = [field.name for field in dataclasses.fields(kind)]
    for name in parameters:
        if name not in names:
            raise InputError(f"there is no parameter {name!r}; there are {', '.join(names)}")
    return kind(**parameters)
