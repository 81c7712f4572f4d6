"""`devfnn compare`: models against each other, on many streams, over processes."""

import dataclasses
import pathlib
from typing import Literal

import typer

from devfnn.cli import inputs, running
from devfnn.cli.option_parsing import pairs_by_name, parse_names, parse_parameters
from devfnn.cli.output import Output, command, text_file
from devfnn.display.results import measure_title, ranking_lines, results_table
from devfnn.evaluation.measures import check_measure
from devfnn.experiments.grid import cells_of, comparison_of
from devfnn.experiments.result_files import sealed
from devfnn.experiments.tables import peer_table


@command
def compare(
    output: Output,
    context: typer.Context,
    *,
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
    how: running.RunChoice,
    label: str | None = typer.Option(None, help="Column with the label, in files."),
    data_dir: inputs.DataDir = None,
    options: list[str] = typer.Option(
        [], "--with", metavar="STREAM:NAME=VALUE", help="An option of a stream; may be repeated."
    ),
    changes: list[str] = typer.Option(
        [], "--set", metavar="MODEL:NAME=VALUE", help="A parameter of a model; may be repeated."
    ),
    measure: str = typer.Option(
        "accuracy", metavar="NAME", help="What models are ranked by, such as f1 or log_loss."
    ),
    post_hoc: Literal["nemenyi", "wilcoxon-holm"] = typer.Option(
        "nemenyi", "--test", help="How pairs of models are compared."
    ),
) -> None:
    """Compare models on streams: accuracy or another measure, ranks, tests, a report as HTML.

    Every run is saved in a file of its own as soon as it is finished. After Ctrl-C or a crash the
    same command continues with the remaining runs.
    """
    check_measure(measure)
    stream_names, model_names = parse_names(streams), parse_names(models)
    with output.files({name: name for name in stream_names}) as (result, table):
        options_of = pairs_by_name(options, stream_names, "STREAM")
        chosen = []
        for name in stream_names:
            own_label = label if inputs.is_file(name) else None
            own_options = options_of.get(name, [])
            chosen.append(how.of(inputs.StreamChoice(name, 0, own_label, data_dir, own_options)))
        parameters = {
            model: parse_parameters(pairs, model)
            for model, pairs in pairs_by_name(changes, model_names, "MODEL").items()
        }
        common = {"scaling": how.scaling, "procedure": how.procedure()}
        cells = cells_of(model_names, chosen, n_seeds, changes=parameters, common=common)
        data_file, page_file = files = folder / "comparison.json", folder / "comparison.html"
        for path in files:
            output.check_distinct(output=path)
        runs = running.run_all(cells, folder / "runs", jobs, output.progress, files)
        found = comparison_of(runs.outcomes, post_hoc=post_hoc, measure=measure) | {
            "command": running.typed_command(context),
            "is_complete": not runs.n_left,
        }
        result.write_json(sealed(found))
        table.write_table(found["cells"])
        with text_file(data_file) as file:
            file.write_json(sealed(found))
        if found["cells"]:
            from devfnn.reports import comparison_report

            with text_file(page_file) as page:
                page.write(comparison_report(found, runs.results))
    if found["cells"]:
        title = measure_title(measure)
        table_of = dataclasses.replace(peer_table(runs.results, measure), title=title, notes=())
        output.screen.print(results_table(table_of, output.screen.width))
    for line in ranking_lines(found):
        output.say(line)
    if found["cells"]:
        output.say(f"Report: {page_file}")
    runs.end(context, output)
