"""Rows as River has them, and classifiers that have learned some."""

import math

import numpy as np

from devfnn.adapters.river import DEVFNNClassifier

NAMES = ["a", "b", "c"]


def rows(n_rows=600, seed=0):
    """Rows and labels with a drift in the middle, and a third class that comes later."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 3))
    y = (X[:, 0] + X[:, 1] > 1.0).astype(int)
    y[n_rows // 2 :] = 1 - y[n_rows // 2 :]
    y[(X[:, 2] > 0.9) & (np.arange(n_rows) > 50)] = 2
    return X, y.tolist()


def as_dicts(X):
    """Rows as River has them; NaN is a feature that is not there."""
    return [
        {name: value for name, value in zip(NAMES, row, strict=True) if not math.isnan(value)}
        for row in X.tolist()
    ]


def learned(X, y, **parameters):
    """A classifier that has learned rows."""
    model = DEVFNNClassifier(**parameters)
    for x, label in zip(as_dicts(X), y, strict=True):
        model.learn_one(x, label)
    return model


def said(model, X):
    """Probabilities of rows as a matrix, the columns in the order of the classes."""
    answers = [model.predict_proba_one(x) for x in as_dicts(X)]
    return np.array([[answer[label] for label in model.model.classes] for answer in answers])
