"""`devfnn plot`: one figure of a result, of several, or of a comparison."""

import difflib
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import rich.console
import typer

from devfnn.cli.pictures import check_picture, save_picture
from devfnn.cli.refusals import refusing_bad_data
from devfnn.cli.results import (
    CsvPath,
    JsonFile,
    Quiet,
    check_outputs,
    csv_file,
    result_file,
    write_facts,
)
from devfnn.display.literal import literal
from devfnn.errors import InputError
from devfnn.experiments.reading import kind_of, read_either

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


def plot(
    paths: Annotated[
        list[pathlib.Path],
        typer.Argument(
            metavar="RESULT...",
            exists=True,
            dir_okay=False,
            help="A file that `devfnn run --json` or `devfnn compare --json` wrote; several runs "
            "become lines of one figure.",
        ),
    ],
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of a run: overview, rate, layers, rules, samples, weights, mask, confusion, "
            "reliability, membership, ellipses, or a measure such as kappa; of runs with different "
            "label budgets: accuracy-labels. Of a comparison: critical-difference, "
            "accuracy-speed.",
        ),
    ] = None,
    output: Annotated[
        pathlib.Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="A .png, .svg or .pdf file; else beside the result.",
        ),
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A feature, for membership and ellipses; may be repeated."
        ),
    ] = None,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """Draw a figure of a result: by default a run at a glance, or how models rank.

    Of several runs, a measure is drawn over the rows of the stream, one line each.
    """
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        if output is not None:
            check_picture(output)
        data = [read_either(path) for path in paths]
        name = figure or _usual(data)
        target = output
        if target is None:
            target = paths[0].with_name(f"{paths[0].stem}-{_as_file_name(name)}.png")
            check_picture(target)
        check_outputs(
            {str(path): path for path in paths}, output=target, json=json_file, csv=csv_path
        )
        save_picture(_drawn(data, name, feature or []), target)
        of = " ".join(map(str, paths))
        write_facts(result, table, {"figure": name, "of": of, "path": str(target)})
    rich.console.Console(quiet=quiet).print(literal(f"The figure is in {target}"), soft_wrap=True)


def _as_file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def _usual(data: Sequence[Data]) -> str:
    """The figure that is drawn if none is named."""
    if kind_of(data[0]) == "comparison":
        return "critical-difference"
    return "overview" if len(data) == 1 else "rate"


def _drawn(data: Sequence[Data], name: str, features: Sequence[str]) -> "Drawing":
    """The figure called so."""
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
    """Refuse a figure that there is not, or not of such data."""
    from devfnn.figures.columns import curve_names

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
        raise InputError(f"{name} is a figure of {other}; here there are {', '.join(names)}")
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise InputError(f"there is no figure called {name!r}; {hint}There are {', '.join(names)}")


def _of_comparison(data: Data, name: str) -> "Drawing":
    from devfnn import figures
    from devfnn.evaluation.ranking import Ranking

    if name == "accuracy-speed":
        return figures.accuracy_against_speed(data["cells"])
    if not data.get("ranking"):
        raise InputError(
            "the comparison has no ranking: it takes two models or more that have all run on the "
            "same two streams or more; draw accuracy-speed instead"
        )
    return figures.critical_difference(Ranking.from_dict(data["ranking"]))


def _of_several(data: Sequence[Data], name: str) -> "Drawing":
    """A line for each run."""
    from devfnn.figures.columns import curve_names
    from devfnn.reports.overlay import run_names, several_over_time

    measure = {"rate": "accuracy", "samples": "labels"}.get(name, name)
    if measure not in curve_names(data[0]):
        raise InputError(f"{name} shows one run; several runs are shown by rate or by a measure")
    return several_over_time(run_names(data), measure)


def _of_rules(data: Data, name: str, features: Sequence[str]) -> "Drawing":
    """Rules over the features that were named, or those that tell most."""
    from devfnn import figures
    from devfnn.figures.style import new_figure, styled
    from devfnn.reports.rules import names_to_draw, rules_in, rules_to_draw, telling_features

    rules = rules_to_draw(rules_in(data))
    telling = telling_features(rules, data)
    if name == "ellipses":
        pair = [*features, *(each for each in telling if each not in features)][:2]
        if len(pair) < 2 or len(features) > 2:
            raise InputError("ellipses need two features: --feature NAME --feature NAME")
        return figures.rule_ellipses(rules, (pair[0], pair[1]))
    shown = list(features) or names_to_draw(rules, telling)
    sheet = new_figure(7.0, 2.6 * len(shown))
    panels = styled(sheet.subplots)(len(shown), 1, squeeze=False)
    for panel, each in zip(panels[:, 0], shown, strict=True):
        figures.membership_curves(rules, each, ax=panel)
    return sheet
