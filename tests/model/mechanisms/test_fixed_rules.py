"""A fixed number of rules: as many in each stacked layer as there are features."""

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.kernels.state import ACTIVE
from devfnn.model import presets
from devfnn.model.config import AddLayers, ByCompression, Drift
from devfnn.model.mechanisms.fixed_rules import fill_up
from scenes import flipped, run

STATIC = presets.static().replace(gaussian__rules="fixed", chunk_rows=100)


def rules_of(model: DEVFNN) -> list[int]:
    """Active rules of each layer."""
    return (model._known().state.gaussians.status == ACTIVE).sum(axis=1).tolist()


def blobs(n_features: int, n_rows: int = 300, seed: int = 0):
    """Rows around three places, of which one has its own class."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 3, n_rows)
    return rng.normal(place[:, None] / 3.0, 0.05, (n_rows, n_features)), (place == 1).astype(int)


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize("n_features", [1, 3, 8, 20])
def test_each_layer_has_as_many_rules_as_features(n_features: int, verb: str) -> None:
    model = DEVFNN(STATIC)
    for seed in range(4):
        getattr(model, verb)(*blobs(n_features, seed=seed))
        assert rules_of(model) == 3 * [n_features]
    X, y = blobs(n_features, seed=9)
    assert (model.predict(X) == y).mean() > 0.85


def test_rules_neither_come_nor_go_after_the_first_chunk() -> None:
    first, later = blobs(8), [blobs(8, seed=seed) for seed in range(1, 8)]
    model = DEVFNN(STATIC)
    model.learn(*first)
    places = model._known().state.gaussians.status.copy()
    kinds = set()
    for X, y in later:
        kinds |= {event.kind for event in model.learn(10.0 * X, 1 - y)}
        np.testing.assert_array_equal(model._known().state.gaussians.status, places)
    assert not kinds & {"RuleBorn", "RuleRecalled", "RulePruned"}
    evolving = DEVFNN(STATIC.replace(gaussian__rules="evolving"))
    evolving.learn(*first)
    assert rules_of(evolving) != 3 * [8]


def test_rules_are_tuned_all_the_same() -> None:
    model = DEVFNN(STATIC)
    model.learn(*blobs(4))
    before = model._known().state.gaussians
    centers, weights = before.centers.copy(), before.consequents.copy()
    model.learn(*blobs(4, seed=1))
    after = model._known().state.gaussians
    assert not np.array_equal(after.centers, centers)
    assert not np.array_equal(after.consequents, weights)


def test_missing_rules_are_put_where_no_rule_is_near() -> None:
    model = DEVFNN(
        STATIC.replace(scaling="none", gaussian__rules="evolving", gaussian__max_rules=1)
    )
    X = np.random.default_rng(0).uniform(0.45, 0.55, (200, 2))
    model.learn(X, (X[:, 0] > 0.5).astype(int))
    network = model._known()
    assert rules_of(model) == [1, 1, 1]
    rows = np.full((3, 6), 0.5)
    rows[1, :2] = (9.0, -9.0)
    rows[2, 0] = np.nan
    network.config = STATIC
    network._fit_params()
    fill_up(network, 0, rows)
    assert rules_of(model) == [2, 1, 1]
    layers = network.state.gaussians
    np.testing.assert_array_equal(layers.centers[0, 1, :2], (9.0, -9.0))
    np.testing.assert_array_equal(layers.covs[0, 1], layers.covs[0, 0])
    np.testing.assert_array_equal(layers.consequents[0, 1], layers.consequents[0, 0])
    np.testing.assert_array_equal(np.diag(layers.gain_covs[0, 1])[:5], STATIC.gaussian.later_gain)


def test_rules_that_find_no_row_come_with_a_later_chunk() -> None:
    model = DEVFNN(STATIC)
    X, y = blobs(6)
    model.learn(np.repeat(X[:2], 50, axis=0), np.repeat(y[:2], 50))
    assert max(rules_of(model)) <= 2
    model.learn(X, y)
    assert rules_of(model) == [6, 6, 6]


def test_the_static_network_is_devfnn_with_its_mechanisms_off() -> None:
    X, y = flipped(10)
    predicted = []
    for growing in (False, True):
        never = Drift(significance=1e-300, warning=1e-300, horizon=200.0)
        grows = {"growing": AddLayers(inputs="all"), "drift": never} if growing else {}
        model = DEVFNN(STATIC.replace(training="leader", **grows))
        kinds = {event.kind for event in run(model, X, y)}
        assert "LayerAdded" not in kinds
        predicted.append(model.predict_proba(X))
    np.testing.assert_array_equal(predicted[0], predicted[1])


def test_a_layer_reads_the_rows_and_all_layers_before_it() -> None:
    model = DEVFNN(STATIC)
    model.learn(*blobs(5))
    assert model._known().state.gaussians.n_inputs[:, 0].tolist() == [5, 7, 9]


def test_layers_that_say_the_same_stay() -> None:
    model = DEVFNN(STATIC)
    run(model, *flipped(10))
    assert (model.n_layers, model.n_live_layers) == (3, 3)
    merging = DEVFNN(STATIC.replace(merging=ByCompression(threshold=1.0)))
    run(merging, *flipped(10))
    assert merging.n_live_layers < 3


def test_it_is_saved_with_its_rules(tmp_path) -> None:
    model = DEVFNN(STATIC)
    model.learn(*blobs(4))
    model.save(tmp_path / "model.devfnn")
    loaded = DEVFNN.load(tmp_path / "model.devfnn")
    assert loaded.config.gaussian.rules == "fixed"
    for each in (model, loaded):
        each.learn(*blobs(4, seed=1))
    X, _ = blobs(4, seed=2)
    np.testing.assert_array_equal(model.predict_proba(X), loaded.predict_proba(X))
