"""Streams made for one mechanism each, the networks that learn them, and a way to run them."""

import dataclasses
from collections.abc import Iterator
from typing import Any, TypeVar

import numba
import numpy as np
import pytest

from devfnn import DEVFNN, Config
from devfnn.arrays import Floats, Ints
from devfnn.events import Event
from devfnn.kernels.state import NO_LAYER, NO_OWNER, STEPS
from devfnn.model import presets
from devfnn.model.config import Layer
from devfnn.parameters import Section

IS_COMPILED = not numba.config.DISABLE_JIT

CHUNK = 200
EAGER: dict[str, Any] = {"drift__significance": 1e-2, "drift__warning": 0.1, "drift__horizon": 1.0}
"""Parameters with which a stacked network grows soon."""
ONE_CLOUD: dict[str, Any] = {"clouds__max_rules": 1}
"""Clouds that can tell nothing: instead of none, for which other kernels would be compiled."""
NETWORKS = {"swift": presets.swift(), "stacked": presets.stacked()}
"""Networks of all kinds of layers."""
each_network = pytest.mark.parametrize("network", NETWORKS)
"""For tests of what every model promises."""
QUICK_LINE, BRISK_LINE, STEADY_LINE, LIVELY_CURVE, CALM_CURVE, BOX_LAYER, CLOUD_LAYER = range(7)
"""Layers of `swift`."""
FIRST_KEPT = 7
"""The first place for layers that `swift` keeps."""
E = TypeVar("E", bound=Event)


def count(compiled: int, plain: int) -> int:
    """How many rows: fewer where kernels run as plain Python, a hundred times slower."""
    return compiled if IS_COMPILED else plain


def config_of(network: str, **changes: Any) -> Config:
    """One of these networks, but for some changes."""
    return NETWORKS[network].replace(**changes)


def swift(**changes: Any) -> Config:
    """The preset `swift`, but for some changes."""
    return config_of("swift", **changes)


def stacked(**changes: Any) -> Config:
    """The network of stacked rule layers, with the levels its scenes were made for."""
    return config_of("stacked", labels__certainty=0.95, drift__significance=1e-8).replace(**changes)


def stack_of(n_layers: int, plain_first: bool = True, inputs: Any = "settled") -> tuple[Layer, ...]:
    """Gaussian layers, of which the first of several may keep a single rule."""
    plain = [plain_first and n_layers > 1] + [False] * (n_layers - 1)
    return tuple(
        Layer("gaussian", name="rules", inputs=inputs, single_rule=is_plain) for is_plain in plain
    )


def fields_of(config: Config) -> dict[str, "dataclasses.Field[Any]"]:
    """The parameters that a configuration has, by flat name; without those of layers."""
    found = {}
    for field in dataclasses.fields(config):
        section = getattr(config, field.name)
        if isinstance(section, Section):
            own = dataclasses.fields(section)  # type: ignore[arg-type]
            found |= {f"{field.name}__{each.name}": each for each in own}
        elif field.metadata:
            found[field.name] = field
    return found


def change(model: DEVFNN, **changes: Any) -> None:
    """Let a model go on with other parameters, which users cannot."""
    model.config = model._known().config = model.config.replace(**changes)
    model._known()._fit_params()


def keep_copy(model: DEVFNN, source: int) -> int:
    """Keep a layer of lines or boxes as after a drift, and say where; compiles nothing."""
    state = model._known().state
    layers, pool = state.layers, state.pool
    assert pool is not None
    place = int(np.flatnonzero(layers.kinds == NO_LAYER)[0])
    pool.n_members[place] = pool.n_members[source]
    for number, rule in enumerate(pool.members[source, : pool.n_members[source]]):
        copy = int(np.flatnonzero(pool.owners == NO_OWNER)[0])
        for name in pool._fields:
            if name not in ("owners", "members", "n_members", "caps"):
                getattr(pool, name)[copy] = getattr(pool, name)[rule]
        pool.owners[copy] = place
        pool.members[place, number] = copy
    for array in (layers.kinds, layers.origins, layers.scores):
        array[place] = array[source]
    layers.rests[place] = 0
    layers.last_wins[place] = state.progress.counts[STEPS]
    return place


