"""Descriptions: the numbers NumPy would give over all rows, however these are cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.streams import Stream, sea
from devfnn.streams.describing import Description, Overview, describe
from devfnn.types import Chunk


def summed(chunks):
    first, *others = describe(chunks)
    for other in others:
        first = first + other
    return first


def gappy_rows(n_rows: int, seed: int) -> Chunk:
    rng = np.random.default_rng(seed)
    X = rng.normal([0.0, 1e6, -5.0], [1.0, 10.0, 0.1], (n_rows, 3))
    X[rng.random((n_rows, 3)) < 0.3] = np.nan
    return Chunk(X, rng.integers(0, 3, n_rows))


@given(n_rows=st.integers(2, 200), chunk_rows=st.integers(1, 60), seed=st.integers(0, 50))
def test_a_description_does_not_depend_on_the_chunks(n_rows, chunk_rows, seed):
    rows = gappy_rows(n_rows, seed)
    stream = Stream(("a", "b", "c"), (0, 1, 2), lambda: iter([rows])).chunks(rows=chunk_rows)
    found = summed(stream)
    assert found.n_rows == n_rows
    assert found.class_counts == {
        label: int((rows.y == label).sum()) for label in np.unique(rows.y).tolist()
    }
    for place in range(3):
        values = rows.X[:, place][~np.isnan(rows.X[:, place])]
        assert found.n_missing[place] == n_rows - len(values)
        expected = (
            [values.min(), values.max(), values.mean(), values.std()]
            if len(values)
            else [np.nan] * 4
        )
        got = [found.lows[place], found.highs[place], found.means[place], found.stds[place]]
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-6)


def test_shares_come_with_the_most_common_class_first():
    rows = Chunk(np.zeros((4, 1)), np.array(["b", "a", "b", None], object))
    assert list(Description.of(rows).class_shares().items()) == [
        ("b", 0.5),
        (None, 0.25),
        ("a", 0.25),
    ]


def test_hidden_labels_are_counted():
    stream = sea(10_000).hide_labels(0.25)
    assert summed(stream).n_hidden == pytest.approx(2500, abs=200)


def test_chunks_without_rows_are_passed_over():
    chunks = [Chunk(np.zeros((0, 2)), np.zeros(0, int)), Chunk(np.ones((1, 2)), np.zeros(1, int))]
    assert [part.n_rows for part in describe(chunks)] == [1]


def test_plain_data_has_none_for_what_is_not_known():
    rows = Chunk(np.array([[1.0, np.nan]]), np.array([7]))
    plain = Description.of(rows).to_dict(["a", "b"])
    assert plain["classes"] == {"7": 1}
    assert plain["features"]["a"] == {"min": 1.0, "max": 1.0, "mean": 1.0, "std": 0.0, "missing": 0}
    assert plain["features"]["b"]["mean"] is None
    assert plain["features"]["b"]["missing"] == 1


@settings(max_examples=30)
@given(n_chunks=st.integers(1, 200), most=st.integers(2, 12))
def test_an_overview_is_bounded_and_loses_no_row(n_chunks, most):
    overview = Overview(most)
    for number in range(n_chunks):
        overview.add(Description.of(Chunk(np.full((3, 1), float(number)), np.zeros(3, int))))
        assert len(overview.parts) <= most
    assert overview.n_chunks == n_chunks
    assert overview.whole.n_rows == sum(part.n_rows for part in overview.parts) == 3 * n_chunks
    *others, last = [part.n_rows for part in overview.parts]
    assert len(set(others)) <= 1
    assert last <= max(others, default=last)
    starts = np.cumsum([0, *others]) // 3
    assert [part.lows[0] for part in overview.parts] == starts.tolist()
