"""Fleets in files: they go on bit for bit; hostile files are refused before anything is made."""

import functools
import pathlib
import pickle
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save as save_tensors

from devfnn import DEVFNN, Config, Fleet, GClass, StorageError, load
from devfnn.kernels.state import MEMORY, ROWS
from devfnn.storage import parse
from devfnn.storage.fleets import dump_fleet, parse_fleet
from devfnn.storage.header import FORMAT
from scenes import swift
from storage.stored import GOLDEN, Change, opened, poke, put, signed, small_file, text_of

SMALL = swift(
    chunk_rows=40,
    rules__max_rules=9,
    boxes__max_rules=3,
    boxes__evidence=3.0,
    boxes__every=50,
    clouds__max_rules=4,
    growing__max_kept=2,
    drift__significance=0.01,
)
DEEP = Config().replace(
    window__rows=60, layers__max_trees=6, layers__trees=2, rules__max_rules=12, boxes__max_rules=3
)
CONFIGS = {
    "small": SMALL,
    "unscaled": SMALL.replace(scaling="none"),
    "gaps and a budget": SMALL.replace(missing="skip", labels__budget=0.3),
    "default": DEEP,
    "weights": SMALL.replace(class_weights={"a": 2.0}),
}
KEPT_FLEETS = sorted(GOLDEN.glob("format*/fleets/*.devfnn"))
"""Fleets that were saved when their format was new."""


