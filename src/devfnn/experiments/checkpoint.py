"""Checkpoints: a run that is killed at any moment continues to the same result.

A line that names the format, a checksum, and a safetensors file with the model as `storage` writes
it, the scores so far, and everything else as JSON text. It is replaced at once or not at all, and
nothing in it is run or imported.
"""

import dataclasses
import functools
import hashlib
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.errors import DataError, InputError, StorageError
from devfnn.evaluation import ChunkResult, Prequential
from devfnn.evaluation.course import Course
from devfnn.evaluation.measures import Tally
from devfnn.events import Event
from devfnn.experiments.keeping import Keeper
from devfnn.experiments.result_files import refusing_malformed
from devfnn.experiments.running import Run
from devfnn.experiments.settings import difference
from devfnn.model.devfnn import DEVFNN
from devfnn.storage import dump, parse
from devfnn.storage.container import unique_keys
from devfnn.types import Standing

FIRST_LINE = b"devfnn checkpoint 2\n"
"""How every checkpoint of this format begins."""

Tensors = dict[str, npt.NDArray[Any]]


class Checkpoint(Keeper):
    """A file that follows a run. What is in the file is replaced.

    A state that cannot be written ends no run: `tell` is called, and it is tried again; `problem`
    says in the end whether the last one is missing.

    every_seconds: time between two checkpoints; 0 for one after every chunk
    tell: called with what goes wrong; it is logged by default
    """

    def follow(self, run: Run) -> Iterator[ChunkResult]:
        """The results of a run, stored now and then, and when it ends or is stopped."""
        check_can_be_stored(run)
        run.source.expected = run.source.expected or (0, 0)
        n_known = run.results.n_chunks
        try:
            for result in run:
                yield result
                if self.is_due:
                    self.write(run)
        finally:
            is_whole = run.loop.is_between_chunks and run.results.n_chunks == run.loop.n_chunks
            has_news = run.results.n_chunks > n_known  # else the rows may be others, and be refused
            if has_news and is_whole:  # else Ctrl-C was pressed twice within a chunk
                self.write(run)

    def write(self, run: Run) -> None:
        """Store the state of the run, if the disk takes it."""
        try:
            self.keep(functools.partial(packed, run))
        except StorageError as error:
            raise DataError(str(error)) from None


def packed(run: Run) -> bytes:
    """The state of a run, as the content of a checkpoint."""
    from safetensors.numpy import save

    plain, arrays = run.loop.state()
    about = {
        "settings": run.settings.to_dict(),
        "features": list(run.stream.feature_names),
        "fingerprint": [run.source.n_chunks, run.source.fingerprint],
        "loop": plain,
        "results": [
            dataclasses.asdict(each) | {"events": [event.to_dict() for event in each.events]}
            for each in run.results
        ],
        "thinned": _thinned(run.results),
    }
    text = json.dumps(about, default=lambda array: array.tolist())
    tensors = {f"scores.{name}": array for name, array in arrays.items()}
    for name, data in {"about": text.encode(), "model": dump(run.model)}.items():
        tensors[name] = np.frombuffer(data, np.uint8)
    content: bytes = save(tensors)
    return FIRST_LINE + hashlib.sha256(content).digest() + content


def resume(run: Run, path: pathlib.Path) -> None:
    """Let a run that has not begun go on where a checkpoint stands.

    Raises InputError if the checkpoint belongs to other settings, DataError if it is damaged or of
    another format; the run is then as it was.
    """
    check_can_be_stored(run)
    mine = run.settings.to_dict() | {"features": list(run.stream.feature_names)}
    with refusing_malformed(path, passes=()):
        tensors = _unpacked(path.read_bytes())
        about = json.loads(tensors["about"].tobytes(), object_pairs_hook=unique_keys)
        found = difference(mine, about["settings"] | {"features": about["features"]})
    if found is not None:
        name, here, there = found
        raise InputError(
            f"{path}: this run has {name} = {here!r}, the checkpoint {there!r}; go on with the "
            "same settings, or start anew with another checkpoint"
        )
    with refusing_malformed(path, passes=()):
        model = parse(tensors["model"].tobytes(), max_bytes=tensors["model"].nbytes)
        if type(model) is not type(run.model) or model.config != run.model.config:
            raise ValueError("the model has other parameters than this version of devfnn gives it")
        loop = Prequential(model, run.source, run.settings.procedure)
        scores = {name.removeprefix("scores."): array for name, array in tensors.items()}
        loop.restore(about["loop"], scores)
        results = _course(about, run.settings.procedure.window_chunks)
        n_chunks, fingerprint = map(int, about["fingerprint"])
    run.model, run.loop, run.results = model, loop, results
    run.source.expected = (n_chunks, fingerprint)


def _unpacked(data: bytes) -> Tensors:
    """The arrays of a checkpoint, if it is whole."""
    from safetensors.numpy import load

    start = len(FIRST_LINE) + hashlib.sha256().digest_size
    if not data.startswith(FIRST_LINE):
        raise ValueError("it does not begin as those of this version do")
    if hashlib.sha256(data[start:]).digest() != data[len(FIRST_LINE) : start]:
        raise ValueError("it was cut short, or changed")
    return dict(load(data[start:]))


def check_can_be_stored(run: Run) -> None:
    """Refuse models that have no safe file format."""
    if not isinstance(run.model, DEVFNN):
        raise InputError(
            f"a run of {run.settings.model} cannot be stored: only DEVFNN and its parts have a "
            "file format. `devfnn compare` keeps every run that is finished"
        )


def _thinned(course: Course) -> dict[str, Any] | None:
    """What a long run keeps beside its points; None of others, whose chunks say it all."""
    if course.chunks_per_point == 1:
        return None
    return {
        "n_chunks": course.n_chunks,
        "chunks_per_point": course.chunks_per_point,
        "log": [[chunk, event.to_dict()] for chunk, event in course.log],
        "event_counts": course.event_counts,
        "alarms": list(course.alarms),
        "window": [dataclasses.asdict(each) for each in course.window],
    }


def _course(about: dict[str, Any], window_chunks: int) -> Course:
    """The results of a run as they were."""
    points, thinned = [_from_plain(each) for each in about["results"]], about.get("thinned")
    course = Course.of([] if thinned else points, window_chunks)
    if thinned:
        course.points = points
        course.n_chunks = int(thinned["n_chunks"])
        course.chunks_per_point = int(thinned["chunks_per_point"])
        course.log.extend((chunk, Event.from_dict(event)) for chunk, event in thinned["log"])
        course.event_counts.update(thinned["event_counts"])
        course.alarms.extend(thinned["alarms"])
        course.window.extend(map(_tally, thinned["window"]))
    return course


def _from_plain(data: dict[str, Any]) -> ChunkResult:
    events = tuple(Event.from_dict(each) for each in data["events"])
    tuples = {
        name: None if data[name] is None else tuple(data[name])
        for name in ("voting_weights", "feature_mask")
    }
    standings = tuple(Standing(*each) for each in data.get("standings") or ()) or None
    tally = None if data["tally"] is None else _tally(data["tally"])
    return ChunkResult(**data | tuples | {"events": events, "tally": tally, "standings": standings})


def _tally(data: dict[str, Any]) -> Tally:
    arrays = {name: np.array(value) for name, value in data.items() if isinstance(value, list)}
    return Tally(**data | arrays)
