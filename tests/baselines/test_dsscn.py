"""DSSCN: random nodes that must earn their place, and layers that follow the inputs."""

import copy

import numpy as np
import pytest

from devfnn.baselines.dsscn import (
    DSSCN,
    Layer,
    Nodes,
    Settings,
    best_admissible,
    chebyshev_terms,
    cut_of,
    drawn_nodes,
    judge_means,
    search_node,
    strengths_of,
    supervisory_scores,
    unlikeness,
)
from devfnn.errors import InputError
from devfnn.model.mechanisms.drift import Level, drift_in_stream, dynamic_significance

CALM = {"drift_cap": 1e-12, "warning_cap": 1e-12}
"""No drift is ever found."""


def labelled(rng, n_rows=300, n_features=3):
    """Uniform rows with a linear boundary."""
    X = rng.random((n_rows, n_features))
    return X, (X.sum(axis=1) > n_features / 2).astype(int)


def falling(rng, n_rows=300, fall=0.5):
    """Rows whose feature means fall in the middle of the chunk."""
    X = 0.5 + 0.5 * rng.random((n_rows, 3))
    X[n_rows // 2 :] -= fall
    return X, (X[:, 0] > X[:, 1]).astype(int)


def n_buffered(model):
    """Rows that a model keeps for the next layer."""
    return sum(len(codes) for _, codes in model._buffer)


def deep_model(n_layers=3, **parameters):
    """A model with several layers, and rows like those it learned."""
    rng = np.random.default_rng(5)
    model = DSSCN(seed=3, merging=False, **parameters)
    model.learn(*falling(rng))
    while model.n_layers < n_layers:
        model.learn(*falling(rng))
    return model, falling(rng)


@pytest.mark.parametrize("refit", ["newest", "all"])
def test_every_accepted_node_leaves_at_most_the_allowed_share_of_the_error(refit):
    rng = np.random.default_rng(0)
    rows = rng.random((200, 2))
    targets = np.stack([np.sin(6 * rows[:, 0]), rows[:, 0] * rows[:, 1]], axis=1)
    settings, errors, columns = Settings(rates=(0.9, 0.99, 0.999)), targets, []
    for _ in range(25):
        found = search_node(rows, errors, len(columns), settings, rng)
        if found is None:
            break
        column = strengths_of(rows, found.node, settings)
        columns.append(column)
        if refit == "newest":
            fresh = errors - column @ (column.T @ errors) / np.square(column).sum()
        else:
            design = np.concatenate(columns, axis=1)
            fresh = targets - design @ np.linalg.lstsq(design, targets, rcond=None)[0]
        remaining = found.rate + settings.slack * (1.0 - found.rate) / (len(columns) + 1)
        before, after = (np.square(values).sum(axis=0) for values in (errors, fresh))
        assert (after <= remaining * before * (1 + 1e-9)).all()
        errors = fresh
    assert len(columns) > 5


def test_the_inequality_decides():
    errors = np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]])
    orthogonal = np.array([[0.0], [0.0], [1.0]])
    one_output = np.array([[1.0], [1.0], [0.0]])
    both_outputs = np.array([[1.0], [0.0], [0.0]])
    assert best_admissible(supervisory_scores(errors[:, :1], orthogonal, 0.9)) is None
    assert best_admissible(supervisory_scores(errors[:, :1], errors[:, :1], 0.9)) == 0
    assert best_admissible(supervisory_scores(errors, one_output, 0.9)) is None
    assert best_admissible(supervisory_scores(errors, both_outputs, 0.9)) == 0


def test_fine_structure_needs_a_larger_scope():
    rng = np.random.default_rng(1)
    rows = rng.random((400, 1))
    fine = search_node(rows, np.sin(20 * rows), 0, Settings(), rng)
    smooth = search_node(rows, rows + 1.0, 0, Settings(), rng)
    assert fine is not None
    assert fine.scope > Settings().scopes[0]
    assert smooth is not None
    assert smooth.scope == Settings().scopes[0]


