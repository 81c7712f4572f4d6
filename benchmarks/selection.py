"""Candidates for the default on generated streams and on the first fifth of each file.

Usage: python benchmarks/selection.py [--rows N] [--json FILE]; every row but the first is the
default with at most one change.
"""

import argparse
import json
import pathlib
import statistics
from typing import Any

import numpy as np
from accuracy import ABLATIONS, PLAIN
from drifting import GENERATED
from rich.console import Console
from rich.progress import track
from rich.table import Table

from devfnn import DEVFNN, Config, GClass
from devfnn.evaluation import Summary, iter_prequential
from devfnn.files import write_whole
from devfnn.types import Chunk
from streams import FOLDS, data_folder, file_chunks

CANDIDATES: dict[str, Config] = {
    "one logistic rule": GClass(PLAIN).config,
    "default": Config(),
    **{name: Config().replace(**changes) for name, changes in ABLATIONS.items()},
    "conflict threshold 0.95": Config().replace(labels__certainty=0.95),
    "drift significance 1e-6": Config().replace(drift__significance=1e-6),
    "quick memory 1,000": Config().with_layer("quick line", memory=1000.0),
    "longest memory 50,000": Config().replace(memory__longest=50_000.0),
    "prior 2": Config().replace(rules__prior=2.0),
    "prior 20": Config().replace(rules__prior=20.0),
    "split evidence 12": Config().replace(boxes__evidence=12.0),
    "split evidence 40": Config().replace(boxes__evidence=40.0),
    "cloud rate 0.05": Config().replace(clouds__rate=0.05),
    "cloud memory 0.9995": Config().replace(clouds__memory=0.9995),
    "vote power 0.05": Config().replace(voting__power=0.05),
    "vote power 0.3": Config().replace(voting__power=0.3),
    "vote rows 3,000": Config().replace(voting__rows=3000.0),
}


def selection_streams() -> dict[str, list[Chunk]]:
    """Generated streams, and the first fifth of every file that is there."""
    streams = {
        name: make(np.random.default_rng(index))
        for index, (name, make) in enumerate(GENERATED.items())
    }
    folder = data_folder()
    if folder is not None:
        for name in FOLDS:
            chunks = file_chunks(folder, name, "none")
            streams[f"{name}, first fifth"] = chunks[: len(chunks) // 5]
    return streams


def first_chunks(chunks: list[Chunk], rows: int | None) -> list[Chunk]:
    """Chunks with about so many rows, two at least; all if no number is given."""
    return chunks if rows is None else chunks[: max(2, rows // len(chunks[0].y))]


def main() -> None:
    """Run all candidates on all streams, with online scaling."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("results/selection.json"))
    parser.add_argument("--rows", type=int, help="at most so many rows of every stream")
    arguments = parser.parse_args()
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    console = Console(width=180)
    streams = {
        name: first_chunks(chunks, arguments.rows) for name, chunks in selection_streams().items()
    }
    rows: list[dict[str, Any]] = []
    for name, config in track(CANDIDATES.items(), "candidates", console=console, transient=True):
        scores = {
            stream: 100 * (Summary.of(iter_prequential(DEVFNN(config), chunks)).accuracy_mean or 0)
            for stream, chunks in streams.items()
        }
        rows.append({"candidate": name, "mean": statistics.fmean(scores.values()), **scores})
    table = Table("candidate", "mean", *streams, title="Accuracy, mean over chunks (%)")
    for row in rows:
        table.add_row(row["candidate"], *(f"{row[key]:.2f}" for key in ("mean", *streams)))
    console.print(table)
    write_whole(arguments.json, json.dumps(rows, indent=1).encode())


if __name__ == "__main__":
    main()
