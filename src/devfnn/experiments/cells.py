"""Results by stream and system: what tables call a model, and which results are one cell."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from devfnn.errors import InputError
from devfnn.evaluation.results import mean
from devfnn.experiments.published import PUBLISHED

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
"""The parameter that gives a network its size in the paper's table; it goes without saying."""

OURS = "DEVFNN (default)"
"""What tables call the model as it is without being told anything."""


def system_name(result: Result) -> str:
    """What a table calls the model of a result.

    >>> system_name({"model": "pnn"}), system_name({"model": "devfnn", "preset": "static"})
    ('PNN', 'DEVFNN (static)')
    """
    model, preset = str(result["model"]), result.get("preset")
    name, about = RIVALS.get(model, model), list[str]()
    if model == "devfnn":
        name, about = "DEVFNN", [] if preset is None else [str(preset)]
    elif preset not in (None, "default"):
        about = [str(preset)]
    about += [f"{key}={value}" for key, value in changes_of(result).items() if key != SIZES]
    return f"{name} ({', '.join(about)})" if about else name


def changes_of(result: Result) -> Mapping[str, Any]:
    """Parameters that were set for a run."""
    settings = result.get("settings")
    return (settings.get("changes") or {}) if isinstance(settings, Mapping) else {}


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
    known = {**(result.get("config") or {}), **changes_of(result)}
    return {key: value for key, value in known.items() if key != "seed"}


def mean_accuracy(seeds: Sequence[Result]) -> float | None:
    """Accuracy of a cell, as a mean over seeds; None if there is none."""
    return mean([result.get("accuracy_mean") for result in seeds])


def over_seeds(seeds: Sequence[Result]) -> dict[str, Any]:
    """How many seeds there are, and how far their accuracies differ."""
    std = deviation([result.get("accuracy_mean") for result in seeds])
    return {"n_seeds": len(seeds) or None, "seeds_std": std}


def interruptions(cells: Cells) -> list[str]:
    """What is to be said of runs that did not end, or were over a part of a stream."""
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
    return ended + list(parts)


def _is_part(result: Result) -> bool:
    """Whether a run was told to leave out rows."""
    settings = result.get("settings")
    stream = settings.get("stream") if isinstance(settings, Mapping) else None
    if not isinstance(stream, Mapping) or not isinstance(result.get("rows"), int):
        return False
    return stream.get("rows") is not None or bool(stream.get("skip"))


def deviation(values: Sequence[float | None]) -> float | None:
    """Standard deviation of what is known; None for fewer than two."""
    known = [value for value in values if value is not None]
    return statistics.stdev(known) if len(known) > 1 else None
