"""Recursive logistic regression of one rule: expansion, implicit step, gains, caps, repair."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from build import count, only_plain
from devfnn.arrays import Floats
from devfnn.kernels import recursive
from devfnn.kernels.recursive import (
    class_shares,
    expand_blocks,
    gain_of,
    hold_under_caps,
    implicit_output,
    is_definite,
    learn_logistic,
    repair_gains,
    share_two,
    start_gains,
    step_of_two,
)
from devfnn.model.layers.pool import packed, unpacked
from reference import one_hot, softmax
from rival_build import random_gain
from rival_parts import capped, halves, implicit_shares, learned_logistic

NAN = np.nan


class Memory(NamedTuple):
    """The working memory that a step takes."""

    expanded: Floats
    gain: Floats
    step: Floats
    learned: Floats


def work_of(phi: Floats, m: int) -> Memory:
    """Working memory with an expanded row, and nothing else that is sensible."""
    return Memory(phi.copy(), np.full(phi.size, NAN), np.full(m, NAN), np.full(m, NAN))


def learn(
    weights: Floats, gains: Floats, row: Floats, label: int, rates: tuple[float, ...]
) -> None:
    """One step of the kernel, in place. rates: weight of the row, memory, cap of all variances"""
    weight, memory, cap = rates
    phi = halves(row)
    said, caps = softmax(weights @ phi), np.full(phi.size, cap)
    sample = (label, weight, memory)
    learn_logistic(weights, gains, phi.size, said, sample, caps, work_of(phi, len(weights)))


def step(said: Floats, label: int, reach: float) -> Floats:
    """What the kernel says the output is after the step."""
    learned = np.full(said.size, NAN)
    implicit_output(said, label, reach, np.full(said.size, NAN), learned)
    return learned


def plain(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel as it was written, so that what it calls can be replaced."""
    return getattr(kernel, "py_func", kernel)


# ---- expansion and output


@only_plain
@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_expansion_is_chebyshevs_first_halves_first(rng: np.random.Generator, n: int) -> None:
    for row in rng.uniform(-0.5, 1.5, (20, n)):
        out = np.full(2 * n + 1, NAN)
        expand_blocks(row, out)
        angles = np.arccos((2.0 * row - 1.0).astype(complex))
        expected = [[1.0], np.cos(angles).real, np.cos(2.0 * angles).real]
        np.testing.assert_allclose(out, np.concatenate(expected), atol=1e-12)


@only_plain
def test_absent_features_expand_to_0() -> None:
    out = np.full(7, NAN)
    expand_blocks(np.array([0.25, NAN, 1.0]), out)
    np.testing.assert_array_equal(out, [1.0, -0.5, 0.0, 1.0, -0.5, 0.0, 1.0])


@pytest.mark.parametrize("spread", [1.0, 30.0, 1e3, 1e12])
def test_two_classes_share_as_by_softmax(rng: np.random.Generator, spread: float) -> None:
    for logits in rng.normal(scale=spread, size=(200, 2)):
        shares = logits.copy()
        share_two(shares)
        np.testing.assert_allclose(shares, softmax(logits), rtol=1e-13, atol=0.0)
        assert shares.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("logits", "expected"),
    [
        ([0.0, 0.0], [0.5, 0.5]),
        ([3.0, 3.0], [0.5, 0.5]),
        ([1e300, 1e300], [0.5, 0.5]),
        ([-1e308, 1e308], [0.0, 1.0]),  # the difference overflows
        ([1e308, -1e308], [1.0, 0.0]),
        ([800.0, 0.0], [1.0, 0.0]),
        ([-800.0, 0.0], [0.0, 1.0]),
        ([700.0, 0.0], [1.0, np.exp(-700.0)]),  # nothing is lost that a double can hold
        ([0.0, -1e-9], [0.5 + 2.5e-10, 0.5 - 2.5e-10]),
    ],
)
def test_two_classes_share_at_extreme_logits(logits: list[float], expected: list[float]) -> None:
    shares = np.array(logits)
    with np.errstate(over="ignore"):
        share_two(shares)
    np.testing.assert_allclose(shares, expected, rtol=1e-14, atol=0.0)


