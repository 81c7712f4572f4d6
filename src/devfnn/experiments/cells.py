"""Results by stream and system: what tables call a model, what runs cost, and who is best."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from devfnn.arrays import Floats
from devfnn.baselines.registry import MODELS
from devfnn.errors import InputError
from devfnn.evaluation.ranking import signed_rank_p
from devfnn.evaluation.results import deviation, mean
from devfnn.experiments.published import PUBLISHED
from devfnn.formatting import change_text, flat_names

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
    about += [change_text(*each) for each in changes_of(result).items() if each[0] != SIZES]
    return f"{name} ({', '.join(about)})" if about else name


def changes_of(result: Result) -> Mapping[str, Any]:
    """Parameters that were set for a run."""
    return (result.get("settings") or {}).get("changes") or {}


def origin(result: Result) -> str | None:
    """The system of the paper that a model is to be compared with."""
    name = system_name(result).split(" ")[0]
    return name if name in ("DEVFNN", *RIVALS.values()) else None


def cells_of_results(results: Iterable[Result]) -> Cells:
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
    cells: Cells = {}
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
        changed = [
            f"have {other.get(key)} and {result.get(key)} {key}"
            for key in ("rows", "chunks")
            if other.get(key) != result.get(key)
        ]
        ours, theirs = _parameters(result), _parameters(other)
        if names := [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]:
            changed.append(f"differ in {', '.join(names)}")
        if changed:
            raise InputError(
                f"results of {what} {changed[0]}; put results of different runs in different tables"
            )


def _parameters(result: Result) -> dict[str, Any]:
    """All parameters of a model but its seed."""
    known = {**flat_names(result.get("config") or {}), **changes_of(result)}
    return {key: value for key, value in known.items() if key != "seed"}


def of_stream(cells: Cells, stream: str) -> dict[str, list[Result]]:
    """Results on a stream by system."""
    return {system: seeds for (name, system), seeds in cells.items() if name == stream}


def mean_accuracy(seeds: Sequence[Result]) -> float | None:
    """Accuracy of a cell, as a mean over seeds; None if there is none."""
    return mean(result.get("accuracy_mean") for result in seeds)


def over_seeds(seeds: Sequence[Result]) -> dict[str, Any]:
    """How many seeds there are, and how far their accuracies differ."""
    std = deviation(result.get("accuracy_mean") for result in seeds)
    return {"n_seeds": len(seeds) or None, "seeds_std": std}


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
    if best is None:
        return {}
    ahead = _chunks(measured[best])
    found: dict[str, float | None] = {}
    for system, seeds in measured.items():
        found[system] = None
        own = _chunks(seeds)
        if own is None or ahead is None or system == best or own.shape != ahead.shape:
            continue
        gaps = ahead - own
        if gaps.size > np.isnan(gaps).sum():
            found[system] = signed_rank_p(gaps[~np.isnan(gaps)])
    return found


def _chunks(seeds: Sequence[Result]) -> Floats | None:
    """Accuracy of every chunk, as a mean over seeds, NaN where there is none."""
    every = [(result.get("per_chunk") or {}).get("accuracy") or [] for result in seeds]
    if len({len(each) for each in every}) != 1:
        return None
    chunks: Floats = np.array(every, np.float64).mean(axis=0)
    return chunks if chunks.size else None


def verdicts(cells: Cells) -> list[str]:
    """For each stream, whether the default is best, or significantly behind the best."""
    lines = []
    for stream in dict.fromkeys(stream for stream, _ in cells):
        measured = of_stream(cells, stream)
        if OURS in measured and len(measured) > 1:
            lines += _verdict(stream, measured)
    return lines


def _verdict(stream: str, measured: Mapping[str, Sequence[Result]]) -> list[str]:
    best, ours = best_of(measured), mean_accuracy(measured[OURS])
    if best is None or ours is None:
        return []
    if best == OURS:
        return [f"{stream}: {OURS} has the highest CR."]
    top = mean_accuracy(measured[best]) or 0.0
    p = chances_against_best(measured)[OURS]
    how = "its chunks are unknown"
    if p is not None:
        how = f"{'not ' if p > SIGNIFICANCE else ''}significantly, p = {p:.3g}"
    gap = f"{100.0 * (top - ours):.2f}"
    return [
        f"{stream}: {best} has the highest CR, {100.0 * top:.2f}; {OURS} is {gap} below, {how}."
    ]


def run_notes(cells: Cells) -> list[str]:
    """Notes on runs that did not end, or were over a part of a stream, and on versions."""
    ended = [
        f"{system} on {stream}, seed {result.get('seed')}: ended after {result.get('rows')} rows."
        for (stream, system), results in cells.items()
        for result in results
        if result.get("is_complete") is False
    ]
    parts = {
        f"{stream}: only {results[0].get('rows'):,} rows of the stream.": None
        for (stream, _), results in cells.items()
        if stream in PUBLISHED and _is_part(results[0])
    }
    return [*ended, *parts, *_made_with(cells)]


def _made_with(cells: Cells) -> list[str]:
    """A note on the versions of what the runs were made with, if they are known."""
    found: dict[str, dict[str, None]] = {}
    for result in (result for results in cells.values() for result in results):
        for name, version in (result.get("versions") or {}).items():
            found.setdefault(name, {})[str(version)] = None
    named = [f"{name} {' and '.join(versions)}" for name, versions in found.items()]
    return [f"Made with {', '.join(named)}."] if named else []


def _is_part(result: Result) -> bool:
    """Whether a run was told to leave out rows."""
    stream = (result.get("settings") or {}).get("stream") or {}
    return stream.get("rows") is not None or bool(stream.get("skip"))
