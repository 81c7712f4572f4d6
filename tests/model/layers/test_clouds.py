"""Clouds: they follow rows, come where nothing explains a row, and rest without a say."""

import itertools

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.arrays import Floats, Ints
from devfnn.events import CloudsChanged
from scenes import (
    BOX_LAYER,
    CHUNK,
    CLOUD_LAYER,
    ONE_CLOUD,
    noisy,
    of_kind,
    prequential,
    run,
    sloped,
    swift,
)

CONFIG = swift(chunk_rows=CHUNK, labels__choice="all")


def crossed(n_chunks: int, seed: int = 1) -> tuple[Floats, Ints]:
    """No single feature tells anything."""
    X, _ = sloped(n_chunks, seed=seed)
    return X, ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(np.int64)


def moving_clusters(n_rows: int = 8000) -> tuple[Floats, Ints]:
    """Eight round clusters of two classes that go in circles."""
    rng, time = np.random.default_rng(3), np.arange(n_rows) / n_rows
    which = rng.integers(0, 8, n_rows)
    angle = 2.0 * np.pi * (which / 8.0 + 0.5 * time)
    centres = np.stack([0.5 + 0.35 * np.cos(angle), 0.5 + 0.35 * np.sin(angle)], axis=1)
    return centres + 0.04 * rng.standard_normal((n_rows, 2)), which % 2


@pytest.mark.parametrize(("max_boxes", "winner"), [(1, CLOUD_LAYER), (20, BOX_LAYER)])
def test_clouds_and_boxes_see_what_no_single_feature_tells(max_boxes: int, winner: int) -> None:
    X, y = crossed(40)
    model = DEVFNN(CONFIG.replace(boxes__max_rules=max_boxes))
    run(model, X, y)
    assert model.voting_weights.argmax() == winner
    assert (model.predict(X) == y).mean() > 0.9


def test_clouds_follow_clusters_that_move() -> None:
    X, y = moving_clusters()
    means = {}
    for config in (CONFIG, CONFIG.replace(**ONE_CLOUD)):
        means[config] = prequential(DEVFNN(config), X, y)[10:].mean()
    assert means[CONFIG] > min(means.values()) + 0.05
    assert means[CONFIG] > 0.9


def test_rows_that_no_cloud_explains_found_clouds_up_to_the_most() -> None:
    X, y = moving_clusters(2000)
    model = DEVFNN(CONFIG.replace(clouds__max_rules=8))
    changed = of_kind(run(model, X, y), CloudsChanged)
    assert changed[0].before == 0 and changed[-1].after == model._known().state.clouds.count[0] <= 8
    for first, second in itertools.pairwise(changed):
        assert first.after == second.before < second.after


def test_clouds_without_a_say_rest_and_try_again() -> None:
    model, (X, y) = DEVFNN(CONFIG), sloped(60)
    rests = []
    for start in range(0, len(y), CHUNK):
        model.learn(X[start : start + CHUNK], noisy(y[start : start + CHUNK], 0.1))
        rests.append(int(model._known().state.layers.rests[CLOUD_LAYER]))
    assert max(rests) > 1 and 0 in rests[rests.index(max(rests)) :]
    network = model._known()
    network.state.layers.rests[CLOUD_LAYER] = 2
    assert model.voting_weights[CLOUD_LAYER] == 0.0
    assert model.n_live_layers == model.n_layers - 1
    before = model.predict_proba(X)
    network.said = None
    network.state.clouds.centers[:] += 1.0
    np.testing.assert_array_equal(model.predict_proba(X), before)
