"""Many models at once: each is what a model of its own would be, to the bit."""

import dataclasses
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn import DEVFNN, Config, Fleet, InputError, load
from devfnn.arrays import Floats, Ints
from devfnn.kernels.state import NO_LAYER
from devfnn.model import presets
from devfnn.model.history import Logbook
from devfnn.model.network import Network
from devfnn.storage import dump
from scenes import BOX_LAYER, CLOUD_LAYER, FIRST_KEPT, swift

CLASSES = ["a", "b", "c"]
PLAIN = {"boxes__joining": False, "merging": None}
SMALL = swift(
    scaling="none",
    rules__max_rules=8,
    boxes__max_rules=4,
    clouds__max_rules=4,
    growing__max_kept=2,
)
LIVELY = swift(
    scaling="none",
    chunk_rows=50,
    drift__significance=0.01,
    boxes__evidence=3.0,
    boxes__every=50,
    clouds__max_rules=8,
    voting__rows=50.0,
)
ONLINE = LIVELY.replace(scaling="online")
CHOOSY = LIVELY.replace(labels__budget=0.3, missing="skip", seed=5)


def single(config: Config, n_features: int = 3) -> DEVFNN:
    """A model of its own that knows the classes beforehand, as those of a fleet do."""
    model = DEVFNN(config.replace(**PLAIN))
    model._labels.add(CLASSES)
    model._network = Network.empty(n_features, len(CLASSES), model.config)
    return model


