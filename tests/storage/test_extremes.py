"""Models of the most extreme rows that are taken can be saved, told and loaded."""

import json

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.model.validation import LARGEST, LARGEST_WEIGHT
from devfnn.storage import dump, parse
from scenes import NETWORKS, each_network


@pytest.mark.parametrize("scaling", ["online", "none"])
@each_network
def test_the_largest_features_and_weights_can_be_saved(network: str, scaling: str) -> None:
    rng = np.random.default_rng(0)
    ends = rng.choice([-LARGEST, LARGEST, 0.0, 1e-300, 1e50, -1.0], (200, 3))
    labels, weights = rng.integers(0, 2, 200), np.full(200, LARGEST_WEIGHT)
    model = DEVFNN(NETWORKS[network].replace(scaling=scaling, chunk_rows=50))
    for start in range(0, 200, 50):
        rows = slice(start, start + 50)
        model.learn(ends[rows], labels[rows], weights[rows])
        model.learn_rows(ends[rows], labels[rows], weights[rows])
    again = parse(dump(model))
    assert dump(again) == dump(model)
    assert json.dumps(again.to_dict(), allow_nan=False) and again.describe()


@each_network
def test_ranges_may_change_by_more_than_a_number_can_tell(network: str) -> None:
    """Without the warning that NumPy has for what becomes infinite."""
    rng = np.random.default_rng(1)
    model = DEVFNN(NETWORKS[network].replace(chunk_rows=50))
    for scale in (1e-290, 1e99, 1e-200, 1.0):
        for _ in range(3):
            X, y = scale * rng.random((50, 3)), rng.integers(0, 2, 50)
            model.learn(X, y)
            model.learn_rows(X, y)
    assert dump(parse(dump(model))) == dump(model)
    assert np.isfinite(model.predict_proba(rng.random((10, 3)))).all()
