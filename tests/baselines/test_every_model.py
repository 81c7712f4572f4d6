"""What every model of the registry must do, whatever library it comes from."""

import dataclasses
import functools
import pickle

import numpy as np
import pytest

from contract import Table
from devfnn.baselines import MODELS, make_model
from devfnn.baselines.peers import provide_java
from devfnn.errors import DataError, InputError, NotLearnedError
from devfnn.evaluation import iter_prequential
from devfnn.evaluation.learners import adapted
from devfnn.experiments import Run, RunSettings, StreamSettings
from devfnn.streams import from_arrays

SMALLER = {
    "capymoa-arf": {"ensemble_size": 2},
    "capymoa-srp": {"ensemble_size": 2},
    "capymoa-leveraging-bagging": {"ensemble_size": 2},
    "capymoa-sgbt": {"boosting_iterations": 3},
    "river-arf": {"n_models": 2},
    "river-srp": {"n_models": 2},
    "river-leveraging-bagging": {"n_models": 2},
}
"""Fewer trees, for few rows."""

BLIND = ("majority", "no-change")
"""Models that do not look at the rows."""

SLOW = ("pnn", "den", "hat", "sklearn-mlp", "sklearn-sgd")
"""Models that take small steps along gradients."""

NATIVE = [name for name, entry in MODELS.items() if entry.extra != "bench"]
"""Models of this package."""

ROWS = 300


@pytest.fixture(autouse=True)
def _needs_its_library(request):
    """Skip a model whose library is not there, and say so."""
    name = request.node.callspec.params["name"]
    extra = MODELS[name].extra
    if extra == "baselines":
        pytest.importorskip("torch")
    elif extra == "bench":
        library = name.split("-")[0]
        if library == "capymoa":
            provide_java()
        pytest.importorskip(library, exc_type=(ImportError, RuntimeError))


def rows(n_rows=ROWS, seed=0):
    """Rows of three features in [0, 1]; two of them decide between the labels 0 and 1."""
    X = np.random.default_rng(seed).random((n_rows, 3))
    return X, (X[:, 0] + X[:, 1] > 1.0).astype(int)


def stream_of(X, y, classes=None):
    """A stream of rows that are scaled already, in chunks of 100."""
    stream = from_arrays(X, y, feature_names=list("abc")).chunks(rows=100)
    return stream if classes is None else dataclasses.replace(stream, classes=tuple(classes))


def made(name, seed=0, stream=None):
    """A fresh model."""
    stream = stream if stream is not None else stream_of(*rows())
    return make_model(name, stream, seed=seed, options=SMALLER.get(name))


@functools.cache
def kept(name):
    """A model of this package that has learned three chunks, as bytes."""
    model = made(name)
    model.learn(Table("abc", rows()[0]), rows()[1])
    for number in (1, 2):
        model.learn(*rows(seed=number))
    return pickle.dumps(model)


def taught(name):
    """A copy of that model, for a test of its own."""
    return pickle.loads(kept(name))


def accuracies(name, stream, seed=0):
    """What it gets right of each chunk, the first left out."""
    results = iter_prequential(made(name, seed, stream), stream)
    return [result.accuracy for result in results][1:]


# ---- all models


@pytest.mark.parametrize("name", MODELS)
def test_a_chunk_is_predicted_before_it_is_learned(name):
    X, y = rows(150)
    y[:100] ^= np.random.default_rng(1).random(100) < 0.1
    turned = np.concatenate([y[:100], 1 - y[100:]])
    straight = accuracies(name, stream_of(X, y).chunks(rows=50))
    assert accuracies(name, stream_of(X, turned).chunks(rows=50)) == [
        straight[0],
        pytest.approx(1 - straight[1]),
    ]


@pytest.mark.parametrize("name", NATIVE)  # for those of libraries, test_peers.py shows it
def test_it_learns(name):
    X, y = rows(3000 if name in SLOW else 400)
    assert accuracies(name, stream_of(X, y))[-1] > (0.4 if name in BLIND else 0.75)


