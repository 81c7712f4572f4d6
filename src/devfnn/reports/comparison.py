"""The report of a comparison: accuracies and ranks, statistical tests, costs, curves, caveats."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup
from scipy.stats import rankdata

from devfnn import figures
from devfnn.evaluation.measures import LOWER_IS_BETTER, SHARES, key_of
from devfnn.evaluation.ranking import Ranking
from devfnn.evaluation.results import deviation, mean
from devfnn.experiments.tables import NO_RANKING, largest_size, overall_speed
from devfnn.figures.runs import measure_name, several_over_time
from devfnn.formatting import count, listed, percent, plural, seconds, size
from devfnn.reports import page
from devfnn.reports.run import MEANINGS

FEW_STREAMS = 10
"""Below this, tests over streams find only large differences."""

FEWEST_SIGNED = 6
"""Streams from which the signed-rank test can give p < 0.05 at all: its least p is 2 / 2^n."""

OF_MODELS = ("model", "preset", "config", "changes", "file")
"""Words in the names of settings in which models may differ."""

Comparison = Mapping[str, Any]
Result = Mapping[str, Any]


def comparison_report(comparison: Comparison, results: Sequence[Result] = ()) -> str:
    """The report of a comparison as one HTML page that needs no other file and no network.

    `comparison` is what `devfnn compare --json` wrote, as `experiments.result_files` reads it.
    `results` are the single runs, for curves over time and for their settings.
    """
    models, streams, cells = (comparison[key] for key in ("models", "streams", "cells"))
    seeds = plural(len({cell.get("seed") for cell in cells}), "seed")
    measure = measure_name(_measure(comparison))
    title = measure[0].upper() + measure[1:]
    settings = {key: page.plain(comparison.get(key)) for key in ("models", "streams", "seeds")}
    return page.rendered(
        kind="Report of a comparison",
        title=f"{plural(len(models), 'model')} on {plural(len(streams), 'stream')}",
        about=f"{len(cells)} runs, {seeds} each. {', '.join(models)}",
        remarks=list(remarks(comparison, results)),
        command=comparison.get("command"),
        sections={
            title: _scores(comparison),
            "Statistical tests": _tests(comparison),
            "Cost": _costs(comparison),
            f"{title} over time": [_curves(comparison, results)],
            "Settings": [page.pairs("setting", settings | _shared_settings(results))],
        },
    )


# ---- measures and ranks


def _measure(comparison: Comparison) -> str:
    """The measure that models are ranked by."""
    return str(comparison.get("measure", "accuracy"))


def standing_values(comparison: Comparison) -> list[dict[str, Any]]:
    """The measure of every model on every stream over the seeds, and its rank on the stream.

    Streams that not all models have run on have no ranks.
    """
    scores: dict[tuple[str, str], list[float]] = {}
    key, sign = key_of(_measure(comparison)), _sign(comparison)
    for cell in comparison["cells"]:
        if cell[key] is not None:
            scores.setdefault((cell["stream"], cell["model"]), []).append(cell[key])
    rows = []
    for stream in comparison["streams"]:
        seeds = [scores.get((stream, model), []) for model in comparison["models"]]
        ranks = [None] * len(seeds)
        if all(seeds):
            ranks = rankdata([-sign * (mean(each) or 0.0) for each in seeds]).tolist()
        rows += [
            {
                "stream": stream,
                "model": model,
                "mean": mean(each),
                "std": deviation(each),
                "seeds": len(each),
                "rank": rank,
            }
            for model, each, rank in zip(comparison["models"], seeds, ranks, strict=True)
        ]
    return rows


def _sign(comparison: Comparison) -> float:
    """1 if the higher value is better, else -1."""
    return -1.0 if _measure(comparison) in LOWER_IS_BETTER else 1.0


def _scores(comparison: Comparison) -> Iterator[page.Part]:
    values, models = standing_values(comparison), comparison["models"]
    measure, sign = _measure(comparison), _sign(comparison)
    what = "Mean accuracy over chunks" if measure == "accuracy" else MEANINGS[measure][:-1]
    show = percent if measure in SHARES else page.decimal
    has_seeds = any(row["std"] is not None for row in values)
    spread = ", mean ± standard deviation over seeds" if has_seeds else ""
    yield (
        f"{what}{spread}. The best of a stream is bold; the rank on the stream is below each value."
    )
    rows: list[tuple[object, ...]] = []
    for stream, group in itertools.groupby(values, key=lambda row: row["stream"]):
        line = list(group)
        known = [row["mean"] for row in line if row["mean"] is not None]
        best = max(known, key=lambda value: sign * value, default=None)
        rows.append((stream, *(_score(row, show, show(best)) for row in line)))
    ranks = (mean(row["rank"] for row in values if row["model"] == model) for model in models)
    rows.append(("mean rank", *(page.decimal(rank, 2) for rank in ranks)))
    yield page.table({"stream": ""} | dict.fromkeys(models, "number"), rows)


def _score(row: Mapping[str, Any], show: Callable[[Any], str], best: str) -> Markup:
    """A cell of the page.table: mean, spread over seeds and rank."""
    shown = show(row["mean"])
    text = Markup("<b>{}</b>" if row["mean"] is not None and shown == best else "{}").format(shown)
    if row["std"] is not None:
        text += Markup(' <span class="remark">± {}</span>').format(show(row["std"]))
    if row["rank"] is not None:
        text += Markup('<br><span class="remark">rank {:g}</span>').format(row["rank"])
    return text


# ---- statistical tests


def _tests(comparison: Comparison) -> Iterator[page.Part]:
    if not comparison.get("ranking"):
        yield page.sentence(NO_RANKING)
        return
    ranking = Ranking.from_dict(comparison["ranking"])
    for line in ranking.sentences():
        yield f"{line}."
    together = "; ".join(", ".join(group) for group in ranking.groups)
    if together:
        yield f"Groups of models that do not differ significantly: {together}."
    else:
        yield "All pairs differ significantly."
    by = measure_name(_measure(comparison))
    caption = f"Mean ranks by {by}, 1 is best; bars join models that do not differ significantly."
    draw = figures.critical_difference
    yield [page.picture("Critical difference", caption, draw, ranking, is_wide=True)]
    test = "Nemenyi" if ranking.post_hoc == "nemenyi" else "signed ranks, corrected by Holm"
    yield (
        f"p-values of pairs, adjusted ({test}); those that differ significantly, at "
        f"{ranking.significance:g}, are marked."
    )
    rows = [
        (one, *("" if one == other else _p_value(ranking, one, other) for other in ranking.models))
        for one in ranking.models
    ]
    yield page.table({"": ""} | dict.fromkeys(ranking.models, "number"), rows, "narrow")


def _p_value(ranking: Ranking, one: str, other: str) -> str:
    p = ranking.p_value(one, other)
    text = "< 0.001" if p < 0.001 else f"{p:.3f}"
    return page.marked(text) if p <= ranking.significance else text


# ---- costs and curves


def _costs(comparison: Comparison) -> Iterator[page.Part]:
    caption = "Rows per second, predicting and learning together."
    draw, cells = figures.accuracy_against_speed, comparison["cells"]
    yield [page.picture("Accuracy against speed", caption, draw, cells, is_wide=True)]
    keys = ("seconds_predict", "seconds_learn", "label_fraction", "rules_mean", "layers_mean")
    rows = []
    for model in comparison["models"]:
        own = [cell for cell in cells if cell["model"] == model]
        predict, learn, labels, *structure = (mean(cell.get(key) for cell in own) for key in keys)
        speed, largest = count(overall_speed(own)), size(largest_size(own))
        times, used = (seconds(predict), seconds(learn)), percent(labels, 1)
        numbers = (page.decimal(number, 1) for number in structure)
        rows.append((model, speed, *times, largest, used, *numbers))
    names = ("rows per second", "predicting", "learning", "largest model", "labels used")
    yield page.table({"model": ""} | dict.fromkeys((*names, "rules", "layers"), "number"), rows)
    yield (
        "Rows per second are over all runs of a model, its size is the largest; all else is the "
        "mean over its runs."
    )


def _curves(comparison: Comparison, results: Sequence[Result]) -> page.Part:
    """The measure of all models over each stream, as far as the single runs are there."""
    measure = _measure(comparison)
    shown = []
    for stream in comparison["streams"]:
        runs: dict[str, list[Result]] = {model: [] for model in comparison["models"]}
        for each in results:
            if each["stream"] == stream and each["model"] in runs:
                runs[each["model"]].append(each)
        found = {model: each for model, each in runs.items() if each}
        if found:
            caption = "Mean over the latest chunks and over seeds."
            data = (found, measure)
            shown.append(page.picture(stream, caption, several_over_time, *data, height=3.0))
    if not shown:
        return "Left out. The results of the single runs are not in the folder of the comparison."
    return shown


# ---- caveats and settings


def remarks(comparison: Comparison, results: Sequence[Result]) -> Iterator[str]:
    """What limits the comparison."""
    yield from _about_cells(comparison)
    if comparison.get("ranking"):
        yield from _about_tests(comparison["ranking"])
    if differing := _unlike_settings(results):
        yield f"Runs on the same stream and seed differ in their settings: {listed(differing)}."


def _about_cells(comparison: Comparison) -> Iterator[str]:
    """Missing runs, a single seed, and runs that differ in their rows, chunks or labels."""
    cells = comparison["cells"]
    measure = _measure(comparison)
    key = key_of(measure)
    known = {(cell["model"], cell["stream"]) for cell in cells if cell[key] is not None}
    n_missing = len(comparison["models"]) * len(comparison["streams"]) - len(known)
    if n_missing:
        yield (
            f"{n_missing} of the pairs of model and stream have no {measure_name(measure)}; "
            "streams with gaps have no ranks."
        )
    if cells and len({cell.get("seed") for cell in cells}) == 1:
        yield "There is only one seed: how much results vary by chance is not known."
    for key in ("rows", "chunks"):
        found = {(cell["stream"], cell[key]) for cell in cells if cell.get(key) is not None}
        streams = [stream for stream, _ in found]
        differing = sorted({stream for stream in streams if streams.count(stream) > 1})
        if differing:
            yield (
                f"Runs on {listed(differing)} differ in their number of {key}, so "
                "their measures are not about the same rows."
            )
    shares = [cell["label_fraction"] for cell in cells if cell.get("label_fraction") is not None]
    if shares and max(shares) - min(shares) > 0.01:
        yield (
            f"Models learned from different shares of the labels, {percent(min(shares), 0)} to "
            f"{percent(max(shares), 0)}."
        )


def _about_tests(ranking: Mapping[str, Any]) -> Iterator[str]:
    """What the tests cannot find with so few streams."""
    n_streams, difference = ranking["n_streams"], ranking["critical_difference"]
    is_signed = ranking["post_hoc"] == "wilcoxon-holm"
    if (is_signed and n_streams < FEWEST_SIGNED) or (
        difference is not None and difference >= len(ranking["models"]) - 1
    ):
        yield f"With {n_streams} streams no pair can differ significantly, whatever its values."
    elif n_streams < FEW_STREAMS:
        yield (
            f"With {n_streams} streams the tests find only large differences: models that do not "
            "differ significantly are not shown to be equal."
        )


def _unlike_settings(results: Sequence[Result]) -> list[str]:
    """Settings in which runs on the same stream and seed differ, except those of the model."""
    first: dict[tuple[str, Any], dict[str, str]] = {}
    differing: dict[str, None] = {}
    for result in results:
        own = page.settings_of(result)
        other = first.setdefault((result["stream"], result.get("seed")), own)
        differing |= dict.fromkeys(key for key in own | other if own.get(key) != other.get(key))
    return [name for name in differing if not any(word in name for word in OF_MODELS)]


def _shared_settings(results: Sequence[Result]) -> dict[str, str]:
    first, *others = [page.settings_of(result) for result in results] or [{}]
    return {
        key: value for key, value in first.items() if all(each.get(key) == value for each in others)
    }
