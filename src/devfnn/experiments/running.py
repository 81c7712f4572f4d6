"""A run from its settings to its result."""

import pickle
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import devfnn
from devfnn.baselines.registry import MODELS
from devfnn.errors import DataError, InputError
from devfnn.evaluation import ChunkResult, Prequential, Procedure
from devfnn.evaluation.results import drift_record, run_record
from devfnn.experiments.inputs import complete, scaled_by_range, scaled_online
from devfnn.experiments.result_files import FORMAT
from devfnn.experiments.settings import Progress, RunSettings, versions
from devfnn.model.devfnn import DEVFNN
from devfnn.model.gclass import GClass
from devfnn.streams.drift import positions_before
from devfnn.streams.stream import Stream
from devfnn.types import Chunk

NAMES: dict[type, str] = {DEVFNN: "devfnn", GClass: "gclass"}
"""What models are called in results, if not by their classes."""

OTHER_ROWS = "the rows are not those of the run that was stopped: it cannot go on with others"

Watch = Callable[[Iterable[Chunk]], Iterable[Chunk]]
"""Looks at chunks on their way to the model."""


class Run:
    """A model on its way through a stream. Iterating goes on where it stands.

    Parameters
    ----------
    settings
        All that the result depends on.
    progress
        Called with the bytes of a download.
    watch
        Looks at the chunks on their way, to refuse some.

    Examples
    --------
    >>> from devfnn.experiments import RunSettings, StreamSettings
    >>> run = Run(RunSettings(stream=StreamSettings(name="sea", rows=2000)))
    >>> for result in run:
    ...     pass
    >>> run.result()["rows"]
    2000
    """

    def __init__(
        self, settings: RunSettings, *, progress: Progress | None = None, watch: Watch = iter
    ) -> None:
        self.settings = settings
        self.stream, self.n_left_out = settings.stream.open(progress)
        self.model: Any = settings.make_model(self.stream)
        self.results: list[ChunkResult] = []
        self.is_complete = False
        is_scaled_first = settings.scaling_name == "dataset"
        self._scaled = scaled_by_range(self.stream) if is_scaled_first else self.stream
        self.source = ChunkSource(self.stream, lambda: watch(self._chunks()))
        self.loop = Prequential(self.model, self.source, settings.procedure)

    def __iter__(self) -> Iterator[ChunkResult]:
        _get_ready(self.model)
        for result in self.loop:
            self.results.append(result)
            yield result
        self.is_complete = True

    def _chunks(self) -> Iterable[Chunk]:
        """The chunks as the model is to see them. DEVFNN and its parts scale online themselves."""
        settings, names = self.settings, self.stream.feature_names
        chunks: Iterable[Chunk] = self._scaled
        if settings.scaling_name == "online" and not settings.takes_config:
            chunks = scaled_online(self.stream, by_row=settings.procedure.by_row)
        if not MODELS[settings.model].takes_gaps:
            n_before = settings.stream.skip
            chunks = complete(chunks, names, model=settings.model, n_before=n_before)
        return chunks

    def result(self, command: str | None = None) -> dict[str, Any]:
        """All that is known about the run, as plain data."""
        settings = self.settings
        about = {
            "stream": settings.stream.name,
            "model": settings.model,
            "preset": settings.preset_name,
            "scaling": settings.scaling_name,
            "seed": settings.stream.seed,
            "settings": settings.to_dict(),
            "command": command,
            "rows_left_out": self.n_left_out,
            "is_complete": self.is_complete,
        }
        return about | _measured(self.loop, self.results, self.stream)


