"""The rival layers of a concept network: rules that split and join, clouds, and who has a say."""

import itertools
from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, Config
from devfnn.events import CloudsChanged, RulePruned, RuleSplit
from devfnn.kernels.concept_state import BOX_LAYER, CLOUD_LAYER, CLOUDS, STEADY_LINE
from devfnn.arrays import Floats, Ints
from devfnn.model.concepts.learning import forward
from devfnn.model.concepts.structure import join_rules
from scenes import CHUNK, noisy, of_kind, prequential, run, sloped

VERBS = ["learn", "learn_rows"]
CONFIG = Config(chunk_rows=CHUNK, active_learning=False)
ALONE = CONFIG.replace(max_clouds=0)
"""Without clouds, so that boxes must see what a line cannot."""


def crossed(n_chunks: int, seed: int = 1) -> tuple[Floats, Ints]:
    """No single feature tells anything."""
    X, _ = sloped(n_chunks, seed=seed)
    return X, ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(np.int64)


def stripes(n_chunks: int, seed: int = 1) -> tuple[Floats, Ints]:
    """Four stripes along the first feature."""
    X, _ = sloped(n_chunks, seed=seed)
    return X, (4.0 * X[:, 0]).astype(np.int64) % 2


def wave(n_chunks: int, seed: int = 1) -> tuple[Floats, Ints]:
    """A wave as boundary."""
    X, _ = sloped(n_chunks, features=2, seed=seed)
    return X, (X[:, 1] > 0.5 + 0.4 * np.sin(3.0 * np.pi * X[:, 0])).astype(np.int64)


def moving_clusters(n_rows: int = 8000) -> tuple[Floats, Ints]:
    """Eight round clusters of two classes that go in circles."""
    rng, time = np.random.default_rng(3), np.arange(n_rows) / n_rows
    which = rng.integers(0, 8, n_rows)
    angle = 2.0 * np.pi * (which / 8.0 + 0.5 * time)
    centres = np.stack([0.5 + 0.35 * np.cos(angle), 0.5 + 0.35 * np.sin(angle)], axis=1)
    return centres + 0.04 * rng.standard_normal((n_rows, 2)), which % 2


# ---- growing rules


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("scene", [stripes, wave])
def test_rules_split_where_a_line_cannot_tell(scene, verb: str) -> None:  # type: ignore[no-untyped-def]
    X, y = scene(40)
    ends = {}
    for growing in (True, False):
        model = DEVFNN(ALONE.replace(rule_growing=growing))
        splits = of_kind(run(model, X, y, verb), RuleSplit)
        assert bool(splits) == growing
        assert (model._known().state.n_members[BOX_LAYER] > 1) == growing
        ends[growing] = (model.predict(X[-2000:]) == y[-2000:]).mean()
        for split in splits:
            assert split.layer == BOX_LAYER and split.evidence > split.needed
            assert 0.0 <= split.value <= 1.0 and split.feature in ("x0", "x1", "x2")
    assert ends[True] > ends[False] + 0.05
    assert ends[True] > 0.9


def test_rules_do_not_split_where_one_is_enough() -> None:
    X, y = sloped(40)
    assert not of_kind(run(DEVFNN(ALONE), X, noisy(y, 0.1)), RuleSplit)
    nothing = np.random.default_rng(3).integers(0, 2, len(y))
    assert not of_kind(run(DEVFNN(ALONE), X, nothing), RuleSplit)


def test_there_are_never_more_boxes_than_allowed() -> None:
    model = DEVFNN(ALONE.replace(max_boxes=3, split_evidence=1.0, pruning=False))
    run(model, *wave(20))
    assert model._known().state.n_members[BOX_LAYER] == 3


def test_the_boxes_of_a_layer_share_out_all_rows() -> None:
    model = DEVFNN(ALONE)
    X, y = stripes(40)
    run(model, X, y)
    state = model._known().state
    own = state.members[BOX_LAYER, : state.n_members[BOX_LAYER]]
    rows = np.random.default_rng(1).uniform(-0.2, 1.2, (500, 1, 3))
    holds = ((rows > state.lows[own]) & (rows <= state.highs[own])).all(axis=2)
    assert (holds.sum(axis=1) == 1).all()


# ---- pruning: rules that say the same become one


def likely(n_chunks: int, seed: int) -> tuple[Floats, Ints]:
    """One rule is enough: the log odds are a line in the first feature."""
    X, _ = sloped(n_chunks, seed=seed)
    odds = np.exp(3.0 * (X[:, 0] - 0.5))
    chance = np.random.default_rng(seed + 100).random(len(X))
    return X, (chance < odds / (1.0 + odds)).astype(np.int64)


def split_for_nothing(**changes: Any) -> DEVFNN:
    """Boxes that were split by chance: one would be enough."""
    model = DEVFNN(ALONE.replace(pruning=False, split_evidence=0.5, max_boxes=6))
    run(model, *likely(20, seed=1))
    assert model._known().state.n_members[BOX_LAYER] == 6
    model.config = ALONE.replace(split_evidence=1e9, **changes)
    return model


@pytest.mark.parametrize("verb", VERBS)
def test_neighbours_that_say_the_same_join(verb: str) -> None:
    X, y = likely(80, seed=5)
    sizes = {}
    for pruning in (True, False):
        model = split_for_nothing(pruning=pruning)
        before = int(model._known().state.n_members[BOX_LAYER])
        joined = of_kind(run(model, X, y, verb), RulePruned)
        sizes[pruning] = int(model._known().state.n_members[BOX_LAYER])
        assert sizes[pruning] == before - len(joined)
        for event in joined:
            assert event.layer == BOX_LAYER and event.value < event.limit
            assert "difference from rule" in event.reason
        assert (model.predict(X) == (X[:, 0] > 0.5)).mean() > 0.93
    assert sizes == {True: 1, False: 6}


