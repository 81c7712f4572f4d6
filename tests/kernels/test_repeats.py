"""Labels that come in runs: how often they differ from the one before, and a row's worth."""

from typing import NamedTuple

import numpy as np
import pytest

from build import count
from concept_build import copied, fresh
from concept_parts import SlowRepeats
from concept_same import assert_same_repeats
from devfnn.kernels.concept_state import INDEPENDENCE, LAST_LABEL, NEAR_CHANGES, WATCHED, Concepts
from devfnn.kernels.repeats import FIRST_ROWS, LEAST, watch_label, weigh_evidence
from devfnn.arrays import Floats, Ints


class Known(NamedTuple):
    """What the kernels need of a state; a whole one takes Python long to hand over."""

    course: Floats
    label_shares: Floats


def known(m: int) -> Known:
    """Nothing watched yet."""
    state, _ = fresh(1, m)
    return Known(state.course, state.label_shares)


def watch(own: Known, labels: Ints) -> Known:
    """Take in labels."""
    for label in labels.tolist():
        watch_label(own, label)
    return own


def worths(labels: Ints, m: int = 2) -> Floats:
    """What a row is worth, every 100 labels."""
    own, found = known(m), []
    for start in range(0, len(labels), 100):
        watch(own, labels[start : start + 100])
        weigh_evidence(own)
        found.append(float(own.course[INDEPENDENCE]))
    return np.array(found)


def in_runs(rng: np.random.Generator, n_rows: int, length: int, m: int = 2) -> Ints:
    """Classes drawn anew about every so many rows."""
    turns = np.cumsum(rng.random(n_rows) < 1.0 / length)
    return rng.integers(0, m, n_rows + 1)[turns]


def changes(labels: Ints) -> Floats:
    """Whether each label but the first differs from the one before."""
    return (labels[1:] != labels[:-1]).astype(np.float64)


def faded(first: float, news: Floats) -> float:
    """A share that follows news at the least rate."""
    weights = 1e-4 * (1.0 - 1e-4) ** np.arange(news.size)[::-1]
    return float(first * (1.0 - 1e-4) ** news.size + weights @ news)


# ---- how often labels differ


@pytest.mark.parametrize("m", [2, 5])
@pytest.mark.parametrize("n_rows", [2, 3, 250, 1700, 10000])
def test_the_shares_are_plain_means(rng: np.random.Generator, m: int, n_rows: int) -> None:
    labels = in_runs(rng, n_rows, 4, m)
    own = watch(known(m), labels)
    assert own.course[NEAR_CHANGES] == pytest.approx(changes(labels).mean(), rel=1e-10)
    expected = np.bincount(labels, minlength=m) / n_rows
    np.testing.assert_allclose(own.label_shares, expected, rtol=1e-10, atol=1e-15)
    assert (own.course[WATCHED], own.course[LAST_LABEL]) == (n_rows, labels[-1])


def test_the_shares_fade_after_ten_thousand_labels(rng: np.random.Generator) -> None:
    labels = in_runs(rng, 900, 3, 3)
    own = watch(known(3), labels[:1])
    own.course[[WATCHED, NEAR_CHANGES]] = 12000.0, 0.9
    own.label_shares[:] = 0.7, 0.2, 0.1
    watch(own, labels[1:])
    assert own.course[NEAR_CHANGES] == pytest.approx(faded(0.9, changes(labels)))
    for k, first in enumerate((0.7, 0.2, 0.1)):
        assert own.label_shares[k] == pytest.approx(faded(first, labels[1:] == k))
    own.course[WATCHED] = 5000.0
    before, near = own.label_shares.copy(), float(own.course[NEAR_CHANGES])
    label = (int(own.course[LAST_LABEL]) + 1) % 3
    watch_label(own, label)
    assert own.course[NEAR_CHANGES] == pytest.approx(near + (1.0 - near) / 5000.0)
    expected = before + (np.eye(3)[label] - before) / 5001.0
    np.testing.assert_allclose(own.label_shares, expected)


