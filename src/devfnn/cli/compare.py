"""`devfnn compare`: models against each other, on many streams, over processes."""

import pathlib
from typing import Any, Literal

import typer

from devfnn.cli import inputs, running
from devfnn.cli.option_parsing import pairs_by_name, parse_names, parse_parameters
from devfnn.cli.output import Output, ResultFile, check_replaceable, command, text_file
from devfnn.display.results import accuracy_table, ranking_lines
from devfnn.evaluation import Procedure
from devfnn.experiments.grid import cells_of, comparison_of

RUNS = "runs"
"""The folder of the single results, within that of the comparison."""


@command
def compare(
    output: Output,
    context: typer.Context,
    models: str = typer.Option(
        "devfnn,logistic,rls,majority",
        metavar="A,B,...",
        help="Models as `devfnn models` lists them; a preset after @: devfnn@static.",
    ),
    streams: str = typer.Option(
        "sea,hyperplane,agrawal,led", metavar="X,Y,...", help="Generators, data sets or files."
    ),
    n_seeds: int = typer.Option(1, "--seeds", min=1, help="Number of seeds: 0, 1, ..."),
    jobs: running.Jobs = running.ALL_CORES,
    folder: pathlib.Path = typer.Option(
        "comparison", "--output", metavar="FOLDER", file_okay=False, help="Folder of the results."
    ),
    rows: inputs.Rows = None,
    folds: inputs.Folds = None,
    chunk_rows: int | None = typer.Option(None, min=1, help="Rows in a chunk."),
    scaling: running.Scaling | None = typer.Option(
        None, help="The same for all; by default each model's own. dataset looks ahead."
    ),
    label: inputs.Label = None,
    data_dir: inputs.DataDir = None,
    options: list[str] = typer.Option(
        [], "--with", metavar="STREAM:NAME=VALUE", help="An option of a stream; may be repeated."
    ),
    hide_labels: inputs.HideLabels = 0.0,
    delay_labels: inputs.DelayLabels = 0,
    by_row: running.ByRow = False,
    warm_up: running.WarmUp = 0,
    holdout: running.Holdout = None,
    unpredicted: running.Unpredicted = "wrong",
    changes: list[str] = typer.Option(
        [], "--set", metavar="MODEL:NAME=VALUE", help="A parameter of a model; may be repeated."
    ),
    post_hoc: Literal["nemenyi", "wilcoxon-holm"] = typer.Option(
        "nemenyi", "--test", help="How pairs of models are compared."
    ),
) -> None:
    """Compare models on streams: accuracy, ranks, tests, and a report as HTML.

    Every run is saved in a file of its own as soon as it is finished. After Ctrl-C or a crash the
    same command continues with the remaining runs.
    """
    stream_names, model_names = parse_names(streams), parse_names(models)
    with output.files({name: name for name in stream_names}) as (result, table):
        options_of = pairs_by_name(options, stream_names, "STREAM")
        limits: dict[str, Any] = {"rows": rows, "folds": folds, "chunk_rows": chunk_rows}
        limits |= {"hide_labels": hide_labels, "delay_labels": delay_labels}
        chosen = []
        for name in stream_names:
            own_label = label if inputs.is_file(name) else None
            about = (name, own_label, data_dir, options_of.get(name))
            chosen.append(inputs.stream_settings(*about, **limits))
        parameters = {
            model: parse_parameters(pairs, model)
            for model, pairs in pairs_by_name(changes, model_names, "MODEL").items()
        }
        procedure = Procedure(
            by_row=by_row,
            warm_up_chunks=warm_up,
            holdout_every=holdout,
            unpredicted=unpredicted,
        )
        common = {"scaling": scaling, "procedure": procedure}
        cells = cells_of(model_names, chosen, n_seeds, changes=parameters, common=common)
        data_file, page_file = folder / "comparison.json", folder / "comparison.html"
        output.check_distinct({}, output=data_file)
        output.check_distinct({}, output=page_file)
        running.check_all_can_start(cells, output.progress)
        runs_folder = running.made_folder(folder / RUNS)
        for path in (data_file, page_file):
            check_replaceable(path)
        runs = running.run_all(cells, runs_folder, jobs, output.progress)
        found = comparison_of(runs.outcomes, post_hoc=post_hoc) | {
            "command": running.typed_command(context),
            "is_complete": not runs.n_left,
        }
        result.write(found)
        table.add_all(found["cells"])
        with text_file(data_file) as file:
            ResultFile(file).write(found)
        if found["cells"]:
            from devfnn.reports import comparison_report

            with text_file(page_file) as page:
                page.write(comparison_report(found, runs.results))
    output.screen.print(accuracy_table(found))
    for line in ranking_lines(found):
        output.say(line)
    if found["cells"]:
        output.say(f"Report: {page_file}")
    runs.end(context, output)
