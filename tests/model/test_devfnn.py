"""The model as its user meets it: weights, labels that are asked for, features and classes."""

import pickle

import numpy as np
import pytest

from contract import ROWS, Table, rows
from devfnn import DEVFNN, GClass, InputError
from devfnn.events import ClassAdded, RangeChanged
from devfnn.kernels.state import USED
from devfnn.model.config import Equal
from devfnn.storage import dump
from scenes import config_of, each_network, stacked, swift

X, Y = rows()


@each_network
def test_chunks_and_single_rows_may_be_mixed(network: str) -> None:
    model = DEVFNN(config_of(network, chunk_rows=50))
    model.learn(X, Y)
    model.learn_rows(X[:70], Y[:70])
    model.learn(X, Y)
    model.learn_one(X[0], int(Y[0]))
    assert model.n_rows == 2 * ROWS + 71
    assert (model.predict(X) == Y).mean() > 0.9


def test_a_chunk_closes_what_has_gathered_before_it() -> None:
    model = DEVFNN(stacked(chunk_rows=50))
    model.learn(X, Y)
    model.learn_rows(X[:70], Y[:70])
    assert len(model._known().gathered.rows) == 20
    model.learn(X, Y)
    assert not len(model._known().gathered.rows)
    assert model._known().n_chunks == 1 + 1 + 1 + 1


def test_a_late_class_leaves_what_was_known_as_it_was() -> None:
    kinds = (stacked(), stacked(gaussian__consequent="least_squares"), swift())
    for config in kinds:
        model = DEVFNN(config)
        model.learn(X, Y)
        network, before = model._known(), model.predict_proba(X)
        network.widen(3, 3)
        after = model.predict_proba(X)
        np.testing.assert_array_equal(after.argmax(axis=1), before.argmax(axis=1))
        assert after[:, 2].mean() < 2.0 / ROWS


# ---- classes that are announced


def test_announced_classes_have_a_probability_from_the_first_row_on() -> None:
    model = DEVFNN(classes=["low", "high", "never"])
    events = model.learn(X[:50], ["high"] * 50)
    assert model.classes == ["low", "high", "never"]
    assert not [each for each in events if isinstance(each, ClassAdded)]
    shares = model.predict_proba(X)
    assert shares.shape == (ROWS, 3)
    assert (shares > 0.0).all()
    assert set(model.predict(X)) == {"high"}


def test_other_classes_than_the_announced_ones_may_come() -> None:
    model = DEVFNN(classes=["low", "high"])
    model.learn(X, np.where(Y == 1, "high", "low"))
    (added,) = model.learn(X[:1], ["middle"])[:1]
    assert isinstance(added, ClassAdded)
    assert model.classes == ["low", "high", "middle"]


