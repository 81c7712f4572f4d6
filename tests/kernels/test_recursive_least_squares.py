"""Weighted recursive least squares and its logistic form: expansion, steps, decay, gain matrix."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import reference
from build import Stack, batch_of, blobs, count, only_compiled, only_plain, random_metric, stack
from devfnn.arrays import Floats, Ints
from devfnn.kernels.recursive import (
    bound_variance,
    decay_consequent,
    dot_in_order,
    expand_pairs,
    forget_and_bound,
    repair_gain_cov,
    softmax,
    update_consequent,
)

NO_CAPS = np.full(100, np.inf)


def step(
    W: Floats, gain_cov: Floats, phi: Floats, target: Floats, strength: float, memory: float
) -> None:
    """One least-squares step of the kernel, in place; the gain matrix is not capped."""
    residuals = target - W @ phi
    gain = np.full(phi.size, np.nan)
    update_consequent(W, gain_cov, phi, gain, residuals, strength, memory, NO_CAPS)


def lone_rule(n: int, m: int, **changes: Any) -> Stack:
    """A layer that keeps to its first rule."""
    return stack(n, m, max_rules=1, recall=False, **changes)


def expansions(rows: Floats) -> Floats:
    """All rows, expanded by the reference."""
    return np.stack([reference.expanded(row) for row in rows])


@only_plain
@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_expansion_equals_the_chebyshev_polynomials(rng: np.random.Generator, n: int) -> None:
    for row in rng.uniform(-0.5, 1.5, (20, n)):
        row[rng.random(n) < 0.2] = np.nan
        out = np.full(2 * n + 1, np.nan)
        expand_pairs(row, ~np.isnan(row), n, out)
        np.testing.assert_allclose(out, reference.expanded(row), rtol=1e-14)
    expand_pairs(row, np.zeros(n, np.bool_), n, out)  # nothing is there but the constant
    np.testing.assert_array_equal(out, np.eye(2 * n + 1)[0])


@only_plain
def test_the_authors_expansion_spans_the_same_functions(rng: np.random.Generator) -> None:
    rows, targets = rng.random((300, 6)), rng.normal(size=(300, 2))
    theirs = np.stack([reference.authors_expanded(row) for row in rows])
    ours = np.empty((300, 13))
    for row, out in zip(rows, ours, strict=True):
        expand_pairs(row, np.ones(6, np.bool_), 6, out)
    fits = [phi @ np.linalg.lstsq(phi, targets, rcond=None)[0] for phi in (theirs, ours)]
    np.testing.assert_allclose(fits[0], fits[1], atol=1e-10)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 8, 13])
def test_the_inner_product_equals_numpy(rng: np.random.Generator, size: int) -> None:
    a, b = rng.normal(size=(2, 20))
    assert dot_in_order(a, b, size) == pytest.approx(a[:size] @ b[:size], rel=1e-13)


@pytest.mark.parametrize("logits", [[0.3], [1.0, 2.0, -3.0], [1e4, -1e4], [800.0, 800.0, 799.0]])
def test_softmax_is_finite_and_may_write_over_its_input(logits: list[float]) -> None:
    values = np.array(logits)
    expected = reference.softmax(values)
    softmax(values, values)
    np.testing.assert_allclose(values, expected, rtol=1e-13)
    assert values.sum() == pytest.approx(1.0)


@only_plain
@pytest.mark.parametrize("memory", [1.0, 0.98])
def test_one_step_equals_the_reference(rng: np.random.Generator, memory: float) -> None:
    W, gain_cov = rng.normal(size=(3, 7)), random_metric(rng, 7, 1.0)
    expected = W.copy(), gain_cov.copy()
    for phi in rng.normal(size=(30, 7)):
        target, strength = np.eye(3)[rng.integers(3)], rng.uniform(1e-4, 1.0)
        expected = reference.least_squares_step(*expected, phi, target, strength, memory)
        step(W, gain_cov, phi, target, strength, memory)
    np.testing.assert_allclose(W, expected[0], rtol=1e-9)
    np.testing.assert_allclose(gain_cov, expected[1], rtol=1e-9, atol=1e-12)


@only_plain
def test_recursive_least_squares_equals_weighted_ridge_regression(
    rng: np.random.Generator,
) -> None:
    omega, phis = 1e5, expansions(rng.random((300, 3)))
    targets = reference.one_hot(rng.integers(0, 3, 300), 3)
    strengths = rng.uniform(1e-4, 1.0, 300)
    W, gain_cov = np.zeros((3, 7)), omega * np.eye(7)
    for phi, target, strength in zip(phis, targets, strengths, strict=True):
        step(W, gain_cov, phi, target, strength, 1.0)
    expected = reference.ridge(phis, targets, strengths, 1.0 / omega)
    np.testing.assert_allclose(W, expected, atol=1e-9)


def test_a_lone_least_squares_rule_equals_ridge_regression(rng: np.random.Generator) -> None:
    made = lone_rule(2, 3, consequent="least_squares", initial_gain=1e3, memory=1.0)
    rows, labels = blobs(rng, 300, 2, 3)
    weights = rng.uniform(0.1, 2.0, 300)
    made.learn(batch_of(rows, labels, weights))
    targets = reference.one_hot(labels, 3)
    expected = reference.ridge(expansions(rows), targets, weights, 1e-3)
    np.testing.assert_allclose(made.layer().consequents[0], expected, atol=1e-9)


def test_one_row_is_learned_with_one_class_only() -> None:
    made = lone_rule(2, 1, consequent="least_squares", initial_gain=1e4, memory=1.0)
    made.learn(batch_of(np.array([[0.2, 0.9]]), np.zeros(1, np.int64)))
    outputs, _ = made.forward(np.array([[0.2, 0.9]]))
    assert outputs[0, 0, 0] == pytest.approx(1.0, abs=1e-3)


def never_excited(W: Floats, weight_decay: float, n_rows: int) -> Floats:
    """Magnitudes over rows that never show the second input, under least squares and decay."""
    rng = np.random.default_rng(1)
    gain_cov, gain = 1e5 * np.eye(5), np.empty(5)
    history = [np.abs(W[:, 3:])]
    for row in rng.random((n_rows, 2)):
        row[1] = np.nan
        step(W, gain_cov, reference.expanded(row), np.eye(2)[rng.integers(2)], 0.7, 1.0)
        decay_consequent(W, gain_cov, gain, weight_decay * 0.7)
        history.append(np.abs(W[:, 3:]))
    return np.array(history)


@only_plain
@pytest.mark.parametrize("weight_decay", [1e-5, 1e-3, 1.0])
def test_weight_decay_never_grows_a_weight_that_was_never_excited(weight_decay: float) -> None:
    history = never_excited(np.ones((2, 5)), weight_decay, 200)
    assert (np.diff(history, axis=0) <= 0.0).all()
    assert history[-1].max() < 1.0


@only_plain
def test_the_decay_equals_the_reference(rng: np.random.Generator) -> None:
    W, gain_cov = rng.normal(size=(3, 7)), random_metric(rng, 7, 10.0)
    expected = reference.decayed(W, gain_cov, 1e-3)
    decay_consequent(W, gain_cov, np.empty(7), 1e-3)
    np.testing.assert_allclose(W, expected, rtol=1e-11, atol=1e-13)


@only_plain
def test_the_decay_shrinks_whatever_the_gain_matrix(rng: np.random.Generator) -> None:
    for _ in range(30):
        gain_cov = random_metric(rng, 5, 10.0 ** rng.uniform(-3, 3))
        W = rng.normal(size=(2, 5))
        before = W @ np.linalg.inv(gain_cov) @ W.T
        decay_consequent(W, gain_cov, np.empty(5), 10.0 ** rng.uniform(-5, 2))
        after = W @ np.linalg.inv(gain_cov) @ W.T
        assert (np.diag(after) < np.diag(before)).all()


@only_plain
def test_the_fixed_point_of_the_decay_is_ridge_regression(rng: np.random.Generator) -> None:
    n_rows, weight_decay = 100, 0.05
    phis = expansions(rng.random((n_rows, 1)))
    targets = reference.one_hot(rng.integers(0, 2, n_rows), 2)
    strengths = rng.uniform(0.2, 1.0, n_rows)
    W, gain_cov, gain = np.zeros((2, 3)), 1e3 * np.eye(3), np.empty(3)
    for _ in range(60):
        for phi, target, strength in zip(phis, targets, strengths, strict=True):
            step(W, gain_cov, phi, target, strength, 1.0)
            decay_consequent(W, gain_cov, gain, weight_decay * strength)
    pulled = reference.ridge(phis, targets, strengths, weight_decay * strengths.sum())
    plain = reference.ridge(phis, targets, strengths, 0.0)
    assert np.abs(W - pulled).max() < 0.03 * np.abs(plain - pulled).max()


def test_the_decay_of_a_layer_is_the_every_row_decay_on_average(
    rng: np.random.Generator,
) -> None:
    rows, labels = blobs(rng, 400, 2, 2)
    common = {"consequent": "least_squares", "initial_gain": 100.0, "memory": 1.0}
    with_decay = lone_rule(2, 2, weight_decay=0.01, **common)
    without = lone_rule(2, 2, **common)
    phis, targets = expansions(rows), reference.one_hot(labels, 2)
    W, gain_cov = np.zeros((2, 5)), 100.0 * np.eye(5)
    for phi, target in zip(phis, targets, strict=True):
        W, gain_cov = reference.least_squares_step(W, gain_cov, phi, target, 1.0, 1.0)
        W = reference.decayed(W, gain_cov, 0.01)
    for made in (with_decay, without):
        made.learn(batch_of(rows, labels))
    distance = np.abs(with_decay.layer().consequents[0] - W).max()
    assert distance < 0.2 * np.abs(without.layer().consequents[0] - W).max()


def noisy_labels(rng: np.random.Generator, rows: Floats, m: int) -> Ints:
    """Classes drawn from logits that are linear in the expansion: never separable."""
    logits = expansions(rows) @ rng.normal(scale=0.5, size=(2 * rows.shape[1] + 1, m))
    chances = np.stack([reference.softmax(row) for row in logits])
    return (rng.random((len(rows), 1)) > np.cumsum(chances, axis=1)).sum(axis=1)


@only_compiled
@pytest.mark.parametrize("m", [2, 3])
def test_recursive_logistic_converges_to_maximum_likelihood(
    rng: np.random.Generator, m: int
) -> None:
    rows = rng.random((200, 1))
    labels = noisy_labels(rng, rows, m)
    made, passes = lone_rule(1, m, memory=1.0), 400
    made.learn(batch_of(np.tile(rows, (passes, 1)), np.tile(labels, passes)))
    phis = expansions(rows)
    oracle = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=10_000)
    oracle.fit(phis, labels)
    chances, _ = made.forward(rows)
    np.testing.assert_allclose(chances[:, 0], oracle.predict_proba(phis), atol=1e-3)
    residuals = reference.one_hot(labels, m) - chances[:, 0]
    assert np.abs(residuals.T @ phis / len(rows)).max() < 1e-3  # the likelihood is flat there


@pytest.mark.parametrize("consequent", ["least_squares", "logistic"])
@pytest.mark.parametrize("defect", ["none", "constant", "collinear", "absent", "binary"])
def test_the_gain_matrix_stays_symmetric_positive_definite_and_under_its_cap(
    rng: np.random.Generator, consequent: str, defect: str
) -> None:
    made = lone_rule(3, 2, memory=0.98, consequent=consequent, initial_gain=10.0)
    for _ in range(count(30, 3)):
        rows, labels = blobs(rng, 200, 3, 2)
        match defect:
            case "constant":
                rows[:, 1] = 0.3
            case "collinear":
                rows[:, 1] = rows[:, 0]
            case "absent":
                rows[:, 1] = np.nan
            case "binary":
                rows[:, 1] = rng.integers(0, 2, 200)
        made.learn(batch_of(rows, labels, rng.uniform(0.1, 3.0, 200)))
        gain_cov = made.layer().gain_covs[0]
        assert (gain_cov == gain_cov.T).all()
        assert np.linalg.eigvalsh(gain_cov).min() > 0.0
        assert np.diag(gain_cov).max() <= 10.0 * (1.0 + 1e-12)
        assert np.isfinite(made.layer().consequents[0]).all()


@only_plain
def test_a_bounded_variance_is_the_prior_observed_once_more(rng: np.random.Generator) -> None:
    W, gain_cov = rng.normal(size=(3, 5)), random_metric(rng, 5, 3.0)
    information = np.linalg.inv(gain_cov)
    cap = 0.4 * gain_cov[2, 2]
    seen = information.copy()
    seen[2, 2] += 1.0 / cap - 1.0 / gain_cov[2, 2]
    expected = W @ information @ np.linalg.inv(seen)
    before = W[:, 2].copy()
    bound_variance(W, gain_cov, np.full(5, np.nan), 2, cap)
    np.testing.assert_allclose(gain_cov, np.linalg.inv(seen), rtol=1e-9)
    np.testing.assert_allclose(W, expected, rtol=1e-9)
    np.testing.assert_allclose(W[:, 2], 0.4 * before)
    assert gain_cov[2, 2] == pytest.approx(cap)
    assert (gain_cov == gain_cov.T).all()


@only_plain
def test_forgetting_with_a_cap_equals_the_reference(rng: np.random.Generator) -> None:
    W, gain_cov, gain = rng.normal(size=(2, 5)), random_metric(rng, 5, 3.0), rng.normal(size=5)
    faded = (gain_cov - 1e-3 * np.outer(gain, gain)) / 0.9
    caps = np.diag(faded) * [2.0, 0.5, 0.9, 3.0, 0.1]
    expected = reference.bounded(W, faded, caps)
    forget_and_bound(W, gain_cov, gain, 1e-3, 0.9, caps)
    np.testing.assert_allclose(W, expected[0], rtol=1e-10)
    np.testing.assert_allclose(gain_cov, expected[1], rtol=1e-10)
    assert (np.diag(gain_cov) <= caps * (1.0 + 1e-12)).all()
    assert np.linalg.eigvalsh(gain_cov).min() > 0.0


@only_plain
def test_repair_leaves_a_sound_matrix_and_mends_the_others(rng: np.random.Generator) -> None:
    sound = random_metric(rng, 4)
    kept = sound.copy()
    repair_gain_cov(kept, 4, np.full(4, 10.0))
    np.testing.assert_array_equal(kept, sound)
    broken = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, -1e-9]])
    repair_gain_cov(broken, 3, np.array([10.0, 10.0, 7.0]))
    np.testing.assert_array_equal(broken, np.diag([1.0, 1.0, 7.0]))
    lost = np.full((3, 3), np.nan)
    repair_gain_cov(lost, 3, np.full(3, 10.0))
    np.testing.assert_array_equal(lost, 10.0 * np.eye(3))


def test_a_row_at_distance_one_million_breaks_nothing(rng: np.random.Generator) -> None:
    for consequent in ("least_squares", "logistic"):
        made = lone_rule(2, 2, consequent=consequent)
        rows, labels = blobs(rng, 100, 2, 2)
        rows[50] = 1e6
        made.learn(batch_of(rows, labels))
        assert np.isfinite(made.layer().consequents[0]).all()
        assert np.isfinite(made.forward(rows)[0]).all()
