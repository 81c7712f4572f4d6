"""Mutants of files of every kind: each is refused as documented, or is what it was made from.

Models and fleets are also forged: changed, then signed with the right checksum. What is read of
these may be another model, but one that can be described, asked, taught and saved.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
import pathlib
import random
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors
from typer.testing import CliRunner

from devfnn import DEVFNN, Config, Fleet, GClass, InputError, StorageError
from devfnn.cli.app import app
from devfnn.errors import DataError
from devfnn.experiments import Checkpoint, Run, RunSettings, StreamSettings, resume
from devfnn.experiments.checkpoint import FIRST_LINE
from devfnn.experiments.result_files import read_result, sealed
from devfnn.model import presets
from devfnn.storage import dump, parse
from devfnn.storage.fleets import dump_fleet, parse_fleet

ROWS = 60
NUMBERS = ["0", "-1", "1", "-0", "1e999", "1e308", "0.5", "NaN", "true", "null", '""', "[]", "{}"]
NUMBERS += [str(2**31), str(2**62), str(2**63), str(2**64), "7" * 5000, "1e-320", "-1e300"]
"""What is put in the place of a number in JSON."""

Change = Callable[[random.Random, bytes], bytes]


@dataclasses.dataclass(frozen=True)
class Sample:
    """A sound file of some kind, how it is read, and what must follow."""

    data: bytes
    read: Callable[[bytes], Any]
    written: Callable[[Any], bytes]  # the file of what was read
    refusals: tuple[type[Exception], ...]  # documented errors
    forge: Change | None = None
    use: Callable[[Any, random.Random], None] = lambda found, rng: None


# ---- sound files


def rows_of(seed: int, n_rows: int = ROWS, n: int = 2) -> tuple[Any, Any]:
    """Rows of three classes."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n))
    return 10.0 * X, np.array(["low", "high", "late"])[(X.sum(axis=1) * 1.5).astype(int) % 3]


TINY = {
    "rules__max_rules": 14,
    "boxes__max_rules": 3,
    "boxes__evidence": 2.0,
    "boxes__every": 10,
    "clouds__max_rules": 4,
    "growing__max_kept": 2,
    "chunk_rows": 25,
}
CONFIGS: dict[str, Callable[[], Config]] = {
    "default": lambda: presets.default().replace(
        **TINY, window__rows=40, layers__max_trees=4, layers__trees=2, boosted__depth=2
    ),
    "swift": lambda: presets.swift().replace(**TINY, missing="skip"),
    "swift, lags": lambda: presets.swift().replace(
        **TINY, lags=1, labels__budget=0.5, labels__window=8, class_weights="balanced"
    ),
    "stacked": lambda: presets.stacked().replace(chunk_rows=25),
    "paper": lambda: presets.paper().replace(chunk_rows=25),
    "paper_static": lambda: presets.paper_static(),
    "paper_masked": lambda: presets.paper_masked().replace(chunk_rows=25),
    "static": lambda: presets.static().replace(missing="skip"),
}
"""Small models of every preset."""


def taught(model: DEVFNN) -> DEVFNN:
    """A model that has learned in every way, with events, queries and rows that are still open."""
    X, y = rows_of(0)
    model.learn(X, y)
    for start in (0, 30):
        model.learn_rows(2.0 * X[start : start + 25], y[::-1][start : start + 25])
    model.ask(X[:9])
    if model.config.missing == "skip":
        model.add_features(["extra"])
    return model


@functools.cache
def model_file(name: str) -> bytes:
    """The file of a model by its preset; "new" has learned nothing."""
    names = ["heat", "wind"]
    if name == "new":
        model = DEVFNN(presets.default(), names, ["low", 7, (True, b"x", 0.5)])
        model.ask(rows_of(0)[0])
        return dump(model)
    if name == "gclass":
        return dump(taught(GClass(presets.stacked().replace(chunk_rows=25), names)))
    return dump(taught(DEVFNN(CONFIGS[name](), names)))


@functools.cache
def fleet_file(name: str) -> bytes:
    """A fleet of two small models, of which one has learned."""
    fleet = Fleet(2, 2, ["low", "high", "late"], CONFIGS[name]())
    X, y = rows_of(1)
    fleet.learn(np.zeros(ROWS, int), X, y)
    return dump_fleet(fleet)


RUN = RunSettings(
    stream=StreamSettings(name="sea", rows=300, chunk_rows=100, seed=3),
    preset="swift",
    changes=TINY,
)


