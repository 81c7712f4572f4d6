"""Networks of other kinds of layers, and mixtures of them, than the presets have.

Without clouds they use the kernels of the default. For clouds alone, and for gaussian layers beside
others, kernels would be compiled, so these are tested as plain Python.
"""

from typing import Any

import numpy as np
import pytest

from build import only_plain
from devfnn import DEVFNN, Config
from devfnn.events import LayerAdded, LayerKept
from devfnn.model.compiling import name_of
from devfnn.model.config import AddLayers, ByCompression, ByLikelihood, Drift, Labels, Layer
from devfnn.model.network import Network
from devfnn.storage import dump, parse
from storage.stored import quick

STILL: dict[str, Any] = {"drift": None, "growing": None, "merging": None}
CONFIGS = {
    "clouds": Config(layers=(Layer("clouds"),), labels=Labels(budget=0.5), chunk_rows=70, **STILL),
    "a line": Config(layers=(Layer("line"),), chunk_rows=70, **STILL),
    "no clouds": Config(chunk_rows=70).replace(clouds=None),
    "no clouds, still": quick(rule_growing=False, growing=False, max_kept=0, forgetting=False),
}

LINES = (Layer("line", memory=300.0), Layer("curve", memory=500.0))
ALL = Labels(choice="all")
STACKED = Layer("gaussian", inputs="all")
MIXED = {
    "on lines": Config(layers=(*LINES, STACKED), chunk_rows=70, **STILL),
    "kept": Config(layers=(Layer("line"), Layer("clouds"), STACKED), chunk_rows=70, labels=ALL),
    "grown": Config(
        layers=(Layer("line"), Layer("boxes"), STACKED),
        chunk_rows=70,
        labels=ALL,
        voting=ByLikelihood(),
        drift=Drift(significance=0.05, repeats=False),
        growing=AddLayers(),
        merging=ByCompression(),
    ),
}
"""Gaussian layers that take in what layers of other kinds say."""
CONFIGS |= MIXED
PLAIN = {"clouds", *MIXED}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=only_plain if name in PLAIN else ()) for name in CONFIGS]
)
def test_a_network_learns_and_goes_on_bit_for_bit_after_loading(
    name: str, rng: np.random.Generator
) -> None:
    n = 250 if name in MIXED else 500
    y = rng.integers(0, 2, n + 100)
    X = np.where(y, 0.8, 0.2)[:, None] + 0.1 * rng.standard_normal((n + 100, 3))
    model = DEVFNN(CONFIGS[name])
    for start in range(0, n, 50):
        learn = model.learn_rows if start >= n // 2 else model.learn
        learn(X[start : start + 50], y[start : start + 50])
    assert (model.predict(X[n:]) == y[n:]).mean() > 0.9
    loaded = parse(dump(model))
    for verb in ("learn", "learn_rows"):
        own, other = (getattr(each, verb)(X[n:], y[n:]) for each in (model, loaded))
        assert own == other
    assert dump(loaded) == dump(model)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert "IF" in model.rules()[0].text() and model.explain(X[0]).text()


def test_networks_with_and_without_clouds_share_their_kernels() -> None:
    names = {name: name_of(config) for name, config in CONFIGS.items() if name not in MIXED}
    assert names.pop("clouds") == "clouds"
    assert set(names.values()) == {name_of(Config())}
    state = Network.empty(2, 2, CONFIGS["a line"]).state
    assert state.clouds is not None and state.clouds.labels.size == 0


def turned(rng: np.random.Generator, n_rows: int) -> tuple[Any, Any]:
    """Rows whose labels turn round half-way."""
    X = rng.uniform(0.0, 10.0, (n_rows, 2))
    return X, (X[:, 0] > 5.0) ^ (np.arange(n_rows) >= n_rows // 2)


@only_plain
@pytest.mark.parametrize(("name", "event"), [("kept", LayerKept), ("grown", LayerAdded)])
def test_mixed_layers_are_kept_or_grown(name: str, event: type, rng: np.random.Generator) -> None:
    (X, y), model, events = turned(rng, 800), DEVFNN(MIXED[name]), []
    for start in range(0, 800, 100):
        events += model.learn(X[start : start + 100], y[start : start + 100])
    assert any(isinstance(each, event) for each in events)
    assert (model.predict(X[700:]) == y[700:]).mean() > 0.85


@only_plain
def test_layers_learn_the_same_below_a_gaussian_layer_that_takes_them_in(
    rng: np.random.Generator,
) -> None:
    (X, y), config = turned(rng, 400), MIXED["on lines"].replace(labels__choice="all")
    mixed, alone = DEVFNN(config), DEVFNN(config.replace(gaussian=None))
    for model in (mixed, alone):
        for start in range(0, 400, 100):
            model.learn(X[start : start + 100], y[start : start + 100])
    networks = [each._known() for each in (mixed, alone)]
    first, second = (each.state.pool for each in networks)
    assert len(alone.config.layers) == 2
    np.testing.assert_array_equal(first.weights[:2], second.weights[:2])
    outputs = networks[0].forward(networks[0].inputs_of(X))[0]
    np.testing.assert_array_equal(outputs[:, :2], networks[1].forward(networks[1].inputs_of(X))[0])
    first.weights[:2] *= -1.0  # what the lines say is turned round
    changed = networks[0].forward(networks[0].inputs_of(X))[0]
    assert np.abs(changed[:, 2] - outputs[:, 2]).max() > 0.1
    mixed._known().state.gaussians.input_mask[2, 2:] = False
    without = networks[0].forward(networks[0].inputs_of(X))[0]
    first.weights[:2] *= -1.0
    np.testing.assert_array_equal(
        networks[0].forward(networks[0].inputs_of(X))[0][:, 2], without[:, 2]
    )
