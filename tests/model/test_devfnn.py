"""Learning chunk by chunk and row by row: order, equality of the two ways to feed rows, weights."""

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import count
from contract import ROWS, Table, rows
from devfnn import DEVFNN, Config, GClass, InputError
from devfnn.events import ClassAdded, Event, LayerAdded, RangeChanged
from devfnn.kernels.state import SEEN, USED, Floats
from devfnn.storage import dump

X, Y = rows()
N_EVENTFUL = count(700, 120)
EAGER: dict[str, Any] = {"drift_significance": 1e-2, "warning_significance": 0.1, "horizon": 1.0}


def eventful(n_rows: int = N_EVENTFUL) -> tuple[Floats, list[str]]:
    """Rows in which something happens all the time.

    Features: one that matters, one that widens, a clock that turns back, one that is constant until
    it wakes. Labels: two classes that swap, and a third and a fourth that come late.
    """
    rng, time = np.random.default_rng(4), np.arange(n_rows) / n_rows
    X = rng.random((n_rows, 4))
    X[:, 1] *= np.where(time > 0.35, 40.0, 1.0)
    X[:, 2] = np.where(time < 0.6, time, 1.5 * (1.0 - time))
    X[:, 3] *= time > 0.6
    codes = (X[:, 0] > 0.5) ^ (time > 0.5)
    labels = np.where(codes, "high", "low").astype(object)
    labels[(time > 0.2) & (rng.random(n_rows) < 0.05)] = "third"
    labels[(time > 0.8) & (rng.random(n_rows) < 0.05)] = "fourth"
    return X, list(labels)


@dataclasses.dataclass(frozen=True)
class Way:
    """A configuration, and how rows are fed to it."""

    config: Config
    kind: type[DEVFNN] = DEVFNN
    missing: bool = False
    weighted: bool = False
    asked: bool = False

    def parts(self) -> tuple[Floats, list[str], Floats, Any]:
        """Rows, labels, weights and the mask of chosen rows."""
        X, y = eventful()
        rng = np.random.default_rng(5)
        if self.missing:
            X[rng.random(X.shape) < 0.15] = np.nan
            X[11] = np.nan
        weights = rng.choice([0.0, 0.5, 1.0, 3.0], len(y)) if self.weighted else np.ones(len(y))
        return X, y, weights, rng.random(len(y)) < 0.4 if self.asked else None

    def fed(self, cuts: list[int]) -> tuple[DEVFNN, list[Event]]:
        """A model that learned the rows in batches that end at the cuts, and its events."""
        X, y, weights, chosen = self.parts()
        model, events = self.kind(self.config), list[Event]()
        for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
            part = slice(start, stop)
            mask = None if chosen is None else chosen[part]
            events += model.learn_rows(X[part], y[part], weights[part], chosen=mask)
        return model, events

    def looped(self) -> tuple[DEVFNN, list[Event]]:
        """The same row by row; rows that were not chosen cannot be given to `learn_one`."""
        X, y, weights, chosen = self.parts()
        if chosen is not None:
            return self.fed([*range(1, len(y))])
        model, events = self.kind(self.config), list[Event]()
        for x, label, weight in zip(X, y, weights, strict=True):
            events += model.learn_one(x, label, weight)
        return model, events


SMALL = Config(chunk_rows=60, **EAGER)
WAYS = {
    "default": Way(Config()),
    "small steps": Way(SMALL),
    "all learned": Way(SMALL.replace(active_learning=False)),
    "least squares": Way(SMALL.replace(consequent="least_squares", memory=0.99)),
    "deep": Way(SMALL.replace(training="all", initial_layers=3, plain_first=False)),
    "masked": Way(SMALL.replace(feature_mask=True, feature_threshold=0.9)),
    "merged": Way(SMALL.replace(merge_threshold=1.0, training="winner", initial_layers=1)),
    "printed": Way(SMALL.replace(drift_test="chunk", newborn="scratch", voting_weights="reward")),
    "fading": Way(SMALL.replace(chunk_memory=0.5, local_forgetting=0.2, weight_decay=1e-3)),
    "budget": Way(SMALL.replace(label_budget=0.3, threshold_step=0.01)),
    "missing": Way(SMALL.replace(missing="skip"), missing=True),
    "weighted": Way(SMALL, weighted=True),
    "asked for": Way(SMALL, asked=True),
    "one layer": Way(SMALL, GClass),
}


# ---- learn_rows is learn_one in a loop


@pytest.mark.parametrize("name", WAYS)
def test_learn_rows_is_bit_for_bit_a_loop_of_learn_one(name: str) -> None:
    model, events = WAYS[name].looped()
    together, all_events = WAYS[name].fed([])
    assert all_events == events
    assert dump(together) == dump(model)


@given(data=st.data())
@settings(max_examples=count(30, 2), deadline=None)
def test_it_does_not_matter_how_rows_are_cut_into_batches(data: Any) -> None:
    way = WAYS[data.draw(st.sampled_from(sorted(WAYS)))]
    cuts = data.draw(st.lists(st.integers(0, N_EVENTFUL), max_size=8).map(sorted))
    model, events = way.fed(cuts)
    together, all_events = way.fed([])
    assert all_events == events
    assert dump(together) == dump(model)


def test_the_eventful_rows_are_eventful() -> None:
    kinds = {event.kind for way in WAYS.values() for event in way.fed([])[1]}
    assert kinds >= {
        "RuleBorn",
        "RangeChanged",
        "FeatureAsleep",
        "FeatureAwake",
        "DriftFound",
        "LayerAdded",
        "ClassAdded",
        "FeatureOff",
        "LayersMerged",
    }


