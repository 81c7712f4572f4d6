"""Models worth storing, and files that are almost right."""

import dataclasses
import functools
import hashlib
import json
import pathlib
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from build import count
from devfnn import DEVFNN, Config, GClass, StorageError
from devfnn.arrays import Floats, Ints
from devfnn.events import Event
from devfnn.model.config import ByAccuracy
from devfnn.model.rows import Rows
from devfnn.storage import dump, parse
from devfnn.storage.header import FORMAT, OLDEST_FORMAT
from golden.flat import flat

CHUNK = count(100, 50)
Tensors = dict[str, np.ndarray[Any, np.dtype[Any]]]
Change = Callable[[dict[str, Any], Tensors], Any]
GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
KEPT_FILES = sorted((GOLDEN / f"format{FORMAT}").glob("*.devfnn"))
"""Models that were saved when the format was new."""
OLD_FILES = [
    path
    for number in range(OLDEST_FORMAT, FORMAT)
    for path in sorted((GOLDEN / f"format{number}").glob("*.devfnn"))
]
"""The same of formats before this one."""


def turning_rows(n_chunks: int, seed: int = 3) -> tuple[Floats, Ints]:
    """Rows of three features whose classes swap at 2/5 and 7/10."""
    n_rows = n_chunks * CHUNK
    X = np.random.default_rng(seed).random((n_rows, 3))
    y = (X[:, 0] + X[:, 1] > 1.0).astype(np.int64)
    time = np.arange(n_rows) / n_rows
    return X, np.where((time >= 0.4) & (time < 0.7), 1 - y, y)


def late_class(y: Ints) -> list[str]:
    """Text labels; a third class comes late in the stream."""
    names = np.where(y == 1, "high", "low").astype(object)
    names[int(0.6 * len(y)) :: 7] = "late"
    return list(names)


@dataclasses.dataclass(frozen=True)
class Story:
    """A stream and the way it is learned."""

    config: Config
    labels: Callable[[Ints], Any] = lambda y: y
    kind: type[DEVFNN] = DEVFNN
    row_wise_from: int = 10**9  # chunk from which rows are learned one by one
    missing: float = 0.0  # share of missing values
    n_chunks: int = 20

    @functools.cache  # noqa: B019 - the stories are few, and live as long as the tests
    def parts(self) -> list[tuple[Floats, Any]]:
        """The stream, in pieces that are not the chunks of the row-wise mode."""
        X, y = turning_rows(self.n_chunks)
        gaps = np.random.default_rng(1).random(X.shape) < self.missing
        X[gaps] = np.nan
        labels = self.labels(y)
        starts = range(0, len(X), CHUNK)
        return [(X[i : i + CHUNK], labels[i : i + CHUNK]) for i in starts]

    def learn(self, model: DEVFNN, start: int, stop: int) -> list[Event]:
        """Let a model learn some of the parts."""
        events: list[Event] = []
        for index, (X, y) in list(enumerate(self.parts()))[start:stop]:
            learn = model.learn_rows if index >= self.row_wise_from else model.learn
            events += learn(X, y)
        return events

    def model(self, n_parts: int) -> DEVFNN:
        """A model after some parts."""
        model = self.kind(self.config, ["red", "green", "blue"])
        self.learn(model, 0, n_parts)
        return model

    @functools.cache  # noqa: B019 - as above
    def known(self, n_parts: int) -> DEVFNN:
        """The same for tests that only look at it: it is made once."""
        return self.model(n_parts)


def plain(**changes: Any) -> Config:
    """A stacked network that starts with one layer and grows soon, whatever the defaults."""
    levels = {"drift_significance": 1e-4, "warning_significance": 1e-2}
    start = {"network": "stacked", "initial_layers": 1, "training": "winner"}
    return flat(**{**start, **levels, **changes})


def quick(**changes: Any) -> Config:
    """Lines, boxes and clouds that split and are kept and recalled soon, whatever the defaults."""
    sizes = {"max_boxes": 6, "max_clouds": 8, "max_kept": 3}
    memory = {"quick_memory": 50.0, "shortest_memory": 100.0, "longest_memory": 1000.0}
    votes = {"vote_rows": 50.0, "vote_power": 1.0, "drift_significance": 1e-4}
    rows = {"split_every": 20, "split_evidence": 2.0, "label_noise": 0.05, "active_learning": False}
    start = {"network": "concepts", "prior": 2.0}
    return flat(**{**start, **sizes, **memory, **votes, **rows, **changes})


