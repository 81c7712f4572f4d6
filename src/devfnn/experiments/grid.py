"""Many runs over processes: every model on every stream with every seed, each in a file of its own.

A run whose file is there is not run again; so a grid that was stopped goes on with the same call.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import json
import multiprocessing
import os
import pathlib
import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devfnn.baselines.registry import MODELS, is_random
from devfnn.errors import DataError, InputError
from devfnn.evaluation.ranking import Ranking, rank
from devfnn.evaluation.results import mean
from devfnn.experiments.result_files import FORMAT, cached_result
from devfnn.experiments.running import Run
from devfnn.experiments.settings import RunSettings, StreamSettings
from devfnn.storage import write_whole
from devfnn.streams.files.content import STANDARD_INPUT
from devfnn.streams.generators.catalogue import GENERATORS

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""One process is one core, so that times can be compared."""

LONGEST_STEM = 60
"""Characters of the name of a file that its results carry in theirs."""

CELL = (
    *("accuracy_mean", "accuracy_std", "accuracy_overall", "f1", "kappa", "rows", "chunks"),
    *("rows_per_second", "model_bytes", "label_fraction", "seconds_predict", "seconds_learn"),
    *("rules_mean", "layers_mean"),
)
"""What a comparison says of each run."""


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
        """What it is called, also as a file; names of other files get a code, to be told apart."""
        name = self.settings.stream.name
        stream = re.sub(r"[^\w.-]", "_", pathlib.PurePath(name).stem)[:LONGEST_STEM]
        if stream != name:
            stream += f"-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        return f"{self.model}__{stream}__{self.seed}"

    @property
    def file(self) -> str:
        """The file of its result."""
        return f"{self.name}.json"

    def __str__(self) -> str:
        return f"{self.model} on {self.settings.stream.name}, seed {self.seed}"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a cell."""

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
    """Every model on every stream with every seed.

    Where neither the stream nor the model draws anything, one seed is enough.

    Parameters
    ----------
    models
        Names of models, with a preset after @ if need be.
    streams
        Which rows; their seeds are set here.
    n_seeds
        Seeds 0, 1, ...
    changes
        Parameters by model.
    common
        What is the same for all: `scaling` and `procedure` of `RunSettings`.
    """
    if unknown := set(changes or {}) - set(models):
        raise InputError(f"parameters are set for {sorted(unknown)[0]!r}, which is not compared")
    _check_distinct("model", models)
    _check_distinct("stream", [stream.name for stream in streams])
    if any(stream.name == STANDARD_INPUT for stream in streams):
        raise InputError("a pipe can be read only once; save it to a file to compare models on it")
    found = []
    for stream in streams:
        for model in models:
            name, at, preset = model.partition("@")
            if at and not preset:
                raise InputError(f"a preset is missing after @ in {model!r}")
            is_drawn = stream.name in GENERATORS or stream.hide_labels or stream.shuffle is not None
            needs_seeds = is_drawn or (name in MODELS and is_random(name))
            for seed in range(n_seeds if needs_seeds else 1):
                settings = RunSettings(
                    stream=dataclasses.replace(stream, seed=seed, options=_seeded(stream, seed)),
                    model=name,
                    preset=preset or None,
                    changes=dict((changes or {}).get(model, {})),
                    **(common or {}),
                )
                found.append(Cell(model, settings))
    return found


def _seeded(stream: StreamSettings, seed: int) -> dict[str, Any]:
    """Options of a stream with the seed, if it is made."""
    return {**stream.options, "seed": seed} if stream.name in GENERATORS else dict(stream.options)


def _check_distinct(what: str, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise InputError(f"the {what} {twice} is named more than once")


def run_grid(cells: Sequence[Cell], folder: pathlib.Path, n_jobs: int = 1) -> Iterator[Outcome]:
    """Run what has not been run; outcomes as they come, those of earlier calls first.

    Parameters
    ----------
    cells
        What to run.
    folder
        Where the results go, one file for each. DataError if it holds results of other settings.
    n_jobs
        Processes at a time, one core each.
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
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))  # processes inherit it when they start
    pool = concurrent.futures.ProcessPoolExecutor(
        n_jobs, mp_context=context, initializer=_end_with_parent
    )
    try:
        with _deaf_to_ctrl_c():
            futures = {pool.submit(run_cell, cell, folder): cell for cell in waiting}
        for future in concurrent.futures.as_completed(futures):
            yield _outcome(futures[future], future)
    finally:
        _stop(pool)
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def _outcome(cell: Cell, future: "concurrent.futures.Future[Outcome]") -> Outcome:
    try:
        return future.result()
    except concurrent.futures.BrokenExecutor:
        return Outcome(cell, None, "its process, or one beside it, was ended from outside")


