"""How much memory a file may ask for: it is worked out from sizes, before an array is made."""

import json
import pathlib
import tracemalloc
from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, Config, GClass, StorageError, load
from devfnn.model import presets
from devfnn.model.state import empty_state, state_memory, work_for, work_memory
from devfnn.storage import dump, parse
from devfnn.storage.files import MAX_MEMORY
from storage.stored import (
    OLD_FILES,
    STORIES,
    Change,
    both,
    forged,
    joined,
    put,
    refused,
    rivals_file,
)

ABSURD: dict[str, Change] = {
    "a window": both(
        put("config", "window", "rows", value=10**7),
        put("feature_names", value=[f"x{i}" for i in range(200)]),
    ),
    "trees": both(
        lambda header, tensors: [
            layer.update(max_trees=10**5)
            for layer in header["config"]["layers"]
            if layer["kind"] == "boosted"
        ],
        put("config", "boosted", "depth", value=8),
        put("classes", value=[["int", i] for i in range(20)]),
    ),
    "rules": both(
        put("config", "rules", "max_rules", value=10**5),
        put("feature_names", value=[f"x{i}" for i in range(100)]),
    ),
    "features": put("feature_names", value=[f"x{i}" for i in range(20_000)]),
    "lags": both(
        put("config", "lags", value=100),
        put("classes", value=[["int", i] for i in range(1000)]),
    ),
}


@pytest.mark.parametrize("name", ABSURD)
def test_a_small_file_of_absurd_sizes_is_refused_before_anything_is_made(name: str) -> None:
    data = forged(ABSURD[name], of=dump(DEVFNN()))
    parse(dump(DEVFNN()))
    tracemalloc.start()
    try:
        refused(data, "would take .* bytes of memory, more than the limit .* larger max_memory")
        assert tracemalloc.get_traced_memory()[1] < 2**20 + 20 * len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("features", [10**6, 10**12, 2**61])
def test_a_file_of_an_old_format_is_measured_before_it_is_brought_to_this_one(
    features: int,
) -> None:
    """What was not in such files is made from the header's sizes."""
    old = next(path for path in OLD_FILES if path.stem == "swift").read_bytes()
    data = forged(put("shape", "features", value=features), of=old)
    with pytest.raises(StorageError, match="bytes of memory"):
        parse(data, max_memory=10**9)


def test_memory_that_is_not_there_is_a_word_about_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("devfnn.storage.container.read_tensors", fail)
    refused(rivals_file(), "there is not enough memory")


@pytest.mark.parametrize("count", [101, 10**5])
def test_a_list_of_layers_without_end_is_refused(count: int) -> None:
    layers = [{"kind": "line"}] * count
    data = forged(put("config", "layers", value=layers), of=dump(DEVFNN()))
    refused(data, "a network has at most 100")


def test_inputs_of_a_layer_are_no_more_than_layers_before_it() -> None:
    def repeat(header: dict[str, Any], tensors: Any) -> None:
        header["config"]["layers"].append({"kind": "gaussian", "inputs": [0] * 10**5})

    refused(forged(repeat, of=dump(DEVFNN(presets.stacked()))), "must be numbers of layers before")


def test_the_memory_of_a_model_is_known_before_it_is_made() -> None:
    for name in ("default", "gaussians, accuracy", "rivals, lags"):
        network = STORIES[name].known(9)._known()
        sizes, config = network.sizes, network.config
        made = [part for part in empty_state(sizes, config) if part is not None]
        assert state_memory(sizes, config) == sum(array.nbytes for part in made for array in part)
        work = work_for(tuple(sizes.lengths(config).items()), 0)
        flat = [array for array in work if isinstance(array, np.ndarray)]
        flat += [array for part in work if isinstance(part, tuple) for array in part]
        assert work_memory(sizes, config) == sum(array.nbytes for array in flat)


def test_the_limit_is_the_callers(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(rivals_file())
    for read in (load, DEVFNN.load):
        with pytest.raises(StorageError, match=r"model: the model would take .* larger max_memory"):
            read(path, max_memory=10**4)
        with pytest.raises(StorageError, match="pass a larger max_bytes"):
            read(path, max_bytes=10**3)
        assert dump(read(path, max_memory=10**7)) == rivals_file()
    with pytest.raises(StorageError, match="larger max_memory"):
        parse(rivals_file(), max_memory=10**4)


def test_who_allows_larger_files_allows_the_memory_that_they_take() -> None:
    wide = DEVFNN(Config().replace(window__rows=10**7), feature_names=[f"x{i}" for i in range(60)])
    data = dump(wide)
    refused(data, f"more than the limit of {MAX_MEMORY};")
    assert parse(data, max_bytes=2**35).config == wide.config


def test_a_gclass_has_the_same_limits(tmp_path: pathlib.Path) -> None:
    GClass().save(tmp_path / "model")
    with pytest.raises(StorageError, match="larger max_memory"):
        GClass.load(tmp_path / "model", max_memory=10)


@pytest.mark.parametrize("number", ["7" * 5000, "1e999", "-1e999", "Infinity", "NaN", "-0"])
def test_numbers_that_are_no_counts_are_refused(number: str) -> None:
    text = json.dumps({"format": "?"}).replace('"?"', number)
    refused(joined({"__metadata__": {"devfnn": text}}, b""), "not JSON|holds|no format number")
    refused(joined(f'{{"a": {number}}}', b""), "not JSON|holds|but not a devfnn model")
