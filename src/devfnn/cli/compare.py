"""`devfnn compare`: models against each other, on many streams, over processes."""

import dataclasses
import enum
import os
import pathlib
from collections.abc import Sequence
from typing import Annotated, Any

import rich.console
import typer

from devfnn.cli.choosing import Choice, DataDir, DelayLabels, Folds, HideLabels, Label, Rows
from devfnn.cli.commands import typed_command
from devfnn.cli.gridding import check_all_can_start, finished, listed, made_folder
from devfnn.cli.procedures import ByRow, Holdout, Scaling, Silence, Unpredicted, WarmUp
from devfnn.cli.refusals import interrupted, refusing_bad_data
from devfnn.cli.results import (
    CsvPath,
    JsonFile,
    Quiet,
    check_distinct,
    check_outputs,
    check_replaceable,
    csv_file,
    result_file,
    text_file,
)
from devfnn.cli.values import name_and_text, plainest
from devfnn.display.comparisons import accuracy_table, ranking_lines
from devfnn.display.literal import literal
from devfnn.errors import InputError
from devfnn.evaluation import Procedure
from devfnn.experiments.grid import Outcome, cells_of, comparison_of
from devfnn.experiments.settings import StreamSettings
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.generators.catalogue import GENERATORS

RUNS = "runs"
"""The folder of the single results, within that of the comparison."""


class PostHoc(enum.StrEnum):
    """Tests of all pairs of models."""

    nemenyi = "nemenyi"
    wilcoxon_holm = "wilcoxon-holm"


def compare(
    context: typer.Context,
    models: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            help="Models as `devfnn models` lists them; a preset after @: devfnn@static.",
        ),
    ] = "devfnn,logistic,rls,majority",
    streams: Annotated[
        str, typer.Option(metavar="X,Y,...", help="Generators, data sets or files.")
    ] = "sea,hyperplane,agrawal,led",
    n_seeds: Annotated[int, typer.Option("--seeds", min=1, help="Runs with seeds 0, 1, ...")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = os.cpu_count() or 1,
    output: Annotated[
        pathlib.Path,
        typer.Option(metavar="FOLDER", file_okay=False, help="Where the results are kept."),
    ] = pathlib.Path("comparison"),
    rows: Rows = None,
    folds: Folds = None,
    chunk_rows: Annotated[int | None, typer.Option(min=1, help="Rows in a chunk.")] = None,
    scaling: Annotated[
        Scaling | None,
        typer.Option(help="The same for all; by default each model's own. dataset looks ahead."),
    ] = None,
    label: Label = None,
    data_dir: DataDir = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="STREAM:NAME=VALUE", help="An option of a stream; may be repeated."
        ),
    ] = None,
    hide_labels: HideLabels = 0.0,
    delay_labels: DelayLabels = 0,
    by_row: ByRow = False,
    warm_up: WarmUp = 0,
    holdout: Holdout = None,
    unpredicted: Silence = Unpredicted.wrong,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="MODEL:NAME=VALUE", help="A parameter of a model; may be repeated."
        ),
    ] = None,
    post_hoc: Annotated[
        PostHoc, typer.Option("--test", help="How pairs of models are compared.")
    ] = PostHoc.nemenyi,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """Compare models on streams: accuracy, ranks, tests, and a report as HTML.

    Every run is kept in a file of its own as soon as it is finished. Ctrl-C, or a crash, loses only
    the runs under way: the same command goes on with the rest.
    """
    screen = rich.console.Console(quiet=quiet)
    progress = rich.console.Console(stderr=True, quiet=quiet)
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        choice = Choice(
            name="",
            rows=rows,
            folds=folds,
            chunk_rows=chunk_rows,
            label=label,
            data_dir=data_dir,
            hide_labels=hide_labels,
            delay_labels=delay_labels,
        )
        named = listed(streams)
        by_stream = _by_name(options or [], named, "STREAM")
        chosen = [_settings(choice, name, by_stream.get(name)) for name in named]
        inputs = {stream.name: stream.name for stream in chosen}
        check_outputs(inputs, json=json_file, csv=csv_path)
        names = listed(models)
        procedure = Procedure(
            by_row=by_row,
            warm_up_chunks=warm_up,
            holdout_every=holdout,
            unpredicted=unpredicted.value,
        )
        common = {"scaling": scaling and str(scaling), "procedure": procedure}
        cells = cells_of(
            names, chosen, n_seeds, changes=_by_model(changes or [], names), common=common
        )
        check_distinct({"--json": json_file, "--csv": csv_path} | _own_files(output))
        check_all_can_start(cells, choice, progress)
        folder = _made(output)
        outcomes, is_whole = finished(cells, folder, jobs, progress)
        found = comparison_of(outcomes, post_hoc=str(post_hoc)) | {
            "command": typed_command(context),
            "is_complete": is_whole,
        }
        result.write(found)
        _write_cells(table, found)
        _write_all(output, found, outcomes)
    _show(found, outcomes, output, screen)
    if not is_whole:
        command = typed_command(context, with_outputs=True)
        left = len(cells) - len(outcomes)
        progress.print(literal(f"Runs left: {left:,}. To go on: {command}"), soft_wrap=True)
        raise interrupted()
    if found["failed"]:
        raise typer.Exit(1)


