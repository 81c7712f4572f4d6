"""One writer at a time, readers at any time: what `model/access.py` promises.

`make test` runs these compiled, and once more as plain Python, where NumPy checks every index.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from build import count
from devfnn import DEVFNN, Config, Fleet, InputError, presets
from devfnn.arrays import Floats, Ints
from devfnn.model.network import Network
from devfnn.storage import dump, parse
from scenes import stacked

QUICK = presets.swift().replace(
    missing="skip", chunk_rows=40, rules__max_rules=12, boxes__max_rules=6, clouds__max_rules=8
)


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def rows(n_rows: int, seed: int = 0, n_features: int = 2) -> tuple[Floats, Ints]:
    """Rows of two classes."""
    X = np.random.default_rng(seed).random((n_rows, n_features))
    return X, (X[:, 0] > 0.5).astype(np.int64)


def learned(config: Config = QUICK) -> DEVFNN:
    """A model that knows something."""
    model = DEVFNN(config)
    model.learn(*rows(80))
    return model


def at_once(*works: Callable[[], object]) -> None:
    """Run each in a thread of its own; an error of one is an error here."""
    errors: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


# ---- readers


def grow(model: DEVFNN, is_done: threading.Event) -> None:
    """Learn chunks and rows with more and more classes and features."""
    rng = np.random.default_rng(1)
    try:
        for step in range(count(40, 6)):
            if step % 8 == 5:
                model.add_features([f"x{len(model.feature_names)}"])
            X = rng.random((40, len(model.feature_names)))
            model.learn(X, rng.integers(0, 2 + step // 2, 40))
            for x in X[:10].tolist():
                model.learn_one(x, 1 + step // 2)
    finally:
        is_done.set()


def one(model: DEVFNN, X: Floats) -> Floats:
    """The probabilities of the first row."""
    return np.array([[*model.predict_proba_one(X[0].tolist()).values()]])


def explained(model: DEVFNN, X: Floats) -> Floats:
    """The same, from an explanation; other readers are called too."""
    assert model.predict(X).shape == (3,)
    assert len(model.describe()) > 10
    return model.explain(X[0]).probabilities[None]


def test_predictions_are_of_one_state_while_classes_and_features_appear() -> None:
    model, is_done, n_calls = learned(), threading.Event(), [0, 0, 0]

    def ask(place: int, predict: Callable[[DEVFNN, Floats], Floats]) -> None:
        rng = np.random.default_rng(place)
        while not is_done.is_set():
            X = rng.random((3, len(model.feature_names)))
            with contextlib.suppress(InputError):  # a feature has come meanwhile
                shares = predict(model, X)
                assert shares.shape[1] >= 2 and (shares >= 0.0).all()
                np.testing.assert_allclose(shares.sum(axis=1), 1.0)
                n_calls[place] += 1

    at_once(
        lambda: grow(model, is_done),
        lambda: ask(0, DEVFNN.predict_proba),
        lambda: ask(1, one),
        lambda: ask(2, explained),
    )
    assert min(n_calls) > 0
    assert dump(parse(dump(model))) == dump(model)


@pytest.mark.parametrize("was_shared", [False, True])
def test_readers_do_not_wait_for_a_chunk_being_learned(
    was_shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, (X, y) = learned(), rows(40, 1)
    if was_shared:
        at_once(lambda: model.predict(X))
    before, n_rows = model.predict_proba(X), model.n_rows
    is_inside, may_end = threading.Event(), threading.Event()
    learn_chunk = Network.learn_chunk

    def slow(self: Network, *args: Any) -> Any:
        events = learn_chunk(self, *args)
        is_inside.set()
        assert may_end.wait(20.0)
        return events

    monkeypatch.setattr(Network, "learn_chunk", slow)
    said: dict[str, Any] = {}

    def read() -> None:
        try:
            assert is_inside.wait(20.0)
            said["all"], said["rows"] = model.predict_proba(X), model.n_rows
            said["one"] = [*model.predict_proba_one(X[0].tolist()).values()]
        finally:
            may_end.set()

    at_once(lambda: model.learn(X, np.where(y == 1, "new", "newer")), read)
    np.testing.assert_array_equal(said["all"], before)
    assert said["rows"] == n_rows
    assert said["one"] == pytest.approx(before[0].tolist())
    assert model.predict_proba(X).shape == (40, 4)


def test_what_was_learned_row_by_row_is_seen_by_others() -> None:
    model, (X, y) = learned(), rows(60, 2)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(x, label)
    found: list[Any] = []
    at_once(lambda: found.append((model.n_rows, model.predict_proba(X), dump(model))))
    assert found[0][0] == 140
    np.testing.assert_array_equal(found[0][1], model.predict_proba(X))
    assert found[0][2] == dump(model)
    model.learn_one(X[0].tolist(), 1)
    at_once(lambda: found.append(model.n_rows))
    assert found[1] == model.n_rows == 141


def test_a_state_that_is_being_read_does_not_change() -> None:
    """A reader that began before others came, on the very arrays that were learned."""
    model, (X, y) = learned(), rows(40, 3)
    with model._access.reading():
        before = model.predict_proba(X)
        at_once(lambda: model.learn(X, 1 - y), lambda: model.learn_one(X[0].tolist(), 1))
        np.testing.assert_array_equal(model.predict_proba(X + 0.0), before)
        assert model.n_rows == 80
    assert model.n_rows == 121


def test_the_owner_reads_one_state_whoever_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others read, learn a class and learn rows just when the owner begins to read."""
    from devfnn.model import access

    model, (X, y) = learned(), rows(40, 7)
    owner, get_ident, n_calls = threading.get_ident(), threading.get_ident, 0

    def interrupted() -> int:
        nonlocal n_calls
        n_calls += 1
        if get_ident() == owner and n_calls == 1:
            at_once(lambda: model.predict(X))
            at_once(lambda: model.learn(X, np.where(y == 1, "new", "newer")))
        return get_ident()

    monkeypatch.setattr(access.threading, "get_ident", interrupted)
    view = model._access.view()
    monkeypatch.undo()
    assert n_calls > 0
    assert view.network is not None and view.network.n_rows in (80, 120)
    n_rows = view.network.n_rows
    at_once(lambda: model.learn(X, y), lambda: model.learn_one(X[0].tolist(), 1))
    assert view.network.n_rows == n_rows
    assert len(view.labels) == view.network.n_classes


