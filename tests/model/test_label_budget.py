"""A label budget is a hard bound over every window, however labels come; and asking is logged."""

import copy

import numpy as np
import pytest

from devfnn import DEVFNN, Config, InputError
from devfnn.arrays import Flags, Ints
from devfnn.evaluation import Procedure, iter_prequential
from devfnn.events import Event
from devfnn.model.queries import MOST_QUERIES
from devfnn.streams import from_arrays
from scenes import CHUNK, NETWORKS, chunks, config_of, each_network, noisy, sloped, swift

X, Y = sloped(12)
HARD = noisy(Y, 0.3)
WINDOW, MOST = 100, 10
each_label = pytest.mark.parametrize("y", [Y, HARD], ids=["easy", "hard"])


def bounded(network: str, **changes: object) -> Config:
    """One label in ten, over a hundred rows."""
    return config_of(network, **({"labels__budget": 0.1, "labels__window": WINDOW} | changes))


def fullest(taken: Flags) -> int:
    """Most labels in any window."""
    return int(np.convolve(taken, np.ones(WINDOW, np.int64)).max())


@each_network
@each_label
def test_row_by_row_no_window_takes_more_labels(network: str, y: Ints) -> None:
    model, taken = DEVFNN(bounded(network)), []
    for row, label in zip(X[:700], y[:700].tolist(), strict=True):
        before = model.n_labels_used
        model.learn_one(row, label)
        taken.append(model.n_labels_used > before)
    assert 0.5 * MOST <= fullest(np.array(taken)) <= MOST
    assert model.n_labels_used > 0.05 * 700


@each_network
@each_label
@pytest.mark.parametrize("rows_per_call", [7, 100, CHUNK])
def test_chunk_by_chunk_no_window_takes_more_labels(
    network: str, y: Ints, rows_per_call: int
) -> None:
    """Chunks that end anywhere: the labels of whole windows of chunks are known."""
    model, used = DEVFNN(bounded(network)), [0]
    for rows, labels in chunks(X[:1400], y[:1400], rows_per_call):
        model.learn(rows, labels)
        used.append(model.n_labels_used)
    in_window = WINDOW // rows_per_call
    if in_window:
        counts = np.array(used)
        assert (counts[in_window:] - counts[:-in_window]).max() <= MOST
    assert 0.05 * 1400 < used[-1] <= MOST * (1400 / WINDOW + 1)


@each_network
@each_label
def test_what_is_wanted_never_exceeds_the_budget(network: str, y: Ints) -> None:
    model, taken = DEVFNN(bounded(network)), []
    for rows, labels in chunks(X, y, 70):
        wanted = model.wants_label(rows)
        unread = [label if want else None for label, want in zip(labels, wanted, strict=True)]
        model.learn(rows, unread, chosen=wanted)
        taken.append(wanted)
    assert fullest(np.concatenate(taken)) <= MOST
    assert np.concatenate(taken).mean() > 0.05
    assert (model.predict(X) == Y).mean() > 0.8


@each_network
def test_before_the_first_answer_every_window_has_its_questions(network: str) -> None:
    model = DEVFNN(bounded(network))
    wanted = model.wants_label(X[:450])
    assert np.flatnonzero(wanted).tolist() == [row for row in range(450) if row % WINDOW < MOST]
    rows = X[:2350]
    asked = np.concatenate([model.ask(part) for part, _ in chunks(rows, Y[:2350], 70)])
    assert fullest(asked) == MOST and asked[-WINDOW:].sum() == MOST
    assert model.n_labels_owed == asked.sum()
    assert [query.row for query in model.queries()] == np.flatnonzero(asked).tolist()
    model.answer(rows[asked][:5], Y[:2350][asked][:5])
    assert model.n_labels_owed == asked.sum() - 5
    assert not model.wants_label(X[:1]).any()  # the last window has all of its labels


@each_network
def test_ways_of_asking_can_be_mixed(network: str) -> None:
    """Every third chunk is asked about ahead, and answered late; the others are learned at once."""
    model, taken, waiting = DEVFNN(bounded(network)), [], []
    for turn, (rows, labels) in enumerate(chunks(X, HARD, 50)):
        if turn % 3 == 0:
            taken.append(model.ask(rows))
            waiting.append((rows[taken[-1]], labels[taken[-1]]))
        elif turn % 3 == 1:
            taken.append(model.wants_label(rows))
            model.learn(rows, labels, chosen=taken[-1])
        else:
            before = model.n_labels_used
            model.learn(rows[:1], labels[:1])
            taken.append(np.array([model.n_labels_used > before]))
        if len(waiting) > 2:
            model.answer(*waiting.pop(0))
    flags = np.concatenate(taken)
    assert fullest(flags) <= MOST and flags[-500:].mean() > 0.05
    assert model.n_labels_owed == sum(len(labels) for _, labels in waiting)


