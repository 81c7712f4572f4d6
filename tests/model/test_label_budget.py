"""A label budget is a hard bound over every window, however labels come; and asking is logged."""

import copy

import numpy as np
import pytest

from devfnn import DEVFNN, Config, InputError
from devfnn.kernels.state import Flags, Ints
from devfnn.model.asking import MOST_QUERIES
from scenes import CHUNK, chunks, config_of, each_network, noisy, sloped

X, Y = sloped(12)
HARD = noisy(Y, 0.3)
WINDOW, MOST = 100, 10
each_label = pytest.mark.parametrize("y", [Y, HARD], ids=["easy", "hard"])


def bounded(network: str, **changes: object) -> Config:
    """One label in ten, over a hundred rows."""
    return config_of(network, **({"label_budget": 0.1, "budget_window": WINDOW} | changes))


def fullest(taken: Flags) -> int:
    """Most labels in any window."""
    return int(np.convolve(taken, np.ones(WINDOW, np.int64)).max())


@each_network
@each_label
def test_row_by_row_no_window_takes_more_labels(network: str, y: Ints) -> None:
    model, taken = DEVFNN(bounded(network)), []
    for row, label in zip(X[:1500], y[:1500].tolist(), strict=True):
        before = model.n_labels_used
        model.learn_one(row, label)
        taken.append(model.n_labels_used > before)
    assert 0.5 * MOST <= fullest(np.array(taken)) <= MOST
    assert model.n_labels_used > 0.05 * 1500


@each_network
@each_label
@pytest.mark.parametrize("rows_per_call", [7, 100, CHUNK])
def test_chunk_by_chunk_no_window_takes_more_labels(
    network: str, y: Ints, rows_per_call: int
) -> None:
    """Chunks that end anywhere: the labels of whole windows of chunks are known."""
    model, used = DEVFNN(bounded(network)), [0]
    for rows, labels in chunks(X, y, rows_per_call):
        model.learn(rows, labels)
        used.append(model.n_labels_used)
    in_window = WINDOW // rows_per_call
    if in_window:
        counts = np.array(used)
        assert (counts[in_window:] - counts[:-in_window]).max() <= MOST
    assert 0.05 * len(X) < used[-1] <= MOST * (len(X) / WINDOW + 1)


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
def test_the_first_question_keeps_to_the_budget_too(network: str) -> None:
    model = DEVFNN(bounded(network))
    assert model.wants_label(X[:500]).sum() == MOST
    assert model.ask(X[:4]).all()
    assert model.wants_label(X[:500]).sum() == MOST - 4
    assert model.n_labels_owed == 4


@each_network
def test_labels_that_come_late_are_bounded_when_they_are_asked_for(network: str) -> None:
    """Every label comes three chunks after its row was asked about."""
    model, asked, waiting = DEVFNN(bounded(network)), [], []
    model.learn(X[:WINDOW], Y[:WINDOW])
    for rows, labels in list(chunks(X, HARD, 50))[2:]:
        asked.append(model.ask(rows))
        waiting.append((rows[asked[-1]], labels[asked[-1]]))
        if len(waiting) > 3:
            model.learn(*waiting.pop(0), chosen=True)
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
    model = DEVFNN(bounded(network, exploration=0.5))
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
    model = DEVFNN(config_of(network, active_learning=False))
    model.learn(X[:500], Y[:500])
    assert model.ask(X[500:600]).all()
    assert {(query.reason, query.n_left) for query in model.queries()} == {("every row", None)}


def test_a_model_that_knows_nothing_says_so() -> None:
    model = DEVFNN(bounded("concepts"))
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
    model = DEVFNN(bounded("concepts"))
    model.ask(X[:7])
    other = copy.deepcopy(model)
    assert other.n_labels_owed == 7 and other.queries() == model.queries()
    other.learn(X[:7], Y[:7], chosen=True)
    assert other.n_labels_owed == 0


def test_the_log_keeps_the_newest() -> None:
    model = DEVFNN(Config(active_learning=False))
    model.learn(X[:100], Y[:100])
    for rows, _ in chunks(X, Y, 500):
        model.ask(rows)
    assert len(model.queries()) == MOST_QUERIES
    assert model.queries()[-1].row == 100 + len(X) - 1
    assert model.n_labels_owed == len(X)


def test_without_a_budget_nothing_is_learned() -> None:
    for network in ("concepts", "stacked"):
        model = DEVFNN(config_of(network, label_budget=0.0))
        model.learn(X[:500], Y[:500])
        model.learn_rows(X[500:600], Y[500:600])
        assert model.n_labels_used == 0
        assert not model.wants_label(X).any()


def test_a_window_without_room_for_a_label_is_refused() -> None:
    with pytest.raises(InputError, match="a budget_window of 1000 rows has room for one"):
        Config(label_budget=0.001)
    assert Config(label_budget=0.001, budget_window=1000).label_budget == 0.001
