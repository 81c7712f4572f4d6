"""What the benchmark of record runs: seven streams from files and twelve that are made; DEVFNN, its
ablations, its parts, and its rivals."""

import dataclasses
import hashlib
import importlib.util
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from devfnn.baselines.registry import MODELS
from devfnn.evaluation import Procedure
from devfnn.experiments import RunSettings, StreamSettings
from devfnn.experiments.table_runs import ABLATIONS, STACKED_ABLATIONS
from devfnn.model.presets import name_in_paper

SEED = 1
"""Of all generated streams, and of all models that draw anything."""

GENERATED_ROWS = 100_000
RECURRING_ROWS = 200_000
KDD_ROWS = 100_000
"""Rows of kdd99 that all systems run, for the sake of the slow ones."""

CHUNK_ROWS = 500
SHORT_CHUNKS = 20
"""Chunks into which generated streams are cut that are shorter than so many chunks of 500."""

FOUR_FILES = ("sea-paper", "hyperplane-paper", "weather", "electricity")
"""The streams on which the paper's figures can be repeated in full."""

RECURRING = "sea-recurring"


@dataclasses.dataclass(frozen=True)
class RecordStream:
    """A stream, and what the report says about it."""

    name: str
    settings: StreamSettings
    about: str
    is_file: bool = False
    is_nonlinear: bool = False
    """Whether no plane, nor a few of them, is near its boundaries."""
    drift: str | None = None
    """How concepts change at known rows: abrupt, gradual, recurring; None where nobody knows."""

    @property
    def group(self) -> str:
        """Which part of the report it belongs to."""
        return "files" if self.is_file else "generated"


def record_streams(
    data_dir: pathlib.Path | None, rows: int | None = None, kdd_rows: int = KDD_ROWS
) -> list[RecordStream]:
    """All streams that can be run.

    Parameters
    ----------
    data_dir
        Folder of the files; those that are not there are left out.
    rows
        Rows at most. What is made drifts earlier then, in proportion.
    kdd_rows
        Rows of kdd99 at most.
    """
    files = [
        stream
        for stream in _files(rows, kdd_rows)
        if data_dir is not None and (data_dir / f"{stream.settings.name}.npz").is_file()
    ]
    placed = [
        dataclasses.replace(
            stream, settings=dataclasses.replace(stream.settings, data_dir=str(data_dir))
        )
        for stream in files
    ]
    return [*placed, *_generated(rows)]


def file_names() -> list[str]:
    """Streams that need a file."""
    return [stream.name for stream in _files(None, KDD_ROWS)]


def _files(rows: int | None, kdd_rows: int) -> Iterator[RecordStream]:
    """Chunks are the paper's: 200, 240, 36, 91 and 60 of them, and 494 rows of kdd99."""
    first_kdd = min(kdd_rows, rows or kdd_rows)
    for name in FOUR_FILES:
        yield _file(name, rows, f"{name}, in the paper's chunks")
    yield _file("susy-30k", rows, "30,000 rows of SUSY, chunks of 500")
    for name, target, classes in (("kdd99-binary", "binary", 2), ("kdd99-23", "attack", 23)):
        about = f"the first {first_kdd:,} rows of KDD Cup 1999 (10 %), {classes} classes"
        stream = _file("kdd99", first_kdd, about, target=target)
        yield dataclasses.replace(stream, name=name)


def _file(name: str, rows: int | None, about: str, **options: Any) -> RecordStream:
    settings = StreamSettings(name=name, rows=rows, options=options, seed=SEED)
    return RecordStream(name, settings, about, is_file=True)