def chunks(X: Floats, y: Any, size: int = CHUNK) -> Iterator[tuple[Floats, Any]]:
    """A stream in chunks."""
    for start in range(0, len(X), size):
        yield X[start : start + size], y[start : start + size]


def run(model: DEVFNN, X: Floats, y: Any, verb: str = "learn") -> list[Event]:
    """Learn a stream chunk by chunk; returns all events."""
    events: list[Event] = []
    for rows, labels in chunks(X, y):
        events += getattr(model, verb)(rows, labels)
    return events


def prequential(model: DEVFNN, X: Floats, y: Any) -> Floats:
    """Accuracy on every chunk but the first, before it is learned."""
    accuracies = []
    for rows, labels in chunks(X, y):
        if model.n_rows:
            accuracies.append((model.predict(rows) == labels).mean())
        model.learn(rows, labels)
    return np.array(accuracies)


def of_kind(events: list[Event], kind: type[E]) -> list[E]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def sloped(n_chunks: int, features: int = 3, seed: int = 1) -> tuple[Floats, Ints]:
    """A stationary stream: the first two features decide."""
    X = np.random.default_rng(seed).random((n_chunks * CHUNK, features))
    return X, (X[:, 0] + X[:, 1] > 1.0).astype(np.int64)


def flipped(n_chunks: int, seed: int = 1) -> tuple[Floats, Ints]:
    """The same, with labels that flip after half of the chunks."""
    X, y = sloped(n_chunks, seed=seed)
    return X, np.where(np.arange(len(y)) < len(y) // 2, y, 1 - y)


def noisy(y: Ints, share: float, seed: int = 2) -> Ints:
    """Some of the labels flipped at random."""
    return np.where(np.random.default_rng(seed).random(len(y)) < share, 1 - y, y)


def clusters(n_chunks: int, which: str, spread: float = 0.04, seed: int = 1) -> tuple[Floats, Ints]:
    """Rows around far-apart centres; `which` names the centres of the chunks, cyclically.

    a: lower left, b: upper right, and ab: both. Inside each, the classes lie side by side, in
    opposite order.
    """
    rng = np.random.default_rng(seed)
    X, y = [], []
    for chunk in range(n_chunks):
        names = which.split()[chunk % len(which.split())]
        is_upper = rng.integers(0, 2, CHUNK) if names == "ab" else np.full(CHUNK, names == "b")
        offsets = spread * rng.standard_normal((CHUNK, 2))
        X.append(np.where(is_upper[:, None], 0.85, 0.15) + offsets)
        y.append((offsets[:, 0] > 0.0) ^ is_upper.astype(bool))
    return np.concatenate(X), np.concatenate(y).astype(np.int64)


def eventful(n_rows: int) -> tuple[Floats, list[str]]:
    """Rows in which something happens all the time.

    Features: one that matters, one that widens, a clock that turns back, one that is constant until
    it wakes. Labels: two classes that swap, and a third and a fourth that come late.
    """
    rng, time = np.random.default_rng(4), np.arange(n_rows) / n_rows
    X = rng.random((n_rows, 4))
    X[:, 1] *= np.where(time > 0.35, 40.0, 1.0)
    X[:, 2] = np.where(time < 0.82, time**2, 3.5 * (1.0 - time))
    X[:, 3] *= time > 0.6
    codes = (X[:, 0] > 0.5) ^ (time > 0.5)
    labels = np.where(codes, "high", "low").astype(object)
    labels[(time > 0.2) & (rng.random(n_rows) < 0.05)] = "third"
    labels[(time > 0.8) & (rng.random(n_rows) < 0.05)] = "fourth"
    return X, list(labels)
