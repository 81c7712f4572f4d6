"""The streams of the benchmark of record: seven from files, twelve that are made."""

import dataclasses
import hashlib
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from devfnn.experiments import StreamSettings

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
