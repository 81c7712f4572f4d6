"""The surface: its kernels against slow, obvious NumPy."""

import numpy as np
import pytest

from devfnn import DEVFNN, Config
from devfnn.model.config import Labels, Layer
from devfnn.model.network import Network
from reference import softmax
from rival_parts import capped, learned_logistic
from rival_same import unpacked

ALONE = Config(
    layers=(Layer("line"), Layer("surface")), labels=Labels(choice="all"), resting=None
).replace(missing="skip", scaling="none", growing=None, drift=None, merging=None)
"""A surface beside a line, on rows in [0, 1]."""


def terms(row: np.ndarray, has_products: bool = True) -> np.ndarray:
    """1, lines, squares (Chebyshev) and products of pairs in [-1, 1]; absent features give 0."""
    t = 2.0 * row - 1.0
    parts = [[1.0], t]
    if has_products:
        parts += [2.0 * t**2 - 1.0, [t[j] * t[k] for j in range(t.size) for k in range(j)]]
    return np.nan_to_num(np.concatenate(parts), nan=0.0)


def learned(rng: np.random.Generator, n: int = 4, m: int = 3, **changes: object) -> Network:
    """A network that has learned some rows."""
    model = DEVFNN(ALONE.replace(**changes))
    X, y = some_rows(rng, 300, n, m)
    model.learn(X, y)
    network = model._network
    assert network is not None
    return network


def some_rows(rng: np.random.Generator, n_rows: int, n: int, m: int):
    """Rows some of whose features are absent."""
    X, y = rng.random((n_rows, n)), rng.integers(0, m, n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize(("n", "has_products"), [(1, True), (4, True), (4, False)])
def test_it_says_what_its_weights_make_of_lines_squares_and_products(rng, n, has_products) -> None:
    network = learned(rng, n, surface__max_features=n if has_products else n - 1)
    rows, _ = some_rows(rng, 20, n, 3)
    outputs, _ = network.forward(network.inputs_of(rows))
    for row, said in zip(rows, outputs[:, 1], strict=True):
        wanted = softmax(network.state.surface.weights[0] @ terms(row, has_products))
        np.testing.assert_allclose(said, wanted, rtol=1e-10)


@pytest.mark.parametrize("m", [2, 3])
def test_it_learns_rows_as_its_twin(rng, m) -> None:
    network = learned(rng, 3, m)
    own, memory = network.state.surface, 1.0 - 1.0 / network.config.surface.memory
    weights, gain = own.weights[0].copy(), unpacked(own.gains[0])
    caps = own.caps.copy()
    X, y = some_rows(rng, 40, 3, m)
    heavy = rng.uniform(0.5, 2.0, 40)
    for row, label, weight in zip(X, y, heavy, strict=True):
        rates = (float(weight), memory)
        weights, gain = learned_logistic(weights, gain, terms(row), int(label), rates)
        gain = capped(gain, caps)
    model = DEVFNN(network.config)
    model._network, model._labels = network, DEVFNN(classes=range(m))._labels
    model.learn(X, y, heavy)
    np.testing.assert_allclose(own.weights[0], weights, atol=1e-9)
    np.testing.assert_allclose(unpacked(own.gains[0]), gain, atol=1e-9)
    assert own.ages[0] == 340
    np.testing.assert_allclose(own.class_counts.sum(), 300.0 + heavy.sum())
