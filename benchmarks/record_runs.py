"""Runs of the benchmark of record: each kept as soon as it is done, and never run twice.

A result is known by a code of all that it depends on: its settings, the rows of the stream, and the
source of the learner or the release of the library. So a changed learner is run anew, and its
rivals are not.
"""

import ast
import dataclasses
import datetime
import hashlib
import importlib.metadata
import itertools
import json
import os
import pathlib
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from record_plan import (
    DEFAULT,
    MOA_FOREST,
    RIVER_FOREST,
    RecordStream,
    System,
    data_fingerprint,
    file_names,
    record_streams,
    record_systems,
)

import devfnn
from devfnn.errors import DataError
from devfnn.evaluation.ranking import holm, signed_rank_p
from devfnn.evaluation.results import deviation, mean
from devfnn.experiments.grid import Cell, Outcome, run_grid
from devfnn.files import write_whole

PROTOCOL = 1
"""Raise it when the way of measuring changes, so that everything is run again."""

LEARNER = ("kernels", "model")
"""Sources on which the results of DEVFNN and its parts depend."""

TRIVIAL = ("baselines/chunks.py",)

JAVA = "-Xmx8g -Xss10M -XX:ActiveProcessorCount=1"
"""Java believes that there is one core, so that it does not use more."""


@dataclasses.dataclass(frozen=True)
class RecordCell(Cell):
    """One run of the benchmark."""

    stream: RecordStream
    system: System
    code: str
    """Changes with everything that its result depends on."""
    origin: str
    """Source of the learner, or release of the library, that the code stands for."""

    @property
    def name(self) -> str:
        """What its file is called."""
        words = re.sub(r"[^\w.-]+", "_", self.system.name)
        return f"{self.stream.name}__{words}__{self.code}"

    def __str__(self) -> str:
        return f"{self.system.name} on {self.stream.name}"


