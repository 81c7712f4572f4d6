"""Tables of results: Table 1 of the paper measured anew, models by streams, and ablations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from devfnn.arrays import Floats
from devfnn.baselines.registry import MODELS
from devfnn.errors import InputError
from devfnn.evaluation.measures import LOWER_IS_BETTER, SHARES, check_measure, key_of
from devfnn.evaluation.ranking import PostHoc, Ranking, rank, signed_rank_p
from devfnn.evaluation.results import deviation, mean
from devfnn.experiments.published import MEASURES, PAPER_FOLDS, PUBLISHED, SYSTEMS
from devfnn.experiments.rendering import Column, Table
from devfnn.experiments.settings import difference
from devfnn.formatting import change_text

PERCENT: dict[str, Any] = {"decimals": 2, "factor": 100.0}
"""How shares are shown."""

# ---- results by stream and system

Result = Mapping[str, Any]

Cells = dict[tuple[str, str], list[Result]]
"""Results of all seeds by stream and system."""

RIVALS = {name.lower(): name for name in SYSTEMS[1:]} | {
    "sdevfnn-evolving": "SDEVFNN (evolving rules)"
}
"""Models that are systems of the paper's table, and what they are called there."""

OURS = "DEVFNN (default)"
"""What tables call DEVFNN with its default parameters."""

NO_RANKING = "a ranking needs two models or more that have all run on the same two streams or more"


def system_name(result: Result) -> str:
    """What a table calls the model of a result.

    >>> system_name({"model": "pnn"}), system_name({"model": "devfnn", "preset": "static"})
    ('PNN', 'DEVFNN (static)')
    """
    model, preset = str(result["model"]), result.get("preset")
    name, usual = RIVALS.get(model, model), "default"
    if model == "devfnn":
        name, usual = "DEVFNN", ""  # its preset is always shown
    elif model in MODELS:
        usual = MODELS[model].preset
    about = [] if preset in (None, usual) else [str(preset)]
    # A network's size of the paper's table, the parameter `stream`, is not shown.
    about += [change_text(*each) for each in _changes(result).items() if each[0] != "stream"]
    return f"{name} ({', '.join(about)})" if about else name


def _changes(result: Result) -> Mapping[str, Any]:
    return (result.get("settings") or {}).get("changes") or {}


def cells_of_results(results: Iterable[Result]) -> Cells:
    """Results by stream and system; those of one cell differ by their seed only."""
    groups: dict[tuple[str, str], dict[Any, list[Result]]] = {}
    for result in results:
        by_scaling = groups.setdefault((str(result["stream"]), system_name(result)), {})
        by_scaling.setdefault(result.get("scaling"), []).append(result)
    if not groups:
        raise InputError("a table needs results; there are none")
    cells: Cells = {}
    for (stream, system), by_scaling in groups.items():
        for scaling, runs in by_scaling.items():
            name = system if len(by_scaling) == 1 else f"{system}, scaling {scaling or 'unknown'}"
            cells[stream, name] = _seeds(runs, f"{name} on {stream}")
    return cells


def _seeds(runs: Sequence[Result], what: str) -> list[Result]:
    """Runs that differ by their seed only; a file that is named twice counts once."""
    seeds: dict[Any, Result] = {}
    for result in runs:
        seed = result.get("seed")
        if seeds.setdefault(seed, result) != result:
            raise InputError(f"there are two results of {what} with seed {seed}; leave one out")
        if found := difference(_conditions(runs[0]), _conditions(result)):
            name, first, other = found
            raise InputError(
                f"results of {what} differ in {name}: {first} and {other}; put results of "
                "different runs in different tables"
            )
    return list(seeds.values())


def _conditions(result: Result) -> dict[str, Any]:
    """What all seeds of a run have in common: its length, and the parameters of its model."""
    length = {key: result.get(key) for key in ("rows", "chunks")}
    return length | {**(result.get("config") or {}), **_changes(result), "seed": None}


def mean_score(seeds: Iterable[Result], measure: str = "accuracy") -> float | None:
    """A measure of a cell, as a mean over seeds; None if there is none."""
    return mean(result.get(key_of(measure)) for result in seeds)