def test_structural_steps_follow_every_chunk_rows_rows() -> None:
    model = DEVFNN(Config(chunk_rows=60, **EAGER))
    X, y = eventful()
    events, steps = list[Event](), []
    for row, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        before = model._network.n_chunks if model._network else 0
        events += model.learn_one(x, label)
        if model._known().n_chunks > before:
            steps.append(row)
    assert steps == [*range(60, len(y) + 1, 60)]
    layers = [event.row for event in events if isinstance(event, LayerAdded)]
    assert layers and all(row % 60 == 0 for row in layers)


# ---- chunks


def test_the_first_chunk_founds_all_layers_and_the_next_is_judged_before_it_is_learned() -> None:
    model = DEVFNN(Config(scaling="none"))
    model.learn(X, Y)
    network = model._known()
    assert network.track.rows == 0 and (network.layers.counters[:, SEEN] == ROWS).all()
    wrong = int((model.predict(X) == Y).sum())
    model.learn(X, 1 - Y)
    assert (network.track.rows, network.track.errors) == (ROWS, wrong)


def test_events_come_in_the_order_of_the_steps() -> None:
    config = Config(feature_mask=True, feature_threshold=0.9, **EAGER)
    model, (X, y) = DEVFNN(config, ["a", "b", "c", "d"]), eventful(8 * ROWS)
    order = ["ClassAdded", "RangeChanged", "FeatureOff", "DriftFound", "LayerAdded", "RuleBorn"]
    seen = set()
    for start in range(0, len(y), ROWS):
        events = model.learn(X[start : start + ROWS], y[start : start + ROWS])
        places = [order.index(event.kind) for event in events if event.kind in order]
        assert places == sorted(places)
        assert [event.row for event in events] == sorted(event.row for event in events)
        seen |= {event.kind for event in events}
    assert {"ClassAdded", "RangeChanged", "FeatureOff", "DriftFound", "LayerAdded"} <= seen


def test_chunks_and_single_rows_may_be_mixed() -> None:
    model = DEVFNN(Config(chunk_rows=50))
    model.learn(X, Y)
    model.learn_rows(X[:70], Y[:70])
    gathered = model._known().gathered
    assert gathered is not None and gathered.count == 20
    model.learn(X, Y)  # closes what has gathered, then learns the chunk
    assert model._known().gathered is None
    assert model._known().n_chunks == 1 + 1 + 1 + 1
    model.learn_one(X[0], int(Y[0]))
    assert model.n_rows == 2 * ROWS + 71
    assert (model.predict(X) == Y).mean() > 0.9


def test_a_late_class_leaves_what_was_known_as_it_was() -> None:
    for consequent in ("logistic", "least_squares"):
        model = DEVFNN(Config().replace(consequent=consequent))
        model.learn(X, Y)
        network, before = model._known(), model.predict_proba(X)
        wider = dataclasses.replace(network.shape, classes=3)
        network.resize(wider, model.config)
        after = model.predict_proba(X)
        np.testing.assert_array_equal(after.argmax(axis=1), before.argmax(axis=1))
        assert after[:, 2].mean() < 2.0 / ROWS


# ---- weights, labels asked for


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
def test_rows_of_weight_0_are_passed_over(verb: str) -> None:
    model, other = DEVFNN(), DEVFNN()
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
def test_a_row_of_weight_2_counts_more_than_one_of_weight_1(verb: str) -> None:
    model, heavier = DEVFNN(Config(active_learning=False)), DEVFNN(Config(active_learning=False))
    for each, weight in ((model, 1.0), (heavier, 2.0)):
        each.learn(X, Y)
        getattr(each, verb)(X[:1], [1 - Y[0]], [weight])
    wrong = int(np.flatnonzero(np.array(model.classes) == 1 - Y[0])[0])
    assert heavier.predict_proba(X[:1])[0, wrong] > model.predict_proba(X[:1])[0, wrong]


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
def test_chosen_rows_are_all_learned_and_of_the_others_no_label_is_read(verb: str) -> None:
    easy = Config(exploration=0.0, conflict_threshold=0.6)
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


@pytest.mark.parametrize("kind", [DEVFNN, GClass])
def test_wants_label_says_what_learn_one_then_uses(kind: type[DEVFNN]) -> None:
    model = kind(Config(conflict_threshold=0.8, voting_weights="equal", training="winner"))
    model.learn(X, Y)
    answers = []
    for x, label in zip(X[:150], Y[:150], strict=True):
        (wanted,) = model.wants_label(x[None])
        layer = int(np.argmax(model.voting_weights))
        used = int(model._known().layers.counters[layer, USED])
        model.learn_one(x, int(label))
        assert model._known().layers.counters[layer, USED] - used == wanted
        answers.append(bool(wanted))
    assert any(answers) and not all(answers)


# ---- features


def test_features_may_be_added_later() -> None:
    model = DEVFNN(Config(missing="skip"), ["a", "b"])
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


def test_adding_features_is_refused_where_it_cannot_work() -> None:
    strict, lenient = DEVFNN(), DEVFNN(Config(missing="skip"))
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
def test_events_name_features_and_classes(verb: str) -> None:
    wide = np.concatenate([X, X * [1.0, 50.0, 1.0]])
    labels = [*["no"] * ROWS, *["yes"] * ROWS]
    for model, name in (
        (DEVFNN(), "x1"),
        (DEVFNN(feature_names=["age", "income", "rest"]), "income"),
    ):
        events = getattr(model, verb)(wide, labels)
        assert {e.feature for e in events if isinstance(e, RangeChanged)} == {name}
        assert [(e.label, e.index) for e in events if isinstance(e, ClassAdded)] == [
            ("no", 0),
            ("yes", 1),
        ]
