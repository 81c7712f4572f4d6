"""Results side by side: the paper's Table 1, measured and published, and a table of peers."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from devfnn.errors import InputError
from devfnn.evaluation.ranking import mean_ranks
from devfnn.evaluation.summary import mean
from devfnn.experiments.costs import largest_size, overall_speed
from devfnn.experiments.published import PUBLISHED, SYSTEMS, Published
from devfnn.experiments.rendering import Column, Table

Result = Mapping[str, Any]

_MEASURES = (
    Column("accuracy_mean", "CR", spread="accuracy_std", decimals=2, factor=100.0),
    Column("rules_mean", "FR", spread="rules_std", decimals=2),
    Column("paper_precision", "P", decimals=2),
    Column("paper_recall", "R", decimals=2),
    Column("layers_mean", "HL", spread="layers_std", decimals=2),
)

_ABOUT_MEASURES = (
    "CR: accuracy in percent. FR: fuzzy rules. HL: layers that vote. Each is a mean ± deviation "
    "over chunks, and a mean over seeds; ± seeds is the deviation of CR over seeds.",
    "P and R as the paper has them: the first class is positive, and false positives and false "
    "negatives are swapped.",
)

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
    cells = _cells(results)
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
        notes=(*notes, *_interruptions(cells)),
        section="stream",
    )


def peer_table(results: Iterable[Result]) -> Table:
    """Systems by streams: accuracy, and over all streams speed, size and mean rank.

    Parameters
    ----------
    results
        Results of runs, or cells of a comparison, as plain data.
    """
    cells = _cells(results)
    streams = list(dict.fromkeys(stream for stream, _ in cells))
    systems = list(dict.fromkeys(system for _, system in cells))
    scores = {name: {each: _accuracy(cells, name, each) for each in systems} for name in streams}
    shared = [row for row in scores.values() if None not in row.values()]
    ranks: dict[str, float] = {}
    if shared and len(systems) > 1:
        ranks = mean_ranks({system: [row[system] or 0.0 for row in shared] for system in systems})
    rows = [_peer_row(system, cells) | {"mean_rank": ranks.get(system)} for system in systems]
    rows.sort(key=lambda row: row["mean_rank"] or 0.0)
    accuracies = [
        Column(f"accuracy_mean:{each}", each, f"seeds_std:{each}", decimals=2, factor=100.0)
        for each in streams
    ]
    others = (
        Column("rows_per_second", "rows/s", decimals=0),
        Column("model_bytes", "bytes", decimals=0),
        Column("mean_rank", "rank", decimals=2),
    )
    about = (
        "Accuracy in percent: mean over chunks, ± its deviation over seeds if there are several.",
        "Rows/s: over all streams of a model, predicting and learning. Bytes: its largest model.",
        f"Rank: mean over the {len(shared)} of {len(streams)} streams that all models have."
        if ranks
        else "No rank: that needs two models or more, and a stream that all have.",
    )
    return Table(
        title="Models by streams",
        columns=(Column("system", "model"), Column("n_seeds", "seeds"), *accuracies, *others),
        rows=tuple(rows),
        notes=(*about, *_interruptions(cells)),
    )


def system_name(result: Result) -> str:
    """What a table calls the model of a result.

    >>> system_name({"model": "devfnn", "preset": "static"})
    'SDEVFNN'
    """
    model, preset = str(result["model"]), result.get("preset")
    if model != "devfnn":
        return model
    if preset == "static":
        return "SDEVFNN"
    return "DEVFNN" if preset is None else f"DEVFNN ({preset})"


_Cells = dict[tuple[str, str], list[Result]]
"""Results of all seeds by stream and system."""


def _cells(results: Iterable[Result]) -> _Cells:
    """Results by stream and system; those of one cell differ by their seed only."""
    different: list[Result] = []
    for result in results:
        if result not in different:  # a file may be named twice
            different.append(result)
    if not different:
        raise InputError("a table needs results; there are none")
    names = [(str(result["stream"]), system_name(result)) for result in different]
    scalings: dict[tuple[str, str], set[Any]] = {}
    for name, result in zip(names, different, strict=True):
        scalings.setdefault(name, set()).add(result.get("scaling"))
    cells: _Cells = {}
    for (stream, system), result in zip(names, different, strict=True):
        if len(scalings[stream, system]) > 1:
            system += f", scaling {result.get('scaling') or 'unknown'}"
        _check_fits(cells.setdefault((stream, system), []), result, f"{system} on {stream}")
        cells[stream, system].append(result)
    return cells


def _check_fits(seeds: Sequence[Result], result: Result, what: str) -> None:
    """Refuse a result that is not another seed of the same run."""
    for other in seeds:
        if other.get("seed") == result.get("seed"):
            raise InputError(
                f"there are two results of {what} with seed {result.get('seed')}; leave one out"
            )
        for key in ("rows", "chunks"):
            if other.get(key) != result.get(key):
                raise InputError(
                    f"results of {what} have {other.get(key)} and {result.get(key)} {key}; "
                    "put results of different runs in different tables"
                )
        ours, theirs = _parameters(result), _parameters(other)
        if changed := [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]:
            raise InputError(
                f"results of {what} differ in {', '.join(changed)}; "
                "put results of different runs in different tables"
            )


def _parameters(result: Result) -> dict[str, Any]:
    """All parameters of a model but its seed."""
    return {key: value for key, value in (result.get("config") or {}).items() if key != "seed"}


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
    yield Column("scaling", "scaling")
    yield Column("n_seeds", "seeds", decimals=0)
    yield Column("seeds_std", "± seeds", decimals=2, factor=100.0)


def _stream_rows(stream: str, cells: _Cells) -> list[dict[str, Any]]:
    """Lines of a stream: our DEVFNN and SDEVFNN, other models, then what is published only."""
    published = PUBLISHED.get(stream, {})
    measured = {system: results for (name, system), results in cells.items() if name == stream}
    by_origin: dict[str | None, list[str]] = {}
    for system, results in measured.items():
        by_origin.setdefault(_origin(results[0]), []).append(system)
    rows = []
    for origin in (*SYSTEMS[:2], None, *SYSTEMS[2:]):
        beside = published.get(origin or "")
        lines = {system: measured[system] for system in by_origin.get(origin, [])}
        if not lines and beside is not None:
            lines = {str(origin): []}
        for system, seeds in lines.items():
            about = {"stream": stream, "system": system}
            rows.append(about | _measured(seeds) | _published(beside))
    return rows


def _origin(result: Result) -> str | None:
    """The system of the paper that a model is to be compared with."""
    if result["model"] != "devfnn":
        return None
    return "SDEVFNN" if result.get("preset") == "static" else "DEVFNN"


def _measured(seeds: Sequence[Result]) -> dict[str, Any]:
    """What was measured, as means over seeds; None for all if there is no result."""
    values: dict[str, Any] = {}
    for measure in _MEASURES:
        for key in filter(None, (measure.key, measure.spread)):
            values[key] = mean([_value(result, key) for result in seeds])
    scaling = seeds[0].get("scaling") if seeds else None
    return values | {"scaling": scaling} | _over_seeds(seeds)


def _over_seeds(seeds: Sequence[Result]) -> dict[str, Any]:
    """How many seeds there are, and how far their accuracies differ."""
    std = _deviation([result.get("accuracy_mean") for result in seeds])
    return {"n_seeds": len(seeds) or None, "seeds_std": std}


def _value(result: Result, key: str) -> float | None:
    """A number of a result; deviations that it does not carry come from its chunks."""
    if key in ("rules_std", "layers_std"):
        chunks = (result.get("per_chunk") or {}).get(key.removesuffix("_std")) or []
        return _deviation(chunks)
    value: float | None = result.get(key)
    return value


def _published(line: Published | None) -> dict[str, Any]:
    """What was published, by the keys of what was measured."""
    keys = [key for measure in _MEASURES for key in (measure.key, measure.spread) if key]
    return {f"published_{key}": None if line is None else getattr(line, key) for key in keys}


def _peer_row(system: str, cells: _Cells) -> dict[str, Any]:
    """A model over all its streams."""
    own = {stream: results for (stream, name), results in cells.items() if name == system}
    row: dict[str, Any] = {"system": system}
    for stream, seeds in own.items():
        row[f"accuracy_mean:{stream}"] = mean([each.get("accuracy_mean") for each in seeds])
        row[f"seeds_std:{stream}"] = _over_seeds(seeds)["seeds_std"]
    every = [result for seeds in own.values() for result in seeds]
    counts = sorted({len(seeds) for seeds in own.values()})
    row["n_seeds"] = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    row["rows_per_second"] = overall_speed(every)
    row["model_bytes"] = largest_size(every)
    return row


def _accuracy(cells: _Cells, stream: str, system: str) -> float | None:
    """Accuracy of a system on a stream, as a mean over seeds."""
    return mean([result.get("accuracy_mean") for result in cells.get((stream, system), [])])


def _interruptions(cells: _Cells) -> list[str]:
    """What is to be said of runs that did not end, or were over a part of a stream."""
    ended = [
        f"{system} on {stream}, seed {result.get('seed')}: ended after {result.get('rows')} rows."
        for (stream, system), results in cells.items()
        for result in results
        if result.get("is_complete") is False
    ]
    parts = [
        f"{system} on {stream}: only {results[0].get('rows'):,} rows of the stream."
        for (stream, system), results in cells.items()
        if stream in PUBLISHED and _is_part(results[0])
    ]
    return ended + parts


def _is_part(result: Result) -> bool:
    """Whether a run was told to leave out rows."""
    settings = result.get("settings")
    stream = settings.get("stream") if isinstance(settings, Mapping) else None
    if not isinstance(stream, Mapping) or not isinstance(result.get("rows"), int):
        return False
    return stream.get("rows") is not None or bool(stream.get("skip"))


def _deviation(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.stdev(known) if len(known) > 1 else None
