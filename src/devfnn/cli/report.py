"""`devfnn report`: a result or a comparison as one HTML page."""

import pathlib
from collections.abc import Sequence
from typing import Annotated, Any

import rich.console
import typer

from devfnn.cli.refusals import refusing_bad_data
from devfnn.cli.results import (
    CsvFile,
    CsvPath,
    JsonFile,
    check_outputs,
    check_replaceable,
    csv_file,
    result_file,
    text_file,
)
from devfnn.display.literal import literal
from devfnn.experiments.reading import kind_of, read_either, read_result


def report(
    path: Annotated[
        pathlib.Path,
        typer.Argument(
            metavar="RESULT",
            exists=True,
            dir_okay=False,
            help="A file that `devfnn run --json` or `devfnn compare --json` wrote.",
        ),
    ],
    output: Annotated[
        pathlib.Path | None,
        typer.Option(
            metavar="FILE", dir_okay=False, help="Where the page goes; else beside the result."
        ),
    ] = None,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")] = False,
) -> None:
    """Write a report: one HTML page with figures, measures, events and rules, that needs no other.

    For a comparison, curves are drawn of the single results that it names. JSON and CSV files have
    the measures that the page shows, with all digits, and shares between 0 and 1.
    """
    screen = rich.console.Console(quiet=quiet)
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        target = path.with_suffix(".html") if output is None else output
        check_outputs({"RESULT": path}, output=target, json=json_file, csv=csv_path)
        check_replaceable(target)
        page, measures, remark = _reported(path)
        result.write({"file": str(path), "measures": measures})
        _add_lines(table, measures)
        with text_file(target) as file:
            if file is not None:
                file.write(page)
    if remark:
        screen.print(literal(remark), soft_wrap=True)
    screen.print(literal(f"The report is in {target}"), soft_wrap=True)


def _reported(path: pathlib.Path) -> tuple[str, list[dict[str, Any]], str]:
    """The page, the measures it shows, and what has to be said about them."""
    from devfnn.reports import comparison_report, run_report
    from devfnn.reports.measures import measure_values
    from devfnn.reports.standings import standing_values

    data = read_either(path)
    if kind_of(data) == "run":
        return run_report(data), measure_values(data), ""
    results = _results_beside(path, data["cells"])
    n_missing = len(data["cells"]) - len(results)
    remark = ""
    if n_missing:
        remark = f"{n_missing} of {len(data['cells'])} single results are not beside {path}."
    return comparison_report(data, results), standing_values(data), remark


def _results_beside(path: pathlib.Path, cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The single results that a comparison names, as far as they are in its folder or below."""
    folder = path.resolve().parent
    results = []
    for cell in cells:
        if not cell.get("file"):
            continue
        file = (folder / cell["file"]).resolve()
        # A comparison may come from anywhere: it must not make other files of this machine show up.
        if file.is_relative_to(folder) and file.is_file():
            names = {key: cell.get(key) for key in ("model", "stream", "seed")}
            results.append(read_result(file) | names)
    return results


def _add_lines(table: CsvFile, measures: Sequence[dict[str, Any]]) -> None:
    """Names of columns, then a line for each measure."""
    if measures:
        table.add(measures[0])
    for line in measures:
        table.add(line.values())
