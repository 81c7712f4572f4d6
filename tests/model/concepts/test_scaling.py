"""A new scaling map leaves what lines and boxes of a concept network say what it was."""

import numpy as np
import pytest

from devfnn import DEVFNN, Config
from devfnn.kernels.concept_state import BOX_LAYER, CLOUD_LAYER
from devfnn.arrays import Floats
from devfnn.model.concepts.inputs import change_map, layer_inputs
from devfnn.model.concepts.learning import forward
from scenes import CHUNK, run, sloped


def grown(**changes: object) -> tuple[DEVFNN, Floats]:
    """A network with several boxes, and rows."""
    X, _ = sloped(20)
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    units = np.array([50.0, 1e-3, 1.0])
    model = DEVFNN(
        default(chunk_rows=CHUNK, boxes__evidence=5.0).replace(**changes), ["a", "b", "c"]
    )
    run(model, X * units, y.astype(np.int64))
    return model, X * units


def said(model: DEVFNN, X: Floats) -> Floats:
    """What all layers but the clouds say, (k, L, m)."""
    network = model._known()
    return np.delete(forward(network, layer_inputs(network, X, model.config)), CLOUD_LAYER, axis=1)


@pytest.mark.parametrize("shift", [60.0, -200.0])
def test_lines_and_boxes_say_the_same_after_a_jump_of_a_feature(shift: float) -> None:
    model, X = grown()
    network, start = model._known(), 0
    assert network.state.pool.n_members[BOX_LAYER] > 1
    before = said(model, X)
    outside = X[:60] + np.array([shift, 0.0, 0.0])
    n_events = 0
    while (due := network.scaler.absorb(outside, start)) < len(outside):
        events = change_map(network, ["a", "b", "c"], model.config)
        assert {event.feature for event in events} == {"a"}
        n_events, start = n_events + len(events), due + 1
    assert n_events
    np.testing.assert_allclose(said(model, X), before, atol=1e-6)


def test_a_sleeping_feature_stays_out_of_what_layers_say_when_its_range_grows() -> None:
    rng = np.random.default_rng(0)
    X = np.stack([rng.random(3000), np.arange(3000.0)], axis=1)  # the second feature is a clock
    model = DEVFNN(Config(chunk_rows=CHUNK))
    run(model, X, (X[:, 0] > 0.5).astype(np.int64))
    network = model._known()
    assert network.scaler.awake.tolist() == [True, False]
    before = said(model, X[:200])
    assert network.scaler.absorb(X[:60] + np.array([0.0, 10_000.0]), 0) < 60
    change_map(network, ["a", "clock"], model.config)
    np.testing.assert_allclose(said(model, X[:200]), before, atol=1e-9)


def test_what_is_known_of_a_tiny_corner_does_not_shout_over_a_range_a_thousand_times_wider() -> (
    None
):
    rng = np.random.default_rng(20)
    X = rng.random((3000, 2))
    y = X.sum(axis=1) > 1.0
    X[1500:, 1] = 1000.0 * X[1500:, 1]
    y[1500:] = X[1500:, 0] > 0.5
    model = DEVFNN(default(labels__choice="all"))
    for start in range(0, 3000, 500):
        model.learn(X[start : start + 500], y[start : start + 500])
    assert (model.predict(X[2000:]) == y[2000:]).mean() > 0.9


def test_an_absent_feature_lies_in_every_box_and_says_nothing() -> None:
    model, X = grown(missing="skip")
    gap = X[:50].copy()
    gap[:, 2] = np.nan
    other = X[:50].copy()
    other[:, 2] = 1e99
    assert np.isfinite(model.predict_proba(gap)).all()
    nothing = np.full((1, 3), np.nan)
    probabilities = model.predict_proba(nothing)
    assert np.isfinite(probabilities).all() and probabilities.sum() == pytest.approx(1.0)
