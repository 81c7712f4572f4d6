"""Numerical soundness: whatever a stream does, matrices stay positive definite, numbers finite."""

from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, Config
from devfnn.arrays import Floats, Ints
from devfnn.model.config import ByReward
from scenes import CHUNK, config_of, count, each_network, stack_of, stacked, swift
from sound import assert_sound

N_FEATURES = 9
EXTREME = np.concatenate(
    [np.full((1, N_FEATURES), 1e99), np.full((1, N_FEATURES), -1e99), np.eye(N_FEATURES) * 1e99]
)


def nasty(n_rows: int, seed: int = 0, scale: bool = True) -> tuple[Floats, Ints]:
    """Rows of features that do everything features should not, with noisy labels.

    0 and 1 decide; 2 constant; 3 and 4 collinear with them; 5 huge; 6 tiny; 7 constant from a fifth
    of the stream on, but back for its last fifth; 8 jumps to another range in the middle, with an
    outlier now and then. A third class is there only in the first and in the last quarter.
    """
    rng, time = np.random.default_rng(seed), np.arange(n_rows) / n_rows
    X = rng.random((n_rows, N_FEATURES))
    X[:, 2] = 0.25
    X[:, 3] = X[:, 0]
    X[:, 4] = 0.5 * (X[:, 0] + X[:, 1])
    X[(time > 0.2) & (time < 0.8), 7] = 0.5
    if scale:
        X[:, 5] *= 1e9
        X[:, 6] *= 1e-9
        X[time > 0.5, 8] = 1e4 + 50.0 * X[time > 0.5, 8]
        X[(rng.random(n_rows) < 1e-3) & (time > 0.01), 8] = 1e12
    y = (X[:, 0] + X[:, 1] > 1.0).astype(np.int64)
    y = np.where(rng.random(n_rows) < 0.1, 1 - y, y)
    return X, np.where((X[:, 0] > 0.8) & (np.abs(time - 0.5) > 0.25), 2, y)


