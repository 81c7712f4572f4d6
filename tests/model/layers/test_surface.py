"""The surface: what a feature says may depend on another; maps, features and classes may change."""

import numpy as np
import pytest

from devfnn import DEVFNN, Config
from devfnn.model.config import Labels, Layer
from devfnn.model.layers import surface
from devfnn.model.scaling import WILD_ABOVE, Change
from devfnn.storage import dump, parse

ALONE = Config(
    layers=(Layer("line"), Layer("surface")), labels=Labels(choice="all"), resting=None
).replace(missing="skip")


def crossed(n_rows: int, n: int = 3, seed: int = 1):
    """No feature tells anything without the other."""
    X = np.random.default_rng(seed).random((n_rows, n))
    return X, ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(int)


def alone(names=None, **changes: object) -> DEVFNN:
    """A model with a surface beside a line, of two classes."""
    return DEVFNN(ALONE.replace(**changes), names, classes=[0, 1])


def run(model: DEVFNN, X, y, size: int = 200) -> DEVFNN:
    for start in range(0, len(y), size):
        model.learn(X[start : start + size], y[start : start + size])
    return model


def said_by(model: DEVFNN, X) -> np.ndarray:
    """What the surface says of rows."""
    network = model._known()
    return network.forward(network.inputs_of(np.asarray(X, float)))[0][:, 1]


def test_it_knows_features_that_say_nothing_alone() -> None:
    X, y = crossed(3000)
    right = {}
    for most in (16, 2):  # with more features than that it is a line
        model = run(alone(surface__max_features=most), X[:2000], y[:2000])
        right[most] = (said_by(model, X[2000:]).argmax(axis=1) == y[2000:]).mean()
    assert right[16] > 0.9 and right[2] < 0.65


def test_its_memory_is_a_parameter() -> None:
    X, y = crossed(3000)
    y[1900:] = 1 - y[1900:]
    long, short = (run(alone(surface__memory=rows), X[:2000], y[:2000]) for rows in (1e6, 30))
    right = [(said_by(m, X[2000:]).argmax(axis=1) == y[2000:]).mean() for m in (long, short)]
    assert right[1] > right[0] + 0.2


@pytest.mark.parametrize("most", [16, 1])
def test_a_new_map_leaves_what_it_says_what_it_was(most: int) -> None:
    X, y = crossed(600, 4)
    network = run(alone(scaling="none", surface__max_features=most), X, y)._known()
    before = network.forward(X)[0][:, 1]
    change = Change(np.array([0, 2]), np.array([1.7, 0.6]), np.array([-0.3, 0.25]))
    used = np.ones(4, np.bool_)
    variances = network.state.surface.variances.copy()
    surface.rebase(network.state, change, used, True, network.config)
    moved = X.copy()
    moved[:, [0, 2]] = (X[:, [0, 2]] - change.shifts) / change.factors
    np.testing.assert_allclose(network.forward(moved)[0][:, 1], before, atol=1e-9)
    own = network.state.surface
    np.testing.assert_allclose(own.variances[:, [0, 2]], variances[:, [0, 2]] / change.factors**2)
    gain = surface.unpacked(own.gains[0])
    assert np.linalg.eigvalsh(gain).min() > 0.0


def test_a_feature_whose_range_jumps_starts_anew_and_others_stay() -> None:
    X, y = crossed(600, 3)
    network = run(alone(scaling="none"), X, y)._known()
    own, used = network.state.surface, np.ones(3, np.bool_)
    before = own.weights.copy()
    change = Change(np.array([1]), np.array([2.0 * WILD_ABOVE]), np.array([0.0]))
    surface.rebase(network.state, change, used, True, network.config)
    new = np.array([2, 5, 7, 9])  # its line, its square, and its products with both others
    rest = np.setdiff1d(np.arange(10), new)
    assert not own.weights[:, :, new].any()
    np.testing.assert_array_equal(own.weights[:, :, rest], before[:, :, rest])
    gain = surface.unpacked(own.gains[0])
    np.testing.assert_array_equal(gain[np.ix_(new, new)], network.config.surface.prior * np.eye(4))
    assert not gain[np.ix_(new, rest)].any()


@pytest.mark.parametrize(("most", "stays"), [(16, True), (3, False), (1, True)])
def test_more_features_leave_what_it_says_unless_they_are_too_many(most: int, stays: bool) -> None:
    X, y = crossed(800, 3)
    y |= X[:, 2] > 0.8
    model = run(alone(["a", "b", "c"], surface__max_features=most), X, y)
    before = said_by(model, X[:50])
    assert np.ptp(before) > 0.1
    model.add_features(["d", "e"])
    wide = np.column_stack([X[:50], np.full((50, 2), np.nan)])
    after = said_by(model, wide)
    np.testing.assert_allclose(after, before if stays else np.full((50, 2), 0.5), atol=1e-12)
    assert model._known().state.surface.ages[0] == (800 if stays else 0)
    more = np.random.default_rng(0).random((800, 2))
    run(model, np.column_stack([X, more]), y)
    assert np.isfinite(model.predict_proba(wide)).all()
    assert dump(parse(dump(model))) == dump(model)


def test_a_class_that_comes_late_is_unlikely_at_first() -> None:
    X, y = crossed(600)
    model = run(alone(), X, y)
    before = said_by(model, X)
    model.learn(X[:1], [2])
    after = said_by(model, X)
    assert after[:, 2].max() < 0.2
    assert (after[:, :2].argmax(axis=1) == before.argmax(axis=1)).mean() > 0.98


def test_its_reasons_share_out_products() -> None:
    X, y = crossed(2000)
    model = run(alone(["a", "b", "c"]), X, y)
    row = np.array([0.9, 0.9, 0.5])
    layer = model.explain(row).layers[1]
    given = dict(zip(layer.inputs, layer.against_the_others(0).tolist(), strict=True))
    assert given["a"] > 1.0 and given["b"] > 1.0 and abs(given["c"]) < 0.5
    assert model.explain([0.9, 0.1, 0.5]).layers[1].against_the_others(1).sum() > 1.0


def test_its_rule_has_the_slopes_at_its_mean() -> None:
    X, y = crossed(2000)
    X[:, 0] = 0.6 + 0.4 * X[:, 0]
    y = (X[:, 1] > 0.5).astype(int)
    model = run(alone(["a", "b", "c"]), X, y)
    (rule,) = (rule for rule in model.rules() if rule.layer == 1)
    assert "IF anything THEN" in rule.text() and rule.n_rows == 2000 and rule.firing_share == 1.0
    rises = rule.slopes[:, 1] - rule.slopes[:, 0]
    assert rises[1] > 5.0 > abs(rises[0]) and rises[1] > 5.0 > abs(rises[2])
    step = 1e-4 * (rule.ranges[1, 1] - rule.ranges[1, 0])
    logs = np.log(said_by(model, rule.center + step * np.array([[0, 0, 0], [0, 1, 0]])))
    slope = (logs[1, 1] - logs[1, 0] - logs[0, 1] + logs[0, 0]) / 1e-4
    np.testing.assert_allclose(slope, rises[1], rtol=1e-2)
