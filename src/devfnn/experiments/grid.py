"""Many runs over processes: every model on every stream with every seed, each in a file of its own.

A run whose file is there is not run again; so a grid that was stopped goes on with the same call.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import itertools
import json
import multiprocessing
import os
import pathlib
import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from devfnn.baselines.registry import MODELS, is_random
from devfnn.errors import DataError, InputError
from devfnn.evaluation.measures import check_measure, key_of
from devfnn.evaluation.ranking import PostHoc
from devfnn.experiments.result_files import FORMAT, cached_result, write_result
from devfnn.experiments.running import Run
from devfnn.experiments.settings import RunSettings, StreamSettings
from devfnn.experiments.tables import mean_score, ranked
from devfnn.files import locked
from devfnn.streams.files.content import STANDARD_INPUT
from devfnn.streams.generators.catalogue import GENERATORS

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""One process is one core, so that times can be compared."""

MEASURED = (
    *("accuracy_mean", "accuracy_std", "accuracy_overall", "f1", "kappa", "rows", "chunks"),
    *("rows_per_second", "model_bytes", "label_fraction", "seconds_predict", "seconds_learn"),
    *("rules_mean", "layers_mean"),
)
"""Keys of each run in a comparison."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """One run of a grid."""

    model: str
    """The model, with its preset if that is not the default: devfnn@static."""
    settings: RunSettings

    @property
    def seed(self) -> int:
        """Of the stream and the model."""
        return self.settings.stream.seed

    @property
    def name(self) -> str:
        """Of its file; names of streams that are files get a code, to be distinct."""
        name = self.settings.stream.name
        stream = re.sub(r"[^\w.-]", "_", pathlib.PurePath(name).stem)[:60]
        if stream != name:
            stream += f"-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        return f"{self.model}__{stream}__{self.seed}"

    @property
    def file(self) -> str:
        """The file of its result."""
        return f"{self.name}.json"

    def __str__(self) -> str:
        return f"{self.model} on {self.settings.stream.name}, seed {self.seed}"


class Outcome(NamedTuple):
    """Outcome of a cell."""

    cell: Cell
    result: Mapping[str, Any] | None
    """The result as plain data; None if it failed."""
    error: str | None = None
    was_there: bool = False
    """Whether it had been run before."""


def cells_of(
    models: Sequence[str],
    streams: Sequence[StreamSettings],
    n_seeds: int,
    *,
    changes: Mapping[str, Mapping[str, Any]] | None = None,
    common: Mapping[str, Any] | None = None,
) -> list[Cell]:
    """Every model on every stream with the seeds 0, 1, ..., or with one if nothing is drawn.

    models: names, with a preset after @ if need be; changes: parameters by model
    common: what is the same for all, `scaling` and `procedure` of `RunSettings`
    """
    if unknown := set(changes or {}) - set(models):
        raise InputError(f"parameters are set for {sorted(unknown)[0]!r}, which is not compared")
    named = {"model": models, "stream": [stream.name for stream in streams]}
    for what, names in named.items():
        twice = [name for name, times in collections.Counter(names).items() if times > 1]
        if twice:
            raise InputError(f"the {what} {twice[0]} is named more than once")
    if STANDARD_INPUT in named["stream"]:
        raise InputError("a pipe can be read only once; save it to a file to compare models on it")
    found: dict[str, Cell] = {}
    for stream, model in itertools.product(streams, models):
        name, at, preset = model.partition("@")
        is_made = stream.name in GENERATORS
        is_drawn = is_made or stream.hide_labels or stream.shuffle is not None
        for seed in range(n_seeds if is_drawn or (name in MODELS and is_random(name)) else 1):
            options = {**stream.options, "seed": seed} if is_made else stream.options
            settings = RunSettings(
                stream=dataclasses.replace(stream, seed=seed, options=options),
                model=name,
                preset=preset if at else None,
                changes=dict((changes or {}).get(model, {})),
                **(common or {}),
            )
            cell = Cell(model, settings)
            same = found.setdefault(json.dumps(settings.to_dict()), cell)
            if same is not cell:
                raise InputError(f"{same.model} and {model} are the same model; leave one out")
    return list(found.values())


def run_grid(cells: Sequence[Cell], folder: pathlib.Path, n_jobs: int = 1) -> Iterator[Outcome]:
    """Run what has not been run; outcomes as they come, those of earlier calls first.

    Every result is a file of the folder; DataError if one is of other settings.
    """
    waiting = []
    for cell in cells:
        known = cached_result(folder / cell.file, cell.settings)
        if known is None:
            waiting.append(cell)
        else:
            yield Outcome(cell, known, was_there=True)
    if not waiting:
        return
    # Started anew, not forked: threads of numerical libraries and Java do not survive a fork.
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(
        n_jobs, mp_context=context, initializer=_end_with_parent
    )
    try:
        with _as_children_start():
            futures = {pool.submit(run_cell, cell, folder): cell for cell in waiting}
        for future in concurrent.futures.as_completed(futures):
            if future.exception() is None:
                yield future.result()
            else:  # a cell raises nothing itself
                why = "its process, or one beside it, was ended from outside"
                yield Outcome(futures[future], None, why)
    finally:  # end the processes; what they had finished is kept
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


@contextlib.contextmanager
def _as_children_start() -> Iterator[None]:
    """Processes started meanwhile use one core, and leave Ctrl-C to this one, which ends them."""
    before = {name: os.environ.get(name) for name in THREADS}
    is_main = threading.current_thread() is threading.main_thread()  # else signals are not ours
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        if is_main:
            signal.signal(signal.SIGINT, handler)


def _end_with_parent() -> None:
    """End this process as soon as the one that started it has ended, be it by a crash."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def run_cell(cell: Cell, folder: pathlib.Path) -> Outcome:
    """Run a cell and write its result; errors are returned, not raised."""
    try:
        file = folder / cell.file
        with locked(file, wait=True):  # another process may be about the same
            known = cached_result(file, cell.settings)
            if known is not None:
                return Outcome(cell, known, was_there=True)
            return Outcome(cell, _result(cell, file))
    except Exception as error:  # also whatever a model of another library raises
        is_told = isinstance(error, InputError | DataError)
        return Outcome(cell, None, str(error) if is_told else f"{type(error).__name__}: {error}")