def test_the_first_label_is_compared_with_nothing() -> None:
    own, places = watch(known(2), np.array([1])), [WATCHED, LAST_LABEL, NEAR_CHANGES]
    assert own.course[places].tolist() == [1.0, 1.0, 0.0]
    assert own.label_shares.tolist() == [0.0, 1.0]
    watch_label(own, 0)
    assert own.course[places].tolist() == [2.0, 0.0, 1.0]
    assert own.label_shares.tolist() == [0.5, 0.5]
    watch_label(own, 0)
    assert own.course[places].tolist() == [3.0, 0.0, 0.5]
    np.testing.assert_allclose(own.label_shares, [2.0 / 3.0, 1.0 / 3.0])


def test_shares_never_leave_their_range(rng: np.random.Generator) -> None:
    labels = np.concatenate([np.full(count(11000, 2000), 2), in_runs(rng, 1000, 5, 3)])
    own = known(3)
    for label in labels.tolist():
        watch_label(own, label)
        assert own.label_shares.min() >= 0.0 and own.label_shares.max() <= 1.0
        assert abs(own.label_shares.sum() - 1.0) < 1e-9


def test_watching_a_label_leaves_all_else_alone(rng: np.random.Generator) -> None:
    state, _ = fresh(1, 2)
    state.course[:WATCHED] = rng.random(WATCHED)
    before = copied(state)
    for label in rng.integers(0, 2, 300).tolist():
        watch_label(state, label)
    np.testing.assert_array_equal(state.course[:WATCHED], before.course[:WATCHED])
    for name in set(Concepts._fields) - {"course", "label_shares"}:
        np.testing.assert_array_equal(getattr(state, name), getattr(before, name))


@pytest.mark.parametrize("m", [2, 3])
def test_watching_labels_equals_the_twin(rng: np.random.Generator, m: int) -> None:
    state, _ = fresh(3, m)
    slow = SlowRepeats(0, 0, 0.0, np.zeros(m))
    for label in in_runs(rng, 1600, 8, m).tolist():
        watch_label(state, label)
        slow.watch(label)
        assert_same_repeats(state, slow)
        weigh_evidence(state)
        assert state.course[INDEPENDENCE] == pytest.approx(slow.independence())
    assert slow.independence() < 0.5


# ---- what a row is worth


@pytest.mark.parametrize(
    ("n_rows", "near", "shares", "worth"),
    [
        (1000, 0.1, (0.5, 0.5), 0.2),
        (999, 0.1, (0.5, 0.5), 1.0),  # nothing is known yet
        (0, 0.0, (0.0, 0.0), 1.0),
        (5000, 0.34, (0.5, 0.5), 0.68),
        (5000, 0.36, (0.5, 0.5), 1.0),  # by chance
        (5000, 0.7, (0.5, 0.5), 1.0),  # labels that change in turns
        (5000, 0.06, (0.5, 0.5), 0.12),
        (5000, 0.05, (0.5, 0.5), 0.1),
        (5000, 0.03, (0.5, 0.5), 0.1),
        (5000, 0.0, (0.5, 0.5), 0.1),
        (5000, 0.09, (0.9, 0.1), 0.5),
        (5000, 0.13, (0.1, 0.9), 1.0),
        (5000, 0.31, (0.2, 0.5, 0.3), 0.5),
        (5000, 0.0, (1.0 - 1e-9, 1e-9), 0.1),
        (5000, 0.0, (0.0, 1.0), 1.0),  # one class only
        (5000, 0.1, (0.0, 1.0), 1.0),
    ],
)
def test_the_worth_is_the_factor_of_changes_and_those_by_chance(
    n_rows: int, near: float, shares: tuple[float, ...], worth: float
) -> None:
    own = known(len(shares))
    for old in (0.4, 1.0):
        own.course[[WATCHED, NEAR_CHANGES, INDEPENDENCE]] = n_rows, near, old
        own.label_shares[:] = shares
        before = own.course.copy()
        weigh_evidence(own)
        assert own.course[INDEPENDENCE] == pytest.approx(worth)
        before[INDEPENDENCE] = own.course[INDEPENDENCE]
        np.testing.assert_array_equal(own.course, before)
        assert own.label_shares.tolist() == list(shares)