@only_plain
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("size", [4, 7])
def test_the_output_is_the_softmax_of_the_logits_it_uses(
    rng: np.random.Generator, m: int, size: int
) -> None:
    phi, out = rng.normal(size=7), np.full(m, NAN)
    for scale in (1.0, 300.0):
        weights = scale * rng.normal(size=(m, 7))
        class_shares(weights, phi, size, out)
        np.testing.assert_allclose(out, softmax(weights[:, :size] @ phi[:size]), rtol=1e-9)


# ---- the implicit step


def equation_gap(said: Floats, label: int, reach: float, learned: Floats) -> float:
    """By how much learned = softmax(log said + reach * (target - learned)) is missed."""
    target = np.eye(said.size)[label]
    return float(np.abs(softmax(np.log(said) + reach * (target - learned)) - learned).max())


def test_the_twin_solves_its_equation(rng: np.random.Generator) -> None:
    for m in (2, 3, 6):
        for reach in 10.0 ** rng.uniform(-3, 3, 20):
            said, label = softmax(rng.normal(scale=3.0, size=m)), int(rng.integers(m))
            learned = implicit_shares(said, label, reach)
            assert equation_gap(said, label, reach, learned) < 1e-9
            assert learned.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("m", [2, 3, 6, 20])
@pytest.mark.parametrize("spread", [1.0, 3.0, 10.0])
def test_a_step_of_any_reach_solves_its_equation(
    rng: np.random.Generator, m: int, spread: float
) -> None:
    for reach in 10.0 ** rng.uniform(-3.0, 4.0, count(100, 40)):
        said, label = softmax(rng.normal(scale=spread, size=m)), int(rng.integers(m))
        learned = step(said, label, reach)
        np.testing.assert_allclose(learned, implicit_shares(said, label, reach), atol=1e-6)
        assert equation_gap(said, label, reach, learned) < 1e-6 * max(reach, 1.0)
        assert learned.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("m", [2, 3, 20])
def test_a_step_from_absurd_shares_still_gives_shares(rng: np.random.Generator, m: int) -> None:
    for reach in 10.0 ** rng.uniform(-3.0, 9.0, count(200, 40)):
        said, label = softmax(rng.normal(scale=300.0, size=m)), int(rng.integers(m))
        learned = step(said, label, reach)
        assert learned.min() >= 0.0 and learned.sum() == pytest.approx(1.0)
        assert learned[label] >= said[label] - 1e-12


@pytest.mark.parametrize("m", [2, 4])
def test_a_step_moves_towards_the_label_and_no_further(rng: np.random.Generator, m: int) -> None:
    for reach in 10.0 ** rng.uniform(-3.0, 2.0, 100):
        said, label = softmax(rng.normal(scale=2.0, size=m)), int(rng.integers(m))
        learned = step(said, label, reach)
        pull = reach * (one_hot(np.array([label]), m)[0] - learned)  # of the weights on the logits
        after = softmax(np.log(said) + pull)
        assert said[label] < learned[label] < 1.0
        assert after[label] == pytest.approx(learned[label], abs=1e-5)


@pytest.mark.parametrize("weight", [1.0, 10.0, 100.0])
def test_a_heavy_row_is_not_thrown_beyond_its_label(weight: float) -> None:
    weights, row = np.array([[1.0] * 5, [-1.0] * 5]), np.ones(2)
    gains, phi = packed(2.0 * np.eye(5)), halves(row)
    expected, _ = learned_logistic(weights, unpacked(gains), phi, 1, (weight, 1.0))
    learn(weights, gains, row, 1, (weight, 1.0, 2.0))
    assert (weights[1] - weights[0]) @ phi == pytest.approx(
        (expected[1] - expected[0]) @ phi, abs=1e-4
    )


@pytest.mark.parametrize("label", [0, 1])
def test_the_first_round_of_two_classes_starts_from_what_was_said(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, label: int
) -> None:
    monkeypatch.setattr(recursive, "MOST_ROUNDS", 1)
    for odds in rng.normal(scale=3.0, size=50):
        reach = float(rng.uniform(0.1, 5.0))
        said, learned = softmax(np.array([0.0, odds])), np.full(2, NAN)
        plain(step_of_two)(said, label, reach, learned)
        is_right = (odds > 0.0) == (label == 1)
        start, share = (odds, said[1]) if is_right else (0.0, 0.5)
        gap = start - odds - 2.0 * reach * (label - share)
        moved = start - gap / (1.0 + 2.0 * reach * share * (1.0 - share))
        np.testing.assert_allclose(learned, softmax(np.array([0.0, moved])), rtol=1e-9)


