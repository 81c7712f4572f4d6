"""Headers that no model can have are refused, even with a right checksum."""

import pathlib
from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, StorageError, load
from devfnn.events import ClassAdded
from devfnn.storage import dump, parse
from storage.stored import (
    Change,
    Tensors,
    forged,
    joined,
    opened,
    put,
    refused,
    small_file,
    split,
    text_of,
)


def drop(*keys: str) -> Change:
    """Remove one entry of the header."""

    def change(header: dict[str, Any], tensors: Tensors) -> None:
        for key in keys[:-1]:
            header = header[key]
        del header[keys[-1]]

    return change


HEADERS: dict[str, tuple[Change, str]] = {
    "a later format": (
        put("format", value=8),
        "format 8, this version reads formats 6 to 7; upgrade devfnn",
    ),
    "an older format": (
        put("format", value=1),
        "format 1, this version reads formats 6 to 7; train anew",
    ),
    "format 0": (put("format", value=0), "no format number"),
    "format true": (put("format", value=True), "no format number"),
    "no format": (drop("format"), "no format number"),
    "an unknown field": (put("hook", value="os.system"), "other fields than a model"),
    "a missing field": (drop("counters"), "malformed .*counters"),
    "an unknown class": (put("class", value="os.system"), "'os.system', which is not known"),
    "a class of another type": (put("class", value=["DEVFNN"]), "malformed"),
    "a version of another type": (put("library", value=1), "library version"),
    "an unknown parameter": (put("config", "hook", value=1), "hook"),
    "a missing parameter": (drop("config", "gaussian", "memory"), "'config' in the header is not"),
    "a missing section": (drop("config", "labels"), "gaussian layers choose rows"),
    "an unknown section": (put("config", "labels", "hook", value=1), "hook"),
    "an unknown form": (put("config", "voting", "form", value="x"), "voting has no form 'x'"),
    "a form of another type": (put("config", "voting", "form", value=[]), "voting has no form"),
    "a section of a kind that is not there": (
        put("config", "clouds", value={"max_rules": 5}),
        "clouds is set, but the network has no such layer",
    ),
    "no layers": (put("config", "layers", value=[]), "layers must be one or more"),
    "a layer of another type": (put("config", "layers", value=["gaussian"]), "Layer must be an"),
    "a layer of an unknown kind": (
        put("config", "layers", value=[{"kind": "x"}]),
        "layer is one of",
    ),
    "a kind of another type": (put("config", "layers", value=[{"kind": []}]), "malformed"),
    "a name of another type": (
        put("config", "layers", value=[{"kind": "gaussian", "name": 7}]),
        "name of a layer must be a text",
    ),
    "a parameter out of range": (
        put("config", "gaussian", "memory", value=2.0),
        "memory must be between",
    ),
    "a parameter out of its choices": (
        put("config", "voting", "ballots", value="x"),
        "ballots must be one of",
    ),
    "a choice of another type": (
        put("config", "voting", "ballots", value=[]),
        "ballots must be one of",
    ),
    "a number as text": (put("config", "gaussian", "memory", value="1"), "memory must be"),
    "a flag as number": (
        put("config", "gaussian", "growing", value=1),
        "growing must be|not complete",
    ),
    "a count with fraction": (put("config", "seed", value=1.0), "seed must be"),
    "no configuration": (put("config", value=[]), "a configuration is an object"),
    "names of another type": (
        put("feature_names", value=[1, 2, 3]),
        "'feature_names' in the header is not",
    ),
    "a name twice": (put("feature_names", value=["a", "a", "b"]), "'a' is named more than once"),
    "too few names": (put("feature_names", value=["a"]), "feature names does not fit"),
    "too few classes": (put("classes", value=[["str", "a"]]), "classes does not fit"),
    "one class twice": (put("classes", value=[["int", 1], ["float", "0x1p0"]]), "more than once"),
    "classes of another type": (put("classes", value={}), "classes does not fit"),
    "an untagged label": (put("classes", value=["a", "b"]), "malformed"),
    "an unknown tag": (put("classes", value=[["set", []], ["int", 1]]), "malformed"),
    "a known form of an unknown tag": (
        put("classes", value=[["set", "00"], ["int", 1]]),
        "malformed",
    ),
    "a tag that is no text": (put("classes", value=[[[], "00"], ["int", 1]]), "malformed"),
    "a wrong tag": (
        put("classes", value=[["int", True], ["int", 2]]),
        "'classes' in the header is not",
    ),
    "a NaN label": (put("classes", value=[["float", "nan"], ["int", 1]]), "label .* is missing"),
    "a huge float": (put("classes", value=[["float", "0x1p9999"], ["int", 1]]), "malformed"),
    "odd bytes": (put("classes", value=[["bytes", "abc"], ["int", 1]]), "malformed"),
    "a size of 0": (put("shape", "slots", value=0), "number of slots does not fit"),
    "a size below 0": (put("shape", "buffer_rows", value=-1), "shape .* impossible"),
    "a size with fraction": (put("shape", "layers", value=1.0), "shape .* impossible"),
    "a size beyond all": (put("shape", "layers", value=2**62), "shape .* impossible"),
    "no layer": (put("shape", "layers", value=0), "size of 0"),
    "more layers than can be": (put("shape", "layers", value=7), "number of layers does not fit"),
    "more slots": (put("shape", "slots", value=10**12), "would take .* bytes of memory"),
    "more buffered rows": (put("shape", "buffer_rows", value=10**12), "tensor 'buffer/X' is"),
    "more features": (put("shape", "features", value=10**9), "does not fit"),
    "a missing size": (drop("shape", "slots"), "malformed .*slots"),
    "nothing learned": (put("shape", value=None), "does not belong to a model"),
    "more lags": (put("config", "lags", value=2), "does not fit the shape"),
    "lags for all columns": (put("config", "lags", value=3), "no room for a feature"),
    "late features among the first": (put("late", value=[2]), "no columns of the shape"),
    "late features beyond the last": (put("late", value=[5]), "no columns of the shape"),
    "late features without lags": (
        lambda header, tensors: (
            header["config"].update(lags=0),
            header.update(late=[4], feature_names=None),
        ),
        "no columns of the shape",
    ),
    "late features of another type": (put("late", value=["2"]), "shape .* impossible"),
    "gathered rows without outputs": (
        put("shape", "gathered_outputs", value=0),
        "gathered outputs does not fit",
    ),
    "a counter below 0": (put("counters", "n_rows", value=-1), "n_rows is impossible"),
    "a counter beyond all": (put("counters", "n_rows", value=2**63), "n_rows is impossible"),
    "a counter of another type": (put("counters", "n_rows", value=1.5), "n_rows is impossible"),
    "an unknown counter": (put("counters", "rows", value=1), "'counters' in the header is not"),
    "a missing counter": (drop("counters", "n_rows"), "malformed .*n_rows"),
    "more gathered than room": (put("shape", "gathered_rows", value=8), "does not fit chunk_rows"),
    "a smaller step": (put("config", "chunk_rows", value=5), "does not fit chunk_rows"),
    "more labels than rows": (put("counters", "n_labels", value=10**6), "contradict"),
    "fewer rows than kept": (put("counters", "scaler/n_first", value=1), "more rows than it has"),
    "a configuration of another class": (put("class", value="GClass"), "not one of a GClass"),
    "no notes": (drop("notes"), "malformed .*notes"),
    "notes of another type": (put("notes", value=[]), "malformed"),
    "other notes": (put("notes", "hook", value=1), "'notes' in the header is not"),
    "an unknown event": (
        put("notes", "events", value=[{"kind": "os.system", "row": 1}]),
        "no event 'os.system'",
    ),
    "an event of another type": (put("notes", "events", value=[1]), "malformed"),
    "an event before all rows": (
        put("notes", "events", value=[{"kind": "ClassAdded", "row": -1, "label": "", "index": 0}]),
        "no row",
    ),
    "events beyond all": (
        lambda header, tensors: header["notes"].update(
            events=1001 * [ClassAdded(0, "", 0).to_dict()], n_events=1001, since=0
        ),
        "'notes' in the header is not",
    ),
    "fewer events than there are": (put("notes", "n_events", value=-1), "count what cannot be"),
    "a query of another type": (put("notes", "queries", value=[[1, 2]]), "malformed"),
    "a query for no reason": (
        put("notes", "queries", value=[[1, "os.system", 0.5, None]]),
        "query .* malformed",
    ),
    "NaN not allowed": (put("config", "missing", value="error"), "holds NaN"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_no_model_has(name: str) -> None:
    change, message = HEADERS[name]

    def change_with_gap(header: dict[str, Any], tensors: Tensors) -> None:
        if name == "NaN not allowed":
            tensors["buffer/X"][0, 0] = np.nan
        change(header, tensors)

    refused(forged(change_with_gap), message)


def test_a_file_of_format_3_is_refused_by_its_format_alone(tmp_path: pathlib.Path) -> None:
    """The message says what can read it; nothing but the format is looked at."""
    outer = {"__metadata__": {"devfnn": text_of({"format": 3, "library": "0.1.0", "config": 7})}}
    path = tmp_path / "model"
    path.write_bytes(joined(outer, b""))
    before = path.read_bytes()
    message = (
        "model: the file has format 3, this version reads formats 6 to 7; devfnn 0.1.0 can read it"
    )
    with pytest.raises(StorageError, match=message):
        load(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_devfnn_header_that_is_no_object() -> None:
    refused(joined({"__metadata__": {"devfnn": "[1]"}}, b""), "header is not a JSON object")


def test_a_header_without_checksum_or_with_a_wrong_one() -> None:
    refused(forged(drop("sha256"), sign=False), "no checksum")
    refused(forged(put("sha256", value=3), sign=False), "no checksum")
    refused(forged(put("sha256", value="0" * 64), sign=False), "does not match its checksum")


@pytest.mark.parametrize("key", ["config", "counters", "feature_names", "library"])
def test_the_checksum_covers_the_header(key: str) -> None:
    def change(header: dict[str, Any], tensors: Tensors) -> None:
        match key:
            case "config":
                header[key]["seed"] = 75
            case "counters":
                header[key]["n_rows"] += 1
            case "feature_names":
                header[key][0] = "rot"
            case _:
                header[key] = "9"

    refused(forged(change, sign=False), "does not match its checksum")
    assert dump(parse(forged(change)))


def test_the_checksum_covers_which_tensor_is_which() -> None:
    def swap(header: dict[str, Any], tensors: Tensors) -> None:
        low, width = tensors["scaler/low"], tensors["scaler/width"]
        tensors["scaler/low"], tensors["scaler/width"] = width, low

    refused(forged(swap, sign=False), "does not match its checksum")


def test_numbers_beyond_all_are_no_json() -> None:
    text = text_of(opened(small_file())[0]).replace('"seed":0', '"seed":1e999')
    outer, body = split(small_file())
    outer["__metadata__"]["devfnn"] = text
    refused(joined(outer, body), "the header holds 1e999")


@pytest.mark.parametrize("depth", [100, 900, 5000])
def test_a_header_nested_deeply_is_refused(depth: int) -> None:
    nested = "[" * depth + "]" * depth
    text = text_of(opened(small_file())[0]).replace('"late":[]', f'"late":[],"hook":{nested}')
    outer, body = split(small_file())
    outer["__metadata__"]["devfnn"] = text
    refused(joined(outer, body), "malformed|nested too deeply|checksum")


@pytest.mark.parametrize("key", ["late", "counters"])
def test_a_model_that_has_learned_nothing_has_nothing(key: str) -> None:
    value = {"late": [2], "counters": {"n_rows": 1}}[key]
    refused(forged(put(key, value=value), of=dump(DEVFNN())), f"'{key}' in the header is not")
