"""Networks of fewer kinds of layers than the presets have.

Without clouds they use the kernels of the default. For clouds alone kernels would be compiled, so
they are tested as plain Python.
"""

from typing import Any

import numpy as np
import pytest

from build import only_plain
from devfnn import DEVFNN, Config
from devfnn.model.compiling import name_of
from devfnn.model.config import Labels, Layer
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


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=only_plain if name == "clouds" else ()) for name in CONFIGS]
)
def test_a_network_learns_and_goes_on_bit_for_bit_after_loading(
    name: str, rng: np.random.Generator
) -> None:
    y = rng.integers(0, 2, 600)
    X = np.where(y, 0.8, 0.2)[:, None] + 0.1 * rng.standard_normal((600, 3))
    model = DEVFNN(CONFIGS[name])
    for start in range(0, 500, 50):
        learn = model.learn_rows if start >= 300 else model.learn
        learn(X[start : start + 50], y[start : start + 50])
    assert (model.predict(X[500:]) == y[500:]).mean() > 0.9
    loaded = parse(dump(model))
    for verb in ("learn", "learn_rows"):
        own, other = (getattr(each, verb)(X[500:], y[500:]) for each in (model, loaded))
        assert own == other
    assert dump(loaded) == dump(model)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert "IF" in model.rules()[0].text() and model.explain(X[0]).text()


def test_networks_with_and_without_clouds_share_their_kernels() -> None:
    names = {name: name_of(config) for name, config in CONFIGS.items()}
    assert names.pop("clouds") == "clouds"
    assert set(names.values()) == {name_of(Config())}
    state = Network.empty(2, 2, CONFIGS["a line"]).state
    assert state.clouds is not None and state.clouds.labels.size == 0
