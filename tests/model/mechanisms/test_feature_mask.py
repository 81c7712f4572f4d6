"""The feature mask: scores, features that go and come back, and the last one that stays."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from devfnn import DEVFNN, GClass
from devfnn.arrays import Floats, Ints
from devfnn.events import FeatureOff, FeatureOn
from devfnn.model.mechanisms.feature_mask import (
    FeatureStats,
    compression_index,
    empty_stats,
    feature_scores,
    rebased_stats,
    resized_stats,
    updated_mask,
    updated_stats,
)
from devfnn.model.scaling import Change
from scenes import CHUNK, config_of, each_network, flipped, of_kind, run, sloped, stacked

STANDARDISED, VARIANCE = "standardised", "variance"
VERBS = ["learn", "learn_rows"]


def stats_of(rows: Floats, labels: Ints, m: int, memory: float = 1.0) -> FeatureStats:
    """Statistics after chunks of 100 rows."""
    stats = empty_stats(rows.shape[1], m)
    for start in range(0, len(rows), 100):
        part = slice(start, start + 100)
        stats = updated_stats(stats, rows[part], labels[part], memory)
    return stats


@given(st.floats(0.0, 10.0), st.floats(0.0, 10.0), st.floats(-1.0, 1.0))
@settings(deadline=None, derandomize=True)
def test_the_compression_index_is_the_smaller_eigenvalue(
    first: float, second: float, correlation: float
) -> None:
    cov = correlation * np.sqrt(first * second)
    own = compression_index(np.array(first), np.array(second), np.array(cov))
    expected = max(reference.compression_index(first, second, cov), 0.0)
    assert float(own) == pytest.approx(expected, abs=1e-7)
    assert 0.0 <= own <= min(first, second) + 1e-9


def test_full_dependence_has_index_zero_and_none_the_smaller_variance() -> None:
    assert compression_index(np.array(2.0), np.array(0.5), np.array(1.0)) == pytest.approx(0.0)
    assert compression_index(np.array(2.0), np.array(0.5), np.array(-1.0)) == pytest.approx(0.0)
    assert compression_index(np.array(2.0), np.array(0.5), np.array(0.0)) == pytest.approx(0.5)


def test_statistics_without_fading_equal_those_of_all_rows(rng: np.random.Generator) -> None:
    rows, labels = rng.random((500, 3)), rng.integers(0, 3, 500)
    stats = stats_of(rows, labels, 3)
    targets = reference.one_hot(labels, 3)
    together = np.cov(np.hstack([rows, targets]).T, bias=True)
    assert stats.weight[0] == 500
    np.testing.assert_allclose(stats.signal_means[:3], rows.mean(axis=0))
    np.testing.assert_allclose(stats.signal_variances[:3], np.diag(together)[:3])
    np.testing.assert_allclose(stats.class_means, targets.mean(axis=0))
    np.testing.assert_allclose(stats.covariances[:3], together[:3, 3:], atol=1e-15)


def test_fading_statistics_equal_weighted_ones(rng: np.random.Generator) -> None:
    rows, labels = rng.random((300, 2)), rng.integers(0, 2, 300)
    stats = stats_of(rows, labels, 2, memory=0.5)
    weights = np.repeat([0.25, 0.5, 1.0], 100)
    both = np.hstack([rows, reference.one_hot(labels, 2)])
    mean, cov = reference.weighted_moments(both, weights)
    np.testing.assert_allclose(stats.signal_means[:2], mean[:2])
    np.testing.assert_allclose(stats.signal_variances[:2], np.diag(cov)[:2])
    np.testing.assert_allclose(stats.covariances[:2], cov[:2, 2:], atol=1e-15)


def test_missing_values_count_as_the_mean(rng: np.random.Generator) -> None:
    rows, labels = rng.random((200, 2)), rng.integers(0, 2, 200)
    stats = stats_of(rows, labels, 2)
    holed = np.full((50, 2), np.nan)
    after = updated_stats(stats, holed, rng.integers(0, 2, 50), 1.0)
    np.testing.assert_allclose(after.signal_means[:2], stats.signal_means[:2])
    np.testing.assert_allclose(after.signal_variances[:2], 0.8 * stats.signal_variances[:2])


def test_scores_as_printed_are_mean_compression_indices(rng: np.random.Generator) -> None:
    rows, labels = rng.random((400, 3)), rng.integers(0, 3, 400)
    rows[:, 1] += 0.3 * (labels == 1)
    scores = feature_scores(stats_of(rows, labels, 3), VARIANCE)
    targets = reference.one_hot(labels, 3)
    for feature in range(3):
        together = [np.cov(rows[:, feature], target, bias=True) for target in targets.T]
        expected = [reference.compression_index(c[0, 0], c[1, 1], c[0, 1]) for c in together]
        assert scores[feature] == pytest.approx(np.mean(expected))
    assert scores.max() <= 0.25  # which is why the printed threshold of 0.8 never acts on [0, 1]


def test_standardised_scores_tell_relevant_from_irrelevant(rng: np.random.Generator) -> None:
    rows = rng.random((2000, 3))
    labels = (rows[:, 0] > 0.5).astype(np.int64)
    scores = feature_scores(stats_of(rows, labels, 2), STANDARDISED)
    assert scores[0] < 0.3
    assert (scores[1:] > 0.9).all()


def test_a_feature_that_only_rules_can_use_is_relevant(rng: np.random.Generator) -> None:
    rows = rng.random((2000, 2))
    labels = (np.abs(rows[:, 0] - 0.5) > 0.25).astype(np.int64)
    scores = feature_scores(stats_of(rows, labels, 2), STANDARDISED)
    assert scores[0] < 0.5 < 0.9 < scores[1]


def test_scores_do_not_depend_on_the_scale(rng: np.random.Generator) -> None:
    rows, labels = rng.random((500, 2)), rng.integers(0, 2, 500)
    change = Change(np.array([1]), np.array([2.5]), np.array([-0.4]))
    stats = stats_of(rows, labels, 2)
    rebased = rebased_stats(stats, change)
    np.testing.assert_allclose(
        feature_scores(rebased, STANDARDISED), feature_scores(stats, STANDARDISED)
    )
    moved = rows.copy()
    moved[:, 1] = (moved[:, 1] + 0.4) / 2.5
    expected = stats_of(moved, labels, 2)
    np.testing.assert_allclose(rebased.signal_means[:2], expected.signal_means[:2])
    np.testing.assert_allclose(rebased.signal_variances[:2], expected.signal_variances[:2])
    np.testing.assert_allclose(rebased.covariances[:2], expected.covariances[:2], atol=1e-15)


@pytest.mark.parametrize("score", [STANDARDISED, VARIANCE])
def test_what_does_not_vary_has_no_score(rng: np.random.Generator, score: str) -> None:
    rows, labels = rng.random((100, 2)), rng.integers(0, 2, 100)
    rows[:, 1] = 0.3
    scores = feature_scores(stats_of(rows, labels, 2), score)
    assert np.isfinite(scores[0]) and np.isnan(scores[1])
    one_class = feature_scores(stats_of(rows, np.zeros(100, np.int64), 2), score)
    assert np.isnan(one_class).all()
    assert np.isnan(feature_scores(empty_stats(2, 2), score)).all()


def test_a_class_never_seen_changes_no_score(rng: np.random.Generator) -> None:
    rows, labels = rng.random((300, 2)), rng.integers(0, 2, 300)
    two, three = stats_of(rows, labels, 2), stats_of(rows, labels, 3)
    np.testing.assert_allclose(
        feature_scores(three, STANDARDISED), feature_scores(two, STANDARDISED)
    )


def test_room_for_new_features_and_classes_changes_nothing(rng: np.random.Generator) -> None:
    rows, labels = rng.random((300, 2)), rng.integers(0, 2, 300)
    stats = stats_of(rows, labels, 2)
    wider = resized_stats(stats, 3, 4)
    scores = feature_scores(wider, STANDARDISED)
    np.testing.assert_allclose(scores[:2], feature_scores(stats, STANDARDISED))
    assert np.isnan(scores[2])


def test_features_go_at_the_threshold_and_come_back_below_it() -> None:
    mask = updated_mask(np.array([True, True, False]), np.array([0.2, 0.8, 0.5]), 0.8)
    assert mask.tolist() == [True, False, True]
    assert updated_mask(mask, np.array([0.9, 0.3, 0.9]), 0.8).tolist() == [False, True, False]


def test_a_feature_without_a_score_stays_as_it_is() -> None:
    mask = updated_mask(np.array([True, False, True]), np.array([0.1, np.nan, np.nan]), 0.8)
    assert mask.tolist() == [True, False, True]
    unknown = updated_mask(np.array([True, False]), np.array([np.nan, np.nan]), 0.8)
    assert unknown.tolist() == [True, False]


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6))
@settings(deadline=None, derandomize=True)
def test_the_last_feature_is_never_switched_off(scores: list[float]) -> None:
    mask = updated_mask(np.ones(len(scores), np.bool_), np.array(scores), 0.5)
    assert mask.any()
    assert mask[np.argmin(scores)]


def test_a_feature_without_a_score_does_not_let_the_last_one_go() -> None:
    # A feature without a score is asleep: the layers do not see it whatever the mask says.
    mask = updated_mask(np.array([True, True, True]), np.array([np.nan, 0.95, 0.9]), 0.8)
    assert mask[2]


# ---- in networks

MASKING: dict[str, Any] = {"feature_mask": {}, "feature_mask__threshold": 0.93}


def changing_relevance() -> tuple[Any, Any]:
    """The third feature is noise for half of the stream, then takes the place of the second."""
    X, y = sloped(60)
    return X, np.where(np.arange(len(y)) < len(y) // 2, y, X[:, 0] + X[:, 2] > 1.0)


@pytest.mark.parametrize("verb", VERBS)
@each_network
def test_a_noise_feature_is_left_out_until_it_becomes_relevant(network: str, verb: str) -> None:
    every = {"chunk_rows": CHUNK, "labels__choice": "all"}  # so that chance decides nothing
    model = DEVFNN(config_of(network, **every, **MASKING))
    X, y = changing_relevance()
    half = len(y) // 2
    off = of_kind(run(model, X[:half], y[:half], verb), FeatureOff)
    assert [event.feature for event in off] == ["x2"] and off[0].score >= off[0].threshold
    assert model.feature_mask.tolist() == [True, True, False]
    shuffled = np.where([True, True, False], X, X[::-1])
    np.testing.assert_array_equal(model.predict_proba(shuffled), model.predict_proba(X))
    on = of_kind(run(model, X[half:], y[half:], verb), FeatureOn)
    assert [event.feature for event in on] == ["x2"] and on[0].score < on[0].threshold
    assert model.feature_mask[2]


@each_network
def test_relevant_features_are_never_left_out(network: str) -> None:
    X, _ = sloped(20)
    model = DEVFNN(config_of(network, **MASKING))
    assert not of_kind(run(model, X, X.sum(axis=1) > 1.5), FeatureOff)


@pytest.mark.parametrize("verb", VERBS)
@each_network
def test_without_a_feature_mask_every_feature_stays(network: str, verb: str) -> None:
    model = DEVFNN(config_of(network, chunk_rows=CHUNK, feature_mask=None))
    assert not of_kind(run(model, *changing_relevance(), verb), FeatureOff)
    assert model.feature_mask.all()


@pytest.mark.parametrize("verb", VERBS)
@each_network
def test_one_feature_always_stays(network: str, verb: str) -> None:
    model, (X, y) = DEVFNN(config_of(network, chunk_rows=CHUNK, **MASKING)), sloped(20)
    nothing = np.random.default_rng(3).permutation(y)
    for start in range(0, len(y), CHUNK):
        getattr(model, verb)(X[start : start + CHUNK], nothing[start : start + CHUNK])
        assert model.feature_mask.any()
    assert not model.feature_mask.all()


def test_a_single_layer_has_no_network_mechanisms() -> None:
    model = GClass(stacked(chunk_rows=CHUNK).replace(**MASKING))
    kinds = {event.kind for event in run(model, *flipped(20))}
    assert kinds <= {"ClassAdded", "RuleBorn", "RulePruned", "RuleRecalled"}
    assert model.n_layers == 1
