"""HAT, hard attention to the task (Serra and others, 2018), on a stream.

One network for all tasks. Each task has gates, one for each hidden unit, and outputs of its own.
Gates are soft while they are learned and harden within each epoch. What the gates of finished tasks
let through is protected: its weights get no gradient.

Deviations: when a task is finished its gates become exactly 0 or 1, as Adam would undo the
protection of soft ones; a layer whose gates have all shut draws them anew. `official=True` gives
the published numbers without these two; the published schedule of the learning rate needs
validation rows and many epochs, so it has no place on a stream.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from devfnn.baselines.chunks import settings_from
from devfnn.baselines.networks.base import Batch, Linear, Settings, Size, TaskNetwork
from devfnn.events import Event, GatesRedrawn, MaskSaturated
from devfnn.parameters import choice, number

LIMIT = 6.0
"""Embeddings stay within -6 and 6."""

EXPONENT = 50.0
"""Largest exponent in the compensation."""

SATURATED = 1e-3
"""With fewer units free than this, use is no longer punished."""

OFFICIAL: dict[str, Any] = (
    {"activation": "relu", "optimizer": "sgd", "learning_rate": 0.05, "batch_rows": 64}
    | {"sparsity": 0.75, "sharpness": 400.0, "embedding": "normal", "hard": False, "redraw": False}
    | {"input_dropout": 0.2, "dropout": 0.5}
)
"""The published numbers."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class HATSettings(Settings):
    """Parameters of a network with hard attention."""

    sparsity: float = number(0.1, 0.0, 1e6, "how much the use of free units costs", "λ")
    sharpness: float = number(50.0, 1.0, 1e6, "slope of the gates once they are hard", "s_max")
    embedding: Literal["uniform", "normal"] = choice(
        "uniform", "first embeddings: between 0 and 2, all open; or normal, half of them shut"
    )
    input_dropout: float = number(0.0, 0.0, 0.99, "share of inputs left out of a step")
    dropout: float = number(0.0, 0.0, 0.99, "share of hidden values left out of a step")
    hard: bool = choice(True, "make the gates of a finished task 0 or 1")
    redraw: bool = choice(True, "draw the gates of a layer anew when all of them have shut")


def slope(number: int, count: int, sharpness: float) -> float:
    """Slope of the gates at a mini-batch: rises from 1 / sharpness to sharpness in an epoch."""
    if number == count - 1:  # also the only one
        return sharpness
    return 1.0 / sharpness + (sharpness - 1.0 / sharpness) * number / (count - 1)


def compensation(embedding: Tensor, steepness: float, sharpness: float) -> Tensor:
    """Factor that gives the gradient of an embedding the size it has at slope 1."""
    steep = torch.cosh((steepness * embedding).clamp(-EXPONENT, EXPONENT)) + 1.0
    return (sharpness / steepness) * steep / (torch.cosh(embedding) + 1.0)


@dataclasses.dataclass
class Task:
    """What belongs to one task alone."""

    embeddings: list[Tensor]  # a vector for each hidden layer
    outputs: Linear
    is_hard: bool = False  # its gates are 0 or 1

    def masks(self, steepness: float) -> list[Tensor]:
        """The gates of each hidden layer."""
        if self.is_hard:
            return [(embedding > 0.0).to(embedding.dtype) for embedding in self.embeddings]
        return [torch.sigmoid(steepness * embedding) for embedding in self.embeddings]

    def tensors(self) -> list[Tensor]:
        return [*self.embeddings, *self.outputs.tensors()]


