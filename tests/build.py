"""Small layers, settings and batches for tests, made the way the model makes them."""

import dataclasses
import threading
from typing import Any

import numba
import numpy as np

from devfnn.kernels import layers as layer_kernels
from devfnn.kernels import network as network_kernels
from devfnn.arrays import Floats, Ints
from devfnn.kernels.state import ACTIVE, ARCHIVED, OFFERED, Batch, Journal, Layer, Layers, Scratch, Settings
from devfnn.model.config import Config
from devfnn.model.state import Shape, empty_layers, reshaped, scratch_for

IS_COMPILED = not numba.config.DISABLE_JIT

PLAIN = {
    "network": "stacked",
    "conflict_threshold": 0.95,
    "active_learning": False,
    "plain_first": False,
    "training": "winner",
    "voting_weights": "reward",
}
"""What a layer does in tests unless they say otherwise, whatever the defaults of the model."""


def count(compiled: int, plain: int) -> int:
    """How many rows: fewer where kernels run as plain Python, a hundred times slower."""
    return compiled if IS_COMPILED else plain


def scratch_of(shape: Shape) -> Scratch:
    """Working memory that holds nothing sensible: kernels must not read what they did not write."""
    scratch = scratch_for(shape, threading.get_ident())
    for array in scratch:
        array.fill(np.nan if array.dtype == np.float64 else 1)
    return scratch


def batch_of(
    rows: Floats,
    labels: Ints,
    weights: Floats | None = None,
    draws: Floats | None = None,
    labelled: int = OFFERED,
) -> Batch:
    """Rows to learn, of weight 1, offered, and never drawn for exploration unless told."""
    ones = np.ones(len(rows))
    return Batch(
        np.ascontiguousarray(rows, dtype=np.float64),
        np.ascontiguousarray(labels, dtype=np.int64),
        ones if weights is None else np.ascontiguousarray(weights, dtype=np.float64),
        ones if draws is None else np.ascontiguousarray(draws, dtype=np.float64),
        np.full(len(rows), labelled, np.int64),
    )


def journal_of(n_rows: int, shape: Shape) -> Journal:
    """Room for what kernels report."""
    return Journal(
        outputs=np.zeros((n_rows, shape.layers, shape.classes)),
        errors=np.zeros(n_rows, np.int64),
        taken=np.zeros(n_rows, np.int64),
        rule_events=np.zeros((n_rows * shape.layers, 4), np.int64),
        rule_numbers=np.zeros((n_rows * shape.layers, 4)),
        n_events=np.zeros(1, np.int64),
    )


@dataclasses.dataclass
class Stack:
    """Layers with everything that kernels need to run on them."""

    layers: Layers
    shape: Shape
    config: Config
    settings: Settings

    @property
    def scratch(self) -> Scratch:
        """Fresh working memory."""
        return scratch_of(self.shape)

    def layer(self, index: int = 0) -> Layer:
        """One layer, as views."""
        return Layer(*(getattr(self.layers, name)[index] for name in Layer._fields))

    def copy(self) -> "Stack":
        """The same, independent of the original."""
        layers = Layers(*(array.copy() for array in self.layers))
        return dataclasses.replace(self, layers=layers)

    def learn(self, batch: Batch, index: int = 0) -> list[tuple[int, ...]]:
        """Train one layer; returns (row, kind, layer, rule) of its new and recalled rules."""
        journal, done = journal_of(len(batch.rows), self.shape), 0
        while True:
            done = layer_kernels.learn_layer(
                self.layers, index, self.settings, batch, journal, self.scratch, done
            )
            if done == len(batch.rows):
                return events_of(journal)
            self._double_slots()

    def learn_rows(self, batch: Batch) -> Journal:
        """Row by row through the whole stack: votes, then the winner."""
        journal, done = journal_of(len(batch.rows), self.shape), 0
        while True:
            done = network_kernels.learn_rows(
                self.layers, self.settings, batch, journal, self.scratch, done
            )
            if done == len(batch.rows):
                return journal
            self._double_slots()

    def forward(self, rows: Floats) -> tuple[Floats, Floats]:
        """Outputs (k, L, m) of all layers and the stacked inputs (k, n) of the deepest."""
        outputs = np.empty((len(rows), self.shape.layers, self.shape.classes))
        stacked = np.empty((len(rows), self.shape.inputs))
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        network_kernels.forward(self.layers, self.settings, rows, outputs, stacked, self.scratch)
        return outputs, stacked

    def _double_slots(self) -> None:
        """More room for rules, as the model makes it."""
        wider = dataclasses.replace(self.shape, slots=2 * self.shape.slots)
        self.layers = reshaped(self.layers, self.shape, wider, self.config)
        self.shape = wider


