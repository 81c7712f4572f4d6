"""What every classifier of the package must do, as a list of checks that take a factory."""

import gc
import pickle
import tracemalloc
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, InputError, NotLearnedError
from devfnn.arrays import Floats, Ints
from devfnn.model.config import KeepLayers, idle_parameters
from scenes import IS_COMPILED, count

Factory = Callable[..., DEVFNN]
"""Makes a fresh model; keyword arguments change its configuration."""

ROWS = count(400, 200)

LABELS: Sequence[tuple[Hashable, Hashable]] = (
    ("low", "high"),
    (7, -7),
    (False, True),
    (("a", 1), ("a", 2)),
    (0.5, 1.5),
    (b"no", b"yes"),
    ("1", 1),
)


class Table:
    """The least that a table of named columns has to be."""

    def __init__(self, columns: Sequence[str], values: Floats) -> None:
        self.columns = list(columns)
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self._values, dtype=dtype)


def rows(n_rows: int = ROWS, seed: int = 0) -> tuple[Floats, Ints]:
    """Rows of three features, in [0, 1], of which the first two decide between two classes."""
    X = np.random.default_rng(seed).random((n_rows, 3))
    return X, (X[:, 0] + X[:, 1] > 1.0).astype(np.int64)


def taught(make: Factory, n_chunks: int = 3, **changes: Any) -> DEVFNN:
    """A model that has learned a few chunks."""
    model = make(**changes)
    for seed in range(n_chunks):
        model.learn(*rows(seed=seed))
    return model


def inputs_are_left_untouched(make: Factory) -> None:
    model = make()
    (X, y), weights = rows(), np.ones(ROWS)
    before = X.copy(), y.copy()
    for array in (X, y, weights):
        array.flags.writeable = False  # writing would raise
    model.learn(X, y, weights)
    model.learn_rows(X, y, weights)
    model.predict(X)
    model.predict_proba(X)
    model.wants_label(X)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


def what_was_learned_does_not_hang_on_the_caller(make: Factory) -> None:
    model = make()
    X, y = rows()
    model.learn_rows(X, y)  # gathers rows for the next structural step
    state = pickle.dumps(model)
    X[:], y[:] = 9.0, 0
    assert pickle.dumps(model) == state


