"""DSSCN as its users meet it: labels, refusals, seeds and parameters."""

import pickle

import numpy as np
import pytest

from devfnn.baselines.dsscn import DSSCN
from devfnn.errors import InputError, NotLearnedError


def labelled(rng, n_rows=300, n_features=3):
    """Uniform rows with a linear boundary."""
    X = rng.random((n_rows, n_features))
    return X, (X.sum(axis=1) > n_features / 2).astype(int)


def test_it_learns_classes_that_come_later():
    rng = np.random.default_rng(14)
    model = DSSCN(seed=1)
    X, y = labelled(rng)
    model.learn(X, np.where(y == 1, "a", "b"))
    X = rng.random((600, 3))
    y = np.array(["a", "b", "new"])[(3 * X[:, 0]).astype(int)]
    events = model.learn(X, y)
    assert [event.label for event in events if event.kind == "ClassAdded"] == ["new"]
    for _ in range(4):
        model.learn(X, y)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (600, 3)
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    assert (model.predict(X) == y).mean() > 0.7


BAD = {
    "nan": (np.array([[0.1, np.nan, 0.2]]), ["x"]),
    "infinite": (np.array([[0.1, np.inf, 0.2]]), ["x"]),
    "huge": (np.full((1, 3), 1e40), ["x"]),
    "width": (np.zeros((1, 2)), ["x"]),
    "labels": (np.zeros((2, 3)), ["x"]),
    "missing label": (np.zeros((2, 3)), ["x", None]),
}


@pytest.mark.parametrize("bad", BAD)
def test_refused_chunks_change_nothing(bad):
    model = DSSCN()
    model.learn(*labelled(np.random.default_rng(15)))
    before = pickle.dumps(model)
    with pytest.raises(InputError):
        model.learn(*BAD[bad])
    assert pickle.dumps(model) == before


def test_the_same_seed_gives_the_same_result():
    results = []
    for seed in (1, 1, 2):
        rng, model = np.random.default_rng(16), DSSCN(seed=seed)
        for _ in range(6):
            model.learn(*labelled(rng))
        results.append(model.predict_proba(labelled(rng)[0]).tolist())
    assert results[0] == results[1] != results[2]


def test_it_says_nothing_before_it_learned():
    with pytest.raises(NotLearnedError):
        DSSCN().predict(np.zeros((1, 2)))


@pytest.mark.parametrize(
    "parameters",
    [
        {"nodes": 3},
        {"half_width": -1.0},
        {"max_nodes": 2.5},
        {"scopes": ()},
        {"scopes": (2.0, 1.0)},
        {"rates": (0.9, 1.0)},
        {"slack": "much"},
        {"merging": None},
        {"compat": "no"},
        {"seed": -1},
        {"seed": "a"},
        {"seed": None},
    ],
)
def test_parameters_are_checked(parameters):
    with pytest.raises(InputError):
        DSSCN(**parameters)


def test_one_row_and_constant_features_are_fine():
    model = DSSCN()
    model.learn([[0.5, 0.5]], ["only"])
    model.learn(np.full((5, 2), 0.5), ["only"] * 4 + ["other"])
    assert model.predict([[0.5, 0.5], [1e20, -1e20]]).tolist()[0] in ("only", "other")
