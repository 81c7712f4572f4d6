"""`devfnn explain`: why a saved model says what it says of one row."""

import pathlib
from typing import Annotated

import rich.console
import typer

from devfnn.cli.choosing import Choice, DataDir, Options, Seed
from devfnn.cli.models import ModelFile, learned_model, usable, with_features_of
from devfnn.cli.pictures import check_picture, save_picture
from devfnn.cli.refusals import refusing_bad_data
from devfnn.cli.results import (
    CsvFile,
    CsvPath,
    JsonFile,
    Quiet,
    check_outputs,
    csv_file,
    result_file,
)
from devfnn.display.literal import literal
from devfnn.errors import DataError
from devfnn.model.devfnn import DEVFNN
from devfnn.model.explanation import Explanation
from devfnn.model.formatting import distinct
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.generators.catalogue import GENERATORS


def explain(
    model_file: ModelFile,
    name: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A file, - for a pipe, a data set or a generator."),
    ],
    row: Annotated[int, typer.Option(min=1, metavar="N", help="Number of the row, from 1.")] = 1,
    label: Annotated[
        str | None,
        typer.Option(help="Column with the label; a file has none if not given."),
    ] = None,
    seed: Seed = 0,
    data_dir: DataDir = None,
    options: Options = None,
    figure: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Draw it: a .png, .svg or .pdf file."),
    ] = None,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """Why a saved model predicts what it does for one row: layers, rules and features.

    Numbers are what speaks for the predicted class, against the others: usually, and what each
    feature adds to that. The JSON file has everything, the CSV file what each input adds to each
    class in each layer, and the bias: what is said of a usual row.
    """
    screen = rich.console.Console(quiet=quiet)
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        inputs = {"MODEL": str(model_file), "FILE": name}
        check_outputs(inputs, figure=figure, json=json_file, csv=csv_path)
        if figure is not None:
            check_picture(figure)
        model = learned_model(model_file)
        is_file = name not in GENERATORS and name not in DATA_SETS
        choice = Choice(
            name=name,
            rows=1,
            chunk_rows=1,
            seed=seed,
            label="none" if label is None and is_file else label,
            data_dir=data_dir,
            changes=options,
            skip=row - 1,
        )
        why = _explained(model, choice, screen)
        about = {"stream": name, "model": str(model_file), "row": row}
        result.write(about | why.to_dict())
        _write_contributions(table, why)
        _draw(why, figure)
    screen.print(literal(why.text()), soft_wrap=True)


def _explained(model: DEVFNN, choice: Choice, screen: rich.console.Console) -> Explanation:
    """The explanation of the only row that is chosen."""
    stream = with_features_of(model, choice.open(screen), choice.name)
    for chunk in usable(stream, stream.feature_names, choice, model.config):
        return model.explain(chunk.X[0])
    raise DataError(f"{choice.name} has no row {choice.skip + 1:,}")


def _draw(why: Explanation, target: pathlib.Path | None) -> None:
    """What speaks for the predicted class, as a figure, if one is wanted."""
    if target is not None:
        from devfnn.figures import contribution_bars

        save_picture(contribution_bars(why), target)


def _write_contributions(table: CsvFile, why: Explanation) -> None:
    """A line for the bias and each input of each layer, a column for each class."""
    table.add(["layer", "voting_weight", "output_is", "input", *distinct(why.labels)])
    for layer in why.layers:
        about = [layer.layer, layer.voting_weight, layer.output_is]
        table.add([*about, "bias", *layer.bias.tolist()])
        for name, values in zip(layer.inputs, layer.contributions.tolist(), strict=True):
            table.add([*about, name, *values])
