"""Accuracy on the four files: presets, yardsticks, and every mechanism switched off in turn."""

import pathlib
from collections.abc import Iterator
from typing import Any

from devfnn import DEVFNN, Config, GClass
from devfnn.evaluation import Summary, iter_prequential
from devfnn.experiments.table_runs import ABLATIONS
from devfnn.model import presets
from streams import FOLDS, file_chunks

PUBLISHED = {"sea-paper": 91.7, "hyperplane-paper": 91.57, "weather": 80.0, "electricity": 70.0}
"""DEVFNN in the paper's Table 1."""

PLAIN = presets.stacked().replace(gaussian__growing=False, labels__choice="all")
"""One rule, every label: the simplest part of a network on its own."""


def systems(stream: str) -> Iterator[tuple[str, DEVFNN, str]]:
    """Name, fresh model and scaling of every row of the table."""
    none = {"scaling": "none"}
    squares = PLAIN.replace(gaussian__consequent="least_squares", **none)
    yield "one RLS rule", GClass(squares), "dataset"
    yield "one logistic rule", GClass(PLAIN.replace(**none)), "dataset"
    yield "default", DEVFNN(Config(**none)), "dataset"
    yield "default, online scaling", DEVFNN(), "none"
    yield "static", DEVFNN(presets.static().replace(**none)), "dataset"
    yield "paper", DEVFNN(presets.paper(stream).replace(**none)), "dataset"
    for name, changes in ABLATIONS.items():
        yield f"  {name}", DEVFNN(Config(**none).replace(**changes)), "dataset"


def measure(folder: pathlib.Path) -> Iterator[dict[str, Any]]:
    """Run every system over every file; a result at a time."""
    for stream in FOLDS:
        for name, model, scaling in systems(stream):
            results = list(iter_prequential(model, file_chunks(folder, stream, scaling)))
            summary = Summary.of(results)
            yield {
                "stream": stream,
                "system": name,
                "model_bytes": model.nbytes,
                **summary.to_dict(),
            }
