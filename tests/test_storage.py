"""Saving and loading: nothing is lost, and files are never half written."""

import copy
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

from devfnn import DEVFNN, Config, GClass, StorageError, load
from devfnn.events import (
    CloudsChanged,
    DriftFound,
    DriftWarned,
    FeatureOff,
    LayerAdded,
    LayerDropped,
    LayerKept,
    LayerRecalled,
    LayersMerged,
    RuleSplit,
)
from devfnn.kernels.concept_state import CALM_CURVE, FIRST_KEPT
from devfnn.arrays import Floats
from devfnn.model.concepts.engine import ConceptEngine
from devfnn.model.concepts.inputs import layer_inputs
from devfnn.model.concepts.learning import forward
from devfnn.model.engines import empty_engine
from devfnn.storage import checks, dump, parse, values
from devfnn.storage.schema import SAMPLES, Axis, axis_of, sample, schema, sizes_of
from devfnn.storage.tree import leaves
from stored import CHUNK, STORIES, concept_file, plain, quick, turning_rows

LABELS = [
    2,
    -(2**80),
    "",
    "ä\ud800\n",
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


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("cut", [1, 9, 13, 17])
def test_learning_goes_on_bit_for_bit_after_loading(name: str, cut: int) -> None:
    story = STORIES[name]
    model = story.model(cut)
    loaded = parse(dump(model))
    assert story.learn(loaded, cut, 20) == story.learn(model, cut, 20)
    assert dump(loaded) == dump(model)
    X, _ = turning_rows(1, seed=8)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.classes == model.classes


def test_the_stories_pass_through_every_structural_step() -> None:
    events = {name: story.learn(story.model(0), 0, 20) for name, story in STORIES.items()}
    kinds = {name: {type(event) for event in found} for name, found in events.items()}
    assert {LayerAdded, LayersMerged} <= kinds["merged"] & kinds["rows, deep"]
    assert DriftWarned in kinds["warned"]
    warned = STORIES["warned"]
    assert any(len(warned.model(cut)._known().buffer) for cut in (9, 13, 17))
    gathered = STORIES["rows, deep"].model(17)._known().gathered
    assert gathered is not None and 0 < gathered.count < 70
    assert np.isnan(STORIES["rows, deep"].model(17)._known().gathered.outputs).any()


@pytest.mark.parametrize("cut", [1, 9, 17])
def test_the_calm_curve_comes_back_from_a_file_and_learns_on(cut: int) -> None:
    story = STORIES["concepts"]
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
    network = model._known()
    assert isinstance(network, ConceptEngine)
    said = forward(network, layer_inputs(network, X, model.config))[:, CALM_CURVE]
    (rule,) = network.state.members[CALM_CURVE, : network.state.n_members[CALM_CURVE]]
    return said, network.state.weights[rule].copy(), network.state.gains[rule].copy()


def test_the_stories_of_concepts_pass_through_every_structural_step() -> None:
    names = [name for name in STORIES if name.startswith("concepts")]
    events = {name: STORIES[name].learn(STORIES[name].model(0), 0, 20) for name in names}
    kinds = {name: {type(event) for event in found} for name, found in events.items()}
    steps = {RuleSplit, CloudsChanged, DriftFound, LayerKept}
    assert steps | {LayerRecalled} <= kinds["concepts"]
    assert steps | {LayerDropped} <= kinds["concepts, rows"]
    assert LayerDropped in kinds["concepts, merged"]
    assert steps | {FeatureOff} <= kinds["concepts, masked"]
    assert steps <= kinds["concepts, lags"]
    assert not steps & kinds["concepts, bare"]
    for cut in (13, 17):  # where the tests above stop and load
        kept = STORIES["concepts"].model(cut)._known().state.kinds[FIRST_KEPT:]
        assert (kept >= 0).any()
        masked = STORIES["concepts, masked"].model(cut)
        assert len(masked._known().gathered)


@pytest.mark.parametrize("config", [plain(chunk_rows=7), quick(chunk_rows=7, lags=1)])
def test_one_row_at_a_time_with_a_save_after_every_row(config: Config) -> None:
    X, y = turning_rows(1)
    steady, saved = DEVFNN(config), DEVFNN(config)
    for x, label in zip(X[:40], y[:40], strict=True):
        saved = parse(dump(saved))
        assert saved.learn_one(x, label) == steady.learn_one(x, label)
    assert dump(saved) == dump(steady)


@pytest.mark.parametrize("name", ["rows, deep", "concepts, masked"])
def test_another_process_writes_the_same_bytes_and_goes_on_the_same(
    name: str, tmp_path: pathlib.Path
) -> None:
    story = STORIES[name]
    model = story.model(16)
    model.save(tmp_path / "model")
    code = (
        "import sys, devfnn; from stored import STORIES; model = devfnn.load(sys.argv[1]);"
        f"STORIES[{name!r}].learn(model, 16, 20); model.save(sys.argv[1])"
    )
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", code, tmp_path / "model"], env=environment, check=True)
    story.learn(model, 16, 20)
    assert (tmp_path / "model").read_bytes() == dump(model)


# ---- nothing is lost


@pytest.mark.parametrize("name", STORIES)
def test_the_same_state_gives_the_same_bytes(name: str) -> None:
    data = dump(STORIES[name].model(12))
    assert dump(STORIES[name].model(12)) == data
    assert dump(parse(data)) == data


@pytest.mark.parametrize("name", ["rows, deep", "concepts, masked"])
def test_every_array_comes_back_ready_for_kernels(name: str) -> None:
    model = STORIES[name].model(17)
    kind = schema(model.config.network)
    before, after = leaves(model._known()), leaves(parse(dump(model))._known())
    assert before.keys() == after.keys() == kind.tensors.keys() | kind.scalars.keys()
    for name in kind.scalars:
        assert after[name] == before[name], name
    for name in kind.tensors:
        np.testing.assert_array_equal(after[name], before[name], strict=True)
        flags = after[name].flags
        assert flags.c_contiguous and flags.writeable and flags.aligned, name
        assert not np.shares_memory(after[name], before[name])


THIRD: dict[str, tuple[list[int], Config]] = {
    "stacked": ([4, 6, 3, 2, 9, 21, 31], Config(lags=14)),
    "concepts": (
        [13, 3, 9, 21, 31],
        Config(lags=14, max_pool=13, max_kept=2, max_boxes=7, max_clouds=41),
    ),
}
"""Sizes that the schema has not seen."""


@pytest.mark.parametrize("kind", SAMPLES)
def test_no_two_axes_can_be_taken_for_each_other(kind: str) -> None:
    lengths = [sizes.lengths(config) for sizes, config in SAMPLES[kind]]
    numbers, config = THIRD[kind]
    third = schema(kind).sizes(*numbers).lengths(config)
    for size, factor, extra in itertools.product(lengths[0], (1, 2, 3), (0, 1)):
        if lengths[0][size] != lengths[1][size]:
            axis = Axis(size, factor, extra)
            found = axis_of(kind, "any", *(axis.length(sample) for sample in lengths))
            assert found.length(third) == axis.length(third), (axis, found)
    with pytest.raises(TypeError, match="any has an axis"):
        axis_of(kind, "any", 20, 42)  # features x classes


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_shapes_of_any_network_are_known_before_it_is_made(kind: str) -> None:
    numbers, config = THIRD[kind]
    sizes = schema(kind).sizes(*numbers)
    network = sample(sizes, config)
    assert sizes_of(network) == sizes
    expected = schema(kind).expected(sizes, config, set())
    arrays = {k: leaf for k, leaf in leaves(network).items() if isinstance(leaf, np.ndarray)}
    assert {name: array.shape for name, array in arrays.items()} == {
        name: shape for name, (_, shape) in expected.items()
    }


def test_nothing_of_a_model_lies_outside_what_is_stored() -> None:
    known = {"config", "_names", "_labels", "_network", "_late", "_logbook", "_query_log"}
    known |= {"_early_purse"}
    made_anew = {"_rows"}
    assert vars(DEVFNN()).keys() == known | made_anew
    assert DEVFNN()._rows is None
    names = {kind: schema(kind).tensors.keys() for kind in SAMPLES}
    for kind, ranges in checks.RANGES.items():
        assert ranges.keys() <= names[kind]
    assert names["stacked"] | names["concepts"] >= values.RAW_ROWS


@pytest.mark.parametrize("kind", [DEVFNN, GClass])
@pytest.mark.parametrize("names", [None, [], ["a", "b"]])
@pytest.mark.parametrize("network", ["stacked", "concepts"])
def test_a_model_that_has_learned_nothing(
    kind: type[DEVFNN], names: list[str] | None, network: Any
) -> None:
    model = kind(Config(network=network, seed=2**63 - 1, vote_floor=1e-300, lags=3), names)
    loaded = parse(dump(model))
    assert type(loaded) is kind
    assert (loaded.config, loaded._names, loaded._network) == (model.config, names, None)
    assert loaded.nbytes == 0


def test_empty_arrays_keep_their_shape() -> None:
    network = parse(dump(STORIES["chunks"].model(3)))._known()
    assert network.buffer.X.shape == (0, 3)
    assert network.scaler.first_rows.shape == (0, 3)
    assert network.gathered is None


def test_numbers_of_numpy_in_the_configuration_come_back_as_plain_ones() -> None:
    config = Config(initial_gain=7, seed=np.int64(5), memory=np.float32(0.75), growing=np.True_)
    loaded = parse(dump(DEVFNN(config)))
    assert loaded.config == config
    assert dump(DEVFNN(Config(initial_gain=7.0, seed=5, memory=0.75))) == dump(loaded)


def test_labels_come_back_as_they_were() -> None:
    loaded = parse(dump(_labelled(LABELS)))
    assert [(type(a), repr(a)) for a in loaded.classes] == [(type(a), repr(a)) for a in LABELS]


plain_labels = st.one_of(
    st.integers(-(2**200), 2**200),
    st.text(),
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
    model._network = empty_engine(1, len(labels), model.config)
    return model


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (frozenset([1]), "frozenset"),
        (("a", None), "NoneType"),
        (("a", float("nan")), "NaN"),
        (2**5000, "too large"),
        ((((((((((1,),),),),),),),),), "nested too deeply"),
        (type("Word", (str,), {})("a"), "Word"),
    ],
)
def test_other_labels_are_refused_before_anything_is_written(
    label: Any, message: str, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(StorageError, match=message):
        _labelled(["a", label]).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_model_gone_wrong_does_not_replace_a_good_file(tmp_path: pathlib.Path) -> None:
    model = STORIES["chunks"].model(3)
    model.save(tmp_path / "model")
    model._known().layers.centers[0, 0, 0] = np.nan
    with pytest.raises(StorageError, match="layers/centers holds NaN"):
        model.save(tmp_path / "model")
    assert load(tmp_path / "model").n_rows == 3 * CHUNK


def test_a_network_that_does_not_fit_its_configuration_is_refused_before_writing() -> None:
    model = STORIES["concepts"].model(1)
    model.config = quick(max_boxes=7)
    with pytest.raises(StorageError, match="tensor 'state/members' is I64"):
        dump(model)
    model.config = plain()
    with pytest.raises(StorageError, match="not of the kind that the configuration says"):
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
@pytest.mark.parametrize("name", ["rows, deep", "concepts, masked"])
def test_pickle_holds_the_same_bytes(protocol: int, name: str) -> None:
    model = STORIES[name].model(17)
    text = pickle.dumps(model, protocol)
    assert text == pickle.dumps(model, protocol)
    assert dump(pickle.loads(text)) == dump(model) == model.__getstate__()


@pytest.mark.parametrize("make", [copy.deepcopy, copy.copy])
@pytest.mark.parametrize("name", ["rows", "concepts, rows"])
def test_a_copy_is_independent(make: Any, name: str) -> None:
    story = STORIES[name]
    model = story.model(5)
    twin, before = make(model), dump(model)
    story.learn(twin, 5, 10)
    assert dump(model) == before
    story.learn(model, 5, 10)
    assert dump(model) == dump(twin)


@pytest.mark.parametrize("name", ["chunks", "concepts", "concepts, lags"])
def test_the_size_of_a_model_is_that_of_its_arrays(name: str) -> None:
    model = STORIES[name].model(9)
    data = dump(model)
    assert 0 < model.nbytes == len(data) - 8 - int.from_bytes(data[:8], "little")


# ---- labels of the past, and features that came later


def test_a_model_with_lags_and_late_features_goes_on_bit_for_bit() -> None:
    model = parse(concept_file())
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
