"""Saving and loading: nothing is lost, and files are never half written."""

import copy
import dataclasses
import functools
import itertools
import os
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn import DEVFNN, Config, GClass, StorageError, load, presets
from devfnn.arrays import Floats
from devfnn.events import (
    CloudsChanged,
    DriftFound,
    DriftWarned,
    Event,
    FeatureOff,
    LayerAdded,
    LayerDropped,
    LayerKept,
    LayerRecalled,
    LayersMerged,
    RuleSplit,
)
from devfnn.kernels.state import NO_LAYER
from devfnn.model.access import Learned
from devfnn.model.network import Network
from devfnn.storage import dump, parse
from devfnn.storage.header import FORMAT
from devfnn.storage.layout import arrays_of, counters_of, expected_fields, sizes_of, unused_fields
from storage.stored import (
    CHUNK,
    KEPT_FILES,
    OLD_FILES,
    STORIES,
    opened,
    plain,
    quick,
    rivals_file,
    turning_rows,
)

LABELS = [
    2,
    -(2**80),
    "",
    "ä\ud7ff\n",
    b"",
    b"\xff",
    True,
    0.1,
    -0.0,
    float("inf"),
    (),
    ("a", (2,)),
]


# ---- going on as if nothing had happened


@functools.cache
def told(name: str) -> tuple[list[list[Event]], bytes, DEVFNN]:
    """The events of every part of a story, the file after 17, and the model, never loaded."""
    story = STORIES[name]
    model = story.model(0)
    events = [story.learn(model, part, part + 1) for part in range(17)]
    data = dump(model)
    events += [story.learn(model, part, part + 1) for part in range(17, 20)]
    return events, data, model


@pytest.mark.parametrize("name", STORIES)
def test_learning_goes_on_bit_for_bit_after_loading(name: str) -> None:
    """What is lost by loading once is lost by loading again, so that one model shows all cuts."""
    story, (events, _, model) = STORIES[name], told(name)
    loaded = story.model(1)
    for start, stop in itertools.pairwise([1, 9, 13, 17, 20]):
        loaded = parse(dump(loaded))
        for part in range(start, stop):
            assert story.learn(loaded, part, part + 1) == events[part]
    assert dump(loaded) == dump(model)
    X, _ = turning_rows(1, seed=8)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.classes == model.classes


def kinds_of(name: str) -> set[type[Event]]:
    """The kinds of events of a story."""
    return {type(event) for events in told(name)[0] for event in events}


def test_the_stories_pass_through_every_structural_step() -> None:
    assert {LayerAdded, LayersMerged} <= kinds_of("merged") & kinds_of("rows, deep")
    assert DriftWarned in kinds_of("warned")
    warned = STORIES["warned"]
    assert any(len(warned.known(cut)._known().buffer) for cut in (9, 13, 17))
    gathered = STORIES["rows, deep"].known(17)._known().gathered
    assert 0 < len(gathered.rows) < 70
    assert np.isnan(gathered.outputs).any()


@pytest.mark.parametrize("cut", [1, 9, 17])
def test_the_calm_curve_comes_back_from_a_file_and_learns_on(cut: int) -> None:
    story = STORIES["rivals"]
    model = story.model(cut)
    loaded = parse(dump(model))
    X, _ = turning_rows(1, seed=8)
    for _ in range(2):
        curves = [calm_curve(each, X) for each in (model, loaded)]
        for own, other in zip(*curves, strict=True):
            np.testing.assert_array_equal(own, other)
        said, weights = curves[0][0], curves[0][1]
        assert np.ptp(said[:, 0]) > 0.1 and weights[:, 4:].any()  # it has learned, with curves
        for each in (model, loaded):
            story.learn(each, cut, cut + 3)
        assert not np.array_equal(calm_curve(model, X)[1], weights)


def calm_curve(model: DEVFNN, X: Floats) -> tuple[Floats, Floats, Floats]:
    """What the calm curve says of rows, its weights, and what it still has to learn."""
    network, layer = model._known(), 4
    assert model.config.layers[layer].name == "calm curve"
    pool = network.state.pool
    assert pool is not None
    said = network.forward(network.inputs_of(X))[0][:, layer]
    (rule,) = pool.members[layer, : pool.n_members[layer]]
    return said, pool.weights[rule].copy(), pool.gains[rule].copy()


