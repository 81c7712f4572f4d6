"""`devfnn table`: results of runs as the paper's Table 1, or as a table of models."""

import enum
import pathlib
from collections.abc import Callable
from typing import Annotated

import rich.console
import typer

from devfnn.cli.refusals import refusing_bad_data
from devfnn.cli.results import (
    CsvPath,
    JsonFile,
    check_outputs,
    check_replaceable,
    csv_file,
    result_file,
    text_file,
)
from devfnn.display.literal import literal
from devfnn.display.tables import results_table, show_notes
from devfnn.experiments.reading import read_results
from devfnn.experiments.rendering import Table
from devfnn.experiments.table import paper_table, peer_table


class Format(enum.StrEnum):
    """How a table is written."""

    text = "text"
    csv = "csv"
    latex = "latex"
    html = "html"


_WRITTEN: dict[Format, Callable[[Table], str]] = {
    Format.text: Table.to_text,
    Format.csv: Table.to_csv,
    Format.latex: Table.to_latex,
    Format.html: Table.to_html,
}


def table(
    paths: Annotated[
        list[pathlib.Path],
        typer.Argument(
            metavar="RESULT...",
            exists=True,
            help="Files that `devfnn run --json` wrote, or folders of them.",
        ),
    ],
    peers: Annotated[
        bool, typer.Option("--peers", help="Models by streams, with speed, size and mean rank.")
    ] = False,
    written_as: Annotated[
        Format, typer.Option("--format", help="How it is written.")
    ] = Format.text,
    output: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Write it here instead of showing it."),
    ] = None,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")] = False,
) -> None:
    """Put results side by side: Table 1 of the paper, measured and published, or --peers.

    Results of several seeds become one line of means. JSON and CSV files have all digits, and
    shares between 0 and 1.
    """
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as values:
        check_outputs(_inputs(paths), output=output, json=json_file, csv=csv_path)
        if output is not None:
            check_replaceable(output)
        results = read_results(paths)
        made = peer_table(results) if peers else paper_table(results)
        result.write(made.to_dict())
        for line in made.values():
            values.add(line)
        if output is not None:
            with text_file(output) as file:
                if file is not None:
                    file.write(_WRITTEN[written_as](made))
    _show(made, written_as, output, rich.console.Console(quiet=quiet))


def _inputs(paths: list[pathlib.Path]) -> dict[str, pathlib.Path]:
    """All files that are read, also those in folders."""
    files = [file for path in paths for file in (path.rglob("*.json") if path.is_dir() else [path])]
    return {str(file): file for file in files}


def _show(
    made: Table, written_as: Format, output: pathlib.Path | None, screen: rich.console.Console
) -> None:
    if output is not None:
        screen.print(literal(f"The table is in {output}"), soft_wrap=True)
    elif written_as is Format.text:
        screen.print(results_table(made))
        show_notes(made, screen)
    elif not screen.quiet:
        typer.echo(_WRITTEN[written_as](made), nl=False)