def test_neighbours_that_differ_do_not_join() -> None:
    model = DEVFNN(ALONE)
    X, y = stripes(100)
    events = run(model, X, y)
    assert of_kind(events, RuleSplit) and not of_kind(events, RulePruned)
    assert model._known().state.n_members[BOX_LAYER] > 3
    assert (model.predict(X) == y).mean() > 0.97


def test_a_joined_rule_knows_what_both_knew() -> None:
    model = split_for_nothing()
    model.config = model.config.replace(pruning=False)
    run(model, *likely(60, seed=6))
    network, state = model._known(), model._known().state
    own = state.members[BOX_LAYER, : state.n_members[BOX_LAYER]].tolist()
    rows, ages = state.class_counts[own].sum(), state.ages[own].sum()
    before = {name: getattr(state, name).copy() for name in ("ages", "means", "variances")}
    (event,) = join_rules(network, model.config.replace(join_evidence=1e9))
    left = state.members[BOX_LAYER, : state.n_members[BOX_LAYER]].tolist()
    assert isinstance(event, RulePruned) and set(own) - set(left) == {event.rule}
    assert state.owners[event.rule] == -1
    assert state.class_counts[left].sum() == pytest.approx(rows)
    assert state.ages[left].sum() == ages
    (joined,) = (rule for rule in left if state.ages[rule] != before["ages"][rule])
    both = [joined, event.rule]
    shares = before["ages"][both] / before["ages"][both].sum()
    mean, squares = shares @ before["means"][both], before["means"][both] ** 2
    np.testing.assert_allclose(state.means[joined], mean)
    spread = shares @ (before["variances"][both] + squares) - mean**2
    np.testing.assert_allclose(state.variances[joined], spread)


# ---- clouds


@pytest.mark.parametrize(("max_boxes", "winner"), [(1, CLOUD_LAYER), (20, BOX_LAYER)])
def test_clouds_and_boxes_see_what_no_single_feature_tells(max_boxes: int, winner: int) -> None:
    X, y = crossed(40)
    model = DEVFNN(CONFIG.replace(max_boxes=max_boxes))
    run(model, X, y)
    assert model.voting_weights.argmax() == winner
    assert (model.predict(X) == y).mean() > 0.9


def test_clouds_follow_clusters_that_move() -> None:
    X, y = moving_clusters()
    means = {}
    for most in (100, 0):
        model = DEVFNN(CONFIG.replace(max_clouds=most, rule_growing=True))
        means[most] = prequential(model, X, y)[10:].mean()
        assert (model._known().state.kinds[CLOUD_LAYER] == CLOUDS) == bool(most)
    assert means[100] > means[0] + 0.05
    assert means[100] > 0.9


def test_rows_that_no_cloud_explains_found_clouds_up_to_the_most() -> None:
    X, y = moving_clusters(2000)
    model = DEVFNN(CONFIG.replace(max_clouds=8))
    changed = of_kind(run(model, X, y), CloudsChanged)
    assert changed[0].before == 0 and changed[-1].after == model._known().state.n_clouds[0] <= 8
    for first, second in itertools.pairwise(changed):
        assert first.after == second.before < second.after


def test_clouds_without_a_say_rest_and_try_again() -> None:
    model, (X, y) = DEVFNN(CONFIG), sloped(60)
    rests = []
    for start in range(0, len(y), CHUNK):
        model.learn(X[start : start + CHUNK], noisy(y[start : start + CHUNK], 0.1))
        rests.append(int(model._known().state.rests[CLOUD_LAYER]))
    assert max(rests) > 1 and 0 in rests[rests.index(max(rests)) :]
    network = model._known()
    network.state.rests[CLOUD_LAYER] = 2
    assert model.voting_weights[CLOUD_LAYER] == 0.0
    assert model.n_live_layers == model.n_layers - 1
    before = model.predict_proba(X)
    network.state.cloud_centers[:] += 1.0
    np.testing.assert_array_equal(model.predict_proba(X), before)


# ---- labels that are wrong


def test_a_steady_line_that_expects_wrong_labels_learns_better_from_them() -> None:
    """Flipped far from the boundary, where a single wrong label says most."""
    X, y = sloped(40)
    flipped = np.where(np.random.default_rng(2).random(len(y)) < 0.25, 1, y)  # to one side only
    right = {}
    for noise in (0.3, 0.0):
        model = DEVFNN(ALONE.replace(label_noise=noise, growing=False))
        run(model, X, flipped)
        said = forward(model._known(), model._known().scaler.transform(X))[:, STEADY_LINE]
        codes = np.array([model.classes.index(label) for label in y])
        right[noise] = (said.argmax(axis=1) == codes).mean()
    assert right[0.3] > right[0.0] + 0.01


# ---- the vote


def test_the_layer_that_is_right_more_often_has_more_say() -> None:
    model = DEVFNN(ALONE)
    run(model, *stripes(40))
    weights = model.voting_weights
    assert weights.sum() == pytest.approx(1.0)
    assert weights[BOX_LAYER] > 0.9


def test_without_power_all_layers_have_the_same_say() -> None:
    model = DEVFNN(ALONE.replace(vote_power=0.0))
    run(model, *crossed(10))
    np.testing.assert_allclose(model.voting_weights, 1.0 / model.n_live_layers)
