"""`devfnn report`: a result or a comparison as one HTML page."""

import pathlib
from collections.abc import Sequence
from typing import Any

import typer

from devfnn.cli.output import Output, check_replaceable, command, file_option, text_file
from devfnn.experiments.result_files import (
    kind_of,
    read_either,
    read_result,
    refusing_malformed,
)


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
        result.write({"file": str(path), "measures": measures})
        table.add_all(measures)
        with text_file(target) as file:
            file.write(page)
    if remark:
        output.say(remark)
    output.say(f"The report is in {target}")


def _reported(path: pathlib.Path) -> tuple[str, list[dict[str, Any]], str]:
    """The page, the measures it shows, and a remark about what is missing."""
    from devfnn.reports import comparison_report, run_report
    from devfnn.reports.comparison import standing_values
    from devfnn.reports.run import measure_values

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
        # A comparison may come from anywhere: it must not read other files of this machine.
        if file.is_relative_to(folder) and file.is_file():
            names = {key: cell.get(key) for key in ("model", "stream", "seed")}
            results.append(read_result(file) | names)
    return results
