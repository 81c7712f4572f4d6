"""Hostile files: whatever the bytes, a model is read unchanged or refused, in little memory."""

import json
import os
import pathlib
import re
import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as save_tensors

from devfnn import DEVFNN, StorageError, __version__, load
from devfnn.storage import dump, parse
from storage.stored import (
    CHUNK,
    both,
    forged,
    opened,
    outer_changed,
    put,
    rivals_file,
    signed,
    small_file,
    text_of,
)

FILES = [small_file(), rivals_file()]
"""Models with every part of a state."""

# ---- memory


def peak_of(action: Callable[[], Any]) -> int:
    """Bytes allocated at the worst moment of an action that is refused."""
    tracemalloc.start()
    try:
        with pytest.raises(StorageError):
            action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def claim_of(name: str) -> Callable[[dict[str, Any]], None]:
    """Let a tensor claim to be huge."""

    def claim(outer: dict[str, Any]) -> None:
        start = outer[name]["data_offsets"][0]
        about = {"dtype": "F64", "shape": [2**40], "data_offsets": [start, start + 2**43]}
        outer[name] = about

    return claim


def terabytes() -> dict[str, bytes]:
    """Small files that claim to be huge."""
    rivals = rivals_file()
    rooms = both(
        put("config", "boxes", "max_rules", value=1000),
        put("config", "clouds", "max_rules", value=10**5),
        put("config", "growing", "max_kept", value=50),
    )
    rows = both(
        put("config", "chunk_rows", value=10**7),
        put("shape", "gathered_rows", value=10**7 - 1),
        put("shape", "gathered_outputs", value=10**7 - 1),
    )
    features = both(put("shape", "features", value=10**12), put("feature_names", value=None))
    return {
        "a tensor": outer_changed(claim_of("gaussians/centers")),
        "the layers": forged(put("shape", "layers", value=10**4)),
        "the slots": forged(put("shape", "slots", value=10**9)),
        "slots of no layer": forged(put("shape", "slots", value=10**9), of=rivals),
        "the rows": forged(rows),
        "the header": struct.pack("<Q", 2**43) + small_file()[8:],
        "a tensor of rules": outer_changed(claim_of("pool/weights"), of=rivals),
        "the rules": forged(put("config", "rules", "max_rules", value=1000), of=rivals),
        "the first rows": forged(put("shape", "first_rows", value=10**12), of=rivals),
        "the parameters": forged(rooms, of=rivals),
        "the features": forged(features, of=rivals),
    }


@pytest.mark.parametrize("name", terabytes())
def test_a_file_that_claims_terabytes_allocates_little(name: str) -> None:
    data = terabytes()[name]
    for file in FILES:
        parse(file)
    assert peak_of(lambda: parse(data)) < 20 * len(small_file()) + 2**18


def test_a_large_foreign_file_is_not_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(small_file())
    os.truncate(path, 2**30)
    assert peak_of(lambda: load(path)) < 20 * len(small_file()) + 2**18


# ---- anything at all


def unharmed(data: bytes, of: bytes) -> None:
    """The bytes are refused, or are the model they were made from to the last bit."""
    try:
        model = parse(data)
    except StorageError as error:
        assert re.search(r"\w", str(error))
    else:
        assert dump(model) == of


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.data())
def test_flipped_bytes_never_give_another_model(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from(FILES))
    damaged = bytearray(whole)
    header_end = 8 + int.from_bytes(damaged[:8], "little")
    end = data.draw(st.sampled_from([8, header_end, len(damaged)]))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, end - 1))] ^= data.draw(st.integers(1, 255))
    unharmed(bytes(damaged), whole)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(0, 100), st.binary(max_size=20))
def test_cut_and_spliced_files_never_give_another_model(at: int, gone: int, put_in: bytes) -> None:
    data = small_file()
    at %= len(data) + 1
    unharmed(data[:at], data)
    unharmed(data[:at] + put_in + data[at + gone :], data)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.binary(max_size=300))
def test_noise_is_refused(data: bytes) -> None:
    unharmed(data, b"")
    unharmed(struct.pack("<Q", len(data)) + data, b"")


texts = st.text(st.characters(), max_size=3)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner),
    max_leaves=5,
)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.data())
def test_a_signed_header_with_anything_in_it_is_refused_or_read(data: st.DataObject) -> None:
    header, tensors = opened(data.draw(st.sampled_from(FILES)))
    place, key = header, data.draw(st.sampled_from(sorted(header)))
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
        place = place[key]
        keys = range(len(place)) if isinstance(place, list) else sorted(place)
        key = data.draw(st.sampled_from(keys))
    place[key] = data.draw(json_values.filter(lambda value: "inf" not in json.dumps(value).lower()))
    forgery = save_tensors(tensors, {"devfnn": text_of(signed(header, tensors))})
    try:
        again = dump(parse(forgery))
    except StorageError:
        return
    assert opened(again)[0] == signed(header | {"library": __version__}, tensors)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.data())
def test_signed_tensors_with_any_numbers_are_refused_or_read(data: st.DataObject) -> None:
    header, tensors = opened(data.draw(st.sampled_from(FILES)))
    name = data.draw(st.sampled_from(sorted(tensors)))
    raw = tensors[name].reshape(-1).view(np.uint8)
    start = data.draw(st.integers(0, max(raw.size - 8, 0)))
    noise = data.draw(st.binary(min_size=8, max_size=8))
    raw[start : start + 8] = np.frombuffer(noise, np.uint8)[: raw[start : start + 8].size]
    forgery = save_tensors(tensors, {"devfnn": text_of(signed(header, tensors))})
    try:
        model = parse(forgery)
    except StorageError:
        return
    assert opened(dump(model))[1][name].tobytes() == tensors[name].tobytes()
    use(model)


def use(model: DEVFNN) -> None:
    """Whatever is read can be used: no index is out of bounds, nothing hangs or falls over."""
    X = np.random.default_rng(3).random((CHUNK, len(model.feature_names)))
    names = [model.classes[row % len(model.classes)] for row in range(len(X))]
    with np.errstate(all="ignore"):
        model.predict_proba(X)
        model.wants_label(X)
        model.rules(archived=True)
        model.learn_rows(X[:20], names[:20])
        model.learn(X[20:], names[20:])
