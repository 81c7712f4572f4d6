"""The three adapters predict what the core predicts on the same stream, chunk for chunk."""

import numpy as np
import pandas as pd
import pytest

from devfnn import DEVFNN, Config

pytest.importorskip("sklearn", minversion="1.6")
pytest.importorskip("river", minversion="0.26")
pytest.importorskip("devfnn.adapters.capymoa", exc_type=ImportError)

from capymoa.stream import NumpyStream

import devfnn.adapters.capymoa
import devfnn.adapters.river
import devfnn.adapters.sklearn

CHUNK, SEED = 250, 7
CONFIG = Config(missing="skip", seed=SEED, chunk_rows=CHUNK)


class River:
    """River's adapter, a table at a time."""

    def __init__(self, X, y):
        self.names = [f"x{place}" for place in range(X.shape[1])]
        self.model = devfnn.adapters.river.DEVFNNClassifier(CONFIG)

    def learn(self, X, y):
        self.model.learn_many(pd.DataFrame(X, columns=self.names), pd.Series(y))

    def probabilities(self, X):
        shares = self.model.predict_proba_many(pd.DataFrame(X, columns=self.names))
        return shares[sorted(shares.columns)].to_numpy()


class RiverRows(River):
    """River's adapter, one row at a time."""

    def learn(self, X, y):
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(zip(self.names, row, strict=True)), label)

    def probabilities(self, X):
        said = [
            self.model.predict_proba_one(dict(zip(self.names, row, strict=True)))
            for row in X.tolist()
        ]
        return np.array([[shares[label] for label in sorted(shares)] for shares in said])


class ScikitLearn:
    """scikit-learn's adapter; its chunks are those of the core."""

    def __init__(self, X, y):
        self.model = devfnn.adapters.sklearn.DEVFNNClassifier(config=CONFIG)

    def learn(self, X, y):
        self.model.partial_fit(X, y, classes=[0, 1])

    def probabilities(self, X):
        return self.model.predict_proba(X)


class CapyMOA:
    """CapyMOA's adapter, an instance at a time."""

    def __init__(self, X, y):
        names = [f"x{place}" for place in range(X.shape[1])]
        stream = NumpyStream(X, y, feature_names=names, target_type="categorical")
        self.model = devfnn.adapters.capymoa.DEVFNN(
            stream.get_schema(), random_seed=SEED, config=CONFIG
        )
        self.instances = {x.tobytes(): stream.next_instance() for x in X}

    def learn(self, X, y):
        for x in X:
            self.model.train(self.instances[x.tobytes()])

    def probabilities(self, X):
        return np.array([self.model.predict_proba(self.instances[x.tobytes()]) for x in X])


@pytest.fixture(scope="module")
def stream():
    """3000 rows with gaps; labels turn about at 1000, and ranges grow at 2000."""
    rng = np.random.default_rng(1)
    X = rng.random((3000, 4))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.4)).astype(int)
    y[1000:] = 1 - y[1000:]
    X[2000:] *= 3.0
    X[rng.random(X.shape) < 0.02] = np.nan
    return X, y


@pytest.mark.parametrize(
    ("adapter", "learn"),
    [
        (River, DEVFNN.learn_rows),
        (RiverRows, DEVFNN.learn_rows),
        (CapyMOA, DEVFNN.learn_rows),
        (ScikitLearn, DEVFNN.learn),
    ],
)
def test_every_chunk_is_predicted_as_by_the_core(adapter, learn, stream):
    X, y = stream
    core, other = DEVFNN(CONFIG), adapter(X, y)
    events = []
    for start in range(0, len(X), CHUNK):
        rows, labels = X[start : start + CHUNK], y[start : start + CHUNK]
        if start:
            expected = core.predict_proba(rows)[:, np.argsort(core.classes)]
            assert np.array_equal(other.probabilities(rows), expected), f"at row {start}"
        events += learn(core, rows, labels)
        other.learn(rows, labels)
    kinds = {event.kind for event in events}
    assert {"DriftFound", "RuleSplit", "RangeChanged"} <= kinds  # much has happened
    model = other.model.model_ if adapter is ScikitLearn else other.model.model
    assert model.n_labels_used == core.n_labels_used
    assert list(model.history()) == events
