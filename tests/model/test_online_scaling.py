"""Online scaling inside the model: ranges are followed, outliers and clocks are not."""

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.arrays import Floats, Ints
from devfnn.events import CodeNoticed, FeatureAsleep, FeatureAwake, RangeChanged, RangeMoved
from scenes import CHUNK, config_of, each_network, of_kind, prequential, run, sloped

VERBS = ["learn", "learn_rows"]


def stretched(n_chunks: int, factor: float, offset: float) -> tuple[Floats, Ints]:
    """A stream whose second feature is in other units in its second half; labels as before."""
    X, y = sloped(n_chunks)
    half = len(y) // 2
    X[half:, 1] = factor * X[half:, 1] + offset
    return X, y


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("change", [(1.0, 0.0), (20.0, 0.0), (1.0, 30.0), (1.0, -30.0), (5e6, 1e7)])
@each_network
def test_a_feature_that_leaves_its_range_is_followed(
    network: str, verb: str, change: tuple[float, float]
) -> None:
    model, (X, y) = DEVFNN(config_of(network, chunk_rows=CHUNK)), stretched(30, *change)
    events = run(model, X, y, verb)
    changed = [*of_kind(events, RangeChanged), *of_kind(events, RangeMoved)]
    assert {event.feature for event in changed} == ({"x1"} if change != (1.0, 0.0) else set())
    scaler = model._known().scaler
    later = X[len(y) // 2 :, 1]
    assert scaler.low[1] <= later.min() + 0.1 * scaler.width[1]
    assert scaler.low[1] + scaler.width[1] >= later.max() - 0.1 * scaler.width[1]
    for event in changed:
        assert event.low < event.high and event.row >= len(y) // 2 - 1


@each_network
def test_accuracy_holds_while_the_range_grows_tenfold(network: str) -> None:
    X, _ = sloped(60)
    X[:, 1] *= np.repeat(np.linspace(1.0, 10.0, 60), CHUNK)
    y = (X[:, 0] > 0.5).astype(np.int64)
    accuracies = prequential(DEVFNN(config_of(network, chunk_rows=CHUNK)), X, y)
    assert accuracies[5:].min() > 0.9


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("size", [1e9, -1e9, 1e99])
@each_network
def test_a_single_outlier_is_not_followed(network: str, verb: str, size: float) -> None:
    config, (X, y) = config_of(network, chunk_rows=CHUNK), sloped(20)
    model, calm = DEVFNN(config), DEVFNN(config)
    wild = X.copy()
    wild[10 * CHUNK + 7, 1] = size
    assert not of_kind(run(model, wild, y, verb), RangeChanged)
    run(calm, X, y, verb)
    np.testing.assert_array_equal(model._known().scaler.low, calm._known().scaler.low)
    np.testing.assert_array_equal(model._known().scaler.width, calm._known().scaler.width)
    assert (model.predict(X) == y).mean() > 0.97


GLITCHES = {
    "six codes in a feature": (6, slice(1), -9999.0),
    "fifty codes in all": (50, slice(3), -9999.0),
    "fifty wild rows": (50, slice(3), 1e6 * np.random.default_rng(2).normal(size=(50, 3))),
    "fifty rows just outside": (50, slice(3), 5.0 * np.random.default_rng(2).normal(size=(50, 3))),
}
"""Name -> number of bad rows, their bad features, and what is in them."""


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("glitch", GLITCHES)
@each_network
def test_a_model_is_itself_again_soon_after_a_glitch(network: str, verb: str, glitch: str) -> None:
    model, (X, y) = DEVFNN(config_of(network, chunk_rows=CHUNK)), sloped(30)
    model.learn(X, y)
    n_rows, features, bad = GLITCHES[glitch]
    rows, labels = sloped(10, seed=5)
    rows[:n_rows, features] = bad
    run(model, rows, labels, verb)
    later, expected = sloped(10, seed=6)
    assert (model.predict(later) == expected).mean() > 0.97


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("factor", [1e-6, 1e6])
@each_network
def test_what_was_learned_holds_in_another_unit(network: str, verb: str, factor: float) -> None:
    model, (X, y) = DEVFNN(config_of(network, chunk_rows=CHUNK)), sloped(10)
    model.learn(X, y)
    rows, labels = sloped(10, seed=5)
    rows[:, 1] *= factor
    (moved,) = of_kind(run(model, rows, labels, verb), RangeMoved)
    assert moved.feature == "x1" and moved.high - moved.low == pytest.approx(factor, rel=0.1)
    assert (model.predict(rows[-CHUNK:]) == labels[-CHUNK:]).mean() > 0.9


@pytest.mark.parametrize("verb", VERBS)
@each_network
def test_a_code_is_told(network: str, verb: str) -> None:
    model, (X, y) = DEVFNN(config_of(network, chunk_rows=CHUNK)), sloped(20)
    X[10 * CHUNK :: 5, 2] = -9999.0
    (noticed,) = of_kind(run(model, X, y, verb), CodeNoticed)
    assert (noticed.feature, noticed.value) == ("x2", -9999.0)
    assert "x2 was -9999 again and again" in noticed.explanation
    assert noticed in [entry for entry in model.history().events]


@pytest.mark.parametrize("verb", VERBS)
@each_network
def test_an_outlier_among_the_first_rows_does_not_spoil_the_range(network: str, verb: str) -> None:
    model, (X, y) = DEVFNN(config_of(network, chunk_rows=CHUNK)), sloped(20)
    X[3, 1] = 1e9
    run(model, X, y, verb)
    assert model._known().scaler.width[1] < 5.0
    assert (model.predict(X[CHUNK:]) == y[CHUNK:]).mean() > 0.95


@pytest.mark.parametrize("verb", VERBS)
@each_network
def test_a_constant_feature_sleeps_until_it_varies(network: str, verb: str) -> None:
    model, (X, y) = DEVFNN(config_of(network, chunk_rows=CHUNK), ["a", "b", "c"]), sloped(40)
    half = len(y) // 2
    X[:half, 2] = 4.0
    assert not of_kind(run(model, X[:half], y[:half], verb), FeatureAwake)
    assert model.feature_mask.tolist() == [True, True, False]
    changed = np.where([True, True, False], X, 7.7)
    np.testing.assert_array_equal(model.predict_proba(changed), model.predict_proba(X))
    later = (X[half:, 0] + X[half:, 2] > 1.0).astype(np.int64)
    (awake,) = of_kind(run(model, X[half:], later, verb), FeatureAwake)
    assert awake.feature == "c" and awake.row <= half + CHUNK and awake.low < awake.high
    assert model.feature_mask.all()
    assert (model.predict(X[-CHUNK:]) == later[-CHUNK:]).mean() > 0.9


def clock(n_rows: int) -> Floats:
    """Time goes on, then is set back."""
    time = np.arange(n_rows) / 50.0
    return np.where(np.arange(n_rows) < 2 * n_rows // 3, time, time - time[2 * n_rows // 3])


@pytest.mark.parametrize("verb", VERBS)
@each_network
def test_a_clock_falls_asleep_and_wakes_when_it_turns_back(network: str, verb: str) -> None:
    model, (X, y) = DEVFNN(config_of(network, chunk_rows=CHUNK), ["a", "b", "clock"]), sloped(60)
    X[:, 2] = clock(len(y))
    turn = 2 * len(y) // 3
    events = run(model, X[:turn], y[:turn], verb)
    (asleep,) = of_kind(events, FeatureAsleep)
    assert asleep.feature == "clock" and asleep.escapes >= 3
    assert not of_kind(events, FeatureAwake)
    assert model.feature_mask.tolist() == [True, True, False]
    (awake,) = of_kind(run(model, X[turn:], y[turn:], verb), FeatureAwake)
    assert awake.feature == "clock" and awake.row >= turn - 1
    assert model.feature_mask.all()


@pytest.mark.parametrize("verb", VERBS)
@each_network
def test_a_feature_that_swings_is_no_clock(network: str, verb: str) -> None:
    model, (X, y) = DEVFNN(config_of(network, chunk_rows=CHUNK)), sloped(60)
    time = np.arange(len(y))
    X[:, 2] = (1.0 + time / 1000.0) * np.sin(time / 10.0)  # ever wider, on both sides
    events = run(model, X, y, verb)
    assert of_kind(events, RangeChanged) and not of_kind(events, FeatureAsleep)


@pytest.mark.parametrize("verb", VERBS)
@each_network
def test_without_scaling_there_are_no_ranges(network: str, verb: str) -> None:
    model = DEVFNN(config_of(network, chunk_rows=CHUNK, scaling="none"))
    kinds = {event.kind for event in run(model, *stretched(20, 20.0, 0.0), verb)}
    assert not kinds & {"RangeChanged", "FeatureAsleep", "FeatureAwake"}
    assert model.feature_mask.all()


@each_network
def test_scaling_makes_units_irrelevant(network: str) -> None:
    X, y = sloped(20)
    units = np.array([1e-9, 1e9, 1.0])
    offsets = np.array([1e-7, -1e10, 0.0])
    config = config_of(network, chunk_rows=CHUNK)
    plain, other = DEVFNN(config), DEVFNN(config)
    run(plain, X, y)
    run(other, X * units + offsets, y)
    agreement = plain.predict(X) == other.predict(X * units + offsets)
    assert agreement.mean() > 0.995


@each_network
def test_what_was_learned_survives_a_change_of_range(network: str) -> None:
    model, (X, y) = DEVFNN(config_of(network, chunk_rows=CHUNK)), sloped(20)
    run(model, X, y)
    before = model.predict(X)
    wide = np.tile([[0.5, 3.5, 0.5]], (40, 1))
    events = model.learn(wide, [1] * 40, np.full(40, 1e-9))
    assert of_kind(events, RangeChanged)
    assert (model.predict(X) == before).mean() > 0.99