def events_of(journal: Journal) -> list[tuple[int, ...]]:
    """The lines of a journal about rules: (row, kind, layer, rule)."""
    lines = journal.rule_events[: journal.n_events[0]]
    return [tuple(int(value) for value in line) for line in lines]


def stack(features: int, classes: int, n_layers: int = 1, slots: int = 2, **changes: Any) -> Stack:
    """Layers without rules. Other arguments change the configuration."""
    config = Config(**(PLAIN | {"initial_layers": n_layers} | changes))
    shape = Shape(n_layers, slots, features, classes)
    layers = empty_layers(shape, config)
    return Stack(layers, shape, config, config.kernel_settings(shape.inputs))


def random_metric(rng: np.random.Generator, n: int, width: float = 0.3) -> Floats:
    """A covariance of full rank."""
    mixing = rng.normal(size=(n, n))
    metric: Floats = width**2 * (mixing @ mixing.T / n + 0.2 * np.eye(n))
    return metric


def fill_rule(layer: Layer, rule: int, rng: np.random.Generator, is_archived: bool = False) -> None:
    """Put a random but sound rule into a slot."""
    n, m = int(layer.n_inputs[0]), layer.class_counts.shape[1]
    size = 2 * n + 1
    cov = random_metric(rng, n)
    layer.status[rule] = ARCHIVED if is_archived else ACTIVE
    layer.centers[rule, :n] = rng.random(n)
    layer.covs[rule, :n, :n] = cov
    inverse = np.linalg.inv(cov)
    layer.inverse_covs[rule, :n, :n] = 0.5 * (inverse + inverse.T)
    layer.log_volumes[rule] = 0.5 * np.linalg.slogdet(cov)[1]
    layer.populations[rule] = rng.uniform(1.0, 100.0)
    layer.class_counts[rule] = rng.integers(1, 50, m)
    layer.consequents[rule, :, :size] = rng.normal(size=(m, size))
    layer.gain_covs[rule, :size, :size] = random_metric(rng, size)
    layer.densities[rule] = [rng.uniform(1.0, 5.0), rng.uniform(0.0, 5.0), 0.7]
    layer.potentials[rule] = [rng.uniform(1.0, 5.0), rng.uniform(0.0, 5.0)]
    layer.utilities[rule] = rng.random()


def filled_stack(
    rng: np.random.Generator,
    features: int,
    classes: int,
    rules: tuple[int, ...],
    **changes: Any,
) -> Stack:
    """Layers with random rules; `rules` says how many each layer has."""
    slots = max(*rules, 2)
    made = stack(features, classes, len(rules), slots, **changes)
    for index, n_rules in enumerate(rules):
        for rule in range(n_rules):
            fill_rule(made.layer(index), rule, rng)
    return made


def blobs(rng: np.random.Generator, n_rows: int, n: int, m: int) -> tuple[Floats, Ints]:
    """Rows in [0, 1] whose classes lie in overlapping clouds, and whose range grows with time."""
    labels = rng.integers(0, m, n_rows)
    middles = rng.uniform(0.25, 0.75, (m, n))
    reach = np.linspace(0.04, 0.16, n_rows)[:, None]
    rows = middles[labels] + reach * rng.normal(size=(n_rows, n))
    return np.clip(rows, -0.5, 1.5), labels
