"""Which labels are worth having: how many are taken, and of which rows."""

import functools

import numpy as np
import pytest

from devfnn import DEVFNN, Config, GClass
from devfnn.kernels.state import USED
from scenes import CHUNK, chunks, config_of, each_network, noisy, run, sloped, stacked, swift

X, Y = sloped(60)
LABELS = {"easy": Y, "hard": noisy(Y, 0.3)}
CONFIG = swift(chunk_rows=CHUNK)
VERBS = ["learn", "learn_rows"]
WARMUP = 2 * 3 + 1
"""Rows that a gaussian layer of three features learns whatever they are."""
SURE = stacked(labels__certainty=0.5, gaussian__growing=False)
"""Never in conflict and never ignorant: what is learned is exploration."""
each_config = pytest.mark.parametrize("config", [CONFIG, stacked()], ids=["default", "one layer"])


@functools.cache
def share_used(config: Config, labels: str, verb: str = "learn") -> float:
    """Labels used by row, of an easy or a hard stream."""
    model = (GClass if config.has("gaussian") else DEVFNN)(config)
    run(model, X, LABELS[labels], verb)
    return model.n_labels_used / model.n_rows


@pytest.mark.parametrize("verb", VERBS)
@each_config
def test_an_easy_stream_needs_fewer_labels_than_a_hard_one(config: Config, verb: str) -> None:
    assert share_used(config, "easy", verb) < 0.75 < 0.9 < share_used(config, "hard", verb)


@pytest.mark.parametrize("verb", VERBS)
@each_config
def test_without_active_learning_every_label_is_used(config: Config, verb: str) -> None:
    assert share_used(config.replace(labels__choice="all"), "easy", verb) == 1.0


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("exploration", [0.0, 0.1, 0.5])
def test_a_share_of_rows_is_learned_whatever_the_certainty(verb: str, exploration: float) -> None:
    used = share_used(SURE.replace(labels__exploration=exploration), "easy", verb)
    assert used == pytest.approx(exploration + WARMUP / len(Y), abs=0.02 if exploration else 1e-9)
    sure = CONFIG.replace(labels__certainty=0.5, labels__exploration=exploration)
    assert share_used(sure, "easy", verb) == pytest.approx(exploration, abs=0.03)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("budget", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("labels", LABELS)
def test_the_share_of_labels_is_near_the_budget_and_hardly_above(
    verb: str, budget: float, labels: str
) -> None:
    wanted = share_used(CONFIG, labels, verb)  # without a budget
    used = share_used(CONFIG.replace(labels__budget=budget), labels, verb)
    assert 0.5 * min(budget, wanted) < used < 1.15 * budget


@pytest.mark.parametrize("labels", LABELS)
def test_asking_first_takes_as_many_labels_as_offering_all(labels: str) -> None:
    """What is known of the usual uncertainty must not hang on who offers the labels."""
    config = CONFIG.replace(labels__budget=0.1)
    model = DEVFNN(config)
    for rows, own in chunks(X, LABELS[labels]):
        model.learn(rows, own, chosen=model.wants_label(rows))
    used = model.n_labels_used / model.n_rows
    assert used == pytest.approx(share_used(config, labels), rel=0.35)


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


def test_labels_do_not_decide_which_rows_a_layer_learns() -> None:
    """With the model fixed, other labels make no difference: only later rows may notice."""
    model = DEVFNN(stacked())
    run(model, X, Y)
    wanted = model.wants_label(X)
    state = model.__getstate__()
    used = []
    for labels in (Y[:1], 1 - Y[:1]):
        copy = DEVFNN.__new__(DEVFNN)
        copy.__setstate__(state)
        copy.learn(X[:1], labels)
        used.append(copy._known().state.gaussians.counters[:, USED].tolist())
    assert used[0] == used[1]
    assert 0.0 < wanted.mean() < 1.0


@each_network
def test_before_it_has_learned_a_model_wants_every_label(network: str) -> None:
    assert DEVFNN(config_of(network)).wants_label(X).all()
    assert DEVFNN(config_of(network, labels__choice="all")).wants_label(X).all()


@each_network
def test_without_active_learning_a_model_wants_every_label(network: str) -> None:
    model = DEVFNN(config_of(network, labels__choice="all"))
    run(model, X, Y)
    assert model.wants_label(X).all()


def test_exploration_differs_by_seed_but_not_by_batch() -> None:
    wanted = []
    for seed in (0, 1):
        model = GClass(SURE.replace(labels__exploration=0.2, seed=seed))
        model.learn(X[:CHUNK], Y[:CHUNK])
        wanted.append(model.wants_label(X))
        np.testing.assert_array_equal(wanted[-1][:50], model.wants_label(X[:50]))
    assert 0.3 < (wanted[0] == wanted[1]).mean() < 0.9


@each_network
def test_rows_of_which_none_is_chosen_have_no_label(network: str) -> None:
    model = DEVFNN(config_of(network))
    model.learn(X[:CHUNK], Y[:CHUNK])
    used = model.n_labels_used
    model.learn(X[:CHUNK], [None] * CHUNK, chosen=False)
    assert model.n_labels_used == used
