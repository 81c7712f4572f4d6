"""The report of a comparison: who is better where, whether it may be chance, and at what cost."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from devfnn.errors import InputError
from devfnn.reports.overlay import several_over_time
from devfnn.reports.page import (
    HALF,
    NOT_MEASURED,
    Picture,
    blank,
    decimal,
    p_value,
    percent,
    picture,
    rendered,
)
from devfnn.reports.standings import costs, mean_ranks, remarks, shared_settings, standing_values

if TYPE_CHECKING:
    from devfnn.evaluation.ranking import Ranking

Comparison = Mapping[str, Any]
Result = Mapping[str, Any]

TESTS = {
    "nemenyi": "Nemenyi's test",
    "wilcoxon-holm": "the signed-rank test with Holm's correction",
}


def comparison_report(comparison: Comparison, results: Sequence[Result] = ()) -> str:
    """The report of a comparison as one HTML page that needs no other file and no network.

    Parameters
    ----------
    comparison
        What `devfnn compare --json` wrote, as `experiments.reading.read_comparison` reads it.
    results
        The single runs, for curves over time and for their settings; may be left out.

    Returns
    -------
    str
        The page. The same data give the same page.
    """
    values = standing_values(comparison)
    models, streams = comparison["models"], comparison["streams"]
    return rendered(
        "comparison.html",
        {
            "title": f"{_counted(models, 'model')} on {_counted(streams, 'stream')}",
            "about": _about(comparison),
            "command": comparison.get("command"),
            "remarks": list(remarks(comparison, results)),
            "models": models,
            "table": _table(values, models),
            "ranks": [decimal(rank, 2) for rank in mean_ranks(values).values()],
            "has_seeds": any(row["std"] is not None for row in values),
            "test": _test(comparison),
            "cost_picture": [_cost_picture(comparison)],
            "costs": costs(comparison),
            "courses": _courses(comparison, results),
            "settings": [
                ("models", models),
                ("streams", streams),
                ("seeds", comparison.get("seeds")),
                *shared_settings(results),
            ],
        },
    )


def _counted(names: Sequence[str], what: str) -> str:
    return f"1 {what}" if len(names) == 1 else f"{len(names)} {what}s"


def _about(comparison: Comparison) -> str:
    n_seeds = len({cell.get("seed") for cell in comparison["cells"]})
    seeds = "1 seed" if n_seeds == 1 else f"{n_seeds} seeds"
    return f"{len(comparison['cells'])} runs, {seeds} each. " + ", ".join(comparison["models"])


def _table(values: Sequence[Mapping[str, Any]], models: Sequence[str]) -> list[dict[str, Any]]:
    """A line for each stream, a cell for each model; the best of a line is marked."""
    lines = []
    for start in range(0, len(values), len(models)):
        row = values[start : start + len(models)]
        best = max((each["mean"] for each in row if each["mean"] is not None), default=None)
        cells = [
            {
                "mean": percent(each["mean"]),
                "std": NOT_MEASURED if each["std"] is None else percent(each["std"]),
                "has_std": each["std"] is not None,
                "rank": "" if each["rank"] is None else f"{each['rank']:g}",
                "is_best": each["mean"] is not None and percent(each["mean"]) == percent(best),
            }
            for each in row
        ]
        lines.append({"stream": row[0]["stream"], "cells": cells})
    return lines


def _test(comparison: Comparison) -> dict[str, Any]:
    """What the tests say, in words, as a table of pairs and as a diagram."""
    ranking = _ranking(comparison)
    if ranking is None:
        why = (
            "There is no ranking in the comparison: it takes at least two models that have all run "
            "on the same two streams or more."
        )
        return {"words": [why], "pairs": [], "models": [], "pictures": [], "has_apart": False}
    from devfnn import figures

    diagram = picture(
        "Critical difference",
        "Mean ranks, 1 is best; bars join models that cannot be told apart.",
        lambda: figures.critical_difference(ranking),
        is_wide=True,
    )
    return {
        "words": _words(ranking),
        "models": ranking.models,
        "pairs": _pairs(ranking),
        "has_apart": any(p <= ranking.significance for p in ranking.p_values.values()),
        "pictures": [diagram],
    }


def _ranking(comparison: Comparison) -> "Ranking | None":
    from devfnn.evaluation.ranking import Ranking

    data = comparison.get("ranking")
    return Ranking.from_dict(data) if data else None


def _words(ranking: "Ranking") -> list[str]:
    """The results of the tests as sentences."""
    words = []
    level = f"{100.0 * ranking.significance:g} %"
    if ranking.friedman_p is None or ranking.friedman_statistic is None:
        words.append("For two models there is no Friedman test; the pair is compared directly.")
    else:
        numbers = (
            f"(chi-square {ranking.friedman_statistic:.2f}, p {_equals(ranking.friedman_p)}, "
            f"{ranking.n_streams} streams)"
        )
        if ranking.friedman_p <= ranking.significance:
            words.append(f"Friedman's test finds that the models differ {numbers}.")
        else:
            words.append(
                f"Friedman's test does not find that the models differ {numbers}: at a level of "
                f"{level}, all of what follows may be chance."
            )
    test = TESTS.get(ranking.post_hoc, ranking.post_hoc)
    if ranking.critical_difference is not None:
        words.append(
            f"Pairs are compared by {test}: at a level of {level}, models whose mean ranks differ "
            f"by less than {ranking.critical_difference:.2f} cannot be told apart."
        )
    else:
        words.append(f"Pairs are compared by {test}, at a level of {level}.")
    together = "; ".join(", ".join(group) for group in ranking.groups)
    if together:
        words.append(f"Models that cannot be told apart from each other: {together}.")
    else:
        words.append("All pairs are told apart.")
    return words


def _equals(p: float) -> str:
    return p_value(p) if p < 0.001 else f"= {p_value(p)}"


def _pairs(ranking: "Ranking") -> list[dict[str, Any]]:
    """The p-values of all pairs, a line for each model."""
    return [
        {"model": model, "cells": [_pair(ranking, model, other) for other in ranking.models]}
        for model in ranking.models
    ]


def _pair(ranking: "Ranking", one: str, other: str) -> dict[str, Any]:
    if one == other:
        return {"text": "", "is_apart": False}
    try:
        p = ranking.p_value(one, other)
    except InputError:
        return {"text": NOT_MEASURED, "is_apart": False}
    return {"text": p_value(p), "is_apart": p <= ranking.significance}


def _cost_picture(comparison: Comparison) -> Picture:
    from devfnn import figures

    return picture(
        "Accuracy against speed",
        "Rows per second, predicting and learning together.",
        lambda: figures.accuracy_against_speed(comparison["cells"]),
        is_wide=True,
    )


def _courses(comparison: Comparison, results: Sequence[Result]) -> list[Picture]:
    """The accuracy of all models over each stream, as far as the single runs are there."""
    pictures = []
    for stream in comparison["streams"]:
        runs: dict[str, list[Result]] = {}
        for model in comparison["models"]:
            found = [
                each for each in results if each["model"] == model and each["stream"] == stream
            ]
            if found:
                runs[model] = found
        if runs:
            pictures.append(
                picture(
                    stream,
                    "Mean over the latest chunks and over seeds.",
                    lambda runs=runs: several_over_time(runs, ax=blank(HALF, 3.0)),  # type: ignore[misc]
                )
            )
    return pictures