def test_the_stories_of_rivals_pass_through_every_structural_step() -> None:
    steps = {RuleSplit, CloudsChanged, DriftFound, LayerKept}
    assert steps | {LayerRecalled} <= kinds_of("rivals")
    assert steps | {LayerDropped} <= kinds_of("rivals, rows")
    assert LayerDropped in kinds_of("rivals, merged")
    assert steps | {FeatureOff} <= kinds_of("rivals, masked")
    assert steps <= kinds_of("rivals, lags")
    assert not steps & kinds_of("rivals, still") - {RuleSplit, CloudsChanged}
    for cut in (13, 17):  # where the tests above stop and load
        kept = STORIES["rivals"].known(cut)._known().state.layers.kinds[7:]
        assert (kept != NO_LAYER).any()
        masked = STORIES["rivals, masked"].known(cut)
        assert len(masked._known().gathered.rows)


@pytest.mark.parametrize("config", [plain(chunk_rows=7), quick(chunk_rows=7, lags=1)])
def test_one_row_at_a_time_with_a_save_after_every_row(config: Config) -> None:
    X, y = turning_rows(1)
    steady, saved = DEVFNN(config), DEVFNN(config)
    for x, label in zip(X[:40], y[:40], strict=True):
        saved = parse(dump(saved))
        assert saved.learn_one(x, label) == steady.learn_one(x, label)
    assert dump(saved) == dump(steady)


def test_another_process_writes_the_same_bytes_and_goes_on_the_same(
    tmp_path: pathlib.Path,
) -> None:
    models = {name: STORIES[name].model(16) for name in ("rows, deep", "rivals, masked")}
    for name, model in models.items():
        model.save(tmp_path / name)
    code = """
import pathlib, sys, devfnn
from storage.stored import STORIES
for path in pathlib.Path(sys.argv[1]).iterdir():
    model = devfnn.load(path)
    STORIES[path.name].learn(model, 16, 20)
    model.save(path)
"""
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", code, tmp_path], env=environment, check=True)
    for name, model in models.items():
        STORIES[name].learn(model, 16, 20)
        assert (tmp_path / name).read_bytes() == dump(model)