@functools.cache
def checkpoint_file() -> bytes:
    """A run that was stopped after two of three chunks."""
    with in_file(b"") as path:
        following = Checkpoint(path).follow(Run(RUN))
        next(following), next(following)
        following.close()
        return path.read_bytes()


@functools.cache
def result_file() -> bytes:
    """The result of a run."""
    run = Run(RUN)
    for _ in run:
        pass
    return json.dumps(sealed(run.result())).encode()


@contextlib.contextmanager
def in_file(data: bytes) -> Iterator[pathlib.Path]:
    """A file of these bytes, in memory if there is a folder for that."""
    folder = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=folder) as name:
        path = pathlib.Path(name) / "file"
        path.write_bytes(data)
        yield path


def resumed(run: Run, data: bytes) -> bytes:
    """All that a run is after it went on at a checkpoint."""
    with in_file(data) as path:
        resume(run, path)
    results = [dataclasses.asdict(each) for each in run.results]
    return dump(run.model) + json.dumps(results, default=repr).encode()


def result_in(data: bytes) -> Any:
    """The result of a run, from its file."""
    with in_file(data) as path:
        return read_result(path)


def samples() -> dict[str, Sample]:
    """A sound file of every kind."""
    found, run = dict[str, Sample](), Run(RUN)
    for name in (*CONFIGS, "gclass", "new"):
        about = (parse, dump, (StorageError,))
        found[f"model {name}"] = Sample(model_file(name), *about, forge=forged, use=use_model)
    found["pickled state"] = Sample(model_file("swift"), _unpickled, dump, (StorageError,))
    for name in ("swift", "default"):
        about = (parse_fleet, dump_fleet, (StorageError,))
        found[f"fleet {name}"] = Sample(fleet_file(name), *about, forge=forged, use=use_fleet)
    expected = resumed(run, checkpoint_file())
    found["checkpoint"] = Sample(
        checkpoint_file(),
        lambda data: resumed(run, data),
        lambda each: checkpoint_file() if each == expected else b"another run",
        (DataError, InputError),  # the second for other settings
        forge=forged_checkpoint,
    )
    result = result_in(result_file())
    found["result"] = Sample(
        result_file(),
        result_in,
        lambda each: result_file() if each == result else b"another result",
        (DataError,),
    )
    return found


def _unpickled(data: bytes) -> DEVFNN:
    """What `pickle` makes of the state of a model."""
    model = DEVFNN.__new__(DEVFNN)
    model.__setstate__(data)
    return model


# ---- mutants


def flip_bits(rng: random.Random, data: bytes) -> bytes:
    """Up to four bits."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def set_bytes(rng: random.Random, data: bytes) -> bytes:
    """A few bytes in a row."""
    start, size = rng.randrange(len(data)), rng.choice((1, 1, 2, 4, 8, 64))
    with_ = rng.choice((b"\0", b"\xff", b"\x7f", b"9", b'"', b"\\", b"{", rng.randbytes(1))) * size
    return data[:start] + with_[: len(data) - start] + data[start + size :]


def cut(rng: random.Random, data: bytes) -> bytes:
    """The beginning."""
    return data[: rng.randrange(len(data))]


def insert(rng: random.Random, data: bytes) -> bytes:
    """More bytes somewhere."""
    start = rng.randrange(len(data) + 1)
    return data[:start] + rng.randbytes(rng.choice((1, 2, 8, 100))) + data[start:]


def delete(rng: random.Random, data: bytes) -> bytes:
    """Fewer bytes somewhere."""
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.choice((1, 2, 8, 100)) :]


def splice(rng: random.Random, data: bytes) -> bytes:
    """A part of the file at another place of it."""
    start, to = rng.randrange(len(data)), rng.randrange(len(data))
    part = data[start : start + rng.choice((4, 16, 256))]
    return data[:to] + part + data[to + rng.choice((0, len(part))) :]


def header_length(rng: random.Random, data: bytes) -> bytes:
    """Another length of the header."""
    length = int.from_bytes(data[:8], "little")
    other = rng.choice((0, 1, length - 1, length + 1, 2**31, 2**63, 2**64 - 1, rng.getrandbits(20)))
    return (other % 2**64).to_bytes(8, "little") + data[8:]


_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def change_number(rng: random.Random, data: bytes) -> bytes:
    """Another number in JSON; a file of a model keeps a header of the length that it tells."""
    text_end = min(len(data), 8 + int.from_bytes(data[:8], "little"))
    if data[8:9] != b"{":
        text_end = len(data)
    found = list(_NUMBER.finditer(data, 8, text_end))
    if not found:
        return flip_bits(rng, data)
    at = rng.choice(found)
    with_ = rng.choice(NUMBERS).encode()
    if text_end < len(data):
        length = text_end - 8 + len(with_) - (at.end() - at.start())
        data = length.to_bytes(8, "little") + data[8:]
    return data[: at.start()] + with_ + data[at.end() :]


def repeat_key(rng: random.Random, data: bytes) -> bytes:
    """A key of a JSON object twice."""
    found = list(re.finditer(rb'\\?"[a-z_]+\\?":', data))
    if not found:
        return delete(rng, data)
    key = rng.choice(found)
    more = key.group() + b"0,"
    if data[8:9] == b"{" and key.start() > 8:
        length = int.from_bytes(data[:8], "little") + len(more)
        data = length.to_bytes(8, "little") + data[8:]
    return data[: key.start()] + more + data[key.start() :]


MUTATORS: tuple[Change, ...] = (
    flip_bits,
    flip_bits,
    set_bytes,
    cut,
    insert,
    delete,
    splice,
    header_length,
    change_number,
    change_number,
    repeat_key,
)

# ---- forgeries


def forged(rng: random.Random, data: bytes) -> bytes:
    """A model or fleet with other content, and the right checksum."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["devfnn"])
    tensors = {name: array.copy() for name, array in load_tensors(data).items()}
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        if tensors and rng.random() < 0.7:
            change_tensor(rng, tensors)
        else:
            change_json(rng, header)
    header.pop("sha256", None)
    try:
        text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return data
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        digest.update(f"\n{name}\n".encode() + tensors[name].tobytes())
    header["sha256"] = digest.hexdigest()
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    return bytes(save_tensors(tensors, {"devfnn": text}))


FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 5e-324, 1e100, -1e100, 1e300, -1e300, 1e30, -1e30)
FLOATS += (1e154, 1e15, 1e-15, float("inf"), -float("inf"), float("nan"), 1.7e308, 3.0, 2.0)
COUNTS = (0, 1, 2, 3, 7, -1, -2, 100, 10**6, 2**31 - 1, 2**31, 2**53, 2**62, 2**62 - 1)


def change_tensor(rng: random.Random, tensors: dict[str, Any]) -> None:
    """Other numbers in an array: one, some or all; or those of another array of its form."""
    name = rng.choice(sorted(tensors))
    array = tensors[name]
    if not array.size:
        return
    alike = [k for k, a in tensors.items() if (a.shape, a.dtype) == (array.shape, array.dtype)]
    flat = array.reshape(-1)
    size = rng.choice((1, 1, 1, 3, flat.size))
    places = np.array([rng.randrange(flat.size) for _ in range(size)])
    if size == flat.size:
        places = np.arange(size)
    values: Any
    with np.errstate(all="ignore"):
        if array.dtype.kind == "f":
            values = np.array(rng.choice(FLOATS)).astype(array.dtype)
            if rng.random() < 0.3:
                values = flat[places] * rng.choice((1e3, -1.0, 1e-3, 1e8, 1.0 + 1e-6))
        elif array.dtype.kind == "b":
            values = rng.random() < 0.5
        else:
            most = np.iinfo(array.dtype)
            values = min(max(rng.choice(COUNTS), int(most.min)), int(most.max))
        flat[places] = values
    if rng.random() < 0.1:
        tensors[name] = tensors[rng.choice(alike)].copy()


PLAIN: tuple[Any, ...] = (0, 1, -1, 2, 7, 0.5, -0.0, 1e300, 2**31, 2**62, 2**70, 10**400)
PLAIN += (True, False, None, "", "a", "heat", "[red]x[/red]", "\ud800", "x" * 2000, "DEVFNN")
PLAIN += ("int", "tuple", "\x1b[2J")
"""JSON values that are no lists."""


def some_json(rng: random.Random, depth: int = 0) -> Any:
    """Any JSON value."""
    if depth < 2 and rng.random() < 0.2:
        parts = [some_json(rng, depth + 1) for _ in range(rng.randrange(4))]
        return parts if rng.random() < 0.5 else {str(each)[:9]: each for each in parts}
    return rng.choice(PLAIN)


def change_json(rng: random.Random, header: Any) -> None:
    """Another value somewhere in the header."""
    place, key = header, rng.choice(sorted(header))
    while isinstance(place[key], dict | list) and place[key] and rng.random() < 0.85:
        place = place[key]
        key = rng.choice(sorted(place)) if isinstance(place, dict) else rng.randrange(len(place))
    old = place[key]
    chance = rng.random()
    if isinstance(old, int | float) and chance < 0.6:
        place[key] = rng.choice((old + 1, old - 1, -old, 0, 1, 2 * old, 1000 * old, 2**40))
    elif isinstance(place, list) and chance < 0.7:
        place.insert(key, old)
    elif isinstance(place, dict) and chance < 0.7:
        place["other" if rng.random() < 0.5 else key + "x"] = place.pop(key)
    else:
        place[key] = some_json(rng)