def assert_fed_safely(config: Config, n_rows: int, verb: str) -> DEVFNN:
    """Learn the nasty stream, looking at the model now and then."""
    X, y = nasty(n_rows, scale=config.scaling == "online")
    model = DEVFNN(config)
    looks = n_rows // 20
    for start in range(0, n_rows, CHUNK):
        getattr(model, verb)(X[start : start + CHUNK], y[start : start + CHUNK])
        if start % looks < CHUNK:
            assert_sound(model)
            extreme = model.predict_proba(EXTREME)
            assert np.isfinite(extreme).all()
            np.testing.assert_allclose(extreme.sum(axis=1), 1.0)
    assert_sound(model)
    return model


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize("memory", [0.99, 1.0])
@pytest.mark.parametrize("consequent", ["logistic", "least_squares"])
@pytest.mark.parametrize("scaling", ["online", "none"])
def test_matrices_stay_positive_definite(
    verb: str, memory: float, consequent: str, scaling: str
) -> None:
    changes: dict[str, Any] = {
        "gaussian__memory": memory,
        "gaussian__consequent": consequent,
        "scaling": scaling,
    }
    config = stacked(chunk_rows=CHUNK, labels__choice="all", **changes)
    assert_fed_safely(config, count(5000, 800), verb)


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@each_network
def test_a_long_nasty_stream_does_no_harm_and_is_learned(network: str, verb: str) -> None:
    model = assert_fed_safely(config_of(network), count(20_000, 800), verb)
    X, y = nasty(4000, seed=1)
    last = slice(3200, None)  # as the long stream ended
    assert (model.predict(X[last]) == y[last]).mean() > 0.8


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize(
    "changes",
    [
        {
            "gaussian__local_forgetting": 0.5,
            "gaussian__weight_decay": 1e-2,
            "gaussian__memory": 0.9,
        },
        {
            "gaussian__initial_gain": 1e8,
            "gaussian__later_gain": 1e8,
            "gaussian__width_floor": 1e-6,
            "gaussian__curvature_floor": 1e-6,
        },
        {"gaussian__chunk_memory": 0.0, "gaussian__consequent": "least_squares"},
        {"gaussian__chunk_memory": 0.5, "feature_mask": {}, "feature_mask__threshold": 0.9},
        {
            "training": "all",
            "layers": stack_of(3, inputs="all"),
            "growing__inputs": "all",
            "drift__significance": 0.1,
        },
        {"gaussian__memory": 0.5, "gaussian__max_population": 2.0, "voting": ByReward(step=1.0)},
        {
            "growing__newborn": "scratch",
            "drift__horizon": 1.0,
        },
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_extreme_parameters_do_no_harm_either(verb: str, changes: dict[str, Any]) -> None:
    config = stacked(chunk_rows=CHUNK, **changes)
    assert_fed_safely(config, count(4000, 400), verb)


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize(
    "changes",
    [
        {"memory": None},
        {"scaling": "none"},
        {"layers__memory": 2.0, "memory__shortest": 8.0, "memory__longest": 2.0},
        {"rules__prior": 1e8, "boxes__evidence": 0.0, "boxes__every": 1, "boxes__max_rules": 8},
        {"boxes__doubt": 1e9, "boxes__evidence": 5.0, "boxes__join_evidence": 1e9},
        {"clouds__rate": 1.0, "clouds__birth": 1.0, "clouds__memory": 0.5, "clouds__max_rules": 10},
        {"drift__significance": 0.5, "growing__max_kept": 2, "merging__share": 1.0},
        {"voting__rows": 1.0, "voting__power": 100.0},
        {"layers__label_noise": 0.9, "labels__budget": 0.05},
        {"feature_mask": {}, "feature_mask__threshold": 0.9},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_extreme_parameters_do_no_harm_to_the_default(verb: str, changes: dict[str, Any]) -> None:
    config = swift(chunk_rows=CHUNK, labels__choice="all").replace(**changes)
    assert_fed_safely(config, count(4000, 400), verb)


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize("scale", [1e99, 1e-99, 1e-300, 5e-324])
@each_network
def test_any_finite_unit_is_safe(
    network: str, verb: str, scale: float, rng: np.random.Generator
) -> None:
    X = rng.random((count(2000, 300), 3))
    y = (X[:, 0] > 0.5).astype(np.int64)
    X[:, 1] *= scale
    model = DEVFNN(config_of(network, chunk_rows=100))
    for start in range(0, len(y), 100):
        getattr(model, verb)(X[start : start + 100], y[start : start + 100])
    assert_sound(model)
    assert (model.predict(X) == y).mean() > 0.9


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize(
    ("row", "size"), [(0, 1e12), (0, -1e99), (3, 1e3), (20, -1e99), (100, 1e12)]
)
@each_network
def test_an_outlier_among_the_first_rows_is_safe(
    network: str, verb: str, row: int, size: float
) -> None:
    X, y = nasty(300, scale=False)
    X[row, 1] = size
    model = DEVFNN(config_of(network, chunk_rows=100))
    for start in range(0, len(y), 10):
        getattr(model, verb)(X[start : start + 10], y[start : start + 10])
        if start <= row + 50 or start % 100 == 0:  # often until the outlier has been learned
            assert_sound(model)
    assert_sound(model)


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@each_network
def test_units_that_change_all_the_time_are_safe(
    network: str, verb: str, rng: np.random.Generator
) -> None:
    """From 1e-200 to 1e+99 and back, in jumps of any size, from the first rows on."""
    model = DEVFNN(config_of(network, chunk_rows=50))
    for chunk in range(count(150, 30)):
        X = rng.random((50, 3))
        y = (X[:, 0] > 0.5).astype(np.int64)
        X[:, 1] *= 10.0 ** rng.integers(-200, 99)
        X[:, 2] *= 10.0 ** rng.integers(-200, 99, 50)
        getattr(model, verb)(X, y)
        if chunk % 20 == 0:
            assert_sound(model)
            assert np.isfinite(model.predict_proba(EXTREME[:, :3])).all()
    assert_sound(model)


@each_network
def test_missing_values_are_safe(network: str, rng: np.random.Generator) -> None:
    X, y = nasty(count(5000, 400))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[rng.random(len(X)) < 0.01] = np.nan
    model = DEVFNN(config_of(network, missing="skip", chunk_rows=CHUNK))
    for start in range(0, len(X), CHUNK):
        verb = model.learn if start % (2 * CHUNK) else model.learn_rows
        verb(X[start : start + CHUNK], y[start : start + CHUNK])
        assert np.isfinite(model.predict_proba(X[:100])).all()
    assert_sound(model)
