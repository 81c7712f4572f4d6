"""What is done with saved models as they are: `devfnn inspect`, `explain` and `predict`."""

import collections
import dataclasses
import pathlib
import sys
from collections.abc import Hashable, Sequence
from typing import Any

import typer

import devfnn
from devfnn.cli import inputs
from devfnn.cli.errors import interrupted, until_ctrl_c
from devfnn.cli.output import Output, OutputFile, check_replaceable, command, file_option
from devfnn.display.live import rows_bar
from devfnn.display.models import fleet_table, model_tables, rules_table
from devfnn.display.streams import show_bad_rows
from devfnn.display.tables import facts_table
from devfnn.errors import DataError
from devfnn.formatting import count, distinct, label_to_json, listed, percent
from devfnn.model import presets
from devfnn.model.explanation import Explanation
from devfnn.model.fleet import fleet_config
from devfnn.model.rules import Rule
from devfnn.types import Chunk

# ---- inspect and explain


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

    The JSON file has everything, parameters and events too, the CSV file a line for each rule. Of
    a fleet it shows what its models have learned, the CSV file a line for each.
    """
    with output.files({"MODEL": model_file}) as (result, table):
        model = inputs.opened_model_or_fleet(model_file)
        if isinstance(model, devfnn.Fleet):
            _inspect_fleet(output, model, model_file, (result, table))
            return
        about = _about(model, model_file) | model.to_dict(archived)
        found = model.rules(archived)
        result.write_json(about)
        _write_rules(table, found, model.classes)
    for part in model_tables(about):
        output.screen.print(part)
    for name, n_rows in about["positions"].items():
        output.say(f"Learned of {name}: {n_rows:,} rows")
    if found:
        output.screen.print(rules_table(found, rules))


def _inspect_fleet(
    output: Output, fleet: devfnn.Fleet, path: pathlib.Path, files: tuple[OutputFile, OutputFile]
) -> None:
    """What the models of a fleet have learned. files: for JSON, for CSV"""
    (result, table), counts = files, ("rows", "labels_used", "drifts", "rules")
    about = _about(fleet, path) | fleet.to_dict()
    result.write_json(about)
    table.add_row(["model", *counts])
    for index, line in enumerate(zip(*(about[name] for name in counts), strict=True)):
        table.add_row([index, *line])
    output.screen.print(fleet_table(about))


def _about(model: devfnn.DEVFNN | devfnn.Fleet, path: pathlib.Path) -> dict[str, Any]:
    """The file, the preset that is nearest, and which parameters differ from it."""
    if isinstance(model, devfnn.Fleet):
        starts = {name: fleet_config(presets.by_name(name)) for name in ("swift", "default")}
    else:
        is_single = isinstance(model, devfnn.GClass)
        names = ("stacked", "paper") if is_single else presets.PRESETS
        starts = {name: type(model)(presets.by_name(name)).config for name in names}
    changes = {name: model.config.changes(start) for name, start in starts.items()}
    preset = min(changes, key=lambda name: len(changes[name]))
    return {
        "version": devfnn.__version__,
        "file": str(path),
        "file_bytes": path.stat().st_size,
        "preset": preset,
        "changed": changes[preset],
    } | ({} if isinstance(model, devfnn.Fleet) else {"positions": _positions(model)})


def _positions(model: devfnn.DEVFNN) -> dict[str, int]:
    """Rows that were learned of each source."""
    return {name: each.rows for name, each in model.positions.items()}


def _write_rules(table: OutputFile, rules: Sequence[Rule], classes: Sequence[Hashable]) -> None:
    """A line for each rule; inputs that a rule does not have leave their cells empty."""
    inputs = list(dict.fromkeys(name for rule in rules for name in rule.inputs))
    shares = [f"probability of {text}" for text in distinct(classes)]
    places = [f"{what} of {name}" for name in inputs for what in ("center", "spread")]
    about = ["layer", "rule", "is_archived", "voting_weight", "rows"]
    table.add_row([*about, *shares, *places, "text"])
    for rule in rules:
        values = zip(rule.center.tolist(), rule.spreads.tolist(), strict=True)
        known = dict(zip(rule.inputs, values, strict=True))
        table.add_row(
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
    chosen: inputs.StreamChoice,
    row: int = typer.Option(1, min=1, metavar="N", help="Number of the row, from 1."),
    figure: pathlib.Path | None = file_option("Draw it: a .png, .svg or .pdf file."),
) -> None:
    """Explain what a saved model predicts for one row: layers, rules and features.

    Numbers are scores of the predicted class against the others: the usual score, and what each
    feature adds to it. The JSON file has everything, the CSV file what each input adds to each
    class in each layer, and the bias, which is the score of a usual row.
    """
    name = chosen.name
    with output.files({"MODEL": model_file, "STREAM": name}, figure=figure) as (result, table):
        if figure is not None:
            from devfnn import figures

            figures.style.check_format(figure)
            check_replaceable(figure)
        model = inputs.learned_model(model_file)
        settings = chosen.without_label().settings(rows=1, chunk_rows=1, skip=row - 1)
        stream = inputs.with_features_of(model, inputs.opened(settings, output.screen), name)
        chunks = inputs.checked_chunks(stream, stream.feature_names, settings, model.config)
        if (chunk := next(chunks, None)) is None:
            raise DataError(f"{name} has no row {row:,}")
        explanation = model.explain(chunk.X[0])
        about = {"stream": name, "model": str(model_file), "row": row}
        result.write_json(about | explanation.to_dict())
        _write_contributions(table, explanation)
        if figure is not None:
            figures.save(figures.contribution_bars(explanation), figure)
    output.say(explanation.text())


def _write_contributions(table: OutputFile, explanation: Explanation) -> None:
    """A line for the bias and each input of each layer, a column for each class."""
    table.add_row(["layer", "voting_weight", "output_is", "input", *distinct(explanation.labels)])
    for layer in explanation.layers:
        about = [layer.layer, layer.voting_weight, layer.output_is]
        table.add_row([*about, "bias", *layer.bias.tolist()])
        for name, values in zip(layer.inputs, layer.contributions.tolist(), strict=True):
            table.add_row([*about, name, *values])


# ---- predict


@command
def predict(
    output: Output,
    model_file: inputs.ModelFile,
    chosen: inputs.StreamChoice,
    rows: inputs.Rows = None,
    chunk_rows: inputs.ChunkRows = 500,
    skip: inputs.Skip = 0,
) -> None:
    """Predict rows with a saved model; the model does not change.

    The features of the model are found by name, other columns are ignored; with --label,
    predictions of a file are scored. Without --csv and --json the table goes to standard output:
    number of the row from 1, predicted label, and the probability of every class. Ctrl-C ends it
    and keeps what was predicted so far.
    """
    name, is_shown = chosen.name, output.csv_path is None and output.json_file is None
    with output.files({"MODEL": model_file, "STREAM": name}) as (result, table):
        model = inputs.learned_model(model_file)
        settings = chosen.without_label().settings(rows=rows, chunk_rows=chunk_rows, skip=skip)
        stream = inputs.with_features_of(model, inputs.opened(settings, output.progress), name)
        if is_shown:
            table = OutputFile(sys.stdout)
        has_labels = not inputs.has_no_label(settings)
        predictions = _Predictions(model, result, table, has_labels, n_rows=skip)
        chunks = inputs.checked_chunks(stream, stream.feature_names, settings, model.config)
        with rows_bar(output.progress, "predicting", stream.n_rows) as show:
            is_whole = until_ctrl_c(chunks, lambda chunk: show(predictions.add(chunk) - skip))
        if not predictions.pairs:
            raise DataError(f"{name} has no rows") if is_whole else KeyboardInterrupt
        about = {"stream": name, "model": str(model_file), "is_interrupted": not is_whole}
        found = predictions.summary()
        result.write_json(about | found)
    counts = sorted(zip(found["predicted"], model.classes, strict=True), key=lambda each: -each[0])
    shares = [f"{label}: {percent(n / found['rows'], 1)}" for n, label in counts if n]
    facts = {
        "rows": count(found["rows"]),
        "predicted": listed(shares),
        "accuracy": percent(found["accuracy"]) if found["scored"] else "",
    }
    screen = output.progress if is_shown else output.screen
    screen.print(facts_table(f"Predictions of {name}", facts))
    if found["scored"] and not any(label in model.classes for _, label in predictions.pairs):
        screen.print("None of the labels is a class that the model knows.", style="yellow")
    show_bad_rows(stream, screen)
    if not is_whole:
        raise interrupted()


@dataclasses.dataclass
class _Predictions:
    """Predictions, which are written as they come, and counted."""

    model: devfnn.DEVFNN
    result: OutputFile
    table: OutputFile
    has_labels: bool
    n_rows: int
    """The number of the last row."""
    pairs: collections.Counter[tuple[Hashable, Hashable]] = dataclasses.field(
        default_factory=collections.Counter
    )
    """Rows by predicted and true label."""

    def __post_init__(self) -> None:
        shares = (f"probability of {_cell(label)}" for label in self.model.classes)
        self.table.add_row(["row", "predicted", *(["label"] if self.has_labels else []), *shares])

    def add(self, chunk: Chunk) -> int:
        """Predict a chunk, write it, and count; returns the number of its last row."""
        shares = self.model.predict_proba(chunk.X)
        codes = shares.argmax(axis=1).tolist()
        for code, label, row in zip(codes, chunk.y.tolist(), shares.tolist(), strict=True):
            self.n_rows += 1
            predicted = self.model.classes[code]
            self.pairs[predicted, label] += 1
            if self.table.is_wanted:
                truth = [_cell(label)] if self.has_labels else []
                texts = (f"{share:.6g}" for share in row)
                self.table.add_row([self.n_rows, _cell(predicted), *truth, *texts])
            if self.result.is_wanted:
                line = {"row": self.n_rows, "predicted": label_to_json(predicted)}
                if self.has_labels:
                    line["label"] = None if label is None else label_to_json(label)
                self.result.add_item("predictions", line | {"probabilities": row})
        sys.stdout.flush()
        return self.n_rows

    def summary(self) -> dict[str, Any]:
        """Numbers over all rows, as plain data."""
        predicted: collections.Counter[Hashable] = collections.Counter()
        for (label, _), n_rows in self.pairs.items():
            predicted[label] += n_rows
        scored = {pair: n_rows for pair, n_rows in self.pairs.items() if pair[1] is not None}
        n_scored = sum(scored.values())
        n_correct = sum(n_rows for (label, truth), n_rows in scored.items() if label == truth)
        return {
            "rows": self.pairs.total(),
            "classes": [label_to_json(label) for label in self.model.classes],
            "predicted": [predicted[label] for label in self.model.classes],
            "scored": n_scored,
            "accuracy": n_correct / n_scored if n_scored else None,
        }


def _cell(label: Hashable) -> str:
    return "" if label is None else str(label)
