"""What the benchmark of record runs: seven streams from files, a zoo of thirteen more, and twelve
that are made; DEVFNN, its ablations, its parts, and its rivals."""

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

SUSY = "susy-30k"

ZOO = (
    *("airlines", "gmsc", "nomao", "letter", "shuttle", "occupancy", "eeg_eye_state", "outdoor"),
    *("powersupply", "keystroke", "luxembourg", "phishing", "connect4"),
)
"""Real streams on which the default was developed, files in the folder `zoo` of the data."""

ZOO_ROWS = 20_000
"""Rows of a stream of the zoo, at most."""

EIGHTEEN = (*ZOO, *FOUR_FILES, SUSY)
"""The real streams over which the default and its rivals are compared as a whole."""

RECURRING = "sea-recurring"


@dataclasses.dataclass(frozen=True)
class RecordStream:
    """A stream, and what the report says about it."""

    name: str
    settings: StreamSettings
    about: str
    group: str = "generated"
    """Which part of the report it belongs to: files, zoo or generated."""
    is_nonlinear: bool = False
    """Whether no plane, nor a few of them, is near its boundaries."""
    drift: str | None = None
    """How concepts change at known rows: abrupt, gradual, recurring; None where nobody knows."""

    @property
    def is_file(self) -> bool:
        """Whether it is a file that is scaled by its whole range, as in the paper."""
        return self.group == "files"

    @property
    def path(self) -> str:
        """Where its file is within the folder of the data."""
        name = f"{self.settings.name}.npz"
        return f"zoo/{name}" if self.group == "zoo" else name

    def placed(self, data_dir: pathlib.Path) -> "RecordStream":
        """The same with its file in a folder."""
        settings = dataclasses.replace(self.settings, data_dir=str(data_dir))
        if self.group == "zoo":  # no data set of ours, so it is read by its path
            settings = dataclasses.replace(settings, name=str(data_dir / self.path))
        return dataclasses.replace(self, settings=settings)


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
    placed = [
        stream.placed(data_dir)
        for stream in _files(rows, kdd_rows)
        if data_dir is not None and (data_dir / stream.path).is_file()
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
    yield _file(SUSY, rows, "30,000 rows of SUSY, chunks of 500")
    for name, target, classes in (("kdd99-binary", "binary", 2), ("kdd99-23", "attack", 23)):
        about = f"the first {first_kdd:,} rows of KDD Cup 1999 (10 %), {classes} classes"
        stream = _file("kdd99", first_kdd, about, target=target)
        yield dataclasses.replace(stream, name=name)
    n_rows = min(rows or ZOO_ROWS, ZOO_ROWS)
    for name in ZOO:
        settings = StreamSettings(name=name, rows=n_rows, chunk_rows=CHUNK_ROWS, seed=SEED)
        about = f"{name} of the zoo, the first {n_rows:,} rows or all, chunks of {CHUNK_ROWS}"
        yield RecordStream(name, settings, about, "zoo")


def _file(name: str, rows: int | None, about: str, **options: Any) -> RecordStream:
    settings = StreamSettings(name=name, rows=rows, options=options, seed=SEED)
    return RecordStream(name, settings, about, "files")


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
SWIFT = "swift"
GROWING_OFF = "growing off"
ALL_LABELS = "active learning off"
BUDGET = "label budget 0.1"
BY_ROW = "default, by row"
LAGS = "default, by row, 3 lags"

ONLINE = {name: f"{name}, online scaling" for name in (DEFAULT, SWIFT, ALL_LABELS)}
"""What systems are called where they scale online a file that is else scaled by its range."""

BOOSTED = (*FOUR_FILES, SUSY)
"""Where boosting is run, which takes longer than everything else together elsewhere."""

MOA_FOREST = "capymoa-arf, 10 trees"
MOA_FOREST_30 = "capymoa-arf, 30 trees"
MOA_BAGGING = "capymoa-bagging, 10 trees"
RIVER_FOREST = "river-arf, 10 trees"
RIVER_LOGISTIC = "river-logistic"
ONE_RLS, ONE_LOGISTIC = "one RLS rule", "one logistic rule"

PEERS = (MOA_FOREST, MOA_FOREST_30, MOA_BAGGING, RIVER_LOGISTIC, ONE_LOGISTIC, ONE_RLS)
"""Whom the default is compared with over the eighteen streams."""


def name_on(system: str, stream: str) -> str:
    """What a system is called on one of the eighteen streams, where ours scale online.

    >>> name_on("default", "letter"), name_on("default", "weather")
    ('default', 'default, online scaling')
    """
    return ONLINE.get(system, system) if stream in BOOSTED else system


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
    on_zoo: bool = True
    """Whether it is run on the zoo, too, if it is run everywhere."""

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
        if self.name == ONLINE[DEFAULT] and not stream.is_file:
            return False  # other streams are scaled online anyway
        if self.streams is None:
            return self.on_zoo or stream.group != "zoo"
        return stream.name in self.streams

    def settings_on(self, stream: RecordStream) -> RunSettings:
        """All that a run depends on.

        Files are scaled by their whole range; the zoo, and what is made, as `devfnn compare` does
        by default.
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


ZOO_ABLATIONS = (
    *(ALL_LABELS, "trees off", "neighbours off", "surface off", "stack off", "resting off"),
)
"""Those that are run on the zoo too: of what the default has and `swift` does not."""


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
    yield System(ONLINE[DEFAULT], "default", scaling="online")
    yield System(SWIFT, "preset", preset="swift")
    yield System(ONLINE[SWIFT], "preset", preset="swift", scaling="online", streams=BOOSTED)
    yield System("static", "preset", preset="static")
    yield System("paper", "preset", preset="paper")
    for name, changes in ablations().items():
        yield System(name, "ablation", changes=changes, on_zoo=name in ZOO_ABLATIONS)
    yield System("clouds off", "ablation", changes=ABLATIONS["clouds off"], on_zoo=False)
    yield System(
        ONLINE[ALL_LABELS], "ablation", changes=ABLATIONS[ALL_LABELS], scaling="online",
        streams=BOOSTED,
    )  # fmt: skip
    (levels,) = STACKED_ABLATIONS.values()
    yield System("stacked layers", "ablation", preset="stacked", changes=levels, on_zoo=False)
    yield System(BUDGET, "ablation", changes={"labels__budget": 0.1}, on_zoo=False)
    yield System(BY_ROW, "default", scaling="online", by_row=True, streams=FOUR_FILES[2:])
    yield System(
        LAGS, "default", changes={"lags": 3}, scaling="online", by_row=True,
        streams=("electricity",),
    )  # fmt: skip
    yield System(ONE_RLS, "part", model="rls")
    yield System(ONE_LOGISTIC, "part", model="logistic")


def _others() -> Iterator[System]:
    """On the zoo only the peers: slow ones, and those that are nowhere near the best, are not."""
    yield System("majority", "trivial", model="majority")
    yield System("no-change", "trivial", model="no-change")
    yield System(RIVER_LOGISTIC, "peer", model="river-logistic")
    yield System(RIVER_FOREST, "peer", model="river-arf", changes={"n_models": 10}, on_zoo=False)
    for name in ("capymoa-naive-bayes", "capymoa-hoeffding-tree", "capymoa-hat"):
        yield System(name, "peer", model=name, on_zoo=False)
    ten, thirty = {"ensemble_size": 10}, {"ensemble_size": 30}
    yield System(MOA_FOREST, "peer", model="capymoa-arf", changes=ten)
    yield System(MOA_FOREST_30, "peer", model="capymoa-arf", changes=thirty, streams=EIGHTEEN)
    yield System(
        "capymoa-srp, 10 trees", "peer", model="capymoa-srp", changes=ten, on_zoo=False
    )  # fmt: skip
    yield System(MOA_BAGGING, "peer", model="capymoa-leveraging-bagging", changes=ten)
    # A tenth of the steps, each ten times as long: the whole way stays the same.
    steps = {"boosting_iterations": 10, "learning_rate": 0.125}
    yield System(
        "capymoa-sgbt, 10 steps", "peer", model="capymoa-sgbt", changes=steps, streams=BOOSTED
    )


def is_installed(system: System) -> bool:
    """Whether the library of a system can be imported; Java is not looked for here."""
    return system.library is None or importlib.util.find_spec(system.library) is not None