def test_no_node_explains_noise():
    rng = np.random.default_rng(2)
    rows, noise = rng.random((400, 2)), rng.normal(size=(400, 1))
    assert search_node(rows, noise, 0, Settings(rates=(0.01,), slack=0.0), rng) is None


def test_the_best_admissible_candidate_is_taken():
    rng = np.random.default_rng(3)
    rows = rng.random((100, 2))
    errors = np.stack([rows[:, 0], 1.0 - rows[:, 0]], axis=1)
    settings = Settings(scopes=(3.0,))
    found = search_node(rows, errors, 4, settings, np.random.default_rng(9))
    nodes = drawn_nodes(rows, errors, 3.0, settings.n_candidates, np.random.default_rng(9))
    remaining = 0.9 + 0.1 / 6
    best, best_total = None, -np.inf
    for index in range(settings.n_candidates):
        strength = strengths_of(rows, nodes.one(index), settings)[:, 0]
        gains = [
            (strength @ error) ** 2 / (strength @ strength) - (1 - remaining) * (error @ error)
            for error in errors.T
        ]
        if min(gains) >= 0.0 and sum(gains) > best_total:
            best, best_total = index, sum(gains)
    assert found is not None
    assert best is not None
    assert found.score == pytest.approx(best_total)
    assert found.node.factors.tolist() == nodes.one(best).factors.tolist()


def test_firing_is_that_of_the_interval_ends():
    rng = np.random.default_rng(4)
    rows, nodes = rng.random((5, 3)), Nodes(rng.random((2, 3)), rng.normal(size=(2, 3, 3)))
    ends = [Settings(half_width=0.1, upper_share=share) for share in (1.0, 0.0, 0.3)]
    upper, lower, mixed = (strengths_of(rows, nodes, settings) for settings in ends)
    assert mixed == pytest.approx(0.3 * upper + 0.7 * lower)
    for at, (center, factor) in enumerate(zip(*nodes, strict=True)):
        spread = factor @ factor.T / 3
        for row in range(5):
            ends = [rows[row] - center - 0.1, rows[row] - center + 0.1]
            values = sorted(np.exp(-0.5 * end @ spread @ end) for end in ends)
            assert [lower[row, at], upper[row, at]] == pytest.approx(values)


def layer_of_sharp_nodes(n_features, n_outputs, centers, covariance):
    """A layer of sharp round nodes that have learned nothing."""
    layer = Layer(np.zeros((n_outputs, n_features)))
    for center in centers:
        node = Nodes(np.full((1, n_features), center), 100.0 * np.eye(n_features)[None])
        layer._add(node, covariance)
    return layer


def test_one_node_alone_learns_ridge_regression():
    rng = np.random.default_rng(5)
    rows, targets = rng.random((200, 2)), rng.normal(size=(200, 2))
    layer = Layer(np.zeros((2, 2)))
    layer._add(Nodes(np.zeros((1, 2)), np.zeros((1, 2, 2))), 1000.0)  # fires alike everywhere
    layer.learn(rows, targets, Settings())
    terms = chebyshev_terms(rows)
    ridge = np.linalg.solve(terms.T @ terms + np.eye(5) / 1000.0, terms.T @ targets)
    assert layer.weights[0] == pytest.approx(ridge, abs=1e-6)


def test_weights_fade_and_rows_a_node_does_not_see_change_nothing():
    rows, targets = np.zeros((1, 1)), np.ones((1, 1))
    plain, faded = (layer_of_sharp_nodes(1, 1, [0.0, 1.0], 1.0) for _ in range(2))
    for layer, decay in ((plain, 0.0), (faded, 1e-3)):
        layer.weights[:] = [[1.0], [0.0], [0.0]]
        layer.learn(rows, targets, Settings(decay=decay, half_width=0.0))
    assert plain.weights[:, 0, 0].tolist() == [1.0, 1.0]
    assert faded.weights[:, 0, 0] == pytest.approx([1.0 - 1e-3 * 2.0 / 3.0, 1.0], abs=1e-12)
    assert plain.covariances[:, 0, 0] == pytest.approx([2.0 / 3.0, 1.0])