def _settings(choice: Choice, name: str, options: list[str] | None) -> StreamSettings:
    """One of the streams; only files have to be told which column is the label."""
    is_file = name not in GENERATORS and name not in DATA_SETS
    label = choice.label if is_file else None
    return dataclasses.replace(choice, name=name, label=label, changes=options).settings()


def _by_model(changes: Sequence[str], models: Sequence[str]) -> dict[str, dict[str, Any]]:
    """MODEL:NAME=VALUE pairs, by model."""
    found: dict[str, dict[str, Any]] = {}
    for model, pairs in _by_name(changes, models, "MODEL").items():
        named = map(name_and_text, pairs)
        found[model] = {name: plainest(text) for name, text in named}
    return found


def _by_name(changes: Sequence[str], names: Sequence[str], what: str) -> dict[str, list[str]]:
    """What follows a name and a colon, by name; a name may have colons of its own."""
    found: dict[str, list[str]] = {}
    for change in changes:
        name = next((name for name in names if change.startswith(f"{name}:")), None)
        if name is None:
            known = ", ".join(names)
            raise InputError(f"{what}:NAME=VALUE is needed, with one of {known}, not {change!r}")
        found.setdefault(name, []).append(change.removeprefix(f"{name}:"))
    return found


def _own_files(output: pathlib.Path) -> dict[str, pathlib.Path]:
    """What is written into the folder, but for the results."""
    return {f"{name} of --output": output / name for name in ("comparison.json", "comparison.html")}


def _made(output: pathlib.Path) -> pathlib.Path:
    """The folder of the results, made if need be."""
    folder = made_folder(output / RUNS)
    for path in _own_files(output).values():
        check_replaceable(path)
    return folder


def _write_cells(table: Any, found: dict[str, Any]) -> None:
    for place, cell in enumerate(found["cells"]):
        if place == 0:
            table.add(cell)
        table.add(cell.values())


def _write_all(output: pathlib.Path, found: dict[str, Any], outcomes: Sequence[Outcome]) -> None:
    """The comparison beside the results: as data, and as a page."""
    with result_file(output / "comparison.json") as file:
        file.write(found)
    if not found["cells"]:
        return
    from devfnn.reports import comparison_report

    with text_file(output / "comparison.html") as page:
        results = [dict(each.result) for each in outcomes if each.result is not None]
        if page is not None:
            page.write(comparison_report(found, results))


def _show(
    found: dict[str, Any],
    outcomes: Sequence[Outcome],
    output: pathlib.Path,
    screen: rich.console.Console,
) -> None:
    screen.print(accuracy_table(found))
    for line in ranking_lines(found):
        screen.print(literal(line))
    for failure in found["failed"]:
        screen.print(literal(f"Failed: {failure['cell']}: {failure['error']}"))
    if found["cells"]:
        screen.print(literal(f"Report: {output / 'comparison.html'}"), soft_wrap=True)
