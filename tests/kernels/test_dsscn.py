"""Recursive least squares of nodes against the same in whole arrays."""

import numpy as np
import pytest

from devfnn.kernels.dsscn import SMALLEST_SHARE, learn_nodes


def learn_slowly(values, covariances, terms, shares, targets, decay):
    """The twin: every row by matrix products."""
    shares = np.where(shares < SMALLEST_SHARE, 0.0, shares)
    for row, share, target in zip(terms, shares, targets, strict=True):
        pulls = covariances @ row
        gains = pulls * (share / (1.0 + share * (pulls @ row)))[:, None]
        covariances -= gains[:, :, None] * pulls[:, None, :]
        misses = target - values @ row
        faded = (decay * (share > 0.0))[:, None, None] * (values @ covariances.swapaxes(1, 2))
        values += gains[:, None, :] * misses[:, :, None] - faded


@pytest.mark.parametrize("decay", [0.0, 1e-3])
def test_rows_are_learned_as_by_matrix_products(decay):
    rng = np.random.default_rng(0)
    values, covariances = rng.normal(size=(3, 2, 5)), np.tile(10.0 * np.eye(5), (3, 1, 1))
    terms, targets = rng.normal(size=(40, 5)), rng.normal(size=(40, 2))
    shares = rng.random((40, 3))
    shares[::4, 1] = 1e-9
    slow = values.copy(), covariances.copy()
    learn_slowly(*slow, terms, shares, targets, decay)
    learn_nodes(values, covariances, terms, shares, targets, decay, np.empty(5))
    np.testing.assert_allclose(values, slow[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(covariances, slow[1], rtol=1e-9, atol=1e-12)


def test_a_node_without_a_share_learns_nothing():
    values, covariances = np.ones((1, 1, 2)), np.eye(2)[None].copy()
    shares = np.full((3, 1), 0.5 * SMALLEST_SHARE)
    learn_nodes(values, covariances, np.ones((3, 2)), shares, np.ones((3, 1)), 0.1, np.empty(2))
    np.testing.assert_array_equal(values, np.ones((1, 1, 2)))
    np.testing.assert_array_equal(covariances, np.eye(2)[None])
