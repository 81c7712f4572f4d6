"""`devfnn plot`: one figure of a result, of several, or of a comparison."""

import difflib
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from devfnn.cli.output import Output, check_figure_file, command, file_option, write_facts
from devfnn.errors import InputError
from devfnn.experiments.result_files import kind_of, read_either, refusing_malformed

if TYPE_CHECKING:
    from devfnn.figures.style import Drawing

Data = Mapping[str, Any]

RUN_FIGURES = {
    "overview": "run_overview",
    "rate": "rate_over_time",
    "layers": "layers_over_time",
    "rules": "rules_over_time",
    "samples": "training_samples_over_time",
    "weights": "voting_weights",
    "mask": "feature_mask",
    "confusion": "confusion_matrix",
    "reliability": "reliability_curve",
}
"""Figures of a run, and the functions that draw them."""

RULE_FIGURES = ("membership", "ellipses")
"""Figures of the rules of a run."""

LABELS_FIGURE = "accuracy-labels"
"""The figure of runs with different label budgets."""

COMPARISON_FIGURES = ("critical-difference", "accuracy-speed")
"""Figures of a comparison."""


@command
def plot(
    output: Output,
    paths: list[pathlib.Path] = typer.Argument(
        metavar="RESULT...",
        exists=True,
        dir_okay=False,
        help="A file that `devfnn run --json` or `devfnn compare --json` wrote; several runs "
        "become lines of one figure.",
    ),
    figure: str | None = typer.Option(
        None,
        metavar="NAME",
        help=f"Of a run: {', '.join([*RUN_FIGURES, *RULE_FIGURES])}, or a measure such as kappa; "
        f"of runs with different label budgets: {LABELS_FIGURE}. Of a comparison: "
        f"{', '.join(COMPARISON_FIGURES)}.",
    ),
    target: pathlib.Path | None = file_option(
        "A .png, .svg or .pdf file; by default beside RESULT.", "--output"
    ),
    feature: list[str] = typer.Option(
        [], metavar="NAME", help="A feature, for membership and ellipses; may be repeated."
    ),
) -> None:
    """Draw a figure of a result: by default an overview of a run, or the ranks of models.

    Of several runs, a measure is drawn over the rows of the stream, one line each.
    """
    inputs = {str(path): path for path in paths}
    with output.files(inputs, output=target) as (result, table):
        if target is not None:
            check_figure_file(target)
        data = [read_either(path) for path in paths]
        is_comparison = kind_of(data[0]) == "comparison"
        usual = "overview" if len(data) == 1 else "rate"
        name = figure or ("critical-difference" if is_comparison else usual)
        if target is None:
            ending = "".join(letter if letter.isalnum() else "-" for letter in name)
            target = paths[0].with_name(f"{paths[0].stem}-{ending}.png")
            check_figure_file(target)
            output.check_distinct(inputs, output=target)
        from devfnn.figures import save

        of = " ".join(map(str, paths))
        with refusing_malformed(of):
            save(_drawn(data, name, feature), target)
        write_facts(result, table, {"figure": name, "of": of, "path": str(target)})
    output.say(f"The figure is in {target}")


def _drawn(data: Sequence[Data], name: str, features: Sequence[str]) -> "Drawing":
    """The figure of this name."""
    _check_name(data, name)
    if features and name not in RULE_FIGURES:
        raise InputError(f"--feature is for {' and '.join(RULE_FIGURES)}, not for {name}")
    if kind_of(data[0]) == "comparison":
        return _of_comparison(data[0], name)
    from devfnn import figures

    if name == LABELS_FIGURE:
        return figures.accuracy_against_labels(data)
    if len(data) > 1:
        return _of_several(data, name)
    if name in RULE_FIGURES:
        return _of_rules(data[0], name, features)
    if name in RUN_FIGURES:
        draw: Callable[[Data], Drawing] = getattr(figures, RUN_FIGURES[name])
        return draw(data[0])
    return figures.measure_over_time(data[0], name)


def _check_name(data: Sequence[Data], name: str) -> None:
    """Refuse a figure that does not exist, or not of such data."""
    from devfnn.figures.timeline import curve_names

    kinds = {kind_of(each) for each in data}
    if len(kinds) > 1 or (kinds == {"comparison"} and len(data) > 1):
        raise InputError("give one comparison, or one or several results of single runs")
    of_runs = [*RUN_FIGURES, *RULE_FIGURES, LABELS_FIGURE]
    names = list(COMPARISON_FIGURES) if kinds == {"comparison"} else of_runs
    if "run" in kinds:
        names += [each for each in curve_names(data[0]) if each not in names]
    if name in names:
        return
    if name in (*of_runs, *COMPARISON_FIGURES):
        other = "single runs" if kinds == {"comparison"} else "comparisons"
        raise InputError(f"{name} is a figure of {other}; choose one of {', '.join(names)}")
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise InputError(f"there is no figure called {name!r}; {hint}Choose one of {', '.join(names)}")


def _of_comparison(data: Data, name: str) -> "Drawing":
    from devfnn import figures
    from devfnn.evaluation.ranking import Ranking

    if name == "accuracy-speed":
        return figures.accuracy_against_speed(data["cells"])
    if not data.get("ranking"):
        raise InputError(
            "the comparison has no ranking: it needs two models or more that have all run on the "
            "same two streams or more; draw accuracy-speed instead"
        )
    return figures.critical_difference(Ranking.from_dict(data["ranking"]))


def _of_several(data: Sequence[Data], name: str) -> "Drawing":
    """A line for each run."""
    from devfnn.figures.runs import runs_by_name, several_over_time
    from devfnn.figures.timeline import curve_names

    measure = {"rate": "accuracy", "samples": "labels"}.get(name, name)
    if measure not in curve_names(data[0]):
        raise InputError(f"{name} shows one run; for several runs, choose rate or a measure")
    return several_over_time(runs_by_name(data), measure)


def _of_rules(data: Data, name: str, features: Sequence[str]) -> "Drawing":
    """Rules over the given features, or over those that separate them best."""
    from devfnn.figures import rules as rule_figures

    rules = rule_figures.rules_to_draw(rule_figures.rules_of(data))
    by_contrast = rule_figures.features_by_contrast(rules, data)
    if name == "membership":
        shown = list(features) or rule_figures.features_to_draw(rules, by_contrast)
        return rule_figures.membership_panels(rules, shown)
    pair = [*features, *(each for each in by_contrast if each not in features)][:2]
    if len(pair) < 2 or len(features) > 2:
        raise InputError("ellipses need two features: --feature NAME --feature NAME")
    return rule_figures.rule_ellipses(rules, (pair[0], pair[1]))