def test_a_sure_row_and_no_reach_move_nothing() -> None:
    said = np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(step(said, 1, 0.0), said, rtol=1e-12)
    sure = np.array([0.0, 1.0])
    np.testing.assert_array_equal(step(sure, 1, 5.0), sure)


# ---- one recursive step


@only_plain
@pytest.mark.parametrize("size", [1, 3, 9])
def test_the_gain_equals_the_dense_product(rng: np.random.Generator, size: int) -> None:
    matrix, phi = random_gain(rng, np.ones(9)), rng.normal(size=9)
    gain = np.full(9, NAN)
    variance = gain_of(packed(matrix), phi, size, gain)
    expected = matrix[:size, :size] @ phi[:size]
    np.testing.assert_allclose(gain[:size], expected, rtol=1e-11, atol=1e-13)
    assert np.isnan(gain[size:]).all()
    assert variance == pytest.approx(phi[:size] @ expected)


@pytest.mark.parametrize("m", [2, 3, 5])
def test_a_step_equals_the_dense_twin(rng: np.random.Generator, m: int) -> None:
    for _ in range(60):
        weights = rng.normal(scale=0.7, size=(m, 7))
        matrix = random_gain(rng, np.full(7, rng.choice([0.02, 0.3])))
        row, label = rng.random(3), int(rng.integers(m))
        weight, memory = rng.uniform(0.01, 2.0), rng.choice([1.0, 0.999, 0.95])
        expected = learned_logistic(weights, matrix, halves(row), label, (weight, memory))
        gains = packed(matrix)
        learn(weights, gains, row, label, (weight, memory, 1e9))
        np.testing.assert_allclose(weights, expected[0], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(unpacked(gains), expected[1], rtol=1e-6, atol=1e-6)


def test_the_gain_after_rows_is_the_inverse_information(rng: np.random.Generator) -> None:
    prior = random_gain(rng, np.full(5, 0.5))
    weights, gains, information = np.zeros((2, 5)), packed(prior), np.linalg.inv(prior)
    for row in rng.random((50, 2)):
        phi, label, weight = halves(row), int(rng.integers(2)), rng.uniform(0.2, 1.0)
        said, before = softmax(weights @ phi), unpacked(gains)
        learned = implicit_shares(said, label, weight * float(phi @ before @ phi))
        learn(weights, gains, row, label, (weight, 0.99, 1e9))
        curvature = max((said * (1.0 - said)).max(), (learned * (1.0 - learned)).max(), 1e-4)
        information = 0.99 * information + weight * curvature * np.outer(phi, phi)
    np.testing.assert_allclose(unpacked(gains), np.linalg.inv(information), rtol=1e-6, atol=1e-9)


def test_a_line_leaves_the_curves_alone(rng: np.random.Generator) -> None:
    weights, matrix = rng.normal(size=(2, 5)), random_gain(rng, np.ones(5))
    before, gains, phi = weights.copy(), packed(matrix), halves(rng.random(2))
    said = softmax(weights[:, :3] @ phi[:3])
    expected = learned_logistic(weights[:, :3], matrix[:3, :3], phi[:3], 1, (0.5, 0.9))
    learn_logistic(weights, gains, 3, said, (1, 0.5, 0.9), np.full(5, 1e9), work_of(phi, 2))
    np.testing.assert_allclose(weights[:, :3], expected[0], rtol=1e-6)
    np.testing.assert_allclose(unpacked(gains)[:3, :3], expected[1], rtol=1e-6)
    np.testing.assert_array_equal(weights[:, 3:], before[:, 3:])
    np.testing.assert_array_equal(unpacked(gains)[3:], matrix[3:])


def test_absent_features_leave_their_weights_untouched(rng: np.random.Generator) -> None:
    weights, gains = np.zeros((2, 7)), packed(0.5 * np.eye(7))
    for row, label in zip(rng.random((30, 3)), rng.integers(0, 2, 30), strict=True):
        row[1] = NAN
        learn(weights, gains, row, int(label), (1.0, 1.0, 0.5))
    absent, present = [2, 5], [0, 1, 3, 4, 6]
    np.testing.assert_array_equal(weights[:, absent], 0.0)
    assert (weights[:, present] != 0.0).all()
    matrix = unpacked(gains)
    np.testing.assert_array_equal(matrix[absent], 0.5 * np.eye(7)[absent])
    assert (np.diag(matrix)[present] < 0.5).all()


def test_without_forgetting_it_comes_close_to_maximum_likelihood(
    rng: np.random.Generator,
) -> None:
    rows = rng.random((150, 1))
    chances = np.stack([softmax(np.array([0.0, 3.0 * row[0] - 1.0])) for row in rows])
    labels = (rng.random(150) < chances[:, 1]).astype(np.int64)
    weights, gains, passes = np.zeros((2, 3)), packed(2.0 * np.eye(3)), count(60, 30)
    for _ in range(passes):
        for row, label in zip(rows, labels, strict=True):
            learn(weights, gains, row, int(label), (1.0, 1.0, 2.0))
    phis = np.stack([halves(row) for row in rows])
    oracle = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10).fit(phis, labels)
    said = np.stack([softmax(weights @ phi) for phi in phis])
    np.testing.assert_allclose(said, oracle.predict_proba(phis), atol=0.02)


