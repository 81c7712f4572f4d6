"""A run from its settings to its result."""

import dataclasses
import pickle
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import devfnn
from devfnn.arrays import Floats
from devfnn.baselines.registry import MODELS
from devfnn.errors import DataError, InputError
from devfnn.evaluation import ChunkResult, Prequential, Procedure
from devfnn.evaluation.classes import cautions
from devfnn.evaluation.course import Course
from devfnn.evaluation.results import drift_record, run_record
from devfnn.experiments.result_files import FORMAT
from devfnn.experiments.settings import Progress, RunSettings, StreamSettings, versions
from devfnn.model.devfnn import DEVFNN
from devfnn.model.gclass import GClass
from devfnn.model.scaling import OnlineScaler
from devfnn.streams.drift import positions_before
from devfnn.streams.stream import Stream
from devfnn.types import Chunk

NAMES: dict[type, str] = {DEVFNN: "devfnn", GClass: "gclass"}
"""Names of models in results, if not those of their classes."""

OTHER_ROWS = "the rows are not those of the run that was stopped: it cannot go on with others"

Watch = Callable[[Iterable[Chunk]], Iterable[Chunk]]
"""Called with chunks on their way to the model."""


class Run:
    """A model on its way through a stream. Iterating goes on where it stands.

    `progress` is called with the bytes of a download; `watch` sees the chunks on their way, and may
    refuse some.

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
        if MODELS[settings.model].needs_classes:
            self.stream = self.stream.with_all_classes()
        self.model: Any = settings.make_model(self.stream)
        self.results = Course(settings.procedure.window_chunks)
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
            # Models of other libraries fail of it, or learn nonsense from it without a word.
            why = (
                f"is missing, and {settings.model} needs all values; missing='mean' puts the mean "
                "in its place"
            )
            chunks = checked_chunks(chunks, names, settings.stream, why=why)
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

    The model is whatever `iter_prequential` takes: DEVFNN, models of River, CapyMOA and
    scikit-learn. Rows are not scaled here; DEVFNN does that itself. Figures and reports call the
    stream by `name`.

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
    results = Course.of(loop, loop.procedure.window_chunks)
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


def _measured(loop: Prequential, results: Course, stream: Stream) -> dict[str, Any]:
    if not results:
        raise DataError("a stream without rows gives no result")
    model, is_devfnn = loop.model, isinstance(loop.model, DEVFNN)
    names = dict(zip(stream.classes, stream.class_names, strict=False))
    record = run_record(
        results,
        classes=loop.scorer.codes.labels,
        class_names=stream.class_names,
        auc=loop.scorer.auc,
    )
    positions = positions_before(stream.drift_positions, record["rows"])
    found = {
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
        "standings": [each._asdict() for each in model.standings()] if is_devfnn else [],
        "rules": [rule.to_dict() for rule in model.rules(class_names=names)] if is_devfnn else None,
    }
    return found | {"cautions": cautions(found)}


def _get_ready(model: Any) -> None:
    """Compile kernels before timing starts, if necessary."""
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


# ---- rows on their way to the model


class ChunkSource:
    """The chunks of a run, with a fingerprint if requested."""

    def __init__(self, stream: Stream, start: Callable[[], Iterable[Chunk]]) -> None:
        self.feature_names: tuple[str, ...] = stream.feature_names
        self.classes: tuple[Hashable, ...] = stream.classes
        self.start = start
        self.expected: tuple[int, int] | None = None
        """Chunks of an earlier run, if any, and their fingerprint: DataError if these are others.
        None if no fingerprint is requested."""
        self.n_chunks, self.fingerprint = 0, 0

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self.start()) if self.expected is None else self._checked(*self.expected)

    def _checked(self, n_expected: int, expected: int) -> Iterator[Chunk]:
        self.n_chunks = self.fingerprint = 0
        for chunk in self.start():
            self.n_chunks += 1
            is_plain = chunk.y.dtype != object
            labels = chunk.y.tobytes() if is_plain else repr(chunk.y.tolist()).encode()
            for data in (chunk.X.tobytes(), labels):
                self.fingerprint = zlib.crc32(data, self.fingerprint)
            if self.n_chunks == n_expected and self.fingerprint != expected:
                raise DataError(OTHER_ROWS)
            yield chunk
        if self.n_chunks < n_expected:
            raise DataError(OTHER_ROWS)


def scaled_by_range(stream: Stream) -> Stream:
    """The stream scaled to [0, 1] by the smallest and largest values of all its rows.

    This looks ahead: it reads the stream once before it starts. The paper does it.
    """
    low = np.full(len(stream.feature_names), np.inf)
    high = -low
    for block in stream.blocks():
        if len(block.y):
            low = np.fmin(low, np.fmin.reduce(block.X))
            high = np.fmax(high, np.fmax.reduce(block.X))
    with np.errstate(over="ignore", invalid="ignore"):
        width = np.where(high == low, 1.0, high - low)
    for name, reach in zip(stream.feature_names, width, strict=True):
        if not np.isfinite(reach):
            why = "it has no value in the whole stream, or its values lie too far apart"
            raise InputError(f"{name!r} has no range to scale by: {why}")

    def scaled() -> Iterator[Chunk]:
        for block in stream.blocks():
            yield block._replace(X=(block.X - low) / width)

    return dataclasses.replace(stream, blocks=scaled)


def scaled_online(stream: Stream, *, by_row: bool = False) -> Iterator[Chunk]:
    """Chunks scaled by what came before them, for models that do not do it themselves.

    The first chunk is scaled by itself, since it only trains; a later one by the rows before it.
    Row by row, the first chunk is predicted too: ever longer pieces of it are scaled by the rows
    before them.
    """
    scaler = OnlineScaler(len(stream.feature_names))
    is_first = True
    for chunk in stream:
        late = chunk.late
        if late is not None:
            late = late._replace(X=scaler.transform(late.X))
        if is_first and by_row:
            X = np.concatenate([chunk.X[:0], *_piecewise(chunk.X, scaler)])
        else:
            if is_first:
                _absorb(scaler, chunk.X)
            X = scaler.transform(chunk.X)
        yield chunk._replace(X=X, late=late)
        if not is_first:
            _absorb(scaler, chunk.X)
        is_first = is_first and not len(chunk.y)


def _piecewise(X: Floats, scaler: OnlineScaler) -> Iterator[Floats]:
    """Pieces of 1, 1, 2, 4, ... rows, each scaled by those before it."""
    start = 0
    while start < len(X):
        piece = X[start : max(1, 2 * start)]
        yield scaler.transform(piece)
        _absorb(scaler, piece)
        start += len(piece)


def _absorb(scaler: OnlineScaler, X: Floats) -> None:
    start = 0
    while (due := scaler.absorb(X, start)) < len(X):
        scaler.remake()
        start = due + 1


def checked_chunks(
    chunks: Iterable[Chunk],
    feature_names: Sequence[str],
    settings: StreamSettings,
    *,
    why: str | None,
    largest: float = np.inf,
) -> Iterator[Chunk]:
    """The same chunks; DataError says where there is a value that the model cannot learn.

    why: what to say of a missing value, None if the model can learn it; largest: of all values
    """
    n_rows = settings.skip
    for chunk in chunks:
        is_missing = np.isnan(chunk.X)
        is_bad = np.abs(np.where(is_missing, 0.0, chunk.X)) > largest
        if why is not None:
            is_bad |= is_missing
        if is_bad.any():
            row, feature = np.argwhere(is_bad)[0]
            what = f"is {chunk.X[row, feature]:g}; values beyond {largest:g} cannot be learned"
            place = f"{settings.name}, row {n_rows + row + 1:,}"
            place += " as shuffled" if settings.shuffle else ""
            name = feature_names[feature]
            raise DataError(f"{place}: {name!r} {why if is_missing[row, feature] else what}")
        n_rows += len(chunk.y)
        yield chunk
