"""The runs that the tables are made of: all systems of the paper, and models users would take."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from devfnn.baselines.registry import MODELS
from devfnn.experiments.ablations import ABLATIONS, PAPER_ABLATIONS, RIVAL_VARIANTS
from devfnn.experiments.grid import Cell, cells_of
from devfnn.experiments.published import PAPER_OPTIONS
from devfnn.experiments.settings import StreamSettings
from devfnn.model.presets import name_in_paper

PAPER_STREAMS = (
    "sea-paper",
    "hyperplane-paper",
    "weather",
    "electricity",
    "susy-30k",
    "rfid",
    "kdd99",
)
"""The streams of Table 1, as far as they are to be had; `susy` is the whole of SUSY."""

LONG = ("susy", "kdd99")
"""Streams that are run with one seed only: so many rows tell models apart without more."""

PEER_STREAMS = PAPER_STREAMS[:4]
"""Streams on which all models are run in reasonable time."""

PAPER_MODELS = (
    "devfnn",
    "devfnn@paper",
    "sdevfnn",
    "sdevfnn-evolving",
    "dsscn",
    "pnn",
    "den",
    "hat",
    "majority",
)
"""The six systems of Table 1, two of them in two forms, and the floor that all must leave."""

PEER_MODELS = (
    *PAPER_MODELS,
    "rls",
    "logistic",
    "no-change",
    *(name for name, entry in MODELS.items() if entry.extra == "bench"),
)
"""The same, and what a user would choose instead."""

SIZED = ("pnn", "den", "hat")
"""Models whose size Table 1 gives for each of its streams."""


def table_cells(
    models: Sequence[str],
    streams: Sequence[str],
    n_seeds: int,
    *,
    rows: int | None = None,
    data_dir: str | None = None,
) -> list[Cell]:
    """Every model on every stream with every seed, with the chunks and sizes of the paper.

    Parameters
    ----------
    models, streams
        Names, models with a preset after @ if need be.
    n_seeds
        Seeds 0, 1, ... where anything is drawn; `LONG` streams have one.
    rows
        Rows of each stream at most.
    data_dir
        Where data sets are looked for first.
    """
    return [
        cell
        for name in dict.fromkeys(streams)
        for cell in cells_of(
            _on(models, name),
            [_stream(name, rows, data_dir)],
            _seeds(name, n_seeds),
            changes=_sizes(models, name),
        )
    ]


def ablation_cells(
    streams: Sequence[str], n_seeds: int, *, rows: int | None = None, data_dir: str | None = None
) -> list[Cell]:
    """DEVFNN with every mechanism switched off in turn, as the paper has it too, and its rivals."""
    starts = {"devfnn": ABLATIONS, "devfnn@paper": PAPER_ABLATIONS, **RIVAL_VARIANTS}
    found = []
    for stream in dict.fromkeys(streams):
        for model, ablations in starts.items():
            for name, changes in {"": {}, **ablations}.items():
                cells = cells_of(
                    _on([model], stream),
                    [_stream(stream, rows, data_dir)],
                    _seeds(stream, n_seeds),
                    changes={
                        each: _sizes([model], stream).get(each, {}) | changes
                        for each in _on([model], stream)
                    },
                )
                label = f"{model}, {name}" if name else model
                found += [dataclasses.replace(cell, model=label) for cell in cells]
    return found


def _on(models: Sequence[str], stream: str) -> list[str]:
    """Models that can be run: the paper's parameters are for its own streams only."""
    return [model for model in models if _is_known(stream) or not model.endswith("@paper")]


def _seeds(stream: str, n_seeds: int) -> int:
    return 1 if stream in LONG else n_seeds


def _is_known(stream: str) -> bool:
    return stream in PAPER_STREAMS or stream == "susy"


def _stream(name: str, rows: int | None, data_dir: str | None) -> StreamSettings:
    options = PAPER_OPTIONS.get(name, {})
    return StreamSettings(name=name, options=options, rows=rows, data_dir=data_dir)


def _sizes(models: Sequence[str], stream: str) -> dict[str, dict[str, Any]]:
    """Sizes of networks as Table 1 has them on a stream."""
    if not _is_known(stream):
        return {}
    return {model: {"stream": name_in_paper(stream)} for model in models if model in SIZED}