def test_the_first_writer_of_another_thread_leaves_the_owner_its_state() -> None:
    """Though a reader of a third thread has come, and waits for the lock."""
    model, (X, y) = learned(), rows(40, 8)
    with model._access.reading() as view:
        assert view is model._access.working
        model._access._is_shared = True  # the reader has come as far as this
        at_once(lambda: model.learn(X, y), lambda: model.learn_one(X[0].tolist(), 1))
        assert view.network is not None and view.network.n_rows == 80
    assert model.n_rows == 121


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_a_lock_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    model, (X, y) = learned(), rows(40, 9)
    at_once(lambda: model.predict(X))
    is_inside, may_end = threading.Event(), threading.Event()
    learn_chunk = Network.learn_chunk

    def slow(self: Network, *args: Any) -> Any:
        is_inside.set()
        assert may_end.wait(20.0)
        return learn_chunk(self, *args)

    monkeypatch.setattr(Network, "learn_chunk", slow)
    writer = threading.Thread(target=lambda: model.learn(X, y))
    writer.start()
    assert is_inside.wait(20.0)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        Network.learn_chunk = learn_chunk  # type: ignore[method-assign]
        model.learn_one(X[0].tolist(), 1)
        os._exit(0 if model.n_rows == 81 and len(dump(model)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    may_end.set()
    writer.join()
    assert model.n_rows == 120


# ---- writers


@pytest.mark.parametrize("config", [QUICK, stacked(chunk_rows=40)], ids=["fast path", "slow path"])
def test_no_row_of_several_writers_is_lost(config: Config) -> None:
    model, n_rows = DEVFNN(config), count(300, 30)

    def write(seed: int) -> None:
        for x, label in zip(*map(np.ndarray.tolist, rows(n_rows, seed, 3)), strict=True):
            model.learn_one(x, label + seed)
            model.predict_one(x)

    at_once(*(lambda seed=seed: write(seed) for seed in range(3)))  # type: ignore[misc]
    assert model.n_rows == 3 * n_rows
    assert parse(dump(model)).n_rows == 3 * n_rows
    assert sorted(model.classes) == [0, 1, 2, 3]


def test_threads_one_after_the_other_learn_what_one_does() -> None:
    X, y = rows(count(400, 60), 4)
    alone, shared = DEVFNN(QUICK), DEVFNN(QUICK)
    parts = np.array_split(np.arange(len(X)), 4)

    def learn(model: DEVFNN, part: Ints, by_row: bool) -> None:
        if not by_row:
            model.learn(X[part], y[part])
            return
        for row in part:
            model.predict_one(X[row])
            model.learn_one(X[row], y[row])

    for place, part in enumerate(parts):
        learn(alone, part, place % 2 == 1)
        at_once(lambda part=part, place=place: learn(shared, part, place % 2 == 1))  # type: ignore[misc]
    assert dump(shared) == dump(alone)


def test_calls_of_a_fleet_come_one_after_the_other() -> None:
    config = presets.swift().replace(rules__max_rules=9, boxes__max_rules=3, growing__max_kept=2)
    fleet, n_calls = Fleet(4, 2, [0, 1], config), count(60, 4)
    is_done = threading.Event()

    def write(seed: int) -> None:
        X, y = rows(50, seed)
        for _ in range(n_calls):
            fleet.learn(np.arange(50) % 4, X, y)

    def read() -> None:
        X, _ = rows(20, 9)
        while not is_done.is_set():
            shares = fleet.predict_proba(np.arange(20) % 4, X)
            np.testing.assert_allclose(shares.sum(axis=1), 1.0)
            assert fleet.n_rows.sum() % 50 == 0

    reader = threading.Thread(target=read)
    reader.start()
    try:
        at_once(lambda: write(1), lambda: write(2))
    finally:
        is_done.set()
        reader.join()
    assert fleet.n_rows.sum() == 2 * 50 * n_calls


# ---- calls that fail


@pytest.mark.parametrize("was_shared", [False, True])
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize(
    "act",
    [
        lambda model, X: model.learn(X, ["other"] * len(X)),
        lambda model, X: model.learn_rows(X, ["other"] * len(X)),
        lambda model, X: model.learn_one(X[0], "other"),
    ],
    ids=["learn", "learn_rows", "learn_one"],
)
def test_a_call_that_fails_half_way_changes_nothing(
    act: Callable[[DEVFNN, Floats], object],
    error: type[BaseException],
    was_shared: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, (X, y) = learned(), rows(40, 5)
    model.learn_one(X[0], 1)
    if was_shared:
        at_once(lambda: model.predict(X))
    before, other = dump(model), parse(dump(model))

    def failing(self: Network, *args: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Network, "_learn_batch", failing)
        patch.setattr(Network, "_learn_part", failing)  # classes were added, ranges changed
        with pytest.raises(error):
            act(model, 3.0 * X)
    assert dump(model) == before
    for each in (model, other):
        each.learn(X, y)
        each.learn_one(X[0], 1)
    assert dump(model) == dump(other)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("name", ["change_map", "close_step"])
def test_a_row_that_fails_half_way_is_not_learned(
    name: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where ranges change with it, or a structural step follows it."""
    model, (X, y) = learned(), rows(200, 5)
    work = getattr(Network, name)

    def failing(self: Network, *args: Any) -> Any:
        work(self, *args)
        raise error

    monkeypatch.setattr(Network, name, failing)
    for x, label in zip((3.0 * X).tolist(), y.tolist(), strict=True):
        before = model.n_rows
        try:
            model.learn_one(x, label)
        except error:
            break
    else:
        raise AssertionError("neither ranges nor the structure changed")
    assert model.n_rows == before
    found = parse(dump(model))
    monkeypatch.undo()
    for each in (model, found):
        each.learn_rows(X, y)
    assert dump(model) == dump(found)


def test_a_model_does_not_learn_what_it_is_just_reading() -> None:
    model, (X, y) = learned(), rows(10, 3)

    class Rows:
        """Rows that let the model learn while it looks at them."""

        def __array__(self, *_: object, **__: object) -> Floats:
            model.learn(X, y)
            return X

    with pytest.raises(InputError, match="while the same call reads it"):
        model.predict(Rows())
    assert model.n_rows == 80


def test_ctrl_c_between_two_rows_loses_nothing() -> None:
    """Wherever it comes, counters and arrays agree, and the next rows can be learned."""
    model, (X, y) = learned(), rows(count(3000, 60), 6)
    n_pressed, is_armed = 0, False

    def press(*_: object) -> None:
        if is_armed:
            raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, press)
    try:
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            before = model.n_rows
            try:
                is_armed = True
                signal.setitimer(signal.ITIMER_REAL, 1e-6 * (1 + 7 * before % 40))
                model.learn_one(x, label)
                is_armed = False
            except KeyboardInterrupt:
                is_armed = False
                n_pressed += 1
            assert before <= model.n_rows <= before + 1
            if n_pressed % 50 == 1:
                dump(model)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
    assert n_pressed > 0
    assert parse(dump(model)).n_rows == model.n_rows
