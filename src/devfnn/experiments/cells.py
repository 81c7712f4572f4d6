"""Results by stream and system: what tables call a model, what runs cost, and who is best."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from devfnn.arrays import Floats
from devfnn.baselines.registry import MODELS
from devfnn.errors import InputError
from devfnn.evaluation.ranking import PostHoc, Ranking, rank, signed_rank_p
from devfnn.evaluation.results import mean
from devfnn.experiments.published import PAPER_FOLDS
from devfnn.experiments.settings import difference
from devfnn.formatting import change_text

Result = Mapping[str, Any]

Cells = dict[tuple[str, str], list[Result]]
"""Results of all seeds by stream and system."""

RIVALS = {
    "sdevfnn": "SDEVFNN",
    "sdevfnn-evolving": "SDEVFNN (evolving rules)",
    "dsscn": "DSSCN",
    "pnn": "PNN",
    "den": "DEN",
    "hat": "HAT",
}
"""Models that are systems of the paper's table, and what they are called there."""

SIZES = "stream"
"""The parameter that gives a network its size in the paper's table; it is not shown."""

OURS = "DEVFNN (default)"
"""What tables call DEVFNN with its default parameters."""

SIGNIFICANCE = 0.05
"""Below it, a difference is called significant."""


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
    about += [change_text(*each) for each in _changes(result).items() if each[0] != SIZES]
    return f"{name} ({', '.join(about)})" if about else name


def _changes(result: Result) -> Mapping[str, Any]:
    """Parameters that were set for a run."""
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


def of_stream(cells: Cells, stream: str) -> dict[str, list[Result]]:
    """Results on a stream by system."""
    return {system: seeds for (name, system), seeds in cells.items() if name == stream}


def mean_accuracy(seeds: Iterable[Result]) -> float | None:
    """Accuracy of a cell, as a mean over seeds; None if there is none."""
    return mean(result.get("accuracy_mean") for result in seeds)


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
    accuracies: Mapping[tuple[str, str], float | None], post_hoc: PostHoc = "nemenyi"
) -> Ranking | None:
    """Ranks by the accuracies of systems on streams, over the streams that all systems have.

    None with less than two systems or two such streams.
    """
    streams = dict.fromkeys(stream for stream, _ in accuracies)
    systems = dict.fromkeys(system for _, system in accuracies)
    table = {stream: [accuracies.get((stream, name)) for name in systems] for stream in streams}
    shared = [scores for scores in table.values() if None not in scores]
    if len(systems) < 2 or len(shared) < 2:
        return None
    scores = dict(zip(systems, zip(*shared, strict=True), strict=True))
    return rank(scores, significance=SIGNIFICANCE, post_hoc=post_hoc)


def best_of(measured: Mapping[str, Sequence[Result]]) -> str | None:
    """The system with the highest accuracy, as a mean over seeds."""
    known = {system: mean_accuracy(seeds) for system, seeds in measured.items()}
    scored = {system: score for system, score in known.items() if score is not None}
    return max(scored, key=lambda system: scored[system]) if scored else None


def chances_against_best(measured: Mapping[str, Sequence[Result]]) -> dict[str, float | None]:
    """How likely each system differs from the best by chance; None for the best itself.

    Wilcoxon's signed ranks over chunks, each a mean over seeds. None too where chunks are unknown
    or not the same.
    """
    best = best_of(measured)
    found: dict[str, float | None] = dict.fromkeys(measured)
    for system in measured if best is not None else ():
        own, ahead = _chunks(measured[system]), _chunks(measured[str(best)])
        gaps = ahead - own if own.shape == ahead.shape else own[:0]
        gaps = gaps[~np.isnan(gaps)]
        if system != best and gaps.size:
            found[system] = signed_rank_p(gaps)
    return found


def _chunks(seeds: Sequence[Result]) -> Floats:
    """Accuracy of every chunk, as a mean over seeds, NaN where there is none; empty if unknown."""
    every = [(result.get("per_chunk") or {}).get("accuracy") or [] for result in seeds]
    is_same = len({len(each) for each in every}) == 1
    chunks: Floats = np.array(every if is_same else [[]], np.float64).mean(axis=0)
    return chunks


def verdicts(cells: Cells) -> Iterator[str]:
    """For each stream, whether the default is best, or significantly behind the best."""
    for stream in dict.fromkeys(stream for stream, _ in cells):
        measured = of_stream(cells, stream)
        best, ours = best_of(measured), mean_accuracy(measured.get(OURS, []))
        if best is None or ours is None or len(measured) < 2:
            continue
        if best == OURS:
            yield f"{stream}: {OURS} has the highest CR."
            continue
        top, p = mean_accuracy(measured[best]) or 0.0, chances_against_best(measured)[OURS]
        how = "its chunks are unknown"
        if p is not None:
            how = f"{'not ' if p > SIGNIFICANCE else ''}significantly, p = {p:.3g}"
        behind = f"{OURS} is {100.0 * (top - ours):.2f} below, {how}"
        yield f"{stream}: {best} has the highest CR, {100.0 * top:.2f}; {behind}."


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
