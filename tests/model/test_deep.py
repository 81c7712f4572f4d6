"""The deep network: trees and neighbours on a window, a prior, and a stack that answers."""

import numpy as np
import pytest

from devfnn import DEVFNN, Config, Fleet, presets
from devfnn.kernels.state import BOOSTED, NEIGHBOURS, PRIOR, STACKED
from devfnn.model.config import ByReward, InputError, Layer
from devfnn.storage import dump, parse

SMALL = presets.default().replace(window__rows=300, chunk_rows=100, boosted__step_rows=100.0)


def stream(n_rows: int, seed: int = 0, m: int = 2, gaps: float = 0.0):
    """A round border, and a class that comes late if there are three."""
    rng = np.random.default_rng(seed)
    X = rng.normal(50.0, 10.0, (n_rows, 3))
    y = ((X[:, 0] - 50) ** 2 + (X[:, 1] - 50) ** 2 > 100).astype(int)
    if m == 3:
        y[(X[:, 2] > 55) & (np.arange(n_rows) > n_rows // 2)] = 2
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y


def run(model: DEVFNN, X, y, size: int = 100, by_rows: bool = False) -> DEVFNN:
    for start in range(0, len(y), size):
        learn = model.learn_rows if by_rows else model.learn
        learn(X[start : start + size], y[start : start + size])
    return model


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize(("m", "gaps"), [(2, 0.0), (3, 0.1)])
def test_a_saved_model_goes_on_bit_for_bit(by_rows: bool, m: int, gaps: float) -> None:
    X, y = stream(900, m=m, gaps=gaps)
    whole = run(DEVFNN(SMALL.replace(missing="skip")), X[:450], y[:450], by_rows=by_rows)
    again = parse(dump(whole))
    for model in (whole, again):
        run(model, X[450:], y[450:], by_rows=by_rows)
    assert np.array_equal(whole.predict_proba(X), again.predict_proba(X))
    assert dump(whole) == dump(again)


def test_rows_one_by_one_are_learned_as_in_a_batch() -> None:
    X, y = stream(350)
    batch, single = run(DEVFNN(SMALL), X, y, 70, by_rows=True), DEVFNN(SMALL)
    for row, label in zip(X, y.tolist(), strict=True):
        single.learn_one(row, label)
    assert np.array_equal(batch.predict_proba(X), single.predict_proba(X))


def test_the_same_seed_gives_the_same_model_and_another_seed_another() -> None:
    X, y = stream(400)
    said = [run(DEVFNN(SMALL.replace(seed=seed)), X, y).predict_proba(X) for seed in (1, 1, 2)]
    assert np.array_equal(said[0], said[1]) and not np.array_equal(said[0], said[2])


def test_trees_and_neighbours_know_a_round_border() -> None:
    X, y = stream(1600)
    deep, line = DEVFNN(SMALL), DEVFNN(Config(layers=(Layer("line"),)))
    right = [
        (run(m, X[:1200], y[:1200]).predict(X[1200:]) == y[1200:]).mean() for m in (deep, line)
    ]
    assert right[0] > 0.9 > right[1]


def test_probabilities_are_calibrated_where_labels_are_noisy() -> None:
    rng = np.random.default_rng(1)
    X = rng.random((5000, 3))
    y = ((X[:, 0] > X[:, 1]) ^ (rng.random(5000) < 0.2)).astype(int)
    model = run(DEVFNN(presets.default()), X[:4000], y[:4000], 500)
    said = model.predict_proba(X[4000:])
    confidence, right = said.max(axis=1), said.argmax(axis=1) == y[4000:]
    assert abs(confidence.mean() - right.mean()) < 0.07
    assert (confidence > 0.95).mean() < 0.05


def test_new_features_and_classes_may_come_at_any_time() -> None:
    X, y = stream(600, m=3)
    model = run(DEVFNN(SMALL.replace(missing="skip"), ["a", "b"]), X[:300, :2], y[:300])
    model.add_features(["c"])
    run(model, X[300:], y[300:])
    assert sorted(model.classes) == [0, 1, 2]
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(parse(dump(model)).predict_proba(X[:, :])).all()


def test_rows_without_labels_do_not_enter_the_window() -> None:
    X, y = stream(300)
    model = DEVFNN(SMALL)
    chosen = np.arange(300) % 3 == 0
    model.learn(X, y, chosen=chosen)
    assert int(model._network.state.window.count[0]) == 100


def test_a_label_budget_holds() -> None:
    X, y = stream(800)
    model = run(DEVFNN(SMALL.replace(labels__budget=0.1)), X, y)
    assert 0 < model.n_labels_used <= 81
    assert int(model._network.state.window.count[0]) == model.n_labels_used


def test_a_heavy_row_counts_as_many_of_it() -> None:
    X, y = stream(300)
    heavy = DEVFNN(SMALL)
    heavy.learn(X, y, np.where(y == 1, 20.0, 1.0))
    light = DEVFNN(SMALL)
    light.learn(X, y)
    assert heavy.predict_proba(X)[:, 1].mean() > light.predict_proba(X)[:, 1].mean() + 0.05


def test_a_model_of_a_deep_fleet_goes_on_alone_as_in_the_fleet() -> None:
    X, y = stream(420)
    config = SMALL.replace(scaling="none", window__rows=60, chunk_rows=50, merging=None)
    config = config.replace(boxes__joining=False)
    X = np.clip((X - 20.0) / 60.0, 0.0, 1.0)
    fleet, ids = Fleet(3, 3, [0, 1], config), np.arange(420) % 3
    fleet.learn(ids[:240], X[:240], y[:240])
    alone = [fleet.model(number) for number in range(3)]
    fleet.learn(ids[240:], X[240:], y[240:])
    for number, model in enumerate(alone):
        own = ids == number
        assert int(model._network.state.window.count[0]) > 60 and model._network.says[9] > 0.0
        model.learn_rows(X[240:][own[240:]], y[240:][own[240:]])
        found = fleet.predict_proba(np.full(own.sum(), number), X[own])
        assert np.array_equal(found, model.predict_proba(X[own]))


def test_every_layer_explains_itself_and_the_numbers_are_sane() -> None:
    X, y = stream(900, gaps=0.05)
    model = run(DEVFNN(SMALL.replace(missing="skip"), ["a", "b", "c"]), X, y)
    for row in X[:20]:
        explanation = model.explain(row)
        np.testing.assert_allclose(
            explanation.probabilities, model.predict_proba(row[None])[0], atol=1e-9
        )
        for layer in explanation.layers:
            total = layer.bias + layer.contributions.sum(axis=0)
            np.testing.assert_allclose(layer.output, total, atol=1e-9)
            assert np.abs(layer.contributions).max(initial=0.0) < 100.0
    kinds = {int(model._network.state.layers.kinds[rule.layer]) for rule in model.rules()}
    assert {PRIOR, STACKED} <= kinds and kinds & {BOOSTED, NEIGHBOURS}
    text = model.explain(X[0]).text()
    assert "of the answer" in text and "vote" in text


def test_rules_of_trees_are_few_and_hold_where_they_say() -> None:
    X, y = stream(900)
    model = run(DEVFNN(SMALL.replace(resting=None)), X, y)
    layers = model._network.state.layers.kinds
    rules = [rule for rule in model.rules() if layers[rule.layer] == BOOSTED]
    assert 0 < len(rules) <= 60
    assert any("≤" in rule.text() or ">" in rule.text() for rule in rules)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([Layer("stacked", inputs="all"), Layer("line")], "come last"),
        ([Layer("stacked", inputs="all")], "come last"),
        ([Layer("line"), Layer("stacked")], "must be one of vote, all, both"),
        ([Layer("line"), Layer("prior"), Layer("prior")], "at most one layer of prior"),
        ([Layer("gaussian"), Layer("stacked", inputs="all")], "do not stand on gaussian"),
    ],
)
def test_layers_that_do_not_go_together_are_refused(layers, message) -> None:
    with pytest.raises(InputError, match=message):
        Config().replace(layers=tuple(layers), drift=None, growing=None, merging=None)


def test_a_stack_needs_votes_by_accuracy() -> None:
    with pytest.raises(InputError, match="need voting=ByAccuracy"):
        SMALL.replace(voting=ByReward(), growing=None, drift=None, merging=None)


def test_without_a_window_its_layers_are_absent() -> None:
    kinds = {layer.kind for layer in SMALL.replace(window=None).layers}
    assert kinds == {"line", "curve", "boxes", "clouds", "surface", "prior", "stacked"}


def test_rows_with_gaps_that_came_since_the_last_fit_are_no_neighbours() -> None:
    """Features are known to have gaps from the next fit on; until then such rows are far away."""
    X = np.random.default_rng(3).random((300, 3))
    model, y = DEVFNN(SMALL.replace(missing="skip")), (X[:, 0] > 0.5).astype(int)
    model.learn(X, y)
    gappy = X[:3].copy()
    gappy[:, 0] = np.nan
    for _ in range(80):  # into the first places of the window, too
        model.learn_rows(gappy[:1], y[:1])
        shares = model.predict_proba(X[:5])
        assert np.isfinite(shares).all()
