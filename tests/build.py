"""Small networks of gaussian layers, and rows for them, made the way the model makes them."""

import copy
import dataclasses
import itertools
from typing import Any

import numba
import numpy as np
import pytest

from devfnn.arrays import Floats, Ints
from devfnn.events import Event
from devfnn.kernels import network as kernels
from devfnn.kernels._jit import view
from devfnn.kernels.state import (
    ACTIVE,
    ARCHIVED,
    OFFERED,
    Batch,
    EventBuffer,
    GaussianParams,
    GaussianState,
    GaussianWork,
    Layers,
)
from devfnn.model.config import ByReward, Config, Labels, Layer
from devfnn.model.layers.gaussian import Gaussian
from devfnn.model.network import Network, event_buffer

IS_COMPILED = not numba.config.DISABLE_JIT

GAUSSIAN_NAMES = {field.name for field in dataclasses.fields(Gaussian)}


only_compiled = pytest.mark.skipif(
    not IS_COMPILED, reason="how well kernels learn takes long as plain Python; twins run there too"
)
"""For statistics of many rows: that plain Python does the same, comparisons with twins show."""

only_plain = pytest.mark.skipif(
    IS_COMPILED, reason="parts of kernels would be compiled for this test alone; plain Python runs"
)
"""For parts that Python never calls: twins are compared with the compiled kernels they are in."""


def count(compiled: int, plain: int) -> int:
    """How many rows: fewer where kernels run as plain Python, a hundred times slower."""
    return compiled if IS_COMPILED else plain


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


@dataclasses.dataclass
class Stack:
    """A network of gaussian layers, and what kernels need to run on it."""

    network: Network

    @property
    def gaussians(self) -> GaussianState:
        """The arrays of all layers."""
        return self.network.state.gaussians

    @property
    def votes(self) -> Layers:
        """Voting weights, decays, and which layers are merged."""
        return self.network.state.layers

    @property
    def params(self) -> GaussianParams:
        """Parameters of gaussian layers."""
        return self.network.params.gaussian

    @property
    def work(self) -> GaussianWork:
        """Working memory that holds nothing sensible: kernels must write before they read."""
        work = self.network.work
        parts = [part if isinstance(part, tuple) else (part,) for part in work]
        for array in itertools.chain.from_iterable(parts):
            array.fill(np.nan if array.dtype.kind == "f" else 1)
        return work.gaussian

    def layer(self, index: int = 0) -> GaussianState:
        """One layer, as views."""
        return view(self.gaussians, index)

    def copy(self) -> "Stack":
        """The same, independent of the original."""
        return copy.deepcopy(self)

    def learn(self, batch: Batch, index: int = 0) -> list[Event]:
        """Train one layer on stacked inputs; returns its new and recalled rules."""
        _ = self.work
        return self.network.train(batch, [index])[0]

    def learn_rows(self, batch: Batch) -> tuple[EventBuffer, Floats]:
        """Row by row through all layers; returns what was reported, and outputs before each row."""
        network, n_rows, done = self.network, len(batch.rows), 0
        events = event_buffer(n_rows, n_rows * network.sizes.layers)
        outputs = np.full((n_rows, network.sizes.layers, network.n_classes), np.nan)
        while True:
            _ = self.work
            own = network.held(batch, events)
            done = kernels.learn_rows(*own, outputs, done)
            if done == n_rows:
                return events, outputs
            network.resize(slots=2 * network.sizes.slots)

    def forward(self, rows: Floats) -> tuple[Floats, Floats]:
        """Outputs (k, L, m) of all layers, and the stacked inputs (k, i) of the deepest."""
        _ = self.work
        return self.network.forward(np.ascontiguousarray(rows, dtype=np.float64))


def changed(before: Any, after: Any) -> set[str]:
    """Names of the arrays that differ."""
    return {
        name
        for name, own, other in zip(before._fields, before, after, strict=True)
        if not np.array_equal(own, other)
    }


def stack(features: int, classes: int, n_layers: int = 1, slots: int = 2, **changes: Any) -> Stack:
    """Layers without rules, that learn every row and take in what all before them say.

    Of the changes, those of gaussian layers go by their own name, others as in `Config.replace`.
    """
    config = Config(
        layers=(Layer("gaussian", inputs="all"),) * n_layers,
        training="leader",
        chunk_rows=10**7,  # no structural steps
        scaling="none",
        labels=Labels(choice="layer", certainty=0.95),
        voting=ByReward(),
        drift=None,
        growing=None,
        merging=None,
    )
    named = {"labels__choice": "all"} | {
        f"gaussian__{name}" if name in GAUSSIAN_NAMES else name: value
        for name, value in changes.items()
    }
    network = Network.empty(features, classes, config.replace(**named))
    network.resize(slots=slots)
    return Stack(network)


def random_metric(rng: np.random.Generator, n: int, width: float = 0.3) -> Floats:
    """A covariance of full rank."""
    mixing = rng.normal(size=(n, n))
    metric: Floats = width**2 * (mixing @ mixing.T / n + 0.2 * np.eye(n))
    return metric


def fill_rule(
    layer: GaussianState, rule: int, rng: np.random.Generator, is_archived: bool = False
) -> None:
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
