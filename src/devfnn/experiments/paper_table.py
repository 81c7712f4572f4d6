"""The paper's Table 1, with what was measured beside what was published."""

from collections.abc import Iterable, Sequence
from typing import Any

from devfnn.evaluation.results import mean
from devfnn.experiments.cells import (
    Cells,
    Result,
    cells_of_results,
    deviation,
    interruptions,
    origin,
    over_seeds,
)
from devfnn.experiments.leaders import chances_against_best, verdicts
from devfnn.experiments.published import PUBLISHED, SYSTEMS, Published
from devfnn.experiments.rendering import Column, Table

_MEASURES = (
    Column("accuracy_mean", "CR", spread="accuracy_std", decimals=2, factor=100.0),
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

    Parameters
    ----------
    results
        Results of runs, as plain data.
    """
    cells = cells_of_results(results)
    streams = dict.fromkeys(stream for stream, _ in cells)
    in_order = [stream for stream in PUBLISHED if stream in streams]
    in_order += [stream for stream in streams if stream not in PUBLISHED]
    rows = [row for stream in in_order for row in _stream_rows(stream, cells)]
    notes = [
        *_ABOUT_MEASURES,
        *(_ABOUT_STREAMS[name] for name in in_order if name in _ABOUT_STREAMS),
    ]
    return Table(
        title="Table 1 of the paper, measured and published",
        columns=(Column("stream", "stream"), Column("system", "system"), *_paper_columns()),
        rows=tuple(rows),
        notes=(*notes, *verdicts(cells), *interruptions(cells)),
        section="stream",
    )


def _paper_columns() -> Iterable[Column]:
    for measure in _MEASURES:
        yield measure
        yield Column(
            f"published_{measure.key}",
            f"{measure.title} paper",
            spread=None if measure.spread is None else f"published_{measure.spread}",
            factor=measure.factor,
            beside=measure.key,
        )
    yield Column("rules_end", "FR end", decimals=0, is_detail=True)
    yield Column("p_to_best", "p", decimals=3)
    yield Column("scaling", "scaling")
    yield Column("rows", "rows", decimals=0, is_detail=True)
    yield Column("n_seeds", "seeds", decimals=0, is_detail=True)
    yield Column("seeds_std", "± seeds", decimals=2, factor=100.0, is_detail=True)


def _stream_rows(stream: str, cells: Cells) -> list[dict[str, Any]]:
    """Lines of a stream: the systems of the paper, measured or not, then other models."""
    published = PUBLISHED.get(stream, {})
    measured = {system: results for (name, system), results in cells.items() if name == stream}
    by_origin: dict[str | None, list[str]] = {}
    for system, results in measured.items():
        by_origin.setdefault(origin(results[0]), []).append(system)
    rows = []
    chances = chances_against_best(measured)
    for name in (*SYSTEMS, None):
        beside = published.get(name or "")
        lines = {system: measured[system] for system in by_origin.get(name, [])}
        if not lines and beside is not None:
            lines = {str(name): []}
        for system, seeds in lines.items():
            about = {
                "stream": SHOWN.get(stream, stream),
                "system": system,
                "p_to_best": chances.get(system),
            }
            rows.append(about | _measured(seeds) | _published(beside))
    return rows


def _measured(seeds: Sequence[Result]) -> dict[str, Any]:
    """What was measured, as means over seeds; None for all if there is no result."""
    values: dict[str, Any] = {}
    for measure in _MEASURES:
        for key in filter(None, (measure.key, measure.spread)):
            values[key] = mean([_value(result, key) for result in seeds])
    scaling = seeds[0].get("scaling") if seeds else None
    rows = seeds[0].get("rows") if seeds else None
    values["rules_end"] = mean([_last_rules(result) for result in seeds])
    return values | {"scaling": scaling, "rows": rows} | over_seeds(seeds)


def _last_rules(result: Result) -> float | None:
    """Rules after the last chunk."""
    rules = (result.get("per_chunk") or {}).get("rules") or [None]
    last: float | None = rules[-1]
    return last


def _value(result: Result, key: str) -> float | None:
    """A number of a result; deviations that it does not carry come from its chunks."""
    if key in ("rules_std", "layers_std"):
        chunks = (result.get("per_chunk") or {}).get(key.removesuffix("_std")) or []
        return deviation(chunks)
    value: float | None = result.get(key)
    return value


def _published(line: Published | None) -> dict[str, Any]:
    """What was published, by the keys of what was measured."""
    keys = [key for measure in _MEASURES for key in (measure.key, measure.spread) if key]
    return {f"published_{key}": None if line is None else getattr(line, key) for key in keys}
