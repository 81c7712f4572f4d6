"""What all networks for tasks share: intake, tasks, mini-batches and the choice of a task.

A model is told neither tasks nor their number: `TaskClock` begins them. Rows are used as they come;
scale them to [0, 1]. A task may know fewer classes than came later; it gives them probability 0.
"""

import abc
import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from devfnn.baselines.checks import check_count
from devfnn.baselines.chunks import ChunkClassifier
from devfnn.baselines.networks.settings import Settings, Size
from devfnn.baselines.networks.tasks import TaskClock
from devfnn.events import DriftFound, Event, TaskStarted

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "leaky_relu": torch.nn.functional.leaky_relu,
    "relu": torch.relu,
}

LARGEST = 1e6
"""Steps along gradients of larger values could ruin what was learned."""

LARGEST_WIDTH = 4096
"""Networks of matched size grow no wider."""


class Batch(NamedTuple):
    """Rows for one step."""

    rows: Tensor
    codes: Tensor
    number: int
    """Its place in the epoch, counted from 0."""
    total: int
    """Batches of the epoch."""


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

    _largest = LARGEST

    def __init__(self, seed: int, settings: Settings) -> None:
        check_count("seed", seed, least=0)
        super().__init__(settings.classes)
        self.settings = settings
        self._rng = np.random.default_rng(seed)
        self._clock = TaskClock(settings)
        self._best_task = 0
        self._activation = ACTIVATIONS[settings.activation]
        self._optimizer: torch.optim.Optimizer | None = None
        self.size = Size(0, 0)
        """Hidden layers and their width, known with the first chunk."""

    # What users call.

    @property
    def n_tasks(self) -> int:
        """Tasks begun so far."""
        return self._clock.n_tasks

    @property
    def n_layers(self) -> int:
        """Hidden layers."""
        return self.size.depth

    @property
    @abc.abstractmethod
    def n_rules(self) -> int:
        """Nodes, as the paper's table counts them."""

    @property
    def n_parameters(self) -> int:
        """Numbers that are or were learned."""
        return sum(tensor.numel() for tensor in self.tensors())

    # What a model adds.

    @abc.abstractmethod
    def tensors(self) -> list[Tensor]:
        """All that is or was learned."""

    @abc.abstractmethod
    def task_logits(self, rows: Tensor, task: int) -> Tensor:
        """Scores of the classes that a task knows, as it is used for predictions."""

    @abc.abstractmethod
    def _usual_size(self, n_features: int, n_classes: int) -> Size:
        """Size by the formula of the model."""

    @abc.abstractmethod
    def _count(self, size: Size, n_features: int, n_classes: int) -> int:
        """Parameters of a network of some size with all its tasks."""

    @abc.abstractmethod
    def _begin_task(self, n_classes: int) -> Sequence[Event]:
        """Make what a new task needs; `size` is known, and `n_tasks` counts the new task."""

    @abc.abstractmethod
    def _widen(self, n_fresh: int) -> None:
        """Give the newest task outputs for new classes."""

    @abc.abstractmethod
    def _trainable(self) -> list[Tensor]:
        """What the newest task may change."""

    def _end_chunk(self) -> Sequence[Event]:
        """Whatever has to be looked after when a chunk was learned."""
        return ()

    def _loss(self, batch: Batch) -> Tensor:
        """What the newest task is to make small."""
        scores = self.task_logits(batch.rows, self.n_tasks - 1)
        return torch.nn.functional.cross_entropy(scores, batch.codes)

    def _step(self, batch: Batch, optimizer: torch.optim.Optimizer) -> None:
        """Learn a mini-batch."""
        optimizer.zero_grad()
        self._loss(batch).backward()  # type: ignore[no-untyped-call]
        self._limit_gradients()
        optimizer.step()

    def _limit_gradients(self) -> None:
        """Cut gradients that could ruin what was learned."""
        if self.settings.optimizer == "sgd":
            torch.nn.utils.clip_grad_norm_(self._trainable(), self.settings.largest_gradient)

    # How a chunk is learned.

    def _probabilities(self, rows: Floats) -> Floats:
        inputs = torch.from_numpy(rows)
        with one_thread(), torch.no_grad():
            return self._task_probabilities(inputs, self._chosen_task(inputs))

    def _learn(self, rows: Floats, codes: Ints, fresh: list[Hashable]) -> list[Event]:
        with one_thread():
            return self._learn_task(rows, codes, fresh)

    def _learn_task(self, rows: Floats, codes: Ints, fresh: list[Hashable]) -> list[Event]:
        inputs, targets = torch.from_numpy(rows), torch.from_numpy(codes)
        is_due, verdict = self._clock.is_due(self._errors(inputs, codes))
        events = self._add_classes(fresh)
        if is_due:
            if verdict is not None:
                numbers = (verdict.error_before, verdict.error_after, verdict.bound, verdict.cut)
                events.append(DriftFound(self._n_rows, *numbers))
            events += self._start_task(rows.shape[1])
        elif fresh:
            self._widen(len(fresh))
            self._renew_optimizer()
        self._train(inputs, targets)
        events += self._end_chunk()
        self._clock.tick()
        if self.settings.choice == "best_prev":
            self._best_task = self._most_accurate(inputs, codes)
        return events

    def _errors(self, rows: Tensor, codes: Ints) -> Ints:
        """The 0/1 errors of the chunk as it is predicted before it is learned."""
        if not self.n_tasks or self.settings.policy != "drift":
            return np.zeros(0, np.int64)
        with torch.no_grad():
            answers = self._task_probabilities(rows, self._chosen_task(rows)).argmax(axis=1)
        errors: Ints = (answers != codes).astype(np.int64)
        return errors

    def _start_task(self, n_features: int) -> list[Event]:
        n_classes = len(self._labels)
        if not self.n_tasks:
            self.size = self._first_size(n_features, max(n_classes, 2))
        self._clock.begin()
        events = list(self._begin_task(n_classes))
        self._renew_optimizer()
        if self.n_tasks > 1:
            task, policy = self.n_tasks - 1, self.settings.policy
            events.insert(0, TaskStarted(self._n_rows, task, policy, self.n_rules))
        return events

    def _train(self, rows: Tensor, codes: Tensor) -> None:
        """Learn the rows of a chunk with the newest task."""
        assert self._optimizer is not None
        for _ in range(self.settings.epochs):
            for batch in self._batches(rows, codes):
                self._step(batch, self._optimizer)

    def _batches(self, rows: Tensor, codes: Tensor) -> Iterator[Batch]:
        """Mini-batches of an epoch; the rows of the chunk are shuffled."""
        order = torch.from_numpy(self._rng.permutation(len(rows)))
        parts = torch.split(order, self.settings.batch_rows)
        for number, part in enumerate(parts):
            yield Batch(rows[part], codes[part], number, len(parts))

    def _renew_optimizer(self) -> None:
        """Forget the momentum of what was learned before."""
        kinds: dict[str, Any] = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
        kind = kinds[self.settings.optimizer]
        self._optimizer = kind(self._trainable(), lr=self.settings.step)

    # Which task predicts.

    def _task_probabilities(self, rows: Tensor, task: int) -> Floats:
        """What a task says; classes that it does not know have probability 0."""
        known = self.task_logits(rows, task).softmax(dim=1).numpy()
        probabilities = np.zeros((len(rows), len(self._labels)))
        probabilities[:, : known.shape[1]] = known
        return probabilities

    def _chosen_task(self, rows: Tensor) -> int:
        """The task that predicts these rows; their labels are not known."""
        if self.settings.choice == "best_prev":
            return self._best_task
        if self.settings.choice == "entropy" and len(rows):
            entropies = [self._entropy(rows, task) for task in self._newest_first()]
            return self.n_tasks - 1 - int(np.argmin(entropies))
        return self.n_tasks - 1

    def _entropy(self, rows: Tensor, task: int) -> float:
        """Mean entropy of what a task says."""
        logs = self.task_logits(rows, task).log_softmax(dim=1)
        return float(-(logs.exp() * logs).sum(dim=1).mean())

    def _most_accurate(self, rows: Tensor, codes: Ints) -> int:
        """The task with the fewest errors on a chunk that was learned, the newest of equals."""
        with torch.no_grad():
            answers = [self._task_probabilities(rows, task) for task in self._newest_first()]
        errors = [np.count_nonzero(answer.argmax(axis=1) != codes) for answer in answers]
        return self.n_tasks - 1 - int(np.argmin(errors))

    def _newest_first(self) -> range:
        return range(self.n_tasks - 1, -1, -1)

    # How large it is, and what it starts from.

    def _first_size(self, n_features: int, n_classes: int) -> Size:
        given = self.settings
        usual = given.listed_size(type(self).__name__) or self._usual_size(n_features, n_classes)
        depth = given.depth if given.depth is not None else usual.depth
        if given.width is not None:
            return Size(depth, given.width)
        if given.size == "table":
            return Size(depth, usual.width)
        return self._matched_size(depth, n_features, n_classes)

    def _matched_size(self, depth: int, n_features: int, n_classes: int) -> Size:
        """The size of this depth with the number of parameters nearest to the budget."""
        nearest, gap = Size(depth, 1), float("inf")
        for width in range(1, LARGEST_WIDTH + 1):
            size = Size(depth, width)
            miss = abs(self._count(size, n_features, n_classes) - self.settings.budget)
            if miss > gap:
                break
            nearest, gap = size, miss
        return nearest

    def _uniform(self, *shape: int, bound: float) -> Tensor:
        """Random weights between -bound and bound, ready to be learned."""
        return torch.from_numpy(self._rng.uniform(-bound, bound, shape)).requires_grad_()

    def _linear(self, n_outputs: int, n_inputs: int) -> tuple[Tensor, Tensor]:
        """Weights and biases of a layer, as PyTorch starts them."""
        bound = float(1.0 / np.sqrt(n_inputs))
        return self._uniform(n_outputs, n_inputs, bound=bound), self._uniform(
            n_outputs, bound=bound
        )


def widened(tensor: Tensor, extra: Tensor) -> Tensor:
    """A tensor to learn with more rows at its end."""
    return torch.cat([tensor.detach(), extra.detach()]).requires_grad_()
