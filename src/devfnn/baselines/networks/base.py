"""What all networks for tasks share: parameters, tasks, sizes and mini-batches.

Tasks are not given: they are blocks of chunks, and the latest one predicts. Rows are used as
they come; scale them to [0, 1].
"""

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from devfnn.arrays import Floats, Ints
from devfnn.baselines.chunks import ChunkClassifier, random_generator
from devfnn.errors import InputError
from devfnn.events import Event, TaskStarted
from devfnn.parameters import check_parameters, choice, number

LARGEST_GRADIENT = 1e4
"""Norm to which gradients of sgd are cut: larger ones could ruin what was learned."""


class Size(NamedTuple):
    """Hidden layers, and units in each."""

    depth: int
    width: int


TABLE: Mapping[str, Mapping[str, Size]] = {
    "PNN": {"susy": Size(3, 10), "rfid": Size(3, 2), "kdd": Size(3, 41)},
    "HAT": {"susy": Size(2, 10), "rfid": Size(2, 10), "kdd": Size(2, 30)},
    "DEN": {"weather": Size(1, 10), "susy": Size(1, 10), "rfid": Size(1, 8), "kdd": Size(1, 20)},
}
"""Sizes of the paper's table that do not follow from the formula of the model."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Parameters that all networks for tasks share."""

    classes: Sequence[Hashable] = ()
    """Labels known beforehand; others may come later."""
    stream: Literal["sea", "hyperplane", "weather", "electricity", "susy", "rfid", "kdd"] | None = (
        choice(None, "stream whose size in the paper's table is taken; None: the formula decides")
    )
    depth: int | None = number(None, 1, 10**6, "hidden layers; None: those of the table")
    width: int | None = number(None, 1, 10**6, "units of a hidden layer; None: those of the table")
    activation: Literal["tanh", "leaky_relu", "relu"] = choice("tanh", "of hidden units")
    optimizer: Literal["adam", "sgd"] = choice("adam", "rule of the gradient steps")
    learning_rate: float | None = number(None, 1e-12, 100.0, "None: 0.01 with adam, 0.2 with sgd")
    epochs: int = number(1, 1, 10**9, "passes over each chunk")
    batch_rows: int = number(32, 1, 10**9, "rows of a mini-batch")
    max_tasks: int | None = number(3, 1, 10**9, "the last task goes on for ever; None: no limit")
    n_chunks: int | None = number(None, 1, 10**12, "all chunks, if known: tasks are equal parts")
    block_chunks: int = number(50, 1, 10**12, "chunks of a task if the length is unknown")

    def __post_init__(self) -> None:
        check_parameters(self)
        if isinstance(self.classes, str | bytes) or not isinstance(self.classes, Iterable):
            raise InputError(f"classes must be a sequence of labels, not {self.classes!r}")

    @property
    def step(self) -> float:
        """The learning rate, given or usual."""
        usual = 0.01 if self.optimizer == "adam" else 0.2
        return usual if self.learning_rate is None else self.learning_rate


class Batch(NamedTuple):
    """Rows for one step; the `number`th, from 0, of the batches of an epoch."""

    rows: Tensor
    codes: Tensor
    number: int = 0
    total: int = 1


@dataclasses.dataclass
class Linear:
    """Weights, a row for each output, and biases."""

    weights: Tensor
    biases: Tensor

    def __call__(self, values: Tensor) -> Tensor:
        return torch.addmm(self.biases, values, self.weights.T)

    def tensors(self) -> list[Tensor]:
        return [self.weights, self.biases]

    def widen(self, more: "Linear") -> None:
        """Append outputs."""
        self.weights = widened(self.weights, more.weights)
        self.biases = widened(self.biases, more.biases)