@pytest.mark.parametrize("name", MODELS)
def test_a_class_may_come_later(name):
    X, y = rows(900 if name in SLOW else 450)
    third = len(X) // 3
    y[third:][X[third:, 2] > 0.5] = 2
    stream = stream_of(X, y, classes=[0, 1, 2])
    learner = adapted(
        made(name, stream=stream), by_row=False, feature_names="abc", classes=[0, 1, 2]
    )
    for chunk in stream:
        learner.learn(chunk.X, chunk.y)
    said = learner.predict(X[-150:])
    labels = said.labels
    if labels is None:
        labels = np.array(said.classes)[said.probabilities.argmax(axis=1)]
    if name not in BLIND and not name.startswith("sklearn-"):  # these learn it slowly
        right = np.mean([label == 2 for label in np.asarray(labels)[y[-150:] == 2]])
        assert right > 0.5
    assert set(np.asarray(labels).tolist()) <= {0, 1, 2}


@pytest.mark.parametrize("name", NATIVE)
def test_the_seed_decides(name):
    """Of models of other libraries, `test_peers.py` compares every probability."""
    X, y = rows(400, seed=3)
    y ^= np.random.default_rng(1).random(400) < 0.2
    stream = stream_of(X, y)
    first, same = (accuracies(name, stream, seed=1) for _ in range(2))
    assert first == same
    other = accuracies(name, stream, seed=2)
    if not MODELS[name].is_random:
        assert other == first
    elif not MODELS[name].takes_config:
        assert other != first  # the others draw little, or not so early


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("capymoa-")])
def test_it_can_be_kept(name):
    stream = stream_of(*rows())
    learner = functools.partial(adapted, by_row=False, feature_names="abc", classes=[0, 1])
    model = made(name, stream=stream)
    for chunk in stream:
        learner(model).learn(chunk.X, chunk.y)
    copy = pickle.loads(pickle.dumps(model))
    probes = rows(50, seed=9)
    for each in (model, copy):
        learner(each).learn(*probes)
    one, other = (learner(each).predict(probes[0]) for each in (model, copy))
    np.testing.assert_array_equal(one.probabilities, other.probabilities)


@pytest.mark.parametrize("name", [name for name, entry in MODELS.items() if not entry.takes_gaps])
def test_a_missing_value_is_refused_by_its_place(name, tmp_path):
    made(name)  # or skipped
    lines = ["a,b,label", *(f"{row},{row % 7},{row % 2}" for row in range(ROWS))]
    lines[151] = "150,,0"
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    stream = StreamSettings(name=str(tmp_path / "rows.csv"), chunk_rows=100)
    run = Run(RunSettings(stream=stream, model=name))
    with pytest.raises(DataError, match=f"row 151: 'b' is missing, and {name} needs all values"):
        list(run)


# ---- models of this package


@pytest.mark.parametrize("name", NATIVE)
def test_nothing_is_said_before_something_was_learned(name):
    model = made(name)
    with pytest.raises(NotLearnedError, match="call learn first"):
        model.predict_proba(rows()[0])
    assert model.learn(np.zeros((0, 3)), []) == []
    with pytest.raises(NotLearnedError, match="call learn first"):
        model.predict(rows()[0])


@pytest.mark.parametrize("name", NATIVE)
def test_asking_changes_nothing_and_inputs_stay(name):
    model = taught(name)
    X, y = rows(seed=9)
    X.flags.writeable = y.flags.writeable = False  # writing would raise
    state = pickle.dumps(model)
    for asked in (X, X[:1], X[:0]):
        model.predict(asked)
        model.predict_proba(asked)
    assert pickle.dumps(model) == state
    model.learn(X, y)


@pytest.mark.parametrize("name", NATIVE)
def test_probabilities_are_probabilities(name):
    model = taught(name)
    X = np.concatenate([rows(seed=9)[0], [[50.0, -50.0, 0.0]]])
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (len(X), 2)
    assert (probabilities >= 0.0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-9)
    best = np.array(model.classes)[probabilities.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), best)


