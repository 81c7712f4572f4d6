"""`devfnn inspect` and `devfnn explain`: what a saved model is, and how it predicts a row."""

import pathlib
from collections.abc import Hashable, Sequence
from typing import Any

import typer

import devfnn
from devfnn.cli import inputs
from devfnn.cli.output import CsvFile, Output, check_figure_file, command, file_option
from devfnn.display.models import model_tables, rules_table
from devfnn.errors import DataError
from devfnn.formatting import distinct
from devfnn.model import presets
from devfnn.model.explanation import Explanation
from devfnn.model.rules import Rule


@command
def inspect(
    output: Output,
    model_file: inputs.ModelFile,
    rules: int = typer.Option(20, min=0, metavar="N", help="Rules to show."),
    archived: bool = typer.Option(
        False, "--archived", help="Show archived rules, which may be recalled, too."
    ),
) -> None:
    """Show what is in a model file: its features, classes, layers and rules.

    The JSON file has everything, parameters and events too, the CSV file a line for each rule.
    """
    with output.files({"MODEL": model_file}) as (result, table):
        model = inputs.opened_model(model_file)
        about = _about(model, model_file) | model.to_dict(archived)
        found = model.rules(archived)
        result.write(about)
        _write_rules(table, found, model.classes)
    for part in model_tables(about):
        output.screen.print(part)
    if found:
        output.screen.print(rules_table(found, rules))


def _about(model: devfnn.DEVFNN, path: pathlib.Path) -> dict[str, Any]:
    """The file, the preset that is nearest, and which parameters differ from it."""
    starts = {name: type(model)(presets.by_name(name)).config for name in _presets_of(model)}
    changes = {name: model.config.changes(start) for name, start in starts.items()}
    preset = min(changes, key=lambda name: len(changes[name]))
    return {
        "version": devfnn.__version__,
        "file": str(path),
        "file_bytes": path.stat().st_size,
        "preset": preset,
        "changed": changes[preset],
    }


def _presets_of(model: devfnn.DEVFNN) -> list[str]:
    """Presets that a model may start from."""
    return ["stacked", "paper"] if isinstance(model, devfnn.GClass) else list(presets.PRESETS)


def _write_rules(table: CsvFile, rules: Sequence[Rule], classes: Sequence[Hashable]) -> None:
    """A line for each rule; inputs that a rule does not have leave their cells empty."""
    inputs = list(dict.fromkeys(name for rule in rules for name in rule.inputs))
    shares = [f"probability of {text}" for text in distinct(classes)]
    places = [f"{what} of {name}" for name in inputs for what in ("center", "spread")]
    about = ["layer", "rule", "is_archived", "voting_weight", "rows"]
    table.add([*about, *shares, *places, "text"])
    for rule in rules:
        values = zip(rule.center.tolist(), rule.spreads.tolist(), strict=True)
        known = dict(zip(rule.inputs, values, strict=True))
        table.add(
            [
                *(rule.layer, rule.rule, rule.is_archived, rule.voting_weight, rule.n_rows),
                *rule.probabilities.values(),
                *(value for name in inputs for value in known.get(name, (None, None))),
                rule.text(most=None),
            ]
        )


@command
def explain(
    output: Output,
    model_file: inputs.ModelFile,
    name: inputs.FileName,
    row: int = typer.Option(1, min=1, metavar="N", help="Number of the row, from 1."),
    label: str | None = typer.Option(
        None, help="Column with the label; without it, a file has none."
    ),
    seed: inputs.Seed = 0,
    data_dir: inputs.DataDir = None,
    options: inputs.Options = None,
    figure: pathlib.Path | None = file_option("Draw it: a .png, .svg or .pdf file."),
) -> None:
    """Explain what a saved model predicts for one row: layers, rules and features.

    Numbers are scores of the predicted class against the others: the usual score, and what each
    feature adds to it. The JSON file has everything, the CSV file what each input adds to each
    class in each layer, and the bias, which is the score of a usual row.
    """
    with output.files({"MODEL": model_file, "FILE": name}, figure=figure) as (result, table):
        if figure is not None:
            check_figure_file(figure)
        model = inputs.learned_model(model_file)
        label = "none" if label is None and inputs.is_file(name) else label
        settings = inputs.stream_settings(
            *(name, label, data_dir, options), rows=1, chunk_rows=1, seed=seed, skip=row - 1
        )
        stream = inputs.with_features_of(model, inputs.opened(settings, output.screen), name)
        chunks = inputs.checked_chunks(stream, stream.feature_names, settings, model.config)
        chunk = next(chunks, None)
        if chunk is None:
            raise DataError(f"{name} has no row {row:,}")
        explanation = model.explain(chunk.X[0])
        about = {"stream": name, "model": str(model_file), "row": row}
        result.write(about | explanation.to_dict())
        _write_contributions(table, explanation)
        if figure is not None:
            from devfnn import figures

            figures.save(figures.contribution_bars(explanation), figure)
    output.say(explanation.text())


def _write_contributions(table: CsvFile, explanation: Explanation) -> None:
    """A line for the bias and each input of each layer, a column for each class."""
    table.add(["layer", "voting_weight", "output_is", "input", *distinct(explanation.labels)])
    for layer in explanation.layers:
        about = [layer.layer, layer.voting_weight, layer.output_is]
        table.add([*about, "bias", *layer.bias.tolist()])
        for name, values in zip(layer.inputs, layer.contributions.tolist(), strict=True):
            table.add([*about, name, *values])