def _result(cell: Cell, file: pathlib.Path) -> dict[str, Any]:
    """Run a cell and write its result."""
    if MODELS[cell.settings.model].extra != "bench":  # whose start is part of what they are
        # Load compiled code and libraries, so that it is not timed.
        stream = StreamSettings(name="sea", rows=300, chunk_rows=100)
        list(Run(dataclasses.replace(cell.settings, stream=stream, scaling="online")))
    run = Run(cell.settings)
    for _ in run:
        pass
    result = run.result()
    write_result(result, file)
    return result


def comparison_of(
    outcomes: Sequence[Outcome], *, post_hoc: PostHoc = "nemenyi", measure: str = "accuracy"
) -> dict[str, Any]:
    """Summary of a grid as plain data. Runs that failed are left out, and named.

    Models are ranked by a measure, one of `devfnn.evaluation.MEASURES`.
    """
    check_measure(measure)
    models = list(dict.fromkeys(outcome.cell.model for outcome in outcomes))
    streams = list(dict.fromkeys(outcome.cell.settings.stream.name for outcome in outcomes))
    cells: list[dict[str, Any]] = [
        {"model": cell.model, "stream": cell.settings.stream.name, "seed": cell.seed}
        | {name: result[name] for name in (*MEASURED, key_of(measure))}
        | {"file": f"runs/{cell.file}"}
        for cell, result, *_ in outcomes
        if result is not None
    ]
    scores = {
        pair: mean_score((c for c in cells if (c["stream"], c["model"]) == pair), measure)
        for pair in itertools.product(streams, models)
    }
    ranking = ranked(scores, post_hoc, measure)
    failed = [{"cell": str(each.cell), "error": each.error} for each in outcomes if each.error]
    return {
        "format": FORMAT,
        "models": models,
        "streams": streams,
        "seeds": sorted({outcome.cell.seed for outcome in outcomes}),
        "cells": cells,
        "failed": failed,
        "measure": measure,
        "ranking": None if ranking is None else ranking.to_dict(),
    }