@pytest.mark.parametrize("path", KEPT_FILES, ids=lambda path: path.stem)
def test_files_of_this_format_stay_the_same_byte_for_byte(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = path.read_bytes()
    monkeypatch.setattr("devfnn.__version__", opened(data)[0]["library"])
    assert dump(load(path)) == data


@pytest.mark.parametrize("path", OLD_FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_files_of_formats_before_are_read(path: pathlib.Path) -> None:
    model = load(path)
    data = dump(model)
    assert opened(path.read_bytes())[0]["format"] < opened(data)[0]["format"] == FORMAT
    assert dump(parse(data)) == data
    assert model.n_rows and model.n_rules


# ---- nothing is lost


@pytest.mark.parametrize("name", STORIES)
def test_the_same_state_gives_the_same_bytes(name: str) -> None:
    data = dump(STORIES[name].known(17))
    assert told(name)[1] == data
    assert dump(parse(data)) == data


@pytest.mark.parametrize("name", ["rows, deep", "rivals, masked"])
def test_every_array_comes_back_ready_for_kernels(name: str) -> None:
    model = STORIES[name].known(17)
    saved, loaded = model._known(), parse(dump(model))._known()
    before, after = arrays_of(saved), arrays_of(loaded)
    assert before.keys() == after.keys() == expected_fields(sizes_of(saved), model.config).keys()
    assert counters_of(loaded) == counters_of(saved)
    for name in before:
        np.testing.assert_array_equal(after[name], before[name], strict=True)
        flags = after[name].flags
        assert flags.c_contiguous and flags.writeable and flags.aligned, name
        assert not np.shares_memory(after[name], before[name])


@pytest.mark.parametrize("name", STORIES)
def test_what_is_not_stored_comes_back_too(name: str) -> None:
    model = STORIES[name].known(17)
    before, after = (_all_arrays(each._known()) for each in (model, parse(dump(model))))
    for name in sorted(unused_fields(model.config) - NEVER_READ):
        np.testing.assert_array_equal(after[name], before[name], name)


NEVER_READ = {"progress/counts", "progress/signals", "progress/lead", "layers/last_wins"}
"""Arrays that move although nothing of some networks reads them."""


def _all_arrays(network: Network) -> dict[str, Any]:
    """The arrays of layers and of progress, stored or not."""
    parts = {"layers": network.state.layers, "progress": network.state.progress}
    return {f"{part}/{n}": a for part, own in parts.items() for n, a in own._asdict().items()}


@pytest.mark.parametrize("name", STORIES)
def test_the_shapes_of_any_network_are_known_before_it_is_made(name: str) -> None:
    network = copy.deepcopy(STORIES[name].known(17)._known())
    network.resize(features=max(9, network.n_features + 1), classes=4)
    expected = expected_fields(sizes_of(network), network.config)
    assert {name: array.shape for name, array in arrays_of(network).items()} == {
        name: shape for name, (_, shape) in expected.items()
    }


def test_nothing_of_a_model_lies_outside_what_is_stored() -> None:
    made_anew = {"_rows", "_is_compiled"}
    assert vars(DEVFNN()).keys() == {"config", "_access"} | made_anew
    learned = {field.name for field in dataclasses.fields(Learned)}
    stored = {"names", "labels", "network", "late", "logbook", "query_log"}
    assert learned == stored | {"early_budget", "positions"}
    assert DEVFNN()._rows is None


@pytest.mark.parametrize("kind", [DEVFNN, GClass])
@pytest.mark.parametrize("names", [None, [], ["a", "b"]])
def test_a_model_that_has_learned_nothing(kind: type[DEVFNN], names: list[str] | None) -> None:
    config = presets.stacked() if kind is GClass else presets.default()
    model = kind(config.replace(seed=2**63 - 1, lags=3), names)
    loaded = parse(dump(model))
    assert type(loaded) is kind
    assert (loaded.config, loaded._names, loaded._network) == (model.config, names, None)
    assert loaded.nbytes == 0


def test_empty_arrays_keep_their_shape() -> None:
    network = parse(dump(STORIES["chunks"].model(3)))._known()
    assert network.buffer.X.shape == (0, 3)
    assert network.scaler.first_rows.shape == (0, 3)
    assert network.gathered.outputs.shape == (0, 1, 2)


def test_numbers_of_numpy_in_the_configuration_come_back_as_plain_ones() -> None:
    config = presets.stacked().replace(seed=np.int64(5), gaussian__initial_gain=7)
    config = config.replace(gaussian__memory=np.float32(0.75), gaussian__growing=np.True_)
    loaded = parse(dump(DEVFNN(config)))
    assert loaded.config == config
    own = {"gaussian__initial_gain": 7.0, "gaussian__memory": 0.75}
    assert dump(DEVFNN(presets.stacked().replace(seed=5, **own))) == dump(loaded)


def test_labels_come_back_as_they_were() -> None:
    loaded = parse(dump(_labelled(LABELS)))
    assert [(type(a), repr(a)) for a in loaded.classes] == [(type(a), repr(a)) for a in LABELS]


plain_labels = st.one_of(
    st.integers(-(2**200), 2**200),
    st.text(st.characters(codec="utf-8")),
    st.binary(),
    st.booleans(),
    st.floats(allow_nan=False),
)


@settings(deadline=None, derandomize=True)
@given(st.lists(plain_labels | st.tuples(plain_labels, plain_labels), min_size=1, unique=True))
def test_any_labels_come_back_as_they_were(labels: list[Any]) -> None:
    loaded = parse(dump(_labelled(labels)))
    assert [(type(a), repr(a)) for a in loaded.classes] == [(type(a), repr(a)) for a in labels]


def _labelled(labels: list[Any]) -> DEVFNN:
    """A model that knows these classes."""
    from devfnn.model.validation import Labels

    model = DEVFNN(Config())
    model._labels = Labels(labels)
    model._network = Network.empty(1, len(labels), model.config)
    return model


def test_a_model_gone_wrong_does_not_replace_a_good_file(tmp_path: pathlib.Path) -> None:
    model = STORIES["chunks"].model(3)
    model.save(tmp_path / "model")
    gaussians = model._known().state.gaussians
    assert gaussians is not None
    gaussians.centers[0, 0, 0] = np.nan
    with pytest.raises(StorageError, match="gaussians/centers holds NaN"):
        model.save(tmp_path / "model")
    assert load(tmp_path / "model").n_rows == 3 * CHUNK


def test_a_network_that_does_not_fit_its_configuration_is_refused_before_writing() -> None:
    model = STORIES["rivals"].model(1)
    for config in (quick(max_boxes=7), plain()):
        model.config = config
        with pytest.raises(StorageError, match="the network has another configuration"):
            dump(model)
    model._known().config = model.config = quick(max_boxes=7)
    with pytest.raises(StorageError, match="tensor 'pool/members' is I64"):
        dump(model)


def test_a_subclass_is_refused_instead_of_losing_what_it_added() -> None:
    with pytest.raises(StorageError, match="Own cannot be saved"):
        dump(type("Own", (DEVFNN,), {})())
    with pytest.raises(StorageError, match="DEVFNN cannot be saved"):
        dump(type("DEVFNN", (DEVFNN,), {})())


# ---- classes, pickle, copies


def test_a_gclass_comes_back_as_a_gclass(tmp_path: pathlib.Path) -> None:
    model = STORIES["one layer"].model(4)
    model.save(tmp_path / "layer")
    for loaded in (load(tmp_path / "layer"), GClass.load(tmp_path / "layer")):
        assert type(loaded) is GClass
    assert type(DEVFNN.load(tmp_path / "layer")) is GClass
    DEVFNN().save(tmp_path / "network")
    with pytest.raises(StorageError, match="network: holds a DEVFNN, not a GClass"):
        GClass.load(tmp_path / "network")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["rows, deep", "rivals, masked"])
def test_pickle_holds_the_same_bytes(protocol: int, name: str) -> None:
    model = STORIES[name].known(17)
    text = pickle.dumps(model, protocol)
    assert text == pickle.dumps(model, protocol)
    assert dump(pickle.loads(text)) == dump(model) == model.__getstate__()


@pytest.mark.parametrize("make", [copy.deepcopy, copy.copy])
@pytest.mark.parametrize("name", ["rows", "rivals, rows"])
def test_a_copy_is_independent(make: Any, name: str) -> None:
    story = STORIES[name]
    model = story.model(5)
    twin, before = make(model), dump(model)
    story.learn(twin, 5, 10)
    assert dump(model) == before
    story.learn(model, 5, 10)
    assert dump(model) == dump(twin)


@pytest.mark.parametrize("name", ["chunks", "rivals", "rivals, lags"])
def test_the_size_of_a_model_is_that_of_its_arrays(name: str) -> None:
    model = STORIES[name].known(9)
    data = dump(model)
    assert 0 < model.nbytes == len(data) - 8 - int.from_bytes(data[:8], "little")


# ---- labels of the past, and features that came later


def test_a_model_with_lags_and_late_features_goes_on_bit_for_bit() -> None:
    model = parse(rivals_file())
    twin = parse(dump(model))
    assert model._late == twin._late == (9,)
    X, y = turning_rows(2)
    X = np.hstack([X, X[:, :1]])
    for learn in ("learn", "learn_rows"):
        names = ["high" if label else "new" for label in y]  # one more class, after the feature
        assert getattr(model, learn)(X, names) == getattr(twin, learn)(X, names)
        np.testing.assert_array_equal(model.predict_proba(X), twin.predict_proba(X))
        twin = parse(dump(twin))
    assert dump(model) == dump(twin)
    assert (model._known().recent >= 0).all()
