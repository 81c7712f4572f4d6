"""`devfnn plot` and `devfnn report`: results as figures and as pages."""

import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from devfnn.cli.output import Output, check_replaceable, command, file_option, text_file
from devfnn.errors import InputError
from devfnn.evaluation.ranking import Ranking
from devfnn.experiments.result_files import kind_of, read_either, read_result, refusing_malformed
from devfnn.experiments.tables import NO_RANKING

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
    "work": "layers_at_work",
    "mask": "feature_mask",
    "confusion": "confusion_matrix",
    "reliability": "reliability_curve",
}
"""Figures of a run, and the functions that draw them."""

RULE_FIGURES = ("membership", "ellipses")
LABELS_FIGURE = "accuracy-labels"
COMPARISON_FIGURES = ("critical-difference", "accuracy-speed")


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
        data = [read_either(path) for path in paths]
        is_comparison = kind_of(data[0]) == "comparison"
        usual = "overview" if len(data) == 1 else "rate"
        name = figure or ("critical-difference" if is_comparison else usual)
        if target is None:
            ending = "".join(letter if letter.isalnum() else "-" for letter in name)
            target = paths[0].with_name(f"{paths[0].stem}-{ending}.png")
            output.check_distinct(inputs, output=target)
        from devfnn.figures import save
        from devfnn.figures.style import check_format

        check_format(target)
        check_replaceable(target)
        of = " ".join(map(str, paths))
        with refusing_malformed(of):
            save(_drawn(data, name, feature), target)
        facts = {"figure": name, "of": of, "path": str(target)}
        result.write_json(facts)
        table.write_table([facts])
    output.say(f"The figure is in {target}")


def _drawn(data: Sequence[Data], name: str, features: Sequence[str]) -> "Drawing":
    from devfnn import figures

    _check_name(data, name)
    if features and name not in RULE_FIGURES:
        raise InputError(f"--feature is for {' and '.join(RULE_FIGURES)}, not for {name}")
    if name == "accuracy-speed":
        return figures.accuracy_against_speed(data[0]["cells"])
    if name == "critical-difference":
        return figures.critical_difference(Ranking.from_dict(data[0]["ranking"]))
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
    what, names = "a comparison", list(COMPARISON_FIGURES)
    if "run" in kinds:
        what, names = "a run", [*RUN_FIGURES, *RULE_FIGURES, LABELS_FIGURE, *curve_names(data[0])]
    if name not in names:
        known = ", ".join(dict.fromkeys(names))
        raise InputError(f"there is no figure {name!r} of {what}; choose one of {known}")
    if name == "critical-difference" and not data[0].get("ranking"):
        raise InputError(f"{NO_RANKING}; draw accuracy-speed instead")


def _of_several(data: Sequence[Data], name: str) -> "Drawing":
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


@command
def report(
    output: Output,
    path: pathlib.Path = typer.Argument(
        metavar="RESULT",
        exists=True,
        dir_okay=False,
        help="A file that `devfnn run --json` or `devfnn compare --json` wrote.",
    ),
    target: pathlib.Path | None = file_option("The page; by default beside RESULT.", "--output"),
) -> None:
    """Write a report: one HTML page with figures, measures, events and rules.

    For a comparison, curves are drawn of the single results that it names. JSON and CSV files have
    the measures that the page shows, with all digits, and shares between 0 and 1.
    """
    target = path.with_suffix(".html") if target is None else target
    with output.files({"RESULT": path}, output=target) as (result, table):
        check_replaceable(target)
        with refusing_malformed(path):
            page, measures, remark = _reported(path)
        result.write_json({"file": str(path), "measures": measures})
        table.write_table(measures)
        with text_file(target) as file:
            file.write(page)
    if remark:
        output.say(remark)
    output.say(f"The report is in {target}")


def _reported(path: pathlib.Path) -> tuple[str, list[dict[str, Any]], str]:
    """The page, the measures it shows, and a remark about what is missing.

    Of the single results that a comparison names, those in its folder or below are read.
    """
    from devfnn.reports import comparison_report, run_report
    from devfnn.reports.comparison import standing_values
    from devfnn.reports.run import measure_values

    data = read_either(path)
    if kind_of(data) == "run":
        return run_report(data), measure_values(data), ""
    folder, results, n_cells = path.resolve().parent, [], len(data["cells"])
    for cell in data["cells"]:
        file = (folder / (cell.get("file") or "")).resolve()
        # A comparison may come from anywhere: it must not read other files of this machine.
        if file.is_relative_to(folder) and file.is_file():
            names = {key: cell.get(key) for key in ("model", "stream", "seed")}
            results.append(read_result(file) | names)
    n_missing = n_cells - len(results)
    remark = f"{n_missing} of {n_cells} single results are not beside {path}." if n_missing else ""
    return comparison_report(data, results), standing_values(data), remark