def test_answers_that_nobody_asked_for_are_refused() -> None:
    model = DEVFNN(bounded("swift"))
    model.ask(X[:3])
    before = model.__getstate__()
    for rows, labels in ((X[:4], Y[:4]), (X[:2], [1, None]), (X[:2], Y[:3])):
        with pytest.raises(InputError):
            model.answer(rows, labels)
        assert model.__getstate__() == before
    with pytest.raises(InputError, match="4 answers, but 3 labels are owed; ask"):
        model.answer(X[:4], Y[:4])
    with pytest.raises(InputError):
        model.ask([["x", "y", "z"]])
    assert model.__getstate__() == before
    assert model.ask(X[:0]).shape == (0,)


@each_network
@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize("lags", [0, 2])
def test_labels_that_are_not_taken_are_not_read(network: str, verb: str, lags: int) -> None:
    """Whatever they are: no class is opened for them, and no lag remembers them."""
    config = bounded(network, lags=lags, labels__exploration=0.2)
    told, others = DEVFNN(config), DEVFNN(config)
    for rows, labels in chunks(X[:200], Y[:200], 100):
        wanted = []
        for model, garbage in ((told, None), (others, "never")):
            before = model.n_labels_used
            if verb == "learn":
                wanted.append(model.wants_label(rows))
                mixed = np.where(wanted[-1], labels.astype(object), garbage or labels)
                model.learn(rows, mixed)
            else:
                for row, label in zip(rows, labels.tolist(), strict=True):
                    is_wanted = bool(model.wants_label(row[None])[0])
                    model.learn_rows(row[None], [label if is_wanted else garbage or label])
            assert model.n_labels_used > before or not model.n_rows
    assert others.classes == told.classes
    np.testing.assert_array_equal(others.predict_proba(X), told.predict_proba(X))
    assert others.__getstate__() == told.__getstate__()


@each_network
def test_a_budget_holds_without_active_learning_too(network: str) -> None:
    model, taken = DEVFNN(bounded(network, labels__choice="all")), []
    for row, label in zip(X[:500], Y[:500].tolist(), strict=True):
        before = model.n_labels_used
        model.learn_one(row, label)
        taken.append(model.n_labels_used > before)
    assert np.flatnonzero(taken).tolist() == [row for row in range(500) if row % WINDOW < MOST]
    assert model.wants_label(X[:250]).sum() == 3 * MOST


@pytest.mark.parametrize("by_row", [False, True])
@each_network
def test_an_experiment_keeps_to_the_budget_of_the_model(network: str, by_row: bool) -> None:
    """From the first row on, also if the experiment hands out labels."""
    given: list[Flags] = []

    class Watched(DEVFNN):
        def learn(self, *rows: object, chosen: Flags) -> list[Event]:
            given.append(chosen)
            return super().learn(*rows, chosen=chosen)

        def learn_rows(self, *rows: object, chosen: Flags) -> list[Event]:
            given.append(chosen)
            return super().learn_rows(*rows, chosen=chosen)

    stream = from_arrays(X[:600], HARD[:600]).chunks(rows=150)
    how = Procedure(label_budget=0.1, by_row=by_row)
    list(iter_prequential(Watched(bounded(network)), stream, how))
    flags = np.concatenate(given)
    assert flags.size == 600 and fullest(flags) <= MOST and flags.sum() > 20


@each_network
def test_labels_that_come_late_are_bounded_when_they_are_asked_for(network: str) -> None:
    """Every label comes three chunks after its row was asked about."""
    model, asked, waiting = DEVFNN(bounded(network)), [], []
    model.learn(X[:WINDOW], Y[:WINDOW])
    for rows, labels in list(chunks(X, HARD, 50))[2:]:
        asked.append(model.ask(rows))
        waiting.append((rows[asked[-1]], labels[asked[-1]]))
        if len(waiting) > 3:
            model.answer(*waiting.pop(0))
    flags = np.concatenate(asked)
    assert fullest(flags) <= MOST and flags.mean() > 0.05
    assert model.n_labels_owed == sum(len(labels) for _, labels in waiting)
    assert len(model.queries()) == flags.sum()


