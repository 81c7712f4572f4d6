"""The report of a comparison: accuracies and ranks, statistical tests, costs, curves, caveats."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scipy.stats import rankdata

from devfnn import figures
from devfnn.errors import InputError
from devfnn.evaluation.ranking import Ranking
from devfnn.evaluation.results import mean
from devfnn.experiments.tables import largest_size, overall_speed
from devfnn.figures.runs import several_over_time
from devfnn.formatting import NO_VALUE, count, listed, percent, plural, seconds, size
from devfnn.reports.measures import deviation
from devfnn.reports.page import (
    HALF,
    Picture,
    blank,
    decimal,
    flattened,
    p_value,
    picture,
    plain,
    rendered,
    set_values,
)

TESTS = {
    "nemenyi": "Nemenyi's test",
    "wilcoxon-holm": "the signed-rank test with Holm's correction",
}

FEW_STREAMS = 10
"""Below this, tests over streams find only large differences."""

FEWEST_SIGNED = 6
"""Streams from which the signed-rank test can give p < 0.05 at all: its least p is 2 / 2^n."""

MOST_NAMED = 5
"""Names that a remark lists."""

OF_MODELS = ("model", "preset", "config", "changes", "file")
"""Words in the names of settings in which models may differ."""

Comparison = Mapping[str, Any]
Result = Mapping[str, Any]


def comparison_report(comparison: Comparison, results: Sequence[Result] = ()) -> str:
    """The report of a comparison as one HTML page that needs no other file and no network.

    `comparison` is what `devfnn compare --json` wrote, as `experiments.result_files` reads it.
    `results` are the single runs, for curves over time and for their settings.
    """
    values = standing_values(comparison)
    models, streams, cells = (comparison[key] for key in ("models", "streams", "cells"))
    seeds = plural(len({cell.get("seed") for cell in cells}), "seed")
    return rendered(
        "comparison.html",
        {
            "title": f"{plural(len(models), 'model')} on {plural(len(streams), 'stream')}",
            "about": f"{len(cells)} runs, {seeds} each. {', '.join(models)}",
            "command": comparison.get("command"),
            "remarks": list(remarks(comparison, results)),
            "models": models,
            "table": _table(values, models),
            "ranks": [decimal(rank, 2) for rank in mean_ranks(values).values()],
            "has_seeds": any(row["std"] is not None for row in values),
            "test": _test(comparison),
            "cost_pictures": [
                picture(
                    "Accuracy against speed",
                    "Rows per second, predicting and learning together.",
                    lambda: figures.accuracy_against_speed(cells),
                    is_wide=True,
                )
            ],
            "costs": _cost_rows(costs(comparison)),
            "curves": _curves(comparison, results),
            "settings": [
                ("models", models),
                ("streams", streams),
                ("seeds", comparison.get("seeds")),
                *shared_settings(results),
            ],
        },
    )


# ---- accuracies and ranks


def standing_values(comparison: Comparison) -> list[dict[str, Any]]:
    """Accuracy of every model on every stream over the seeds, and its rank on the stream.

    Streams that not all models have run on have no ranks.
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
                "std": deviation(each),
                "seeds": len(each),
                "rank": ranks.get(model),
            }
            for model, each in values.items()
        ]
    return rows


def _ranks(scores: Mapping[str, float | None]) -> dict[str, float]:
    """1 is best, ties share the mean of their ranks; no ranks if a score is missing."""
    known = [-score for score in scores.values() if score is not None]
    if len(known) < len(scores):
        return {}
    return dict(zip(scores, rankdata(known).tolist(), strict=True))


def mean_ranks(values: Iterable[Mapping[str, Any]]) -> dict[str, float | None]:
    """Mean rank of every model over the streams that have ranks."""
    ranks: dict[str, list[float]] = {}
    for row in values:
        ranks.setdefault(row["model"], []).append(row["rank"])
    return {model: mean(each) for model, each in ranks.items()}


