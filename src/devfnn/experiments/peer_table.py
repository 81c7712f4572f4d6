"""Models by streams: accuracy, speed, size, mean rank, and what can be told apart."""

from collections.abc import Iterable, Sequence
from typing import Any

from devfnn.evaluation.ranking import Ranking, mean_ranks, rank
from devfnn.experiments.cells import (
    OURS,
    Cells,
    Result,
    cells_of_results,
    interruptions,
    mean_accuracy,
    over_seeds,
)
from devfnn.experiments.costs import largest_size, overall_speed
from devfnn.experiments.leaders import verdicts
from devfnn.experiments.rendering import Column, Table


def peer_table(results: Iterable[Result]) -> Table:
    """Systems by streams: accuracy, and over all streams speed, size and mean rank.

    Parameters
    ----------
    results
        Results of runs, or cells of a comparison, as plain data.
    """
    cells = cells_of_results(results)
    streams = list(dict.fromkeys(stream for stream, _ in cells))
    systems = list(dict.fromkeys(system for _, system in cells))
    shared, scores = _scores(cells, streams, systems)
    ranks = mean_ranks(scores) if shared and len(systems) > 1 else {}
    ranking = rank(scores) if len(shared) > 1 and len(systems) > 1 else None
    rows = [
        _peer_row(system, cells)
        | {"mean_rank": ranks.get(system), "p_to_ours": _chance(ranking, system)}
        for system in systems
    ]
    rows.sort(key=lambda row: row["mean_rank"] or 0.0)
    accuracies = [
        Column(f"accuracy_mean:{each}", each, f"seeds_std:{each}", decimals=2, factor=100.0)
        for each in streams
    ]
    others = (
        Column("scaling", "scaling", is_detail=True),
        Column("rows_per_second", "rows/s", decimals=0),
        Column("model_bytes", "bytes", decimals=0, is_detail=True),
        Column("mean_rank", "rank", decimals=2),
        Column("p_to_ours", "p", decimals=3, is_detail=True),
    )
    about = (
        "Accuracy in percent: mean over chunks, ± its deviation over seeds if there are several.",
        "Scaling: online uses only rows before, dataset looks ahead, none leaves rows as they are.",
        "Rows/s: over all streams of a model, predicting and learning. Bytes: its largest model.",
        f"Rank: mean over the {len(shared)} of {len(streams)} streams that all models have."
        if ranks
        else "No rank: that needs two models or more, and a stream that all have.",
        *_significance(ranking),
    )
    return Table(
        title="Models by streams",
        columns=(
            Column("system", "model"),
            Column("n_seeds", "seeds", is_detail=True),
            *accuracies,
            *others,
        ),
        rows=tuple(rows),
        notes=(*about, *verdicts(cells), *interruptions(cells)),
    )


def _peer_row(system: str, cells: Cells) -> dict[str, Any]:
    """A model over all its streams."""
    own = {stream: results for (stream, name), results in cells.items() if name == system}
    row: dict[str, Any] = {"system": system}
    for stream, seeds in own.items():
        row[f"accuracy_mean:{stream}"] = mean_accuracy(seeds)
        row[f"seeds_std:{stream}"] = over_seeds(seeds)["seeds_std"]
    every = [result for seeds in own.values() for result in seeds]
    counts = sorted({len(seeds) for seeds in own.values()})
    row["n_seeds"] = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    row["scaling"] = " and ".join(dict.fromkeys(str(each.get("scaling") or "-") for each in every))
    row["rows_per_second"] = overall_speed(every)
    row["model_bytes"] = largest_size(every)
    return row


def _scores(
    cells: Cells, streams: Sequence[str], systems: Sequence[str]
) -> tuple[list[str], dict[str, list[float]]]:
    """Streams that all models have, and the accuracies of every model on them."""
    known = {cell: mean_accuracy(seeds) for cell, seeds in cells.items()}
    shared = [
        stream
        for stream in streams
        if all(known.get((stream, system)) is not None for system in systems)
    ]
    scores = {system: [known[stream, system] or 0.0 for stream in shared] for system in systems}
    return shared, scores


def _chance(ranking: Ranking | None, system: str) -> float | None:
    """p of a model against the default of ours, for all pairs together."""
    if ranking is None or OURS not in ranking.models or system == OURS:
        return None
    return ranking.p_value(system, OURS)


def _significance(ranking: Ranking | None) -> list[str]:
    if ranking is None:
        return []
    test = {"nemenyi": "Nemenyi", "wilcoxon-holm": "Wilcoxon, Holm"}[ranking.post_hoc]
    about = f"p: of the difference from {OURS} over streams ({test}, all pairs together)."
    return [f"{line}." for line in ranking.sentences()] + (
        [about] if OURS in ranking.models else []
    )
