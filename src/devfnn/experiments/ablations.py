"""Every mechanism switched off in turn: what each is worth."""

from collections.abc import Iterable, Sequence
from typing import Any

from devfnn.evaluation.results import mean
from devfnn.experiments.cells import (
    Cells,
    Result,
    cells_of_results,
    interruptions,
    mean_accuracy,
    system_name,
)
from devfnn.experiments.rendering import Column, Table

ABLATIONS: dict[str, dict[str, Any]] = {
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
    "stacked layers": {"network": "stacked"},
}
"""Changes of the default, by name."""

PAPER_ABLATIONS: dict[str, dict[str, Any]] = {
    "growing off": {"growing": False},
    "merging off": {"merging": False},
    "feature mask off": {"feature_mask": False},
    "active learning off": {"active_learning": False},
    "rule growing off": {"rule_growing": False},
    "pruning off": {"pruning": False},
    "votes equal": {"voting_weights": "equal"},
}
"""The same for the network as the paper has it."""

RIVAL_VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "sdevfnn": {"rules evolving": {"rules": "evolving"}, "all layers learn": {"training": "all"}},
    "dsscn": {"cut after one row": {"compat": True}, "merging off": {"merging": False}},
    "pnn": {"five passes": {"epochs": 5}},
    "den": {"five passes": {"epochs": 5}},
    "hat": {"five passes": {"epochs": 5}},
}
"""Other ways to run the paper's rivals, by model."""


def ablation_table(results: Iterable[Result]) -> Table:
    """Accuracy with a mechanism changed, and how much that is above or below without the change.

    Parameters
    ----------
    results
        Results of runs, as plain data: of DEVFNN as it is, and with changes.
    """
    cells = cells_of_results(results)
    streams = list(dict.fromkeys(stream for stream, _ in cells))
    systems = dict.fromkeys(system for _, system in cells)
    starts = {system: _start(cells, system) for system in systems}
    rows = [_row(cells, system, start, streams) for system, start in starts.items()]
    order = list(starts.values())
    accuracies = [column for each in streams for column in _pair(f":{each}", each, True)]
    return Table(
        title="What each mechanism is worth",
        columns=(
            Column("start", "of"),
            Column("change", "change"),
            *accuracies,
            *_pair("", "mean", False),
            Column("rules", "rules", decimals=1, is_detail=True),
            Column("layers", "layers", decimals=1, is_detail=True),
            Column("labels", "labels", decimals=2, is_detail=True),
        ),
        rows=tuple(
            sorted(rows, key=lambda row: (order.index(row["start"]), row["system"] != row["start"]))
        ),
        notes=(
            "Accuracy in percent, mean over chunks and seeds; then how far it is above (+) or "
            "below (-) the same without the change. Rules, layers and the share of labels used: "
            "means over streams.",
            *interruptions(cells),
        ),
        section="start",
    )


def _pair(key: str, title: str, is_detail: bool) -> tuple[Column, Column]:
    """Accuracy and the difference that the change made, which may be a detail."""
    shown: dict[str, Any] = {"decimals": 2, "factor": 100.0}
    return (
        Column(f"accuracy{key}", title, **shown),
        Column(f"difference{key}", "+/-", **shown, is_signed=True, is_detail=is_detail),
    )


def _start(cells: Cells, system: str) -> str:
    """What a system is without its changes."""
    (result, *_), *_ = [seeds for (_, name), seeds in cells.items() if name == system]
    return system_name({**result, "settings": None})


def _row(cells: Cells, system: str, start: str, streams: Sequence[str]) -> dict[str, Any]:
    inside = system.removeprefix(start.removesuffix(")")).strip("(), ")
    row: dict[str, Any] = {"system": system, "start": start, "change": inside or "as it is"}
    for stream in streams:
        own = mean_accuracy(cells.get((stream, system), []))
        row[f"accuracy:{stream}"] = own
        row[f"difference:{stream}"] = _gap(
            own, mean_accuracy(cells.get((stream, start), [])), system == start
        )
    row["accuracy"] = _whole_mean([row[f"accuracy:{stream}"] for stream in streams])
    before = _whole_mean([mean_accuracy(cells.get((stream, start), [])) for stream in streams])
    row["difference"] = _gap(row["accuracy"], before, system == start)
    every = [each for (_, name), seeds in cells.items() if name == system for each in seeds]
    for key, source in (
        ("rules", "rules_mean"),
        ("layers", "layers_mean"),
        ("labels", "label_fraction"),
    ):
        row[key] = mean([result.get(source) for result in every])
    return row


def _gap(own: float | None, before: float | None, is_start: bool) -> float | None:
    return None if own is None or before is None or is_start else own - before


def _whole_mean(values: Sequence[float | None]) -> float | None:
    return None if None in values else mean(values)