def forged_checkpoint(rng: random.Random, data: bytes) -> bytes:
    """A checkpoint with other content, and the right checksum."""
    tensors = load_tensors(data[len(FIRST_LINE) + 32 :])
    about = json.loads(tensors["about"].tobytes())
    change_json(rng, about)
    text = json.dumps(about)
    if rng.random() < 0.3:
        text = change_number(rng, b"12345678" + text.encode())[8:].decode("latin-1")
    tensors["about"] = np.frombuffer(text.encode(), np.uint8)
    if rng.random() < 0.3:
        tensors["model"] = np.frombuffer(forged(rng, tensors["model"].tobytes()), np.uint8)
    content = bytes(save_tensors(tensors))
    return FIRST_LINE + hashlib.sha256(content).digest() + content


# ---- what must follow


@functools.cache
def _asked(n: int) -> Any:
    return np.random.default_rng(5).random((12, n)) * 12.0


def use_model(model: DEVFNN, rng: random.Random) -> None:
    """Describe, ask, teach and save a model that was read."""
    if rng.random() < INSPECTED:
        inspect(dump(model))
    model.history().text()
    json.dumps(model.to_dict(), allow_nan=False)
    model.describe()
    model.describe(terms=True, most=None)
    model.rules_table(archived=True)
    for rule in model.rules(archived=True):
        rule.text()
    model.queries()
    model.standings()
    X = _asked(len(model.feature_names) or 2)
    labels = (model.classes or ["low"]) * 12
    if model.n_layers:
        model.explain(X[0]).text()
        shares = model.predict_proba(X)
        if not (np.isfinite(shares).all() and np.allclose(shares.sum(axis=1), 1.0)):
            raise AssertionError("probabilities are none")
        model.predict_one(X[0])
    model.wants_label(X)
    model.learn_rows(X[:6], labels[:6])
    model.learn_one(X[6], labels[6])
    model.learn(X[7:], labels[7:12])
    model.describe()
    saved(lambda: dump(model))


def use_fleet(fleet: Fleet, rng: random.Random) -> None:
    """The same of a fleet."""
    if rng.random() < INSPECTED:
        inspect(dump_fleet(fleet))
    ids, X = np.arange(12) % fleet.n_models, _asked(fleet.n_features)
    shares = fleet.predict_proba(ids, X)
    if not (np.isfinite(shares).all() and np.allclose(shares.sum(axis=1), 1.0)):
        raise AssertionError("probabilities are none")
    fleet.model(0).describe()
    fleet.learn(ids, X, (fleet.classes * 12)[:12])
    json.dumps(fleet.to_dict(), allow_nan=False)
    saved(lambda: dump_fleet(fleet))


def saved(write: Callable[[], bytes]) -> None:
    """What was forged may go wrong as it learns on, and is then not saved."""
    try:
        write()
    except StorageError:
        pass


INSPECTED = 0.01
"""Share of the forgeries that the command line is asked about too."""


def inspect(data: bytes) -> None:
    """What `devfnn inspect` says of a file, on a terminal of few columns."""
    with in_file(data) as path:
        found = CliRunner().invoke(app, ["inspect", str(path)], env={"COLUMNS": "80"})
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    if found.exit_code:
        raise AssertionError(f"devfnn inspect: {found.output}")


class Finding(Exception):
    """What should not have happened."""


def judge(sample: Sample, rng: random.Random, forgery: bool) -> str:
    """What became of a mutant: "refused", "the same", "another"; Finding for all else."""
    make = sample.forge if forgery and sample.forge else rng.choice(MUTATORS)
    data = make(rng, sample.data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = sample.read(data)
    except Exception as error:
        if type(error) in sample.refusals:
            return "refused"
        raise Finding(f"{type(error).__name__}: {error}") from error
    if make is sample.forge:
        used(sample, found, rng)
        return "another"
    if sample.written(found) != sample.data:
        raise Finding("an unnoticed difference")
    return "the same"


def used(sample: Sample, found: Any, rng: random.Random) -> None:
    """Use what was read."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sample.use(found, rng)
    except Exception as error:
        raise Finding(f"when used, {type(error).__name__}: {error}") from error