def source_fingerprint(parts: Sequence[str] = LEARNER) -> str:
    """A code that changes with the code of some sources, whatever their comments and docstrings."""
    package = pathlib.Path(devfnn.__file__).parent
    digest = hashlib.sha256()
    for part in parts:
        path = package / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(str(file.relative_to(package)).encode())
            digest.update(_bare(file.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:16]


def _bare(source: str) -> str:
    """A source without what only people read."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(statement: ast.AST) -> bool:
    is_value = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_value and isinstance(statement.value.value, str)


def cells_of(streams: Sequence[RecordStream], systems: Sequence[System]) -> list[RecordCell]:
    """Every system on every stream it is run on; ours before those of other libraries."""
    learner, trivial = source_fingerprint(LEARNER), source_fingerprint(TRIVIAL)
    found = []
    for stream in streams:
        rows = data_fingerprint(stream)
        for system in systems:
            if not system.runs_on(stream):
                continue
            if system.library is not None:
                origin = f"{system.library} {importlib.metadata.version(system.library)}"
            else:
                origin = learner if system.is_learner else trivial
            settings = system.settings_on(stream)
            code = _code(settings.to_dict(), rows, origin)
            found.append(RecordCell(system.name, settings, stream, system, code, origin))
    return found


def _code(settings: dict[str, object], rows: str, origin: str) -> str:
    stream = dict(settings["stream"])  # type: ignore[call-overload]
    del stream["data_dir"]  # the same data may have moved
    stream["name"] = pathlib.PurePath(stream["name"]).name
    everything = [PROTOCOL, settings | {"stream": stream}, rows, origin]
    text = json.dumps(everything, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def run_cells(
    cells: Sequence[RecordCell], folder: pathlib.Path, n_jobs: int = 1
) -> Iterator[Outcome]:
    """Run what has not been run; outcomes as they come.

    Parameters
    ----------
    cells
        What to run.
    folder
        Where results go, each in a file of its own as soon as it is done.
    n_jobs
        Processes at a time, one core each.
    """
    runs, about = folder / "runs", folder / "about"
    runs.mkdir(parents=True, exist_ok=True)
    about.mkdir(exist_ok=True)
    os.environ.setdefault("CAPYMOA_JVM_ARGS", JAVA)
    # A process for each library: Java is not there while others are timed, and if it crashes,
    # only the rest of its models on this stream have to be run again.
    for _, batch in itertools.groupby(cells, lambda cell: (cell.stream.name, cell.system.library)):
        for outcome in run_grid(list(batch), runs, n_jobs):
            if not outcome.was_there and outcome.result is not None:
                _check_same_learner(outcome.cell, runs)
                _note(about / outcome.cell.file)
            yield outcome


def _check_same_learner(cell: Cell, runs: pathlib.Path) -> None:
    """Drop a result that may be of another learner than its name says.

    The process that made it read the sources after the run was planned; if they were edited since,
    nobody knows which it read.
    """
    assert isinstance(cell, RecordCell)
    if cell.system.is_learner and source_fingerprint(LEARNER) != cell.origin:
        (runs / cell.file).unlink()
        raise DataError(
            f"the learner was edited while {cell} ran; that result is dropped, all others are kept"
        )


def _note(path: pathlib.Path) -> None:
    """Keep when and on what machine a run was made."""
    now = datetime.datetime.now(datetime.UTC).date().isoformat()
    write_whole(path, f"{json.dumps({'date': now, 'cpu': cpu_model()})}\n".encode())


def noted(folder: pathlib.Path, cell: Cell) -> dict[str, str]:
    """When and on what machine a run was made; nothing if nobody kept it."""
    path = folder / "about" / cell.file
    if not path.is_file():
        return {}
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def cpu_model() -> str:
    """What the processor calls itself."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


# ---- what came of them

FEWEST_PAIRS = 6
"""Chunks below which a test of pairs could not find anything at 5 %."""

KEPT = (
    *("stream", "system", "scaling", "rows", "chunks"),
    *(f"{part}_{what}" for part in ("accuracy", "first", "rest") for what in ("mean", "std")),
    *("log_loss", "calibration_error"),
    *("rows_per_second", "model_bytes", "label_fraction", "made"),
)
"""What is kept of a rival's run. Older runs lack the log-loss and the calibration error."""

Summary = dict[str, Any]
Cells = Mapping[tuple[str, str], Mapping[str, Any]]
"""Summaries by stream and system."""


def summary_of(
    cell: RecordCell, result: Mapping[str, Any], made: Mapping[str, str] | None = None
) -> Summary:
    """A run in the numbers of the tables.

    Parameters
    ----------
    cell
        What was run.
    result
        Its result, as plain data.
    made
        When and on what machine it was run.
    """
    per_chunk = result["per_chunk"]
    accuracies = per_chunk["accuracy"]
    n_first = len(accuracies) // 5
    return {
        "stream": cell.stream.name,
        "system": cell.system.name,
        "kind": cell.system.kind,
        "scaling": result["scaling"],
        "by_row": cell.system.by_row,
        "changes": dict(cell.system.changes),
        "code": cell.code,
        "seed": cell.seed,
        "rows": result["rows"],
        "chunks": result["chunks"],
        **_spread("accuracy", accuracies),
        **_spread("first", accuracies[:n_first]),
        **_spread("rest", accuracies[n_first:]),
        "log_loss": result["log_loss"],
        "calibration_error": result["calibration_error"],
        "rows_per_second": _warm_speed(per_chunk, n_first),
        "rows_per_second_overall": result["rows_per_second"],
        "model_bytes": result["model_bytes"],
        "label_fraction": result["label_fraction"],
        "layers": per_chunk["layers"][-1],
        "rules": per_chunk["rules"][-1],
        "events": result["events"],
        "drift_positions": result["drift_positions"],
        "drift_detection": result["drift_detection"],
        "chunk_rows": per_chunk["chunk_rows"],
        "chunk_accuracies": accuracies,
        "made": dict(made or {}),
    }


def kept_rivals(cells: Sequence[RecordCell], path: pathlib.Path) -> dict[str, Summary]:
    """Figures of rivals from an earlier record, by the names of their runs.

    They hold for the same release of the library on the same stream. Accuracies by chunk are not
    kept, so there is no test against the default.
    """
    runs = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    kept = {(run["origin"], run["about"], run["stream"], run["system"]): run for run in runs}
    absent = dict.fromkeys(("layers", "rules", "drift_positions", "drift_detection"))
    found = {}
    for cell in cells:
        key = (cell.origin, cell.stream.about, cell.stream.name, cell.system.name)
        if cell.system.kind == "peer" and key in kept:
            about = {"kind": cell.system.kind, "seed": cell.seed, "by_row": cell.system.by_row}
            run = dict.fromkeys(KEPT) | kept[key]
            found[cell.name] = run | about | absent | {"chunk_accuracies": []}
    return found


def keep_rivals(
    cells: Sequence[RecordCell], summaries: Sequence[Summary], path: pathlib.Path
) -> None:
    """Write what `kept_rivals` reads: these runs in place of older ones, all others as they are.

    Runs of systems and streams that no plan has any more are dropped.
    """
    plans = {(cell.stream.name, cell.system.name): cell for cell in cells}
    old = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    runs = {(run["stream"], run["system"]): run for run in old}
    for each in summaries:
        place = each["stream"], each["system"]
        if plans[place].system.kind == "peer":
            origin = {"origin": plans[place].origin, "about": plans[place].stream.about}
            runs[place] = origin | {name: _short(each[name]) for name in KEPT}
    systems = [system.name for system in record_systems()]
    streams = [*file_names(), *(stream.name for stream in record_streams(None))]
    order = itertools.product(streams, systems)
    lines = [json.dumps(runs[place]) for place in order if place in runs]
    write_whole(path, ("[\n" + ",\n".join(lines) + "\n]\n").encode())


def _short(value: Any) -> Any:
    """A number as it is kept, with as many digits as any table shows."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _spread(name: str, accuracies: Sequence[float | None]) -> dict[str, float | None]:
    """Mean and standard deviation over the chunks that were scored."""
    return {f"{name}_mean": mean(accuracies), f"{name}_std": deviation(accuracies)}


def _warm_speed(per_chunk: Mapping[str, Sequence[float]], n_first: int) -> float | None:
    """Rows by the time of predicting and learning, after the first fifth.

    By then Java has compiled what it runs; our kernels are compiled beforehand.
    """
    rows = sum(per_chunk["chunk_rows"][n_first:])
    seconds = sum(per_chunk["seconds_predict"][n_first:])
    seconds += sum(per_chunk["seconds_learn"][n_first:])
    return rows / seconds if seconds > 0.0 else None


def compare(summaries: Sequence[Summary]) -> list[Summary]:
    """The same, with how each system compares with others on its stream.

    Added are the difference to the default, the p of a signed-rank test over chunks (Holm's
    correction for all systems of the stream), and how many times as fast it is as the forests.
    """
    cells = by_name(summaries)
    p_values: dict[tuple[str, str], float] = {}
    for stream in dict.fromkeys(each["stream"] for each in summaries):
        p_values |= {(stream, system): p for system, p in _tests(cells, stream).items()}
    return [
        each
        | {
            "difference": _difference(each, cells.get((each["stream"], DEFAULT))),
            "p": p_values.get((each["stream"], each["system"])),
            "times_capymoa_arf": _times(each, cells.get((each["stream"], MOA_FOREST))),
            "times_river_arf": _times(each, cells.get((each["stream"], RIVER_FOREST))),
        }
        for each in summaries
    ]


def by_name(summaries: Sequence[Mapping[str, Any]]) -> Cells:
    """Summaries by stream and system."""
    return {(each["stream"], each["system"]): each for each in summaries}


def _tests(cells: Cells, stream: str) -> dict[str, float]:
    """p of each system of a stream against the default."""
    default = cells.get((stream, DEFAULT))
    if default is None:
        return {}
    pairs: dict[tuple[str, str], float] = {}
    for (name, system), other in cells.items():
        if name == stream and system != DEFAULT:
            p = _signed_rank(default["chunk_accuracies"], other["chunk_accuracies"])
            if p is not None:
                pairs[DEFAULT, system] = p
    return {system: p for (_, system), p in holm(pairs).items()}


def _signed_rank(one: Sequence[float | None], other: Sequence[float | None]) -> float | None:
    """p of Wilcoxon's test over chunks that both scored; None if there are too few."""
    if len(one) != len(other):
        return None
    gaps = [a - b for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    if len(gaps) < FEWEST_PAIRS:
        return None
    return signed_rank_p(np.array(gaps))


def _difference(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> float | None:
    """By how much its accuracy is higher."""
    if other is None or one["accuracy_mean"] is None or other["accuracy_mean"] is None:
        return None
    return float(one["accuracy_mean"] - other["accuracy_mean"])


def _times(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> float | None:
    """How many times as fast it is."""
    if other is None or not one["rows_per_second"] or not other["rows_per_second"]:
        return None
    return float(one["rows_per_second"] / other["rows_per_second"])