@each_network
def test_without_noting_a_question_the_same_labels_would_be_asked_for_twice(network: str) -> None:
    model = DEVFNN(bounded(network))
    model.learn(X[:500], Y[:500])
    before = copy.deepcopy(model).__getstate__()
    np.testing.assert_array_equal(model.wants_label(X[:200]), model.wants_label(X[:200]))
    assert model.__getstate__() == before
    first, second = model.ask(X[:WINDOW]), model.ask(X[:WINDOW])
    assert first.any() and fullest(np.concatenate([first, second])) <= MOST


@each_network
def test_a_query_says_which_row_and_why_and_what_is_left(network: str) -> None:
    model = DEVFNN(bounded(network, labels__exploration=0.5))
    model.learn(X[:500], HARD[:500])
    asked = model.ask(X[500:1100])
    queries = model.queries()
    assert [query.row - 500 for query in queries] == np.flatnonzero(asked).tolist()
    assert {query.reason for query in queries} >= {"unsure", "by chance"}
    assert all(0.5 <= query.certainty <= 1.0 for query in queries)
    taken = np.zeros(1100, np.bool_)
    taken[[query.row for query in queries]] = True
    for query in queries[MOST:]:
        inside = taken[query.row - WINDOW + 1 : query.row + 1].sum()
        assert query.n_left == MOST - inside


@each_network
def test_without_active_learning_every_row_is_asked_for(network: str) -> None:
    model = DEVFNN(config_of(network, labels__choice="all"))
    model.learn(X[:500], Y[:500])
    assert model.ask(X[500:600]).all()
    assert {(query.reason, query.n_left) for query in model.queries()} == {("every row", None)}


def test_a_model_that_knows_nothing_says_so() -> None:
    model = DEVFNN(bounded("swift"))
    model.ask(X[:20])
    assert [query.reason for query in model.queries()] == ["nothing known yet"] * MOST
    assert [query.n_left for query in model.queries()] == list(range(MOST))[::-1]


@each_network
def test_the_log_and_the_budget_are_saved(network: str, tmp_path: object) -> None:
    model = DEVFNN(bounded(network))
    model.learn(X[:500], HARD[:500])
    model.ask(X[500:600])
    model.save(f"{tmp_path}/model.devfnn")
    other = DEVFNN.load(f"{tmp_path}/model.devfnn")
    assert other.queries() == model.queries()
    assert other.n_labels_owed == model.n_labels_owed > 0
    np.testing.assert_array_equal(other.ask(X[600:900]), model.ask(X[600:900]))
    assert other.__getstate__() == model.__getstate__()


def test_a_model_that_asked_before_it_learned_is_saved_too() -> None:
    model = DEVFNN(bounded("swift"))
    model.ask(X[:7])
    other = copy.deepcopy(model)
    assert other.n_labels_owed == 7 and other.queries() == model.queries()
    np.testing.assert_array_equal(other.ask(X[7:50]), model.ask(X[7:50]))
    other.answer(X[:7], Y[:7])
    assert other.n_labels_owed == 3


def test_the_log_keeps_the_newest() -> None:
    model = DEVFNN(swift(labels__choice="all"))
    model.learn(X[:100], Y[:100])
    for rows, _ in chunks(X, Y, 500):
        model.ask(rows)
    assert len(model.queries()) == MOST_QUERIES
    assert model.queries()[-1].row == 100 + len(X) - 1
    assert model.n_labels_owed == len(X)


def test_without_a_budget_nothing_is_learned() -> None:
    for network in NETWORKS:
        model = DEVFNN(config_of(network, labels__budget=0.0))
        model.learn(X[:500], Y[:500])
        model.learn_rows(X[500:600], Y[500:600])
        assert model.n_labels_used == 0
        assert not model.wants_label(X).any()


def test_a_window_without_room_for_a_label_is_refused() -> None:
    with pytest.raises(InputError, match="a window of 1000 rows has room for one"):
        swift(labels__budget=0.001)
    assert swift(labels__budget=0.001, labels__window=1000).labels.budget == 0.001


@each_network
def test_rows_asked_about_one_by_one_have_their_own_reasons(network: str) -> None:
    model = DEVFNN(bounded(network, labels__exploration=0.5))
    model.learn(X[:500], HARD[:500])
    for row in X[500:900]:
        model.ask(row[None])
    queries = model.queries()
    assert {query.reason for query in queries} >= {"unsure", "by chance"}
    if network == "swift":  # the surer, the more by chance
        sure = [query.certainty for query in queries if query.reason == "by chance"]
        assert min(sure) >= max(q.certainty for q in queries if q.reason == "unsure") - 0.1
