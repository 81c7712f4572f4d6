"""Rows as models see them: scaled by the whole stream, or as far as it has come."""

import functools

import numpy as np
import pytest

from devfnn.errors import DataError, InputError
from devfnn.experiments.running import checked_chunks, scaled_by_range, scaled_online
from devfnn.experiments.settings import StreamSettings
from devfnn.streams import from_arrays
from devfnn.streams.stream import Stream
from devfnn.types import Chunk


def stream_of(X, chunk_rows=50, block_rows=70):
    """A stream of given rows, in blocks and chunks that do not fit each other."""
    X = np.asarray(X, float)

    def blocks():
        for start in range(0, len(X), block_rows):
            part = X[start : start + block_rows]
            yield Chunk(part, np.arange(len(part)) % 2)

    names = tuple(f"f{place}" for place in range(X.shape[1]))
    return Stream(names, (0, 1), functools.partial(blocks), len(X), chunk_rows=chunk_rows)


def scaled(source):
    """All scaled rows."""
    return np.concatenate([chunk.X for chunk in source])


@pytest.fixture(name="X")
def growing(rng):
    """Two features whose ranges grow, and one that is constant."""
    swings = rng.normal(size=(400, 2)) * np.geomspace(1.0, 20.0, 400)[:, None] * [1.0, -30.0]
    return np.column_stack([swings, np.full(400, 7.0)])


# ---- by the whole stream


def test_the_whole_stream_gives_the_range(X):
    expected = (X - X.min(axis=0)) / np.where(np.ptp(X, axis=0), np.ptp(X, axis=0), 1.0)
    found = scaled(scaled_by_range(stream_of(X)))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found[:, :2].max(axis=0), [1.0, 1.0])
    assert not found[:, 2].any()


def test_missing_values_have_no_part_in_the_range_and_stay(X):
    X[0, 0] = X[-1, 1] = np.nan
    found = scaled(scaled_by_range(stream_of(X)))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(X))
    assert np.nanmin(found) == 0.0
    assert np.nanmax(found) == 1.0


def test_late_rows_are_scaled_as_all_others(X):
    stream = scaled_by_range(stream_of(X).delay_labels(rows=70))
    rows = scaled(stream)
    late = [chunk.late.X for chunk in stream if chunk.late is not None]
    assert late
    np.testing.assert_array_equal(np.concatenate(late), rows[: sum(map(len, late))])


def test_a_feature_without_values_has_no_range(X):
    X[:, 1] = np.nan
    with pytest.raises(InputError, match="'f1' has no range to scale by"):
        scaled_by_range(stream_of(X))


def test_a_range_beyond_all_numbers_is_refused(X):
    X[:2, 1] = [-1.7e308, 1.7e308]
    with pytest.raises(InputError, match=r"'f1' has no range to scale by: .* too far apart"):
        scaled_by_range(stream_of(X))


# ---- as far as it has come


def test_chunks_are_scaled_by_what_came_before_them_only(X):
    before = [chunk.X for chunk in scaled_online(stream_of(X))]
    for place in range(1, 8):
        changed = X.copy()
        changed[50 * place + 1 :] *= -1000.0
        after = [chunk.X for chunk in scaled_online(stream_of(changed))]
        for number in range(place):
            np.testing.assert_array_equal(after[number], before[number])
        np.testing.assert_array_equal(after[place][0], before[place][0])
        assert (after[place][1:, :2] != before[place][1:, :2]).any(axis=0).all()


def test_the_first_chunk_is_scaled_by_itself(X):
    first = next(scaled_online(stream_of(X))).X
    assert first[:, :2].min() >= -0.1
    assert first[:, :2].max() <= 1.1
    assert np.ptp(first[:, :2], axis=0).min() > 0.9


def test_row_by_row_the_first_chunk_is_scaled_by_the_rows_before_too(X):
    before = scaled(scaled_online(stream_of(X), by_row=True))
    for place in (1, 5, 17, 49, 120):
        changed = X.copy()
        changed[place:] *= -1000.0
        after = scaled(scaled_online(stream_of(changed), by_row=True))
        np.testing.assert_array_equal(after[:place], before[:place])
    assert (before[:4, :2] == 0.5).all()  # nobody knows a range yet
    assert np.ptp(before[8:50, :2], axis=0).min() > 0.5


def test_the_range_follows_the_stream(X):
    X = np.concatenate([X, X[300:], X[300:]])
    found = [chunk.X for chunk in scaled_online(stream_of(X))]
    is_clipped = [np.isin(chunk[:, :2], (-0.1, 1.1)).mean() for chunk in found]
    assert max(is_clipped) > 0.2  # while the range grows
    assert is_clipped[-1] < 0.2


def test_an_empty_start_is_no_first_chunk(X):
    stream = stream_of(X)

    class EmptyFirst:
        feature_names, classes = stream.feature_names, stream.classes

        def __iter__(self):
            yield Chunk(np.empty((0, 3)), np.empty(0, int))
            yield from stream

    found = list(scaled_online(EmptyFirst()))
    np.testing.assert_array_equal(
        np.concatenate([c.X for c in found]), scaled(scaled_online(stream))
    )


def test_late_labels_come_with_scaled_rows(rng):
    X = rng.uniform(100.0, 200.0, size=(400, 2))
    stream = stream_of(X).delay_labels(rows=60)
    chunks = list(scaled_online(stream))
    late = [
        (chunk.late.X, raw.late.X) for chunk, raw in zip(chunks, stream, strict=True) if raw.late
    ]
    assert late
    for found, raw in late:
        assert raw.min() >= 100.0
        assert -0.1 <= found.min() <= found.max() <= 1.1
        order = np.argsort(raw[:, 0])
        assert (np.diff(found[order, 0]) >= 0.0).all()


# ---- without gaps


def test_a_gap_is_named_by_its_row_and_feature(X):
    X[130, 1] = np.nan
    stream = stream_of(X)
    settings = StreamSettings(name="rows", skip=1000)
    source = checked_chunks(stream, stream.feature_names, settings, why="is missing.")
    seen = []
    with pytest.raises(DataError, match=r"rows, row 1,131: 'f1' is missing\."):
        seen.extend(source)
    assert len(seen) == 2


def test_rows_without_gaps_pass(X):
    stream = stream_of(X)
    settings = StreamSettings(name="rows")
    source = checked_chunks(stream, stream.feature_names, settings, why="is missing.")
    np.testing.assert_array_equal(scaled(source), X)


def test_row_by_row_the_first_chunk_is_not_scaled_by_rows_to_come():
    """Two streams that differ only from row 1000 on look the same up to there."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(2000, 2)), rng.integers(0, 2, 2000)
    changed = X.copy()
    changed[1000:] *= 1000.0
    seen = []
    for rows in (X, changed):
        stream = from_arrays(rows, y).chunks(rows=2000)
        (chunk,) = scaled_online(stream, by_row=True)
        seen.append(chunk.X)
    np.testing.assert_array_equal(seen[0][:1000], seen[1][:1000])
    assert np.ptp(seen[0][100:1000], axis=0).min() > 0.5  # and it is scaled
    assert np.abs(seen[0]).max() <= 1.1


def test_by_chunks_the_first_chunk_is_scaled_by_itself_since_it_only_trains():
    stream = from_arrays(np.arange(200.0)[:, None], np.arange(200) % 2).chunks(rows=200)
    (chunk,) = scaled_online(stream)
    assert chunk.X.min() < 0.1 and chunk.X.max() > 0.9