def _table(values: Sequence[Mapping[str, Any]], models: Sequence[str]) -> list[dict[str, Any]]:
    """A line for each stream, a cell for each model; the best of a line is marked."""
    lines = []
    for start in range(0, len(values), len(models)):
        row = values[start : start + len(models)]
        best = percent(
            max((each["mean"] for each in row if each["mean"] is not None), default=None)
        )
        cells = [
            {
                "mean": percent(each["mean"]),
                "std": "" if each["std"] is None else percent(each["std"]),
                "rank": "" if each["rank"] is None else f"{each['rank']:g}",
                "is_best": each["mean"] is not None and percent(each["mean"]) == best,
            }
            for each in row
        ]
        lines.append({"stream": row[0]["stream"], "cells": cells})
    return lines


# ---- statistical tests


def _test(comparison: Comparison) -> dict[str, Any]:
    """The results of the tests in words, as a table of pairs and as a diagram."""
    if not comparison.get("ranking"):
        why = (
            "There is no ranking in the comparison: it needs at least two models that have all run "
            "on the same two streams or more."
        )
        return {"words": [why], "pairs": [], "models": [], "pictures": [], "has_apart": False}
    ranking = Ranking.from_dict(comparison["ranking"])
    diagram = picture(
        "Critical difference",
        "Mean ranks, 1 is best; bars join models that do not differ significantly.",
        lambda: figures.critical_difference(ranking),
        is_wide=True,
    )
    return {
        "words": list(_test_words(ranking)),
        "models": ranking.models,
        "pairs": [
            (model, [_pair(ranking, model, other) for other in ranking.models])
            for model in ranking.models
        ],
        "has_apart": any(p <= ranking.significance for p in ranking.p_values.values()),
        "pictures": [diagram],
    }


def _test_words(ranking: Ranking) -> Iterator[str]:
    """The results of the tests as sentences."""
    level = f"{100.0 * ranking.significance:g} %"
    if ranking.friedman_p is None or ranking.friedman_statistic is None:
        yield "For two models there is no Friedman test; the pair is compared directly."
    else:
        p = p_value(ranking.friedman_p)
        numbers = (
            f"(chi-square {ranking.friedman_statistic:.2f}, p {p if p[0] == '<' else f'= {p}'}, "
            f"{ranking.n_streams} streams)"
        )
        if ranking.friedman_p <= ranking.significance:
            yield f"Friedman's test finds that the models differ {numbers}."
        else:
            yield (
                f"Friedman's test does not find that the models differ {numbers}: at a level of "
                f"{level}, all differences below may be due to chance."
            )
    test = TESTS.get(ranking.post_hoc, ranking.post_hoc)
    if ranking.critical_difference is None:
        yield f"Pairs are compared by {test}, at a level of {level}."
    else:
        yield (
            f"Pairs are compared by {test}: at a level of {level}, models whose mean ranks differ "
            f"by less than {ranking.critical_difference:.2f} do not differ significantly."
        )
    together = "; ".join(", ".join(group) for group in ranking.groups)
    if together:
        yield f"Groups of models that do not differ significantly: {together}."
    else:
        yield "All pairs differ significantly."


def _pair(ranking: Ranking, one: str, other: str) -> dict[str, Any]:
    """The p-value of a pair of models."""
    if one == other:
        return {"text": "", "is_apart": False}
    try:
        p = ranking.p_value(one, other)
    except InputError:
        return {"text": NO_VALUE, "is_apart": False}
    return {"text": p_value(p), "is_apart": p <= ranking.significance}


# ---- costs and curves


def costs(comparison: Comparison) -> list[dict[str, Any]]:
    """Time, memory, labels and structure of every model; means over its runs."""
    keys = ("seconds_predict", "seconds_learn", "label_fraction", "rules_mean", "layers_mean")
    rows = []
    for model in comparison["models"]:
        cells = [cell for cell in comparison["cells"] if cell["model"] == model]
        means = {key: mean([cell.get(key) for cell in cells]) for key in keys}
        totals = {"speed": overall_speed(cells), "model_bytes": largest_size(cells)}
        rows.append({"model": model} | means | totals)
    return rows