def stream(n_rows: int, n_models: int, seed: int = 1) -> tuple[Ints, Floats, Any]:
    """Ids, rows and labels: bands that every model has elsewhere, and that turn half way."""
    rng = np.random.default_rng(seed)
    ids, X = rng.integers(0, n_models, n_rows), rng.random((n_rows, 3))
    bands = (3.0 * (X[:, 0] + X[:, 1] ** 2 + ids / 7.0)).astype(np.int64) % 3
    bands += np.where(np.arange(n_rows) < n_rows // 2, 0, 1)
    return ids, X, np.array(CLASSES)[bands % 3]


def learned(fleet: Fleet, *rows: Any, cuts: tuple[int, ...] = ()) -> Fleet:
    """The fleet after rows that came in batches cut at these places."""
    bounds = [0, *sorted(cuts), len(rows[0])]
    for start, stop in itertools.pairwise(bounds):
        fleet.learn(*(part[start:stop] for part in rows))
    return fleet


def known(model: DEVFNN) -> bytes:
    """All that a model knows but its history, which a fleet does not keep."""
    model._logbook = Logbook()
    return dump(model)


def everything(fleet: Fleet) -> list[bytes]:
    """All that is known of every model."""
    return [known(fleet.model(index)) for index in range(fleet.n_models)]


# ---- each model is as if it were alone


@pytest.mark.parametrize("config", [SMALL, LIVELY, CHOOSY, ONLINE, Config()])
def test_a_fleet_of_one_is_a_model_of_its_own(config):
    ids, X, y = stream(3000, 1)
    X = (
        X
        if config.scaling == "none"
        else 40.0 * X + 7.0 + 30.0 * (ids == 0).cumsum()[:, None] / 3e3
    )
    fleet = learned(Fleet(1, 3, CLASSES, config), ids, X, y, cuts=(1, 2, 700, 2000))
    alone = single(config)
    alone.learn_rows(X, y)
    assert known(fleet.model(0)) == known(alone)
    assert np.array_equal(fleet.predict_proba(ids, X), alone.predict_proba(X))
    assert np.array_equal(fleet.predict(ids, X), alone.predict(X))


def test_the_rows_of_these_tests_let_everything_happen():
    ids, X, y = stream(6000, 3)
    fleet = learned(Fleet(3, 3, CLASSES, LIVELY), ids, X, y)
    assert (fleet.n_drifts > 0).all()
    assert (fleet._states.pool.n_members[:, BOX_LAYER] > 1).all()
    assert (fleet._states.layers.kinds[:, FIRST_KEPT:] != NO_LAYER).any()
    assert (fleet._states.clouds.count > 0).all()


@pytest.mark.parametrize("config", [SMALL, LIVELY, CHOOSY])
def test_models_learn_mixed_rows_as_each_would_alone(config):
    n_models = 6
    ids, X, y = stream(4000, n_models)
    weights = np.random.default_rng(3).choice([0.0, 0.5, 1.0], 4000)
    fleet = learned(Fleet(n_models, 3, CLASSES, config), ids, X, y, weights, cuts=(3, 900, 901))
    for index in range(n_models):
        own, alone = ids == index, single(config)
        alone.learn_rows(X[own], y[own], weights[own])
        assert known(fleet.model(index)) == known(alone)
        assert fleet.n_rows[index] == alone.n_rows == np.count_nonzero(own & (weights > 0.0))
        assert fleet.n_rules[index] == alone.n_rules
        assert fleet.n_labels_used[index] == alone.n_labels_used
        assert np.array_equal(fleet.predict_proba(ids, X)[own], alone.predict_proba(X[own]))


@settings(max_examples=25, deadline=None)
@given(
    order=st.lists(st.integers(0, 3), max_size=120),
    cuts=st.lists(st.integers(0, 120), max_size=4),
    seed=st.integers(0, 2**32),
)
def test_any_mixture_of_rows_is_learned_as_by_single_models(order, cuts, seed):
    ids = np.array(order, np.int64)
    _, X, y = stream(len(order), 1, seed)
    config = LIVELY.replace(chunk_rows=20)
    places = tuple(min(cut, len(order)) for cut in cuts)
    fleet = learned(Fleet(4, 3, CLASSES, config), ids, X, y, cuts=places)
    for index in range(4):
        alone = single(config)
        alone.learn_rows(X[ids == index], y[ids == index])
        assert known(fleet.model(index)) == known(alone)


def test_absent_features_are_left_out_as_by_single_models():
    ids, X, y = stream(2000, 2)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    config = LIVELY.replace(missing="skip")
    fleet = learned(Fleet(2, 3, CLASSES, config), ids, X, y)
    alone = single(config)
    alone.learn_rows(X[ids == 1], y[ids == 1])
    assert known(fleet.model(1)) == known(alone)


def test_models_learn_what_is_different_in_each():
    rng = np.random.default_rng(0)
    ids, X = rng.integers(0, 50, 20_000), 100.0 * rng.random((20_000, 3))
    y = np.where(X[:, 0] > 20.0 + ids, "b", "a")
    small = SMALL.replace(scaling="online")
    fleet = learned(Fleet(50, 3, CLASSES, small), ids[:15_000], X[:15_000], y[:15_000])
    right = fleet.predict(ids[15_000:], X[15_000:]) == y[15_000:]
    assert right.mean() > 0.95
    others = fleet.predict((ids[15_000:] + 25) % 50, X[15_000:]) == y[15_000:]
    assert others.mean() < 0.85


# ---- one model of a fleet


@pytest.mark.parametrize("config", [LIVELY, CHOOSY, ONLINE])
def test_a_model_goes_on_as_the_fleet_would(config, tmp_path):
    ids, X, y = stream(3000, 3)
    fleet = learned(Fleet(3, 3, CLASSES, config, ["u", "v", "w"]), ids[:2000], X[:2000], y[:2000])
    file = tmp_path / "model.devfnn"
    fleet.model(1).save(file)
    model, own = load(file), ids[2000:] == 1
    assert model.feature_names == ["u", "v", "w"] and model.classes == CLASSES
    rows = 2.0 * X[2000:][own] if config is ONLINE else X[2000:][own]  # also out of its range
    events = model.learn_rows(rows, y[2000:][own])
    fleet.learn(ids[2000:][own], rows, y[2000:][own])
    assert known(fleet.model(1)) == known(model)
    assert any(type(event).__name__ == "RangeChanged" for event in events) == (config is ONLINE)
    assert "IF" in model.rules()[0].text()


def test_a_model_is_a_copy():
    ids, X, y = stream(1000, 2)
    fleet = learned(Fleet(2, 3, CLASSES, ONLINE), ids, X, y)
    before = everything(fleet)
    model = fleet.model(0)
    model.learn_rows(50.0 * X, y)
    model.learn(X, y)
    assert everything(fleet) == before


def test_a_model_without_rows_finds_all_classes_equally_likely(tmp_path):
    ids, X, y = stream(1000, 2)
    fleet = learned(Fleet(3, 3, CLASSES, ONLINE), ids, X, y)
    assert fleet.predict_proba([2, 2], X[:2]) == pytest.approx(1.0 / 3.0)
    assert fleet.n_rows.tolist()[2] == fleet.n_drifts.tolist()[2] == 0
    fleet.model(2).save(tmp_path / "new.devfnn")
    assert load(tmp_path / "new.devfnn").n_rows == 0


def test_predictions_and_pickling_change_nothing():
    ids, X, y = stream(1000, 2)
    fleet = learned(Fleet(2, 3, CLASSES, ONLINE), ids, X, y)
    before, kept = everything(fleet), (ids.copy(), X.copy())
    fleet.predict(ids, X)
    again = pickle.loads(pickle.dumps(fleet))
    assert everything(fleet) == everything(again) == before
    assert np.array_equal(ids, kept[0]) and np.array_equal(X, kept[1])
    again.learn(ids, X, y)
    assert everything(fleet) == before


def test_the_size_is_that_of_all_models():
    few, many = Fleet(10, 3, [0, 1], SMALL), Fleet(30, 3, [0, 1], SMALL)
    assert many.nbytes == 3 * few.nbytes
    assert few.nbytes < 10 * 8000  # as the docstring says, rounded
    assert Fleet(1, 20, [0, 1], SMALL).nbytes < 85_500
    without = SMALL.replace(clouds=None)  # as the page on streams says
    assert Fleet(10, 3, [0, 1], without).nbytes < 10 * 8000
    assert Fleet(1, 20, [0, 1], without).nbytes < 85_000
    assert Fleet(1, 3, [0, 1]).nbytes < 32_500 and Fleet(1, 20, [0, 1]).nbytes < 354_000


# ---- scaling


def test_a_change_of_the_shared_map_carries_all_models_over():
    ids, X, y = stream(4000, 3)
    fleet = learned(Fleet(3, 3, CLASSES, ONLINE), ids, X, y)
    fleet._states.layers.rests[:, CLOUD_LAYER] = 9  # clouds stay round: they are carried roughly
    before = fleet.predict_proba(ids, X)
    low, width = fleet._common.scaler.low.copy(), fleet._common.scaler.width.copy()
    fleet.learn(np.zeros(100, np.int64), 1.6 * X[:100], y[:100])  # rows of one model alone
    assert (fleet._common.scaler.width > width).any() or (fleet._common.scaler.low < low).any()
    others = ids > 0
    after = fleet.predict_proba(ids, X)
    inside = ((X >= low) & (X <= low + width)).all(axis=1)
    assert np.allclose(after[others & inside], before[others & inside], atol=1e-9)


def test_it_does_not_matter_where_batches_are_cut():
    ids, X, y = stream(3000, 4)
    X *= 1.0 + np.arange(3000)[:, None] // 1000  # leaves its range twice
    at_once = learned(Fleet(4, 3, CLASSES, ONLINE), ids, X, y)
    cut = learned(Fleet(4, 3, CLASSES, ONLINE), ids, X, y, cuts=(1, 5, 6, 100, 1003, 2500))
    assert everything(at_once) == everything(cut)


def test_the_map_is_made_from_the_rows_of_all_models():
    ids, X, y = stream(2000, 2)
    fleet = learned(Fleet(2, 3, CLASSES, ONLINE), ids, X + 10.0 * ids[:, None], y)
    alone = single(ONLINE)
    alone.learn_rows(X + 10.0 * ids[:, None], y)
    assert np.array_equal(fleet._common.scaler.width, alone._network.scaler.width)
    assert (fleet._common.scaler.width > 9.0).all()


# ---- tables


@dataclasses.dataclass
class Table:
    """Rows with names of their columns."""

    rows: Floats
    columns: list[str]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.rows, dtype)