class HAT(TaskNetwork):
    """Network with hard attention to the task; tasks begin by themselves.

    `seed` decides the first weights and the order of rows; parameters are those of `HATSettings`.
    With `official` the model starts from the published numbers.

    >>> model = HAT()
    >>> events = model.learn([[0.0, 0.3], [1.0, 0.4]], ["low", "high"])
    >>> model.n_rules, model.n_layers
    (8, 2)
    """

    settings: HATSettings

    def __init__(self, seed: int = 0, *, official: bool = False, **parameters: Any) -> None:
        start = OFFICIAL if official else {}
        super().__init__(seed, settings_from(HATSettings, start | parameters))
        self.layers: list[Linear] = []
        self.tasks: list[Task] = []
        self.used: list[Tensor] = []  # how far finished tasks use each unit, by layer

    @property
    def n_rules(self) -> int:
        return self.size.depth * self.size.width

    @property
    def n_free(self) -> float:
        """Units that no finished task uses."""
        return float(sum((1.0 - used).sum() for used in self.used))

    def _parts(self) -> tuple[list[Tensor], list[list[Tensor]]]:
        shared = [getattr(layer, name) for name in ("weights", "biases") for layer in self.layers]
        return shared, [task.tensors() for task in self.tasks]

    def task_logits(self, rows: Tensor, task: int) -> Tensor:
        return self._scores(rows, self.tasks[task], self.tasks[task].masks(self.settings.sharpness))

    def _scores(self, values: Tensor, task: Task, masks: list[Tensor]) -> Tensor:
        for layer, mask in zip(self.layers, masks, strict=True):
            values = mask * self._activation(layer(values))
        return task.outputs(values)

    def _dropped(self, mask: Tensor, n_rows: int, share: float) -> Tensor:
        """A mask for each row, with a share of its values left out and the others raised."""
        if share == 0.0:
            return mask
        kept = torch.from_numpy(self._rng.random((n_rows, len(mask))) >= share)
        return mask * kept / (1.0 - share)

    def _usual_size(self, n_features: int, n_classes: int) -> Size:
        return Size(2, n_features + n_classes)

    def _begin_task(self, n_classes: int) -> Sequence[Event]:
        if self.tasks:
            self._consolidate()
        else:
            self.layers = self._hidden_layers()
            self.used = [torch.zeros_like(layer.biases.detach()) for layer in self.layers]
        embeddings = [self._embedding() for _ in range(self.size.depth)]
        self.tasks.append(Task(embeddings, self._linear(n_classes, self.size.width)))
        if self.n_free < SATURATED:
            return [MaskSaturated(self._n_rows, self.n_tasks - 1, self.n_free)]
        return ()

    def _embedding(self) -> Tensor:
        """The gates of a layer before a task has learned anything."""
        width, is_normal = self.size.width, self.settings.embedding == "normal"
        drawn = self._rng.normal(size=width) if is_normal else self._rng.uniform(0.0, 2.0, width)
        return torch.from_numpy(drawn).requires_grad_()

    def _consolidate(self) -> None:
        """Finish the newest task: its gates are kept, and what they let through is protected."""
        task = self.tasks[-1]
        with torch.no_grad():
            if self.settings.hard:
                for embedding in task.embeddings:
                    embedding.copy_(torch.where(embedding > 0.0, LIMIT, -LIMIT))
                task.is_hard = True
            pairs = zip(self.used, task.masks(self.settings.sharpness), strict=True)
            self.used = [torch.maximum(used, mask) for used, mask in pairs]

    def _widen(self, n_fresh: int) -> None:
        self.tasks[-1].outputs.widen(self._linear(n_fresh, self.size.width))

    def _loss(self, batch: Batch) -> Tensor:
        given, rows, n_free = self.settings, batch.rows, self.n_free
        masks = self.tasks[-1].masks(slope(batch.number, batch.total, given.sharpness))
        kept = [self._dropped(mask, len(rows), given.dropout) for mask in masks]
        inputs = rows * self._dropped(torch.ones_like(rows[0]), len(rows), given.input_dropout)
        scores = self._scores(inputs, self.tasks[-1], kept)
        loss = torch.nn.functional.cross_entropy(scores, batch.codes)
        if n_free < SATURATED:
            return loss
        pairs = zip(masks, self.used, strict=True)
        use = torch.stack([(mask * (1.0 - used)).sum() for mask, used in pairs]).sum() / n_free
        return loss + given.sparsity * use

    def _adjust_gradients(self, batch: Batch) -> None:
        """Protect what finished tasks use, and undo what the slope does to embeddings.

        A weight between two used units stays, and so does their bias.
        """
        below: Tensor | None = None  # inputs count as used
        for layer, used in zip(self.layers, self.used, strict=True):
            both = used[:, None] if below is None else torch.minimum(used[:, None], below[None, :])
            for tensor, share in ((layer.weights, both), (layer.biases, used)):
                if tensor.grad is not None:
                    tensor.grad *= 1.0 - share
            below = used
        steepness = slope(batch.number, batch.total, self.settings.sharpness)
        for embedding in self.tasks[-1].embeddings:
            if embedding.grad is not None:
                factor = compensation(embedding.detach(), steepness, self.settings.sharpness)
                embedding.grad *= factor

    def _step(self, batch: Batch) -> None:
        super()._step(batch)
        with torch.no_grad():
            for embedding in self.tasks[-1].embeddings:
                embedding.clamp_(-LIMIT, LIMIT)

    def _end_chunk(self) -> Sequence[Event]:
        """Open the gates of a layer anew if all have shut: nothing could pass it again."""
        if not self.settings.redraw:
            return ()
        events = []
        for layer, embedding in enumerate(self.tasks[-1].embeddings):
            if (embedding <= 0.0).all():
                with torch.no_grad():
                    embedding.copy_(torch.from_numpy(self._rng.uniform(0.0, 2.0, len(embedding))))
                if self._optimizer is not None:
                    self._optimizer.state.pop(embedding, None)
                events.append(GatesRedrawn(self._n_rows, self.n_tasks - 1, layer))
        return events
