"""Where a run stands, in a file: killed at any moment, it goes on to the same result.

A safetensors file with the model as `storage` writes it, the scores so far, and everything else as
JSON text. It is replaced at once or not at all, and nothing in it is run or imported.
"""

import contextlib
import json
import os
import pathlib
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.errors import DataError, InputError
from devfnn.evaluation import ChunkResult, Prequential
from devfnn.experiments.running import Run
from devfnn.experiments.settings import difference
from devfnn.experiments.stored import results_from_plain, results_to_plain
from devfnn.model.devfnn import DEVFNN
from devfnn.storage import dump, parse

FORMAT = 1

EVERY_SECONDS = 5.0
"""Time between two checkpoints."""

STRUCTURE = (*("n_rules", "n_layers", "n_layers_total", "n_parameters", "feature_mask", "n_bytes"),)
"""What the loop does not ask the model for after every chunk."""

LARGEST_SHARE = 0.05
"""Part of the time that writing checkpoints may take; they become rarer if it takes more."""


class Checkpoint:
    """A file that follows a run.

    Parameters
    ----------
    path
        The file. What is there is replaced.
    every_seconds
        Time between two checkpoints; 0 for one after every chunk.
    """

    def __init__(self, path: pathlib.Path, every_seconds: float = EVERY_SECONDS) -> None:
        self.path = path
        self._every = every_seconds
        self._last = time.monotonic()
        self._cost = 0.0

    def follow(self, run: Run) -> Iterator[ChunkResult]:
        """The results of a run, stored now and then, and when it ends or is stopped."""
        check_can_be_stored(run)
        run.source.has_fingerprint = True
        n_known = len(run.results)
        try:
            for result in run:
                yield result
                pause = self._every and max(self._every, self._cost / LARGEST_SHARE)
                if time.monotonic() - self._last >= pause:
                    self.write(run)
        finally:
            is_whole = run.loop.is_between_chunks and len(run.results) == run.loop.n_chunks
            has_news = len(run.results) > n_known  # else the rows may be others, and be refused
            if has_news and is_whole:  # else Ctrl-C was pressed twice within a chunk
                self.write(run)

    def write(self, run: Run) -> None:
        """Store where the run stands."""
        from safetensors.numpy import save

        start = time.monotonic()
        plain, arrays = run.loop.state()
        about = {
            "format": FORMAT,
            "settings": run.settings.to_dict(),
            "features": list(run.stream.feature_names),
            "fingerprint": [run.source.n_chunks, run.source.fingerprint],
            "is_complete": run.is_complete,
            "loop": plain,
            "results": results_to_plain(run.results),
        }
        tensors = {"about": _as_bytes(json.dumps(about).encode())}
        tensors |= {f"scores.{name}": array for name, array in arrays.items()}
        tensors["model"] = _as_bytes(dump(run.model))
        _replace(self.path, save(tensors))
        self._last = time.monotonic()
        self._cost = self._last - start


def resume(run: Run, path: pathlib.Path) -> None:
    """Let a run that has not begun go on where a checkpoint stands.

    Raises InputError if the checkpoint belongs to other settings, DataError if it is damaged; the
    run is then as it was.
    """
    check_can_be_stored(run)
    with _refusing_damage(path):
        about, tensors = _read(path)
        other = _difference(about, run)
    if other is not None:
        raise InputError(
            f"{path}: {other}; go on with the same settings, or start anew with another checkpoint"
        )
    with _refusing_damage(path):
        model = parse(tensors["model"].tobytes(), max_bytes=tensors["model"].nbytes)
        _check_model(model, run.model)
        scores = {
            name.removeprefix("scores."): array
            for name, array in tensors.items()
            if name.startswith("scores.")
        }
        stood = about["loop"]
        results = results_from_plain(about["results"], len(stood["labels"]))
        _check_loop(stood, scores, results)
        loop = Prequential(model, run.source, run.settings.procedure)
        loop.restore(stood, scores)
        if (loop.n_chunks, loop.n_rows) != (len(results), results[-1].n_rows):
            raise ValueError("results are missing")
        if stood["has_learned"] is not bool(model.n_rows):
            raise ValueError("the model is from another moment")
        n_chunks, fingerprint = map(int, about["fingerprint"])
    run.go_on_with(loop, results)
    run.source.has_fingerprint, run.source.expected = True, (n_chunks, fingerprint)


@contextlib.contextmanager
def _refusing_damage(path: pathlib.Path) -> Iterator[None]:
    """Say of whatever fails in a file that the file is damaged."""
    from safetensors import SafetensorError

    try:
        yield
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    except (
        *(SafetensorError, ValueError, LookupError, TypeError, AttributeError),
        *(ArithmeticError, RecursionError, MemoryError),
    ) as error:
        raise DataError(f"{path} is no checkpoint, or a damaged one: {error}") from None


def check_can_be_stored(run: Run) -> None:
    """Refuse models that have no safe file format."""
    if not isinstance(run.model, DEVFNN):
        raise InputError(
            f"a run of {run.settings.model} cannot be stored: only DEVFNN and its parts have a "
            "file format. `devfnn compare` keeps every run that is finished"
        )


def _read(path: pathlib.Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """What the file says of the run, and its arrays."""
    from safetensors.numpy import load

    tensors = load(path.read_bytes())
    about = json.loads(tensors["about"].tobytes())
    if about["format"] != FORMAT:
        raise ValueError(f"format {about['format']!r}, not {FORMAT}")
    return about, tensors


def _difference(about: dict[str, Any], run: Run) -> str | None:
    """What is not as it was when the checkpoint was written."""
    found = difference(run.settings.to_dict(), about["settings"])
    if found is not None:
        name, mine, theirs = found
        return f"this run has {name} = {mine!r}, the checkpoint {theirs!r}"
    if about["features"] != list(run.stream.feature_names):
        return "the stream has other features than when the checkpoint was written"
    n_rows = run.stream.n_rows
    if n_rows is not None and about["loop"]["n_rows"] > n_rows:
        return f"the stream has {n_rows:,} rows, fewer than when the checkpoint was written"
    return None


def _check_model(model: DEVFNN, fresh: DEVFNN) -> None:
    """Refuse a model that this run would not have made."""
    if type(model) is not type(fresh) or model.config != fresh.config:
        raise ValueError("the model has other parameters than this version of devfnn gives it")
    if model.feature_names != fresh.feature_names:
        raise ValueError("the model has other features than the stream")


def _check_loop(
    stood: dict[str, Any], scores: dict[str, npt.NDArray[Any]], results: list[ChunkResult]
) -> None:
    """Refuse what the loop would stumble over later: it counts on its own numbers."""
    structure = stood["structure"]
    known = {name: getattr(results[-1], name) for name in STRUCTURE}
    if structure and structure | {"feature_mask": _tupled(structure["feature_mask"])} != known:
        raise ValueError("the structure is not that of the last chunk")
    for name, array in scores.items():
        least = -1 if name == "last" else 0
        if array.dtype != np.int64 or (array.size and array.min() < least):
            raise ValueError(f"{name} of the scores is no count")
    if scores["last"].max() >= len(stood["labels"]):
        raise ValueError("the last label is unknown")


def _tupled(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def _as_bytes(data: bytes) -> npt.NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


def _replace(path: pathlib.Path, data: bytes) -> None:
    """Replace a file at once."""
    target = path.resolve()
    draft = target.with_name(f"{target.name}.tmp")
    try:
        with draft.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, target)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from None
