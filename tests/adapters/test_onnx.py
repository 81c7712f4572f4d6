"""The frozen predictor: the same probabilities in ONNX Runtime as in the model itself."""

import json
import os

import numpy as np
import pytest

from devfnn import (
    DEVFNN,
    Config,
    GClass,
    InputError,
    NotLearnedError,
    StorageError,
    presets,
)
from devfnn.kernels.state import BOXES, CLOUDS, LINE, NO_LAYER

pytest.importorskip("devfnn.adapters.onnx", reason="needs onnx", exc_type=ImportError)
pytest.importorskip("onnxruntime", reason="needs onnxruntime")

import onnxruntime as runtime

from devfnn.adapters.onnx import as_graph, export

CHUNK = 250


def run(graph, X):
    """Labels and probabilities that ONNX Runtime gives."""
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(["label", "probabilities"], {"rows": X})


def assert_same(model, X):
    """The exported graph says what the model says."""
    labels, probabilities = run(as_graph(model), X)
    expected = model.predict_proba(X)
    np.testing.assert_allclose(probabilities, expected, rtol=0.0, atol=1e-9)
    top = np.sort(expected, axis=1)
    is_clear = top[:, -1] - top[:, :-1].max(axis=1, initial=0.0) > 1e-9
    assert is_clear.mean() > 0.9
    assert np.array_equal(labels[is_clear], expected.argmax(axis=1)[is_clear])


def drifting(rng, n_rows, n_classes):
    """Rows in units of their own; every other quarter, the classes lie elsewhere."""
    X = rng.random((n_rows, 4))
    concept = (np.arange(n_rows) * 4 // n_rows) % 2
    checks = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    rings = np.hypot(X[:, 1] - 0.5, X[:, 2] - 0.5) * 2.8
    said = np.where(concept == 0, checks + rings, 1.5 - X[:, 0] + checks)
    labels = np.digitize(said, np.linspace(0.4, 1.6, n_classes - 1)) if n_classes > 2 else checks
    labels = np.where(concept == 1, n_classes - 1 - labels, labels)
    return X * [1.0, 200.0, 1e-3, 5.0] + [0.0, -70.0, 3.0, 1e4], labels


def learned(config, X, y, size=CHUNK):
    """A model that has learned a stream in chunks."""
    model = DEVFNN(config)
    for start in range(0, len(X), size):
        model.learn(X[start : start + size], y[start : start + size])
    return model


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_probabilities_are_those_of_the_model(rng, n_classes):
    X, y = drifting(rng, 8000, n_classes)
    model = learned(presets.swift(), X, y)
    assert_same(model, X)
    far = X[:500] * 3.0 - 100.0
    assert_same(model, far)


def test_all_kinds_of_layers_have_a_say(rng):
    X, y = drifting(rng, 8000, 3)
    model = learned(presets.swift().replace(voting__power=0.0), X, y)  # all layers vote alike
    state = model._network.state
    kinds = state.layers.kinds
    assert (kinds[len(model.config.layers) :] != NO_LAYER).any()
    assert (state.pool.n_members[kinds == BOXES] > 1).any()
    assert (kinds == CLOUDS).any() and state.clouds.count[0] > 3
    assert_same(model, X)


def test_parity_at_every_stage_of_a_stream(rng):
    X, y = drifting(rng, 2000, 4)
    model = DEVFNN(presets.swift())
    for start, stop in ((0, 1), (1, 3), (3, 40), (40, 900), (900, 2000)):
        model.learn(X[start:stop], y[start:stop])
        assert_same(model, X[:300])


def test_absent_features_are_left_out(rng):
    X, y = drifting(rng, 4000, 3)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:50] = np.nan
    model = learned(presets.swift().replace(missing="skip", voting__power=0.0), X, y)
    assert_same(model, X)


@pytest.mark.parametrize("missing", ["skip", "error"])
def test_rows_that_the_model_refuses_have_no_label(rng, missing):
    X, y = drifting(rng, 1000, 3)
    model = learned(presets.swift().replace(missing=missing), X, y)
    rows = X[:5].copy()
    rows[1, 2], rows[2, 0], rows[3, 1] = np.nan, np.inf, -2e100
    labels, probabilities = run(as_graph(model), rows)
    is_refused = []
    for row, label, shares in zip(rows, labels, probabilities, strict=True):
        try:
            expected = model.predict_proba([row])[0]
        except InputError:
            assert label == -1 and np.isnan(shares).all()
            is_refused.append(True)
        else:
            np.testing.assert_allclose(shares, expected, rtol=0.0, atol=1e-9)
            assert label == expected.argmax()
            is_refused.append(False)
    assert is_refused == [False, missing == "error", True, True, False]


