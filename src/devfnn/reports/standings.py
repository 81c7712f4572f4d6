"""The numbers of a comparison: accuracies and ranks by stream, costs by model, caveats."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from devfnn.evaluation.summary import mean
from devfnn.experiments.costs import largest_size, overall_speed
from devfnn.reports.page import flattened, percent, plain, set_values, spread

FEW_STREAMS = 10
"""Below this, tests over streams find only large differences."""

FEWEST_SIGNED = 6
"""Streams from which the signed-rank test can give p < 0.05 at all: its least p is 2 / 2^n."""

MOST_NAMED = 5
"""Names that a remark lists."""

Comparison = Mapping[str, Any]
Cell = Mapping[str, Any]


def standing_values(comparison: Comparison) -> list[dict[str, Any]]:
    """Accuracy of every model on every stream over the seeds, and its rank on the stream.

    Returns
    -------
    list of dict
        Plain data with the keys `stream`, `model`, `mean`, `std`, `seeds` and `rank`. Streams that
        not all models have run on have no ranks.
    """
    scores: dict[tuple[str, str], list[float]] = {}
    for cell in comparison["cells"]:
        if cell["accuracy_mean"] is not None:
            scores.setdefault((cell["stream"], cell["model"]), []).append(cell["accuracy_mean"])
    rows = []
    for stream in comparison["streams"]:
        values = {model: scores.get((stream, model), []) for model in comparison["models"]}
        means = {model: mean(each) for model, each in values.items()}
        ranks = _ranks(means)
        rows += [
            {
                "stream": stream,
                "model": model,
                "mean": means[model],
                "std": spread(values[model]),
                "seeds": len(values[model]),
                "rank": ranks.get(model),
            }
            for model in comparison["models"]
        ]
    return rows


def _ranks(scores: Mapping[str, float | None]) -> dict[str, float]:
    """1 is best, ties share the mean of their ranks; no ranks if a score is missing."""
    known = [score for score in scores.values() if score is not None]
    if len(known) < len(scores):
        return {}
    return {
        model: 0.5 + sum(other > score for other in known) + 0.5 * known.count(score)
        for model, score in scores.items()
        if score is not None
    }


def mean_ranks(values: Iterable[Mapping[str, Any]]) -> dict[str, float | None]:
    """Mean rank of every model over the streams that have ranks."""
    ranks: dict[str, list[float]] = {}
    for row in values:
        known = ranks.setdefault(row["model"], [])
        if row["rank"] is not None:
            known.append(row["rank"])
    return {model: mean(each) for model, each in ranks.items()}


def costs(comparison: Comparison) -> list[dict[str, Any]]:
    """What every model needed: time, memory, labels, structure; means over its runs."""
    rows = []
    for model in comparison["models"]:
        cells = [cell for cell in comparison["cells"] if cell["model"] == model]
        row = {key: mean(_known(cells, key)) for key in _COSTS}
        costs = {"speed": overall_speed(cells), "model_bytes": largest_size(cells)}
        rows.append({"model": model} | row | costs)
    return rows


_COSTS = (*("seconds_predict", "seconds_learn", "label_fraction", "rules_mean", "layers_mean"),)


def _known(cells: Iterable[Cell], key: str) -> list[float]:
    return [cell[key] for cell in cells if cell.get(key) is not None]


def remarks(comparison: Comparison, results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What makes the comparison weaker than it looks."""
    yield from _about_cells(comparison)
    yield from _about_sizes(comparison["cells"])
    yield from _about_tests(comparison.get("ranking"))
    yield from _about_results(results)


def _about_cells(comparison: Comparison) -> Iterator[str]:
    """Runs that are missing, and seeds that are too few."""
    cells = comparison["cells"]
    scored = {
        (cell["model"], cell["stream"]) for cell in cells if cell["accuracy_mean"] is not None
    }
    n_missing = len(comparison["models"]) * len(comparison["streams"]) - len(scored)
    if n_missing:
        yield (
            f"{n_missing} of the pairs of model and stream have no accuracy; streams with gaps "
            "have no ranks."
        )
    seeds = {cell.get("seed") for cell in cells}
    if len(seeds) == 1 and cells:
        yield "There is one seed only: how much results vary by chance is not known."


def _about_sizes(cells: Sequence[Cell]) -> Iterator[str]:
    """Runs on the same stream that differ in rows or chunks, and labels used."""
    for key in ("rows", "chunks"):
        found: dict[str, set[float]] = {}
        for cell in cells:
            if cell.get(key) is not None:
                found.setdefault(cell["stream"], set()).add(cell[key])
        differing = [stream for stream, values in found.items() if len(values) > 1]
        if differing:
            yield (
                f"Runs on {_listed(differing)} differ in their number of {key}, so their "
                "accuracies are not about the same rows."
            )
    shares = [cell["label_fraction"] for cell in cells if cell.get("label_fraction") is not None]
    if shares and max(shares) - min(shares) > 0.01:
        yield (
            f"Models learned from different shares of the labels, {percent(min(shares), 0)} to "
            f"{percent(max(shares), 0)}."
        )


def _about_tests(ranking: Mapping[str, Any] | None) -> Iterator[str]:
    """What the tests cannot find with so few streams."""
    if not ranking:
        return
    n_streams, difference = ranking["n_streams"], ranking["critical_difference"]
    if difference is not None and difference >= len(ranking["models"]) - 1:
        yield (
            f"With {n_streams} streams no pair can be told apart, whatever its accuracies: the "
            "critical difference is as large as ranks can differ."
        )
    elif ranking["post_hoc"] == "wilcoxon-holm" and n_streams < FEWEST_SIGNED:
        yield (
            f"With {n_streams} streams no pair can be told apart, whatever its accuracies: the "
            f"signed-rank test needs at least {FEWEST_SIGNED} streams to reach p < 0.05."
        )
    elif n_streams < FEW_STREAMS:
        yield (
            f"With {n_streams} streams the tests find only large differences: models that cannot "
            "be told apart are not shown to be equal."
        )


def _about_results(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Runs that were cut short, or made in different ways."""
    cut = [f"{each['model']} on {each['stream']}" for each in results if _is_cut(each)]
    if cut:
        yield f"Some runs were interrupted: {_listed(cut)}."
    versions = {each.get("version") for each in results}
    if len(versions) > 1:
        yield f"Runs were made by different versions: {_listed(sorted(map(str, versions)))}."
    differing = unlike_settings(results)
    if differing:
        yield f"Runs on the same stream and seed differ in their settings: {_listed(differing)}."


def _is_cut(result: Mapping[str, Any]) -> bool:
    return result.get("is_complete") is False


_OF_MODELS = ("model", "preset", "config", "changes", "file")
"""Words in the names of settings in which models may differ."""


def unlike_settings(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """Settings in which models differ on the same stream and seed, but for those of the model."""
    found: dict[tuple[Any, ...], set[str]] = {}
    for result in results:
        for name, value in flattened(result.get("settings") or {}):
            if not any(word in name for word in _OF_MODELS):
                place = (name, result["stream"], result.get("seed"))
                found.setdefault(place, set()).add(plain(value))
    return list(dict.fromkeys(place[0] for place, values in found.items() if len(values) > 1))


def shared_settings(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Settings that all runs have in common."""
    if not results:
        return []
    every = [dict(set_values(result.get("settings") or {})) for result in results]
    first = every[0]
    return [
        (name, plain(value))
        for name, value in first.items()
        if all(name in each and plain(each[name]) == plain(value) for each in every)
    ]


def _listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