def asking_changes_nothing(make: Factory) -> None:
    model = taught(make)
    model.learn_rows(*rows(ROWS // 3))
    X, _ = rows(seed=9)
    state = pickle.dumps(model)
    for ask in (model.predict, model.predict_proba, model.wants_label):
        for asked in (X, X[:1], X[:0], 1e99 * X):
            ask(asked)
            assert pickle.dumps(model) == state
    model.predict_one(X[0])
    model.predict_proba_one(X[0])
    assert pickle.dumps(model) == state


def a_prediction_before_learning_is_refused(make: Factory) -> None:
    model, (X, _) = make(), rows()
    for ask in (model.predict, model.predict_proba):
        with pytest.raises(NotLearnedError, match="call learn first"):
            ask(X)
    for ask_one in (model.predict_one, model.predict_proba_one):
        with pytest.raises(NotLearnedError, match="call learn first"):
            ask_one(X[0])
    assert model.wants_label(X).all()  # whatever it is shown first is worth its label


def probabilities_are_probabilities(make: Factory) -> None:
    model = taught(make)
    X = np.concatenate([rows(seed=9)[0], [[50.0, -50.0, 0.0], [1e99, -1e99, 1e99]]])
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (len(X), 2)
    assert (probabilities >= 0.0).all() and (probabilities <= 1.0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    best = np.array(model.classes)[probabilities.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), best)


def one_row_is_answered_like_many(make: Factory) -> None:
    model, (X, _) = taught(make), rows(seed=9)
    probabilities, labels = model.predict_proba(X), model.predict(X)
    for x, expected, label in list(zip(X, probabilities, labels, strict=True))[:20]:
        assert list(model.predict_proba_one(x)) == model.classes
        assert list(model.predict_proba_one(x).values()) == expected.tolist()
        assert model.predict_one(x) == label
        np.testing.assert_array_equal(model.predict_proba(x[None]), [expected])


def it_learns(make: Factory) -> None:
    X, y = rows(seed=9)
    assert (taught(make).predict(X) == y).mean() > 0.9


def a_class_may_appear_later(make: Factory) -> None:
    model = taught(make)
    X, y = rows(seed=9)
    before = model.predict_proba(X)
    (event,) = [e for e in model.learn(X[:1], [2], [1e-6]) if e.kind == "ClassAdded"]
    assert event.to_dict() == {"kind": "ClassAdded", "row": 3 * ROWS, "label": "2", "index": 2}
    after = model.predict_proba(X)
    assert model.classes == [*taught(make).classes, 2] and after.shape == (len(X), 3)
    clear = np.abs(before[:, 0] - before[:, 1]) > 1e-6
    np.testing.assert_array_equal(after[clear].argmax(axis=1), before[clear].argmax(axis=1))
    labels = np.where(X[:, 2] > 0.6, 2, y)  # and now the class is learned
    for _ in range(5):
        model.learn(X, labels)
    assert (model.predict(X) == labels).mean() > 0.85


def the_same_seed_gives_the_same_result(make: Factory) -> None:
    first, second = taught(make), taught(make)
    assert pickle.dumps(first) == pickle.dumps(second)
    X, _ = rows(seed=9)
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def a_pickled_copy_is_independent(make: Factory) -> None:
    model = taught(make)
    copy = pickle.loads(pickle.dumps(model))
    assert type(copy) is type(model) and copy.config == model.config
    X, y = rows(seed=9)
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    state = pickle.dumps(model)
    copy.learn(X, 1 - y)
    assert pickle.dumps(model) == state != pickle.dumps(copy)
    model.learn(X, 1 - y)
    assert pickle.dumps(model) == pickle.dumps(copy)


def memory_does_not_creep(make: Factory) -> None:
    if not IS_COMPILED:
        pytest.skip("takes minutes as plain Python")
    small = {"gaussian": 3, "boxes": 3, "clouds": 5}
    has = make().config.has
    limits = {f"{kind}__max_rules": size for kind, size in small.items() if has(kind)}
    limits |= {"gaussian__archive_size": 1} if has("gaussian") else {}
    limits |= {"growing__max_kept": 1} if isinstance(make().config.growing, KeepLayers) else {}
    idle = idle_parameters(make().config)
    limits = {name: size for name, size in limits.items() if name not in idle}
    model, sizes = taught(make, 24, **limits), list[tuple[int, int]]()
    tracemalloc.start()
    try:
        for seed in range(24, 36):
            model.learn(*rows(seed=seed))
            model.learn_rows(*rows(seed=seed))
            model.predict(rows(seed=seed)[0])
            if seed in (27, 35):  # after what is made at first use, and at the end
                size = model.nbytes
                gc.collect()  # tuples that Python keeps for later are no memory of the model
                sizes.append((size, tracemalloc.get_traced_memory()[0]))
    finally:
        tracemalloc.stop()
    first, last = sizes
    assert last[0] == first[0]
    assert last[1] < first[1] + 30_000


def labels_may_be_anything_hashable(make: Factory) -> None:
    X, y = rows()
    for pair in LABELS:
        model, labels = make(), [pair[code] for code in y]
        model.learn(X, labels)
        assert model.classes == list(dict.fromkeys(labels))
        predicted = model.predict(X).tolist()
        assert {type(label) for label in predicted} <= {type(label) for label in pair}
        assert np.mean([a == b for a, b in zip(predicted, labels, strict=True)]) > 0.8
        assert model.predict_one(X[0]) == predicted[0]


def lists_and_tables_are_as_good_as_arrays(make: Factory) -> None:
    (X, y), plain = rows(), make()
    plain.learn(X, y)
    for as_given in (X.tolist(), np.asfortranarray(X), X.astype(object), list(X)):
        model = make()
        model.learn(as_given, y.tolist())
        assert pickle.dumps(model) == pickle.dumps(plain)
        np.testing.assert_array_equal(model.predict(as_given), plain.predict(X))
    model = make()
    model.learn(Table("abc", X), y)
    assert model.feature_names == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(Table("abc", X)), plain.predict(X))
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def columns_in_another_order_are_put_right(make: Factory) -> None:
    (X, y), straight, turned = rows(), make(), make()
    for model, order in ((straight, [0, 1, 2]), (turned, [2, 0, 1])):
        model.learn(Table("abc", X), y)
        table = Table(["abc"[j] for j in order], X[:, order])
        model.learn(table, y)
        model.learn_rows(table, y)
        model.wants_label(table)
        np.testing.assert_array_equal(model.predict(table), model.predict(X))
    assert pickle.dumps(straight) == pickle.dumps(turned)


def unknown_and_absent_columns_are_refused_by_name(make: Factory) -> None:
    (X, y), model = rows(), make()
    model.learn(Table("abc", X), y)
    state = pickle.dumps(model)
    wrong = Table("abd", X)
    calls: list[Callable[[], Any]] = [
        lambda: model.learn(wrong, y),
        lambda: model.learn_rows(wrong, y),
        lambda: model.predict(wrong),
        lambda: model.predict_proba(wrong),
        lambda: model.wants_label(wrong),
    ]
    for call in calls:
        with pytest.raises(InputError, match="unknown column 'd'; column 'c' is absent"):
            call()
    assert pickle.dumps(model) == state


CHECKS: list[Callable[[Factory], None]] = [
    inputs_are_left_untouched,
    what_was_learned_does_not_hang_on_the_caller,
    asking_changes_nothing,
    a_prediction_before_learning_is_refused,
    probabilities_are_probabilities,
    one_row_is_answered_like_many,
    it_learns,
    a_class_may_appear_later,
    the_same_seed_gives_the_same_result,
    a_pickled_copy_is_independent,
    memory_does_not_creep,
    labels_may_be_anything_hashable,
    lists_and_tables_are_as_good_as_arrays,
    columns_in_another_order_are_put_right,
    unknown_and_absent_columns_are_refused_by_name,
]
