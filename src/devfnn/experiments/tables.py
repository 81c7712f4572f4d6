"""The three tables: Table 1 of the paper measured anew, models by streams, and ablations."""

from collections.abc import Iterable, Sequence
from typing import Any

from devfnn.evaluation.ranking import Ranking
from devfnn.evaluation.results import deviation, mean
from devfnn.experiments.cells import (
    OURS,
    Cells,
    Result,
    cells_of_results,
    chances_against_best,
    largest_size,
    mean_accuracy,
    of_stream,
    overall_speed,
    ranked,
    run_notes,
    system_name,
    verdicts,
)
from devfnn.experiments.published import MEASURES, PUBLISHED, SYSTEMS
from devfnn.experiments.rendering import Column, Table

PERCENT: dict[str, Any] = {"decimals": 2, "factor": 100.0}
"""How shares are shown."""

# ---- Table 1

_MEASURES = (
    Column("accuracy_mean", "CR", spread="accuracy_std", **PERCENT),
    Column("rules_mean", "FR", spread="rules_std", decimals=2),
    Column("paper_precision", "P", decimals=2),
    Column("paper_recall", "R", decimals=2),
    Column("layers_mean", "HL", spread="layers_std", decimals=2),
)

_ABOUT_MEASURES = (
    "CR: accuracy in percent. FR: fuzzy rules. HL: layers that vote. Each is a mean ± deviation "
    "over chunks, and a mean over seeds; ± seeds is the deviation of CR over seeds. For systems "
    "without rules FR counts nodes, and HL hidden layers. FR end: after the last chunk.",
    "p: how likely chunks differ so much from those of the highest CR of the stream by chance "
    "(Wilcoxon's signed ranks over chunks).",
    "P and R as the paper has them: the first class is positive, and false positives and false "
    "negatives are swapped.",
)

SHOWN = {"rfid": "rfid (simulated)"}
"""Streams that are not what the paper had, as they are called in the table."""

_ABOUT_STREAMS = {
    "electricity": "electricity: for HL the paper counts all layers, merged ones too.",
    "susy-30k": "susy-30k: 30,000 rows here, 5,000,000 in the paper.",
    "rfid": "rfid: the paper's data are not public; here they are made by a generator.",
}


def paper_table(results: Iterable[Result]) -> Table:
    """Table 1 of the paper with what was measured beside what was published.

    For every stream that has results, all systems of the paper are shown, measured or not. Several
    seeds of a system are one line of means.
    """
    cells = cells_of_results(results)
    streams = dict.fromkeys(stream for stream, _ in cells)
    in_order = [stream for stream in PUBLISHED if stream in streams]
    in_order += [stream for stream in streams if stream not in PUBLISHED]
    about = [_ABOUT_STREAMS[name] for name in in_order if name in _ABOUT_STREAMS]
    return Table(
        title="Table 1 of the paper, measured and published",
        columns=(
            Column("stream", "stream"),
            Column("system", "system"),
            *(column for measure in _MEASURES for column in (measure, _beside(measure))),
            Column("rules_end", "FR end", decimals=0, is_detail=True),
            Column("p_to_best", "p", decimals=3),
            Column("scaling", "scaling"),
            Column("rows", "rows", decimals=0, is_detail=True),
            Column("n_seeds", "seeds", decimals=0, is_detail=True),
            Column("seeds_std", "± seeds", **PERCENT, is_detail=True),
        ),
        rows=tuple(row for stream in in_order for row in _stream_rows(stream, cells)),
        notes=(*_ABOUT_MEASURES, *about, *verdicts(cells), *run_notes(cells)),
        section="stream",
    )


def _beside(measure: Column) -> Column:
    """The column of what was published."""
    return Column(
        f"published_{measure.key}",
        f"{measure.title} paper",
        spread=None if measure.spread is None else f"published_{measure.spread}",
        factor=measure.factor,
        beside=measure.key,
    )


