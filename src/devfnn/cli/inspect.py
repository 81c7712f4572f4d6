"""`devfnn inspect`: what a saved model is, and what it knows."""

import pathlib
from collections.abc import Hashable, Sequence
from typing import Annotated, Any

import rich.console
import typer

import devfnn
from devfnn.cli.models import ModelFile, opened_model
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
from devfnn.display.models import model_tables, rules_table
from devfnn.model.formatting import distinct
from devfnn.model.rules import Rule


def inspect(
    model_file: ModelFile,
    rules: Annotated[int, typer.Option(min=0, metavar="N", help="Rules to show.")] = 20,
    archived: Annotated[
        bool, typer.Option("--archived", help="Also rules that wait to be recalled.")
    ] = False,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """What is in a model file: its features, classes, layers and rules.

    The JSON file has everything, parameters and events too, the CSV file a line for each rule.
    """
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        check_outputs({"MODEL": model_file}, json=json_file, csv=csv_path)
        model = opened_model(model_file)
        about, found = _about(model, model_file) | model.to_dict(archived), model.rules(archived)
        result.write(about)
        _write_rules(table, found, model.classes)
    screen = rich.console.Console(quiet=quiet)
    for part in model_tables(about):
        screen.print(part)
    if found:
        screen.print(rules_table(found, rules))


def _about(model: devfnn.DEVFNN, path: pathlib.Path) -> dict[str, Any]:
    """What the file is, and which parameters differ from the usual ones."""
    own, usual = model.config.to_dict(), type(model)().config.to_dict()
    return {
        "version": devfnn.__version__,
        "file": str(path),
        "file_bytes": path.stat().st_size,
        "changed": {name: value for name, value in own.items() if value != usual[name]},
    }


def _write_rules(table: CsvFile, rules: Sequence[Rule], classes: Sequence[Hashable]) -> None:
    """A line for each rule; an input that a rule does not have leaves its cells empty."""
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