STORIES = {
    "default": Story(Config()),
    "rivals": Story(quick()),
    "rivals, rows": Story(quick(chunk_rows=70, max_kept=1), late_class, row_wise_from=0),
    "rivals, merged": Story(quick(vote_rows=20.0, merge_disagreement=1.0)),
    "rivals, masked": Story(
        quick(feature_mask=True, feature_threshold=0.9, chunk_rows=150, missing="skip"),
        row_wise_from=9,
        missing=0.1,
    ),
    "rivals, lags": Story(quick(lags=2, active_learning=True), late_class, row_wise_from=12),
    "rivals, balanced": Story(
        quick().replace(class_weights="balanced"), late_class, row_wise_from=12
    ),
    "rivals, unscaled": Story(quick(scaling="none", label_budget=0.5, active_learning=True)),
    "rivals, still": Story(quick(growing=False, max_kept=0, forgetting=False)),
    "gaussians, vote": Story(
        plain(chunk_rows=70).replace(labels__choice="all", labels__budget=0.5), row_wise_from=9
    ),
    "gaussians, accuracy": Story(
        plain(chunk_rows=70).replace(voting=ByAccuracy()), row_wise_from=9
    ),
    "lags": Story(plain(lags=3, chunk_rows=70), late_class, row_wise_from=9),
    "chunks": Story(plain()),
    "merged": Story(plain(merge_threshold=1.0)),
    "deep": Story(plain(initial_layers=3, training="all")),
    "least squares": Story(plain(consequent="least_squares", chunk_memory=0.5)),
    "warned": Story(plain(warning_significance=0.5, drift_significance=1e-300)),
    "late class": Story(plain(merging=False), late_class),
    "rows": Story(plain(chunk_rows=70), late_class, row_wise_from=0),
    "rows, deep": Story(plain(chunk_rows=70, merge_threshold=1.0), row_wise_from=15),
    "missing": Story(plain(missing="skip", chunk_rows=170), missing=0.1, row_wise_from=9),
    "unscaled": Story(plain(scaling="none", active_learning=True)),
    "one layer": Story(plain(chunk_rows=130), late_class, GClass, row_wise_from=5),
}


@functools.cache
def small_file() -> bytes:
    """A model with gathered rows, a buffer and first rows: every part of a state is there."""
    story = Story(plain(chunk_rows=8, missing="skip", lags=1), late_class)
    model = story.model(1)
    network = model._known()
    X, _ = turning_rows(1)
    model.learn_rows(X[:5], ["high", "low", "high", "low", "high"])
    rows = network.gathered.rows.X
    assert len(rows) == len(network.gathered.outputs) == 5
    network.buffer = Rows(rows[:3].copy(), np.array([0, 1, 0]), np.ones(3))
    network.scaler.first_rows = rows[:2].copy()
    return dump(model)


@functools.cache
def rivals_file() -> bytes:
    """A model of lines, boxes and clouds with every part of its state: kept layers, rows."""
    config = quick(chunk_rows=170, feature_mask=True, missing="skip", lags=2, max_kept=2)
    model = Story(config, late_class, row_wise_from=9).model(16)
    model.add_features(["extra"])
    network = model._known()
    assert len(network.gathered.rows) > 1
    network.scaler.first_rows = network.gathered.rows.X[:2].copy()
    return dump(model)


def text_of(header: Any) -> str:
    """JSON as the format wants it."""
    return json.dumps(header, sort_keys=True, separators=(",", ":"))


def signed(header: dict[str, Any], tensors: Tensors) -> dict[str, Any]:
    """The header with the right checksum; the format, written down a second time."""
    header = {key: value for key, value in header.items() if key != "sha256"}
    digest = hashlib.sha256(text_of(header).encode())
    for name in sorted(tensors):
        digest.update(f"\n{name}\n".encode() + tensors[name].tobytes())
    return {**header, "sha256": digest.hexdigest()}


def opened(data: bytes) -> tuple[dict[str, Any], Tensors]:
    """The devfnn header and the tensors of a sound file."""
    outer, _ = split(data)
    tensors = {name: array.copy() for name, array in load_tensors(data).items()}
    return json.loads(outer["__metadata__"]["devfnn"]), tensors


def forged(change: Change, *, sign: bool = True, of: bytes | None = None) -> bytes:
    """The small file with something changed, and, unless told otherwise, with a right checksum."""
    header, tensors = opened(small_file() if of is None else of)
    change(header, tensors)
    header = signed(header, tensors) if sign else header
    return save_tensors(tensors, {"devfnn": text_of(header)})


def split(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The outer header and the bytes of the tensors."""
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def joined(outer: Any, body: bytes) -> bytes:
    """A file from an outer header (text, or data to be turned into text) and a body."""
    text = (outer if isinstance(outer, str) else json.dumps(outer)).encode()
    return struct.pack("<Q", len(text)) + text + body


def outer_changed(change: Callable[[dict[str, Any]], Any], of: bytes | None = None) -> bytes:
    """The small file with a changed safetensors header."""
    outer, body = split(small_file() if of is None else of)
    change(outer)
    return joined(outer, body)


def refused(data: bytes, message: str) -> None:
    """The bytes are refused for this reason."""
    with pytest.raises(StorageError, match=message):
        parse(data)


def put(*keys: str, value: Any) -> Change:
    """Set one entry of the header."""

    def change(header: dict[str, Any], tensors: Tensors) -> None:
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return change


def poke(name: str, value: Any, index: Any = 0) -> Change:
    """Set some numbers of a tensor."""

    def change(header: dict[str, Any], tensors: Tensors) -> None:
        tensors[name][index] = value

    return change


def both(*changes: Change) -> Change:
    """One change after the other."""
    return lambda header, tensors: [change(header, tensors) for change in changes]