def _generated(rows: int | None) -> Iterator[RecordStream]:
    n_rows = min(rows or GENERATED_ROWS, GENERATED_ROWS)
    quarter = n_rows // 4
    nonlinear: dict[str, dict[str, Any]] = {
        "rbf": {"n_classes": 5, "n_concepts": 4, "speed": 1e-4},
        "agrawal": {},
        "led": {},
        "sine": {},
        "mixed": {},
    }
    for name, options in nonlinear.items():
        for drift, width in (("abrupt", 0), ("gradual", n_rows // 20)):
            stream = _made(
                f"{name}-{drift}", name, n_rows, rows_per_concept=quarter, width=width, **options
            )
            yield dataclasses.replace(stream, is_nonlinear=True, drift=drift)
    yield _made(
        "hyperplane-incremental", "hyperplane", n_rows, n_features=10, n_concepts=4,
        magnitude=0.0, kind="incremental", rows_per_concept=quarter, width=quarter,
    )  # fmt: skip
    n_rows = min(rows or RECURRING_ROWS, RECURRING_ROWS)
    recurring = _made(
        RECURRING, "sea", n_rows, thresholds=[8.0, 9.0, 7.0, 9.5],
        rows_per_concept=max(1, n_rows // 16), noise=0.1,
    )  # fmt: skip
    yield dataclasses.replace(recurring, drift="recurring")


def _made(name: str, generator: str, rows: int, **options: Any) -> RecordStream:
    chunk_rows = min(CHUNK_ROWS, max(2, rows // SHORT_CHUNKS))
    settings = StreamSettings(
        name=generator, rows=rows, chunk_rows=chunk_rows, options=options, seed=SEED
    )
    said = ", ".join(f"{key}={value}" for key, value in options.items())
    return RecordStream(name, settings, f"{generator}({rows:,}, {said}, seed={SEED})")


def data_fingerprint(stream: RecordStream) -> str:
    """A code that changes with any row, label or chunk of a stream, however it is made."""
    digest = hashlib.sha256()
    for chunk in stream.settings.open().stream:
        digest.update(f"{chunk.X.shape}{chunk.X.dtype}".encode())
        digest.update(np.ascontiguousarray(chunk.X).tobytes())
        digest.update(repr(chunk.y.tolist()).encode())
    return digest.hexdigest()[:16]


# ---- systems

DEFAULT = "default"
ONLINE = "default, online scaling"
GROWING_OFF = "growing off"
ALL_LABELS = "active learning off"
BUDGET = "label budget 0.1"
BY_ROW = "default, by row"
LAGS = "default, by row, 3 lags"
BOOSTED = (*FOUR_FILES, "susy-30k")
"""Where boosting is run, which takes longer than everything else together elsewhere."""

MOA_FOREST = "capymoa-arf, 10 trees"
RIVER_FOREST = "river-arf, 10 trees"


@dataclasses.dataclass(frozen=True)
class System:
    """A model as it is run."""

    name: str
    kind: str
    """default, preset, ablation, part, peer (of another library) or trivial."""
    model: str = "devfnn"
    preset: str | None = None
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    scaling: str | None = None
    """If it is to be other than for all systems on that stream."""
    by_row: bool = False
    streams: tuple[str, ...] | None = None
    """Where it is run; None for everywhere."""

    @property
    def library(self) -> str | None:
        """The library it comes from, as it is imported; None if it is ours."""
        return self.model.split("-")[0] if MODELS[self.model].extra == "bench" else None

    @property
    def is_learner(self) -> bool:
        """Whether it is DEVFNN or a part of it."""
        return MODELS[self.model].takes_config

    def runs_on(self, stream: RecordStream) -> bool:
        """Whether it is run on a stream."""
        if self.preset == "paper" and name_in_paper(stream.settings.name) is None:
            return False
        if self.name == ONLINE and not stream.is_file:
            return False  # what is made is scaled online anyway
        return self.streams is None or stream.name in self.streams

    def settings_on(self, stream: RecordStream) -> RunSettings:
        """All that a run depends on.

        Files are scaled by their whole range; what is made as `devfnn compare` does by default.
        """
        scaling = self.scaling or ("dataset" if stream.is_file else None)
        return RunSettings(
            stream=stream.settings,
            model=self.model,
            preset=self.preset,
            changes=dict(self.changes),
            scaling=scaling,
            procedure=Procedure(by_row=self.by_row),
        )


OF_NUMBERS = ("clouds off", "prior reach off", "label noise off")
"""Ablations of a number, not of a mechanism."""


def ablations() -> dict[str, dict[str, Any]]:
    """Every mechanism of the default turned round, one at a time.

    One that is off by default is turned on, and the name says so.
    """
    switches = (name for name in ABLATIONS if name.endswith((" on", " off")))
    return {name: ABLATIONS[name] for name in switches if name not in OF_NUMBERS}


def record_systems() -> list[System]:
    """All systems, whether what they need is installed or not; ours come first."""
    return [*_own(), *_others()]


def _own() -> Iterator[System]:
    yield System(DEFAULT, "default")
    yield System(ONLINE, "default", scaling="online")
    yield System("static", "preset", preset="static")
    yield System("paper", "preset", preset="paper")
    for name, changes in ablations().items():
        yield System(name, "ablation", changes=changes)
    yield System("clouds off", "ablation", changes=ABLATIONS["clouds off"])
    (levels,) = STACKED_ABLATIONS.values()
    yield System("stacked layers", "ablation", preset="stacked", changes=levels)
    yield System(BUDGET, "ablation", changes={"labels__budget": 0.1})
    yield System(BY_ROW, "default", scaling="online", by_row=True, streams=FOUR_FILES[2:])
    yield System(
        LAGS, "default", changes={"lags": 3}, scaling="online", by_row=True,
        streams=("electricity",),
    )  # fmt: skip
    yield System("one RLS rule", "part", model="rls")
    yield System("one logistic rule", "part", model="logistic")


def _others() -> Iterator[System]:
    yield System("majority", "trivial", model="majority")
    yield System("no-change", "trivial", model="no-change")
    yield System("river-logistic", "peer", model="river-logistic")
    yield System(RIVER_FOREST, "peer", model="river-arf", changes={"n_models": 10})
    for name in ("capymoa-naive-bayes", "capymoa-hoeffding-tree", "capymoa-hat"):
        yield System(name, "peer", model=name)
    for model in ("capymoa-arf", "capymoa-srp", "capymoa-leveraging-bagging"):
        name = f"{model.replace('leveraging-', '')}, 10 trees"
        yield System(name, "peer", model=model, changes={"ensemble_size": 10})
    # A tenth of the steps, each ten times as long: the whole way stays the same.
    steps = {"boosting_iterations": 10, "learning_rate": 0.125}
    yield System(
        "capymoa-sgbt, 10 steps", "peer", model="capymoa-sgbt", changes=steps, streams=BOOSTED
    )


def is_installed(system: System) -> bool:
    """Whether the library of a system can be imported; Java is not looked for here."""
    return system.library is None or importlib.util.find_spec(system.library) is not None