def some_labels(rng: np.random.Generator, kind: str, n_rows: int) -> Ints:
    """Independent labels whose balance drifts in some way, or stays."""
    times = np.arange(n_rows) / n_rows
    chances = {
        "none": np.full(n_rows, 0.5),
        "skewed": np.full(n_rows, 0.4),
        "sudden": np.where(times < 0.5, 0.4, 0.6),
        "gradual": np.linspace(0.35, 0.65, n_rows),
        "recurring": np.where(4.0 * times % 2.0 < 1.0, 0.4, 0.6),
    }
    if kind == "many classes":
        return rng.integers(0, 10, n_rows)
    if kind == "concept":  # the rows are independent, what they are called turns round
        rows = rng.random(n_rows)
        return np.where(times < 0.5, rows < 0.5, rows >= 0.5).astype(np.int64)
    return (rng.random(n_rows) < chances[kind]).astype(np.int64)


KINDS = ["none", "skewed", "sudden", "gradual", "recurring", "many classes", "concept"]


@pytest.mark.parametrize("kind", KINDS)
def test_independent_labels_are_worth_1_whatever_drifts(
    rng: np.random.Generator, kind: str
) -> None:
    m = 10 if kind == "many classes" else 2
    for _ in range(count(20, 5)):
        assert (worths(some_labels(rng, kind, count(8000, 3000)), m) == 1.0).all()


@pytest.mark.parametrize("share", [0.3, 0.1, 0.03, 0.01])
def test_independent_labels_of_a_rare_class_are_worth_1(
    rng: np.random.Generator, share: float
) -> None:
    labels = (rng.random(30000) < share).astype(np.int64)
    assert 0 < labels.sum() < 10000
    assert (worths(labels) == 1.0).all()


@pytest.mark.parametrize("m", [2, 5])
@pytest.mark.parametrize("length", [3, 10, 40])
def test_labels_in_runs_are_worth_less_by_the_changes_that_are_missing(
    rng: np.random.Generator, m: int, length: int
) -> None:
    labels = in_runs(rng, 6000, length, m)
    found = worths(labels, m)
    for rows in (1000, 1500, 6000):
        shares = np.bincount(labels[:rows], minlength=m) / rows
        factor = changes(labels[:rows]).mean() / (1.0 - (shares**2).sum())
        expected = max(factor, 0.1) if factor < 0.7 else 1.0
        assert found[rows // 100 - 1] == pytest.approx(expected)
    assert (found[: FIRST_ROWS // 100 - 1] == 1.0).all()
    assert found.min() >= LEAST
    # Neighbours are of one run unless it has just ended.
    assert found[-1] == pytest.approx(max(1.0 / length, 0.1), rel=0.5)


def test_nothing_is_known_before_the_first_thousand_labels(rng: np.random.Generator) -> None:
    own = known(2)
    for index, label in enumerate(in_runs(rng, 1200, 20).tolist(), start=1):
        watch_label(own, label)
        weigh_evidence(own)
        assert (own.course[INDEPENDENCE] < 1.0) == (index >= FIRST_ROWS)


@pytest.mark.parametrize("length", [100, 1000, 7000])
def test_no_row_is_worth_less_than_the_least(length: int) -> None:
    found = worths(np.arange(14000) // length % 2)
    assert found[-1] == LEAST
    assert found.min() >= LEAST


def test_labels_in_turns_are_worth_1() -> None:
    assert (worths(np.arange(3000) % 2) == 1.0).all()
    assert (worths(np.arange(3000) % 7, 7) == 1.0).all()


def test_a_single_class_is_worth_1() -> None:
    assert (worths(np.full(3000, 1)) == 1.0).all()


def test_runs_are_forgotten_when_they_are_over(rng: np.random.Generator) -> None:
    own = watch(known(2), in_runs(rng, 2000, 10))
    weigh_evidence(own)
    assert own.course[INDEPENDENCE] < 0.3
    watch(own, rng.integers(0, 2, 6000))
    weigh_evidence(own)
    assert own.course[INDEPENDENCE] == 1.0
