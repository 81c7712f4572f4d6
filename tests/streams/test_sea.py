"""The SEA generator: reproducible, honest about its drifts, and as noisy as asked."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devfnn.errors import InputError
from devfnn.streams import GeneratedStream, sea

THRESHOLDS = (8.0, 9.0, 7.0, 9.5)


def whole(stream: GeneratedStream) -> tuple[np.ndarray, np.ndarray]:
    """All rows of a stream."""
    chunks = list(stream)
    return np.concatenate([chunk.X for chunk in chunks]), np.concatenate([c.y for c in chunks])


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
    np.testing.assert_array_equal(rows[0], expected[0])
    np.testing.assert_array_equal(rows[1], expected[1])


def test_a_stream_starts_anew_when_iterated_again():
    stream = sea(1000, rows_per_concept=300)
    first, second = whole(stream), whole(stream)
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])


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
        ({"thresholds": (8.0, float("inf"))}, "thresholds must be"),
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
