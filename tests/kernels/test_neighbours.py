"""Neighbours and the window: kernels against slow, obvious NumPy."""

import numpy as np
import pytest

from build import only_plain
from devfnn import DEVFNN, Config
from devfnn.kernels import neighbours as kernels
from devfnn.model.config import Layer
from devfnn.model.network import Network
from devfnn.model.rows import Rows


def learned(rng: np.random.Generator, n_rows: int = 400, gaps: float = 0.0, m: int = 3) -> Network:
    """A network of a line and neighbours that has learned some rows, more than its window holds."""
    start = Config(layers=(Layer("line"), Layer("neighbours")), resting=None)
    model = DEVFNN(start.replace(labels__choice="all", window__rows=200, missing="skip"))
    X = rng.random((n_rows, 4))
    y = (X[:, 0] * m).astype(int)
    X[rng.random(X.shape) < gaps] = np.nan
    weights = rng.integers(1, 4, n_rows).astype(float)
    for first in range(0, n_rows, 50):
        part = slice(first, first + 50)
        model.learn(X[part], y[part], weights[part])
    network = model._network
    assert network is not None
    return network


def shares_of(network: Network, row: np.ndarray) -> np.ndarray:
    """What the nearest rows say, from the text of the module."""
    window, own = network.state.window, network.state.neighbours
    params, m = network.config.neighbours, own.class_weights.size
    count = min(int(window.count[0]), window.labels.size)
    rows, single = window.rows[:, :count].astype(float), row.astype(np.float32).astype(float)
    parts = own.scales[:, None] * (single[:, None] - rows) ** 2
    known = ~np.isnan(parts)
    means = np.array(
        [
            part[is_known].mean() if is_known.any() else 0.0
            for part, is_known in zip(parts, known, strict=True)
        ]
    )
    parts = np.where(known, parts, means[:, None])
    parts[np.isnan(row)] = 0.0
    distances = parts.sum(axis=0)
    nearest = np.argsort(distances, kind="stable")[: params.count]
    last = max(distances[nearest[-1]], 1e-20)
    closeness = 1.0 / (np.sqrt(distances[nearest] / last) + params.softness)
    closeness *= window.weights[nearest]
    said = params.prior * (own.class_weights + 1.0) / (own.weight[0] + m)
    said += np.bincount(window.labels[nearest], closeness, m)
    return said / said.sum()


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_neighbours_say_what_the_nearest_rows_are(rng, gaps) -> None:
    network = learned(rng, gaps=gaps)
    X = rng.random((30, 4))
    X[rng.random(X.shape) < gaps] = np.nan
    inputs = network.inputs_of(X)
    outputs, _ = network.forward(inputs)
    wanted = np.array([shares_of(network, row) for row in inputs])
    np.testing.assert_allclose(outputs[:, 1], wanted, atol=2e-4)


def test_a_feature_counts_by_how_it_tells_classes_apart(rng) -> None:
    network = learned(rng)
    window, own = network.state.window, network.state.neighbours
    rows, labels, weights = window.rows.astype(float), window.labels, window.weights
    for feature in range(4):
        values = rows[feature]
        mean = np.average(values, weights=weights)
        variance = np.average((values - mean) ** 2, weights=weights)
        between = sum(
            weights[labels == k].sum()
            * (np.average(values[labels == k], weights=weights[labels == k]) - mean) ** 2
            for k in range(3)
        )
        share = between / weights.sum() / variance
        np.testing.assert_allclose(own.scales[feature], (share + 0.02) / variance, rtol=1e-4)
    assert own.scales[0] > 10.0 * own.scales[1:].max()
    assert own.weight[0] == weights.sum()


def test_the_window_holds_the_newest_rows(rng) -> None:
    network = learned(rng, 350, m=2)
    window = network.state.window
    X = np.random.default_rng(5).random((30, 4))
    inputs = network.inputs_of(X)
    assert int(window.count[0]) == 350 and window.labels.size == 200
    network.learn_chunk(Rows(X, np.ones(30, np.int64), np.full(30, 2.0)), np.full(30, 2), [])
    places = np.arange(350, 380) % 200
    np.testing.assert_allclose(window.rows[:, places].T, inputs, rtol=1e-6)
    assert (window.labels[places] == 1).all() and (window.weights[places] == 2.0).all()


@only_plain
@pytest.mark.parametrize("count", [0, 3, 10, 64, 700, 1000])
def test_the_nearest_are_found_block_by_block(rng, count) -> None:
    distances = rng.integers(0, 200, 1000).astype(np.float32)
    lows, nearest = np.empty(1000, np.float32), np.zeros(10, np.int64)
    taken = kernels.take_nearest(distances, count, lows, nearest)
    wanted = np.sort(distances[:count])[:10]
    assert taken == wanted.size and np.array_equal(distances[nearest[:taken]], wanted)
    assert np.unique(nearest[:taken]).size == taken
