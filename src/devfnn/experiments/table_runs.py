"""The runs that tables are made of: systems of the paper, models users would take, ablations."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from devfnn.baselines.registry import MODELS
from devfnn.experiments.grid import Cell, cells_of
from devfnn.experiments.published import PAPER_FOLDS, PAPER_OPTIONS
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

Changes = dict[str, dict[str, Any]]

ABLATIONS: Changes = {
    "growing off": {"growing": False},
    "merging off": {"merging": False},
    "feature mask on": {"feature_mask": True},
    "active learning off": {"active_learning": False},
    "rule growing off": {"rule_growing": False},
    "pruning off": {"pruning": False},
    "crossings off": {"crossings": False},
    "recall off": {"recall": False},
    "forgetting off": {"forgetting": False},
    "clouds off": {"max_clouds": 0},
    "prior reach off": {"prior_reach": 1.0},
    "label noise off": {"label_noise": 0.0},
    "votes equal": {"vote_power": 0.0},
    # With the levels that suit it: those of the default are set for the other network.
    "stacked layers": {
        "network": "stacked",
        "conflict_threshold": 0.95,
        "drift_significance": 1e-8,
    },
}
"""Changes of the default, by name."""

PAPER_ABLATIONS: Changes = {
    "growing off": {"growing": False},
    "merging off": {"merging": False},
    "feature mask off": {"feature_mask": False},
    "active learning off": {"active_learning": False},
    "rule growing off": {"rule_growing": False},
    "pruning off": {"pruning": False},
    "votes equal": {"voting_weights": "equal"},
}
"""The same for the network as the paper has it."""

RIVAL_VARIANTS: Mapping[str, Changes] = {
    "sdevfnn": {"rules evolving": {"rules": "evolving"}, "all layers learn": {"training": "all"}},
    "dsscn": {"cut after one row": {"compat": True}, "merging off": {"merging": False}},
    "pnn": {"five passes": {"epochs": 5}},
    "den": {"five passes": {"epochs": 5}},
    "hat": {"five passes": {"epochs": 5}},
}
"""Other ways to run the paper's rivals, by model."""


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
        for cell in _cells(models, _stream(name, rows, data_dir), n_seeds, {})
    ]


def ablation_cells(
    streams: Sequence[str], n_seeds: int, *, rows: int | None = None, data_dir: str | None = None
) -> list[Cell]:
    """DEVFNN with every mechanism switched off in turn, as the paper has it too, and its rivals."""
    starts = {"devfnn": ABLATIONS, "devfnn@paper": PAPER_ABLATIONS, **RIVAL_VARIANTS}
    return [
        dataclasses.replace(cell, model=f"{model}, {name}" if name else model)
        for stream in dict.fromkeys(streams)
        for model, ablations in starts.items()
        for name, changes in {"": {}, **ablations}.items()
        for cell in _cells([model], _stream(stream, rows, data_dir), n_seeds, changes)
    ]


def _stream(name: str, rows: int | None, data_dir: str | None) -> StreamSettings:
    options = PAPER_OPTIONS.get(name, {})
    return StreamSettings(name=name, options=options, rows=rows, data_dir=data_dir)


def _cells(
    models: Sequence[str], stream: StreamSettings, n_seeds: int, changes: Mapping[str, Any]
) -> list[Cell]:
    """Models on a stream, with the sizes that Table 1 gives networks on it."""
    sizes = {"stream": name_in_paper(stream.name)} if stream.name in PAPER_FOLDS else {}
    of_models = {model: {**(sizes if model in SIZED else {}), **changes} for model in models}
    return cells_of(models, [stream], 1 if stream.name in LONG else n_seeds, changes=of_models)