def _stop(pool: concurrent.futures.ProcessPoolExecutor) -> None:
    """End the processes; what they had finished is kept."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


@contextlib.contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Processes started meanwhile leave Ctrl-C to this one, which ends them."""
    if threading.current_thread() is not threading.main_thread():  # signals are not ours
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end_with_parent() -> None:
    """End this process as soon as the one that started it has ended, be it by a crash."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def run_cell(cell: Cell, folder: pathlib.Path) -> Outcome:
    """Run a cell, and write the result at once; whatever goes wrong is told, not raised."""
    try:
        _warm_up(cell)
        run = Run(cell.settings)
        for _ in run:
            pass
        result = run.result()
        write_whole(folder / cell.file, f"{json.dumps(result)}\n".encode())
        return Outcome(cell, result)
    except (InputError, DataError) as error:
        return Outcome(cell, None, str(error))
    except Exception as error:  # whatever a model of another library raises
        return Outcome(cell, None, f"{type(error).__name__}: {error}")


def _warm_up(cell: Cell) -> None:
    """Load compiled code and libraries, so that it is not timed."""
    if MODELS[cell.settings.model].extra == "bench":
        return  # their start is part of what they are
    stream = StreamSettings(name="sea", rows=300, chunk_rows=100)
    for _ in Run(dataclasses.replace(cell.settings, stream=stream, scaling="online")):
        pass


def comparison_of(
    outcomes: Sequence[Outcome], *, post_hoc: str = "nemenyi", significance: float = 0.05
) -> dict[str, Any]:
    """What a grid came to, as plain data. Runs that failed are left out, and named."""
    models = list(dict.fromkeys(outcome.cell.model for outcome in outcomes))
    streams = list(dict.fromkeys(outcome.cell.settings.stream.name for outcome in outcomes))
    cells: list[dict[str, Any]] = [
        {"model": cell.model, "stream": cell.settings.stream.name, "seed": cell.seed}
        | {name: result[name] for name in CELL}
        | {"file": f"runs/{cell.file}"}
        for cell, result in ((each.cell, each.result) for each in outcomes)
        if result is not None
    ]
    cells.sort(
        key=lambda cell: (streams.index(cell["stream"]), models.index(cell["model"]), cell["seed"])
    )
    failed = [{"cell": str(each.cell), "error": each.error} for each in outcomes if each.error]
    ranking = _ranking(cells, models, streams, post_hoc, significance)
    return {
        "format": FORMAT,
        "models": models,
        "streams": streams,
        "seeds": sorted({outcome.cell.seed for outcome in outcomes}),
        "cells": cells,
        "failed": failed,
        "ranking": None if ranking is None else ranking.to_dict(),
    }


def _ranking(
    cells: Sequence[Mapping[str, Any]],
    models: Sequence[str],
    streams: Sequence[str],
    post_hoc: str,
    significance: float,
) -> Ranking | None:
    """Ranks by accuracy, mean over seeds, on the streams that all models finished.

    None if there is too little.
    """
    known: dict[tuple[str, str], list[float | None]] = collections.defaultdict(list)
    for cell in cells:
        known[cell["model"], cell["stream"]].append(cell["accuracy_mean"])
    shared = [
        stream
        for stream in streams
        if all(known[model, stream] and None not in known[model, stream] for model in models)
    ]
    if len(models) < 2 or len(shared) < 2:
        return None
    scores = {model: [mean(known[model, stream]) for stream in shared] for model in models}
    return rank(scores, significance=significance, post_hoc=post_hoc)  # type: ignore[arg-type]
