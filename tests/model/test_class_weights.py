"""Weights of classes: from labels so far, the same row by row, and good for rare classes."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, Config, Fleet, InputError
from devfnn.arrays import Floats, Ints
from devfnn.experiments import evaluate
from devfnn.model import class_weights
from devfnn.model.class_weights import LARGEST_BALANCED, MOST_COUNTED, balanced_weights
from devfnn.storage import dump, parse
from devfnn.streams import from_arrays
from scenes import config_of, count, each_network, swift
from storage.stored import forged, poke, refused

BALANCED = Config(class_weights="balanced")


def rare_rows(n_rows: int, share: float = 0.05, seed: int = 0) -> tuple[Floats, Any]:
    """Rows of which few are of the second class, which overlaps the first."""
    rng = np.random.default_rng(seed)
    is_rare = rng.random(n_rows) < share
    X = rng.normal(size=(n_rows, 3))
    X[:, 0] += 1.5 * is_rare
    return X, np.where(is_rare, "rare", "usual")


def weights_seen(monkeypatch: pytest.MonkeyPatch, model: DEVFNN) -> list[float]:
    """A list that grows by the weights of the rows that are trained with."""
    seen: list[float] = []
    own = class_weights.weighted

    def watched(*arguments: Any) -> Floats:
        weights = own(*arguments)
        seen.extend(weights.tolist())
        return weights

    monkeypatch.setattr(class_weights, "weighted", watched)
    return seen


def by_hand(labels: list[Any]) -> list[float]:
    """Balanced weights of rows, from the formula."""
    weights = []
    for place, label in enumerate(labels, 1):
        before = labels[:place]
        n_classes, own = len(set(before)), before.count(label)
        weights.append((place + n_classes) / (n_classes * (own + 1)))
    return [min(weight, LARGEST_BALANCED) for weight in weights]


# ---- what a row weighs


def test_balanced_weights_are_those_of_the_formula() -> None:
    labels = np.random.default_rng(1).choice(4, 500, p=[0.9, 0.07, 0.02, 0.01])
    found = balanced_weights(np.zeros(4, np.int64), labels)
    np.testing.assert_allclose(found, by_hand(labels.tolist()), rtol=1e-15)


def test_in_the_long_run_all_classes_weigh_the_same_and_a_row_1() -> None:
    labels = np.random.default_rng(1).choice(3, 15_000, p=[0.9, 0.08, 0.02])
    weights = balanced_weights(np.zeros(3, np.int64), labels)
    late = slice(5000, None)
    totals = np.bincount(labels[late], weights[late])
    np.testing.assert_allclose(totals / totals.sum(), 1 / 3, atol=0.02)
    assert weights[late].mean() == pytest.approx(1.0, abs=0.02)


def test_later_labels_change_no_weight() -> None:
    labels = np.random.default_rng(2).integers(0, 3, 300)
    whole = balanced_weights(np.zeros(3, np.int64), labels)
    for stop in (1, 7, 120):
        part = balanced_weights(np.zeros(3, np.int64), labels[:stop])
        np.testing.assert_array_equal(part, whole[:stop])


@pytest.mark.parametrize("size", [1, 7, 4999])
def test_batches_do_not_matter_even_where_counts_are_halved(size: int) -> None:
    labels = np.random.default_rng(3).choice(3, 2 * MOST_COUNTED + 5, p=[0.9, 0.0999, 0.0001])
    labels = labels[: count(labels.size, 3000)] if size == 1 else labels
    whole, parts = np.zeros(3, np.int64), np.zeros(3, np.int64)
    at_once = balanced_weights(whole, labels)
    pieces = [labels[start : start + size] for start in range(0, labels.size, size)]
    np.testing.assert_array_equal(
        np.concatenate([balanced_weights(parts, piece) for piece in pieces]), at_once
    )
    np.testing.assert_array_equal(parts, whole)


def test_shares_that_change_are_followed() -> None:
    counts = np.zeros(2, np.int64)
    balanced_weights(counts, np.zeros(100_000, np.int64))
    assert counts[0] < MOST_COUNTED
    swapped = np.arange(100_000) % 10 > 0  # from here on the other class is the frequent one
    weights = balanced_weights(counts, swapped.astype(np.int64))
    assert weights[~swapped][-1] == pytest.approx(5.0, rel=0.01)


def test_a_class_after_very_many_rows_of_another_has_a_weight_with_a_bound() -> None:
    labels = np.append(np.zeros(15_000, np.int64), 1)
    assert balanced_weights(np.zeros(2, np.int64), labels)[-1] == LARGEST_BALANCED


def test_more_classes_than_are_counted_come_to_an_end() -> None:
    labels = np.arange(MOST_COUNTED + 100)
    weights = balanced_weights(np.zeros(labels.size, np.int64), labels)
    assert np.isfinite(weights).all()


@each_network
def test_weights_of_rows_and_of_classes_are_multiplied(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rare_rows(200)
    model = DEVFNN(config_of(network, class_weights={"rare": 4.0, "never": 9.0}))
    seen = weights_seen(monkeypatch, model)
    own = np.linspace(0.5, 2.0, 200)
    model.learn(X[:100], y[:100], own[:100])
    model.learn_rows(X[100:], y[100:], own[100:])
    np.testing.assert_array_equal(seen, own * np.where(y == "rare", 4.0, 1.0))


@each_network
def test_weights_of_classes_are_weights_of_rows(network: str) -> None:
    X, y = rare_rows(300)
    one = DEVFNN(config_of(network, class_weights={"rare": 4.0, "usual": 0.5}))
    other = DEVFNN(config_of(network))
    weights = np.where(y == "rare", 4.0, 0.5)
    for learn in ("learn", "learn_rows"):
        for start in range(0, 300, 100):
            part = slice(start, start + 100)
            getattr(one, learn)(X[part], y[part])
            getattr(other, learn)(X[part], y[part], weights[part])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_a_user_s_weights_stay_as_they_are() -> None:
    X, y = rare_rows(100)
    weights = np.ones(100)
    model = DEVFNN(BALANCED)
    model.learn(X, y, weights)
    model.learn_rows(X, y, weights)
    assert (weights == 1.0).all()


# ---- which labels are counted


def counted(model: DEVFNN) -> dict[Any, int]:
    """Labels that were counted, by class."""
    counts = model._known().label_counts
    assert counts is not None
    return dict(zip(model.classes, counts.tolist(), strict=True))


@each_network
def test_every_way_of_learning_counts_its_labels(network: str) -> None:
    X, y = rare_rows(240, share=0.3)
    model = DEVFNN(config_of(network, class_weights="balanced"))
    model.learn(X[:100], y[:100])
    model.learn_rows(X[100:150], y[100:150])
    for x, label in zip(X[150:180], y[150:180], strict=True):
        model.learn_one(x, label)
    asked = model.ask(X[180:])
    model.answer(X[180:][asked], y[180:][asked])
    known = [*y[:180], *y[180:][asked]]
    assert counted(model) == {label: known.count(label) for label in model.classes}


def test_labels_that_a_model_must_not_read_are_not_counted() -> None:
    X, y = rare_rows(200, share=0.3)
    chosen = np.arange(200) % 4 == 0
    model = DEVFNN(BALANCED)
    for learn in (model.learn, model.learn_rows):
        learn(X, y, chosen=chosen)
    assert sum(counted(model).values()) == 100


@pytest.mark.parametrize("way", ["learn", "learn_rows", "learn_one"])
def test_labels_outside_the_budget_are_not_counted(way: str) -> None:
    X, y = rare_rows(400, share=0.3)
    model = DEVFNN(BALANCED.replace(labels__budget=0.2))
    if way == "learn_one":
        for x, label in zip(X, y, strict=True):
            model.learn_one(x, label)
    else:
        getattr(model, way)(X, y)
    assert 0 < sum(counted(model).values()) == model.n_labels_used <= 80


def test_rows_of_weight_0_are_not_counted() -> None:
    X, y = rare_rows(100, share=0.3)
    model = DEVFNN(BALANCED)
    model.learn(X, y, np.arange(100) % 2)
    assert sum(counted(model).values()) == 50


def test_counts_are_saved() -> None:
    X, y = rare_rows(200)
    model = DEVFNN(BALANCED)
    model.learn_rows(X[:100], y[:100])
    loaded = parse(dump(model))
    for each in (model, loaded):
        each.learn_rows(X[100:], y[100:])
    assert dump(loaded) == dump(model) and counted(loaded) == counted(model)


@pytest.mark.parametrize("wrong", [MOST_COUNTED, 10_000])
def test_counts_that_no_model_has_are_refused(wrong: int) -> None:
    X, y = rare_rows(200)
    model = DEVFNN(BALANCED)
    model.learn(X, y)
    file = forged(poke("label_counts", wrong, 0), of=dump(model))
    refused(file, "label_counts holds more labels than are counted")


# ---- what it is good for


def recalls(config: Config, X: Floats, y: Any) -> dict[str, float]:
    """Share of the rows of each class that were predicted right before they were learned."""
    found = evaluate(DEVFNN(config), from_arrays(X, y).chunks(rows=500))["per_class"]
    return {each["label"]: each["recall"] for each in found}


def test_balanced_weights_find_more_of_a_rare_class() -> None:
    X, y = rare_rows(count(6000, 1500))
    plain, balanced = (recalls(config, X, y) for config in (Config(), BALANCED))
    assert balanced["rare"] > plain["rare"] + 0.2
    assert balanced["usual"] > 0.6


# ---- the parameter


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("equal", "class_weights must be one of 'balanced', None and '{label: weight}', not 'eq"),
        ({}, "must be one of"),
        (3.0, "must be one of"),
        ([("a", 1.0), ("a", 2.0)], "must be one of"),
        ({"a": -1.0}, "weight of class 'a' must be between 1e-06 and 1e\\+06, not -1.0"),
        ({"a": 0.0}, "must be between"),
        ({"a": math.nan}, "must be between .*, not nan"),
        ({"a": math.inf}, "must be between"),
        ({"a": "1"}, "must be between"),
        ({"a": True}, "must be between"),
        ({math.nan: 1.0}, "text or numbers as labels, not nan"),
        ({b"a": 1.0}, "text or numbers as labels"),
        ({None: 1.0}, "text or numbers as labels"),
    ],
)
def test_class_weights_that_cannot_be_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Config(class_weights=given)


def test_class_weights_by_label_can_be_hashed_and_come_back_from_plain_data() -> None:
    config = Config(class_weights={"a": 2, np.int64(3): np.float64(0.5), True: 1.0})
    assert config.class_weights == (("a", 2.0), (3, 0.5), (True, 1.0))
    assert hash(config) == hash(dataclasses.replace(config))
    assert Config.from_dict(config.to_dict()) == config
    assert Config().replace(**config.changes()) == config
    assert config.replace(class_weights=None) == Config()
    model = parse(dump(DEVFNN(config)))
    assert model.config == config


def test_a_file_without_class_weights_is_as_it_was_before_there_were_any() -> None:
    assert b"class_weights" not in dump(DEVFNN())
    assert b"class_weights" in dump(DEVFNN(BALANCED))


# ---- in a fleet


def test_a_fleet_has_weights_by_label() -> None:
    config = swift(merging=None, boxes__joining=False, class_weights={"rare": 4.0})
    X, y = rare_rows(200)
    ids: Ints = np.zeros(200, np.int64)
    fleet = Fleet(1, 3, ["usual", "rare"], config)
    other = Fleet(1, 3, ["usual", "rare"], config.replace(class_weights=None))
    fleet.learn(ids, X, y)
    other.learn(ids, X, y, np.where(y == "rare", 4.0, 1.0))
    np.testing.assert_array_equal(fleet.predict_proba(ids, X), other.predict_proba(ids, X))
    assert fleet.model(0).config.class_weights == (("rare", 4.0),)