# ---- caps and repair


@only_plain
def test_the_caps_bring_variances_back_and_keep_correlations(rng: np.random.Generator) -> None:
    matrix = random_gain(rng, np.full(6, 2.0))
    caps = np.diag(matrix) * [2.0, 0.5, 0.9, 3.0, 0.1, 1.0]
    gains = packed(matrix)
    hold_under_caps(gains, 6, caps)
    held = unpacked(gains)
    np.testing.assert_allclose(held, capped(matrix, caps), rtol=1e-12)
    np.testing.assert_allclose(np.diag(held), np.minimum(np.diag(matrix), caps), rtol=1e-12)
    scale, own = np.sqrt(np.diag(matrix)), np.sqrt(np.diag(held))
    np.testing.assert_allclose(
        held / np.outer(own, own), matrix / np.outer(scale, scale), rtol=1e-12
    )


@only_plain
def test_the_caps_touch_only_the_block_in_use(rng: np.random.Generator) -> None:
    matrix = random_gain(rng, np.full(5, 2.0))
    gains = packed(matrix)
    hold_under_caps(gains, 3, np.full(5, 1e-3))
    np.testing.assert_allclose(np.diag(unpacked(gains))[:3], 1e-3)
    np.testing.assert_array_equal(unpacked(gains)[3:], matrix[3:])


def test_a_compiled_step_holds_the_caps_as_plain_python_does(rng: np.random.Generator) -> None:
    matrix, phi, weights = random_gain(rng, np.ones(7)), halves(rng.random(3)), rng.random((2, 7))
    said, caps, sample = softmax(weights @ phi), 0.5 * np.diag(matrix), (1, 0.7, 0.9)
    compiled, gains = packed(matrix), packed(matrix)
    learn_logistic(weights.copy(), compiled, 7, said, sample, caps, work_of(phi, 2))
    plain(learn_logistic)(weights.copy(), gains, 7, said, sample, caps, work_of(phi, 2))
    assert (np.diag(unpacked(compiled)) <= caps * (1.0 + 1e-12)).all()
    np.testing.assert_allclose(compiled, gains, rtol=1e-10)