def _stream_rows(stream: str, cells: Cells) -> list[dict[str, Any]]:
    """Lines of a stream: the systems of the paper, measured or not, then other models."""
    published, measured = PUBLISHED.get(stream, {}), of_stream(cells, stream)
    by_origin: dict[str, list[str]] = {}
    for system in measured:
        first = system.replace(",", " ").split()[0]
        by_origin.setdefault(first if first in SYSTEMS else "", []).append(system)
    rows = []
    chances = chances_against_best(measured)
    for name in (*SYSTEMS, ""):
        beside = published.get(name)
        for system in by_origin.get(name, [] if beside is None else [name]):
            row: dict[str, Any] = {"stream": SHOWN.get(stream, stream), "system": system}
            row |= _measured(measured.get(system, [])) | {"p_to_best": chances.get(system)}
            row |= {f"published_{key}": beside and beside[key] for key in MEASURES}
            rows.append(row)
    return rows


def _measured(seeds: Sequence[Result]) -> dict[str, Any]:
    """What was measured, as means over seeds; None for all if there is no result."""
    values: dict[str, Any] = {
        key: mean(_value(result, key) for result in seeds) for key in MEASURES
    }
    values["rules_end"] = mean((_per_chunk(result, "rules") or [None])[-1] for result in seeds)
    for key in ("scaling", "rows"):
        values[key] = seeds[0].get(key) if seeds else None
    return values | {"n_seeds": len(seeds) or None, "seeds_std": _seeds_std(seeds)}


def _seeds_std(seeds: Sequence[Result]) -> float | None:
    """How far the accuracies of seeds differ."""
    return deviation(result.get("accuracy_mean") for result in seeds)


def _per_chunk(result: Result, name: str) -> Sequence[float | None]:
    return (result.get("per_chunk") or {}).get(name) or []


def _value(result: Result, key: str) -> float | None:
    """A number of a result; deviations that it does not carry come from its chunks."""
    if key in ("rules_std", "layers_std"):
        return deviation(_per_chunk(result, key.removesuffix("_std")))
    value: float | None = result.get(key)
    return value


# ---- models by streams


def peer_table(results: Iterable[Result]) -> Table:
    """Systems by streams: accuracy, and over all streams speed, size and mean rank."""
    cells = cells_of_results(results)
    streams = list(dict.fromkeys(stream for stream, _ in cells))
    ranking = ranked({cell: mean_accuracy(seeds) for cell, seeds in cells.items()})
    rows = [
        _peer_row(system, cells, ranking) for system in dict.fromkeys(system for _, system in cells)
    ]
    rows.sort(key=lambda row: row["mean_rank"] or 0.0)
    about = (
        "Accuracy in percent: mean over chunks, ± its deviation over seeds if there are several.",
        "Scaling: online uses only rows before, dataset looks ahead, none leaves rows as they are.",
        "Rows/s: over all streams of a model, predicting and learning. Bytes: its largest model.",
        *_about_ranks(ranking, len(streams)),
    )
    return Table(
        title="Models by streams",
        columns=(
            Column("system", "model"),
            Column("n_seeds", "seeds", is_detail=True),
            *(Column(f"accuracy_mean:{x}", x, f"seeds_std:{x}", **PERCENT) for x in streams),
            Column("scaling", "scaling", is_detail=True),
            Column("rows_per_second", "rows/s", decimals=0),
            Column("model_bytes", "bytes", decimals=0, is_detail=True),
            Column("mean_rank", "rank", decimals=2),
            Column("p_to_ours", "p", decimals=3, is_detail=True),
        ),
        rows=tuple(rows),
        notes=(*about, *verdicts(cells), *run_notes(cells)),
    )