def test_columns_of_tables_are_matched_by_name():
    ids, X, y = stream(600, 2)
    fleet = learned(Fleet(2, 3, CLASSES, SMALL), ids, X, y)
    named = Fleet(2, 3, CLASSES, SMALL)
    named.learn(ids[:300], Table(X[:300], ["u", "v", "w"]), y[:300])
    named.learn(ids[300:], Table(X[300:, ::-1], ["w", "v", "u"]), y[300:])
    assert named.feature_names == ["u", "v", "w"]
    assert fleet.feature_names == ["x0", "x1", "x2"]
    turned = Table(X[:, ::-1], ["w", "v", "u"])
    assert np.array_equal(named.predict_proba(ids, turned), fleet.predict_proba(ids, X))
    with pytest.raises(InputError, match="unknown column 'z'"):
        named.predict(ids, Table(X, ["u", "v", "z"]))


# ---- what is refused

NAN = float("nan")
GOOD = ([0, 1], [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], ["a", "b"])

BAD_IDS: dict[str, tuple[Any, str]] = {
    "too high": ([0, 2], "row 1 is of model 2; the fleet has models 0 to 1"),
    "negative": ([-1, 0], "row 0 is of model -1"),
    "huge": (np.array([0, 2**64 - 1], np.uint64), "row 1 is of model 18446744073709551615"),
    "too few": ([0], "one number for each of 2 rows"),
    "none": ([], "one number for each of 2 rows"),
    "a single one": (0, "one number for each of 2 rows"),
    "a matrix": ([[0], [1]], "one number for each of 2 rows"),
    "ragged": ([0, [1]], "ids must be whole numbers"),
    "broken numbers": ([0.0, 1.0], "whole numbers, not float64"),
    "words": (["u", "v"], "ids must be whole numbers"),
    "flags": ([True, False], "ids must be whole numbers, not bool"),
    "nothing": ([None, 0], "ids must be whole numbers"),
}
BAD_ROWS: dict[str, tuple[Any, str]] = {
    "too narrow": ([[0.1, 0.2]] * 2, "rows have 2 features, the model knows 3"),
    "NaN": ([[0.1, 0.2, 0.3], [0.1, NAN, 0.3]], "row 1, feature 1 is NaN"),
    "infinity": ([[0.1, 0.2, 0.3], [0.1, 0.2, float("inf")]], "row 1, feature 2 is infinite"),
    "text": ([["a", "b", "c"]] * 2, "features must be numbers"),
    "one dimension": ([0.1, 0.2, 0.3], "not an array of 1 dimension"),
    "no rows at all": ([], "not an array of 1 dimension"),
    "too many": ([[0.1, 0.2, 0.3]] * 3, "one number for each of 3 rows"),
}
BAD_LABELS: dict[str, tuple[Any, str]] = {
    "unseen": (["a", "z"], "no class of the fleet is called 'z'; there are 'a', 'b', 'c'"),
    "missing": (["a", None], "the label of row 1 is missing"),
    "too few": (["a"], "1 labels for 2 rows"),
    "a word": ("ab", "labels must be a sequence"),
}
BAD_WEIGHTS: dict[str, tuple[Any, str]] = {
    "negative": ([1.0, -1.0], "weights must lie between 0"),
    "NaN": ([1.0, NAN], "weights must lie between 0"),
    "too few": ([1.0], "1 weights for 2 rows"),
}