def test_a_fall_of_the_feature_means_adds_exactly_one_layer():
    rng = np.random.default_rng(6)
    model = DSSCN()
    for _ in range(20):
        model.learn(*labelled(rng))
    assert model.n_layers == 1
    kinds = [event.kind for event in model.learn(*falling(rng))]
    assert kinds.count("LayerAdded") == 1
    assert kinds.count("MeansMoved") == 1
    assert model.n_layers == 2


def test_flipped_labels_add_no_layer_though_the_errors_show_a_drift():
    rng = np.random.default_rng(7)
    model, track, levels = DSSCN(), np.zeros(4, np.int64), []
    for chunk in range(20):
        X, y = labelled(rng)
        y = 1 - y if chunk >= 15 else y
        if chunk:
            errors = (model.predict(X) != y).astype(np.int64)
            caps = [dynamic_significance(chunk, 200.0, cap) for cap in (1e-4, 1e-3)]
            levels.append(drift_in_stream(track, errors, *caps, one_sided=True).level)
        events = model.learn(X, y)
        assert not any(event.kind == "LayerAdded" for event in events)
    assert model.n_layers == 1
    assert Level.DRIFT in levels


def test_a_layer_is_trained_on_what_it_sees_when_it_predicts(monkeypatch):
    model, (X, y) = deep_model(2)
    seen = []
    learn = Layer.learn

    def watched(layer, rows, targets, settings):
        seen.append(rows.copy())
        learn(layer, rows, targets, settings)

    monkeypatch.setattr(Layer, "learn", watched)
    n_before = n_buffered(model)
    model.learn(X, y)
    inputs, _ = model._pass_through(X)
    assert model.n_layers == 3
    assert seen[-1][n_before:] == pytest.approx(inputs[-1], abs=0.0)
    assert np.abs(inputs[-1] - X).max() > 0.0


def test_without_a_shift_every_layer_sees_the_rows():
    model, (X, _) = deep_model(3, shift=0.0)
    inputs, _ = model._pass_through(X)
    assert len(inputs) == 3
    assert all((seen == X).all() for seen in inputs)


@pytest.mark.parametrize("worse", [0, 1])
def test_of_two_layers_that_say_the_same_the_worse_goes(worse):
    rng = np.random.default_rng(8)
    model = DSSCN(**CALM)
    for _ in range(5):
        model.learn(*labelled(rng))
    twin = copy.deepcopy(model.layers[0])
    model.layers.append(twin)
    model.layers[worse].weights[:, 0, 0] += 0.2
    survivor = model.layers[1 - worse]
    X, y = labelled(rng)
    expected = survivor.outputs(X, model.settings)
    codes, _ = model._labels.encode(y.tolist())
    events = model._merge(X, codes)
    assert [(event.kept, event.dropped) for event in events] == [(1 - worse, worse)]
    assert model.layers == [survivor]
    assert model.predict_proba(X) == pytest.approx(_shares(expected), abs=0.01)
    assert model._merge(X, codes) == []
    assert model.n_layers == 1


def _shares(outputs):
    positive = np.maximum(outputs, 0.0)
    return positive / positive.sum(axis=1, keepdims=True)


def test_layers_that_differ_are_not_merged():
    rng = np.random.default_rng(8)
    one, other = rng.random((2, 500, 2))
    distances = unlikeness(np.stack([one, other, 2.0 * one + 1.0]))
    assert distances[0, 1] > 0.05
    assert distances[0, 2] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(distances, distances.T)


def test_rows_kept_after_a_warning_train_the_next_layer():
    rng = np.random.default_rng(9)
    model = DSSCN(drift_cap=0.05, warning_cap=0.5, horizon=2.0, merging=False)
    model.learn(*labelled(rng, 200))
    assert n_buffered(model) == 200
    model.learn(*labelled(rng, 200))
    assert n_buffered(model) == 0
    weights = model.layers[0].weights.copy()
    warned = [model.learn(*falling(rng, 200, 0.25))[0] for _ in range(2)]
    assert [event.level for event in warned] == ["warning"] * 2
    assert n_buffered(model) == 400
    assert (model.layers[0].weights == weights).all()
    events = model.learn(*falling(rng, 200, 5.0))
    assert [event.kind for event in events[:2]] == ["MeansMoved", "LayerAdded"]
    assert events[1].trained_rows == 600
    assert n_buffered(model) == 0