def _peer_row(system: str, cells: Cells, ranking: Ranking | None) -> dict[str, Any]:
    """A model over all its streams."""
    own = {stream: results for (stream, name), results in cells.items() if name == system}
    row: dict[str, Any] = {"system": system}
    for stream, seeds in own.items():
        row[f"accuracy_mean:{stream}"] = mean_accuracy(seeds)
        row[f"seeds_std:{stream}"] = _seeds_std(seeds)
    every = [result for seeds in own.values() for result in seeds]
    counts = sorted({len(seeds) for seeds in own.values()})
    row["n_seeds"] = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    row["scaling"] = " and ".join(dict.fromkeys(str(each.get("scaling") or "-") for each in every))
    row["rows_per_second"] = overall_speed(every)
    row["model_bytes"] = largest_size(every)
    row["mean_rank"] = row["p_to_ours"] = None
    if ranking is not None:
        row["mean_rank"] = ranking.mean_ranks[ranking.models.index(system)]
        if OURS in ranking.models and system != OURS:
            row["p_to_ours"] = ranking.p_value(system, OURS)
    return row


def _about_ranks(ranking: Ranking | None, n_streams: int) -> list[str]:
    """What the ranks and their tests say."""
    if ranking is None:
        return ["No rank: that needs two models or more, and two streams that all have."]
    shared = f"the {ranking.n_streams} of {n_streams} streams"
    lines = [f"Rank: mean over {shared} that all models have."]
    lines += [f"{line}." for line in ranking.sentences()]
    if OURS in ranking.models:
        test = {"nemenyi": "Nemenyi", "wilcoxon-holm": "Wilcoxon, Holm"}[ranking.post_hoc]
        lines.append(f"p: of the difference from {OURS} over streams ({test}, all pairs together).")
    return lines


# ---- ablations


def ablation_table(results: Iterable[Result]) -> Table:
    """Accuracy with a mechanism changed, and how much that is above or below without the change."""
    cells = cells_of_results(results)
    streams = list(dict.fromkeys(stream for stream, _ in cells))
    firsts = {system: seeds[0] for (_, system), seeds in reversed(cells.items())}
    systems = dict.fromkeys(system for _, system in cells)
    starts = {system: system_name({**firsts[system], "settings": None}) for system in systems}
    rows = [_ablation_row(cells, system, start, streams) for system, start in starts.items()]
    order = list(starts.values())
    rows.sort(key=lambda row: (order.index(row["start"]), row["system"] != row["start"]))
    return Table(
        title="What each mechanism is worth",
        columns=(
            Column("start", "of"),
            Column("change", "change"),
            *(column for each in streams for column in _pair(f":{each}", each, True)),
            *_pair("", "mean", False),
            Column("rules", "rules", decimals=1, is_detail=True),
            Column("layers", "layers", decimals=1, is_detail=True),
            Column("labels", "labels", decimals=2, is_detail=True),
        ),
        rows=tuple(rows),
        notes=(
            "Accuracy in percent, mean over chunks and seeds; then how far it is above (+) or "
            "below (-) the same without the change. Rules, layers and the share of labels used: "
            "means over streams.",
            *run_notes(cells),
        ),
        section="start",
    )


def _pair(key: str, title: str, is_detail: bool) -> tuple[Column, Column]:
    """Accuracy and the difference that the change made, which may be a detail."""
    return (
        Column(f"accuracy{key}", title, **PERCENT),
        Column(f"difference{key}", "+/-", **PERCENT, is_signed=True, is_detail=is_detail),
    )


def _ablation_row(cells: Cells, system: str, start: str, streams: Sequence[str]) -> dict[str, Any]:
    change = system.removeprefix(start.removesuffix(")")).removesuffix(")").lstrip("(), ")
    row: dict[str, Any] = {"system": system, "start": start, "change": change or "as it is"}
    own, before = (
        {f":{stream}": mean_accuracy(cells.get((stream, name), [])) for stream in streams}
        for name in (system, start)
    )
    for values in (own, before):
        values[""] = None if None in values.values() else mean(values.values())
    for key, value in own.items():
        known = before[key]
        row[f"accuracy{key}"] = value
        is_compared = value is not None and known is not None and system != start
        row[f"difference{key}"] = value - known if is_compared else None  # type: ignore[operator]
    every = [each for (_, name), seeds in cells.items() if name == system for each in seeds]
    sources = {"rules": "rules_mean", "layers": "layers_mean", "labels": "label_fraction"}
    for key, source in sources.items():
        row[key] = mean(result.get(source) for result in every)
    return row