@pytest.fixture
def fleet() -> Fleet:
    """Two models that have learned something."""
    return learned(Fleet(2, 3, CLASSES, ONLINE), *stream(300, 2))


@pytest.mark.parametrize(("ids", "message"), BAD_IDS.values(), ids=BAD_IDS)
def test_bad_ids_are_refused_and_change_nothing(fleet, ids, message):
    before = everything(fleet)
    with pytest.raises(InputError, match=message):
        fleet.learn(ids, GOOD[1], GOOD[2])
    with pytest.raises(InputError, match=message):
        fleet.predict(ids, GOOD[1])
    assert everything(fleet) == before


@pytest.mark.parametrize(("rows", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows_are_refused_and_change_nothing(fleet, rows, message):
    before = everything(fleet)
    with pytest.raises(InputError, match=message):
        fleet.learn(GOOD[0], rows, GOOD[2])
    with pytest.raises(InputError, match=message):
        fleet.predict_proba(GOOD[0], rows)
    assert everything(fleet) == before


@pytest.mark.parametrize(("labels", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_bad_labels_are_refused_and_change_nothing(fleet, labels, message):
    before = everything(fleet)
    with pytest.raises(InputError, match=message):
        fleet.learn(GOOD[0], GOOD[1], labels)
    assert everything(fleet) == before and fleet.classes == CLASSES


@pytest.mark.parametrize(("weights", "message"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_bad_weights_are_refused_and_change_nothing(fleet, weights, message):
    before = everything(fleet)
    with pytest.raises(InputError, match=message):
        fleet.learn(*GOOD, weights)
    assert everything(fleet) == before


def test_no_rows_and_rows_of_weight_0_change_nothing(fleet):
    before = everything(fleet)
    fleet.learn([], np.empty((0, 3)), [])
    fleet.learn(*GOOD, weights=[0.0, 0.0])
    assert everything(fleet) == before
    assert fleet.predict_proba([], np.empty((0, 3))).shape == (0, 3)
    assert fleet.predict([], np.empty((0, 3))).shape == (0,)
    fleet.learn(np.array([], "M8[s]"), np.empty((0, 3)), [])  # nothing, of whatever type


@pytest.mark.parametrize("index", [2, -1, 1.0, "a", None, [0]])
def test_only_models_that_exist_are_given(fleet, index):
    with pytest.raises(InputError):
        fleet.model(index)


REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "feature mask": ((2, 3, CLASSES, swift(feature_mask={})), "no feature mask"),
    "lags": ((2, 3, CLASSES, Config(lags=1)), "no lags"),
    "balanced": (
        (2, 3, CLASSES, Config(class_weights="balanced")),
        "no balanced class weights; give the weight of each class",
    ),
    "stacked": ((2, 3, CLASSES, presets.stacked()), "without gaussian layers"),
    "no models": ((0, 3, CLASSES), "n_models must be a whole number from 1, not 0"),
    "half a model": ((1.5, 3, CLASSES), "n_models must be"),
    "no features": ((2, 0, CLASSES), "n_features must be a whole number from 1"),
    "no classes": ((2, 3, []), "two classes or more, not 0"),
    "one class": ((2, 3, ["a"]), "two classes or more, not 1"),
    "a number of classes": ((2, 3, 2), "classes must be a sequence of labels, not 2"),
    "a word": ((2, 3, "ab"), "classes must be a sequence of labels"),
    "twice": ((2, 3, ["a", "b", "a"]), "class 'a' is there more than once"),
    "a list": ((2, 3, [["a"], "b"]), "is a list, which cannot name a class"),
    "missing": ((2, 3, ["a", None]), "is missing"),
    "few names": ((2, 3, CLASSES, None, ["u"]), "1 feature names for 3 features"),
    "same names": ((2, 3, CLASSES, None, ["u", "u", "v"]), "'u' is named more than once"),
    "no dimension": ((2, 3, np.array("a")), "classes must be a sequence of labels"),
    "models without end": ((10**30, 3, CLASSES), r"such a fleet would take \d+ bytes"),
    "features without end": ((2, 10**30, CLASSES), r"such a fleet would take \d+ bytes"),
    "a number without end": (
        (2, 10**5000, CLASSES, None, ["u"]),
        "1 feature names for a value of type int features",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_a_fleet_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Fleet(*arguments)