def overall_speed(runs: Sequence[Result]) -> float | None:
    """Rows of all runs by the time they took, so that long runs count by their length.

    >>> overall_speed([{"rows": 100, "rows_per_second": rate} for rate in (60.0, 20.0)])
    30.0
    """
    timed = [(run.get("rows"), run.get("rows_per_second")) for run in runs]
    known = [(rows, rate) for rows, rate in timed if rows and rate]
    seconds = sum(rows / rate for rows, rate in known)
    return sum(rows for rows, _ in known) / seconds if known else None


def largest_size(runs: Sequence[Result]) -> float | None:
    """Bytes of the largest model."""
    sizes = [run["model_bytes"] for run in runs if run.get("model_bytes") is not None]
    return max(sizes, default=None)


# ---- who is best


def ranked(
    scores: Mapping[tuple[str, str], float | None],
    post_hoc: PostHoc = "nemenyi",
    measure: str = "accuracy",
) -> Ranking | None:
    """Ranks by a measure of systems on streams, over the streams that all systems have.

    None with less than two systems or two such streams.
    """
    streams = dict.fromkeys(stream for stream, _ in scores)
    systems = dict.fromkeys(system for _, system in scores)
    table = {stream: [scores.get((stream, name)) for name in systems] for stream in streams}
    sign = -1.0 if measure in LOWER_IS_BETTER else 1.0
    shared = [[sign * s for s in own if s is not None] for own in table.values() if None not in own]
    if len(systems) < 2 or len(shared) < 2:
        return None
    by_system = dict(zip(systems, zip(*shared, strict=True), strict=True))
    return rank(by_system, post_hoc=post_hoc)


def chances_against_best(measured: Mapping[str, Sequence[Result]]) -> dict[str, float | None]:
    """How likely each system differs by chance from the one with the highest accuracy.

    Wilcoxon's signed ranks over chunks, each a mean over seeds. None for the best itself, and where
    chunks are unknown or not the same.
    """
    found: dict[str, float | None] = dict.fromkeys(measured)
    best = max(measured, key=lambda system: mean_score(measured[system]) or 0.0)
    ahead = _chunks(measured[best])
    for system, own in ((name, _chunks(seeds)) for name, seeds in measured.items()):
        gaps = ahead - own if own.shape == ahead.shape else own[:0]
        gaps = gaps[~np.isnan(gaps)]
        if system != best and gaps.size:
            found[system] = signed_rank_p(gaps)
    return found


def _chunks(seeds: Sequence[Result]) -> Floats:
    """Accuracy of every chunk, as a mean over seeds, NaN where there is none; empty if unknown."""
    every = [_per_chunk(result, "accuracy") for result in seeds]
    is_same = len({len(each) for each in every}) == 1
    return np.asarray(np.array(every if is_same else [[]], np.float64).mean(axis=0))


def _per_chunk(result: Result, name: str) -> Sequence[float | None]:
    return (result.get("per_chunk") or {}).get(name) or []


def run_notes(cells: Cells) -> list[str]:
    """Notes on runs that did not end, or were over a part of a stream, and on versions."""
    ended, parts = [], []
    made_with: dict[str, dict[str, None]] = {}
    for (stream, system), seeds in cells.items():
        asked = (seeds[0].get("settings") or {}).get("stream") or {}
        if stream in PAPER_FOLDS and (asked.get("rows") is not None or asked.get("skip")):
            parts.append(f"{stream}: only {seeds[0].get('rows'):,} rows of the stream.")
        for result in seeds:
            if result.get("is_complete") is False:
                run = f"{system} on {stream}, seed {result.get('seed')}"
                ended.append(f"{run}: ended after {result.get('rows')} rows.")
            for name, version in (result.get("versions") or {}).items():
                made_with.setdefault(name, {})[str(version)] = None
    named = ", ".join(f"{name} {' and '.join(found)}" for name, found in made_with.items())
    return [*ended, *dict.fromkeys(parts), *([f"Made with {named}."] if named else [])]


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
        notes=(*_ABOUT_MEASURES, *about, *run_notes(cells)),
        section="stream",
    )


