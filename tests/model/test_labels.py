"""What to learn: which labels are worth having."""

import numpy as np
import pytest

from devfnn import DEVFNN, Config, GClass
from devfnn.kernels.state import USED
from scenes import CHUNK, config_of, each_network, noisy, run, sloped, stacked

X, Y = sloped(30)
HARD = noisy(Y, 0.3)
WARMUP = 2 * 3 + 1
"""Rows that a layer of three features learns whatever they are."""
SURE = stacked(labels__certainty=0.5, gaussian__growing=False)
"""Never in conflict and never ignorant: what is learned is exploration."""


def share_used(config: Config, y: object, verb: str = "learn") -> float:
    """Labels used by row."""
    model = GClass(config)
    run(model, X, y, verb)
    return model.n_labels_used / model.n_rows


def test_an_easy_stream_needs_fewer_labels_than_a_hard_one() -> None:
    assert share_used(stacked(), Y) < 0.7 < 0.9 < share_used(stacked(), HARD)


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
def test_without_active_learning_every_label_is_used(verb: str) -> None:
    assert share_used(stacked(labels__choice="all"), Y, verb) == 1.0


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize("exploration", [0.0, 0.1, 0.5])
def test_a_share_of_rows_is_learned_whatever_the_certainty(verb: str, exploration: float) -> None:
    used = share_used(SURE.replace(labels__exploration=exploration), Y, verb)
    assert used == pytest.approx(exploration + WARMUP / len(Y), abs=0.02 if exploration else 1e-9)


def test_labels_do_not_decide_which_rows_are_learned() -> None:
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


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
def test_a_varying_threshold_falls_where_labels_are_taken_and_rises_where_not(verb: str) -> None:
    thresholds = {}
    for name, y in (("easy", Y), ("hard", HARD)):
        config = stacked(labels__certainty=0.8, labels__exploration=0.0, gaussian__growing=False)
        still, moving = GClass(config), GClass(config.replace(labels__threshold_step=0.01))
        for model in (still, moving):
            run(model, X, y, verb)
        assert still._known().state.gaussians.threshold[0, 0] == 0.8
        thresholds[name] = float(moving._known().state.gaussians.threshold[0, 0])
        assert 0.55 <= thresholds[name] <= 1.0
    assert thresholds["hard"] < 0.8 < thresholds["easy"]


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
