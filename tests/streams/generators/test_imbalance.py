"""Classes that come as often as asked, whatever the concept and the drift."""

import numpy as np
import pytest

from devfnn.errors import InputError
from devfnn.streams import LED, SEA, RandomRBF, Sine, Stagger, drifting
from streams.generators.gathered import whole


def test_classes_have_the_shares_asked_for_and_the_others_keep_their_proportions():
    concept = RandomRBF(n_features=3, n_classes=4, n_centroids=8, seed=2)
    natural = np.bincount(whole(drifting([concept], 50_000))[1]) / 50_000
    y = whole(drifting([concept], 50_000, class_shares={1: 0.6, 2: 0.1}))[1]
    shares = np.bincount(y) / 50_000
    assert shares[1] == pytest.approx(0.6, abs=0.01)
    assert shares[2] == pytest.approx(0.1, abs=0.01)
    assert shares[0] / shares[3] == pytest.approx(natural[0] / natural[3], rel=0.08)


def test_shares_of_all_classes_may_be_given():
    y = whole(drifting([Stagger(1)], 20_000, class_shares={0: 0.5, 1: 0.5}))[1]
    assert y.mean() == pytest.approx(0.5, abs=0.01)


def test_a_class_can_be_left_out():
    y = whole(drifting([LED()], 10_000, class_shares={3: 0.0}))[1]
    assert set(y) == set(range(10)) - {3}


def test_a_share_can_swing():
    y = whole(drifting([Sine(1)], 200_000, class_shares={0: (0.1, 0.9)}))[1]
    found = (y == 0).reshape(20, 20, 500).mean(axis=(0, 2))
    middles = (np.arange(20) + 0.5) / 20
    expected = 0.5 - 0.4 * np.cos(2.0 * np.pi * middles)
    np.testing.assert_allclose(found, expected, atol=0.03)


def test_imbalance_keeps_the_boundary_through_every_kind_of_drift():
    for kind in ("gradual", "incremental"):
        options = {"positions": [2000], "width": 4000, "kind": kind}
        stream = drifting([SEA(4), SEA(14)], 8000, class_shares={1: 0.3}, **options)
        X, y = whole(stream)
        totals = X[:, 0] + X[:, 1]
        assert y.mean() == pytest.approx(0.3, abs=0.02)
        assert y[totals <= 4].all()
        assert not y[totals > 14].any()
        np.testing.assert_array_equal(y[:2000], totals[:2000] <= 4)
        np.testing.assert_array_equal(y[6000:], totals[6000:] <= 14)
        if kind == "incremental":
            thresholds = 4 + 10 * (np.arange(4000) + 0.5) / 4000
            np.testing.assert_array_equal(y[2000:6000], totals[2000:6000] <= thresholds)


def test_imbalance_leaves_rows_that_are_right_as_they_are():
    plain = whole(drifting([SEA(8)], 5000))
    X, y = whole(drifting([SEA(8)], 5000, class_shares={1: 0.1}))
    is_kept = (X == plain[0]).all(axis=1)
    assert is_kept.mean() > 0.5
    np.testing.assert_array_equal(y[is_kept], plain[1][is_kept])
    np.testing.assert_array_equal(y, X[:, 0] + X[:, 1] <= 8)


def test_a_class_that_does_not_occur_cannot_have_a_share():
    stream = drifting([SEA(-1.0)], 100, class_shares={1: 0.01})
    with pytest.raises(InputError, match="class 1 is too rare in a concept"):
        whole(stream)
