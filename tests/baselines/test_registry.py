"""Models by name."""

import dataclasses
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from devfnn import DEVFNN, Config, GClass
from devfnn.baselines import MODELS, is_random, make_model
from devfnn.errors import InputError
from devfnn.model import presets
from devfnn.streams import from_arrays

OWN = (
    "devfnn",
    "sdevfnn",
    "sdevfnn-evolving",
    "dsscn",
    "gclass",
    "rls",
    "logistic",
    "majority",
    "no-change",
)
NETWORKS = ("pnn", "den", "hat")


@pytest.fixture
def stream(rng):
    """Two classes on two sides of a line, with names."""
    X = rng.random((600, 2))
    y = np.where(X.sum(axis=1) > 1, "high", "low")
    return from_arrays(X, y, feature_names=["width", "height"])


def test_every_model_has_a_name_and_a_line_about_it():
    for name, entry in MODELS.items():
        assert entry.name == name
        assert 5 < len(entry.description) < 90
        extra = "baselines" if name in NETWORKS else "bench"
        assert entry.extra == (None if name in OWN else extra)
        assert is_random(name) is entry.is_random


def test_entries_can_be_sent_to_other_processes():
    for entry in MODELS.values():
        assert pickle.loads(pickle.dumps(entry)).name == entry.name


@pytest.mark.parametrize("name", OWN)
def test_our_models_learn_a_stream(stream, name):
    model = make_model(name, stream)
    chunks = list(stream.chunks(rows=300))
    model.learn(chunks[0].X, chunks[0].y)
    accuracy = (model.predict(chunks[1].X) == chunks[1].y).mean()
    assert accuracy > (0.3 if name in ("majority", "no-change") else 0.9)


@pytest.mark.parametrize(
    ("name", "kind", "consequent", "is_one_rule"),
    [
        ("sdevfnn", DEVFNN, "logistic", False),
        ("gclass", GClass, "logistic", False),
        ("rls", GClass, "least_squares", True),
        ("logistic", GClass, "logistic", True),
    ],
)
def test_our_models_are_what_they_are_called(stream, name, kind, consequent, is_one_rule):
    start = presets.stacked().replace(gaussian__memory=0.99)
    model = make_model(name, stream, config=start, seed=7)
    assert type(model) is kind
    assert model.feature_names == ["width", "height"]
    own = model.config.gaussian
    assert (own.consequent, own.memory, own.growing) == (consequent, 0.99, not is_one_rule)
    assert model.config.seed == 7
    assert model.config.labels.choice == ("all" if is_one_rule else "layer")


def test_models_start_from_presets_of_their_own(stream):
    assert make_model("devfnn", stream).config == presets.default()
    assert make_model("gclass", stream).config == GClass(presets.stacked()).config
    with pytest.raises(InputError, match="GClass needs a gaussian layer"):
        make_model("gclass", stream, config=presets.default())


def test_the_seed_is_that_of_the_configuration_unless_given(stream):
    assert make_model("devfnn", stream, config=Config(seed=5)).config.seed == 5
    assert make_model("devfnn", stream, config=Config(seed=5), seed=0).config.seed == 0
    assert make_model("devfnn", stream).config.seed == 0


def test_options_of_our_models_are_parameters(stream):
    assert make_model("devfnn", stream, options={"boxes__max_rules": 3}).config.boxes.max_rules == 3
    with pytest.raises(InputError, match="no parameter is called 'trees'"):
        make_model("devfnn", stream, options={"trees": 3})


@pytest.mark.parametrize("name", ["majority", "no-change"])
def test_a_model_without_options_says_so(stream, name):
    with pytest.raises(InputError, match=f"{name} has no option 'seed'"):
        make_model(name, stream, options={"seed": 3})


def test_the_static_network_is_that_of_the_table(stream):
    model = make_model("sdevfnn", stream)
    assert model.config == presets.paper_static()
    evolving = make_model("sdevfnn-evolving", stream)
    assert evolving.config == presets.paper().replace(**presets.FIXED_DEPTH)


@pytest.mark.parametrize("name", ["devfnn", "gclass", "rls"])
def test_ours_know_the_classes_of_a_stream(stream, name):
    assert make_model(name, stream).classes == list(stream.classes) == ["low", "high"]


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_know_the_stream(stream, name):
    pytest.importorskip("torch")
    model = make_model(name, stream.chunks(rows=70), seed=3)
    assert model.classes == ["low", "high"]
    assert model.settings.n_chunks == 9
    assert make_model(name, stream, options={"n_chunks": 4}).settings.n_chunks == 4
    endless = dataclasses.replace(stream, n_rows=None, is_endless=True)
    assert make_model(name, endless).settings.n_chunks is None


@pytest.mark.parametrize("name", NETWORKS)
def test_without_pytorch_the_extra_is_named(monkeypatch, stream, name):
    for module in [each for each in sys.modules if each.startswith("devfnn.baselines.networks")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"pip install 'devfnn\[baselines\]'"):
        make_model(name, stream)


def test_an_unknown_name_is_answered_with_the_nearest(stream):
    with pytest.raises(InputError, match=r"did you mean river-arf or .*There are devfnn, sdevfnn"):
        make_model("river-afr", stream)
    with pytest.raises(InputError, match="no model is called 'x'; There are devfnn"):
        is_random("x")


def test_other_libraries_are_not_loaded_for_their_names():
    code = (
        "import sys, devfnn.baselines; "
        "heavy = {'river', 'capymoa', 'jpype', 'sklearn', 'scipy', 'numba', 'torch'}; "
        "print(*heavy & set(sys.modules))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
