"""The SEA generator: reproducible, honest about its drifts, and as noisy as asked."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river.datasets import synth

from devfnn.errors import InputError
from devfnn.streams import SEA, imbalanced_sea, sea
from streams.generators.gathered import assert_same, made, whole

THRESHOLDS = (8.0, 9.0, 7.0, 9.5)


def test_a_stream_says_what_it_is():
    stream = sea(1234, rows_per_concept=500, chunk_rows=100)
    assert stream.n_rows == 1234
    assert stream.feature_names == ("f1", "f2", "f3")
    assert stream.classes == (0, 1)


def test_chunks_have_the_asked_size_and_the_last_holds_the_rest():
    chunks = list(sea(1234, rows_per_concept=500, chunk_rows=500))
    assert [chunk.X.shape for chunk in chunks] == [(500, 3), (500, 3), (234, 3)]
    assert [chunk.y.shape for chunk in chunks] == [(500,), (500,), (234,)]
    assert chunks[0].X.dtype == np.float64
    assert chunks[0].y.dtype == np.int64


@given(chunk_rows=st.integers(1, 1500), rows_per_concept=st.integers(1, 1500))
def test_rows_do_not_depend_on_the_chunk_size(chunk_rows, rows_per_concept):
    expected = whole(sea(1000, rows_per_concept=rows_per_concept, chunk_rows=1000, seed=3))
    rows = whole(sea(1000, rows_per_concept=rows_per_concept, chunk_rows=chunk_rows, seed=3))
    assert_same(rows, expected)


def test_a_stream_starts_anew_when_iterated_again():
    stream = sea(1000, rows_per_concept=300)
    assert_same(whole(stream), whole(stream))


def test_two_iterations_at_once_do_not_disturb_each_other():
    stream = sea(1000, rows_per_concept=300, chunk_rows=100)
    for left, right in zip(stream, stream, strict=True):
        np.testing.assert_array_equal(left.X, right.X)


def test_another_seed_gives_other_rows():
    stream, other = sea(100, rows_per_concept=50, seed=0), sea(100, rows_per_concept=50, seed=1)
    assert not np.array_equal(whole(stream)[0], whole(other)[0])


def test_features_do_not_depend_on_noise_or_concepts():
    plain = whole(sea(500, rows_per_concept=100, noise=0.0))[0]
    other = whole(sea(500, rows_per_concept=33, noise=0.5, thresholds=[3, 12]))[0]
    np.testing.assert_array_equal(plain, other)


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


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.4, 1.0])
def test_noise_is_the_share_of_flipped_labels(noise):
    clean = whole(sea(50_000, rows_per_concept=7000, noise=0.0))[1]
    noisy = whole(sea(50_000, rows_per_concept=7000, noise=noise))[1]
    assert np.mean(clean != noisy) == pytest.approx(noise, abs=0.01)


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


def test_a_class_comes_as_often_as_asked():
    X, y = whole(sea(40_000, class_shares={0: 0.8}, noise=0.0))
    assert np.mean(y == 0) == pytest.approx(0.8, abs=0.01)
    thresholds = np.repeat(THRESHOLDS, 12_500)[:40_000]
    np.testing.assert_array_equal(y, X[:, 0] + X[:, 1] <= thresholds)


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


def test_a_stream_without_a_number_of_rows_never_ends():
    stream = sea(rows_per_concept=700)
    assert stream.is_endless
    assert stream.n_rows is None
    assert list(itertools.islice(stream.drift_positions, 3)) == [700, 1400, 2100]
    first = list(itertools.islice(stream, 30))
    assert_same(whole(stream.take(15_000)), whole(sea(15_000, rows_per_concept=700)))
    np.testing.assert_array_equal(
        np.concatenate([chunk.y for chunk in first]), whole(stream.take(15_000))[1]
    )


def test_the_third_feature_says_nothing():
    X, classes = made(SEA(9.0), 50_000)
    assert X[classes == 1, 2].mean() == pytest.approx(X[classes == 0, 2].mean(), abs=0.1)
