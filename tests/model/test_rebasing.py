"""A new scaling map leaves what every layer says what it was."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from build import Stack, batch_of, blobs, stack
from devfnn import DEVFNN
from devfnn.arrays import Flags, Floats
from devfnn.kernels.state import ARCHIVED
from devfnn.model.layers import gaussian
from devfnn.model.scaling import WILD_ABOVE, Change, chebyshev_basis
from scenes import (
    BOX_LAYER,
    CHUNK,
    CLOUD_LAYER,
    config_of,
    each_network,
    run,
    sloped,
    stacked,
    swift,
)
from twin import slow_copy

ALL = np.ones(3, np.bool_)


def change_of(features: list[int], factors: list[float], shifts: list[float]) -> Change:
    """A change of map."""
    return Change(np.array(features, np.int64), np.array(factors), np.array(shifts))


def rebase(made: Stack, change: Change, used: Flags = ALL) -> None:
    """Carry layers over to a new map."""
    gaussian.rebase(made.network.state, change, used, True, made.network.config)


def moved(rows: Floats, change: Change) -> Floats:
    """Old scaled rows in the units of the new map."""
    rows = rows.copy()
    rows[:, change.features] = (rows[:, change.features] - change.shifts) / change.factors
    return rows


def trained_stack(rng: np.random.Generator, **changes: object) -> Stack:
    """Three layers that have learned, with several rules, one of them archived."""
    made = stack(
        3, 2, 3, **({"first_precision": 30.0, "vigilance": 0.3, "training": "all"} | changes)
    )
    made.learn_rows(batch_of(*blobs(rng, 200, 3, 2)))
    assert (made.layer(0).status == 1).sum() > 1
    made.layer(0).status[1] = ARCHIVED
    return made


CHANGE = change_of([0, 2], [1.7, 0.6], [-0.3, 0.25])


@given(
    st.lists(st.floats(-0.5, 1.5), min_size=3, max_size=3),
    st.lists(st.floats(0.1, 10.0), min_size=2, max_size=2),
    st.lists(st.floats(-5.0, 5.0), min_size=2, max_size=2),
)
@settings(deadline=None, derandomize=True)
def test_the_basis_relates_the_expansions(
    new: list[float], factors: list[float], shifts: list[float]
) -> None:
    change = change_of([0, 2], factors, shifts)
    old = np.array(new)
    old[[0, 2]] = change.factors * old[[0, 2]] + change.shifts
    expected = reference.expanded(old)
    own = reference.expanded(np.array(new)) @ chebyshev_basis(
        change, ALL, 1 + 2 * np.arange(3), 2 + 2 * np.arange(3)
    )
    np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("consequent", ["logistic", "least_squares"])
def test_outputs_of_a_trained_stack_stay_what_they_were(
    rng: np.random.Generator, consequent: str
) -> None:
    made = trained_stack(rng, consequent=consequent)
    rows = blobs(rng, 100, 3, 2)[0]
    before, _ = made.forward(rows)
    rebase(made, CHANGE)
    after, _ = made.forward(moved(rows, CHANGE))
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_outputs_with_an_input_switched_off_stay_what_they_were(
    rng: np.random.Generator,
) -> None:
    made = trained_stack(rng)
    made.gaussians.input_mask[:, 1] = False
    rows = blobs(rng, 50, 3, 2)[0]
    before, _ = made.forward(rows)
    used = np.array([True, False, True])
    rebase(made, change_of([0, 1], [2.0, 3.0], [0.1, -0.7]), used)
    after, _ = made.forward(moved(rows, change_of([0], [2.0], [0.1])))
    np.testing.assert_allclose(after, before, atol=1e-9)


@pytest.mark.parametrize("times", [2, 3])
def test_several_changes_in_a_row_leave_the_outputs(rng: np.random.Generator, times: int) -> None:
    # A jump of a feature takes several changes, with no row learned in between.
    made = trained_stack(rng)
    rows = blobs(rng, 100, 3, 2)[0]
    before, _ = made.forward(rows)
    for _ in range(times):
        change = change_of([0], [1.6], [0.0])
        rebase(made, change)
        rows = moved(rows, change)
    after, _ = made.forward(rows)
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_distances_volumes_and_qualities_fit_the_new_map(rng: np.random.Generator) -> None:
    made = trained_stack(rng)
    layer, params = made.layer(0), made.params
    rows = blobs(rng, 30, 3, 2)[0]
    old = slow_copy(layer, params)
    rebase(made, CHANGE)
    new = slow_copy(layer, params)
    for row, other in zip(rows, moved(rows, CHANGE), strict=True):
        distances = old.distances(row)
        for slot, distance in new.distances(other).items():
            assert distance == pytest.approx(distances[slot], rel=1e-8, abs=1e-10)
        for slot in old.rules:
            assert new.moments.quality(other, new.rules[slot].inverse) == pytest.approx(
                old.moments.quality(row, old.rules[slot].inverse), rel=1e-9
            )
    for slot, rule in new.rules.items():
        assert layer.log_volumes[slot] == pytest.approx(rule.log_volume, abs=1e-9)
        inverse = layer.inverse_covs[slot, :3, :3]
        np.testing.assert_allclose(inverse @ rule.cov, np.eye(3), atol=1e-8)
    for moments, before in zip(new.class_moments, old.class_moments, strict=True):
        np.testing.assert_allclose(moments.mean, moved(before.mean[None], CHANGE)[0])


def test_the_uncertainty_of_an_output_stays_what_it_was(rng: np.random.Generator) -> None:
    made = trained_stack(rng)
    layer, rows = made.layer(0), blobs(rng, 30, 3, 2)[0]
    phis = np.stack([reference.expanded(row) for row in rows])
    before = np.einsum("ki,ij,kj->k", phis, layer.gain_covs[0, :7, :7], phis)
    rebase(made, CHANGE)
    phis = np.stack([reference.expanded(row) for row in moved(rows, CHANGE)])
    after = np.einsum("ki,ij,kj->k", phis, layer.gain_covs[0, :7, :7], phis)
    np.testing.assert_allclose(after, before, rtol=1e-6)
    assert (layer.gain_covs[0] == layer.gain_covs[0].T).all()


def test_an_input_that_starts_anew_leaves_what_it_said_at_the_centre(
    rng: np.random.Generator,
) -> None:
    made = stack(3, 2, growing=False, consequent="least_squares")
    made.learn(batch_of(*blobs(rng, 200, 3, 2)))
    layer = made.layer()
    rows = rng.random((20, 3))
    rows[:, 1] = layer.centers[0, 1]
    before, _ = made.forward(rows)
    restart = Change(np.array([1]), np.full(1, 2 * WILD_ABOVE), np.zeros(1))
    rebase(made, restart)
    rows[:, 1] = rng.random(20)
    np.testing.assert_allclose(made.forward(rows)[0], before, atol=1e-9)
    assert (layer.consequents[0, :, 3:5] == 0.0).all()
    assert layer.centers[0, 1] == 0.5
    assert (layer.covs[0, 1, [0, 2]] == 0.0).all()
    np.testing.assert_allclose(layer.inverse_covs[0] @ layer.covs[0], np.eye(3), atol=1e-8)
    assert np.linalg.eigvalsh(layer.gain_covs[0]).min() > 0.0


def test_there_and_back_is_nothing(rng: np.random.Generator) -> None:
    made = trained_stack(rng)
    before = made.copy().gaussians
    rebase(made, change_of([1], [2.0], [0.5]))
    rebase(made, change_of([1], [0.5], [-0.25]))
    for name in set(before._fields) - {"gain_caps"}:  # bounds of the prior only grow
        np.testing.assert_allclose(
            getattr(made.gaussians, name), getattr(before, name), rtol=1e-6, atol=1e-7
        )


def test_no_change_touches_nothing(rng: np.random.Generator) -> None:
    made = trained_stack(rng)
    before = made.copy().gaussians
    rebase(made, change_of([], [], []))
    for name in before._fields:
        np.testing.assert_array_equal(getattr(made.gaussians, name), getattr(before, name))


@pytest.mark.parametrize("shift", [1.5, 3.0])
def test_predictions_of_a_model_survive_a_jump_of_a_feature(
    rng: np.random.Generator, shift: float
) -> None:
    model = DEVFNN(stacked())
    X = rng.random((1000, 2))
    model.learn(X[:500], X[:500].sum(axis=1) > 1.0)
    model.learn(X[500:], X[500:].sum(axis=1) > 1.0)
    before = model.predict_proba(X)
    network, start = model._network, 0
    assert network is not None
    outside = X[:60] + np.array([0.0, shift])
    while (due := network.scaler.absorb(outside, start)) < len(outside):
        network.change_map(["a", "b"])
        start = due + 1
    assert start > 0
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-9)


@each_network
def test_what_is_known_of_a_tiny_corner_does_not_shout_over_a_range_a_thousand_times_wider(
    rng: np.random.Generator, network: str
) -> None:
    # Why re-basing is not exact for ever: a slope learned on [0, 1] says 1000-fold at 1000.
    model = DEVFNN(config_of(network, labels__choice="all"))
    X = rng.random((3000, 2))
    y = X.sum(axis=1) > 1.0
    X[1500:, 1] = 1000.0 * X[1500:, 1]
    y[1500:] = X[1500:, 0] > 0.5
    for start in range(0, 3000, 500):
        model.learn(X[start : start + 500], y[start : start + 500])
    assert (model.predict(X[2000:]) == y[2000:]).mean() > 0.9


def test_predictions_of_a_model_survive_the_widening_of_a_sleeping_feature(
    rng: np.random.Generator,
) -> None:
    model = DEVFNN(stacked())
    X = np.stack([rng.random(3000), np.arange(3000.0)], axis=1)  # the second feature is a clock
    y = X[:, 0] + 0.2 * rng.normal(size=3000) > 0.5
    for start in range(0, 3000, 500):
        model.learn(X[start : start + 500], y[start : start + 500])
    network = model._network
    assert network is not None and network.scaler.awake.tolist() == [True, False]
    before = model.predict_proba(X[:200])
    later = X[:60] + np.array([0.0, 10_000.0])
    assert network.scaler.absorb(later, 0) < 60
    network.change_map(["a", "clock"])
    np.testing.assert_allclose(model.predict_proba(X[:200]), before, atol=1e-9)


@pytest.mark.parametrize("consequent", ["logistic", "least_squares"])
def test_predictions_of_a_model_survive_a_widened_range(
    rng: np.random.Generator, consequent: str
) -> None:
    model = DEVFNN(stacked(gaussian__consequent=consequent))
    X = rng.random((600, 3)) * [1.0, 50.0, 1e-3] + [0.0, -7.0, 4.0]
    y = (X[:, 0] + X[:, 1] / 50.0 > 0.9).astype(int)
    model.learn(X[:300], y[:300])
    model.learn(X[300:], y[300:])
    before = model.predict_proba(X)
    network = model._network
    assert network is not None
    outside = X[:20].copy()
    outside[:, 1] += 100.0
    due = network.scaler.absorb(outside, 0)
    assert due < 20
    events = network.change_map(["a", "b", "c"])
    assert [event.feature for event in events] == ["b"]
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-9)


# ---- lines and boxes


def grown(**changes: object) -> tuple[DEVFNN, Floats]:
    """A network with several boxes, and rows."""
    X, _ = sloped(20)
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    units = np.array([50.0, 1e-3, 1.0])
    model = DEVFNN(swift(chunk_rows=CHUNK, boxes__evidence=5.0).replace(**changes), ["a", "b", "c"])
    run(model, X * units, y.astype(np.int64))
    return model, X * units


def said(model: DEVFNN, X: Floats) -> Floats:
    """What all layers but the clouds say, (k, L, m)."""
    network = model._known()
    outputs = network.forward(network.inputs_of(X))[0]
    return np.delete(outputs, CLOUD_LAYER, axis=1)


@pytest.mark.parametrize("shift", [60.0, -140.0])
def test_lines_and_boxes_say_the_same_after_a_jump_of_a_feature(shift: float) -> None:
    model, X = grown()
    network, start = model._known(), 0
    assert network.state.pool.n_members[BOX_LAYER] > 1
    before = said(model, X)
    outside = X[:60] + np.array([shift, 0.0, 0.0])
    n_events = 0
    while (due := network.scaler.absorb(outside, start)) < len(outside):
        events = network.change_map(["a", "b", "c"])
        assert {event.feature for event in events} == {"a"}
        n_events, start = n_events + len(events), due + 1
    assert n_events
    np.testing.assert_allclose(said(model, X), before, atol=1e-6)


def test_a_sleeping_feature_stays_out_of_what_layers_say_when_its_range_grows() -> None:
    rng = np.random.default_rng(0)
    X = np.stack([rng.random(3000), np.arange(3000.0)], axis=1)  # the second feature is a clock
    model = DEVFNN(swift(chunk_rows=CHUNK))
    run(model, X, (X[:, 0] > 0.5).astype(np.int64))
    network = model._known()
    assert network.scaler.awake.tolist() == [True, False]
    before = said(model, X[:200])
    assert network.scaler.absorb(X[:60] + np.array([0.0, 10_000.0]), 0) < 60
    network.change_map(["a", "clock"])
    np.testing.assert_allclose(said(model, X[:200]), before, atol=1e-9)


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
