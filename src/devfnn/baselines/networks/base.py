"""What all networks for tasks share: parameters, tasks, mini-batches and the choice of a task.

A model is told neither tasks nor their number: a policy begins them. Rows are used as they come;
scale them to [0, 1]. A task may know fewer classes than came later; it gives them probability 0.
"""

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from devfnn.arrays import Floats, Ints
from devfnn.baselines.chunks import ChunkClassifier, random_generator
from devfnn.errors import InputError
from devfnn.events import DriftFound, Event, TaskStarted
from devfnn.model.mechanisms.drift import Level, drift_in_chunk, dynamic_significance
from devfnn.parameters import check_parameters, choice, number

LARGEST_WIDTH = 4096
"""Networks of matched size grow no wider."""

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
    size: Literal["table", "matched"] = choice("table", "or a width that comes near `budget`")
    budget: int = number(1000, 1, 10**9, "parameters of a network of matched size, with all tasks")
    depth: int | None = number(None, 1, 10**6, "hidden layers; None: those of the table")
    width: int | None = number(None, 1, 10**6, "units of a hidden layer; None: those of the table")
    activation: Literal["tanh", "leaky_relu", "relu"] = choice("tanh", "of hidden units")
    optimizer: Literal["adam", "sgd"] = choice("adam", "rule of the gradient steps")
    learning_rate: float | None = number(None, 1e-12, 100.0, "None: 0.01 with adam, 0.2 with sgd")
    epochs: int = number(1, 1, 10**9, "passes over each chunk")
    batch_rows: int = number(32, 1, 10**9, "rows of a mini-batch")
    policy: Literal["blocks", "drift", "chunk"] = choice(
        "blocks", "when a task begins: after blocks of chunks, a drift of the errors, every chunk"
    )
    max_tasks: int | None = number(3, 1, 10**9, "the last task goes on for ever; None: no limit")
    n_chunks: int | None = number(None, 1, 10**12, "all chunks, if known: blocks are equal parts")
    block_chunks: int = number(50, 1, 10**12, "chunks of a block if the length is unknown")
    min_gap: int = number(5, 0, 10**12, "chunks of a task, at least, before a drift ends it")
    drift_significance: float = number(0.09, 1e-300, 0.5, "cap of the level of a drift")
    horizon: float = number(200.0, 1e-9, 1e12, "chunks over which that level rises")
    choice: Literal["latest", "best_prev", "entropy"] = choice(
        "latest", "task that predicts: latest, best on the chunk learned last, of least entropy"
    )

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
        self._best_task = 0
        self._activation: Callable[[Tensor], Tensor] = getattr(
            torch.nn.functional, settings.activation
        )
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
    def _count(self, size: Size, n_features: int, n_classes: int) -> int:
        """Parameters of a network of some size with all its tasks."""

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
        return torch.nn.functional.cross_entropy(scores, batch.codes)

    def _adjust_gradients(self, batch: Batch) -> None:
        """Called between the gradients of a mini-batch and the step."""

    # ---- how a chunk is learned

    @one_thread()
    def _probabilities(self, rows: Floats) -> Floats:
        inputs = torch.from_numpy(rows)
        with torch.no_grad():
            return self._task_probabilities(inputs, self._chosen_task(inputs))

    @one_thread()
    def _learn(self, rows: Floats, codes: Ints, fresh: list[Hashable]) -> list[Event]:
        inputs, targets = torch.from_numpy(rows), torch.from_numpy(codes)
        reasons = self._reasons_for_task(inputs, codes)
        events = self._add_classes(fresh)
        if reasons is not None:
            events += [*reasons, *self._start_task(rows.shape[1])]
        elif fresh:
            self._widen(len(fresh))
            self._renew_optimizer()
        self._train(inputs, targets)
        events += self._end_chunk()
        self._n_chunks += 1
        if self.settings.choice == "best_prev":
            self._best_task = self._most_accurate(inputs, codes)
        return events

    def _reasons_for_task(self, rows: Tensor, codes: Ints) -> list[Event] | None:
        """None if no task begins with this chunk; else the drift that is the reason, if any."""
        given = self.settings
        if not self.n_tasks:
            return []
        if given.max_tasks is not None and self.n_tasks >= given.max_tasks:
            return None
        if given.policy == "drift":
            return self._drift(rows, codes)
        if given.n_chunks is None or given.max_tasks is None:
            block = self._n_chunks // given.block_chunks
        else:
            block = self._n_chunks * given.max_tasks // given.n_chunks
        return [] if given.policy == "chunk" or block >= self.n_tasks else None

    def _drift(self, rows: Tensor, codes: Ints) -> list[Event] | None:
        """The printed test of the paper on the errors of the chunk, before it is learned."""
        given = self.settings
        if self._n_chunks - self._task_start < given.min_gap:
            return None
        with torch.no_grad():
            answers = self._task_probabilities(rows, self._chosen_task(rows)).argmax(axis=1)
        errors = (answers != codes).astype(np.int64)
        level = dynamic_significance(self._n_chunks, given.horizon, given.drift_significance)
        found = drift_in_chunk(errors, level, level, one_sided=False)
        if found.level is not Level.DRIFT:
            return None
        numbers = (found.error_before, found.error_after, found.bound, found.cut)
        return [DriftFound(self._n_rows, *numbers)]

    def _start_task(self, n_features: int) -> list[Event]:
        n_classes = len(self._labels)
        if not self.n_tasks:
            self.size = self._first_size(n_features, max(n_classes, 2))
        for tensor in self._parts()[1][-1] if self.n_tasks else ():
            tensor.requires_grad_(False)
            tensor.grad = None
        self.n_tasks += 1
        self._task_start = self._n_chunks
        events = list(self._begin_task(n_classes))
        self._renew_optimizer()
        if self.n_tasks > 1:
            task, policy = self.n_tasks - 1, self.settings.policy
            events.insert(0, TaskStarted(self._n_rows, task, policy, self.n_rules))
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
        self._loss(batch).backward()  # type: ignore[no-untyped-call]
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

    # ---- which task predicts

    def _task_probabilities(self, rows: Tensor, task: int) -> Floats:
        """The answer of a task; classes that it does not know have probability 0."""
        known = self.task_logits(rows, task).softmax(dim=1).numpy()
        return np.pad(known, ((0, 0), (0, len(self._labels) - known.shape[1])))

    def _chosen_task(self, rows: Tensor) -> int:
        """The task that predicts these rows; their labels are not known."""
        if self.settings.choice == "best_prev":
            return self._best_task
        if self.settings.choice == "entropy" and len(rows):
            logs = [self.task_logits(rows, task).log_softmax(dim=1) for task in range(self.n_tasks)]
            return _last_of_least([float(-(each.exp() * each).sum(dim=1).mean()) for each in logs])
        return self.n_tasks - 1

    def _most_accurate(self, rows: Tensor, codes: Ints) -> int:
        """The task with the fewest errors on a chunk that was learned, the newest of equals."""
        with torch.no_grad():
            answers = [self._task_probabilities(rows, task) for task in range(self.n_tasks)]
        return _last_of_least([np.mean(answer.argmax(axis=1) != codes) for answer in answers])

    # ---- its size, and the weights it starts from

    def _first_size(self, n_features: int, n_classes: int) -> Size:
        given = self.settings
        listed = TABLE[type(self).__name__].get(given.stream or "")
        usual = listed or self._usual_size(n_features, n_classes)
        depth, width = given.depth or usual.depth, given.width
        if width is None and given.size == "matched":
            return self._matched_size(depth, n_features, n_classes)
        return Size(depth, width or usual.width)

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

    @staticmethod
    def _hidden_count(size: Size, n_features: int) -> int:
        """Weights and biases of these layers."""
        depth, width = size
        return n_features * width + width + (depth - 1) * (width * width + width)


def _last_of_least(values: Sequence[float]) -> int:
    return len(values) - 1 - int(np.argmin(values[::-1]))