@pytest.mark.parametrize("name", NATIVE)
def test_a_new_class_is_told(name):
    model = taught(name)
    events = model.learn(rows(2)[0], ["new", 0])
    (added,) = [event for event in events if event.kind == "ClassAdded"]
    assert (added.label, added.index) == ("new", 2)
    assert model.classes == [0, 1, "new"]
    assert model.predict_proba(rows(5)[0]).shape == (5, 3)


BAD_ROWS = {
    "too narrow": ([[0.1, 0.2]], "rows have 2 features, the model knows 3"),
    "too wide": ([[0.1, 0.2, 0.3, 0.4]], "rows have 4 features, the model knows 3"),
    "infinity": ([[0.1, 0.2, float("inf")]], "row 0, feature 2 is infinite"),
    "text": ([["a", "b", "c"]], "features must be numbers"),
    "one dimension": ([0.1, 0.2, 0.3], "not an array of 1 dimension"),
    "unknown column": (Table("abx", np.zeros((1, 3))), "unknown column 'x'"),
}


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("bad", [*BAD_ROWS, "NaN", "labels", "no label"])
def test_bad_input_is_refused_and_changes_nothing(name, bad):
    model = taught(name)
    state = pickle.dumps(model)
    if bad in BAD_ROWS:
        X, message = BAD_ROWS[bad]
        with pytest.raises(InputError, match=message):
            model.predict(X)
        with pytest.raises(InputError, match=message):
            model.learn(X, [0])
    elif bad == "NaN" and name in BLIND:
        model.predict([[0.1, float("nan"), 0.3]])
    elif bad == "NaN":
        with pytest.raises(InputError, match="row 0, feature 1 is NaN"):
            model.learn([[0.1, float("nan"), 0.3]], [0])
    elif bad == "labels":
        with pytest.raises(InputError, match="1 labels for 2 rows"):
            model.learn(np.zeros((2, 3)), [0])
    elif bad == "no label":
        with pytest.raises(InputError, match="the label of row 1 is missing"):
            model.learn(np.zeros((2, 3)), [0, None])
    assert pickle.dumps(model) == state


@pytest.mark.parametrize("name", NATIVE)
def test_columns_are_matched_by_name(name):
    X, y = rows(100)
    straight, turned = made(name), made(name)
    for model, order in ((straight, [0, 1, 2]), (turned, [2, 0, 1])):
        model.learn(Table("abc", X), y)
        model.learn(Table(["abc"[column] for column in order], X[:, order]), y)
    np.testing.assert_array_equal(straight.predict_proba(X), turned.predict_proba(X))


@pytest.mark.parametrize("name", NATIVE)
def test_labels_may_be_anything_hashable(name):
    X, y = rows(100)
    for pair in (("low", "high"), (("a", 1), ("a", 2)), (b"no", b"yes"), ("1", 1)):
        labels = [pair[code] for code in y]
        model = make_model(name, dataclasses.replace(stream_of(*rows()), classes=()))
        model.learn(X, labels)
        assert model.classes == list(dict.fromkeys(labels))
        assert {type(label) for label in model.predict(X).tolist()} <= {type(one) for one in pair}


@pytest.mark.parametrize("name", [name for name in NATIVE if name not in BLIND])
def test_growth_has_an_end(name):
    options = {"pnn": {"block_chunks": 3}, "den": {"block_chunks": 3}, "hat": {"block_chunks": 3}}
    small = options.get(name, {})
    if MODELS[name].takes_config:
        own = {"clouds__max_rules": 20, "rules__max_rules": 12, "boxes__max_rules": 4}
        small = own | {"growing__max_kept": 1} if name == "devfnn" else {}
    if name == "dsscn":
        small = {"max_nodes": 5, "max_layers": 3, "max_buffer": 500}
    unknown = from_arrays(*rows(), feature_names=list("abc"))
    if name in options:
        small = small | {"n_chunks": None}
    model = make_model(name, unknown, options=small)
    sizes = []
    for number in range(40):
        X, y = rows(100, seed=number)
        shifted = X * (0.5 if number % 4 else 1.0)
        model.learn(shifted, y if number % 6 < 3 else 1 - y)
        sizes.append(len(pickle.dumps(model)))
    assert max(sizes[20:]) < 1.5 * max(sizes[:20])
    assert model.n_parameters < 20_000
