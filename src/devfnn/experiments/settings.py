"""Settings of a run as plain data: the stream, the model and the procedure."""

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from devfnn.baselines.registry import MODELS, is_random, make_model
from devfnn.errors import InputError
from devfnn.evaluation import Procedure
from devfnn.experiments.published import PAPER_FOLDS, PAPER_OPTIONS
from devfnn.formatting import flat_names
from devfnn.model import presets
from devfnn.model.config import Config
from devfnn.streams.files.content import STANDARD_INPUT
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.opening import open_stream
from devfnn.streams.stream import Stream, from_arrays

ENDLESS_ROWS = 100_000
"""Rows taken of an endless stream by default."""

LONGEST_DELAY = 2**62
"""Longest delay of labels; sums of rows stay below 2^63."""

Progress = Callable[[int, int | None], object]


class Opened(NamedTuple):
    """A stream that is ready to run."""

    stream: Stream
    n_left_out: int = 0
    """Rows at its end that do not fill a fold."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """Which rows, in which chunks.

    Without `folds` and `chunk_rows`, the streams of the paper's Table 1 are cut into as many chunks
    as there, and others into chunks of 500 rows.
    """

    name: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    data_dir: str | None = None
    rows: int | None = None
    skip: int = 0
    folds: int | None = None
    chunk_rows: int | None = None
    shuffle: int | None = None
    hide_labels: float = 0.0
    delay_labels: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.folds is not None and self.chunk_rows is not None:
            raise InputError("chunks are set by folds or by chunk_rows, not by both")
        object.__setattr__(self, "delay_labels", min(self.delay_labels, LONGEST_DELAY))

    def open(self, progress: Progress | None = None) -> Opened:
        """The stream, cut into chunks, with all that was asked for."""
        seeded = {"seed": self.seed} if self.name in GENERATORS else {}
        options = {**seeded, **self.options}
        whole = open_stream(self.name, data_dir=self.data_dir, progress=progress, options=options)
        stream = whole.skip(self.skip) if self.skip else whole
        if self.rows is not None or stream.is_endless:
            stream = stream.take(self.rows or ENDLESS_ROWS)
        stream, n_left_out = self._cut(whole, stream)
        if self.shuffle is not None:
            stream = stream.shuffle(self.shuffle, seed=self.seed)
        if self.hide_labels:
            stream = stream.hide_labels(self.hide_labels, seed=self.seed)
        if self.delay_labels:
            stream = stream.delay_labels(rows=self.delay_labels)
        return Opened(stream, n_left_out)

    def _cut(self, whole: Stream, stream: Stream) -> Opened:
        folds = self.folds or PAPER_FOLDS.get(self.name)
        if folds is None or self.chunk_rows is not None:
            rows = 500 if self.chunk_rows is None else self.chunk_rows
            return Opened(stream.chunks(rows=rows))
        if self.folds is None and self.rows is not None:
            n_whole = ENDLESS_ROWS if whole.is_endless else self._counted(whole)
            if self.rows < n_whole:
                # part of a stream of the paper: in chunks as large as in the whole of it
                return Opened(stream.chunks(rows=max(1, n_whole // folds)))
        n_rows = self._counted(stream)
        if n_rows < folds:
            raise InputError(f"{n_rows:,} rows cannot be cut into {folds:,} folds")
        rows = n_rows // folds
        return Opened(stream.take(rows * folds).chunks(rows=rows), n_rows - rows * folds)

    def _counted(self, stream: Stream) -> int:
        if stream.n_rows is not None:
            return stream.n_rows
        if self.name == STANDARD_INPUT:
            raise InputError("a pipe cannot be cut into folds, since its length is unknown")
        return sum(len(block.y) for block in stream.blocks())


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunSettings:
    """A model of `devfnn.baselines.MODELS`, a stream and a procedure.

    Only DEVFNN and its parts have a preset, one of `presets.PRESETS`. `changes` are as of
    `Config.replace`, or parameters of another model's constructor. The scaling is online, without
    look-ahead; dataset, by the range of the whole stream as in the paper, which looks ahead; or
    none. By default DEVFNN, the paper's rivals and models of scikit-learn have online, the presets
    of the paper dataset, and all others none, since they scale by themselves if they need it.
    """

    stream: StreamSettings
    model: str = "devfnn"
    preset: str | None = None
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    scaling: str | None = None
    procedure: Procedure = dataclasses.field(default_factory=Procedure)

    def __post_init__(self) -> None:
        if self.scaling not in (None, "online", "dataset", "none"):
            raise InputError(f"scaling is one of online, dataset, none, not {self.scaling!r}")
        if self.preset not in (None, *presets.PRESETS):
            known = ", ".join(presets.PRESETS)
            raise InputError(f"a preset is one of {known}, not {self.preset!r}")
        is_random(self.model)  # which refuses names of no model, before data are fetched
        if self.preset not in (None, "default") and not self.takes_config:
            raise InputError(f"{self.model} has no presets; they are for DEVFNN and its parts")
        if self.procedure.by_row and self.stream.delay_labels:
            # Row by row, labels must not come before they are due within a chunk either.
            procedure = dataclasses.replace(self.procedure, delay=self.stream.delay_labels)
            stream = dataclasses.replace(self.stream, delay_labels=0)
            object.__setattr__(self, "stream", stream)
            object.__setattr__(self, "procedure", procedure)
        if str(self.preset_name).startswith("paper") and self.stream.name in PAPER_OPTIONS:
            options = PAPER_OPTIONS[self.stream.name] | dict(self.stream.options)
            object.__setattr__(self, "stream", dataclasses.replace(self.stream, options=options))

    @property
    def takes_config(self) -> bool:
        """Whether the model is DEVFNN or a part of it."""
        return MODELS[self.model].takes_config

    @property
    def preset_name(self) -> str | None:
        """The preset, given or by default."""
        return (self.preset or MODELS[self.model].preset) if self.takes_config else None

    @property
    def scaling_name(self) -> str:
        """The scaling, given or by default."""
        if self.scaling is not None:
            return self.scaling
        if str(self.preset_name).startswith("paper") and self.stream.name != STANDARD_INPUT:
            return "dataset"  # which is read twice
        entry = MODELS[self.model]
        return "online" if entry.takes_config or entry.needs_scaling else "none"

    def config(self) -> Config | None:
        """The configuration of DEVFNN and its parts; None for other models."""
        if not self.takes_config:
            return None
        config = presets.by_name(str(self.preset_name), self.stream.name)
        scaling = config.scaling if self.scaling_name == "online" else "none"
        return config.replace(seed=self.stream.seed, scaling=scaling).replace(**self.changes)

    def final_config(self) -> Config | None:
        """The configuration that the model ends up with; None for models without one."""
        if not self.takes_config:
            return None
        config: Config = self.make_model(from_arrays([[0.0]], [0])).config
        return config

    def make_model(self, stream: Stream) -> Any:
        """A new model for the stream."""
        return make_model(
            self.model,
            stream.chunks(rows=1) if self.procedure.by_row else stream,
            config=self.config(),
            seed=self.stream.seed,
            options=dict(self.changes),  # again: they win over what makes a part of DEVFNN
        )

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain data, as JSON has them."""
        found = dataclasses.asdict(self) | {
            "preset": self.preset_name,
            "scaling": self.scaling_name,
            "procedure": self.procedure.to_dict(),
        }
        return dict(json.loads(json.dumps(found, default=str)))


def difference(mine: dict[str, Any], theirs: dict[str, Any]) -> tuple[str, Any, Any] | None:
    """The first setting or parameter that is not the same in both, as plain data.

    >>> difference({"stream": {"name": "sea"}}, {"stream": {"name": "led"}})
    ('stream.name', 'sea', 'led')
    """
    flat, other = flat_names(mine), flat_names(theirs)
    for name in {**flat, **other}:
        is_same = flat.get(name) == other.get(name)
        if not is_same and name != "stream.data_dir":  # the same data may have moved
            return name, flat.get(name), other.get(name)
    return None


@functools.cache
def versions() -> dict[str, str]:
    """Versions that results are made with."""
    import importlib.metadata
    import platform

    found = {"python": platform.python_version()}
    for package in ("devfnn", "numpy", "numba", "river", "capymoa", "scikit-learn", "torch"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