def test_rows_may_be_float32(rng, tmp_path):
    X, y = drifting(rng, 4000, 3)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = learned(presets.swift().replace(missing="skip"), X, y)
    short = X.astype(np.float32)
    labels, probabilities = run(as_graph(model, dtype="float32"), short)
    assert probabilities.dtype == np.float64
    expected = model.predict_proba(short)
    np.testing.assert_allclose(probabilities, expected, rtol=0.0, atol=1e-9)
    assert (labels == expected.argmax(axis=1)).mean() > 0.999
    export(model, tmp_path / "model.onnx", dtype="float32")
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].type == "tensor(float)"
    with pytest.raises(InputError, match="not 'int8'"):
        as_graph(model, dtype="int8")


def test_features_that_sleep_or_are_masked_are_left_out(rng):
    X, y = drifting(rng, 3000, 2)
    X = np.column_stack([X, np.full(3000, 7.0)])
    model = learned(presets.swift(), X, y)
    assert model.feature_mask.tolist() == [True] * 4 + [False]
    X[:, 4] += rng.random(3000)
    assert_same(model, X)
    model._network.feature_mask[1] = False
    assert_same(model, X)


def test_rows_on_the_edge_of_a_box(rng):
    X, y = drifting(rng, 4000, 3)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    model = learned(presets.swift().replace(scaling="none", voting__power=0.0), X, y)
    lows, n_edges = model._network.state.pool.lows, 0
    for rule, feature in np.argwhere((lows > 0.0) & (lows < 1.0)):
        X[rule::100, feature] = lows[rule, feature]
        n_edges += 1
    assert n_edges > 3
    assert_same(model, X)


def test_lines_do_without_curves(rng):
    X, y = drifting(rng, 1000, 3)
    model = learned(presets.swift().replace(voting__power=0.0), X, y)
    state = model._network.state
    lines = state.pool.members[state.layers.kinds == LINE, 0]
    state.pool.weights[lines, :, 5:] = rng.random((lines.size, 3, 4))
    assert_same(model, X)


@pytest.mark.parametrize(
    "parameters",
    [{"scaling": "none"}, {"clouds": None}, {"growing__max_kept": 0}, {"voting__power": 100.0}],
)
def test_parity_with_other_parameters(rng, parameters):
    X, y = drifting(rng, 2000, 3)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    assert_same(learned(presets.swift().replace(**parameters), X, y), X)


def test_a_model_of_one_class_and_no_rows(rng):
    model = DEVFNN(presets.swift())
    model.learn(rng.random((20, 2)), ["only"] * 20)
    labels, probabilities = run(as_graph(model), np.zeros((3, 2)))
    assert labels.tolist() == [0, 0, 0]
    np.testing.assert_allclose(probabilities, np.ones((3, 1)), rtol=0.0, atol=1e-12)
    labels, probabilities = run(as_graph(model), np.zeros((0, 2)))
    assert labels.shape == (0,) and probabilities.shape == (0, 1)


def test_the_file_says_what_it_is(rng, tmp_path):
    X, y = drifting(rng, 600, 2)
    model = DEVFNN(presets.swift(), feature_names=["a", "b", "c", "d"])
    model.learn(X, np.array(["no", "yes"])[y.astype(int)])
    export(model, tmp_path / "model.onnx")
    assert os.listdir(tmp_path) == ["model.onnx"]
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    facts = session.get_modelmeta().custom_metadata_map
    assert json.loads(facts["classes"]) == model.classes
    assert json.loads(facts["features"]) == ["a", "b", "c", "d"]
    assert facts["rows_learned"] == "600"
    labels = session.run(["label"], {"rows": X})[0]
    named = [json.loads(facts["classes"])[label] for label in labels]
    assert named == model.predict(X).tolist()


def test_exporting_leaves_the_model_as_it_was(rng):
    X, y = drifting(rng, 1000, 3)
    model, other = learned(presets.swift(), X, y), learned(presets.swift(), X, y)
    as_graph(model)
    model.learn(X, y)
    other.learn(X, y)
    assert np.array_equal(model.predict_proba(X), other.predict_proba(X))


def test_what_cannot_be_exported_is_said(rng, tmp_path):
    X, y = rng.random((50, 2)), [0, 1] * 25
    with pytest.raises(NotLearnedError, match="call learn first"):
        as_graph(DEVFNN(presets.swift()))
    for model, reason in (
        (DEVFNN(Config(lags=1)), "lags=0"),
        (DEVFNN(), "also has boosted, neighbours, prior, stacked"),
        (DEVFNN(presets.stacked()), "also has gaussian"),
        (GClass(), "only networks of lines"),
    ):
        model.learn(X, y)
        with pytest.raises(InputError, match=reason):
            export(model, tmp_path / "model.onnx")
    with pytest.raises(InputError, match="not a dict"):
        as_graph({})
    assert os.listdir(tmp_path) == []
    model = DEVFNN(presets.swift())
    model.learn(X, y)
    with pytest.raises(StorageError, match="cannot write"):
        export(model, tmp_path / "nowhere" / "model.onnx")
