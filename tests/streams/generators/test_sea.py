"""The SEA generator: reproducible, honest about its drifts, and as noisy as asked."""

import itertools

import numpy as np
import pytest
from river.datasets import synth

from devfnn.errors import InputError
from devfnn.streams import SEA, imbalanced_sea, sea
from streams.generators.gathered import made, whole

THRESHOLDS = (8.0, 9.0, 7.0, 9.5)


def test_a_stream_says_what_it_is():
    stream = sea(1234, rows_per_concept=500, chunk_rows=100)
    assert stream.n_rows == 1234
    assert stream.feature_names == ("f1", "f2", "f3")
    assert stream.classes == (0, 1)


def test_features_fill_their_range():
    X, _ = whole(sea(20_000, rows_per_concept=20_000))
    assert X.min() >= 0.0
    assert X.max() <= 10.0
    np.testing.assert_allclose(X.mean(axis=0), 5.0, atol=0.1)


def test_labels_follow_the_thresholds_in_turn_and_again():
    X, y = whole(sea(1000, rows_per_concept=125, noise=0.0))
    for concept, threshold in zip(range(8), itertools.cycle(THRESHOLDS), strict=False):
        part = slice(125 * concept, 125 * (concept + 1))
        np.testing.assert_array_equal(y[part], X[part, 0] + X[part, 1] <= threshold)


@pytest.mark.parametrize(
    ("n_rows", "rows_per_concept", "thresholds", "expected"),
    [
        (1000, 300, THRESHOLDS, (300, 600, 900)),
        (900, 300, THRESHOLDS, (300, 600)),
        (1000, 1000, THRESHOLDS, ()),
        (1000, 100, (8.0,), ()),
        (1000, 200, (8.0, 8.0, 9.0), (400, 600)),
    ],
)
def test_drift_positions_are_where_the_threshold_changes(
    n_rows, rows_per_concept, thresholds, expected
):
    stream = sea(n_rows, rows_per_concept=rows_per_concept, thresholds=thresholds)
    assert stream.drift_positions == expected


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_rows": 0}, "n_rows must be a whole number from 1 on, not 0"),
        ({"n_rows": 10.5}, "n_rows must be a whole number"),
        ({"rows_per_concept": 0}, "rows_per_concept must be"),
        ({"chunk_rows": -1}, "chunk_rows must be"),
        ({"seed": -1}, "seed must be a whole number from 0 on"),
        ({"noise": 1.5}, "noise must be between 0 and 1"),
        ({"noise": float("nan")}, "noise must be between 0 and 1"),
        ({"thresholds": ()}, "thresholds must be"),
        ({"thresholds": (8.0, float("inf"))}, "threshold must be a finite number"),
        ({"thresholds": 8}, "thresholds must be a list"),
        ({"thresholds": ["a"]}, "threshold must be a finite number"),
    ],
)
def test_bad_values_are_refused_at_once(bad, message):
    with pytest.raises(InputError, match=message):
        sea(**({"n_rows": 100, "rows_per_concept": 50} | bad))


def test_the_rule_is_that_of_the_published_files(load_stream):
    X, y = load_stream("sea-paper")
    for concept, threshold in enumerate(THRESHOLDS * 2):
        part = slice(12_500 * concept, 12_500 * (concept + 1))
        agreement = np.mean((X[part, 0] + X[part, 1] <= threshold) == y[part])
        assert agreement == pytest.approx(0.905 if concept < 4 else 1.0, abs=0.005)


@pytest.mark.parametrize("variant", range(4))
def test_the_boundary_is_that_of_river(variant):
    """River says True where the sum exceeds the threshold; the published files and we say 0."""
    rows = list(synth.SEA(variant=variant, seed=variant).take(2000))
    X = np.array([list(x.values()) for x, _ in rows])
    ours, labels = SEA(THRESHOLDS[variant]).start()(X / 10.0)
    np.testing.assert_allclose(ours, X)
    np.testing.assert_array_equal(labels == 0, [y for _, y in rows])


def test_a_gradual_drift_mixes_both_thresholds():
    X, y = whole(sea(20_000, thresholds=[4, 14], positions=[5000], width=10_000, noise=0.0, seed=2))
    totals = X[:, 0] + X[:, 1]
    is_telling = (totals > 4) & (totals <= 14)  # the label says which threshold it is
    is_new = y == 1
    assert not is_new[:5000][is_telling[:5000]].any()
    assert is_new[15_000:][is_telling[15_000:]].all()
    halves = [is_new[part][is_telling[part]].mean() for part in np.s_[5000:10_000, 10_000:15_000]]
    assert halves == pytest.approx([0.25, 0.75], abs=0.03)


def test_an_incremental_drift_moves_the_threshold():
    X, y = whole(
        sea(3000, thresholds=[4, 14], positions=[1000], width=1000, kind="incremental", noise=0.0)
    )
    moving = 4 + 10 * (np.arange(1000) + 0.5) / 1000
    thresholds = np.concatenate([np.full(1000, 4), moving, np.full(1000, 14)])
    np.testing.assert_array_equal(y, X[:, 0] + X[:, 1] <= thresholds)


def test_positions_replace_the_default_rhythm():
    stream = sea(60_000, positions=[20_000])
    assert stream.drift_positions == (20_000,)
    assert sea(60_000, positions=[]).drift_positions == ()
    assert sea(60_000).drift_positions == (12_500, 25_000, 37_500, 50_000)


def test_the_minority_of_the_imbalanced_stream_swings_from_5_to_25_percent():
    stream = imbalanced_sea(100_000)
    assert stream.drift_positions == (25_000, 50_000, 75_000)
    X, y = whole(stream)
    shares = y.reshape(10, 20, 500).mean(axis=(0, 2))  # ten swings of 10,000 rows, one over another
    assert shares.min() == pytest.approx(0.05, abs=0.01)
    assert shares.max() == pytest.approx(0.25, abs=0.02)
    assert shares.argmin() in (0, 1, 18, 19)
    assert shares.argmax() in (8, 9, 10, 11)
    thresholds = np.repeat([4.0, 7.0, 4.0, 7.0], 25_000)
    np.testing.assert_array_equal(y, X[:, 0] + X[:, 1] <= thresholds)


def test_the_third_feature_says_nothing():
    X, classes = made(SEA(9.0), 50_000)
    assert X[classes == 1, 2].mean() == pytest.approx(X[classes == 0, 2].mean(), abs=0.1)