@pytest.mark.parametrize("learned", [False, True])
def test_announced_classes_are_saved(learned: bool) -> None:
    for model in (DEVFNN(classes=[2, 0, 1]), GClass(classes=[2, 0, 1])):
        if learned:
            model.learn(X, Y)
        assert pickle.loads(pickle.dumps(model)).classes == [2, 0, 1]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ("ab", "a sequence of labels"),
        (3, "a sequence of labels"),
        ([1, 1.0], "more than once"),
        ([float("nan")], "missing"),
        ([[1]], "cannot name a class"),
    ],
)
def test_classes_that_cannot_be_are_refused(classes: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        DEVFNN(classes=classes)  # type: ignore[arg-type]


# ---- weights, labels asked for


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@each_network
def test_rows_of_weight_0_are_passed_over(network: str, verb: str) -> None:
    model, other = DEVFNN(config_of(network)), DEVFNN(config_of(network))
    for each in (model, other):
        each.learn(X, Y)
    state = dump(model)
    assert getattr(model, verb)(X, ["never seen"] * ROWS, np.zeros(ROWS)) == []
    assert model.learn_one(X[0], "never seen", 0.0) == []
    assert dump(model) == state
    half = np.arange(ROWS) % 2 == 0
    getattr(model, verb)(X, Y, half.astype(float))
    getattr(other, verb)(X[half], Y[half])
    assert dump(model) == dump(other)


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@each_network
def test_a_row_of_weight_2_counts_more_than_one_of_weight_1(network: str, verb: str) -> None:
    config = config_of(network, labels__choice="all")
    model, heavier = DEVFNN(config), DEVFNN(config)
    for each, weight in ((model, 1.0), (heavier, 2.0)):
        each.learn(X, Y)
        getattr(each, verb)(X[:1], [1 - Y[0]], [weight])
    wrong = int(np.flatnonzero(np.array(model.classes) == 1 - Y[0])[0])
    assert heavier.predict_proba(X[:1])[0, wrong] > model.predict_proba(X[:1])[0, wrong]


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@each_network
def test_chosen_rows_are_all_learned_and_of_the_others_no_label_is_read(
    network: str, verb: str
) -> None:
    easy = config_of(network, labels__exploration=0.0, labels__certainty=0.6)
    picked, given_all, unread = DEVFNN(easy), DEVFNN(easy), DEVFNN(easy)
    for model in (picked, given_all, unread):
        for _ in range(3):
            model.learn(X, Y)
    before = picked.n_labels_used
    getattr(picked, verb)(X, Y)
    assert picked.n_labels_used - before < ROWS / 2
    getattr(given_all, verb)(X, Y, chosen=True)
    assert given_all.n_labels_used - before == ROWS
    mask = np.arange(ROWS) < 10
    getattr(unread, verb)(X, [*Y[:10], *[None] * (ROWS - 10)], chosen=mask)
    assert unread.n_labels_used - before == 10
    assert unread.n_rows == 4 * ROWS


def test_wants_label_says_what_learn_one_then_takes() -> None:
    for choice in ({"labels__certainty": 0.8}, {"labels__budget": 0.3}):
        model = DEVFNN(swift(**choice))
        model.learn(X, Y)
        answers = []
        for x, label in zip(X[:150], Y[:150], strict=True):
            (wanted,) = model.wants_label(x[None])
            used = model.n_labels_used
            model.learn_one(x, int(label))
            assert model.n_labels_used - used == wanted
            answers.append(bool(wanted))
        assert any(answers) and not all(answers)


@pytest.mark.parametrize("kind", [DEVFNN, GClass])
def test_wants_label_says_what_the_winner_of_a_stack_then_uses(kind: type[DEVFNN]) -> None:
    model = kind(stacked(labels__certainty=0.8, voting=Equal(), training="leader"))
    model.learn(X, Y)
    answers = []
    for x, label in zip(X[:150], Y[:150], strict=True):
        (wanted,) = model.wants_label(x[None])
        layer = int(np.argmax(model.voting_weights))
        used = int(model._known().state.gaussians.counters[layer, USED])
        model.learn_one(x, int(label))
        assert model._known().state.gaussians.counters[layer, USED] - used == wanted
        answers.append(bool(wanted))
    assert any(answers) and not all(answers)


# ---- features


@each_network
def test_features_may_be_added_later(network: str) -> None:
    model = DEVFNN(config_of(network, missing="skip"), ["a", "b"])
    y = (X[:, 0] + X[:, 2] > 1.0).astype(int)
    model.learn(X[:, :2], y)
    model.learn_rows(X[:50, :2], y[:50])
    before = model.predict_proba(X[:, :2])
    model.add_features(["c"])
    assert model.feature_names == ["a", "b", "c"]
    unknown = np.where([True, True, False], X, np.nan)
    np.testing.assert_allclose(model.predict_proba(unknown), before, atol=1e-12)
    for _ in range(4):
        model.learn(X, y)
        model.learn_rows(Table("cab", X[:, [2, 0, 1]]), y)
    assert (model.predict(X) == y).mean() > 0.9
    pickle.loads(pickle.dumps(model)).learn(X, y)


@each_network
def test_adding_features_is_refused_where_it_cannot_work(network: str) -> None:
    strict, lenient = DEVFNN(config_of(network)), DEVFNN(config_of(network, missing="skip"))
    for model, names, message in (
        (strict, ["c"], 'only with missing="skip"'),
        (lenient, ["x0"], "has a feature 'x0' already"),
        (lenient, ["c", "c"], "has a feature 'c' already"),
    ):
        model.learn(X, Y)
        state = dump(model)
        with pytest.raises(InputError, match=message):
            model.add_features(names)
        assert dump(model) == state


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@each_network
def test_events_name_features_and_classes(network: str, verb: str) -> None:
    wide = np.concatenate([X, X * [1.0, 50.0, 1.0]])
    labels = [*["no"] * ROWS, *["yes"] * ROWS]
    for model, name in (
        (DEVFNN(config_of(network)), "x1"),
        (DEVFNN(config_of(network), feature_names=["age", "income", "rest"]), "income"),
    ):
        events = getattr(model, verb)(wide, labels)
        assert {e.feature for e in events if isinstance(e, RangeChanged)} == {name}
        assert [(e.label, e.index) for e in events if isinstance(e, ClassAdded)] == [
            ("no", 0),
            ("yes", 1),
        ]
