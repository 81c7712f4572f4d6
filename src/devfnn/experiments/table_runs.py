"""The runs of tables: systems of the paper, alternative models, ablations."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from devfnn.baselines.registry import MODELS
from devfnn.experiments.grid import Cell, cells_of
from devfnn.experiments.published import PAPER_FOLDS, PAPER_OPTIONS
from devfnn.experiments.settings import StreamSettings
from devfnn.experiments.tables import RIVALS
from devfnn.model.presets import name_in_paper

PAPER_STREAMS = tuple(name for name in PAPER_FOLDS if name != "susy")
"""The streams of Table 1, as far as available; `susy` is the whole of SUSY."""

LONG = ("susy", "kdd99")
"""Streams that are run with one seed only, since they are long."""

PEER_STREAMS = PAPER_STREAMS[:4]
"""Streams on which all models are run in reasonable time."""

PAPER_MODELS = ("devfnn", "devfnn@paper", *RIVALS, "majority")
"""The six systems of Table 1, two of them in two forms, and the majority class."""

_OTHER_LIBRARIES = tuple(name for name, entry in MODELS.items() if entry.extra == "bench")

PEER_MODELS = (*PAPER_MODELS, "rls", "logistic", "no-change", *_OTHER_LIBRARIES)
"""The same, and alternatives from other libraries."""

SIZED = ("pnn", "den", "hat")
"""Models whose size Table 1 gives for each of its streams."""

Changes = dict[str, dict[str, Any]]

ABLATIONS: Changes = {
    "growing off": {"growing": None, "drift": None, "merging": None},
    "merging off": {"merging": None},
    "feature mask on": {"feature_mask": {}},
    "active learning off": {"labels__choice": "all"},
    "rule growing off": {"boxes__splitting": False, "clouds": None},
    "joining off": {"boxes__joining": False},
    "crossings off": {"boxes__crossings": False},
    "recall off": {"growing__max_kept": 0},
    "forgetting off": {"memory": None},
    "clouds off": {"clouds": None},
    "trees off": {"boosted": None},
    "neighbours off": {"neighbours": None},
    "surface off": {"surface": None},
    "stack off": {"stacked": None},
    "resting off": {"resting": None},
    "prior reach off": {"rules__prior_reach": 1.0},
    "label noise off": {"layers__label_noise": 0.0},
    "votes equal": {"voting__power": 0.0},
}
"""Changes of the default, by name."""

STACKED_ABLATIONS: Changes = {
    "levels that suit it": {"labels__certainty": 0.95, "drift__significance": 1e-8}
}
"""The same for stacked gaussian layers: levels of the default are set for rival layers."""

PAPER_ABLATIONS: Changes = {
    "growing off": {"growing": None, "drift": None},
    "merging off": {"merging": None},
    "feature mask off": {"feature_mask": None},
    "active learning off": {"labels__choice": "all"},
    "rule growing off": {"gaussian__growing": False},
    "pruning off": {"gaussian__pruning": False},
    "votes equal": {"voting": {"form": "equal", "ballots": "hard"}},
}
"""The same for the network as the paper has it."""


def table_cells(
    models: Sequence[str], streams: Sequence[str], n_seeds: int, **limits: Any
) -> list[Cell]:
    """Every model on every stream, with the chunks and sizes of the paper.

    limits: rows and data_dir as in `StreamSettings`
    """
    names = dict.fromkeys(streams)
    return [cell for name in names for cell in _cells(models, name, n_seeds, {}, **limits)]


def ablation_cells(streams: Sequence[str], n_seeds: int, **limits: Any) -> list[Cell]:
    """DEVFNN with every mechanism switched off in turn, also as the paper has it."""
    starts = {
        "devfnn": ABLATIONS,
        "devfnn@stacked": STACKED_ABLATIONS,
        "devfnn@paper": PAPER_ABLATIONS,
    }
    return [
        dataclasses.replace(cell, model=f"{model}, {name}" if name else model)
        for stream in dict.fromkeys(streams)
        for model, ablations in starts.items()
        for name, changes in {"": {}, **ablations}.items()
        for cell in _cells([model], stream, n_seeds, changes, **limits)
    ]


def _cells(
    models: Sequence[str], name: str, n_seeds: int, changes: Mapping[str, Any], **limits: Any
) -> list[Cell]:
    """Models on a stream, with the sizes that Table 1 gives networks on it."""
    stream = StreamSettings(name=name, options=PAPER_OPTIONS.get(name, {}), **limits)
    sizes = {"stream": name_in_paper(name)} if name in PAPER_FOLDS else {}
    of_models = {model: {**(sizes if model in SIZED else {}), **changes} for model in models}
    return cells_of(models, [stream], 1 if name in LONG else n_seeds, changes=of_models)