def widened(tensor: Tensor, extra: Tensor) -> Tensor:
    """A tensor to learn with more rows at its end."""
    return torch.cat([tensor.detach(), extra.detach()]).requires_grad_()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread: for networks this small, more cost more than they bring."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class TaskNetwork(ChunkClassifier):
    """A neural network that learns a stream as a sequence of tasks."""

    _largest = 1e6  # steps along gradients of larger values could ruin what was learned

    def __init__(self, seed: int, settings: Settings) -> None:
        super().__init__(settings.classes)
        self.settings = settings
        self.n_tasks = 0  # begun so far
        self.size = Size(0, 0)  # known with the first chunk
        self._rng = random_generator(seed)
        self._n_chunks = self._task_start = 0  # chunks learned, now and when the newest task began
        self._activation: Callable[[Tensor], Tensor] = getattr(functional, settings.activation)
        self._optimizer: torch.optim.Optimizer | None = None

    @property
    def n_layers(self) -> int:
        return self.size.depth

    @property
    @abc.abstractmethod
    def n_rules(self) -> int:
        """Nodes, as the paper's table counts them."""

    @property
    def n_parameters(self) -> int:
        """Numbers that are or were learned."""
        return sum(tensor.numel() for tensor in self.tensors())

    def tensors(self) -> list[Tensor]:
        """All that is or was learned."""
        shared, own = self._parts()
        return [*shared, *(tensor for task in own for tensor in task)]

    # ---- what a model adds

    @abc.abstractmethod
    def _parts(self) -> tuple[list[Tensor], list[list[Tensor]]]:
        """Tensors that all tasks learn, and those of each task alone."""

    @abc.abstractmethod
    def task_logits(self, rows: Tensor, task: int) -> Tensor:
        """Scores of the classes that a task knows, as it is used for predictions."""

    @abc.abstractmethod
    def _usual_size(self, n_features: int, n_classes: int) -> Size:
        """Size by the formula of the model."""

    @abc.abstractmethod
    def _begin_task(self, n_classes: int) -> Sequence[Event]:
        """Make what a new task needs; `size` is known, and `n_tasks` counts the new task."""

    @abc.abstractmethod
    def _widen(self, n_fresh: int) -> None:
        """Give the newest task outputs for new classes."""

    def _end_chunk(self) -> Sequence[Event]:
        """Called when a chunk was learned."""
        return ()

    def _loss(self, batch: Batch) -> Tensor:
        """What the newest task minimises."""
        scores = self.task_logits(batch.rows, self.n_tasks - 1)
        return functional.cross_entropy(scores, batch.codes)

    def _adjust_gradients(self, batch: Batch) -> None:
        """Called between the gradients of a mini-batch and the step."""

    # ---- how a chunk is learned

    @one_thread()
    def _probabilities(self, rows: Floats) -> Floats:
        with torch.no_grad():
            logits = self.task_logits(torch.from_numpy(rows), self.n_tasks - 1)
        return np.asarray(logits.softmax(dim=1).numpy())

    @one_thread()
    def _learn(self, rows: Floats, codes: Ints, fresh: list[Hashable]) -> list[Event]:
        inputs, targets = torch.from_numpy(rows), torch.from_numpy(codes)
        events = self._add_classes(fresh)
        if self._is_task_due():
            events += self._start_task(rows.shape[1])
        elif fresh:
            self._widen(len(fresh))
            self._renew_optimizer()
        self._train(inputs, targets)
        events += self._end_chunk()
        self._n_chunks += 1
        return events

    def _is_task_due(self) -> bool:
        """Whether a task begins with this chunk."""
        given = self.settings
        if given.max_tasks is not None and self.n_tasks >= given.max_tasks:
            return False
        if given.n_chunks is None or given.max_tasks is None:
            return self._n_chunks // given.block_chunks >= self.n_tasks
        return self._n_chunks * given.max_tasks // given.n_chunks >= self.n_tasks

    def _start_task(self, n_features: int) -> list[Event]:
        given, n_classes = self.settings, len(self._labels)
        if not self.n_tasks:
            usual = TABLE[type(self).__name__].get(given.stream or "")
            usual = usual or self._usual_size(n_features, max(n_classes, 2))
            self.size = Size(given.depth or usual.depth, given.width or usual.width)
        for tensor in self._parts()[1][-1] if self.n_tasks else ():
            tensor.requires_grad_(False)
            tensor.grad = None
        self.n_tasks += 1
        self._task_start = self._n_chunks
        events = list(self._begin_task(n_classes))
        self._renew_optimizer()
        if self.n_tasks > 1:
            started = TaskStarted(self._n_rows, self.n_tasks - 1, "blocks", self.n_rules)
            events.insert(0, started)
        return events

    def _train(self, rows: Tensor, codes: Tensor) -> None:
        for _ in range(self.settings.epochs):
            for batch in self._batches(rows, codes):
                self._step(batch)

    def _batches(self, rows: Tensor, codes: Tensor) -> Iterator[Batch]:
        """Mini-batches of an epoch; the rows of the chunk are shuffled."""
        order = torch.from_numpy(self._rng.permutation(len(rows)))
        parts = torch.split(order, self.settings.batch_rows)
        for place, part in enumerate(parts):
            yield Batch(rows[part], codes[part], place, len(parts))

    def _step(self, batch: Batch) -> None:
        assert self._optimizer is not None
        self._optimizer.zero_grad()
        self._loss(batch).backward()
        self._adjust_gradients(batch)
        if self.settings.optimizer == "sgd":
            torch.nn.utils.clip_grad_norm_(self._trainable(), LARGEST_GRADIENT)
        self._optimizer.step()

    def _trainable(self) -> list[Tensor]:
        """What the newest task may change."""
        shared, own = self._parts()
        return shared + own[-1]

    def _renew_optimizer(self) -> None:
        """Forget the momentum of what was learned before."""
        kind: Any = torch.optim.Adam if self.settings.optimizer == "adam" else torch.optim.SGD
        self._optimizer = kind(self._trainable(), lr=self.settings.step)

    # ---- the weights it starts from

    def _uniform(self, *shape: int, bound: float) -> Tensor:
        """Random weights between -bound and bound, ready to be learned."""
        return torch.from_numpy(self._rng.uniform(-bound, bound, shape)).requires_grad_()

    def _linear(self, n_outputs: int, n_inputs: int) -> Linear:
        """Weights and biases of a layer, as PyTorch starts them."""
        bound = float(1.0 / np.sqrt(n_inputs))
        weights = self._uniform(n_outputs, n_inputs, bound=bound)
        return Linear(weights, self._uniform(n_outputs, bound=bound))

    def _hidden_layers(self) -> list[Linear]:
        """All hidden layers, from below."""
        assert self._n_features is not None
        depth, width = self.size
        return [self._linear(width, start) for start in [self._n_features] + [width] * (depth - 1)]