@only_plain
@pytest.mark.parametrize("place", range(7))
@pytest.mark.parametrize("is_over", [False, True])
def test_the_caps_are_held_if_one_variance_is_over_and_else_left_alone(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, place: int, is_over: bool
) -> None:
    matrix, phi, held = random_gain(rng, np.ones(7)), halves(rng.random(3)), []
    weights = rng.normal(size=(2, 7))
    moved, free = learned_logistic(weights, matrix, phi, 1, (0.7, 0.9))
    caps = np.diag(free) * 1.001
    caps[place] *= 0.9 if is_over else 1.0

    def watched(*args: Any) -> None:
        held.append(args)
        plain(hold_under_caps)(*args)

    monkeypatch.setattr(recursive, "hold_under_caps", watched)
    own, gains, said = weights.copy(), packed(matrix), softmax(weights @ phi)
    sample = (1, 0.7, 0.9)
    plain(learn_logistic)(own, gains, 7, said, sample, caps, work_of(phi, 2))
    assert len(held) == int(is_over)
    np.testing.assert_allclose(own, moved, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(unpacked(gains), capped(free, caps), rtol=1e-6, atol=1e-6)
    held_always = gains.copy()
    hold_under_caps(held_always, 7, caps)
    np.testing.assert_allclose(held_always, gains, rtol=1e-12)


@pytest.mark.parametrize("defect", ["none", "constant", "collinear", "absent", "binary"])
@pytest.mark.parametrize("m", [2, 3])
def test_forgetting_stays_definite_and_under_the_caps(
    rng: np.random.Generator, defect: str, m: int
) -> None:
    weights, gains = np.zeros((m, 7)), packed(0.5 * np.eye(7))
    for index in range(count(2000, 300)):
        row = rng.random(3)
        row[1] = {
            "none": row[1],
            "constant": 0.3,
            "collinear": row[0],
            "absent": NAN,
            "binary": float(row[1] > 0.5),
        }[defect]
        label, weight = int(m * row[0]), rng.uniform(0.1, 2.0)
        learn(weights, gains, row, label, (weight, 0.98, 0.5))
        if index % 100 == 0:
            matrix = unpacked(gains)
            assert np.diag(matrix).max() <= 0.5 * (1.0 + 1e-12)
            assert np.linalg.eigvalsh(matrix).min() > 0.0
            assert is_definite(gains, 7)
    assert np.isfinite(weights).all() and np.abs(weights).max() < 100.0
    if defect in ("none", "binary"):
        assert np.linalg.eigvalsh(unpacked(gains)).max() < 0.5 * 7  # it has not lost what it knew


@only_plain
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 7))
def test_definite_is_what_numpy_says(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(7, 7))
    matrix = mixing @ mixing.T + rng.uniform(-3.0, 3.0) * np.eye(7)
    least = np.linalg.eigvalsh(matrix[:size, :size]).min()
    assert is_definite(packed(matrix), size) == (least > 0.0)


@only_plain
def test_neither_nothing_nor_nan_is_definite() -> None:
    assert not is_definite(packed(np.zeros((4, 4))), 4)
    assert not is_definite(packed(np.full((4, 4), NAN)), 4)


@only_plain
def test_repair_leaves_a_sound_matrix_and_mends_the_others(rng: np.random.Generator) -> None:
    gains = packed(random_gain(rng, np.ones(5)))
    kept = gains.copy()
    repair_gains(kept, 5, np.full(5, 1e-9))
    np.testing.assert_array_equal(kept, gains)
    broken = np.array([[1.0, 2.0, 0.3], [2.0, 1.0, 0.3], [0.3, 0.3, -1e-9]])
    mended = packed(broken)
    repair_gains(mended, 3, np.array([10.0, 0.5, 7.0]))
    np.testing.assert_array_equal(unpacked(mended), np.diag([1.0, 0.5, 7.0]))
    lost = packed(np.full((3, 3), NAN))
    repair_gains(lost, 3, np.full(3, 2.0))
    np.testing.assert_array_equal(unpacked(lost), 2.0 * np.eye(3))


@only_plain
def test_repair_touches_only_the_block_in_use() -> None:
    broken = np.full((4, 4), 3.0)
    gains = packed(broken)
    repair_gains(gains, 2, np.full(4, 5.0))
    np.testing.assert_array_equal(unpacked(gains)[:2, :2], 3.0 * np.eye(2))
    np.testing.assert_array_equal(unpacked(gains)[2:], broken[2:])


@only_plain
def test_a_fresh_rule_has_the_prior_and_nothing_else(rng: np.random.Generator) -> None:
    caps, gains = rng.uniform(0.5, 2.0, 5), np.full(15, NAN)
    start_gains(gains, caps)
    np.testing.assert_array_equal(unpacked(gains), np.diag(caps))
