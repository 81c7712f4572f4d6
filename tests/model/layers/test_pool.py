"""Lines, curves and boxes: rules that split, wrong labels, and the vote among them."""

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.arrays import Floats, Ints
from devfnn.events import RuleSplit
from scenes import (
    BOX_LAYER,
    CHUNK,
    ONE_CLOUD,
    STEADY_LINE,
    noisy,
    of_kind,
    run,
    sloped,
    swift,
)

VERBS = ["learn", "learn_rows"]
CONFIG = swift(chunk_rows=CHUNK, labels__choice="all")
ALONE = CONFIG.replace(**ONE_CLOUD)
"""As without clouds, so that boxes must see what a line cannot."""


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


# ---- growing rules


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("scene", [stripes, wave])
def test_rules_split_where_a_line_cannot_tell(scene, verb: str) -> None:  # type: ignore[no-untyped-def]
    X, y = scene(40)
    ends = {}
    for growing in (True, False):
        model = DEVFNN(ALONE.replace(boxes__splitting=growing))
        splits = of_kind(run(model, X, y, verb), RuleSplit)
        assert bool(splits) == growing
        assert (model._known().state.pool.n_members[BOX_LAYER] > 1) == growing
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
    model = DEVFNN(ALONE.replace(boxes__max_rules=3, boxes__evidence=1.0, boxes__joining=False))
    run(model, *wave(20))
    assert model._known().state.pool.n_members[BOX_LAYER] == 3


def test_the_boxes_of_a_layer_share_out_all_rows() -> None:
    model = DEVFNN(ALONE)
    X, y = stripes(40)
    run(model, X, y)
    state = model._known().state
    own = state.pool.members[BOX_LAYER, : state.pool.n_members[BOX_LAYER]]
    rows = np.random.default_rng(1).uniform(-0.2, 1.2, (500, 1, 3))
    holds = ((rows > state.pool.lows[own]) & (rows <= state.pool.highs[own])).all(axis=2)
    assert (holds.sum(axis=1) == 1).all()


# ---- labels that are wrong


def test_a_steady_line_that_expects_wrong_labels_learns_better_from_them() -> None:
    """Flipped far from the boundary, where a single wrong label says most."""
    X, y = sloped(40)
    flipped = np.where(np.random.default_rng(2).random(len(y)) < 0.25, 1, y)  # to one side only
    right = {}
    for noise in (0.3, 0.0):
        model = DEVFNN(
            ALONE.replace(layers__label_noise=noise, growing=None, drift=None, merging=None)
        )
        run(model, X, flipped)
        said = model._known().forward(model._known().inputs_of(X))[0][:, STEADY_LINE]
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
    model = DEVFNN(ALONE.replace(voting__power=0.0))
    run(model, *crossed(10))
    np.testing.assert_allclose(model.voting_weights, 1.0 / model.n_live_layers)
