"""Files that are not sound models are refused before anything large is allocated."""

import io
import json
import os
import pathlib
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save as save_tensors

from devfnn import StorageError, load
from devfnn.model.layout import Field
from devfnn.storage import dump, parse
from devfnn.storage.container import MAX_HEADER_BYTES
from devfnn.storage.header import FORMAT
from devfnn.storage.layout import expected_fields, sizes_of
from storage.stored import (
    Change,
    Tensors,
    forged,
    joined,
    opened,
    outer_changed,
    poke,
    refused,
    rivals_file,
    signed,
    small_file,
    split,
)


def test_the_forge_makes_sound_files() -> None:
    assert forged(lambda header, tensors: None) == small_file()
    header, tensors = opened(small_file())
    assert signed(header, tensors) == header


# ---- the shell


def a_zip() -> bytes:
    """An archive, as NumPy and PyTorch write them."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("data.pkl", "x" * 100)
    return stream.getvalue()


FOREIGN = {
    "empty": (b"", "empty"),
    "short": (b"\x02\0\0", "only 3 bytes"),
    "zip": (a_zip(), "not a devfnn model"),
    "noise": (np.random.default_rng(0).bytes(5000), "not a devfnn model"),
    "zeros": (bytes(5000), "not a devfnn model"),
    "absurd length": (struct.pack("<Q", 2**64 - 1) + small_file()[8:], "cannot be"),
    "long header": (struct.pack("<Q", MAX_HEADER_BYTES + 1) + bytes(100), "cannot be"),
    "header past the end": (struct.pack("<Q", 10**6) + small_file()[8:], "truncated, or not"),
    "not UTF-8": (struct.pack("<Q", 4) + b'{"\xff}', "not JSON"),
    "not JSON": (joined("{devfnn}", b""), "not JSON"),
    "a number": (joined("12", b""), "not a JSON object"),
    "a huge number": (joined("9" * 5000, b""), "not JSON"),
    "nested": (joined("[" * 10**6, b""), "nested too deeply"),
    "nested objects": (joined('{"a":' * 10**5, b""), "nested too deeply"),
    "NaN": (joined('{"a":NaN}', b""), "holds NaN"),
    "safetensors of something else": (
        save_tensors({"weight": np.zeros(3)}, {"format": "pt"}),
        "but not a devfnn model",
    ),
    "safetensors without metadata": (save_tensors({"w": np.zeros(3)}), "but not a devfnn model"),
    "metadata of another kind": (joined({"__metadata__": {"devfnn": 1}}, b""), "but not a devfnn"),
    "more metadata": (
        outer_changed(lambda outer: outer["__metadata__"].update(author="me")),
        "more than the devfnn header",
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files(name: str) -> None:
    refused(*FOREIGN[name])


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.3, 0.6, 0.9, 0.9999])
def test_truncated_files(share: float, tmp_path: pathlib.Path) -> None:
    data = small_file()[: int(share * len(small_file()))]
    refused(data, "empty|truncated|only")
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(StorageError, match=r"model: .*(empty|truncated|only)"):
        load(tmp_path / "model")


def test_bytes_after_the_end() -> None:
    refused(small_file() + b"\0", "1 surplus bytes")


def test_a_key_that_occurs_twice() -> None:
    outer, body = split(small_file())
    text = json.dumps(outer)
    refused(joined(text[:-1] + ',"layers/decays":{}}', body), "a key occurs twice")
    own = f'"format":{FORMAT}'
    inner = outer["__metadata__"]["devfnn"].replace(own, f"{own},{own}")
    outer["__metadata__"]["devfnn"] = inner
    refused(joined(outer, body), "a key occurs twice")


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"shape": [2**40]}, "its shape asks for 8796093022208"),
        ({"shape": [2**32, 2**32, 2**32]}, "impossible shape|asks for"),
        ({"shape": [2**31] * 8}, "asks for"),
        ({"shape": [1] * 9}, "impossible shape"),
        ({"shape": [-1]}, "impossible shape"),
        ({"shape": [1.0]}, "impossible shape"),
        ({"shape": [True]}, "impossible shape"),
        ({"shape": 1}, "impossible shape"),
        ({"data_offsets": [0]}, "impossible offsets"),
        ({"data_offsets": [0, -8]}, "impossible offsets"),
        ({"data_offsets": [8, 0]}, "has -8 bytes"),
        ({"data_offsets": [0, 2**63]}, "impossible offsets"),
        ({"shape": [2**40], "data_offsets": [0, 2**43]}, "gap or overlap|truncated"),
        ({"dtype": "F16"}, "has type 'F16'"),
        ({"dtype": ["F64"]}, "has type"),
        ({"stride": 1}, "in an unknown way"),
    ],
)
def test_impossible_tensors(about: dict[str, Any], message: str) -> None:
    refused(outer_changed(lambda outer: outer["layers/decays"].update(about)), message)


def test_tensors_that_share_their_bytes() -> None:
    def overlap(outer: dict[str, Any]) -> None:
        outer["layers/decays"] = outer["layers/voting_weights"]

    refused(outer_changed(overlap), "gap or overlap")


def test_a_file_larger_than_the_limit_is_not_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(small_file())
    size = len(small_file())
    with pytest.raises(StorageError, match=f"{size} bytes, more than the limit of {size - 1}"):
        load(path, max_bytes=size - 1)
    assert dump(load(path, max_bytes=size)) == small_file()
    with pytest.raises(StorageError, match="more than the limit"):
        parse(small_file(), max_bytes=100)
    os.truncate(path, 2**30 + 1)
    with pytest.raises(StorageError, match="more than the limit of 1073741824"):
        load(path)


# ---- the tensors


def retype(name: str, make: Callable[[Any], Any]) -> Change:
    """Replace a tensor."""

    def change(header: dict[str, Any], tensors: Tensors) -> None:
        tensors[name] = make(tensors.get(name))

    return change


TENSORS: dict[str, tuple[Change, str]] = {
    "one is missing": (lambda header, tensors: tensors.pop("layers/decays"), "decays' is missing"),
    "one too many": (retype("scaler/extra", lambda _: np.zeros(2)), "does not belong"),
    "whole numbers for fractions": (
        retype("layers/decays", lambda array: array.astype(np.int64)),
        r"decays' is I64 \[1\], not F64",
    ),
    "another shape": (retype("gaussians/centers", lambda array: array.T.copy()), "centers' is F64"),
    "no axis": (
        retype("layers/decays", lambda array: array.reshape(-1)[0:1].reshape(())),
        r"is F64 \[\], not",
    ),
    "NaN in a centre": (poke("gaussians/centers", np.nan), "gaussians/centers holds NaN or inf"),
    "infinity in a consequent": (poke("gaussians/consequents", np.inf), "consequents holds NaN or"),
    "infinity in the buffer": (poke("buffer/X", -np.inf), "buffer/X holds NaN or infinity"),
    "a value beyond all in the buffer": (poke("buffer/X", 1e101), "buffer/X holds NaN or inf"),
    "infinity in the first rows": (poke("scaler/first_rows", np.inf), "first_rows holds NaN"),
    "NaN from a live layer": (poke("gathered/outputs", np.nan), "gathered/outputs holds NaN"),
    "an unknown status": (poke("gaussians/status", 3), "gaussians/status holds 3"),
    "a status below 0": (poke("gaussians/status", -1), "gaussians/status holds -1"),
    "an age below 0": (poke("gaussians/ages", -1), "gaussians/ages holds -1"),
    "a counter below 0": (poke("gaussians/counters", -1), "gaussians/counters holds -1"),
    "voting weight 0": (poke("layers/voting_weights", 0.0), "voting_weights holds 0"),
    "voting weight over 1": (poke("layers/voting_weights", 1.01), "voting_weights holds 1.01"),
    "decay over 1": (poke("layers/decays", 1.5), "decays holds 1.5"),
    "population 0": (poke("gaussians/populations", 0.0), "populations holds 0.0"),
    "a width below 0": (poke("scaler/width", -1.0), "scaler/width holds -1.0"),
    "weights below 0": (poke("buffer/weights", -1.0), "buffer/weights holds -1.0"),
    "an error of 2": (poke("gathered/errors", 2), "gathered/errors holds 2"),
    "a buffered class that is not there": (poke("buffer/labels", 2), "buffer holds rows of"),
    "a gathered class that is not there": (poke("gathered/labels", 9), "gathered holds rows"),
    "a class below 0": (poke("buffer/labels", -1), "buffer/labels holds -1"),
    "other inputs": (poke("gaussians/n_inputs", 4), "numbers of inputs"),
    "every layer merged": (poke("layers/is_merged", True), "every layer is merged"),
    "a variance below 0": (poke("gaussians/covs", -1.0, (0, 0, 0, 0)), "variance that is not pos"),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_that_no_model_has(name: str) -> None:
    change, message = TENSORS[name]
    refused(forged(change), message)


FILES = {"gaussians": small_file(), "rivals": rivals_file()}
"""Models with every part of a state."""


def fields_of(data: bytes) -> dict[str, Field]:
    """What the layouts say of the tensors of a file."""
    network = parse(data)._known()
    fields = expected_fields(sizes_of(network), network.config)
    return {name: field for name, (field, _) in fields.items() if field.dtype.kind != "b"}


TENSORS_OF = [(kind, name) for kind, data in FILES.items() for name in fields_of(data)]


@pytest.mark.parametrize(("kind", "name"), TENSORS_OF)
def test_no_tensor_may_leave_its_range(kind: str, name: str) -> None:
    field = fields_of(FILES[kind])[name]
    worst = -2 if field.dtype.kind == "i" else -np.inf if name == "pool/highs" else np.inf
    refused(forged(poke(name, worst), of=FILES[kind]), f"{name} holds")
    beyond = [limit for limit in (field.low, field.high) if limit is not None and abs(limit) < 1e9]
    for value in (limit + step for limit in beyond for step in (-1, 1)):
        is_low, is_high = (value < (field.low or 0), value > (field.high or np.inf))
        if is_low or is_high:
            refused(forged(poke(name, value), of=FILES[kind]), f"{name} holds {value}")


def test_flags_that_are_neither_true_nor_false() -> None:
    def change(header: dict[str, Any], tensors: Tensors) -> None:
        tensors["feature_mask"].view(np.uint8)[0] = 2

    refused(forged(change), "feature_mask holds flags")


def test_missing_values_are_legal_where_rows_are_kept() -> None:
    def change(header: dict[str, Any], tensors: Tensors) -> None:
        for name in ("buffer/X", "scaler/first_rows", "gathered/X"):
            tensors[name][0, 0] = np.nan

    assert np.isnan(parse(forged(change))._known().buffer.X[0, 0])
