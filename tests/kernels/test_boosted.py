"""Boosted trees: kernels against slow, obvious NumPy."""

import numpy as np
import pytest

from build import only_plain
from devfnn import DEVFNN, Config
from devfnn.kernels import boosted as kernels
from devfnn.kernels.state import N_EDGES
from devfnn.model.config import Layer
from devfnn.model.network import Network
from devfnn.model.state import work_for


def config(depth: int = 3, **changes: object) -> Config:
    """A line beside trees of a short window."""
    trees = Layer("boosted", memory=300.0, trees=6, max_trees=9, rate=0.3)
    start = Config(layers=(Layer("line"), trees), resting=None)
    return start.replace(
        labels__choice="all", window__rows=400, boosted__depth=depth, boosted__step_rows=100.0
    ).replace(**changes)


def stream(rng: np.random.Generator, n_rows: int, m: int = 2, gaps: float = 0.0):
    """Rows whose labels follow from where two features cross."""
    X = rng.random((n_rows, 3))
    y = ((X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.3) * (m - 1)) % m
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y


def learned(rng: np.random.Generator, m: int = 2, gaps: float = 0.0, n_rows: int = 500) -> Network:
    """A network that has learned some rows by chunks."""
    model = DEVFNN(config(missing="skip"))
    X, y = stream(rng, n_rows, m, gaps)
    for start in range(0, n_rows, 100):
        model.learn(X[start : start + 100], y[start : start + 100])
    network = model._network
    assert network is not None
    return network


def scores_of(network: Network, rows: np.ndarray) -> np.ndarray:
    """What all trees say of rows: leaf by leaf, from the text of the module."""
    own = network.state.boosted
    said = np.tile(own.bases[0], (len(rows), 1))
    for tree in range(min(int(own.grown[0]), len(own.owners))):
        for number, row in enumerate(rows.astype(np.float32)):
            node = 0
            while node < own.features.shape[1]:
                value = row[own.features[tree, node]]
                is_left = value <= own.thresholds[tree, node]
                if np.isnan(value):
                    is_left = own.lefts[tree, node]
                node = 2 * node + (1 if is_left else 2)
            said[number] += own.scales[tree] * own.leaves[tree, node - own.features.shape[1]]
    return said


def softmax(logits: np.ndarray) -> np.ndarray:
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("m", "gaps"), [(2, 0.0), (3, 0.0), (2, 0.2), (4, 0.2)])
def test_trees_say_what_their_leaves_add_up_to(rng, m, gaps) -> None:
    network = learned(rng, m, gaps)
    X, _ = stream(rng, 40, m, gaps)
    inputs = network.inputs_of(X)
    outputs, _ = network.forward(inputs)
    np.testing.assert_allclose(outputs[:, 1], softmax(scores_of(network, inputs)), atol=1e-6)


@pytest.mark.parametrize(("m", "gaps"), [(2, 0.0), (3, 0.2)])
def test_scores_of_the_window_are_what_the_trees_say_of_its_rows(rng, m, gaps) -> None:
    network = learned(rng, m, gaps)
    window, own = network.state.window, network.state.boosted
    newest = (int(window.count[0]) - 1 - np.arange(300)) % 400
    wanted = scores_of(network, window.rows[:, newest].T)
    found = own.scores[0, newest]
    centre = lambda scores: scores - scores.mean(axis=1, keepdims=True)  # noqa: E731
    np.testing.assert_allclose(centre(found), centre(wanted), atol=2e-4)


def test_trees_find_what_a_line_cannot(rng) -> None:
    """The inside of a square. Over the fields of a chessboard the first cut would be luck."""
    model = DEVFNN(config(), classes=[0, 1])
    X = rng.random((1500, 3))
    y = (np.abs(X[:, :2] - 0.5).max(axis=1) < 0.35).astype(int)
    for start in range(0, 1400, 100):
        model.learn(X[start : start + 100], y[start : start + 100])
    outputs, _ = model._network.forward(model._network.inputs_of(X[1400:]))
    right = (outputs.argmax(axis=2) == y[1400:, None]).mean(axis=0)
    assert right[0] < 0.75 < 0.9 < right[1]


@only_plain
def test_a_split_is_the_best_of_all_cuts(rng) -> None:
    network = learned(rng, 2, 0.1)
    params = network.params.boosted
    bins = rng.normal(size=(N_EDGES + 2, 2)).astype(np.float32)
    bins[:, 1] = np.abs(bins[:, 1]) + 0.2
    best = np.array([[0.0, -1.0, 0.0, 0.0]])
    kernels.find_split(bins, 1, 0, params, best)
    lost, known = bins[-1], bins[:-1].astype(np.float64)
    total = bins.astype(np.float64).sum(axis=0)

    def worth(part: np.ndarray) -> float:
        return part[0] ** 2 / (part[1] + params.ridge)

    found = []
    for cut in range(N_EDGES):
        for side in (0, 1):
            left = known[: cut + 1].sum(axis=0) + side * lost
            right = total - left
            if min(left[1], right[1]) >= params.least_curvature:
                found.append((worth(left) + worth(right) - worth(total), cut, side))
    gain, cut, side = max(found)
    np.testing.assert_allclose(best[0], [gain, 1, cut, side], rtol=1e-5)


@only_plain
def test_leaves_are_damped_newton_steps(rng) -> None:
    network = learned(rng, 3)
    window, own, params = network.state.window, network.state.boosted, network.params.boosted
    work = work_for(network._work_key, 0).boosted
    count, leaves = 200, rng.integers(0, 8, 200)
    work.columns[:count], work.nodes[:count] = np.arange(count), leaves
    work.said[:count] = rng.dirichlet(np.ones(3), count)
    kernels.fill_leaves(window, own, 0, count, 0.3, params, work)
    for leaf in range(8):
        rows = np.flatnonzero(leaves == leaf)
        said, is_own = work.said[rows], np.eye(3)[window.labels[rows]]
        slope, curvature = (is_own - said).sum(axis=0), (said * (1.0 - said)).sum(axis=0)
        np.testing.assert_allclose(own.leaves[0, leaf], 0.3 * slope / (curvature + 2.0), rtol=1e-4)
        assert own.covers[0, leaf] == rows.size


@only_plain
def test_bins_hold_equal_shares_of_rows_and_tell_few_values_apart(rng) -> None:
    network = learned(rng)
    window, own = network.state.window, network.state.boosted
    window.rows[0] = rng.random(400) ** 3
    window.rows[1] = rng.integers(0, 3, 400) / 2.0
    values = np.empty(256, np.float32)
    for feature in (0, 1):
        kernels.find_edges(window, own, feature, values)
    kernels.code_window(window, own, 400)
    counts = np.bincount(own.codes[0], minlength=N_EDGES + 1)[: N_EDGES + 1]
    assert counts.max() <= 40 and counts.min() >= 2
    np.testing.assert_allclose(own.edges[1, :2], [0.25, 0.75])
    assert np.isnan(own.edges[1, 2:]).all()
    assert np.array_equal(own.codes[1], np.round(window.rows[1] * 2.0))


@only_plain
def test_random_numbers_are_even(rng) -> None:
    seed, draws = kernels.first_random(7, 1, 3), []
    for _ in range(4000):
        seed = kernels.next_random(seed)
        draws.append(seed / kernels.MODULUS)
    counts = np.histogram(draws, 10, (0.0, 1.0))[0]
    assert abs(np.mean(draws) - 0.5) < 0.02 and counts.min() > 330 and counts.max() < 470
