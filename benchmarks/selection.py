"""Candidates for the default on generated streams and on the first fifth of each file.

Usage: python benchmarks/selection.py [--json FILE]; every row is the default with one change.
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

from devfnn import DEVFNN, Config
from devfnn.evaluation import Summary, iter_prequential
from devfnn.types import Chunk
from streams import FOLDS, data_folder, file_chunks

CANDIDATES: dict[str, Config] = {
    "one logistic rule": PLAIN.replace(initial_layers=1, growing=False),
    "default": Config(),
    **{name: Config().replace(**changes) for name, changes in ABLATIONS.items()},
    "memory 0.999": Config(memory=0.999),
    "memory 0.9998": Config(memory=0.9998),
    "conflict threshold 0.9": Config(conflict_threshold=0.9),
    "initial gain 10": Config(initial_gain=10.0),
    "initial gain 3": Config(initial_gain=3.0),
    "first precision 0.5": Config(first_precision=0.5),
    "drift significance 1e-4": Config(drift_significance=1e-4),
    "merge threshold 0.01": Config(merge_threshold=0.01),
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


def main() -> None:
    """Run all candidates on all streams, with online scaling."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("results/selection.json"))
    arguments = parser.parse_args()
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    console, streams = Console(width=180), selection_streams()
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
    arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