def _beside(measure: Column) -> Column:
    return Column(
        f"published_{measure.key}",
        f"{measure.title} paper",
        spread=None if measure.spread is None else f"published_{measure.spread}",
        factor=measure.factor,
        beside=measure.key,
    )


def _stream_rows(stream: str, cells: Cells) -> list[dict[str, Any]]:
    """Lines of a stream: the systems of the paper, measured or not, then other models."""
    measured = {system: seeds for (name, system), seeds in cells.items() if name == stream}
    published = PUBLISHED.get(stream, {})
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
    first = seeds[0] if seeds else {}
    found = {key: mean(result.get(key) for result in seeds) for key in MEASURES}
    for key in ("rules_std", "layers_std"):  # which results do not carry
        chunks = (_per_chunk(result, key.removesuffix("_std")) for result in seeds)
        found[key] = mean(map(deviation, chunks))
    return found | {
        "scaling": first.get("scaling"),
        "rows": first.get("rows"),
        "rules_end": mean((_per_chunk(result, "rules") or [None])[-1] for result in seeds),
        "n_seeds": len(seeds) or None,
        "seeds_std": _seeds_std(seeds),
    }


def _seeds_std(seeds: Sequence[Result], measure: str = "accuracy") -> float | None:
    return deviation(result.get(key_of(measure)) for result in seeds)


# ---- models by streams


def peer_table(results: Iterable[Result], measure: str = "accuracy") -> Table:
    """Systems by streams: accuracy or another measure; over all streams speed, size, mean rank."""
    check_measure(measure)
    key, shown = key_of(measure), PERCENT if measure in SHARES else {"decimals": 3}
    cells = cells_of_results(results)
    streams = list(dict.fromkeys(stream for stream, _ in cells))
    scores = {cell: mean_score(seeds, measure) for cell, seeds in cells.items()}
    ranking = ranked(scores, measure=measure)
    systems = dict.fromkeys(system for _, system in cells)
    rows = [_peer_row(system, cells, ranking, measure) for system in systems]
    rows.sort(key=lambda row: row["mean_rank"] or 0.0)
    what = "Accuracy in percent: mean over chunks" if measure == "accuracy" else f"{measure}: mean"
    about = (
        f"{what}, ± its deviation over seeds if there are several.",
        "Scaling: online uses only rows before, dataset looks ahead, none leaves rows as they are.",
        "Rows/s: over all streams of a model, predicting and learning. Bytes: its largest model.",
        *_about_ranks(ranking, len(streams)),
    )
    return Table(
        title="Models by streams",
        columns=(
            Column("system", "model"),
            Column("n_seeds", "seeds", is_detail=True),
            *(Column(f"{key}:{x}", x, f"seeds_std:{x}", **shown) for x in streams),
            Column("scaling", "scaling", is_detail=True),
            Column("rows_per_second", "rows/s", decimals=0),
            Column("model_bytes", "bytes", decimals=0, is_detail=True),
            Column("mean_rank", "rank", decimals=2),
            Column("p_to_ours", "p", decimals=3, is_detail=True),
        ),
        rows=tuple(rows),
        notes=(*about, *run_notes(cells)),
    )


def _peer_row(system: str, cells: Cells, ranking: Ranking | None, measure: str) -> dict[str, Any]:
    own = {stream: results for (stream, name), results in cells.items() if name == system}
    row: dict[str, Any] = {"system": system}
    for stream, seeds in own.items():
        row[f"{key_of(measure)}:{stream}"] = mean_score(seeds, measure)
        row[f"seeds_std:{stream}"] = _seeds_std(seeds, measure)
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
    if ranking is None:
        return [f"No rank: {NO_RANKING}."]
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
    starts = {
        system: system_name({**seeds[0], "settings": None}) for (_, system), seeds in cells.items()
    }
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
        {f":{stream}": mean_score(cells.get((stream, name), [])) for stream in streams}
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