def test_the_depth_has_an_end():
    rng = np.random.default_rng(9)
    model = DSSCN(max_layers=2, merging=False)
    model.learn(*falling(rng))
    for _ in range(20):
        weights = model.layers[-1].weights.copy()
        model.learn(*falling(rng))
    assert model.n_layers == 2
    assert n_buffered(model) == 0
    assert model.layers[-1].weights.shape != weights.shape or not np.array_equal(
        model.layers[-1].weights, weights
    )


def test_the_buffer_has_an_end():
    rng = np.random.default_rng(9)
    model = DSSCN(max_buffer=250)
    model.learn(*labelled(rng, 300))
    assert n_buffered(model) == 250


def test_every_layer_has_a_node():
    rng = np.random.default_rng(10)
    model = DSSCN()
    for chunk in range(12):
        model.learn(*(falling(rng) if chunk % 3 else labelled(rng)))
        assert model.n_rules >= model.n_layers >= 1
    assert model.n_parameters >= model.n_rules * (2 * 3 + 9 + 7 * 2)


def test_a_chunk_without_a_cut_is_stable():
    constant = np.full((50, 2), 0.3)
    rising = np.linspace(0.0, 1.0, 50)[:, None]
    assert cut_of(rising, 0.001, first=2) is None
    for rows in (rising, constant, constant[:1], constant[:2]):
        assert judge_means(rows, 5, Settings())[0] is Level.STABLE


def test_as_in_the_authors_program_the_cut_may_come_after_one_row():
    rows = np.array([[0.0, 9.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    assert cut_of(rows, 0.001, first=1) == 1
    assert cut_of(rows, 0.001, first=2) != 1


def test_a_layer_has_one_node_where_no_search_succeeds():
    rng = np.random.default_rng(14)
    model = DSSCN(rates=(0.01,), slack=0.0, **CALM)
    for _ in range(3):
        X = rng.random((200, 2))
        model.learn(X, rng.integers(0, 2, 200))
    assert model.n_rules == 1


def test_small_chunks_train_weights_only():
    rng = np.random.default_rng(15)
    model = DSSCN(min_rows=20)
    X, y = falling(rng, 1000)
    model.learn(X[:1], y[:1])
    for row in range(1, 400):
        model.learn(X[row : row + 1], y[row : row + 1])
    assert (model.n_layers, model.n_rules) == (1, 1)
    eager = DSSCN(min_rows=1)
    for row in range(100):
        eager.learn(X[row : row + 1], y[row : row + 1])
    assert eager.n_rules > 1


def test_a_cut_leaves_rows_on_both_sides():
    rows = np.full((30, 2), 0.5)
    rows[0], rows[-1] = 0.4, 0.6
    assert judge_means(rows, 100, Settings())[0] is Level.STABLE


def test_values_whose_squares_overflow_are_refused():
    model = DSSCN()
    model.learn(*labelled(np.random.default_rng(15)))
    with pytest.raises(InputError, match=r"must lie within 1e\+30; scale them first"):
        model.learn(np.full((1, 3), 1e40), [1])


@pytest.mark.parametrize(
    "parameters",
    [
        {"nodes": 3},
        {"half_width": -1.0},
        {"max_nodes": 2.5},
        {"scopes": ()},
        {"scopes": (2.0, 1.0)},
        {"rates": (0.9, 1.0)},
        {"slack": "much"},
        {"merging": None},
        {"compat": "no"},
        {"seed": -1},
        {"seed": "a"},
        {"seed": None},
    ],
)
def test_parameters_are_checked(parameters):
    with pytest.raises(InputError):
        DSSCN(**parameters)


def test_one_row_and_constant_features_are_fine():
    model = DSSCN()
    model.learn([[0.5, 0.5]], ["only"])
    model.learn(np.full((5, 2), 0.5), ["only"] * 4 + ["other"])
    assert model.predict([[0.5, 0.5], [1e20, -1e20]]).tolist()[0] in ("only", "other")