def evaluate(
    model: Any, stream: Stream, procedure: Procedure | None = None, *, name: str = "stream"
) -> dict[str, Any]:
    """Run any model over a stream; returns what figures, reports and tables are made from.

    Parameters
    ----------
    model
        Whatever `iter_prequential` takes: DEVFNN, models of River, CapyMOA and scikit-learn.
    stream
        The rows. They are not scaled here; DEVFNN does that itself.
    name
        What the stream is called in figures and reports.

    Examples
    --------
    >>> from devfnn import DEVFNN
    >>> from devfnn.streams import sea
    >>> result = evaluate(DEVFNN(), sea(2000), name="sea")
    >>> result["rows"], 0.5 < result["accuracy_overall"] < 1.0
    (2000, True)
    """
    if not isinstance(stream, Stream):
        raise InputError(
            f"a stream is needed, not {type(stream).__name__}: devfnn.streams.from_arrays(X, y) "
            "makes one of arrays, read of a file"
        )
    loop = Prequential(model, stream, procedure)
    _get_ready(model)
    results = list(loop)
    config = model.config if isinstance(model, DEVFNN) else None
    about = {
        "stream": name,
        "model": NAMES.get(type(model), type(model).__name__),
        "preset": None,
        "scaling": "none" if config is None else config.scaling,
        "seed": 0 if config is None else config.seed,
        "settings": {"procedure": loop.procedure.to_dict()},
        "command": None,
        "rows_left_out": 0,
        "is_complete": True,
    }
    return about | _measured(loop, results, stream)


def _measured(loop: Prequential, results: Sequence[ChunkResult], stream: Stream) -> dict[str, Any]:
    """What a run measured, and with what, as plain data."""
    if not results:
        raise DataError("a stream without rows gives no result")
    model, is_devfnn = loop.model, isinstance(loop.model, DEVFNN)
    names = dict(zip(stream.classes, stream.class_names, strict=False))
    record = run_record(
        results,
        classes=loop.scorer.codes.labels,
        class_names=stream.class_names,
        auc=loop.scorer.auc,
        window_chunks=loop.procedure.window_chunks,
    )
    positions = positions_before(stream.drift_positions, record["rows"])
    return {
        "config": model.config.to_dict() if is_devfnn else None,
        "format": FORMAT,
        "version": devfnn.__version__,
        "versions": versions(),
        "feature_names": list(stream.feature_names),
        "chunk_rows": stream.chunk_rows,
        **record,
        "model_bytes": model_bytes(model),
        "drift_positions": list(positions),
        "drift_detection": drift_record(results, positions),
        "rules": [rule.to_dict() for rule in model.rules(class_names=names)] if is_devfnn else None,
    }


class ChunkSource:
    """The chunks of a run, with a fingerprint if somebody wants it."""

    def __init__(self, stream: Stream, start: Callable[[], Iterable[Chunk]]) -> None:
        self.feature_names: tuple[str, ...] = stream.feature_names
        self.classes: tuple[Hashable, ...] = stream.classes
        self.start = start
        self.expected: tuple[int, int] | None = None
        """Chunks of an earlier run, if any, and their fingerprint: DataError if these are others.
        None if nobody wants a fingerprint."""
        self.n_chunks, self.fingerprint = 0, 0

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self.start()) if self.expected is None else self._checked(*self.expected)

    def _checked(self, n_expected: int, expected: int) -> Iterator[Chunk]:
        self.n_chunks = self.fingerprint = 0
        for chunk in self.start():
            self.n_chunks += 1
            self.fingerprint = _fingerprint(chunk, self.fingerprint)
            if self.n_chunks == n_expected and self.fingerprint != expected:
                raise DataError(OTHER_ROWS)
            yield chunk
        if self.n_chunks < n_expected:
            raise DataError(OTHER_ROWS)


def _fingerprint(chunk: Chunk, before: int) -> int:
    """A number that changes with every row of a chunk."""
    found = zlib.crc32(np.ascontiguousarray(chunk.X).tobytes(), before)
    is_plain = chunk.y.dtype != object
    return zlib.crc32(chunk.y.tobytes() if is_plain else repr(chunk.y.tolist()).encode(), found)


def _get_ready(model: Any) -> None:
    """Compile kernels before the clock runs, if that has to be done."""
    if isinstance(model, DEVFNN):
        from devfnn.model.compiling import ensure_compiled

        ensure_compiled(model.config)


def model_bytes(model: Any) -> int | None:
    """Size of a model: of its arrays if it says so, else of its pickle; None without one."""
    if hasattr(model, "nbytes"):
        return int(model.nbytes)
    try:
        return len(pickle.dumps(model))
    except Exception:  # models of other libraries fail in many ways, Java objects among them
        return None
