"""The last labels as inputs: what a row sees, the order of the columns, and what it is good for."""

import functools
from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, InputError
from devfnn.arrays import Floats
from devfnn.evaluation import Procedure
from devfnn.events import Event, FeatureAwake, RangeChanged
from devfnn.experiments import evaluate
from devfnn.model.lags import columns_of
from devfnn.storage import dump, parse
from devfnn.streams import from_arrays
from scenes import config_of, count, each_network, of_kind

N_ROWS = count(400, 300)
NAMES = ("calm", "rough", "storm")


def stretches(n_rows: int = N_ROWS, n_classes: int = 3, seed: int = 0) -> tuple[Floats, list[str]]:
    """Rows whose label stays the same for about ten rows; the features say little about it."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, n_classes, n_rows), 1 + rng.integers(0, 20, n_rows))[:n_rows]
    X = rng.normal(size=(n_rows, 3))
    X[:, 0] += 0.6 * labels
    return X, [NAMES[label] for label in labels]


def inputs_of(monkeypatch: pytest.MonkeyPatch, model: DEVFNN) -> list[Floats]:
    """A list that grows by the rows that the network of a model is given from now on."""
    given: list[Floats] = []

    def watched(own: Any, rows: Any, *rest: Any) -> Any:
        given.append(np.array(rows if isinstance(rows, np.ndarray) else rows.X))
        return own(rows, *rest)

    for name in ("learn_rows", "learn_chunk", "probabilities", "wanted"):
        own = getattr(model._network, name)
        monkeypatch.setattr(model._network, name, functools.partial(watched, own))
    return given


def taught(network: str, lags: int = 2, **changes: Any) -> DEVFNN:
    """A model that learned a stream of two classes row by row."""
    model = DEVFNN(config_of(network, lags=lags, **changes), ["a", "b", "c"])
    X, y = stretches(n_classes=2)
    model.learn_rows(X, y)
    return model


# ---- what a row sees


@each_network
def test_a_prediction_sees_the_labels_known_by_now(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, (X, _) = taught(network), stretches(5, seed=1)
    first, other = model.classes
    model.learn_rows(X[:2], [other, first])
    given = inputs_of(monkeypatch, model)
    model.predict(X)
    model.wants_label(X)
    for rows in given:
        np.testing.assert_array_equal(rows[:, :3], X)
        np.testing.assert_array_equal(rows[:, 3:], [[1.0, 0.0, 0.0, 1.0]] * 5)  # class by class


@each_network
def test_a_chunk_sees_the_labels_before_it_and_leaves_its_last_ones(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, (X, _) = taught(network), stretches(4, seed=1)
    first, other = model.classes
    model.learn_rows(X[:2], [other, first])
    given = inputs_of(monkeypatch, model)
    model.learn(X, [first, other, other, other])
    model.predict(X[:1])
    np.testing.assert_array_equal(given[0][:, 3:], [[1.0, 0.0, 0.0, 1.0]] * 4)
    np.testing.assert_array_equal(given[1][:, 3:], [[0.0, 0.0, 1.0, 1.0]])


@each_network
def test_rows_one_by_one_see_the_labels_of_the_rows_before(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, (X, _) = taught(network), stretches(4, seed=1)
    first, other = model.classes
    model.learn_rows(X[:2], [other, other])
    given = inputs_of(monkeypatch, model)
    model.learn_rows(X, [first, other, first, first])
    expected = [[0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1]]
    np.testing.assert_array_equal(given[0][:, 3:], expected)


@each_network
def test_a_label_not_known_yet_is_one_half(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, (X, _) = DEVFNN(config_of(network, lags=2)), stretches(3)
    model.learn_one(X[0], "calm")
    given = inputs_of(monkeypatch, model)
    model.predict(X[1:2])
    np.testing.assert_array_equal(given[0][:, 3:], [[1.0, 0.5]])
    model.learn_one(X[1], "calm")
    model.predict(X[2:])
    np.testing.assert_array_equal(given[-1][:, 3:], [[1.0, 1.0]])


@each_network
@pytest.mark.parametrize("way", ["learn", "learn_rows"])
def test_rows_without_label_or_weight_leave_no_trace(network: str, way: str) -> None:
    model, (X, _) = taught(network), stretches(5, seed=1)
    first, other = model.classes
    labels = [first, other, first, first, other]
    getattr(model, way)(X, labels, chosen=np.array([True, True, False, False, False]))
    assert model._network is not None and model._network.recent.tolist() == [1, 0]
    getattr(model, way)(X, labels, [1.0, 0.0, 0.0, 1.0, 0.0])
    assert model._network.recent.tolist() == [0, 0]


@each_network
def test_rows_that_were_not_chosen_see_labels_all_the_same(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, (X, _) = taught(network, lags=1), stretches(4, seed=1)
    first, other = model.classes
    given = inputs_of(monkeypatch, model)
    mask = np.array([True, False, True, False])
    model.learn_rows(X, [first, other, other, first], chosen=mask)
    np.testing.assert_array_equal(given[0][1:, 3:], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


# ---- bit for bit


def fed(model: DEVFNN, X: Floats, y: list[str], cuts: list[int], **given: Any) -> list[Event]:
    """Let a model learn rows in batches that end at the cuts."""
    events: list[Event] = []
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        part = {name: values[start:stop] for name, values in given.items()}
        events += model.learn_rows(X[start:stop], y[start:stop], **part)
    return events


@each_network
@pytest.mark.parametrize("scaling", ["online", "none"])
@pytest.mark.parametrize("lags", [1, 4])
def test_learning_rows_is_a_loop_of_learning_one(network: str, scaling: str, lags: int) -> None:
    config = config_of(network, lags=lags, scaling=scaling, chunk_rows=70)
    X, y = stretches()
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.0], len(y))
    looped, at_once, cut = DEVFNN(config), DEVFNN(config), DEVFNN(config)
    events = [
        event
        for x, label, weight in zip(X, y, weights, strict=True)
        for event in looped.learn_one(x, label, weight)
    ]
    assert fed(at_once, X, y, [], weights=weights) == events
    assert fed(cut, X, y, [1, 2, 50, 51, 200], weights=weights) == events
    assert dump(looped) == dump(at_once) == dump(cut)
    np.testing.assert_array_equal(looped.predict_proba(X), at_once.predict_proba(X))


@each_network
def test_batches_of_chosen_rows_may_be_cut_anywhere(network: str) -> None:
    config, (X, y) = config_of(network, lags=3, chunk_rows=70), stretches()
    chosen = np.random.default_rng(1).random(len(y)) < 0.5
    whole, cut = DEVFNN(config), DEVFNN(config)
    assert fed(whole, X, y, [], chosen=chosen) == fed(
        cut, X, y, [*range(1, len(y), 7)], chosen=chosen
    )
    assert dump(whole) == dump(cut)


@each_network
def test_without_lags_the_columns_are_the_features(network: str) -> None:
    model = taught(network, lags=0)
    assert model._network is not None and model._network.n_features == 3
    assert model._network.recent.size == 0
    model.learn(*stretches(seed=2))
    assert model._network.recent.size == 0 and model._network.n_features == 3


@each_network
def test_a_refused_call_changes_nothing(network: str) -> None:
    model, (X, _) = taught(network), stretches(4, seed=1)
    before = dump(model)
    good = ["calm", "rough", "calm", "calm"]
    for wrong_X, wrong_y in (
        (X[:, :2], good),
        (np.hstack([X, X]), good),
        (np.hstack([X, np.zeros((4, 4))]), good),  # as wide as the network
        (np.where(X == X[2, 1], np.nan, X), good),
        (X, good[:3]),
        (X, [*good[:3], None]),
        (X, [*good[:3], float("nan")]),
    ):
        for learn in (model.learn, model.learn_rows):
            with pytest.raises(InputError):
                learn(wrong_X, wrong_y)
            assert dump(model) == before
    with pytest.raises(InputError, match="rows have 7 features, the model knows 3"):
        model.predict(np.zeros((1, 7)))


# ---- classes and features that come later


@each_network
@pytest.mark.parametrize("missing", ["error", "skip"])
@pytest.mark.parametrize("after", [5, 40, 250])  # before and after the scaling map has settled
def test_a_class_may_appear_later(network: str, missing: str, after: int) -> None:
    config = config_of(network, lags=2, missing=missing, chunk_rows=70, feature_mask={})
    X, y = stretches()
    two = [label if label != "storm" else "calm" for label in y[2:after]]
    labels = ["calm", "rough", *two, "storm", *y[after + 1 :]]
    looped, at_once = DEVFNN(config), DEVFNN(config)
    events = [e for x, label in zip(X, labels, strict=True) for e in looped.learn_one(x, label)]
    assert at_once.learn_rows(X, labels) == events
    assert dump(looped) == dump(at_once)
    assert at_once.classes[-1] == "storm"
    assert at_once._network is not None and at_once._network.n_features == 3 + 2 * 3
    assert at_once.feature_names == ["x0", "x1", "x2"] and at_once.feature_mask.shape == (3,)
    if missing == "error":  # then nothing that is kept may be missing
        kept: Any = at_once._network
        assert np.isfinite(kept.gathered.rows.X).all() and np.isfinite(kept.scaler.first_rows).all()


@each_network
def test_a_new_class_is_unlike_all_labels_before(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, (X, _) = taught(network), stretches(3, seed=1)
    first, other = model.classes
    model.learn_rows(X[:2], [first, other])
    model.learn(X[:1], ["storm"])
    given = inputs_of(monkeypatch, model)
    model.predict(X[:1])
    np.testing.assert_array_equal(given[0][0, 3:], [0, 0, 0, 1, 1, 0])  # storm, and before: other


def test_columns_keep_their_places_when_others_are_added() -> None:
    columns = columns_of(3 + 2 * 2 + 1 + 2 + 2, 6, (7, 10, 11))
    assert columns.features.tolist() == [0, 1, 2, 7, 10, 11]
    assert columns.labels.tolist() == [3, 4, 5, 6, 8, 9]


def grown(network: str) -> tuple[DEVFNN, Floats, list[str]]:
    """A model with a feature, then a class, then two features added later; and rows for it."""
    model = taught(network, missing="skip")
    X, y = stretches(seed=3)
    model.add_features(["d"])
    model.learn_rows(X[:, [0, 1, 2, 0]], y)
    model.add_features(["e", "f"])
    wide = np.hstack([X, X])
    model.learn_rows(wide, y)
    return model, wide, y


@each_network
def test_features_may_be_added_between_classes(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X, _ = grown(network)
    assert model._network is not None and model._network.n_features == 6 + 2 * 3
    assert model.feature_names == list("abcdef") and model.feature_mask.shape == (6,)
    assert "storm" == model.classes[2]
    given = inputs_of(monkeypatch, model)
    model.learn_rows(X[:2], [model.classes[1], "storm"])
    model.predict(X[2:3])
    np.testing.assert_array_equal(given[1][0, [0, 1, 2, 7, 10, 11]], X[2])
    np.testing.assert_array_equal(given[1][0, [3, 4, 5, 6, 8, 9]], [0, 0, 0, 1, 1, 0])
    with pytest.raises(InputError, match="rows have 3 features, the model knows 6"):
        model.predict(X[:, :3])
    with pytest.raises(InputError, match="has a feature 'd' already"):
        model.add_features(["d"])


@each_network
def test_after_features_were_added_rows_are_still_learned_as_one_by_one(network: str) -> None:
    (first, X, y), (second, _, _) = grown(network), grown(network)
    first.learn_rows(X, y)
    for x, label in zip(X, y, strict=True):
        second.learn_one(x, label)
    assert dump(first) == dump(second)


@each_network
def test_missing_features_do_not_hide_the_labels(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = taught(network, missing="skip")
    given = inputs_of(monkeypatch, model)
    X = np.full((2, 3), np.nan)
    assert np.isfinite(model.predict_proba(X)).all()
    model.learn_rows(X, ["calm", "rough"])
    assert np.isnan(given[0][:, :3]).all() and not np.isnan(given[0][:, 3:]).any()
    assert np.isfinite(model.predict_proba(X)).all()


# ---- what users see


@each_network
def test_rules_name_the_labels_before(network: str) -> None:
    model = taught(network)
    first, other = model.classes
    own = [f"label {lag} back is {label}" for label in (first, other) for lag in (1, 2)]
    assert model.rules()[0].inputs == ("a", "b", "c", *own)
    (renamed,) = {rule.inputs for rule in model.rules(class_names={other: "wild"})}
    assert renamed == ("a", "b", "c", *own[:2], "label 1 back is wild", "label 2 back is wild")
    model, _, _ = grown(network)
    inputs = model.rules()[0].inputs
    assert [inputs[place] for place in (0, 1, 2, 7, 10, 11)] == list("abcdef")
    assert inputs[8:10] == ("label 1 back is storm", "label 2 back is storm")


@each_network
def test_events_name_the_labels_before(network: str) -> None:
    model = DEVFNN(config_of(network, lags=2), ["a", "b", "c"])
    X, _ = stretches(400)
    events = model.learn_rows(X, ["calm"] * 200 + ["rough"] * 200)
    ranges = {event.feature for event in of_kind(events, RangeChanged)}
    assert {"label 1 back is calm", "label 2 back is calm"} <= ranges  # it was but 0.5 and 1
    woken = {event.feature for event in of_kind(events, FeatureAwake)}
    assert woken == {"label 1 back is rough", "label 2 back is rough"}


def rate(model: DEVFNN, **changes: Any) -> float:
    """Accuracy of a model row by row."""
    X, y = stretches(count(500, 300), **changes)
    stream = from_arrays(X, np.array(y), chunk_rows=100)
    return float(evaluate(model, stream, Procedure(by_row=True))["accuracy_overall"])


@each_network
@pytest.mark.parametrize("scaling", ["online", "none"])
def test_the_last_labels_help_where_labels_stay_the_same(network: str, scaling: str) -> None:
    config = config_of(network, scaling=scaling)
    without, with_lags = (rate(DEVFNN(config.replace(lags=lags))) for lags in (0, 2))
    assert without < 0.7 and with_lags > 0.8


@each_network
def test_a_model_with_lags_comes_back_from_storage_as_it_was(network: str) -> None:
    model, (X, y) = taught(network), stretches(seed=4)
    stored = parse(dump(model))
    assert dump(stored) == dump(model)
    assert stored.learn_rows(X, y) == model.learn_rows(X, y)
    assert dump(stored) == dump(model)


@each_network
def test_features_added_later_come_back_from_storage_in_their_places(network: str) -> None:
    model, X, _ = grown(network)
    stored = parse(dump(model))
    assert dump(stored) == dump(model)
    np.testing.assert_array_equal(stored.predict_proba(X), model.predict_proba(X))
