"""Which labels a concept network takes, and how many."""

import numpy as np
import pytest

from devfnn import DEVFNN, Config
from devfnn.arrays import Ints
from scenes import CHUNK, chunks, noisy, run, sloped

X, Y = sloped(60)
HARD = noisy(Y, 0.3)
CONFIG = Config(chunk_rows=CHUNK)
VERBS = ["learn", "learn_rows"]


def share_used(config: Config, y: Ints, verb: str = "learn") -> float:
    """Labels used by row."""
    model = DEVFNN(config)
    run(model, X, y, verb)
    return model.n_labels_used / model.n_rows


@pytest.mark.parametrize("verb", VERBS)
def test_an_easy_stream_needs_fewer_labels_than_a_hard_one(verb: str) -> None:
    assert share_used(CONFIG, Y, verb) < 0.75 < 0.9 < share_used(CONFIG, HARD, verb)


@pytest.mark.parametrize("verb", VERBS)
def test_without_active_learning_every_label_is_used(verb: str) -> None:
    assert share_used(CONFIG.replace(labels__choice="all"), Y, verb) == 1.0


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("exploration", [0.0, 0.1, 0.5])
def test_a_share_of_rows_is_learned_whatever_the_certainty(verb: str, exploration: float) -> None:
    sure = CONFIG.replace(labels__certainty=0.5, labels__exploration=exploration)
    assert share_used(sure, Y, verb) == pytest.approx(exploration, abs=0.03)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("budget", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("y", [Y, HARD], ids=["easy", "hard"])
def test_the_share_of_labels_is_near_the_budget_and_hardly_above(
    verb: str, budget: float, y: Ints
) -> None:
    wanted = share_used(CONFIG, y, verb)  # without a budget
    used = share_used(CONFIG.replace(labels__budget=budget), y, verb)
    assert 0.5 * min(budget, wanted) < used < 1.15 * budget


@pytest.mark.parametrize("y", [Y, HARD], ids=["easy", "hard"])
def test_asking_first_takes_as_many_labels_as_offering_all(y: Ints) -> None:
    """What is known of the usual uncertainty must not hang on who offers the labels."""
    config = CONFIG.replace(labels__budget=0.1)
    model = DEVFNN(config)
    for rows, labels in chunks(X, y):
        model.learn(rows, labels, chosen=model.wants_label(rows))
    used = model.n_labels_used / model.n_rows
    assert used == pytest.approx(share_used(config, y), rel=0.35)


@pytest.mark.parametrize("verb", VERBS)
def test_no_part_of_the_stream_is_without_labels(verb: str) -> None:
    model, used = DEVFNN(CONFIG.replace(labels__budget=0.1)), [0]
    for rows, labels in chunks(X, Y, 500):
        getattr(model, verb)(rows, labels)
        used.append(model.n_labels_used)
    assert np.diff(used).min() > 0.02 * 500


def test_with_a_budget_unsure_rows_are_asked_for_more_often() -> None:
    model = DEVFNN(CONFIG.replace(labels__budget=0.1))
    run(model, X, Y)
    fresh, _ = sloped(20, seed=9)
    near = np.abs(fresh[:, 0] + fresh[:, 1] - 1.0) < 0.1
    wanted = model.wants_label(fresh)
    assert wanted[near].mean() > 2.0 * wanted[~near].mean() > 0.0


def test_a_tenth_of_the_labels_is_nearly_as_good_as_all_of_them() -> None:
    fresh, truth = sloped(20, seed=9)
    right = {}
    for budget in (0.1, 1.0):
        model = DEVFNN(CONFIG.replace(labels__budget=budget))
        run(model, X, Y)
        right[budget] = (model.predict(fresh) == truth).mean()
    assert right[0.1] > right[1.0] - 0.02
    assert right[0.1] > 0.96


def test_labels_do_not_decide_which_rows_are_learned() -> None:
    used = []
    for labels in (Y[:CHUNK], 1 - Y[:CHUNK]):
        model = DEVFNN(CONFIG)
        run(model, X, Y)
        before = model.n_labels_used
        model.learn(X[:CHUNK], labels)
        used.append(model.n_labels_used - before)
    assert used[0] == used[1] and 0 < used[0] < CHUNK