def rows(n_rows: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows of four models; the classes turn half way."""
    rng = np.random.default_rng(seed)
    ids, X = rng.integers(0, 4, n_rows), rng.random((n_rows, 2))
    above = (X[:, 0] > ids / 4.0) ^ (np.arange(n_rows) > n_rows // 2)
    return ids, 3.0 * X, np.array(["a", "b"])[above.astype(int)]


def fleet_of(config: Config, n_rows: int = 600) -> Fleet:
    """A fleet after so many rows; the last of its five models has none."""
    fleet = Fleet(5, 2, ["a", "b"], config, ["u", "v"])
    fleet.learn(*rows(n_rows))
    return fleet


@functools.cache
def fleet_file() -> bytes:
    """A small fleet."""
    return dump_fleet(fleet_of(SMALL))


def forged(change: Change) -> bytes:
    """The fleet with something changed, and a right checksum."""
    header, tensors = opened(fleet_file())
    change(header, tensors)
    return save_tensors(tensors, {"devfnn": text_of(signed(header, tensors))})


# ---- nothing is lost


@pytest.mark.parametrize("name", CONFIGS)
def test_a_fleet_goes_on_bit_for_bit_after_loading(name: str, tmp_path: pathlib.Path) -> None:
    fleet, later = fleet_of(CONFIGS[name]), rows(400, seed=1)
    fleet.save(tmp_path / "fleet.devfnn")
    again = Fleet.load(tmp_path / "fleet.devfnn")
    assert (tmp_path / "fleet.devfnn").read_bytes() == dump_fleet(fleet) == dump_fleet(again)
    assert again.feature_names == ["u", "v"] and again.classes == ["a", "b"]
    for ids, X, y in (later, rows(400, seed=2)):
        np.testing.assert_array_equal(fleet.predict_proba(ids, X), again.predict_proba(ids, X))
        fleet.learn(ids, X, y)
        again.learn(ids, X, y)
    assert dump_fleet(fleet) == dump_fleet(again)
    assert (fleet.n_drifts == again.n_drifts).all() and fleet.nbytes == again.nbytes
    assert again.model(2).rules()


def test_a_fleet_that_has_learned_nothing_can_be_saved() -> None:
    fleet = Fleet(2, 3, [0, 1], SMALL)
    again = parse_fleet(dump_fleet(fleet))
    assert dump_fleet(again) == dump_fleet(fleet) and again._names is None


def test_a_pickled_fleet_is_its_file() -> None:
    fleet = fleet_of(SMALL)
    assert fleet.__getstate__() == fleet_file()
    assert dump_fleet(pickle.loads(pickle.dumps(fleet))) == fleet_file()


@pytest.mark.parametrize("path", KEPT_FLEETS, ids=lambda path: path.parent.parent.name)
def test_fleets_of_every_format_are_read(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they come to is in the golden results."""
    data = path.read_bytes()
    header = opened(data)[0]
    monkeypatch.setattr("devfnn.__version__", header["library"])
    assert (dump_fleet(Fleet.load(path)) == data) == (header["format"] == FORMAT)


def test_there_is_a_fleet_of_this_format() -> None:
    assert KEPT_FLEETS[-1].parents[1].name == f"format{FORMAT}"


def test_a_fleet_gone_wrong_is_not_saved(tmp_path: pathlib.Path) -> None:
    fleet = fleet_of(SMALL)
    fleet._states.layers.scores[3, 0] = np.nan
    with pytest.raises(StorageError, match="layers/scores holds NaN"):
        fleet.save(tmp_path / "fleet")
    assert not list(tmp_path.iterdir())


# ---- files of another kind


def test_each_kind_of_file_says_what_reads_it(tmp_path: pathlib.Path) -> None:
    fleet_of(SMALL).save(tmp_path / "fleet")
    DEVFNN().save(tmp_path / "model")
    for read in (load, DEVFNN.load, GClass.load):
        with pytest.raises(StorageError, match=r"holds a Fleet; read it with Fleet\.load"):
            read(tmp_path / "fleet")
    with pytest.raises(StorageError, match=r"holds a DEVFNN, not a Fleet; .* devfnn\.load"):
        Fleet.load(tmp_path / "model")
    with pytest.raises(StorageError, match="not a Fleet"):
        parse_fleet(small_file())


def test_a_subclass_cannot_be_saved() -> None:
    class Own(Fleet):
        pass

    with pytest.raises(StorageError, match="a Own cannot be saved"):
        dump_fleet(Own(2, 2, [0, 1], SMALL))


# ---- what no fleet holds

BAD: dict[str, tuple[Change, str]] = {
    "more models": (put("shape", "models", value=6), r"is \w+ \[5.*not \w+ \[6"),
    "more models than fit into memory": (
        put("shape", "models", value=10**9),
        "would take .* bytes of memory, more than the limit .* larger max_memory",
    ),
    "no model": (put("shape", "models", value=0), "a size of 0"),
    "features beyond all": (put("shape", "features", value=10**9), "bytes of memory"),
    "a size with fraction": (put("shape", "models", value=5.0), "shape .* impossible"),
    "another size": (put("shape", "slots", value=5), "malformed"),
    "more classes": (put("shape", "classes", value=3), "is .* not"),
    "another class twice": (put("classes", value=[["str", "a"]] * 2), "more than once"),
    "more labels": (
        put("classes", value=[["str", "a"], ["str", "b"], ["str", "c"]]),
        "classes does not fit",
    ),
    "names that are too many": (put("feature_names", value=["a"]), "1 feature names for 2"),
    "a wrong counter": (put("counters", "scaler/n_first", value=-1), "n_first is impossible"),
    "fewer rows than kept": (
        lambda header, tensors: (
            header["shape"].update(first_rows=3),
            header["counters"].update({"scaler/n_first": 2}),
            tensors.update({"scaler/first_rows": np.zeros((3, 2))}),
        ),
        "keeps more rows than it has seen",
    ),
    "another field": (put("late", value=[]), "other fields"),
    "merging, which no fleet has": (
        put("config", "merging", value={"form": "disagreement", "share": 0.01}),
        "not one of a Fleet",
    ),
    "an absent array": (lambda header, tensors: tensors.pop("pool/ages"), "'pool/ages' is missing"),
    "an array too many": (
        lambda header, tensors: tensors.update({"pool/x": np.zeros(1)}),
        "does not belong",
    ),
    "a value out of range": (poke("layers/scores", 2.0, (4, 0)), "layers/scores holds 2"),
    "a rule of no layer": (poke("pool/owners", 99, (3, 0)), "contradict|no layer|another layer"),
    "more labels than rows": (poke("counts/n_labels", 10**6, 1), "contradict each other"),
    "a memory of none": (poke("progress/signals", 1.0, (2, MEMORY)), "memory in progress"),
    "more counted than learned": (poke("progress/counts", 10**6, (0, ROWS)), "contradict"),
    "a count below 0": (poke("counts/n_drifts", -1, 0), "counts/n_drifts holds -1"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_no_fleet_holds_is_refused(name: str) -> None:
    change, message = BAD[name]
    with pytest.raises(StorageError, match=message):
        parse_fleet(forged(change))


def test_the_forge_makes_sound_files() -> None:
    assert forged(lambda header, tensors: None) == fleet_file()


def test_a_changed_byte_is_noticed() -> None:
    for place in np.random.default_rng(0).integers(0, len(fleet_file()), 300).tolist():
        data = bytearray(fleet_file())
        data[place] ^= 1
        with pytest.raises(StorageError):
            parse_fleet(bytes(data))


def test_limits_are_those_of_models(tmp_path: pathlib.Path) -> None:
    fleet_of(SMALL).save(tmp_path / "fleet")
    with pytest.raises(StorageError, match="pass a larger max_bytes"):
        Fleet.load(tmp_path / "fleet", max_bytes=1000)
    with pytest.raises(StorageError, match="pass a larger max_memory"):
        Fleet.load(tmp_path / "fleet", max_memory=10**4)
    assert Fleet.load(tmp_path / "fleet", max_memory=10**7).n_models == 5


def test_a_model_is_not_read_as_a_fleet_of_one() -> None:
    with pytest.raises(StorageError, match="holds a Fleet"):
        parse(fleet_file())
