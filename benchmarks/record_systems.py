"""The systems of the benchmark of record: DEVFNN, its ablations, its parts, and its rivals."""

import dataclasses
import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

from record_streams import FOUR_FILES, RecordStream

from devfnn import Config
from devfnn.baselines.peers import PEERS
from devfnn.baselines.registry import MODELS
from devfnn.errors import InputError
from devfnn.evaluation import Procedure
from devfnn.experiments import RunSettings
from devfnn.experiments.ablations import ABLATIONS
from devfnn.model import presets

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
        return PEERS[self.model].module.split(".")[0] if self.model in PEERS else None

    @property
    def is_learner(self) -> bool:
        """Whether it is DEVFNN or a part of it."""
        return MODELS[self.model].takes_config

    def runs_on(self, stream: RecordStream) -> bool:
        """Whether it is run on a stream."""
        if self.preset == "paper" and not _has_paper_preset(stream.settings.name):
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


def ablations() -> dict[str, dict[str, Any]]:
    """Every mechanism of the default turned round, one at a time.

    They are those of `ABLATIONS` that turn a single switch. One that is off by default is turned
    on, and the name says so.
    """
    default = Config()
    found: dict[str, dict[str, Any]] = {}
    for name, changes in ABLATIONS.items():
        ((field, _),) = changes.items()
        before = getattr(default, field)
        if isinstance(before, bool):
            mechanism = name.removesuffix(" on").removesuffix(" off")
            found[f"{mechanism} {'off' if before else 'on'}"] = {field: not before}
    return found


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
    yield System("stacked layers", "ablation", changes=ABLATIONS["stacked layers"])
    yield System(BUDGET, "ablation", changes={"label_budget": 0.1})
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


def _has_paper_preset(stream: str) -> bool:
    try:
        presets.paper(stream)
    except InputError:
        return False
    return True