def _cost_rows(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The same as texts."""
    return [
        (
            row["model"],
            count(row["speed"]),
            seconds(row["seconds_predict"]),
            seconds(row["seconds_learn"]),
            size(row["model_bytes"]),
            percent(row["label_fraction"], 1),
            decimal(row["rules_mean"], 1),
            decimal(row["layers_mean"], 1),
        )
        for row in rows
    ]


def _curves(comparison: Comparison, results: Sequence[Result]) -> list[Picture]:
    """The accuracy of all models over each stream, as far as the single runs are there."""
    pictures = []
    for stream in comparison["streams"]:
        runs: dict[str, list[Result]] = {model: [] for model in comparison["models"]}
        for each in results:
            if each["stream"] == stream and each["model"] in runs:
                runs[each["model"]].append(each)
        found = {model: each for model, each in runs.items() if each}
        if found:
            pictures.append(
                picture(
                    stream,
                    "Mean over the latest chunks and over seeds.",
                    lambda found=found: several_over_time(found, ax=blank(HALF, 3.0)),  # type: ignore[misc]
                )
            )
    return pictures


# ---- caveats and settings


def remarks(comparison: Comparison, results: Sequence[Result]) -> Iterator[str]:
    """What limits the comparison."""
    yield from _about_cells(comparison)
    yield from _about_tests(comparison.get("ranking"))
    yield from _about_results(results)


def _about_cells(comparison: Comparison) -> Iterator[str]:
    """Missing runs, a single seed, and runs that differ in their rows, chunks or labels."""
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
    if cells and len({cell.get("seed") for cell in cells}) == 1:
        yield "There is only one seed: how much results vary by chance is not known."
    for key in ("rows", "chunks"):
        found: dict[str, set[float]] = {}
        for cell in cells:
            if cell.get(key) is not None:
                found.setdefault(cell["stream"], set()).add(cell[key])
        differing = [stream for stream, values in found.items() if len(values) > 1]
        if differing:
            yield (
                f"Runs on {listed(differing, MOST_NAMED)} differ in their number of {key}, so "
                "their accuracies are not about the same rows."
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
            f"With {n_streams} streams no pair can differ significantly, whatever its accuracies: "
            "the critical difference is as large as ranks can differ."
        )
    elif ranking["post_hoc"] == "wilcoxon-holm" and n_streams < FEWEST_SIGNED:
        yield (
            f"With {n_streams} streams no pair can differ significantly, whatever its accuracies: "
            f"the signed-rank test needs at least {FEWEST_SIGNED} streams to reach p < 0.05."
        )
    elif n_streams < FEW_STREAMS:
        yield (
            f"With {n_streams} streams the tests find only large differences: models that do not "
            "differ significantly are not shown to be equal."
        )


def _about_results(results: Sequence[Result]) -> Iterator[str]:
    """Runs that were interrupted, or made in different ways."""
    cut = [
        f"{each['model']} on {each['stream']}"
        for each in results
        if each.get("is_complete") is False
    ]
    if cut:
        yield f"Some runs were interrupted: {listed(cut, MOST_NAMED)}."
    versions = sorted({str(each.get("version")) for each in results})
    if len(versions) > 1:
        yield f"Runs were made by different versions: {listed(versions, MOST_NAMED)}."
    differing = _unlike_settings(results)
    if differing:
        names = listed(differing, MOST_NAMED)
        yield f"Runs on the same stream and seed differ in their settings: {names}."


def _unlike_settings(results: Iterable[Result]) -> list[str]:
    """Settings in which runs on the same stream and seed differ, except those of the model."""
    found: dict[tuple[Any, ...], set[str]] = {}
    for result in results:
        for name, value in flattened(result.get("settings") or {}):
            if not any(word in name for word in OF_MODELS):
                place = (name, result["stream"], result.get("seed"))
                found.setdefault(place, set()).add(plain(value))
    return list(dict.fromkeys(place[0] for place, values in found.items() if len(values) > 1))


def shared_settings(results: Sequence[Result]) -> list[tuple[str, str]]:
    """Settings that all runs have in common."""
    every = [
        {name: plain(value) for name, value in set_values(result.get("settings") or {})}
        for result in results
    ]
    first, *others = every or [{}]
    return [item for item in first.items() if all(each.get(item[0]) == item[1] for each in others)]
